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

#include "match/kernels.h"

#define VEC_LANES  16
#define VEC_INLINE VEC_TARGET __attribute__((always_inline, unused)) static inline

typedef __m256i vec;
#define VEC_OP(name) _mm256_##name
#include "simd/vec_transpose.h"

typedef struct vec_pair {
    vec low, high;
} vec_pair;

VEC_INLINE vec v_load(const void *p) { return _mm256_load_si256((const __m256i *)p); }
VEC_INLINE vec v_loadu(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
VEC_INLINE void v_store(void *p, vec a) { _mm256_store_si256((__m256i *)p, a); }
VEC_INLINE void v_storeu(void *p, vec a) { _mm256_storeu_si256((__m256i *)p, a); }
VEC_INLINE vec v_zero(void) { return _mm256_setzero_si256(); }
VEC_INLINE vec v_set32(uint32_t v) { return _mm256_set1_epi32((int)v); }
VEC_INLINE vec v_set(int v) { return _mm256_set1_epi16((short)v); }
VEC_INLINE vec v_ones(void) { return v_set(-1); }

VEC_INLINE vec v_add(vec a, vec b) { return _mm256_add_epi16(a, b); }
VEC_INLINE vec v_sub(vec a, vec b) { return _mm256_sub_epi16(a, b); }
VEC_INLINE vec v_mul(vec a, vec b) { return _mm256_mullo_epi16(a, b); }
VEC_INLINE vec v_add8(vec a, vec b) { return _mm256_add_epi8(a, b); }
VEC_INLINE vec v_sub8(vec a, vec b) { return _mm256_sub_epi8(a, b); }
VEC_INLINE vec v_add32(vec a, vec b) { return _mm256_add_epi32(a, b); }
VEC_INLINE vec v_sub32(vec a, vec b) { return _mm256_sub_epi32(a, b); }
VEC_INLINE vec v_mul32(vec a, vec b) { return _mm256_mullo_epi32(a, b); }
VEC_INLINE vec v_high(vec a, vec b) { return _mm256_mulhi_epu16(a, b); }
VEC_INLINE vec v_high_s(vec a, vec b) { return _mm256_mulhi_epi16(a, b); }
VEC_INLINE vec v_mul_q15(vec a, vec b) { return _mm256_mulhrs_epi16(a, b); }
VEC_INLINE vec v_min(vec a, vec b) { return _mm256_min_epu16(a, b); }
VEC_INLINE vec v_max(vec a, vec b) { return _mm256_max_epu16(a, b); }
VEC_INLINE vec v_min8(vec a, vec b) { return _mm256_min_epu8(a, b); }
VEC_INLINE vec v_max8(vec a, vec b) { return _mm256_max_epu8(a, b); }
VEC_INLINE vec v_subs8(vec a, vec b) { return _mm256_subs_epu8(a, b); }
VEC_INLINE vec v_adds8(vec a, vec b) { return _mm256_adds_epu8(a, b); }
VEC_INLINE vec v_max_s(vec a, vec b) { return _mm256_max_epi16(a, b); }
VEC_INLINE vec v_min_s(vec a, vec b) { return _mm256_min_epi16(a, b); }
VEC_INLINE vec v_abs(vec a) { return _mm256_abs_epi16(a); }
VEC_INLINE vec v_and(vec a, vec b) { return _mm256_and_si256(a, b); }
VEC_INLINE vec v_or(vec a, vec b) { return _mm256_or_si256(a, b); }
VEC_INLINE vec v_xor(vec a, vec b) { return _mm256_xor_si256(a, b); }
VEC_INLINE vec v_andnot(vec a, vec b) { return _mm256_andnot_si256(a, b); }
VEC_INLINE vec v_gt(vec a, vec b) { return _mm256_cmpgt_epi16(a, b); }
#define v_shl(a, n)   _mm256_slli_epi16(a, n)
#define v_shr(a, n)   _mm256_srli_epi16(a, n)
#define v_sar(a, n)   _mm256_srai_epi16(a, n)
#define v_sar32(a, n) _mm256_srai_epi32(a, n)
#define v_shr32(a, n) _mm256_srli_epi32(a, n)

/* -1 in bytes that are 0. */
VEC_INLINE vec v_zero8(vec a) { return _mm256_cmpeq_epi8(a, v_zero()); }
/* A bit for each byte, 1 when it is not 0. */
#define VEC_MASK_BITS 1
#ifdef VEC_WITH_AVX512
VEC_INLINE uint64_t v_mask8(vec a) { return _mm256_test_epi8_mask(a, a); }
#else
VEC_INLINE uint64_t v_mask8(vec a) { return (uint32_t)_mm256_movemask_epi8(v_zero8(a)) ^ 0xffffffffu; }
#endif

VEC_INLINE vec v_load2(const uint8_t *p, int step)
{
    __m128i low = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                   _mm_loadu_si128((const __m128i *)(const void *)(p + step)), 1);
}
VEC_INLINE vec v_set8_two(int first, int second)
{
    return _mm256_set_m128i(_mm_set1_epi8((char)second), _mm_set1_epi8((char)first));
}
/* Both halves of a 32-bit lane become its low half. */
VEC_INLINE vec v_low_twice(vec a) { return _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(a, 0xa0), 0xa0); }
VEC_INLINE vec v_each16(const uint8_t p[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
}
VEC_INLINE vec v_lookup16(vec tables, vec index) { return _mm256_shuffle_epi8(tables, index); }
VEC_INLINE vec v_sum_pairs8(vec a) { return _mm256_maddubs_epi16(a, _mm256_set1_epi8(1)); }
VEC_INLINE vec v_sum_pairs(vec a) { return _mm256_madd_epi16(a, v_set(1)); }
/* Sums of bytes as two vecs, in the order of v_pack8. */
VEC_INLINE void v_sum8(vec a, vec b, vec *first, vec *second)
{
    *first = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), _mm256_set1_epi8(1));
    *second = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), _mm256_set1_epi8(1));
}
/* Keeps the compiler from regrouping sums, for which there are not enough registers. */
VEC_INLINE vec v_keep(vec a)
{
    __asm__("" : "+x"(a));
    return a;
}
VEC_INLINE vec v_join8(vec a, vec b) { return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xd8); }
VEC_INLINE vec v_pack8(vec a, vec b) { return _mm256_packus_epi16(a, b); }

