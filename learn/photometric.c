/* SPDX-License-Identifier: Apache-2.0 */
/* Tone curve, blur, noise, shading and shadows on 8-bit gray. Without libm, so that a set is the same on every machine. */
#include "learn/photometric.h"

#include <math.h>
#include <string.h>

#include "common/common.h"
#include "learn/memory.h"
#include "learn/random.h"

static uint8_t to_byte(double v) { return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : v + 0.5); }

/* ----------------------------------------------------------------------------------------------------- tone curve */

/* ln x for x > 0: x = m 2^e with m near 1, ln m = 2 artanh((m - 1) / (m + 1)). */
static double natural_logarithm(double x)
{
    int e = 0;
    for (; x < 0.7; e--) x *= 2;
    for (; x > 1.4; e++) x /= 2;
    double t = (x - 1) / (x + 1), square = t * t, power = t, sum = 0;
    for (int k = 1; k < 20; k += 2, power *= square) sum += power / k;
    return 2 * sum + e * 0.69314718055994530942;
}

void kbi_level_logarithms(double logarithms[256])
{
    logarithms[0] = 0; /* not used */
    for (int v = 1; v < 256; v++) logarithms[v] = natural_logarithm(v / 255.0);
}

void kbi_tone_table(const kbi_tone *tone, const double logarithms[256], uint8_t table[256])
{
    for (int v = 0; v < 256; v++) {
        double bent = v;
        if (tone->gamma != 1 && v > 0) bent = 255 * kbi_exp(tone->gamma * logarithms[v]);
        table[v] = to_byte(bent * tone->gain + tone->offset);
    }
}

/* ----------------------------------------------------------------------------------------------------------- blur */

#define MAX_RADIUS 24

/* Taps in 1/65536 whose sum is 65536. Returns the radius. */
static int32_t gaussian_taps(double sigma, int32_t taps[2 * MAX_RADIUS + 1])
{
    int32_t radius = (int32_t)ceil(3 * sigma), rest = 65536;
    if (radius > MAX_RADIUS) radius = MAX_RADIUS;
    double weight[2 * MAX_RADIUS + 1] = {0}, sum = 0;
    for (int32_t i = -radius; i <= radius; i++) sum += weight[i + radius] = kbi_exp(-0.5 * i * i / (sigma * sigma));
    for (int32_t i = 0; i <= 2 * radius; i++) rest -= taps[i] = (int32_t)(65536 * weight[i] / sum + 0.5);
    taps[radius] += rest;
    return radius;
}

/* One line of `count` pixels that lie `step` apart; `line` has room for count + 2 radius. */
static void blur_line(uint8_t *pixels, int32_t count, ptrdiff_t step, const int32_t *taps, int32_t radius,
                      uint8_t *line)
{
    for (int32_t i = -radius; i < count + radius; i++) line[i + radius] = pixels[kbi_clamp_i(i, 0, count - 1) * step];
    for (int32_t i = 0; i < count; i++) {
        int32_t sum = 32768;
        for (int32_t k = 0; k <= 2 * radius; k++) sum += taps[k] * line[i + k];
        pixels[i * step] = (uint8_t)(sum >> 16);
    }
}

void kbi_blur(uint8_t *pixels, int32_t width, int32_t height, double sigma, uint8_t *line)
{
    int32_t taps[2 * MAX_RADIUS + 1];
    if (sigma < 0.2) return;
    int32_t radius = gaussian_taps(sigma, taps);
    for (int32_t y = 0; y < height; y++) blur_line(pixels + (size_t)y * (size_t)width, width, 1, taps, radius, line);
    for (int32_t x = 0; x < width; x++) blur_line(pixels + x, height, width, taps, radius, line);
}

/* ------------------------------------------------------------------------------------------------- noise, shading */

void kbi_noise(uint8_t *pixels, size_t count, double deviation, uint64_t *state)
{
    /* In 1/65536 gray level for one step of the bell; 37837.2 steps are its deviation. */
    int64_t factor = (int64_t)(deviation * 65536 / 37837.2 * 65536 + 0.5);
    for (size_t i = 0; i < count; i++) {
        int64_t shift = ((int64_t)(kbi_random_bell(state) - 131070) * factor + ((int64_t)1 << 31)) >> 32;
        pixels[i] = (uint8_t)kbi_clamp_i(pixels[i] + (int32_t)shift, 0, 255);
    }
}

void kbi_shade(uint8_t *pixels, int32_t width, int32_t height, const kbi_shading *shading)
{
    for (int32_t row = 0; row < height; row++) {
        double y = (2.0 * row + 1) / height - 1;
        for (int32_t column = 0; column < width; column++, pixels++) {
            double x = (2.0 * column + 1) / width - 1;
            double tilt = shading->x_slope * x + shading->y_slope * y, bow = shading->bow * (x * x + y * y);
            *pixels = to_byte(*pixels * (1 + tilt + bow));
        }
    }
}

/* -------------------------------------------------------------------------------------------------------- shadows */

/* Random heights on a grid, `step` px apart, with straight lines between. */
typedef struct landscape {
    double *heights, step;
    int32_t columns;
} landscape;

static landscape landscape_make(double step, int32_t width, int32_t height, uint64_t *state)
{
    landscape l = {NULL, step, (int32_t)(width / step) + 2};
    size_t count = (size_t)l.columns * ((size_t)(height / step) + 2);
    l.heights = kbi_zeros(count, sizeof *l.heights);
    for (size_t i = 0; l.heights && i < count; i++) l.heights[i] = kbi_random_unit(state);
    return l;
}

static double height_at(const landscape *l, int32_t x, int32_t y)
{
    double u = x / l->step, v = y / l->step;
    int32_t column = (int32_t)u, row = (int32_t)v;
    const double *here = l->heights + (size_t)row * (size_t)l->columns + column, *below = here + l->columns;
    u -= column;
    v -= row;
    return (1 - v) * ((1 - u) * here[0] + u * here[1]) + v * ((1 - u) * below[0] + u * below[1]);
}

bool kbi_cast_shadows(uint8_t *pixels, int32_t width, int32_t height, const kbi_shadows *shadows, uint64_t *state)
{
    /* Hills upon hills: the smaller ones make edges ragged. */
    landscape wide = landscape_make(shadows->size, width, height, state);
    landscape narrow = landscape_make(1 + shadows->size / 4, width, height, state);
    bool ok = wide.heights && narrow.heights;
    for (int32_t y = 0; y < height && ok; y++)
        for (int32_t x = 0; x < width; x++, pixels++) {
            double at = 0.75 * height_at(&wide, x, y) + 0.25 * height_at(&narrow, x, y);
            double dark = (at - shadows->level) / shadows->softness + 0.5;
            *pixels = to_byte(*pixels * (1 - shadows->depth * (dark <= 0 ? 0 : dark >= 1 ? 1 : dark)));
        }
    free(wide.heights);
    free(narrow.heights);
    return ok;
}
