/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of resize.c. */
#ifndef KBI_RESIZE_ROWS_H
#define KBI_RESIZE_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

KBI_ROWS void KBI_ROWS_NAME(blend_rows)(const uint8_t *restrict a, const uint8_t *restrict b, int32_t width,
                                      int32_t weight, uint8_t *restrict out)
{
    uint16_t wb = (uint16_t)weight, wa = (uint16_t)(KBI_RESIZE_ONE - weight);
    for (int32_t i = 0; i < width; i++) {
        uint16_t sum = (uint16_t)((uint16_t)(a[i] * wa) + (uint16_t)(b[i] * wb) + KBI_RESIZE_ONE / 2);
        out[i] = (uint8_t)(sum / KBI_RESIZE_ONE);
    }
}

KBI_ROWS void KBI_ROWS_NAME(resize_row)(const uint8_t *restrict in, int32_t in_width, kbi_resize_map map, int32_t width,
                                      uint8_t *restrict out)
{
    (void)in_width;
    const int32_t *restrict index = map.index;
    const uint8_t *restrict weight = map.weight;
    for (int32_t i = 0; i < width; i++) {
        int32_t a = in[index[i]], b = in[index[i] + 1];
        out[i] = (uint8_t)(a + (((b - a) * weight[i] + KBI_RESIZE_ONE / 2) >> KBI_RESIZE_BITS)); /* >> rounds down */
    }
}

#endif
