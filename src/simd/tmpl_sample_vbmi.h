/* SPDX-License-Identifier: Apache-2.0 */
/* cut_tiles of tmpl_sample.h, which includes this, with the windows of tmpl_window_64.h: a row of tiles fills 128 bytes
 * of a patch, two vecs, or 64 bytes of cells. */
#include "simd/tmpl_window_64.h"

typedef struct two_tiles {
    vec index, fx, fy; /* of sample_plan */
} two_tiles;

/* Tiles `tile` and the next one; a lane for each of their samples, whose fractions are fx and fy. */
VEC_INLINE vec cut_two_tiles(const tile_plan *tiles, const two_tiles *c, vec fx, vec fy, int tile, int rows)
{
    vec first = v_window_64(tiles->data + tiles->offset[tile], tiles->stride, rows);
    vec second = v_window_64(tiles->data + tiles->offset[tile + 1], tiles->stride, rows);
    vec index = _mm512_mask_add_epi16(c->index, _mm512_cmpgt_epi16_mask(c->fx, fx), c->index, v_set(257));
    index = _mm512_mask_add_epi16(index, _mm512_cmpgt_epi16_mask(c->fy, fy), index, v_set(WINDOW * 257));
    vec weights = v_add(v_high_s(v_and(fx, v_set(0xfc00)), v_set(255 * 64)), v_set(32 * 257));
    vec t = _mm512_maddubs_epi16(_mm512_permutex2var_epi8(first, index, second), weights);
    index = v_add(index, v_set(WINDOW * 257)); /* the row below */
    vec b = _mm512_maddubs_epi16(_mm512_permutex2var_epi8(first, index, second), weights), difference = v_sub(b, t);
    vec slope = v_high_s(v_add(difference, difference), v_and(fy, v_set(0xfc00)));
    return v_mul_q15(v_add(v_add(t, b), slope), v_set(256));
}

/* Four tiles from `tile` on, 4 bytes per row of a tile: rows 0 and 1 of tiles 0 and 2, rows 2 and 3 of tiles 0 and 2,
 * rows 0 and 1 of tiles 1 and 3, ... fx and fy are the fractions of the first two tiles, and become the fractions of
 * the tiles behind the four. */
VEC_INLINE vec cut_four_tiles(const sample_plan *plan, const two_tiles *c, vec *fx, vec *fy, int tile, int rows)
{
    const vec step_x = v_set(2 * TILE * plan->a), step_y = v_set(2 * TILE * plan->b); /* modulo 1 px */
    vec two[2];
    VEC_UNROLL
    for (int k = 0; k < 2; k++) {
        two[k] = cut_two_tiles(&plan->tiles, c, *fx, *fy, tile + 2 * k, rows);
        *fx = v_add(*fx, step_x);
        *fy = v_add(*fy, step_y);
    }
    return _mm512_packus_epi16(two[0], two[1]);
}

VEC_INLINE void cut_tiles(const sample_plan *plan, int32_t side, int rows, uint8_t *patch)
{
    const vec cells = _mm512_setr_epi32(0, 8, 2, 10, 1, 9, 3, 11, 4, 12, 6, 14, 5, 13, 7, 15);
    const vec upper = _mm512_setr_epi32(0, 8, 2, 10, 16, 24, 18, 26, 1, 9, 3, 11, 17, 25, 19, 27);
    const two_tiles c = {v_loadu(plan->index), v_loadu(plan->fx), v_loadu(plan->fy)};
    const tile_plan *tiles = &plan->tiles;
    const int across = side / TILE;
    for (int tile = 0; tile < across * across; tile += across, patch += TILE * side) {
        vec fx = v_add(v_set_halves(tiles->x + tile), c.fx), fy = v_add(v_set_halves(tiles->y + tile), c.fy);
        vec left = cut_four_tiles(plan, &c, &fx, &fy, tile, rows);
        if (across == 4) {
            v_storeu(patch, _mm512_permutexvar_epi32(cells, left));
        } else {
            v_store_eight_tiles(left, cut_four_tiles(plan, &c, &fx, &fy, tile + 4, rows), upper, 4, patch);
        }
    }
}
