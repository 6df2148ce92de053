/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing; those to unroll say so. */
/* The kernels for AVX2. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    define KBI_VEC_AVX2
#    include "simd/templates.h"
#    include "simd/tmpl_align.h"
#    include "simd/tmpl_blur.h"
#    include "simd/tmpl_circle.h"
#    include "simd/tmpl_filter.h"
#    include "simd/tmpl_hessian.h"
#    include "simd/tmpl_sift_rows.h"
#    include "simd/tmpl_transfer.h"

/* Rows that compilers make fast by themselves, with wider vectors than in plain C. */
VEC_KERNEL float KERNEL(disc_angle)(const uint8_t *centre, ptrdiff_t stride) { return disc_angle(centre, stride); }

VEC_KERNEL void KERNEL(difference_row)(const uint16_t *smaller, const uint16_t *larger, int32_t width, int16_t *out)
{
    int32_t i = 0;
    for (; i + VEC_LANES <= width; i += VEC_LANES)
        v_storeu(out + i, v_sub(v_loadu(larger + i), v_loadu(smaller + i)));
    difference_row(smaller + i, larger + i, width - i, out + i);
}

const kbi_detect_kernels kbi_detect_kernels_avx2 = {
    OWN(blend_rows), .resize_group = RESIZE_GROUP, OWN(resize_row), OWN(fast_row), OWN(fast_scores), OWN(peaks_row),
    .harris = kbi_harris_sse4, /* 7 columns: wider is not faster */
    OWN(disc_angle), OWN(gradient_blocks), OWN(gradient_sums), OWN(gradient_histogram), OWN(hessian_blur),
    OWN(hessian_row), OWN(hessian_peaks), OWN(blur_pairs), OWN(difference_row), OWN(extrema_row), OWN(direction_rows)
};

const kbi_match_kernels kbi_match_kernels_avx2 = {
    .least_rows = 96, OWN(hamming), .hamming_listed = kbi_hamming_listed_sse4,
    .hamming_nearest = kbi_hamming_nearest_sse4, .hamming_near = kbi_hamming_near_sse4, OWN(list_circle),
    OWN(filter_block)
};

const kbi_fit_kernels kbi_fit_kernels_avx2 = {OWN(transfer_sums)};
const kbi_align_kernels kbi_align_kernels_avx2 = {OWN(align_samples), OWN(align_products)};

#endif
