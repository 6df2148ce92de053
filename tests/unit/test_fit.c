/* src/fit: known geometry with noise and outliers, degenerate and wrong input, duplicates, invariance, sameness. */
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

static double uniform(uint64_t *seed, double low, double high)
{
    return low + (high - low) * (double)(kbi_random_next(seed) >> 11) * 0x1p-53;
}

static double gaussian(uint64_t *seed)
{
    double r = sqrt(-2 * log(1 - uniform(seed, 0, 1)));
    return r * cos(6.283185307179586 * uniform(seed, 0, 1));
}

/* Distances as matching gives them: those of wrong pairs are larger, but the two overlap. */
static float some_quality(uint64_t *seed, bool right)
{
    return (float)floor((right ? 45 : 68) + 12 * gaussian(seed));
}

static const double plane_view[9] = {0.84, -0.31, 150, 0.28, 0.93, -60, 2e-4, -1.5e-4, 1};

static void wrong_pair(uint64_t *seed, kb_point_pair *p)
{
    *p =
        (kb_point_pair){uniform(seed, 0, WIDTH), uniform(seed, 0, HEIGHT), uniform(seed, 0, WIDTH), uniform(seed, 0, HEIGHT)};
}

static void make_plane(scene *s, uint64_t seed, size_t n, double outliers, double noise)
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
static void make_space(scene *s, uint64_t seed, size_t n, double outliers, double noise, double on_plane)
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

static kb_fit_report fit_with(const scene *s, const kb_fit_options *options, uint8_t *inliers)
{
    kb_fit_report report;
    KB_INIT(report);
    assert_int_equal(kb_fit(s->pairs, s->n, options, NULL, inliers, &report), KB_OK);
    return report;
}

static kb_fit_options options_for(const scene *s, kb_geometry geometry, double threshold)
{
    kb_fit_options o;
    KB_INIT(o);
    o.geometry = geometry;
    o.threshold = threshold;
    o.quality = s->quality;
    return o;
}

/* --------------------------------------------------------------------------------------------------------- measures */

static double corner_error(const double *a, const double *b)
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

static double sampson_error(const double *f, const kb_point_pair *p)
{
    double l[3], m[3];
    for (int i = 0; i < 3; i++) {
        l[i] = f[3 * i] * p->x1 + f[3 * i + 1] * p->y1 + f[3 * i + 2];
        m[i] = f[i] * p->x2 + f[3 + i] * p->y2 + f[6 + i];
    }
    return fabs(l[0] * p->x2 + l[1] * p->y2 + l[2]) / sqrt(l[0] * l[0] + l[1] * l[1] + m[0] * m[0] + m[1] * m[1]);
}

static double transfer_error(const double *h, const kb_point_pair *p)
{
    double x, y;
    kb_homography_apply(h, p->x1, p->y1, &x, &y);
    return hypot(x - p->x2, y - p->y2);
}

/* How far clean pairs of fresh points are from the epipolar geometry, on average. */
static double epipolar_error(const double *f)
{
    static scene clean;
    double sum = 0;
    make_space(&clean, 4711, 500, 0, 0, 0);
    for (size_t i = 0; i < clean.n; i++) sum += sampson_error(f, &clean.pairs[i]) / (double)clean.n;
    return sum;
}

/* ------------------------------------------------------------------------------------------------------- homography */

static void test_exact_homography(void **state)
{
    static scene s;
    (void)state;
    for (size_t n = 4; n < 40; n += 5) {
        make_plane(&s, n, n, 0, 0);
        kb_fit_report r = fit_with(&s, NULL, NULL);
        assert_int_equal(r.result, KB_FIT_FOUND);
        assert_int_equal(r.inliers, n);
        assert_true(r.model[8] == 1);
        assert_true(corner_error(r.model, s.model) < 1e-6);
        assert_true(r.rms < 1e-6);
    }
}

