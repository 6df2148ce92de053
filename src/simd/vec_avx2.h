/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for AVX2: 16 lanes; with VEC_WITH_AVX512 the same width for processors that have more. Operations that
 * cross 128 bits are avoided; where two halves matter, lanes 0-7 are in the lower and 8-15 in the upper one. */
#ifndef KBI_VEC_AVX2_H
#define KBI_VEC_AVX2_H

#ifdef VEC_WITH_AVX512
#    include "simd/vec_avx512_target.h"
#else
#    include <immintrin.h>
#    define VEC_TARGET __attribute__((target("avx2,popcnt")))
#endif

#define VEC_LANES    16
#define VEC_INLINE   VEC_TARGET __attribute__((always_inline, unused)) static inline
#define VEC_OP(name) _mm256_##name

typedef __m256i vec;
#include "simd/vec_lanes.h"

VEC_INLINE __m128i v_loadu_half(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
VEC_INLINE void v_storeu_half(void *p, __m128i a) { _mm_storeu_si128((__m128i *)p, a); }
VEC_INLINE vec v_loadu_halves(const void *low, const void *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(v_loadu_half(low)), v_loadu_half(high), 1);
}
VEC_INLINE void v_storeu_halves(void *low, void *high, vec a)
{
    v_storeu_half(low, _mm256_castsi256_si128(a));
    v_storeu_half(high, _mm256_extracti128_si256(a, 1));
}
VEC_INLINE vec v_eight_bytes(const uint8_t *p)
{
    long long eight;
    memcpy(&eight, p, 8);
    return _mm256_set1_epi64x(eight);
}
/* Bytes of b where the bytes of `second` have their highest bit, else of a. */
VEC_INLINE vec v_blend8(vec a, vec b, vec second)
{
#if defined(__clang__)
    return _mm256_blendv_epi8(a, b, second);
#else
    vec found; /* as an intrinsic, gcc 12 would compare the mask with 0 before it blends */
    __asm__("vpblendvb %3, %2, %1, %0" : "=x"(found) : "x"(a), "x"(b), "x"(second));
    return found;
#endif
}

#define v_store16_each(rows, offset, a) v_storeu_halves((rows)[0] + (offset), (rows)[8] + (offset), a)
#define v_dot_pairs(sums, a, b)         v_add32(sums, _mm256_madd_epi16(a, b))
#define v_two_rows(a, b)                _mm256_blend_epi32(a, b, 0xcc)
#include "simd/vec_x86.h"

#define v_load2(p, step)          v_loadu_halves(p, (p) + (step))
#define v_set8_two(first, second) _mm256_set_m128i(_mm_set1_epi8((char)(second)), _mm_set1_epi8((char)(first)))
#define v_each16(p)               _mm256_broadcastsi128_si256(v_loadu_half(p))
#define v_join8(a, b)             _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8)

VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    uint32_t low = (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_castsi256_si128(a)));
    uint32_t high = (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_extracti128_si256(a, 1)));
    bool upper = (high & 0xffff) < (low & 0xffff);
    *lane = (int)(upper ? 8 + (high >> 16) : low >> 16);
    return (upper ? high : low) & 0xffff;
}

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    VEC_PEEL
    for (int k = 0; k < 8; k++) out[k] = v_loadu_halves(rows[k] + offset, rows[k + 8] + offset);
}

/* Four tiles of 4x4 samples side by side, a lane for each, to rows of bytes that are `stride` apart. */
VEC_INLINE void v_store_tiles(const vec tile[4], uint8_t *to, int32_t stride)
{
    vec ab = _mm256_shuffle_epi32(v_pack8(tile[0], tile[1]), 0xd8);
    vec cd = _mm256_shuffle_epi32(v_pack8(tile[2], tile[3]), 0xd8);
    v_storeu_halves(to, to + 2 * stride, _mm256_unpacklo_epi64(ab, cd));
    v_storeu_halves(to + stride, to + 3 * stride, _mm256_unpackhi_epi64(ab, cd));
}

/* ---- for directions by gradients ---- */

VEC_INLINE float v_top_float(__m256 a)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

#define VEC_WIDENS      /* by one instruction, for which compilers would take four */
#define v_widen16(p)    ((vec_ints)_mm256_cvtepu16_epi32(v_loadu_half(p)))
#define v_widen16_s(p)  ((vec_ints)_mm256_cvtepi16_epi32(v_loadu_half(p)))
#define v_store16(p, a) v_store_even(p, (vec)(a))
VEC_INLINE void v_store_even(void *p, vec a)
{
    const __m128i even = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    vec both = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(even)), 0x08);
    v_storeu_half(p, _mm256_castsi256_si128(both));
}

#endif
