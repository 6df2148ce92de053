/* SPDX-License-Identifier: Apache-2.0 */
/* The first step of describing: the regions of keypoints. */
#include "describe/steps.h"

kb_status kbi_regions_get(kbi_regions *regions, kbi_grid grid, size_t keypoints, kb_workspace *workspace)
{
    if (keypoints > UINT32_MAX / KB_OCTAVES) return KB_E_ARGUMENT; /* regions are numbered by 32 bits */
    regions->grid = grid;
    regions->count = keypoints * (size_t)kbi_grid_octaves(grid);
    regions->samplings = kbi_workspace_array(workspace, regions->count, sizeof *regions->samplings);
    return regions->samplings ? KB_OK : KB_E_MEMORY;
}

static void plan_piece(void *context, int32_t piece)
{
    const kbi_plan *p = context;
    uint8_t flags[KBI_BATCH];
    size_t end = kbi_piece(p->n, p->pieces, piece + 1), octaves = (size_t)kbi_grid_octaves(p->regions->grid);
    for (size_t i = kbi_piece(p->n, p->pieces, piece); i < end; i += KBI_BATCH) {
        size_t n = end - i < KBI_BATCH ? end - i : KBI_BATCH;
        kbi_sampling *samplings = p->regions->samplings + i * octaves;
        p->kernels->plan(p->keypoints + i, (int32_t)n, p->width_scale, p->regions->grid, p->levels, samplings, flags);
        if (p->flags) memcpy(p->flags + i, flags, n);
        for (size_t k = 0; k < n; k++)
            if (samplings[k * octaves].level < 0) kbi_rows_clear(p->rows, i + k);
    }
}

void kbi_plan_regions(kbi_plan *plan, const kb_parallel *parallel)
{
    kbi_parallel_run(parallel, plan->pieces, plan_piece, plan);
}
