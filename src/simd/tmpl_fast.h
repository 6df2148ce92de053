/* SPDX-License-Identifier: Apache-2.0 */
/* FAST scores and their peaks, one pixel per byte: kbi_fast_row and kbi_peaks_row (src/detect/fast_rows.h). Template
 * over simd/vec.h.
 *
 * Whether a vec of pixels may hold a corner cannot be predicted in textured images, and a wrong prediction costs the
 * processor the time of several vecs. So all vecs of a stretch are first tested for a possible bright or dark corner,
 * without a branch. The vecs that pass are then scored one after the other, only for the sides that passed. */
#ifndef KBI_TMPL_FAST_H
#define KBI_TMPL_FAST_H

#include "detect/fast_rows.h"
#include "simd/vec.h"

#define FAST_STEP (2 * VEC_LANES) /* pixels per vec */
#define FAST_STRETCH 64           /* vecs */

typedef struct fast_job {
    const uint8_t *circle[KBI_FAST_CIRCLE], *row;
    int32_t width;
    vec threshold;
    uint8_t *score;
} fast_job;

/* The difference where it passes the threshold, else 0. */
VEC_INLINE vec passing(vec difference, vec threshold)
{
    return v_andnot(v_zero8(v_subs8(difference, threshold)), difference);
}

/* Whether a pixel may be a corner: four pairs of opposite pixels tell. No corner is beyond black or white. */
VEC_INLINE void promises(const fast_job *f, int32_t at, bool *bright, bool *dark)
{
    vec centre = v_loadu(f->row + at), high = v_ones(), low = v_zero();
    VEC_UNROLL
    for (int i = 0; i < 8; i += 2) {
        vec a = v_loadu(f->circle[i] + at), b = v_loadu(f->circle[i + 8] + at);
        high = v_min8(high, v_max8(a, b));
        low = v_max8(low, v_min8(a, b));
    }
    *bright = v_mask8(v_subs8(high, v_adds8(centre, f->threshold))) != 0;
    *dark = v_mask8(v_subs8(v_subs8(centre, f->threshold), low)) != 0;
}

/* Bits of the vecs from x on, first to last - 1, that may hold a bright or a dark corner; their scores become 0. */
VEC_INLINE void ask_vecs(const fast_job *f, int32_t x, int32_t first, int32_t last, uint64_t *bright, uint64_t *dark)
{
    for (int32_t i = first; i < last; i++) {
        bool b, d;
        int32_t at = kbi_min_i(x + FAST_STEP * i, f->width - FAST_STEP); /* the last one overlaps the one before */
        promises(f, at, &b, &d);
        *bright |= (uint64_t)b << i;
        *dark |= (uint64_t)d << i;
        v_storeu(f->score + at, v_zero());
    }
}

#ifdef VEC_WITH_AVX512
/* As promises, for two vecs at once: masks of pixels. A minimum and a compare run on different ports, and the masks are
 * joined for nothing. */
VEC_INLINE void promises_of_two(const fast_job *f, int32_t at, __m512i threshold, uint64_t *bright, uint64_t *dark)
{
    __m512i centre = _mm512_loadu_si512(f->row + at);
    __m512i high = _mm512_adds_epu8(centre, threshold), low = _mm512_subs_epu8(centre, threshold);
    __mmask64 b = ~(__mmask64)0, d = b;
    VEC_UNROLL
    for (int i = 0; i < 8; i += 2) {
        __m512i one = _mm512_loadu_si512(f->circle[i] + at), other = _mm512_loadu_si512(f->circle[i + 8] + at);
        b = _mm512_mask_cmpgt_epu8_mask(b, _mm512_max_epu8(one, other), high);
        d = _mm512_mask_cmplt_epu8_mask(d, _mm512_min_epu8(one, other), low);
    }
    *bright = b;
    *dark = d;
}

/* Bit 0 for the lower and bit 1 for the upper half. */
VEC_INLINE uint64_t halves_of(uint64_t pixels)
{
    return (uint64_t)((uint32_t)pixels != 0) | (uint64_t)(pixels >> 32 != 0) << 1;
}

