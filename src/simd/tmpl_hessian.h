/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of src/detect/hessian_rows.h for AVX2 and AVX-512.
 *
 * Rows of bytes, and the two products of a determinant, are interleaved, so that one instruction multiplies pairs and
 * adds them. Interleaving works within 128 bits, so the halves of the results are put in order at the end. The last vec
 * of a row of numbers may reach beyond its end.
 *
 * Peaks: as for FAST (simd/tmpl_fast.h) all vecs of a stretch first take a cheap test without a branch, against the
 * limit and the neighbours above and below, whose loads do not cross lines of the cache. The vecs that pass are then
 * examined one after the other. */
#ifndef KBI_TMPL_HESSIAN_H
#define KBI_TMPL_HESSIAN_H

#include "detect/hessian_rows.h"
#include "simd/vec.h"

#define WORDS (VEC_LANES / 2) /* determinants of a vec */
#define WORDS_STRETCH 32      /* vecs */

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

VEC_INLINE void store_words_in_order(uint16_t *to, vec low, vec high)
{
    vec first, second;
    put_in_order(low, high, &first, &second);
    v_storeu(to, first);
    v_storeu(to + VEC_LANES, second);
}

/* ---- blur ---- */

/* The weights of ten rows for the upper of two blurred rows, and shifted by one for the lower. */
static const uint8_t hessian_weight[] = {0, KBI_HESSIAN_W4, KBI_HESSIAN_W3, KBI_HESSIAN_W2, KBI_HESSIAN_W1,
                                         KBI_HESSIAN_W0, KBI_HESSIAN_W1, KBI_HESSIAN_W2, KBI_HESSIAN_W3,
                                         KBI_HESSIAN_W4, 0};

/* A vec of columns of two rows, blurred along themselves: each pair of the ten rows is interleaved once for both. */
VEC_INLINE void blur_columns_at(const uint8_t *p, ptrdiff_t stride, uint16_t *upper, uint16_t *lower)
{
    vec sum[2][2] = {{v_zero(), v_zero()}, {v_zero(), v_zero()}};
    VEC_UNROLL
    for (int k = 0; k < 10; k += 2) {
        vec a = v_loadu(p + (k - 4) * stride), b = v_loadu(p + (k - 3) * stride);
        vec low = hessian_low8(a, b), high = hessian_high8(a, b);
        VEC_UNROLL
        for (int row = 0; row < 2; row++) {
            vec weights = v_set(hessian_weight[k + 1 - row] | hessian_weight[k + 2 - row] << 8);
            sum[row][0] = v_add(sum[row][0], hessian_dot8(low, weights));
            sum[row][1] = v_add(sum[row][1], hessian_dot8(high, weights));
        }
    }
    store_words_in_order(upper, sum[0][0], sum[0][1]);
    store_words_in_order(lower, sum[1][0], sum[1][1]);
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
/* The 32 words from place k on, of 64; k is even, since shuffling single words takes three times as long. */
#    define from_place(first, second, k) _mm512_alignr_epi32(second, first, (k) / 2)
#endif

VEC_INLINE vec sum_beside(const uint16_t *c, int k) { return v_add(v_loadu(c - k), v_loadu(c + k)); }

/* c begins KBI_HESSIAN_BLUR columns before the row. */
VEC_INLINE void blur_across_row(const uint16_t *c, int32_t width, uint16_t *out)
{
#ifdef KBI_VEC_AVX512
    /* Of the vecs that begin between `here` and `next`, half are loaded, although they cross lines of the cache, and
     * half are shuffled, so that loads and shuffles run side by side. */
    vec here = v_loadu(c);
    for (int32_t x = 0; x < width; x += VEC_LANES) {
        const uint16_t *at = c + x;
        vec next = v_loadu(at + VEC_LANES);
        v_storeu(out + x, blur_sum(from_place(here, next, 4), v_add(v_loadu(at + 3), v_loadu(at + 5)),
                                   v_add(from_place(here, next, 2), from_place(here, next, 6)),
                                   v_add(v_loadu(at + 1), v_loadu(at + 7)), v_add(here, from_place(here, next, 8))));
        here = next;
    }
#else
    for (int32_t x = 0; x < width; x += VEC_LANES) {
        const uint16_t *middle = c + KBI_HESSIAN_BLUR + x;
        v_storeu(out + x, blur_sum(v_loadu(middle), sum_beside(middle, 1), sum_beside(middle, 2), sum_beside(middle, 3),
                                   sum_beside(middle, 4)));
    }
#endif
}

VEC_KERNEL void KERNEL(hessian_blur)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                                     uint16_t *const out[2])
{
    const int32_t step = 2 * VEC_LANES, all = width + 2 * KBI_HESSIAN_BLUR;
    uint16_t *lower = columns + kbi_round_up((size_t)all);
    if (all < step) {
        kbi_hessian_blur(row, stride, width, columns, out);
        return;
    }
    for (int32_t x = 0; x < all; x += step) {
        int32_t at = kbi_min_i(x, all - step);
        blur_columns_at(row - KBI_HESSIAN_BLUR + at, stride, columns + at, lower + at);
    }
    blur_across_row(columns, width, out[0]);
    blur_across_row(lower, width, out[1]);
}

/* ---- determinants ---- */