static void test_homography_with_outliers(void **state)
{
    static scene s;
    static uint8_t inliers[MOST];
    static const double rates[] = {0, 0.3, 0.5, 0.7, 0.8};
    (void)state;
    for (size_t k = 0; k < KBI_COUNT(rates); k++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            make_plane(&s, seed, 500, rates[k], 0.7);
            kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
            for (o.plain_ransac = 0; o.plain_ransac < 2; o.plain_ransac++) {
                kb_fit_report r = fit_with(&s, &o, inliers);
                int wrong = 0, counted = 0;
                assert_int_equal(r.result, KB_FIT_FOUND);
                assert_true(corner_error(r.model, s.model) < 2.5);
                for (size_t i = 0; i < s.n; i++) wrong += inliers[i] != s.truth[i], counted += inliers[i];
                assert_true(wrong <= 6);
                assert_int_equal(counted, r.inliers);
                assert_true(r.rms > 0.5 && r.rms < 1.5);
            }
        }
    }
}

static void test_inliers_are_those_within_the_threshold(void **state)
{
    static scene s;
    static uint8_t inliers[MOST];
    (void)state;
    make_plane(&s, 3, 800, 0.4, 1.5);
    kb_fit_report r = fit_with(&s, NULL, inliers);
    double sum = 0;
    assert_int_equal(r.result, KB_FIT_FOUND);
    for (size_t i = 0; i < s.n; i++) {
        double e = transfer_error(r.model, &s.pairs[i]);
        if (fabs(e - 3) > 1e-9) assert_int_equal(inliers[i], e < 3);
        if (inliers[i]) sum += e * e;
    }
    assert_true(fabs(r.rms - sqrt(sum / r.inliers)) < 1e-9);
}

/* The sum that a fit promises to bring to its minimum: least squares near zero, indifferent beyond sqrt(3)
 * thresholds. */
static double robust_sum(const scene *s, kb_geometry geometry, const double *model, double threshold)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        const kb_point_pair *p = &s->pairs[i];
        double e = geometry == KB_HOMOGRAPHY ? transfer_error(model, p) : sampson_error(model, p);
        double left = 1 - e * e / (3 * threshold * threshold);
        sum += left > 0 ? 1 - left * left * left : 1;
    }
    return sum;
}

/* No small change of any entry makes the sum smaller by more than refinement may leave. */
static void test_refinement_reaches_the_optimum(void **state)
{
    static scene s;
    (void)state;
    for (int k = 0; k < 2; k++) {
        kb_geometry geometry = k ? KB_FUNDAMENTAL : KB_HOMOGRAPHY;
        if (geometry == KB_HOMOGRAPHY) make_plane(&s, 5, 600, 0.4, 0.8);
        else make_space(&s, 5, 600, 0.4, 0.5, 0);
        kb_fit_options o = options_for(&s, geometry, 2.5);
        kb_fit_report r = fit_with(&s, &o, NULL);
        assert_int_equal(r.result, KB_FIT_FOUND);
        double here = robust_sum(&s, geometry, r.model, 2.5);
        for (int i = 0; i < 18; i++) {
            double moved[9];
            memcpy(moved, r.model, sizeof moved);
            moved[i / 2] *= i & 1 ? 1 + 1e-5 : 1 - 1e-5;
            if (geometry == KB_FUNDAMENTAL) kbi_fit_fundamental.retract(moved);
            assert_true(robust_sum(&s, geometry, moved, 2.5) >= here * (1 - 1e-6));
        }
    }
}

/* With small noise and no outliers the robust optimum is as good as the least-squares one: the rms of n pairs with
 * noise s around eight fitted numbers is s sqrt(2 - 8 / n). */
static void test_little_is_lost_against_least_squares(void **state)
{
    static scene s;
    double ratio = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        make_plane(&s, seed, 200, 0, 0.3);
        kb_fit_report r = fit_with(&s, NULL, NULL);
        assert_int_equal(r.inliers, 200);
        ratio += r.rms / (0.3 * sqrt(2 - 8.0 / 200)) / 20;
    }
    assert_true(fabs(ratio - 1) < 0.02);
}

static void test_mirrored_plane(void **state)
{
    static scene s;
    double mirror[9] = {-1, 0, WIDTH, 0, 1, 0, 0, 0, 1};
    (void)state;
    make_plane(&s, 8, 200, 0, 0);
    for (size_t i = 0; i < s.n; i++)
        kb_homography_apply(mirror, s.pairs[i].x1, s.pairs[i].y1, &s.pairs[i].x2, &s.pairs[i].y2);
    kb_fit_report r = fit_with(&s, NULL, NULL);
    assert_int_equal(r.result, KB_FIT_FOUND);
    assert_true(corner_error(r.model, mirror) < 1e-6);
}

