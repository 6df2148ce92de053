/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for WebAssembly's 128-bit vectors: 8 lanes. Without relaxed operations, whose results may differ between
 * engines. A module either uses these instructions or not, so the compiler's -msimd128 chooses. */
#ifndef KBI_VEC_WASM_H
#define KBI_VEC_WASM_H

#include <wasm_simd128.h>

#define VEC_LANES 8
#define VEC_TARGET
#define VEC_INLINE __attribute__((always_inline)) static inline

typedef v128_t vec;
typedef struct vec_pair {
    vec low, high;
} vec_pair;

/* Interleaves the low or the high halves of two vecs. */
VEC_INLINE vec w_unpacklo_epi16(vec a, vec b) { return wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
VEC_INLINE vec w_unpackhi_epi16(vec a, vec b) { return wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
VEC_INLINE vec w_unpacklo_epi32(vec a, vec b) { return wasm_i32x4_shuffle(a, b, 0, 4, 1, 5); }
VEC_INLINE vec w_unpackhi_epi32(vec a, vec b) { return wasm_i32x4_shuffle(a, b, 2, 6, 3, 7); }
VEC_INLINE vec w_unpacklo_epi64(vec a, vec b) { return wasm_i64x2_shuffle(a, b, 0, 2); }
VEC_INLINE vec w_unpackhi_epi64(vec a, vec b) { return wasm_i64x2_shuffle(a, b, 1, 3); }
#define VEC_OP(name) w_##name
#include "simd/vec_transpose.h"

VEC_INLINE vec v_loadu(const void *p) { return wasm_v128_load(p); }
VEC_INLINE vec v_load(const void *p) { return wasm_v128_load(p); }
VEC_INLINE void v_storeu(void *p, vec a) { wasm_v128_store(p, a); }
VEC_INLINE void v_store(void *p, vec a) { wasm_v128_store(p, a); }
VEC_INLINE vec v_zero(void) { return wasm_i16x8_const_splat(0); }
VEC_INLINE vec v_set32(uint32_t v) { return wasm_i32x4_splat((int32_t)v); }
VEC_INLINE vec v_set(int v) { return wasm_i16x8_splat((int16_t)v); }
VEC_INLINE vec v_ones(void) { return wasm_i16x8_const_splat(-1); }

VEC_INLINE vec v_add(vec a, vec b) { return wasm_i16x8_add(a, b); }
VEC_INLINE vec v_sub(vec a, vec b) { return wasm_i16x8_sub(a, b); }
VEC_INLINE vec v_mul(vec a, vec b) { return wasm_i16x8_mul(a, b); }
VEC_INLINE vec v_add8(vec a, vec b) { return wasm_i8x16_add(a, b); }
VEC_INLINE vec v_sub8(vec a, vec b) { return wasm_i8x16_sub(a, b); }
VEC_INLINE vec v_add32(vec a, vec b) { return wasm_i32x4_add(a, b); }
VEC_INLINE vec v_sub32(vec a, vec b) { return wasm_i32x4_sub(a, b); }
VEC_INLINE vec v_mul32(vec a, vec b) { return wasm_i32x4_mul(a, b); }
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
VEC_INLINE vec v_mul_q15(vec a, vec b) { return wasm_i16x8_q15mulr_sat(a, b); }
VEC_INLINE vec v_min(vec a, vec b) { return wasm_u16x8_min(a, b); }
VEC_INLINE vec v_max(vec a, vec b) { return wasm_u16x8_max(a, b); }
VEC_INLINE vec v_min8(vec a, vec b) { return wasm_u8x16_min(a, b); }
VEC_INLINE vec v_max8(vec a, vec b) { return wasm_u8x16_max(a, b); }
VEC_INLINE vec v_subs8(vec a, vec b) { return wasm_u8x16_sub_sat(a, b); }
VEC_INLINE vec v_adds8(vec a, vec b) { return wasm_u8x16_add_sat(a, b); }
VEC_INLINE vec v_max_s(vec a, vec b) { return wasm_i16x8_max(a, b); }
VEC_INLINE vec v_min_s(vec a, vec b) { return wasm_i16x8_min(a, b); }
VEC_INLINE vec v_abs(vec a) { return wasm_i16x8_abs(a); }
VEC_INLINE vec v_and(vec a, vec b) { return wasm_v128_and(a, b); }
VEC_INLINE vec v_or(vec a, vec b) { return wasm_v128_or(a, b); }
VEC_INLINE vec v_xor(vec a, vec b) { return wasm_v128_xor(a, b); }
VEC_INLINE vec v_andnot(vec a, vec b) { return wasm_v128_andnot(b, a); }
VEC_INLINE vec v_gt(vec a, vec b) { return wasm_i16x8_gt(a, b); }
#define v_shl(a, n)   wasm_i16x8_shl(a, n)
#define v_shr(a, n)   wasm_u16x8_shr(a, n)
#define v_sar(a, n)   wasm_i16x8_shr(a, n)
#define v_sar32(a, n) wasm_i32x4_shr(a, n)
#define v_shr32(a, n) wasm_u32x4_shr(a, n)

/* -1 in bytes that are 0. */
VEC_INLINE vec v_zero8(vec a) { return wasm_i8x16_eq(a, v_zero()); }
/* A bit for each byte, 1 when it is not 0. */
#define VEC_MASK_BITS 1
VEC_INLINE uint64_t v_mask8(vec a) { return wasm_i8x16_bitmask(wasm_i8x16_ne(a, v_zero())); }

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
VEC_INLINE vec v_low_twice(vec a) { return wasm_i16x8_shuffle(a, a, 0, 0, 2, 2, 4, 4, 6, 6); }
VEC_INLINE vec v_widen8(const uint8_t *p) { return wasm_u16x8_load8x8(p); }
VEC_INLINE vec v_each16(const uint8_t p[16]) { return v_loadu(p); }
VEC_INLINE vec v_lookup16(vec tables, vec index) { return wasm_i8x16_swizzle(tables, index); }
VEC_INLINE vec v_keep(vec a) { return a; }
VEC_INLINE vec v_join8(vec a, vec b) { return wasm_u8x16_narrow_i16x8(a, b); }
VEC_INLINE vec v_pack8(vec a, vec b) { return wasm_u8x16_narrow_i16x8(a, b); }
VEC_INLINE vec v_sum_pairs8(vec a) { return wasm_u16x8_extadd_pairwise_u8x16(a); }
VEC_INLINE vec v_sum_pairs(vec a) { return wasm_u32x4_extadd_pairwise_u16x8(a); }
/* Sums of bytes as two vecs, the first and the second half. */
VEC_INLINE void v_sum8(vec a, vec b, vec *first, vec *second)
{
    *first = v_add(wasm_u16x8_extend_low_u8x16(a), wasm_u16x8_extend_low_u8x16(b));
    *second = v_add(wasm_u16x8_extend_high_u8x16(a), wasm_u16x8_extend_high_u8x16(b));
}

/* The least lane as an unsigned number, and which it is: of equal ones the first. */
VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    vec min = v_min(a, wasm_i64x2_shuffle(a, a, 1, 0));
    min = v_min(min, wasm_i32x4_shuffle(min, min, 1, 0, 3, 2));
    min = v_min(min, wasm_i16x8_shuffle(min, min, 1, 0, 3, 2, 5, 4, 7, 6));
    *lane = __builtin_ctz(wasm_i16x8_bitmask(wasm_i16x8_eq(a, min)));
    return wasm_u16x8_extract_lane(min, 0);
}
/* a with one lane of b. */
VEC_INLINE vec v_replace(vec a, int lane, vec b)
{
    return wasm_v128_bitselect(b, a, wasm_i16x8_eq(wasm_i16x8_const(0, 1, 2, 3, 4, 5, 6, 7), v_set(lane)));
}

VEC_INLINE vec_pair v_pair(vec a, vec b) { return (vec_pair){w_unpacklo_epi16(a, b), w_unpackhi_epi16(a, b)}; }
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return wasm_u16x8_narrow_i32x4(v_shr32(a.low, 6), v_shr32(a.high, 6)); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    vec both = wasm_v128_load32_splat(w);
    sum->low = v_add32(sum->low, wasm_i32x4_dot_i16x8(a.low, both));
    sum->high = v_add32(sum->high, wasm_i32x4_dot_i16x8(a.high, both));
}

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    for (int k = 0; k < 8; k++) out[k] = v_loadu(rows[k] + offset);
}

