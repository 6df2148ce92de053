/* SPDX-License-Identifier: Apache-2.0 */
/* The second step of describing: regions in the order of work. Neighbours come one after the other, so that their
 * pixels are still in the cache: a counting sort by pass of the pyramid, octave, level and block of the level. */
#include "describe/steps.h"

#define BLOCK_WIDTH 64
#define BLOCK_HEIGHT 32

static size_t blocks_across(const kbi_pyramid *levels, int32_t level)
{
    return (size_t)levels->width[level] / BLOCK_WIDTH + 1;
}

kb_status kbi_order_get(kbi_order *order, const kbi_regions *regions, const kbi_pyramid *levels,
                        kb_workspace *workspace)
{
    const int32_t passes = kbi_pyramid_passes(levels), each = KBI_PYRAMID_LEVELS / passes;
    size_t blocks = 0;
    for (int32_t pass = 0; pass < passes; pass++) {
        order->pass_block[pass] = blocks;
        for (int32_t octave = 0; octave < kbi_grid_octaves(regions->grid); octave++)
            for (int32_t i = pass * each; i < (pass + 1) * each; i++) {
                int32_t level = kbi_pyramid_level_at(i);
                order->level_block[octave][level] = blocks;
                blocks += blocks_across(levels, level) * ((size_t)levels->height[level] / BLOCK_HEIGHT + 1);
            }
    }
    order->pass_block[passes] = blocks;
    order->regions = kbi_workspace_array(workspace, regions->count + blocks + 1, sizeof *order->regions);
    return order->regions ? KB_OK : KB_E_MEMORY;
}

static size_t block_of(const kbi_order *order, const kbi_regions *regions, const kbi_pyramid *levels, size_t region)
{
    /* A centre may lie half a pixel outside. */
    const kbi_sampling *s = &regions->samplings[region];
    size_t x = (size_t)kbi_max_i(s->px, 0) / BLOCK_WIDTH, y = (size_t)kbi_max_i(s->py, 0) / BLOCK_HEIGHT;
    return order->level_block[kbi_region_octave(regions, region)][s->level] + y * blocks_across(levels, s->level) + x;
}

void kbi_order_fill(kbi_order *order, const kbi_regions *regions, const kbi_pyramid *levels)
{
    const int32_t passes = kbi_pyramid_passes(levels);
    const size_t blocks = order->pass_block[passes];
    uint32_t *start = order->regions + regions->count; /* of every block in the list */
    memset(start, 0, (blocks + 1) * sizeof *start);
    order->wanted = 0;
    for (size_t i = 0; i < regions->count; i++) {
        if (regions->samplings[i].level < 0) continue;
        start[block_of(order, regions, levels, i) + 1]++;
        order->wanted |= (uint32_t)1 << regions->samplings[i].level;
    }
    for (size_t b = 0; b < blocks; b++) start[b + 1] += start[b];
    for (int32_t p = 0; p <= passes; p++) order->first[p] = start[order->pass_block[p]];
    for (size_t i = 0; i < regions->count; i++)
        if (regions->samplings[i].level >= 0)
            order->regions[start[block_of(order, regions, levels, i)]++] = (uint32_t)i;
}
