/* Relative and absolute pose of calibrated cameras, ours and OpenCV's on the same correspondences (docs/evaluation.md).
 *
 * The error of a pose is the larger of two angles: that of the rotation between the pose found and the true one, and
 * that between the translations. A pose that is not found counts as wrong. AUC at t degrees is the area under the share
 * of problems with an error below e, for e from 0 to t, divided by t. */
#ifndef EVAL_POSE_H
#define EVAL_POSE_H

#include "pipeline/pipeline.h"

enum { EV_POSE_5, EV_POSE_10, EV_POSE_20, EV_POSE_LIMITS };
extern const double ev_pose_limits[EV_POSE_LIMITS]; /* degrees */

/* What solves a problem. */
typedef enum ev_pose_solver {
    EV_POSE_ESSENTIAL,          /* kb_fit, KB_ESSENTIAL */
    EV_POSE_ESSENTIAL_FILTERED, /* the same after kb_filter, where there are keypoints */
    EV_POSE_ESSENTIAL_PEER,     /* cv::findEssentialMat with USAC_ACCURATE, cv::recoverPose */
    EV_POSE_ABSOLUTE,           /* kb_fit_pose */
    EV_POSE_ABSOLUTE_PEER,      /* cv::solvePnPRansac with USAC's defaults */
    EV_POSE_SOLVERS
} ev_pose_solver;
const char *ev_pose_solver_name(ev_pose_solver solver);

/* Sums over problems until ev_pose_finish, then means. */
typedef struct ev_pose_score {
    size_t problems, found;
    double auc[EV_POSE_LIMITS]; /* 0 to 1 */
    double ms;                  /* processor time of one thread */
} ev_pose_score;

typedef struct ev_pose_result {
    ev_pose_score solvers[EV_POSE_SOLVERS]; /* without problems where a solver took no part */
} ev_pose_result;

typedef struct ev_pose_options {
    bool peers;      /* OpenCV takes part */
    double threshold; /* px, of all solvers */
    int32_t scenes;  /* rendered ones */
    int32_t apart;   /* pairs of a folder: images up to this far apart in the order of names */
    uint64_t seed;
    bool quiet;
} ev_pose_options;

/* Rendered scenes: 500 points in space, two cameras that look at them from random places; noise of 0.7 px, and 20 to 70
 * % of the correspondences wrong. */
bool ev_pose_rendered(const ev_pose_options *options, ev_pose_result *result, io_error *error);

/* The layout of Strecha's sets: DIR/images and DIR/gt_dense_cameras/NAME.camera with K, three zeros, the rotation from
 * camera to world, the centre and the size. Images are described and matched by the pipeline. */
bool ev_pose_folder(const pipeline *p, const char *folder, const ev_pose_options *options, ev_pose_result *result,
                    io_error *error);

/* The error in degrees of a pose, both as kb_fit_report gives them. */
double ev_pose_error(const double rotation[9], const double translation[3], const double true_rotation[9],
                     const double true_translation[3]);

#endif
