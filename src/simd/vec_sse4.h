/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for SSE4.2 with POPCNT: 8 lanes. */
#ifndef KBI_VEC_SSE4_H
#define KBI_VEC_SSE4_H

#include <smmintrin.h>

#include "match/kernels.h"

#define VEC_LANES  8
#define VEC_TARGET __attribute__((target("sse4.2,popcnt")))
#define VEC_INLINE VEC_TARGET __attribute__((always_inline)) static inline

typedef __m128i vec;
#define VEC_OP(name) _mm_##name
#include "simd/vec_transpose.h"

typedef struct vec_pair {
    vec low, high;
} vec_pair;

VEC_INLINE vec v_load(const void *p) { return _mm_load_si128((const __m128i *)p); }
VEC_INLINE vec v_loadu(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
VEC_INLINE void v_store(void *p, vec a) { _mm_store_si128((__m128i *)p, a); }
VEC_INLINE void v_storeu(void *p, vec a) { _mm_storeu_si128((__m128i *)p, a); }
VEC_INLINE vec v_zero(void) { return _mm_setzero_si128(); }
VEC_INLINE vec v_set32(uint32_t v) { return _mm_set1_epi32((int)v); }
VEC_INLINE vec v_set(int v) { return _mm_set1_epi16((short)v); }
VEC_INLINE vec v_ones(void) { return v_set(-1); }

VEC_INLINE vec v_add(vec a, vec b) { return _mm_add_epi16(a, b); }
VEC_INLINE vec v_sub(vec a, vec b) { return _mm_sub_epi16(a, b); }
VEC_INLINE vec v_mul(vec a, vec b) { return _mm_mullo_epi16(a, b); }
VEC_INLINE vec v_add8(vec a, vec b) { return _mm_add_epi8(a, b); }
VEC_INLINE vec v_sub8(vec a, vec b) { return _mm_sub_epi8(a, b); }
VEC_INLINE vec v_add32(vec a, vec b) { return _mm_add_epi32(a, b); }
VEC_INLINE vec v_sub32(vec a, vec b) { return _mm_sub_epi32(a, b); }
VEC_INLINE vec v_mul32(vec a, vec b) { return _mm_mullo_epi32(a, b); }
VEC_INLINE vec v_high(vec a, vec b) { return _mm_mulhi_epu16(a, b); }
VEC_INLINE vec v_high_s(vec a, vec b) { return _mm_mulhi_epi16(a, b); }
VEC_INLINE vec v_mul_q15(vec a, vec b) { return _mm_mulhrs_epi16(a, b); }
VEC_INLINE vec v_min(vec a, vec b) { return _mm_min_epu16(a, b); }
VEC_INLINE vec v_max(vec a, vec b) { return _mm_max_epu16(a, b); }
VEC_INLINE vec v_min8(vec a, vec b) { return _mm_min_epu8(a, b); }
VEC_INLINE vec v_max8(vec a, vec b) { return _mm_max_epu8(a, b); }
VEC_INLINE vec v_subs8(vec a, vec b) { return _mm_subs_epu8(a, b); }
VEC_INLINE vec v_adds8(vec a, vec b) { return _mm_adds_epu8(a, b); }
VEC_INLINE vec v_max_s(vec a, vec b) { return _mm_max_epi16(a, b); }
VEC_INLINE vec v_min_s(vec a, vec b) { return _mm_min_epi16(a, b); }
VEC_INLINE vec v_abs(vec a) { return _mm_abs_epi16(a); }
VEC_INLINE vec v_and(vec a, vec b) { return _mm_and_si128(a, b); }
VEC_INLINE vec v_or(vec a, vec b) { return _mm_or_si128(a, b); }
VEC_INLINE vec v_xor(vec a, vec b) { return _mm_xor_si128(a, b); }
VEC_INLINE vec v_andnot(vec a, vec b) { return _mm_andnot_si128(a, b); }
VEC_INLINE vec v_gt(vec a, vec b) { return _mm_cmpgt_epi16(a, b); }
#define v_shl(a, n)   _mm_slli_epi16(a, n)
#define v_shr(a, n)   _mm_srli_epi16(a, n)
#define v_sar(a, n)   _mm_srai_epi16(a, n)
#define v_sar32(a, n) _mm_srai_epi32(a, n)
#define v_shr32(a, n) _mm_srli_epi32(a, n)

/* -1 in bytes that are 0. */
VEC_INLINE vec v_zero8(vec a) { return _mm_cmpeq_epi8(a, v_zero()); }
/* A bit for each byte, 1 when it is not 0. */
#define VEC_MASK_BITS 1
VEC_INLINE uint64_t v_mask8(vec a) { return (uint32_t)_mm_movemask_epi8(v_zero8(a)) ^ 0xffffu; }

VEC_INLINE vec v_load2(const uint8_t *p, int step)
{
    (void)step;
    return v_loadu(p);
}
VEC_INLINE vec v_set8_two(int first, int second)
{
    (void)second;
    return v_set(first * 257);
}
/* Both halves of a 32-bit lane become its low half. */
VEC_INLINE vec v_low_twice(vec a) { return _mm_shufflehi_epi16(_mm_shufflelo_epi16(a, 0xa0), 0xa0); }
VEC_INLINE vec v_widen8(const uint8_t *p)
{
    return _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
VEC_INLINE vec v_each16(const uint8_t p[16]) { return v_loadu(p); }
VEC_INLINE vec v_lookup16(vec tables, vec index) { return _mm_shuffle_epi8(tables, index); }
VEC_INLINE vec v_sum_pairs8(vec a) { return _mm_maddubs_epi16(a, _mm_set1_epi8(1)); }
VEC_INLINE vec v_sum_pairs(vec a) { return _mm_madd_epi16(a, v_set(1)); }
/* Sums of bytes as two vecs, in the order of v_pack8. */
VEC_INLINE void v_sum8(vec a, vec b, vec *first, vec *second)
{
    *first = _mm_maddubs_epi16(_mm_unpacklo_epi8(a, b), _mm_set1_epi8(1));
    *second = _mm_maddubs_epi16(_mm_unpackhi_epi8(a, b), _mm_set1_epi8(1));
}
/* Keeps the compiler from regrouping sums, for which there are not enough registers. */
VEC_INLINE vec v_keep(vec a)
{
    __asm__("" : "+x"(a));
    return a;
}
VEC_INLINE vec v_join8(vec a, vec b) { return _mm_packus_epi16(a, b); }
VEC_INLINE vec v_pack8(vec a, vec b) { return _mm_packus_epi16(a, b); }

/* The least lane as an unsigned number, and which it is: of equal ones the first. */
VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    uint32_t found = (uint32_t)_mm_cvtsi128_si32(_mm_minpos_epu16(a));
    *lane = (int)(found >> 16);
    return found & 0xffff;
}
/* a with one lane of b. */
VEC_INLINE vec v_replace(vec a, int lane, vec b)
{
    const vec number = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm_blendv_epi8(a, b, _mm_cmpeq_epi16(number, v_set(lane)));
}

VEC_INLINE vec_pair v_pair(vec a, vec b) { return (vec_pair){_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)}; }
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return _mm_packus_epi32(v_shr32(a.low, 6), v_shr32(a.high, 6)); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    int both;
    memcpy(&both, w, sizeof both);
    sum->low = v_add32(sum->low, _mm_madd_epi16(a.low, _mm_set1_epi32(both)));
    sum->high = v_add32(sum->high, _mm_madd_epi16(a.high, _mm_set1_epi32(both)));
}

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    for (int k = 0; k < 8; k++) out[k] = v_loadu(rows[k] + offset);
}

