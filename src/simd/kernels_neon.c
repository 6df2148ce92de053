/* The kernels for NEON. Rows of the detectors that compilers make fast are not among them: plain C is NEON already. */
#include "simd/kernels.h"

#ifdef KBI_AARCH64

#    define KBI_VEC_NEON
#    include "simd/templates.h"
#    include "simd/tmpl_blur.h"
#    include "simd/tmpl_circle.h"
#    include "simd/tmpl_corner.h"
#    include "simd/tmpl_filter.h"
#    include "simd/tmpl_sift_rows.h"

/* 16 words at a time; few of them are near, so a branch for each of those costs less than a store for each word. */
VEC_KERNEL size_t KERNEL(hamming_near)(const uint8_t *query, const uint8_t *words, size_t n, uint32_t most,
                                       int32_t *found)
{
    const uint64_t word = load64(query);
    const vec limit = v_set((int)(most < 64 ? most : 64) * 257);
    size_t count = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        vec beyond = v_subs8(v_hamming_words(word, words + 8 * i), limit);
        for (uint64_t near = v_mask8(v_zero8(beyond)); near; near &= near - 1)
            found[count++] = (int32_t)i + __builtin_ctzll(near) / VEC_MASK_BITS;
    }
    for (; i < n; i++) {
        found[count] = (int32_t)i;
        count += count_bits(word ^ load64(words + 8 * i), true) <= most;
    }
    return count;
}

const kbi_detect_kernels kbi_detect_kernels_neon = {.blend_rows = KERNEL(blend_rows),
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

const kbi_match_kernels kbi_match_kernels_neon = {.least_rows = 96,
                                                  .hamming = KERNEL(hamming),
                                                  .hamming_listed = KERNEL(hamming_listed),
                                                  .hamming_nearest = KERNEL(hamming_nearest),
                                                  .hamming_near = KERNEL(hamming_near),
                                                  .list_circle = KERNEL(list_circle),
                                                  .filter_block = KERNEL(filter_block)};

#endif
