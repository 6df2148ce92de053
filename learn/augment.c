/* Changes of a patch: turn, scale and shift by bilinear interpolation around its middle, then blur, tone and noise. */
#include "learn/augment.h"

#include <math.h>
#include <string.h>

#include "learn/photometric.h"
#include "learn/random.h"

const kb_augment kb_augment_default = {
    .rotation = 4, .scale = 0.06, .shift = 0.5, .gain = 0.15, .offset = 8, .gamma = 0.15, .blur = 0.8, .noise = 5};

/* Normal, cut at twice the deviation. */
static double draw(uint64_t *state, double deviation)
{
    double v = kb_random_normal(state);
    return deviation * (v < -2 ? -2 : v > 2 ? 2 : v);
}

/* The patch as a camera would see it that is turned by `degrees` and `scale` times as near. */
static void turn(const uint8_t *in, int32_t side, double degrees, double scale, double dx, double dy, uint8_t *out)
{
    double sine, cosine, middle = side / 2; /* the sampler's own middle: sample 16 of 32 */
    kb_sincos_degrees(degrees < 0 ? degrees + 360 : degrees, &sine, &cosine);
    int32_t a = (int32_t)floor(65536 * cosine / scale + 0.5), b = (int32_t)floor(65536 * sine / scale + 0.5);
    int32_t x0 = (int32_t)floor(65536 * (middle + dx) + 0.5) - (int32_t)middle * (a - b);
    int32_t y0 = (int32_t)floor(65536 * (middle + dy) + 0.5) - (int32_t)middle * (a + b), last = side - 1;
    for (int32_t i = 0; i < side; i++) {
        int32_t x = x0 - i * b, y = y0 + i * a;
        for (int32_t j = 0; j < side; j++, x += a, y += b) {
            uint32_t fx = (uint32_t)(x >> 8) & 255, fy = (uint32_t)(y >> 8) & 255;
            int32_t left = kb_clamp_i(x >> 16, 0, last), right = kb_clamp_i((x >> 16) + 1, 0, last);
            const uint8_t *top = in + kb_clamp_i(y >> 16, 0, last) * side;
            const uint8_t *bottom = in + kb_clamp_i((y >> 16) + 1, 0, last) * side;
            uint32_t upper = top[left] * (256 - fx) + top[right] * fx,
                     lower = bottom[left] * (256 - fx) + bottom[right] * fx;
            *out++ = (uint8_t)((upper * (256 - fy) + lower * fy + 32768) >> 16);
        }
    }
}

void kb_augment_patch(const kb_augment *augment, const uint8_t *in, int32_t side, uint64_t *state, uint8_t *out)
{
    double unit = side / (double)KB_PATCH_SIDE; /* one sample of a 32x32 patch */
    double degrees = draw(state, augment->rotation), scale = kb_exp(draw(state, augment->scale));
    double dx = unit * draw(state, augment->shift), dy = unit * draw(state, augment->shift);
    double sigma = unit * augment->blur * kb_random_unit(state), noise = augment->noise * kb_random_unit(state);
    kb_tone tone = {kb_exp(draw(state, augment->gain)), draw(state, augment->offset),
                    kb_exp(draw(state, augment->gamma))};
    uint64_t noise_state = kb_random_next(state);
    size_t count = (size_t)side * (size_t)side;
    uint8_t table[256];

    if (augment->rotation > 0 || augment->scale > 0 || augment->shift > 0) turn(in, side, degrees, scale, dx, dy, out);
    else memcpy(out, in, count);
    kb_blur(out, side, side, sigma);
    if (augment->gain > 0 || augment->offset > 0 || augment->gamma > 0) {
        kb_tone_table(&tone, table);
        for (size_t i = 0; i < count; i++) out[i] = table[out[i]];
    }
    if (noise > 0) kb_noise(out, count, noise, &noise_state);
}

/* --------------------------------------------------------------------------------------------------- many patches */

typedef struct job {
    const kb_augment *augment;
    const uint8_t *in;
    size_t n;
    int32_t side, pieces;
    uint64_t seed;
    uint8_t *out;
} job;

static void piece(void *context, int32_t index)
{
    const job *j = context;
    size_t area = (size_t)j->side * (size_t)j->side, end = kb_piece(j->n, j->pieces, index + 1);
    for (size_t i = kb_piece(j->n, j->pieces, index); i < end; i++) {
        uint64_t state = kb_random_fork(j->seed, i);
        kb_augment_patch(j->augment, j->in + i * area, j->side, &state, j->out + i * area);
    }
}

void kb_augment_patches(const kb_augment *augment, const uint8_t *in, size_t n, int32_t side, uint64_t seed,
                        const kb_parallel *parallel, uint8_t *out)
{
    job j = {augment, in, n, side, 4 * kb_parallel_threads(parallel), seed, out};
    kb_parallel_run(parallel, j.pieces, piece, &j);
}
