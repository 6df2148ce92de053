/* SPDX-License-Identifier: Apache-2.0 */
/* Matching between images of a plane whose homographies are known (docs/evaluation.md).
 *
 * For every pair (image 1, image k) the nearest neighbour of every query is found, and answers are ranked by distance.
 *   strict      Every keypoint of image 1 is a query. An answer is right within 5 px of where H sends the query. Recall
 *               is over the keypoints of image 1 that have any keypoint within 5 px.
 *   paper-like  All keypoints that the detector finds. Right within 2 px, and when sizes agree within sqrt(2) after the
 *               local scale of H. Queries are the keypoints that have such a partner, and recall is over them.
 * Reported are the means over pairs, the share of mutual matches that lie within 3 px, and how often a homography
 * fitted to the mutual matches is right; the latter also for the matches that kb_filter keeps, for the points that
 * kb_match_refine gives, and for what kb_match_images finds in the two images. */
#ifndef EVAL_OXFORD_H
#define EVAL_OXFORD_H

#include "eval/keypoints.h"
#include "eval/method.h"
#include "learn/metrics.h"
#include "eval/scenes.h"

typedef struct ev_oxford_options {
    ev_keypoint_source keypoints;
    const char *preset; /* that belongs to the keypoints */
    bool paperlike;   /* the paper-like numbers are wanted too */
    int32_t looks;    /* of kb_match_images */
    const char *cache;
    const kb_parallel *parallel;
    bool quiet;
} ev_oxford_options;

/* Matches of both directions, and the homographies fitted to them: means over pairs. */
typedef struct ev_oxford_matches {
    double matches;                                        /* per pair */
    double right, places;                                  /* of them, within 3 px; different places of these */
    double precision_1px, precision_3px;                   /* 0 to 1; pairs without a match count 0 */
    double near;                                           /* per pair, matches with keypoints within 5 px of the truth */
    double exact;                                          /* the share of these whose points lie within 1 px; of the
                                                              matches of all pairs together */
    double homography_1px, homography_3px, homography_5px; /* share of pairs whose mean corner error is below */
} ev_oxford_matches;

/* Means over pairs. */
typedef struct ev_oxford_score {
    size_t pairs;
    double keypoints, spots;          /* per image; keypoints at least 2 px apart (eval/places.h) */
    double strict_map, paperlike_map; /* 0 to 1; paperlike_map is NaN unless it was wanted */
    ev_oxford_matches mutual, filtered, refined;
    ev_oxford_matches looks;           /* zeros for keypoints from files and for peers */
    kbi_curve curve;                   /* strict */
} ev_oxford_score;

typedef struct ev_oxford_result {
    ev_oxford_score total;
    ev_oxford_score *scenes; /* owned; as many as there are scenes */
} ev_oxford_result;

/* results has room for one per method. */
bool ev_oxford_run(const ev_scenes *scenes, ev_method *methods, size_t method_count, const ev_oxford_options *options,
                   ev_oxford_result *results, io_error *error);
void ev_oxford_result_free(ev_oxford_result *result);

/* The 32x32 patches of all keypoints, image by image, as N x 32 x 32 bytes: rows for `ev_method_of_file` are in that
 * order. */
bool ev_oxford_export_patches(const ev_scenes *scenes, const ev_oxford_options *options, const char *path,
                              io_error *error);

#endif
