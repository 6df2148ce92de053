/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into lanes and back, for sets that interleave the halves of two vecs, in each 128 bits: VEC_OP(unpacklo_epi16)
 * and its relatives, named as x86 does. v_store16_each(rows, offset, a) stores 16 bytes of a to each eighth row. */
#ifndef KBI_VEC_INTERLEAVE_H
#define KBI_VEC_INTERLEAVE_H

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

/* 4x4 numbers of 32 bits in each 128 bits. */
VEC_INLINE void v_transpose4(vec r[4])
{
    vec a[4];
    for (int i = 0; i < 2; i++) {
        a[i] = VEC_OP(unpacklo_epi32)(r[2 * i], r[2 * i + 1]);
        a[i + 2] = VEC_OP(unpackhi_epi32)(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; i += 2) {
        r[i] = VEC_OP(unpacklo_epi64)(a[i], a[i + 1]);
        r[i + 1] = VEC_OP(unpackhi_epi64)(a[i], a[i + 1]);
    }
}

VEC_INLINE void v_store_rows(const vec in[8], uint8_t *const rows[VEC_LANES], size_t offset)
{
    VEC_PEEL
    for (int k = 0; k < 8; k++) v_store16_each(rows + k, offset, in[k]);
}

/* Four 32-bit values of each row. */
VEC_INLINE void v_store_rows32(const vec_pair in[4], uint32_t *const rows[VEC_LANES], size_t offset)
{
    VEC_PEEL
    for (int half = 0; half < 2; half++) {
        vec r[4];
        VEC_PEEL
        for (int i = 0; i < 4; i++) r[i] = half ? in[i].high : in[i].low;
        v_transpose4(r);
        VEC_PEEL
        for (int i = 0; i < 4; i++) v_store16_each(rows + 4 * half + i, offset, r[i]);
    }
}

#endif
