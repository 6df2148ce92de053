/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of histogram.c. */
#ifndef KBI_HISTOGRAM_ROWS_H
#define KBI_HISTOGRAM_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

#define HISTOGRAM_ONE 65536 /* of an angle in bins */

/* -v where mask is -1, v where it is 0. */
static inline int32_t negated(int32_t v, int32_t mask) { return (v ^ mask) - mask; }

/* Adds n values to their bins. KBI_DIRECTION_TURNS histograms take turns, so that no addition waits for the last. */
static inline void direction_add(float histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS], const int32_t *bin,
                                 const float *value, int32_t n)
{
    int32_t i = 0;
    for (; i + KBI_DIRECTION_TURNS <= n; i += KBI_DIRECTION_TURNS)
        for (int32_t k = 0; k < KBI_DIRECTION_TURNS; k++) histogram[k][bin[i + k]] += value[i + k];
    for (int32_t k = 0; i + k < n; k++) histogram[k][bin[i + k]] += value[i + k];
}

/* With t = small / large of the two components of a gradient, the angle is a polynomial in t (error below 0.005
 * degrees) and the length large x sqrt(1 + t^2), also by a polynomial (error below 0.01 %). Which octant it is, is
 * decided on integers by masks, 0 or -1: no branch and no function, so that compilers make vectors of it. */
KBI_ROWS_HELPER void direction_row(const uint16_t *const row[3], int32_t step, int32_t n, const float *across,
                                   float along, int32_t *restrict bin, float *restrict value)
{
    const int32_t one = HISTOGRAM_ONE;
    for (int32_t i = 0; i < n; i++) {
        int32_t x = i * step, dx = row[1][x + 1] - row[1][x - 1];
        int32_t dy = row[0][x] - row[2][x]; /* counter-clockwise: it points up */
        int32_t left = -(dx < 0), below = -(dy < 0);
        int32_t ax = negated(dx, left), ay = negated(dy, below), steep = -(ax < ay);
        int32_t large = ax + ((ay - ax) & steep), small = ay + ((ax - ay) & steep);
        float t = (float)small / (float)(large + (large == 0)), q = t * t;
        int32_t a = (int32_t)(65536.0f * t * (5.7250734f + q * (-1.8401970f + q * (0.83803365f + q * -0.22337627f))));
        a = negated(a, steep) + (9 * one & steep);
        a = negated(a, left) + (18 * one & left);
        a = negated(a, below) + (36 * one & below);
        int32_t nearest = (a + one / 2) >> 16;
        bin[i] = nearest & -(nearest < KBI_DIRECTION_BINS);
        float length = (float)large * (1.0000821f + q * (0.49699507f + q * (-0.10725842f + q * 0.024476909f)));
        value[i] = along * across[i] * length;
    }
}

KBI_ROWS void KBI_ROWS_NAME(direction_rows)(const kbi_direction_region *region,
                                          float histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS])
{
    int32_t bin[KBI_DIRECTION_MOST];
    float value[KBI_DIRECTION_MOST];
    for (int32_t i = 0; i < region->count; i++) {
        const uint16_t *const *row = region->rows + i * region->step;
        direction_row(row, region->step, region->n, region->across, region->along[i], bin, value);
        direction_add(histogram, bin, value, region->n);
    }
}

#endif
