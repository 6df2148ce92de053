/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of detectors and matching for vectors of 128 bits: SSE4.2, NEON and WebAssembly. */
#ifndef KBI_TABLES_128_H
#define KBI_TABLES_128_H

#include "simd/templates.h"
#include "simd/tmpl_corner.h"

/* Rows that compilers make fast by themselves stay in plain C, which has vectors of 128 bits too. WebAssembly, where
 * every byte is downloaded, has more of them. */
#ifdef KBI_VEC_WASM
#    define NATIVE(slot) kbi_##slot
#else
#    include "simd/tmpl_blur.h"
#    include "simd/tmpl_circle.h"
#    include "simd/tmpl_filter.h"
#    include "simd/tmpl_sift_rows.h"
#    define NATIVE(slot) KERNEL(slot)
#endif

KBI_STATIC const kbi_detect_kernels KERNEL(detect_kernels) = {
    OWN(blend_rows), .resize_group = RESIZE_GROUP, OWN(resize_row), OWN(fast_row), OWN(fast_scores), OWN(peaks_row),
    .harris = NATIVE(harris), .disc_angle = kbi_disc_angle, OWN(gradient_blocks),
    .gradient_sums = NATIVE(gradient_sums), .gradient_histogram = NATIVE(gradient_histogram),
    .hessian_blur = kbi_hessian_blur, .hessian_row = kbi_hessian_row, .hessian_peaks = kbi_hessian_peaks,
    .blur_pairs = NATIVE(blur_pairs), .difference_row = kbi_difference_row, .extrema_row = NATIVE(extrema_row),
    .direction_rows = NATIVE(direction_rows)
};

KBI_STATIC const kbi_match_kernels KERNEL(match_kernels) = {
    .least_rows = 96, OWN(hamming), .hamming_listed = NATIVE(hamming_listed),
    .hamming_nearest = NATIVE(hamming_nearest), .hamming_near = NATIVE(hamming_near),
    .list_circle = NATIVE(list_circle), .filter_block = NATIVE(filter_block)
};

#endif
