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
    size_t part;          /* bytes that lie together before they are written: a row, or the samples of an octave */
} kbi_rows;
/* The parts of a row lie `step` bytes apart. */
void kbi_rows_write(const kbi_rows *rows, size_t index, const uint8_t *parts, size_t step);
void kbi_rows_clear(const kbi_rows *rows, size_t index);

/* ---- order.c ---- */
typedef struct kbi_regions {
    kbi_grid grid;
    double width_scale; /* a region is width_scale x size wide */
    const kb_keypoint *keypoints;
    size_t n;
} kbi_regions;
typedef struct kbi_order {
    uint32_t *keypoints; /* that can be described */
    size_t count;
    uint32_t levels;         /* that their regions lie in, as bits */
    uint32_t across, blocks; /* of the image */
} kbi_order;
kb_status kbi_order_get(kbi_order *order, const kb_image *image, size_t keypoints, kb_workspace *workspace);
/* Keypoints that cannot be described get their flags, and their rows are cleared. flags may be NULL. */
void kbi_order_fill(kbi_order *order, const kbi_regions *regions, const kbi_pyramid *levels, const kbi_rows *rows,
                    uint8_t *flags);

/* ---- sample.c ---- */
/* Grids that go through the kernels together are octave by octave: octave k of keypoint i of n is grid k n + i. */

/* Ready patches of side x side bytes or, where `side` is the grid's, ready samples: bytes of each, and the grids of n
 * of them. */
size_t kbi_ready_bytes(kbi_grid grid, int32_t side);
void kbi_ready_grids(kbi_grid grid, const uint8_t *patches, int32_t n, int32_t side, uint8_t *grids);

/* ---- measure.c ---- */
typedef struct kbi_measuring {
    const kb_model *model; /* NULL: the samples are the result */
    kbi_grid grid;
    bool floats;   /* SIFT and RootSIFT as floats instead of bytes */
    int32_t batch; /* keypoints that are measured together, at most */
    const kbi_boxes_kernels *boxes; /* of kinds with boxes; the others have the kernels of SIFT */
    const kbi_sift_kernels *sift;
    bool turns;           /* octaves take turns byte by byte in a row */
    size_t scratch_bytes; /* that its kernels need */
} kbi_measuring;
/* What a worker needs. */
typedef struct kbi_measure_scratch {
    uint8_t *grids; /* of a batch */
    void *kernel;
    uint32_t *histograms;
    uint8_t *values, *parts, *rows; /* parts: of one octave after the other */
} kbi_measure_scratch;
bool kbi_measure_get(const kbi_measuring *measure, kbi_measure_scratch *scratch, size_t row_bytes,
                     kb_workspace *workspace);
/* The grids of n keypoints become their rows; without a model they are what is to be written. */
const uint8_t *kbi_measure_grids(const kbi_measuring *measure, const kbi_measure_scratch *scratch,
                                 const uint8_t *grids, int32_t n);

/* ---- bad.c: BAD as the paper has it ---- */
/* Describes keypoints by boxes in the image itself, OpenCV's TEBLID bit for bit. flags may be NULL. */
kb_status kbi_bad_describe_image(const kb_model *model, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                 float scale, const kb_parallel *parallel, kb_workspace *workspace,
                                 const kbi_rows *rows, uint8_t *flags);

#endif
