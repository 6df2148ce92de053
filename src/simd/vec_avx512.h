/* simd/vec.h for AVX-512: 32 lanes, with what tmpl_hamming.h and tmpl_project_vnni.h use. Needs all that KBI_CPU_AVX512
 * stands for (common/cpu.h).
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
#include "simd/vec_transpose.h"

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

#endif
