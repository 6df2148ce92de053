/* SPDX-License-Identifier: Apache-2.0 */
/* Order and selection of keypoints: against plain definitions, ties, numbers that are not finite, large sets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "detect/detect.h"
#include "../arrays.h"

#define WIDTH 640
#define HEIGHT 480

static float uniform(uint64_t *seed) { return (float)(kbi_random_next(seed) >> 40) / 16777216.0f; }

/* Random keypoints; `steps` different responses, so that ties are common when it is small. */
static kb_keypoint *scatter(size_t n, uint32_t steps, uint64_t seed)
{
    kb_keypoint *k = calloc(n + 1, sizeof *k);
    for (size_t i = 0; i < n; i++) {
        float x = floorf(uniform(&seed) * WIDTH * 4) / 4, y = floorf(uniform(&seed) * HEIGHT * 4) / 4;
        k[i] = (kb_keypoint){x, y, 7, uniform(&seed) * 360, (float)kbi_random_below(&seed, steps), (int32_t)i, -1};
    }
    return k;
}

static kb_keypoint *copy_of(const kb_keypoint *k, size_t n)
{
    kb_keypoint *c = malloc((n + 1) * sizeof *c);
    memcpy(c, k, n * sizeof *c);
    return c;
}

static size_t keep(kb_keypoint *k, size_t total, kb_selection rule, size_t n)
{
    size_t count = 0;
    assert_int_equal(select_keypoints(k, total, WIDTH, HEIGHT, rule, n, NULL, &count), KB_OK);
    return count;
}

static int by_order(const void *a, const void *b)
{
    const kb_keypoint *p = a, *q = b;
    if (kbi_keypoint_before(p, q)) return -1;
    if (kbi_keypoint_before(q, p)) return 1;
    return p->octave < q->octave ? -1 : p->octave > q->octave; /* octave holds the first place */
}

static void assert_in_order(const kb_keypoint *k, size_t n)
{
    for (size_t i = 1; i < n; i++) assert_false(kbi_keypoint_before(&k[i], &k[i - 1]));
}

/* ------------------------------------------------------------------------------------------------------------ order */

static void test_order_is_total(void **state)
{
    (void)state;
    /* each differs from the one before in one field, and comes after it */
    const kb_keypoint k[] = {{9, 9, 9, 9, 3, 0, 0}, {9, 8, 9, 9, 2, 0, 0}, {8, 9, 9, 9, 2, 0, 0}, {9, 9, 8, 9, 2, 0, 0},
                             {9, 9, 9, 8, 2, 0, 0}, {9, 9, 9, 9, 2, 0, 0}, {9, 9, 9, 9, -1, 0, 0}};
    for (size_t i = 0; i < KBI_COUNT(k); i++)
        for (size_t j = 0; j < KBI_COUNT(k); j++) assert_int_equal(kbi_keypoint_before(&k[i], &k[j]), i < j);
    kb_keypoint zero = {0, 0.0f, 1, 0, 0.0f, 0, 0}, minus = {0, -0.0f, 1, 0, -0.0f, 0, 0};
    assert_false(kbi_keypoint_before(&zero, &minus) || kbi_keypoint_before(&minus, &zero));
    assert_true(kbi_keypoint_entry(&zero, 0) == kbi_keypoint_entry(&minus, 0));
}

static void test_best_is_a_sort(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 7, 8, 9, 16, 17, 100, 1000, 5000};
    for (size_t s = 0; s < KBI_COUNT(sizes); s++)
        for (uint32_t steps = 1; steps <= 1000; steps *= 10) {
            size_t n = sizes[s];
            kb_keypoint *k = scatter(n, steps, s + steps), *expected = copy_of(k, n);
            qsort(expected, n, sizeof *expected, by_order);
            assert_int_equal(keep(k, n, KB_SELECTION_BEST, n), n);
            assert_memory_equal(k, expected, n * sizeof *k);
            free(k);
            /* the first half of them is what a selection of half keeps */
            k = scatter(n, steps, s + steps);
            assert_int_equal(keep(k, n, KB_SELECTION_BEST, n / 2), n / 2);
            assert_memory_equal(k, expected, n / 2 * sizeof *k);
            free(k);
            free(expected);
        }
}

