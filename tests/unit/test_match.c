/* SPDX-License-Identifier: Apache-2.0 */
/* src/match: against brute force, ties, limits, threads, wrong arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/common.h"
#include "match/kernels.h"
#include "../arrays.h"

/* ------------------------------------------------------------------------------------------------------ brute force */

static float bits_between(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    int sum = 0;
    for (size_t i = 0; i < bytes; i++)
        for (int v = a[i] ^ b[i]; v; v &= v - 1) sum++;
    return (float)sum;
}

static bool all_zero(const uint8_t *row, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (row[i]) return false;
    return true;
}

/* Rows of zeros are infinitely far from everything. */
static float *distance_matrix(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t bytes)
{
    float *d = calloc(na * nb + 1, sizeof *d);
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++)
            d[i * nb + j] = all_zero(a + i * bytes, bytes) || all_zero(b + j * bytes, bytes)
                                ? INFINITY
                                : bits_between(a + i * bytes, b + j * bytes, bytes);
    return d;
}

/* The nearest of a list of n distances that lie `step` apart; the first of equals. -1 when none is finite. */
static int nearest(const float *d, size_t n, size_t step, float *second)
{
    int best = -1;
    *second = INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!(d[i * step] < INFINITY)) continue;
        if (best < 0 || d[i * step] < d[(size_t)best * step]) {
            if (best >= 0) *second = d[(size_t)best * step];
            best = (int)i;
        } else if (d[i * step] < *second) {
            *second = d[i * step];
        }
    }
    return best;
}

static size_t brute_force(const float *d, size_t na, size_t nb, const kb_match_options *o, kb_match *out)
{
    size_t count = 0;
    for (size_t i = 0; i < na; i++) {
        float second, ignored;
        int j = nearest(d + i * nb, nb, 1, &second);
        if (j < 0) continue;
        if (!o->one_way && nearest(d + j, na, nb, &ignored) != (int)i) continue;
        float distance = d[i * nb + (size_t)j];
        if (o->max_ratio > 0 && !(distance < o->max_ratio * second)) continue;
        if (o->max_distance > 0 && !(distance <= o->max_distance)) continue;
        out[count++] = (kb_match){(int32_t)i, j, distance, second};
    }
    return count;
}

static void assert_same(const kb_match *a, size_t na, const kb_match *b, size_t nb)
{
    assert_int_equal(na, nb);
    for (size_t i = 0; i < na; i++) {
        assert_int_equal(a[i].a, b[i].a);
        assert_int_equal(a[i].b, b[i].b);
        assert_true(a[i].distance == b[i].distance);
        assert_true(a[i].second == b[i].second);
    }
}

/* Rows with few different bytes, so that equal rows and equal distances are common. */
static uint8_t *random_rows(uint64_t *seed, size_t n, size_t bytes, uint8_t mask)
{
    uint8_t *rows = malloc(n * bytes + 1);
    for (size_t i = 0; i < n * bytes; i++) rows[i] = (uint8_t)kbi_random_next(seed) & mask;
    return rows;
}

/* ------------------------------------------------------------------------------------------------------------ tests */

static void compare_hamming(size_t na, size_t nb, size_t bytes, uint8_t mask, const kb_match_options *o)
{
    uint64_t seed = na * 1000003 + nb * 101 + bytes;
    uint8_t *a = random_rows(&seed, na, bytes, mask), *b = random_rows(&seed, nb, bytes, mask);
    kb_match *got = calloc(na + 1, sizeof *got), *want = calloc(na + 1, sizeof *want);
    float *d = distance_matrix(a, na, b, nb, bytes);
    size_t count = 99, expected = brute_force(d, na, nb, o, want);
    assert_int_equal(match_rows(a, na, b, nb, bytes, o, NULL, got, &count), KB_OK);
    assert_same(got, count, want, expected);
    free(a), free(b), free(got), free(want), free(d);
}

