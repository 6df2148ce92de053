/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for WebAssembly's 128-bit vectors: 8 lanes. Without relaxed operations, whose results may differ between
 * engines. A module either uses these instructions or not, so the compiler's -msimd128 chooses. */
#ifndef KBI_VEC_WASM_H
#define KBI_VEC_WASM_H

#include <wasm_simd128.h>

#define VEC_LANES 8
#define VEC_TARGET
#define VEC_INLINE __attribute__((always_inline, unused)) static inline

typedef v128_t vec;
#include "simd/vec_lanes.h"

#define VEC_OP(name)           w_##name
#define w_unpacklo_epi16(a, b) wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define w_unpackhi_epi16(a, b) wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define w_unpacklo_epi32(a, b) wasm_i32x4_shuffle(a, b, 0, 4, 1, 5)
#define w_unpackhi_epi32(a, b) wasm_i32x4_shuffle(a, b, 2, 6, 3, 7)
#define w_unpacklo_epi64(a, b) wasm_i64x2_shuffle(a, b, 0, 2)
#define w_unpackhi_epi64(a, b) wasm_i64x2_shuffle(a, b, 1, 3)
#define v_join8(a, b)          wasm_u8x16_narrow_i16x8(a, b)
#define v_pack8(a, b)          v_join8(a, b)
#include "simd/vec_128.h"

#define v_mul_q15(a, b)           wasm_i16x8_q15mulr_sat(a, b)
#define v_min(a, b)               wasm_u16x8_min(a, b)
#define v_max(a, b)               wasm_u16x8_max(a, b)
#define v_min_s(a, b)             wasm_i16x8_min(a, b)
#define v_max_s(a, b)             wasm_i16x8_max(a, b)
#define v_min8(a, b)              wasm_u8x16_min(a, b)
#define v_max8(a, b)              wasm_u8x16_max(a, b)
#define v_subs8(a, b)             wasm_u8x16_sub_sat(a, b)
#define v_adds8(a, b)             wasm_u8x16_add_sat(a, b)
#define v_abs(a)                  wasm_i16x8_abs(a)
#define v_low_twice(a)            wasm_i16x8_shuffle(a, a, 0, 0, 2, 2, 4, 4, 6, 6)
#define v_widen8(p)               wasm_u16x8_load8x8(p)
#define v_lookup16(tables, index) wasm_i8x16_swizzle(tables, index)
#define v_keep(a)                 (a)
#define v_sum_pairs8(a)           wasm_u16x8_extadd_pairwise_u8x16(a)
#define v_sum_pairs(a)            wasm_u32x4_extadd_pairwise_u16x8(a)
#define VEC_MASK_BITS             1
#define v_mask8(a)                ((uint64_t)wasm_i8x16_bitmask(wasm_i8x16_ne(a, v_zero())))

/* The odd 16-bit lanes of two vecs. */
VEC_INLINE vec w_odd_lanes(vec a, vec b) { return wasm_i16x8_shuffle(a, b, 1, 3, 5, 7, 9, 11, 13, 15); }
VEC_INLINE vec v_high(vec a, vec b)
{
    return w_odd_lanes(wasm_u32x4_extmul_low_u16x8(a, b), wasm_u32x4_extmul_high_u16x8(a, b));
}
VEC_INLINE vec v_high_s(vec a, vec b)
{
    return w_odd_lanes(wasm_i32x4_extmul_low_i16x8(a, b), wasm_i32x4_extmul_high_i16x8(a, b));
}
/* Sums of bytes as two vecs, the first and the second half. */
VEC_INLINE void v_sum8(vec a, vec b, vec *first, vec *second)
{
    *first = v_add(wasm_u16x8_extend_low_u8x16(a), wasm_u16x8_extend_low_u8x16(b));
    *second = v_add(wasm_u16x8_extend_high_u8x16(a), wasm_u16x8_extend_high_u8x16(b));
}

VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    vec min = v_min(a, wasm_i64x2_shuffle(a, a, 1, 0));
    min = v_min(min, wasm_i32x4_shuffle(min, min, 1, 0, 3, 2));
    min = v_min(min, wasm_i16x8_shuffle(min, min, 1, 0, 3, 2, 5, 4, 7, 6));
    *lane = __builtin_ctz(wasm_i16x8_bitmask(wasm_i16x8_eq(a, min)));
    return wasm_u16x8_extract_lane(min, 0);
}

VEC_INLINE vec_pair v_pair(vec a, vec b) { return (vec_pair){w_unpacklo_epi16(a, b), w_unpackhi_epi16(a, b)}; }
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return wasm_u16x8_narrow_i32x4(v_shr32(a.low, 6), v_shr32(a.high, 6)); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    vec both = wasm_v128_load32_splat(w);
    sum->low = v_add32(sum->low, wasm_i32x4_dot_i16x8(a.low, both));
    sum->high = v_add32(sum->high, wasm_i32x4_dot_i16x8(a.high, both));
}

