/* The kernels for NEON. Rows of the detectors that compilers make fast are not among them: plain C is NEON already. */
#include "simd/kernels.h"

#ifdef KBI_AARCH64

#    define KBI_VEC_NEON
#    include "simd/templates.h"

void kbi_kernels_neon(kbi_kernels *table) { use_simd(table); }

#endif
