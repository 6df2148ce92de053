/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing; those to unroll say so. */
/* The kernels for AVX2. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    define KBI_VEC_AVX2
#    include "simd/templates.h"
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

const kbi_detect_kernels kbi_detect_kernels_avx2 = {.blend_rows = KERNEL(blend_rows),
                                                    .resize_group = RESIZE_GROUP,
                                                    .resize_row = KERNEL(resize_row),
                                                    .fast_row = KERNEL(fast_row),
                                                    .fast_scores = KERNEL(fast_scores),
                                                    .peaks_row = KERNEL(peaks_row),
                                                    .harris = kbi_harris_sse4, /* 7 columns: wider is not faster */
                                                    .disc_angle = KERNEL(disc_angle),
                                                    .gradient_cells = KERNEL(gradient_cells),
                                                    .gradient_sums = KERNEL(gradient_sums),
                                                    .gradient_histogram = KERNEL(gradient_histogram),
                                                    .hessian_blur = KERNEL(hessian_blur),
                                                    .hessian_row = KERNEL(hessian_row),
                                                    .hessian_peaks = KERNEL(hessian_peaks),
                                                    .blur_pairs = KERNEL(blur_pairs),
                                                    .difference_row = KERNEL(difference_row),
                                                    .extrema_row = KERNEL(extrema_row),
                                                    .direction_rows = KERNEL(direction_rows)};

const kbi_match_kernels kbi_match_kernels_avx2 = {.least_rows = 96,
                                                  .hamming = KERNEL(hamming),
                                                  .hamming_listed = kbi_hamming_listed_sse4,
                                                  .hamming_nearest = kbi_hamming_nearest_sse4,
                                                  .hamming_near = kbi_hamming_near_sse4,
                                                  .list_circle = KERNEL(list_circle),
                                                  .filter_block = KERNEL(filter_block)};

const kbi_fit_kernels kbi_fit_kernels_avx2 = {.transfer_sums = KERNEL(transfer_sums)};

#endif