/* ---- for sampling patches ---- */

/* Rows of 8 bytes, two per table. */
typedef struct vec_window {
    vec rows[4];
} vec_window;

/* A window of 6 to 8 rows, which is a constant. */
VEC_INLINE vec_window v_window(const uint8_t *p, ptrdiff_t stride, int rows)
{
    vec_window w;
    for (int i = 0; i < 4; i++) { /* no index reaches beyond the last row */
        int first = 2 * i < rows ? 2 * i : 0, second = 2 * i + 1 < rows ? 2 * i + 1 : 0;
        w.rows[i] = wasm_v128_load64_lane(p + second * stride, wasm_v128_load64_zero(p + first * stride), 1);
    }
    return w;
}

#define VEC_WINDOW_FIRST 0 /* the index of the first byte */
/* The bytes at 8 row + column. A swizzle gives 0 for an index of 16 and more, so each table answers for its own. */
VEC_INLINE vec v_window_bytes(const vec_window *w, vec index)
{
    vec found = v_lookup16(w->rows[0], index);
    for (int i = 1; i < 4; i++) {
        index = v_sub8(index, v_set(0x1010));
        found = v_or(found, v_lookup16(w->rows[i], index));
    }
    return found;
}
/* The bytes at an index, and the bytes a row below. */
VEC_INLINE void v_window_at(const vec_window *w, vec index, int rows, vec *upper, vec *lower)
{
    (void)rows;
    *upper = v_window_bytes(w, index);
    *lower = v_window_bytes(w, v_add8(index, v_set(0x0808)));
}

VEC_INLINE vec v_dot8(vec bytes, vec weights)
{
    return v_add(v_mul(v_and(bytes, v_set(255)), v_and(weights, v_set(255))),
                 v_mul(v_shr(bytes, 8), v_shr(weights, 8)));
}
VEC_INLINE void v_mix8(vec a, vec b, int first, int second, vec *low, vec *high)
{
    const vec w = v_set(first * 257), v = v_set(second * 257);
    *low = v_add(wasm_u16x8_extmul_low_u8x16(a, w), wasm_u16x8_extmul_low_u8x16(b, v));
    *high = v_add(wasm_u16x8_extmul_high_u8x16(a, w), wasm_u16x8_extmul_high_u8x16(b, v));
}

/* ---- for Harris's response ---- */

/* Adds the products of lanes, signed, to four 32-bit sums; which lane goes to which sum does not matter. */
VEC_INLINE vec v_add_products(vec sums, vec a, vec b) { return v_add32(sums, wasm_i32x4_dot_i16x8(a, b)); }
VEC_INLINE int32_t v_sum32(vec sums)
{
    vec two = v_add32(sums, wasm_i64x2_shuffle(sums, sums, 1, 0));
    return wasm_i32x4_extract_lane(v_add32(two, wasm_i32x4_shuffle(two, two, 1, 0, 3, 2)), 0);
}

/* ---- floats ---- */

#define v_max_floats(a, b) ((vec_floats)wasm_f32x4_pmax((v128_t)(a), (v128_t)(b)))
#define v_min_floats(a, b) ((vec_floats)wasm_f32x4_pmin((v128_t)(a), (v128_t)(b)))
#define v_sqrt_floats(a)   ((vec_floats)wasm_f32x4_sqrt((v128_t)(a)))
#define v_bits_floats(a)   ((uint32_t)wasm_i32x4_bitmask((v128_t)(a)))
#define v_top_float(a)     v_top_of_four((v128_t)(a))
VEC_INLINE float v_top_of_four(v128_t a)
{
    v128_t two = wasm_f32x4_pmax(a, wasm_i64x2_shuffle(a, a, 1, 0));
    return wasm_f32x4_extract_lane(wasm_f32x4_pmax(two, wasm_i32x4_shuffle(two, two, 1, 0, 3, 2)), 0);
}

/* ---- for the projection ---- */

/* Even and odd bytes are multiplied as 16-bit lanes; two products fit one lane, since values are at most 127. */
VEC_INLINE vec v_dot_bytes(vec sums, vec values, vec weights)
{
    vec even = v_mul(v_and(values, v_set(255)), v_sar(v_shl(weights, 8), 8));
    vec both = v_add(even, v_mul(v_shr(values, 8), v_sar(weights, 8)));
    return v_add32(sums, wasm_i32x4_extadd_pairwise_i16x8(both));
}

#endif
