/* SPDX-License-Identifier: Apache-2.0 */
/* Points sorted into the cells of a grid, so that the neighbours of a place are found in constant time. */
#ifndef KBI_MATCH_POINT_GRID_H
#define KBI_MATCH_POINT_GRID_H

#include "common/common.h"

typedef struct kbi_point_grid {
    float x0, y0, inverse; /* origin and 1 / cell size */
    int32_t columns, rows;
    int32_t *start; /* points of cell c are order[start[c]] to order[start[c + 1] - 1], by index */
    int32_t *order;
} kbi_point_grid;

/* Sorts n points (fewer than 2^25) into at most 2 n + 2 cells, about per_cell points each; points that are not finite
 * go to cells at the border. Coordinates of consecutive points lie `stride` bytes apart. False when memory is out. */
bool kbi_grid_build(kbi_point_grid *grid, const float *x, const float *y, size_t stride, int32_t n, float per_cell,
                    kb_workspace *workspace);

/* Takes the memory of a grid with the largest number of cells (kbi_workspace_measure). */
bool kbi_grid_measure(size_t n, kb_workspace *workspace);

/* The column (or row) of a coordinate, inside the grid for every number, NaN too. */
static inline int32_t kbi_grid_cell(float place, float origin, float inverse, int32_t cells)
{
    float cell = (place - origin) * inverse;
    return cell >= (float)cells ? cells - 1 : cell > 0 ? (int32_t)cell : 0;
}

#endif