/* As ask_vecs, as far as two vecs fit in; returns how many were asked. */
VEC_INLINE int32_t ask_pairs(const fast_job *f, int32_t x, int32_t last, uint64_t *bright, uint64_t *dark)
{
    const __m512i threshold = _mm512_broadcast_i64x4(f->threshold);
    int32_t i = 0;
    for (; i + 2 <= last && x + FAST_STEP * (i + 2) <= f->width; i += 2) {
        uint64_t b, d;
        promises_of_two(f, x + FAST_STEP * i, threshold, &b, &d);
        *bright |= halves_of(b) << i;
        *dark |= halves_of(d) << i;
        _mm512_storeu_si512(f->score + x + FAST_STEP * i, _mm512_setzero_si512());
    }
    return i;
}
#endif

/* Scores by the arcs of src/detect/fast_rows.h, of brighter or of darker pixels. */
VEC_INLINE vec bright_scores(const vec v[KBI_FAST_CIRCLE], vec centre, vec threshold)
{
    vec two[8], best = v_zero();
    VEC_UNROLL
    for (int i = 0; i < 8; i++) two[i] = v_min8(v[2 * i + 1], v[(2 * i + 2) & 15]);
    VEC_UNROLL
    for (int i = 0; i < 8; i++) {
        vec shared = v_min8(v_min8(two[i], two[(i + 1) & 7]), v_min8(two[(i + 2) & 7], two[(i + 3) & 7]));
        best = v_max8(best, v_min8(shared, v_max8(v[2 * i], v[(2 * i + 9) & 15])));
    }
    return passing(v_subs8(best, centre), threshold);
}

VEC_INLINE vec dark_scores(const vec v[KBI_FAST_CIRCLE], vec centre, vec threshold)
{
    vec two[8], best = v_ones();
    VEC_UNROLL
    for (int i = 0; i < 8; i++) two[i] = v_max8(v[2 * i + 1], v[(2 * i + 2) & 15]);
    VEC_UNROLL
    for (int i = 0; i < 8; i++) {
        vec shared = v_max8(v_max8(two[i], two[(i + 1) & 7]), v_max8(two[(i + 2) & 7], two[(i + 3) & 7]));
        best = v_min8(best, v_max8(shared, v_min8(v[2 * i], v[(2 * i + 9) & 15])));
    }
    return passing(v_subs8(centre, best), threshold);
}

/* A copy of the scores for every use of them, but where a small file matters more. */
#ifdef KBI_VEC_WASM
#    define FAST_INLINE __attribute__((noinline))
#else
#    define FAST_INLINE __attribute__((always_inline)) inline
#endif

/* Scores of the vecs whose bits are set, the first one being at x. */
VEC_TARGET static FAST_INLINE void score_vecs(const fast_job *f, int32_t x, uint64_t vecs, bool bright, bool dark)
{
    for (; vecs; vecs &= vecs - 1) {
        vec v[KBI_FAST_CIRCLE], best = v_zero();
        int32_t at = kbi_min_i(x + FAST_STEP * __builtin_ctzll(vecs), f->width - FAST_STEP);
        VEC_UNROLL
        for (int i = 0; i < KBI_FAST_CIRCLE; i++) v[i] = v_loadu(f->circle[i] + at);
        vec centre = v_loadu(f->row + at);
        if (bright) best = bright_scores(v, centre, f->threshold);
        if (dark) best = v_max8(best, dark_scores(v, centre, f->threshold));
        v_storeu(f->score + at, best);
    }
}

VEC_KERNEL void KERNEL(fast_scores)(const kbi_fast_circles circles, int32_t n, uint8_t *score)
{
    fast_job f = {.row = circles[KBI_FAST_CIRCLE], .width = KBI_FAST_BATCH, .threshold = v_set(0x0101), .score = score};
    VEC_UNROLL
    for (int32_t i = 0; i < KBI_FAST_CIRCLE; i++) f.circle[i] = circles[i];
    score_vecs(&f, 0, ((uint64_t)1 << (n + FAST_STEP - 1) / FAST_STEP) - 1, true, true);
}

