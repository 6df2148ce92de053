/* SPDX-License-Identifier: Apache-2.0 */
/* Real multi-view patches: keypoints of several photographs that show the same point of a reconstruction.
 *
 * Images, COLMAP's own keypoints and the patches go through callbacks: what is read and written where is the caller's
 * business. */
#ifndef PIPELINE_MULTIVIEW_H
#define PIPELINE_MULTIVIEW_H

#include "learn/associate.h"
#include "io/scene.h"

typedef struct multiview_options {
    /* The pixels of an image of the scene, which stay valid until the next call. False: the image is skipped. Called
     * twice per image that is not skipped. */
    bool (*read_image)(void *context, size_t image, kb_image *out);
    /* NULL: keypoints are detected. Else those of an image, one for each of its features, in their order, which stay
     * valid until the next call; any other status than KB_OK ends the run, with the caller's sentence in error. */
    kb_status (*read_keypoints)(void *context, size_t image, const kb_keypoint **keypoints, kb_error *error);
    /* A 32x32 patch, or octaves, sampled at support number `support`. */
    void (*write_patch)(void *context, int32_t support, uint32_t label, uint32_t view, const uint8_t *pixels);
    /* May be NULL: how many of the 2 x images steps are done. */
    void (*report)(void *context, size_t done);
    void *context;
    int32_t detectors;     /* bit 0: orb, 1: sift, 2: hessian; when detecting */
    int32_t keypoints;     /* that a detector may find in an image */
    size_t max_points;     /* 0: all */
    double max_error;      /* px: 3D points with a larger mean reprojection error are left out */
    kbi_association association;
    uint64_t seed;
    const kb_parallel *parallel;
    int32_t supports;
    const float *support;
    bool octaves; /* octaves instead of 32x32 patches */
    bool upright; /* detected keypoints have the angle 0; views that are turned against each other do not associate */
} multiview_options;
/* Detecting orb and sift, 8000 keypoints, all points, 2 px. */
void multiview_defaults(multiview_options *options);

typedef struct multiview_report {
    size_t points, patches;
    size_t skipped; /* images */
} multiview_report;

/* KB_E_ARGUMENT when no point is found in two images. */
kb_status multiview_patches(const io_scene *scene, const multiview_options *options,
                                multiview_report *report, kb_error *error);

#endif
