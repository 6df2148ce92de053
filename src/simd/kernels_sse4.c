/* The kernels for SSE4.1, for CPUs before AVX2. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    define KBI_VEC_SSE4
#    include "simd/templates.h"

void kbi_kernels_sse4(kbi_kernels *table) { use_simd(table); }

#endif
