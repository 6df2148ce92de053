/* SPDX-License-Identifier: Apache-2.0 */
/* kb_track_points and kb_tracker on rendered frames whose motion is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/common.h"
#include "../arrays.h"
#include "render.h"

enum { WIDTH = 360, HEIGHT = 280, FRAMES = 12, MOST = 200 };

typedef struct sequence {
    uint8_t *pixels[FRAMES];
    kb_image frames[FRAMES];
} sequence;

/* A surface without repetition, with structure of 8 px and more. */
static double surface(double x, double y)
{
    double sum = 0;
    for (int k = 1; k <= 20; k++)
        sum += 14 * sin(x * 0.035 * k * cos(2.4 * k) + y * 0.035 * k * sin(2.4 * k) + 1.7 * k * k);
    return 128 + sum;
}

/* From frame 0 to frame i: it moves, turns and grows. */
static void moved(double i, double x, double y, double *u, double *v)
{
    double angle = 0.008 * i, zoom = 1 + 0.004 * i, cx = x - WIDTH / 2, cy = y - HEIGHT / 2;
    *u = WIDTH / 2 + zoom * (cos(angle) * cx - sin(angle) * cy) + 3.3 * i;
    *v = HEIGHT / 2 + zoom * (sin(angle) * cx + cos(angle) * cy) - 2.1 * i;
}

static void moved_back(double i, double u, double v, double *x, double *y)
{
    double angle = -0.008 * i, zoom = 1 / (1 + 0.004 * i);
    double cx = zoom * (u - WIDTH / 2 - 3.3 * i), cy = zoom * (v - HEIGHT / 2 + 2.1 * i);
    *x = WIDTH / 2 + cos(angle) * cx - sin(angle) * cy;
    *y = HEIGHT / 2 + sin(angle) * cx + cos(angle) * cy;
}

/* Frame i at time i x speed, with another brightness and contrast. */
static void render_frames(sequence *s, int frames, double speed)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < frames; i++) {
        s->pixels[i] = malloc(WIDTH * HEIGHT);
        assert_non_null(s->pixels[i]);
        for (int32_t v = 0; v < HEIGHT; v++)
            for (int32_t u = 0; u < WIDTH; u++) {
                double x, y;
                moved_back(speed * i, u, v, &x, &y);
                double gray = (1 - 0.02 * i) * surface(x, y) + 2 * i;
                s->pixels[i][v * WIDTH + u] = (uint8_t)(gray < 0 ? 0 : gray > 255 ? 255 : gray + 0.5);
            }
        s->frames[i] = view_of(s->pixels[i], WIDTH, HEIGHT);
    }
}

static void release(sequence *s)
{
    for (int i = 0; i < FRAMES; i++) free(s->pixels[i]);
}

/* A lattice of points away from the border. */
static size_t some_points(kb_keypoint points[MOST])
{
    size_t n = 0;
    for (int32_t y = 50; y < HEIGHT - 50; y += 17)
        for (int32_t x = 50; x < WIDTH - 50; x += 19) {
            if (n < MOST) points[n++] = (kb_keypoint){.x = (float)x + 0.3f, .y = (float)y + 0.6f};
        }
    return n;
}

static double error_of(double i, kb_keypoint from, kb_keypoint to)
{
    double u, v;
    moved(i, (double)from.x, (double)from.y, &u, &v);
    return sqrt((u - (double)to.x) * (u - (double)to.x) + (v - (double)to.y) * (v - (double)to.y));
}

/* Points of the first frame and what became of them in the second. */
typedef struct followed {
    kb_keypoint from[MOST], to[MOST];
    float correlations[MOST];
    size_t n;
} followed;

static void follow(const sequence *s, followed *f, const kb_track_options *o)
{
    const kb_image *a = &s->frames[0], *b = &s->frames[1];
    assert_int_equal(track_keypoints(a, b, f->from, f->n, o, NULL, f->to, f->correlations), KB_OK);
}

/* How many of them are at most `error` px from where frame `step` has them. */
static size_t followed_well(const followed *f, double step, float correlation, double error)
{
    size_t count = 0;
    for (size_t i = 0; i < f->n; i++)
        count += f->correlations[i] > correlation && error_of(step, f->from[i], f->to[i]) < error;
    return count;
}

static void test_points_are_followed(void **state)
{
    sequence s;
    followed f;
    f.n = some_points(f.from);
    render_frames(&s, 2, 1);
    follow(&s, &f, NULL);
    assert_true(followed_well(&f, 1, 0, INFINITY) >= f.n * 98 / 100);
    assert_true(followed_well(&f, 1, 0.9f, 0.1) >= f.n * 95 / 100);
    release(&s);
    (void)state;
}

