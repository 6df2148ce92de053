/* SPDX-License-Identifier: Apache-2.0 */
/* Mean matching accuracy (MMA) on image sequences in the layout of HPatches, as papers on local features report it.
 *
 * Image 1 of a sequence is matched with every other image by mutual nearest neighbours. The accuracy of a pair at t px
 * is the share of its matches whose keypoint in image k lies within t px of where the homography sends the keypoint of
 * image 1; a pair without matches counts 0. MMA is the mean over pairs, at 1 to 10 px: over all, over sequences with
 * changes of light ("i_" in front of the name) and with changes of viewpoint ("v_"). Sequences with other names count
 * for the first only. Beside it stands the area under the share of homographies (kb_fit on the matches, its defaults)
 * whose mean corner error is below e, for e from 0 to 1, 3 and 5 px. Papers leave eight sequences out whose images are
 * larger than 1600x1200; so does this, unless told otherwise. */
#ifndef EVAL_MATCHING_H
#define EVAL_MATCHING_H

#include "eval/keypoints.h"
#include "eval/method.h"
#include "eval/scenes.h"

#define EV_MMA_PX 10
#define EV_RIGHT_PX      3
#define EV_CORNER_LIMITS 3
extern const double ev_corner_limits[EV_CORNER_LIMITS]; /* px: 1, 3, 5 */

typedef struct ev_mma {
    size_t pairs;
    double accuracy[EV_MMA_PX]; /* at 1, 2 ... px, 0 to 1; NaN when there are no pairs */
    double corner_auc[EV_CORNER_LIMITS]; /* 0 to 1 */
    double keypoints, spots;             /* per image; keypoints at least 2 px apart (eval/places.h) */
    double matches, right, places;       /* per pair; within EV_RIGHT_PX, and different places of these */
} ev_mma;

typedef struct ev_matching_options {
    ev_keypoint_source keypoints;
    const char *preset; /* that belongs to the keypoints */
    bool all_sequences; /* the large ones too */
    const kb_parallel *parallel;
    bool quiet;
} ev_matching_options;

typedef struct ev_matching_result {
    ev_mma all, illumination, viewpoint;
    ev_mma *scenes; /* owned; one per scene, without pairs where it was left out */
    size_t left_out;
} ev_matching_result;

/* Is it one of the eight? */
bool ev_matching_large(const char *sequence);

/* results has room for one per method. */
bool ev_matching_run(const ev_scenes *scenes, ev_method *methods, size_t method_count,
                     const ev_matching_options *options, ev_matching_result *results, io_error *error);
void ev_matching_result_free(ev_matching_result *result);

#endif
