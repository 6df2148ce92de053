/* SPDX-License-Identifier: Apache-2.0 */
/* src/common: mathematics against libm, workspace, options, images, pieces, random numbers, the pool. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "image/image.h"

#define PI 3.14159265358979323846

/* ------------------------------------------------------------------------------------------------------ mathematics */

static void test_sincos_agrees_with_libm(void **state)
{
    (void)state;
    for (int i = 0; i <= 72000; i++) {
        double degrees = i * 0.01, sine, cosine;
        kbi_sincos_degrees(degrees, &sine, &cosine);
        /* Whole turns are taken away first, since libm's own argument in radians is rounded. */
        double radians = fmod(degrees, 360.0) * (PI / 180.0);
        assert_true(fabs(sine - sin(radians)) < 1e-14);
        assert_true(fabs(cosine - cos(radians)) < 1e-14);
    }
}

static void test_sincos_is_exact_at_quarter_turns(void **state)
{
    static const double expected[4][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};
    (void)state;
    for (int i = 0; i < 40; i++) {
        double sine, cosine;
        kbi_sincos_degrees(90.0 * i, &sine, &cosine);
        assert_true(sine == expected[i & 3][0] && cosine == expected[i & 3][1]);
    }
}

static void test_sincos_of_no_angle(void **state)
{
    static const double angles[] = {-1, -360, -1e300, NAN, INFINITY, -INFINITY, 1e300};
    (void)state;
    for (size_t i = 0; i < KBI_COUNT(angles); i++) {
        double sine = 7, cosine = 7;
        kbi_sincos_degrees(angles[i], &sine, &cosine);
        assert_true(sine == 0 && cosine == 1);
    }
}

static void test_atan2_agrees_with_libm(void **state)
{
    (void)state;
    for (int y = -150; y <= 150; y++) {
        for (int x = -150; x <= 150; x++) {
            double expected = atan2(y * 0.37, x * 1.9) * (180.0 / PI);
            if (expected < 0) expected += 360.0;
            double found = kbi_atan2_degrees(y * 0.37, x * 1.9);
            assert_true(found >= 0 && found < 360.0);
            assert_true(fabs(found - expected) < 1e-9);
        }
    }
}

static void test_atan2_at_the_edges(void **state)
{
    (void)state;
    assert_true(kbi_atan2_degrees(0, 0) == 0);
    assert_true(kbi_atan2_degrees(0, 1) == 0);
    assert_true(kbi_atan2_degrees(1, 0) == 90);
    assert_true(kbi_atan2_degrees(0, -1) == 180);
    assert_true(kbi_atan2_degrees(-1, 0) == 270);
    assert_true(kbi_atan2_degrees(-1e-300, 1) < 360.0);
    assert_true(kbi_atan2_degrees(NAN, NAN) == 0);
}

static void test_exp_agrees_with_libm(void **state)
{
    (void)state;
    assert_true(kbi_exp(0) == 1);
    for (int i = -70000; i <= 70000; i++) {
        double expected = exp(i * 0.01);
        assert_true(fabs(kbi_exp(i * 0.01) - expected) < 1e-14 * expected);
    }
}

static void check_isqrt(uint64_t v)
{
    uint64_t r = kbi_isqrt(v);
    assert_true(r * r <= v);
    assert_true(r == UINT32_MAX || (r + 1) * (r + 1) > v);
}

static void test_isqrt(void **state)
{
    (void)state;
    for (uint64_t v = 0; v < 70000; v++) check_isqrt(v);
    uint64_t seed = 3;
    for (int i = 0; i < 100000; i++) check_isqrt(kbi_random_next(&seed) >> (i & 63));
    for (uint64_t r = UINT32_MAX; r > UINT32_MAX - 1000u; r--) {
        assert_int_equal(kbi_isqrt(r * r), r);
        assert_int_equal(kbi_isqrt(r * r - 1), r - 1);
    }
    assert_int_equal(kbi_isqrt(UINT64_MAX), UINT32_MAX);
}