static void test_prediction_bridges_large_motion(void **state)
{
    sequence s;
    followed f;
    kb_track_options o;
    KB_INIT(o);
    o.levels = 1;
    f.n = some_points(f.from);
    render_frames(&s, 2, 6);
    follow(&s, &f, &o);
    assert_true(followed_well(&f, 6, 0, 0.3) < f.n / 4);
    o.predicted = 1;
    for (size_t i = 0; i < f.n; i++) {
        double u, v;
        moved(6, (double)f.from[i].x, (double)f.from[i].y, &u, &v);
        f.to[i] = (kb_keypoint){.x = (float)u + 1.5f, .y = (float)v - 1};
    }
    follow(&s, &f, &o);
    assert_true(followed_well(&f, 6, 0, 0.3) >= f.n * 8 / 10);
    release(&s);
    (void)state;
}

static void test_what_is_hidden_is_lost(void **state)
{
    sequence s;
    kb_keypoint from[MOST], to[MOST];
    float correlations[MOST];
    size_t n = some_points(from), wrong = 0, hidden = 0;
    uint64_t seed = 3;
    render_frames(&s, 2, 1);
    for (int32_t y = 0; y < HEIGHT; y++) /* the left half is noise in the second frame */
        for (int32_t x = 0; x < WIDTH / 2; x++) s.pixels[1][y * WIDTH + x] = (uint8_t)kbi_random_next(&seed);
    from[0] = (kb_keypoint){.x = NAN, .y = 60};
    from[1] = (kb_keypoint){.x = -3, .y = 60};
    from[2] = (kb_keypoint){.x = 60, .y = HEIGHT + 5.f};
    assert_int_equal(track_keypoints(&s.frames[0], &s.frames[1], from, n, NULL, NULL, to, correlations), KB_OK);
    for (int i = 0; i < 3; i++) assert_true(correlations[i] == 0 && memcmp(&to[i], &from[i], sizeof to[i]) == 0);
    for (size_t i = 3; i < n; i++) {
        if (from[i].x > WIDTH / 2 - 16) continue;
        hidden++;
        wrong += correlations[i] > 0;
    }
    assert_true(hidden > 20 && wrong <= hidden / 50);
    uint8_t flat[WIDTH * 64] = {0};
    kb_image plain = view_of(flat, WIDTH, 64);
    assert_int_equal(track_keypoints(&plain, &plain, from, n, NULL, NULL, to, correlations), KB_OK);
    for (size_t i = 0; i < n; i++) assert_true(correlations[i] == 0);
    release(&s);
    (void)state;
}

static void test_threads_and_reserved_memory_change_nothing(void **state)
{
    sequence s;
    kb_keypoint from[MOST], to[2][MOST];
    float correlations[2][MOST];
    size_t n = some_points(from), bytes;
    kb_parallel *pool;
    kb_workspace *workspace;
    kb_workspace_limits limits;
    kb_track_options o;
    render_frames(&s, 2, 1);
    assert_int_equal(track_keypoints(&s.frames[0], &s.frames[1], from, n, NULL, NULL, to[0], correlations[0]), KB_OK);
    KB_INIT(limits);
    KB_INIT(o);
    limits.width = WIDTH;
    limits.height = HEIGHT;
    limits.track = 1;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    o.parallel = pool;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    assert_int_equal(kb_workspace_reserve(workspace, &limits, NULL, NULL), KB_OK);
    bytes = kbi_workspace_bytes(workspace);
    assert_int_equal(track_keypoints(&s.frames[0], &s.frames[1], from, n, &o, workspace, to[1], correlations[1]),
                     KB_OK);
    assert_int_equal(kbi_workspace_bytes(workspace), bytes);
    assert_memory_equal(to[0], to[1], n * sizeof *from);
    assert_memory_equal(correlations[0], correlations[1], n * sizeof(float));
    kb_workspace_free(workspace);
    kb_pool_free(pool);
    release(&s);
    (void)state;
}

static void test_wrong_options(void **state)
{
    uint8_t pixels[32 * 32] = {0};
    kb_image image = view_of(pixels, 32, 32);
    kb_keypoint point = {.x = 4, .y = 4};
    float correlation;
    kb_tracker *tracker;
    kb_track_options o;
    const struct { size_t field; int32_t value; } wrong[] = {
        {offsetof(kb_track_options, levels), 9}, {offsetof(kb_track_options, iterations), -1},
        {offsetof(kb_track_options, max_points), -1}, {offsetof(kb_track_options, mask_margin), 70000},
        {offsetof(kb_track_options, predicted), 2}};
    for (size_t i = 0; i < KBI_COUNT(wrong); i++) {
        KB_INIT(o);
        memcpy((char *)&o + wrong[i].field, &wrong[i].value, sizeof wrong[i].value);
        assert_int_equal(track_keypoints(&image, &image, &point, 1, &o, NULL, &point, &correlation), KB_E_ARGUMENT);
        assert_int_equal(kb_tracker_create(&o, NULL, &tracker, NULL), KB_E_ARGUMENT);
        assert_null(tracker);
    }
    KB_INIT(o);
    o.min_correlation = 1.5f;
    assert_int_equal(track_keypoints(&image, &image, &point, 1, &o, NULL, &point, &correlation), KB_E_ARGUMENT);
    o.struct_size = 3;
    assert_int_equal(track_keypoints(&image, &image, &point, 1, &o, NULL, &point, &correlation), KB_E_STRUCT);
    assert_int_equal(track_keypoints(&image, &image, NULL, 1, NULL, NULL, &point, &correlation), KB_E_ARGUMENT);
    assert_int_equal(track_keypoints(&image, &image, NULL, 0, NULL, NULL, NULL, NULL), KB_OK);
    kb_tracker_free(NULL);
    (void)state;
}

