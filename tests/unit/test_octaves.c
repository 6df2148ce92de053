/* SPDX-License-Identifier: Apache-2.0 */
/* Describing by octaves: the ways that lead to the same row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "describe/describe.h"
#include "render.h"
#include "../arrays.h"

/* Keypoints of all sizes, some at the border, outside, small, or none at all. */
static void render_odd_keypoints(kb_keypoint *k, size_t n, int32_t width, int32_t height, uint64_t seed)
{
    render_keypoints(k, n, width, height, 3, 60, seed);
    for (size_t i = 0; i < n; i++) {
        if (i % 5 == 0) k[i].x = i % 2 ? -0.5f : (float)width - 0.6f;
        if (i % 7 == 0) k[i].y = i % 2 ? 0 : (float)height - 1;
        if (i % 11 == 0) k[i].size *= 12;
        if (i % 13 == 0) k[i].size = 0.2f;
        if (i % 17 == 0) k[i].x = i % 2 ? -3 : (float)width + 9;
        if (i % 19 == 0) k[i].size = i % 2 ? NAN : -1;
        if (i % 23 == 0) k[i].angle = -1;
    }
    k[1].size = 1e6f;
}

/* kb_describe is kb_sample and then kb_describe_patches, on any number of threads: one has one level of the pyramid at a time. */
static void ready_octaves_equal_cut_ones(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{47, 39}, {200, 150}, {1500, 1024}, {97, 5003}};
    enum { MANY = 300, BYTES = KB_OCTAVES * KBI_OCTAVE_BYTES };
    kb_model *model = render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 256, true, 3);
    uint8_t *octaves[2] = {malloc(MANY * BYTES), malloc(MANY * BYTES)}, *expected = malloc(MANY * 32), flags[3][MANY];
    for (size_t s = 0; s < KBI_COUNT(sizes); s++) {
        int32_t width = sizes[s][0], height = sizes[s][1];
        uint8_t *pixels = render_texture(width, height, 60 + s);
        kb_image image = view_of(pixels, width, height);
        kb_keypoint k[MANY];
        render_odd_keypoints(k, MANY, width, height, 70 + s);
        for (int32_t threads = 1; threads <= 5; threads += 2) {
            kb_parallel *pool = NULL;
            kb_describe_options options;
            int usual = 0;
            KB_INIT(options);
            assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
            options.parallel = pool;
            options.scale = 2.5f;
            uint8_t *to = octaves[threads > 1], *flags_to = flags[threads > 1];
            memset(to, 0x5a, MANY * BYTES);
            assert_int_equal(sample_octaves(&image, k, MANY, &options, NULL, to, flags_to), KB_OK);
            assert_memory_equal(to, octaves[0], MANY * BYTES);
            assert_memory_equal(flags_to, flags[0], MANY);
            assert_int_equal(describe_patches(model, to, MANY, KB_OCTAVE_SIDE, &options, NULL, expected), KB_OK);
            uint8_t rows[MANY * 32];
            assert_int_equal(describe_keypoints(model, &image, k, MANY, &options, NULL, rows, flags[2]), KB_OK);
            assert_memory_equal(flags[2], flags[0], MANY);
            for (size_t i = 0; i < MANY; i++) {
                static const uint8_t zeros[BYTES];
                bool none = flags[0][i] & (KB_KP_OUTSIDE | KB_KP_INVALID);
                if (none) assert_memory_equal(to + i * BYTES, zeros, BYTES);
                assert_memory_equal(rows + 32 * i, none ? zeros : expected + 32 * i, 32);
                usual += !none;
            }
            assert_true(usual > MANY / 2 && usual < MANY - 10);
            kb_pool_free(pool);
        }
        free(pixels);
    }
    free(octaves[0]), free(octaves[1]), free(expected);
    kb_model_free(model);
}

/* A patch is octaves 0 and 1 of a region: its rows are those of kbi_patch_octaves, whatever its side. */
static void ready_patches_of_bag_are_octave_1(void **state)
{
    (void)state;
    static const int32_t sides[] = {32, 33, 64, 100};
    enum { MANY = 37, BYTES = KB_OCTAVES * KBI_OCTAVE_BYTES };
    kb_model *model = render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 256, true, 3);
    kb_parallel *pool = NULL;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    for (size_t s = 0; s < KBI_COUNT(sides); s++) {
        size_t area = (size_t)(sides[s] * sides[s]);
        uint8_t *patches = render_texture(sides[s], sides[s] * MANY, 80 + s), *octaves = malloc(MANY * BYTES);
        uint8_t rows[2][MANY * 32];
        kb_describe_options options;
        KB_INIT(options);
        options.parallel = pool;
        for (size_t i = 0; i < MANY; i++) kbi_patch_octaves(patches + i * area, sides[s], octaves + i * BYTES);
        assert_int_equal(describe_patches(model, octaves, MANY, KB_OCTAVE_SIDE, NULL, NULL, rows[0]), KB_OK);
        assert_int_equal(describe_patches(model, patches, MANY, sides[s], NULL, NULL, rows[1]), KB_OK);
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        assert_int_equal(describe_patches(model, patches, MANY, sides[s], &options, NULL, rows[1]), KB_OK);
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        free(patches);
        free(octaves);
    }
    kb_pool_free(pool);
    kb_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ready_octaves_equal_cut_ones),
                                       cmocka_unit_test(ready_patches_of_bag_are_octave_1)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
