/* Shared by the files of this module. Two images become matches and geometry by looks, each of which describes the same
 * keypoints with other angles, matches, filters and fits:
 *
 *     upright    no angles: most photographs are taken upright, and angles of keypoints are the noisiest numbers
 *     oriented   an angle per keypoint, where upright verifies nothing
 *     rotated    one rotation for the whole pair, found by one of the other looks
 *
 *     pair.c      the public call: options, buffers, the order of looks
 *     look.c      one look
 *     rotation.c  the rotation of a pair */
#ifndef KBI_PAIR_H
#define KBI_PAIR_H

#include "common/common.h"

/* One of the two images. */
typedef struct pair_side {
    kb_image gray;
    kb_features f; /* keypoints are the caller's; rows are of the present look */
    float *angles; /* of the oriented look; NULL: not computed yet */
} pair_side;

/* What a look gave. */
typedef struct pair_look {
    kb_look look;
    float rotation;
    kb_match *matches;
    uint8_t *inliers;
    size_t count;
    size_t candidates; /* matches before the filter */
    kb_fit_report fit;
} pair_look;

typedef struct pair_job {
    const kb_model *model;
    kb_pair_options options;
    kb_detect_options detect;
    kb_match_options match;
    kb_fit_options fit;
    pair_side sides[2];
    kb_point_pair *points;
    float *quality;
    int32_t looks; /* tried so far */
    kb_workspace *workspace;
    kb_error *error;
} pair_job;

/* ---- look.c ---- */

/* Describes both sides with the angles of out->look, matches, filters and fits. */
kb_status kbi_pair_look(pair_job *job, pair_look *out);
/* Sets the angles with which a look describes. */
kb_status kbi_pair_set_angles(pair_job *job, const pair_look *look);

/* ---- rotation.c ---- */

/* The rotation, in degrees clockwise from 0 to 360, that takes the inliers of image a to image b as well as can be. */
float kbi_pair_rotation_of_points(const pair_job *job, const pair_look *look);
/* The most frequent difference of the angles of matched keypoints. */
float kbi_pair_rotation_of_angles(const pair_job *job, const pair_look *look);

#endif
