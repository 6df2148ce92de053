/* SPDX-License-Identifier: Apache-2.0 */
/* src/match/filter.c: right and wrong matches of rendered keypoints, clumps, order, bad numbers, bad arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/common.h"
#include "../arrays.h"

enum { MOST = 5000, WIDTH = 800, HEIGHT = 600 };

typedef struct putative {
    kb_keypoint a[MOST], b[MOST];
    kb_match matches[MOST], out[MOST];
    uint8_t right[MOST];
    size_t n;
} putative;

static float uniform(uint64_t *seed, double low, double high)
{
    return (float)(low + (high - low) * (double)(kbi_random_next(seed) >> 11) * 0x1p-53);
}

static kb_keypoint some_keypoint(uint64_t *seed)
{
    return (kb_keypoint){uniform(seed, 0, WIDTH), uniform(seed, 0, HEIGHT), uniform(seed, 20, 100),
                         uniform(seed, 0, 360), 1, 0, -1};
}

/* Image b is a turned by 40 degrees and 1.3 times larger. Angles of right matches are off by up to 15 degrees, sizes by
 * a fifth. */
static void make_putative(putative *p, uint64_t seed, size_t n, double wrong)
{
    const double scale = 1.3, c = 0.766044443, s = 0.642787610;
    p->n = n;
    for (size_t i = 0; i < n; i++) {
        kb_keypoint k = p->a[i] = some_keypoint(&seed);
        p->right[i] = uniform(&seed, 0, 1) >= wrong;
        p->b[i] = some_keypoint(&seed);
        if (p->right[i]) {
            float turned = k.angle + 40 + uniform(&seed, -15, 15);
            p->b[i] = (kb_keypoint){(float)(scale * (c * k.x - s * k.y)), (float)(scale * (s * k.x + c * k.y)),
                                    (float)scale * k.size * uniform(&seed, 0.8, 1.25),
                                    turned >= 360 ? turned - 360 : turned, 1, 0, -1};
        }
        p->matches[i] = (kb_match){(int32_t)i, (int32_t)i, 40, 60};
    }
}

static size_t run_filter(putative *p, size_t *right)
{
    size_t count = MOST + 1;
    *right = 0;
    assert_int_equal(filter_matches(p->a, p->n, p->b, p->n, p->matches, p->n, NULL, NULL, p->out, &count), KB_OK);
    assert_true(count <= p->n);
    for (size_t i = 0; i < count; i++) *right += p->right[p->out[i].a];
    for (size_t i = 1; i < count; i++) assert_true(p->out[i - 1].a < p->out[i].a);
    return count;
}

static size_t count_right(const putative *p)
{
    size_t right = 0;
    for (size_t i = 0; i < p->n; i++) right += p->right[i];
    return right;
}

static void test_right_matches_stay_and_wrong_ones_go(void **state)
{
    (void)state;
    static putative p;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        size_t right, kept;
        make_putative(&p, seed, 1500, 0.5);
        kept = run_filter(&p, &right);
        assert_true(right * 100 >= count_right(&p) * 97);
        assert_true(right * 100 >= kept * 97);
        make_putative(&p, seed, 1500, 1);
        kept = run_filter(&p, &right);
        assert_true(kept <= 15);
    }
}

static void test_no_angles_and_no_wrong_matches(void **state)
{
    (void)state;
    static putative p;
    size_t right;
    make_putative(&p, 3, 300, 0);
    for (size_t i = 0; i < p.n; i++) { /* upright keypoints, a shift */
        p.b[i] = p.a[i];
        p.b[i].x += 50;
        p.a[i].angle = p.b[i].angle = -1;
    }
    assert_true(run_filter(&p, &right) >= 297);
}

/* All matches in one spot but for a few far away, so that one cell holds them: no quadratic time, and an answer. */
static void test_a_clump(void **state)
{
    (void)state;
    static putative p;
    size_t right;
    make_putative(&p, 4, MOST, 0);
    for (size_t i = 10; i < p.n; i++) {
        p.a[i].x = 100 + 0.01f * p.a[i].x, p.a[i].y = 100 + 0.01f * p.a[i].y;
        p.b[i] = p.a[i];
        p.b[i].x += 20;
    }
    assert_true(run_filter(&p, &right) >= p.n * 9 / 10);
}

static void test_in_place_and_few(void **state)
{
    (void)state;
    static putative p;
    size_t count, right, expected;
    make_putative(&p, 5, 400, 0.4);
    expected = run_filter(&p, &right);
    assert_int_equal(filter_matches(p.a, p.n, p.b, p.n, p.matches, p.n, NULL, NULL, p.matches, &count), KB_OK);
    assert_int_equal(count, expected);
    assert_memory_equal(p.matches, p.out, count * sizeof *p.out);
    for (size_t n = 0; n <= 2; n++) { /* nobody can have two supporters */
        assert_int_equal(filter_matches(p.a, p.n, p.b, p.n, p.matches, n, NULL, NULL, p.out, &count), KB_OK);
        assert_int_equal(count, 0);
    }
    assert_int_equal(filter_matches(NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, &count), KB_OK);
}

static void test_numbers_that_are_odd(void **state)
{
    (void)state;
    static putative p;
    const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0, -5, 1e-30f};
    size_t right, sane = 0;
    make_putative(&p, 6, 1000, 0);
    for (size_t i = 0; i < 64; i++) {
        kb_keypoint *k = i & 1 ? &p.a[10 * i] : &p.b[10 * i];
        float *fields[4] = {&k->x, &k->y, &k->size, &k->angle};
        *fields[i / 2 % 4] = odd[i / 8];
    }
    assert_true(run_filter(&p, &right) <= 1000);
    for (size_t i = 0; i < p.n; i++) sane += i % 10 != 0;
    assert_true(right >= sane * 9 / 10);
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    static putative p;
    size_t count;
    make_putative(&p, 7, 10, 0);
    assert_int_equal(filter_matches(p.a, 10, p.b, 10, p.matches, 10, NULL, NULL, p.out, NULL), KB_E_ARGUMENT);
    assert_int_equal(filter_matches(NULL, 10, p.b, 10, p.matches, 10, NULL, NULL, p.out, &count), KB_E_ARGUMENT);
    assert_int_equal(filter_matches(p.a, 9, p.b, 10, p.matches, 10, NULL, NULL, p.out, &count), KB_E_ARGUMENT);
    p.matches[3].b = -1;
    assert_int_equal(filter_matches(p.a, 10, p.b, 10, p.matches, 10, NULL, NULL, p.out, &count), KB_E_ARGUMENT);
    p.matches[3].b = 3;
    kb_filter_options o;
    const float wrong[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < KBI_COUNT(wrong); i++) {
        for (int field = 0; field < 3; field++) {
            KB_INIT(o);
            *(field == 0 ? &o.tolerance : field == 1 ? &o.max_angle : &o.max_scale) = wrong[i];
            assert_int_equal(filter_matches(p.a, 10, p.b, 10, p.matches, 10, &o, NULL, p.out, &count), KB_E_ARGUMENT);
        }
    }
    KB_INIT(o);
    o.min_support = -1;
    assert_int_equal(filter_matches(p.a, 10, p.b, 10, p.matches, 10, &o, NULL, p.out, &count), KB_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_matches_stay_and_wrong_ones_go),
        cmocka_unit_test(test_no_angles_and_no_wrong_matches),
        cmocka_unit_test(test_a_clump),
        cmocka_unit_test(test_in_place_and_few),
        cmocka_unit_test(test_numbers_that_are_odd),
        cmocka_unit_test(test_wrong_arguments),
    };
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