static void test_what_is_not_finite_goes_last(void **state)
{
    (void)state;
    for (int rule = 1; kb_name(KB_NAMES_SELECTION, rule); rule++) {
        kb_keypoint *k = scatter(60, 1000, 3);
        k[0].x = NAN;
        k[7].y = INFINITY;
        k[13].response = INFINITY;
        k[20].response = NAN;
        k[33].size = -INFINITY;
        k[59].angle = NAN;
        assert_int_equal(keep(k, 60, (kb_selection)rule, 60), 60);
        assert_in_order(k, 54);
        static const int32_t last[6] = {0, 7, 13, 20, 33, 59};
        for (int i = 0; i < 6; i++) assert_int_equal(k[54 + i].octave, last[i]);
        free(k);
        k = scatter(60, 1000, 3);
        for (int i = 0; i < 50; i++) k[i].x = NAN;
        assert_int_equal(keep(k, 60, (kb_selection)rule, 10), 10);
        for (int i = 0; i < 10; i++) assert_true(k[i].octave >= 50);
        free(k);
    }
}

/* ------------------------------------------------------------------------------------------------------------- grid */

static void test_grid_leaves_no_region_empty(void **state)
{
    (void)state;
    enum { TOTAL = 4000, N = 400 };
    /* strong ones crowd in one corner; weak ones are everywhere */
    kb_keypoint *k = scatter(TOTAL, 100, 11);
    for (size_t i = 0; i < TOTAL / 2; i++) {
        k[i].x *= 0.2f;
        k[i].y *= 0.2f;
        k[i].response += 1000;
    }
    kb_keypoint *all = copy_of(k, TOTAL);
    assert_int_equal(keep(k, TOTAL, KB_SELECTION_GRID, N), N);
    assert_in_order(k, N);
    int cells[4][4] = {{0}};
    for (size_t i = 0; i < N; i++) cells[(int)(k[i].y * 4 / HEIGHT)][(int)(k[i].x * 4 / WIDTH)]++;
    for (int i = 0; i < 16; i++) assert_true(cells[i / 4][i % 4] >= N / 16 / 2);
    assert_int_equal(keep(all, TOTAL, KB_SELECTION_BEST, N), N);
    for (size_t i = 0; i < N; i++) assert_true(all[i].x < WIDTH / 4 && all[i].y < HEIGHT / 4); /* unlike the best */
    assert_memory_equal(&k[0], &all[0], sizeof *k); /* but the strongest of all is there */
    free(k);
    free(all);
}

/* In rounds: a keypoint stays out only when its cell's stronger ones are at least as many as anyone's place. */
static void test_grid_goes_in_rounds(void **state)
{
    (void)state;
    /* one cell (8 wanted); then two places of which one is crowded */
    kb_keypoint *k = scatter(100, 1000, 5), *best = copy_of(k, 100);
    assert_int_equal(keep(k, 100, KB_SELECTION_GRID, 1), 1);
    assert_int_equal(keep(best, 100, KB_SELECTION_BEST, 1), 1);
    assert_memory_equal(k, best, sizeof *k);
    free(k);
    free(best);
    kb_keypoint two[40];
    for (int i = 0; i < 40; i++) two[i] = (kb_keypoint){i < 30 ? 10 : 600, 10, 7, (float)i, (float)(100 - i), i, -1};
    assert_int_equal(keep(two, 40, KB_SELECTION_GRID, 16), 16);
    int far_ones = 0;
    for (int i = 0; i < 16; i++) far_ones += two[i].x > 300;
    assert_int_equal(far_ones, 8);
    for (int i = 0; i < 8; i++) assert_int_equal(two[i].octave, i);
}

/* --------------------------------------------------------------------------------------------------------- quadtree */

/* Four clusters of different size: each quarter of the image gives the same number, its strongest. */
static void test_quadtree_shares_by_area(void **state)
{
    (void)state;
    enum { N = 64 };
    kb_keypoint *k = scatter(4000, 1000000, 21);
    for (size_t i = 0; i < 3900; i++) { /* all but a few in the upper left quarter */
        k[i].x *= 0.49f;
        k[i].y *= 0.49f;
    }
    kb_keypoint *all = copy_of(k, 4000);
    assert_int_equal(keep(k, 4000, KB_SELECTION_QUADTREE, N), N);
    assert_in_order(k, N);
    size_t quarter[4] = {0};
    for (size_t i = 0; i < N; i++) quarter[(k[i].x >= WIDTH / 2) + 2 * (k[i].y >= HEIGHT / 2)]++;
    for (int i = 0; i < 4; i++) assert_true(quarter[i] >= N / 8 && quarter[i] <= N / 2);
    qsort(all, 4000, sizeof *all, by_order);
    assert_memory_equal(&k[0], &all[0], sizeof *k); /* the strongest of all is the strongest of its leaf */
    free(k);
    free(all);
}

