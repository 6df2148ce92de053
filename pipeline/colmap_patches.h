/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of a COLMAP reconstruction: reads images, and keypoints out of the database, for pipeline/multiview.h, and
 * writes what it gives into patch sets. */
#ifndef COLMAP_PATCHES_H
#define COLMAP_PATCHES_H

#include "io/patch_file.h"
#include "pipeline/multiview.h"

typedef struct colmap_patches_options {
    const char *images;   /* the folder that the names in the model are relative to */
    const char *database; /* take COLMAP's own keypoints out of it; NULL: detect */
    multiview_options multiview; /* callbacks, context and supports are set here */
} colmap_patches_options;
void colmap_patches_defaults(colmap_patches_options *options);

/* Writes 32x32 patches or octaves; writer k gets those of support[k]. warn (may be NULL) is told about every image that
 * is skipped, tick (may be NULL) about the steps done, two per image. Fails when no point is seen twice. */
bool colmap_patches(const io_scene *scene, const colmap_patches_options *options, int32_t supports,
                       const float *support, io_patch_writer *const *writers, void (*warn)(void *, const char *),
                       void (*tick)(void *, size_t), void *context, multiview_report *report, io_error *error);

#endif
