/* SPDX-License-Identifier: Apache-2.0 */
/* Means of boxes on a square of values, by its integral image: what BAD on a grid and BAG share.
 *
 * Sums are kept modulo 2^16, and the sum of a box is below it: 15 x 15 bytes sum to at most 57375, 8 x 8 cells of
 * gradient to at most 65280. So means are exact but for their truncation, and differences of means fit 16 bits. */
#ifndef KBI_DESCRIBE_BOXES_H
#define KBI_DESCRIBE_BOXES_H

#include "describe/describe.h"

/* (side + 1)^2 sums of the values, which are bytes or words; the other pointer is NULL. */
static inline void kbi_integrate(const uint8_t *bytes, const uint16_t *words, int32_t side, uint16_t *sums)
{
    const int32_t width = side + 1;
    memset(sums, 0, (size_t)(width + 1) * sizeof *sums);
    for (int32_t y = 0, i = 0; y < side; y++) {
        uint16_t *to = sums + (y + 1) * width + 1, run = 0;
        for (int32_t x = 0; x < side; x++, i++) {
            run = (uint16_t)(run + (words ? words[i] : bytes[i]));
            to[x] = (uint16_t)(to[x - width] + run);
        }
        to[-1] = 0;
    }
}

static inline uint16_t kbi_box_mean(const uint16_t *sums, int32_t side, kbi_box box, kbi_grid grid, kbi_mean_rule rule)
{
    kbi_box_span span = kbi_box_span_of(box, grid);
    const uint16_t *top = sums + span.top * (side + 1), *bottom = sums + span.bottom * (side + 1);
    uint16_t sum = (uint16_t)(bottom[span.right] - bottom[span.left] - top[span.right] + top[span.left]);
    return (uint16_t)(((uint32_t)sum << rule.shift) * rule.factor >> 16);
}

#endif
