/* The pipeline: image -> keypoints -> descriptors -> matches -> geometry, with the time of each step. Returns errors,
 * prints nothing. */
#ifndef PIPELINE_PIPELINE_H
#define PIPELINE_PIPELINE_H

#include "pipeline/features.h"

typedef struct pipeline_options {
    kb_detect_options detect; /* detector 0: kb_detector_default */
    const char *preset;       /* of the keypoints; NULL: that of the detector */
    float scale;              /* of kb_describe; 0: that of the model for the preset */
    kb_orientation angles;    /* computed anew; 0: as detected or read, -1 is upright */
    int32_t tilts;            /* steps of simulated viewpoints (pipeline/tilts.h); 0: the image alone */
    bool quiet;               /* without a progress bar for these */
    bool bytes; /* rows of bytes where the model gives floats too */
    float max_ratio, max_distance;
    bool filter; /* kb_filter before fitting; all matches are fitted when no geometry is found in what it keeps */
    bool refine; /* kb_match_refine, where images are at hand: pipeline_match_images */
    bool no_align; /* keep a homography as it was fitted to keypoints; else pipeline_match_images fits it again to aligned
                      points (pipeline/align.h), unless all points are refined */
    bool no_fit; /* matches are all that is wanted */
    kb_geometry geometry;
    kb_camera cameras[2]; /* for essential and rotation; struct_size 0: not given, the second is the first */
    double threshold; /* px; 0: 3, or 1.5 for a fundamental or essential matrix and for refined points */
    uint64_t seed;
} pipeline_options;

#define PIPELINE_REFINED_PX 1.5 /* the threshold for refined points */

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
    kb_point_pair *pairs;    /* their points, owned */
    uint8_t *inliers;  /* one per match, owned */
    float *correlations; /* of refined points, 0: not refined; one per match, owned; NULL without pipeline_options.refine */
    size_t count;
    size_t putative; /* matches before the filter; count when it was not used */
    kb_fit_report fit;
    size_t aligned; /* points that a homography was fitted to again; 0: it was not */
    double ms_match, ms_filter, ms_refine, ms_fit, ms_align;
} pipeline_result;

/* KB_INIT of what is inside, and a homography. */
void pipeline_options_init(pipeline_options *options);
/* The model, which may be NULL when rows are only matched, stays the caller's. */
bool pipeline_open(pipeline *p, const pipeline_options *options, const kb_model *model, const kb_parallel *parallel,
                   io_error *error);
void pipeline_close(pipeline *p);

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

/* Matches and geometry; the result is to be freed. Finding no geometry is a result. */
bool pipeline_match(const pipeline *p, const features *a, const features *b, pipeline_result *result, io_error *error);
/* The same with the images that the features are of, for pipeline_options.refine; both or none may be NULL. */
bool pipeline_match_images(const pipeline *p, const features *a, const features *b, const kb_image *image_a,
                           const kb_image *image_b, pipeline_result *result, io_error *error);
void pipeline_result_free(pipeline_result *result);

#endif
