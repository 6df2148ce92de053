/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for AVX-512: 32 lanes, with what the kernels of kernels_avx512.c use. */
#ifndef KBI_VEC_AVX512_H
#define KBI_VEC_AVX512_H

#include "simd/vec_avx512_target.h"

#define VEC_LANES    32
#define VEC_INLINE   VEC_TARGET __attribute__((always_inline, unused)) static inline
#define VEC_OP(name) _mm512_##name

typedef __m512i vec;
#include "simd/vec_lanes.h"

VEC_INLINE vec v_loadu_quarters(const void *a, const void *b, const void *c, const void *d)
{
    const __m128i *p[4] = {a, b, c, d};
    vec low = _mm512_inserti32x4(_mm512_castsi128_si512(_mm_loadu_si128(p[0])), _mm_loadu_si128(p[1]), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(low, _mm_loadu_si128(p[2]), 2), _mm_loadu_si128(p[3]), 3);
}
VEC_INLINE void v_storeu_quarters(void *a, void *b, void *c, void *d, vec all)
{
    _mm_storeu_si128(a, _mm512_castsi512_si128(all));
    _mm_storeu_si128(b, _mm512_extracti32x4_epi32(all, 1));
    _mm_storeu_si128(c, _mm512_extracti32x4_epi32(all, 2));
    _mm_storeu_si128(d, _mm512_extracti32x4_epi32(all, 3));
}

#define v_store16_each(rows, offset, a)                                                                                \
    v_storeu_quarters((rows)[0] + (offset), (rows)[8] + (offset), (rows)[16] + (offset), (rows)[24] + (offset), a)
#define v_dot_pairs(sums, a, b) _mm512_dpwssd_epi32(sums, a, b)
#include "simd/vec_x86.h"

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    VEC_PEEL
    for (int k = 0; k < 8; k++) {
        const uint8_t *const *from = rows + k;
        out[k] = v_loadu_quarters(from[0] + offset, from[8] + offset, from[16] + offset, from[24] + offset);
    }
}

#define VEC_COUNTS_BITS
VEC_INLINE vec v_add_count(vec sum, vec bits) { return v_add(sum, _mm512_popcnt_epi16(bits)); }

VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    __m128i min = _mm_minpos_epu16(quarter);
    *lane = __builtin_ctz(_mm512_cmple_epu16_mask(a, _mm512_broadcastw_epi16(min)));
    return (uint32_t)_mm_cvtsi128_si32(min) & 0xffff;
}
VEC_INLINE vec v_replace(vec a, int lane, vec b) { return _mm512_mask_blend_epi16(1u << lane, a, b); }

#define v_sqrt_floats(a) ((vec_floats)_mm512_sqrt_ps((__m512)(a)))

/* ---- for sampling patches ---- */

#define VEC_TABLE_64       /* a window is one table: simd/tmpl_window_64.h */
#define VEC_WINDOW_FIRST 0 /* the index of the first byte */
#define VEC_LEAST_ROWS   6 /* of a window: for others, a load saved does not pay for a branch that is hard to foresee */
VEC_INLINE vec v_low_twice(vec a)
{
    return _mm512_shuffle_epi8(a, _mm512_set4_epi32(0x0d0c0d0c, 0x09080908, 0x05040504, 0x01000100));
}

#endif
