/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of src/detect/hessian_rows.h for AVX2 and AVX-512.
 *
 * Rows of bytes, and the two products of a determinant, are interleaved, so that one instruction multiplies pairs and
 * adds them. Interleaving works within 128 bits: what belongs to the lower and the upper half is put in order at the
 * end.
 *
 * Peaks: as for FAST (simd/tmpl_fast.h) all vecs of a stretch are first asked the cheap question, without a branch: the
 * limit and the neighbours above and below, which need no line of the cache twice. Then those that pass are taken one
 * after the other. */
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

/* Two vecs that came from interleaving, 128 bits of each in turn, in order. */
VEC_INLINE void put_in_order(vec low, vec high, vec *first, vec *second)
{
#ifdef KBI_VEC_AVX512
    *first = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), high);
    *second = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), high);
#else
    *first = _mm256_permute2x128_si256(low, high, 0x20);
    *second = _mm256_permute2x128_si256(low, high, 0x31);
#endif
}

VEC_INLINE void store_in_order(int32_t *to, vec low, vec high)
{
    vec first, second;
    put_in_order(low, high, &first, &second);
    v_storeu(to, first);
    v_storeu(to + WORDS, second);
}

/* ---- blur ---- */

VEC_INLINE void add_row_pair(const uint8_t *a, const uint8_t *b, int weight, vec *low, vec *high)
{
    vec p = v_loadu(a), q = v_loadu(b), weights = v_set(weight * 257);
    *low = v_add(*low, hessian_dot8(hessian_low8(p, q), weights));
    *high = v_add(*high, hessian_dot8(hessian_high8(p, q), weights));
}

/* A vec of columns, blurred along themselves: two vecs, which are stored too. */
VEC_INLINE void blur_columns_at(const uint8_t *p, ptrdiff_t stride, uint16_t *columns, vec *first, vec *second)
{
    vec centre = v_loadu(p), weight = v_set(KBI_HESSIAN_W0);
    vec low = hessian_dot8(hessian_low8(centre, v_zero()), weight);
    vec high = hessian_dot8(hessian_high8(centre, v_zero()), weight);
    add_row_pair(p - stride, p + stride, KBI_HESSIAN_W1, &low, &high);
    add_row_pair(p - 2 * stride, p + 2 * stride, KBI_HESSIAN_W2, &low, &high);
    add_row_pair(p - 3 * stride, p + 3 * stride, KBI_HESSIAN_W3, &low, &high);
    add_row_pair(p - 4 * stride, p + 4 * stride, KBI_HESSIAN_W4, &low, &high);
    put_in_order(low, high, first, second);
    v_storeu(columns, *first);
    v_storeu(columns + VEC_LANES, *second);
}

/* From the middle column and the sums of two columns 1 to 4 beside it. */
VEC_INLINE vec blur_sum(vec middle, vec one, vec two, vec three, vec four)
{
    vec sum = v_add(v_high(middle, v_set(512 * KBI_HESSIAN_W0)), v_high(one, v_set(512 * KBI_HESSIAN_W1)));
    sum = v_add(sum, v_high(two, v_set(512 * KBI_HESSIAN_W2)));
    sum = v_add(sum, v_high(three, v_set(512 * KBI_HESSIAN_W3)));
    return v_add(sum, v_high(four, v_set(512 * KBI_HESSIAN_W4)));
}

#ifdef KBI_VEC_AVX512

/* The 32 numbers from place k on, of 64. */
VEC_INLINE vec from_place(vec first, vec second, int k)
{
    const vec order = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12,
                                       11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutex2var_epi16(first, v_add(order, v_set(k)), second);
}

/* The blur of the columns c + 4.., of which first and second begin at c. Half of what lies between them is loaded,
 * which takes a line of the cache twice, and half shuffled: neither waits for the other. */
VEC_INLINE vec blur_between(vec first, vec second, const uint16_t *c)
{
    return blur_sum(from_place(first, second, 4), v_add(v_loadu(c + 3), v_loadu(c + 5)),
                    v_add(from_place(first, second, 2), from_place(first, second, 6)),
                    v_add(v_loadu(c + 1), v_loadu(c + 7)), v_add(first, from_place(first, second, 8)));
}

/* Returns how many pixels it has blurred; those of BLUR_AHEAD more are in columns. */
#define BLUR_AHEAD (4 * VEC_LANES)

