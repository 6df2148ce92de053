/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for SSE4.2 with POPCNT: 8 lanes. */
#ifndef KBI_VEC_SSE4_H
#define KBI_VEC_SSE4_H

#include <smmintrin.h>

#define VEC_LANES    8
#define VEC_TARGET   __attribute__((target("sse4.2,popcnt")))
#define VEC_INLINE   VEC_TARGET __attribute__((always_inline, unused)) static inline
#define VEC_OP(name) _mm_##name

typedef __m128i vec;
#include "simd/vec_lanes.h"

#define v_dot_pairs(sums, a, b) v_add32(sums, _mm_madd_epi16(a, b))
#define v_eight_bytes(p)        _mm_loadl_epi64((const __m128i *)(const void *)(p))
#define v_two_rows(a, b)        _mm_unpacklo_epi64(a, b)
#define v_blend8(a, b, second)  _mm_blendv_epi8(a, b, second)
#define v_join8(a, b)           _mm_packus_epi16(a, b)
#define v_widen8(p)             _mm_cvtepu8_epi16(v_eight_bytes(p))
#include "simd/vec_128.h"

#include "simd/vec_x86.h"

VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    uint32_t found = (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(a));
    *lane = (int)(found >> 16);
    return found & 0xffff;
}

/* ---- for Harris's response ---- */

/* Adds the products of lanes, signed, to four 32-bit sums; which lane goes to which sum does not matter. */
#define v_add_products(sums, a, b) v_dot_pairs(sums, a, b)
VEC_INLINE int32_t v_sum32(vec sums)
{
    vec two = v_add32(sums, _mm_shuffle_epi32(sums, 0x4e));
    return _mm_cvtsi128_si32(v_add32(two, _mm_shuffle_epi32(two, 0xb1)));
}

/* ---- for directions by gradients ---- */

VEC_INLINE float v_top_float(__m128 a)
{
    __m128 two = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

#endif
