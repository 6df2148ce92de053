/* SPDX-License-Identifier: Apache-2.0 */
/* CPU features: which of them the processor has, and which kb_cpu_features leaves. */
#ifndef KBI_CPU_H
#define KBI_CPU_H

#include <stdatomic.h>

#include "common/common.h"

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#    define KBI_X86
#    if defined(__clang__) ? __clang_major__ >= 10 : __GNUC__ >= 8
#        define KBI_X86_512 /* the compiler knows what KBI_CPU_AVX512 stands for */
#    endif
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(__AARCH64EB__)
#    define KBI_AARCH64
#elif defined(__wasm_simd128__)
#    define KBI_WASM_SIMD
#endif

/* KBI_CPU_SSE42 includes SSSE3, SSE4.1 and POPCNT; a CPU with SSE4.2 has them all.
 *
 * KBI_CPU_AVX512 stands for AVX512F, BW, VL, VBMI, BITALG and VNNI together. A CPU that has the last two has all of
 * them: Ice Lake, Zen 4 and later, which unlike the first CPUs with AVX-512 do not lower their clock for wide
 * vectors. */
enum {
    KBI_CPU_SSE42 = 1,
    KBI_CPU_AVX2 = 2,
    KBI_CPU_AVX512 = 4,
    KBI_CPU_NEON = 8,
    KBI_CPU_SIMD128 = 16, /* of WebAssembly */
    KBI_CPU_KNOWN = 32    /* not a feature: the CPU has been asked */
};

/* The only mutable state of the library: the features that may be used, 0 before anybody asked for them. */
KBI_EXTERN atomic_uint kbi_cpu_state;
uint32_t kbi_cpu_ask(void);

/* The features of this CPU that kb_cpu_features left; none without the features that it builds on. */
static inline uint32_t kbi_cpu_flags(void)
{
    uint32_t state = (uint32_t)atomic_load_explicit(&kbi_cpu_state, memory_order_relaxed);
    return state ? state : kbi_cpu_ask();
}
/* The flags, and the flags of all features that they build on: AVX2, for instance, comes with SSE4.2. */
uint32_t kbi_cpu_closure(uint32_t flags);

#endif
