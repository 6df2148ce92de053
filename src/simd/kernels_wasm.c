/* The kernels for WebAssembly's 128-bit vectors. Rows that compilers vectorise well are not among them: plain C is
 * compiled with the same instructions. */
#include "simd/kernels.h"

#ifdef KBI_WASM_SIMD

#    define KBI_VEC_WASM
#    include "simd/templates.h"
#    include "simd/tmpl_corner.h"

const kbi_detect_kernels kbi_detect_kernels_wasm = {.blend_rows = KERNEL(blend_rows),
                                                    .resize_group = RESIZE_GROUP,
                                                    .resize_row = KERNEL(resize_row),
                                                    .fast_row = KERNEL(fast_row),
                                                    .fast_scores = KERNEL(fast_scores),
                                                    .peaks_row = KERNEL(peaks_row),
                                                    .harris = KERNEL(harris),
                                                    .disc_angle = kbi_disc_angle,
                                                    .gradient_cells = KERNEL(gradient_cells),
                                                    .gradient_sums = KERNEL(gradient_sums),
                                                    .gradient_histogram = KERNEL(gradient_histogram),
                                                    .blur_bytes = kbi_blur_bytes,
                                                    .hessian_row = kbi_hessian_row,
                                                    .hessian_peaks = kbi_hessian_peaks,
                                                    .blur_pairs = kbi_blur_pairs,
                                                    .difference_row = kbi_difference_row,
                                                    .extrema_row = kbi_extrema_row,
                                                    .direction_rows = kbi_direction_rows};

const kbi_match_kernels kbi_match_kernels_wasm = {.least_rows = 96,
                                                  .hamming = KERNEL(hamming),
                                                  .hamming_listed = kbi_hamming_listed,
                                                  .hamming_nearest = kbi_hamming_nearest,
                                                  .hamming_near = kbi_hamming_near,
                                                  .list_circle = kbi_list_circle,
                                                  .filter_block = kbi_filter_block};

#endif
