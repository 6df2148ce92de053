/* SPDX-License-Identifier: Apache-2.0 */
/* The pyramid for callers, and detection and description in one call. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/common.h"
#include "../arrays.h"

enum { WIDTH = 400, HEIGHT = 300, MOST = 600, MANY = 20000 };

static uint8_t gray[WIDTH * HEIGHT];
static uint16_t deep[WIDTH * HEIGHT];

static int render(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int k = 0; k < 900; k++) {
        int x0 = (int)kbi_random_below(&seed, WIDTH), y0 = (int)kbi_random_below(&seed, HEIGHT);
        int w = 4 + (int)kbi_random_below(&seed, 30), h = 4 + (int)kbi_random_below(&seed, 30);
        uint8_t value = (uint8_t)kbi_random_below(&seed, 256);
        for (int y = y0; y < y0 + h && y < HEIGHT; y++)
            for (int x = x0; x < x0 + w && x < WIDTH; x++) gray[y * WIDTH + x] = value;
    }
    for (int i = 0; i < WIDTH * HEIGHT; i++) deep[i] = (uint16_t)(gray[i] * 257);
    return 0;
}

static kb_image gray_view(void) { return (kb_image){gray, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0}; }
static kb_image deep_view(void) { return (kb_image){deep, WIDTH, HEIGHT, 2 * WIDTH, KB_FORMAT_GRAY16, 0}; }

static uint8_t *build(const kb_image *image, const kb_detect_options *options, kb_pyramid *pyramid, size_t *size)
{
    assert_int_equal(kb_pyramid_build(image, options, NULL, NULL, 0, NULL, size), KB_OK);
    uint8_t *buffer = malloc(*size);
    assert_non_null(buffer);
    KB_INIT(*pyramid);
    assert_int_equal(kb_pyramid_build(image, options, NULL, buffer, *size, pyramid, size), KB_OK);
    return buffer;
}

static void assert_same_levels(const kb_pyramid *a, const kb_pyramid *b)
{
    assert_int_equal(a->levels, b->levels);
    for (int32_t i = 0; i < a->levels; i++) {
        const kb_image *p = &a->level[i], *q = &b->level[i];
        assert_true(p->width == q->width && p->height == q->height && p->format == KB_FORMAT_GRAY8);
        for (int32_t y = 0; y < p->height; y++)
            assert_memory_equal((const uint8_t *)p->data + y * p->stride, (const uint8_t *)q->data + y * q->stride,
                                (size_t)p->width);
    }
}

static void test_pyramid_levels(void **state)
{
    (void)state;
    kb_image image = gray_view(), wide = deep_view();
    kb_pyramid one, many, from16;
    kb_detect_options options;
    kb_parallel *pool;
    size_t size;
    uint8_t *a = build(&image, NULL, &one, &size);
    assert_int_equal(one.levels, 15); /* 300 px to 23; 19 px is too small for a corner */
    assert_ptr_equal(one.level[0].data, gray);
    for (int32_t i = 1; i < one.levels; i++) {
        assert_true(one.factor[i] > 1.19 * one.factor[i - 1] && one.factor[i] < 1.21 * one.factor[i - 1]);
        assert_int_equal(one.level[i].width, (int32_t)(WIDTH / one.factor[i] + 0.5));
        assert_true((const uint8_t *)one.level[i].data >= a && (const uint8_t *)one.level[i].data < a + size);
    }
    /* any number of threads, and 16 bits of the same picture, give the same levels */
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    KB_INIT(options);
    options.parallel = pool;
    uint8_t *b = build(&image, &options, &many, &size), *c = build(&wide, NULL, &from16, &size);
    assert_same_levels(&one, &many);
    assert_same_levels(&one, &from16);
    assert_true((const uint8_t *)from16.level[0].data >= c && (const uint8_t *)from16.level[0].data < c + size);
    kb_pool_free(pool);
    free(a), free(b), free(c);
}

