/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of describing. */
#include <stdlib.h>

#include "check.h"
#include "describe/describe.h"

static _Alignas(KBI_ALIGN) uint8_t scratch[KBI_KERNEL_SCRATCH];

void check_shrink(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t n = 0; n <= 140; n++) {
        size_t bytes = (size_t)n;
        uint8_t *a = guarded(3 * bytes), *b = guarded(3 * bytes), *expected = guarded(2 * bytes),
                *found = guarded(2 * bytes);
        fill_bytes(a, 3 * bytes, 1000, (uint32_t)n);
        fill_bytes(b, 3 * bytes, 1000, (uint32_t)n / SORTS);
        c->image->shrink_half(a + bytes, b + bytes, n, expected);
        t->image->shrink_half(a + bytes, b + bytes, n, found);
        same("shrink_half", expected, found, bytes);
        c->image->shrink_two_thirds(a, b, n, expected);
        t->image->shrink_two_thirds(a, b, n, found);
        same("shrink_two_thirds", expected, found, 2 * bytes);
        guard_reset();
    }
}

/* ---- regions ---- */

static float odd_number(float usual)
{
    static const float odd[] = {0, -1, 1e9f, -1e30f, 3e38f, 0.5f, -0.5f};
    uint32_t k = below(100);
    if (k < KBI_COUNT(odd)) return odd[k];
    if (k == 98) return (float)(1e38 * 1e38); /* infinity */
    if (k == 99) return (float)(1e38 * 1e38 - 1e38 * 1e38);
    return usual;
}

static void random_keypoints(kb_keypoint *k, int32_t n, int32_t width, int32_t height, bool odd)
{
    for (int32_t i = 0; i < n; i++) {
        float x = (float)below((uint32_t)width * 64 + 32) / 64 - 0.5f,
              y = (float)below((uint32_t)height * 64 + 32) / 64 - 0.5f;
        float size = 1, angle = below(5) ? (float)below(360 * 16) / 16 : (float)below(9) * 45;
        for (uint32_t octave = below(30); octave > 0; octave--) size *= 1.37f;
        k[i] = (kb_keypoint){x, y, size, angle, 0, 0, 0};
        if (odd) k[i] = (kb_keypoint){odd_number(x), odd_number(y), odd_number(size), odd_number(angle), 0, 0, 0};
    }
}

static void same_samplings(const kbi_sampling *expected, const kbi_sampling *found, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        same("level", &expected[i].level, &found[i].level, sizeof expected[i].level);
        if (expected[i].level >= 0) same("sampling", &expected[i], &found[i], sizeof *expected);
    }
}

static const kbi_grid grids[] = {{KB_PATCH_SIDE, 1}, {KBI_CELLS_SIDE, 1}, {KB_OCTAVE_SIDE, KB_OCTAVES}};

void check_plan(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t n = 0; n <= 70; n++) {
        size_t count = (size_t)n;
        kb_image image = {scratch, 1 + (int32_t)below(3000), 1 + (int32_t)below(3000), 3000, KB_FORMAT_GRAY8, 0};
        kbi_pyramid levels;
        kbi_pyramid_plan(&levels, &image);
        kb_keypoint *k = (kb_keypoint *)(void *)guarded(count * sizeof *k);
        kbi_sampling *expected = (kbi_sampling *)(void *)guarded(count * KB_OCTAVES * sizeof *expected);
        kbi_sampling *found = (kbi_sampling *)(void *)guarded(count * KB_OCTAVES * sizeof *found);
        uint8_t *flags = guarded(count), *found_flags = guarded(count);
        uint32_t *which = (uint32_t *)(void *)guarded(count * sizeof *which);
        random_keypoints(k, n, image.width, image.height, n & 1);
        for (int32_t i = 0; i < n; i++) which[i] = below((uint32_t)n);
        double scale = 0.1 + below(100) * 0.07;
        for (size_t g = 0; g < KBI_COUNT(grids); g++) {
            const kbi_grid grid = grids[g];
            int32_t octaves = grid.octaves, before = (KB_OCTAVES - octaves) * n;
            kbi_sampling *to = expected + before, *other = found + before; /* both end at the forbidden page */
            c->image->plan(k, which, n, scale, grid, &levels, to, flags);
            t->image->plan(k, which, n, scale, grid, &levels, other, found_flags);
            same("flags", flags, found_flags, count);
            same_samplings(to, other, n * octaves);
        }
        guard_reset();
    }
}

