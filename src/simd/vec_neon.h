/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for NEON of aarch64: 8 lanes. A vec is a uint16x8_t; other views of it are casts. */
#ifndef KBI_VEC_NEON_H
#define KBI_VEC_NEON_H

#include <arm_neon.h>

#include "match/kernels.h"

#define VEC_LANES 8
#define VEC_TARGET
#define VEC_INLINE __attribute__((always_inline)) static inline

typedef uint16x8_t vec;
typedef struct vec_pair {
    vec low, high;
} vec_pair;

#define S16(a)      vreinterpretq_s16_u16(a)
#define U8(a)       vreinterpretq_u8_u16(a)
#define U32(a)      vreinterpretq_u32_u16(a)
#define S32(a)      vreinterpretq_s32_u16(a)
#define FROM_S16(a) vreinterpretq_u16_s16(a)
#define FROM_U8(a)  vreinterpretq_u16_u8(a)
#define FROM_U32(a) vreinterpretq_u16_u32(a)
#define FROM_S32(a) vreinterpretq_u16_s32(a)

VEC_INLINE vec v_loadu(const void *p) { return FROM_U8(vld1q_u8(p)); }
VEC_INLINE vec v_load(const void *p) { return v_loadu(p); }
VEC_INLINE void v_storeu(void *p, vec a) { vst1q_u8(p, U8(a)); }
VEC_INLINE void v_store(void *p, vec a) { v_storeu(p, a); }
VEC_INLINE vec v_zero(void) { return vdupq_n_u16(0); }
VEC_INLINE vec v_set32(uint32_t v) { return FROM_U32(vdupq_n_u32(v)); }
VEC_INLINE vec v_set(int v) { return vdupq_n_u16((uint16_t)v); }
VEC_INLINE vec v_ones(void) { return vdupq_n_u16(0xffff); }

VEC_INLINE vec v_add(vec a, vec b) { return vaddq_u16(a, b); }
VEC_INLINE vec v_sub(vec a, vec b) { return vsubq_u16(a, b); }
VEC_INLINE vec v_mul(vec a, vec b) { return vmulq_u16(a, b); }
VEC_INLINE vec v_add8(vec a, vec b) { return FROM_U8(vaddq_u8(U8(a), U8(b))); }
VEC_INLINE vec v_sub8(vec a, vec b) { return FROM_U8(vsubq_u8(U8(a), U8(b))); }
VEC_INLINE vec v_add32(vec a, vec b) { return FROM_U32(vaddq_u32(U32(a), U32(b))); }
VEC_INLINE vec v_sub32(vec a, vec b) { return FROM_U32(vsubq_u32(U32(a), U32(b))); }
VEC_INLINE vec v_mul32(vec a, vec b) { return FROM_U32(vmulq_u32(U32(a), U32(b))); }
VEC_INLINE vec v_high(vec a, vec b)
{
    return vuzp2q_u16(FROM_U32(vmull_u16(vget_low_u16(a), vget_low_u16(b))), FROM_U32(vmull_high_u16(a, b)));
}
/* An instruction doubles the signed product before it takes the high half. It saturates where both are -2^15, which no
 * kernel has. */