static void test_units_and_origin_do_not_matter(void **state)
{
    static scene s, t;
    static uint8_t a[MOST], b[MOST];
    (void)state;
    make_plane(&s, 21, 400, 0.5, 0.6);
    kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
    kb_fit_report r = fit_with(&s, &o, a);
    assert_int_equal(r.result, KB_FIT_FOUND);
    t = s;
    for (size_t i = 0; i < t.n; i++) {
        kb_point_pair *p = &t.pairs[i];
        p->x1 = p->x1 * 0.25 + 1e5, p->y1 = p->y1 * 0.25 - 3e4;
        p->x2 = p->x2 * 16 - 2e5, p->y2 = p->y2 * 16 + 5e4;
    }
    o.threshold = 3 * 16;
    kb_fit_report q = fit_with(&t, &o, b);
    assert_int_equal(q.result, KB_FIT_FOUND);
    assert_memory_equal(a, b, s.n);
    assert_true(fabs(q.rms / 16 - r.rms) < 1e-6);
    for (int i = 0; i < 4; i++) {
        double x = i & 1 ? WIDTH : 0, y = i & 2 ? HEIGHT : 0, xa, ya, xb, yb;
        kb_homography_apply(r.model, x, y, &xa, &ya);
        kb_homography_apply(q.model, x * 0.25 + 1e5, y * 0.25 - 3e4, &xb, &yb);
        assert_true(hypot((xb + 2e5) / 16 - xa, (yb - 5e4) / 16 - ya) < 1e-4);
    }
}

static void test_homography_apply(void **state)
{
    double x, y, vanishing[9] = {1, 0, 0, 0, 1, 0, 1, 0, -5};
    (void)state;
    kb_homography_apply(vanishing, 10, 20, &x, &y);
    assert_true(x == 2 && y == 4);
    kb_homography_apply(vanishing, 5, 20, &x, &y);
    assert_true(isnan(x) && isnan(y));
}

/* ------------------------------------------------------------------------------------------------------ fundamental */

static void test_exact_fundamental(void **state)
{
    static scene s;
    (void)state;
    for (size_t n = 9; n < 60; n += 10) {
        make_space(&s, n, n, 0, 0, 0);
        kb_fit_options o = options_for(&s, KB_FUNDAMENTAL, 1.5);
        kb_fit_report r = fit_with(&s, &o, NULL);
        double norm = 0;
        assert_int_equal(r.result, KB_FIT_FOUND);
        assert_int_equal(r.inliers, n);
        assert_true(epipolar_error(r.model) < 1e-3);
        for (int i = 0; i < 9; i++) norm += r.model[i] * r.model[i];
        assert_true(fabs(norm - 1) < 1e-12);
    }
}

static void test_fundamental_with_outliers(void **state)
{
    static scene s;
    static uint8_t inliers[MOST];
    static const double rates[] = {0, 0.3, 0.5, 0.7, 0.8};
    (void)state;
    for (size_t k = 0; k < KBI_COUNT(rates); k++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            make_space(&s, seed, 800, rates[k], 0.4, 0);
            kb_fit_options o = options_for(&s, KB_FUNDAMENTAL, 1.5);
            kb_fit_report r = fit_with(&s, &o, inliers);
            int missed = 0;
            assert_int_equal(r.result, KB_FIT_FOUND);
            for (size_t i = 0; i < s.n; i++) missed += s.truth[i] && !inliers[i];
            assert_true(missed <= 0.02 * (double)s.n);
            assert_true(epipolar_error(r.model) < 0.5);
        }
    }
}

/* Nine of ten points on one plane: a matrix through the plane alone has nine tenths of the inliers and a wrong
 * epipole. */
