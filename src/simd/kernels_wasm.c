/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for WebAssembly's vectors. */
#include "simd/kernels.h"

#ifdef KBI_WASM_SIMD

#    define KBI_VEC_WASM
#    include "simd/tables_128.h"

#endif
