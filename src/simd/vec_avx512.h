/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for AVX-512: 32 lanes, with what the kernels of kernels_avx512.c use. */
#ifndef KBI_VEC_AVX512_H
#define KBI_VEC_AVX512_H

#include "simd/vec_avx512_target.h"

#define VEC_LANES  32
#define VEC_INLINE VEC_TARGET __attribute__((always_inline, unused)) static inline

typedef __m512i vec;
typedef struct vec_pair {
    vec low, high;
} vec_pair;
#define VEC_OP(name) _mm512_##name
#include "simd/vec_transpose.h"

VEC_INLINE vec v_load(const void *p) { return _mm512_load_si512(p); }
VEC_INLINE vec v_loadu(const void *p) { return _mm512_loadu_si512(p); }
VEC_INLINE void v_store(void *p, vec a) { _mm512_store_si512(p, a); }
VEC_INLINE void v_storeu(void *p, vec a) { _mm512_storeu_si512(p, a); }
VEC_INLINE vec v_zero(void) { return _mm512_setzero_si512(); }
VEC_INLINE vec v_set32(uint32_t v) { return _mm512_set1_epi32((int)v); }
VEC_INLINE vec v_set(int v) { return _mm512_set1_epi16((short)v); }

VEC_INLINE vec v_ones(void) { return v_set(-1); }

VEC_INLINE vec v_add(vec a, vec b) { return _mm512_add_epi16(a, b); }
VEC_INLINE vec v_sub(vec a, vec b) { return _mm512_sub_epi16(a, b); }
VEC_INLINE vec v_mul(vec a, vec b) { return _mm512_mullo_epi16(a, b); }
VEC_INLINE vec v_add32(vec a, vec b) { return _mm512_add_epi32(a, b); }
VEC_INLINE vec v_sub32(vec a, vec b) { return _mm512_sub_epi32(a, b); }
VEC_INLINE vec v_mul32(vec a, vec b) { return _mm512_mullo_epi32(a, b); }
VEC_INLINE vec v_high(vec a, vec b) { return _mm512_mulhi_epu16(a, b); }
VEC_INLINE vec v_high_s(vec a, vec b) { return _mm512_mulhi_epi16(a, b); }
VEC_INLINE vec v_mul_q15(vec a, vec b) { return _mm512_mulhrs_epi16(a, b); }
VEC_INLINE vec v_min(vec a, vec b) { return _mm512_min_epu16(a, b); }
VEC_INLINE vec v_max(vec a, vec b) { return _mm512_max_epu16(a, b); }
VEC_INLINE vec v_min_s(vec a, vec b) { return _mm512_min_epi16(a, b); }
VEC_INLINE vec v_max_s(vec a, vec b) { return _mm512_max_epi16(a, b); }
VEC_INLINE vec v_subs8(vec a, vec b) { return _mm512_subs_epu8(a, b); }
VEC_INLINE vec v_min8(vec a, vec b) { return _mm512_min_epu8(a, b); }
VEC_INLINE vec v_sum_pairs8(vec a) { return _mm512_maddubs_epi16(a, _mm512_set1_epi8(1)); }
VEC_INLINE vec v_abs(vec a) { return _mm512_abs_epi16(a); }
VEC_INLINE vec v_and(vec a, vec b) { return _mm512_and_si512(a, b); }
VEC_INLINE vec v_or(vec a, vec b) { return _mm512_or_si512(a, b); }
VEC_INLINE vec v_xor(vec a, vec b) { return _mm512_xor_si512(a, b); }
VEC_INLINE vec v_andnot(vec a, vec b) { return _mm512_andnot_si512(a, b); }
VEC_INLINE vec v_gt(vec a, vec b) { return _mm512_movm_epi16(_mm512_cmpgt_epi16_mask(a, b)); }
#define v_shl(a, n)   _mm512_slli_epi16(a, n)
#define v_shr(a, n)   _mm512_srli_epi16(a, n)
#define v_sar(a, n)   _mm512_srai_epi16(a, n)
#define v_sar32(a, n) _mm512_srai_epi32(a, n)
#define v_shr32(a, n) _mm512_srli_epi32(a, n)

