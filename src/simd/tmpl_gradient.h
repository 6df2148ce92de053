/* SPDX-License-Identifier: Apache-2.0 */
/* Directions by gradients: kbi_gradient_blocks and kbi_gradient_sums (src/detect/gradient_rows.h). Template over
 * simd/vec.h; floats are the compiler's own vectors, as wide as a vec. */
#ifndef KBI_TMPL_GRADIENT_H
#define KBI_TMPL_GRADIENT_H

#include "simd/vec.h"

#define GRADIENT_FLOATS vec_floats
#define GRADIENT_INTS   vec_ints
#define GRADIENT_MAX    v_max_floats
#define GRADIENT_MIN    v_min_floats
#include "simd/tmpl_gradient_parts.h"

#define GRADIENT_LANES (VEC_LANES / 2) /* 32-bit numbers per vec */

/* The sums of 4x4 px from p on, a vec's width of them. */
VEC_INLINE void gradient_blocks_at(const uint8_t *p, ptrdiff_t stride, uint16_t *blocks)
{
    vec upper = v_add_pairs8(v_sum_pairs8(v_loadu(p)), v_loadu(p + stride));
    vec lower = v_add_pairs8(v_sum_pairs8(v_loadu(p + 2 * stride)), v_loadu(p + 3 * stride));
    v_store16(blocks, (vec_ints)v_sum_pairs(v_add(upper, lower)));
}

VEC_KERNEL void KERNEL(gradient_blocks)(const uint8_t *centre, ptrdiff_t stride, uint16_t *blocks)
{
    const uint8_t *row = centre - KBI_GRADIENT_REACH * stride - KBI_GRADIENT_REACH;
    for (int i = 0; i < KBI_GRADIENT_BLOCKS; i++, row += 4 * stride, blocks += KBI_GRADIENT_STRIDE) {
        VEC_UNROLL
        for (int j = 0; j < KBI_GRADIENT_BLOCKS; j += GRADIENT_LANES) {
            int at = j < KBI_GRADIENT_BLOCKS - GRADIENT_LANES ? j : KBI_GRADIENT_BLOCKS - GRADIENT_LANES;
            gradient_blocks_at(row + 4 * at, stride, blocks + 1 + at);
        }
        blocks[0] = blocks[1];
        blocks[KBI_GRADIENT_BLOCKS + 1] = blocks[KBI_GRADIENT_BLOCKS];
    }
}

VEC_INLINE vec_floats gradient_floats(vec_ints v) { return __builtin_convertvector(v, vec_floats); }

/* GRADIENT_LANES gradients of row i, from `at` on. */
VEC_INLINE void gradient_row_at(const gradient_smoothed *s, int i, int at, vec_floats out[KBI_GRADIENT_SUMS])
{
    vec_floats across;
    vec_floats gx = gradient_floats(v_widen16_s(s->half[i] + at)) + gradient_floats(v_widen16_s(s->half[i + 1] + at));
    vec_floats gy = gradient_floats(v_widen16(s->smooth[i + 2] + at)) - gradient_floats(v_widen16(s->smooth[i] + at));
    memcpy(&across, gradient_window + at, sizeof across);
    gradient_harmonics_at(gx, gy, gradient_window[i] * across, out);
}

/* Rows are added in pairs, pairs of these, and so on, as kbi_gradient_sums does. */
VEC_INLINE void gradient_columns(const gradient_smoothed *s, int at, float sums[KBI_GRADIENT_SUMS][KBI_GRADIENT_SIDE])
{
    vec_floats four[2][KBI_GRADIENT_SUMS];
    for (int half = 0; half < 2; half++) {
        vec_floats row[4][KBI_GRADIENT_SUMS];
        VEC_UNROLL
        for (int i = 0; i < 4; i++) gradient_row_at(s, 4 * half + i, at, row[i]);
        VEC_UNROLL
        for (int k = 0; k < KBI_GRADIENT_SUMS; k++)
            four[half][k] = (row[0][k] + row[1][k]) + (row[2][k] + row[3][k]);
    }
    VEC_UNROLL
    for (int k = 0; k < KBI_GRADIENT_SUMS; k++) {
        vec_floats sum = four[0][k] + four[1][k];
        memcpy(sums[k] + at, &sum, sizeof sum);
    }
}

VEC_KERNEL void KERNEL(gradient_sums)(const uint16_t *blocks, float *out)
{
    gradient_smoothed smoothed;
    float sums[KBI_GRADIENT_SUMS][KBI_GRADIENT_SIDE];
    gradient_smooth(blocks, &smoothed);
    VEC_UNROLL
    for (int at = 0; at < KBI_GRADIENT_SIDE; at += GRADIENT_LANES) gradient_columns(&smoothed, at, sums);
    VEC_UNROLL
    for (int k = 0; k < KBI_GRADIENT_SUMS; k++) {
        const float *a = sums[k];
        out[k] = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
    }
}

/* The first of the directions in which h is largest: the other directions become numbers above all directions. */
VEC_INLINE int32_t gradient_highest(const vec_floats h[KBI_GRADIENT_DIRECTIONS / GRADIENT_LANES])
{
    static const uint16_t step[2 * 16] = {0, 0, 1, 1, 2,  2,  3,  3,  4,  4,  5,  5,  6,  6,  7,  7,
                                          8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15};
    vec_floats max = h[0];
    vec min = v_ones();
    int lane;
    VEC_UNROLL
    for (int i = 1; i < KBI_GRADIENT_DIRECTIONS / GRADIENT_LANES; i++) max = v_max_floats(max, h[i]);
    max = (vec_floats){0} + v_top_float(max);
    VEC_UNROLL
    for (int i = 0; i < KBI_GRADIENT_DIRECTIONS / GRADIENT_LANES; i++) {
        vec_ints below = h[i] != max;
        vec other;
        memcpy(&other, &below, sizeof other);
        min = v_min(min, v_or(other, v_add(v_loadu(step), v_set(GRADIENT_LANES * i))));
    }
    return (int32_t)v_least(min, &lane);
}

VEC_KERNEL int32_t KERNEL(gradient_histogram)(const float *sums, float *histogram)
{
    vec_floats h[KBI_GRADIENT_DIRECTIONS / GRADIENT_LANES];
    VEC_UNROLL
    for (int i = 0; i < KBI_GRADIENT_DIRECTIONS / GRADIENT_LANES; i++) {
        vec_floats part[KBI_GRADIENT_SUMS];
        VEC_UNROLL
        for (int k = 0; k < KBI_GRADIENT_SUMS; k++) {
            memcpy(&part[k], gradient_direction[k] + GRADIENT_LANES * i, sizeof part[k]);
            part[k] *= sums[k];
        }
        h[i] = ((part[0] + part[1]) + (part[2] + part[3])) + (part[4] + part[5]);
        memcpy(histogram + GRADIENT_LANES * i, &h[i], sizeof h[i]);
    }
    return gradient_highest(h);
}

#endif
