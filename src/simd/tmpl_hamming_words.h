/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of words and lists with AVX-512 (match/kernels.h): bits are counted byte by byte and summed per 8 bytes.
 * Rows of another length than 32 bytes are left to POPCNT. */
#ifndef KBI_TMPL_HAMMING_WORDS_H
#define KBI_TMPL_HAMMING_WORDS_H

#include "match/hamming_rows.h"
#include "simd/kernels.h"
#include "simd/vec.h"

VEC_INLINE vec count_words(vec bits) { return _mm512_sad_epu8(_mm512_popcnt_epi8(bits), v_zero()); }

/* Distances of 8 rows in the order 0 2 1 3 4 6 5 7; `mask` has a bit for each 8 bytes that may be read. */
VEC_INLINE vec distances_of_8(vec query, const uint8_t *rows, uint32_t mask)
{
    vec part[4], sum[2];
    for (int i = 0; i < 4; i++)
        part[i] = count_words(
            v_xor(query, _mm512_maskz_loadu_epi64((__mmask8)(mask >> 8 * i), (const void *)(rows + 64 * i))));
    for (int i = 0; i < 2; i++)
        sum[i] = _mm512_add_epi64(_mm512_unpacklo_epi64(part[2 * i], part[2 * i + 1]),
                                  _mm512_unpackhi_epi64(part[2 * i], part[2 * i + 1]));
    return _mm512_add_epi64(_mm512_shuffle_i64x2(sum[0], sum[1], 0x88), _mm512_shuffle_i64x2(sum[0], sum[1], 0xdd));
}

VEC_TARGET static uint32_t hamming_nearest_32(const uint8_t *query, const uint8_t *rows, size_t n)
{
    const vec four = _mm512_broadcast_i64x4(_mm256_loadu_si256((const void *)query));
    vec index = _mm512_set_epi64(7, 5, 6, 4, 3, 1, 2, 0), min = _mm512_set1_epi64(-1);
    for (size_t i = 0; i < n; i += 8, rows += 256) {
        size_t left = n - i;
        vec distance = distances_of_8(four, rows, left < 8 ? (1u << 4 * left) - 1 : 0xffffffffu);
        vec key = _mm512_or_si512(_mm512_slli_epi64(distance, 16), index);
        __mmask8 inside = _mm512_cmplt_epu64_mask(index, _mm512_set1_epi64((long long)n));
        min = _mm512_mask_min_epu64(min, inside, min, key);
        index = _mm512_add_epi64(index, _mm512_set1_epi64(8));
    }
    __m256i half = _mm256_min_epu64(_mm512_castsi512_si256(min), _mm512_extracti64x4_epi64(min, 1));
    __m128i two = _mm_min_epu64(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    uint64_t key[2];
    _mm_storeu_si128((void *)key, two);
    return (uint32_t)(key[0] < key[1] ? key[0] : key[1]);
}

VEC_KERNEL uint32_t KERNEL(hamming_nearest)(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes)
{
    return row_bytes == 32 ? hamming_nearest_32(query, rows, n) : hamming_nearest_row(query, rows, n, row_bytes, true);
}

/* Distances of 8 words to the query; `there` has a bit for each that may be read. */
VEC_INLINE vec distances_to_words(vec query, const uint8_t *words, uint32_t there)
{
    return count_words(v_xor(query, _mm512_maskz_loadu_epi64((__mmask8)there, (const void *)words)));
}

/* 16 words at a time: their distances fit into one vector, and are compared and listed together. */
VEC_KERNEL size_t KERNEL(hamming_near)(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max,
                                       int32_t *found)
{
    const vec word = _mm512_set1_epi64((long long)kbi_load64(query)), limit = _mm512_set1_epi32((int)max);
    const vec step = _mm512_set1_epi32(16);
    const vec even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    vec index = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    size_t count = 0;
    for (size_t i = 0; i < n; i += 16, words += 128) {
        uint32_t there = n - i < 16 ? (1u << (n - i)) - 1 : 0xffffu;
        vec distance = _mm512_permutex2var_epi32(distances_to_words(word, words, there), even,
                                                 distances_to_words(word, words + 64, there >> 8));
        __mmask16 near = (__mmask16)(_mm512_cmple_epu32_mask(distance, limit) & there);
        _mm512_storeu_si512((void *)(found + count), _mm512_maskz_compress_epi32(near, index));
        count += kbi_count_bits(near, true);
        index = _mm512_add_epi32(index, step);
    }
    return count;
}

#endif