static void test_fundamental_with_a_dominant_plane(void **state)
{
    static scene s;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_space(&s, seed, 500, 0.3, 0.3, 0.9);
        kb_fit_options o = options_for(&s, KB_FUNDAMENTAL, 1.5);
        kb_fit_report r = fit_with(&s, &o, NULL);
        assert_int_equal(r.result, KB_FIT_FOUND);
        assert_true(epipolar_error(r.model) < 1);
    }
}

static void test_a_plane_alone_determines_no_fundamental_matrix(void **state)
{
    static scene s;
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        make_plane(&s, seed, 300, seed & 1 ? 0 : 0.2, 0.3);
        kb_fit_options o = options_for(&s, KB_FUNDAMENTAL, 1.5);
        assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_DEGENERATE);
    }
}

/* ---------------------------------------------------------------------------------------------- nothing to be found */

static void test_too_few(void **state)
{
    static scene s;
    kb_fit_report r;
    KB_INIT(r);
    (void)state;
    make_plane(&s, 1, 50, 0, 0);
    for (int geometry = KB_HOMOGRAPHY; geometry <= KB_FUNDAMENTAL; geometry++) {
        kb_fit_options o = options_for(&s, (kb_geometry)geometry, 3);
        for (size_t n = 0; n < (geometry == KB_HOMOGRAPHY ? 4 : 7); n++) {
            uint8_t inliers[8] = {9, 9, 9, 9, 9, 9, 9, 9};
            assert_int_equal(kb_fit(n ? s.pairs : NULL, n, &o, NULL, inliers, &r), KB_OK);
            assert_int_equal(r.result, KB_FIT_TOO_FEW);
            assert_true(r.inliers == 0 && r.model[8] == 0);
            for (size_t i = 0; i < n; i++) assert_int_equal(inliers[i], 0);
        }
    }
    /* Three different points, many times. */
    for (size_t i = 0; i < 50; i++) s.pairs[i] = s.pairs[i % 3];
    assert_int_equal(fit_with(&s, NULL, NULL).result, KB_FIT_TOO_FEW);
}

static void test_one_point_and_one_line(void **state)
{
    static scene s;
    kb_fit_options o;
    (void)state;
    KB_INIT(o);
    for (int geometry = KB_HOMOGRAPHY; geometry <= KB_FUNDAMENTAL; geometry++) {
        for (o.keep_duplicates = 0; o.keep_duplicates < 2; o.keep_duplicates++) {
            o.geometry = (kb_geometry)geometry;
            make_plane(&s, 2, 100, 0, 0);
            for (size_t i = 0; i < s.n; i++) s.pairs[i] = s.pairs[0];
            assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_DEGENERATE);
            make_plane(&s, 2, 100, 0, 0);
            for (size_t i = 0; i < s.n; i++) s.pairs[i].x1 = 12.5, s.pairs[i].y1 = 80; /* in one image only */
            assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_DEGENERATE);
            make_plane(&s, 2, 100, 0, 0);
            for (size_t i = 0; i < s.n; i++) s.pairs[i].y2 = 0.37 * s.pairs[i].x2 + 11.3;
            assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_DEGENERATE);
        }
    }
}

/* Right pairs on a line with a little noise, and wrong ones everywhere: however many they are, they hold no
 * homography. */
static void test_inliers_near_a_line(void **state)
{
    static scene s;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        uint64_t random = seed;
        make_plane(&s, seed, 300, 0.5, 0);
        for (size_t i = 0; i < s.n; i++) {
            kb_point_pair *p = &s.pairs[i];
            if (!s.truth[i]) continue;
            p->y1 = 100 + 0.4 * p->x1 + 0.3 * gaussian(&random);
            kb_homography_apply(plane_view, p->x1, p->y1, &p->x2, &p->y2);
        }
        kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
        kb_fit_result result = fit_with(&s, &o, NULL).result;
        assert_true(result == KB_FIT_DEGENERATE || result == KB_FIT_NOT_FOUND);
    }
}

static void test_noise_is_not_found(void **state)
{
    static scene s;
    (void)state;
    for (int geometry = KB_HOMOGRAPHY; geometry <= KB_FUNDAMENTAL; geometry++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            make_plane(&s, seed, 50 * seed, 1, 0);
            kb_fit_options o = options_for(&s, (kb_geometry)geometry, 3);
            kb_fit_report r = fit_with(&s, &o, NULL);
            assert_int_equal(r.result, KB_FIT_NOT_FOUND);
            assert_true(r.inliers == 0 && r.model[0] == 0);
        }
    }
}

