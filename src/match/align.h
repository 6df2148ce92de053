/* SPDX-License-Identifier: Apache-2.0 */
/* The affine alignment of a small region of one image with another image. */
#ifndef KBI_MATCH_ALIGN_H
#define KBI_MATCH_ALIGN_H

#include "image/image.h"

#define KBI_ALIGN_SIDE 16 /* the region has 16 x 16 samples */
#define KBI_ALIGN_SAMPLES (KBI_ALIGN_SIDE * KBI_ALIGN_SIDE)

/* Where the samples of a region lie in a level of a pyramid, in px of that level: sample (row i, column j), both from
 * -7.5 to 7.5, is at (x + j a[0] + i a[1], y + j a[2] + i a[3]). */
typedef struct kbi_frame {
    int32_t level;
    double x, y, a[4];
} kbi_frame;

/* The frame of a keypoint whose region is `width` px wide. False when it has a number that is not finite or lies
 * outside the image, or when the region is too wide or narrow to be sampled. */
bool kbi_frame_of(kbi_frame *frame, const kb_keypoint *keypoint, double width, const kbi_pyramid *levels);
/* A point of a frame's level in the image. */
void kbi_frame_point(const kbi_frame *frame, double *x, double *y);

/* How many parameters of the map are free: its position, or all of them. */
typedef enum kbi_alignment { KBI_ALIGN_TRANSLATION = 2, KBI_ALIGN_AFFINE = 6 } kbi_alignment;

/* Moves and, with KBI_ALIGN_AFFINE, deforms frame b until its pixels of image b equal frame a's pixels of image a, up
 * to gain and offset. At most `iterations` steps; b is the best frame that was seen. Returns the correlation there, -1
 * to 1; below -1 when one of the regions has no structure. */
double kbi_align(const kbi_pyramid *image_a, const kbi_frame *a, const kbi_pyramid *image_b, kbi_frame *b,
                 kbi_alignment alignment, int32_t iterations);

/* ---- kernels, whose contract image/kernels.h states; a table of their own, which programs that only match do not link
 * ---- */

/* Positions of samples in 1/65536 px from a whole pixel. */
typedef struct kbi_lattice {
    const uint8_t *data;
    ptrdiff_t stride;
    int32_t width, height;
    int32_t px, py, x, y;      /* the first sample */
    int32_t right[2], down[2]; /* from column to column and from row to row */
} kbi_lattice;

#define KBI_LATTICE_REACH 3         /* pixels to the right of the one above and left of a sample that may be read */
#define KBI_LATTICE_STRIDE (1 << 22) /* max */

typedef struct kbi_align_kernels {
    /* KBI_ALIGN_SIDE x KBI_ALIGN_SIDE samples, bilinear with weights of 1/256 px, -510 to 510. */
    void (*align_samples)(const kbi_lattice *lattice, int16_t *out);
    /* sums[k] receives the sum of the products of row k and w, `count` rows of KBI_ALIGN_SAMPLES numbers; below 2^31 in
     * magnitude. */
    void (*align_products)(const int16_t *rows, int32_t count, const int16_t *w, int32_t *sums);
} kbi_align_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_ALIGN_KERNEL_SLOTS(SLOT) SLOT(align, align_samples) SLOT(align, align_products)

/* Plain C. */
extern const kbi_align_kernels kbi_align_kernels_c;
/* The best variants for this CPU; implemented in src/simd. */
const kbi_align_kernels *kbi_align_kernels_get(void);

#endif
