/* SPDX-License-Identifier: Apache-2.0 */
/* src/fit: known geometry with noise and outliers, degenerate scenes, invariance. */
#include "fit_scenes.h"

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
            kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
        double e = geometry == KB_GEOMETRY_HOMOGRAPHY ? transfer_error(model, p) : sampson_error(model, p);
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
        kb_geometry geometry = k ? KB_GEOMETRY_FUNDAMENTAL : KB_GEOMETRY_HOMOGRAPHY;
        if (geometry == KB_GEOMETRY_HOMOGRAPHY) make_plane(&s, 5, 600, 0.4, 0.8);
        else make_space(&s, 5, 600, 0.4, 0.5, 0);
        kb_fit_options o = options_for(&s, geometry, 2.5);
        kb_fit_report r = fit_with(&s, &o, NULL);
        assert_int_equal(r.result, KB_FIT_FOUND);
        double here = robust_sum(&s, geometry, r.model, 2.5);
        for (int i = 0; i < 18; i++) {
            double moved[9];
            memcpy(moved, r.model, sizeof moved);
            moved[i / 2] *= i & 1 ? 1 + 1e-5 : 1 - 1e-5;
            if (geometry == KB_GEOMETRY_FUNDAMENTAL) kbi_fit_fundamental.retract(moved);
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
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
        kb_fit_options o = options_for(&s, KB_GEOMETRY_FUNDAMENTAL, 1.5);
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
            kb_fit_options o = options_for(&s, KB_GEOMETRY_FUNDAMENTAL, 1.5);
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
        kb_fit_options o = options_for(&s, KB_GEOMETRY_FUNDAMENTAL, 1.5);
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
        kb_fit_options o = options_for(&s, KB_GEOMETRY_FUNDAMENTAL, 1.5);
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
    for (int geometry = KB_GEOMETRY_HOMOGRAPHY; geometry <= KB_GEOMETRY_FUNDAMENTAL; geometry++) {
        kb_fit_options o = options_for(&s, (kb_geometry)geometry, 3);
        for (size_t n = 0; n < (geometry == KB_GEOMETRY_HOMOGRAPHY ? 4 : 7); n++) {
            uint8_t inliers[8] = {9, 9, 9, 9, 9, 9, 9, 9};
            assert_int_equal(kb_fit(n ? s.pairs : NULL, n, &o, NULL, inliers, &r, NULL), KB_OK);
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
    for (int geometry = KB_GEOMETRY_HOMOGRAPHY; geometry <= KB_GEOMETRY_FUNDAMENTAL; geometry++) {
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
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
        kb_fit_result result = fit_with(&s, &o, NULL).result;
        assert_true(result == KB_FIT_DEGENERATE || result == KB_FIT_NOT_FOUND);
    }
}

static void test_noise_is_not_found(void **state)
{
    static scene s;
    (void)state;
    for (int geometry = KB_GEOMETRY_HOMOGRAPHY; geometry <= KB_GEOMETRY_FUNDAMENTAL; geometry++) {
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
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
        assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_NOT_FOUND);
    }
}

/* Every pair of a scene `times` times, each within 0.7 px of the first. */
static void repeat_pairs(scene *s, size_t times, uint64_t seed)
{
    size_t n = s->n;
    assert_true(n * times <= MOST);
    for (size_t i = n; i < n * times; i++) {
        s->pairs[i] = s->pairs[i % n];
        double *v = &s->pairs[i].x1;
        for (int k = 0; k < 4; k++) v[k] += uniform(&seed, -0.5, 0.5);
        s->quality[i] = s->quality[i % n];
        s->truth[i] = s->truth[i % n];
    }
    s->n = n * times;
}

/* A corner that was found on several levels is one place, in the report and for the chance test. */
static void test_places(void **state)
{
    static scene s;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_plane(&s, seed, 100, 0.3, 0.3);
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
        kb_fit_report once = fit_with(&s, &o, NULL);
        assert_in_range(once.places, once.inliers - 3, once.inliers);
        repeat_pairs(&s, 5, seed);
        kb_fit_report often = fit_with(&s, &o, NULL);
        assert_true(often.inliers >= 5 * once.inliers - 20);
        assert_in_range(often.places, once.places - 3, once.places + 3);

        make_plane(&s, seed, 40, 1, 0); /* wrong ones: any seven places are 70 pairs that agree */
        repeat_pairs(&s, 10, seed);
        for (int geometry = KB_GEOMETRY_HOMOGRAPHY; geometry <= KB_GEOMETRY_FUNDAMENTAL; geometry++) {
            o = options_for(&s, (kb_geometry)geometry, 1.5);
            assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_NOT_FOUND);
        }
    }
}

