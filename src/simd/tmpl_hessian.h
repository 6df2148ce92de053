/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of src/detect/hessian_rows.h for AVX2 and AVX-512.
 *
 * Rows of bytes, and the two products of a determinant, are interleaved, so that one instruction multiplies pairs and
 * adds them. Interleaving works within 128 bits: what belongs to the lower and the upper half is put in order at the end.
 *
 * Peaks: as for FAST (simd/tmpl_fast.h) all vecs of a stretch are first asked, without a branch, whether they reach the
 * limit; then those that do are taken one after the other. */
#ifndef KBI_TMPL_HESSIAN_H
#define KBI_TMPL_HESSIAN_H

#include "detect/hessian_rows.h"
#include "simd/vec.h"

#define WORDS (VEC_LANES / 2) /* determinants of a vec */
#define WORDS_STRETCH 64      /* vecs */

#ifdef KBI_VEC_AVX512
#    define hessian_low8(a, b) _mm512_unpacklo_epi8(a, b)
#    define hessian_high8(a, b) _mm512_unpackhi_epi8(a, b)
#    define hessian_low16(a, b) _mm512_unpacklo_epi16(a, b)
#    define hessian_high16(a, b) _mm512_unpackhi_epi16(a, b)
#    define hessian_dot16(a, b) _mm512_madd_epi16(a, b)
#    define hessian_dot8(a, b) _mm512_maddubs_epi16(a, b)
#else
#    define hessian_low8(a, b) _mm256_unpacklo_epi8(a, b)
#    define hessian_high8(a, b) _mm256_unpackhi_epi8(a, b)
#    define hessian_low16(a, b) _mm256_unpacklo_epi16(a, b)
#    define hessian_high16(a, b) _mm256_unpackhi_epi16(a, b)
#    define hessian_dot16(a, b) _mm256_madd_epi16(a, b)
#    define hessian_dot8(a, b) _mm256_maddubs_epi16(a, b)
#endif

/* Two vecs that came from interleaving, 128 bits of each in turn. */
VEC_INLINE void store_in_order(void *to, vec low, vec high)
{
    uint8_t *p = to;
#ifdef KBI_VEC_AVX512
    const vec first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const vec second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    v_storeu(p, _mm512_permutex2var_epi64(low, first, high));
    v_storeu(p + sizeof(vec), _mm512_permutex2var_epi64(low, second, high));
#else
    v_storeu(p, _mm256_permute2x128_si256(low, high, 0x20));
    v_storeu(p + sizeof(vec), _mm256_permute2x128_si256(low, high, 0x31));
#endif
}

VEC_INLINE void add_row_pair(const uint8_t *a, const uint8_t *b, int weight, vec *low, vec *high)
{
    vec p = v_loadu(a), q = v_loadu(b), weights = v_set(weight * 257);
    *low = v_add(*low, hessian_dot8(hessian_low8(p, q), weights));
    *high = v_add(*high, hessian_dot8(hessian_high8(p, q), weights));
}

VEC_KERNEL void KERNEL(blur_bytes)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *out)
{
    const int32_t step = 2 * VEC_LANES;
    if (width < step) {
        kbi_blur_bytes(row, stride, width, out);
        return;
    }
    for (int32_t x = 0; x < width; x += step) {
        int32_t at = kbi_min_i(x, width - step);
        const uint8_t *p = row + at;
        vec centre = v_loadu(p), weight = v_set(KBI_HESSIAN_W0);
        vec low = hessian_dot8(hessian_low8(centre, v_zero()), weight);
        vec high = hessian_dot8(hessian_high8(centre, v_zero()), weight);
        add_row_pair(p - stride, p + stride, KBI_HESSIAN_W1, &low, &high);
        add_row_pair(p - 2 * stride, p + 2 * stride, KBI_HESSIAN_W2, &low, &high);
        add_row_pair(p - 3 * stride, p + 3 * stride, KBI_HESSIAN_W3, &low, &high);
        add_row_pair(p - 4 * stride, p + 4 * stride, KBI_HESSIAN_W4, &low, &high);
        store_in_order(out + at, low, high);
    }
}

VEC_KERNEL void KERNEL(hessian_row)(const uint16_t *above, const uint16_t *middle, const uint16_t *below, int32_t width,
                                    int32_t *out)
{
    if (width < VEC_LANES) {
        kbi_hessian_row(above, middle, below, width, out);
        return;
    }
    for (int32_t x = 0; x < width; x += VEC_LANES) {
        int32_t at = kbi_min_i(x, width - VEC_LANES);
        const uint16_t *a = above + at, *m = middle + at, *b = below + at;
        vec centre = v_loadu(m), twice = v_add(centre, centre);
        vec xx = v_sub(v_add(v_loadu(m - 1), v_loadu(m + 1)), twice), yy = v_sub(v_add(v_loadu(a), v_loadu(b)), twice);
        vec xy = v_sub(v_add(v_loadu(a - 1), v_loadu(b + 1)), v_add(v_loadu(a + 1), v_loadu(b - 1)));
        xy = v_sar(xy, 2);
        vec negative = v_sub(v_zero(), xy); /* -2^13 to 2^13: it does not wrap */
        store_in_order(out + at, hessian_dot16(hessian_low16(xx, xy), hessian_low16(yy, negative)),
                       hessian_dot16(hessian_high16(xx, xy), hessian_high16(yy, negative)));
    }
}

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

/* Bits of the places from `middle` on that are peaks. */
VEC_INLINE uint32_t determinant_peaks(const int32_t *above, const int32_t *middle, const int32_t *below,
                                      vec below_limit)
{
    vec here = v_loadu(middle);
    vec before = words_max(words_max(v_loadu(above - 1), v_loadu(above)),
                           words_max(v_loadu(above + 1), v_loadu(middle - 1)));
    vec after = words_max(words_max(v_loadu(below - 1), v_loadu(below)),
                          words_max(v_loadu(below + 1), v_loadu(middle + 1)));
    return words_above(here, words_max(before, below_limit)) & ~words_above(after, here);
}

VEC_KERNEL int32_t KERNEL(hessian_peaks)(const int32_t *above, const int32_t *middle, const int32_t *below,
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
        for (; strong; strong &= strong - 1) { /* few vecs have two peaks: the first is taken without a branch */
            int32_t i = __builtin_ctzll(strong), from = start + WORDS * i, at = kbi_min_i(from, end - WORDS);
            uint32_t peaks = determinant_peaks(above + at, middle + at, below + at, below_limit) >> (from - at);
            x[count] = (uint16_t)(from + __builtin_ctz(peaks | 1u << 31));
            count += peaks != 0;
            for (peaks &= peaks - (peaks != 0); peaks; peaks &= peaks - 1)
                x[count++] = (uint16_t)(from + __builtin_ctz(peaks));
        }
    }
    return count;
}

#endif
