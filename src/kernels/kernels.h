/* The hot loops: one table of function pointers, plain C first, then what the CPU can do better.
 *
 * Every variant of a slot gives exactly the results of the plain C one, whatever the size of the batch. A kernel sees valid
 * data only: checks are made before. Patches are 32x32 bytes, one after the other. */
#ifndef KB_KERNELS_H
#define KB_KERNELS_H

#include "image/image.h"
#include "model/model.h"

#define KB_BATCH 32 /* keypoints that go through the kernels together */

typedef struct kb_kernels {
    /* Cuts n patches out of the levels. */
    void (*cut)(const kb_sampling *samplings, int32_t n, const kb_levels *levels, uint8_t *patches);
    /* BAD and BAG bits of n patches; rows lie model->row_bytes apart. */
    void (*boxes)(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows, void *scratch);
    /* SIFT histograms of n patches, n x 128, before normalisation. */
    void (*sift)(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch);
    /* The signs of weights x values + bias for n rows of 128 bytes; rows lie bits / 8 apart. */
    void (*project)(const kb_model *model, const uint8_t *values, int32_t n, uint8_t *rows);
} kb_kernels;

/* What a task must bring as `scratch`, aligned to KB_ALIGN. */
#define KB_KERNEL_SCRATCH 65536

/* The kernels in use. */
const kb_kernels *kb_kernels_active(void);

#endif
