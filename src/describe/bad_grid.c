/* SPDX-License-Identifier: Apache-2.0 */
/* BAD on a grid of samples, as our models have it (docs/bad.md): the weak descriptors of the paper (section III-A)
 *
 *     h(x; f, theta) = 1 if f(x) <= theta, else 0,      f(x) = mean of box 1 - mean of box 2
 *
 * with the region resampled first, so that boxes turn with the keypoint, and each box with a size of its own. Boxes
 * that several bits share are measured once. Means are in 1/128 gray level, as theta is here. */
#include "describe/boxes.h"

void kbi_bad_describe(const kbi_box_table *table, const uint8_t *grid, uint8_t *row)
{
    uint16_t sums[KBI_SUMS_WIDTH * KBI_SUMS_WIDTH], means[2 * KB_MAX_BITS];
    kbi_integrate(grid, NULL, table->grid.side, sums);
    for (int32_t i = 0; i < table->box_count; i++) {
        kbi_box box = table->boxes[i];
        means[i] = kbi_box_mean(sums, table->grid.side, box, table->grid, table->rules[box.radius]);
    }
    for (int32_t i = 0; i < table->bit_count; i += 8) {
        uint32_t byte = 0;
        for (const kbi_box_bit *h = table->bits + i, *end = h + 8; h < end; h++) {
            int32_t f = means[h->box1] - means[h->box2];
            byte = byte << 1 | (f <= h->threshold);
        }
        row[i / 8] = (uint8_t)byte;
    }
}
