/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing; those to unroll say so. */
/* The kernels that gain by AVX-512: wider vectors, masks, counts of bits, lookups in 64 bytes, and products of bytes
 * that are summed as 32-bit numbers. */
#include "simd/kernels.h"

#ifdef KBI_X86_512

#    define KBI_VEC_AVX512
#    include "simd/tmpl_align_vbmi.h"
#    include "simd/tmpl_rows.h"
#    include "simd/tmpl_blur.h"
#    include "simd/tmpl_boxes.h"
#    include "simd/tmpl_extrema_masks.h"
#    include "simd/tmpl_hamming.h"
#    include "simd/tmpl_hamming_words.h"
#    include "simd/tmpl_hessian.h"
#    include "simd/tmpl_project_vnni.h"
#    include "simd/tmpl_resize_vbmi.h"
#    include "simd/tmpl_sample.h"
#    include "simd/tmpl_sift.h"
#    include "simd/tmpl_sift_bytes.h"

const kbi_image_kernels kbi_image_kernels_avx512 = {
    .batch = KBI_BATCH, .margin = GRID_REACH, .shrink_half = kbi_shrink_half_avx2,
    .shrink_two_thirds = kbi_shrink_two_thirds_avx2, .plan = kbi_plan_avx2, OWN(sample), .warp_row = kbi_warp_row_avx2
};

const kbi_boxes_kernels kbi_boxes_kernels_avx512 = {OWN(boxes_scratch), OWN(boxes)};

const kbi_sift_kernels kbi_sift_kernels_avx512 = {
    .scratch_bytes = sizeof(sift_scratch), OWN(sift), OWN(sift_bytes), OWN(project)
};

/* Five of them are in kernels_avx512_rows.c. */
const kbi_detect_kernels kbi_detect_kernels_avx512 = {
    OWN(blend_rows), .resize_group = RESIZE_GROUP, OWN(resize_row), OWN(fast_row), OWN(fast_scores),
    OWN(peaks_row), .harris = kbi_harris_sse4, .disc_angle = kbi_disc_angle_avx2, OWN(gradient_blocks),
    OWN(gradient_sums), .gradient_histogram = kbi_gradient_histogram_avx2, OWN(hessian_blur), OWN(hessian_row),
    OWN(hessian_peaks), OWN(blur_pairs), .difference_row = kbi_difference_row_avx2, OWN(extrema_row),
    .direction_rows = kbi_direction_rows_avx2
};

const kbi_match_kernels kbi_match_kernels_avx512 = {
    .least_rows = 96, OWN(hamming), .hamming_listed = kbi_hamming_listed_sse4, OWN(hamming_nearest),
    OWN(hamming_near), .list_circle = kbi_list_circle_avx2, .filter_block = kbi_filter_block_avx2
};

const kbi_align_kernels kbi_align_kernels_avx512 = {OWN(align_samples), .align_products = kbi_align_products_avx2};

#endif