/* Fine print: a crowd of right pairs within 10 px among wrong ones. A homography through it goes wherever chance
 * wants. */
static void test_a_crowd_counts_once(void **state)
{
    static scene s;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        uint64_t random = seed;
        make_plane(&s, seed, 400, 1, 0);
        for (size_t i = 0; i < 14; i++) {
            double x = uniform(&random, 0, 10), y = uniform(&random, 0, 10);
            s.pairs[i] = (kb_point_pair){300 + x, 200 + y, 500 + x, 250 + y};
            s.quality[i] = 20;
        }
        kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
        assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_NOT_FOUND);
    }
}

static void test_what_deserves_belief(void **state)
{
    (void)state;
    assert_true(kbi_fit_meaningful(4, 4, 4, 1e-4));
    assert_true(kbi_fit_meaningful(5, 5, 4, 1e-4));
    assert_false(kbi_fit_meaningful(5, 4, 4, 1e-4));
    assert_false(kbi_fit_meaningful(500, 8, 4, 9e-5));
    assert_true(kbi_fit_meaningful(500, 14, 4, 9e-5));
    assert_false(kbi_fit_meaningful(100000, 50, 4, 9e-5));
    assert_true(kbi_fit_meaningful(100000, 200, 4, 9e-5));
    assert_true(kbi_fit_meaningful(2000000, 1500000, 7, 0.01));
    assert_false(kbi_fit_meaningful(2000000, 15000, 7, 0.01));
}

/* ----------------------------------------------------------------------------------------------- pairs of all kinds */

static void test_pairs_that_are_not_finite(void **state)
{
    static scene s;
    static uint8_t inliers[MOST];
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e300};
    (void)state;
    make_plane(&s, 6, 300, 0.3, 0.5);
    for (size_t i = 0; i < s.n; i += 3) {
        double *field[] = {&s.pairs[i].x1, &s.pairs[i].y1, &s.pairs[i].x2, &s.pairs[i].y2};
        *field[(i / 3) % 4] = bad[(i / 12) % 4];
        s.quality[i] = 0; /* and they claim to be the best */
    }
    kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
    kb_fit_report r = fit_with(&s, &o, inliers);
    assert_int_equal(r.result, KB_FIT_FOUND);
    assert_true(corner_error(r.model, s.model) < 2);
    for (size_t i = 0; i < s.n; i += 3) assert_int_equal(inliers[i], 0);
    for (size_t i = 0; i < s.n; i++) s.pairs[i].x2 = NAN;
    assert_int_equal(fit_with(&s, &o, inliers).result, KB_FIT_TOO_FEW);
}

static void test_qualities_that_are_not_numbers(void **state)
{
    static scene s;
    (void)state;
    make_plane(&s, 6, 300, 0.5, 0.5);
    for (size_t i = 0; i < s.n; i += 2) s.quality[i] = s.truth[i] ? -INFINITY : NAN;
    kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
    assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_FOUND);
}

/* A hundred points of image 1 that all want the same point of image 2: only the best of them takes part. */
static void test_many_to_one(void **state)
{
    static scene s;
    static uint8_t inliers[MOST];
    (void)state;
    make_plane(&s, 10, 300, 0.2, 0.4);
    for (size_t i = 200; i < 300; i++) {
        s.pairs[i].x2 = s.pairs[0].x2, s.pairs[i].y2 = s.pairs[0].y2;
        s.quality[i] = 50;
    }
    s.quality[0] = 1;
    s.truth[0] = 1;
    kb_homography_apply(plane_view, s.pairs[0].x1, s.pairs[0].y1, &s.pairs[0].x2, &s.pairs[0].y2);
    for (size_t i = 200; i < 300; i++) s.pairs[i].x2 = s.pairs[0].x2, s.pairs[i].y2 = s.pairs[0].y2;
    kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
    kb_fit_report r = fit_with(&s, &o, inliers);
    assert_int_equal(r.result, KB_FIT_FOUND);
    assert_true(corner_error(r.model, s.model) < 2);
    assert_int_equal(inliers[0], 1);
    for (size_t i = 200; i < 300; i++) assert_int_equal(inliers[i], 0);
}

