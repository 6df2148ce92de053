/* SPDX-License-Identifier: Apache-2.0 */
/* Relative and absolute pose of calibrated cameras, ours and OpenCV's on the same correspondences (docs/evaluation.md).
 *
 * The error of a pose is the larger of two angles: that of the rotation between the pose found and the true one, and
 * that between the translations. A pose that is not found counts as wrong. AUC at t degrees is the area under the share
 * of problems with an error below e, for e from 0 to t, divided by t; our fits are run with several seeds, of which the
 * mean counts. */
#ifndef EVAL_POSE_H
#define EVAL_POSE_H

#include "eval/pose_sets.h"
#include "pipeline/pipeline.h"

enum { EV_POSE_5, EV_POSE_10, EV_POSE_20, EV_POSE_LIMITS };
extern const double ev_pose_limits[EV_POSE_LIMITS]; /* degrees */

/* What solves a problem. */
typedef enum ev_pose_solver {
    EV_POSE_MATCH,              /* kb_match_images, as `keybits match --fit essential`: detection to geometry by looks */
    EV_POSE_ESSENTIAL,          /* kb_fit, KB_GEOMETRY_ESSENTIAL, on mutual matches */
    EV_POSE_ESSENTIAL_FILTERED, /* the same after kb_filter, where there are keypoints */
    EV_POSE_ESSENTIAL_PEER,     /* cv::findEssentialMat with USAC_ACCURATE, cv::recoverPose */
    EV_POSE_ABSOLUTE,           /* kb_fit_pose */
    EV_POSE_ABSOLUTE_PEER,      /* cv::solvePnPRansac with USAC's defaults */
    EV_POSE_SOLVERS
} ev_pose_solver;
const char *ev_pose_solver_name(ev_pose_solver solver);

/* A solver on the correspondences of one origin. Sums over problems until the run ends, then means. */
typedef struct ev_pose_score {
    const char *origin; /* as the options name it: a model, a peer, a folder of matches; "" for rendered scenes */
    ev_pose_solver solver;
    size_t problems;
    double found;               /* mean over seeds, not over problems */
    double matches;             /* given to the solver */
    double auc[EV_POSE_LIMITS]; /* 0 to 1 */
    double ms;                  /* processor time of one thread */
} ev_pose_score;

typedef struct ev_pose_result {
    ev_pose_score *rows; /* owned; those that took part, in the order of origins */
    size_t count;
    double threshold; /* that was used */
} ev_pose_result;

typedef struct ev_pose_options {
    bool peers;               /* OpenCV's solvers take part */
    double threshold;         /* px, of all solvers; 0: what the set's protocol has, 1.5 for rendered scenes */
    int32_t scenes;           /* rendered ones */
    int32_t apart;            /* of ev_pose_set_open */
    int32_t seeds;            /* of our fits; 0 counts as 1 */
    uint64_t seed;            /* of the rendered scenes, and the first of the fits */
    const char *model;        /* what results call the pipeline's features */
    const io_names *features; /* peers ("cv:rootsift") that detect and describe too; may be NULL */
    const io_names *matches;  /* folders of matches that others found, STEM1_STEM2.txt; may be NULL */
    bool quiet;
} ev_pose_options;

/* Rendered scenes: 500 points in space, two cameras that look at them from random places; noise of 0.7 px, and 20 to 70
 * % of the correspondences wrong. */
bool ev_pose_rendered(const ev_pose_options *options, ev_pose_result *result, io_error *error);

/* The pairs of a set. Images are described by the pipeline and by the peers; matches of others are read, a line
 * "x1 y1 x2 y2" in pixels of the files for each, best first. */
bool ev_pose_run(const pipeline *p, const ev_pose_set *set, const ev_pose_options *options, ev_pose_result *result,
                 io_error *error);
void ev_pose_result_free(ev_pose_result *result);

/* The error in degrees of a pose, both as kb_fit_report gives them. either_sign: that of the translation is left
 * open. */
double ev_pose_error(const double rotation[9], const double translation[3], const double true_rotation[9],
                     const double true_translation[3], bool either_sign);

#endif