VEC_INLINE void v_store_rows(const vec in[8], uint8_t *const rows[VEC_LANES], size_t offset)
{
    for (int k = 0; k < 8; k++) v_storeu(rows[k] + offset, in[k]);
}

/* Four 32-bit values of each row. */
VEC_INLINE void v_store_rows32(const vec_pair in[4], uint32_t *const rows[VEC_LANES], size_t offset)
{
    for (int half = 0; half < 2; half++) {
        vec r[4], a[4];
        for (int i = 0; i < 4; i++) r[i] = half ? in[i].high : in[i].low;
        for (int i = 0; i < 2; i++) {
            a[i] = _mm_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            a[i + 2] = _mm_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
        for (int i = 0; i < 4; i++) {
            vec four =
                i & 1 ? _mm_unpackhi_epi64(a[i & 2], a[(i & 2) + 1]) : _mm_unpacklo_epi64(a[i & 2], a[(i & 2) + 1]);
            v_storeu(rows[4 * half + i] + offset, four);
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
    VEC_UNROLL
    for (int i = 0; i < rows; i++) row[i] = _mm_loadl_epi64((const __m128i *)(const void *)(p + i * stride));
    VEC_UNROLL
    for (int i = rows; i < 9; i++) row[i] = row[rows - 1]; /* no index reaches beyond the last row */
    VEC_UNROLL
    for (int i = 0; i < 4; i++) {
        w.upper[i] = _mm_unpacklo_epi64(row[2 * i], row[2 * i + 1]);
        w.lower[i] = _mm_unpacklo_epi64(row[2 * i + 1], row[2 * i + 2]);
    }
    return w;
}

VEC_INLINE vec v_lookup_two(const vec tables[2], vec index, vec second)
{
    return _mm_blendv_epi8(_mm_shuffle_epi8(tables[0], index), _mm_shuffle_epi8(tables[1], index), second);
}

#define VEC_WINDOW_FIRST 96 /* the index of the first byte */
/* The bytes at 8 row + column in three tables, or in four. A shuffle gives 0 where the index has its highest bit. It
 * has from row 4 on, so the first two tables answer above, and with that bit flipped the others answer below. */
VEC_INLINE vec v_lookup_tables(const vec tables[4], vec index, bool four)
{
    vec below = v_xor(index, _mm_set1_epi8(-128)), second = v_shl(index, 3); /* of two tables: bit 4 tells */
    vec found = four ? v_lookup_two(tables + 2, below, second) : _mm_shuffle_epi8(tables[2], below);
    return v_or(v_lookup_two(tables, index, second), found);
}
/* The bytes at an index, and those a row below. */
VEC_INLINE void v_window_at(const vec_window *w, vec index, int rows, vec *upper, vec *lower)
{
    *upper = v_lookup_tables(w->upper, index, rows == 8);
    *lower = v_lookup_tables(w->lower, index, rows == 8);
}

/* first byte x first weight + second byte x second weight; weights up to 127, together up to 128. */
VEC_INLINE vec v_dot8(vec bytes, vec weights) { return _mm_maddubs_epi16(bytes, weights); }
/* a x first + b x second as two vecs, in the order of v_pack8; weights up to 127. */
VEC_INLINE void v_mix8(vec a, vec b, int first, int second, vec *low, vec *high)
{
    const vec weights = v_set(first | second << 8);
    *low = _mm_maddubs_epi16(_mm_unpacklo_epi8(a, b), weights);
    *high = _mm_maddubs_epi16(_mm_unpackhi_epi8(a, b), weights);
}

/* Four tiles of 4x4 samples side by side, a lane for each, to rows of bytes that are `stride` apart. */
VEC_INLINE void v_store_tiles(const vec tile[8], uint8_t *to, int32_t stride)
{
    vec r[4], a[4];
    for (int i = 0; i < 4; i++) r[i] = _mm_packus_epi16(tile[2 * i], tile[2 * i + 1]);
    for (int i = 0; i < 2; i++) {
        a[i] = _mm_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        a[i + 2] = _mm_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    v_storeu(to, _mm_unpacklo_epi64(a[0], a[1]));
    v_storeu(to + stride, _mm_unpackhi_epi64(a[0], a[1]));
    v_storeu(to + 2 * stride, _mm_unpacklo_epi64(a[2], a[3]));
    v_storeu(to + 3 * stride, _mm_unpackhi_epi64(a[2], a[3]));
}

/* ---- for Harris's response ---- */

/* Adds the products of lanes, signed, to four 32-bit sums; which lane goes to which sum does not matter. */
VEC_INLINE vec v_add_products(vec sums, vec a, vec b) { return v_add32(sums, _mm_madd_epi16(a, b)); }
VEC_INLINE int32_t v_sum32(vec sums)
{
    vec two = v_add32(sums, _mm_shuffle_epi32(sums, 0x4e));
    return _mm_cvtsi128_si32(v_add32(two, _mm_shuffle_epi32(two, 0xb1)));
}

/* ---- for directions by gradients ---- */

#define v_max_floats(a, b) ((vec_floats)_mm_max_ps((__m128)(a), (__m128)(b)))
#define v_min_floats(a, b) ((vec_floats)_mm_min_ps((__m128)(a), (__m128)(b)))
VEC_INLINE float v_top_float(__m128 a)
{
    __m128 two = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* ---- for RootSIFT ---- */

/* floor((sqrt(in[i]) + 1) / 2) of VEC_ROOTS integers, 0 to 2^20. */
#define VEC_ROOTS 4
VEC_INLINE void v_roots(const int32_t *in, int32_t *out)
{
    __m128 v = _mm_sqrt_ps(_mm_cvtepi32_ps(_mm_loadu_si128((const __m128i *)(const void *)in)));
    v = _mm_add_ps(_mm_mul_ps(v, _mm_set1_ps(0.5f)), _mm_set1_ps(0.5f));
    _mm_storeu_si128((__m128i *)(void *)out, _mm_cvttps_epi32(v));
}

/* ---- for the projection ---- */

typedef struct vec_eight {
    vec low, high;
} vec_eight; /* 8 sums of 32 bits */

VEC_INLINE vec_eight v_eight_zero(void) { return (vec_eight){v_zero(), v_zero()}; }
VEC_INLINE void v_eight_add(vec_eight *sums, const int32_t *p)
{
    sums->low = v_add32(sums->low, v_loadu(p));
    sums->high = v_add32(sums->high, v_loadu(p + 4));
}
VEC_INLINE void v_eight_times128(vec_eight *sums)
{
    sums->low = _mm_slli_epi32(sums->low, 7);
    sums->high = _mm_slli_epi32(sums->high, 7);
}
/* Adds the products of 4 bytes (up to 127, the same in every lane) with 4 weights for each of the 8 sums. */
VEC_INLINE void v_dot_eight(vec_eight *sums, vec four, const int8_t *weights)
{
    sums->low = v_add32(sums->low, _mm_madd_epi16(_mm_maddubs_epi16(four, v_loadu(weights)), v_set(1)));
    sums->high = v_add32(sums->high, _mm_madd_epi16(_mm_maddubs_epi16(four, v_loadu(weights + 16)), v_set(1)));
}
/* A bit for each sum, 1 when it is above 0; the last sum has the highest bit. */
VEC_INLINE uint8_t v_eight_signs(const vec_eight *sums)
{
    int low = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(sums->low, v_zero())));
    int high = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(sums->high, v_zero())));
    return (uint8_t)(high << 4 | low);
}

/* Of VEC_FLOATS points with a level those in a circle, as bits. */
#define VEC_FLOATS 4
VEC_INLINE unsigned v_circle(const float *x, const float *y, const int32_t *level, const kbi_circle *circle)
{
    __m128 dx = _mm_sub_ps(_mm_loadu_ps(x), _mm_set1_ps(circle->x));
    __m128 dy = _mm_sub_ps(_mm_loadu_ps(y), _mm_set1_ps(circle->y));
    __m128 near = _mm_cmple_ps(_mm_add_ps(_mm_mul_ps(dx, dx), _mm_mul_ps(dy, dy)), _mm_set1_ps(circle->radius2));
    __m128i at = v_loadu(level);
    __m128i other = _mm_or_si128(_mm_cmplt_epi32(at, _mm_set1_epi32(circle->min_level)),
                                 _mm_cmpgt_epi32(at, _mm_set1_epi32(circle->max_level)));
    return (unsigned)_mm_movemask_ps(_mm_andnot_ps(_mm_castsi128_ps(other), near));
}

/* A bit for each 32-bit lane, set where it is below 0. */
#define v_bits_floats(a) ((uint32_t)_mm_movemask_ps((__m128)(a)))

/* k to k + 3 in the order of `bytes`. */
VEC_INLINE void v_store_lanes4(int32_t *to, int32_t k, const uint8_t bytes[16])
{
    __m128i numbers = _mm_add_epi32(_mm_set1_epi32(k), _mm_setr_epi32(0, 1, 2, 3));
    v_storeu(to, _mm_shuffle_epi8(numbers, v_loadu(bytes)));
}

#endif
