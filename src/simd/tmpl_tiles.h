/* SPDX-License-Identifier: Apache-2.0 */
/* A patch is sampled in tiles of 4x4 samples, and the pixels of a tile lie in a window of at most 8x8 at any rotation,
 * since samples are at most 1.4 px apart. This file finds the windows. Template over simd/vec.h.
 *
 * A patch whose windows would leave the level is sampled from a copy that repeats the border. */
#ifndef KBI_TMPL_TILES_H
#define KBI_TMPL_TILES_H

#include "describe/describe.h"
#include "simd/vec.h"

#define TILE         4
#define TILE_SAMPLES (TILE * TILE)
#define TILES        (KBI_PATCH_BYTES / TILE_SAMPLES) /* of a patch of 32x32 samples; of cells a quarter */
#define TILE_VECS    (TILE_SAMPLES / VEC_LANES)
#define TILES_ABREAST 16 /* tiles that are planned together, at most */
#define WINDOW       8
#define COPY_SIDE    64        /* 28 samples of at most sqrt(3) px, and a window: 57.5 */
#define MAX_STRIDE   (1 << 24) /* offsets within a region have 32 bits */

/* Positions have 16 fractional bits. */
typedef struct tile_plan {
    int32_t side;                     /* samples along a side of the patch: KB_PATCH_SIDE or KBI_CELLS_SIDE */
    int32_t first_x, first_y;         /* what decides the window of tile 0; each further tile is 4 samples on */
    int32_t left, top, right, bottom; /* pixels of the level that windows may touch; right and bottom are beyond */
    const uint8_t *data;              /* the pixel at (left, top), in the level or in a copy of the region */
    ptrdiff_t stride;
    int32_t offset[TILES];       /* of each tile: bytes from data to its window */
    uint32_t x[TILES], y[TILES]; /* and how far into the window's first pixel it begins, as the kernel wants it */
    uint8_t copy[COPY_SIDE * (COPY_SIDE + 1)];
} tile_plan;

/* The pixels that windows may touch: the tiles in the corners of the patch have the extremes. */
static void plan_region(const kbi_sampling *s, tile_plan *plan)
{
    int32_t far_x = (plan->side - TILE) * s->a, far_y = (plan->side - TILE) * s->b;
    plan->left = s->px + ((plan->first_x + kbi_min_i(0, far_x) + kbi_min_i(0, -far_y)) >> 16);
    plan->right = s->px + ((plan->first_x + kbi_max_i(0, far_x) + kbi_max_i(0, -far_y)) >> 16) + WINDOW;
    plan->top = s->py + ((plan->first_y + kbi_min_i(0, far_x) + kbi_min_i(0, far_y)) >> 16);
    plan->bottom = s->py + ((plan->first_y + kbi_max_i(0, far_x) + kbi_max_i(0, far_y)) >> 16) + WINDOW;
}

/* The region that the windows touch, the border of the level repeated; rows are COPY_SIDE apart. `from` and `to` bound
 * the columns that lie in the level, at least one where none does. */
#ifdef VEC_TABLE_64

/* A row is one vec: pixels of the level by a mask, which keeps the load from touching what lies beyond it. */
VEC_TARGET static void copy_rows(const uint8_t *data, ptrdiff_t stride, int32_t width, int32_t height, int32_t from,
                                 int32_t to, tile_plan *plan)
{
    const uint64_t left = ((uint64_t)1 << from) - 1, within = (~(uint64_t)0 >> (64 - to)) & ~left;
    uint8_t *copy = plan->copy;
    for (int32_t y = plan->top; y < plan->bottom; y++, copy += COPY_SIDE) {
        const uint8_t *row = data + kbi_clamp_i(y, 0, height - 1) * stride;
        vec border = _mm512_mask_set1_epi8(_mm512_set1_epi8((char)row[width - 1]), left, (char)row[0]);
        v_storeu(copy, _mm512_mask_loadu_epi8(border, within, row + plan->left));
    }
}

#else

static void copy_bytes(uint8_t *to, const uint8_t *from, int32_t n)
{
    int32_t i = 0;
    for (; i + 16 <= n; i += 16) memcpy(to + i, from + i, 16);
    if (n >= 16) memcpy(to + n - 16, from + n - 16, 16);
    else for (; i < n; i++) to[i] = from[i];
}