static void test_hamming_is_brute_force(void **state)
{
    static const size_t lengths[] = {1, 3, 8, 16, 31, 32, 33, 61, 64, 65, 128};
    static const size_t sizes[][2] = {{1, 1}, {1, 7}, {7, 1}, {64, 63}, {150, 201}};
    (void)state;
    for (size_t l = 0; l < KBI_COUNT(lengths); l++) {
        for (size_t s = 0; s < KBI_COUNT(sizes); s++) {
            for (int variant = 0; variant < 4; variant++) {
                kb_match_options o;
                KB_INIT(o);
                o.one_way = variant & 1;
                if (variant & 2) o.max_ratio = 0.9f, o.max_distance = (float)lengths[l] * 3.5f;
                compare_hamming(sizes[s][0], sizes[s][1], lengths[l], 0xff, &o);
                compare_hamming(sizes[s][0], sizes[s][1], lengths[l], 0x11, &o); /* ties everywhere */
            }
        }
    }
}

/* More rows than fit into one tile, on both sides. */
static void test_many_rows(void **state)
{
    kb_match_options o;
    (void)state;
    KB_INIT(o);
    compare_hamming(4200, 300, 8, 0x0f, &o);
    compare_hamming(100, 1100, 64, 0x81, &o);
    compare_hamming(40, 90, 4096, 0xff, &o);
}

static void test_ties_go_to_the_lowest_index(void **state)
{
    const uint8_t a[4] = {5, 9, 5, 9}, b[5] = {9, 5, 5, 9, 9};
    kb_match matches[4];
    size_t count;
    (void)state;
    assert_int_equal(match_rows(a, 4, b, 5, 1, NULL, NULL, matches, &count), KB_OK);
    assert_int_equal(count, 2);
    assert_true(matches[0].a == 0 && matches[0].b == 1 && matches[0].distance == 0 && matches[0].second == 0);
    assert_true(matches[1].a == 1 && matches[1].b == 0);
}

static void test_ratio_of_zeros_rejects(void **state)
{
    const uint8_t a[1] = {7}, b[2] = {7, 7};
    kb_match match;
    kb_match_options o;
    size_t count;
    (void)state;
    KB_INIT(o);
    o.max_ratio = 1;
    assert_int_equal(match_rows(a, 1, b, 2, 1, &o, NULL, &match, &count), KB_OK);
    assert_int_equal(count, 0);
    /* Without a second neighbour nothing speaks against the first. */
    assert_int_equal(match_rows(a, 1, b, 1, 1, &o, NULL, &match, &count), KB_OK);
    assert_int_equal(count, 1);
    assert_true(isinf(match.second));
}

static void test_nothing_to_match(void **state)
{
    const uint8_t row[32] = {0};
    kb_match match;
    size_t count = 5;
    (void)state;
    assert_int_equal(match_rows(NULL, 0, row, 1, 32, NULL, NULL, NULL, &count), KB_OK);
    assert_int_equal(count, 0);
    count = 5;
    assert_int_equal(match_rows(row, 1, NULL, 0, 32, NULL, NULL, &match, &count), KB_OK);
    assert_int_equal(count, 0);
    assert_int_equal(match_floats(NULL, 0, NULL, 0, 128, NULL, NULL, NULL, &count), KB_OK);
    assert_int_equal(count, 0);
}

