/* Nanoseconds of every kernel in every tier of this CPU, per keypoint, pixel or pair of rows, as said. Processor
 * time, the best of many short runs, so that other programs on the machine matter little.
 *
 *     build/bench/kernels [SLOT]        only slots whose name begins so */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "describe/describe.h"
#include "simd/kernels.h"

enum { N = 2048, WIDTH = 800, HEIGHT = 640, ROWS = 1024, REPEATS = 40 };

static uint8_t pixels[WIDTH * HEIGHT], patches[KBI_BATCH * KBI_PATCH_BYTES], rows[N * KB_MAX_BITS / 8],
    values[N * KB_SIFT_VALUES];
static uint8_t bytes[WIDTH * HEIGHT], flags[N];
static uint16_t deep[WIDTH * 32], x16[WIDTH];
static int16_t signed_rows[3][WIDTH];
static int32_t x32[WIDTH];
static kb_keypoint keypoints[N];
static kbi_sampling samplings[N];
static uint32_t histograms[KBI_BATCH * KB_SIFT_VALUES], keys[3][ROWS];
static _Alignas(KBI_ALIGN) uint8_t scratch[KBI_KERNEL_SCRATCH];
static kbi_pyramid levels;
static kb_model *bad, *bag, *hash;
static kbi_resize_map map;
static kbi_blur blur;
static uint64_t state = 1;

/* ---- data ---- */

static uint8_t place(uint32_t radius)
{
    return (uint8_t)(radius + kbi_random_below(&state, KB_PATCH_SIDE - 2 * radius));
}

static kb_model *box_model(kb_kind kind)
{
    kb_box_pair pairs[256];
    for (int i = 0; i < 256; i++) {
        uint32_t r = 1 + kbi_random_below(&state, KB_MAX_RADIUS),
                 first = kind == KB_BAG ? 1 + kbi_random_below(&state, 8) : 0;
        uint32_t second = kind == KB_BAG ? 1 + kbi_random_below(&state, 8) : 0;
        pairs[i] = (kb_box_pair){(uint8_t)first, place(r), place(r),   (uint8_t)r, (uint8_t)second,
                                 place(r),       place(r), (uint8_t)r, 1};
    }
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = kind, .bits = 256, .name = "boxes", .boxes = pairs};
    kb_model *model = NULL;
    kb_model_create(&spec, &model, NULL);
    return model;
}

static kb_model *hash_model(void)
{
    static int8_t weights[256 * KB_SIFT_VALUES];
    static int32_t bias[256];
    for (size_t i = 0; i < sizeof weights; i++) weights[i] = (int8_t)((int)kbi_random_below(&state, 128) - 64);
    kb_model_spec spec = {
        .struct_size = sizeof spec, .kind = KB_HASHSIFT, .bits = 256, .name = "hash", .weights = weights, .bias = bias};
    kb_model *model = NULL;
    kb_model_create(&spec, &model, NULL);
    return model;
}