static void test_of_equal_pairs_the_best_counts(void **state)
{
    static scene s;
    static uint8_t inliers[MOST];
    (void)state;
    make_plane(&s, 11, 100, 0, 0.2);
    for (size_t i = 0; i < 100; i++) {
        s.pairs[100 + i] = s.pairs[i];
        s.quality[i] = 10;
        s.quality[100 + i] = i & 1 ? 9.0f : 10.0f; /* a better twin, or an equal one */
    }
    s.n = 200;
    kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
    kb_fit_report r = fit_with(&s, &o, inliers);
    assert_int_equal(r.inliers, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(inliers[i], !(i & 1));
        assert_int_equal(inliers[100 + i], i & 1);
    }
    o.keep_duplicates = 1;
    r = fit_with(&s, &o, inliers);
    assert_int_equal(r.inliers, 200);
    for (size_t i = 0; i < 200; i++) assert_int_equal(inliers[i], 1);
}

static bool share_a_point(const kb_point_pair *a, const kb_point_pair *b)
{
    return (a->x1 == b->x1 && a->y1 == b->y1) || (a->x2 == b->x2 && a->y2 == b->y2);
}

/* The pairs that stay are those of the definition, however many points are equal, by accident or as 0 and -0. */
static void test_duplicates_of_all_kinds(void **state)
{
    static scene s;
    static size_t kept[MOST];
    static uint8_t stays[MOST];
    kb_workspace *workspace;
    (void)state;
    assert_int_equal(kb_workspace_create(&workspace), KB_OK);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        double places = (double)(2 + (seed % 10) * (seed % 10) * 5); /* per coordinate: from nearly all equal on */
        size_t n = 10 + (size_t)(seed * 37 % (MOST - 10)), count = 0;
        for (size_t i = 0; i < n; i++) {
            double v[4];
            for (int k = 0; k < 4; k++) v[k] = floor(uniform(&random, -places, places));
            if (v[0] == 0 && i & 1) v[0] = -0.0;
            s.pairs[i] = (kb_point_pair){v[0], v[1] / 3, v[2], v[3]};
            s.quality[i] = (float)floor(uniform(&random, 0, 20));
        }
        memset(stays, 0, sizeof stays);
        for (int quality = 0; quality < 20; quality++)
            for (size_t i = 0; i < n; i++) {
                if (s.quality[i] != (float)quality) continue;
                size_t k = 0;
                while (k < count && !share_a_point(&s.pairs[i], &s.pairs[kept[k]])) k++;
                if (k == count) kept[count++] = i, stays[i] = 1;
            }
        s.n = n;
        kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
        fit_pairs prepared;
        kb_fit_result result;
        const fit_input input = {&s.pairs[0].x1, 4, (int32_t)n};
        assert_int_equal(kbi_fit_prepare(&input, &o, &kbi_fit_homography, workspace, &prepared, &result), KB_OK);
        if (result != KB_FIT_FOUND) continue;
        assert_int_equal(prepared.n, count);
        for (size_t i = 0; i < count; i++) assert_true(stays[prepared.origin[i]]);
    }
    kb_workspace_free(workspace);
}

