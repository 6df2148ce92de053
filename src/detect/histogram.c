/* The main directions of a region: a histogram of gradient directions, 36 bins of 10 degrees, weighted by magnitude
 * and a Gaussian 1.5 times as wide as the keypoint, smoothed by [1 4 6 4 1] / 16. Every peak of at least 0.8 of the
 * highest is a direction; a parabola through it and its neighbours gives the place between the bins.
 *
 * Four histograms take turns, so that neighbouring pixels, which tend to share a bin, do not wait for each other;
 * sums are in a fixed order. */
#include <math.h>

#include "detect/histogram_rows.h"
#include "detect/kernels.h"

#define BINS KBI_DIRECTION_BINS
#define TURNS 4
#define WIDTH 1.5  /* of the weight, in sigmas of the keypoint */
#define REACH 3.0  /* of the region, in sigmas of the weight */
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

static void add_row(float histogram[TURNS][BINS], const int32_t *bin, const float *value, int32_t n)
{
    int32_t i = 0;
    for (; i + TURNS <= n; i += TURNS) {
        histogram[0][bin[i]] += value[i];
        histogram[1][bin[i + 1]] += value[i + 1];
        histogram[2][bin[i + 2]] += value[i + 2];
        histogram[3][bin[i + 3]] += value[i + 3];
    }
    for (; i < n; i++) histogram[i % TURNS][bin[i]] += value[i];
}

/* A radius is at most 4.5 x 4 x 2^1.6 = 54.6: sigma 4, one layer an octave. */
#define MAX_RADIUS 55
#define MAX_WIDTH (2 * MAX_RADIUS + 1)

static int32_t radius_of(double sigma) { return kbi_min_i((int32_t)(REACH * WIDTH * sigma + 0.5), MAX_RADIUS); }

int32_t kbi_directions_reach(double sigma) { return radius_of(sigma) + 1; }

static void fill(const kbi_detect_kernels *kernels, float histogram[TURNS][BINS], const kbi_octave *o, int32_t layer,
                 int32_t y, int32_t x, double sigma)
{
    int32_t radius = radius_of(sigma);
    int32_t left = kbi_max_i(x - radius, 1), n = kbi_min_i(x + radius, o->width - 2) - left + 1;
    int32_t top = kbi_max_i(y - radius, 1), bottom = kbi_min_i(y + radius, o->height - 2);
    float gauss[MAX_RADIUS + 1], across[MAX_WIDTH], value[MAX_WIDTH];
    int32_t bin[MAX_WIDTH];
    gaussian(gauss, radius, WIDTH * sigma);
    for (int32_t i = 0; i < n; i++) across[i] = gauss[left + i < x ? x - left - i : left + i - x];
    for (int32_t row = top; row <= bottom; row++) {
        const uint16_t *up = kbi_octave_row(o, layer, row - 1), *down = kbi_octave_row(o, layer, row + 1);
        float along = gauss[row < y ? y - row : row - y];
        kernels->direction_row(up + left, kbi_octave_row(o, layer, row) + left, down + left, n, across, along, bin,
                               value);
        add_row(histogram, bin, value, n);
    }
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
