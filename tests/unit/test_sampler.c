/* The patch sampler: right pixels, no aliasing, borders, and the shrinking of ready patches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image/image.h"
#include "render.h"

#define PATCH 1024

static void sample(const kb_image *image, kb_keypoint k, float width_scale, uint8_t patch[PATCH])
{
    kb_describe_options options;
    KB_INIT(options);
    options.scale = width_scale;
    assert_int_equal(kb_sample_patches(image, &k, 1, &options, NULL, patch, NULL), KB_OK);
}

/* Cells of a region, as KB_SAMPLER_CELLS samples them. */
static void sample_cells(const kb_image *image, kb_keypoint k, uint8_t cells[KBI_CELLS])
{
    kb_workspace *workspace = NULL;
    kbi_pyramid levels;
    kbi_sampling sampling;
    assert_int_equal(kb_workspace_create(&workspace), KB_OK);
    kbi_pyramid_plan(&levels, image);
    kbi_sampling_plan(&sampling, &k, (double)k.size, KBI_CELLS_SIDE, &levels);
    assert_int_equal(kbi_pyramid_build(&levels, image, (uint32_t)1 << sampling.level, workspace), KB_OK);
    kbi_sample_patch(&sampling, KBI_CELLS_SIDE, &levels, cells);
    kb_workspace_free(workspace);
}

static void a_region_of_32_pixels_is_copied(void **state)
{
    (void)state;
    uint8_t *pixels = render_texture(100, 90, 1), patch[PATCH];
    kb_image image = view_of(pixels, 100, 90);
    sample(&image, (kb_keypoint){.x = 50, .y = 40, .size = 32, .angle = -1}, 1, patch);
    for (int y = 0; y < 32; y++) assert_memory_equal(patch + 32 * y, pixels + (40 - 16 + y) * 100 + 50 - 16, 32);

    /* A quarter turn clockwise: the patch's x axis points down in the image. */
    uint8_t turned[PATCH];
    sample(&image, (kb_keypoint){.x = 50, .y = 40, .size = 32, .angle = 90}, 1, turned);
    for (int y = -16; y < 16; y++)
        for (int x = -16; x < 16; x++)
            assert_int_equal(turned[(y + 16) * 32 + x + 16], pixels[(40 + x) * 100 + 50 - y]);
    free(pixels);
}

/* A region of 32 px has cells of 2x2 px, and so has level 2 of the pyramid: where both grids agree, cells are its pixels,
 * which is what the cells of the patch are, too. */
static void cells_are_means_of_four_samples(void **state)
{
    (void)state;
    uint8_t *pixels = render_texture(100, 90, 2), patch[PATCH], cells[KBI_CELLS], of_patch[KBI_CELLS];
    kb_image image = view_of(pixels, 100, 90);
    for (int turn = 0; turn < 4; turn++) { /* sample (16, 16) is the keypoint: the grid of pixels has its corner there */
        static const float x[4] = {50, 51, 51, 50}, y[4] = {40, 40, 41, 41};
        kb_keypoint k = {.x = x[turn], .y = y[turn], .size = 32, .angle = 90.0f * (float)turn};
        sample(&image, k, 1, patch);
        sample_cells(&image, k, cells);
        kbi_patch_cells(patch, of_patch);
        assert_memory_equal(cells, of_patch, KBI_CELLS);
        assert_int_equal(cells[0], (patch[0] + patch[1] + patch[32] + patch[33] + 2) / 4);
    }
    free(pixels);
}

static void a_ramp_is_sampled_exactly(void **state)
{
    (void)state;
    /* gray = 10 + x + 2 y / 3 is followed by interpolation up to rounding, at any place, size, angle and level. */
    enum { W = 120, H = 100 };
    uint8_t pixels[W * H], patch[PATCH], cells[KBI_CELLS];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) pixels[y * W + x] = (uint8_t)floor(10 + x + 2 * y / 3.0 + 0.5);
    kb_image image = view_of(pixels, W, H);
    for (int i = 0; i < 200; i++) {
        kb_keypoint k = {.x = 59.3f + 0.037f * (float)i,
                         .y = 51.8f - 0.021f * (float)i,
                         .size = 4 + 0.25f * (float)i,
                         .angle = 1.8f * (float)i};
        sample(&image, k, 1, patch);
        sample_cells(&image, k, cells);
        double t = (double)k.angle * 3.14159265358979 / 180, s = (double)k.size / 32;
        for (int n = 0; n < PATCH + KBI_CELLS; n++) {
            /* samples, and cells in the middle between 2x2 of them */
            int cell = n - PATCH;
            double c = n < PATCH ? n % 32 : 2 * (cell % 16) + 0.5, r = n < PATCH ? n / 32 : 2 * (cell / 16) + 0.5;
            double u = s * (c - 16), v = s * (r - 16), x = (double)k.x + cos(t) * u - sin(t) * v,
                   y = (double)k.y + sin(t) * u + cos(t) * v;
            if (x < 6 || y < 6 || x > W - 7 || y > H - 7) continue;
            assert_true(fabs((n < PATCH ? patch[n] : cells[cell]) - (10 + x + 2 * y / 3)) < 1.6);
        }
    }
}

