/* FAST scores and their peaks, one pixel per byte: kbi_fast_row and kbi_peaks_row (src/detect/fast_rows.h). Template
 * over simd/vec.h. */
#ifndef KBI_TMPL_FAST_H
#define KBI_TMPL_FAST_H

#include "detect/fast_rows.h"
#include "simd/vec.h"

#define FAST_STEP (2 * VEC_LANES) /* pixels per vec */

/* The larger difference from the centre, or 0 when it does not pass the threshold. */
VEC_INLINE vec passing(vec bright, vec dark, vec centre, vec threshold)
{
    vec best = v_max8(v_subs8(bright, centre), v_subs8(centre, dark));
    return v_andnot(v_zero8(v_subs8(best, threshold)), best);
}

/* Whether a pixel may be a corner: four pairs of opposite pixels tell. */
VEC_INLINE bool promising(const uint8_t *const *p, ptrdiff_t at, vec centre, vec threshold)
{
    vec bright = v_ones(), dark = v_zero();
    VEC_UNROLL
    for (int i = 0; i < 8; i += 2) {
        vec a = v_loadu(p[i] + at), b = v_loadu(p[i + 8] + at);
        bright = v_min8(bright, v_max8(a, b));
        dark = v_max8(dark, v_min8(a, b));
    }
    return v_mask8(passing(bright, dark, centre, threshold)) != 0;
}

/* The arcs as src/detect/fast_rows.h has them. */
VEC_INLINE vec fast_scores(const uint8_t *const *p, ptrdiff_t at, vec centre, vec threshold)
{
    vec v[16], low2[8], high2[8], bright = v_zero(), dark = v_ones();
    VEC_UNROLL
    for (int i = 0; i < 16; i++) v[i] = v_loadu(p[i] + at);
    VEC_UNROLL
    for (int i = 0; i < 8; i++) {
        low2[i] = v_min8(v[2 * i + 1], v[(2 * i + 2) & 15]);
        high2[i] = v_max8(v[2 * i + 1], v[(2 * i + 2) & 15]);
    }
    VEC_UNROLL
    for (int i = 0; i < 8; i++) {
        vec first = v[2 * i], last = v[(2 * i + 9) & 15];
        vec low = v_min8(v_min8(low2[i], low2[(i + 1) & 7]), v_min8(low2[(i + 2) & 7], low2[(i + 3) & 7]));
        vec high = v_max8(v_max8(high2[i], high2[(i + 1) & 7]), v_max8(high2[(i + 2) & 7], high2[(i + 3) & 7]));
        bright = v_max8(bright, v_min8(low, v_max8(first, last)));
        dark = v_min8(dark, v_max8(high, v_min8(first, last)));
    }
    return passing(bright, dark, centre, threshold);
}

VEC_TARGET static void fast_row_simd(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold,
                                      uint8_t *score)
{
    const uint8_t *const circle[16] = FAST_CIRCLE(row, stride);
    const vec limit = v_set(threshold * 257);
    if (width < FAST_STEP) {
        fast_row(row, stride, width, threshold, score);
        return;
    }
    for (int32_t x = 0; x < width; x += FAST_STEP) {
        int32_t at = kbi_min_i(x, width - FAST_STEP); /* the last one overlaps the one before */
        vec centre = v_loadu(row + at);
        if (promising(circle, at, centre, limit))
            v_storeu(score + at, fast_scores(circle, at, centre, limit));
        else
            v_storeu(score + at, v_zero());
    }
}

/* Bits of the pixels at `at` and after it that are peaks. */
VEC_INLINE uint64_t peaks_at(const uint8_t *above, const uint8_t *middle, const uint8_t *below, ptrdiff_t at)
{
    vec here = v_loadu(middle + at);
    if (v_mask8(here) == 0) return 0;
    vec before = v_max8(v_max8(v_loadu(above + at - 1), v_loadu(above + at)),
                        v_max8(v_loadu(above + at + 1), v_loadu(middle + at - 1)));
    vec after = v_max8(v_max8(v_loadu(below + at - 1), v_loadu(below + at)),
                       v_max8(v_loadu(below + at + 1), v_loadu(middle + at + 1)));
    return v_mask8(v_and(v_subs8(here, before), v_zero8(v_subs8(after, here))));
}

VEC_TARGET static int32_t peaks_row_simd(const uint8_t *above, const uint8_t *middle, const uint8_t *below,
                                          int32_t width, uint16_t *x)
{
    int32_t count = 0, end = width - 1;
    if (end < 1 + FAST_STEP) return peaks_row(above, middle, below, width, x);
    for (int32_t at = 1; at < end; at += FAST_STEP) {
        int32_t from = kbi_min_i(at, end - FAST_STEP);
        uint64_t peaks =
            peaks_at(above, middle, below, from) >> (VEC_MASK_BITS * (at - from)); /* those before were seen */
        for (; peaks; peaks &= peaks - 1) {
            int32_t bit = __builtin_ctzll(peaks);
            x[count++] = (uint16_t)(at + bit / VEC_MASK_BITS);
        }
    }
    return count;
}

#endif
