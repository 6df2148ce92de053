/* SPDX-License-Identifier: Apache-2.0 */
/* Places among matches and keypoints: by hand, and against the definition on random points. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "eval/places.h"
#include "learn/random.h"

/* Near in both images is one place, near in one is two; exactly 2 px apart is two. */
static void matches_by_hand(void **state)
{
    const kb_point_pair pairs[] = {
        {10, 10, 50, 50}, {11, 10, 50, 51}, {11, 11, 60, 50}, {30, 10, 50, 50}, {12, 10, 50, 50}};
    (void)state;
    assert_int_equal(ev_places(pairs, NULL, NULL, 2), 1);
    assert_int_equal(ev_places(pairs, NULL, NULL, 4), 3);
    assert_int_equal(ev_places((const kb_point_pair[]){pairs[0], pairs[4]}, NULL, NULL, 2), 2);
    assert_int_equal(ev_places(NULL, NULL, NULL, 0), 0);
    assert_int_equal(ev_places(pairs, NULL, (const uint8_t[]){0, 1, 0, 1, 0}, 5), 2);
}

/* Of three in a row, 1.5 px apart, the middle one hides both others, or each end only the middle. */
static void the_best_match_comes_first(void **state)
{
    const kb_point_pair pairs[] = {{10, 10, 10, 10}, {11.5, 10, 11.5, 10}, {13, 10, 13, 10}};
    (void)state;
    assert_int_equal(ev_places(pairs, (const float[]){2, 1, 3}, NULL, 3), 1);
    assert_int_equal(ev_places(pairs, (const float[]){2, 3, 1}, NULL, 3), 2);
    assert_int_equal(ev_places(pairs, NULL, NULL, 3), 2);
}

static void the_strongest_keypoint_comes_first(void **state)
{
    kb_keypoint keypoints[] = {
        {.x = -1, .y = 0, .response = 2}, {.x = 0.5f, .y = 0, .response = 3}, {.x = 2, .y = 0, .response = 1}};
    (void)state;
    assert_int_equal(ev_spots(keypoints, 3), 1);
    keypoints[1].response = 0;
    assert_int_equal(ev_spots(keypoints, 3), 2);
}

static bool closer(double x, double y) { return hypot(x, y) < EV_PLACE_PX; }

/* The definition, each with each. */
static size_t places_slowly(const kb_point_pair *pairs, size_t n)
{
    size_t kept[400], count = 0;
    for (size_t i = 0; i < n; i++) {
        bool same = false;
        for (size_t k = 0; k < count; k++) {
            const kb_point_pair *a = &pairs[i], *b = &pairs[kept[k]];
            same |= closer(a->x1 - b->x1, a->y1 - b->y1) && closer(a->x2 - b->x2, a->y2 - b->y2);
        }
        if (!same) kept[count++] = i;
    }
    return count;
}

static void cells_find_what_each_with_each_finds(void **state)
{
    enum { N = 400 };
    kb_point_pair pairs[N];
    uint64_t random = 7;
    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        double side = 10 + 5 * trial;
        for (int i = 0; i < N; i++) {
            double x = kbi_random_between(&random, -side, side), y = kbi_random_between(&random, -side, side);
            pairs[i] = (kb_point_pair){x, y, 3 * x + kbi_random_between(&random, -2, 2), y};
        }
        size_t expected = places_slowly(pairs, N);
        assert_true(expected > 20 && expected < N);
        assert_int_equal(ev_places(pairs, NULL, NULL, N), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(matches_by_hand), cmocka_unit_test(the_best_match_comes_first),
                                       cmocka_unit_test(the_strongest_keypoint_comes_first),
                                       cmocka_unit_test(cells_find_what_each_with_each_finds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
