/* SPDX-License-Identifier: Apache-2.0 */
/* kbi_extrema_row (src/detect/dog_rows.h) for AVX-512: of each pair of neighbours one maximum and one minimum, which
 * run on one port, and a compare of each into a mask, which runs on the other. Vecs begin at multiples of their size,
 * so that only the neighbours to the left and right are loads from two cache lines. */
#ifndef KBI_TMPL_EXTREMA_MASKS_H
#define KBI_TMPL_EXTREMA_MASKS_H

#include "detect/dog_rows.h"
#include "simd/vec.h"

typedef struct extrema_rows {
    const int16_t *above, *middle, *below, *finer, *coarser;
    vec max, min;
} extrema_rows;

/* The lanes that neither of the two beats stay in the masks. */
VEC_INLINE void extrema_pair(vec here, const int16_t *one, const int16_t *two, __mmask32 *top, __mmask32 *bottom)
{
    vec a = v_loadu(one), b = v_loadu(two);
    *top = _mm512_mask_cmpge_epi16_mask(*top, here, v_max_s(a, b));
    *bottom = _mm512_mask_cmple_epi16_mask(*bottom, here, v_min_s(a, b));
}

/* A bit for each lane that is an extremum. */
VEC_INLINE uint32_t extrema_mask(const extrema_rows *r, int32_t at)
{
    const int16_t *above = r->above + at, *middle = r->middle + at, *below = r->below + at;
    vec here = v_loadu(middle);
    __mmask32 top = _mm512_mask_cmpge_epi16_mask(~(__mmask32)0, here, r->max);
    __mmask32 bottom = _mm512_mask_cmple_epi16_mask(~(__mmask32)0, here, r->min);
    extrema_pair(here, r->finer + at, r->coarser + at, &top, &bottom);
    extrema_pair(here, above, below, &top, &bottom);
    extrema_pair(here, middle - 1, middle + 1, &top, &bottom);
    extrema_pair(here, above - 1, above + 1, &top, &bottom);
    extrema_pair(here, below - 1, below + 1, &top, &bottom);
    return top | bottom;
}

/* The extrema among 32 places from `from` on, as far as they are before `end`. */
VEC_INLINE uint64_t extrema_from(const extrema_rows *r, int32_t from, int32_t end)
{
    int32_t at = kbi_min_i(from, end - VEC_LANES), seen = from - at;
    return seen < VEC_LANES ? extrema_mask(r, at) >> seen : 0;
}

VEC_KERNEL int32_t KERNEL(extrema_row)(const int16_t *above, const int16_t *middle, const int16_t *below,
                                       const int16_t *finer, const int16_t *coarser, int32_t width, int32_t limit,
                                       int32_t *x)
{
    const extrema_rows r = {above, middle, below, finer, coarser, v_set(limit), v_set(-limit)};
    int32_t count = 0, end = width - KBI_SIFT_BORDER, from = KBI_SIFT_BORDER, next = VEC_LANES;
    if (end - KBI_SIFT_BORDER < VEC_LANES)
        return kbi_extrema_row(above, middle, below, finer, coarser, width, limit, x);
    uint64_t found = extrema_mask(&r, from) & ~0u >> KBI_SIFT_BORDER; /* up to `next` */
    do {
        for (; found; found &= found - 1) x[count++] = from + __builtin_ctzll(found);
        from = next;
        next += 2 * VEC_LANES;
        found = extrema_from(&r, from, end) | extrema_from(&r, from + VEC_LANES, end) << VEC_LANES;
    } while (from < end);
    return count;
}

#endif