static void test_random(void **state)
{
    (void)state;
    /* The first numbers of splitmix64 from seed 0, as its author's reference prints them. */
    uint64_t seed = 0;
    assert_true(kbi_random_next(&seed) == 0xe220a8397b1dcdafu);
    assert_true(kbi_random_next(&seed) == 0x6e789e6aa1b965f4u);
    assert_true(kbi_random_next(&seed) == 0x06c45d188009454fu);

    int counts[10] = {0};
    for (int i = 0; i < 100000; i++) {
        uint32_t v = kbi_random_below(&seed, 10);
        assert_true(v < 10);
        counts[v]++;
    }
    for (int i = 0; i < 10; i++) assert_in_range(counts[i], 9500, 10500); /* five standard deviations */
    assert_int_equal(kbi_random_below(&seed, 1), 0);
}

/* -------------------------------------------------------------------------------------------------------- workspace */

#define BUFFERS 15

static void test_workspace_gives_aligned_memory(void **state)
{
    (void)state;
    kb_workspace *workspace;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    for (int pass = 0; pass < 2; pass++) { /* the first overflows, the second fits */
        unsigned char *data[BUFFERS];
        size_t mark = kbi_workspace_mark(workspace);
        for (int i = 0; i < BUFFERS; i++) {
            data[i] = kbi_workspace_get(workspace, 1 + 37u * (size_t)i);
            assert_non_null(data[i]);
            assert_int_equal((uintptr_t)data[i] % KBI_ALIGN, 0);
            memset(data[i], i, 1 + 37u * (size_t)i);
        }
        for (int i = 0; i < BUFFERS; i++) assert_int_equal(data[i][37 * i], i); /* none wrote over another */
        assert_int_equal(data[BUFFERS - 1][0], BUFFERS - 1);
        kbi_workspace_rewind(workspace, mark);
    }
    kb_workspace_free(workspace);
}

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

/* Of memory in one block and in chunks. */
static void test_sanitizer_sees_arrays_of_a_workspace(void **state)
{
    (void)state;
    kb_workspace *workspace;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    for (int round = 0; round < 2; round++) {
        uint8_t *outer = kbi_workspace_get(workspace, 100);
        size_t mark = kbi_workspace_mark(workspace);
        uint8_t *inner = kbi_workspace_get(workspace, 30);
        assert_null(__asan_region_is_poisoned(outer, 100));
        assert_null(__asan_region_is_poisoned(inner, 30));
        assert_true(__asan_address_is_poisoned(outer + 100));
        assert_true(__asan_address_is_poisoned(inner + 30));
        kbi_workspace_rewind(workspace, mark);
        assert_true(__asan_address_is_poisoned(inner));
        kbi_workspace_rewind(workspace, 0);
        assert_true(__asan_address_is_poisoned(outer));
    }
    kb_workspace_free(workspace);
}
#endif

static void test_workspace_grows_and_keeps(void **state)
{
    (void)state;
    kb_workspace *workspace;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    assert_non_null(kbi_workspace_get(workspace, 1000)); /* apart: there is no block yet */
    kbi_workspace_rewind(workspace, 0);
    void *large = kbi_workspace_get(workspace, 1000);
    kbi_workspace_rewind(workspace, 0);
    size_t held = kbi_workspace_bytes(workspace);
    assert_true(held >= 1000);
    assert_ptr_equal(kbi_workspace_get(workspace, 10), large);
    size_t mark = kbi_workspace_mark(workspace);
    void *inner = kbi_workspace_get(workspace, 500);
    kbi_workspace_rewind(workspace, mark);
    assert_ptr_equal(kbi_workspace_get(workspace, 400), inner);
    assert_int_equal(kbi_workspace_bytes(workspace), held);
    assert_non_null(kbi_workspace_get(workspace, 100000)); /* does not fit: apart */
    assert_true(kbi_workspace_bytes(workspace) >= 100000);
    kbi_workspace_rewind(workspace, 0); /* now the block is that large */
    held = kbi_workspace_bytes(workspace);
    assert_true(held >= 100000 && held < 102000);
    assert_non_null(kbi_workspace_get(workspace, 100400));
    assert_int_equal(kbi_workspace_bytes(workspace), held);
    kb_workspace_free(workspace);
}

