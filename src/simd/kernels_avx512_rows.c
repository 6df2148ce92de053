/* SPDX-License-Identifier: Apache-2.0 */
/* The templates of AVX2 that gain by AVX-512: by twice as many registers, masks, and wider vectors where these pay. The
 * tables are in kernels_avx512.c. */
#include "simd/kernels.h"

#ifdef KBI_X86_512

#    define KBI_VEC_AVX2
#    define VEC_WITH_AVX512
#    include "simd/tmpl_rows.h"
#    include "simd/tmpl_blocks_vnni.h"
#    include "simd/tmpl_fast.h"
#    include "simd/tmpl_gradient_512.h"

#endif
