/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of kbi_gradient_sums (src/detect/gradient_rows.h): smoothed blocks and their differences, row by row, and
 * the harmonics of gradients, for vectors of any width: GRADIENT_FLOATS, GRADIENT_INTS, with GRADIENT_MAX and
 * GRADIENT_MIN of floats none of which is NaN.
 *
 * Smoothing and differences are sums of 16-bit numbers of either sign, as long as the differences along a row are added
 * in two halves: a block is at most 4080, a difference of rows smoothed by 1 2 1 at most 4 times, a half of its
 * vertical sum 8 times that. Floats of such integers and of their sums are exact. */
#ifndef KBI_TMPL_GRADIENT_PARTS_H
#define KBI_TMPL_GRADIENT_PARTS_H

#include "detect/gradient_rows.h"
#include "simd/vec.h"

typedef uint16_t gradient_row __attribute__((vector_size(2 * KBI_GRADIENT_SIDE))); /* modulo 2^16, of either sign */

VEC_INLINE gradient_row gradient_load(const uint16_t *p)
{
    gradient_row row;
    memcpy(&row, p, sizeof row);
    return row;
}

/* The differences along rows in two halves, and the smoothed blocks, for every row. */
typedef struct gradient_smoothed {
    int16_t half[KBI_GRADIENT_BLOCKS - 1][KBI_GRADIENT_SIDE];
    int16_t smooth[KBI_GRADIENT_BLOCKS][KBI_GRADIENT_SIDE];
} gradient_smoothed;

VEC_INLINE void gradient_smooth(const uint16_t *blocks, gradient_smoothed *out)
{
    gradient_row slope[KBI_GRADIENT_BLOCKS], across[KBI_GRADIENT_BLOCKS];
    VEC_UNROLL
    for (int i = 0; i < KBI_GRADIENT_BLOCKS; i++, blocks += KBI_GRADIENT_STRIDE) {
        gradient_row one = gradient_load(blocks + 1), two = gradient_load(blocks + 2);
        gradient_row three = gradient_load(blocks + 3);
        slope[i] = (three - one) + (three - one) + (gradient_load(blocks + 4) - gradient_load(blocks));
        across[i] = (one + two) + (two + three);
    }
    VEC_UNROLL
    for (int i = 0; i < KBI_GRADIENT_BLOCKS; i++) {
        gradient_row above = across[i > 0 ? i - 1 : 0];
        gradient_row below = across[i < KBI_GRADIENT_BLOCKS - 1 ? i + 1 : i];
        gradient_row smooth = (above + across[i]) + (across[i] + below);
        memcpy(out->smooth[i], &smooth, sizeof smooth);
        if (i == KBI_GRADIENT_BLOCKS - 1) break;
        gradient_row half = slope[i] + slope[i + 1];
        memcpy(out->half[i], &half, sizeof half);
    }
}

VEC_INLINE GRADIENT_FLOATS gradient_choose(GRADIENT_INTS mask, GRADIENT_FLOATS a, GRADIENT_FLOATS b)
{
    return (GRADIENT_FLOATS)((mask & (GRADIENT_INTS)a) | (~mask & (GRADIENT_INTS)b));
}

/* gradient_harmonics of a vector of gradients: signs are moved from the components to the unit vector. */
VEC_INLINE void gradient_harmonics_at(GRADIENT_FLOATS gx, GRADIENT_FLOATS gy, GRADIENT_FLOATS w,
                                      GRADIENT_FLOATS out[KBI_GRADIENT_SUMS])
{
    const GRADIENT_INTS sign = (GRADIENT_INTS){0} + INT32_MIN;
    GRADIENT_FLOATS ax = (GRADIENT_FLOATS)((GRADIENT_INTS)gx & ~sign);
    GRADIENT_FLOATS ay = (GRADIENT_FLOATS)((GRADIENT_INTS)gy & ~sign);
    GRADIENT_INTS flat = ax > ay;
    GRADIENT_FLOATS one = (GRADIENT_FLOATS){0} + 1.0f;
    GRADIENT_FLOATS large = GRADIENT_MAX(GRADIENT_MAX(ax, ay), one); /* they are integers */
    GRADIENT_FLOATS t = GRADIENT_MIN(ax, ay) / large, q = t * t;
    GRADIENT_FLOATS cosine =
        0.99991554f + q * (-0.49570115f + q * (0.33736243f + q * (-0.18411854f + q * 0.049693281f)));
    GRADIENT_FLOATS sine = t * cosine;
    GRADIENT_FLOATS ux = gradient_choose(flat, cosine, sine), uy = gradient_choose(flat, sine, cosine);
    ux = (GRADIENT_FLOATS)((GRADIENT_INTS)ux ^ ((GRADIENT_INTS)gx & sign));
    uy = (GRADIENT_FLOATS)((GRADIENT_INTS)uy ^ ((GRADIENT_INTS)gy & sign));
    GRADIENT_FLOATS x = w * gx, y = w * gy, x2 = x * ux - y * uy, y2 = x * uy + y * ux;
    out[0] = x;
    out[1] = y;
    out[2] = x2;
    out[3] = y2;
    out[4] = x2 * ux - y2 * uy;
    out[5] = x2 * uy + y2 * ux;
}

#endif
