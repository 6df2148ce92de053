/* SPDX-License-Identifier: Apache-2.0 */
/* Nanoseconds of every kernel, and of the steps that use them, in every tier of this CPU, per keypoint, pixel or pair of
 * rows, as said. Processor time, the best of many short runs, so that other programs on the machine matter little.
 *
 *     build/bench/kernels [SLOT]        only slots whose name begins so
 *     build/bench/kernels --instructions [SLOT]
 *
 * The second one is for a processor that qemu emulates (scripts/bench-instructions): every slot runs once, between marks
 * for the plugin bench/qemu/count_instructions.c, which writes the numbers. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "describe/describe.h"
#include "simd/kernels.h"
#include "../tests/arrays.h"

enum { N = 2048, WIDTH = 800, HEIGHT = 640, ROWS = 1024, CHILDREN = 10, LOOP = 1000000, REPEATS = 40 };

static uint8_t pixels[WIDTH * HEIGHT], patches[KBI_BATCH * KBI_PATCH_BYTES], cells[KBI_BATCH * KBI_CELLS],
    octaves[KB_OCTAVES * KBI_BATCH * KBI_OCTAVE_BYTES], rows[N * KB_MAX_BITS / 8], values[N * KB_SIFT_VALUES];
static uint8_t bytes[WIDTH * HEIGHT], flags[N];
static uint16_t deep[WIDTH * 32], x16[WIDTH];
static int16_t signed_rows[3][WIDTH];
static uint16_t blurred[WIDTH * 18 + KBI_HESSIAN_MARGIN]; /* as hessian.c blurs */
static int32_t determinants[16][WIDTH + KBI_HESSIAN_MARGIN], determinant_limit;
static int32_t x32[WIDTH];
static kb_keypoint keypoints[N];
static uint32_t in_order[N];
static kbi_sampling samplings[N], cell_samplings[N], all_octaves[N * KB_OCTAVES], octave_samplings[N * KB_OCTAVES],
    upright_samplings[N * KB_OCTAVES];
static uint32_t histograms[KBI_BATCH * KB_SIFT_VALUES], keys[3][ROWS];
static _Alignas(KBI_ALIGN) uint8_t scratch[KBI_KERNEL_SCRATCH];
static kbi_pyramid levels;
static kb_model *bad, *bad_cells, *bag, *hash, *builtin[3];
static kb_workspace *workspace;
static float points[2][ROWS + KBI_LIST_SLACK], columns[KBI_FILTER_COLUMNS][ROWS + KBI_FILTER_BLOCK];
static int32_t point_levels[ROWS + KBI_LIST_SLACK], support[ROWS + KBI_FILTER_BLOCK], listed[ROWS + KBI_NEAR_SLACK];
static kb_keypoint found_keypoints[N];
static kb_match matches[ROWS];
static uint8_t words[8 * (ROWS + 1)];
static kbi_resize_map map;
static kbi_blur blur;
static uint64_t state = 1;

/* ---- data ---- */

static uint8_t place(kb_sampler sampler, uint32_t radius)
{
    uint32_t across = sampler == KB_SAMPLER_OCTAVES ? KBI_OCTAVE_CELLS_SIDE : KBI_CELLS_SIDE;
    if (kbi_on_cells(kbi_sampler_grid(sampler))) return (uint8_t)(radius + 2 * kbi_random_below(&state, across + 1 - radius));
    return (uint8_t)(radius + kbi_random_below(&state, KB_PATCH_SIDE - 2 * radius));
}

static kb_model *box_model(kb_kind kind, kb_sampler sampler)
{
    kb_box_pair pairs[256];
    for (int i = 0; i < 256; i++) {
        uint32_t r = 1 + kbi_random_below(&state, (uint32_t)kbi_max_radius(kbi_sampler_grid(sampler)));
        uint32_t first = kind == KB_KIND_BAG ? 1 + kbi_random_below(&state, 8) : 0;
        uint32_t second = kind == KB_KIND_BAG ? 1 + kbi_random_below(&state, 8) : 0;
        pairs[i] = (kb_box_pair){(uint8_t)first,  place(sampler, r), place(sampler, r), (uint8_t)r,
                                 (uint8_t)second, place(sampler, r), place(sampler, r), (uint8_t)r, 1};
    }
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = kind, .sampler = sampler, .bits = 256, .name = "boxes",
                          .boxes = pairs};
    kb_model *model = NULL;
    kb_model_create(&spec, NULL, &model, NULL);
    return model;
}

