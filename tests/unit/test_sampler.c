/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler: right pixels, no aliasing, borders, octaves, and the shrinking of ready patches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "image/image.h"
#include "render.h"
#include "../arrays.h"

#define PATCH 1024

static void sample(const kb_image *image, kb_keypoint k, float width_scale, uint8_t patch[PATCH])
{
    kb_describe_options options;
    KB_INIT(options);
    options.scale = width_scale;
    assert_int_equal(sample_patches(image, &k, 1, &options, NULL, patch, NULL), KB_OK);
}

/* Cells of a region, as KB_SAMPLER_CELLS samples them. */
static void sample_cells(const kb_image *image, kb_keypoint k, uint8_t cells[KBI_CELLS])
{
    kb_workspace *workspace = NULL;
    kbi_pyramid levels;
    kbi_sampling sampling;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    kbi_pyramid_plan(&levels, image);
    kbi_sampling_plan(&sampling, &k, (double)k.size, KBI_GRID_CELLS, &levels);
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
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
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

/* The same in integers: every pixel stands for 32x32 units, every sample is the rounded mean of side x side. */
static void patches_shrink_exactly(void **state)
{
    (void)state;
    for (int32_t side = 32; side <= 72; side += side < 40 ? 1 : 7) {
        uint8_t *in = render_texture(side, side, (uint64_t)side), out[PATCH];
        uint32_t area = (uint32_t)(side * side);
        kbi_patch_shrink(in, side, out);
        for (int32_t n = 0; n < PATCH; n++) {
            uint32_t sum = 0;
            for (int32_t i = 0; i < side * side; i++)
                sum += in[(n / 32 * side + i / side) / 32 * side + (n % 32 * side + i % side) / 32];
            assert_int_equal(out[n], (sum + area / 2) / area);
        }
        free(in);
    }
}

/* Octave k is what cells of a region 1/2^k as wide are; of its flags, SMALL is about octave 2, BORDER about all. */
static void octaves_are_cells_of_narrower_regions(void **state)
{
    (void)state;
    enum { W = 300, H = 220, N = 120 };
    uint8_t *pixels = render_texture(W, H, 21), *octaves = malloc(N * PATCH), flags[N], grid[KBI_OCTAVE_BYTES];
    kb_image image = view_of(pixels, W, H);
    kb_keypoint k[N];
    kb_workspace *workspace = NULL;
    kbi_pyramid levels;
    int seen[16] = {0};
    render_keypoints(k, N, W, H, 2, 150, 22);
    for (int i = 0; i < N; i += 6) k[i].size *= 0.1f;
    for (int i = 0; i < N; i += 7) k[i].size *= 20;
    for (int i = 0; i < N; i += 9) k[i].x = i % 2 ? -0.5f : W - 0.7f;
    k[3].x = -2, k[4].y = H + 1, k[5].size = NAN, k[8].angle = INFINITY, k[10].size = 2e6f;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    kbi_pyramid_plan(&levels, &image);
    assert_int_equal(kbi_pyramid_build(&levels, &image, UINT32_MAX, workspace), KB_OK);
    assert_int_equal(sample_octaves(&image, k, N, NULL, NULL, octaves, flags), KB_OK);
    for (int i = 0; i < N; i++) {
        int expected = 0;
        for (int octave = 0; octave < KB_OCTAVES; octave++) {
            const uint8_t *found = octaves + i * PATCH + octave * KBI_OCTAVE_BYTES;
            kbi_sampling s;
            uint8_t one = kbi_sampling_plan(&s, &k[i], (double)k[i].size / (1 << octave), KBI_GRID_OCTAVES, &levels);
            if (octave != 2) one &= (uint8_t)~KB_KP_SMALL;
            if (octave == 0 || s.level < 0) expected |= one;
            expected |= one & (KB_KP_BORDER | KB_KP_SMALL);
            if (flags[i] & (KB_KP_OUTSIDE | KB_KP_INVALID)) memset(grid, 0, sizeof grid);
            else kbi_sample_patch(&s, KBI_CELLS_SIDE, &levels, grid);
            assert_memory_equal(found, grid, sizeof grid);
        }
        if (flags[i] & KB_KP_INVALID) expected = KB_KP_INVALID; /* a narrower octave may be less than too wide */
        assert_int_equal(flags[i], expected);
        seen[flags[i]]++;
    }
    assert_true(seen[0] && seen[KB_KP_BORDER] && seen[KB_KP_SMALL] && seen[KB_KP_BORDER | KB_KP_SMALL]);
    assert_int_equal(seen[KB_KP_OUTSIDE], 2);
    assert_int_equal(seen[KB_KP_INVALID], 3);
    kb_workspace_free(workspace);
    free(pixels), free(octaves);
}

/* Samples of octaves 1 to 3 are 4, 2 and 1 pixels wide; octave 0 is octave 1. */
static void octaves_of_a_patch_of_64(void **state)
{
    (void)state;
    enum { SIDE = 64 };
    uint8_t *in = render_texture(SIDE, SIDE, 23), octaves[PATCH];
    kbi_patch_octaves(in, SIDE, octaves);
    for (int n = 0; n < KBI_OCTAVE_BYTES; n++) {
        int x = n % 16, y = n / 16, sums[3] = {0};
        for (int i = 0; i < 16; i++) sums[1] += in[(4 * y + i / 4) * SIDE + 4 * x + i % 4];
        for (int i = 0; i < 4; i++) sums[2] += in[(16 + 2 * y + i / 2) * SIDE + 16 + 2 * x + i % 2];
        assert_int_equal(octaves[n], octaves[256 + n]);
        assert_int_equal(octaves[256 + n], (sums[1] + 8) / 16);
        assert_int_equal(octaves[512 + n], (sums[2] + 2) / 4);
        assert_int_equal(octaves[768 + n], in[(24 + y) * SIDE + 24 + x]);
    }
    free(in);
}

/* Every side: in units of 1/(8 2^k) of a pixel a sample of octave k is `side` wide. */
static void octaves_of_a_patch_are_area_means(void **state)
{
    (void)state;
    static const int32_t sides[] = {32, 33, 47, 64, 101, 128};
    for (size_t s = 0; s < KBI_COUNT(sides); s++) {
        int32_t side = sides[s];
        uint8_t *in = render_texture(side, side, 24 + s), octaves[PATCH];
        uint32_t area = (uint32_t)(side * side);
        kbi_patch_octaves(in, side, octaves);
        for (int32_t n = 0; n < PATCH; n++) {
            int32_t k = kbi_max_i(n / 256, 1), x = n % 16, y = n % 256 / 16, start = side * ((4 << k) - 8);
            uint32_t sum = 0;
            for (int32_t i = 0; i < side * side; i++) {
                int32_t px = (start + x * side + i % side) >> (3 + k), py = (start + y * side + i / side) >> (3 + k);
                sum += in[py * side + px];
            }
            assert_int_equal(octaves[n], (sum + area / 2) / area);
        }
        free(in);
    }
    uint8_t *white = malloc(1024 * 1024), octaves[PATCH]; /* the largest sums there are */
    memset(white, 255, 1024 * 1024);
    kbi_patch_octaves(white, 1024, octaves);
    for (int n = 0; n < PATCH; n++) assert_int_equal(octaves[n], 255);
    free(white);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    uint8_t pixels[16] = {0}, patch[PATCH];
    kb_image image = view_of(pixels, 4, 4);
    kb_keypoint k = {.x = 1, .y = 1, .size = 4};
    assert_int_equal(sample_patches(NULL, &k, 1, NULL, NULL, patch, NULL), KB_E_ARGUMENT);
    assert_int_equal(sample_patches(&image, NULL, 1, NULL, NULL, patch, NULL), KB_E_ARGUMENT);
    assert_int_equal(sample_patches(&image, &k, 1, NULL, NULL, NULL, NULL), KB_E_ARGUMENT);
    kb_describe_options options;
    static const float scales[] = {-1, 101, NAN, INFINITY};
    for (size_t i = 0; i < KBI_COUNT(scales); i++) {
        KB_INIT(options);
        options.scale = scales[i];
        assert_int_equal(sample_patches(&image, &k, 1, &options, NULL, patch, NULL), KB_E_ARGUMENT);
    }
    assert_int_equal(sample_patches(&image, NULL, 0, NULL, NULL, NULL, NULL), KB_OK);
    assert_int_equal(sample_octaves(NULL, &k, 1, NULL, NULL, patch, NULL), KB_E_ARGUMENT);
    assert_int_equal(sample_octaves(&image, NULL, 1, NULL, NULL, patch, NULL), KB_E_ARGUMENT);
    assert_int_equal(sample_octaves(&image, &k, 1, NULL, NULL, NULL, NULL), KB_E_ARGUMENT);
    kb_features f = arrays_features(&k, NULL, 1, 0);
    assert_int_equal(kb_sample(&image, KB_SAMPLER_CELLS, NULL, NULL, &f, patch, NULL), KB_E_KIND);
    assert_int_equal(sample_octaves(&image, NULL, 0, NULL, NULL, NULL, NULL), KB_OK);
    image.stride = 3;
    assert_int_equal(sample_patches(&image, &k, 1, NULL, NULL, patch, NULL), KB_E_IMAGE);
    assert_int_equal(sample_octaves(&image, &k, 1, NULL, NULL, patch, NULL), KB_E_IMAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_of_32_pixels_is_copied),
        cmocka_unit_test(cells_are_means_of_four_samples), cmocka_unit_test(a_ramp_is_sampled_exactly),
        cmocka_unit_test(nothing_aliases),                 cmocka_unit_test(the_border_is_repeated),
        cmocka_unit_test(levels_follow_the_step),          cmocka_unit_test(levels_are_area_means),
        cmocka_unit_test(patches_shrink_by_area),          cmocka_unit_test(patches_shrink_exactly),
        cmocka_unit_test(octaves_are_cells_of_narrower_regions),
        cmocka_unit_test(octaves_of_a_patch_of_64),        cmocka_unit_test(octaves_of_a_patch_are_area_means),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
