/* SPDX-License-Identifier: Apache-2.0 */
/* src/fit: what is not a number, duplicates, the order of pairs, options, sameness, wrong arguments. */
#include "fit_scenes.h"

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
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
    kb_fit_report r = fit_with(&s, &o, inliers);
    assert_int_equal(r.inliers, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(inliers[i], !(i & 1));
        assert_int_equal(inliers[100 + i], i & 1);
    }
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
    void *memory = malloc(kbi_fit_prepare_bytes(MOST));
    (void)state;
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
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
        fit_pairs prepared;
        const fit_input input = {&s.pairs[0].x1, 4, (int32_t)n};
        if (kbi_fit_prepare(&input, &o, &kbi_fit_homography, memory, &prepared) != KB_FIT_FOUND) continue;
        assert_int_equal(prepared.n, count);
        for (size_t i = 0; i < count; i++) assert_true(stays[prepared.origin[i]]);
    }
    free(memory);
}

/* Coordinates on a grid of whole or half pixels, in two or three dimensions, spread over a table as random ones do: of
 * n points in 2 n to 4 n places, n - n^2 / (2 places) or more have a place of their own. */
static void test_hashes_of_whole_pixels(void **state)
{
    enum { SIDE = 256, BITS = 18, PLACES = 1 << BITS };
    static uint8_t low[PLACES], high[PLACES];
    (void)state;
    for (int k = 0; k < 6; k++) {
        double step = k & 1 ? 0.5 : 1;
        int32_t dimensions = k < 4 ? 2 : 3;
        size_t lows = 0, highs = 0;
        memset(low, 0, sizeof low), memset(high, 0, sizeof high);
        for (int i = 0; i < SIDE * SIDE; i++) {
            double point[3] = {step * (i % SIDE), step * (i / SIDE), 7};
            if (k >= 2) point[dimensions - 1] += 4096; /* in other octaves of floats */
            if (k >= 4) point[0] = point[1], point[1] = 12, point[2] = step * (i % SIDE);
            uint64_t hash = kbi_fit_hash_point(point, dimensions);
            size_t a = (size_t)(hash >> 20) & (PLACES - 1), b = (size_t)(hash >> (64 - BITS));
            lows += !low[a], highs += !high[b];
            low[a] = high[b] = 1;
        }
        assert_true(lows > 0.85 * SIDE * SIDE && highs > 0.85 * SIDE * SIDE);
    }
}

/* The quick count of pairs within the cutoff is that of their errors, but for those at the cutoff. */
static void test_quick_count(void **state)
{
    static scene s;
    static double error2[MOST];
    void *memory = malloc(kbi_fit_prepare_bytes(MOST));
    size_t counted = 0;
    (void)state;
    for (uint64_t scene_number = 1; scene_number <= 20; scene_number++) {
        uint64_t seed = scene_number;
        make_plane(&s, seed, 300 + 7 * (size_t)seed, 0.5, 1);
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
        fit_pairs prepared;
        const fit_input input = {&s.pairs[0].x1, 4, (int32_t)s.n};
        assert_int_equal(kbi_fit_prepare(&input, &o, &kbi_fit_homography, memory, &prepared), KB_FIT_FOUND);
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
    free(memory);
}

/* ----------------------------------------------------------------------------------------------- search and options */

static void test_order_helps_prosac(void **state)
{
    static scene s;
    long prosac = 0, ransac = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_plane(&s, seed, 1000, 0.7, 0.5);
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
        kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    for (int geometry = KB_GEOMETRY_HOMOGRAPHY; geometry <= KB_GEOMETRY_FUNDAMENTAL; geometry++) {
        if (geometry == KB_GEOMETRY_HOMOGRAPHY) make_plane(&s, 77, 700, 0.75, 0.8);
        else make_space(&s, 77, 700, 0.6, 0.5, 0.5);
        kb_fit_options o = options_for(&s, (kb_geometry)geometry, 2);
        for (o.seed = 0; o.seed < 3; o.seed++) {
            kb_fit_report a = fit_with(&s, &o, first), b;
            KB_INIT(b);
            assert_int_equal(a.result, KB_FIT_FOUND);
            assert_int_equal(kb_fit(s.pairs, s.n, &o, workspace, again, &b, NULL), KB_OK);
            assert_memory_equal(a.model, b.model, sizeof a.model);
            assert_memory_equal(first, again, s.n);
            assert_int_equal(a.iterations, b.iterations);
        }
    }
    kb_workspace_free(workspace);
}

/* Too few pairs are no reason to ask for memory; enough of them are, once the options are good. */
static void test_too_few_need_no_memory(void **state)
{
    static scene s;
    uint8_t buffer[512];
    kb_workspace *none;
    kb_fit_report report;
    (void)state;
    KB_INIT(report);
    make_plane(&s, 77, 100, 1, 0.5);
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 2);
    assert_int_equal(kb_workspace_create_in(buffer, sizeof buffer, &none), KB_OK);
    assert_int_equal(kb_fit(s.pairs, 3, &o, none, NULL, &report, NULL), KB_OK);
    assert_int_equal(report.result, KB_FIT_TOO_FEW);
    assert_int_equal(kb_fit(s.pairs, 100, &o, none, NULL, &report, NULL), KB_E_MEMORY);
    kb_workspace_free(none);
}