VEC_KERNEL void KERNEL(fast_row)(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold, uint8_t *score)
{
    const fast_job f = {KBI_FAST_AROUND(row, stride), row, width, v_set(threshold * 257), score};
    if (width < FAST_STEP) {
        kbi_fast_row_scalar(row, stride, width, threshold, score);
        return;
    }
    for (int32_t x = 0; x < width; x += FAST_STRETCH * FAST_STEP) {
        int32_t vecs = kbi_min_i((width - x + FAST_STEP - 1) / FAST_STEP, FAST_STRETCH);
        uint64_t bright = 0, dark = 0;
#ifdef VEC_WITH_AVX512
        ask_vecs(&f, x, ask_pairs(&f, x, vecs, &bright, &dark), vecs, &bright, &dark);
#else
        ask_vecs(&f, x, 0, vecs, &bright, &dark);
#endif
        score_vecs(&f, x, bright & dark, true, true);
        score_vecs(&f, x, bright & ~dark, true, false);
        score_vecs(&f, x, dark & ~bright, false, true);
    }
}

/* Bits of the pixels at `at` and after it that are peaks. */
VEC_INLINE uint64_t peaks_at(const uint8_t *above, const uint8_t *middle, const uint8_t *below, ptrdiff_t at)
{
    vec here = v_loadu(middle + at);
    vec before = v_max8(v_max8(v_loadu(above + at - 1), v_loadu(above + at)),
                        v_max8(v_loadu(above + at + 1), v_loadu(middle + at - 1)));
    vec after = v_max8(v_max8(v_loadu(below + at - 1), v_loadu(below + at)),
                       v_max8(v_loadu(below + at + 1), v_loadu(middle + at + 1)));
    return v_mask8(v_and(v_subs8(here, before), v_zero8(v_subs8(after, here))));
}

/* Bits of the vecs from `start` on that have a score. */
VEC_INLINE uint64_t scored_vecs(const uint8_t *score, int32_t start, int32_t end, int32_t vecs)
{
    uint64_t scored = 0;
    int32_t i = 0;
#ifdef VEC_WITH_AVX512
    for (; i + 2 <= vecs && start + FAST_STEP * (i + 2) <= end; i += 2) {
        __m512i two = _mm512_loadu_si512(score + start + FAST_STEP * i);
        scored |= halves_of(_mm512_test_epi8_mask(two, two)) << i;
    }
#endif
    for (; i < vecs; i++) {
        int32_t at = kbi_min_i(start + FAST_STEP * i, end - FAST_STEP);
        scored |= (uint64_t)(v_mask8(v_loadu(score + at)) != 0) << i;
    }
    return scored;
}

/* Most vecs with a score have no peak or one, so the first is written without testing whether it exists. */
VEC_KERNEL int32_t KERNEL(peaks_row)(const uint8_t *above, const uint8_t *middle, const uint8_t *below, int32_t width,
                                     uint16_t *x)
{
    int32_t count = 0, end = width - 1;
    if (end < 1 + FAST_STEP) return kbi_peaks_row_scalar(above, middle, below, width, x);
    for (int32_t start = 1; start < end; start += FAST_STRETCH * FAST_STEP) {
        int32_t vecs = kbi_min_i((end - start + FAST_STEP - 1) / FAST_STEP, FAST_STRETCH);
        for (uint64_t scored = scored_vecs(middle, start, end, vecs); scored; scored &= scored - 1) {
            int32_t at = start + FAST_STEP * __builtin_ctzll(scored), from = kbi_min_i(at, end - FAST_STEP);
            uint64_t peaks =
                peaks_at(above, middle, below, from) >> (VEC_MASK_BITS * (at - from)); /* those before were seen */
            x[count] = (uint16_t)(at + __builtin_ctzll(peaks | (uint64_t)1 << 63) / VEC_MASK_BITS);
            count += peaks != 0;
            for (peaks &= peaks - 1; peaks; peaks &= peaks - 1)
                x[count++] = (uint16_t)(at + __builtin_ctzll(peaks) / VEC_MASK_BITS);
        }
    }
    return count;
}

#endif