/* The quick count of pairs within the cutoff is that of their errors, but for those at the cutoff. */
static void test_quick_count(void **state)
{
    static scene s;
    static double error2[MOST];
    kb_workspace *workspace;
    size_t counted = 0;
    (void)state;
    assert_int_equal(kb_workspace_create(&workspace), KB_OK);
    for (uint64_t scene_number = 1; scene_number <= 20; scene_number++) {
        uint64_t seed = scene_number;
        make_plane(&s, seed, 300 + 7 * (size_t)seed, 0.5, 1);
        kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
        fit_pairs prepared;
        kb_fit_result result;
        const fit_input input = {&s.pairs[0].x1, 4, (int32_t)s.n};
        assert_int_equal(kbi_fit_prepare(&input, &o, &kbi_fit_homography, workspace, &prepared, &result), KB_OK);
        assert_int_equal(result, KB_FIT_FOUND);
        for (int k = 0; k < 50; k++) {
            double models[FIT_MAX_MODELS][FIT_MODEL];
            int32_t sample[4], least = 0, most = 0;
            for (int i = 0; i < 4; i++) sample[i] = (int32_t)kbi_random_below(&seed, (uint32_t)prepared.n);
            if (kbi_fit_homography.solve(&prepared, sample, models) == 0) continue;
            kbi_fit_transfer_errors(models[0], &prepared, 0, prepared.n, error2);
            for (int32_t i = 0; i < prepared.n; i++) {
                least += error2[i] < 0.999 * FIT_CUTOFF2 * prepared.threshold2;
                most += error2[i] < 1.01 * FIT_CUTOFF2 * prepared.threshold2;
            }
            int32_t count = kbi_fit_transfer_near(models[0], &prepared);
            assert_in_range(count, least, most);
            counted += (size_t)count;
        }
    }
    assert_true(counted > 1000);
    kb_workspace_free(workspace);
}

/* ----------------------------------------------------------------------------------------------- search and options */

static void test_order_helps_prosac(void **state)
{
    static scene s;
    long prosac = 0, ransac = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_plane(&s, seed, 1000, 0.7, 0.5);
        kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
        prosac += fit_with(&s, &o, NULL).iterations;
        o.plain_ransac = 1;
        ransac += fit_with(&s, &o, NULL).iterations;
    }
    assert_true(prosac * 5 < ransac);
}

/* With the worst pairs first PROSAC starts badly, but it must not fail. */
static void test_misleading_order(void **state)
{
    static scene s;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_plane(&s, seed, 400, 0.5, 0.5);
        for (size_t i = 0; i < s.n; i++) s.quality[i] = -s.quality[i];
        kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
        kb_fit_report r = fit_with(&s, &o, NULL);
        assert_int_equal(r.result, KB_FIT_FOUND);
        assert_true(corner_error(r.model, s.model) < 2);
    }
}

static void test_given_order_is_the_quality(void **state)
{
    static scene s, sorted;
    size_t place = 0;
    (void)state;
    make_plane(&s, 31, 300, 0.6, 0.5);
    sorted.n = s.n;
    for (int q = -200; q < 300; q++) {
        for (size_t i = 0; i < s.n; i++)
            if ((int)s.quality[i] == q) sorted.pairs[place++] = s.pairs[i];
    }
    assert_int_equal(place, s.n);
    kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
    kb_fit_report a = fit_with(&s, &o, NULL), b = fit_with(&sorted, NULL, NULL);
    assert_int_equal(a.iterations, b.iterations);
    assert_memory_equal(a.model, b.model, sizeof a.model);
}

static void test_the_same_every_time(void **state)
{
    static scene s;
    static uint8_t first[MOST], again[MOST];
    kb_workspace *workspace;
    (void)state;
    assert_int_equal(kb_workspace_create(&workspace), KB_OK);
    for (int geometry = KB_HOMOGRAPHY; geometry <= KB_FUNDAMENTAL; geometry++) {
        if (geometry == KB_HOMOGRAPHY) make_plane(&s, 77, 700, 0.75, 0.8);
        else make_space(&s, 77, 700, 0.6, 0.5, 0.5);
        kb_fit_options o = options_for(&s, (kb_geometry)geometry, 2);
        for (o.seed = 0; o.seed < 3; o.seed++) {
            kb_fit_report a = fit_with(&s, &o, first), b;
            KB_INIT(b);
            assert_int_equal(a.result, KB_FIT_FOUND);
            assert_int_equal(kb_fit(s.pairs, s.n, &o, workspace, again, &b), KB_OK);
            assert_memory_equal(a.model, b.model, sizeof a.model);
            assert_memory_equal(first, again, s.n);
            assert_int_equal(a.iterations, b.iterations);
        }
    }
    kb_workspace_free(workspace);
}

