/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* The next level of a pyramid, row by row, by bilinear interpolation with weights of 1/128: first two rows become
 * one, then its pixels are blended pairwise. A pixel's weight is rounded once when the map is made, so every variant
 * of the rows gives the same bytes. */
#include "detect/resize_rows.h"

int32_t kbi_resize_place(int32_t i, double factor, int32_t larger, uint8_t *weight)
{
    double place = (i + 0.5) * factor - 0.5;
    int32_t fixed = (int32_t)(place * KBI_RESIZE_ONE + 0.5);
    fixed = kbi_clamp_i(fixed, 0, (larger - 1) * KBI_RESIZE_ONE);
    int32_t index = kbi_min_i(fixed / KBI_RESIZE_ONE, kbi_max_i(larger - 2, 0));
    *weight = (uint8_t)(fixed - index * KBI_RESIZE_ONE);
    return index;
}

void kbi_resize_plan(kbi_resize_map map, int32_t from, int32_t n, double factor, int32_t larger)
{
    for (int32_t i = from, first = map.pair ? from - from % map.group : 0; i < n; i++) {
        int32_t index = map.index[i] = kbi_resize_place(i, factor, larger, &map.weight[i]);
        if (!map.pair) continue;
        if (i == first + map.group) first = i;
        int32_t offset = index - map.index[first], weight = map.weight[i]; /* below twice a group */
        bool between = weight > 0 && weight < KBI_RESIZE_ONE;
        map.pair[2 * i] = (uint8_t)(offset + (weight == KBI_RESIZE_ONE));
        map.pair[2 * i + 1] = (uint8_t)(offset + (weight > 0));
        map.mix[2 * i] = (uint8_t)(between ? KBI_RESIZE_ONE - weight : KBI_RESIZE_ONE / 2);
        map.mix[2 * i + 1] = (uint8_t)(between ? weight : KBI_RESIZE_ONE / 2);
    }
}
