/* SPDX-License-Identifier: Apache-2.0 */
/* src/detect/deviation.c: the standard deviation that keypoints are said to have is the one that they have. Pictures are
 * dead leaves (Lee, Mumford, Huang 2001), which have edges and scales as photographs have them, in two views with noise;
 * a keypoint of the first view that the second shows has a residual there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keybits/advanced.h"
#include "learn/random.h"
#include "../arrays.h"

enum { WIDTH = 640, HEIGHT = 480, KEYPOINTS = 1500, SCENES = 6, BINS = 5, ROOM = 2 * SCENES * KEYPOINTS };
enum { SIDE = 3000, LEAVES = 12000, RAYS = 5 };

typedef struct features {
    kb_keypoint k[KEYPOINTS];
    float deviation[KEYPOINTS];
    size_t n;
} features;

typedef struct residual {
    double deviation, ratio;
} residual;

#define LEAST 0.8
#define MOST 1.25

static bool tell; /* what comes out, rather than judge it */
static uint64_t first_seed;

static double between(uint64_t *seed, double low, double high)
{
    return low + (high - low) * kbi_random_below(seed, 1 << 20) / (1 << 20);
}

/* A leaf is an ellipse of one gray level with a slope; radii r have the density r^-3. Later ones cover earlier ones. */
static uint8_t *draw_leaves(uint64_t seed)
{
    uint8_t *p = malloc(SIDE * SIDE);
    memset(p, 128, SIDE * SIDE);
    for (int i = 0; i < LEAVES; i++) {
        double r = 6 / sqrt(between(&seed, 0.0004, 1)), turn = between(&seed, 0, 3.1416), flat = between(&seed, 0.4, 1);
        double x0 = between(&seed, 0, SIDE), y0 = between(&seed, 0, SIDE), gray = between(&seed, 60, 190);
        double slope = between(&seed, -20, 20) / r, c = cos(turn), s = sin(turn);
        for (int y = (int)fmax(0, y0 - r); y < fmin(SIDE, y0 + r); y++)
            for (int x = (int)fmax(0, x0 - r); x < fmin(SIDE, x0 + r); x++) {
                double u = c * (x - x0) + s * (y - y0), v = (c * (y - y0) - s * (x - x0)) / flat;
                if (u * u + v * v < r * r) p[y * SIDE + x] = (uint8_t)fmin(255, fmax(0, gray + slope * u));
            }
    }
    return p;
}

/* From a view to the picture, and back. */
typedef struct plane_view {
    double h[9], back[9];
} plane_view;

static plane_view view_at(double zoom, double turn, double tilt, double x, double y)
{
    const double c = 3 * cos(turn) / zoom, s = 3 * sin(turn) / zoom, cx = WIDTH / 2.0, cy = HEIGHT / 2.0;
    plane_view v;
    const double a[9] = {c, -s, SIDE / 2.0 + x, s, c, SIDE / 2.0 + y, 0, 0, 1}, w[3] = {tilt, -tilt, 1};
    for (int i = 0; i < 3; i++) { /* a, tilted, around the middle of the view */
        double m[3];
        for (int j = 0; j < 2; j++) m[j] = i < 2 ? a[3 * i + j] + a[3 * i + 2] * w[j] : w[j];
        m[2] = i < 2 ? a[3 * i + 2] : 1;
        v.h[3 * i] = m[0], v.h[3 * i + 1] = m[1], v.h[3 * i + 2] = m[2] - m[0] * cx - m[1] * cy;
    }
    const double *h = v.h;
    const double b[9] = {h[4] * h[8] - h[5] * h[7], h[2] * h[7] - h[1] * h[8], h[1] * h[5] - h[2] * h[4],
                         h[5] * h[6] - h[3] * h[8], h[0] * h[8] - h[2] * h[6], h[2] * h[3] - h[0] * h[5],
                         h[3] * h[7] - h[4] * h[6], h[1] * h[6] - h[0] * h[7], h[0] * h[4] - h[1] * h[3]};
    memcpy(v.back, b, sizeof b);
    return v;
}

/* Where the second view has what the first has at (x, y). */
static void transfer(const plane_view views[2], double x, double y, double *to_x, double *to_y)
{
    double u, v;
    kb_homography_apply(views[0].h, x, y, &u, &v);
    kb_homography_apply(views[1].back, u, v, to_x, to_y);
}

