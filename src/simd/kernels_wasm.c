/* The kernels for WebAssembly's 128-bit vectors. Rows of the detectors that compilers vectorise well are not among
 * them: plain C is compiled with the same instructions. */
#include "simd/kernels.h"

#ifdef KBI_WASM_SIMD

#    define KBI_VEC_WASM
#    include "simd/templates.h"

void kbi_kernels_wasm(kbi_kernels *table) { use_simd(table); }

#endif
