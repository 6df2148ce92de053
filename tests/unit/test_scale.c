/* SPDX-License-Identifier: Apache-2.0 */
/* How keypoints follow a change of scale, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "eval/scale.h"

static const double two[2] = {2, 2};

static kb_keypoint at(float x, float y, float size) { return (kb_keypoint){.x = x, .y = y, .size = size}; }

static ev_scale_score compare(kb_keypoint large, kb_keypoint small)
{
    const io_keypoints a = {&large, 1}, b = {&small, 1};
    return ev_scale_compare(&a, &b, two);
}

/* Pixel 10 of the small image covers pixels 20 and 21. */
static void a_keypoint_that_follows(void **state)
{
    (void)state;
    ev_scale_score score = compare(at(20.5f, 30.5f, 16), at(10, 15, 8));
    assert_true(score.keypoints == 1 && score.repeated == 1 && score.sized == 1);
}

/* Circles around one centre share the smaller one: at 0.75 of the size 0.56 of the area, at 0.65 0.42. */
static void sizes_that_do_not_follow(void **state)
{
    (void)state;
    assert_true(compare(at(20.5f, 30.5f, 16), at(10, 15, 6)).repeated == 1);
    assert_true(compare(at(20.5f, 30.5f, 16), at(10, 15, 6)).sized == 0);
    assert_true(compare(at(20.5f, 30.5f, 16), at(10, 15, 6.6f)).sized == 1);
    assert_true(compare(at(20.5f, 30.5f, 16), at(10, 15, 5.2f)).repeated == 0);
}

/* Equal circles of radius r whose centres are d apart share half of what they cover at d = 0.529 r. */
static void places_that_do_not_follow(void **state)
{
    (void)state;
    assert_true(compare(at(20.5f + 4.2f, 30.5f, 16), at(10, 15, 8)).repeated == 1);
    assert_true(compare(at(20.5f, 30.5f + 4.3f, 16), at(10, 15, 8)).repeated == 0);
    assert_true(compare(at(200, 30.5f, 16), at(10, 15, 8)).repeated == 0);
}

/* The one that overlaps most counts. */
static void shares_over_keypoints(void **state)
{
    kb_keypoint large[] = {at(20.5f, 30.5f, 12), at(20.5f, 30.5f, 16), at(100, 100, 16)};
    kb_keypoint small[] = {at(10, 15, 8), at(40, 40, 8)};
    const io_keypoints a = {large, 3}, b = {small, 2}, none = {NULL, 0};
    (void)state;
    ev_scale_score score = ev_scale_compare(&a, &b, two);
    assert_true(score.keypoints == 2 && score.repeated == 0.5 && score.sized == 1);
    score = ev_scale_compare(&a, &none, two);
    assert_true(score.keypoints == 0 && score.repeated == 0 && score.sized == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_keypoint_that_follows), cmocka_unit_test(sizes_that_do_not_follow),
        cmocka_unit_test(places_that_do_not_follow), cmocka_unit_test(shares_over_keypoints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