VEC_INLINE void store_determinants(vec xx, vec yy, vec four_xy, int32_t *out)
{
    vec xy = v_sar(four_xy, 2), negative = v_sub(v_zero(), xy); /* -2^13 to 2^13: it does not wrap */
    store_in_order(out, hessian_dot16(hessian_low16(xx, xy), hessian_low16(yy, negative)),
                   hessian_dot16(hessian_high16(xx, xy), hessian_high16(yy, negative)));
}

VEC_KERNEL void KERNEL(hessian_row)(const uint16_t *above, const uint16_t *middle, const uint16_t *below, int32_t width,
                                    int32_t *out)
{
#ifdef KBI_VEC_AVX512
    /* Columns two apart are loaded once: loads begin one column before the row, which is aligned to the cache. */
    vec here = v_loadu(middle - 1), slope = v_sub(v_loadu(above - 1), v_loadu(below - 1));
    for (int32_t x = 0; x < width; x += VEC_LANES) {
        const int32_t next = x + VEC_LANES - 1;
        vec after = v_loadu(middle + next), next_slope = v_sub(v_loadu(above + next), v_loadu(below + next));
        vec centre = v_loadu(middle + x), twice = v_add(centre, centre);
        store_determinants(v_sub(v_add(here, from_place(here, after, 2)), twice),
                           v_sub(v_add(v_loadu(above + x), v_loadu(below + x)), twice),
                           v_sub(slope, from_place(slope, next_slope, 2)), out + x);
        here = after;
        slope = next_slope;
    }
#else
    for (int32_t x = 0; x < width; x += VEC_LANES) {
        const uint16_t *a = above + x, *m = middle + x, *b = below + x;
        vec centre = v_loadu(m), twice = v_add(centre, centre);
        vec xy = v_sub(v_add(v_loadu(a - 1), v_loadu(b + 1)), v_add(v_loadu(a + 1), v_loadu(b - 1)));
        store_determinants(v_sub(v_add(v_loadu(m - 1), v_loadu(m + 1)), twice),
                           v_sub(v_add(v_loadu(a), v_loadu(b)), twice), xy, out + x);
    }
#endif
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

/* All lanes, or'ed. */
VEC_INLINE uint32_t words_or(vec a)
{
#ifdef KBI_VEC_AVX512
    __m256i half = _mm256_or_si256(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
#else
    __m256i half = a;
#endif
    __m128i four = _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    uint64_t two = (uint64_t)_mm_cvtsi128_si64(_mm_or_si128(four, _mm_unpackhi_epi64(four, four)));
    return (uint32_t)(two | two >> 32);
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

/* Adds `bit` to the lanes of `found` where a determinant from `at` on reaches the limit, and the ones above and below
 * it do not exceed it. */
VEC_INLINE vec find_promising(vec found, vec bit, const int32_t *above, const int32_t *middle, const int32_t *below,
                              int32_t at, vec below_limit)
{
    vec here = v_loadu(middle + at), higher = words_max(v_loadu(above + at), below_limit);
#ifdef KBI_VEC_AVX512
    __mmask16 rises = _mm512_cmpgt_epi32_mask(here, higher);
    return _mm512_mask_or_epi32(found, _mm512_mask_cmple_epi32_mask(rises, v_loadu(below + at), here), found, bit);
#else
    vec beaten = _mm256_cmpgt_epi32(v_loadu(below + at), here);
    return v_or(found, v_and(bit, _mm256_andnot_si256(beaten, _mm256_cmpgt_epi32(here, higher))));
#endif
}

/* Bits of the vecs from `start` on that pass the cheap test. */
VEC_INLINE uint32_t promising_vecs(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t start,
                                   int32_t vecs, vec below_limit)
{
    vec found = v_zero(), bit = v_set32(1);
    VEC_UNROLL_4
    for (int32_t i = 0; i < vecs; i++, bit = v_add32(bit, bit))
        found = find_promising(found, bit, above, middle, below, start + WORDS * i, below_limit);
    return words_or(found);
}

VEC_KERNEL int32_t KERNEL(hessian_peaks)(const int32_t *above, const int32_t *middle, const int32_t *below,
                                         int32_t width, int32_t limit, uint16_t *x)
{
    const vec below_limit = v_set32((uint32_t)limit - 1);
    int32_t count = 0;
    for (int32_t start = 0; start < width - 1; start += WORDS_STRETCH * WORDS) {
        int32_t vecs = kbi_min_i((width - start + WORDS - 1) / WORDS, WORDS_STRETCH);
        uint32_t promising = promising_vecs(above, middle, below, start, vecs, below_limit);
        for (; promising; promising &= promising - 1) { /* few have two peaks: the first is taken without a branch */
            int32_t from = start + WORDS * __builtin_ctz(promising), at = kbi_max_i(from, 1);
            uint32_t peaks = determinant_peaks(above + at, middle + at, below + at, below_limit);
            peaks &= (1u << (kbi_min_i(from + WORDS, width - 1) - at)) - 1;
            x[count] = (uint16_t)(at + __builtin_ctz(peaks | 1u << 31));
            count += peaks != 0;
            for (peaks &= peaks - (peaks != 0); peaks; peaks &= peaks - 1)
                x[count++] = (uint16_t)(at + __builtin_ctz(peaks));
        }
    }
    return count;
}

#endif
