/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of tiles for VPERMB, which looks 64 bytes up in a table of 64: the window of a tile is one register, and one
 * instruction finds the pixels of all its samples. Two tiles share a vec, one in each half. Template over
 * simd/vec.h. */
#ifndef KBI_TMPL_WINDOW_64_H
#define KBI_TMPL_WINDOW_64_H

#include "simd/vec.h"

#define UPPER_HALF_32 0xff00 /* of 16 lanes */

/* The first `rows` of 8 rows of 8 bytes. One merged load after the other needs no shuffles. */
VEC_INLINE vec v_window_64(const uint8_t *p, ptrdiff_t stride, int rows)
{
    vec window = v_zero();
    VEC_UNROLL
    for (int i = 0; i < rows; i++, p += stride) {
        __m128i row = _mm_loadl_epi64((const __m128i *)(const void *)p);
        window = i ? _mm512_mask_broadcastq_epi64(window, (__mmask8)(1 << i), row) : _mm512_castsi128_si512(row);
    }
    return window;
}

/* The first number in the lower half, the second in the upper one, in every lane of 32 bits. */
VEC_INLINE vec v_set_halves(const uint32_t two[2])
{
    return _mm512_mask_set1_epi32(_mm512_set1_epi32((int)two[0]), UPPER_HALF_32, (int)two[1]);
}

/* Rows of eight tiles, 128 bytes of the patch. `left` has the first four tiles and `right` the others, 4 bytes per row
 * of a tile; `upper` is the place of the upper rows; the lower ones follow `next` further. */
VEC_INLINE void v_store_eight_tiles(vec left, vec right, vec upper, int next, uint8_t *patch)
{
    v_storeu(patch, _mm512_permutex2var_epi32(left, upper, right));
    v_storeu(patch + sizeof(vec), _mm512_permutex2var_epi32(left, v_add32(upper, _mm512_set1_epi32(next)), right));
}

/* 32 bytes for both halves. */
VEC_INLINE vec v_each32(const void *p)
{
    return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)p));
}

#endif
