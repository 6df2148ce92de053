/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of align.c; image/kernels.h states the contract. A table of their own, which programs that only match do
 * not link. */
#ifndef KBI_MATCH_ALIGN_KERNELS_H
#define KBI_MATCH_ALIGN_KERNELS_H

#include "match/align.h"

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
} kbi_align_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_ALIGN_KERNEL_SLOTS(SLOT) SLOT(align, align_samples)

/* Plain C. */
extern const kbi_align_kernels kbi_align_kernels_c;
/* The best variants for this CPU; implemented in src/simd. */
const kbi_align_kernels *kbi_align_kernels_get(void);

#endif
