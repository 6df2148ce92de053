/* SPDX-License-Identifier: Apache-2.0 */
/* The intrinsics of AVX-512 as functions in plain C: SIMDe's, and own ones where its release 0.7.4 lacks them. For
 * tests only (KB_EMULATE_AVX512). */
#ifndef KBI_VEC_AVX512_EMULATED_H
#define KBI_VEC_AVX512_EMULATED_H

#include <string.h>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

typedef simde__mmask8 __mmask8;
typedef simde__mmask16 __mmask16;
typedef simde__mmask32 __mmask32;
typedef simde__mmask64 __mmask64;

#define LACKING_BINARY(name, type, expression)                                                                         \
    static inline __m512i name(__m512i first, __m512i second)                                                          \
    {                                                                                                                  \
        type a[64 / sizeof(type)], b[64 / sizeof(type)];                                                               \
        memcpy(a, &first, sizeof a);                                                                                   \
        memcpy(b, &second, sizeof b);                                                                                  \
        for (size_t i = 0; i < 64 / sizeof(type); i++) a[i] = (type)(expression);                                      \
        memcpy(&first, a, sizeof a);                                                                                   \
        return first;                                                                                                  \
    }

#define _mm512_mulhi_epu16 lacking_mulhi_epu16
LACKING_BINARY(lacking_mulhi_epu16, uint16_t, (uint32_t)a[i] * b[i] >> 16)

static inline __m512i lacking_madd_epi16(__m512i first, __m512i second)
{
    int16_t a[32], b[32];
    uint32_t sums[16];
    memcpy(a, &first, sizeof a);
    memcpy(b, &second, sizeof b);
    for (int i = 0; i < 16; i++) sums[i] = (uint32_t)(a[2 * i] * b[2 * i]) + (uint32_t)(a[2 * i + 1] * b[2 * i + 1]);
    memcpy(&first, sums, sizeof sums);
    return first;
}
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 lacking_madd_epi16

static inline __mmask32 lacking_cmpgt_epi16_mask(__m512i first, __m512i second)
{
    int16_t a[32], b[32];
    __mmask32 mask = 0;
    memcpy(a, &first, sizeof a);
    memcpy(b, &second, sizeof b);
    for (int i = 0; i < 32; i++) mask |= (__mmask32)(a[i] > b[i]) << i;
    return mask;
}
#define _mm512_cmpgt_epi16_mask lacking_cmpgt_epi16_mask

/* Whether not (a < b). */
static inline __mmask32 lacking_not_below_epi16(__m512i first, __m512i second)
{
    return ~lacking_cmpgt_epi16_mask(second, first);
}
#undef _mm512_mask_cmpge_epi16_mask
#undef _mm512_mask_cmple_epi16_mask
#define _mm512_mask_cmpge_epi16_mask(k, a, b) ((k) & lacking_not_below_epi16(a, b))
#define _mm512_mask_cmple_epi16_mask(k, a, b) ((k) & lacking_not_below_epi16(b, a))

/* The lanes of mask where a <= b. A function, since macros may be its arguments. */
static inline __mmask16 lacking_mask_cmple_epi32(__mmask16 mask, __m512i first, __m512i second)
{
    int32_t a[16], b[16];
    memcpy(a, &first, sizeof a);
    memcpy(b, &second, sizeof b);
    for (int i = 0; i < 16; i++)
        if (a[i] > b[i]) mask = (__mmask16)(mask & ~(1u << i));
    return mask;
}
#undef _mm512_mask_cmple_epi32_mask
#define _mm512_mask_cmple_epi32_mask lacking_mask_cmple_epi32

static inline __m512i lacking_srai_epi32(__m512i first, int n)
{
    int32_t a[16];
    memcpy(a, &first, sizeof a);
    for (int i = 0; i < 16; i++) a[i] >>= n;
    memcpy(&first, a, sizeof a);
    return first;
}
#define _mm512_srai_epi32 lacking_srai_epi32

#define _mm512_shuffle_i64x2 simde_mm512_shuffle_i64x2

/* The 16 numbers from number n on, of 32: the second's numbers and behind them the first's. */
static inline __m512i lacking_alignr_epi32(__m512i first, __m512i second, int n)
{
    uint32_t both[32];
    memcpy(both, &second, 64);
    memcpy(both + 16, &first, 64);
    memcpy(&first, both + n, sizeof first);
    return first;
}
#define _mm512_alignr_epi32 lacking_alignr_epi32

static inline __m512i lacking_maskz_loadu_epi64(__mmask8 mask, const void *p)
{
    uint64_t a[8] = {0};
    __m512i found;
    for (int i = 0; i < 8; i++)
        if (mask >> i & 1) memcpy(&a[i], (const char *)p + 8 * i, 8);
    memcpy(&found, a, sizeof a);
    return found;
}
#define _mm512_maskz_loadu_epi64 lacking_maskz_loadu_epi64

static inline __m512i lacking_mask_loadu_epi8(__m512i elsewhere, __mmask64 mask, const void *p)
{
    uint8_t a[64];
    __m512i found;
    memcpy(a, &elsewhere, sizeof a);
    for (int i = 0; i < 64; i++)
        if (mask >> i & 1) a[i] = ((const uint8_t *)p)[i];
    memcpy(&found, a, sizeof a);
    return found;
}
#define _mm512_mask_loadu_epi8 lacking_mask_loadu_epi8
#define _mm512_maskz_loadu_epi8(mask, p) lacking_mask_loadu_epi8(_mm512_setzero_si512(), mask, p)

