/* SPDX-License-Identifier: Apache-2.0 */
/* What a detector is to the rest of the library: a row. It stands in the detector's own file, and detectors_list.c
 * lists the rows; nothing else names detectors. */
#ifndef KBI_DETECT_DETECTORS_H
#define KBI_DETECT_DETECTORS_H

#include "detect/detect.h"

/* How exact the places of a detector are (deviation.c), in px of the scale that a keypoint of `size` px has. */
typedef struct kbi_exactness {
    double size, systematic, noise;
    double flat; /* the deviation where the response has no top */
    float weak;  /* response at which noise of the image moves a peak as much as all else does; 0: it does not tell */
} kbi_exactness;

struct kbi_detector {
    kb_detector id;
    const char *name;           /* also of its preset (src/common/presets.c) */
    int32_t revision;           /* of its arithmetic: one more with every change of the keypoints that it finds */
    const char *const *options; /* its own options beside the common ones of detect_options.c; ends with NULL */
    /* Finds at most options.max_keypoints keypoints, in total order, in the memory of the workspace. */
    kb_status (*detect)(const kbi_detect_job *job, kb_keypoint **found, size_t *count);
    const kbi_measure *measure; /* of corners on the pyramid (corners.h); NULL: it has another scale space */
    kbi_exactness exactness;
    /* Gives keypoints that it found without angles the angles that detection would have given. NULL: without angles it
     * finds other keypoints. */
    kb_status (*orient)(const kbi_detect_job *job, kb_keypoint *keypoints, size_t n);
};

extern const kbi_detector kbi_detector_hessian, kbi_detector_orb, kbi_detector_sift;

#define KBI_MAX_DETECTORS 8
/* The detectors; ends with NULL. The first is the default. */
typedef const kbi_detector *kbi_detector_row;
extern const kbi_detector_row kbi_detectors[KBI_MAX_DETECTORS];

/* The row of a detector, 0 being the default; NULL for another value. */
const kbi_detector *kbi_detector_find(kb_detector id);

/* Options of every detector on the pyramid. */
#define KBI_PYRAMID_OPTIONS "levels", "every_level", "level_factor", "second_angle", "whole_pixels"

#endif
