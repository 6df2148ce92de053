/* SPDX-License-Identifier: Apache-2.0 */
/* Describing: keypoints become rows, batch by batch.
 *
 *     order.c    keypoints that can be described, in the order of work
 *     a kernel   keypoints -> regions: where the samples of each octave lie
 *     sample.c   regions -> grids of samples, by a kernel; ready patches -> grids
 *     measure.c  grids -> parts of rows, by the arithmetic of the model's kind:
 *                bad.c (the paper's BAD, in the image), bad_grid.c, bag.c, sift_patch.c, hashsift.c
 *     write.c    parts -> rows
 *
 * The arithmetic is specified in docs/sampling.md, docs/bad.md, docs/bag.md and docs/hashsift.md. "The paper" is I.
 * Suarez, J. M. Buenaposada, L. Baumela: Revisiting Binary Local Image Description for Resource Limited Devices, IEEE
 * Robotics and Automation Letters, 2021. */
#ifndef KBI_DESCRIBE_H
#define KBI_DESCRIBE_H

#include "image/image.h"
#include "model/model.h"

/* ---- bad_grid.c: BAD on a grid of samples ---- */
/* The bits of a table on one grid, bit_count / 8 bytes. */
void kbi_bad_describe(const kbi_box_table *table, const uint8_t *grid, uint8_t *row);

/* ---- bag.c: BAG on one octave ---- */
/* The bits of a table on one octave, bit_count / 8 bytes. */
void kbi_bag_describe(const kbi_box_table *table, const uint8_t *samples, uint8_t *row);
typedef struct kbi_channels {
    uint16_t cells[KB_CHANNELS - 1][KBI_OCTAVE_CELLS]; /* channels 1 to 8: sums over the four samples, up to 1020 */
    int16_t contrast;                                  /* the mean gradient, in 1/128 gray level */
} kbi_channels;
void kbi_channels_of(const uint8_t *samples, kbi_channels *channels);
/* The mean gradient of an octave whose gradients sum up to `sum`, at least 2 gray levels: below that there is little
 * but noise. */
static inline int16_t kbi_contrast(uint32_t sum)
{
    const uint32_t min = 2 * KBI_OCTAVE_BYTES;
    return (int16_t)((sum > min ? sum : min) * 128 / KBI_OCTAVE_BYTES);
}
/* A threshold in 1/16384 of the mean gradient as a difference of means, in 1/64 gray level. As v_mul_q15 of
 * simd/vec.h. */
static inline int32_t kbi_threshold_at(int32_t threshold, int32_t contrast)
{
    return (threshold * contrast + 16384) >> 15;
}

/* ---- sift_patch.c ---- */
/* Weight of a sample along one axis for each of the four spatial bins along it. */
extern const uint8_t kbi_sift_pool[4][KB_PATCH_SIDE];
void kbi_sift_histogram(const uint8_t *patch, uint32_t histogram[KB_SIFT_VALUES]);
/* 128 bytes, or 128 floats of unit length; root: RootSIFT. */
void kbi_sift_bytes(const uint32_t histogram[KB_SIFT_VALUES], bool root, uint8_t *row);
void kbi_sift_floats(const uint32_t histogram[KB_SIFT_VALUES], bool root, float *row);

/* ---- hashsift.c ---- */
void kbi_hashsift_project(const kb_model *model, const uint8_t *values, uint8_t *row);

/* ---- describe.c ---- */
/* The workspace of the calls that describe or sample n keypoints of an image of this size, or n ready patches
 * (kbi_workspace_measure). */
kb_status kbi_describe_measure(const kb_model *model, const kb_image *image, size_t n, const kb_parallel *parallel,
                               kb_workspace *workspace);
/* The workspace of kb_sample for patches of n keypoints. */
kb_status kbi_sample_measure(const kb_image *image, size_t n, const kb_parallel *parallel, kb_workspace *workspace);

#endif
