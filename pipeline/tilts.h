/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated viewpoints, the idea of ASIFT (Morel and Yu 2009): descriptors bear a change of viewpoint of some 45
 * degrees; beyond, a surface is foreshortened in one direction. Views of the image that are foreshortened in many
 * directions are described too, so that one of them is near to what the other image shows. */
#ifndef PIPELINE_TILTS_H
#define PIPELINE_TILTS_H

#include "pipeline/pipeline.h"

#define TILTS_MOST 4

/* A view: the image rotated by `angle` degrees about its centre, then narrowed by the factor `tilt`. */
typedef struct tilts_view {
    double tilt, angle;
} tilts_view;

/* The views of `steps` tilts (0 to TILTS_MOST): the image itself; then tilts of sqrt(2), 2, ... with the directions
 * 72 degrees / tilt apart. Returns how many; views may be NULL, else it has room for them. */
size_t tilts_views(int32_t steps, tilts_view *views);

/* Keypoints and rows of all views, keypoints in coordinates of the image. Each view gets the number of keypoints of the
 * options in proportion to its area. */
bool tilts_describe(const pipeline *p, const char *name, const kb_image *image, features *out, pipeline_times *times,
                    io_error *error);

/* Several views see the same point: of matches that are near each other in both images, or in one of them, the one with
 * the least distance stays. Keeps the order; returns how many. */
size_t tilts_merge(const features *a, const features *b, kb_match *matches, size_t n);

#endif
