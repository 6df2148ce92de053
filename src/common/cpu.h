/* CPU features: which of them the processor has, and which kb_cpu_limit leaves. */
#ifndef KBI_CPU_H
#define KBI_CPU_H

#include "common/common.h"

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#    define KBI_X86
#    if defined(__clang__) ? __clang_major__ >= 10 : __GNUC__ >= 8
#        define KBI_X86_512 /* the compiler knows what KBI_CPU_AVX512 stands for */
#    endif
#    if defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11
#        if defined(KB_EMULATE_AVX512) || (defined(__linux__) && defined(__x86_64__) && !defined(__ILP32__))
#            if !defined(KB_BAD_ONLY) || !KB_BAD_ONLY /* which is small */
#                define KBI_X86_AMX /* the compiler knows AMX, and a process can ask for it */
#            endif
#        endif
#    endif
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(__AARCH64EB__)
#    define KBI_AARCH64
#elif defined(__wasm_simd128__)
#    define KBI_WASM_SIMD
#endif

/* KBI_CPU_AVX512 stands for AVX512F, BW, VL, VBMI, BITALG and VNNI together. A CPU that has the last two has all of them:
 * Ice Lake, Zen 4 and later, which unlike the first CPUs with AVX-512 do not lower their clock for wide vectors.
 *
 * KBI_CPU_AMX stands for AMX-TILE and AMX-INT8 in a process that has asked Linux for it: kb_cpu_request_amx. */
enum {
    KBI_CPU_SSE2 = 1,
    KBI_CPU_SSSE3 = 2,
    KBI_CPU_SSE41 = 4,
    KBI_CPU_POPCNT = 8,
    KBI_CPU_AVX2 = 16,
    KBI_CPU_AVX512 = 32,
    KBI_CPU_NEON = 64,
    KBI_CPU_SIMD128 = 128, /* of WebAssembly */
    KBI_CPU_AMX = 256
};

/* The features of this CPU that kb_cpu_limit left, but for AMX. */
uint32_t kbi_cpu_flags(void);
/* The same with AMX, for the kernels of matching. With AVX-512 this is a system call each time, since the
 * process may ask for it at any time. */
uint32_t kbi_cpu_flags_matching(void);
/* The flags with those of all features that they build on: AVX2, for instance, comes with SSE4.1 and POPCNT. */
uint32_t kbi_cpu_closure(uint32_t flags);

#endif