#define LACKING_WIDEN(name, type)                                                                                      \
    static inline __m512i name(__m256i words)                                                                          \
    {                                                                                                                  \
        type a[16];                                                                                                    \
        int32_t b[16];                                                                                                 \
        __m512i found;                                                                                                 \
        memcpy(a, &words, sizeof a);                                                                                   \
        for (int i = 0; i < 16; i++) b[i] = a[i];                                                                      \
        memcpy(&found, b, sizeof b);                                                                                   \
        return found;                                                                                                  \
    }
LACKING_WIDEN(lacking_cvtepi16_epi32, int16_t)
LACKING_WIDEN(lacking_cvtepu16_epi32, uint16_t)
#define _mm512_cvtepi16_epi32 lacking_cvtepi16_epi32
#define _mm512_cvtepu16_epi32 lacking_cvtepu16_epi32

static inline __m256i lacking_cvtepi32_epi16(__m512i numbers)
{
    uint32_t a[16];
    uint16_t b[16];
    __m256i found;
    memcpy(a, &numbers, sizeof a);
    for (int i = 0; i < 16; i++) b[i] = (uint16_t)a[i];
    memcpy(&found, b, sizeof b);
    return found;
}
#define _mm512_cvtepi32_epi16 lacking_cvtepi32_epi16

static inline void lacking_mask_storeu_epi8(void *p, __mmask64 mask, __m512i bytes)
{
    uint8_t a[64];
    memcpy(a, &bytes, sizeof a);
    for (int i = 0; i < 64; i++)
        if (mask >> i & 1) ((uint8_t *)p)[i] = a[i];
}
#define _mm512_mask_storeu_epi8 lacking_mask_storeu_epi8

static inline void lacking_mask_cvtepi16_storeu_epi8(void *p, __mmask32 mask, __m512i words)
{
    uint16_t a[32];
    memcpy(a, &words, sizeof a);
    for (int i = 0; i < 32; i++)
        if (mask >> i & 1) ((uint8_t *)p)[i] = (uint8_t)a[i];
}
#define _mm512_mask_cvtepi16_storeu_epi8 lacking_mask_cvtepi16_storeu_epi8

/* Whether a < b, or a <= b, of unsigned lanes of 64 bits. */
static inline __mmask8 lacking_compare_epu64(__m512i first, __m512i second, uint64_t equal)
{
    uint64_t a[8], b[8];
    __mmask8 mask = 0;
    memcpy(a, &first, sizeof a);
    memcpy(b, &second, sizeof b);
    for (int i = 0; i < 8; i++) mask = (__mmask8)(mask | (a[i] < b[i] || (equal && a[i] == b[i])) << i);
    return mask;
}
#define _mm512_cmplt_epu64_mask(a, b) lacking_compare_epu64(a, b, 0)
#undef _mm512_mask_cmple_epu64_mask
#define _mm512_mask_cmple_epu64_mask(k, a, b) (__mmask8)((k) & lacking_compare_epu64(a, b, 1))

/* A bit per byte: whether a is above b, or below. */
static inline __mmask64 lacking_above_epu8(__m512i first, __m512i second)
{
    uint8_t a[64], b[64];
    __mmask64 mask = 0;
    memcpy(a, &first, sizeof a);
    memcpy(b, &second, sizeof b);
    for (int i = 0; i < 64; i++) mask |= (__mmask64)(a[i] > b[i]) << i;
    return mask;
}
#undef _mm512_mask_cmpgt_epu8_mask
#undef _mm512_mask_cmplt_epu8_mask
#define _mm512_mask_cmpgt_epu8_mask(k, a, b) ((k) & lacking_above_epu8(a, b))
#define _mm512_mask_cmplt_epu8_mask(k, a, b) ((k) & lacking_above_epu8(b, a))

static inline __mmask32 lacking_256_test_epi8_mask(__m256i first, __m256i second)
{
    uint8_t a[32], b[32];
    __mmask32 mask = 0;
    memcpy(a, &first, sizeof a);
    memcpy(b, &second, sizeof b);
    for (int i = 0; i < 32; i++) mask |= (__mmask32)((a[i] & b[i]) != 0) << i;
    return mask;
}
#define _mm256_test_epi8_mask lacking_256_test_epi8_mask

static inline __m256i lacking_256_min_epu64(__m256i first, __m256i second)
{
    uint64_t a[4], b[4];
    memcpy(a, &first, sizeof a);
    memcpy(b, &second, sizeof b);
    for (int i = 0; i < 4; i++) a[i] = a[i] < b[i] ? a[i] : b[i];
    memcpy(&first, a, sizeof a);
    return first;
}
#define _mm256_min_epu64 lacking_256_min_epu64
#define _mm_min_epu64(a, b)                                                                                            \
    _mm256_castsi256_si128(lacking_256_min_epu64(_mm256_castsi128_si256(a), _mm256_castsi128_si256(b)))

#endif
