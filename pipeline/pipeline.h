/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: image -> keypoints -> descriptors -> matches -> geometry, with the time of each step. Returns errors,
 * prints nothing. */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include "pipeline/features.h"

/* Which rows describing gives. */
typedef enum pipeline_rows {
    ROWS_GIVEN,    /* one kind, by the angles that the keypoints have */
    ROWS_BOTH,     /* oriented and upright ones; of keypoints without angles, upright ones */
    ROWS_ORIENTED,
    ROWS_UPRIGHT
} pipeline_rows;

typedef struct pipeline_options {
    kb_detect_options detect; /* detector 0: the default */
    const char *preset;       /* of the keypoints; NULL: that of the detector */
    float scale;              /* of kb_describe; 0: that of the model for the preset */
    kb_orientation angles;    /* computed anew; 0: as detected or read, -1 is upright */
    int32_t tilts;            /* steps of simulated viewpoints (pipeline/tilts.h); 0: the image alone */
    bool quiet;               /* without a progress bar for these */
    bool patches;             /* photos_describe keeps patches beside the rows */
    pipeline_rows rows;
    bool bytes; /* rows of bytes where the model gives floats too */
    float max_ratio, max_distance;
    bool no_filter; /* fit all matches, without kb_filter */
    bool refine;    /* pipeline_refine will follow: thresholds are tighter */
    int32_t looks;  /* of pipeline_match_images; 0: as kb_pair_options has them */
    bool no_fit; /* matches are all that is wanted */
    kb_geometry geometry;
    kb_camera cameras[2]; /* for essential, rotation and any; struct_size 0: not given, the second is the first */
    double threshold; /* px; 0: kb_fit's, of homographies and the like through refined points 1.5 */
    uint64_t seed;
} pipeline_options;

typedef struct pipeline {
    pipeline_options options;
    const kb_model *model;
    kb_model_info info;
    const kb_parallel *parallel;
    kb_workspace *workspace;
    float orient_scale; /* of kb_orient */
} pipeline;

typedef struct pipeline_times {
    double detect, describe; /* milliseconds */
} pipeline_times;

typedef struct pipeline_result {
    kb_match *matches; /* owned */
    kb_point_pair *pairs; /* their points, owned */
    uint8_t *inliers;     /* one per match, owned */
    float *correlations;  /* of refined points, 0: not refined; one per match, owned; NULL without pipeline_refine */
    size_t count;
    size_t candidates; /* matches before the filter */
    kb_fit_report fit;
    kb_look look;   /* which gave the result; 0: features were matched as they are */
    float rotation; /* of kb_pair */
    int32_t looks;  /* tried */
    double ms_match, ms_refine, ms_fit; /* of pipeline_match_images, match is all of it */
} pipeline_result;

/* KB_INIT of what is inside, and a homography. */
void pipeline_options_init(pipeline_options *options);
/* The model, which may be NULL when rows are only matched, stays the caller's. */
bool pipeline_open(pipeline *p, const pipeline_options *options, const kb_model *model, const kb_parallel *parallel,
                   io_error *error);
void pipeline_close(pipeline *p);

/* Why rows and angles do not go together; NULL where they do. */
const char *pipeline_rows_fault(const pipeline_options *options);
/* Whether describing gives upright rows beside oriented ones. */
bool pipeline_keeps_upright(const pipeline *p);

/* Keypoints, unless out->keypoints holds some already (`given`), angles as the options say, and descriptors. `name` is
 * for the message, times may be NULL. What is in `out` is to be freed, after a failure too. */
bool pipeline_describe(const pipeline *p, const char *name, const kb_image *image, bool given, features *out,
                       pipeline_times *times, io_error *error);
/* The same for threads that work on images of their own: without the pipeline's workspace and threads. */
bool pipeline_describe_alone(const pipeline *p, const char *name, const kb_image *image, bool given, features *out,
                             io_error *error);

/* pipeline_describe for two images, of which NULL is left out: with two threads each takes one, which saves them from
 * waiting for each other; else all threads work on one after the other. times must not be NULL. */
bool pipeline_describe_two(const pipeline *p, const char *const names[2], const kb_image *const images[2],
                           const bool given[2], features out[2], pipeline_times times[2], io_error *error);

/* Matches and geometry of features as they are; the result is to be freed. Finding no geometry is a result. */
bool pipeline_match(const pipeline *p, const features *a, const features *b, pipeline_result *result, io_error *error);
/* Two images by looks, from detection to geometry (kb_match_images). `out` receives their keypoints, without rows. */
bool pipeline_match_images(const pipeline *p, const kb_image *const images[2], features out[2],
                           pipeline_result *result, io_error *error);
/* Moves the points of a result to a fraction of a pixel (kb_match_refine) and fits the geometry to them. */
bool pipeline_refine(const pipeline *p, const features *a, const features *b, const kb_image *const images[2],
                     pipeline_result *result, io_error *error);
/* Points, geometry and error of two pictures that were shrunk when they were read, in pixels of their files. */
void pipeline_result_to_file(pipeline_result *result, const io_grid files[2]);
void pipeline_result_free(pipeline_result *result);

#endif
