/* SPDX-License-Identifier: Apache-2.0 */
/* The variants for cores without vectors give what the others give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "detect/sift.h"
#include "render.h"

#define WIDTH 200
#define HEIGHT 40

/* Pictures from plain noise to two values only, where differences meet the threshold exactly. */
static void fill(uint8_t *pixels, int kind, uint64_t *seed)
{
    static const uint8_t levels[4][4] = {{0, 255, 0, 255}, {100, 120, 121, 80}, {0, 1, 2, 3}, {10, 10, 10, 60}};
    uint8_t *soft = kind == 5 ? render_texture(WIDTH, HEIGHT, kbi_random_next(seed)) : NULL;
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        uint32_t r = (uint32_t)kbi_random_next(seed);
        pixels[i] = kind == 5 ? soft[i] : kind == 4 ? (uint8_t)r : levels[kind][r & 3];
    }
    free(soft);
}

static void scores_and_peaks_agree(void **state)
{
    (void)state;
    static uint8_t pixels[WIDTH * HEIGHT], score[HEIGHT][WIDTH], other[WIDTH];
    uint64_t seed = 1;
    int corners = 0, peaks = 0;
    for (int round = 0; round < 120; round++) {
        fill(pixels, round % 6, &seed);
        int32_t threshold = round % 4 ? 20 : 1 + (int32_t)kbi_random_below(&seed, 255);
        int32_t width = round % 3 ? WIDTH - 6 : 1 + (int32_t)kbi_random_below(&seed, 40);
        for (int32_t y = 3; y < HEIGHT - 3; y++) {
            const uint8_t *row = pixels + y * WIDTH + 3;
            kbi_fast_row(row, WIDTH, width, threshold, score[y]);
            kbi_fast_row_scalar(row, WIDTH, width, threshold, other);
            assert_memory_equal(score[y], other, (size_t)width);
            for (int32_t x = 0; x < width; x++) corners += other[x] > 0;
        }
        for (int32_t y = 4; y < HEIGHT - 4; y++) {
            uint16_t a[WIDTH], b[WIDTH];
            int32_t n = kbi_peaks_row(score[y - 1], score[y], score[y + 1], width, a);
            assert_int_equal(kbi_peaks_row_scalar(score[y - 1], score[y], score[y + 1], width, b), n);
            assert_memory_equal(a, b, (size_t)n * sizeof *a);
            peaks += n;
        }
    }
    assert_true(corners > 10000 && peaks > 1000);
}

static void scores_of_circles_agree(void **state)
{
    (void)state;
    static uint8_t pixels[WIDTH * HEIGHT];
    uint64_t seed = 3;
    int corners = 0;
    for (int round = 0; round < 120; round++) {
        uint8_t score[KBI_FAST_BATCH], other[KBI_FAST_BATCH];
        fill(pixels, round % 6, &seed);
        const uint8_t(*circles)[KBI_FAST_BATCH] = (const uint8_t(*)[KBI_FAST_BATCH])pixels;
        kbi_fast_scores(circles, KBI_FAST_BATCH, score);
        kbi_fast_scores_scalar(circles, KBI_FAST_BATCH, other);
        assert_memory_equal(score, other, sizeof score);
        for (int32_t x = 0; x < KBI_FAST_BATCH; x++) corners += other[x] > 0;
    }
    assert_true(corners > 100);
}

static void blends_agree(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int32_t weight = 0; weight <= KBI_RESIZE_ONE; weight++)
        for (int32_t width = 0; width < 70; width++) {
            uint8_t a[70], b[70], x[70] = {0}, y[70] = {0};
            for (int i = 0; i < 70; i++) {
                uint32_t r = (uint32_t)kbi_random_next(&seed);
                a[i] = r & 1 ? 255 : (uint8_t)(r >> 8);
                b[i] = r & 2 ? 255 : (uint8_t)(r >> 16);
            }
            kbi_blend_rows(a, b, width, weight, x);
            kbi_blend_rows_scalar(a, b, width, weight, y);
            assert_memory_equal(x, y, sizeof x);
        }
}

static void resized_rows_and_discs_agree(void **state)
{
    (void)state;
    static uint8_t pixels[WIDTH * HEIGHT];
    uint64_t seed = 3;
    for (int round = 0; round < 60; round++) {
        int32_t index[WIDTH], width = 1 + (int32_t)kbi_random_below(&seed, WIDTH / 2);
        uint8_t weight[WIDTH], x[WIDTH] = {0}, y[WIDTH] = {0};
        kbi_resize_map map = {index, weight, NULL, NULL, 0};
        fill(pixels, round % 6, &seed);
        kbi_resize_plan(map, 0, width, 1.05 + 0.015 * round, WIDTH);
        kbi_resize_row(pixels, WIDTH, map, width, x);
        kbi_resize_row_scalar(pixels, WIDTH, map, width, y);
        assert_memory_equal(x, y, sizeof x);
        for (int i = KBI_DISC_RADIUS; i < WIDTH - KBI_DISC_RADIUS - 1; i++) {
            float a = kbi_disc_angle(pixels + HEIGHT / 2 * WIDTH + i, WIDTH);
            assert_true(a == kbi_disc_angle_scalar(pixels + HEIGHT / 2 * WIDTH + i, WIDTH));
        }
    }
}

static void blurs_agree(void **state)
{
    (void)state;
    static uint8_t pixels[WIDTH * HEIGHT];
    uint64_t seed = 4;
    for (int round = 0; round < 400; round++) {
        uint16_t x[2][WIDTH] = {{0}}, y[2][WIDTH] = {{0}}, columns[2 * (WIDTH + KBI_ALIGN)];
        int32_t width = 1 + (int32_t)kbi_random_below(&seed, WIDTH - 2 * KBI_HESSIAN_BLUR);
        const uint8_t *row = pixels + HEIGHT / 2 * WIDTH + KBI_HESSIAN_BLUR;
        fill(pixels, round % 6, &seed);
        kbi_hessian_blur(row, WIDTH, width, columns, (uint16_t *const[]){x[0], x[1]});
        kbi_hessian_blur_scalar(row, WIDTH, width, columns, (uint16_t *const[]){y[0], y[1]});
        assert_memory_equal(x, y, sizeof x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scores_and_peaks_agree), cmocka_unit_test(scores_of_circles_agree),
                                       cmocka_unit_test(blends_agree), cmocka_unit_test(blurs_agree),
                                       cmocka_unit_test(resized_rows_and_discs_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
