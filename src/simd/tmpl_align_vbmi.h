/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a turned lattice in blocks of 4 x 4: a block lies in a window of 8 x 8 pixels, one register, in which
 * VPERMB looks up two neighbours in a row of all its samples. Lattices that are coarser than that, and images that are
 * smaller than a window, are left to AVX2. */
#ifndef KBI_TMPL_ALIGN_VBMI_H
#define KBI_TMPL_ALIGN_VBMI_H

#include "match/align.h"
#include "simd/tmpl_window_64.h"

#define ALIGN_BLOCK  4
#define ALIGN_WINDOW 8
#define ALIGN_REACH  ((ALIGN_WINDOW - 2) * 65536) /* max distance of two samples of a block along an axis */

VEC_INLINE int32_t align_extent(int32_t right, int32_t down)
{
    return (ALIGN_BLOCK - 1) * ((right < 0 ? -right : right) + (down < 0 ? -down : down));
}

/* From the block's first sample to the left or uppermost one. */
VEC_INLINE int32_t align_least(int32_t right, int32_t down)
{
    return (ALIGN_BLOCK - 1) * ((right < 0 ? right : 0) + (down < 0 ? down : 0));
}

/* Where the window begins along an axis of so many pixels. */
VEC_INLINE int32_t align_window_at(int32_t first, int32_t size)
{
    return first < size - ALIGN_WINDOW ? first : size - ALIGN_WINDOW;
}

/* The two pixels of each lane that begin at its low byte of index, blended by weights (256 - fx, fx). */
VEC_INLINE vec align_window_row(vec window, vec index, vec weights)
{
    return _mm512_madd_epi16(_mm512_maskz_permutexvar_epi8(0x5555555555555555, index, window), weights);
}

/* x and y of samples from the corner of the window on, in 1/65536 px. */
VEC_INLINE __m256i align_block(vec window, vec x, vec y)
{
    const vec low = _mm512_set1_epi32(255), next = _mm512_set1_epi32(0x10000);
    vec at = _mm512_add_epi32(_mm512_slli_epi32(_mm512_srai_epi32(y, 16), 3), _mm512_srai_epi32(x, 16));
    vec index = _mm512_add_epi32(_mm512_or_si512(at, _mm512_slli_epi32(at, 16)), next);
    vec fx = _mm512_and_si512(_mm512_srli_epi32(x, 8), low), fy = _mm512_and_si512(_mm512_srli_epi32(y, 8), low);
    vec weights = _mm512_or_si512(_mm512_sub_epi32(_mm512_set1_epi32(256), fx), _mm512_slli_epi32(fx, 16));
    vec upper = align_window_row(window, index, weights);
    vec lower = align_window_row(window, _mm512_add_epi32(index, _mm512_set1_epi32(ALIGN_WINDOW * 0x10001)), weights);
    vec sum = _mm512_add_epi32(_mm512_slli_epi32(upper, 8), _mm512_mullo_epi32(_mm512_sub_epi32(lower, upper), fy));
    sum = _mm512_srai_epi32(_mm512_add_epi32(sum, _mm512_set1_epi32(8192)), 14);
    return _mm512_cvtepi32_epi16(_mm512_sub_epi32(sum, _mm512_set1_epi32(510)));
}

VEC_INLINE void align_store_block(int16_t *out, __m256i block)
{
    const __m128i upper = _mm256_castsi256_si128(block), lower = _mm256_extracti128_si256(block, 1);
    _mm_storel_epi64((__m128i *)(void *)out, upper);
    _mm_storeh_pd((double *)(void *)(out + KBI_ALIGN_SIDE), _mm_castsi128_pd(upper));
    _mm_storel_epi64((__m128i *)(void *)(out + 2 * KBI_ALIGN_SIDE), lower);
    _mm_storeh_pd((double *)(void *)(out + 3 * KBI_ALIGN_SIDE), _mm_castsi128_pd(lower));
}

VEC_TARGET static void align_in_windows(const kbi_lattice *l, int16_t *out)
{
    const vec columns = _mm512_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    const vec rows = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    vec each[2];
    int32_t least[2];
    for (int k = 0; k < 2; k++) {
        each[k] = _mm512_add_epi32(_mm512_mullo_epi32(columns, _mm512_set1_epi32(l->right[k])),
                                   _mm512_mullo_epi32(rows, _mm512_set1_epi32(l->down[k])));
        least[k] = align_least(l->right[k], l->down[k]);
    }
    for (int32_t i = 0; i < KBI_ALIGN_SIDE; i += ALIGN_BLOCK) {
        for (int32_t j = 0; j < KBI_ALIGN_SIDE; j += ALIGN_BLOCK) {
            int32_t x = l->x + i * l->down[0] + j * l->right[0], y = l->y + i * l->down[1] + j * l->right[1];
            int32_t left = align_window_at(l->px + ((x + least[0]) >> 16), l->width);
            int32_t top = align_window_at(l->py + ((y + least[1]) >> 16), l->height);
            vec window = v_window_64(l->data + top * l->stride + left, l->stride, ALIGN_WINDOW);
            x -= (left - l->px) * 65536;
            y -= (top - l->py) * 65536;
            __m256i block = align_block(window, _mm512_add_epi32(each[0], _mm512_set1_epi32(x)),
                                        _mm512_add_epi32(each[1], _mm512_set1_epi32(y)));
            align_store_block(out + i * KBI_ALIGN_SIDE + j, block);
        }
    }
}

VEC_KERNEL void KERNEL(align_samples)(const kbi_lattice *l, int16_t *out)
{
    bool fits = l->width >= ALIGN_WINDOW && l->height >= ALIGN_WINDOW &&
                align_extent(l->right[0], l->down[0]) <= ALIGN_REACH &&
                align_extent(l->right[1], l->down[1]) <= ALIGN_REACH;
    (fits ? align_in_windows : kbi_align_samples_avx2)(l, out);
}

#endif
