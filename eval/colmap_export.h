/* From a folder of images to a database that COLMAP can verify and reconstruct: keypoints, descriptors, matches of all
 * pairs. */
#ifndef EVAL_COLMAP_EXPORT_H
#define EVAL_COLMAP_EXPORT_H

#include "io/colmap_db.h"
#include "eval/keypoints.h"
#include "eval/method.h"

typedef struct ev_export_options {
    ev_keypoint_source keypoints;
    float scale;
    float max_ratio;         /* 0: mutual nearest neighbours alone, as the paper did */
    const char *pairs;       /* file of pairs of image names to match; NULL: all pairs */
    const io_camera *camera; /* shared by all images; NULL: a guess for each */
    bool one_camera;         /* the guess is shared by all images too */
    const kb_parallel *parallel;
    bool quiet;
} ev_export_options;

typedef struct ev_export_counts {
    size_t images, keypoints, pairs, matches;
} ev_export_counts;

/* The database, and the list of pairs that `colmap matches_importer --match_type pairs` wants. counts may be NULL. */
bool ev_colmap_export(const io_names *images, ev_method *method, const ev_export_options *options, const char *database,
                      const char *pair_list, ev_export_counts *counts, io_error *error);

/* A 3x3 matrix K.txt in the folder, as the Strecha sets have it, becomes a PINHOLE camera. False when there is none or
 * it is none. */
bool ev_camera_from_folder(const char *folder, io_camera *camera);

#endif