static void test_iterations_are_limited(void **state)
{
    static scene s;
    (void)state;
    make_plane(&s, 1, 500, 1, 0);
    kb_fit_options o = options_for(&s, KB_HOMOGRAPHY, 3);
    o.max_iterations = 37;
    assert_int_equal(fit_with(&s, &o, NULL).iterations, 37);
}

static void test_wrong_arguments(void **state)
{
    static scene s;
    kb_fit_report r;
    kb_fit_options o;
    KB_INIT(r);
    (void)state;
    make_plane(&s, 1, 20, 0, 0);
    assert_int_equal(kb_fit(s.pairs, s.n, NULL, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_fit(NULL, 20, NULL, NULL, NULL, &r), KB_E_ARGUMENT);
    const double thresholds[] = {-1, NAN, INFINITY}, confidences[] = {-0.5, 1, 2, NAN};
    for (size_t i = 0; i < KBI_COUNT(thresholds); i++) {
        KB_INIT(o);
        o.threshold = thresholds[i];
        assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r), KB_E_ARGUMENT);
    }
    for (size_t i = 0; i < KBI_COUNT(confidences); i++) {
        KB_INIT(o);
        o.confidence = confidences[i];
        assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r), KB_E_ARGUMENT);
    }
    KB_INIT(o);
    o.geometry = (kb_geometry)7;
    assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r), KB_E_ARGUMENT);
    KB_INIT(o);
    o.max_iterations = -1;
    assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r), KB_E_ARGUMENT);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(kb_fit_result_name(KB_FIT_FOUND), "found");
    assert_string_equal(kb_fit_result_name(KB_FIT_TOO_FEW), "too few pairs");
    assert_string_equal(kb_fit_result_name((kb_fit_result)99), "?");
}

/* --------------------------------------------------------------------------------------------------- linear algebra */

static void test_eigenvectors(void **state)
{
    uint64_t seed = 9;
    (void)state;
    for (int32_t n = 2; n <= 9; n++) {
        double a[81] = {0}, copy[81], values[9], vectors[81];
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = uniform(&seed, -1, 1);
        memcpy(copy, a, sizeof a);
        kbi_fit_eigen(copy, n, values, vectors);
        for (int32_t k = 0; k < n; k++) {
            if (k) assert_true(values[k - 1] <= values[k]);
            for (int32_t i = 0; i < n; i++) {
                double sum = 0;
                for (int32_t j = 0; j < n; j++) sum += a[i * n + j] * vectors[k * n + j];
                assert_true(fabs(sum - values[k] * vectors[k * n + i]) < 1e-12);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_homography),
        cmocka_unit_test(test_homography_with_outliers),
        cmocka_unit_test(test_inliers_are_those_within_the_threshold),
        cmocka_unit_test(test_refinement_reaches_the_optimum),
        cmocka_unit_test(test_little_is_lost_against_least_squares),
        cmocka_unit_test(test_mirrored_plane),
        cmocka_unit_test(test_units_and_origin_do_not_matter),
        cmocka_unit_test(test_homography_apply),
        cmocka_unit_test(test_exact_fundamental),
        cmocka_unit_test(test_fundamental_with_outliers),
        cmocka_unit_test(test_fundamental_with_a_dominant_plane),
        cmocka_unit_test(test_a_plane_alone_determines_no_fundamental_matrix),
        cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_one_point_and_one_line),
        cmocka_unit_test(test_inliers_near_a_line),
        cmocka_unit_test(test_noise_is_not_found),
        cmocka_unit_test(test_a_crowd_counts_once),
        cmocka_unit_test(test_what_deserves_belief),
        cmocka_unit_test(test_pairs_that_are_not_finite),
        cmocka_unit_test(test_qualities_that_are_not_numbers),
        cmocka_unit_test(test_many_to_one),
        cmocka_unit_test(test_of_equal_pairs_the_best_counts),
        cmocka_unit_test(test_duplicates_of_all_kinds),
        cmocka_unit_test(test_quick_count),
        cmocka_unit_test(test_order_helps_prosac),
        cmocka_unit_test(test_misleading_order),
        cmocka_unit_test(test_given_order_is_the_quality),
        cmocka_unit_test(test_the_same_every_time),
        cmocka_unit_test(test_iterations_are_limited),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_eigenvectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