/* The least lane as an unsigned number, and which it is: of equal ones the first. */
VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    uint32_t low = (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_castsi256_si128(a)));
    uint32_t high = (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(_mm256_extracti128_si256(a, 1)));
    bool upper = (high & 0xffff) < (low & 0xffff);
    *lane = (int)(upper ? 8 + (high >> 16) : low >> 16);
    return (upper ? high : low) & 0xffff;
}
/* a with one lane of b. */
VEC_INLINE vec v_replace(vec a, int lane, vec b)
{
    const vec number = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm256_blendv_epi8(a, b, _mm256_cmpeq_epi16(number, v_set(lane)));
}

VEC_INLINE vec_pair v_pair(vec a, vec b)
{
    return (vec_pair){_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)};
}
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return _mm256_packus_epi32(v_shr32(a.low, 6), v_shr32(a.high, 6)); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    int both;
    memcpy(&both, w, sizeof both);
    sum->low = v_add32(sum->low, _mm256_madd_epi16(a.low, _mm256_set1_epi32(both)));
    sum->high = v_add32(sum->high, _mm256_madd_epi16(a.high, _mm256_set1_epi32(both)));
}

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    VEC_PEEL
    for (int k = 0; k < 8; k++) {
        __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(rows[k] + offset));
        out[k] = _mm256_inserti128_si256(_mm256_castsi128_si256(low),
                                         _mm_loadu_si128((const __m128i *)(const void *)(rows[k + 8] + offset)), 1);
    }
}

VEC_INLINE void v_store_rows(const vec in[8], uint8_t *const rows[VEC_LANES], size_t offset)
{
    VEC_PEEL
    for (int k = 0; k < 8; k++) {
        _mm_storeu_si128((__m128i *)(void *)(rows[k] + offset), _mm256_castsi256_si128(in[k]));
        _mm_storeu_si128((__m128i *)(void *)(rows[k + 8] + offset), _mm256_extracti128_si256(in[k], 1));
    }
}