static kb_model *hash_model(void)
{
    static int8_t weights[256 * KB_SIFT_VALUES];
    static int32_t bias[256];
    for (size_t i = 0; i < sizeof weights; i++) weights[i] = (int8_t)((int)kbi_random_below(&state, 128) - 64);
    kb_model_spec spec = {
        .struct_size = sizeof spec, .kind = KB_KIND_HASHSIFT, .bits = 256, .name = "hash", .weights = weights,
        .bias = bias};
    kb_model *model = NULL;
    kb_model_create(&spec, NULL, &model, NULL);
    return model;
}

/* Points of which some lie in a circle; matches of which few agree. */
static void prepare_matching(void)
{
    for (size_t i = 0; i < sizeof words; i++) words[i] = (uint8_t)kbi_random_below(&state, 256);
    for (int i = 0; i < ROWS; i++) {
        listed[i] = (int32_t)kbi_random_below(&state, ROWS);
        for (int k = 0; k < 2; k++) points[k][i] = (float)kbi_random_below(&state, 100);
        point_levels[i] = (int32_t)kbi_random_below(&state, 8);
        for (int k = 0; k < KBI_FILTER_COLUMNS; k++) columns[k][i] = (float)kbi_random_below(&state, 1000) / 4;
    }
}

/* The regions that are sampled, whichever slots run. Octave 2 is as wide as the others. */
static void prepare_regions(void)
{
    const kbi_kernels k = kbi_kernels_for(kbi_cpu_flags());
    k.image->plan(keypoints, in_order, N, 1, KBI_GRID_PATCH, &levels, samplings, flags);
    k.image->plan(keypoints, in_order, N, 1, KBI_GRID_CELLS, &levels, cell_samplings, flags);
    k.image->plan(keypoints, in_order, N, 4, KBI_GRID_OCTAVES, &levels, octave_samplings, flags);
    for (int i = 0; i < N; i++) keypoints[i].angle = -keypoints[i].angle - 1; /* upright; and back */
    k.image->plan(keypoints, in_order, N, 4, KBI_GRID_OCTAVES, &levels, upright_samplings, flags);
    for (int i = 0; i < N; i++) keypoints[i].angle = -keypoints[i].angle - 1;
}

