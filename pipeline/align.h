/* A homography that is more exact than the keypoints it was found by. Keypoints of two views agree to about a pixel, and
 * a homography fitted to them is off by more than that at the corners of the image. Regions around some of its inliers,
 * spread over image a, are aligned with image b, beginning where the homography sends them, and the homography is fitted
 * once more, to these points. */
#ifndef PIPELINE_ALIGN_H
#define PIPELINE_ALIGN_H

#include "pipeline/pipeline.h"

#define ALIGN_POINTS 48 /* at most */
#define ALIGN_LEAST 10  /* with fewer inliers the homography stays as it was */

typedef struct align_input {
    const kb_image *image_a, *image_b;
    const io_keypoints *a;
    const kb_match *matches;
    const kb_point_pair *pairs; /* the points of the matches */
    size_t count;
    float scale;                /* of the preset of the keypoints */
    double threshold;           /* px, of an inlier */
    uint64_t seed;
    const kb_parallel *parallel; /* may be NULL */
    kb_workspace *workspace;     /* may be NULL */
} align_input;

typedef struct align_result {
    bool taken;                        /* the homography was replaced */
    size_t tried, count;               /* regions, and of them those that could be aligned */
    int32_t a[ALIGN_POINTS];           /* their keypoints of image a */
    kb_point_pair pairs[ALIGN_POINTS]; /* and their points */
} align_result;

/* fit: a homography that was found, and its inliers among the matches. Both change to those of the new homography, when
 * there is one that keeps at least half of the inliers; the number of iterations stays. The same on every machine and any
 * number of threads. */
kb_status align_homography(const align_input *input, uint8_t *inliers, kb_fit_report *fit, align_result *result);

#endif
