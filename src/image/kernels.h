/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this module: loops that have a faster variant per instruction set.
 *
 * The contract of every kernel of the library: all variants give exactly the result of the plain C reference, for
 * every input that the slot's comment allows, and for every n. Callers validate; kernels do not. */
#ifndef KBI_IMAGE_KERNELS_H
#define KBI_IMAGE_KERNELS_H

#include "image/image.h"

#define KBI_BATCH 32 /* keypoints that go through the kernels together, at most */

/* An image as another one would show it. */
typedef struct kbi_warp {
    const uint8_t *from;
    ptrdiff_t stride;
    int32_t width, height; /* of `from`, at least 2 */
    int32_t to_width;
    double h[9]; /* pixels of the other image to pixels of `from`; beyond it, its border is repeated */
} kbi_warp;

typedef struct kbi_image_kernels {
    int32_t batch;  /* keypoints per call that serve them best, up to KBI_BATCH; the memory of a task grows with it */
    int32_t margin; /* px of the levels' border that serve `sample` best: then few regions leave a level */
    /* Rows of the sampler's pyramid (pyramid.c). n pixels from 2n of each of two rows: the mean of 2x2. */
    void (*shrink_half)(const uint8_t *upper, const uint8_t *lower, int32_t n, uint8_t *out);
    /* 2n pixels from 3n: the mean over 1.5 x 1.5, where the heavy row has twice the weight of the light one. */
    void (*shrink_two_thirds)(const uint8_t *heavy, const uint8_t *light, int32_t n, uint8_t *out);
    /* kbi_sampling_plan for n keypoints, which[i] each, with regions width_scale x size wide: n x octaves samplings,
     * per keypoint the whole region first, and n flags. */
    void (*plan)(const kb_keypoint *keypoints, const uint32_t *which, int32_t n, double width_scale, kbi_grid grid,
                 const kbi_pyramid *levels, kbi_sampling *samplings, uint8_t *flags);
    /* kbi_sample_patch for n keypoints; samplings are as `plan` gives them. Octave k of keypoint i becomes grid
     * k n + i. */
    void (*sample)(const kbi_sampling *samplings, int32_t n, kbi_grid grid, const kbi_pyramid *levels, uint8_t *grids);
    /* Row y of a warped image (warp_rows.h). */
    void (*warp_row)(const kbi_warp *warp, int32_t y, uint8_t *out);
} kbi_image_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_IMAGE_KERNEL_SLOTS(SLOT)                                                                                   \
    SLOT(image, shrink_half) SLOT(image, shrink_two_thirds) SLOT(image, plan) SLOT(image, sample) SLOT(image, warp_row)

/* Plain C. */
void kbi_warp_row(const kbi_warp *warp, int32_t y, uint8_t *out);
extern const kbi_image_kernels kbi_image_kernels_c;
/* The best variants for this CPU; implemented in src/simd. */
const kbi_image_kernels *kbi_image_kernels_get(void);

#endif