static void test_workspace_measures(void **state)
{
    (void)state;
    kb_workspace workspace;
    kbi_workspace_measure(&workspace);
    assert_non_null(kbi_workspace_get(&workspace, 100));
    size_t mark = kbi_workspace_mark(&workspace);
    assert_non_null(kbi_workspace_get(&workspace, 1000));
    kbi_workspace_rewind(&workspace, mark);
    assert_non_null(kbi_workspace_get(&workspace, 64));
    assert_int_equal(workspace.peak, 128 + 1024);
}

static void test_workspace_in_a_buffer(void **state)
{
    (void)state;
    static unsigned char buffer[4096];
    kb_workspace *workspace;
    assert_int_equal(kb_workspace_create_in(NULL, 100, &workspace), KB_E_ARGUMENT);
    assert_int_equal(kb_workspace_create_in(buffer, sizeof buffer, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_workspace_create_in(buffer, sizeof(kb_workspace) - 1, &workspace), KB_E_SPACE);
    assert_null(workspace);
    for (size_t offset = 0; offset < 130; offset += 13) {
        memset(buffer, 0xa5, sizeof buffer);
        size_t size = sizeof buffer - 200;
        assert_int_equal(kb_workspace_create_in(buffer + offset, size, &workspace), KB_OK);
        assert_true(kbi_workspace_bytes(workspace) <= size + KBI_ALIGN);
        for (unsigned char *data; (data = kbi_workspace_get(workspace, 100)) != NULL;) {
            assert_true(data >= buffer + offset && data + 100 <= buffer + offset + size);
            assert_int_equal((uintptr_t)data % KBI_ALIGN, 0);
            memset(data, 1, 100);
        }
        kbi_workspace_rewind(workspace, 0);
        assert_null(kbi_workspace_get(workspace, size));
        assert_non_null(kbi_workspace_get(workspace, 1000));
        kb_workspace_free(workspace);
        for (size_t i = 0; i < sizeof buffer; i++)
            if (i < offset || i >= offset + size) assert_int_equal(buffer[i], 0xa5);
    }
}

static void test_workspace_wild_input(void **state)
{
    (void)state;
    assert_int_equal(kb_workspace_create(NULL, NULL), KB_E_ARGUMENT);
    kb_workspace_free(NULL);

    kb_workspace *workspace;
    assert_int_equal(kb_workspace_create(&(kb_allocator){0}, &workspace), KB_E_ARGUMENT);
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    assert_non_null(kbi_workspace_get(workspace, 0));
    assert_null(kbi_workspace_get(workspace, SIZE_MAX));
    assert_null(kbi_workspace_get(workspace, SIZE_MAX / 2 - 1));
    /* A failure leaves a workspace that still works. */
    assert_non_null(kbi_workspace_get(workspace, 16));
    kb_workspace_free(workspace);
}

static void test_workspace_stands_in(void **state)
{
    (void)state;
    kb_workspace local, *given;
    assert_ptr_equal(kbi_workspace_or(NULL, &local), &local);
    size_t empty = kbi_workspace_bytes(&local);
    assert_non_null(kbi_workspace_get(&local, 100));
    assert_true(kbi_workspace_bytes(&local) >= empty + 100);
    kbi_workspace_release(&local);
    assert_int_equal(kbi_workspace_bytes(&local), empty);

    assert_int_equal(kb_workspace_create(NULL, &given), KB_OK);
    assert_non_null(kbi_workspace_get(given, 100));
    kbi_workspace_rewind(given, 0); /* keeps a block for the next call */
    void *data = kbi_workspace_get(given, 100);
    assert_ptr_equal(kbi_workspace_or(given, &local), given);
    kbi_workspace_release(&local); /* leaves the caller's alone */
    kbi_workspace_rewind(given, 0);
    assert_ptr_equal(kbi_workspace_get(given, 100), data);
    kb_workspace_free(given);
}

/* -------------------------------------------------------------------------------------------------------- allocator */

/* Counts what it hands out. */
typedef struct counter {
    int allocations, held;
} counter;

static void *counter_allocate(void *self, size_t bytes)
{
    counter *c = self;
    c->allocations++;
    c->held++;
    return malloc(bytes);
}

static void counter_release(void *self, void *memory)
{
    counter *c = self;
    assert_non_null(memory);
    c->held--;
    free(memory);
}

static void test_allocator_is_used(void **state)
{
    (void)state;
    counter c = {0, 0};
    kb_allocator allocator = {counter_allocate, counter_release, &c};
    kb_workspace *workspace;
    kb_parallel *pool;
    assert_int_equal(kb_workspace_create(&allocator, &workspace), KB_OK);
    assert_int_equal(c.allocations, 1);
    for (int i = 0; i < 3; i++) assert_non_null(kbi_workspace_get(workspace, 1000));
    assert_int_equal(c.allocations, 4);
    kbi_workspace_rewind(workspace, 0);
    assert_int_equal(c.held, 2);
    kb_workspace_free(workspace);
    assert_int_equal(c.held, 0);

    c.allocations = 0;
    assert_int_equal(kb_pool_create(2, &allocator, &pool), KB_OK);
    assert_true(c.allocations > 0);
    kb_pool_free(pool);
    assert_int_equal(c.held, 0);
    assert_int_equal(kb_pool_create(2, &(kb_allocator){0}, &pool), KB_E_ARGUMENT);
}

/* -------------------------------------------------------------------------------------------------- options, images */

typedef struct old_options {
    uint32_t struct_size;
    int32_t first;
} old_options;

typedef struct new_options {
    uint32_t struct_size;
    int32_t first;
    double second;
} new_options;

static void test_options_defaults(void **state)
{
    (void)state;
    new_options read = {1, 2, 3};
    assert_int_equal(kbi_struct_read(&read, sizeof read, NULL), KB_OK);
    assert_true(read.first == 0 && read.second == 0);
}

/* No struct has grown yet: a shorter one is none. */
static void test_options_that_are_too_short(void **state)
{
    (void)state;
    old_options older;
    KB_INIT(older);
    new_options read = {9, 9, 9};
    assert_int_equal(kbi_struct_read(&read, sizeof read, &older), KB_E_STRUCT);
}

static void test_options_of_a_newer_caller(void **state)
{
    (void)state;
    new_options newer;
    KB_INIT(newer);
    newer.first = 6;
    old_options guarded[2] = {{0, 0}, {11, 12}};
    assert_int_equal(kbi_struct_read(&guarded[0], sizeof guarded[0], &newer), KB_OK);
    assert_int_equal(guarded[0].first, 6);
    assert_true(guarded[1].struct_size == 11 && guarded[1].first == 12);
    newer.second = 7; /* a wish that this version cannot obey */
    assert_int_equal(kbi_struct_read(&guarded[0], sizeof guarded[0], &newer), KB_E_STRUCT);
}

static void test_structs_of_absurd_size(void **state)
{
    static const uint32_t sizes[] = {0, 1, 3, sizeof(new_options) - 1, 4097, 0xffffffffu};
    (void)state;
    for (size_t i = 0; i < KBI_COUNT(sizes); i++) {
        new_options given = {sizes[i], 1, 1}, read;
        assert_int_equal(kbi_struct_read(&read, sizeof read, &given), KB_E_STRUCT);
        assert_int_equal(kbi_struct_check(&given, sizeof given), KB_E_STRUCT);
    }
}

static void test_structs_of_a_newer_caller_are_filled(void **state)
{
    (void)state;
    const new_options full = {sizeof full, 3, 4};
    struct {
        new_options known;
        int32_t future;
    } newer = {{sizeof newer, 0, 0}, 0};
    kbi_struct_write(&newer, sizeof full, &full);
    assert_true(newer.known.struct_size == sizeof newer && newer.known.second == 4 && newer.future == 0);
}

static void test_image_check(void **state)
{
    (void)state;
    static const uint16_t pixels[64];
    const kb_image good = {pixels, 8, 4, 16, KB_FORMAT_GRAY8, 0};
    kb_image image = good;
    assert_int_equal(kbi_image_check(&image), KB_OK);
    assert_int_equal(kbi_image_check(NULL), KB_E_ARGUMENT);

    image.data = NULL;
    assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
    static const int32_t sides[] = {0, -1, INT32_MIN, 65536, INT32_MAX};
    for (size_t i = 0; i < KBI_COUNT(sides); i++) {
        image = good, image.width = sides[i], image.stride = PTRDIFF_MAX;
        assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
        image = good, image.height = sides[i];
        assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
    }
    static const ptrdiff_t strides[] = {7, 0, -16, PTRDIFF_MIN};
    for (size_t i = 0; i < KBI_COUNT(strides); i++) {
        image = good, image.stride = strides[i];
        assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
    }
    image = good, image.format = (kb_format)2;
    assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
}

static void test_image_check_of_16_bits(void **state)
{
    (void)state;
    static const uint16_t pixels[64];
    const kb_image good = {pixels, 8, 4, 16, KB_FORMAT_GRAY16, 4095};
    kb_image image = good;
    assert_int_equal(kbi_image_check(&image), KB_OK);
    image.stride = 15;
    assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
    image = good, image.stride = 17;
    assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
    image = good, image.data = (const char *)pixels + 1;
    assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
    image = good, image.white = -1;
    assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
    image = good, image.white = 65536;
    assert_int_equal(kbi_image_check(&image), KB_E_IMAGE);
}

/* ----------------------------------------------------------------------------------------------------------- status */

static void test_status_strings(void **state)
{
    (void)state;
    for (int s = 2; s >= -40; s--) {
        const char *text = kb_status_string((kb_status)s);
        assert_non_null(text);
        assert_true(strlen(text) > 3);
    }
    for (int s = KB_OK; s >= KB_E_STRUCT; s--) /* every code has its own words */
        assert_string_not_equal(kb_status_string((kb_status)s), kb_status_string((kb_status)12345));
}

static void test_fail(void **state)
{
    (void)state;
    kb_error error;
    assert_int_equal(kbi_fail(&error, KB_E_TABLE, "row %d: %s", 7, "bad"), KB_E_TABLE);
    assert_string_equal(error.text, "row 7: bad");
    assert_true(error.field[0] == 0 && error.row == -1);
    assert_int_equal(kbi_fail_at(&error, KB_E_TABLE, "boxes", 7, "channel %d", 9), KB_E_TABLE);
    assert_string_equal(error.text, "channel 9");
    assert_string_equal(error.field, "boxes");
    assert_int_equal(error.row, 7);
    kbi_error_clear(&error);
    assert_true(error.text[0] == 0 && error.field[0] == 0 && error.row == -1);
    kbi_error_clear(NULL);
    assert_int_equal(kbi_fail_at(NULL, KB_E_FORMAT, "", -1, "nobody listens"), KB_E_FORMAT);
    assert_int_equal(kbi_fail(NULL, KB_E_FORMAT, "nobody listens"), KB_E_FORMAT);
    char long_text[1000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    kbi_fail(&error, KB_E_FORMAT, "%s", long_text);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
}

static void test_version(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", KB_VERSION_MAJOR, KB_VERSION_MINOR, KB_VERSION_PATCH);
    assert_string_equal(kb_version(), expected);
    assert_string_equal(KB_VERSION_STRING, expected);
}

/* Every value from 1 to `last` has a name of its own, and the next value has none. */
static void check_names(kb_names names, int32_t last)
{
    for (int32_t i = 1; i <= last; i++)
        for (int32_t j = 1; j < i; j++) assert_string_not_equal(kb_name(names, i), kb_name(names, j));
    assert_null(kb_name(names, last + 1));
    assert_null(kb_name(names, -1));
}

static void test_names(void **state)
{
    (void)state;
    check_names(KB_NAMES_KIND, KB_KIND_ROOTSIFT);
    check_names(KB_NAMES_DETECTOR, KB_DETECTOR_HESSIAN);
    check_names(KB_NAMES_SELECTION, KB_SELECTION_QUADTREE);
    check_names(KB_NAMES_ORIENTATION, KB_ORIENTATION_NONE);
    check_names(KB_NAMES_FIT_RESULT, KB_FIT_NOT_FOUND);
    assert_string_equal(kb_name(KB_NAMES_SAMPLER, KB_SAMPLER_PATCH), "patch");
    assert_string_equal(kb_name(KB_NAMES_SAMPLER, KB_SAMPLER_IMAGE), "image");
    assert_string_equal(kb_name(KB_NAMES_SAMPLER, KB_SAMPLER_CELLS), "cells");
    assert_string_equal(kb_name(KB_NAMES_SAMPLER, KB_SAMPLER_OCTAVES), "octaves");
    assert_null(kb_name(KB_NAMES_SAMPLER, 4));
    assert_string_equal(kb_name(KB_NAMES_SELECTION, KB_SELECTION_DEFAULT), "default");
    assert_string_equal(kb_name(KB_NAMES_ORIENTATION, KB_ORIENTATION_DEFAULT), "default");
}

/* --------------------------------------------------------------------------------------------------- parallel loops */

static void test_pieces_cover_everything_once(void **state)
{
    static const size_t totals[] = {0, 1, 2, 7, 64, 1000, 123456789};
    (void)state;
    for (size_t t = 0; t < KBI_COUNT(totals); t++) {
        for (int32_t pieces = 1; pieces <= 256; pieces += pieces < 8 ? 1 : 31) {
            assert_int_equal(kbi_piece(totals[t], pieces, 0), 0);
            assert_int_equal(kbi_piece(totals[t], pieces, pieces), totals[t]);
            for (int32_t i = 0; i < pieces; i++) {
                size_t length = kbi_piece(totals[t], pieces, i + 1) - kbi_piece(totals[t], pieces, i);
                assert_in_range(length, totals[t] / (size_t)pieces, totals[t] / (size_t)pieces + 1);
            }
        }
    }
    size_t huge = SIZE_MAX / 2; /* must not overflow on its way */
    assert_true(kbi_piece(huge, 255, 255) == huge && kbi_piece(huge, 255, 254) < huge);
}

enum { TASKS = 5000 };

typedef struct tally {
    int32_t count;
    uint64_t value[TASKS];
    int32_t visits[TASKS];
} tally;

static void tally_task(void *context, int32_t index)
{
    tally *t = context;
    uint64_t seed = (uint64_t)index;
    for (int i = 0; i < 50; i++) t->value[index] = kbi_random_next(&seed);
    t->visits[index]++;
}

static void check_run(const kb_parallel *parallel, tally *t, int32_t count)
{
    memset(t, 0, sizeof *t);
    kbi_parallel_run(parallel, count, tally_task, t);
    for (int32_t i = 0; i < TASKS; i++) {
        uint64_t seed = (uint64_t)i, expected = 0;
        for (int k = 0; k < 50; k++) expected = kbi_random_next(&seed);
        assert_int_equal(t->visits[i], i < count ? 1 : 0);
        assert_true(t->value[i] == (i < count ? expected : 0));
    }
}

static void test_pool_runs_every_task_once(void **state)
{
    static const int32_t threads[] = {0, 1, 2, 3, 16};
    static const int32_t counts[] = {0, 1, 2, 17, TASKS};
    (void)state;
    tally *t = malloc(sizeof *t);
    assert_non_null(t);
    for (size_t i = 0; i < KBI_COUNT(threads); i++) {
        kb_parallel *pool;
        assert_int_equal(kb_pool_create(threads[i], NULL, &pool), KB_OK);
        const kb_parallel *parallel = pool;
        assert_in_range(kbi_parallel_threads(parallel), 1, threads[i] ? threads[i] : 256);
        for (size_t c = 0; c < KBI_COUNT(counts); c++) check_run(parallel, t, counts[c]);
        kb_pool_free(pool);
    }
    check_run(NULL, t, 100);
    free(t);
}

static void add_task(void *context, int32_t index) { ((int32_t *)context)[index]++; }

static void test_pool_serves_many_short_jobs(void **state)
{
    (void)state;
    kb_parallel *pool;
    int32_t sums[8] = {0};
    assert_int_equal(kb_pool_create(4, NULL, &pool), KB_OK);
    for (int job = 0; job < 5000; job++) kbi_parallel_run(pool, 8, add_task, sums);
    for (int i = 0; i < 8; i++) assert_int_equal(sums[i], 5000);
    kb_pool_free(pool);
}

static void test_pool_that_never_works(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        kb_parallel *pool;
        assert_int_equal(kb_pool_create(4, NULL, &pool), KB_OK);
        kb_pool_free(pool);
    }
}

static void test_pool_wild_input(void **state)
{
    (void)state;
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(1, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_pool_create(-1, NULL, &pool), KB_E_ARGUMENT);
    assert_int_equal(kb_pool_create(257, NULL, &pool), KB_E_ARGUMENT);
    kb_pool_free(NULL);
}

static void run_is_not_called(void *self, int32_t count, void (*task)(void *, int32_t), void *context)
{
    (void)self, (void)count, (void)task, (void)context;
    fail_msg("one task, or one thread, needs no help");
}

static void test_one_thread_needs_no_callback(void **state)
{
    (void)state;
    int32_t sums[8] = {0};
    const uint32_t size = sizeof(kb_parallel);
    kb_parallel several = {size, 4, run_is_not_called, NULL}, one = {size, 1, run_is_not_called, NULL};
    kb_parallel none = {size, 4, NULL, NULL}, not_set = {0, 4, run_is_not_called, NULL};
    kbi_parallel_run(&several, 1, add_task, sums);
    kbi_parallel_run(&one, 8, add_task, sums);
    kbi_parallel_run(&none, 8, add_task, sums);
    kbi_parallel_run(&not_set, 8, add_task, sums);
    assert_int_equal(sums[0], 4);
    assert_int_equal(sums[7], 3);
    assert_int_equal(kbi_parallel_threads(NULL), 1);
    assert_int_equal(kbi_parallel_threads(&none), 1);
    assert_int_equal(kbi_parallel_threads(&several), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sincos_agrees_with_libm),
        cmocka_unit_test(test_sincos_is_exact_at_quarter_turns),
        cmocka_unit_test(test_sincos_of_no_angle),
        cmocka_unit_test(test_atan2_agrees_with_libm),
        cmocka_unit_test(test_atan2_at_the_edges),
        cmocka_unit_test(test_exp_agrees_with_libm),
        cmocka_unit_test(test_isqrt),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_workspace_gives_aligned_memory),
#ifdef __SANITIZE_ADDRESS__
        cmocka_unit_test(test_sanitizer_sees_arrays_of_a_workspace),
#endif
        cmocka_unit_test(test_workspace_grows_and_keeps),
        cmocka_unit_test(test_workspace_measures),
        cmocka_unit_test(test_workspace_in_a_buffer),
        cmocka_unit_test(test_allocator_is_used),
        cmocka_unit_test(test_workspace_wild_input),
        cmocka_unit_test(test_workspace_stands_in),
        cmocka_unit_test(test_options_defaults),
        cmocka_unit_test(test_options_that_are_too_short),
        cmocka_unit_test(test_options_of_a_newer_caller),
        cmocka_unit_test(test_structs_of_absurd_size),
        cmocka_unit_test(test_structs_of_a_newer_caller_are_filled),
        cmocka_unit_test(test_image_check),
        cmocka_unit_test(test_image_check_of_16_bits),
        cmocka_unit_test(test_status_strings),
        cmocka_unit_test(test_fail),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_pieces_cover_everything_once),
        cmocka_unit_test(test_pool_runs_every_task_once),
        cmocka_unit_test(test_pool_serves_many_short_jobs),
        cmocka_unit_test(test_pool_that_never_works),
        cmocka_unit_test(test_pool_wild_input),
        cmocka_unit_test(test_one_thread_needs_no_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
