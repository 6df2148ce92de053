/* SPDX-License-Identifier: Apache-2.0 */
/* How keypoints follow a change of scale. An image is brought down by a factor; a keypoint of the small image, brought
 * back, is repeated when its circle and that of a keypoint of the image share at least half of the area that they cover
 * together, and its size follows when the sizes of the two agree within 20 %. Names are those of our detectors, or of
 * peers (cv:orb), which detect with their own. */
#ifndef EVAL_SCALE_H
#define EVAL_SCALE_H

#include "io/csv.h"

#define EV_SCALES 3
extern const double ev_scales[EV_SCALES]; /* 1.5, 2, 2.5 */

typedef struct ev_scale_score {
    double keypoints; /* in the small image */
    double repeated;  /* the share of them, 0 to 1 */
    double sized;     /* the share of the repeated ones whose size follows */
} ev_scale_score;

/* Whether there is such a detector. */
bool ev_scale_detector_find(const char *detector, io_error *error);

/* The scores of the keypoints of a small image; scale: how much larger the image is, in x and y. */
ev_scale_score ev_scale_compare(const io_keypoints *image, const io_keypoints *small, const double scale[2]);

/* Means over the images, of each scale. */
bool ev_scale_run(const io_names *images, const char *detector, int32_t max_keypoints, ev_scale_score scores[EV_SCALES],
                  io_error *error);

#endif
