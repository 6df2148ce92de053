/* The kernels of this module; image/kernels.h states the contract. Patches are 32x32 bytes, one after the other. */
#ifndef KBI_DESCRIBE_KERNELS_H
#define KBI_DESCRIBE_KERNELS_H

#include "describe/describe.h"

#define KBI_BATCH 32 /* keypoints that go through the kernels together, at most */

typedef struct kbi_describe_kernels {
    int32_t batch; /* how many serve them best, up to KBI_BATCH: the memory of a task grows with it */
    /* Bytes of `scratch` below that a model needs, aligned to KBI_ALIGN, one per task; at most KBI_KERNEL_SCRATCH. */
    size_t (*scratch_bytes)(const kb_model *model);
    /* The bits of a table on n grids of its side, one after the other: n rows of bit_count / 8 bytes. */
    void (*boxes)(const kbi_box_table *table, const uint8_t *grids, int32_t n, uint8_t *rows, void *scratch);
    /* SIFT histograms of n patches, n x 128, before normalisation. */
    void (*sift)(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch);
    /* n such histograms (values below 2^24) to n x 128 bytes; root: RootSIFT. */
    void (*sift_bytes)(const uint32_t *histograms, int32_t n, bool root, uint8_t *rows);
    /* The signs of weights x values + bias for n rows of 128 bytes; rows lie bits / 8 apart. */
    void (*project)(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows);
} kbi_describe_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_DESCRIBE_KERNEL_SLOTS(SLOT)                                                                                \
    SLOT(describe, boxes) SLOT(describe, sift) SLOT(describe, sift_bytes) SLOT(describe, project)

#define KBI_KERNEL_SCRATCH (248 * 1024)

/* Plain C. */
void kbi_describe_kernels_c(kbi_describe_kernels *kernels);
/* The best variants for the given CPU features (common/cpu.h); implemented in src/simd. */
void kbi_describe_kernels_init(kbi_describe_kernels *kernels, uint32_t cpu_flags);

#endif
