/* SPDX-License-Identifier: Apache-2.0 */
/* src/detect: the row functions and the scale space against plain definitions. */
#include "simd/cpu.h"
#include "detect/kernels.h"
#include "detect/levels.h"
#include "detect/sift_space.h"
#include "detected.h"
#include "image/image.h"

static int fast_score_by_definition(const uint8_t *p, int32_t stride)
{
    static const int8_t circle[16][2] = {{0, -3}, {1, -3}, {2, -2}, {3, -1}, {3, 0},  {3, 1},   {2, 2},   {1, 3},
                                         {0, 3},  {-1, 3}, {-2, 2}, {-3, 1}, {-3, 0}, {-3, -1}, {-2, -2}, {-1, -3}};
    for (int t = 254; t >= 0; t--)
        for (int start = 0; start < 16; start++) {
            int brighter = 0, darker = 0;
            for (int i = 0; i < 9; i++) {
                const int8_t *c = circle[(start + i) % 16];
                brighter += p[c[1] * stride + c[0]] > p[0] + t;
                darker += p[c[1] * stride + c[0]] < p[0] - t;
            }
            if (brighter == 9 || darker == 9) return t + 1;
        }
    return 0;
}

static void test_fast_row_is_its_definition(void **state)
{
    (void)state;
    enum { W = 150, H = 7 };
    uint64_t seed = 5;
    for (int round = 0; round < 12; round++) {
        uint8_t p[H * W], score[W];
        for (int i = 0; i < H * W; i++) {
            uint8_t random = (uint8_t)kbi_random_next(&seed);
            p[i] = round % 4 ? random : random & 7 ? 0 : 255; /* black with a little white: arcs are common */
        }
        int32_t width = round % 3 == 0 ? 17 : 144, threshold = round < 6 ? 1 : 60;
        kbi_fast_row(p + 3 * W + 3, W, width, threshold, score);
        for (int32_t x = 0; x < width; x++) {
            int expected = fast_score_by_definition(p + 3 * W + 3 + x, W);
            assert_int_equal(score[x], expected > threshold ? expected : 0);
        }
    }
}

static void test_peaks_are_alone(void **state)
{
    (void)state;
    enum { W = 131 };
    uint64_t seed = 9;
    for (int round = 0; round < 50; round++) {
        uint8_t s[3][W];
        uint16_t x[W];
        for (int i = 0; i < 3 * W; i++)
            s[i / W][i % W] = kbi_random_below(&seed, 4) ? 0 : (uint8_t)kbi_random_below(&seed, 5);
        int32_t n = kbi_peaks_row(s[0], s[1], s[2], W, x), seen = 0;
        for (int32_t i = 1; i < W - 1; i++) {
            bool peak = s[1][i] > 0;
            for (int k = 0; k < 9; k++) {
                int v = s[k / 3][i + k % 3 - 1];
                peak = peak && (k < 4 ? s[1][i] > v : s[1][i] >= v);
            }
            if (peak) {
                assert_true(seen < n);
                assert_int_equal(x[seen++], i);
            }
        }
        assert_int_equal(seen, n);
    }
}

static void test_harris_is_its_definition(void **state)
{
    (void)state;
    uint8_t *p = render_texture(40, 40, 3);
    int64_t a = 0, b = 0, c = 0;
    const uint8_t *m = p + 20 * 40 + 20;
    for (int y = -3; y <= 3; y++)
        for (int x = -3; x <= 3; x++) {
            const uint8_t *q = m + y * 40 + x;
            int ix = q[-39] - q[-41] + 2 * (q[1] - q[-1]) + q[41] - q[39];
            int iy = q[39] - q[-41] + 2 * (q[40] - q[-40]) + q[41] - q[-39];
            a += ix * ix, b += iy * iy, c += ix * iy;
        }
    assert_true(kbi_harris(m, 40) == 25 * (a * b - c * c) - (a + b) * (a + b));
    double scale = 1.0 / (4 * 7 * 255.0), expected = ((double)a * (double)b - (double)c * (double)c -
                                                      0.04 * (double)(a + b) * (double)(a + b)) * pow(scale, 4);
    assert_float_equal(kbi_harris_response(kbi_harris(m, 40)), expected, 1e-6 * fabs(expected));
    free(p);
}

