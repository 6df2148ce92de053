/* The rows of the SIFT detector: kbi_extrema_row and kbi_direction_row (src/detect/dog_rows.h, histogram_rows.h).
 * Template over simd/vec.h; floats are the compiler's own vectors (tmpl_gradient.h). */
#ifndef KBI_TMPL_SIFT_ROWS_H
#define KBI_TMPL_SIFT_ROWS_H

#include "detect/histogram_rows.h"
#include "simd/tmpl_gradient.h"
#include "simd/vec.h"

/* ---- extrema ---- */

#define EXTREMA_BITS (2 * VEC_MASK_BITS)               /* of a mask, per lane */
#define EXTREMA_VECS (64 / (EXTREMA_BITS * VEC_LANES)) /* per mask */

/* The bits of the lanes that are extrema, two of each. */
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

VEC_TARGET static int32_t extrema_row_simd(const int16_t *above, const int16_t *middle, const int16_t *below,
                                            const int16_t *finer, const int16_t *coarser, int32_t width, int32_t limit,
                                            int32_t *x)
{
    const vec most = v_set(limit), least = v_set(-limit);
    int32_t count = 0, end = width - KBI_SIFT_BORDER;
    if (end - KBI_SIFT_BORDER < VEC_LANES)
        return kbi_extrema_row(above, middle, below, finer, coarser, width, limit, x);
    for (int32_t start = KBI_SIFT_BORDER; start < end; start += EXTREMA_VECS * VEC_LANES) {
        uint64_t found = 0;
        VEC_UNROLL
        for (int i = 0; i < EXTREMA_VECS; i++) {
            int32_t at = start + i * VEC_LANES, from = kbi_min_i(at, end - VEC_LANES), seen = at - from;
            if (seen >= VEC_LANES) break;
            uint64_t bits = extrema_at(above, middle, below, finer, coarser, from, most, least) >> EXTREMA_BITS * seen;
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

VEC_INLINE void direction_at(const uint16_t *up, const uint16_t *row, const uint16_t *down, int32_t i,
                             const float *across, float along, int32_t *bin, float *value)
{
    const int32_t one = HISTOGRAM_ONE;
    vec_ints dx = v_widen16(row + i + 1) - v_widen16(row + i - 1);
    vec_ints dy = v_widen16(up + i) - v_widen16(down + i), left = dx < 0, below = dy < 0;
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

VEC_TARGET static void direction_row_simd(const uint16_t *up, const uint16_t *row, const uint16_t *down, int32_t n,
                                           const float *across, float along, int32_t *bin, float *value)
{
    if (n < GRADIENT_LANES) {
        kbi_direction_row(up, row, down, n, across, along, bin, value);
        return;
    }
    for (int32_t i = 0; i < n; i += GRADIENT_LANES)
        direction_at(up, row, down, kbi_min_i(i, n - GRADIENT_LANES), across, along, bin, value);
}

#endif
