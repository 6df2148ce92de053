/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of a COLMAP reconstruction: reads images, and keypoints out of the database, for learn/multiview.h, and
 * writes what it gives into patch sets. */
#ifndef IO_COLMAP_PATCHES_H
#define IO_COLMAP_PATCHES_H

#include "io/patch_file.h"
#include "learn/multiview.h"

typedef struct io_colmap_patches_options {
    const char *images;   /* the folder that the names in the model are relative to */
    const char *database; /* take COLMAP's own keypoints out of it; NULL: detect */
    kbi_multiview_options multiview; /* callbacks, context and supports are set here */
} io_colmap_patches_options;
void io_colmap_patches_defaults(io_colmap_patches_options *options);

/* Writes 32x32 patches or octaves; writer k gets those of support[k]. warn (may be NULL) is told about every image that
 * is skipped, tick (may be NULL) about the steps done, two per image. Fails when no point is seen twice. */
bool io_colmap_patches(const kbi_scene *scene, const io_colmap_patches_options *options, int32_t supports,
                       const float *support, io_patch_writer *const *writers, void (*warn)(void *, const char *),
                       void (*tick)(void *, size_t), void *context, kbi_multiview_report *report, io_error *error);

#endif