static uint8_t *render(const uint8_t *picture, const plane_view *view, double noise, uint64_t seed)
{
    uint8_t *p = malloc(WIDTH * HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        double sum = 0;
        for (int k = 0; k < RAYS * RAYS; k++) { /* over 1.5 px, as lenses do */
            double x = i % WIDTH + 1.5 * ((k % RAYS + 0.5) / RAYS - 0.5), u, v;
            double y = i / WIDTH + 1.5 * ((k / RAYS + 0.5) / RAYS - 0.5);
            kb_homography_apply(view->h, x, y, &u, &v);
            int column = (int)fmin(SIDE - 1, fmax(0, u + 0.5)), row = (int)fmin(SIDE - 1, fmax(0, v + 0.5));
            sum += picture[row * SIDE + column];
        }
        p[i] = (uint8_t)fmin(255, fmax(0, sum / (RAYS * RAYS) + noise * kbi_random_normal(&seed) + 0.5));
    }
    return p;
}

static features *find(const uint8_t *pixels, kb_detector detector)
{
    features *f = calloc(1, sizeof *f);
    kb_image image = {pixels, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0};
    kb_detect_options o;
    KB_INIT(o);
    o.detector = detector;
    o.max_keypoints = KEYPOINTS;
    assert_int_equal(detect_keypoints(&image, &o, NULL, f->k, KEYPOINTS, &f->n, NULL), KB_OK);
    assert_int_equal(deviations_of(&image, f->k, f->n, detector, NULL, f->deviation), KB_OK);
    return f;
}

/* The nearest keypoint whose size fits. */
static const kb_keypoint *nearest(const features *f, double x, double y, double size, double reach)
{
    const kb_keypoint *best = NULL;
    for (size_t i = 0; i < f->n; i++) {
        double d = hypot(f->k[i].x - x, f->k[i].y - y), ratio = f->k[i].size / size;
        if (d >= reach || ratio < 1 / 1.3 || ratio > 1.3) continue;
        reach = d;
        best = &f->k[i];
    }
    return best;
}

/* The keypoint of the first view that is nearest to one of the second: matches are mutual. */
static const kb_keypoint *nearest_of(const plane_view views[2], const features *a, const kb_keypoint *k, double reach)
{
    const plane_view turned[2] = {views[1], views[0]};
    double x, y, x1, y1, x2, y2;
    transfer(turned, k->x, k->y, &x, &y);
    transfer(turned, k->x + 1, k->y, &x1, &y1);
    transfer(turned, k->x, k->y + 1, &x2, &y2);
    double scale = sqrt(fabs((x1 - x) * (y2 - y) - (y1 - y) * (x2 - x)));
    return nearest(a, x, y, k->size * scale, reach * k->size * scale);
}

/* Adds residuals along both axes. */
static void compare(const plane_view views[2], const features *a, const features *b, double reach, residual *out,
                    size_t *count)
{
    for (size_t i = 0; i < a->n; i++) {
        double x, y, x1, y1, x2, y2;
        const kb_keypoint *k = &a->k[i];
        transfer(views, k->x, k->y, &x, &y);
        transfer(views, k->x + 1, k->y, &x1, &y1);
        transfer(views, k->x, k->y + 1, &x2, &y2);
        double scale = sqrt(fabs((x1 - x) * (y2 - y) - (y1 - y) * (x2 - x)));
        const kb_keypoint *m = nearest(b, x, y, k->size * scale, reach * k->size * scale);
        if (!m || nearest_of(views, a, m, reach) != k) continue;
        double s = hypot(a->deviation[i] * scale, b->deviation[m - b->k]);
        out[(*count)++] = (residual){s, (m->x - x) / s};
        out[(*count)++] = (residual){s, (m->y - y) / s};
    }
}

static int by_deviation(const void *a, const void *b)
{
    double x = ((const residual *)a)->deviation, y = ((const residual *)b)->deviation;
    return (x > y) - (x < y);
}

static void check_bins(const char *name, residual *r, size_t n)
{
    qsort(r, n, sizeof *r, by_deviation);
    assert_true(n > 2000);
    for (size_t bin = 0; bin < BINS; bin++) {
        size_t from = n * bin / BINS, to = n * (bin + 1) / BINS;
        double sum = 0, squares = 0;
        for (size_t i = from; i < to; i++) sum += r[i].ratio, squares += r[i].ratio * r[i].ratio;
        double mean = sum / (double)(to - from), spread = sqrt(squares / (double)(to - from) - mean * mean);
        if (tell) printf("%-8s sigma from %.3f px: %.3f\n", name, r[from].deviation, spread);
        if (!tell && !(spread >= LEAST && spread <= MOST))
            fail_msg("%s: residual / sigma has a deviation of %.3f from sigma %.3f px on", name, spread,
                     r[from].deviation);
    }
    assert_true(r[n * 9 / 10].deviation > 2 * r[n / 10].deviation); /* they do differ */
}

