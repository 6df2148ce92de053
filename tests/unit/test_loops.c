/* SPDX-License-Identifier: Apache-2.0 */
/* Loops: places that a camera comes back to. */
#include <math.h>

#include "index_world.h"

static bool loop_found(kb_loop_detector *d, const kb_features *f)
{
    kb_loop loop;
    KB_INIT(loop);
    assert_int_equal(kb_loop_detector_add(d, f, NULL, &loop, NULL), KB_OK);
    return loop.found;
}

/* An image that is as like to one place as to another is no loop. */
static void test_loops_are_of_one_place(void **state)
{
    (void)state;
    world *w = world_create();
    kb_loop_detector *d;
    kb_loop_options o;
    kb_keypoint keypoints[EACH];
    uint8_t rows[EACH][BYTES];
    KB_INIT(o);
    o.window = 5;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_OK);
    for (size_t i = 0; i < PLACES; i++) {
        kb_features f = features_of(w, i);
        assert_false(loop_found(d, &f));
    }
    kb_features second = features_of(w, PLACES), both = second;
    for (size_t k = 0; k < EACH; k++) { /* alternately of place 0 and of one far from it */
        kb_features f = k % 2 ? features_of(w, PLACES + PLACES / 2) : second;
        keypoints[k] = f.keypoints[k];
        memcpy(rows[k], (const uint8_t *)f.rows + k * BYTES, BYTES);
    }
    both.keypoints = keypoints;
    both.rows = rows;
    assert_false(loop_found(d, &both));
    assert_true(loop_found(d, &second));
    kb_loop_detector_free(d);
    world_free(w);
}

/* Nine sixteenths of place 0 and the rest of place 8: enough for a loop where many other places are less like the image, but
 * not where hardly another image speaks against it. */
static void test_few_images_say_little(void **state)
{
    static const size_t lengths[] = {18, PLACES};
    (void)state;
    world *w = world_create();
    for (size_t n = 0; n < KBI_COUNT(lengths); n++) {
        kb_loop_detector *d;
        kb_loop_options o;
        kb_keypoint keypoints[EACH];
        uint8_t rows[EACH][BYTES];
        KB_INIT(o);
        o.window = 5;
        assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_OK);
        for (size_t i = 0; i < lengths[n]; i++) {
            kb_features f = features_of(w, i);
            assert_false(loop_found(d, &f));
        }
        kb_features mixed = features_of(w, PLACES);
        for (size_t k = 0; k < EACH; k++) {
            kb_features f = features_of(w, k % 16 < 9 ? PLACES : PLACES + 8);
            keypoints[k] = f.keypoints[k];
            memcpy(rows[k], (const uint8_t *)f.rows + k * BYTES, BYTES);
        }
        mixed.keypoints = keypoints;
        mixed.rows = rows;
        assert_int_equal(loop_found(d, &mixed), n == 1);
        kb_loop_detector_free(d);
    }
    world_free(w);
}

static void test_loops(void **state)
{
    (void)state;
    world *w = world_create();
    kb_loop_detector *d;
    kb_loop_options o;
    KB_INIT(o);
    o.window = 5;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_OK);
    int32_t checked = 0;
    for (size_t i = 0; i < IMAGES; i++) {
        kb_loop loop;
        KB_INIT(loop);
        kb_features f = features_of(w, i);
        assert_int_equal(kb_loop_detector_add(d, &f, NULL, &loop, NULL), KB_OK);
        assert_int_equal(loop.found, i >= PLACES);
        assert_int_equal(loop.query, i);
        checked += loop.checked;
        if (!loop.found) continue;
        assert_int_equal(loop.reference, i - PLACES);
        assert_true(loop.inliers > EACH / 2);
        assert_float_equal(loop.model[2], -5, 0.3);
        assert_in_range(loop.reference, loop.island_first, loop.island_last);
    }
    assert_true(checked <= 4 * IMAGES); /* two of islands, two of other places */
    for (size_t i = PLACES; i < IMAGES; i++) { /* a third pass, as like to the first as to the second */
        kb_loop loop;
        KB_INIT(loop);
        kb_features f = features_of(w, i);
        assert_int_equal(kb_loop_detector_add(d, &f, NULL, &loop, NULL), KB_OK);
        assert_true(loop.found && loop.reference % PLACES == i - PLACES);
    }
    kb_features bare = features_of(w, 0);
    kb_loop none;
    KB_INIT(none);
    bare.keypoints = NULL;
    assert_int_equal(kb_loop_detector_add(d, &bare, NULL, &none, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, NULL, NULL), KB_E_ARGUMENT);
    kb_loop_detector_free(d);
    kb_error error;
    o.window = -1;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "window");
    o.window = 5;
    o.geometry = KB_GEOMETRY_ESSENTIAL; /* needs cameras */
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_E_ARGUMENT);
    o.geometry = KB_GEOMETRY_SIMILARITY;
    o.threshold = NAN;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_E_ARGUMENT);
    world_free(w);
}

/* A call that fails leaves the detector as it was: what follows is what would have followed. */
static void test_failed_loops_leave_no_trace(void **state)
{
    (void)state;
    world *w = world_create();
    memory_count c = {0};
    const kb_allocator allocator = {count_allocate, count_release, &c};
    kb_loop_options o;
    kb_loop_detector *tried, *plain;
    kb_loop a, b;
    KB_INIT(a);
    KB_INIT(b);
    KB_INIT(o);
    o.window = 2;
    o.min_score = 100;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, &allocator, &tried, NULL), KB_OK);
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &plain, NULL), KB_OK);
    for (size_t i = 0; i < IMAGES; i++) {
        kb_features f = features_of(w, i), nothing = f;
        nothing.n = 0; /* 0 is its score with the image before, and would be the median soon */
        for (size_t fail = 1; i > 0 && fail <= 2; fail++) {
            c.fail_at = c.calls + fail;
            assert_int_equal(kb_loop_detector_add(tried, &nothing, NULL, &a, NULL), KB_E_MEMORY);
        }
        c.fail_at = 0;
        assert_int_equal(kb_loop_detector_add(tried, &f, NULL, &a, NULL), KB_OK);
        assert_int_equal(kb_loop_detector_add(plain, &f, NULL, &b, NULL), KB_OK);
        assert_memory_equal(&a, &b, sizeof a);
    }
    assert_true(b.checked > 0);
    kb_loop_detector_free(tried);
    kb_loop_detector_free(plain);
    assert_int_equal(c.live, 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_are_of_one_place),
        cmocka_unit_test(test_few_images_say_little),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_failed_loops_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