static void nothing_aliases(void **state)
{
    (void)state;
    /* A one-pixel checkerboard is gray to a sampler that takes every area into account, from 1.5 px per sample on. */
    enum { S = 400 };
    uint8_t *pixels = malloc(S * S), patch[PATCH];
    for (int i = 0; i < S * S; i++) pixels[i] = ((i / S) ^ i) & 1 ? 255 : 0;
    kb_image image = view_of(pixels, S, S);
    for (float size = 56; size < 380; size *= 1.07f) {
        sample(&image, (kb_keypoint){.x = 200.3f, .y = 199.6f, .size = size, .angle = 27}, 1, patch);
        for (int i = 0; i < PATCH; i++) assert_in_range(patch[i], 128 - 30, 128 + 30);
        if (size < 120) continue;
        for (int i = 0; i < PATCH; i++) assert_in_range(patch[i], 127 - 1, 128 + 1);
    }
    free(pixels);
}

static void the_border_is_repeated(void **state)
{
    (void)state;
    enum { W = 60, H = 50, PAD = 60 };
    uint8_t *pixels = render_texture(W, H, 3), *wide = malloc((W + 2 * PAD) * (H + 2 * PAD)), a[PATCH], b[PATCH];
    for (int y = 0; y < H + 2 * PAD; y++)
        for (int x = 0; x < W + 2 * PAD; x++)
            wide[y * (W + 2 * PAD) + x] = pixels[kbi_clamp_i(y - PAD, 0, H - 1) * W + kbi_clamp_i(x - PAD, 0, W - 1)];
    kb_image image = view_of(pixels, W, H), padded = view_of(wide, W + 2 * PAD, H + 2 * PAD);
    static const float places[][2] = {{0, 0}, {59, 49}, {-0.5f, 20}, {30, 49.25f}, {0.75f, 48.5f}};
    for (size_t i = 0; i < KBI_COUNT(places); i++)
        for (float angle = 0; angle < 360; angle += 33) {
            kb_keypoint k = {.x = places[i][0], .y = places[i][1], .size = 36, .angle = angle}, far_in = k;
            far_in.x += PAD;
            far_in.y += PAD;
            sample(&image, k, 1, a);
            sample(&padded, far_in, 1, b);
            assert_memory_equal(a, b, PATCH);
            k.size = far_in.size = 18; /* in the image itself, as the patches */
            sample_cells(&image, k, a);
            sample_cells(&padded, far_in, b);
            assert_memory_equal(a, b, KBI_CELLS);
        }
    free(pixels);
    free(wide);
}

static void levels_follow_the_step(void **state)
{
    (void)state;
    assert_int_equal(kbi_pyramid_level_for(0.01, KBI_PYRAMID_LEVELS), 0);
    for (int32_t level = 0; level < KBI_PYRAMID_LEVELS - 1; level++) {
        double here = kbi_pyramid_factor(level), next = kbi_pyramid_factor(level + 1), middle = sqrt(here * next);
        assert_int_equal(kbi_pyramid_level_for(here, KBI_PYRAMID_LEVELS), level);
        assert_int_equal(kbi_pyramid_level_for(middle * 0.999999, KBI_PYRAMID_LEVELS), level);
        assert_int_equal(kbi_pyramid_level_for(middle * 1.000001, KBI_PYRAMID_LEVELS), level + 1);
    }
    assert_int_equal(kbi_pyramid_level_for(1e12, KBI_PYRAMID_LEVELS), KBI_PYRAMID_LEVELS - 1);
}