VEC_INLINE int32_t blur_ahead(const uint8_t *p, ptrdiff_t stride, int32_t all, uint16_t *columns, uint16_t *out)
{
    const int32_t step = 2 * VEC_LANES;
    int32_t x = 0;
    vec a, b, c, d, e, f;
    blur_columns_at(p, stride, columns, &a, &b);
    blur_columns_at(p + step, stride, columns + step, &c, &d);
    for (; x + 3 * step <= all; x += step) {
        blur_columns_at(p + x + 2 * step, stride, columns + x + 2 * step, &e, &f);
        v_storeu(out + x, blur_between(a, b, columns + x));
        v_storeu(out + x + VEC_LANES, blur_between(b, c, columns + x + VEC_LANES));
        a = c;
        b = d;
        c = e;
        d = f;
    }
    return x;
}
#endif

VEC_INLINE vec sum_beside(const uint16_t *c, int k) { return v_add(v_loadu(c - k), v_loadu(c + k)); }

VEC_KERNEL void KERNEL(hessian_blur)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                                     uint16_t *out)
{
    const int32_t step = 2 * VEC_LANES, all = width + 2 * KBI_HESSIAN_BLUR;
    const uint8_t *p = row - KBI_HESSIAN_BLUR;
    int32_t x = 0, ahead = 0;
    if (all < step || width < VEC_LANES) {
        kbi_hessian_blur(row, stride, width, columns, out);
        return;
    }
#ifdef KBI_VEC_AVX512
    if (all >= BLUR_AHEAD) x = blur_ahead(p, stride, all, columns, out);
    if (all >= BLUR_AHEAD) ahead = BLUR_AHEAD;
#endif
    for (int32_t from = x + ahead; from < all; from += step) {
        int32_t at = kbi_min_i(from, all - step);
        vec first, second;
        blur_columns_at(p + at, stride, columns + at, &first, &second);
    }
    for (; x < width; x += VEC_LANES) {
        int32_t at = kbi_min_i(x, width - VEC_LANES);
        const uint16_t *c = columns + KBI_HESSIAN_BLUR + at;
        v_storeu(out + at,
                 blur_sum(v_loadu(c), sum_beside(c, 1), sum_beside(c, 2), sum_beside(c, 3), sum_beside(c, 4)));
    }
}

/* ---- determinants ---- */

VEC_INLINE void store_determinants(vec xx, vec yy, vec four_xy, int32_t *out)
{
    vec xy = v_sar(four_xy, 2), negative = v_sub(v_zero(), xy); /* -2^13 to 2^13: it does not wrap */
    store_in_order(out, hessian_dot16(hessian_low16(xx, xy), hessian_low16(yy, negative)),
                   hessian_dot16(hessian_high16(xx, xy), hessian_high16(yy, negative)));
}

/* Second differences along a row, of what begins one column before it. */
VEC_INLINE vec differences_across(const uint16_t *m)
{
    vec middle = v_loadu(m + 1);
    return v_sub(v_add(v_loadu(m), v_loadu(m + 2)), v_add(middle, middle));
}

#ifdef KBI_VEC_AVX512
/* The first difference across rows, and the second. */
VEC_INLINE void row_slopes(const uint16_t *above, const uint16_t *middle, const uint16_t *below, vec *slope, vec *curve)
{
    vec a = v_loadu(above), b = v_loadu(below), m = v_loadu(middle);
    *slope = v_sub(a, b);
    *curve = v_sub(v_add(a, b), v_add(m, m));
}
#endif

