/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The third step of describing for ready patches; regions of an image are sampled by a kernel (image/kernels.h). */
#include "describe/steps.h"

size_t kbi_ready_bytes(kbi_grid grid, int32_t side)
{
    return (size_t)(side * side) * (side == grid.side ? (size_t)grid.octaves : 1);
}

static void ready_octaves(const uint8_t *patch, int32_t n, int32_t side, uint8_t *grids)
{
    uint8_t octaves[KB_OCTAVES * KBI_OCTAVE_BYTES];
    if (side != KB_OCTAVE_SIDE) kbi_patch_octaves(patch, side, octaves), patch = octaves;
    for (int32_t k = 0; k < KB_OCTAVES; k++)
        memcpy(grids + k * n * KBI_OCTAVE_BYTES, patch + k * KBI_OCTAVE_BYTES, KBI_OCTAVE_BYTES);
}

static void ready_cells(const uint8_t *patch, int32_t side, uint8_t *cells)
{
    uint8_t whole[KBI_PATCH_BYTES];
    if (side != KB_PATCH_SIDE) kbi_patch_shrink(patch, side, whole), patch = whole;
    kbi_patch_cells(patch, cells);
}

void kbi_ready_grids(kbi_grid grid, const uint8_t *patches, int32_t n, int32_t side, uint8_t *grids)
{
    const size_t bytes = kbi_ready_bytes(grid, side);
    for (int32_t i = 0; i < n; i++, patches += bytes, grids += grid.side * grid.side)
        if (kbi_has_octaves(grid)) ready_octaves(patches, n, side, grids);
        else if (kbi_on_cells(grid)) ready_cells(patches, side, grids);
        else kbi_patch_shrink(patches, side, grids);
}
