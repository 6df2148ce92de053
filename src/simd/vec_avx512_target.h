/* SPDX-License-Identifier: Apache-2.0 */
/* What code for AVX-512 begins with: its instructions, and the attribute of functions that use them. Needs all that
 * KBI_CPU_AVX512 stands for (simd/cpu.h). Mostly for integers: gcc fuses multiplications and additions of floats,
 * unless a function forbids it (simd/tmpl_gradient_512.h).
 *
 * With KB_EMULATE_AVX512 the intrinsics are functions of SIMDe in plain C, so that the tests run these kernels on any
 * processor (scripts/same-bits.sh). The library never is built so. */
#ifndef KBI_VEC_AVX512_TARGET_H
#define KBI_VEC_AVX512_TARGET_H

#ifdef KB_EMULATE_AVX512
#    include KB_EMULATE_AVX512
#    define VEC_TARGET
#else
#    include <immintrin.h>
#    define VEC_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512bitalg,avx512vnni,avx512vbmi,popcnt")))
#endif

#endif
