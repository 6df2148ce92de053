/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this module; image/kernels.h states the contract. The plain C variant of each slot is the function
 * kbi_<slot> of detect/detect.h or detect/sift.h, which also documents it. */
#ifndef KBI_DETECT_KERNELS_H
#define KBI_DETECT_KERNELS_H

#include "detect/sift.h"

typedef struct kbi_detect_kernels {
    void (*blend_rows)(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out);
    int32_t resize_group; /* pixels of a group of the map of resize_row */
    void (*resize_row)(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width, uint8_t *out);
    void (*fast_row)(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold, uint8_t *score);
    void (*fast_scores)(const kbi_fast_circles circles, int32_t n, uint8_t *score);
    int32_t (*peaks_row)(const uint8_t *above, const uint8_t *middle, const uint8_t *below, int32_t width, uint16_t *x);
    int64_t (*harris)(const uint8_t *centre, ptrdiff_t stride);
    float (*disc_angle)(const uint8_t *centre, ptrdiff_t stride);
    void (*gradient_blocks)(const uint8_t *centre, ptrdiff_t stride, uint16_t *blocks);
    void (*gradient_sums)(const uint16_t *blocks, float *sums);
    int32_t (*gradient_histogram)(const float *sums, float *histogram);
    void (*hessian_blur)(const uint8_t *row, ptrdiff_t stride, int32_t width, uint16_t *columns,
                         uint16_t *const out[2]);
    void (*hessian_row)(const uint16_t *above, const uint16_t *middle, const uint16_t *below, int32_t width,
                        int32_t *out);
    int32_t (*hessian_peaks)(const int32_t *above, const int32_t *middle, const int32_t *below, int32_t width,
                             int32_t limit, uint16_t *x);
    void (*blur_pairs)(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur, int32_t width,
                       uint16_t *out);
    void (*difference_row)(const uint16_t *smaller, const uint16_t *larger, int32_t width, int16_t *out);
    int32_t (*extrema_row)(const int16_t *above, const int16_t *middle, const int16_t *below, const int16_t *finer,
                           const int16_t *coarser, int32_t width, int32_t limit, int32_t *x);
    void (*direction_rows)(const kbi_direction_region *region,
                           float histogram[KBI_DIRECTION_TURNS][KBI_DIRECTION_BINS]);
} kbi_detect_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_DETECT_KERNEL_SLOTS(SLOT)                                                                               \
    SLOT(detect, blend_rows) SLOT(detect, resize_row) SLOT(detect, fast_row) SLOT(detect, fast_scores)              \
    SLOT(detect, peaks_row) SLOT(detect, harris) SLOT(detect, disc_angle) SLOT(detect, gradient_blocks)             \
    SLOT(detect, gradient_sums) SLOT(detect, gradient_histogram) SLOT(detect, hessian_blur)                         \
    SLOT(detect, hessian_row) SLOT(detect, hessian_peaks) SLOT(detect, blur_pairs)                                  \
    SLOT(detect, difference_row) SLOT(detect, extrema_row) SLOT(detect, direction_rows)

/* Plain C. */
extern const kbi_detect_kernels kbi_detect_kernels_c;
/* The best variants for this CPU; implemented in src/simd. */
const kbi_detect_kernels *kbi_detect_kernels_get(void);

#endif