static int compare_words(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Blurred rows and their determinants; the limit is what one in 32 of them reach, as on photographs. */
static void prepare_determinants(void)
{
    static uint16_t columns_only[2 * (WIDTH + KBI_ALIGN)];
    static int32_t sorted[WIDTH];
    for (int y = 0; y < 18; y += 2) {
        uint16_t *const out[2] = {blurred + y * WIDTH, blurred + (y + 1) * WIDTH};
        kbi_hessian_blur(pixels + (y + 4) * WIDTH + 4, WIDTH, WIDTH - 8, columns_only, out);
    }
    for (int y = 0; y < 16; y++) {
        const uint16_t *above = blurred + y * WIDTH + 1;
        kbi_hessian_row(above, above + WIDTH, above + 2 * WIDTH, WIDTH - 2, determinants[y]);
    }
    memcpy(sorted, determinants[8], sizeof sorted);
    qsort(sorted, WIDTH - 2, sizeof *sorted, compare_words);
    determinant_limit = sorted[WIDTH - 2 - WIDTH / 32];
    if (determinant_limit < 1) determinant_limit = 1;
}

/* Keypoints like ORB's, none near the edge, on a picture of blocks and noise. */
static bool prepare(void)
{
    static int32_t index[WIDTH];
    static uint8_t weight[WIDTH], pair[2 * WIDTH], mix[2 * WIDTH];
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i] = (uint8_t)(100 + 60 * ((i % WIDTH / 13 + i / WIDTH / 17) & 1) + kbi_random_below(&state, 12));
    for (int i = 0; i < N; i++) {
        in_order[i] = (uint32_t)i;
        float size = 31;
        for (uint32_t octave = kbi_random_below(&state, 8); octave > 0; octave--) size *= 1.2f;
        uint32_t edge = (uint32_t)size;
        keypoints[i] = (kb_keypoint){(float)(edge + kbi_random_below(&state, WIDTH - 2 * edge)),
                                     (float)(edge + kbi_random_below(&state, HEIGHT - 2 * edge)),
                                     size,
                                     (float)kbi_random_below(&state, 360),
                                     0,
                                     0,
                                     -1};
    }
    for (int i = 0; i < WIDTH * 32; i++) deep[i] = (uint16_t)kbi_random_below(&state, 32640);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < WIDTH; i++) signed_rows[k][i] = (int16_t)((int)kbi_random_below(&state, 200) - 100);
    kb_image image = {pixels, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0};
    map = (kbi_resize_map){index, weight, pair, mix, 0};
    kbi_blur_plan(&blur, 1.6, 0.5);
    const kbi_image_kernels *kernels = kbi_image_kernels_get();
    kb_status status = kbi_pyramid_get(&levels, &image, kernels->margin, workspace); /* as describing does */
    if (status != KB_OK) return false;
    kbi_pyramid_make(&levels, kernels, 0xffff, NULL);
    prepare_regions();
    prepare_determinants();
    prepare_matching();
    bad = box_model(KB_KIND_BAD, KB_SAMPLER_PATCH);
    bad_cells = box_model(KB_KIND_BAD, KB_SAMPLER_CELLS);
    bag = box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES);
    hash = hash_model();
    kb_model_builtin("bad256", NULL, &builtin[0]);
    kb_model_builtin("bag256", NULL, &builtin[1]);
    kb_model_builtin("hashsift256", NULL, &builtin[2]);
    return status == KB_OK && bad && bad_cells && bag && hash && builtin[0] && builtin[1] && builtin[2];
}

/* ---- what is timed: each does `count` of its unit ---- */

