/* SPDX-License-Identifier: Apache-2.0 */
/* src/match/match_refine.c: known warps, changes of light, bad keypoints, limits, threads, memory, bad arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/common.h"
#include "render.h"
#include "../arrays.h"

enum { WIDTH = 400, HEIGHT = 300, MOST = 500 };

/* A smooth surface without repetition, so that every place is known between pixels too. */
static double surface(double x, double y)
{
    double sum = 0;
    for (int k = 1; k <= 24; k++) {
        double turn = 2.4 * k, wave = 0.03 * k;
        sum += sin(wave * (x * cos(turn) + y * sin(turn)) + 1.7 * k * k) * 12;
    }
    return 128 + sum;
}

/* From image a to image b. */
typedef struct known_warp {
    double a[4], x, y, gain, offset;
} known_warp;

static const known_warp turned = {{1.05, -0.25, 0.2, 0.95}, 31.3, -18.6, 0.6, 35};

static void warp_point(const known_warp *w, double x, double y, double *u, double *v)
{
    *u = w->a[0] * x + w->a[1] * y + w->x;
    *v = w->a[2] * x + w->a[3] * y + w->y;
}

static uint8_t *render_warped(const known_warp *w)
{
    double det = w->a[0] * w->a[3] - w->a[1] * w->a[2];
    uint8_t *pixels = malloc(WIDTH * HEIGHT);
    assert_non_null(pixels);
    for (int32_t v = 0; v < HEIGHT; v++)
        for (int32_t u = 0; u < WIDTH; u++) {
            double dx = u - w->x, dy = v - w->y;
            double x = (w->a[3] * dx - w->a[1] * dy) / det, y = (w->a[0] * dy - w->a[2] * dx) / det;
            double gray = w->gain * surface(x, y) + w->offset;
            pixels[v * WIDTH + u] = (uint8_t)(gray < 0 ? 0 : gray > 255 ? 255 : gray + 0.5);
        }
    return pixels;
}

typedef struct matched {
    uint8_t *pixels[2];
    kb_image images[2];
    kb_keypoint a[MOST], b[MOST];
    kb_match matches[MOST];
    kb_point_pair pairs[MOST];
    float correlations[MOST];
    double x[MOST], y[MOST]; /* the truth in b */
    size_t n;
} matched;

/* Keypoints of b are off by up to `shift` px, 12 degrees and an eighth of their size. */
static void match_make(matched *m, const known_warp *w, double shift, uint64_t seed)
{
    static const known_warp none = {{1, 0, 0, 1}, 0, 0, 1, 0};
    const double turn = atan2(w->a[2], w->a[0]) * 180 / 3.14159265358979, scale = sqrt(w->a[0] * w->a[3] - w->a[1] * w->a[2]);
    m->pixels[0] = render_warped(&none);
    m->pixels[1] = render_warped(w);
    m->n = 0;
    for (int i = 0; i < 2; i++) m->images[i] = view_of(m->pixels[i], WIDTH, HEIGHT);
    render_keypoints(m->a, MOST, WIDTH, HEIGHT, 25, 60, seed);
    for (size_t i = 0; i < MOST; i++) {
        double u[4], x, y;
        kb_keypoint k = m->a[i];
        for (int j = 0; j < 4; j++) u[j] = (double)(kbi_random_next(&seed) >> 11) * 0x1p-52 - 1;
        warp_point(w, (double)k.x, (double)k.y, &x, &y);
        if (x < 30 || y < 30 || x > WIDTH - 31 || y > HEIGHT - 31) continue;
        if (k.x < 30 || k.y < 30 || k.x > WIDTH - 31 || k.y > HEIGHT - 31) continue;
        double angle = (double)k.angle + turn + 12 * u[2];
        m->a[m->n] = k;
        m->b[m->n] = (kb_keypoint){(float)(x + shift * u[0]), (float)(y + shift * u[1]),
                                   (float)(scale * k.size * (1 + u[3] / 8)), (float)(angle - 360 * floor(angle / 360)), 0, 0, -1};
        m->x[m->n] = x;
        m->y[m->n] = y;
        m->matches[m->n] = (kb_match){(int32_t)m->n, (int32_t)m->n, 40, 60};
        m->n++;
    }
    assert_true(m->n > 100);
}

