/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling of pairs, and hard negatives against all pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "learn/triplets.h"

/* ---- points ---- */

static void single_patches_are_left_out(void **state)
{
    (void)state;
    const uint32_t labels[] = {3, 5, 5, 6, 9, 9, 9, 12};
    kbi_point_list list;
    assert_int_equal(kbi_point_list_create(&list, labels, KBI_COUNT(labels), NULL), KB_OK);
    assert_int_equal(list.points, 2);
    assert_int_equal(list.patches, 5);
    assert_int_equal(list.singletons, 3);
    assert_int_equal(list.first[1], 4);
    assert_int_equal(list.count[1], 3);
    kbi_point_list_free(&list);
}

static void wrong_labels_are_told(void **state)
{
    (void)state;
    const uint32_t descending[] = {1, 1, 4, 4, 2}, single[] = {1, 2, 3, 3, 4};
    kbi_point_list list;
    kb_error error;
    assert_int_equal(kbi_point_list_create(&list, descending, 5, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "patch 4"));
    assert_int_equal(kbi_point_list_create(&list, single, 5, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "there are 1"));
    assert_int_equal(kbi_point_list_create(&list, NULL, 0, &error), KB_E_ARGUMENT);
}

/* ---- pairs ---- */

enum { POINTS = 500, PAIRS = 400 };

static kbi_point_list some_points(uint32_t *labels)
{
    kbi_point_list list;
    size_t n = 0;
    for (uint32_t p = 0; p < POINTS; p++)
        for (uint32_t k = 0; k < 2 + p % 4; k++) labels[n++] = p;
    assert_int_equal(kbi_point_list_create(&list, labels, n, NULL), KB_OK);
    return list;
}

static void pairs_are_of_different_points(void **state)
{
    (void)state;
    uint32_t labels[POINTS * 5];
    kbi_point_list list = some_points(labels);
    uint8_t taken[(POINTS + 7) / 8] = {0};
    size_t left[POINTS], right[POINTS], again_left[POINTS], again_right[POINTS];
    for (uint64_t seed = 1; seed <= 5; seed++) {
        bool used[POINTS] = {false};
        kbi_sample_pairs(&list, PAIRS, seed, left, right, taken);
        for (size_t i = 0; i < PAIRS; i++) {
            assert_int_equal(labels[left[i]], labels[right[i]]);
            assert_int_not_equal(left[i], right[i]);
            assert_false(used[labels[left[i]]]);
            used[labels[left[i]]] = true;
        }
        kbi_sample_pairs(&list, PAIRS, seed, again_left, again_right, taken);
        assert_memory_equal(left, again_left, PAIRS * sizeof *left);
        assert_memory_equal(right, again_right, PAIRS * sizeof *right);
    }
    kbi_sample_pairs(&list, POINTS, 9, left, right, taken); /* all there are */
    kbi_point_list_free(&list);
}

static void every_patch_has_its_chance(void **state)
{
    (void)state;
    uint32_t labels[POINTS * 5];
    kbi_point_list list = some_points(labels);
    uint8_t taken[(POINTS + 7) / 8] = {0};
    size_t left[100], right[100], seen[POINTS * 5] = {0}, total = list.first[POINTS - 1] + list.count[POINTS - 1];
    for (uint64_t seed = 0; seed < 400; seed++) {
        kbi_sample_pairs(&list, 100, seed, left, right, taken);
        for (int i = 0; i < 100; i++) {
            seen[left[i]]++;
            seen[right[i]]++;
        }
    }
    for (size_t i = 0; i < total; i++) assert_true(seen[i] > 0);
    kbi_point_list_free(&list);
}

/* ---- hard negatives ---- */

static void check_negatives(size_t n, size_t words, uint64_t mask, uint64_t seed)
{
    uint64_t *codes = malloc(2 * n * words * sizeof *codes), state = seed;
    kbi_hard_negative *found = malloc(n * sizeof *found);
    uint32_t *scratch = malloc(2 * n * sizeof *scratch);
    for (size_t i = 0; i < 2 * n * words; i++) codes[i] = kbi_random_next(&state) & mask;
    kbi_find_hard_negatives(codes, n, words, found, scratch);
    for (size_t i = 0; i < n; i++) {
        int32_t best = INT32_MAX;
        size_t place = 0;
        for (int side = 0; side < 2; side++) { /* the anchor: left, then right */
            for (size_t step = 1; step < n; step++) {
                size_t j = (i + step) % n, other = side ? j : n + j, anchor = side ? n + i : i;
                int32_t d = kbi_code_distance(codes + anchor * words, codes + other * words, words);
                if (d >= best) continue;
                best = d;
                place = other;
            }
        }
        assert_int_equal(found[i].distance, best);
        assert_int_equal(found[i].place, place);
        assert_int_equal(found[i].anchor_right, place < n);
    }
    free(codes);
    free(found);
    free(scratch);
}

static void hardest_of_all_pairs(void **state)
{
    (void)state;
    for (size_t words = 1; words <= 9; words++) check_negatives(40 + words, words, UINT64_MAX, words);
    check_negatives(2, 4, UINT64_MAX, 1);
    check_negatives(3, 1, UINT64_MAX, 2);
}

static void ties_spread_over_the_batch(void **state)
{
    (void)state;
    check_negatives(70, 1, 0, 3);
    check_negatives(70, 2, 3, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_patches_are_left_out),   cmocka_unit_test(wrong_labels_are_told),
        cmocka_unit_test(pairs_are_of_different_points), cmocka_unit_test(every_patch_has_its_chance),
        cmocka_unit_test(hardest_of_all_pairs),          cmocka_unit_test(ties_spread_over_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
