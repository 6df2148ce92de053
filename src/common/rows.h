/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions as templates: plain C that compilers turn into vector code, compiled once for the base of the CPU and
 * again for every instruction set that makes it faster. The including file defines KBI_ROWS, the attributes of a
 * function, and KBI_ROWS_NAME, which makes its name; by default they are the plain C kernels of their module. */
#ifndef KBI_COMMON_ROWS_H
#define KBI_COMMON_ROWS_H

#include "common/common.h"

#if !defined(__SSE2__) && !defined(_M_X64) && !defined(__ARM_NEON) && !defined(__wasm_simd128__) && \
    !defined(__ALTIVEC__) && !defined(__VX__) && !defined(__riscv_vector)
#    define KBI_SCALAR_CORE /* no vectors */
#endif

#ifndef KBI_ROWS
#  define KBI_ROWS
#  define KBI_ROWS_NAME(name) kbi_##name
#  define KBI_ROWS_HELPER static
#endif

#endif
