/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep over thresholds against trying every threshold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "learn/threshold.h"

#define PLACES 60
#define TRIPLES 90

typedef struct fixture {
    int16_t values[PLACES];
    kbi_triple triples[TRIPLES];
    int32_t d[TRIPLES]; /* the loss of triplet i before the bit is [d]+ */
} fixture;

static int32_t above_zero(int32_t v) { return v > 0 ? v : 0; }

static int32_t draw(uint64_t *state, int32_t low, int32_t high)
{
    return low + (int32_t)kbi_random_below(state, (uint32_t)(high - low + 1));
}

/* place 0 is the anchor, 1 the positive, 2 the negative. */
static void make(fixture *f, uint64_t seed, int32_t spread)
{
    uint64_t state = seed;
    for (int i = 0; i < PLACES; i++) f->values[i] = (int16_t)draw(&state, -spread, spread);
    for (int i = 0; i < TRIPLES; i++) {
        int32_t d = f->d[i] = draw(&state, -4, 4);
        for (int k = 0; k < 3; k++) f->triples[i].place[k] = kbi_random_below(&state, PLACES);
        f->triples[i].alone[0] = 0;
        f->triples[i].alone[1] = above_zero(d + 2) - above_zero(d);
        f->triples[i].alone[2] = above_zero(d - 2) - above_zero(d);
    }
}

/* The triplet ranking loss by its definition, with the new bit as +1 and -1. */
static int64_t loss_with(const fixture *f, int32_t threshold)
{
    int64_t sum = 0;
    for (int i = 0; i < TRIPLES; i++) {
        int32_t h[3];
        for (int k = 0; k < 3; k++) h[k] = f->values[f->triples[i].place[k]] <= threshold ? 1 : -1;
        sum += above_zero(f->d[i] - h[0] * h[1] + h[0] * h[2]);
    }
    return sum;
}

static void check_against_all(const fixture *f)
{
    int32_t *histogram = calloc(KBI_BINS, sizeof *histogram);
    int32_t best_step = -KBI_MAX_STEP;
    int64_t nothing = loss_with(f, -KBI_VALUE_LIMIT - 1), best = nothing;
    for (int32_t step = -KBI_MAX_STEP; step <= KBI_MAX_STEP; step++) {
        int32_t t = (int32_t)floor(128 * kbi_step_threshold(step, 128));
        int64_t loss = loss_with(f, t);
        assert_int_equal(nothing + kbi_threshold_change(f->triples, TRIPLES, f->values, t), loss);
        if (loss >= best) continue;
        best = loss;
        best_step = step;
    }
    kbi_found_threshold found = kbi_find_threshold(f->triples, TRIPLES, f->values, histogram);
    assert_int_equal(nothing + found.change, best);
    assert_int_equal(found.step, best_step);
    for (int32_t b = 0; b < KBI_BINS; b++) assert_int_equal(histogram[b], 0);
    free(histogram);
}

static void sweep_equals_trying_all(void **state)
{
    (void)state;
    static const int32_t spreads[] = {0, 1, 20, 500, KBI_VALUE_LIMIT};
    for (uint64_t seed = 0; seed < 12; seed++) {
        fixture f;
        make(&f, seed, spreads[seed % KBI_COUNT(spreads)]);
        check_against_all(&f);
    }
}

static void extremes_have_their_bins(void **state)
{
    (void)state;
    int32_t *histogram = calloc(KBI_BINS, sizeof *histogram);
    const int16_t values[3] = {-KBI_VALUE_LIMIT, -KBI_VALUE_LIMIT, KBI_VALUE_LIMIT};
    const kbi_triple one = {{0, 1, 2}, {0, 2, -2}};
    kbi_found_threshold found = kbi_find_threshold(&one, 1, values, histogram);
    assert_int_equal(found.change, -2);
    assert_int_equal(found.step, -KBI_MAX_STEP);
    kbi_found_threshold none = kbi_find_threshold(NULL, 0, values, histogram);
    assert_int_equal(none.change, 0);
    free(histogram);
}

/* Weights of boosting: the anchor alone counts too. */
static void three_weights_count(void **state)
{
    (void)state;
    int32_t *histogram = calloc(KBI_BINS, sizeof *histogram);
    uint64_t random = 5;
    int16_t values[30];
    kbi_triple triples[40];
    for (int i = 0; i < 30; i++) values[i] = (int16_t)draw(&random, -300, 300);
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 3; k++) {
            triples[i].place[k] = kbi_random_below(&random, 30);
            triples[i].alone[k] = draw(&random, -1000, 1000);
        }
    int64_t best = 0;
    for (int32_t step = -25; step <= 25; step++) {
        int64_t change = kbi_threshold_change(triples, 40, values, (int32_t)floor(128 * kbi_step_threshold(step, 128)));
        best = change < best ? change : best;
    }
    assert_int_equal(kbi_find_threshold(triples, 40, values, histogram).change, best);
    free(histogram);
}

/* The precision is the paper's 0.1 gray level: as a float, too, a step decides as the exact number of tenths does. */
static void steps_are_tenths_of_a_gray_level(void **state)
{
    (void)state;
    for (int32_t step = -KBI_MAX_STEP; step <= KBI_MAX_STEP; step++) {
        float theta = (float)kbi_step_threshold(step, 128);
        assert_true(theta == (float)(step / 10.0));
        assert_true(floor(128 * (double)theta) == floor(128.0 * step / 10));
    }
    assert_int_equal(KBI_MAX_STEP, 2550);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweep_equals_trying_all),
        cmocka_unit_test(extremes_have_their_bins),
        cmocka_unit_test(three_weights_count),
        cmocka_unit_test(steps_are_tenths_of_a_gray_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
