/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of tiles for VPERMI2B, which looks 64 bytes up in a table of 128: the window of a tile is one register, and
 * one instruction finds a pixel and its neighbour of all samples of two tiles. Two tiles share a vec, one in each half.
 * Template over simd/vec.h. */
#ifndef KBI_TMPL_WINDOW_64_H
#define KBI_TMPL_WINDOW_64_H

#include "simd/vec.h"

VEC_INLINE __m256i v_repeat64(const uint8_t *p)
{
    return _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

/* The first `rows` of 8 rows of 8 bytes. Loads that repeat a row need no shuffle, and blends of 256 bits run on all
 * ports, so this takes half the time of a chain of merging loads of 512 bits. */
VEC_INLINE __m256i v_window_half(const uint8_t *p, ptrdiff_t stride, int rows)
{
    __m256i half = _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(const void *)p));
    half = _mm256_blend_epi32(half, v_repeat64(p + stride), 0x0c);
    if (rows > 2) half = _mm256_blend_epi32(half, v_repeat64(p + 2 * stride), 0x30);
    return rows > 3 ? _mm256_blend_epi32(half, v_repeat64(p + 3 * stride), 0xc0) : half;
}
VEC_INLINE vec v_window_64(const uint8_t *p, ptrdiff_t stride, int rows)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(v_window_half(p, stride, 4)),
                              v_window_half(p + 4 * stride, stride, rows - 4), 1);
}

/* The first number in the lower half, the second in the upper one, in every lane of 32 bits. */
VEC_INLINE vec v_set_halves(const uint32_t two[2])
{
    const vec halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    long long both;
    memcpy(&both, two, sizeof both);
    return _mm512_permutexvar_epi32(halves, _mm512_set1_epi64(both));
}

/* Rows of eight tiles, 128 bytes of the patch. `left` has the first four tiles and `right` the others, 4 bytes per row
 * of a tile; `upper` is the place of the upper rows; the lower ones follow `next` further. */
VEC_INLINE void v_store_eight_tiles(vec left, vec right, vec upper, int next, uint8_t *patch)
{
    v_storeu(patch, _mm512_permutex2var_epi32(left, upper, right));
    v_storeu(patch + sizeof(vec), _mm512_permutex2var_epi32(left, v_add32(upper, _mm512_set1_epi32(next)), right));
}

#endif