static void test_iterations_are_limited(void **state)
{
    static scene s;
    (void)state;
    make_plane(&s, 1, 500, 1, 0);
    kb_fit_options o = options_for(&s, KB_GEOMETRY_HOMOGRAPHY, 3);
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
    assert_int_equal(kb_fit(s.pairs, s.n, NULL, NULL, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_fit(NULL, 20, NULL, NULL, NULL, &r, NULL), KB_E_ARGUMENT);
    const double thresholds[] = {-1, NAN, INFINITY}, confidences[] = {-0.5, 1, 2, NAN};
    for (size_t i = 0; i < KBI_COUNT(thresholds); i++) {
        KB_INIT(o);
        o.threshold = thresholds[i];
        assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r, NULL), KB_E_ARGUMENT);
    }
    for (size_t i = 0; i < KBI_COUNT(confidences); i++) {
        KB_INIT(o);
        o.confidence = confidences[i];
        assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r, NULL), KB_E_ARGUMENT);
    }
    KB_INIT(o);
    o.geometry = (kb_geometry)8;
    assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r, NULL), KB_E_ARGUMENT);
    KB_INIT(o);
    o.max_iterations = -1;
    assert_int_equal(kb_fit(s.pairs, s.n, &o, NULL, NULL, &r, NULL), KB_E_ARGUMENT);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(kb_name(KB_NAMES_FIT_RESULT, KB_FIT_FOUND), "found");
    assert_string_equal(kb_name(KB_NAMES_FIT_RESULT, KB_FIT_TOO_FEW), "too few pairs");
    assert_null(kb_name(KB_NAMES_FIT_RESULT, 99));
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
        cmocka_unit_test(test_pairs_that_are_not_finite),
        cmocka_unit_test(test_qualities_that_are_not_numbers),
        cmocka_unit_test(test_many_to_one),
        cmocka_unit_test(test_of_equal_pairs_the_best_counts),
        cmocka_unit_test(test_duplicates_of_all_kinds),
        cmocka_unit_test(test_hashes_of_whole_pixels),
        cmocka_unit_test(test_quick_count),
        cmocka_unit_test(test_order_helps_prosac),
        cmocka_unit_test(test_misleading_order),
        cmocka_unit_test(test_given_order_is_the_quality),
        cmocka_unit_test(test_the_same_every_time),
        cmocka_unit_test(test_too_few_need_no_memory),
        cmocka_unit_test(test_iterations_are_limited),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_eigenvectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
