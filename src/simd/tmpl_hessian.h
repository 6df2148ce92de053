/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of src/detect/hessian_rows.h for AVX2 and AVX-512.
 *
 * Rows of bytes, and the two products of a determinant, are interleaved, so that one instruction multiplies pairs and
 * adds them. Interleaving works within 128 bits: what belongs to the lower and the upper half is put in order at the end.
 *
 * Peaks: as for FAST (simd/tmpl_fast.h) all vecs of a stretch are first asked the cheap question, without a branch: the
 * limit and the neighbours above and below, which need no line of the cache twice. Then those that pass are taken one after
 * the other. */
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

VEC_INLINE void add_row_pair(vec p, vec q, int weight, vec *low, vec *high)
{
    vec weights = v_set(weight * 257);
    *low = v_add(*low, hessian_dot8(hessian_low8(p, q), weights));
    *high = v_add(*high, hessian_dot8(hessian_high8(p, q), weights));
}

/* n > 0 bytes; on AVX2 all of a vec. */
VEC_INLINE vec load_bytes(const uint8_t *p, int32_t n)
{
#ifdef KBI_VEC_AVX512
    if (n < 64) return _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (64 - n), p);
#else
    (void)n;
#endif
    return v_loadu(p);
}

/* The n columns from p on, blurred along themselves. */
VEC_INLINE void blur_vecs(const uint8_t *p, ptrdiff_t stride, int32_t n, vec *first, vec *second)
{
    vec centre = load_bytes(p, n), weight = v_set(KBI_HESSIAN_W0);
    vec low = hessian_dot8(hessian_low8(centre, v_zero()), weight);
    vec high = hessian_dot8(hessian_high8(centre, v_zero()), weight);
    add_row_pair(load_bytes(p - stride, n), load_bytes(p + stride, n), KBI_HESSIAN_W1, &low, &high);
    add_row_pair(load_bytes(p - 2 * stride, n), load_bytes(p + 2 * stride, n), KBI_HESSIAN_W2, &low, &high);
    add_row_pair(load_bytes(p - 3 * stride, n), load_bytes(p + 3 * stride, n), KBI_HESSIAN_W3, &low, &high);
    add_row_pair(load_bytes(p - 4 * stride, n), load_bytes(p + 4 * stride, n), KBI_HESSIAN_W4, &low, &high);
    put_in_order(low, high, first, second);
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
    const vec order = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
                                       10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutex2var_epi16(first, v_add(order, v_set(k)), second);
}

VEC_INLINE vec blur_next(vec first, vec second)
{
    return blur_sum(from_place(first, second, 4),
                    v_add(from_place(first, second, 3), from_place(first, second, 5)),
                    v_add(from_place(first, second, 2), from_place(first, second, 6)),
                    v_add(from_place(first, second, 1), from_place(first, second, 7)),
                    v_add(first, from_place(first, second, 8)));
}

/* n > 0 numbers; fewer than a vec by way of `aside`. */
VEC_INLINE void store_numbers(uint16_t *to, vec v, int32_t n, uint16_t *aside)
{
    v_storeu(n < VEC_LANES ? aside : to, v);
    if (n < VEC_LANES) memcpy(to, aside, (size_t)n * sizeof *to);
}

/* Columns stay in registers. */
VEC_KERNEL void KERNEL(hessian_blur)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                                     uint16_t *out)
{
    const int32_t all = width + 2 * KBI_HESSIAN_BLUR;
    const uint8_t *p = row - KBI_HESSIAN_BLUR;
    uint16_t aside[VEC_LANES];
    vec a, b;
    (void)columns;
    blur_vecs(p, stride, kbi_min_i(all, 64), &a, &b);
    for (int32_t x = 0; x < width; x += 64) {
        vec c = v_zero(), d = v_zero();
        if (all - x >= 128) blur_vecs(p + x + 64, stride, 64, &c, &d);
        else if (all - x > 64) blur_vecs(p + x + 64, stride, all - x - 64, &c, &d);
        store_numbers(out + x, blur_next(a, b), width - x, aside);
        if (width - x > 32) store_numbers(out + x + 32, blur_next(b, c), width - x - 32, aside);
        a = c;
        b = d;
    }
}

#else

VEC_INLINE vec sum_beside(const uint16_t *p, int k) { return v_add(v_loadu(p - k), v_loadu(p + k)); }

VEC_KERNEL void KERNEL(hessian_blur)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                                     uint16_t *out)
{
    const int32_t step = 2 * VEC_LANES, all = width + 2 * KBI_HESSIAN_BLUR;
    if (all < step || width < VEC_LANES) {
        kbi_hessian_blur(row, stride, width, columns, out);
        return;
    }
    for (int32_t x = 0; x < all; x += step) {
        int32_t at = kbi_min_i(x, all - step);
        vec first, second;
        blur_vecs(row - KBI_HESSIAN_BLUR + at, stride, step, &first, &second);
        v_storeu(columns + at, first);
        v_storeu(columns + at + VEC_LANES, second);
    }
    for (int32_t x = 0; x < width; x += VEC_LANES) {
        int32_t at = kbi_min_i(x, width - VEC_LANES);
        const uint16_t *c = columns + KBI_HESSIAN_BLUR + at;
        v_storeu(out + at, blur_sum(v_loadu(c), sum_beside(c, 1), sum_beside(c, 2), sum_beside(c, 3), sum_beside(c, 4)));
    }
}

#endif

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
    /* Sums and differences of rows are computed once, beginning one column before the row, where lines of the cache do. */
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

/* Not 0 when one of the determinants from `middle` on reaches the limit, and those above and below it do not exceed it. */
VEC_INLINE uint32_t determinants_promise(const int32_t *above, const int32_t *middle, const int32_t *below, vec below_limit)
{
    vec here = v_loadu(middle);
    return words_above(here, words_max(v_loadu(above), below_limit)) & ~words_above(v_loadu(below), here);
}

/* Bits of the vecs from `start` on with a promise. The last one overlaps the one before. */
VEC_INLINE uint64_t promising_vecs(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t start,
                                   int32_t vecs, int32_t last, vec below_limit)
{
#ifdef KBI_VEC_AVX512
    uint16_t promise[WORDS_STRETCH] = {0};
    for (int32_t i = 0; i < vecs; i++) {
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
