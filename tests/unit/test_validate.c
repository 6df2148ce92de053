/* SPDX-License-Identifier: Apache-2.0 */
/* Validation against the book, augmentation, and what light and codecs do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/image_io.h"
#include "learn/augment.h"
#include "learn/photometric.h"
#include "learn/random.h"
#include "learn/validate.h"
#include "render.h"

/* ----------------------------------------------------------------------------------------------------- validation */

enum { POINTS = 120, ROW = 4 };

/* A set without pixels: two patches per point, of views 0 and 1. */
static void bare_set(kbi_patch_set *set)
{
    *set = (kbi_patch_set){.side = 32, .points = POINTS, .patches = 2 * POINTS};
    set->view = calloc(2 * POINTS, sizeof *set->view);
    set->first = calloc(POINTS + 1, sizeof *set->first);
    for (size_t p = 0; p <= POINTS; p++) set->first[p] = 2 * p;
    for (size_t i = 0; i < 2 * POINTS; i++) set->view[i] = (uint32_t)(i & 1);
}

/* Rows where the two of a point differ in `flips` random bits at most. */
static void random_rows(uint8_t *rows, int flips, uint64_t state)
{
    for (size_t p = 0; p < POINTS; p++) {
        for (int k = 0; k < ROW; k++) rows[2 * p * ROW + (size_t)k] = (uint8_t)kbi_random_next(&state);
        memcpy(rows + (2 * p + 1) * ROW, rows + 2 * p * ROW, ROW);
        for (int f = 0; f < flips; f++) {
            uint32_t bit = kbi_random_below(&state, 8 * ROW);
            rows[(2 * p + 1) * ROW + bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

static void test_perfect_and_hopeless(void **state)
{
    (void)state;
    kbi_patch_set set;
    kbi_validation v;
    uint8_t rows[2 * POINTS * ROW];
    bare_set(&set);
    random_rows(rows, 0, 1);
    assert_true(kbi_validate_rows(&set, rows, ROW, 0, 1, NULL, &v));
    assert_int_equal(v.queries, POINTS);
    assert_true(v.map > 0.999 && v.rate > 0.999 && v.fpr95 < 0.001);
    assert_true(v.bit_mean < 0.06 && v.bit_correlation < 0.12);
    memset(rows, 0xaa, sizeof rows); /* all the same: a guess among all */
    assert_true(kbi_validate_rows(&set, rows, ROW, 0, 1, NULL, &v));
    assert_true(fabs(v.rate - 1.0 / POINTS) < 1e-9 && v.fpr95 == 1 && v.bit_mean == 0.5 && v.map < 0.02);
    assert_true(kbi_validate_map(&set, rows, ROW, 0, 1, NULL) == v.map);
    assert_false(kbi_validate_rows(&set, rows, 0, 0, 1, NULL, &v));
    assert_false(kbi_validate_rows(&set, rows, 129, 0, 1, NULL, &v));
    memset(set.view, 0, 2 * POINTS * sizeof *set.view); /* no other view, no query */
    assert_false(kbi_validate_rows(&set, rows, ROW, 0, 1, NULL, &v));
    assert_true(kbi_validate_map(&set, rows, ROW, 0, 1, NULL) < 0);
    kbi_patch_set_free(&set);
}

static void test_against_the_book(void **state)
{
    (void)state;
    kbi_patch_set set;
    kbi_validation v, threaded;
    uint8_t rows[2 * POINTS * ROW];
    bare_set(&set);
    random_rows(rows, 7, 2);
    assert_true(kbi_validate_rows(&set, rows, ROW, 0, 5, NULL, &v));

    /* The same draw of queries as the code makes: a random patch of each point, its partner answers. */
    uint64_t random = kbi_random_fork(5, 0);
    size_t query[POINTS];
    for (size_t p = 0; p < POINTS; p++) {
        query[p] = 2 * p + kbi_random_below(&random, 2);
        kbi_random_next(&random);
    }
    double right = 0;
    int same[33] = {0}, other[33] = {0};
    for (size_t p = 0; p < POINTS; p++) {
        int least = 99, ties = 0, own = 0;
        for (size_t q = 0; q < POINTS; q++) {
            int d = kb_hamming(rows + query[p] * ROW, rows + (query[q] ^ 1) * ROW, ROW);
            if (q == p) own = d;
            if (q == p) same[d]++;
            else other[d]++;
            if (d < least) least = d, ties = 0;
            ties += d == least;
        }
        if (own == least) right += 1.0 / ties;
    }
    int kept = 0, wrong = 0;
    for (int d = 0; kept < 0.95 * POINTS; d++) kept += same[d], wrong += other[d];
    assert_true(fabs(v.rate - right / POINTS) < 1e-9);
    assert_true(fabs(v.fpr95 - (double)wrong / (POINTS * (POINTS - 1))) < 1e-9);
    assert_true(v.map > 0.3 * v.rate && v.map <= v.rate);

    kb_parallel *pool;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    assert_true(kbi_validate_rows(&set, rows, ROW, 0, 5, pool, &threaded));
    assert_memory_equal(&v, &threaded, sizeof v);
    assert_true(kbi_validate_rows(&set, rows, ROW, 30, 5, NULL, &threaded)); /* smaller galleries are easier */
    assert_true(threaded.rate > v.rate && threaded.queries == v.queries);
    kb_pool_free(pool);
    kbi_patch_set_free(&set);
}

/* --------------------------------------------------------------------------------------------------- augmentation */

static double distance(const uint8_t *a, const uint8_t *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / (double)n);
}

static void test_augment(void **state)
{
    (void)state;
    enum { N = 50 };
    uint8_t *patches = render_texture(32, 32 * N, 1), *out = malloc(1024 * N), *again = malloc(1024 * N);
    const kbi_augment none = {0};
    double own = 0, other = 0;
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    kbi_augment_patches(&none, patches, N, 32, 7, NULL, out);
    assert_memory_equal(out, patches, 1024 * N);
    kbi_augment_patches(&kbi_augment_default, patches, N, 32, 7, NULL, out);
    kbi_augment_patches(&kbi_augment_default, patches, N, 32, 7, pool, again);
    assert_memory_equal(out, again, 1024 * N);
    kbi_augment_patches(&kbi_augment_default, patches, N, 32, 8, NULL, again);
    for (size_t i = 0; i < N; i++) {
        assert_memory_not_equal(out + i * 1024, again + i * 1024, 1024);
        assert_memory_not_equal(out + i * 1024, patches + i * 1024, 1024);
        own += distance(out + i * 1024, patches + i * 1024, 1024);
        other += distance(out + i * 1024, patches + (i + 1) % N * 1024, 1024);
    }
    assert_true(own < 0.75 * other);
    kb_pool_free(pool);
    free(patches);
    free(out);
    free(again);
}

/* A pure turn by 90 degrees around sample (16, 16), which stays in place. */
static void test_augment_turns(void **state)
{
    (void)state;
    const kbi_augment turn = {.rotation = 45};
    double logarithms[256];
    kbi_level_logarithms(logarithms);
    uint8_t *patch = render_texture(64, 64, 3), *out = malloc(64 * 64);
    int seen = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint64_t random = seed, peek = seed;
        double degrees = 45 * fmin(2, fmax(-2, kbi_random_normal(&peek)));
        kbi_augment_patch(&turn, logarithms, patch, 64, &random, out);
        assert_int_equal(out[32 * 64 + 32], patch[32 * 64 + 32]);
        double c = cos(degrees * 3.14159265358979 / 180), s = sin(degrees * 3.14159265358979 / 180);
        double x = 32 + 10 * c, y = 32 + 10 * s; /* sample (42, 32) of the result came from there */
        int ix = (int)x, iy = (int)y;
        double fx = x - ix, fy = y - iy;
        const uint8_t *p = patch + iy * 64 + ix;
        double expected = (1 - fy) * ((1 - fx) * p[0] + fx * p[1]) + fy * ((1 - fx) * p[64] + fx * p[65]);
        assert_true(fabs(out[32 * 64 + 42] - expected) < 2.5);
        seen += fabs(degrees) > 30;
    }
    assert_true(seen > 5);
    free(patch);
    free(out);
}

/* ---------------------------------------------------------------------------------------------------- photometric */

static void test_tone(void **state)
{
    (void)state;
    uint8_t table[256];
    double logarithms[256];
    kbi_level_logarithms(logarithms);
    kbi_tone_table(&(kbi_tone){1, 0, 1}, logarithms, table);
    for (int v = 0; v < 256; v++) assert_int_equal(table[v], v);
    kbi_tone_table(&(kbi_tone){0.8, 10, 1.7}, logarithms, table);
    for (int v = 0; v < 256; v++) assert_true(fabs(table[v] - fmin(255, 255 * pow(v / 255.0, 1.7) * 0.8 + 10)) <= 0.51);
    kbi_tone_table(&(kbi_tone){3, -50, 0.6}, logarithms, table);
    for (int v = 0; v < 256; v++)
        assert_true(fabs(table[v] - fmin(255, fmax(0, 255 * pow(v / 255.0, 0.6) * 3 - 50))) <= 0.51);
}

static void test_blur_noise_shade(void **state)
{
    (void)state;
    enum { SIDE = 101 };
    uint8_t *pixels = calloc(SIDE * SIDE, 1);
    double sum = 0, spread = 0, square = 0;
    for (int y = 45; y < 56; y++) memset(pixels + y * SIDE + 45, 200, 11);
    uint8_t line[SIDE + KBI_BLUR_MARGIN];
    kbi_blur(pixels, SIDE, SIDE, 3, line);
    for (int i = 0; i < SIDE * SIDE; i++) {
        sum += pixels[i];
        spread += pixels[i] * (i % SIDE - 50) * (i % SIDE - 50);
    }
    assert_true(fabs(sum / (200 * 121) - 1) < 0.03);
    assert_true(fabs(spread / sum - (10 + 9)) < 1); /* variances add: (11^2 - 1) / 12 of the square, 9 of the blur */

    uint64_t random = 1;
    memset(pixels, 128, SIDE * SIDE);
    kbi_noise(pixels, SIDE * SIDE, 7, &random);
    for (int i = 0; i < SIDE * SIDE; i++) square += (pixels[i] - 128) * (pixels[i] - 128);
    assert_true(fabs(sqrt(square / (SIDE * SIDE)) - 7) < 0.2);

    memset(pixels, 100, SIDE * SIDE);
    kbi_shade(pixels, SIDE, SIDE, &(kbi_shading){0.5, 0, 0});
    assert_int_equal(pixels[50 * SIDE + 50], 100);
    assert_in_range(pixels[50 * SIDE], 50, 51);
    assert_in_range(pixels[50 * SIDE + 100], 149, 150);
    free(pixels);
}

/* Hard shadows leave two grays, a half of the other; soft ones all between. None is darker or brighter. */
static void test_shadows(void **state)
{
    (void)state;
    enum { SIDE = 200 };
    uint8_t *pixels = malloc(SIDE * SIDE);
    for (int soft = 0; soft < 2; soft++) {
        uint64_t random = 3;
        int light = 0, dark = 0;
        memset(pixels, 100, SIDE * SIDE);
        kbi_cast_shadows(pixels, SIDE, SIDE, &(kbi_shadows){30, 0.5, soft ? 0.4 : 1e-6, 0.5}, &random);
        for (int i = 0; i < SIDE * SIDE; i++) {
            assert_in_range(pixels[i], 50, 100);
            light += pixels[i] == 100;
            dark += pixels[i] == 50;
        }
        if (soft) assert_true(light + dark < SIDE * SIDE / 2);
        else assert_true(light > SIDE * SIDE / 4 && dark > SIDE * SIDE / 4 && light + dark > SIDE * SIDE * 99 / 100);
    }
    free(pixels);
}

static void test_jpeg(void **state)
{
    (void)state;
    io_error error;
    uint8_t *photo = render_texture(120, 90, 2), *fine = malloc(120 * 90), *coarse = malloc(120 * 90);
    memcpy(fine, photo, 120 * 90);
    memcpy(coarse, photo, 120 * 90);
    assert_true(io_jpeg_round_trip(fine, 120, 90, 95, &error));
    assert_true(io_jpeg_round_trip(coarse, 120, 90, 10, &error));
    double little = distance(fine, photo, 120 * 90), much = distance(coarse, photo, 120 * 90);
    assert_true(little > 0 && little < 4 && much > 2 * little && much < 40);
    free(photo);
    free(fine);
    free(coarse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perfect_and_hopeless), cmocka_unit_test(test_against_the_book),
        cmocka_unit_test(test_augment),              cmocka_unit_test(test_augment_turns),
        cmocka_unit_test(test_tone),                 cmocka_unit_test(test_blur_noise_shade),
        cmocka_unit_test(test_shadows),
        cmocka_unit_test(test_jpeg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