static void run_half(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->image->shrink_half(pixels + 2 * y * WIDTH, pixels + (2 * y + 1) * WIDTH, WIDTH / 2, bytes);
}
static void run_thirds(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->image->shrink_two_thirds(pixels + y * WIDTH, pixels + (y + 1) * WIDTH, WIDTH / 3, bytes);
}
static void run_plan(const kbi_kernels *k)
{
    k->image->plan(keypoints, in_order, N, 1, KBI_GRID_PATCH, &levels, samplings, flags);
}
static void run_plan_cells(const kbi_kernels *k)
{
    k->image->plan(keypoints, in_order, N, 1, KBI_GRID_CELLS, &levels, cell_samplings, flags);
}
static void run_plan_octaves(const kbi_kernels *k)
{
    k->image->plan(keypoints, in_order, N, 4, KBI_GRID_OCTAVES, &levels, all_octaves, flags);
}
static void run_warp(const kbi_kernels *k)
{
    const kbi_warp warp = {pixels, WIDTH, WIDTH, HEIGHT, WIDTH, {0.9, -0.2, 60, 0.15, 0.95, 20, 1e-4, 5e-5, 1}};
    for (int y = 0; y < 64; y++) k->image->warp_row(&warp, 8 * y, bytes);
}
static void run_sample_cells(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH)
        k->image->sample(cell_samplings + i, KBI_BATCH, KBI_GRID_CELLS, &levels, cells);
}
static void run_sample_octaves(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH)
        k->image->sample(octave_samplings + i * KB_OCTAVES, KBI_BATCH, KBI_GRID_OCTAVES, &levels, octaves);
}
static void run_sample_upright(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH)
        k->image->sample(upright_samplings + i * KB_OCTAVES, KBI_BATCH, KBI_GRID_OCTAVES, &levels, octaves);
}
static void run_sample(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->image->sample(samplings + i, KBI_BATCH, KBI_GRID_PATCH, &levels, patches);
}
static void run_bad_cells(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH)
        k->boxes->boxes(&bad_cells->tables[0], cells, KBI_BATCH, rows, scratch);
}
static void run_bad(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH)
        k->boxes->boxes(&bad->tables[0], patches, KBI_BATCH, rows, scratch);
}
static void run_bag(const kbi_kernels *k)
{
    for (int octave = 0; octave < KB_OCTAVES; octave++)
        for (int i = 0; i < N; i += KBI_BATCH)
            k->boxes->boxes(&bag->tables[octave], octaves + octave * KBI_BATCH * KBI_OCTAVE_BYTES, KBI_BATCH, rows,
                            scratch);
}
static void run_sift(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->sift->sift(patches, KBI_BATCH, histograms, scratch);
}
static void run_bytes(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->sift->sift_bytes(histograms, KBI_BATCH, false, values);
}
static void run_root(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->sift->sift_bytes(histograms, KBI_BATCH, true, values);
}
static void run_project(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->sift->project(hash, values, KBI_BATCH, rows);
}
static void run_blend(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->detect->blend_rows(pixels + y * WIDTH, pixels + (y + 1) * WIDTH, WIDTH, 51, bytes);
}
static void run_resize(const kbi_kernels *k)
{
    if (map.group != k->detect->resize_group) { /* once per tier */
        map.group = k->detect->resize_group;
        kbi_resize_plan(map, 0, WIDTH * 5 / 6, 1.2, WIDTH);
    }
    for (int y = 0; y < 64; y++) k->detect->resize_row(pixels + y * WIDTH, WIDTH, map, WIDTH * 5 / 6, bytes);
}
static void run_fast(const kbi_kernels *k)
{
    for (int y = 3; y < 67; y++) k->detect->fast_row(pixels + y * WIDTH + 3, WIDTH, WIDTH - 6, 20, bytes + y * WIDTH);
}
static void run_peaks(const kbi_kernels *k)
{
    for (int y = 4; y < 66; y++)
        k->detect->peaks_row(bytes + (y - 1) * WIDTH, bytes + y * WIDTH, bytes + (y + 1) * WIDTH, WIDTH - 6, x16);
}
static void run_hessian_blur(const kbi_kernels *k)
{
    static uint16_t columns_only[2 * (WIDTH + KBI_ALIGN)], deep_out[2][WIDTH + KBI_HESSIAN_MARGIN];
    for (int y = 4; y < 68; y += 2)
        k->detect->hessian_blur(pixels + y * WIDTH + 4, WIDTH, WIDTH - 8, columns_only,
                                (uint16_t *const[]){deep_out[0], deep_out[1]});
}
static void run_hessian(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) {
        const uint16_t *above = blurred + (y % 16) * WIDTH + 1;
        k->detect->hessian_row(above, above + WIDTH, above + 2 * WIDTH, WIDTH - 2, determinants[y % 16]);
    }
}
static void run_hessian_peaks(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) {
        int at = y % 14;
        const int32_t *above = determinants[at], *middle = determinants[at + 1], *below = determinants[at + 2];
        k->detect->hessian_peaks(above, middle, below, WIDTH - 2, determinant_limit, x16);
    }
}
static void run_harris(const kbi_kernels *k)
{
    for (int i = 0; i < N; i++) k->detect->harris(pixels + (20 + i % 500) * WIDTH + 20 + i % 700, WIDTH);
}
static void run_disc(const kbi_kernels *k)
{
    for (int i = 0; i < N; i++) k->detect->disc_angle(pixels + (20 + i % 500) * WIDTH + 20 + i % 700, WIDTH);
}
static void run_gradient(const kbi_kernels *k)
{
    uint16_t blocks[KBI_GRADIENT_ROOM] = {0};
    float sums[KBI_GRADIENT_SUMS], histogram[KBI_GRADIENT_DIRECTIONS];
    for (int i = 0; i < N; i++) {
        k->detect->gradient_blocks(pixels + (30 + i % 500) * WIDTH + 30 + i % 700, WIDTH, blocks);
        k->detect->gradient_sums(blocks, sums);
        k->detect->gradient_histogram(sums, histogram);
    }
}
static void run_blur(const kbi_kernels *k)
{
    const uint16_t *a[KBI_BLUR_MAX_TAPS], *b[KBI_BLUR_MAX_TAPS];
    for (int i = 0; i < blur.taps; i++) a[i] = deep + (8 - i) * WIDTH, b[i] = deep + (8 + i) * WIDTH;
    for (int y = 0; y < 64; y++) k->detect->blur_pairs(a, b, &blur, WIDTH, deep + 31 * WIDTH);
}
static void run_difference(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->detect->difference_row(deep, deep + WIDTH, WIDTH, signed_rows[2]);
}
static void run_extrema(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) 
        k->detect->extrema_row(signed_rows[0], signed_rows[1], signed_rows[2], signed_rows[0], signed_rows[2], WIDTH, 80,
                              x32);
}
static void run_direction(const kbi_kernels *k)
{
    enum { SIDE = 17 };
    static float across[SIDE], histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS];
    const uint16_t *list[SIDE + 2];
    for (int i = 0; i < SIDE; i++) across[i] = 1;
    for (int i = 0; i < N; i++) {
        for (int y = 0; y < SIDE + 2; y++) list[y] = deep + y * WIDTH + i % 700 + 1;
        k->detect->direction_rows(&(kbi_direction_region){list, 1, SIDE, SIDE, across, across}, histogram);
    }
}
static void run_256(const kbi_kernels *k)
{
    k->match->hamming(pixels, ROWS, pixels + ROWS * 64, ROWS, 32, keys[0], keys[1], keys[2]);
}
static void run_512(const kbi_kernels *k)
{
    k->match->hamming(pixels, ROWS, pixels + ROWS * 64, ROWS, 64, keys[0], keys[1], keys[2]);
}

