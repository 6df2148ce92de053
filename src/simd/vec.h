/* SPDX-License-Identifier: Apache-2.0 */
/* One vector vocabulary for all instruction sets, so that a kernel is written once. A file kernels_<set>.c defines
 * KBI_VEC_AVX2, KBI_VEC_SSE4, KBI_VEC_NEON or KBI_VEC_WASM, includes simd/templates.h, and has all kernels for that
 * set. KBI_VEC_AVX512 has the operations of the few kernels that kernels_avx512.c includes.
 *
 * A `vec` is a register of VEC_LANES lanes of 16 bits; where the name of an operation ends in 8 or 32 the register is
 * looked at as bytes or as 32-bit lanes. All arithmetic is modulo 2^16 (2^8, 2^32) unless it says otherwise.
 *
 *   v_load v_store        aligned;  v_loadu v_storeu: any address
 *   v_set v_zero v_ones   all lanes alike;  v_set32
 *   v_add v_sub v_mul     and v_add8 v_sub8, v_add32 v_sub32 v_mul32
 *   v_subs8               unsigned, not below 0;  v_adds8: not above 255
 *   v_high                high 16 bits of the unsigned product;  v_high_s: of the signed product
 *   v_high_twice          high 16 bits of twice the signed product;  v_high_by: v_high by a constant, below 2^15
 *   v_mul_q15             (a b + 2^14) >> 15, signed
 *   v_min v_max           unsigned;  v_min_s v_max_s: signed;  v_min8 v_max8: unsigned bytes;  v_abs
 *   v_and v_or v_xor      bits;  v_andnot(a, b) = ~a & b
 *   v_shl v_shr v_sar     by a constant;  v_shr32 v_sar32;  v_shr_round: (a + 2^(n - 1)) >> n, for sums below 2^16
 *   v_low_twice           both halves of every 32-bit lane are its low half
 *   v_gt                  signed a > b ? -1 : 0;  v_zero8: bytes a == 0 ? -1 : 0
 *   v_mask8               a number with one of VEC_MASK_BITS bits set for each byte that is not 0
 *   v_pack8               the lanes of two vecs as bytes, signed to unsigned with saturation, in an order of its own;
 *                         v_join8: in order
 *   v_widen8              VEC_LANES bytes in memory as lanes (where there are 8)
 *   v_dot8                first byte x first weight + second byte x second weight of every lane; weights up to 127,
 *                         together up to 128;  v_mix8: the same for the bytes of two vecs and two weights
 *   v_sum_pairs8          sums of two neighbouring bytes as lanes;  v_add_pairs8: added to the lanes of the first
 *   v_sum_pairs           of two neighbouring lanes below 2^15 as 32-bit lanes
 *   v_sum8                sums of bytes of two vecs as two vecs of lanes, in the order of v_pack8
 *   v_set8_two            bytes alike: in the first 8 lanes, and in further ones
 *   v_load2               16 bytes at p, and for each further 8 lanes 16 bytes `step` further on
 *   v_each16              the same 16 bytes for each 8 lanes
 *   v_max_floats          of a vec_floats, 32-bit lanes none of which is NaN;  v_min_floats;  v_top_float: the largest
 *   v_lookup16            in each 128 bits: the bytes of the first at the indices in the second, 0 to 15
 *   v_add_count           adds the number of bits of every lane that are set; where VEC_COUNTS_BITS is defined
 *   v_least v_replace     the least lane as an unsigned number and which it is, of equal ones the first; a vec with one
 *                         lane of another
 *   v_keep                the same vec, of which the compiler knows nothing
 *   v_pair                brings two vecs together for v_madd: lane i of both becomes neighbours
 *   v_madd                adds first[i] w[0] + second[i] w[1] to the 32-bit sums of lane i; signed
 *   v_widen16             VEC_LANES / 2 16-bit numbers in memory as a vec_ints;  v_widen16_s: signed ones
 *   v_store16             the low 16 bits of every 32-bit lane to memory
 *   v_load_rows           16 bytes from each of VEC_LANES rows, as 8 vecs for v_transpose8: afterwards
 *                         lane k of vec u is the u-th 16-bit unit of row k
 *   v_store_rows          the inverse: after v_transpose8, 16 bytes to each row;  v_store_rows32: from 32-bit sums
 *
 * and operations of single kernels, at the end of each vec_<set>.h. vec_lanes.h has the operations that the compiler's
 * own operators express for all sets; vec_x86.h, vec_128.h and vec_interleave.h have operations that some sets
 * share. */
#ifndef KBI_VEC_H
#define KBI_VEC_H

#include "common/common.h"

