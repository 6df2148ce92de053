/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The first step of describing: keypoints in the order of work. Neighbours come one after the other, so that their
 * pixels are still in the cache, whichever level they lie in: a counting sort by block of the image. */
#include "describe/steps.h"

#define BLOCK_WIDTH 64
#define BLOCK_HEIGHT 32
#define REFUSED      UINT32_MAX
#define ENDLESS      64 /* levels, more than the widest region has */

kb_status kbi_order_get(kbi_order *order, const kb_image *image, size_t keypoints, kb_workspace *workspace)
{
    if (keypoints > UINT32_MAX / 2) return KB_E_ARGUMENT; /* keypoints are numbered by 32 bits */
    order->across = (uint32_t)image->width / BLOCK_WIDTH + 1;
    order->blocks = order->across * ((uint32_t)image->height / BLOCK_HEIGHT + 1);
    order->keypoints = kbi_workspace_array(workspace, 2 * keypoints + order->blocks + 1, sizeof *order->keypoints);
    return order->keypoints ? KB_OK : KB_E_MEMORY;
}

static uint32_t block_of(const kbi_order *order, const kb_keypoint *k)
{
    /* A keypoint may lie half a pixel outside. */
    return (uint32_t)(k->y > 0 ? k->y : 0) / BLOCK_HEIGHT * order->across +
           (uint32_t)(k->x > 0 ? k->x : 0) / BLOCK_WIDTH;
}

/* The levels of all octaves, given what would be the levels of first octaves if there were ENDLESS: an octave is half
 * as wide as the one before it, which is two levels. */
static uint32_t levels_of_octaves(uint64_t first, int32_t octaves, int32_t count)
{
    uint32_t bits = 0;
    for (int32_t level = 0; level < ENDLESS; level++)
        for (int32_t k = 0; k < octaves && first >> level & 1; k++)
            bits |= (uint32_t)1 << kbi_clamp_i(level - 2 * k, 0, count - 1);
    return bits;
}

/* The block of a keypoint, or REFUSED. */
static uint32_t place_keypoint(const kbi_order *order, const kbi_regions *regions, size_t i, const kbi_pyramid *levels,
                               const kbi_rows *rows, uint8_t *flags, uint64_t *first_octaves)
{
    const kb_keypoint *k = &regions->keypoints[i];
    const double width = regions->width_scale * (double)k->size;
    const uint8_t refused = kbi_keypoint_check(k, width, levels->width[0], levels->height[0]);
    if (refused) {
        if (flags) flags[i] = refused;
        kbi_rows_clear(rows, i);
        return REFUSED;
    }
    const double step = kbi_grid_share(regions->grid) / regions->grid.side * width;
    *first_octaves |= (uint64_t)1 << kbi_pyramid_level_for(step, ENDLESS);
    return block_of(order, k);
}

void kbi_order_fill(kbi_order *order, const kbi_regions *regions, const kbi_pyramid *levels, const kbi_rows *rows,
                    uint8_t *flags)
{
    const size_t n = regions->n;
    uint32_t *block = order->keypoints + n, *start = block + n; /* of every keypoint; of every block in the list */
    memset(start, 0, (order->blocks + 1) * sizeof *start);
    uint64_t first_octaves = 0;
    for (size_t i = 0; i < n; i++) {
        block[i] = place_keypoint(order, regions, i, levels, rows, flags, &first_octaves);
        if (block[i] != REFUSED) start[block[i] + 1]++;
    }
    order->levels = levels_of_octaves(first_octaves, regions->grid.octaves, levels->count);
    for (size_t b = 0; b < order->blocks; b++) start[b + 1] += start[b];
    order->count = start[order->blocks];
    for (size_t i = 0; i < n; i++)
        if (block[i] != REFUSED) order->keypoints[start[block[i]]++] = (uint32_t)i;
}