void check_cut(const kbi_kernels *c, const kbi_kernels *t)
{
    kb_workspace *workspace;
    if (kb_workspace_create(NULL, &workspace) != KB_OK) exit(2);
    for (int32_t n = 0; n <= 70; n++) {
        int32_t width = 1 + (int32_t)below(n & 1 ? 40 : 400), height = 1 + (int32_t)below(n & 2 ? 40 : 300);
        ptrdiff_t stride = width + (ptrdiff_t)below(50);
        size_t bytes = (size_t)(stride * (height - 1) + width), count = (size_t)n;
        uint8_t *pixels = guarded(bytes); /* the last row ends without the rest of its stride */
        fill_bytes(pixels, bytes, (size_t)stride, (uint32_t)n / 2);
        kb_image image = {pixels, width, height, stride, KB_FORMAT_GRAY8, 0};
        kbi_pyramid levels;
        kbi_pyramid_plan(&levels, &image);
        if (kbi_pyramid_get(&levels, &image, n & 4 ? t->image->margin : 0, workspace) != KB_OK) exit(2);
        kbi_pyramid_make(&levels, c->image, UINT32_MAX, NULL);
        kb_keypoint k[70];
        kbi_sampling s[70 * KB_OCTAVES];
        const uint32_t first = 0;
        uint8_t flags[70], *expected = guarded(count * KBI_PATCH_BYTES), *found = guarded(count * KBI_PATCH_BYTES);
        for (size_t g = 0; g < KBI_COUNT(grids); g++) {
            const kbi_grid grid = grids[g];
            const int32_t side = grid.side;
            size_t patch = (size_t)(side * side);
            random_keypoints(k, n, width, height, false);
            for (int32_t i = 0; i < n; i++) { /* the regions of level 0 are those at the forbidden page */
                if (i & 2) k[i].angle = -1; /* regions that are not turned have a way of their own */
                if (i & 1) k[i].size = (float)(side / 4 + (int32_t)below((uint32_t)side));
                do c->image->plan(&k[i], &first, 1, 1, grid, &levels, &s[i * grid.octaves], &flags[i]), k[i].x *= 0.5f, k[i].y *= 0.5f;
                while (flags[i] & (KB_KP_OUTSIDE | KB_KP_INVALID));
            }
            c->image->sample(s, n, grid, &levels, expected);
            t->image->sample(s, n, grid, &levels, found);
            for (size_t i = 0; i < count * (size_t)grid.octaves; i++)
                same(side == KB_PATCH_SIDE ? "patch" : "grid", expected + i * patch, found + i * patch, patch);
        }
        guard_reset();
    }
    kb_workspace_free(workspace);
}

/* Homographies from mild ones to those whose horizon crosses the image. */
void check_warp(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t n = 0; n < 200; n++) {
        int32_t width = 2 + (int32_t)below(n & 1 ? 8 : 300), height = 2 + (int32_t)below(n & 2 ? 8 : 200);
        int32_t to_width = 1 + (int32_t)below(300);
        ptrdiff_t stride = width + (ptrdiff_t)below(50);
        size_t bytes = (size_t)(stride * (height - 1) + width);
        uint8_t *pixels = guarded(bytes), *expected = guarded((size_t)to_width), *found = guarded((size_t)to_width);
        fill_bytes(pixels, bytes, (size_t)stride, (uint32_t)n / 2);
        kbi_warp warp = {pixels, stride, width, height, to_width, {0, 0, 0, 0, 0, 0, 0, 0, 1}};
        for (int k = 0; k < 8; k++)
            warp.h[k] = ((double)below(2001) - 1000) * (k % 3 == 2 ? 0.1 : k < 6 ? 0.0015 : n % 5 ? 1e-7 : 1e-5);
        for (int32_t y = 0; y < 100; y += 9) {
            c->image->warp_row(&warp, y, expected);
            t->image->warp_row(&warp, y, found);
            same("warped row", expected, found, (size_t)to_width);
        }
        guard_reset();
    }
}

/* ---- boxes ---- */

static uint8_t centre(kb_sampler sampler, uint32_t radius)
{
    if (sampler == KB_SAMPLER_OCTAVES) return (uint8_t)(radius + 2 * below(KBI_OCTAVE_CELLS_SIDE + 1 - radius));
    if (sampler == KB_SAMPLER_CELLS) return (uint8_t)(radius + 2 * below(KBI_CELLS_SIDE + 1 - radius));
    return (uint8_t)(radius + below(KB_PATCH_SIDE - 2 * radius));
}

