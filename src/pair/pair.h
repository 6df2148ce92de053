/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this module. Two images become matches and geometry by looks, each of which describes the same
 * keypoints with other angles, matches, filters and fits:
 *
 *     upright    no angles: most photographs are taken upright, and the angles of keypoints are noisy
 *     oriented   an angle per keypoint, where the upright look verifies nothing
 *     rotated    one rotation for the whole pair, found by one of the other looks
 *     warped     after a homography: image b is warped into image a and gets keypoints of its own
 *     guided     after an epipolar geometry: matches are sought along lines
 *
 *     pair.c             the public call: options, buffers, the order of looks
 *     look.c             one look
 *     common_rotation.c  the rotation of a pair
 *     warped_look.c      the warped look
 *     guided_look.c      the guided look
 *
 * Two more calls stand above all modules: detect_and_describe.c, and reserve.c, which counts workspace. */
#ifndef KBI_PAIR_H
#define KBI_PAIR_H

#include "common/common.h"

/* One of the two images. */
typedef struct pair_side {
    kb_image gray;
    kb_keypoint *keypoints; /* the caller's */
    size_t n;
    float *angles; /* of the oriented look; NULL: not computed yet */
    void *rows;    /* bytes, or floats where the model gives them */
    kb_look described; /* the angles of the rows; 0: none yet */
    float rotation;
    size_t rows_n;     /* how many rows there are */
} pair_side;

/* What a look gave. */
typedef struct pair_look {
    kb_look look;
    kb_look angles; /* UPRIGHT, ORIENTED or ROTATED: what the keypoints were described with */
    float rotation;
    kb_keypoint *b; /* of image b: the caller's, or of the warped image, in pixels of image b */
    size_t nb;
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
    float describe_scale, orient_scale;
    pair_side sides[2];
    size_t capacity; /* of keypoints */
    kb_point_pair *points;
    float *quality;
    float *deviations; /* of the errors of matches, for epipolar geometries; NULL: there is none */
    int32_t looks; /* how many looks were tried so far */
    int32_t tried; /* which looks, as KB_LOOK_* */
    kb_workspace *workspace;
    kb_error *error; /* the caller's */
} pair_job;

/* ---- look.c ---- */

/* A side as kb_features, to read and to fill. keypoints: instead of the side's own; NULL: its own. */
kb_features kbi_pair_view(const pair_job *job, const pair_side *side, kb_keypoint *keypoints);

/* Describes both sides with the angles of out->look, matches, filters and fits. */
kb_status kbi_pair_look(pair_job *job, pair_look *out);
/* The steps of a look: the first sets the angles of a side's keypoints, the second describes the side, unless its rows
 * have these angles. */
kb_status kbi_pair_set_angles(pair_job *job, int which, const pair_look *look);
kb_status kbi_pair_describe(pair_job *job, int which, const pair_look *look);
/* Describes the keypoints of a side from number `from` on, with the angles that they have. */
kb_status kbi_pair_describe_side(const pair_job *job, const pair_side *side, size_t from);
/* Whether upright rows of the strongest keypoints find hardly any matches that the filter keeps. */
kb_status kbi_pair_looks_turned(pair_job *job, pair_look *spare, bool *turned);
/* Filters the matches, unless the options forbid it; their number before becomes out->candidates. */
kb_status kbi_pair_filter(const pair_job *job, pair_look *out);
kb_status kbi_pair_fit(const pair_job *job, pair_look *out);

/* ---- warped_look.c, guided_look.c ---- After a look that found a geometry. */
kb_status kbi_pair_warped_look(pair_job *job, const pair_look *found, pair_look *out);
kb_status kbi_pair_guided_look(pair_job *job, const pair_look *found, pair_look *out);

/* ---- common_rotation.c ---- */

/* The rotation, in degrees clockwise from 0 to 360, that takes the inliers of image a to image b as well as can be. */
float kbi_pair_rotation_of_points(const pair_job *job, const pair_look *look);
/* The most frequent difference of the angles of matched keypoints. */
float kbi_pair_rotation_of_angles(const pair_job *job, const pair_look *look);

/* The name of a look, for kb_name; NULL when there is none. */
const char *kbi_look_name(int32_t look);

#endif