static void match_free(matched *m)
{
    free(m->pixels[0]);
    free(m->pixels[1]);
}

static kb_status run_refine(matched *m, const kb_refine_options *o)
{
    return match_refine(&m->images[0], &m->images[1], m->a, m->n, m->b, m->n, m->matches, m->n, o, NULL, m->pairs,
                           m->correlations);
}

static double error_of(const matched *m, size_t i)
{
    double dx = m->pairs[i].x2 - m->x[i], dy = m->pairs[i].y2 - m->y[i];
    return sqrt(dx * dx + dy * dy);
}

static void known_warps_are_found(void **state)
{
    (void)state;
    static const known_warp warps[] = {
        {{1, 0, 0, 1}, 0, 0, 1, 0},
        {{1, 0, 0, 1}, 3.37, -5.81, 1, 0},
        {{0.6, -0.8, 0.8, 0.6}, 200, -60, 1, 0},
        {{1.4, 0, 0, 1.4}, -80, -60, 1, 0},
        {{1.05, -0.25, 0.2, 0.95}, 31.3, -18.6, 0.6, 35},
        {{0.75, 0.1, -0.1, 1.1}, 40, 10, 1.1, -20},
    };
    static matched m;
    for (size_t w = 0; w < KBI_COUNT(warps); w++) {
        size_t exact = 0;
        match_make(&m, &warps[w], 3, 11 + w);
        assert_int_equal(run_refine(&m, NULL), KB_OK);
        for (size_t i = 0; i < m.n; i++) {
            assert_true(m.pairs[i].x1 == (double)m.a[i].x && m.pairs[i].y1 == (double)m.a[i].y);
            exact += m.correlations[i] > 0.95f && error_of(&m, i) < 0.15;
        }
        assert_true(exact > m.n * 95 / 100);
        match_free(&m);
    }
}

/* Large regions at the border, where a pixel of their level is many of the image: points that alignment moves stay in
 * the image. */
static void points_stay_in_the_image(void **state)
{
    (void)state;
    static const known_warp away = {{1, 0, 0, 1}, 14, 9, 1, 0};
    static matched m;
    size_t moved = 0;
    match_make(&m, &away, 0, 5);
    for (size_t i = 0; i < m.n; i++) {
        m.a[i].size = 190;
        m.a[i].x = (float)(WIDTH - 16 + (int)(i % 8));
        m.b[i] = m.a[i];
        m.b[i].x = WIDTH - 3;
        m.b[i].y += 9;
    }
    assert_int_equal(run_refine(&m, NULL), KB_OK);
    for (size_t i = 0; i < m.n; i++) {
        moved += m.correlations[i] > 0;
        assert_true(m.pairs[i].x2 < WIDTH - 0.5 && m.pairs[i].y2 >= -0.5 && m.pairs[i].y2 < HEIGHT - 0.5);
    }
    assert_true(moved > 20);
    match_free(&m);
}

static void what_is_not_refined_stays(void **state)
{
    (void)state;
    static matched m;
    size_t untouched = 0;
    kb_refine_options o;
    KB_INIT(o);
    o.max_shift = 0.05f; /* of 0.7 x 25 px and more: below the errors that are made here */
    match_make(&m, &turned, 6, 5);
    assert_int_equal(run_refine(&m, &o), KB_OK);
    for (size_t i = 0; i < m.n; i++) {
        double dx = m.pairs[i].x2 - (double)m.b[i].x, dy = m.pairs[i].y2 - (double)m.b[i].y;
        double most = 0.05 * 0.7 * (double)m.b[i].size + 1e-4;
        assert_true(dx * dx + dy * dy <= most * most);
        if (m.correlations[i] > 0) continue;
        assert_true(dx == 0 && dy == 0);
        untouched++;
    }
    assert_true(untouched > m.n / 2);
    o.max_shift = 0;
    o.min_correlation = 1; /* light and rounding change all */
    assert_int_equal(run_refine(&m, &o), KB_OK);
    for (size_t i = 0; i < m.n; i++) assert_true(m.correlations[i] == 0 && m.pairs[i].x2 == (double)m.b[i].x);
    match_free(&m);
}