static void levels_are_area_means(void **state)
{
    (void)state;
    enum { W = 37, H = 29 };
    uint8_t *pixels = render_texture(W, H, 4);
    kb_image image = view_of(pixels, W, H);
    kb_workspace *workspace = NULL;
    kbi_pyramid levels;
    assert_int_equal(kb_workspace_create(&workspace), KB_OK);
    kbi_pyramid_plan(&levels, &image);
    assert_int_equal(kbi_pyramid_build(&levels, &image, 0xffffffffu, workspace), KB_OK);
    for (int32_t l = 1; l < 4; l++) {
        double f = kbi_pyramid_factor(l);
        for (int32_t y = 0; y < levels.height[l]; y++)
            for (int32_t x = 0; x < levels.width[l]; x++) {
                double sum = 0; /* over squares of 1/2 px, which all edges lie on */
                int n = (int)(2 * f);
                for (int v = 0; v < n; v++)
                    for (int u = 0; u < n; u++) {
                        int32_t px = kbi_min_i(((int32_t)(2 * f) * x + u) / 2, W - 1),
                                py = kbi_min_i(((int32_t)(2 * f) * y + v) / 2, H - 1);
                        sum += pixels[py * W + px];
                    }
                double tolerance = l == 3 ? 1.01 : 0.51; /* level 3 is rounded twice */
                if ((x + 1) * f <= W && (y + 1) * f <= H)
                    assert_true(fabs(levels.data[l][y * levels.stride[l] + x] - sum / (n * n)) < tolerance);
            }
    }
    assert_int_equal(levels.width[31], 1);
    kb_workspace_free(workspace);
    free(pixels);
}

static void patches_shrink_by_area(void **state)
{
    (void)state;
    static const int32_t sides[] = {32, 33, 48, 64, 65, 100, 1024};
    for (size_t i = 0; i < KBI_COUNT(sides); i++) {
        int32_t side = sides[i];
        uint8_t *in = render_texture(side, side, 5 + i), out[PATCH];
        kbi_patch_shrink(in, side, out);
        if (side == 32) assert_memory_equal(in, out, PATCH);
        for (int32_t y = 0; y < 32; y += 7)
            for (int32_t x = 0; x < 32; x += 5) {
                double sum = 0, f = side / 32.0;
                for (int32_t py = 0; py < side; py++)
                    for (int32_t px = 0; px < side; px++) {
                        double wx = fmin(px + 1, (x + 1) * f) - fmax(px, x * f),
                               wy = fmin(py + 1, (y + 1) * f) - fmax(py, y * f);
                        if (wx > 0 && wy > 0) sum += wx * wy * in[py * side + px];
                    }
                assert_true(fabs(out[y * 32 + x] - sum / (f * f)) < 0.501);
            }
        free(in);
    }
}

static void arguments_are_checked(void **state)
{
    (void)state;
    uint8_t pixels[16] = {0}, patch[PATCH];
    kb_image image = view_of(pixels, 4, 4);
    kb_keypoint k = {.x = 1, .y = 1, .size = 4};
    assert_int_equal(kb_sample_patches(NULL, &k, 1, NULL, NULL, patch, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_sample_patches(&image, NULL, 1, NULL, NULL, patch, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_sample_patches(&image, &k, 1, NULL, NULL, NULL, NULL), KB_E_ARGUMENT);
    kb_describe_options options;
    static const float scales[] = {-1, 101, NAN, INFINITY};
    for (size_t i = 0; i < KBI_COUNT(scales); i++) {
        KB_INIT(options);
        options.scale = scales[i];
        assert_int_equal(kb_sample_patches(&image, &k, 1, &options, NULL, patch, NULL), KB_E_ARGUMENT);
    }
    KB_INIT(options);
    options.row_stride = PATCH - 1;
    assert_int_equal(kb_sample_patches(&image, &k, 1, &options, NULL, patch, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_sample_patches(&image, NULL, 0, NULL, NULL, NULL, NULL), KB_OK);
    image.stride = 3;
    assert_int_equal(kb_sample_patches(&image, &k, 1, NULL, NULL, patch, NULL), KB_E_IMAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_of_32_pixels_is_copied),
        cmocka_unit_test(cells_are_means_of_four_samples), cmocka_unit_test(a_ramp_is_sampled_exactly),
        cmocka_unit_test(nothing_aliases),                 cmocka_unit_test(the_border_is_repeated),
        cmocka_unit_test(levels_follow_the_step),          cmocka_unit_test(levels_are_area_means),
        cmocka_unit_test(patches_shrink_by_area),          cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