/* Most regions leave the level on one side only. Copies of constant size are fast: what they write beyond the right end
 * is overwritten by the next row, and the buffer has one more row for the last. */
static void copy_rows(const uint8_t *data, ptrdiff_t stride, int32_t width, int32_t height, int32_t from, int32_t to,
                      tile_plan *plan)
{
    uint8_t *copy = plan->copy;
    for (int32_t y = plan->top; y < plan->bottom; y++, copy += COPY_SIDE) {
        const uint8_t *row = data + kbi_clamp_i(y, 0, height - 1) * stride;
        if (from > 0) memset(copy, row[0], COPY_SIDE);
        copy_bytes(copy + from, row + plan->left + from, to - from);
        if (to < plan->right - plan->left) memset(copy + to, row[width - 1], COPY_SIDE);
    }
}

#endif

static void copy_region(const kbi_sampling *s, const kbi_pyramid *levels, tile_plan *plan)
{
    const int32_t width = levels->width[s->level], columns = plan->right - plan->left;
    copy_rows(levels->data[s->level], levels->stride[s->level], width, levels->height[s->level],
              kbi_clamp_i(-plan->left, 0, columns - 1), kbi_clamp_i(width - plan->left, 1, columns), plan);
    plan->data = plan->copy;
    plan->stride = COPY_SIDE;
}

static bool region_inside(const tile_plan *plan, const kbi_pyramid *levels, int32_t level)
{
    return plan->left >= 0 && plan->top >= 0 && plan->right <= levels->width[level] &&
           plan->bottom <= levels->height[level] && levels->stride[level] <= MAX_STRIDE;
}

/* All tiles; side, first_x and first_y are set. `fraction` converts positions, a vec of 32-bit lanes, to what x and y
 * store. */
VEC_INLINE void plan_tiles(const kbi_sampling *s, const kbi_pyramid *levels, vec (*fraction)(vec), tile_plan *plan)
{
    /* Samples from tile 0 to the tiles that are planned together, of rows of 8 tiles and of 4. */
    static const int32_t columns[2][TILES_ABREAST] = {{0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28},
                                                      {0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12}};
    static const int32_t rows[2][TILES_ABREAST] = {{0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4},
                                                   {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12}};
    plan_region(s, plan);
    if (region_inside(plan, levels, s->level)) {
        plan->stride = levels->stride[s->level];
        plan->data = levels->data[s->level] + plan->top * plan->stride + plan->left;
    } else {
        copy_region(s, levels, plan);
    }
    const int few = plan->side == KBI_CELLS_SIDE;
    const int32_t across = plan->side / TILE, tiles = across * across;
    const int32_t abreast = VEC_LANES / 2 > across ? VEC_LANES / 2 : across, down = TILE * abreast / across;
    const vec left = v_set32((uint32_t)(plan->left - s->px)), top = v_set32((uint32_t)(plan->top - s->py));
    const vec stride = v_set32((uint32_t)plan->stride), a = v_set32((uint32_t)s->a), b = v_set32((uint32_t)s->b);
    const vec step_x = v_set32((uint32_t)(-down * s->b)), step_y = v_set32((uint32_t)(down * s->a));
    for (int32_t j = 0; j < abreast; j += VEC_LANES / 2) {
        vec right = v_loadu(columns[few] + j), below = v_loadu(rows[few] + j);
        vec tile_x = v_add32(v_set32((uint32_t)plan->first_x), v_sub32(v_mul32(right, a), v_mul32(below, b)));
        vec tile_y = v_add32(v_set32((uint32_t)plan->first_y), v_add32(v_mul32(right, b), v_mul32(below, a)));
        for (int32_t k = j; k < tiles; k += abreast) {
            v_storeu(plan->x + k, fraction(tile_x));
            v_storeu(plan->y + k, fraction(tile_y));
            vec column = v_sub32(v_sar32(tile_x, 16), left), row = v_sub32(v_sar32(tile_y, 16), top);
            v_storeu(plan->offset + k, v_add32(v_mul32(row, stride), column));
            tile_x = v_add32(tile_x, step_x);
            tile_y = v_add32(tile_y, step_y);
        }
    }
}

#endif
