/* SPDX-License-Identifier: Apache-2.0 */
/* Operations whose instructions SSE4.2, AVX2 and AVX-512 have in the same form: VEC_OP(name) is the intrinsic. What
 * works on bytes and on windows of tiles is for the first two; AVX-512 has its own (simd/tmpl_window_64.h). */
#ifndef KBI_VEC_X86_H
#define KBI_VEC_X86_H

#include "simd/vec_interleave.h"

/* With the compiler's operator gcc 12 keeps fewer numbers in registers, and matching takes 2 % more instructions. */
#undef v_shl
#define v_shl(a, n) VEC_OP(slli_epi16)(a, n)

#define VEC_BINARY(name, intrinsic)                                                                                    \
    VEC_INLINE vec name(vec a, vec b) { return VEC_OP(intrinsic)(a, b); }
VEC_BINARY(v_high, mulhi_epu16)
VEC_BINARY(v_high_s, mulhi_epi16)
VEC_BINARY(v_mul_q15, mulhrs_epi16)
VEC_BINARY(v_min, min_epu16)
VEC_BINARY(v_max, max_epu16)
VEC_BINARY(v_min_s, min_epi16)
VEC_BINARY(v_max_s, max_epi16)
VEC_BINARY(v_min8, min_epu8)
VEC_BINARY(v_max8, max_epu8)
VEC_BINARY(v_subs8, subs_epu8)
VEC_BINARY(v_adds8, adds_epu8)
VEC_BINARY(v_pack8, packus_epi16)
VEC_BINARY(v_dot8, maddubs_epi16)
#undef VEC_BINARY
VEC_INLINE vec v_abs(vec a) { return VEC_OP(abs_epi16)(a); }
VEC_INLINE vec v_sum_pairs8(vec a) { return v_dot8(a, v_set(0x0101)); }

VEC_INLINE vec_pair v_pair(vec a, vec b)
{
    return (vec_pair){VEC_OP(unpacklo_epi16)(a, b), VEC_OP(unpackhi_epi16)(a, b)};
}
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return VEC_OP(packus_epi32)(v_shr32(a.low, 6), v_shr32(a.high, 6)); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    uint32_t both;
    memcpy(&both, w, sizeof both);
    sum->low = v_dot_pairs(sum->low, a.low, v_set32(both));
    sum->high = v_dot_pairs(sum->high, a.high, v_set32(both));
}

VEC_INLINE vec v_keep(vec a)
{
#ifndef KB_EMULATE_AVX512 /* whose vecs are in memory */
    __asm__("" : "+x"(a));
#endif
    return a;
}

#ifndef KBI_VEC_AVX512

VEC_INLINE vec v_low_twice(vec a) { return VEC_OP(shufflehi_epi16)(VEC_OP(shufflelo_epi16)(a, 0xa0), 0xa0); }
VEC_INLINE vec v_lookup16(vec tables, vec index) { return VEC_OP(shuffle_epi8)(tables, index); }
VEC_INLINE vec v_sum_pairs(vec a) { return VEC_OP(madd_epi16)(a, v_set(1)); }
/* a x first + b x second as two vecs, in the order of v_pack8; weights up to 127. */
VEC_INLINE void v_mix8(vec a, vec b, int first, int second, vec *low, vec *high)
{
    const vec weights = v_set(first | second << 8);
    *low = v_dot8(VEC_OP(unpacklo_epi8)(a, b), weights);
    *high = v_dot8(VEC_OP(unpackhi_epi8)(a, b), weights);
}
VEC_INLINE void v_sum8(vec a, vec b, vec *first, vec *second) { v_mix8(a, b, 1, 1, first, second); }

#    define VEC_MASK_BITS 1
#    ifdef VEC_WITH_AVX512
VEC_INLINE uint64_t v_mask8(vec a) { return _mm256_test_epi8_mask(a, a); }
#    else
VEC_INLINE uint64_t v_mask8(vec a)
{
    return (uint32_t)VEC_OP(movemask_epi8)(v_zero8(a)) ^ (uint32_t)(UINT64_MAX >> (64 - 2 * VEC_LANES));
}
#    endif

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
    for (int i = 0; i < rows; i++) row[i] = v_eight_bytes(at[i]);
    VEC_UNROLL
    for (int i = rows; i < 9; i++) row[i] = row[rows - 1]; /* no index reaches beyond the last row */
    VEC_UNROLL
    for (int i = 0; i < 4; i++) {
        w.upper[i] = v_two_rows(row[2 * i], row[2 * i + 1]);
        w.lower[i] = v_two_rows(row[2 * i + 1], row[2 * i + 2]);
    }
    return w;
}

#    define VEC_WINDOW_FIRST 96 /* the index of the first byte */
VEC_INLINE vec v_lookup_two(const vec tables[2], vec index, vec second)
{
    return v_blend8(v_lookup16(tables[0], index), v_lookup16(tables[1], index), second);
}
/* The bytes at 8 row + column in three or four tables. A shuffle gives 0 where the highest bit of the index is set,
 * which it is from row 4 on: the first two tables answer for rows 0 to 3, and with the bit flipped the others answer
 * for rows 4 to 7. */
VEC_INLINE vec v_lookup_tables(const vec tables[4], vec index, bool four)
{
    vec below = v_xor(index, v_set(0x8080)), second = v_shl(index, 3); /* of two tables: bit 4 tells */
    vec found = four ? v_lookup_two(tables + 2, below, second) : v_lookup16(tables[2], below);
    return v_or(v_lookup_two(tables, index, second), found);
}
/* The bytes at an index, and the bytes a row below. */
VEC_INLINE void v_window_at(const vec_window *w, vec index, int rows, vec *upper, vec *lower)
{
    *upper = v_lookup_tables(w->upper, index, rows == 8);
    *lower = v_lookup_tables(w->lower, index, rows == 8);
}

/* ---- floats ---- */

#    define v_max_floats(a, b) ((vec_floats)VEC_OP(max_ps)(a, b))
#    define v_min_floats(a, b) ((vec_floats)VEC_OP(min_ps)(a, b))
#    define v_sqrt_floats(a)   ((vec_floats)VEC_OP(sqrt_ps)(a))
#    define v_bits_floats(a)   ((uint32_t)VEC_OP(movemask_ps)((vec_floats)(a)))

/* ---- for the projection ---- */

VEC_INLINE vec v_dot_bytes(vec sums, vec values, vec weights)
{
    return v_add32(sums, v_sum_pairs(v_dot8(values, weights)));
}

/* k to k + 3 in the order of `bytes`. */
VEC_INLINE void v_store_lanes4(int32_t *to, int32_t k, const uint8_t bytes[16])
{
    __m128i numbers = _mm_add_epi32(_mm_set1_epi32(k), _mm_setr_epi32(0, 1, 2, 3));
    _mm_storeu_si128((__m128i *)to, _mm_shuffle_epi8(numbers, _mm_loadu_si128((const __m128i *)bytes)));
}

#endif
#endif