/* Each level of the detectors, searched alone as an image, gives the keypoints that they have on it. */
static void test_pyramid_is_the_detectors(void **state)
{
    static kb_keypoint all[MANY], alone[MANY];
    kb_image image = gray_view();
    (void)state;
    for (int c = 0; c < 4; c++) {
        kb_detect_options options;
        kb_pyramid pyramid;
        size_t n, found, size, seen = 0;
        KB_INIT(options);
        options.detector = c & 1 ? KB_DETECTOR_HESSIAN : KB_DETECTOR_ORB;
        options.level_factor = c & 2 ? 1.5f : 0;
        options.max_keypoints = MANY;
        options.every_level = 1;
        options.whole_pixels = 1;
        uint8_t *buffer = build(&image, &options, &pyramid, &size);
        assert_int_equal(detect_keypoints(&image, &options, NULL, all, MANY, &n, NULL), KB_OK);
        assert_true(n > 300 && n < MANY);
        options.levels = 1;
        for (int32_t level = 0; level < pyramid.levels; level++) {
            assert_int_equal(detect_keypoints(&pyramid.level[level], &options, NULL, alone, MANY, &found, NULL), KB_OK);
            for (size_t i = 0, j = 0; i < n; i++) {
                if (all[i].octave != level) continue;
                for (j = 0; j < found; j++) {
                    double factor = pyramid.factor[level], x = (alone[j].x + 0.5) * factor - 0.5,
                           y = (alone[j].y + 0.5) * factor - 0.5;
                    if (fabs(x - all[i].x) < 0.001 && fabs(y - all[i].y) < 0.001) break;
                }
                assert_true(j < found && alone[j].response == all[i].response && alone[j].angle == all[i].angle);
                seen++;
            }
        }
        assert_int_equal(seen, n); /* no keypoint on a level that the pyramid has not */
        free(buffer);
    }
}

/* Without every_level the levels go on until there is no room for a corner. */
static void test_pyramid_goes_down_to_the_smallest_level(void **state)
{
    static kb_keypoint all[MANY];
    kb_image image = gray_view();
    (void)state;
    for (int c = 0; c < 4; c++) {
        kb_detect_options options;
        kb_pyramid pyramid;
        size_t n, size;
        KB_INIT(options);
        options.detector = c & 1 ? KB_DETECTOR_HESSIAN : KB_DETECTOR_ORB;
        options.every_level = c / 2;
        options.max_keypoints = MANY;
        uint8_t *buffer = build(&image, &options, &pyramid, &size);
        int32_t smallest = options.every_level ? 70 : c & 1 ? 20 : 18, coarsest = 0;
        assert_in_range(pyramid.level[pyramid.levels - 1].height, smallest, smallest * 6 / 5);
        assert_int_equal(detect_keypoints(&image, &options, NULL, all, MANY, &n, NULL), KB_OK);
        for (size_t i = 0; i < n; i++) coarsest = kbi_max_i(coarsest, all[i].octave);
        assert_in_range(coarsest, pyramid.levels - 3, pyramid.levels - 1);
        free(buffer);
    }
}

static void test_pyramid_of_wrong_input(void **state)
{
    (void)state;
    kb_image image = gray_view(), tiny = {gray, 19, 19, WIDTH, KB_FORMAT_GRAY8, 0};
    kb_pyramid pyramid;
    size_t size;
    uint8_t *buffer = build(&image, NULL, &pyramid, &size);
    assert_int_equal(kb_pyramid_build(&image, NULL, NULL, buffer, size - 1, &pyramid, &size), KB_E_SPACE);
    assert_int_equal(kb_pyramid_build(NULL, NULL, NULL, buffer, size, &pyramid, &size), KB_E_ARGUMENT);
    assert_int_equal(kb_pyramid_build(&image, NULL, NULL, buffer, size, NULL, &size), KB_E_ARGUMENT);
    assert_int_equal(kb_pyramid_build(&image, NULL, NULL, buffer, size, &pyramid, NULL), KB_E_ARGUMENT);
    pyramid.struct_size = 3;
    assert_int_equal(kb_pyramid_build(&image, NULL, NULL, buffer, size, &pyramid, &size), KB_E_STRUCT);
    KB_INIT(pyramid);
    assert_int_equal(kb_pyramid_build(&tiny, NULL, NULL, buffer, size, &pyramid, &size), KB_OK);
    assert_int_equal(pyramid.levels, 0);
    free(buffer);
}