static void test_disc_angle_points_to_the_light(void **state)
{
    (void)state;
    enum { W = 48 };
    uint8_t p[W * W];
    for (int degrees = 0; degrees < 360; degrees += 5) {
        double s = sin(degrees * M_PI / 180), c = cos(degrees * M_PI / 180);
        for (int y = 0; y < W; y++)
            for (int x = 0; x < W; x++) /* wraps outside the disc */
                p[y * W + x] = (uint8_t)(int)(120 + 5 * ((x - 20) * c + (y - 20) * s));
        float angle = kbi_disc_angle(p + 20 * W + 20, W);
        assert_true(angle >= 0 && angle < 360);
        assert_true(angle_between(angle, degrees) < 1.5);
    }
    for (int i = 0; i < W * W; i++) p[i] = 255;
    assert_true(kbi_disc_angle(p + 20 * W + 20, W) == 0);
}

static void test_resize_keeps_a_ramp(void **state)
{
    (void)state;
    enum { W = 200 };
    uint8_t in[W], weight[W], pair[2 * W], mix[2 * W], out[W];
    int32_t index[W];
    for (int i = 0; i < W; i++) in[i] = (uint8_t)i;
    kbi_resize_map map = {index, weight, pair, mix, 8};
    int32_t n = (int32_t)(W / 1.2);
    kbi_resize_plan(map, 0, n, 1.2, W);
    kbi_resize_row(in, W, map, n, out);
    for (int32_t i = 0; i < n; i++) {
        assert_in_range(index[i], 0, W - 2);
        assert_true(fabs(out[i] - ((i + 0.5) * 1.2 - 0.5)) <= 0.51);
    }
    uint8_t other[W];
    for (int i = 0; i < W; i++) other[i] = (uint8_t)(255 - i);
    kbi_blend_rows(in, other, W, 32, out);
    for (int i = 0; i < W; i++) assert_true(fabs(out[i] - (0.75 * in[i] + 0.25 * other[i])) <= 0.51);
}

static int32_t blend(int32_t a, int32_t b, int32_t weight)
{
    return (a * (KBI_RESIZE_ONE - weight) + b * weight + KBI_RESIZE_ONE / 2) / KBI_RESIZE_ONE;
}

/* Each pixel by itself, from the level before. */
static void assert_resized(const kbi_level *from, const kbi_level *to, double step)
{
    for (int32_t y = 0; y < to->height; y++)
        for (int32_t x = 0; x < to->width; x++) {
            uint8_t across, down;
            const uint8_t *a = kbi_level_pixel(from, 0, kbi_resize_place(y, step, from->height, &down));
            const uint8_t *b = a + (down ? from->stride : 0);
            int32_t i = kbi_resize_place(x, step, from->width, &across), k = i + (across > 0);
            assert_int_equal(*kbi_level_pixel(to, x, y),
                             blend(blend(a[i], b[i], down), blend(a[k], b[k], down), across));
        }
}

/* Maps are planned once for all levels, but for their ends. */
static void test_levels_of_every_size(void **state)
{
    (void)state;
    enum { MOST = 180 };
    static uint8_t pixels[MOST * MOST];
    uint64_t seed = 5;
    kb_workspace *workspace = NULL;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)kbi_random_below(&seed, 256);
    for (int round = 0; round < 60; round++) {
        int32_t width = 12 + (int32_t)kbi_random_below(&seed, MOST - 11);
        int32_t height = 12 + (int32_t)kbi_random_below(&seed, MOST - 11);
        kb_image image = {pixels, width, height, MOST, KB_FORMAT_GRAY8, 0};
        kbi_levels levels = {.threads = 1, .kernels = kbi_detect_kernels_get()};
        kbi_levels_plan(&levels, &image, KB_PYRAMID_MAX_LEVELS, 1.05 + 0.19 * (round % 6), 5);
        size_t mark = kbi_workspace_mark(workspace);
        assert_true(levels.count > 1 && kbi_levels_get(&levels, workspace));
        for (int32_t i = 1; i < levels.count; i++) {
            kbi_levels_build(&levels, i);
            assert_resized(&levels.level[i - 1], &levels.level[i], levels.step);
        }
        kbi_workspace_rewind(workspace, mark);
    }
    kb_workspace_free(workspace);
}