/* In front of a loop whose number of rounds is a constant once its function is part of another. clang would unroll with
 * "unroll" alone before that is known, by 2, and then leave what the loop sums in memory. VEC_UNROLL_4: only four
 * rounds, where more make the code larger and not faster. VEC_PEEL: only gcc, which
 * does not do so by itself at -O2. */
#if defined(__clang__)
#    define VEC_UNROLL _Pragma("clang loop unroll(full)")
#    define VEC_UNROLL_4 _Pragma("clang loop unroll_count(4)")
#    define VEC_PEEL
#else
#    define VEC_UNROLL _Pragma("GCC unroll 32")
#    define VEC_UNROLL_4 _Pragma("GCC unroll 4")
#    define VEC_PEEL VEC_UNROLL
#endif

/* In front of a kernel, and its name: kbi_<slot>_<set>. */
#define VEC_KERNEL KBI_STATIC VEC_TARGET
#if defined(KBI_VEC_AVX512) || defined(VEC_WITH_AVX512)
#    define KERNEL(name) kbi_##name##_avx512
#elif defined(KBI_VEC_AVX2)
#    define KERNEL(name) kbi_##name##_avx2
#elif defined(KBI_VEC_SSE4)
#    define KERNEL(name) kbi_##name##_sse4
#elif defined(KBI_VEC_NEON)
#    define KERNEL(name) kbi_##name##_neon
#elif defined(KBI_VEC_WASM)
#    define KERNEL(name) kbi_##name##_wasm
#endif

/* In a table: the slot has the kernel of this set. */
#define OWN(slot) .slot = KERNEL(slot)

#if defined(KBI_VEC_AVX512)
#    include "simd/vec_avx512.h"
#elif defined(KBI_VEC_AVX2)
#    include "simd/vec_avx2.h"
#elif defined(KBI_VEC_SSE4)
#    include "simd/vec_sse4.h"
#elif defined(KBI_VEC_NEON)
#    include "simd/vec_neon.h"
#elif defined(KBI_VEC_WASM)
#    include "simd/vec_wasm.h"
#endif

#ifndef VEC_EXACT /* no instruction that fuses a multiplication and an addition */
#    define VEC_EXACT
#endif

#define VEC_FLOATS (VEC_LANES / 2) /* 32-bit numbers of a vec */

#if !defined(VEC_WIDENS) && !defined(KBI_VEC_AVX512) /* whose kernels do not need it */
typedef int16_t vec_shorts __attribute__((vector_size(VEC_LANES)));
typedef uint16_t vec_words __attribute__((vector_size(VEC_LANES)));
VEC_INLINE vec_ints v_widen16(const void *p)
{
    vec_words half;
    memcpy(&half, p, sizeof half);
    return __builtin_convertvector(half, vec_ints);
}
VEC_INLINE vec_ints v_widen16_s(const void *p)
{
    vec_shorts half;
    memcpy(&half, p, sizeof half);
    return __builtin_convertvector(half, vec_ints);
}
VEC_INLINE void v_store16(void *p, vec_ints a)
{
    vec_words half = __builtin_convertvector(a, vec_words);
    memcpy(p, &half, sizeof half);
}
#endif

#ifndef KBI_VEC_AVX512
VEC_INLINE vec v_replace(vec a, int lane, vec b)
{
    static const uint16_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    vec here = (vec)((vec_u16)v_loadu(numbers) == (uint16_t)lane);
    return v_or(v_and(here, b), v_andnot(here, a));
}
#endif

#ifndef VEC_ADDS_ALONG /* with what comes before or after */
#    define v_add_pairs8(sum, a) v_add(sum, v_sum_pairs8(a))
#    define v_shr_round(a, n)    v_shr(v_add(a, v_set(1 << ((n) - 1))), n)
#endif

#ifndef VEC_DOUBLES_PRODUCTS
#    define v_high_twice(a, b)     v_high_s(v_add(a, a), b)
#    define v_high_by(a, constant) v_high(a, v_set(constant))
#endif

#ifdef v_sqrt_floats
/* For RootSIFT: floor((sqrt(in[i]) + 1) / 2) of VEC_ROOTS integers, 0 to 2^20. */
#    define VEC_ROOTS VEC_FLOATS
VEC_INLINE VEC_EXACT void v_roots(const int32_t *in, int32_t *out)
{
    vec_floats root = v_sqrt_floats(__builtin_convertvector((vec_ints)v_loadu(in), vec_floats));
    v_storeu(out, (vec)__builtin_convertvector(root * 0.5f + 0.5f, vec_ints));
}
#endif

#endif
