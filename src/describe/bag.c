/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* BAG on one octave (docs/bag.md): the weak descriptors of BAD (bad_grid.c) with the gray values of a box replaced
 * by one of eight channels of gradient, and theta by a multiple of the octave's mean gradient, so that contrast
 * cancels.
 *
 * Channels: central differences (gx, gy) of the samples. Every gradient is split on the two of eight directions that
 * bound it: with major = max(|gx|, |gy|) and minor = min(|gx|, |gy|) the direction along an axis gets major - minor,
 * the diagonal one sqrt(2) minor; as vectors the two add up to the gradient. The root is left to the rule of the
 * mean (kbi_mean_rule_of), so that channels are differences and minima of bytes. Four samples, 2x2, are a cell. The
 * mean gradient is the mean of major. */
#include "describe/boxes.h"

#define SIDE KB_OCTAVE_SIDE

/* What a sample adds to the eight channels: E, SE, S, SW, W, NW, N, NE, clockwise on screen. */
static void split_gradient(int32_t gx, int32_t gy, uint16_t *cell)
{
    int32_t east = kbi_max_i(gx, 0), west = kbi_max_i(-gx, 0), south = kbi_max_i(gy, 0), north = kbi_max_i(-gy, 0);
    int32_t ax = east + west, ay = south + north;
    const int32_t parts[KB_CHANNELS - 1] = {kbi_max_i(east - ay, 0),  kbi_min_i(east, south), kbi_max_i(south - ax, 0),
                                            kbi_min_i(west, south),   kbi_max_i(west - ay, 0), kbi_min_i(west, north),
                                            kbi_max_i(north - ax, 0), kbi_min_i(east, north)};
    for (int c = 0; c < KB_CHANNELS - 1; c++)
        cell[c * KBI_OCTAVE_CELLS] = (uint16_t)(cell[c * KBI_OCTAVE_CELLS] + parts[c]);
}

void kbi_channels_of(const uint8_t *samples, kbi_channels *g)
{
    uint32_t sum = 0;
    memset(g, 0, sizeof *g);
    for (int y = 0; y < SIDE; y++) {
        const uint8_t *here = samples + y * SIDE, *up = y ? here - SIDE : here,
                      *down = y < SIDE - 1 ? here + SIDE : here;
        for (int x = 0; x < SIDE; x++) {
            int32_t gx = here[x < SIDE - 1 ? x + 1 : x] - here[x ? x - 1 : 0], gy = down[x] - up[x];
            sum += (uint32_t)kbi_max_i(gx < 0 ? -gx : gx, gy < 0 ? -gy : gy);
            split_gradient(gx, gy, &g->cells[0][y / 2 * KBI_OCTAVE_CELLS_SIDE + x / 2]);
        }
    }
    g->contrast = kbi_contrast(sum);
}

void kbi_bag_describe(const kbi_box_table *table, const uint8_t *samples, uint8_t *row)
{
    uint16_t sums[KBI_OCTAVE_SUMS_WIDTH * KBI_OCTAVE_SUMS_WIDTH], means[2 * KB_MAX_BITS];
    kbi_channels g;
    kbi_channels_of(samples, &g);
    for (int32_t c = 1; c < KB_CHANNELS; c++) {
        kbi_integrate(NULL, g.cells[c - 1], KBI_OCTAVE_CELLS_SIDE, sums);
        for (int32_t i = table->channel_start[c]; i < table->channel_start[c + 1]; i++) {
            kbi_box box = table->boxes[i];
            means[i] = kbi_box_mean(sums, KBI_OCTAVE_CELLS_SIDE, box, KBI_GRID_OCTAVES,
                                    table->rules[kbi_mean_rule_index(box)]);
        }
    }
    for (int32_t i = 0; i < table->bit_count; i += 8) {
        uint32_t byte = 0;
        for (const kbi_box_bit *h = table->bits + i, *end = h + 8; h < end; h++) {
            int32_t f = means[h->box1] - means[h->box2];
            byte = byte << 1 | (f <= kbi_threshold_at(h->threshold, g.contrast));
        }
        row[i / 8] = (uint8_t)byte;
    }
}