static void test_residuals_are_as_large_as_they_are_said_to_be(void **state)
{
    (void)state;
    const double reach[] = {1.5 / 31, 1.5 / 31, 1.5 / 3.2}; /* of the size: 1.5 px of the scale */
    static const kb_detector detectors[] = {KB_DETECTOR_HESSIAN, KB_DETECTOR_ORB, KB_DETECTOR_SIFT};
    for (int d = 0; d < 3; d++) {
        residual *r = calloc(ROOM, sizeof *r);
        size_t n = 0;
        for (int s = 0; s < SCENES; s++) {
            plane_view views[2] = {view_at(1, 0, 0, 0, 0),
                                   view_at(0.86 + 0.06 * s, 0.2 * s - 0.5, s % 2 ? 4e-4 : -4e-4, 30, 14)};
            uint8_t *picture = draw_leaves(first_seed + (uint64_t)(s + 1)), *p = render(picture, &views[0], 2, 7),
                    *q = render(picture, &views[1], 2, 8);
            features *a = find(p, detectors[d]), *b = find(q, detectors[d]);
            compare(views, a, b, reach[d], r, &n);
            free(a), free(b), free(p), free(q), free(picture);
        }
        check_bins(kb_name(KB_NAMES_DETECTOR, detectors[d]), r, n);
        free(r);
    }
}

/* The same numbers for any number of threads and 16 bits; coarse keypoints too. */
static void test_every_keypoint_has_a_deviation(void **state)
{
    (void)state;
    plane_view view = view_at(1, 0, 0, 0, 0);
    uint8_t *picture = draw_leaves(9), *p = render(picture, &view, 1, 3);
    uint16_t *wide = malloc(WIDTH * HEIGHT * sizeof *wide);
    features *f = find(p, KB_DETECTOR_HESSIAN), *g = find(p, KB_DETECTOR_HESSIAN);
    for (int i = 0; i < WIDTH * HEIGHT; i++) wide[i] = (uint16_t)(257 * p[i]);
    kb_image image = {p, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0}, image16 = {wide, WIDTH, HEIGHT, 2 * WIDTH, KB_FORMAT_GRAY16, 0};
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    assert_int_equal(
        deviations_of(&image16, g->k, g->n, KB_DETECTOR_HESSIAN, pool, g->deviation), KB_OK);
    assert_memory_equal(f->deviation, g->deviation, sizeof f->deviation);
    for (size_t i = 0; i < f->n; i++) assert_true(f->deviation[i] > 0.03f * f->k[i].size / 31 && f->deviation[i] < f->k[i].size);
    kb_keypoint odd[4] = {f->k[0], f->k[0], f->k[0], f->k[0]};
    float deviation[4];
    odd[0].x = NAN, odd[1].size = 0, odd[2].x = -5, odd[3].size = 5000;
    assert_int_equal(deviations_of(&image, odd, 4, 0, NULL, deviation), KB_OK);
    for (int i = 0; i < 3; i++) assert_true(isnan(deviation[i]));
    assert_true(deviation[3] > 0);
    assert_int_equal(deviations_of(&image, odd, 4, (kb_detector)99, NULL, deviation), KB_E_UNKNOWN);
    assert_int_equal(deviations_of(&image, NULL, 4, 0, NULL, deviation), KB_E_ARGUMENT);
    assert_int_equal(deviations_of(&image, NULL, 0, 0, NULL, NULL), KB_OK);
    kb_pool_free(pool);
    free(f), free(g), free(wide), free(p), free(picture);
}

/* test_deviation SEED prints what scenes of other seeds give. */
int main(int count, char **arguments)
{
    tell = count > 1;
    if (tell) first_seed = strtoull(arguments[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_residuals_are_as_large_as_they_are_said_to_be),
                                       cmocka_unit_test(test_every_keypoint_has_a_deviation)};
    return cmocka_run_group_tests_name("deviation", tests, NULL, NULL);
}
