/* SPDX-License-Identifier: Apache-2.0 */
/* What code for AVX-512 begins with: its instructions, and the attribute of functions that use them. Needs all that
 * KBI_CPU_AVX512 stands for (simd/cpu.h). In front of functions with floats stands VEC_EXACT, since gcc would fuse
 * multiplications and additions: AVX-512 has instructions for that.
 *
 * With KB_EMULATE_AVX512 the intrinsics are functions of SIMDe in plain C, so that the tests run these kernels on any
 * processor (scripts/same-bits.sh). The library never is built so. */
#ifndef KBI_VEC_AVX512_TARGET_H
#define KBI_VEC_AVX512_TARGET_H

#if defined(__GNUC__) && !defined(__clang__)
#    define VEC_EXACT __attribute__((optimize("fp-contract=off")))
#endif

#ifdef KB_EMULATE_AVX512
#    include KB_EMULATE_AVX512
#    define VEC_TARGET
#else
#    include <immintrin.h>
#    define VEC_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bitalg,avx512vnni,avx512vbmi,popcnt")))
#endif

#endif
