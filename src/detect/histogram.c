/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* The main directions of a region: a histogram of gradient directions, 36 bins of 10 degrees, weighted by magnitude
 * and a Gaussian 1.5 times as wide as the keypoint, smoothed by [1 4 6 4 1] / 16. Every peak of at least 0.8 of the
 * highest is a direction; a parabola through it and its neighbours gives the place between the bins.
 *
 * The region ends where the weight of a row or column is 0.08. Where the layer is blurred much, every second pixel of
 * every second row tells as much as all of them. Sums are in a fixed order. */
#include <math.h>

#include "detect/histogram_rows.h"
#include "detect/kernels.h"

#define BINS KBI_DIRECTION_BINS
#define TURNS KBI_DIRECTION_TURNS
#define WIDTH 1.5        /* of the weight, in sigmas of the keypoint */
#define REACH 2.25       /* of the region, in sigmas of the weight */
#define EVERY_SECOND 2.5 /* px; from this sigma on every second pixel */
#define STRONG 0.8f

/* weight[k] = exp(-k^2 / 2 sigma^2) for k = 0..n, from two factors: the ratio of neighbours is q, q^3, q^5 ... */
static void gaussian(float *weight, int32_t n, double sigma)
{
    double q = kbi_exp(-0.5 / (sigma * sigma)), ratio = q, value = 1;
    for (int32_t k = 0; k <= n; k++) {
        weight[k] = (float)value;
        value *= ratio;
        ratio *= q * q;
    }
}

/* A radius is at most 2.25 x 1.5 x 4 x 2^1.6 = 40.9: sigma 4, one layer an octave. */
#define MAX_RADIUS 41

static int32_t radius_of(double sigma) { return kbi_min_i((int32_t)(REACH * WIDTH * sigma + 0.5), MAX_RADIUS); }

int32_t kbi_directions_reach(double sigma) { return radius_of(sigma) + 1; }

/* The weights of every `step`-th place from `from` to `to` around `middle`; returns how many. */
static int32_t weights_along(const float *gauss, int32_t from, int32_t to, int32_t middle, int32_t step, float *weight)
{
    int32_t count = 0;
    for (int32_t i = from; i <= to; i += step) weight[count++] = gauss[i < middle ? middle - i : i - middle];
    return count;
}

static void fill(const kbi_detect_kernels *kernels, float histogram[TURNS][BINS], const kbi_octave *o, int32_t layer,
                 int32_t y, int32_t x, double sigma)
{
    int32_t radius = radius_of(sigma), step = sigma > EVERY_SECOND ? 2 : 1;
    int32_t left = kbi_max_i(x - radius, 1), top = kbi_max_i(y - radius, 1);
    float gauss[MAX_RADIUS + 1], across[KBI_DIRECTION_MOST], along[KBI_DIRECTION_MOST];
    const uint16_t *rows[KBI_DIRECTION_MOST + 2];
    gaussian(gauss, radius, WIDTH * sigma);
    left += (x - left) % step; /* the pixel itself is one of them */
    top += (y - top) % step;
    int32_t n = weights_along(gauss, left, kbi_min_i(x + radius, o->width - 2), x, step, across);
    int32_t count = weights_along(gauss, top, kbi_min_i(y + radius, o->height - 2), y, step, along);
    kbi_octave_rows(o, layer, top - 1, left, (count - 1) * step + 3, rows);
    kernels->direction_rows(&(kbi_direction_region){rows, step, count, n, across, along}, histogram);
}

static void smooth(float histogram[TURNS][BINS], float *out)
{
    float sum[BINS + 4];
    for (int32_t i = 0; i < BINS; i++)
        sum[i + 2] = (histogram[0][i] + histogram[1][i]) + (histogram[2][i] + histogram[3][i]);
    sum[0] = sum[BINS];
    sum[1] = sum[BINS + 1];
    sum[BINS + 2] = sum[2];
    sum[BINS + 3] = sum[3];
    for (int32_t i = 0; i < BINS; i++)
        out[i] = (sum[i] + sum[i + 4] + 4 * (sum[i + 1] + sum[i + 3]) + 6 * sum[i + 2]) * (1.0f / 16);
}

int32_t kbi_directions(const kbi_detect_kernels *kernels, const kbi_octave *octave, int32_t layer, int32_t y, int32_t x,
                       double sigma, float *degrees)
{
    float turns[TURNS][BINS] = {{0}}, h[BINS], highest = 0;
    int32_t count = 0;
    fill(kernels, turns, octave, layer, y, x, sigma);
    smooth(turns, h);
    for (int32_t i = 0; i < BINS; i++) highest = h[i] > highest ? h[i] : highest;
    /* downwards, since clockwise angles fall as the bins rise */
    for (int32_t i = BINS - 1; i >= 0 && count < KBI_SIFT_MAX_ANGLES; i--) {
        float before = h[(i + BINS - 1) % BINS], after = h[(i + 1) % BINS];
        if (!(h[i] > before && h[i] > after && h[i] >= STRONG * highest)) continue;
        double place = i + 0.5 * (before - after) / (before - 2 * h[i] + after);
        float angle = (float)(360.0 - 10.0 * place);
        degrees[count++] = angle >= 360.0f ? angle - 360.0f : angle;
    }
    return count;
}