/* Points keep their ids and stay on what they show; those that leave are replaced; no two are in one cell at first. */
static void test_tracker_over_a_sequence(void **state)
{
    sequence s;
    kb_tracker *tracker;
    kb_track tracks[MOST], before[MOST];
    kb_track_options o;
    size_t count, last = 0, old = 0;
    uint64_t newest = 0;
    KB_INIT(o);
    o.max_points = 120;
    render_frames(&s, FRAMES, 1);
    assert_int_equal(kb_tracker_create(&o, NULL, &tracker, NULL), KB_OK);
    assert_int_equal(kb_tracker_add(tracker, &s.frames[0], NULL, NULL, tracks, 119, &count), KB_E_SPACE);
    for (int f = 0; f < FRAMES; f++) {
        assert_int_equal(kb_tracker_add(tracker, &s.frames[f], NULL, NULL, tracks, MOST, &count), KB_OK);
        assert_true(count > 60 && count <= 120);
        size_t b = 0, exact = 0;
        old = 0;
        for (size_t i = 0; i < count; i++) {
            if (tracks[i].age == 0) {
                assert_true(f == 0 || tracks[i].id > newest);
                continue;
            }
            while (b < last && before[b].id != tracks[i].id) b++;
            assert_true(b < last && tracks[i].age == before[b].age + 1 && tracks[i].last_x == before[b].x);
            double x, y;
            moved_back(f - 1, (double)tracks[i].last_x, (double)tracks[i].last_y, &x, &y);
            const kb_keypoint first = {.x = (float)x, .y = (float)y}, now = {.x = tracks[i].x, .y = tracks[i].y};
            exact += error_of(f, first, now) < 0.25;
            old++;
        }
        assert_true(exact >= old * 9 / 10);
        for (size_t i = 0; i < count; i++) newest = tracks[i].id > newest ? tracks[i].id : newest;
        memcpy(before, tracks, count * sizeof *tracks);
        last = count;
    }
    assert_true(old > 50);
    assert_int_equal(kb_tracker_add(tracker, NULL, NULL, NULL, tracks, MOST, &count), KB_OK); /* no frame */
    assert_int_equal(count, 0);
    assert_int_equal(kb_tracker_add(tracker, &s.frames[0], NULL, NULL, tracks, MOST, &count), KB_OK);
    for (size_t i = 0; i < count; i++) assert_true(tracks[i].age == 0 && tracks[i].id > newest);
    kb_image half = view_of(s.pixels[0], WIDTH, HEIGHT / 2);
    assert_int_equal(kb_tracker_add(tracker, &half, NULL, NULL, tracks, MOST, &count), KB_OK);
    for (size_t i = 0; i < count; i++) assert_true(tracks[i].age == 0 && tracks[i].y < HEIGHT / 2);
    kb_tracker_free(tracker);
    release(&s);
    (void)state;
}

static void test_tracker_and_masks(void **state)
{
    sequence s;
    kb_tracker *tracker;
    kb_track tracks[MOST];
    kb_track_options o;
    size_t count;
    static uint8_t hidden[WIDTH * HEIGHT];
    kb_image mask = view_of(hidden, WIDTH, HEIGHT), small = view_of(hidden, WIDTH, HEIGHT - 1);
    KB_INIT(o);
    o.max_points = MOST;
    o.mask_margin = 12;
    render_frames(&s, 3, 1);
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++) hidden[y * WIDTH + x] = x < 200 ? 255 : 0;
    assert_int_equal(kb_tracker_create(&o, NULL, &tracker, NULL), KB_OK);
    assert_int_equal(kb_tracker_add(tracker, &s.frames[0], &small, NULL, tracks, MOST, &count), KB_E_ARGUMENT);
    assert_int_equal(kb_tracker_add(tracker, &s.frames[0], &mask, NULL, tracks, MOST, &count), KB_OK);
    assert_true(count > 30);
    for (size_t i = 0; i < count; i++) assert_true(tracks[i].x < 188.5f);
    memset(hidden, 255, sizeof hidden);
    for (int32_t y = 0; y < HEIGHT; y++) memset(hidden + y * WIDTH, 0, 100); /* another part moves out of sight */
    assert_int_equal(kb_tracker_add(tracker, &s.frames[1], &mask, NULL, tracks, MOST, &count), KB_OK);
    for (size_t i = 0; i < count; i++) assert_true(tracks[i].x >= (tracks[i].age > 0 ? 99.5f : 111.5f));
    kb_tracker_free(tracker);
    release(&s);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points_are_followed),
        cmocka_unit_test(test_prediction_bridges_large_motion),
        cmocka_unit_test(test_what_is_hidden_is_lost),
        cmocka_unit_test(test_threads_and_reserved_memory_change_nothing),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_tracker_over_a_sequence),
        cmocka_unit_test(test_tracker_and_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