static uint8_t channel(kb_kind kind) { return kind == KB_KIND_BAG ? (uint8_t)(1 + below(KB_CHANNELS - 1)) : 0; }

static kb_model *random_boxes(kb_kind kind, kb_sampler sampler, int32_t bits)
{
    kb_box_pair pairs[KB_MAX_BITS];
    const kbi_grid grid = kbi_sampler_grid(sampler);
    uint32_t least = (uint32_t)kbi_min_radius(grid), radii = (uint32_t)kbi_max_radius(grid) + 1 - least;
    for (int32_t i = 0; i < bits; i++) {
        uint32_t r1 = least + below(radii), r2 = least + below(radii);
        float threshold = i % 10 ? (float)below(6400) / 100 - 32 : (float)below(51200) / 100 - 256;
        if (kind == KB_KIND_BAG) threshold /= 128;
        pairs[i] = (kb_box_pair){channel(kind), centre(sampler, r1), centre(sampler, r1), (uint8_t)r1,
                                 channel(kind), centre(sampler, r2), centre(sampler, r2), (uint8_t)r2, threshold};
    }
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = kind, .sampler = sampler, .bits = bits, .name = "boxes",
                          .boxes = pairs};
    kb_model *model;
    if (kb_model_create(&spec, NULL, &model, NULL) != KB_OK) exit(2);
    return model;
}

/* Patches of all sorts. */
static uint8_t *random_grids(size_t n, size_t side)
{
    uint8_t *patches = guarded(n * side * side);
    for (size_t i = 0; i < n; i++) fill_bytes(patches + i * side * side, side * side, side, (uint32_t)(i + n));
    return patches;
}
static uint8_t *random_patches(size_t n) { return random_grids(n, KB_PATCH_SIDE); }

/* Every table of the model. */
static void check_tables(const kbi_kernels *c, const kbi_kernels *t, const kb_model *model, int32_t n)
{
    for (int32_t k = 0; k < model->grid.octaves; k++) {
        const kbi_box_table *table = &model->tables[k];
        const uint8_t *grids = random_grids((size_t)n, (size_t)table->grid.side);
        size_t bytes = (size_t)n * (size_t)table->bit_count / 8;
        uint8_t *expected = guarded(bytes), *found = guarded(bytes);
        c->boxes->boxes(table, grids, n, expected, scratch);
        t->boxes->boxes(table, grids, n, found, scratch);
        same("rows", expected, found, bytes);
    }
    guard_reset();
}

void check_boxes(const kbi_kernels *c, const kbi_kernels *t)
{
    static const struct {
        kb_kind kind;
        kb_sampler sampler;
        int32_t bits[7];
    } kinds[] = {{KB_KIND_BAD, KB_SAMPLER_PATCH, {256, 8, 512, 24, 128, 1024, 136}},
                 {KB_KIND_BAG, KB_SAMPLER_OCTAVES, {256, 32, 512, 96, 128, 1024, 544}},
                 {KB_KIND_BAD, KB_SAMPLER_CELLS, {256, 8, 512, 24, 128, 1024, 136}}};
    for (int32_t n = 0; n <= 105; n++) {
        size_t kind = (size_t)n % KBI_COUNT(kinds);
        kb_model *model = random_boxes(kinds[kind].kind, kinds[kind].sampler, kinds[kind].bits[n / 3 % 7]);
        check_tables(c, t, model, n);
        kb_model_free(model);
    }
}

/* ---- SIFT ---- */

void check_sift(const kbi_kernels *c, const kbi_kernels *t)
{
    for (int32_t n = 0; n <= 70; n++) {
        size_t bytes = (size_t)n * KB_SIFT_VALUES * sizeof(uint32_t);
        const uint8_t *patches = random_patches((size_t)n);
        uint32_t *expected = (uint32_t *)(void *)guarded(bytes), *found = (uint32_t *)(void *)guarded(bytes);
        c->sift->sift(patches, n, expected, scratch);
        t->sift->sift(patches, n, found, scratch);
        same("histograms", expected, found, bytes);
        guard_reset();
    }
}

static uint32_t random_histogram_value(uint32_t sort)
{
    switch (sort % 5) {
    case 0: return below(1u << below(24));
    case 1: return below(4);
    case 2: return below(20) ? 0 : below(1u << 24);
    case 3: return 1 + below(10) * below(10);
    default: return (1u << 24) - 1;
    }
}

/* RootSIFT for every quotient 2^20 v / sum of which a root is taken, up to those that end at 255. Of two values the
 * larger is clipped to a fifth of the norm, so that the quotient of the smaller takes steps of less than 1. */
