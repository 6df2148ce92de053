/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered point pairs with a known geometry, and how far a fit is from it. For tests of src/fit. */
#ifndef KB_TEST_FIT_SCENES_H
#define KB_TEST_FIT_SCENES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/common.h"
#include "fit/fit.h"

enum { MOST = 2000, WIDTH = 800, HEIGHT = 600 };

/* ---------------------------------------------------------------------------------------------------- rendered data */

typedef struct scene {
    kb_point_pair pairs[MOST];
    float quality[MOST];
    uint8_t truth[MOST];
    size_t n;
    double model[9];
} scene;

static inline double uniform(uint64_t *seed, double low, double high)
{
    return low + (high - low) * (double)(kbi_random_next(seed) >> 11) * 0x1p-53;
}

static inline double gaussian(uint64_t *seed)
{
    double r = sqrt(-2 * log(1 - uniform(seed, 0, 1)));
    return r * cos(6.283185307179586 * uniform(seed, 0, 1));
}

/* Distances as matching gives them: those of wrong pairs are larger, but the two overlap. */
static inline float some_quality(uint64_t *seed, bool right)
{
    return (float)floor((right ? 45 : 68) + 12 * gaussian(seed));
}

static const double plane_view[9] = {0.84, -0.31, 150, 0.28, 0.93, -60, 2e-4, -1.5e-4, 1};

static inline void wrong_pair(uint64_t *seed, kb_point_pair *p)
{
    *p =
        (kb_point_pair){uniform(seed, 0, WIDTH), uniform(seed, 0, HEIGHT), uniform(seed, 0, WIDTH), uniform(seed, 0, HEIGHT)};
}

static inline void make_plane(scene *s, uint64_t seed, size_t n, double outliers, double noise)
{
    s->n = n;
    memcpy(s->model, plane_view, sizeof s->model);
    for (size_t i = 0; i < n; i++) {
        kb_point_pair *p = &s->pairs[i];
        s->truth[i] = uniform(&seed, 0, 1) >= outliers;
        wrong_pair(&seed, p);
        if (s->truth[i]) {
            kb_homography_apply(plane_view, p->x1, p->y1, &p->x2, &p->y2);
            p->x2 += noise * gaussian(&seed);
            p->y2 += noise * gaussian(&seed);
        }
        s->quality[i] = some_quality(&seed, s->truth[i]);
    }
}

/* Two cameras in front of points at depths 4 to 12; a share of the points lies on one slanted plane. */
static inline void make_space(scene *s, uint64_t seed, size_t n, double outliers, double noise, double on_plane)
{
    const double focal = 700, angle = 0.15, c = cos(angle), d = sin(angle), t[3] = {1, 0.2, 0.15};
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        kb_point_pair *p = &s->pairs[i];
        s->truth[i] = uniform(&seed, 0, 1) >= outliers;
        wrong_pair(&seed, p);
        if (s->truth[i]) {
            double x = (p->x1 - WIDTH / 2) / focal, y = (p->y1 - HEIGHT / 2) / focal;
            double z = uniform(&seed, 0, 1) < on_plane ? 8 / (1 + 0.3 * x - 0.2 * y) : uniform(&seed, 4, 12);
            double X = c * x * z + d * z - t[0], Y = y * z - t[1], Z = -d * x * z + c * z - t[2];
            p->x2 = WIDTH / 2 + focal * X / Z + noise * gaussian(&seed);
            p->y2 = HEIGHT / 2 + focal * Y / Z + noise * gaussian(&seed);
            p->x1 += noise * gaussian(&seed);
            p->y1 += noise * gaussian(&seed);
        }
        s->quality[i] = some_quality(&seed, s->truth[i]);
    }
    /* F = K^-T [t]x R K^-1 for x2 ~ R x1 - t. */
    const double rotation[9] = {c, 0, d, 0, 1, 0, -d, 0, c}, tx[9] = {0, -t[2], t[1], t[2], 0, -t[0], -t[1], t[0], 0};
    const double k[9] = {1 / focal, 0, -WIDTH / 2 / focal, 0, 1 / focal, -HEIGHT / 2 / focal, 0, 0, 1};
    const double kt[9] = {k[0], k[3], k[6], k[1], k[4], k[7], k[2], k[5], k[8]};
    double e[9], left[9];
    kbi_fit_multiply3(tx, rotation, e);
    kbi_fit_multiply3(kt, e, left);
    kbi_fit_multiply3(left, k, s->model);
}

static inline kb_fit_report fit_with(const scene *s, const kb_fit_options *options, uint8_t *inliers)
{
    kb_fit_report report;
    KB_INIT(report);
    assert_int_equal(kb_fit(s->pairs, s->n, options, NULL, inliers, &report, NULL), KB_OK);
    return report;
}

static inline kb_fit_options options_for(const scene *s, kb_geometry geometry, double threshold)
{
    kb_fit_options o;
    KB_INIT(o);
    o.geometry = geometry;
    o.threshold = threshold;
    o.quality = s->quality;
    return o;
}

/* --------------------------------------------------------------------------------------------------------- measures */

static inline double corner_error(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double x = i & 1 ? WIDTH - 1 : 0, y = i & 2 ? HEIGHT - 1 : 0, xa, ya, xb, yb;
        kb_homography_apply(a, x, y, &xa, &ya);
        kb_homography_apply(b, x, y, &xb, &yb);
        sum += hypot(xa - xb, ya - yb) / 4;
    }
    return sum;
}

static inline double sampson_error(const double *f, const kb_point_pair *p)
{
    double l[3], m[3];
    for (int i = 0; i < 3; i++) {
        l[i] = f[3 * i] * p->x1 + f[3 * i + 1] * p->y1 + f[3 * i + 2];
        m[i] = f[i] * p->x2 + f[3 + i] * p->y2 + f[6 + i];
    }
    return fabs(l[0] * p->x2 + l[1] * p->y2 + l[2]) / sqrt(l[0] * l[0] + l[1] * l[1] + m[0] * m[0] + m[1] * m[1]);
}

static inline double transfer_error(const double *h, const kb_point_pair *p)
{
    double x, y;
    kb_homography_apply(h, p->x1, p->y1, &x, &y);
    return hypot(x - p->x2, y - p->y2);
}

/* How far clean pairs of fresh points are from the epipolar geometry, on average. */
static inline double epipolar_error(const double *f)
{
    static scene clean;
    double sum = 0;
    make_space(&clean, 4711, 500, 0, 0, 0);
    for (size_t i = 0; i < clean.n; i++) sum += sampson_error(f, &clean.pairs[i]) / (double)clean.n;
    return sum;
}

#endif
