/* Peaks of determinants of the Hessian, kbi_hessian_peaks (src/detect/hessian_rows.h), for AVX2 and AVX-512.
 *
 * As for FAST (simd/tmpl_fast.h) all vecs of a stretch are first asked, without a branch, whether they reach the limit;
 * then those that do are taken one after the other. */
#ifndef KBI_TMPL_HESSIAN_H
#define KBI_TMPL_HESSIAN_H

#include "detect/hessian_rows.h"
#include "simd/vec.h"

#define WORDS (VEC_LANES / 2) /* determinants of a vec */
#define WORDS_STRETCH 64      /* vecs */

/* Bits of the lanes where a is above b. */
VEC_INLINE uint32_t words_above(vec a, vec b)
{
#ifdef KBI_VEC_AVX512
    return _mm512_cmpgt_epi32_mask(a, b);
#else
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b)));
#endif
}

VEC_INLINE vec words_max(vec a, vec b)
{
#ifdef KBI_VEC_AVX512
    return _mm512_max_epi32(a, b);
#else
    return _mm256_max_epi32(a, b);
#endif
}

/* Bits of the places from `at` on that are peaks. */
VEC_INLINE uint32_t determinant_peaks(const int32_t *above, const int32_t *middle, const int32_t *below, vec below_limit)
{
    vec here = v_loadu(middle);
    vec before = words_max(words_max(v_loadu(above - 1), v_loadu(above)),
                           words_max(v_loadu(above + 1), v_loadu(middle - 1)));
    vec after = words_max(words_max(v_loadu(below - 1), v_loadu(below)),
                          words_max(v_loadu(below + 1), v_loadu(middle + 1)));
    return words_above(here, words_max(before, below_limit)) & ~words_above(after, here);
}

VEC_TARGET static int32_t hessian_peaks_simd(const int32_t *above, const int32_t *middle, const int32_t *below,
                                             int32_t width, int32_t limit, uint16_t *x)
{
    const vec below_limit = v_set32((uint32_t)limit - 1);
    int32_t count = 0, end = width - 1;
    if (end - 1 < WORDS) return kbi_hessian_peaks(above, middle, below, width, limit, x);
    for (int32_t start = 1; start < end; start += WORDS_STRETCH * WORDS) {
        int32_t vecs = kbi_min_i((end - start + WORDS - 1) / WORDS, WORDS_STRETCH);
        uint64_t strong = 0;
        for (int32_t i = 0; i < vecs; i++) {
            int32_t at = kbi_min_i(start + WORDS * i, end - WORDS); /* the last one overlaps the one before */
            strong |= (uint64_t)(words_above(v_loadu(middle + at), below_limit) != 0) << i;
        }
        for (; strong; strong &= strong - 1) {
            int32_t from = start + WORDS * __builtin_ctzll(strong), at = kbi_min_i(from, end - WORDS);
            uint32_t peaks = determinant_peaks(above + at, middle + at, below + at, below_limit) >> (from - at);
            for (; peaks; peaks &= peaks - 1) x[count++] = (uint16_t)(from + __builtin_ctz(peaks));
        }
    }
    return count;
}

#endif
