/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of simd/vec.h that the compiler's vector operators express for every instruction set. A vec_<set>.h
 * includes it once it has defined vec, VEC_LANES and VEC_INLINE. */
#ifndef KBI_VEC_LANES_H
#define KBI_VEC_LANES_H

/* A vec as lanes of another type, and in memory, where it may alias anything. */
typedef uint8_t vec_u8 __attribute__((vector_size(2 * VEC_LANES)));
typedef uint16_t vec_u16 __attribute__((vector_size(2 * VEC_LANES)));
typedef int16_t vec_s16 __attribute__((vector_size(2 * VEC_LANES)));
typedef uint32_t vec_u32 __attribute__((vector_size(2 * VEC_LANES)));
typedef int32_t vec_ints __attribute__((vector_size(2 * VEC_LANES)));
typedef float vec_floats __attribute__((vector_size(2 * VEC_LANES)));
typedef vec vec_aligned __attribute__((may_alias));
typedef vec vec_anywhere __attribute__((may_alias, aligned(1)));

typedef struct vec_pair {
    vec low, high;
} vec_pair;

VEC_INLINE vec v_load(const void *p) { return *(const vec_aligned *)p; }
VEC_INLINE vec v_loadu(const void *p) { return *(const vec_anywhere *)p; }
VEC_INLINE void v_store(void *p, vec a) { *(vec_aligned *)p = a; }
VEC_INLINE void v_storeu(void *p, vec a) { *(vec_anywhere *)p = a; }
VEC_INLINE vec v_set(int v) { return (vec)((vec_u16){0} + (uint16_t)v); }
VEC_INLINE vec v_set32(uint32_t v) { return (vec)((vec_u32){0} + v); }
VEC_INLINE vec v_zero(void) { return (vec)(vec_u16){0}; }
VEC_INLINE vec v_ones(void) { return (vec) ~(vec_u16){0}; }

#define VEC_BINARY(name, lanes, op)                                                                                    \
    VEC_INLINE vec name(vec a, vec b) { return (vec)((lanes)a op(lanes) b); }
VEC_BINARY(v_add, vec_u16, +)
VEC_BINARY(v_sub, vec_u16, -)
VEC_BINARY(v_mul, vec_u16, *)
VEC_BINARY(v_add8, vec_u8, +)
VEC_BINARY(v_sub8, vec_u8, -)
VEC_BINARY(v_add32, vec_u32, +)
VEC_BINARY(v_sub32, vec_u32, -)
VEC_BINARY(v_mul32, vec_u32, *)
VEC_BINARY(v_and, vec_u16, &)
VEC_BINARY(v_or, vec_u16, |)
VEC_BINARY(v_xor, vec_u16, ^)
VEC_BINARY(v_gt, vec_s16, >)
#undef VEC_BINARY
VEC_INLINE vec v_andnot(vec a, vec b) { return (vec)(~(vec_u16)a & (vec_u16)b); }
VEC_INLINE vec v_zero8(vec a) { return (vec)((vec_u8)a == 0); }
#define v_shl(a, n)   ((vec)((vec_u16)(a) << (n)))
#define v_shr(a, n)   ((vec)((vec_u16)(a) >> (n)))
#define v_sar(a, n)   ((vec)((vec_s16)(a) >> (n)))
#define v_shr32(a, n) ((vec)((vec_u32)(a) >> (n)))
#define v_sar32(a, n) ((vec)((vec_ints)(a) >> (n)))

#endif
