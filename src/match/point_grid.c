/* SPDX-License-Identifier: Apache-2.0 */
#include "match/point_grid.h"

#include <math.h>

#define FAR 1e6f

static float coordinate(const float *first, size_t stride, int32_t i)
{
    return *(const float *)(const void *)((const uint8_t *)first + (size_t)i * stride);
}

/* The range of the coordinates that are finite and not very far away. */
static void extent_of(const float *first, size_t stride, int32_t n, float *low, float *extent)
{
    float min = FAR, max = -FAR;
    for (int32_t i = 0; i < n; i++) {
        float v = coordinate(first, stride, i);
        if (!(v > -FAR && v < FAR)) continue;
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    *low = min <= max ? min : 0;
    *extent = min <= max ? max - min + 1 : 1;
}

bool kbi_grid_build(kbi_point_grid *grid, const float *x, const float *y, size_t stride, int32_t n, float per_cell,
                    kb_workspace *workspace)
{
    size_t cells = 2 * (size_t)n + 2;
    int32_t *cell = kbi_workspace_array(workspace, (size_t)n, sizeof *cell);
    *grid = (kbi_point_grid){.columns = 1, .rows = 1};
    grid->start = kbi_workspace_array(workspace, cells + 2, sizeof *grid->start);
    grid->order = kbi_workspace_array(workspace, (size_t)n, sizeof *grid->order);
    if (!cell || !grid->start || !grid->order) return false;
    memset(grid->start, 0, (cells + 2) * sizeof *grid->start);
    if (n == 0) return true;

    float width, height;
    extent_of(x, stride, n, &grid->x0, &width);
    extent_of(y, stride, n, &grid->y0, &height);
    grid->inverse = sqrtf((float)n / (per_cell * width) / height);
    if (grid->inverse > 1) grid->inverse = 1;
    grid->columns = kbi_clamp_i((int32_t)(width * grid->inverse) + 1, 1, n);
    grid->rows = kbi_clamp_i((int32_t)(height * grid->inverse) + 1, 1, n / grid->columns + 1);
    for (int32_t i = 0; i < n; i++) {
        cell[i] = kbi_grid_cell(coordinate(y, stride, i), grid->y0, grid->inverse, grid->rows) * grid->columns +
                  kbi_grid_cell(coordinate(x, stride, i), grid->x0, grid->inverse, grid->columns);
        grid->start[cell[i] + 2]++;
    }
    for (int32_t c = 0; c < grid->columns * grid->rows; c++) grid->start[c + 2] += grid->start[c + 1];
    for (int32_t i = 0; i < n; i++) grid->order[grid->start[cell[i] + 1]++] = i;
    return true;
}

bool kbi_grid_measure(size_t n, kb_workspace *workspace)
{
    return kbi_workspace_get(workspace, n * sizeof(int32_t)) &&
           kbi_workspace_get(workspace, (2 * n + 4) * sizeof(int32_t)) &&
           kbi_workspace_get(workspace, n * sizeof(int32_t));
}