static void test_wrong_arguments(void **state)
{
    const uint8_t row[32] = {0};
    const float values[4] = {0};
    kb_match match;
    kb_match_options o;
    size_t count;
    (void)state;
    assert_int_equal(match_rows(row, 1, row, 1, 0, NULL, NULL, &match, &count), KB_E_ARGUMENT);
    assert_int_equal(match_rows(row, 1, row, 1, 4097, NULL, NULL, &match, &count), KB_E_ARGUMENT);
    assert_int_equal(match_rows(NULL, 1, row, 1, 32, NULL, NULL, &match, &count), KB_E_ARGUMENT);
    assert_int_equal(match_rows(row, 1, NULL, 1, 32, NULL, NULL, &match, &count), KB_E_ARGUMENT);
    assert_int_equal(kb_hamming(NULL, row, 8), -1);
    assert_int_equal(kb_hamming(row, NULL, 8), -1);
    assert_int_equal(kb_hamming(NULL, NULL, 0), 0);
    assert_int_equal(match_rows(row, 1, row, 1, 32, NULL, NULL, NULL, &count), KB_E_ARGUMENT);
    assert_int_equal(match_rows(row, 1, row, 1, 32, NULL, NULL, &match, NULL), KB_E_ARGUMENT);
    assert_int_equal(match_floats(values, 1, values, 1, 0, NULL, NULL, &match, &count), KB_E_ARGUMENT);
    const float ratios[] = {-0.1f, 1.01f, NAN};
    for (size_t i = 0; i < KBI_COUNT(ratios); i++) {
        KB_INIT(o);
        o.max_ratio = ratios[i];
        assert_int_equal(match_rows(row, 1, row, 1, 32, &o, NULL, &match, &count), KB_E_ARGUMENT);
    }
    KB_INIT(o);
    o.max_distance = -1;
    assert_int_equal(match_rows(row, 1, row, 1, 32, &o, NULL, &match, &count), KB_E_ARGUMENT);
    KB_INIT(o);
    o.struct_size = 1;
    assert_int_equal(match_rows(row, 1, row, 1, 32, &o, NULL, &match, &count), KB_E_STRUCT);
    static const size_t strides[] = {1, 31, SIZE_MAX};
    kb_error error;
    for (size_t i = 0; i < KBI_COUNT(strides); i++) {
        kb_features two = arrays_features(NULL, row, 2, 32), one = arrays_features(NULL, row, 1, 32);
        two.row_stride = strides[i];
        assert_int_equal(kb_match_features(&two, &one, NULL, NULL, &match, &count, &error), KB_E_ARGUMENT);
        assert_string_equal(error.field, "row_stride");
        assert_int_equal(kb_match_features(&one, &two, NULL, NULL, &match, &count, &error), KB_E_ARGUMENT);
    }
    kb_features floats = arrays_features(NULL, values, 1, 4);
    floats.floats = 1;
    floats.row_stride = 18; /* no multiple of a float's size */
    assert_int_equal(kb_match_features(&floats, &floats, NULL, NULL, &match, &count, NULL), KB_E_ARGUMENT);
}