/* Four 32-bit values of each row. */
VEC_INLINE void v_store_rows32(const vec_pair in[4], uint32_t *const rows[VEC_LANES], size_t offset)
{
    VEC_PEEL
    for (int half = 0; half < 2; half++) {
        vec r[4], a[4];
        VEC_PEEL
        for (int i = 0; i < 4; i++) r[i] = half ? in[i].high : in[i].low;
        VEC_PEEL
        for (int i = 0; i < 2; i++) {
            a[i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            a[i + 2] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        VEC_PEEL
        for (int i = 0; i < 4; i++) {
            vec four = i & 1 ? _mm256_unpackhi_epi64(a[i & 2], a[(i & 2) + 1])
                             : _mm256_unpacklo_epi64(a[i & 2], a[(i & 2) + 1]);
            _mm_storeu_si128((__m128i *)(void *)(rows[4 * half + i] + offset), _mm256_castsi256_si128(four));
            _mm_storeu_si128((__m128i *)(void *)(rows[4 * half + i + 8] + offset), _mm256_extracti128_si256(four, 1));
        }
    }
}

/* ---- for sampling patches ---- */

/* Rows of 8 bytes, two in a table: `upper` has rows 0 1, 2 3, ... and `lower` rows 1 2, 3 4, ..., so that one index
 * finds a pixel and the one below it. */
typedef struct vec_window {
    vec upper[4], lower[4];
} vec_window;

/* A window of 6 to 8 rows, which is a constant. */
VEC_INLINE vec_window v_window(const uint8_t *p, ptrdiff_t stride, int rows)
{
    vec_window w;
    vec row[9];
    ptrdiff_t three = 3 * stride, five = 5 * stride, seven = 7 * stride; /* x86 scales by 2 and 4 itself */
    __asm__("" : "+r"(three), "+r"(five)); /* or the compiler would add strides one by one */
    const uint8_t *at[8] = {p,        p + stride,    p + 2 * stride, p + three, p + 4 * stride,
                            p + five, p + 2 * three, p + seven};
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
        long long eight;
        memcpy(&eight, at[i], 8);
        row[i] = _mm256_set1_epi64x(eight);
    }
    VEC_UNROLL
    for (int i = rows; i < 9; i++) row[i] = row[rows - 1]; /* no index reaches beyond the last row */
    VEC_UNROLL
    for (int i = 0; i < 4; i++) {
        w.upper[i] = _mm256_blend_epi32(row[2 * i], row[2 * i + 1], 0xcc);
        w.lower[i] = _mm256_blend_epi32(row[2 * i + 1], row[2 * i + 2], 0xcc);
    }
    return w;
}

VEC_INLINE vec v_lookup_two(const vec tables[2], vec index, vec second)
{
    vec from_first = _mm256_shuffle_epi8(tables[0], index), from_second = _mm256_shuffle_epi8(tables[1], index);
#if defined(__clang__)
    return _mm256_blendv_epi8(from_first, from_second, second);
#else
    vec found; /* as an intrinsic, gcc 12 would compare the mask with 0 before it blends */
    __asm__("vpblendvb %3, %2, %1, %0" : "=x"(found) : "x"(from_first), "x"(from_second), "x"(second));
    return found;
#endif
}

#define VEC_WINDOW_FIRST 96 /* the index of the first byte */
/* The bytes at 8 row + column in three tables, or in four. A shuffle gives 0 where the index has its highest bit. It
 * has from row 4 on, so the first two tables answer above, and with that bit flipped the others answer below. */
VEC_INLINE vec v_lookup_tables(const vec tables[4], vec index, bool four)
{
    vec below = v_xor(index, _mm256_set1_epi8(-128)), second = v_shl(index, 3); /* of two tables: bit 4 tells */
    vec found = four ? v_lookup_two(tables + 2, below, second) : _mm256_shuffle_epi8(tables[2], below);
    return v_or(v_lookup_two(tables, index, second), found);
}
/* The bytes at an index, and those a row below. */
VEC_INLINE void v_window_at(const vec_window *w, vec index, int rows, vec *upper, vec *lower)
{
    *upper = v_lookup_tables(w->upper, index, rows == 8);
    *lower = v_lookup_tables(w->lower, index, rows == 8);
}

/* first byte x first weight + second byte x second weight; weights up to 127, together up to 128. */
VEC_INLINE vec v_dot8(vec bytes, vec weights) { return _mm256_maddubs_epi16(bytes, weights); }
/* a x first + b x second as two vecs, in the order of v_pack8; weights up to 127. */
VEC_INLINE void v_mix8(vec a, vec b, int first, int second, vec *low, vec *high)
{
    const vec weights = v_set(first | second << 8);
    *low = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), weights);
    *high = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), weights);
}

/* Four tiles of 4x4 samples side by side, a lane for each, to rows of bytes that are `stride` apart. */
VEC_INLINE void v_store_tiles(const vec tile[4], uint8_t *to, int32_t stride)
{
    vec ab = _mm256_shuffle_epi32(_mm256_packus_epi16(tile[0], tile[1]), 0xd8);
    vec cd = _mm256_shuffle_epi32(_mm256_packus_epi16(tile[2], tile[3]), 0xd8);
    vec even = _mm256_unpacklo_epi64(ab, cd), odd = _mm256_unpackhi_epi64(ab, cd);
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(even));
    _mm_storeu_si128((__m128i *)(void *)(to + stride), _mm256_castsi256_si128(odd));
    _mm_storeu_si128((__m128i *)(void *)(to + 2 * stride), _mm256_extracti128_si256(even, 1));
    _mm_storeu_si128((__m128i *)(void *)(to + 3 * stride), _mm256_extracti128_si256(odd, 1));
}

