/* The kernels of AVX2 that gain by AVX-512: twice as many registers, masks, and wider vectors where these pay. */
#include "simd/kernels.h"

#ifdef KBI_X86_512

#    define KBI_VEC_AVX2
#    define VEC_WITH_AVX512
#    include "simd/tmpl_rows.h"
#    include "simd/tmpl_cells_vnni.h"
#    include "simd/tmpl_fast.h"
#    include "simd/tmpl_gradient_512.h"

void kbi_kernels_avx512_rows(kbi_kernels *table)
{
    if (KB_BAD_ONLY) return;
    table->detect.gradient_cells = gradient_cells_simd;
    table->detect.gradient_sums = gradient_sums_512;
    table->detect.fast_row = fast_row_simd;
    table->detect.fast_scores = fast_scores_simd;
    table->detect.peaks_row = peaks_row_simd;
}

#endif
