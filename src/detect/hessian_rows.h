/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of hessian.c. */
#ifndef KBI_HESSIAN_ROWS_H
#define KBI_HESSIAN_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

#define PEAKS_BLOCK 32

/* out[i] = 128 times the pixel row[i] blurred along its column. */
KBI_ROWS_HELPER void blur_columns(const uint8_t *restrict row, ptrdiff_t stride, int32_t width, uint16_t *restrict out)
{
    const uint8_t *restrict a1 = row - stride, *restrict a2 = a1 - stride, *restrict a3 = a2 - stride;
    const uint8_t *restrict b1 = row + stride, *restrict b2 = b1 + stride, *restrict b3 = b2 + stride;
    const uint8_t *restrict a4 = a3 - stride, *restrict b4 = b3 + stride;
    for (int32_t i = 0; i < width; i++) {
        uint16_t one = (uint16_t)(a1[i] + b1[i]), two = (uint16_t)(a2[i] + b2[i]);
        uint16_t three = (uint16_t)(a3[i] + b3[i]), four = (uint16_t)(a4[i] + b4[i]);
        out[i] = (uint16_t)(KBI_HESSIAN_W0 * row[i] + KBI_HESSIAN_W1 * one + KBI_HESSIAN_W2 * two +
                            KBI_HESSIAN_W3 * three + KBI_HESSIAN_W4 * four);
    }
}

/* Only the upper half of a product is kept. What all pixels lose by that on average, no difference of them has. */
static inline uint16_t hessian_part(uint16_t both, uint16_t weight)
{
    return (uint16_t)((uint32_t)both * weight >> 16);
}

KBI_ROWS_HELPER void blur_across(const uint16_t *restrict p, int32_t width, uint16_t *restrict out)
{
    const uint16_t *restrict a1 = kbi_row_apart(p - 1), *restrict b1 = kbi_row_apart(p + 1);
    const uint16_t *restrict a2 = kbi_row_apart(p - 2), *restrict b2 = kbi_row_apart(p + 2);
    const uint16_t *restrict a3 = kbi_row_apart(p - 3), *restrict b3 = kbi_row_apart(p + 3);
    const uint16_t *restrict a4 = kbi_row_apart(p - 4), *restrict b4 = kbi_row_apart(p + 4);
    for (int32_t i = 0; i < width; i++)
        out[i] = (uint16_t)(hessian_part(p[i], 512 * KBI_HESSIAN_W0) +
                            hessian_part((uint16_t)(a1[i] + b1[i]), 512 * KBI_HESSIAN_W1) +
                            hessian_part((uint16_t)(a2[i] + b2[i]), 512 * KBI_HESSIAN_W2) +
                            hessian_part((uint16_t)(a3[i] + b3[i]), 512 * KBI_HESSIAN_W3) +
                            hessian_part((uint16_t)(a4[i] + b4[i]), 512 * KBI_HESSIAN_W4));
}

KBI_ROWS void KBI_ROWS_NAME(hessian_blur)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                                         uint16_t *const out[2])
{
    for (int32_t i = 0; i < 2; i++, row += stride) {
        blur_columns(row - KBI_HESSIAN_BLUR, stride, width + 2 * KBI_HESSIAN_BLUR, columns);
        blur_across(columns + KBI_HESSIAN_BLUR, width, out[i]);
    }
}

KBI_ROWS void KBI_ROWS_NAME(hessian_row)(const uint16_t *restrict above, const uint16_t *restrict middle,
                                        const uint16_t *restrict below, int32_t width, int32_t *restrict out)
{
    const uint16_t *restrict left = kbi_row_apart(middle - 1), *restrict right = kbi_row_apart(middle + 1);
    const uint16_t *restrict above_left = kbi_row_apart(above - 1), *restrict above_right = kbi_row_apart(above + 1);
    const uint16_t *restrict below_left = kbi_row_apart(below - 1), *restrict below_right = kbi_row_apart(below + 1);
    for (int32_t i = 0; i < width; i++) {
        int16_t xx = (int16_t)(left[i] + right[i] - 2 * middle[i]);
        int16_t yy = (int16_t)(above[i] + below[i] - 2 * middle[i]);
        int16_t xy = (int16_t)((int16_t)(above_left[i] + below_right[i] - above_right[i] - below_left[i]) >> 2);
        out[i] = xx * yy - xy * xy;
    }
}

static inline bool hessian_peak(const int32_t *above, const int32_t *middle, const int32_t *below)
{
    int32_t v = middle[0];
    return v > above[-1] && v > above[0] && v > above[1] && v > middle[-1] && v >= middle[1] && v >= below[-1] &&
           v >= below[0] && v >= below[1];
}

KBI_ROWS int32_t KBI_ROWS_NAME(hessian_peaks)(const int32_t *above, const int32_t *middle, const int32_t *below,
                                             int32_t width, int32_t limit, uint16_t *x)
{
    int32_t count = 0;
    for (int32_t at = 1; at < width - 1; at += PEAKS_BLOCK) {
        int32_t n = kbi_min_i(width - 1 - at, PEAKS_BLOCK), max = limit - 1;
        if (n == PEAKS_BLOCK)
            for (int32_t i = 0; i < PEAKS_BLOCK; i++) max = middle[at + i] > max ? middle[at + i] : max;
        if (n == PEAKS_BLOCK && max < limit) continue;
        for (int32_t i = at; i < at + n; i++)
            if (middle[i] >= limit && hessian_peak(above + i, middle + i, below + i)) x[count++] = (uint16_t)i;
    }
    return count;
}

#endif