/* What a blur lets through of the frequency w, per pixel. */
static double response_of(const kbi_blur *blur, double w)
{
    double sum = 0;
    for (int32_t k = 0; k < blur->taps; k++) sum += blur->weight[k] / 32768.0 * cos(w * k * blur->step);
    return sum;
}

/* Blurs of images that are blurred already have few taps, and are as good as a Gaussian. */
static void test_blurs_with_few_taps(void **state)
{
    (void)state;
    int32_t taps = 0;
    for (int layer = 1; layer <= 5; layer++) {
        double before = 1.6 * pow(2, (layer - 1) / 3.0), after = 1.6 * pow(2, layer / 3.0);
        double sigma = sqrt(after * after - before * before);
        kbi_blur blur;
        kbi_blur_plan(&blur, sigma, before);
        assert_int_equal(blur.reach, (blur.taps - 1) * blur.step);
        taps += blur.taps;
        for (double w = 0; w < M_PI; w += 0.01) {
            double left = exp(-0.5 * w * w * before * before); /* of the frequency */
            assert_true(left * fabs(response_of(&blur, w) - exp(-0.5 * w * w * sigma * sigma)) < 0.0015);
        }
    }
    assert_in_range(taps, 15, 18);
}

static void test_blur_is_gaussian(void **state)
{
    (void)state;
    const kbi_detect_kernels *kernels = &kbi_detect_kernels_c;
    enum { W = 64, H = 61 };
    static uint16_t in[H * W], out[H * W], row[W + 2 * KBI_BLUR_MAX_TAPS];
    for (double sigma = 0.7; sigma < 4; sigma += 0.6) {
        kbi_blur blur;
        kbi_blur_plan(&blur, sigma, 0.5);
        int32_t sum = 0;
        for (int32_t k = 0; k < blur.taps; k++) sum += blur.weight[k];
        assert_int_equal(sum, 32768);
        /* a flat image stays; a point becomes a bell of the right width */
        for (int i = 0; i < H * W; i++) in[i] = 255 * KBI_SIFT_ONE;
        kbi_blur_image(kernels, in, out, W, H, W, &blur, row);
        for (int i = 0; i < H * W; i++) assert_in_range(out[i], 255 * KBI_SIFT_ONE - 16, 255 * KBI_SIFT_ONE + 16);
        for (int i = 0; i < H * W; i++) in[i] = i == 30 * W + 32 ? 32640 : 0;
        kbi_blur_image(kernels, in, out, W, H, W, &blur, row);
        double mass = 0, spread = 0;
        for (int x = -15; x <= 15; x++) {
            double v = out[30 * W + 32 + x] - out[0]; /* without what makes up for the shifts */
            mass += v;
            spread += v * x * x;
        }
        assert_true(fabs(sqrt(spread / mass) / sigma - 1) < 0.03);
    }
}

/* The layers of (x, y) +-reach of octave `number`: those of a window that is there, or far from there, whose rows they
 * are not. */
static void copy_layers(kbi_scale_space *space, kbi_scale_window *w, int32_t number, int32_t middle, int32_t y, int32_t x,
                        int32_t reach, bool expect_patch, uint16_t *out)
{
    const kbi_octave *whole = &space->octave[number];
    kbi_scale_window_start(w, space, number, KBI_SIFT_BORDER, 0, whole->height);
    for (int32_t m = KBI_SIFT_BORDER; m <= middle; m++) kbi_scale_window_move(w, m);
    const kbi_octave *o = kbi_scale_window_around(w, y, x, reach);
    assert_int_equal(o != &w->here, expect_patch);
    for (int32_t layer = 0; layer < space->layers + 3; layer++)
        for (int32_t r = kbi_max_i(y - reach, 0); r <= kbi_min_i(y + reach, whole->height - 1); r++)
            for (int32_t c = kbi_max_i(x - reach, 0); c <= kbi_min_i(x + reach, whole->width - 1); c++)
                *out++ = kbi_octave_row(o, layer, r)[c];
}

