/* SPDX-License-Identifier: Apache-2.0 */
/* Structure from motion, as the ETH benchmark tells it: keypoints and mutual nearest neighbours of all pairs go into
 * COLMAP's database, COLMAP verifies and maps, and its analyzer counts: registered images, sparse points, observations,
 * mean track length, mean reprojection error. */
#ifndef EVAL_SFM_H
#define EVAL_SFM_H

#include "eval/keypoints.h"
#include "eval/method.h"
#include "pipeline/colmap_export.h"

typedef struct ev_sfm_options {
    ev_keypoint_source keypoints;
    const char *preset;
    colmap_export_options export; /* how pairs are matched; where features come from is filled in */
    const char *colmap; /* the program; NULL: "colmap" on the path */
    const char *folder; /* of the images */
    const char *keep;   /* folder to work in, which stays; NULL: a temporary one */
    const char *cache;
    int32_t threads;    /* for COLMAP; 0: as it likes */
} ev_sfm_options;

typedef struct ev_sfm_result {
    double images, registered, points, observations, track_length, reprojection_px;
    double verified_pairs, verified_matches; /* after COLMAP's geometric verification */
    double matches;                          /* given to it */
    double seconds;                          /* COLMAP's, both steps */
} ev_sfm_result;

/* A sentence that says what is missing when there is no COLMAP. */
bool ev_sfm_find_colmap(const char *program, io_error *error);

/* A reconstruction that did not come about is a result of zeros, not an error. */
bool ev_sfm_run(const io_names *images, ev_method *method, const ev_sfm_options *options, ev_sfm_result *result,
                io_error *error);

/* Reads what model_analyzer prints into the fields from registered to reprojection_px; false when a line is missing. */
bool ev_sfm_parse_analysis(const char *text, ev_sfm_result *result);

#endif