#define VEC_DOUBLES_PRODUCTS
VEC_INLINE vec v_high_twice(vec a, vec b) { return FROM_S16(vqdmulhq_s16(S16(a), S16(b))); }
VEC_INLINE vec v_high_s(vec a, vec b) { return FROM_S16(vshrq_n_s16(vqdmulhq_s16(S16(a), S16(b)), 1)); }
VEC_INLINE vec v_high_by(vec a, int constant)
{
    return constant % 2 ? v_high_s(a, v_set(constant)) : v_high_twice(a, v_set(constant / 2));
}
VEC_INLINE vec v_mul_q15(vec a, vec b) { return FROM_S16(vqrdmulhq_s16(S16(a), S16(b))); }
VEC_INLINE vec v_min(vec a, vec b) { return vminq_u16(a, b); }
VEC_INLINE vec v_max(vec a, vec b) { return vmaxq_u16(a, b); }
VEC_INLINE vec v_min8(vec a, vec b) { return FROM_U8(vminq_u8(U8(a), U8(b))); }
VEC_INLINE vec v_max8(vec a, vec b) { return FROM_U8(vmaxq_u8(U8(a), U8(b))); }
VEC_INLINE vec v_subs8(vec a, vec b) { return FROM_U8(vqsubq_u8(U8(a), U8(b))); }
VEC_INLINE vec v_adds8(vec a, vec b) { return FROM_U8(vqaddq_u8(U8(a), U8(b))); }
VEC_INLINE vec v_max_s(vec a, vec b) { return FROM_S16(vmaxq_s16(S16(a), S16(b))); }
VEC_INLINE vec v_min_s(vec a, vec b) { return FROM_S16(vminq_s16(S16(a), S16(b))); }
VEC_INLINE vec v_abs(vec a) { return FROM_S16(vabsq_s16(S16(a))); }
VEC_INLINE vec v_and(vec a, vec b) { return vandq_u16(a, b); }
VEC_INLINE vec v_or(vec a, vec b) { return vorrq_u16(a, b); }
VEC_INLINE vec v_xor(vec a, vec b) { return veorq_u16(a, b); }
VEC_INLINE vec v_andnot(vec a, vec b) { return vbicq_u16(b, a); }
VEC_INLINE vec v_gt(vec a, vec b) { return vcgtq_s16(S16(a), S16(b)); }
#define v_shl(a, n)   vshlq_n_u16(a, n)
#define v_shr(a, n)   vshrq_n_u16(a, n)
#define v_sar(a, n)   FROM_S16(vshrq_n_s16(S16(a), n))
#define v_sar32(a, n) FROM_S32(vshrq_n_s32(S32(a), n))
#define v_shr32(a, n) FROM_U32(vshrq_n_u32(U32(a), n))

/* -1 in bytes that are 0. */
VEC_INLINE vec v_zero8(vec a) { return FROM_U8(vceqzq_u8(U8(a))); }
/* One of VEC_MASK_BITS bits for each byte, 1 when it is not 0. */
#define VEC_MASK_BITS 4
VEC_INLINE uint64_t v_mask8(vec a)
{
    vec set = FROM_U8(vtstq_u8(U8(a), U8(a)));
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(set, 4)), 0) & 0x1111111111111111u;
}

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
VEC_INLINE vec v_low_twice(vec a) { return vtrn1q_u16(a, a); }
VEC_INLINE vec v_widen8(const uint8_t *p) { return vmovl_u8(vld1_u8(p)); }
VEC_INLINE vec v_each16(const uint8_t p[16]) { return v_loadu(p); }
VEC_INLINE vec v_lookup16(vec tables, vec index) { return FROM_U8(vqtbl1q_u8(U8(tables), U8(index))); }
VEC_INLINE vec v_sum_pairs8(vec a) { return vpaddlq_u8(U8(a)); }
#define VEC_ADDS_ALONG
VEC_INLINE vec v_add_pairs8(vec sum, vec a) { return vpadalq_u8(sum, U8(a)); }
#define v_shr_round(a, n) vrshrq_n_u16(a, n)
VEC_INLINE vec v_sum_pairs(vec a) { return FROM_U32(vpaddlq_u16(a)); }
/* Sums of bytes as two vecs, in the order of v_pack8. */
VEC_INLINE void v_sum8(vec a, vec b, vec *first, vec *second)
{
    *first = vaddl_u8(vget_low_u8(U8(a)), vget_low_u8(U8(b)));
    *second = vaddl_high_u8(U8(a), U8(b));
}
/* Keeps the compiler from regrouping sums, for which there are not enough registers. */
VEC_INLINE vec v_keep(vec a)
{
    __asm__("" : "+w"(a));
    return a;
}
VEC_INLINE vec v_join8(vec a, vec b) { return FROM_U8(vcombine_u8(vqmovun_s16(S16(a)), vqmovun_s16(S16(b)))); }
VEC_INLINE vec v_pack8(vec a, vec b) { return v_join8(a, b); }