#define VEC_COUNTS_BITS
VEC_INLINE vec v_add_count(vec sum, vec bits) { return v_add(sum, _mm512_popcnt_epi16(bits)); }

/* The least lane as an unsigned number, and which it is: of equal ones the first. */
VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    __m128i min = _mm_minpos_epu16(quarter);
    *lane = __builtin_ctz(_mm512_cmple_epu16_mask(a, _mm512_broadcastw_epi16(min)));
    return (uint32_t)_mm_cvtsi128_si32(min) & 0xffff;
}
/* a with one lane of b. */
VEC_INLINE vec v_replace(vec a, int lane, vec b) { return _mm512_mask_blend_epi16(1u << lane, a, b); }

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    for (int k = 0; k < 8; k++) {
        __m128i part[4];
        for (int i = 0; i < 4; i++)
            part[i] = _mm_loadu_si128((const __m128i *)(const void *)(rows[k + 8 * i] + offset));
        out[k] = _mm512_inserti32x4(_mm512_castsi128_si512(part[0]), part[1], 1);
        out[k] = _mm512_inserti32x4(_mm512_inserti32x4(out[k], part[2], 2), part[3], 3);
    }
}

VEC_INLINE void v_store_rows(const vec in[8], uint8_t *const rows[VEC_LANES], size_t offset)
{
    for (int k = 0; k < 8; k++) {
        _mm_storeu_si128((__m128i *)(void *)(rows[k] + offset), _mm512_castsi512_si128(in[k]));
        _mm_storeu_si128((__m128i *)(void *)(rows[k + 8] + offset), _mm512_extracti32x4_epi32(in[k], 1));
        _mm_storeu_si128((__m128i *)(void *)(rows[k + 16] + offset), _mm512_extracti32x4_epi32(in[k], 2));
        _mm_storeu_si128((__m128i *)(void *)(rows[k + 24] + offset), _mm512_extracti32x4_epi32(in[k], 3));
    }
}

VEC_INLINE vec_pair v_pair(vec a, vec b)
{
    return (vec_pair){_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b)};
}
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return _mm512_packus_epi32(v_shr32(a.low, 6), v_shr32(a.high, 6)); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    int both;
    memcpy(&both, w, sizeof both);
    sum->low = _mm512_dpwssd_epi32(sum->low, a.low, _mm512_set1_epi32(both));
    sum->high = _mm512_dpwssd_epi32(sum->high, a.high, _mm512_set1_epi32(both));
}

/* Four 32-bit values of each row. */
VEC_INLINE void v_store_rows32(const vec_pair in[4], uint32_t *const rows[VEC_LANES], size_t offset)
{
    for (int half = 0; half < 2; half++) {
        vec r[4], a[4];
        for (int i = 0; i < 4; i++) r[i] = half ? in[i].high : in[i].low;
        for (int i = 0; i < 2; i++) {
            a[i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            a[i + 2] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for (int i = 0; i < 4; i++) {
            vec four = i & 1 ? _mm512_unpackhi_epi64(a[i & 2], a[(i & 2) + 1])
                             : _mm512_unpacklo_epi64(a[i & 2], a[(i & 2) + 1]);
            uint32_t *const *to = rows + 4 * half + i;
            _mm_storeu_si128((__m128i *)(void *)(to[0] + offset), _mm512_castsi512_si128(four));
            _mm_storeu_si128((__m128i *)(void *)(to[8] + offset), _mm512_extracti32x4_epi32(four, 1));
            _mm_storeu_si128((__m128i *)(void *)(to[16] + offset), _mm512_extracti32x4_epi32(four, 2));
            _mm_storeu_si128((__m128i *)(void *)(to[24] + offset), _mm512_extracti32x4_epi32(four, 3));
        }
    }
}

/* ---- for sampling patches ---- */

#define VEC_TABLE_64       /* a window is one table: simd/tmpl_window_64.h */
#define VEC_WINDOW_FIRST 0 /* the index of the first byte */
/* Both halves of a 32-bit lane become its low half. */
VEC_INLINE vec v_low_twice(vec a)
{
    return _mm512_or_si512(_mm512_slli_epi32(a, 16), v_and(a, v_set32(0xffff)));
}

#endif
