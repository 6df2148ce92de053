/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling patches by bilinear interpolation: the arithmetic of kbi_sample_patch (src/image/sampling.c), in the
 * tiles of simd/tmpl_tiles.h. Template over simd/vec.h.
 *
 * Scattered loads are slow, so the window of a tile is loaded into registers (7 rows are enough for most) and
 * shuffles look the pixels up.
 *
 * Within a tile every sample is at a fixed offset from the window's corner, the min floor of the positions of its
 * samples. Kept as whole and fraction, the sum of two fractions is again 16 bits, and its carry moves the sample to
 * the next pixel. Fractions are kept with their highest bit flipped, so that signed compares tell the carry and s =
 * floor(fraction / 1024) is fx - 32.
 *
 * Blending: with t and b the upper and lower pair, each weighted along x (times 64), and s = fy - 32 the sample is
 *     floor((t (64 - fy) + b fy + 2048) / 4096) = floor((t + b + floor((b - t) s / 32) + 64) / 128),
 * which stays in 16 bits. */
#ifndef KBI_TMPL_SAMPLE_H
#define KBI_TMPL_SAMPLE_H

#include "simd/tmpl_tiles.h"
#include "simd/tmpl_upright.h"

#ifndef VEC_LEAST_ROWS
#    define VEC_LEAST_ROWS 7
#endif
#define PLAN_LANES (VEC_LANES > TILE_SAMPLES ? VEC_LANES : TILE_SAMPLES)

typedef struct sample_plan {
    tile_plan tiles;
    /* Of each sample of a tile, against the window's corner: the fraction, its highest bit flipped, which is also what
     * a sum of fractions stays below when it has a carry; and two bytes, the pixel in the window and the one to its
     * right. With wider vectors of two tiles, whose windows are side by side. */
    uint16_t fx[PLAN_LANES], fy[PLAN_LANES], index[PLAN_LANES];
    int32_t rows; /* of a window, VEC_LEAST_ROWS to 8 */
    int32_t a, b; /* steps from sample to sample, as in kbi_sampling */
} sample_plan;

/* ---- plan ---- */

/* What the steps from sample to sample decide, which the octaves of a keypoint mostly share. */
VEC_TARGET static void cut_plan_steps(int32_t side, int32_t a, int32_t b, sample_plan *plan)
{
    const int32_t reach = TILE - 1;
    const int32_t least_x = kbi_min_i(0, reach * a) + kbi_min_i(0, -reach * b);
    const int32_t least_y = kbi_min_i(0, reach * b) + kbi_min_i(0, reach * a);
    const int32_t spread = reach * ((a < 0 ? -a : a) + (b < 0 ? -b : b)) + 65535;
    plan->rows = kbi_max_i((spread >> 16) + 2, VEC_LEAST_ROWS);
    plan->a = a;
    plan->b = b;
    for (int32_t k = 0; k < PLAN_LANES; k++) {
        int32_t i = k / TILE % TILE, j = k % TILE, x = j * a - i * b - least_x, y = j * b + i * a - least_y;
        int32_t first = VEC_WINDOW_FIRST + k / TILE_SAMPLES * WINDOW * WINDOW;
        plan->fx[k] = (uint16_t)(x ^ 0x8000);
        plan->fy[k] = (uint16_t)(y ^ 0x8000);
        plan->index[k] = (uint16_t)((first + (y >> 16) * WINDOW + (x >> 16)) * 257 + 256);
    }
    plan_steps(side, a, b, least_x, least_y, &plan->tiles);
}

/* ---- sample ---- */

#ifdef VEC_TABLE_64
#    include "simd/tmpl_sample_vbmi.h"
#else

/* Where samples lie in the window of their tile, and the weights of their pixels. */
typedef struct cut_places {
    vec index, weights, slope;
} cut_places;

VEC_INLINE cut_places find_places(const sample_plan *plan, int k, int tile)
{
    vec first_x = v_loadu(plan->fx + k), fx = v_add(v_set32(plan->tiles.x[tile]), first_x);
    vec first_y = v_loadu(plan->fy + k), fy = v_add(v_set32(plan->tiles.y[tile]), first_y);
    vec step_x = v_gt(first_x, fx), step_y = v_gt(first_y, fy);
    return (cut_places){v_add8(v_sub8(v_loadu(plan->index + k), step_x), v_and(step_y, v_set(WINDOW * 257))),
                        v_add(v_high_s(v_and(fx, v_set(0xfc00)), v_set(255 * 64)), v_set(32 * 257)),
                        v_and(fy, v_set(0xfc00))};
}