/* The least lane as an unsigned number, and which it is: of equal ones the first. */
VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    uint16_t min = vminvq_u16(a);
    uint64_t where = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(vceqq_u16(a, vdupq_n_u16(min)))), 0);
    *lane = __builtin_ctzll(where) / 8;
    return min;
}
/* a with one lane of b. */
VEC_INLINE vec v_replace(vec a, int lane, vec b)
{
    static const uint16_t number[VEC_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    return vbslq_u16(vceqq_u16(vld1q_u16(number), v_set(lane)), b, a);
}

/* Here a pair is just both, since multiplications take lanes apart themselves. */
VEC_INLINE vec_pair v_pair(vec a, vec b) { return (vec_pair){a, b}; }
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return vshrn_high_n_u32(vshrn_n_u32(U32(a.low), 6), U32(a.high), 6); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    int16x8_t first = S16(a.low), second = S16(a.high);
    int32x4_t low = vmlal_n_s16(S32(sum->low), vget_low_s16(first), w[0]);
    int32x4_t high = vmlal_high_n_s16(S32(sum->high), first, w[0]);
    sum->low = FROM_S32(vmlal_n_s16(low, vget_low_s16(second), w[1]));
    sum->high = FROM_S32(vmlal_high_n_s16(high, second, w[1]));
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
VEC_INLINE void v_transpose4(uint32x4_t r[4])
{
    uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(r[0], r[1])), b = vreinterpretq_u64_u32(vtrn2q_u32(r[0], r[1]));
    uint64x2_t c = vreinterpretq_u64_u32(vtrn1q_u32(r[2], r[3])), d = vreinterpretq_u64_u32(vtrn2q_u32(r[2], r[3]));
    r[0] = vreinterpretq_u32_u64(vtrn1q_u64(a, c));
    r[1] = vreinterpretq_u32_u64(vtrn1q_u64(b, d));
    r[2] = vreinterpretq_u32_u64(vtrn2q_u64(a, c));
    r[3] = vreinterpretq_u32_u64(vtrn2q_u64(b, d));
}

/* Four 32-bit values of each row. */
VEC_INLINE void v_store_rows32(const vec_pair in[4], uint32_t *const rows[VEC_LANES], size_t offset)
{
    for (int half = 0; half < 2; half++) {
        uint32x4_t r[4];
        for (int i = 0; i < 4; i++) r[i] = half ? U32(in[i].high) : U32(in[i].low);
        v_transpose4(r);
        for (int i = 0; i < 4; i++) vst1q_u32(rows[4 * half + i] + offset, r[i]);
    }
}

VEC_INLINE void v_transpose8(vec r[8])
{
    uint32x4_t a[8], b[4], c[4];
    for (int i = 0; i < 8; i += 2) {
        a[i] = U32(vtrn1q_u16(r[i], r[i + 1])); /* rows i and i + 1, even units */
        a[i + 1] = U32(vtrn2q_u16(r[i], r[i + 1]));
    }
    for (int odd = 0; odd < 2; odd++) {
        for (int i = 0; i < 4; i++) b[i] = a[2 * i + odd];
        for (int i = 0; i < 2; i++) {
            c[i] = vtrn1q_u32(b[2 * i], b[2 * i + 1]);
            c[i + 2] = vtrn2q_u32(b[2 * i], b[2 * i + 1]);
        }
        for (int i = 0; i < 2; i++) { /* units odd + 2 i, and 4 further on */
            uint64x2_t upper = vreinterpretq_u64_u32(c[2 * i]), lower = vreinterpretq_u64_u32(c[2 * i + 1]);
            r[odd + 2 * i] = vreinterpretq_u16_u64(vtrn1q_u64(upper, lower));
            r[odd + 2 * i + 4] = vreinterpretq_u16_u64(vtrn2q_u64(upper, lower));
        }
    }
}

/* ---- for sampling patches ---- */

#define VEC_TILES_AHEAD 1 /* a window takes four registers, places three more per vec */

/* Eight rows of 8 bytes: one look-up spans them all. */
typedef struct vec_window {
    uint8x16x4_t rows;
} vec_window;

/* A window of 6 to 8 rows, which is a constant. */
VEC_INLINE vec_window v_window(const uint8_t *p, ptrdiff_t stride, int rows)
{
    vec_window w;
    for (int i = 0; i < 4; i++) { /* no index reaches beyond the last row */
        int first = 2 * i < rows ? 2 * i : 0, second = 2 * i + 1 < rows ? 2 * i + 1 : 0;
        w.rows.val[i] = vcombine_u8(vld1_u8(p + first * stride), vld1_u8(p + second * stride));
    }
    return w;
}

