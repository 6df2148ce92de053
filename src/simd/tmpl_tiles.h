/* SPDX-License-Identifier: Apache-2.0 */
/* A patch is sampled in tiles of 4x4 samples, and the pixels of a tile lie in a window of at most 8x8 at any rotation,
 * since samples are at most 1.4 px apart. This file finds the windows. Template over simd/vec.h.
 *
 * A patch whose windows would leave the level and its margin is sampled from a copy that repeats the border. */
#ifndef KBI_TMPL_TILES_H
#define KBI_TMPL_TILES_H

#include "describe/describe.h"
#include "simd/vec.h"

#define TILE         4
#define TILE_SAMPLES (TILE * TILE)
#define TILES        (KBI_PATCH_BYTES / TILE_SAMPLES) /* of a patch of 32x32 samples; of cells a quarter */
#define TILE_VECS    (TILE_SAMPLES / VEC_LANES)
#define WINDOW       8
#define COPY_SIDE    64 /* twice PATCH_REACH */
#define MAX_STRIDE   (1 << 24) /* offsets within a region have 32 bits */
#define PATCH_REACH  32        /* pixels that windows touch to any side of the keypoint's, at most */
#define GRID_REACH   20        /* and of a grid of 16x16 */

/* Positions have 16 fractional bits. */
typedef struct tile_plan {
    int32_t reach;                /* as PATCH_REACH */
    int32_t dx[TILES], dy[TILES]; /* of each tile: from kbi_sampling's (x, y) to what decides the window */
    const uint8_t *data;          /* the keypoint's pixel, in the level or in a copy of the region */
    ptrdiff_t stride;
    int32_t offset[TILES];       /* of each tile: bytes from data to its window */
    uint32_t x[TILES], y[TILES]; /* and, in both halves, how far into the window's first pixel it begins */
    uint8_t copy[COPY_SIDE * (COPY_SIDE + 1)];
} tile_plan;

/* 1 << bits tiles in a row, as seen from the first one. */
VEC_INLINE void plan_rows(int bits, int32_t a, int32_t b, int32_t first_x, int32_t first_y, tile_plan *plan)
{
    static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const vec right_x = v_set32((uint32_t)(TILE * a)), right_y = v_set32((uint32_t)(TILE * b));
    vec number = v_loadu(numbers);
    for (int k = 0; k < 1 << 2 * bits; k += VEC_LANES / 2, number = v_add32(number, v_set32(VEC_LANES / 2))) {
        vec j = v_and(number, v_set32(((uint32_t)1 << bits) - 1)), i = v_shr32(number, bits);
        vec x = v_sub32(v_mul32(j, right_x), v_mul32(i, right_y));
        vec y = v_add32(v_mul32(j, right_y), v_mul32(i, right_x));
        v_storeu(plan->dx + k, v_add32(x, v_set32((uint32_t)first_x)));
        v_storeu(plan->dy + k, v_add32(y, v_set32((uint32_t)first_y)));
    }
}

/* The tiles of grids with these steps; least_x and least_y lead from a tile's first sample to what decides its window.
 * To the left and above, windows reach as far as half a diagonal of samples; beyond it by 8 px less a tile's diagonal
 * on the other sides, where the tile ends with the samples. */
VEC_TARGET static void plan_steps(int32_t side, int32_t a, int32_t b, int32_t least_x, int32_t least_y,
                                  tile_plan *plan)
{
    const int32_t half = side / 2, diagonal = (a < 0 ? -a : a) + (b < 0 ? -b : b); /* of a step */
    plan->reach = kbi_max_i((half * diagonal >> 16) + 2, ((half - TILE + 1) * diagonal >> 16) + WINDOW + 2);
    least_x += half * b - half * a;
    least_y -= half * a + half * b;
    if (side == KB_PATCH_SIDE) plan_rows(3, a, b, least_x, least_y, plan);
    else plan_rows(2, a, b, least_x, least_y, plan);
}

static void copy_bytes(uint8_t *to, const uint8_t *from, int32_t n)
{
    for (int32_t i = 0; i + 16 <= n; i += 16) memcpy(to + i, from + i, 16);
    if (n >= 16) memcpy(to + n - 16, from + n - 16, 16);
    else memcpy(to, from, (size_t)n);
}

/* The region that windows touch, the border of the level repeated; rows are COPY_SIDE apart. Copies of constant size
 * are fast: what they write beyond the right end is overwritten by the next row, and the buffer has one more row for
 * the last. */
static void copy_region(const kbi_sampling *s, const kbi_pyramid *levels, tile_plan *plan)
{
    const int32_t width = levels->width[s->level], last = levels->height[s->level] - 1, reach = plan->reach;
    const int32_t left = s->px - reach, columns = 2 * reach;
    const int32_t from = kbi_clamp_i(-left, 0, columns - 1), to = kbi_clamp_i(width - left, from + 1, columns);
    uint8_t *copy = plan->copy;
    for (int32_t y = s->py - reach; y < s->py + reach; y++, copy += COPY_SIDE) {
        const uint8_t *row = levels->data[s->level] + kbi_clamp_i(y, 0, last) * levels->stride[s->level];
        if (from > 0) memset(copy, row[0], COPY_SIDE);
        copy_bytes(copy + from, row + left + from, to - from);
        if (to < columns) memset(copy + to, row[width - 1], COPY_SIDE);
    }
    plan->data = plan->copy + reach * COPY_SIDE + reach;
    plan->stride = COPY_SIDE;
}

static bool region_inside(const kbi_sampling *s, const kbi_pyramid *levels, int32_t reach)
{
    const int32_t beyond = reach - levels->margin[s->level];
    return s->px >= beyond && s->py >= beyond && s->px + beyond <= levels->width[s->level] &&
           s->py + beyond <= levels->height[s->level] && levels->stride[s->level] <= MAX_STRIDE;
}

/* All tiles of a region, whose steps are planned. */
VEC_INLINE void plan_tiles(const kbi_sampling *s, int32_t side, const kbi_pyramid *levels, tile_plan *plan)
{
    if (region_inside(s, levels, plan->reach)) {
        plan->stride = levels->stride[s->level];
        plan->data = levels->data[s->level] + s->py * plan->stride + s->px;
    } else {
        copy_region(s, levels, plan);
    }
    const vec x = v_set32((uint32_t)s->x), y = v_set32((uint32_t)s->y), stride = v_set32((uint32_t)plan->stride);
    for (int32_t k = 0; k < side * side / TILE_SAMPLES; k += VEC_LANES / 2) {
        vec tile_x = v_add32(x, v_loadu(plan->dx + k)), tile_y = v_add32(y, v_loadu(plan->dy + k));
        v_storeu(plan->x + k, v_low_twice(tile_x));
        v_storeu(plan->y + k, v_low_twice(tile_y));
        v_storeu(plan->offset + k, v_add32(v_mul32(v_sar32(tile_y, 16), stride), v_sar32(tile_x, 16)));
    }
}

#endif
