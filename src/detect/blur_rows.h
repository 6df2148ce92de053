/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of blur.c. */
#ifndef KBI_BLUR_ROWS_H
#define KBI_BLUR_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

static inline uint16_t weighted(uint16_t a, uint16_t b, uint16_t weight)
{
    return (uint16_t)((uint32_t)(uint16_t)(a + b) * weight >> 16);
}

/* Several pairs at a time, so that the sums stay in registers meanwhile. The first three start from `start`, the others
 * add. */
KBI_ROWS_HELPER void first_three(const uint16_t *const *a, const uint16_t *const *b, const uint16_t *w, uint16_t start,
                               int32_t width, uint16_t *restrict out)
{
    const uint16_t *restrict a0 = a[0], *restrict a1 = a[1], *restrict a2 = a[2];
    const uint16_t *restrict b1 = b[1], *restrict b2 = b[2];
    for (int32_t i = 0; i < width; i++)
        out[i] = (uint16_t)(start + weighted(a0[i], a0[i], w[0]) + weighted(a1[i], b1[i], w[1]) +
                            weighted(a2[i], b2[i], w[2]));
}

KBI_ROWS_HELPER void add_two(const uint16_t *const *a, const uint16_t *const *b, const uint16_t *w, int32_t width,
                              uint16_t *restrict out)
{
    const uint16_t *restrict a0 = a[0], *restrict a1 = a[1], *restrict b0 = b[0], *restrict b1 = b[1];
    for (int32_t i = 0; i < width; i++)
        out[i] = (uint16_t)(out[i] + weighted(a0[i], b0[i], w[0]) + weighted(a1[i], b1[i], w[1]));
}

KBI_ROWS_HELPER void add_one(const uint16_t *restrict a, const uint16_t *restrict b, uint16_t w, int32_t width,
                            uint16_t *restrict out)
{
    for (int32_t i = 0; i < width; i++) out[i] = (uint16_t)(out[i] + weighted(a[i], b[i], w));
}

KBI_ROWS void KBI_ROWS_NAME(blur_pairs)(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur,
                                      int32_t width, uint16_t *out)
{
    uint16_t start = (uint16_t)(blur->taps / 2);
    int32_t k = 0;
    if (blur->taps >= 3) {
        first_three(a, b, blur->weight, start, width, out);
        k = 3;
    } else {
        for (int32_t i = 0; i < width; i++) out[i] = start;
    }
    for (; k + 2 <= blur->taps; k += 2) add_two(a + k, b + k, blur->weight + k, width, out);
    for (; k < blur->taps; k++) add_one(a[k], b[k], blur->weight[k], width, out);
}

#endif