static void check_all_roots(const kbi_kernels *c, const kbi_kernels *t)
{
    enum { BATCH = 64 };
    static uint32_t histograms[BATCH][KB_SIFT_VALUES];
    static uint8_t expected[BATCH][KB_SIFT_VALUES], found[BATCH][KB_SIFT_VALUES];
    const uint64_t large = 6000000;
    uint64_t quotient = 0;
    for (uint32_t v = 0; quotient < 512 * 512; v += BATCH) {
        for (uint32_t k = 0; k < BATCH; k++) {
            uint64_t limit = kbi_isqrt(large * large + (uint64_t)(v + k) * (v + k)) / 5;
            uint64_t next = ((uint64_t)(v + k) << 20) / (limit + v + k);
            if (next > quotient + 1) same("RootSIFT: quotients are left out", &quotient, &next, sizeof next);
            quotient = next;
            histograms[k][k] = v + k;
            histograms[k][KB_SIFT_VALUES - 1] = (uint32_t)large;
        }
        c->sift->sift_bytes(histograms[0], BATCH, true, expected[0]);
        t->sift->sift_bytes(histograms[0], BATCH, true, found[0]);
        same("RootSIFT, all roots", expected[0], found[0], sizeof expected);
    }
}

void check_sift_bytes(const kbi_kernels *c, const kbi_kernels *t)
{
    check_all_roots(c, t);
    for (int32_t n = 0; n <= 70; n++) {
        size_t values = (size_t)n * KB_SIFT_VALUES;
        uint32_t *histograms = (uint32_t *)(void *)guarded(values * sizeof *histograms);
        uint8_t *expected = guarded(values), *found = guarded(values);
        for (size_t i = 0; i < values; i++)
            histograms[i] = (i / KB_SIFT_VALUES) % 11 == 7 ? 0 : random_histogram_value((uint32_t)(i / KB_SIFT_VALUES));
        for (int root = 0; root < 2; root++) {
            c->sift->sift_bytes(histograms, n, root, expected);
            t->sift->sift_bytes(histograms, n, root, found);
            same(root ? "RootSIFT" : "SIFT", expected, found, values);
        }
        guard_reset();
    }
}

static kb_model *random_projection(int32_t bits, bool extreme)
{
    int8_t *weights = malloc((size_t)bits * KB_SIFT_VALUES);
    int32_t *bias = malloc((size_t)bits * sizeof *bias);
    if (!weights || !bias) exit(2);
    for (int32_t i = 0; i < bits * KB_SIFT_VALUES; i++)
        weights[i] = (int8_t)(extreme ? (below(2) ? 127 : -128) : (int)below(256) - 128);
    for (int32_t i = 0; i < bits; i++) bias[i] = (int32_t)below(100000) - 50000;
    for (int32_t j = 0; extreme && j < KB_SIFT_VALUES; j++) weights[j] = -128, weights[KB_SIFT_VALUES + j] = 127;
    kb_model_spec spec = {.struct_size = sizeof spec,
                          .kind = KB_KIND_HASHSIFT,
                          .bits = bits,
                          .name = "hash",
                          .weights = weights,
                          .bias = bias};
    kb_model *model;
    if (kb_model_create(&spec, NULL, &model, NULL) != KB_OK) exit(2);
    free(weights);
    free(bias);
    return model;
}

void check_project(const kbi_kernels *c, const kbi_kernels *t)
{
    static const int32_t sizes[] = {256, 8, 512, 24, 1024, 72};
    for (int32_t n = 0; n <= 70; n++) {
        kb_model *model = random_projection(sizes[n % (int32_t)KBI_COUNT(sizes)], n & 1);
        size_t bytes = (size_t)n * (size_t)model->row_bytes;
        uint8_t *values = guarded((size_t)n * KB_SIFT_VALUES), *expected = guarded(bytes), *found = guarded(bytes);
        for (size_t i = 0; i < (size_t)n; i++) {
            fill_bytes(values + i * KB_SIFT_VALUES, KB_SIFT_VALUES, 16, (uint32_t)i);
            for (size_t j = 0; i & 8 && j < KB_SIFT_VALUES; j++) values[i * KB_SIFT_VALUES + j] >>= 1;
        }
        c->sift->project(model, values, n, expected);
        t->sift->project(model, values, n, found);
        same("rows", expected, found, bytes);
        kb_model_free(model);
        guard_reset();
    }
}