#define VEC_WINDOW_FIRST 0 /* the index of the first */
/* The bytes at 8 row + column, and those a row below. */
VEC_INLINE void v_window_at(const vec_window *w, vec index, int rows, vec *upper, vec *lower)
{
    (void)rows;
    *upper = FROM_U8(vqtbl4q_u8(w->rows, U8(index)));
    *lower = FROM_U8(vqtbl4q_u8(w->rows, vaddq_u8(U8(index), vdupq_n_u8(8))));
}

/* first byte x first weight + second byte x second weight; weights up to 127, together up to 128. */
VEC_INLINE vec v_dot8(vec bytes, vec weights)
{
    return vpaddq_u16(vmull_u8(vget_low_u8(U8(bytes)), vget_low_u8(U8(weights))),
                      vmull_high_u8(U8(bytes), U8(weights)));
}

/* a x first + b x second as two vecs, in the order of v_pack8. */
VEC_INLINE void v_mix8(vec a, vec b, int first, int second, vec *low, vec *high)
{
    const uint8x16_t w = vdupq_n_u8((uint8_t)first), v = vdupq_n_u8((uint8_t)second);
    *low = vmlal_u8(vmull_u8(vget_low_u8(U8(a)), vget_low_u8(w)), vget_low_u8(U8(b)), vget_low_u8(v));
    *high = vmlal_high_u8(vmull_high_u8(U8(a), w), U8(b), v);
}

/* Four tiles of 4x4 samples side by side, a lane for each, to rows of bytes that are `stride` apart. */
VEC_INLINE void v_store_tiles(const vec tile[8], uint8_t *to, int32_t stride)
{
    uint32x4_t r[4];
    for (int i = 0; i < 4; i++) r[i] = U32(v_join8(tile[2 * i], tile[2 * i + 1]));
    v_transpose4(r);
    for (int i = 0; i < 4; i++) vst1q_u8(to + i * stride, vreinterpretq_u8_u32(r[i]));
}

/* ---- for Harris's response ---- */

/* Adds the products of lanes, signed, to four 32-bit sums; which lane goes to which sum does not matter. */
VEC_INLINE vec v_add_products(vec sums, vec a, vec b)
{
    int32x4_t low = vmlal_s16(S32(sums), vget_low_s16(S16(a)), vget_low_s16(S16(b)));
    return FROM_S32(vmlal_high_s16(low, S16(a), S16(b)));
}
VEC_INLINE int32_t v_sum32(vec sums) { return vaddvq_s32(S32(sums)); }

/* ---- for directions by gradients ---- */

/* gcc 12 would take the vectors of __builtin_convertvector apart. */
#define VEC_WIDENS
#define v_widen16(p)    ((vec_ints)vmovl_u16(vld1_u16((const void *)(p))))
#define v_widen16_s(p)  ((vec_ints)vmovl_s16(vld1_s16((const void *)(p))))
#define v_store16(p, a) vst1_u16(p, vmovn_u32((uint32x4_t)(a)))

#define v_max_floats(a, b) ((vec_floats)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define v_min_floats(a, b) ((vec_floats)vminq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define v_top_float(a)     vmaxvq_f32((float32x4_t)(a))

/* ---- for RootSIFT ---- */

/* floor((sqrt(in[i]) + 1) / 2) of VEC_ROOTS integers, 0 to 2^20. */
#define VEC_ROOTS 4
VEC_INLINE void v_roots(const int32_t *in, int32_t *out)
{
    float32x4_t v = vsqrtq_f32(vcvtq_f32_s32(vld1q_s32(in)));
    vst1q_s32(out, vcvtq_s32_f32(vaddq_f32(vmulq_n_f32(v, 0.5f), vdupq_n_f32(0.5f))));
}

/* ---- for the projection ---- */

typedef struct vec_eight {
    int32x4_t low, high;
} vec_eight; /* 8 sums of 32 bits */

