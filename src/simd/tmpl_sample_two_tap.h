/* Sampling patches whose samples are means of two pixels: the arithmetic of kbi_sample_patch_two_tap
 * (src/image/sampler.c), in the tiles of simd/tmpl_tiles.h. Template over simd/vec.h.
 *
 * Positions are in 1/32 px, so that one within a window fits a byte. A sample's two pixels are at fixed offsets from
 * the tile: with f how far the tile begins into the window's first pixel (0 to 31) and r the offset, the pixel is
 *     (f + r) >> 5 = (r >> 5) + (f > 31 - (r & 31)),
 * along both axes: two compares make the index, and shuffles look the pixels up. */
#ifndef KBI_TMPL_SAMPLE_TWO_TAP_H
#define KBI_TMPL_SAMPLE_TWO_TAP_H

#include "simd/tmpl_tiles.h"

#define PAIR_PIXELS (2 * TILE_SAMPLES)

typedef struct two_tap_plan {
    tile_plan tiles; /* x and y: the fraction in all four bytes */
    /* of each pixel of a tile, the first ones of the 16 samples and the second ones, together by v_pack8 */
    uint8_t index[PAIR_PIXELS];                         /* in the window, if nothing is carried */
    uint8_t carry_x[PAIR_PIXELS], carry_y[PAIR_PIXELS]; /* carried for fractions above */
    int32_t rows;                                       /* of a window, 6 or 7 */
} two_tap_plan;

#ifdef VEC_TABLE_64
#    include "simd/tmpl_sample_two_tap_vbmi.h"
#else

/* ---- plan ---- */

VEC_INLINE vec pairs_fraction(vec position)
{
    static const uint8_t four_times[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
    return v_lookup16(v_and(v_shr32(position, 11), v_set32(31)), v_each16(four_times));
}

/* Offsets in 1/32 px of sample (i, j) of a tile from its corner, along one axis: kbi_tile_offset in lanes. */
VEC_INLINE vec pairs_offsets(vec i, vec j, int32_t down, int32_t right)
{
    return v_sar(v_add(v_add(v_mul(i, v_set(down)), v_mul(j, v_set(right))), v_set(16)), 5);
}

/* index and carries; least_x and least_y: the least offsets, which belong to the corner of the window. */
VEC_INLINE void pairs_plan_pixels(const kbi_tile_step *step, int32_t least_x, int32_t least_y, two_tap_plan *plan)
{
    static const uint16_t rows[TILE_SAMPLES] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
    static const uint16_t columns[TILE_SAMPLES] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    vec index[2 * TILE_VECS], carry_x[2 * TILE_VECS], carry_y[2 * TILE_VECS];
    VEC_UNROLL
    for (int k = 0; k < 2 * TILE_VECS; k++) {
        int at = k % TILE_VECS * VEC_LANES, second = k / TILE_VECS;
        vec i = v_loadu(rows + at), j = v_loadu(columns + at), odd = v_and(v_xor(i, j), v_set(1));
        vec x = v_add(pairs_offsets(i, j, -step->b, step->a), v_set(16 * second - least_x));
        vec y = v_add(pairs_offsets(i, j, step->a, step->b), v_set(-least_y));
        y = v_add(y, v_shl(second ? v_xor(odd, v_set(1)) : odd, 4));
        index[k] = v_add(v_add(v_shl(v_shr(y, 5), 3), v_shr(x, 5)), v_set(VEC_WINDOW_FIRST));
        carry_x[k] = v_andnot(x, v_set(31));
        carry_y[k] = v_andnot(y, v_set(31));
    }
    VEC_UNROLL
    for (int k = 0; k < TILE_VECS; k++) {
        v_storeu(plan->index + 2 * k * VEC_LANES, v_pack8(index[2 * k], index[2 * k + 1]));
        v_storeu(plan->carry_x + 2 * k * VEC_LANES, v_pack8(carry_x[2 * k], carry_x[2 * k + 1]));
        v_storeu(plan->carry_y + 2 * k * VEC_LANES, v_pack8(carry_y[2 * k], carry_y[2 * k + 1]));
    }
}

/* The places of the pixels from k on of a tile in its window. */
VEC_INLINE vec pairs_places(const two_tap_plan *plan, int k, int tile)
{
    vec step_x = v_gt8(v_set32(plan->tiles.x[tile]), v_loadu(plan->carry_x + k));
    vec step_y = v_gt8(v_set32(plan->tiles.y[tile]), v_loadu(plan->carry_y + k));
    return v_add8(v_sub8(v_loadu(plan->index + k), step_x), v_and(step_y, v_set(WINDOW * 257)));
}

VEC_INLINE void pairs_tiles(const two_tap_plan *plan, int rows, uint8_t *patch)
{
    const tile_plan *tiles = &plan->tiles;
    for (int row = 0; row < TILES; row += TILES_SIDE, patch += TILE * KB_PATCH_SIDE)
        for (int tile = row; tile < row + TILES_SIDE; tile += 4) {
            vec pixels[4 * TILE_VECS];
            VEC_UNROLL
            for (int k = 0; k < 4; k++) {
                vec_window window = v_window(tiles->data + tiles->offset[tile + k], tiles->stride, rows);
                VEC_UNROLL
                for (int v = 0; v < TILE_VECS; v++)
                    pixels[k * TILE_VECS + v] =
                        v_window_one(&window, pairs_places(plan, v * 2 * VEC_LANES, tile + k), rows);
            }
            v_store_pairs(pixels, patch + (tile - row) * TILE);
        }
}

#endif

VEC_TARGET static void plan_pairs(const kbi_sampling *s, const kbi_pyramid *levels, two_tap_plan *plan)
{
    int32_t reach = TILE - 1, half = KB_PATCH_SIDE / 2;
    kbi_tile_step step = kbi_tile_step_of(s);
    /* Rounding keeps the order, so the corners of the tile have the extremes. */
    int32_t least_x = kbi_tile_offset(step.b > 0 ? reach : 0, step.a < 0 ? reach : 0, -step.b, step.a);
    int32_t least_y = kbi_tile_offset(step.a < 0 ? reach : 0, step.b < 0 ? reach : 0, step.a, step.b);
    int32_t most_y = kbi_tile_offset(step.a > 0 ? reach : 0, step.b > 0 ? reach : 0, step.a, step.b);
    pairs_plan_pixels(&step, least_x, least_y, plan);
    plan->rows = (31 + most_y - least_y + 16) / 32 < 6 ? 6 : 7;
    plan->tiles.first_x = s->x + 512 - half * s->a + half * s->b + 2048 * (least_x + 8);
    plan->tiles.first_y = s->y + 512 - half * s->b - half * s->a + 2048 * (least_y + 8);
    plan_tiles(s, levels, pairs_fraction, &plan->tiles);
}

VEC_TARGET static void cut_pairs_patch(const kbi_sampling *s, const kbi_pyramid *levels, uint8_t *patch)
{
    two_tap_plan plan;
    plan_pairs(s, levels, &plan);
    if (plan.rows == 6)
        pairs_tiles(&plan, 6, patch);
    else
        pairs_tiles(&plan, 7, patch);
}

VEC_TARGET static void sample_two_tap_simd(const kbi_sampling *samplings, int32_t n, const kbi_pyramid *levels,
                                       uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++) cut_pairs_patch(&samplings[i], levels, patches + (size_t)i * KBI_PATCH_BYTES);
}

#endif