static void run_listed(const kbi_kernels *k)
{
    k->match->hamming_listed(pixels, pixels + 32, listed, ROWS, 32, 32, keys[0]);
}
static void run_nearest(const kbi_kernels *k)
{
    for (size_t i = 0; i < ROWS; i++)
        keys[0][i] = k->match->hamming_nearest(pixels + 32 * i, pixels + 32 * (ROWS + CHILDREN * i), CHILDREN, 32);
}
/* Of words at random 3 % are so near, which is what an index has within its own threshold. */
static void run_near(const kbi_kernels *k)
{
    static int32_t near[ROWS + KBI_NEAR_SLACK];
    k->match->hamming_near(words, words + 8, ROWS, 24, near);
}
static void run_circle(const kbi_kernels *k)
{
    const kbi_circle circle = {50, 50, 400, 2, 4};
    static int32_t inside[ROWS + KBI_LIST_SLACK];
    k->match->list_circle(points[0], points[1], point_levels, 0, ROWS, &circle, inside);
}
static void run_filter(const kbi_kernels *k)
{
    kbi_filter_nodes nodes = {.cosine2 = 0.5f, .ratio2 = 2.56f, .bound2 = 0.18f, .support = support};
    for (int c = 0; c < KBI_FILTER_COLUMNS; c++) nodes.column[c] = columns[c];
    for (int32_t j = 0; j < ROWS; j += KBI_FILTER_BLOCK) keys[0][j] = k->match->filter_block(&nodes, 0, j, 1);
}

static void run_transfer(const kbi_kernels *k)
{
    static double values[4][ROWS], weights[ROWS];
    static const double h[9] = {1, 0.1, 0.2, -0.1, 1, 0.3, 0.01, 0.02, 1};
    for (int i = 0; i < ROWS && weights[ROWS - 1] == 0; i++) { /* once */
        for (int c = 0; c < 4; c++) values[c][i] = points[c & 1][i] / 50 - 1;
        weights[i] = 0.5;
    }
    const fit_pairs pairs = {.n = ROWS, .x1 = values[0], .y1 = values[1], .x2 = values[2], .y2 = values[3]};
    const fit_list all = {ROWS, listed, weights};
    kbi_transfer_sums sums;
    k->fit->transfer_sums(h, &pairs, &all, &sums);
}

