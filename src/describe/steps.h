/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of describing (describe.h) and what each of them holds. */
#ifndef KBI_DESCRIBE_STEPS_H
#define KBI_DESCRIBE_STEPS_H

#include "describe/kernels.h"
#include "image/kernels.h"

/* ---- write.c ---- */
typedef struct kbi_rows {
    uint8_t *rows;
    size_t bytes, stride; /* of a row, and from one row to the next */
    size_t part;          /* bytes of one octave of a row */
    bool alternate;       /* octaves take turns byte by byte (descriptors), or follow each other (samples) */
} kbi_rows;
void kbi_rows_write(const kbi_rows *rows, size_t index, int32_t octave, const uint8_t *part);
void kbi_rows_clear(const kbi_rows *rows, size_t index);

/* ---- plan.c ---- */
/* Region i is octave i % octaves of keypoint i / octaves. Octave 0 is the whole region. */
typedef struct kbi_regions {
    kbi_grid grid;
    kbi_sampling *samplings; /* level -1: the keypoint cannot be described */
    size_t count;            /* keypoints x octaves */
} kbi_regions;
kb_status kbi_regions_get(kbi_regions *regions, kbi_grid grid, size_t keypoints, kb_workspace *workspace);
typedef struct kbi_plan {
    const kbi_regions *regions;
    const kb_keypoint *keypoints;
    size_t n;
    double width_scale; /* a region is width_scale x size wide */
    const kbi_pyramid *levels;
    const kbi_image_kernels *kernels;
    const kbi_rows *rows; /* rows of keypoints that cannot be described are cleared */
    uint8_t *flags;       /* KB_KP_ per keypoint; may be NULL */
    int32_t pieces;       /* tasks */
} kbi_plan;
void kbi_plan_regions(kbi_plan *plan, const kb_parallel *parallel);
/* The number of octaves is a power of two. */
static inline int32_t kbi_region_octave(const kbi_regions *r, size_t i)
{
    return (int32_t)(i & (size_t)(kbi_grid_octaves(r->grid) - 1));
}
static inline size_t kbi_region_keypoint(const kbi_regions *r, size_t i)
{
    return kbi_has_octaves(r->grid) ? i / KB_OCTAVES : i;
}

/* ---- order.c ---- */
typedef struct kbi_order {
    uint32_t *regions; /* that can be described: regions of pass p of the pyramid are [first[p], first[p + 1]) */
    size_t first[KBI_PYRAMID_LEVELS + 1];
    uint32_t wanted;   /* levels that they lie in, as bits */
    /* The number of the first block of each level, per octave, and of each pass, which decides `first`. */
    size_t level_block[KB_OCTAVES][KBI_PYRAMID_LEVELS], pass_block[KBI_PYRAMID_LEVELS + 1];
} kbi_order;
kb_status kbi_order_get(kbi_order *order, const kbi_regions *regions, const kbi_pyramid *levels,
                        kb_workspace *workspace);
void kbi_order_fill(kbi_order *order, const kbi_regions *regions, const kbi_pyramid *levels);

/* ---- sample.c ---- */
/* Regions of one octave that go through the kernels together. They are sampled while their level is in memory, and
 * measured when the batch is full, in a later pass if need be. */
typedef struct kbi_batch {
    uint8_t *grids;
    kbi_sampling *samplings;
    uint32_t *regions;
    int32_t filled, sampled;
} kbi_batch;
bool kbi_batch_get(kbi_batch *batch, int32_t capacity, int32_t side, kb_workspace *workspace);
static inline void kbi_batch_add(kbi_batch *batch, const kbi_regions *regions, uint32_t region)
{
    batch->regions[batch->filled] = region;
    batch->samplings[batch->filled++] = regions->samplings[region];
}
/* Samples what has been added since the last call. */
void kbi_batch_sample(kbi_batch *batch, const kbi_image_kernels *kernels, int32_t side, const kbi_pyramid *levels);

/* Ready patches of side x side bytes or, where `side` is the grid's, ready samples: bytes of each, and the grids
 * that are made of one, per octave. */
size_t kbi_ready_bytes(kbi_grid grid, int32_t side);
void kbi_ready_grids(kbi_grid grid, const uint8_t *patch, int32_t side, uint8_t *const grids[KB_OCTAVES]);

/* ---- measure.c ---- */
typedef struct kbi_measuring {
    const kb_model *model; /* NULL: the samples are the result */
    bool floats;           /* SIFT and RootSIFT as floats instead of bytes */
    int32_t batch;         /* grids that are measured together, at most */
} kbi_measuring;
/* What a worker needs beside. */
typedef struct kbi_measure_scratch {
    void *kernel;
    uint32_t *histograms;
    uint8_t *values, *parts;
} kbi_measure_scratch;
bool kbi_measure_get(const kbi_measuring *measure, kbi_measure_scratch *scratch, size_t part_bytes,
                     kb_workspace *workspace);
/* n grids of an octave, at most a batch; returns their n parts of rows, without gaps. */
const uint8_t *kbi_measure_grids(const kbi_measuring *measure, const kbi_measure_scratch *scratch, int32_t octave,
                                 const uint8_t *grids, int32_t n);

/* ---- bad.c: BAD as the paper has it ---- */
/* Describes keypoints by boxes in the image itself, OpenCV's TEBLID bit for bit. flags may be NULL. */
kb_status kbi_bad_describe_image(const kb_model *model, const kb_image *gray, const kb_keypoint *keypoints, size_t n,
                                 float scale, const kb_parallel *parallel, kb_workspace *workspace,
                                 const kbi_rows *rows, uint8_t *flags);

#endif
