/* SPDX-License-Identifier: Apache-2.0 */
/* The plain C kernels of this module. */
#include "detect/kernels.h"
#include "common/rows.h"
#include "detect/sift.h"

/* Compilers turn the row functions into vector code where the target has vectors; elsewhere others are quicker. */
#ifdef KBI_SCALAR_CORE
#    define PLAIN_ROW(name) kbi_##name##_scalar
#else
#    define PLAIN_ROW(name) kbi_##name
#endif

const kbi_detect_kernels kbi_detect_kernels_c = {.blend_rows = PLAIN_ROW(blend_rows),
                                                 .resize_group = 8,
                                                 .resize_row = PLAIN_ROW(resize_row),
                                                 .fast_row = PLAIN_ROW(fast_row),
                                                 .fast_scores = PLAIN_ROW(fast_scores),
                                                 .peaks_row = PLAIN_ROW(peaks_row),
                                                 .harris = kbi_harris,
                                                 .disc_angle = PLAIN_ROW(disc_angle),
                                                 .gradient_blocks = kbi_gradient_blocks,
                                                 .gradient_sums = kbi_gradient_sums,
                                                 .gradient_histogram = kbi_gradient_histogram,
                                                 .hessian_blur = PLAIN_ROW(hessian_blur),
                                                 .hessian_row = kbi_hessian_row,
                                                 .hessian_peaks = kbi_hessian_peaks,
                                                 .blur_pairs = kbi_blur_pairs,
                                                 .difference_row = kbi_difference_row,
                                                 .extrema_row = kbi_extrema_row,
                                                 .direction_rows = kbi_direction_rows};
