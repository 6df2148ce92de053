/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* The main direction of a region: the peak of its smoothed histogram of gradient directions.
 *
 * The gray of the region is averaged over blocks of 4x4 px of the level in which a keypoint is 31 px wide, and smoothed
 * by 1 2 1: coarse gradients are stable ones. Each gradient g votes for its direction phi with its length, under a
 * Gaussian window. The histogram of these votes, smoothed by a Gaussian of 35 degrees, is to a good approximation its
 * first three circular harmonics: with c_k the sum of w |g| exp(i k phi),
 *
 *     h(theta) = sum over k = 1, 2, 3 of exp(-(k 35 degrees)^2 / 2) Re(c_k exp(-i k theta)).
 *
 * So there is no histogram: six sums are enough, and |g| exp(i k phi) comes from products of g with its unit vector.
 * The first harmonic alone would be the mean gradient. h is looked at in 32 directions; a parabola through a peak and
 * its neighbours gives the place in between. */
#include "detect/gradient_rows.h"

#define DIRECTIONS KBI_GRADIENT_DIRECTIONS
#define STEP (360.0f / DIRECTIONS)

float kbi_gradient_angle(const float h[DIRECTIONS], int32_t t)
{
    float before = h[(t + DIRECTIONS - 1) & (DIRECTIONS - 1)], after = h[(t + 1) & (DIRECTIONS - 1)];
    float curve = before - 2 * h[t] + after, shift = curve < 0 ? 0.5f * (before - after) / curve : 0;
    float angle = STEP * ((float)t + shift);
    if (angle < 0) angle += 360.0f;
    return angle < 360.0f ? angle : 0.0f;
}

void kbi_gradient_peaks(const float h[DIRECTIONS], int32_t first, kbi_gradient_direction *out)
{
    int32_t second = -1;
    for (int32_t t = 0; t < DIRECTIONS; t++) {
        bool peak = h[t] > h[(t + DIRECTIONS - 1) & (DIRECTIONS - 1)] && h[t] >= h[(t + 1) & (DIRECTIONS - 1)];
        if (peak && t != first && (second < 0 || h[t] > h[second])) second = t;
    }
    *out = (kbi_gradient_direction){.angle = kbi_gradient_angle(h, first)};
    if (!(h[first] > 0)) return; /* flat */
    float ratio = second >= 0 && h[second] > 0 ? h[second] / h[first] : 0;
    out->second = second >= 0 ? kbi_gradient_angle(h, second) : out->angle;
    out->confidence = 1 - ratio;
}