VEC_INLINE void v_store_rows(const vec in[8], uint8_t *const rows[VEC_LANES], size_t offset)
{
    for (int k = 0; k < 8; k++) v_storeu(rows[k] + offset, in[k]);
}

/* Transposes 4x4 numbers of 32 bits. */
VEC_INLINE void v_transpose4(vec r[4])
{
    vec a[4];
    for (int i = 0; i < 2; i++) {
        a[i] = w_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        a[i + 2] = w_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i += 2) {
        r[i] = w_unpacklo_epi64(a[i], a[i + 1]);
        r[i + 1] = w_unpackhi_epi64(a[i], a[i + 1]);
    }
}

/* Four 32-bit values of each row. */
VEC_INLINE void v_store_rows32(const vec_pair in[4], uint32_t *const rows[VEC_LANES], size_t offset)
{
    for (int half = 0; half < 2; half++) {
        vec r[4];
        for (int i = 0; i < 4; i++) r[i] = half ? in[i].high : in[i].low;
        v_transpose4(r);
        for (int i = 0; i < 4; i++) v_storeu(rows[4 * half + i] + offset, r[i]);
    }
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
    const vec table = wasm_i8x16_const_splat(16);
    vec found = wasm_i8x16_swizzle(w->rows[0], index);
    for (int i = 1; i < 4; i++) {
        index = v_sub8(index, table);
        found = v_or(found, wasm_i8x16_swizzle(w->rows[i], index));
    }
    return found;
}
/* The bytes at an index, and those a row below. */
VEC_INLINE void v_window_at(const vec_window *w, vec index, int rows, vec *upper, vec *lower)
{
    (void)rows;
    *upper = v_window_bytes(w, index);
    *lower = v_window_bytes(w, v_add8(index, wasm_i8x16_const_splat(8)));
}

