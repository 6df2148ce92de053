/* SPDX-License-Identifier: Apache-2.0 */
/* Peers: rows come back in the order of the keypoints, patches do not see each other, wrong names are told. Without
 * OpenCV there is only the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "eval/peers.h"
#include "render.h"

#define SIDE 64
#define COUNT 20

static bool same_row(const io_rows *a, size_t i, const io_rows *b, size_t j)
{
    size_t size = a->bytes ? a->width : a->width * sizeof(float);
    const char *x = a->bytes ? (const char *)a->bytes : (const char *)a->floats;
    const char *y = b->bytes ? (const char *)b->bytes : (const char *)b->floats;
    return memcmp(x + i * size, y + j * size, size) == 0;
}

/* A patch alone and the same patch among others; AKAZE looks at the contrast of the whole canvas and is left out. */
static void patches_do_not_see_each_other(void **state)
{
    io_error error;
    (void)state;
    uint8_t *texture = render_texture(SIDE, SIDE * COUNT, 5);
    for (int i = 0; ev_peer_name(i); i++) {
        io_rows all, one;
        if (strcmp(ev_peer_name(i), "cv:akaze") == 0) continue;
        assert_true(ev_peer_describe_patches(ev_peer_name(i), texture, COUNT, SIDE, &all, &error));
        assert_int_equal(all.count, COUNT);
        for (size_t k = 0; k < COUNT; k += 7) {
            assert_true(ev_peer_describe_patches(ev_peer_name(i), texture + k * SIDE * SIDE, 1, SIDE, &one, &error));
            assert_true(same_row(&all, k, &one, 0));
            io_rows_free(&one);
        }
        assert_false(same_row(&all, 0, &all, 1));
        io_rows_free(&all);
    }
    free(texture);
}

/* Keypoints in another order give the same rows in that order, even where the peer sorts them for itself. */
static void rows_belong_to_their_keypoints(void **state)
{
    io_error error;
    (void)state;
    uint8_t *texture = render_texture(320, 240, 7);
    kb_image image = view_of(texture, 320, 240);
    for (int i = 0; ev_peer_name(i); i++) {
        const char *name = ev_peer_name(i);
        io_keypoints k;
        io_rows forth, back;
        float scale;
        assert_true(ev_peer_keypoints(name, &image, 50, &k, &scale, &error));
        assert_true(k.count > 10 && k.count <= 50);
        assert_true(ev_peer_describe(name, &image, k.items, k.count, scale, &forth, &error));
        for (size_t a = 0, b = k.count - 1; a < b; a++, b--) {
            kb_keypoint held = k.items[a];
            k.items[a] = k.items[b];
            k.items[b] = held;
        }
        assert_true(ev_peer_describe(name, &image, k.items, k.count, scale, &back, &error));
        for (size_t a = 0; a < k.count; a++) assert_true(same_row(&forth, a, &back, k.count - 1 - a));

        /* Others' keypoints must not upset it: through patches, one row each. */
        io_rows through;
        assert_true(ev_peer_describe(name, &image, k.items, k.count, 3.3f, &through, &error));
        assert_int_equal(through.count, k.count);
        io_rows_free(&through);
        io_rows_free(&forth);
        io_rows_free(&back);
        io_keypoints_free(&k);
    }
    free(texture);
}

static void the_steps_around_work(void **state)
{
    io_error error;
    (void)state;
    if (!ev_peer_name(0)) skip();
    uint8_t *texture = render_texture(320, 240, 9);
    kb_image image = view_of(texture, 320, 240);
    io_keypoints k;
    io_rows rows;
    size_t count;
    assert_true(ev_peer_detect(KB_DETECTOR_ORB, &image, 100, &k, &error));
    assert_true(ev_peer_describe("cv:orb", &image, k.items, k.count, 1, &rows, &error));
    kb_match *matches = calloc(k.count, sizeof *matches);
    kb_point_pair *pairs = calloc(k.count, sizeof *pairs);
    assert_true(ev_peer_match(&rows, &rows, matches, &count, &error));
    assert_true(count > k.count / 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(matches[i].distance == 0);
        pairs[i] = (kb_point_pair){k.items[i].x, k.items[i].y, k.items[i].x, k.items[i].y};
    }
    assert_true(ev_peer_fit(pairs, count, &error));
    assert_true(ev_peer_fit(NULL, 0, &error));
    free(pairs);
    free(matches);
    io_rows_free(&rows);
    io_keypoints_free(&k);
    free(texture);
}

static void unknown_names_are_told(void **state)
{
    io_error error;
    (void)state;
    assert_null(ev_peer_find("cv:crystal-ball", &error));
    assert_non_null(strstr(error.text, "cv:crystal-ball"));
    assert_null(ev_peer_name(1000));
    assert_null(ev_peer_name(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches_do_not_see_each_other),
        cmocka_unit_test(rows_belong_to_their_keypoints),
        cmocka_unit_test(the_steps_around_work),
        cmocka_unit_test(unknown_names_are_told),
    };
    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
