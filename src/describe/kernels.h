/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this module, a table for descriptors of boxes and one for descriptors of gradients; image/kernels.h
 * states the contract. Patches are 32x32 bytes, one after the other. */
#ifndef KBI_DESCRIBE_KERNELS_H
#define KBI_DESCRIBE_KERNELS_H

#include "describe/describe.h"

typedef struct kbi_boxes_kernels {
    /* Bytes of `scratch` that a model needs, aligned to KBI_ALIGN, one per task; at most KBI_KERNEL_SCRATCH. */
    size_t (*boxes_scratch)(const kb_model *model);
    /* The bits of a table on n grids of its side, one after the other: n rows of bit_count / 8 bytes. */
    void (*boxes)(const kbi_box_table *table, const uint8_t *grids, int32_t n, uint8_t *rows, void *scratch);
} kbi_boxes_kernels;

typedef struct kbi_sift_kernels {
    size_t scratch_bytes; /* as above, for `sift` */
    /* SIFT histograms of n patches, n x 128, before normalisation. */
    void (*sift)(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch);
    /* n such histograms (values below 2^24) to n x 128 bytes; root: RootSIFT. */
    void (*sift_bytes)(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows);
    /* The signs of weights x values + bias for n rows of 128 bytes; rows lie bits / 8 apart. */
    void (*project)(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows);
} kbi_sift_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_BOXES_KERNEL_SLOTS(SLOT) SLOT(boxes, boxes)
#define KBI_SIFT_KERNEL_SLOTS(SLOT) SLOT(sift, sift) SLOT(sift, sift_bytes) SLOT(sift, project)

#define KBI_KERNEL_SCRATCH (248 * 1024)

/* Plain C: one patch at a time. */
extern const kbi_boxes_kernels kbi_boxes_kernels_c;
/* The best variants for this CPU; implemented in src/simd. */
const kbi_boxes_kernels *kbi_boxes_kernels_get(void);
extern const kbi_sift_kernels kbi_sift_kernels_c;
const kbi_sift_kernels *kbi_sift_kernels_get(void);

#endif