/* Steps: kb_cpu_features says which kernels they use. */
static void detect_with(kb_detector detector)
{
    kb_image image = {pixels, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0};
    kb_detect_options options;
    size_t count;
    KB_INIT(options);
    options.detector = detector;
    detect_keypoints(&image, &options, workspace, found_keypoints, N, &count, NULL);
}
static void run_detect_hessian(const kbi_kernels *k) { (void)k, detect_with(KB_DETECTOR_HESSIAN); }
static void run_detect_orb(const kbi_kernels *k) { (void)k, detect_with(KB_DETECTOR_ORB); }
static void describe_with(const kb_model *model)
{
    kb_image image = {pixels, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0};
    describe_keypoints(model, &image, keypoints, N, NULL, workspace, rows, flags);
}
static void run_bad256(const kbi_kernels *k) { (void)k, describe_with(builtin[0]); }
static void run_bag256(const kbi_kernels *k) { (void)k, describe_with(builtin[1]); }
static void run_hashsift256(const kbi_kernels *k) { (void)k, describe_with(builtin[2]); }
static void run_match(const kbi_kernels *k)
{
    size_t count;
    (void)k;
    match_rows(pixels, ROWS, pixels + ROWS * 64, ROWS, 32, NULL, workspace, matches, &count);
}

/* Two instructions LOOP times, by which counts are checked. */
static void run_loop(const kbi_kernels *k)
{
    (void)k;
#if defined(__x86_64__)
    int32_t left = LOOP;
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(left) : : "cc");
#elif defined(__aarch64__)
    int64_t left = LOOP;
    __asm__ volatile("1: subs %0, %0, 1\n\tb.ne 1b" : "+r"(left) : : "cc");
#endif
}

static const struct {
    const char *name, *unit;
    void (*run)(const kbi_kernels *);
    double count;
} slots[] = {
    {"shrink_half", "pixel out", run_half, 64.0 * WIDTH / 2},
    {"shrink_two_thirds", "pixel out", run_thirds, 64.0 * WIDTH * 2 / 3},
    {"plan", "keypoint", run_plan, N},
    {"sample", "keypoint", run_sample, N},
    {"plan, cells", "keypoint", run_plan_cells, N},
    {"sample, cells", "keypoint", run_sample_cells, N},
    {"plan, octaves", "keypoint", run_plan_octaves, N},
    {"sample, octaves", "keypoint", run_sample_octaves, N},
    {"sample, upright octaves", "keypoint", run_sample_upright, N},
    {"warp_row", "pixel", run_warp, 64.0 * WIDTH},
    {"boxes, BAD-256", "keypoint", run_bad, N},
    {"boxes, BAD-256, cells", "keypoint", run_bad_cells, N},
    {"boxes, BAG-256", "keypoint", run_bag, N},
    {"sift", "keypoint", run_sift, N},
    {"sift_bytes", "keypoint", run_bytes, N},
    {"sift_bytes, root", "keypoint", run_root, N},
    {"project, 256", "keypoint", run_project, N},
    {"blend_rows", "pixel", run_blend, 64.0 * WIDTH},
    {"resize_row", "pixel out", run_resize, 64.0 * WIDTH * 5 / 6},
    {"fast_row", "pixel", run_fast, 64.0 * WIDTH},
    {"peaks_row", "pixel", run_peaks, 62.0 * WIDTH},
    {"harris", "corner", run_harris, N},
    {"hessian_blur", "pixel", run_hessian_blur, 64.0 * (WIDTH - 8)},
    {"hessian_row", "pixel", run_hessian, 64.0 * WIDTH},
    {"hessian_peaks", "pixel", run_hessian_peaks, 64.0 * WIDTH},
    {"disc_angle", "corner", run_disc, N},
    {"gradient_*", "corner", run_gradient, N},
    {"blur_pairs", "pixel", run_blur, 64.0 * WIDTH},
    {"difference_row", "pixel", run_difference, 64.0 * WIDTH},
    {"extrema_row", "pixel", run_extrema, 64.0 * WIDTH},
    {"direction_rows", "pixel", run_direction, 17.0 * 17 * N},
    {"hamming, 256", "pair", run_256, (double)ROWS *ROWS},
    {"hamming, 512", "pair", run_512, (double)ROWS *ROWS},
    {"hamming_listed", "row", run_listed, ROWS},
    {"hamming_nearest", "row", run_nearest, (double)ROWS *CHILDREN},
    {"hamming_near", "word", run_near, ROWS},
    {"list_circle", "point", run_circle, ROWS},
    {"filter_block", "match", run_filter, ROWS},
    {"transfer_sums", "match", run_transfer, ROWS},
    {"detect-hessian", "pixel", run_detect_hessian, (double)WIDTH *HEIGHT},
    {"detect-orb", "pixel", run_detect_orb, (double)WIDTH *HEIGHT},
    {"describe-bad256", "keypoint", run_bad256, N},
    {"describe-bag256", "keypoint", run_bag256, N},
    {"describe-hashsift256", "keypoint", run_hashsift256, N},
    {"match-256", "pair", run_match, (double)ROWS *ROWS},
    {"loop of known length", "instruction", run_loop, 2 * LOOP},
};

