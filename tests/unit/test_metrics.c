/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics, against cases small enough to compute by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "learn/metrics.h"

#define NEAR 1e-12
#define assert_near(value, expected, error) assert_true(fabs((value) - (expected)) <= (error))

/* Right at 1, wrong at 2, right at 3, of 4 positives: (1/4, 1), (1/4, 1/2), (2/4, 2/3). */
static void average_precision_by_hand(void **state)
{
    (void)state;
    kbi_answer answers[] = {{3, 1}, {1, 1}, {2, 0}};
    kbi_curve curve;
    double expected = 0.25 * 1 + 0.25 * (1.0 / 2 + 2.0 / 3) / 2;
    assert_near(kbi_average_precision(answers, 3, 4, &curve), expected, NEAR);
    assert_near(curve.precision[0], 1, NEAR);
    assert_near(curve.precision[25], 1, NEAR);
    assert_near(curve.precision[30], 0.5 + 5.0 / 25 * (2.0 / 3 - 0.5), 1e-9);
    assert_near(curve.precision[50], 2.0 / 3, 1e-9);
    assert_near(curve.precision[51], 0, NEAR);
}

/* Answers at one distance enter together, in whatever order they come. */
static void ties_make_one_point(void **state)
{
    (void)state;
    kbi_answer one[] = {{1, 1}, {1, 0}, {2, 1}}, two[] = {{2, 1}, {1, 0}, {1, 1}};
    double expected = 0.5 * (1 + 0.5) / 2 + 0.5 * (0.5 + 2.0 / 3) / 2;
    assert_near(kbi_average_precision(one, 3, 2, NULL), expected, NEAR);
    assert_near(kbi_average_precision(two, 3, 2, NULL), expected, NEAR);
}

static void nothing_to_find_gives_nothing(void **state)
{
    (void)state;
    kbi_answer answers[] = {{1, 0}};
    kbi_curve curve;
    assert_near(kbi_average_precision(answers, 1, 0, &curve), 0, 0);
    assert_near(kbi_average_precision(NULL, 0, 5, NULL), 0, 0);
    assert_near(kbi_average_precision(answers, 1, 1, NULL), 0, 0);
    assert_near(kbi_average_precision_ranked(NULL, 0, 3), 0, 0);
}

static void perfect_answers_fill_the_square(void **state)
{
    (void)state;
    kbi_answer answers[10];
    kbi_curve curve;
    for (int i = 0; i < 10; i++) answers[i] = (kbi_answer){(float)i, 1};
    assert_near(kbi_average_precision(answers, 10, 10, &curve), 1, NEAR);
    for (int i = 0; i < KBI_CURVE_POINTS; i++) assert_near(curve.precision[i], 1, NEAR);
}

/* wrong, right, right of 3: (0, 1) (0, ~0) (1/3, 1/2) (2/3, 2/3). */
static void ranked_by_hand(void **state)
{
    (void)state;
    const uint8_t correct[] = {0, 1, 1};
    assert_near(kbi_average_precision_ranked(correct, 3, 3), (0.5 / 2 + (0.5 + 2.0 / 3) / 2) / 3, 1e-9);
    const uint8_t first[] = {1, 0, 0, 1};
    assert_near(kbi_average_precision_ranked(first, 4, 2), 0.5 * 1 + 0.5 * (1.0 / 3 + 0.5) / 2, NEAR);
}

/* Of the 6 pairs of right and wrong, 4 are in order. */
static void roc_area_by_hand(void **state)
{
    (void)state;
    const uint8_t correct[] = {1, 0, 1, 1, 0}, all_right[] = {1, 1};
    assert_near(kbi_roc_area_ranked(correct, 5), 4.0 / 6, NEAR);
    assert_near(kbi_roc_area_ranked(all_right, 2), 0, 0);
}

static void fpr95_by_hand(void **state)
{
    (void)state;
    const uint64_t positive[] = {90, 8, 2, 0}, negative[] = {4, 10, 0, 186};
    kbi_fpr95 f = kbi_fpr_at_95((kbi_histograms){positive, negative, 4});
    assert_int_equal(f.threshold, 1);
    assert_near(f.rate, 14.0 / 200, NEAR);
    assert_near(f.worst, 14.0 / 200, NEAR);
    assert_near(f.best, 4.0 / 200, NEAR);
    assert_near(f.interpolated, (4 + 5.0 / 8 * 10) / 200, NEAR);
}

/* 95 % of 10 positives are 10 of them, not 9. */
static void fpr95_rounds_up(void **state)
{
    (void)state;
    const uint64_t positive[] = {9, 0, 1}, negative[] = {0, 5, 5};
    kbi_fpr95 f = kbi_fpr_at_95((kbi_histograms){positive, negative, 3});
    assert_int_equal(f.threshold, 2);
    assert_near(f.rate, 1, NEAR);
    assert_near(f.best, 0.5, NEAR);
}

static void spread_by_hand(void **state)
{
    (void)state;
    double values[] = {4, 1, 3, 2};
    kbi_spread s = kbi_spread_of(values, 4);
    assert_near(s.median, 2.5, NEAR);
    assert_near(s.low, 1.75, NEAR);
    assert_near(s.high, 3.25, NEAR);
    assert_near(s.smallest, 1, 0);
    assert_near(s.largest, 4, 0);
    double one[] = {7};
    assert_near(kbi_spread_of(one, 1).high, 7, 0);
}

/* Counted by distance gives what the list of answers gives. */
static void counts_and_answers_agree(void **state)
{
    (void)state;
    kbi_answer answers[] = {{2, 1}, {2, 0}, {3, 1}, {5, 0}, {5, 1}, {5, 1}};
    double right[8] = {0}, recall = 0;
    uint64_t answered[8] = {0};
    for (size_t i = 0; i < 6; i++) {
        right[(int)answers[i].distance] += answers[i].correct;
        answered[(int)answers[i].distance]++;
    }
    double counted = kbi_average_precision_binned(right, answered, 8, 8, &recall);
    assert_true(fabs(counted - kbi_average_precision(answers, 6, 8, NULL)) < 1e-12);
    assert_true(recall == 0.5);
    assert_true(kbi_average_precision_binned(right, answered, 8, 0, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_answers_agree),
        cmocka_unit_test(average_precision_by_hand), cmocka_unit_test(ties_make_one_point),
        cmocka_unit_test(nothing_to_find_gives_nothing), cmocka_unit_test(perfect_answers_fill_the_square),
        cmocka_unit_test(ranked_by_hand), cmocka_unit_test(roc_area_by_hand),
        cmocka_unit_test(fpr95_by_hand), cmocka_unit_test(fpr95_rounds_up), cmocka_unit_test(spread_by_hand),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