/* ---- for directions by gradients ---- */

#define v_max_floats(a, b) ((vec_floats)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define v_min_floats(a, b) ((vec_floats)_mm256_min_ps((__m256)(a), (__m256)(b)))
VEC_INLINE float v_top_float(__m256 a)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* ---- for RootSIFT ---- */

/* floor((sqrt(in[i]) + 1) / 2) of VEC_ROOTS integers, 0 to 2^20. */
#define VEC_ROOTS 8
VEC_INLINE void v_roots(const int32_t *in, int32_t *out)
{
    __m256 v = _mm256_sqrt_ps(_mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(const void *)in)));
    v = _mm256_add_ps(_mm256_mul_ps(v, _mm256_set1_ps(0.5f)), _mm256_set1_ps(0.5f));
    _mm256_storeu_si256((__m256i *)(void *)out, _mm256_cvttps_epi32(v));
}

/* ---- for the projection ---- */

typedef vec vec_eight; /* 8 sums of 32 bits */

VEC_INLINE vec_eight v_eight_zero(void) { return v_zero(); }
VEC_INLINE void v_eight_add(vec_eight *sums, const int32_t *p) { *sums = v_add32(*sums, v_loadu(p)); }
VEC_INLINE void v_eight_times128(vec_eight *sums) { *sums = _mm256_slli_epi32(*sums, 7); }
/* Adds the products of 4 bytes (up to 127, the same in every lane) with 4 weights for each of the 8 sums. */
VEC_INLINE void v_dot_eight(vec_eight *sums, vec four, const int8_t *weights)
{
    *sums = v_add32(*sums, _mm256_madd_epi16(_mm256_maddubs_epi16(four, v_loadu(weights)), v_set(1)));
}
/* A bit for each sum, 1 when it is above 0; the last sum has the highest bit. */
VEC_INLINE uint8_t v_eight_signs(const vec_eight *sums)
{
    return (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(*sums, v_zero())));
}

/* Of VEC_FLOATS points with a level those in a circle, as bits. */
#define VEC_FLOATS 8
VEC_INLINE unsigned v_circle(const float *x, const float *y, const int32_t *level, const kbi_circle *circle)
{
    __m256 dx = _mm256_sub_ps(_mm256_loadu_ps(x), _mm256_set1_ps(circle->x));
    __m256 dy = _mm256_sub_ps(_mm256_loadu_ps(y), _mm256_set1_ps(circle->y));
    __m256 near = _mm256_cmp_ps(_mm256_add_ps(_mm256_mul_ps(dx, dx), _mm256_mul_ps(dy, dy)),
                                _mm256_set1_ps(circle->radius2), _CMP_LE_OQ);
    __m256i at = v_loadu(level);
    __m256i other = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(circle->min_level), at),
                                    _mm256_cmpgt_epi32(at, _mm256_set1_epi32(circle->max_level)));
    return (unsigned)_mm256_movemask_ps(_mm256_andnot_ps(_mm256_castsi256_ps(other), near));
}

/* A bit for each 32-bit lane, set where it is below 0. */
#define v_bits_floats(a) ((uint32_t)_mm256_movemask_ps((__m256)(a)))

#define VEC_WIDENS /* by one instruction, where compilers take four */
#define v_widen16(p)   ((vec_ints)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))))
#define v_widen16_s(p) ((vec_ints)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))))
#define v_store16(p, a) v_store_halves(p, (vec)(a))
VEC_INLINE void v_store_halves(void *p, vec a)
{
    const __m128i low = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i both = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(a, _mm256_broadcastsi128_si256(low)), 0x08);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(both));
}

/* k to k + 3 in the order of `bytes`. */
VEC_INLINE void v_store_lanes4(int32_t *to, int32_t k, const uint8_t bytes[16])
{
    __m128i numbers = _mm_add_epi32(_mm_set1_epi32(k), _mm_setr_epi32(0, 1, 2, 3));
    _mm_storeu_si128((__m128i *)to, _mm_shuffle_epi8(numbers, _mm_loadu_si128((const __m128i *)bytes)));
}

#endif