/* Keypoints like ORB's, none near the edge, on a picture of blocks and noise. */
static bool prepare(kb_workspace *workspace)
{
    static int32_t index[WIDTH];
    static uint8_t weight[WIDTH], pair[2 * WIDTH], mix[2 * WIDTH];
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        pixels[i] = (uint8_t)(100 + 60 * ((i % WIDTH / 13 + i / WIDTH / 17) & 1) + kbi_random_below(&state, 12));
    for (int i = 0; i < N; i++) {
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
    kb_image image = {pixels, WIDTH, HEIGHT, WIDTH, KB_GRAY8, 0};
    map = (kbi_resize_map){index, weight, pair, mix};
    kbi_resize_plan(map, WIDTH * 5 / 6, 1.2, WIDTH);
    kbi_blur_plan(&blur, 1.6);
    kbi_pyramid_plan(&levels, &image);
    for (int i = 0; i < N; i++) kbi_sampling_plan(&samplings[i], &keypoints[i], keypoints[i].size, &levels);
    kb_status status = kbi_pyramid_build(&levels, &image, 0xff, workspace);
    bad = box_model(KB_BAD);
    bag = box_model(KB_BAG);
    hash = hash_model();
    return status == KB_OK && bad && bag && hash;
}

/* ---- what is timed: each does `count` of its unit ---- */

static void run_half(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->image.shrink_half(pixels + 2 * y * WIDTH, pixels + (2 * y + 1) * WIDTH, WIDTH / 2, bytes);
}
static void run_thirds(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->image.shrink_two_thirds(pixels + y * WIDTH, pixels + (y + 1) * WIDTH, WIDTH / 3, bytes);
}
static void run_plan(const kbi_kernels *k) { k->image.plan(keypoints, N, 1, &levels, samplings, flags); }
static void run_pairs(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->image.sample_two_tap(samplings + i, KBI_BATCH, &levels, patches);
}
static void run_sample(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->image.sample(samplings + i, KBI_BATCH, &levels, patches);
}
static void run_bad(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->describe.boxes(bad, patches, KBI_BATCH, rows, scratch);
}
static void run_bag(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->describe.boxes(bag, patches, KBI_BATCH, rows, scratch);
}
static void run_sift(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->describe.sift(patches, KBI_BATCH, histograms, scratch);
}
static void run_bytes(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->describe.sift_bytes(histograms, KBI_BATCH, false, values);
}
static void run_root(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->describe.sift_bytes(histograms, KBI_BATCH, true, values);
}
static void run_project(const kbi_kernels *k)
{
    for (int i = 0; i < N; i += KBI_BATCH) k->describe.project(hash, values, KBI_BATCH, rows);
}
static void run_blend(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->detect.blend_rows(pixels + y * WIDTH, pixels + (y + 1) * WIDTH, WIDTH, 51, bytes);
}
static void run_resize(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->detect.resize_row(pixels + y * WIDTH, WIDTH, map, WIDTH * 5 / 6, bytes);
}
static void run_fast(const kbi_kernels *k)
{
    for (int y = 3; y < 67; y++) k->detect.fast_row(pixels + y * WIDTH + 3, WIDTH, WIDTH - 6, 20, bytes + y * WIDTH);
}
static void run_peaks(const kbi_kernels *k)
{
    for (int y = 4; y < 66; y++)
        k->detect.peaks_row(bytes + (y - 1) * WIDTH, bytes + y * WIDTH, bytes + (y + 1) * WIDTH, WIDTH - 6, x16);
}
static void run_harris(const kbi_kernels *k)
{
    for (int i = 0; i < N; i++) k->detect.harris(pixels + (20 + i % 500) * WIDTH + 20 + i % 700, WIDTH);
}
static void run_disc(const kbi_kernels *k)
{
    for (int i = 0; i < N; i++) k->detect.disc_angle(pixels + (20 + i % 500) * WIDTH + 20 + i % 700, WIDTH);
}
static void run_gradient(const kbi_kernels *k)
{
    uint16_t cells[KBI_GRADIENT_ROOM] = {0};
    float sums[KBI_GRADIENT_SUMS], histogram[KBI_GRADIENT_DIRECTIONS];
    for (int i = 0; i < N; i++) {
        k->detect.gradient_cells(pixels + (30 + i % 500) * WIDTH + 30 + i % 700, WIDTH, cells);
        k->detect.gradient_sums(cells, sums);
        k->detect.gradient_histogram(sums, histogram);
    }
}
static void run_blur(const kbi_kernels *k)
{
    const uint16_t *a[KBI_BLUR_MAX_TAPS], *b[KBI_BLUR_MAX_TAPS];
    for (int i = 0; i < blur.taps; i++) a[i] = deep + (8 - i) * WIDTH, b[i] = deep + (8 + i) * WIDTH;
    for (int y = 0; y < 64; y++) k->detect.blur_pairs(a, b, &blur, WIDTH, deep + 31 * WIDTH);
}
static void run_difference(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) k->detect.difference_row(deep, deep + WIDTH, WIDTH, signed_rows[2]);
}
static void run_extrema(const kbi_kernels *k)
{
    for (int y = 0; y < 64; y++) 
        k->detect.extrema_row(signed_rows[0], signed_rows[1], signed_rows[2], signed_rows[0], signed_rows[2], WIDTH, 80,
                              x32);
}
static void run_direction(const kbi_kernels *k)
{
    static float across[31], value[31];
    static int32_t bin[31];
    for (int i = 0; i < 31; i++) across[i] = 1;
    for (int i = 0; i < N; i++)
        k->detect.direction_row(deep + i % 700 + 1, deep + WIDTH + i % 700 + 1, deep + 2 * WIDTH + i % 700 + 1, 31, across,
                                0.5f, bin, value);
}
static void run_256(const kbi_kernels *k)
{
    k->match.hamming(pixels, ROWS, pixels + ROWS * 64, ROWS, 32, keys[0], keys[1], keys[2]);
}
static void run_512(const kbi_kernels *k)
{
    k->match.hamming(pixels, ROWS, pixels + ROWS * 64, ROWS, 64, keys[0], keys[1], keys[2]);
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
    {"sample_two_tap", "keypoint", run_pairs, N},
    {"boxes, BAD-256", "keypoint", run_bad, N},
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
    {"disc_angle", "corner", run_disc, N},
    {"gradient_*", "corner", run_gradient, N},
    {"blur_pairs", "pixel", run_blur, 64.0 * WIDTH},
    {"difference_row", "pixel", run_difference, 64.0 * WIDTH},
    {"extrema_row", "pixel", run_extrema, 64.0 * WIDTH},
    {"direction_row", "pixel", run_direction, 31.0 * N},
    {"hamming, 256", "pair", run_256, (double)ROWS *ROWS},
    {"hamming, 512", "pair", run_512, (double)ROWS *ROWS},
};

