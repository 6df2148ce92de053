/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the SIFT detector: kbi_extrema_row and kbi_direction_rows (src/detect/dog_rows.h, histogram_rows.h).
 * Template over simd/vec.h; floats are the compiler's own vectors (tmpl_gradient.h). */
#ifndef KBI_TMPL_SIFT_ROWS_H
#define KBI_TMPL_SIFT_ROWS_H

#include "detect/histogram_rows.h"
#include "simd/tmpl_gradient.h"
#include "simd/vec.h"

/* ---- extrema ---- */

#define EXTREMA_BITS (2 * VEC_MASK_BITS)               /* of a mask, per lane */
#define EXTREMA_VECS (64 / (EXTREMA_BITS * VEC_LANES)) /* per mask */

/* The mask of the lanes that are extrema, EXTREMA_BITS bits per lane. */
VEC_INLINE uint64_t extrema_at(const int16_t *above, const int16_t *middle, const int16_t *below, const int16_t *finer,
                               const int16_t *coarser, int32_t at, vec limit, vec minus_limit)
{
    vec here = v_loadu(middle + at), one = v_loadu(finer + at), two = v_loadu(coarser + at);
    vec high = v_max_s(limit, v_max_s(one, two)), low = v_min_s(minus_limit, v_min_s(one, two));
    const int16_t *rows[3] = {above + at, middle + at, below + at};
    VEC_UNROLL
    for (int i = 0; i < 9; i++) {
        if (i == 4) continue;
        vec other = v_loadu(rows[i / 3] + i % 3 - 1);
        high = v_max_s(high, other);
        low = v_min_s(low, other);
    }
    vec no_extremum = v_and(v_gt(high, here), v_gt(here, low));
    return v_mask8(v_xor(no_extremum, v_ones()));
}

VEC_KERNEL int32_t KERNEL(extrema_row)(const int16_t *above, const int16_t *middle, const int16_t *below,
                                       const int16_t *finer, const int16_t *coarser, int32_t width, int32_t limit,
                                       int32_t *x)
{
    const vec max = v_set(limit), min = v_set(-limit);
    int32_t count = 0, end = width - KBI_SIFT_BORDER;
    if (end - KBI_SIFT_BORDER < VEC_LANES)
        return kbi_extrema_row(above, middle, below, finer, coarser, width, limit, x);
    for (int32_t start = KBI_SIFT_BORDER; start < end; start += EXTREMA_VECS * VEC_LANES) {
        uint64_t found = 0;
        VEC_UNROLL
        for (int i = 0; i < EXTREMA_VECS; i++) {
            int32_t at = start + i * VEC_LANES, from = kbi_min_i(at, end - VEC_LANES), seen = at - from;
            if (seen >= VEC_LANES) break;
            uint64_t bits = extrema_at(above, middle, below, finer, coarser, from, max, min) >> EXTREMA_BITS * seen;
            found |= bits << EXTREMA_BITS * VEC_LANES * i % 64;
        }
        for (; found; found &= found - 1) {
            x[count++] = start + __builtin_ctzll(found) / EXTREMA_BITS;
            found &= found - 1;
        }
    }
    return count;
}

/* ---- directions ---- */

VEC_INLINE vec_ints direction_negated(vec_ints v, vec_ints mask) { return (v ^ mask) - mask; }

/* The pixels p[0], p[step] ...; and p[1], p[1 + step] ..., with step 2 from the same load. */
VEC_INLINE vec_ints direction_pixels(const uint16_t *p, int step)
{
    return step == 1 ? v_widen16(p) : (vec_ints)v_loadu(p) & 0xffff;
}
VEC_INLINE vec_ints direction_next(const uint16_t *p, int step)
{
    return step == 1 ? v_widen16(p + 1) : (vec_ints)v_shr32(v_loadu(p), 16);
}

VEC_INLINE void direction_at(const uint16_t *const row[3], int step, int32_t i, const float *across, float along,
                             int32_t *bin, float *value)
{
    const int32_t one = HISTOGRAM_ONE, x = i * step;
    vec_ints dx = direction_next(row[1] + x, step) - direction_pixels(row[1] + x - 1, step), left = dx < 0;
    vec_ints dy = direction_pixels(row[0] + x, step) - direction_pixels(row[2] + x, step), below = dy < 0;
    vec_ints ax = direction_negated(dx, left), ay = direction_negated(dy, below), steep = ax < ay;
    vec_ints large = ax + ((ay - ax) & steep), small = ay + ((ax - ay) & steep);
    vec_floats size = __builtin_convertvector(large, vec_floats), weight;
    vec_floats t = __builtin_convertvector(small, vec_floats) /
                        __builtin_convertvector(large - (vec_ints)(large == 0), vec_floats);
    vec_floats q = t * t;
    vec_floats angle = 65536.0f * t * (5.7250734f + q * (-1.8401970f + q * (0.83803365f + q * -0.22337627f)));
    vec_ints a = __builtin_convertvector(angle, vec_ints);
    a = direction_negated(a, steep) + (9 * one & steep);
    a = direction_negated(a, left) + (18 * one & left);
    a = direction_negated(a, below) + (36 * one & below);
    vec_ints nearest = (a + one / 2) >> 16;
    nearest &= (vec_ints)(nearest < KBI_DIRECTION_BINS);
    memcpy(bin + i, &nearest, sizeof nearest);
    memcpy(&weight, across + i, sizeof weight);
    weight = along * weight * (size * (1.0000821f + q * (0.49699507f + q * (-0.10725842f + q * 0.024476909f))));
    memcpy(value + i, &weight, sizeof weight);
}

VEC_INLINE void direction_rows_by(const kbi_direction_region *region, int step,
                                  float histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS])
{
    int32_t bin[KBI_DIRECTION_MOST], n = region->n;
    float value[KBI_DIRECTION_MOST];
    for (int32_t i = 0; i < region->count; i++) {
        for (int32_t k = 0; k < n; k += GRADIENT_LANES)
            direction_at(region->rows + i * step, step, kbi_min_i(k, n - GRADIENT_LANES), region->across,
                         region->along[i], bin, value);
        direction_add(histogram, bin, value, n);
    }
}

VEC_KERNEL void KERNEL(direction_rows)(const kbi_direction_region *region,
                                       float histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS])
{
    if (region->n < GRADIENT_LANES) kbi_direction_rows(region, histogram);
    else if (region->step == 1) direction_rows_by(region, 1, histogram);
    else direction_rows_by(region, 2, histogram);
}

#endif
