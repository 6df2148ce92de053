/* SPDX-License-Identifier: Apache-2.0 */
/* What the rendered scenes and the sets of eval/pose.h share: a problem, its solvers, their scores. */
#ifndef EVAL_POSE_SCORE_H
#define EVAL_POSE_SCORE_H

#include "eval/pose.h"

#define EV_POSE_PX 1.5 /* the threshold where no protocol has one; the default of keybits match */

/* Correspondences best first, for the two kinds; points NULL: no absolute pose. */
typedef struct ev_pose_problem {
    const kb_point_pair *pairs;
    const kb_scene_point *points;
    size_t n;
    const kb_camera *camera[2];
    double threshold;
    double rotation[9], translation[3]; /* the truth */
    bool either_sign;
    /* EV_POSE_MATCH alone: the pipeline, and what it matches */
    const pipeline *pipeline;
    const kb_image *image[2];
} ev_pose_problem;

/* Solves and adds to the row of the origin and the solver, which is made when there is none. */
bool ev_pose_solve(const ev_pose_problem *p, const char *origin, ev_pose_solver solver, const ev_pose_options *options,
                   kb_workspace *ws, ev_pose_result *result, io_error *error);
/* Sums become means. */
void ev_pose_finish(ev_pose_result *result);

#endif