/* ---- the table ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double best_of_many(void (*run)(const kbi_kernels *), const kbi_kernels *kernels)
{
    double best = 1e300;
    for (int i = 0; i < REPEATS; i++) {
        double start = now();
        run(kernels);
        double time = now() - start;
        best = time < best ? time : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t flags;
    } tiers[] = {{"c", 0},
                 {"popcnt", KBI_CPU_POPCNT},
                 {"sse4.1", KBI_CPU_SSE41 | KBI_CPU_POPCNT},
                 {"avx2", KBI_CPU_AVX2},
                 {"all", UINT32_MAX}};
    kb_workspace *workspace = NULL;
    if (kb_workspace_create(&workspace) != KB_OK || !prepare(workspace)) return 1;
    printf("%s\n%-20s %-10s", kb_cpu_features(), "ns", "per");
    for (size_t t = 0; t < KBI_COUNT(tiers); t++) printf(" %10s", tiers[t].name);
    printf("\n");
    for (size_t i = 0; i < KBI_COUNT(slots); i++) {
        if (argc > 1 && strncmp(slots[i].name, argv[1], strlen(argv[1])) != 0) continue;
        printf("%-20s %-10s", slots[i].name, slots[i].unit);
        for (size_t t = 0; t < KBI_COUNT(tiers); t++) {
            kbi_kernels kernels;
            kbi_kernels_init(&kernels, kbi_cpu_flags() & kbi_cpu_closure(tiers[t].flags));
            printf(" %10.3f", best_of_many(slots[i].run, &kernels) / slots[i].count);
            fflush(stdout);
        }
        printf("\n");
    }
    kb_model_free(bad);
    kb_model_free(bag);
    kb_model_free(hash);
    kb_workspace_free(workspace);
    return 0;
}
