/* SPDX-License-Identifier: Apache-2.0 */
/* Gaussian blur of 16-bit images in 16-bit arithmetic, the same on every machine.
 *
 * The kernel is separable and symmetric: rows (or columns) at equal distance are added first, then multiplied, and
 * only the upper half of the product is kept. That is one addition, one multiplication and one more addition a pair
 * of taps, for every 16-bit lane of a vector. Every product loses half a unit on average, which a constant gives
 * back; the remaining noise is about sqrt(taps) x 0.3 units of 1/128 gray level, far below the noise of any camera.
 *
 * Kernels end at 3 sigma. To make up for the cut they are widened until their variance is the wanted one, since
 * variances add up from layer to layer.
 *
 * A kernel that has a tap on every s-th pixel only passes frequencies near 2 pi / s, where a Gaussian
 * lets nothing through. An image that is blurred already has next to nothing there, so the wider its blur, the farther
 * apart the taps may be: three or four pairs are enough for each layer after the first two. */
#include <math.h>

#include "detect/blur_rows.h"
#include "detect/kernels.h"

#define MATCH_STEPS 4
#define MIN_MATCHED 0.6 /* px; narrower kernels are hardly more than one pixel and stay as they are */
#define STEP 1.65         /* of the two blurs in parallel: what the taps let through is below 0.001 of the image */

/* Half a Gaussian kernel of `radius` + 1 taps, value[0] being half the centre's; returns its variance. */
static double sample_gaussian(double *value, int32_t radius, int32_t step, double sigma)
{
    double sum = value[0] = 0.5, moment = 0;
    for (int32_t k = 1; k <= radius; k++) {
        double square = (double)k * step * k * step, power = 0.5 * square / (sigma * sigma);
        value[k] = power < 700 ? kbi_exp(-power) : 0;
        sum += value[k];
        moment += value[k] * square;
    }
    for (int32_t k = 0; k <= radius; k++) value[k] /= sum;
    return moment / sum;
}

void kbi_blur_plan(kbi_blur *blur, double sigma, double before)
{
    int32_t step = kbi_max_i((int32_t)(STEP * sigma * before / sqrt(sigma * sigma + before * before)), 1);
    int32_t radius = kbi_clamp_i((int32_t)(3 * sigma / step + 0.5), 1, (KBI_BLUR_MAX_TAPS - 1) / step), rest = 32768;
    double value[KBI_BLUR_MAX_TAPS], wider = sigma, variance = sample_gaussian(value, radius, step, sigma);
    for (int32_t i = 0; i < MATCH_STEPS && sigma >= MIN_MATCHED; i++) {
        wider *= sigma / sqrt(variance);
        variance = sample_gaussian(value, radius, step, wider);
    }
    for (int32_t k = 1; k <= radius; k++) {
        blur->weight[k] = (uint16_t)(32768 * value[k] + 0.5);
        rest -= blur->weight[k];
    }
    blur->weight[0] = (uint16_t)rest;
    blur->taps = radius + 1;
    blur->step = step;
    blur->reach = radius * step;
}

void kbi_blur_across(const kbi_detect_kernels *kernels, const kbi_blur *blur, int32_t width, uint16_t *row,
                     uint16_t *out)
{
    const uint16_t *a[KBI_BLUR_MAX_TAPS], *b[KBI_BLUR_MAX_TAPS];
    for (int32_t k = 1; k <= blur->reach; k++) {
        row[-k] = row[kbi_mirrored(-k, width)];
        row[width - 1 + k] = row[kbi_mirrored(width - 1 + k, width)];
    }
    for (int32_t k = 0; k < blur->taps; k++) {
        a[k] = row - k * blur->step;
        b[k] = row + k * blur->step;
    }
    kernels->blur_pairs(a, b, blur, width, out);
}

void kbi_blur_image(const kbi_detect_kernels *kernels, const uint16_t *in, uint16_t *out, int32_t width, int32_t height,
                    ptrdiff_t stride, const kbi_blur *blur, uint16_t *row)
{
    const uint16_t *a[KBI_BLUR_MAX_TAPS], *b[KBI_BLUR_MAX_TAPS];
    for (int32_t y = 0; y < height; y++) {
        for (int32_t k = 0; k < blur->taps; k++) {
            a[k] = in + kbi_mirrored(y - k * blur->step, height) * stride;
            b[k] = in + kbi_mirrored(y + k * blur->step, height) * stride;
        }
        kernels->blur_pairs(a, b, blur, width, row + KBI_BLUR_MAX_TAPS);
        kbi_blur_across(kernels, blur, width, row + KBI_BLUR_MAX_TAPS, out + y * stride);
    }
}
