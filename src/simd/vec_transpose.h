/* SPDX-License-Identifier: Apache-2.0 */
/* v_transpose8 of simd/vec.h for sets that interleave registers as x86 does: VEC_OP(name) is the instruction. */
#ifndef KBI_VEC_TRANSPOSE_H
#define KBI_VEC_TRANSPOSE_H

/* Transposes 8x8 lanes in each 128 bits. */
VEC_INLINE void v_transpose8(vec r[8])
{
    vec a[8], b[8];
    VEC_PEEL
    for (int i = 0; i < 4; i++) {
        a[2 * i] = VEC_OP(unpacklo_epi16)(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = VEC_OP(unpackhi_epi16)(r[2 * i], r[2 * i + 1]);
    }
    VEC_PEEL
    for (int i = 0; i < 2; i++)
        VEC_PEEL
        for (int k = 0; k < 2; k++) {
            b[4 * i + 2 * k] = VEC_OP(unpacklo_epi32)(a[4 * i + k], a[4 * i + k + 2]);
            b[4 * i + 2 * k + 1] = VEC_OP(unpackhi_epi32)(a[4 * i + k], a[4 * i + k + 2]);
        }
    VEC_PEEL
    for (int i = 0; i < 4; i++) {
        r[2 * i] = VEC_OP(unpacklo_epi64)(b[i], b[i + 4]);
        r[2 * i + 1] = VEC_OP(unpackhi_epi64)(b[i], b[i + 4]);
    }
}

#endif