/* Pixels outside of the window are what they are when it comes there, in the middle and at every border. */
static void test_scale_space_patches_are_exact(void **state)
{
    (void)state;
    enum { W = 150, H = 170, REACH = 12, ROOM = 11 * (2 * REACH + 1) * (2 * REACH + 1) };
    static uint16_t expected[ROOM], window_pixels[ROOM];
    uint8_t *pixels = render_texture(W, H, 5);
    for (int c = 0; c < 4; c++) {
        kbi_detect_job job = {.image = {pixels, W, H, W, KB_FORMAT_GRAY8, 0}};
        kbi_scale_space space;
        kbi_scale_window window;
        assert_int_equal(kbi_detect_options_read(&job.options, NULL, NULL), KB_OK);
        job.options.no_upsampling = c & 1;
        if (c & 2) job.options.layers = 5;
        kbi_scale_space_plan(&space, &job, kbi_detect_kernels_get());
        assert_int_equal(kb_workspace_create(NULL, &job.workspace), KB_OK);
        assert_true(kbi_scale_space_get(&space, job.workspace));
        assert_true(kbi_scale_window_get(&window, &space, job.workspace));
        for (int32_t number = 0; number < 2; number++) {
            int32_t height = space.octave[number].height, width = space.octave[number].width;
            int32_t last = height - KBI_SIFT_BORDER - 1, places[][2] = {{last, 5}, {last, width - 6}, {last - 30, width / 2}};
            for (size_t i = 0; i < KBI_COUNT(places); i++) {
                int32_t y = places[i][0], x = places[i][1];
                copy_layers(&space, &window, number, y, y, x, REACH, false, expected);
                copy_layers(&space, &window, number, KBI_SIFT_BORDER, y, x, REACH, true, window_pixels);
                assert_memory_equal(expected, window_pixels, sizeof expected);
                copy_layers(&space, &window, number, last, height - 1 - y, x, REACH, height - 1 - y < height / 2, window_pixels);
                copy_layers(&space, &window, number, height - 1 - y, height - 1 - y, x, REACH, false, expected);
                assert_memory_equal(expected, window_pixels, sizeof expected);
            }
        }
        kb_workspace_free(job.workspace);
    }
    free(pixels);
}

/* The direction of a ramp, clockwise on screen. */
static void test_directions_of_a_ramp(void **state)
{
    (void)state;
    enum { W = 80 };
    static uint16_t layer[W * W];
    const kbi_detect_kernels *kernels = &kbi_detect_kernels_c;
    kbi_octave o = {.width = W, .height = W, .stride = W, .layer = {layer}, .pixel = 1};
    for (int degrees = 0; degrees < 360; degrees += 3) {
        double s = sin(degrees * M_PI / 180), c = cos(degrees * M_PI / 180);
        float angle[KBI_SIFT_MAX_ANGLES];
        for (int i = 0; i < W * W; i++) layer[i] = (uint16_t)(16000 + 100 * ((i % W - 40) * c + (i / W - 40) * s));
        assert_int_equal(kbi_directions(kernels, &o, 0, 40, 40, 2.5, angle), 1);
        assert_true(angle[0] >= 0 && angle[0] < 360);
        assert_true(angle_between(angle[0], degrees) < 5.1); /* one bin takes all; half its width */
    }
    memset(layer, 0, sizeof layer);
    float none[KBI_SIFT_MAX_ANGLES];
    assert_int_equal(kbi_directions(kernels, &o, 0, 40, 40, 2.5, none), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_row_is_its_definition),
        cmocka_unit_test(test_peaks_are_alone),
        cmocka_unit_test(test_harris_is_its_definition),
        cmocka_unit_test(test_disc_angle_points_to_the_light),
        cmocka_unit_test(test_resize_keeps_a_ramp),
        cmocka_unit_test(test_levels_of_every_size),
        cmocka_unit_test(test_blur_is_gaussian),
        cmocka_unit_test(test_blurs_with_few_taps),
        cmocka_unit_test(test_scale_space_patches_are_exact),
        cmocka_unit_test(test_directions_of_a_ramp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
