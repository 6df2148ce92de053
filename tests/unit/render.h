/* SPDX-License-Identifier: Apache-2.0 */
/* Images and models that tests render for themselves. */
#ifndef KB_TEST_RENDER_H
#define KB_TEST_RENDER_H

#include <stdlib.h>

#include "image/grid.h"

static inline kb_image view_of(const uint8_t *pixels, int32_t width, int32_t height)
{
    return (kb_image){pixels, width, height, width, KB_FORMAT_GRAY8, 0};
}

/* Smooth random texture: noise blurred by repeated box filters, stretched to the whole range. */
static inline uint8_t *render_texture(int32_t width, int32_t height, uint64_t seed)
{
    size_t n = (size_t)width * (size_t)height;
    uint8_t *a = malloc(n), *b = malloc(n);
    if (!a || !b) abort();
    for (size_t i = 0; i < n; i++) a[i] = (uint8_t)kbi_random_next(&seed);
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t y = 0; y < height; y++)
            for (int32_t x = 0; x < width; x++) {
                int sum = 0;
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++)
                        sum += a[(size_t)kbi_clamp_i(y + dy, 0, height - 1) * (size_t)width +
                                 (size_t)kbi_clamp_i(x + dx, 0, width - 1)];
                b[(size_t)y * (size_t)width + (size_t)x] = (uint8_t)(sum / 9);
            }
        uint8_t *t = a;
        a = b;
        b = t;
    }
    for (size_t i = 0; i < n; i++) a[i] = (uint8_t)kbi_clamp_i((a[i] - 128) * 4 + 128, 0, 255);
    free(b);
    return a;
}

/* Random keypoints, all of whose centres lie in the image. */
static inline void render_keypoints(kb_keypoint *k, size_t n, int32_t width, int32_t height, float smallest,
                                    float largest, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        float u[4];
        for (int j = 0; j < 4; j++) u[j] = (float)(kbi_random_next(&seed) >> 40) / 16777216.0f;
        k[i] = (kb_keypoint){u[0] * (float)(width - 1),
                             u[1] * (float)(height - 1),
                             smallest + u[2] * (largest - smallest),
                             u[3] * 360.0f,
                             0,
                             0,
                             -1};
    }
}

/* A model with random boxes; channels 1..8 and boxes inside 16x16 samples for BAG, two radii when asked. */
static inline kb_model *render_box_model(kb_kind kind, kb_sampler sampler, int32_t bits, bool two_radii, uint64_t seed)
{
    kb_box_pair pairs[KB_MAX_BITS];
    bool cells = sampler == KB_SAMPLER_OCTAVES || sampler == KB_SAMPLER_CELLS;
    uint32_t across = kind == KB_KIND_BAG ? KBI_OCTAVE_CELLS_SIDE : KBI_CELLS_SIDE;
    for (int32_t i = 0; i < bits; i++) {
        uint8_t v[8];
        for (int box = 0; box < 2; box++) {
            uint32_t r = box && !two_radii ? v[3]
                         : cells           ? 1 + kbi_random_below(&seed, KB_MAX_CELL_RADIUS)
                                           : kbi_random_below(&seed, KB_MAX_RADIUS + 1);
            v[4 * box] = kind == KB_KIND_BAG ? (uint8_t)(1 + kbi_random_below(&seed, KB_CHANNELS - 1)) : 0;
            for (int k = 1; k <= 2; k++)
                v[4 * box + k] = (uint8_t)(r + (cells ? 2 * kbi_random_below(&seed, across + 1 - r)
                                                      : kbi_random_below(&seed, 32 - 2 * r)));
            v[4 * box + 3] = (uint8_t)r;
        }
        float threshold = (float)kbi_random_below(&seed, 400) / 10 - 20;
        if (kind == KB_KIND_BAG) threshold /= 40;
        pairs[i] = (kb_box_pair){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], threshold};
    }
    kb_model_spec spec = {.struct_size = sizeof spec, .kind = kind, .sampler = sampler, .bits = bits, .name = "random",
                          .text = "rendered", .boxes = pairs};
    kb_model *model = NULL;
    if (kb_model_create(&spec, NULL, &model, NULL) != KB_OK) abort();
    return model;
}

static inline kb_model *render_hash_model(int32_t bits, uint64_t seed)
{
    int8_t *weights = malloc((size_t)bits * KB_SIFT_VALUES);
    int32_t *bias = malloc((size_t)bits * sizeof *bias);
    if (!weights || !bias) abort();
    for (int32_t i = 0; i < bits * KB_SIFT_VALUES; i++) weights[i] = (int8_t)(kbi_random_below(&seed, 255) - 127);
    for (int32_t i = 0; i < bits; i++) bias[i] = (int32_t)kbi_random_below(&seed, 20001) - 10000;
    kb_model_spec spec = {.struct_size = sizeof spec,
                          .kind = KB_KIND_HASHSIFT,
                          .bits = bits,
                          .name = "random",
                          .weights = weights,
                          .bias = bias};
    kb_model *model = NULL;
    if (kb_model_create(&spec, NULL, &model, NULL) != KB_OK) abort();
    free(weights);
    free(bias);
    return model;
}

static inline kb_model *builtin_model(const char *name)
{
    kb_model *model = NULL;
    if (kb_model_builtin(name, NULL, &model) != KB_OK) abort();
    return model;
}

#endif
