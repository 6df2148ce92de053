/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of src/detect/hessian_rows.h for AVX2 and AVX-512.
 *
 * Rows of bytes, and the two products of a determinant, are interleaved, so that one instruction multiplies pairs and
 * adds them. Interleaving works within 128 bits, so the halves of the results are put in order at the end.
 *
 * Peaks: as for FAST (simd/tmpl_fast.h) all vecs of a stretch first take a cheap test without a branch, against the
 * limit and the neighbours above and below, whose loads do not cross lines of the cache. The vecs that pass are then
 * examined one after the other. */
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
    int32_t x = 0;
#ifdef KBI_VEC_AVX512
    /* Of the vecs that begin between `here` and `next`, half are loaded, although they cross lines of the cache, and
     * half are shuffled, so that loads and shuffles run side by side. */
    vec here = v_loadu(c);
    for (; x + 2 * VEC_LANES <= width + 2 * KBI_HESSIAN_BLUR; x += VEC_LANES) {
        const uint16_t *at = c + x;
        vec next = v_loadu(at + VEC_LANES);
        v_storeu(out + x, blur_sum(from_place(here, next, 4), v_add(v_loadu(at + 3), v_loadu(at + 5)),
                                   v_add(from_place(here, next, 2), from_place(here, next, 6)),
                                   v_add(v_loadu(at + 1), v_loadu(at + 7)), v_add(here, from_place(here, next, 8))));
        here = next;
    }
#endif
    for (; x < width; x += VEC_LANES) {
        int32_t at = kbi_min_i(x, width - VEC_LANES);
        const uint16_t *middle = c + KBI_HESSIAN_BLUR + at;
        v_storeu(out + at, blur_sum(v_loadu(middle), sum_beside(middle, 1), sum_beside(middle, 2),
                                    sum_beside(middle, 3), sum_beside(middle, 4)));
    }
}

VEC_KERNEL void KERNEL(hessian_blur)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                                     uint16_t *const out[2])
{
    const int32_t step = 2 * VEC_LANES, all = width + 2 * KBI_HESSIAN_BLUR;
    uint16_t *lower = columns + kbi_round_up((size_t)all);
    if (all < step || width < VEC_LANES) {
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
    int32_t x = 0;
    if (width < VEC_LANES) {
        kbi_hessian_row(above, middle, below, width, out);
        return;
    }
#ifdef KBI_VEC_AVX512
    /* Columns two apart are loaded once: loads begin one column before the row, which is aligned to the cache. */
    vec here = v_loadu(middle - 1), slope = v_sub(v_loadu(above - 1), v_loadu(below - 1));
    for (; x + 2 * VEC_LANES <= width + 2; x += VEC_LANES) {
        const int32_t next = x + VEC_LANES - 1;
        vec after = v_loadu(middle + next), next_slope = v_sub(v_loadu(above + next), v_loadu(below + next));
        vec centre = v_loadu(middle + x), twice = v_add(centre, centre);
        store_determinants(v_sub(v_add(here, from_place(here, after, 2)), twice),
                           v_sub(v_add(v_loadu(above + x), v_loadu(below + x)), twice),
                           v_sub(slope, from_place(slope, next_slope, 2)), out + x);
        here = after;
        slope = next_slope;
    }
#endif
    for (; x < width; x += VEC_LANES) {
        int32_t at = kbi_min_i(x, width - VEC_LANES);
        const uint16_t *a = above + at, *m = middle + at, *b = below + at;
        vec centre = v_loadu(m), twice = v_add(centre, centre);
        vec xy = v_sub(v_add(v_loadu(a - 1), v_loadu(b + 1)), v_add(v_loadu(a + 1), v_loadu(b - 1)));
        store_determinants(v_sub(v_add(v_loadu(m - 1), v_loadu(m + 1)), twice),
                           v_sub(v_add(v_loadu(a), v_loadu(b)), twice), xy, out + at);
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

#ifdef KBI_VEC_AVX512

/* Not 0 when one of the determinants from `middle` on reaches the limit, and those above and below it do not exceed
 * it. */
VEC_INLINE uint32_t determinants_promise(const int32_t *above, const int32_t *middle, const int32_t *below,
                                         vec below_limit)
{
    vec here = v_loadu(middle);
    return words_above(here, words_max(v_loadu(above), below_limit)) & ~words_above(v_loadu(below), here);
}

/* Bits of the vecs from `start` on that pass the cheap test. The last vec overlaps the one before. */
VEC_INLINE uint64_t promising_vecs(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t start,
                                   int32_t vecs, int32_t last, vec below_limit)
{
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
}

#else

/* The same, as lanes of ones. */
VEC_INLINE vec determinants_promise(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t at,
                                    vec below_limit)
{
    vec here = v_loadu(middle + at), more = _mm256_cmpgt_epi32(here, words_max(v_loadu(above + at), below_limit));
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(v_loadu(below + at), here), more);
}

/* Four vecs become one, which has all ones in a half of 128 bits as one word each. */
VEC_INLINE uint64_t promising_vecs(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t start,
                                   int32_t vecs, int32_t last, vec below_limit)
{
    uint64_t bits = 0;
    for (int32_t i = 0; i < vecs; i += 4) {
        vec p[4];
        VEC_UNROLL
        for (int32_t k = 0; k < 4; k++)
            p[k] = determinants_promise(above, middle, below, kbi_min_i(start + WORDS * (i + k), last), below_limit);
        vec all = _mm256_packs_epi16(_mm256_packs_epi32(p[0], p[1]), _mm256_packs_epi32(p[2], p[3]));
        __m128i any = _mm_or_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
        int none = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(any, _mm_setzero_si128())));
        bits |= (uint64_t)(none ^ 15) << i;
    }
    return vecs < WORDS_STRETCH ? bits & (((uint64_t)1 << vecs) - 1) : bits;
}

#endif

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
