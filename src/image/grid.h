/* SPDX-License-Identifier: Apache-2.0 */
/* The grids of samples that regions are described by (docs/sampling.md): `side` samples along an axis, over the region
 * alone or over `octaves` of it, each half as wide as the one before.
 *
 *     side x octaves
 *     32 x 1   patch     HashSIFT, SIFT, and BAD by published tables
 *     16 x 1   cells     BAD: a sample is in the place of 2x2 samples of the patch, a cell of it
 *     16 x 4   octaves   BAG: 2x2 samples of an octave are a cell of the octave
 *
 * So boxes are on cells wherever the side is 16, and octaves are what tells BAG from BAD. Elsewhere a cell is always
 * one of a grid over an image, in which keypoints, points or places are found or spread. */
#ifndef KBI_GRID_H
#define KBI_GRID_H

#include "common/common.h"

typedef struct kbi_grid {
    int32_t side, octaves;
} kbi_grid;
#define KBI_GRID_PATCH ((kbi_grid){KB_PATCH_SIDE, 1})
#define KBI_GRID_CELLS ((kbi_grid){KBI_CELLS_SIDE, 1})
#define KBI_GRID_OCTAVES ((kbi_grid){KB_OCTAVE_SIDE, KB_OCTAVES})

#define KBI_PATCH_BYTES (KB_PATCH_SIDE * KB_PATCH_SIDE)
/* Cells of a patch. */
#define KBI_CELLS_SIDE (KB_PATCH_SIDE / 2)
#define KBI_CELLS (KBI_CELLS_SIDE * KBI_CELLS_SIDE)
/* Samples and cells of an octave. */
#define KBI_OCTAVE_BYTES (KB_OCTAVE_SIDE * KB_OCTAVE_SIDE)
#define KBI_OCTAVE_CELLS_SIDE (KB_OCTAVE_SIDE / 2)
#define KBI_OCTAVE_CELLS (KBI_OCTAVE_CELLS_SIDE * KBI_OCTAVE_CELLS_SIDE)

static inline bool kbi_has_octaves(kbi_grid grid) { return grid.octaves > 1; }
static inline bool kbi_on_cells(kbi_grid grid) { return grid.side == KBI_CELLS_SIDE; }

#endif