VEC_INLINE vec_eight v_eight_zero(void) { return (vec_eight){vdupq_n_s32(0), vdupq_n_s32(0)}; }
VEC_INLINE void v_eight_add(vec_eight *sums, const int32_t *p)
{
    sums->low = vaddq_s32(sums->low, vld1q_s32(p));
    sums->high = vaddq_s32(sums->high, vld1q_s32(p + 4));
}
VEC_INLINE void v_eight_times128(vec_eight *sums)
{
    sums->low = vshlq_n_s32(sums->low, 7);
    sums->high = vshlq_n_s32(sums->high, 7);
}
VEC_INLINE int32x4_t v_dot_four(int32x4_t sums, int8x16_t values, int8x16_t weights)
{
    int16x8_t low = vmull_s8(vget_low_s8(values), vget_low_s8(weights)), high = vmull_high_s8(values, weights);
    return vpadalq_s16(sums, vpaddq_s16(low, high));
}
/* Adds the products of 4 bytes (up to 127, the same in every lane) with 4 weights for each of the 8 sums. */
VEC_INLINE void v_dot_eight(vec_eight *sums, vec four, const int8_t *weights)
{
    int8x16_t values = vreinterpretq_s8_u16(four);
    sums->low = v_dot_four(sums->low, values, vld1q_s8(weights));
    sums->high = v_dot_four(sums->high, values, vld1q_s8(weights + 16));
}
/* A bit for each sum, 1 when it is above 0; the last sum has the highest bit. */
VEC_INLINE uint8_t v_eight_signs(const vec_eight *sums)
{
    static const uint32_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    uint32x4_t low = vandq_u32(vcgtzq_s32(sums->low), vld1q_u32(bits));
    uint32x4_t high = vandq_u32(vcgtzq_s32(sums->high), vld1q_u32(bits + 4));
    return (uint8_t)vaddvq_u32(vaddq_u32(low, high));
}

/* ---- for matching ---- */

#define VEC_COUNTS_BITS
VEC_INLINE vec v_add_count(vec sum, vec bits) { return vpadalq_u8(sum, vcntq_u8(U8(bits))); }

#define KBI_HAMMING_32 v_hamming_32
VEC_INLINE uint32_t v_hamming_32(const uint8_t *a, const uint8_t *b)
{
    uint8x16_t first = vcntq_u8(veorq_u8(vld1q_u8(a), vld1q_u8(b)));
    return vaddlvq_u8(vaddq_u8(first, vcntq_u8(veorq_u8(vld1q_u8(a + 16), vld1q_u8(b + 16)))));
}

/* Bits of 16 words of 8 bytes that differ from `word`, a byte for each. */
VEC_INLINE vec v_hamming_words(uint64_t word, const uint8_t *words)
{
    uint8x16_t count[8];
    for (int i = 0; i < 8; i++)
        count[i] = vcntq_u8(veorq_u8(vld1q_u8(words + 16 * i), vreinterpretq_u8_u64(vdupq_n_u64(word))));
    for (int n = 4; n > 0; n /= 2)
        for (int i = 0; i < n; i++) count[i] = vpaddq_u8(count[2 * i], count[2 * i + 1]);
    return FROM_U8(count[0]);
}

/* Of VEC_FLOATS points with a level those in a circle, as bits. */
#define VEC_FLOATS 4
#define v_bits_floats(a) v_bits_of((uint32x4_t)(a))
VEC_INLINE uint32_t v_bits_of(uint32x4_t mask)
{
    static const uint32_t bits[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, vld1q_u32(bits)));
}
VEC_INLINE unsigned v_circle(const float *x, const float *y, const int32_t *level, const kbi_circle *circle)
{
    float32x4_t dx = vsubq_f32(vld1q_f32(x), vdupq_n_f32(circle->x));
    float32x4_t dy = vsubq_f32(vld1q_f32(y), vdupq_n_f32(circle->y));
    float32x4_t far2 = vaddq_f32(vmulq_f32(dx, dx), vmulq_f32(dy, dy));
    int32x4_t at = vld1q_s32(level);
    uint32x4_t at_level = vandq_u32(vcgeq_s32(at, vdupq_n_s32(circle->min_level)),
                                    vcleq_s32(at, vdupq_n_s32(circle->max_level)));
    return v_bits_of(vandq_u32(vcleq_f32(far2, vdupq_n_f32(circle->radius2)), at_level));
}

/* k to k + 3 in the order of `bytes`. */
VEC_INLINE void v_store_lanes4(int32_t *to, int32_t k, const uint8_t bytes[16])
{
    static const int32_t four[4] = {0, 1, 2, 3};
    int32x4_t numbers = vaddq_s32(vdupq_n_s32(k), vld1q_s32(four));
    vst1q_s32(to, vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(numbers), vld1q_u8(bytes))));
}

#endif
