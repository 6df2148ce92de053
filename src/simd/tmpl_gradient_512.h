/* SPDX-License-Identifier: Apache-2.0 */
/* kbi_gradient_sums (src/detect/gradient_rows.h) with vectors of 512 bits: row i of the gradients and row i + 4, so
 * that rows are added in the order that all kernels have. */
#ifndef KBI_TMPL_GRADIENT_512_H
#define KBI_TMPL_GRADIENT_512_H

#include "simd/vec.h"

typedef float gradient_floats16 __attribute__((vector_size(64)));
typedef float gradient_floats4 __attribute__((vector_size(16)));
typedef int32_t gradient_ints16 __attribute__((vector_size(64)));
#define GRADIENT_FLOATS    gradient_floats16
#define GRADIENT_INTS      gradient_ints16
#define GRADIENT_MAX(a, b) ((gradient_floats16)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define GRADIENT_MIN(a, b) ((gradient_floats16)_mm512_min_ps((__m512)(a), (__m512)(b)))
#include "simd/tmpl_gradient_parts.h"

/* Two rows side by side. */
VEC_INLINE __m256i gradient_rows(const int16_t *one, const int16_t *other)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)one)),
                                   _mm_loadu_si128((const __m128i *)(const void *)other), 1);
}

VEC_INLINE gradient_floats16 gradient_weights(int i)
{
    float weight[2 * KBI_GRADIENT_SIDE];
    gradient_floats16 weights;
    for (int j = 0; j < 2 * KBI_GRADIENT_SIDE; j++)
        weight[j] = gradient_window[i + j / KBI_GRADIENT_SIDE * 4] * gradient_window[j % KBI_GRADIENT_SIDE];
    memcpy(&weights, weight, sizeof weights);
    return weights;
}

/* Rows i and i + 4 of 16 lanes, then columns j and j + 4. */
VEC_INLINE gradient_floats4 gradient_fold(gradient_floats16 v)
{
    __m256 rows = _mm256_add_ps(_mm512_castps512_ps256((__m512)v),
                                _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)v), 1)));
    return (gradient_floats4)_mm_add_ps(_mm256_castps256_ps128(rows), _mm256_extractf128_ps(rows, 1));
}

/* Columns j and j + 2, then the last two, of two sums. */
VEC_INLINE void gradient_store_two(gradient_floats4 a, gradient_floats4 b, float *out)
{
    __m128 both = _mm_add_ps(_mm_movelh_ps((__m128)a, (__m128)b), _mm_movehl_ps((__m128)b, (__m128)a));
    _mm_storel_pi((__m64 *)(void *)out, _mm_add_ps(_mm_shuffle_ps(both, both, 0x88), _mm_shuffle_ps(both, both, 0xdd)));
}

VEC_EXACT VEC_KERNEL void KERNEL(gradient_sums)(const uint16_t *blocks, float *out)
{
    gradient_smoothed s;
    gradient_floats16 row[4][KBI_GRADIENT_SUMS];
    gradient_ints16 half[5], smooth[6];
    gradient_smooth(blocks, &s);
    VEC_UNROLL
    for (int i = 0; i < 5; i++)
        half[i] = (gradient_ints16)_mm512_cvtepi16_epi32(gradient_rows(s.half[i], s.half[i + 4]));
    VEC_UNROLL
    for (int i = 0; i < 6; i++)
        smooth[i] = (gradient_ints16)_mm512_cvtepu16_epi32(gradient_rows(s.smooth[i], s.smooth[i + 4]));
    VEC_UNROLL
    for (int i = 0; i < 4; i++)
        gradient_harmonics_at(__builtin_convertvector(half[i] + half[i + 1], gradient_floats16),
                              __builtin_convertvector(smooth[i + 2] - smooth[i], gradient_floats16),
                              gradient_weights(i), row[i]);
    gradient_floats4 sums[KBI_GRADIENT_SUMS];
    VEC_UNROLL
    for (int k = 0; k < KBI_GRADIENT_SUMS; k++)
        sums[k] = gradient_fold((row[0][k] + row[1][k]) + (row[2][k] + row[3][k]));
    VEC_UNROLL
    for (int k = 0; k < KBI_GRADIENT_SUMS; k += 2) gradient_store_two(sums[k], sums[k + 1], out + k);
}

#endif