static void test_features_that_cannot_be_compared(void **state)
{
    const uint8_t row[64] = {1};
    kb_features a = arrays_features(NULL, row, 1, 32), b = arrays_features(NULL, row, 1, 64);
    kb_match match;
    kb_match_options o;
    kb_error error;
    size_t count;
    (void)state;
    assert_int_equal(kb_match_features(&a, &b, NULL, NULL, &match, &count, &error), KB_E_MODEL);
    assert_string_equal(error.field, "row_bytes");
    b.row_bytes = 32;
    b.floats = 1;
    assert_int_equal(kb_match_features(&a, &b, NULL, NULL, &match, &count, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "floats");
    b.floats = 0;
    a.model_id = 1;
    assert_int_equal(kb_match_features(&a, &b, NULL, NULL, &match, &count, &error), KB_OK);
    b.model_id = 2;
    assert_int_equal(kb_match_features(&a, &b, NULL, NULL, &match, &count, &error), KB_E_MODEL);
    KB_INIT(o);
    o.max_ratio = 1.5f;
    assert_int_equal(kb_match_features(&a, &a, &o, NULL, &match, &count, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "max_ratio");
    assert_string_equal(error.text, "max_ratio is 1.5, but must be 0 to 1");
}

/* A workspace in a buffer that is too small says how many bytes it lacks; with these it suffices. */
static void test_a_small_workspace_says_what_it_lacks(void **state)
{
    enum { ROWS = 300 };
    static uint8_t rows[ROWS * 32], buffer[1 << 20];
    static kb_match matches[ROWS];
    kb_features f = arrays_features(NULL, rows, ROWS, 32);
    kb_workspace *workspace;
    kb_error error;
    size_t size = 4096, count;
    (void)state;
    for (int i = 0; i < ROWS * 32; i++) rows[i] = (uint8_t)(i * 31 + i / 32);
    assert_int_equal(kb_workspace_create_in(buffer, size, &workspace), KB_OK);
    assert_int_equal(kb_match_features(&f, &f, NULL, workspace, matches, &count, &error), KB_E_MEMORY);
    assert_non_null(strstr(error.text, "rows_a, rows_b, row_bytes"));
    const char *number = strstr(error.text, "up to ");
    assert_non_null(number);
    size = (size_t)strtoul(number + 6, NULL, 10);
    assert_true(size > 4096 && size <= sizeof buffer);
    assert_int_equal(kb_workspace_create_in(buffer, size, &workspace), KB_OK);
    assert_int_equal(kb_match_features(&f, &f, NULL, workspace, matches, &count, &error), KB_OK);
}

/* Runs the tasks backwards, so that whatever depends on their order shows. */
static void run_backwards(void *self, int32_t count, void (*task)(void *, int32_t), void *context)
{
    (void)self;
    while (count-- > 0) task(context, count);
}

static void test_threads_do_not_matter(void **state)
{
    enum { NA = 333, NB = 401 };
    uint64_t seed = 7;
    uint8_t *a = random_rows(&seed, NA, 32, 0x03), *b = random_rows(&seed, NB, 32, 0x03);
    kb_match one[NA], many[NA];
    size_t count, more;
    (void)state;
    assert_int_equal(match_rows(a, NA, b, NB, 32, NULL, NULL, one, &count), KB_OK);
    assert_true(count > 20);
    for (int32_t threads = 2; threads < 256; threads += 31) {
        kb_parallel backwards = {sizeof backwards, threads, run_backwards, NULL};
        kb_match_options o;
        KB_INIT(o);
        o.parallel = &backwards;
        assert_int_equal(match_rows(a, NA, b, NB, 32, &o, NULL, many, &more), KB_OK);
        assert_same(many, more, one, count);
    }
    kb_parallel *pool;
    kb_workspace *workspace;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    kb_match_options o;
    KB_INIT(o);
    o.parallel = pool;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(match_rows(a, NA, b, NB, 32, &o, workspace, many, &more), KB_OK);
        assert_same(many, more, one, count);
    }
    kb_workspace_free(workspace);
    kb_pool_free(pool);
    free(a), free(b);
}

static void test_nothing_is_allocated_the_second_time(void **state)
{
    uint64_t seed = 3;
    uint8_t *a = random_rows(&seed, 100, 32, 0xff);
    kb_match matches[100];
    kb_workspace *workspace;
    size_t count;
    (void)state;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    assert_int_equal(match_rows(a, 100, a, 100, 32, NULL, workspace, matches, &count), KB_OK);
    assert_int_equal(count, 100);
    size_t held = kbi_workspace_bytes(workspace);
    assert_true(held > 0);
    assert_int_equal(match_rows(a, 90, a, 100, 32, NULL, workspace, matches, &count), KB_OK);
    assert_int_equal(kbi_workspace_bytes(workspace), held);
    kb_workspace_free(workspace);
    free(a);
}

/* The block alone, as its contract says: odd sizes, and the columns keep what they had. */
static void test_block_contract(void **state)
{
    const uint8_t a[3] = {0x00, 0xff, 0x0f}, b[2] = {0x0f, 0xff};
    uint32_t best[3], second[3], columns[2] = {KBI_NO_NEIGHBOUR, 5};
    (void)state;
    kbi_hamming_block(a, 3, b, 2, 1, best, second, columns);
    assert_int_equal(best[0], 4 << 16 | 0);
    assert_int_equal(second[0], 8 << 16 | 1);
    assert_int_equal(best[1], 0 << 16 | 1);
    assert_int_equal(best[2], 0 << 16 | 0);
    assert_int_equal(columns[0], 0 << 16 | 2);
    assert_int_equal(columns[1], 1); /* distance 0, row 1, is less than 5 */
    kbi_hamming_block(a, 1, b, 1, 1, best, second, NULL);
    assert_int_equal(second[0], KBI_NO_NEIGHBOUR);
}

static void test_hamming_of_two_rows(void **state)
{
    uint64_t seed = 11;
    (void)state;
    for (size_t bytes = 1; bytes < 200; bytes++) {
        uint8_t *rows = random_rows(&seed, 2, bytes, 0xff);
        assert_int_equal(kb_hamming(rows, rows + bytes, bytes), (int)bits_between(rows, rows + bytes, bytes));
        assert_int_equal(kb_hamming(rows, rows, bytes), 0);
        free(rows);
    }
}

/* ------------------------------------------------------------------------------------------ zero rows, gaps, points */

/* What kb_describe writes for invalid keypoints is equal, but belongs together no more than that. */
static void test_zero_rows_never_match(void **state)
{
    const uint8_t a[4][2] = {{0, 0}, {1, 0}, {0, 0}, {0xff, 0xff}}, b[4][2] = {{0, 0}, {3, 0}, {0xff, 0xfe}, {0, 0}};
    (void)state;
    for (int32_t one_way = 0; one_way < 2; one_way++) {
        kb_match matches[4];
        kb_match_options o;
        size_t count;
        KB_INIT(o);
        o.one_way = one_way;
        assert_int_equal(match_rows(a[0], 4, b[0], 4, 2, &o, NULL, matches, &count), KB_OK);
        assert_int_equal(count, 2); /* the zero row of b is as near to {1, 0} as {3, 0}, and comes first */
        assert_true(matches[0].a == 1 && matches[0].b == 1 && matches[0].distance == 1 && matches[0].second == 14);
        assert_true(matches[1].a == 3 && matches[1].b == 2 && matches[1].distance == 1 && matches[1].second == 14);
        assert_int_equal(match_rows(a[0], 1, b[0], 4, 2, &o, NULL, matches, &count), KB_OK);
        assert_int_equal(count, 0);
    }
}

static void test_zero_float_rows_never_match(void **state)
{
    const float a[6] = {0, -0.0f, 1, 1, 0, 0}, b[6] = {-0.0f, 0, 1, 3, 0, 0};
    kb_match matches[3];
    size_t count;
    (void)state;
    assert_int_equal(match_floats(a, 3, b, 3, 2, NULL, NULL, matches, &count), KB_OK);
    assert_int_equal(count, 1);
    assert_true(matches[0].a == 1 && matches[0].b == 1 && matches[0].distance == 2 && isinf(matches[0].second));
}

/* The rows begin every `stride` bytes; between them is what must not be read. */
static uint8_t *with_gaps(const void *rows, size_t n, size_t row_bytes, size_t stride)
{
    uint8_t *out = malloc(n * stride);
    memset(out, 0xa5, n * stride);
    for (size_t i = 0; i < n; i++) memcpy(out + i * stride, (const uint8_t *)rows + i * row_bytes, row_bytes);
    return out;
}

static void test_rows_with_gaps(void **state)
{
    enum { NA = 120, NB = 133, BYTES = 32 };
    uint64_t seed = 21;
    uint8_t *a = random_rows(&seed, NA, BYTES, 0xff), *b = random_rows(&seed, NB, BYTES, 0xff);
    (void)state;
    memset(a + 5 * BYTES, 0, BYTES), memset(b + 7 * BYTES, 0, BYTES);
    uint8_t *wide_a = with_gaps(a, NA, BYTES, BYTES + 3), *wide_b = with_gaps(b, NB, BYTES, BYTES + 32);
    kb_match packed[NA], got[NA];
    size_t expected, count;
    assert_int_equal(match_rows(a, NA, b, NB, BYTES, NULL, NULL, packed, &expected), KB_OK);
    assert_true(expected > 10);
    for (int which = 1; which < 4; which++) {
        kb_features fa = arrays_features(NULL, which & 1 ? wide_a : a, NA, BYTES);
        kb_features fb = arrays_features(NULL, which & 2 ? wide_b : b, NB, BYTES);
        if (which & 1) fa.row_stride = BYTES + 3;
        if (which & 2) fb.row_stride = BYTES + 32;
        assert_int_equal(kb_match_features(&fa, &fb, NULL, NULL, got, &count, NULL), KB_OK);
        assert_same(got, count, packed, expected);
    }
    free(a), free(b), free(wide_a), free(wide_b);
}

static void test_float_rows_with_gaps(void **state)
{
    enum { N = 40, VALUES = 5 };
    float a[N * VALUES], b[N * VALUES];
    uint64_t seed = 22;
    kb_match packed[N], got[N];
    size_t expected, count;
    (void)state;
    for (size_t i = 0; i < N * VALUES; i++) a[i] = (float)kbi_random_below(&seed, 99);
    for (size_t i = 0; i < N * VALUES; i++) b[i] = (float)kbi_random_below(&seed, 99);
    uint8_t *wide_a = with_gaps(a, N, 20, 24), *wide_b = with_gaps(b, N, 20, 36);
    assert_int_equal(match_floats(a, N, b, N, VALUES, NULL, NULL, packed, &expected), KB_OK);
    kb_features fa = arrays_features(NULL, wide_a, N, 20), fb = arrays_features(NULL, wide_b, N, 20);
    fa.floats = fb.floats = 1;
    fa.row_stride = 24, fb.row_stride = 36;
    assert_int_equal(kb_match_features(&fa, &fb, NULL, NULL, got, &count, NULL), KB_OK);
    assert_same(got, count, packed, expected);
    free(wide_a), free(wide_b);
}

static void test_points_of_matches(void **state)
{
    const kb_keypoint a[2] = {{.x = 1, .y = 2}, {.x = 3, .y = 4}};
    const kb_keypoint b[3] = {{.x = 5, .y = 6}, {.x = 7.5f, .y = 8}, {.x = 9}};
    kb_match matches[2] = {{1, 1, 10, 20}, {0, 2, 11, 20}};
    kb_point_pair pairs[2];
    float quality[2];
    (void)state;
    assert_int_equal(match_points(a, 2, b, 3, matches, 2, pairs, quality), KB_OK);
    assert_true(pairs[0].x1 == 3 && pairs[0].y1 == 4 && pairs[0].x2 == 7.5 && pairs[0].y2 == 8 && quality[0] == 10);
    assert_true(pairs[1].x1 == 1 && pairs[1].y1 == 2 && pairs[1].x2 == 9 && pairs[1].y2 == 0 && quality[1] == 11);
    assert_int_equal(match_points(a, 2, b, 3, matches, 2, pairs, NULL), KB_OK);
    assert_int_equal(match_points(NULL, 0, NULL, 0, NULL, 0, NULL, NULL), KB_OK);
    assert_int_equal(match_points(a, 2, b, 2, matches, 2, pairs, quality), KB_E_ARGUMENT);
    assert_int_equal(match_points(a, 1, b, 3, matches, 2, pairs, quality), KB_E_ARGUMENT);
    assert_int_equal(match_points(NULL, 2, b, 3, matches, 2, pairs, quality), KB_E_ARGUMENT);
    assert_int_equal(match_points(a, 2, b, 3, matches, 2, NULL, quality), KB_E_ARGUMENT);
    matches[1].a = -1;
    assert_int_equal(match_points(a, 2, b, 3, matches, 2, pairs, quality), KB_E_ARGUMENT);
}

/* ----------------------------------------------------------------------------------------------------------- floats */

static void test_float_is_brute_force(void **state)
{
    static const size_t lengths[] = {1, 5, 8, 64, 128, 131};
    enum { NA = 70, NB = 90 };
    (void)state;
    for (size_t l = 0; l < KBI_COUNT(lengths); l++) {
        size_t values = lengths[l];
        uint64_t seed = values;
        float *a = malloc(NA * values * sizeof *a), *b = malloc(NB * values * sizeof *b),
              *d = malloc(NA * NB * sizeof *d);
        /* Small whole numbers: squares and sums are exact, so brute force in double agrees to the bit. */
        for (size_t i = 0; i < NA * values; i++) a[i] = (float)kbi_random_below(&seed, 9);
        for (size_t i = 0; i < NB * values; i++) b[i] = (float)kbi_random_below(&seed, 9);
        for (size_t i = 0; i < NA; i++) {
            for (size_t j = 0; j < NB; j++) {
                double sum = 0;
                for (size_t k = 0; k < values; k++) sum += pow(a[i * values + k] - b[j * values + k], 2);
                bool zero = all_zero((const uint8_t *)(a + i * values), values * sizeof *a) ||
                            all_zero((const uint8_t *)(b + j * values), values * sizeof *b);
                d[i * NB + j] = zero ? INFINITY : sqrtf((float)sum);
            }
        }
        for (int variant = 0; variant < 4; variant++) {
            kb_match got[NA], want[NA];
            kb_match_options o;
            size_t count;
            KB_INIT(o);
            o.one_way = variant & 1;
            if (variant & 2) o.max_ratio = 0.95f, o.max_distance = sqrtf((float)values * 10);
            size_t expected = brute_force(d, NA, NB, &o, want);
            assert_int_equal(match_floats(a, NA, b, NB, values, &o, NULL, got, &count), KB_OK);
            assert_same(got, count, want, expected);
        }
        free(a), free(b), free(d);
    }
}

static void test_floats_that_are_not_finite(void **state)
{
    const float a[6] = {NAN, 0, INFINITY, 1, 4, 4}, b[4] = {1, 0, NAN, 0};
    kb_match matches[3];
    size_t count;
    (void)state;
    assert_int_equal(match_floats(a, 3, b, 2, 2, NULL, NULL, matches, &count), KB_OK);
    assert_int_equal(count, 1);
    assert_true(matches[0].a == 2 && matches[0].b == 0 && matches[0].distance == 5 && isinf(matches[0].second));
}

/* ---- the k nearest ---- */

/* How many rows of b come before row j in the order of row i: by distance, then by index. */
static int32_t rank_of(const uint8_t *a, const uint8_t *b, size_t nb, size_t bytes, size_t j)
{
    int32_t rank = 0, own = kb_hamming(a, b + j * bytes, bytes);
    for (size_t other = 0; other < nb; other++) {
        int32_t d = kb_hamming(a, b + other * bytes, bytes);
        if (!all_zero(b + other * bytes, bytes) && (d < own || (d == own && other < j))) rank++;
    }
    return rank;
}

static void test_knn_is_brute_force(void **state)
{
    enum { ROWS_A = 300, ROWS_B = 2100 }; /* more than a task and than a tile */
    const int32_t ks[] = {1, 2, 5};
    uint64_t seed = 11;
    (void)state;
    for (size_t bytes = 8; bytes <= 32; bytes += 24) {
        uint8_t *a = random_rows(&seed, ROWS_A, bytes, 0x33), *b = random_rows(&seed, ROWS_B, bytes, 0x33);
        memset(a + 7 * bytes, 0, bytes);
        memset(b + 9 * bytes, 0, bytes);
        for (size_t c = 0; c < 3; c++) {
            int32_t k = ks[c];
            kb_neighbour *near = malloc(ROWS_A * (size_t)k * sizeof *near);
            assert_int_equal(match_knn(a, ROWS_A, b, ROWS_B, bytes, k, NULL, NULL, near), KB_OK);
            for (size_t i = 0; i < ROWS_A; i += i < 10 ? 1 : 37) {
                for (int32_t r = 0; r < k; r++) {
                    const kb_neighbour *n = &near[i * (size_t)k + (size_t)r];
                    if (i == 7) {
                        assert_int_equal(n->index, -1);
                        continue;
                    }
                    assert_in_range(n->index, 0, ROWS_B - 1);
                    assert_int_not_equal(n->index, 9);
                    assert_int_equal((int)n->distance, kb_hamming(a + i * bytes, b + (size_t)n->index * bytes, bytes));
                    assert_int_equal(rank_of(a + i * bytes, b, ROWS_B, bytes, (size_t)n->index), r);
                }
            }
            free(near);
        }
        free(a), free(b);
    }
}

static void test_knn_of_few_rows_and_wrong_arguments(void **state)
{
    const uint8_t a[2] = {1, 3}, b[2] = {3, 7};
    kb_neighbour near[6];
    (void)state;
    assert_int_equal(match_knn(a, 2, b, 2, 1, 3, NULL, NULL, near), KB_OK);
    assert_true(near[0].index == 0 && near[1].index == 1 && near[2].index == -1);
    assert_true(near[3].index == 0 && near[3].distance == 0 && near[4].distance == 1 && near[5].index == -1);
    assert_int_equal(match_knn(a, 2, NULL, 0, 1, 3, NULL, NULL, near), KB_OK);
    assert_int_equal(near[0].index, -1);
    const uint8_t apart[3] = {7, 3, 3};
    kb_features fa = arrays_features(NULL, a, 2, 1), fb = arrays_features(NULL, apart, 2, 1);
    fb.row_stride = 2;
    assert_int_equal(kb_match_knn(&fa, &fb, 1, NULL, NULL, near, NULL), KB_OK);
    assert_true(near[0].index == 1 && near[1].index == 1 && near[1].distance == 0);
    fa.row_bytes = fb.row_bytes = 2;
    fa.n = fb.n = 1;
    fb.row_stride = 1;
    assert_int_equal(kb_match_knn(&fa, &fb, 1, NULL, NULL, near, NULL), KB_E_ARGUMENT);
    kb_match_options options;
    KB_INIT(options);
    options.struct_size = 0;
    assert_int_equal(match_knn(a, 1, b, 1, 2, 1, &options, NULL, near), KB_E_STRUCT);
    assert_int_equal(match_knn(a, 2, b, 2, 1, 0, NULL, NULL, near), KB_E_ARGUMENT);
    assert_int_equal(match_knn(a, 2, b, 2, 0, 1, NULL, NULL, near), KB_E_ARGUMENT);
    assert_int_equal(match_knn(NULL, 2, b, 2, 1, 1, NULL, NULL, near), KB_E_ARGUMENT);
    assert_int_equal(match_knn(a, 2, b, 2, 1, 1, NULL, NULL, NULL), KB_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hamming_is_brute_force),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_ties_go_to_the_lowest_index),
        cmocka_unit_test(test_ratio_of_zeros_rejects),
        cmocka_unit_test(test_nothing_to_match),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_nothing_is_allocated_the_second_time),
        cmocka_unit_test(test_block_contract),
        cmocka_unit_test(test_hamming_of_two_rows),
        cmocka_unit_test(test_zero_rows_never_match),
        cmocka_unit_test(test_zero_float_rows_never_match),
        cmocka_unit_test(test_rows_with_gaps),
        cmocka_unit_test(test_features_that_cannot_be_compared),
        cmocka_unit_test(test_a_small_workspace_says_what_it_lacks),
        cmocka_unit_test(test_float_rows_with_gaps),
        cmocka_unit_test(test_points_of_matches),
        cmocka_unit_test(test_float_is_brute_force),
        cmocka_unit_test(test_floats_that_are_not_finite),
        cmocka_unit_test(test_knn_is_brute_force),
        cmocka_unit_test(test_knn_of_few_rows_and_wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
