/* SPDX-License-Identifier: Apache-2.0 */
/* Harris's response: kbi_harris (src/detect/corner_rows.h). Template over simd/vec.h for vecs of 8 lanes; the block
 * has 7 columns, so wider ones would stay empty. */
#ifndef KBI_TMPL_CORNER_H
#define KBI_TMPL_CORNER_H

#include "detect/corner_rows.h"
#include "simd/vec.h"

#if VEC_LANES == 8

VEC_KERNEL int64_t KERNEL(harris)(const uint8_t *centre, ptrdiff_t stride)
{
    static const uint16_t columns[VEC_LANES] = {0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0};
    const vec keep = v_loadu(columns);
    const uint8_t *row = centre - KBI_HARRIS_REACH * stride - KBI_HARRIS_REACH;
    /* Of the rows: [-1 0 1] and [1 2 1]; down the columns [1 2 1] and [-1 0 1], as sums and differences of two. */
    vec slope[KBI_HARRIS_BLOCK + 2], smooth[KBI_HARRIS_BLOCK + 2];
    VEC_UNROLL
    for (int y = 0; y < KBI_HARRIS_BLOCK + 2; y++, row += stride) {
        vec left = v_widen8(row), middle = v_widen8(row + 1), right = v_widen8(row + 2);
        slope[y] = v_sub(right, left);
        smooth[y] = v_add(v_add(left, right), v_add(middle, middle));
    }
    vec xx = v_zero(), yy = v_zero(), xy = v_zero();
    VEC_UNROLL
    for (int y = 0; y < KBI_HARRIS_BLOCK; y++) {
        vec ix = v_add(v_add(slope[y], slope[y + 1]), v_add(slope[y + 1], slope[y + 2]));
        vec iy = v_and(v_sub(smooth[y + 2], smooth[y]), keep), kept = v_and(ix, keep);
        xx = v_add_products(xx, ix, kept);
        yy = v_add_products(yy, iy, iy);
        xy = v_add_products(xy, ix, iy);
    }
    return harris_of(v_sum32(xx), v_sum32(yy), v_sum32(xy));
}

#endif

#endif
