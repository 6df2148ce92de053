/* The plan of pixels and pairs_tiles of tmpl_sample_two_tap.h, which includes this, with the windows of
 * tmpl_window_64.h. */
#include "simd/tmpl_window_64.h"

VEC_INLINE vec pairs_fraction(vec position)
{
    return _mm512_mullo_epi32(v_and(v_shr32(position, 11), v_set32(31)), v_set32(0x01010101));
}

/* Offsets in 1/32 px of the samples (i, j) of a tile from its corner, along one axis: kbi_tile_offset in lanes. */
VEC_INLINE vec pairs_offsets(vec i, vec j, int32_t down, int32_t right)
{
    return v_sar(v_add(v_add(v_mul(i, v_set(down)), v_mul(j, v_set(right))), v_set(16)), 5);
}

/* index and carries, the first pixels of the 16 samples and then the second ones. */
VEC_INLINE void pairs_plan_pixels(const kbi_tile_step *step, int32_t least_x, int32_t least_y, two_tap_plan *plan)
{
    const vec i = _mm512_setr_epi64(0, 0x0001000100010001, 0x0002000200020002, 0x0003000300030003, 0,
                                    0x0001000100010001, 0x0002000200020002, 0x0003000300030003);
    const vec j = _mm512_set1_epi64(0x0003000200010000);
    vec second = _mm512_inserti64x4(v_zero(), _mm256_set1_epi16(1), 1);
    vec odd = v_and(v_xor(v_xor(i, j), second), v_set(1));
    vec x = v_add(v_add(pairs_offsets(i, j, -step->b, step->a), v_shl(second, 4)), v_set(-least_x));
    vec y = v_add(v_add(pairs_offsets(i, j, step->a, step->b), v_shl(odd, 4)), v_set(-least_y));
    vec index = v_add(v_shl(v_shr(y, 5), 3), v_shr(x, 5));
    _mm256_storeu_si256((__m256i *)(void *)plan->index, _mm512_cvtepi16_epi8(index));
    _mm256_storeu_si256((__m256i *)(void *)plan->carry_x, _mm512_cvtepi16_epi8(v_andnot(x, v_set(31))));
    _mm256_storeu_si256((__m256i *)(void *)plan->carry_y, _mm512_cvtepi16_epi8(v_andnot(y, v_set(31))));
}

typedef struct two_pairs {
    vec index, carry_x, carry_y; /* of two_tap_plan, for two tiles */
} two_pairs;

/* Tiles `tile` and the next one: of each the first pixels of its 16 samples, then the second ones. */
VEC_INLINE vec pairs_two_tiles(const two_tap_plan *plan, const two_pairs *c, int tile, int rows)
{
    const tile_plan *tiles = &plan->tiles;
    __mmask64 step_x = _mm512_cmpgt_epi8_mask(v_set_halves(tiles->x + tile), c->carry_x);
    __mmask64 step_y = _mm512_cmpgt_epi8_mask(v_set_halves(tiles->y + tile), c->carry_y);
    vec index = _mm512_mask_add_epi8(c->index, step_x, c->index, _mm512_set1_epi8(1));
    index = _mm512_mask_add_epi8(index, step_y, index, _mm512_set1_epi8(WINDOW));
    vec first = v_window_64(tiles->data + tiles->offset[tile], tiles->stride, rows);
    vec second = v_window_64(tiles->data + tiles->offset[tile + 1], tiles->stride, rows);
    return _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(index, first), UPPER_HALF_8, index, second);
}

/* The samples of four tiles. */
VEC_INLINE vec pairs_means(vec a, vec b)
{
    return _mm512_avg_epu8(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

VEC_INLINE void pairs_tiles(const two_tap_plan *plan, int rows, uint8_t *patch)
{
    const vec upper = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const two_pairs c = {v_each32(plan->index), v_each32(plan->carry_x), v_each32(plan->carry_y)};
    for (int tile = 0; tile < TILES; tile += TILES_SIDE, patch += TILE * KB_PATCH_SIDE) {
        vec two[TILES_SIDE / 2];
        VEC_UNROLL
        for (int k = 0; k < TILES_SIDE / 2; k++) two[k] = pairs_two_tiles(plan, &c, tile + 2 * k, rows);
        v_store_eight_tiles(pairs_means(two[0], two[1]), pairs_means(two[2], two[3]), upper, 2, patch);
    }
}
