/* SPDX-License-Identifier: Apache-2.0 */
/* The third step of describing: grids of samples, from regions of an image or from ready patches. */
#include "describe/steps.h"

bool kbi_batch_get(kbi_batch *batch, int32_t capacity, int32_t side, kb_workspace *workspace)
{
    size_t n = (size_t)capacity;
    *batch = (kbi_batch){.grids = kbi_workspace_array(workspace, n, (size_t)kbi_grid_bytes(side)),
                         .samplings = kbi_workspace_array(workspace, n, sizeof *batch->samplings),
                         .regions = kbi_workspace_array(workspace, n, sizeof *batch->regions)};
    return batch->grids && batch->samplings && batch->regions;
}

void kbi_batch_sample(kbi_batch *batch, const kbi_image_kernels *kernels, int32_t side, const kbi_pyramid *levels)
{
    if (batch->sampled < batch->filled)
        kernels->sample(batch->samplings + batch->sampled, batch->filled - batch->sampled, side, levels,
                        batch->grids + batch->sampled * kbi_grid_bytes(side));
    batch->sampled = batch->filled;
}

size_t kbi_ready_bytes(kbi_grid grid, int32_t side)
{
    return (size_t)kbi_grid_bytes(side) * (side == grid.side ? (size_t)kbi_grid_octaves(grid) : 1);
}

void kbi_ready_grids(kbi_grid grid, const uint8_t *patch, int32_t side, uint8_t *const grids[KB_OCTAVES])
{
    uint8_t all[KBI_PATCH_BYTES];
    if (kbi_has_octaves(grid)) {
        if (side != grid.side) kbi_patch_octaves(patch, side, all), patch = all;
        for (int32_t k = 0; k < KB_OCTAVES; k++) memcpy(grids[k], patch + k * KBI_OCTAVE_BYTES, KBI_OCTAVE_BYTES);
    } else if (!kbi_on_cells(grid)) {
        kbi_patch_shrink(patch, side, grids[0]);
    } else {
        if (side != KB_PATCH_SIDE) kbi_patch_shrink(patch, side, all), patch = all;
        kbi_patch_cells(patch, grids[0]);
    }
}