static void regions_without_structure_stay(void **state)
{
    (void)state;
    static matched m;
    match_make(&m, &turned, 2, 6);
    for (int side = 0; side < 2; side++) {
        memset(m.pixels[side], 99, WIDTH * HEIGHT);
        assert_int_equal(run_refine(&m, NULL), KB_OK);
        for (size_t i = 0; i < m.n; i++) assert_true(m.correlations[i] == 0 && m.pairs[i].x2 == (double)m.b[i].x);
    }
    /* stripes: nothing tells where along them a point is */
    for (int32_t i = 0; i < WIDTH * HEIGHT; i++) m.pixels[0][i] = m.pixels[1][i] = (uint8_t)(i % WIDTH / 5 % 2 * 200);
    assert_int_equal(run_refine(&m, NULL), KB_OK);
    for (size_t i = 0; i < m.n; i++) assert_true(isfinite(m.pairs[i].x2) && isfinite(m.pairs[i].y2));
    match_free(&m);
}

static void bad_keypoints_stay(void **state)
{
    (void)state;
    static matched m;
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, -100, 1e6f};
    match_make(&m, &turned, 2, 7);
    size_t at = 0;
    for (size_t v = 0; v < KBI_COUNT(bad); v++)
        for (int field = 0; field < 8; field++) {
            kb_keypoint *k = field < 4 ? &m.a[at] : &m.b[at];
            if (field % 4 == 0) k->x = bad[v];
            if (field % 4 == 1) k->y = bad[v];
            if (field % 4 == 2) k->size = bad[v];
            if (field % 4 == 3) k->angle = bad[v];
            at++;
        }
    m.a[at++].size = 0;
    m.b[at++].size = 1e-30f;
    m.b[at++].size = 1e5f;
    assert_true(at < m.n);
    assert_int_equal(run_refine(&m, NULL), KB_OK);
    for (size_t i = 0; i < m.n; i++) {
        assert_true(m.correlations[i] >= 0 && m.correlations[i] <= 1.0001f);
        if (m.correlations[i] > 0) assert_true(isfinite(m.pairs[i].x2) && isfinite(m.pairs[i].y2));
        else assert_memory_equal(&m.pairs[i], (&(kb_point_pair){m.a[i].x, m.a[i].y, m.b[i].x, m.b[i].y}), sizeof *m.pairs);
    }
    match_free(&m);
}

/* Regions that reach beyond the image, at every corner and edge, and images smaller than a region. */
static void borders_are_safe(void **state)
{
    (void)state;
    for (int32_t side = 1; side <= 40; side += 13) {
        uint8_t *pixels = render_texture(side, side, 3);
        kb_image image = view_of(pixels, side, side);
        kb_keypoint a[MOST], b[MOST];
        kb_match matches[MOST];
        kb_point_pair pairs[MOST];
        render_keypoints(a, MOST, side, side, 1, 400, 8);
        render_keypoints(b, MOST, side, side, 1, 400, 9);
        for (int i = 0; i < MOST; i++) matches[i] = (kb_match){i, i, 0, 0};
        assert_int_equal(match_refine(&image, &image, a, MOST, b, MOST, matches, MOST, NULL, NULL, pairs, NULL), KB_OK);
        for (int i = 0; i < MOST; i++) {
            assert_true(pairs[i].x2 >= -400 && pairs[i].x2 <= side + 400);
            assert_true(pairs[i].y2 >= -400 && pairs[i].y2 <= side + 400);
        }
        free(pixels);
    }
}

static void threads_and_depth_play_no_part(void **state)
{
    (void)state;
    static matched m;
    static kb_point_pair pairs[MOST];
    static float correlations[MOST];
    match_make(&m, &turned, 3, 10);
    assert_int_equal(run_refine(&m, NULL), KB_OK);
    memcpy(pairs, m.pairs, sizeof pairs);
    memcpy(correlations, m.correlations, sizeof correlations);
    for (int32_t threads = 2; threads <= 5; threads++) {
        kb_parallel *pool = NULL;
        kb_refine_options o;
        KB_INIT(o);
        assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
        o.parallel = pool;
        memset(m.pairs, 0, sizeof m.pairs);
        assert_int_equal(run_refine(&m, &o), KB_OK);
        assert_memory_equal(pairs, m.pairs, m.n * sizeof *pairs);
        assert_memory_equal(correlations, m.correlations, m.n * sizeof *correlations);
        kb_pool_free(pool);
    }
    uint16_t *deep[2];
    for (int side = 0; side < 2; side++) {
        deep[side] = malloc(WIDTH * HEIGHT * sizeof **deep);
        assert_non_null(deep[side]);
        for (int i = 0; i < WIDTH * HEIGHT; i++) deep[side][i] = (uint16_t)(m.pixels[side][i] * 257);
        m.images[side] = (kb_image){deep[side], WIDTH, HEIGHT, 2 * WIDTH, KB_FORMAT_GRAY16, 0};
    }
    assert_int_equal(run_refine(&m, NULL), KB_OK);
    assert_memory_equal(pairs, m.pairs, m.n * sizeof *pairs);
    free(deep[0]);
    free(deep[1]);
    match_free(&m);
}

