/* SPDX-License-Identifier: Apache-2.0 */
/* simd/vec.h for NEON of aarch64: 8 lanes. A vec is a uint16x8_t; other views of it are casts. */
#ifndef KBI_VEC_NEON_H
#define KBI_VEC_NEON_H

#include <arm_neon.h>

#define VEC_LANES 8
#define VEC_TARGET
#define VEC_INLINE __attribute__((always_inline, unused)) static inline

typedef uint16x8_t vec;
#include "simd/vec_lanes.h"

#define S16(a) ((int16x8_t)(a))
#define U8(a)  ((uint8x16_t)(a))
#define U32(a) ((uint32x4_t)(a))
#define S32(a) ((int32x4_t)(a))

#define VEC_OP(name)           n_##name
#define n_unpacklo_epi16       vzip1q_u16
#define n_unpackhi_epi16       vzip2q_u16
#define n_unpacklo_epi32(a, b) ((vec)vzip1q_u32(U32(a), U32(b)))
#define n_unpackhi_epi32(a, b) ((vec)vzip2q_u32(U32(a), U32(b)))
#define n_unpacklo_epi64(a, b) ((vec)vzip1q_u64((uint64x2_t)(a), (uint64x2_t)(b)))
#define n_unpackhi_epi64(a, b) ((vec)vzip2q_u64((uint64x2_t)(a), (uint64x2_t)(b)))
#define v_join8(a, b)          ((vec)vcombine_u8(vqmovun_s16(S16(a)), vqmovun_s16(S16(b))))
#define v_pack8(a, b)          v_join8(a, b)
#include "simd/vec_128.h"

#define VEC_BINARY(name, view, intrinsic)                                                                              \
    VEC_INLINE vec name(vec a, vec b) { return (vec)intrinsic(view(a), view(b)); }
VEC_BINARY(v_mul_q15, S16, vqrdmulhq_s16)
VEC_BINARY(v_min, , vminq_u16)
VEC_BINARY(v_max, , vmaxq_u16)
VEC_BINARY(v_min_s, S16, vminq_s16)
VEC_BINARY(v_max_s, S16, vmaxq_s16)
VEC_BINARY(v_min8, U8, vminq_u8)
VEC_BINARY(v_max8, U8, vmaxq_u8)
VEC_BINARY(v_subs8, U8, vqsubq_u8)
VEC_BINARY(v_adds8, U8, vqaddq_u8)
VEC_BINARY(v_lookup16, U8, vqtbl1q_u8)
#undef VEC_BINARY
VEC_INLINE vec v_high(vec a, vec b)
{
    return vuzp2q_u16((vec)vmull_u16(vget_low_u16(a), vget_low_u16(b)), (vec)vmull_high_u16(a, b));
}
/* NEON's instruction doubles the signed product before it takes the high half. It saturates where both factors are
 * -2^15, which does not occur in any kernel. */
#define VEC_DOUBLES_PRODUCTS
VEC_INLINE vec v_high_twice(vec a, vec b) { return (vec)vqdmulhq_s16(S16(a), S16(b)); }
VEC_INLINE vec v_high_s(vec a, vec b) { return v_sar(v_high_twice(a, b), 1); }
VEC_INLINE vec v_high_by(vec a, int constant)
{
    return constant % 2 ? v_high_s(a, v_set(constant)) : v_high_twice(a, v_set(constant / 2));
}
VEC_INLINE vec v_abs(vec a) { return (vec)vabsq_s16(S16(a)); }

#define VEC_MASK_BITS 4
VEC_INLINE uint64_t v_mask8(vec a)
{
    vec set = (vec)vtstq_u8(U8(a), U8(a));
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(set, 4)), 0) & 0x1111111111111111u;
}

VEC_INLINE vec v_low_twice(vec a) { return vtrn1q_u16(a, a); }
VEC_INLINE vec v_widen8(const uint8_t *p) { return vmovl_u8(vld1_u8(p)); }
VEC_INLINE vec v_sum_pairs8(vec a) { return vpaddlq_u8(U8(a)); }
#define VEC_ADDS_ALONG
VEC_INLINE vec v_add_pairs8(vec sum, vec a) { return vpadalq_u8(sum, U8(a)); }
#define v_shr_round(a, n) vrshrq_n_u16(a, n)
VEC_INLINE vec v_sum_pairs(vec a) { return (vec)vpaddlq_u16(a); }
VEC_INLINE void v_sum8(vec a, vec b, vec *first, vec *second)
{
    *first = vaddl_u8(vget_low_u8(U8(a)), vget_low_u8(U8(b)));
    *second = vaddl_high_u8(U8(a), U8(b));
}
VEC_INLINE vec v_keep(vec a)
{
    __asm__("" : "+w"(a));
    return a;
}

VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    uint16_t min = vminvq_u16(a);
    uint64_t where = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(vceqq_u16(a, vdupq_n_u16(min)))), 0);
    *lane = __builtin_ctzll(where) / 8;
    return min;
}

/* A pair is two vecs as they are, since NEON's multiplications take the lanes apart. */
VEC_INLINE vec_pair v_pair(vec a, vec b) { return (vec_pair){a, b}; }
VEC_INLINE vec v_narrow_shr6(vec_pair a) { return vshrn_high_n_u32(vshrn_n_u32(U32(a.low), 6), U32(a.high), 6); }
VEC_INLINE void v_madd(vec_pair *sum, vec_pair a, const int16_t w[2])
{
    int16x8_t first = S16(a.low), second = S16(a.high);
    int32x4_t low = vmlal_n_s16(S32(sum->low), vget_low_s16(first), w[0]);
    int32x4_t high = vmlal_high_n_s16(S32(sum->high), first, w[0]);
    sum->low = (vec)vmlal_n_s16(low, vget_low_s16(second), w[1]);
    sum->high = (vec)vmlal_high_n_s16(high, second, w[1]);
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
/* The bytes at 8 row + column, and the bytes a row below. */
VEC_INLINE void v_window_at(const vec_window *w, vec index, int rows, vec *upper, vec *lower)
{
    (void)rows;
    *upper = (vec)vqtbl4q_u8(w->rows, U8(index));
    *lower = (vec)vqtbl4q_u8(w->rows, U8(v_add8(index, v_set(0x0808))));
}

VEC_INLINE vec v_dot8(vec bytes, vec weights)
{
    return vpaddq_u16(vmull_u8(vget_low_u8(U8(bytes)), vget_low_u8(U8(weights))),
                      vmull_high_u8(U8(bytes), U8(weights)));
}
VEC_INLINE void v_mix8(vec a, vec b, int first, int second, vec *low, vec *high)
{
    const uint8x16_t w = vdupq_n_u8((uint8_t)first), v = vdupq_n_u8((uint8_t)second);
    *low = vmlal_u8(vmull_u8(vget_low_u8(U8(a)), vget_low_u8(w)), vget_low_u8(U8(b)), vget_low_u8(v));
    *high = vmlal_high_u8(vmull_high_u8(U8(a), w), U8(b), v);
}

/* ---- for Harris's response ---- */

/* Adds the products of lanes, signed, to four 32-bit sums; which lane goes to which sum does not matter. */
VEC_INLINE vec v_add_products(vec sums, vec a, vec b)
{
    int32x4_t low = vmlal_s16(S32(sums), vget_low_s16(S16(a)), vget_low_s16(S16(b)));
    return (vec)vmlal_high_s16(low, S16(a), S16(b));
}
VEC_INLINE int32_t v_sum32(vec sums) { return vaddvq_s32(S32(sums)); }

/* ---- floats ---- */

/* gcc 12 would take the vectors of __builtin_convertvector apart. */
#define VEC_WIDENS
#define v_widen16(p)    ((vec_ints)vmovl_u16(vld1_u16((const void *)(p))))
#define v_widen16_s(p)  ((vec_ints)vmovl_s16(vld1_s16((const void *)(p))))
#define v_store16(p, a) vst1_u16(p, vmovn_u32((uint32x4_t)(a)))

#define v_max_floats(a, b) ((vec_floats)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define v_min_floats(a, b) ((vec_floats)vminq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define v_sqrt_floats(a)   ((vec_floats)vsqrtq_f32((float32x4_t)(a)))
#define v_top_float(a)     vmaxvq_f32((float32x4_t)(a))
#define v_bits_floats(a)   v_bits_of((uint32x4_t)(a))
VEC_INLINE uint32_t v_bits_of(uint32x4_t mask)
{
    static const uint32_t bits[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, vld1q_u32(bits)));
}

/* ---- for the projection ---- */

VEC_INLINE vec v_dot_bytes(vec sums, vec values, vec weights)
{
    const int8x16_t a = (int8x16_t)values, b = (int8x16_t)weights;
    return (vec)vpadalq_s16(S32(sums), vpaddq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b)), vmull_high_s8(a, b)));
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
    return (vec)count[0];
}

/* k to k + 3 in the order of `bytes`. */
VEC_INLINE void v_store_lanes4(int32_t *to, int32_t k, const uint8_t bytes[16])
{
    static const int32_t four[4] = {0, 1, 2, 3};
    int32x4_t numbers = vaddq_s32(vdupq_n_s32(k), vld1q_s32(four));
    vst1q_s32(to, vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(numbers), vld1q_u8(bytes))));
}

#endif