VEC_KERNEL void KERNEL(hessian_row)(const uint16_t *above, const uint16_t *middle, const uint16_t *below, int32_t width,
                                    int32_t *out)
{
    int32_t x = 0;
    if (width < VEC_LANES) {
        kbi_hessian_row(above, middle, below, width, out);
        return;
    }
#ifdef KBI_VEC_AVX512
    /* Sums and differences of rows are computed once, beginning one column before the row, where lines of the cache
     * do. */
    vec slope = v_zero(), curve = v_zero();
    for (; x + 2 * VEC_LANES <= width + 2; x += VEC_LANES) {
        const uint16_t *a = above + x - 1, *m = middle + x - 1, *b = below + x - 1;
        if (x == 0) row_slopes(a, m, b, &slope, &curve);
        vec next_slope, next_curve;
        row_slopes(a + VEC_LANES, m + VEC_LANES, b + VEC_LANES, &next_slope, &next_curve);
        store_determinants(differences_across(m), from_place(curve, next_curve, 1),
                           v_sub(slope, from_place(slope, next_slope, 2)), out + x);
        slope = next_slope;
        curve = next_curve;
    }
#endif
    for (; x < width; x += VEC_LANES) {
        int32_t at = kbi_min_i(x, width - VEC_LANES);
        const uint16_t *a = above + at, *m = middle + at, *b = below + at;
        vec centre = v_loadu(m), yy = v_sub(v_add(v_loadu(a), v_loadu(b)), v_add(centre, centre));
        vec xy = v_sub(v_add(v_loadu(a - 1), v_loadu(b + 1)), v_add(v_loadu(a + 1), v_loadu(b - 1)));
        store_determinants(differences_across(m - 1), yy, xy, out + at);
    }
}

/* ---- peaks ---- */

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

/* Not 0 when one of the determinants from `middle` on reaches the limit, and those above and below it do not exceed
 * it. */
VEC_INLINE uint32_t determinants_promise(const int32_t *above, const int32_t *middle, const int32_t *below,
                                         vec below_limit)
{
    vec less = v_add32(v_loadu(below), v_set32(UINT32_MAX)); /* determinants are far above the smallest number */
    return words_above(v_loadu(middle), words_max(words_max(v_loadu(above), less), below_limit));
}

/* Bits of the vecs from `start` on with a promise. The last one overlaps the one before. */
VEC_INLINE uint64_t promising_vecs(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t start,
                                   int32_t vecs, int32_t last, vec below_limit)
{
#ifdef KBI_VEC_AVX512
    uint16_t promise[WORDS_STRETCH] = {0};
    int32_t i = 0;
    for (; i + 4 <= vecs && start + WORDS * i + 48 <= last; i += 4)
        VEC_UNROLL
        for (int32_t k = 0; k < 4; k++) {
            int32_t at = start + WORDS * (i + k);
            promise[i + k] = (uint16_t)determinants_promise(above + at, middle + at, below + at, below_limit);
        }
    for (; i < vecs; i++) {
        int32_t at = kbi_min_i(start + WORDS * i, last);
        promise[i] = (uint16_t)determinants_promise(above + at, middle + at, below + at, below_limit);
    }
    return (uint64_t)_mm512_test_epi16_mask(v_loadu(promise + 32), v_loadu(promise + 32)) << 32 |
           _mm512_test_epi16_mask(v_loadu(promise), v_loadu(promise));
#else
    uint64_t bits = 0;
    for (int32_t i = 0; i < vecs; i++) {
        int32_t at = kbi_min_i(start + WORDS * i, last);
        bits |= (uint64_t)(determinants_promise(above + at, middle + at, below + at, below_limit) != 0) << i;
    }
    return bits;
#endif
}

VEC_KERNEL int32_t KERNEL(hessian_peaks)(const int32_t *above, const int32_t *middle, const int32_t *below,
                                         int32_t width, int32_t limit, uint16_t *x)
{
    const vec below_limit = v_set32((uint32_t)limit - 1);
    int32_t count = 0;
    if (width < WORDS + 2) return kbi_hessian_peaks(above, middle, below, width, limit, x);
    for (int32_t start = 0; start < width; start += WORDS_STRETCH * WORDS) {
        int32_t vecs = kbi_min_i((width - start + WORDS - 1) / WORDS, WORDS_STRETCH);
        uint64_t promising = promising_vecs(above, middle, below, start, vecs, width - WORDS, below_limit);
        for (; promising; promising &= promising - 1) { /* few have two peaks: the first is taken without a branch */
            int32_t i = __builtin_ctzll(promising), from = start + WORDS * i;
            int32_t at = kbi_clamp_i(from, 1, width - 1 - WORDS);
            uint64_t peaks = determinant_peaks(above + at, middle + at, below + at, below_limit);
            peaks = (peaks << 32 >> (32 + from - at)) & ((1u << WORDS) - 1);
            x[count] = (uint16_t)(from + __builtin_ctzll(peaks | 1u << 31));
            count += peaks != 0;
            for (peaks &= peaks - (peaks != 0); peaks; peaks &= peaks - 1)
                x[count++] = (uint16_t)(from + __builtin_ctzll(peaks));
        }
    }
    return count;
}

#endif