/* One keypoint from each of n places far apart, whatever stands beside it. */
static void test_quadtree_takes_the_strongest_of_a_leaf(void **state)
{
    (void)state;
    kb_keypoint k[48];
    for (int i = 0; i < 48; i++) {
        int place = i / 3; /* a lattice of 4 x 4 */
        k[i] = (kb_keypoint){(float)(place % 4 * WIDTH / 4 + 50 + i % 3), (float)(place / 4 * HEIGHT / 4 + 50), 7, 0,
                             (float)(i % 3 == 1 ? 500 + i : i), i, -1};
    }
    assert_int_equal(keep(k, 48, KB_SELECTION_QUADTREE, 16), 16);
    for (int i = 0; i < 16; i++) assert_int_equal(k[i].octave % 3, 1);
    /* more than places: leaves are cut until all stand alone */
    for (int i = 0; i < 40; i++) k[i] = (kb_keypoint){(float)(10 + i % 20), 10, 7, (float)i, (float)i, i, -1};
    assert_int_equal(keep(k, 40, KB_SELECTION_QUADTREE, 30), 30);
    assert_in_order(k, 30);
}

/* Sets that would take hours if a step took as long as the set. */
static void test_large_sets_in_one_place(void **state)
{
    (void)state;
    enum { TOTAL = 300000 };
    for (int rule = 1; kb_name(KB_NAMES_SELECTION, rule); rule++)
        for (int shape = 0; shape < 3; shape++) {
            kb_keypoint *k = calloc(TOTAL, sizeof *k);
            for (size_t i = 0; i < TOTAL; i++) {
                float place = shape == 0 ? 100 : 100 + 0.0001f * (float)i;
                k[i] = (kb_keypoint){place, shape == 1 ? place : 50, 3, 0, shape == 2 ? 1 : (float)(i % 1000), 0, -1};
            }
            assert_int_equal(keep(k, TOTAL, (kb_selection)rule, TOTAL / 2), TOTAL / 2);
            assert_in_order(k, TOTAL / 2);
            free(k);
        }
}

/* ------------------------------------------------------------------------------------------------- wrong arguments */

static void test_wrong_arguments(void **state)
{
    (void)state;
    kb_keypoint k[3] = {{1, 1, 1, 0, 1, 0, 0}, {2, 2, 1, 0, 2, 0, 0}, {3, 3, 1, 0, 3, 0, 0}};
    size_t n = 77;
    assert_int_equal(select_keypoints(NULL, 3, 10, 10, KB_SELECTION_BEST, 1, NULL, &n), KB_E_ARGUMENT);
    assert_int_equal(kb_select(KB_SELECTION_BEST, 1, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(select_keypoints(k, 3, 0, 10, KB_SELECTION_GRID, 1, NULL, &n), KB_E_ARGUMENT);
    assert_int_equal(select_keypoints(k, 3, 10, 70000, KB_SELECTION_GRID, 1, NULL, &n), KB_E_ARGUMENT);
    assert_int_equal(select_keypoints(k, 3, 10, 10, (kb_selection)7, 1, NULL, &n), KB_E_ARGUMENT);
    assert_int_equal(select_keypoints(NULL, 0, 10, 10, KB_SELECTION_QUADTREE, 5, NULL, &n), KB_OK);
    assert_int_equal(n, 0);
    assert_int_equal(select_keypoints(k, 3, 10, 10, KB_SELECTION_QUADTREE, 0, NULL, &n), KB_OK);
    assert_int_equal(n, 0);
    assert_int_equal(select_keypoints(k, 3, 10, 10, KB_SELECTION_GRID, 50, NULL, &n), KB_OK);
    assert_int_equal(n, 3);
    assert_true(k[0].response == 3 && k[2].response == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_total),
        cmocka_unit_test(test_best_is_a_sort),
        cmocka_unit_test(test_what_is_not_finite_goes_last),
        cmocka_unit_test(test_grid_leaves_no_region_empty),
        cmocka_unit_test(test_grid_goes_in_rounds),
        cmocka_unit_test(test_quadtree_shares_by_area),
        cmocka_unit_test(test_quadtree_takes_the_strongest_of_a_leaf),
        cmocka_unit_test(test_large_sets_in_one_place),
        cmocka_unit_test(test_wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
