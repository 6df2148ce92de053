/* kernels/vec.h for AVX-512: 32 lanes, with what tmpl_hamming.h and tmpl_project.h use. Needs all that KBI_CPU_AVX512
 * stands for (kernels/kernels.h).
 *
 * With KB_EMULATE_AVX512 the intrinsics are functions of SIMDe in plain C. So the tests run these kernels on any
 * processor (scripts/same-bits.sh); the library never is built so. */
#ifndef KBI_VEC_AVX512_H
#define KBI_VEC_AVX512_H

#ifdef KB_EMULATE_AVX512
#    define SIMDE_ENABLE_NATIVE_ALIASES
#    include <simde/x86/avx512.h>
#    define VEC_TARGET
#else
#    include <immintrin.h>
#    define VEC_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bitalg,avx512vnni,popcnt")))
#endif

#define VEC_LANES  32
#define VEC_INLINE VEC_TARGET __attribute__((always_inline)) static inline

typedef __m512i vec;
#define VEC_OP(name) _mm512_##name
#include "simd/vec_x86.h"

VEC_INLINE vec v_load(const void *p) { return _mm512_load_si512(p); }
VEC_INLINE vec v_loadu(const void *p) { return _mm512_loadu_si512(p); }
VEC_INLINE void v_store(void *p, vec a) { _mm512_store_si512(p, a); }
VEC_INLINE void v_storeu(void *p, vec a) { _mm512_storeu_si512(p, a); }
VEC_INLINE vec v_zero(void) { return _mm512_setzero_si512(); }
VEC_INLINE vec v_set32(uint32_t v) { return _mm512_set1_epi32((int)v); }
VEC_INLINE vec v_set(int v) { return _mm512_set1_epi16((short)v); }

VEC_INLINE vec v_add(vec a, vec b) { return _mm512_add_epi16(a, b); }
VEC_INLINE vec v_min(vec a, vec b) { return _mm512_min_epu16(a, b); }
VEC_INLINE vec v_max(vec a, vec b) { return _mm512_max_epu16(a, b); }
VEC_INLINE vec v_or(vec a, vec b) { return _mm512_or_si512(a, b); }
VEC_INLINE vec v_xor(vec a, vec b) { return _mm512_xor_si512(a, b); }
#define v_shl(a, n) _mm512_slli_epi16(a, n)

#define VEC_COUNTS_BITS
VEC_INLINE vec v_count(vec a) { return _mm512_popcnt_epi16(a); }

/* The least lane as an unsigned number, and which it is: of equal ones the first. */
VEC_INLINE uint32_t v_least(vec a, int *lane)
{
    __m256i half = _mm256_min_epu16(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    __m128i quarter = _mm_min_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    __m128i least = _mm_minpos_epu16(quarter);
    *lane = __builtin_ctz(_mm512_cmple_epu16_mask(a, _mm512_broadcastw_epi16(least)));
    return (uint32_t)_mm_cvtsi128_si32(least) & 0xffff;
}
/* a with one lane of b. */
VEC_INLINE vec v_replace(vec a, int lane, vec b) { return _mm512_mask_blend_epi16(1u << lane, a, b); }

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    for (int k = 0; k < 8; k++) {
        __m128i part[4];
        for (int i = 0; i < 4; i++)
            part[i] = _mm_loadu_si128((const __m128i *)(const void *)(rows[k + 8 * i] + offset));
        out[k] = _mm512_inserti32x4(_mm512_castsi128_si512(part[0]), part[1], 1);
        out[k] = _mm512_inserti32x4(_mm512_inserti32x4(out[k], part[2], 2), part[3], 3);
    }
}

/* ---- for the projection ---- */

typedef __m256i vec_eight; /* 8 sums of 32 bits */

VEC_INLINE vec_eight v_eight_zero(void) { return _mm256_setzero_si256(); }
VEC_INLINE void v_eight_add(vec_eight *sums, const int32_t *p)
{
    *sums = _mm256_add_epi32(*sums, _mm256_loadu_si256((const __m256i *)(const void *)p));
}
/* Adds the products of 4 bytes (the same in every lane) with 4 weights for each of the 8 sums. */
#define VEC_DOT_ANY_BYTE
VEC_INLINE void v_dot_eight(vec_eight *sums, vec four, const int8_t *weights)
{
#if defined(__clang__) || defined(KB_EMULATE_AVX512)
    *sums = _mm256_dpbusd_epi32(*sums, _mm512_castsi512_si256(four),
                                _mm256_loadu_si256((const __m256i *)(const void *)weights));
#else /* with the intrinsic, gcc 12 would move every sum twice, from register to register */
    __asm__("vpdpbusd %2, %1, %0"
            : "+v"(*sums)
            : "v"(_mm512_castsi512_si256(four)), "m"(*(const int8_t(*)[32])weights));
#endif
}
/* A bit for each sum, 1 when it is above 0; that of the last sum is the highest. */
VEC_INLINE uint8_t v_eight_signs(const vec_eight *sums)
{
    return (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(*sums, _mm256_setzero_si256())));
}

#endif
