/* The kernels for SSE4.2 with POPCNT, for CPUs before AVX2. */
#include "simd/kernels.h"

#ifdef KBI_X86

#    define KBI_VEC_SSE4
#    include "simd/templates.h"
#    include "simd/tmpl_blur.h"
#    include "simd/tmpl_circle.h"
#    include "simd/tmpl_corner.h"
#    include "simd/tmpl_filter.h"
#    include "simd/tmpl_sift_rows.h"

VEC_KERNEL size_t KERNEL(hamming_near)(const uint8_t *query, const uint8_t *words, size_t n, uint32_t most,
                                       int32_t *found)
{
    return hamming_near_words(query, words, n, most, found, true);
}

/* Rows that compilers make fast stay in plain C, which has SSE2 at least. */
const kbi_detect_kernels kbi_detect_kernels_sse4 = {.blend_rows = KERNEL(blend_rows),
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
                                                    .blur_pairs = KERNEL(blur_pairs),
                                                    .difference_row = kbi_difference_row,
                                                    .extrema_row = KERNEL(extrema_row),
                                                    .direction_rows = KERNEL(direction_rows)};

const kbi_match_kernels kbi_match_kernels_sse4 = {.least_rows = 96,
                                                  .hamming = KERNEL(hamming),
                                                  .hamming_listed = KERNEL(hamming_listed),
                                                  .hamming_nearest = KERNEL(hamming_nearest),
                                                  .hamming_near = KERNEL(hamming_near),
                                                  .list_circle = KERNEL(list_circle),
                                                  .filter_block = KERNEL(filter_block)};

#endif
