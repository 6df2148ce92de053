/* The kernels for AVX2. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    define KBI_VEC_AVX2
#    include "simd/templates.h"
#    include "simd/tmpl_circle.h"
#    include "simd/tmpl_filter.h"
#    include "simd/tmpl_hessian.h"
#    include "simd/tmpl_transfer.h"

void kbi_kernels_avx2(kbi_kernels *table)
{
    use_simd(table);
    table->match.list_circle = list_circle_simd;
    if (!KB_BAD_ONLY) table->match.filter_block = filter_block_simd;
    if (!KB_BAD_ONLY) table->fit.transfer_sums = transfer_sums_simd;
    /* Harris's response stays that of SSE4.1: 7 columns gain nothing by wider vectors. */
    table->detect.disc_angle = disc_angle;
    table->detect.difference_row = difference_row;
    table->detect.blur_bytes = blur_bytes_simd;
    table->detect.hessian_row = hessian_row_simd;
    table->detect.hessian_peaks = hessian_peaks_simd;
}

#endif