/* first byte x first weight + second byte x second weight; weights up to 127, together up to 128. */
VEC_INLINE vec v_dot8(vec bytes, vec weights)
{
    const vec low = wasm_i16x8_const_splat(255);
    return v_add(v_mul(v_and(bytes, low), v_and(weights, low)), v_mul(v_shr(bytes, 8), v_shr(weights, 8)));
}

/* a x first + b x second as two vecs, in the order of v_pack8. */
VEC_INLINE void v_mix8(vec a, vec b, int first, int second, vec *low, vec *high)
{
    const vec w = wasm_i8x16_splat((int8_t)first), v = wasm_i8x16_splat((int8_t)second);
    *low = v_add(wasm_u16x8_extmul_low_u8x16(a, w), wasm_u16x8_extmul_low_u8x16(b, v));
    *high = v_add(wasm_u16x8_extmul_high_u8x16(a, w), wasm_u16x8_extmul_high_u8x16(b, v));
}

/* Four tiles of 4x4 samples side by side, a lane for each, to rows of bytes that are `stride` apart. */
VEC_INLINE void v_store_tiles(const vec tile[8], uint8_t *to, int32_t stride)
{
    vec r[4];
    for (int i = 0; i < 4; i++) r[i] = v_join8(tile[2 * i], tile[2 * i + 1]);
    v_transpose4(r);
    for (int i = 0; i < 4; i++) v_storeu(to + i * stride, r[i]);
}

/* ---- for Harris's response ---- */

/* Adds the products of lanes, signed, to four 32-bit sums; which lane goes to which sum does not matter. */
VEC_INLINE vec v_add_products(vec sums, vec a, vec b) { return v_add32(sums, wasm_i32x4_dot_i16x8(a, b)); }
VEC_INLINE int32_t v_sum32(vec sums)
{
    vec two = v_add32(sums, wasm_i64x2_shuffle(sums, sums, 1, 0));
    return wasm_i32x4_extract_lane(v_add32(two, wasm_i32x4_shuffle(two, two, 1, 0, 3, 2)), 0);
}

/* ---- for directions by gradients ---- */

#define v_max_floats(a, b) ((vec_floats)wasm_f32x4_pmax((v128_t)(a), (v128_t)(b)))
#define v_min_floats(a, b) ((vec_floats)wasm_f32x4_pmin((v128_t)(a), (v128_t)(b)))
#define v_top_float(a)     v_top_of_four((v128_t)(a))
VEC_INLINE float v_top_of_four(v128_t a)
{
    v128_t two = wasm_f32x4_pmax(a, wasm_i64x2_shuffle(a, a, 1, 0));
    return wasm_f32x4_extract_lane(wasm_f32x4_pmax(two, wasm_i32x4_shuffle(two, two, 1, 0, 3, 2)), 0);
}

/* ---- for RootSIFT ---- */

/* floor((sqrt(in[i]) + 1) / 2) of VEC_ROOTS integers, 0 to 2^20. */
#define VEC_ROOTS 4
VEC_INLINE void v_roots(const int32_t *in, int32_t *out)
{
    vec v = wasm_f32x4_sqrt(wasm_f32x4_convert_i32x4(wasm_v128_load(in)));
    v = wasm_f32x4_add(wasm_f32x4_mul(v, wasm_f32x4_splat(0.5f)), wasm_f32x4_splat(0.5f));
    wasm_v128_store(out, wasm_i32x4_trunc_sat_f32x4(v));
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
    sums->low = wasm_i32x4_shl(sums->low, 7);
    sums->high = wasm_i32x4_shl(sums->high, 7);
}
/* Even and odd bytes are multiplied as 16-bit lanes; two products fit one lane, since values are at most 127. */
VEC_INLINE vec w_dot_four(vec sums, vec values, vec weights)
{
    vec even = v_mul(v_and(values, wasm_i16x8_const_splat(255)), v_sar(v_shl(weights, 8), 8));
    vec both = v_add(even, v_mul(v_shr(values, 8), v_sar(weights, 8)));
    return v_add32(sums, wasm_i32x4_extadd_pairwise_i16x8(both));
}
/* Adds the products of 4 bytes (up to 127, the same in every lane) with 4 weights for each of the 8 sums. */
VEC_INLINE void v_dot_eight(vec_eight *sums, vec four, const int8_t *weights)
{
    sums->low = w_dot_four(sums->low, four, v_loadu(weights));
    sums->high = w_dot_four(sums->high, four, v_loadu(weights + 16));
}
/* A bit for each sum, 1 when it is above 0; the last sum has the highest bit. */
VEC_INLINE uint8_t v_eight_signs(const vec_eight *sums)
{
    uint32_t low = wasm_i32x4_bitmask(wasm_i32x4_gt(sums->low, v_zero()));
    return (uint8_t)(wasm_i32x4_bitmask(wasm_i32x4_gt(sums->high, v_zero())) << 4 | low);
}

#endif
