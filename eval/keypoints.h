/* SPDX-License-Identifier: Apache-2.0 */
/* Where a benchmark's keypoints come from: CSV files made by some detector, or our own detectors. */
#ifndef EVAL_KEYPOINTS_H
#define EVAL_KEYPOINTS_H

#include "io/csv.h"
#include "io/image_io.h"

typedef struct ev_keypoint_source {
    const char *folder;    /* of CSV files, FOLDER/SCENE/STEM.KIND.csv or FOLDER/STEM.KIND.csv; NULL: detect */
    const char *kind;      /* "sift" in img1.sift.csv */
    kb_detector detector;
    int32_t max_keypoints; /* asked of the detector */
    kb_selection selection;
    int32_t fast_threshold_min, whole_pixels;
    kb_orientation orientation; /* of the angles, computed anew for CSV files; 0: the detector's own */
    float scale;                /* the preset of CSV files, for that */
    int32_t max_size;           /* larger images are shrunk to it, for reconstruction; 0: none is */
    int64_t max_pixels;         /* larger images are refused; 0: IO_MAX_PIXELS */
} ev_keypoint_source;

#define EV_ALL_KEYPOINTS 1000000 /* as max_keypoints: whatever the detector finds */

/* "csv", or the detector's name: what results say about their keypoints. */
const char *ev_keypoint_source_name(const ev_keypoint_source *source);
/* The image, as long as it is not too large. */
bool ev_image_load(const ev_keypoint_source *source, const char *path, io_image *out, io_error *error);
/* A gray image of 8 bits becomes width x height; every pixel is the mean over its footprint, so nothing aliases. */
void ev_image_resize(io_image *image, int32_t width, int32_t height);
/* The CSV file of an image, malloc'ed; scene may be NULL. */
char *ev_keypoint_path(const ev_keypoint_source *source, const char *scene, const char *image_path);
/* What a detector is asked for, where there is no folder. */
void ev_keypoint_options(const ev_keypoint_source *source, kb_detect_options *options);
/* max_keypoints overrides the source's unless it is 0; CSV files are taken whole. */
bool ev_keypoints_load(const ev_keypoint_source *source, const char *scene, const char *image_path,
                       const kb_image *image, int32_t max_keypoints, io_keypoints *out, io_error *error);

#endif