static void reserved_memory_suffices(void **state)
{
    (void)state;
    static matched m;
    kb_workspace_limits limits;
    kb_workspace *workspace = NULL;
    size_t bytes = 0;
    match_make(&m, &turned, 3, 12);
    KB_INIT(limits);
    limits.refine = 1;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_E_ARGUMENT); /* of which images? */
    limits.width = WIDTH;
    limits.height = HEIGHT;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_OK);
    void *buffer = malloc(bytes);
    assert_int_equal(kb_workspace_create_in(buffer, bytes, &workspace), KB_OK);
    assert_int_equal(match_refine(&m.images[0], &m.images[1], m.a, m.n, m.b, m.n, m.matches, m.n, NULL, workspace,
                                     m.pairs, NULL), KB_OK);
    limits.refine = 2;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_E_ARGUMENT);
    kb_workspace_free(workspace);
    free(buffer);
    match_free(&m);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    static matched m;
    kb_refine_options o;
    match_make(&m, &turned, 3, 13);
    const kb_image *a = &m.images[0], *b = &m.images[1];
    kb_image none = *b;
    none.data = NULL;
    assert_int_equal(match_refine(NULL, b, m.a, m.n, m.b, m.n, m.matches, 1, NULL, NULL, m.pairs, NULL), KB_E_ARGUMENT);
    assert_int_equal(match_refine(a, &none, m.a, m.n, m.b, m.n, m.matches, 1, NULL, NULL, m.pairs, NULL), KB_E_IMAGE);
    assert_int_equal(match_refine(a, b, NULL, m.n, m.b, m.n, m.matches, 1, NULL, NULL, m.pairs, NULL), KB_E_ARGUMENT);
    assert_int_equal(match_refine(a, b, m.a, m.n, m.b, m.n, m.matches, 1, NULL, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(match_refine(a, b, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL), KB_OK);
    m.matches[3].b = (int32_t)m.n;
    assert_int_equal(run_refine(&m, NULL), KB_E_ARGUMENT);
    m.matches[3].b = -1;
    assert_int_equal(run_refine(&m, NULL), KB_E_ARGUMENT);
    m.matches[3].b = 3;
    const struct {
        float scale, shift, correlation;
        int32_t iterations;
    } wrong[] = {{-1, 0, 0, 0}, {101, 0, 0, 0}, {NAN, 0, 0, 0}, {0, -1, 0, 0}, {0, 1.1f, 0, 0}, {0, NAN, 0, 0},
                 {0, 0, -0.5f, 0}, {0, 0, 1.1f, 0}, {0, 0, NAN, 0}, {0, 0, 0, -1}, {0, 0, 0, 1001}};
    for (size_t i = 0; i < KBI_COUNT(wrong); i++) {
        KB_INIT(o);
        o.scale = wrong[i].scale;
        o.max_shift = wrong[i].shift;
        o.min_correlation = wrong[i].correlation;
        o.iterations = wrong[i].iterations;
        assert_int_equal(run_refine(&m, &o), KB_E_ARGUMENT);
    }
    KB_INIT(o);
    o.struct_size = 3;
    assert_int_equal(run_refine(&m, &o), KB_E_STRUCT);
    match_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_warps_are_found), cmocka_unit_test(points_stay_in_the_image),
        cmocka_unit_test(what_is_not_refined_stays),
        cmocka_unit_test(regions_without_structure_stay),
        cmocka_unit_test(bad_keypoints_stay),
        cmocka_unit_test(borders_are_safe),
        cmocka_unit_test(threads_and_depth_play_no_part),
        cmocka_unit_test(reserved_memory_suffices),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