static void test_one_call_is_two(void **state)
{
    static kb_keypoint expected[MOST], found[MOST];
    static uint8_t rows[MOST * 32], again[MOST * 32], flags[MOST], flags_again[MOST];
    kb_image images[2] = {gray_view(), deep_view()};
    kb_model *model;
    (void)state;
    assert_int_equal(kb_model_builtin("bad256", NULL, &model), KB_OK);
    for (int which = 0; which < 6; which++) {
        const kb_image *image = &images[which & 1];
        kb_detect_options detect;
        kb_describe_options describe;
        size_t n, count;
        KB_INIT(detect);
        KB_INIT(describe);
        detect.detector = (kb_detector)(KB_DETECTOR_ORB + which / 2);
        describe.scale = kb_model_scale(model, kb_name(KB_NAMES_DETECTOR, detect.detector));
        assert_int_equal(detect_keypoints(image, &detect, NULL, expected, MOST, &n, NULL), KB_OK);
        assert_int_equal(describe_keypoints(model, image, expected, n, &describe, NULL, rows, flags), KB_OK);
        assert_int_equal(detect_and_describe(model, image, &detect, NULL, NULL, found, MOST, again, flags_again,
                                                &count, NULL), KB_OK);
        assert_true(n > 50);
        assert_int_equal(count, n);
        assert_memory_equal(found, expected, n * sizeof *found);
        assert_memory_equal(again, rows, n * 32);
        assert_memory_equal(flags_again, flags, n);
    }
    size_t count = 7;
    assert_int_equal(detect_and_describe(NULL, &images[0], NULL, NULL, NULL, found, MOST, again, NULL, &count, NULL),
                     KB_E_ARGUMENT);
    assert_int_equal(detect_and_describe(model, &images[0], NULL, NULL, NULL, found, MOST, NULL, NULL, &count, NULL),
                     KB_E_ARGUMENT);
    assert_int_equal(detect_and_describe(model, &images[0], NULL, NULL, NULL, NULL, 0, NULL, NULL, &count, NULL),
                     KB_OK);
    assert_int_equal(count, 0);
    kb_model_free(model);
}

/* Every order of colours gives the level-0 image that the weights say, and a gray picture itself. */
static void test_colours_become_gray(void **state)
{
    (void)state;
    static uint8_t colour[WIDTH * HEIGHT * 4], expected[WIDTH * HEIGHT];
    static const struct {
        kb_format format;
        int bytes, red, blue;
    } orders[] = {{KB_FORMAT_RGB8, 3, 0, 2}, {KB_FORMAT_BGR8, 3, 2, 0}, {KB_FORMAT_RGBA8, 4, 0, 2},
                  {KB_FORMAT_BGRA8, 4, 2, 0}};
    uint64_t seed = 9;
    for (size_t k = 0; k < 2 * KBI_COUNT(orders); k++) {
        const int bytes = orders[k / 2].bytes, plain = k % 2;
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            uint8_t *p = colour + i * bytes, rgb[3];
            for (int c = 0; c < 3; c++) rgb[c] = plain ? gray[i] : (uint8_t)kbi_random_next(&seed);
            p[3 % bytes] = 7; /* alpha, which counts for nothing */
            p[orders[k / 2].red] = rgb[0], p[1] = rgb[1], p[orders[k / 2].blue] = rgb[2];
            expected[i] = (uint8_t)((9798 * rgb[0] + 19235 * rgb[1] + 3735 * rgb[2] + 16384) / 32768);
        }
        if (plain) assert_memory_equal(expected, gray, sizeof gray);
        kb_image image = {colour, WIDTH, HEIGHT, bytes * WIDTH, orders[k / 2].format, 0};
        kb_pyramid pyramid;
        size_t size;
        uint8_t *buffer = build(&image, NULL, &pyramid, &size);
        for (int32_t y = 0; y < HEIGHT; y++)
            assert_memory_equal((const uint8_t *)pyramid.level[0].data + y * pyramid.level[0].stride,
                                expected + y * WIDTH, WIDTH);
        free(buffer);
        image.stride--;
        assert_int_equal(kb_pyramid_build(&image, NULL, NULL, NULL, 0, NULL, &size), KB_E_IMAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pyramid_levels),
        cmocka_unit_test(test_pyramid_is_the_detectors),
        cmocka_unit_test(test_pyramid_goes_down_to_the_smallest_level),
        cmocka_unit_test(test_pyramid_of_wrong_input),
        cmocka_unit_test(test_one_call_is_two),
        cmocka_unit_test(test_colours_become_gray),
    };
    return cmocka_run_group_tests_name("features", tests, render, NULL);
}