VEC_INLINE vec cut_samples(const cut_places *places, const vec_window *window, int rows)
{
    vec upper, lower;
    v_window_at(window, places->index, rows, &upper, &lower);
    vec t = v_dot8(upper, places->weights), b = v_dot8(lower, places->weights), difference = v_sub(b, t);
    vec slope = v_high_twice(difference, places->slope);
    return v_mul_q15(v_add(v_add(t, b), slope), v_set(256));
}

/* Tiles whose places are found before any lookup, which would wait for its own otherwise. */
#ifndef VEC_TILES_AHEAD
#    define VEC_TILES_AHEAD 4
#endif

VEC_INLINE void cut_tiles(const sample_plan *plan, int32_t side, int rows, uint8_t *patch)
{
    const tile_plan *tiles = &plan->tiles;
    const int across = side / TILE;
    for (int tile = 0, column = 0; tile < across * across; tile += 4) {
        cut_places places[VEC_TILES_AHEAD * TILE_VECS];
        vec samples[4 * TILE_VECS];
        VEC_UNROLL
        for (int first = 0; first < 4; first += VEC_TILES_AHEAD) {
            VEC_UNROLL
            for (int v = 0; v < VEC_TILES_AHEAD * TILE_VECS; v++)
                places[v] = find_places(plan, v % TILE_VECS * VEC_LANES, tile + first + v / TILE_VECS);
            VEC_UNROLL
            for (int k = 0; k < VEC_TILES_AHEAD; k++) {
                int at = tile + first + k;
                vec_window window = v_window(tiles->data + tiles->offset[at], tiles->stride, rows);
                VEC_UNROLL
                for (int v = k * TILE_VECS; v < (k + 1) * TILE_VECS; v++)
                    samples[first * TILE_VECS + v] = cut_samples(&places[v], &window, rows);
            }
        }
        v_store_tiles(samples, patch + column, side);
        column += 4 * TILE;
        if (column < side) continue;
        column = 0;
        patch += TILE * side;
    }
}

#endif

/* With 512 bits a side that is a constant saves a tenth of the work on 16x16 samples, since their tiles are one vec. */
VEC_INLINE void cut_patch_of(const kbi_sampling *s, int32_t side, const kbi_pyramid *levels, sample_plan *plan,
                             uint8_t *patch)
{
    if (plan->a != s->a || plan->b != s->b) cut_plan_steps(side, s->a, s->b, plan);
    plan_tiles(s, side, levels, &plan->tiles);
    if (VEC_LEAST_ROWS == 6 && plan->rows == 6) cut_tiles(plan, side, 6, patch);
    else if (plan->rows == 7) cut_tiles(plan, side, 7, patch);
    else cut_tiles(plan, side, 8, patch);
}

VEC_TARGET static void cut_patch(const kbi_sampling *s, int32_t side, const kbi_pyramid *levels, sample_plan *plan,
                                 uint8_t *patch)
{
#ifdef VEC_TABLE_64
    if (side == KBI_CELLS_SIDE) {
        cut_patch_of(s, KBI_CELLS_SIDE, levels, plan, patch);
        return;
    }
    side = KB_PATCH_SIDE;
#endif
    cut_patch_of(s, side, levels, plan, patch);
}

/* Vectors of 512 bits bring nothing there. WebAssembly, where every byte is downloaded, does without. */
#if defined(KBI_VEC_AVX512)
#    define UPRIGHT kbi_sample_upright_avx2
#elif !defined(KBI_VEC_WASM)
#    define UPRIGHT KERNEL(sample_upright)
#endif

VEC_KERNEL void KERNEL(sample)(const kbi_sampling *s, int32_t n, kbi_grid grid, const kbi_pyramid *levels,
                               uint8_t *grids)
{
    const size_t bytes = (size_t)(grid.side * grid.side), octaves = (size_t)grid.octaves, count = (size_t)n;
    sample_plan plan;
    plan.a = plan.b = INT32_MAX; /* of no region */
    for (size_t i = 0; i < count; i++) {
        uint8_t *to = grids + i * bytes;
        for (size_t k = 0; k < octaves; k++, s++, to += count * bytes)
#ifdef UPRIGHT
            if (upright_serves(s, levels)) UPRIGHT(s, grid.side, levels, to);
            else
#endif
                cut_patch(s, grid.side, levels, &plan, to);
    }
}

#endif
