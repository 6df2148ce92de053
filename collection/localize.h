/* SPDX-License-Identifier: Apache-2.0 */
/* The pose of a photograph in a map: retrieve images, match their rows, P3P, refine. */
#ifndef COLLECTION_LOCALIZE_H
#define COLLECTION_LOCALIZE_H

#include "collection/map.h"

typedef struct localize_options {
    const kb_camera *camera; /* of the photographs; NULL: the map's, or guessed and refined */
    int32_t images;          /* of the map that are matched; 0: 10 */
    int32_t min_places;      /* of inliers; 0: 12 */
    double threshold;        /* px, the largest reprojection error; 0: 4 px of the photograph as it was described */
    uint64_t seed;
} localize_options;

typedef struct localize_inlier {
    double x, y;     /* in the photograph */
    uint32_t point;  /* of the map */
} localize_inlier;

typedef struct localize_result {
    bool found;
    double rotation[9], translation[3], centre[3]; /* world to camera; where the camera is */
    kb_camera camera;                              /* with the refined focal length */
    const char *camera_from;                       /* "given", "map", "exif", "guess" */
    size_t keypoints, matches, inliers, places;
    double rms;                       /* px, of inliers */
    double sigma_position, sigma_rotation, sigma_focal; /* standard deviations: scene units, degrees, px (0: not refined) */
    size_t image;                     /* of the map that has most inliers */
    int32_t width, height;
    double ms_describe, ms_total;     /* describe: reading too */
    localize_inlier *points;          /* owned, of the inliers */
} localize_result;

/* The pipeline and reading have to be those of the map (localize_settings). Not found is a result. */
bool localize(const map *m, const pipeline *p, const io_read_options *reading, const localize_options *options,
              const char *photo, localize_result *out, io_error *error);
void localize_result_free(localize_result *result);

/* What photographs have to be described with: fills in what is not chosen yet (model NULL, numbers 0) and refuses what
 * does not fit the map. */
bool localize_settings(const map *m, const char **model, pipeline_options *options, io_read_options *reading,
                       io_error *error);

#endif
