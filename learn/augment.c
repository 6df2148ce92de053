/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a patch: turn, scale and shift by bilinear interpolation around its middle, then blur, tone and noise. */
#include "learn/augment.h"

#include <math.h>
#include <string.h>

#include "learn/photometric.h"
#include "learn/random.h"

#define PAPER .rotation = 4, .scale = 0.06, .gain = 0.15, .offset = 8, .gamma = 0.15, .blur = 0.8, .noise = 5
const kbi_augment kbi_augment_paper = {PAPER};
const kbi_augment kbi_augment_default = {PAPER, .shift = 0.5};

/* Normal, cut at twice the deviation. */
static double draw(uint64_t *state, double deviation)
{
    double v = kbi_random_normal(state);
    return deviation * (v < -2 ? -2 : v > 2 ? 2 : v);
}

/* The patch as a camera would see it that is turned by `degrees` and `scale` times as near. */
static void turn(const uint8_t *in, int32_t side, double degrees, double scale, double dx, double dy, uint8_t *out)
{
    double sine, cosine, middle = side / 2; /* the sampler's own middle: sample 16 of 32 */
    kbi_sincos_degrees(degrees < 0 ? degrees + 360 : degrees, &sine, &cosine);
    int32_t a = (int32_t)floor(65536 * cosine / scale + 0.5), b = (int32_t)floor(65536 * sine / scale + 0.5);
    int32_t x0 = (int32_t)floor(65536 * (middle + dx) + 0.5) - (int32_t)middle * (a - b);
    int32_t y0 = (int32_t)floor(65536 * (middle + dy) + 0.5) - (int32_t)middle * (a + b), last = side - 1;
    for (int32_t i = 0; i < side; i++) {
        int32_t x = x0 - i * b, y = y0 + i * a;
        for (int32_t j = 0; j < side; j++, x += a, y += b) {
            uint32_t fx = (uint32_t)(x >> 8) & 255, fy = (uint32_t)(y >> 8) & 255;
            int32_t left = kbi_clamp_i(x >> 16, 0, last), right = kbi_clamp_i((x >> 16) + 1, 0, last);
            const uint8_t *top = in + kbi_clamp_i(y >> 16, 0, last) * side;
            const uint8_t *bottom = in + kbi_clamp_i((y >> 16) + 1, 0, last) * side;
            uint32_t upper = top[left] * (256 - fx) + top[right] * fx,
                     lower = bottom[left] * (256 - fx) + bottom[right] * fx;
            *out++ = (uint8_t)((upper * (256 - fy) + lower * fy + 32768) >> 16);
        }
    }
}

void kbi_augment_patch(const kbi_augment *augment, const double logarithms[256], const uint8_t *in, int32_t side,
                       uint64_t *state, uint8_t *out)
{
    double unit = side / (double)KB_PATCH_SIDE; /* one sample of a 32x32 patch */
    double degrees = draw(state, augment->rotation), scale = kbi_exp(draw(state, augment->scale));
    double dx = unit * draw(state, augment->shift), dy = unit * draw(state, augment->shift);
    double sigma = unit * augment->blur * kbi_random_unit(state), noise = augment->noise * kbi_random_unit(state);
    kbi_tone tone = {kbi_exp(draw(state, augment->gain)), draw(state, augment->offset),
                    kbi_exp(draw(state, augment->gamma))};
    uint64_t noise_state = kbi_random_next(state);
    size_t count = (size_t)side * (size_t)side;
    uint8_t table[256], line[KBI_AUGMENT_MAX_SIDE + KBI_BLUR_MARGIN];

    if (augment->rotation > 0 || augment->scale > 0 || augment->shift > 0) turn(in, side, degrees, scale, dx, dy, out);
    else memcpy(out, in, count);
    kbi_blur(out, side, side, sigma, line);
    if (augment->gain > 0 || augment->offset > 0 || augment->gamma > 0) {
        kbi_tone_table(&tone, logarithms, table);
        for (size_t i = 0; i < count; i++) out[i] = table[out[i]];
    }
    if (noise > 0) kbi_noise(out, count, noise, &noise_state);
}

/* --------------------------------------------------------------------------------------------------- many patches */

typedef struct job {
    const kbi_augment *augment;
    const uint8_t *in;
    size_t n;
    int32_t side, pieces;
    uint64_t seed;
    uint8_t *out;
} job;

static void piece(void *context, int32_t index)
{
    const job *j = context;
    size_t area = (size_t)j->side * (size_t)j->side, end = kbi_piece(j->n, j->pieces, index + 1);
    double logarithms[256];
    kbi_level_logarithms(logarithms);
    for (size_t i = kbi_piece(j->n, j->pieces, index); i < end; i++) {
        uint64_t state = kbi_random_fork(j->seed, i);
        kbi_augment_patch(j->augment, logarithms, j->in + i * area, j->side, &state, j->out + i * area);
    }
}

void kbi_augment_patches(const kbi_augment *augment, const uint8_t *in, size_t n, int32_t side, uint64_t seed,
                        const kb_parallel *parallel, uint8_t *out)
{
    job j = {augment, in, n, side, 4 * kbi_parallel_threads(parallel), seed, out};
    kbi_parallel_run(parallel, j.pieces, piece, &j);
}

void kbi_augment_sample(void *context, const uint8_t *patches, size_t n, uint64_t seed, const kb_parallel *parallel,
                        uint8_t *out)
{
    kbi_augment_patches(context, patches, n, KB_PATCH_SIDE, seed, parallel, out);
}
