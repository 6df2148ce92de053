/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a turned lattice, eight at a time: their pixels are gathered, two of a row by one load. Sums of products,
 * sixteen at a time. */
#ifndef KBI_TMPL_ALIGN_H
#define KBI_TMPL_ALIGN_H

#include "match/align.h"
#include "simd/vec.h"

/* The pixels at the low two bytes of each number, blended by weights (256 - fx, fx). */
VEC_INLINE __m256i align_blend_row(__m256i pixels, __m256i weights)
{
    const __m256i two = _mm256_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1, 0, -1, 1, -1, 4, -1,
                                         5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
    return _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, two), weights);
}

VEC_INLINE __m256i align_blend(const uint8_t *pixels, int32_t stride, __m256i x, __m256i y)
{
    const __m256i low = _mm256_set1_epi32(255);
    __m256i at = _mm256_add_epi32(_mm256_mullo_epi32(_mm256_srai_epi32(y, 16), _mm256_set1_epi32(stride)),
                                  _mm256_srai_epi32(x, 16));
    __m256i fx = _mm256_and_si256(_mm256_srli_epi32(x, 8), low), fy = _mm256_and_si256(_mm256_srli_epi32(y, 8), low);
    __m256i weights = _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(256), fx), _mm256_slli_epi32(fx, 16));
    __m256i upper = _mm256_i32gather_epi32((const int *)(const void *)pixels, at, 1);
    __m256i lower = _mm256_i32gather_epi32((const int *)(const void *)(pixels + stride), at, 1);
    upper = align_blend_row(upper, weights);
    lower = align_blend_row(lower, weights);
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(upper, 8), _mm256_mullo_epi32(_mm256_sub_epi32(lower, upper), fy));
    sum = _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(8192)), 14);
    return _mm256_sub_epi32(sum, _mm256_set1_epi32(510));
}

VEC_KERNEL void KERNEL(align_samples)(const kbi_lattice *l, int16_t *out)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i right = _mm256_set1_epi32(l->right[0]), down = _mm256_set1_epi32(l->right[1]);
    const __m256i across = _mm256_mullo_epi32(lanes, right), along = _mm256_mullo_epi32(lanes, down);
    const uint8_t *pixels = l->data + l->py * l->stride + l->px;
    const int32_t stride = (int32_t)l->stride;
    for (int32_t i = 0; i < KBI_ALIGN_SIDE; i++, out += KBI_ALIGN_SIDE) {
        __m256i x = _mm256_add_epi32(_mm256_set1_epi32(l->x + i * l->down[0]), across);
        __m256i y = _mm256_add_epi32(_mm256_set1_epi32(l->y + i * l->down[1]), along);
        __m256i first = align_blend(pixels, stride, x, y);
        x = _mm256_add_epi32(x, _mm256_slli_epi32(right, 3));
        y = _mm256_add_epi32(y, _mm256_slli_epi32(down, 3));
        __m256i both = _mm256_packs_epi32(first, align_blend(pixels, stride, x, y));
        v_storeu(out, _mm256_permute4x64_epi64(both, 0xd8));
    }
}

VEC_KERNEL void KERNEL(align_products)(const int16_t *rows, int32_t count, const int16_t *w, int32_t *sums)
{
    for (int32_t k = 0; k < count; k++, rows += KBI_ALIGN_SAMPLES) {
        __m256i even = _mm256_setzero_si256(), odd = even;
        VEC_UNROLL
        for (int32_t i = 0; i < KBI_ALIGN_SAMPLES; i += 32) {
            even = _mm256_add_epi32(even, _mm256_madd_epi16(v_loadu(rows + i), v_loadu(w + i)));
            odd = _mm256_add_epi32(odd, _mm256_madd_epi16(v_loadu(rows + i + 16), v_loadu(w + i + 16)));
        }
        even = _mm256_add_epi32(even, odd);
        __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(even), _mm256_extracti128_si256(even, 1));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
        sums[k] = _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1)));
    }
}

#endif