/* ---- the table ---- */

static const struct {
    const char *name; /* for kb_cpu_features */
    uint32_t flags;
} tiers[] = {{"c", 0},
             {"sse4.2", KBI_CPU_SSE42},
             {"avx2", KBI_CPU_AVX2},
             {"avx512", KBI_CPU_AVX512},
             {"neon", KBI_CPU_NEON}};

static bool tier_there(size_t tier)
{
    kb_cpu_features("all");
    return (kbi_cpu_flags() & tiers[tier].flags) == tiers[tier].flags;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* The best of many. */
static void print_time(size_t slot, const kbi_kernels *kernels)
{
    double best = 1e300;
    for (int i = 0; i < REPEATS; i++) {
        double start = now();
        slots[slot].run(kernels);
        double time = now() - start;
        best = time < best ? time : best;
    }
    printf("\t%10.3f", best / slots[slot].count);
}

/* The plugin of qemu sees the marks and writes the number. */
static void print_instructions(size_t slot, const kbi_kernels *kernels)
{
    const int mark = -27490;
    slots[slot].run(kernels); /* takes memory */
    fflush(stdout);
    lseek(mark, 0, SEEK_SET);
    slots[slot].run(kernels);
    lseek(mark, (off_t)slots[slot].count, SEEK_SET);
}

/* A row of the table; steps use the kernels that kb_cpu_features leaves. */
static void print_row(size_t slot, void (*print)(size_t, const kbi_kernels *))
{
    printf("%-20s\t%-11s", slots[slot].name, slots[slot].unit);
    for (size_t t = 0; t < KBI_COUNT(tiers); t++) {
        if (!tier_there(t)) continue;
        kb_cpu_features(tiers[t].name);
        const kbi_kernels kernels = kbi_kernels_for(kbi_cpu_flags());
        print(slot, &kernels);
        fflush(stdout);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    bool instructions = argc > 1 && strcmp(argv[1], "--instructions") == 0;
    const char *only = argc > 1 + instructions ? argv[1 + instructions] : "";
    if (kb_workspace_create(NULL, &workspace) != KB_OK || !prepare()) return 1;
    printf("%-20s\t%-11s", instructions ? "instructions" : "ns", "per");
    for (size_t t = 0; t < KBI_COUNT(tiers); t++)
        if (tier_there(t)) printf("\t%10s", tiers[t].name);
    printf("\n");
    for (size_t i = 0; i < KBI_COUNT(slots); i++)
        if (strncmp(slots[i].name, only, strlen(only)) == 0 || (instructions && slots[i].run == run_loop))
            print_row(i, instructions ? print_instructions : print_time);
    for (int i = 0; i < 3; i++) kb_model_free(builtin[i]);
    kb_model_free(bad);
    kb_model_free(bad_cells);
    kb_model_free(bag);
    kb_model_free(hash);
    kb_workspace_free(workspace);
    return 0;
}