/* Pairs near each other in one image only are different places; units do not matter. */
static void test_places_in_both_images(void **state)
{
    static scene s;
    (void)state;
    make_plane(&s, 5, 200, 0, 0);
    for (int scaled = 0; scaled < 2; scaled++) {
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, scaled ? 3e-3 : 3);
        kb_fit_report r = fit_with(&s, &o, NULL);
        assert_int_equal(r.result, KB_FIT_FOUND);
        assert_in_range(r.places, 195, 200);
        for (size_t i = 0; i < s.n; i++) {
            double *v = &s.pairs[i].x1;
            for (int k = 0; k < 4; k++) v[k] *= 1e-3;
        }
    }
    double tenth[9] = {0.01, 0, 7, 0, 0.01, 9, 0, 0, 1}; /* image 2 is within 8 px */
    make_plane(&s, 5, 200, 0, 0);
    for (size_t i = 0; i < s.n; i++)
        kb_homography_apply(tenth, s.pairs[i].x1, s.pairs[i].y1, &s.pairs[i].x2, &s.pairs[i].y2);
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 0.1);
    assert_in_range(fit_with(&s, &o, NULL).places, 190, 200);
}

/* What a filter has thrown away, and what else was tried, is part of what chance had. */
static void test_candidates_and_looks(void **state)
{
    static scene s;
    int found = 0, chosen = 0, tried = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        make_plane(&s, seed, 60, 0.85, 0.3);
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
        bool alone = fit_with(&s, &o, NULL).result == KB_FIT_FOUND;
        o.candidates = 60;
        o.looks = 1;
        assert_int_equal(fit_with(&s, &o, NULL).result == KB_FIT_FOUND, alone);
        o.looks = 1000000;
        bool of_many_looks = fit_with(&s, &o, NULL).result == KB_FIT_FOUND;
        o.looks = 0;
        o.candidates = 3000;
        bool of_many = fit_with(&s, &o, NULL).result == KB_FIT_FOUND;
        assert_true(alone || (!of_many && !of_many_looks));
        found += alone, chosen += of_many, tried += of_many_looks;
    }
    assert_true(found >= 15 && chosen <= found / 3 && tried < found);
    make_plane(&s, 1, 500, 0.3, 0.5); /* what is there is found all the same */
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
    o.candidates = 5000;
    o.looks = 100;
    assert_int_equal(fit_with(&s, &o, NULL).result, KB_FIT_FOUND);
    kb_fit_report r;
    KB_INIT(r);
    o.looks = -1;
    assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r, NULL), KB_E_ARGUMENT);
}

static void test_what_deserves_belief(void **state)
{
    (void)state;
    assert_true(kbi_fit_meaningful(4, 4, 4, 1e-4, 1));
    assert_true(kbi_fit_meaningful(5, 5, 4, 1e-4, 1));
    assert_false(kbi_fit_meaningful(5, 4, 4, 1e-4, 1));
    assert_false(kbi_fit_meaningful(500, 8, 4, 9e-5, 1));
    assert_true(kbi_fit_meaningful(500, 14, 4, 9e-5, 1));
    assert_false(kbi_fit_meaningful(500, 14, 4, 9e-5, 1e12));
    assert_false(kbi_fit_meaningful(100000, 50, 4, 9e-5, 1));
    assert_true(kbi_fit_meaningful(100000, 200, 4, 9e-5, 1));
    assert_true(kbi_fit_meaningful(2000000, 1500000, 7, 0.01, 1));
    assert_false(kbi_fit_meaningful(2000000, 15000, 7, 0.01, 1));
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
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_places_in_both_images),
        cmocka_unit_test(test_candidates_and_looks),
        cmocka_unit_test(test_what_deserves_belief),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
