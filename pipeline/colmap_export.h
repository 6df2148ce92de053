/* SPDX-License-Identifier: Apache-2.0 */
/* From images to a database that COLMAP can verify and reconstruct: keypoints, descriptors, matches of all pairs. */
#ifndef PIPELINE_COLMAP_EXPORT_H
#define PIPELINE_COLMAP_EXPORT_H

#include "io/colmap_db.h"
#include "pipeline/pipeline.h"

typedef struct colmap_export_options {
    /* Fills the features of an image; called from several threads. */
    bool (*describe)(void *context, const char *path, features *out, io_error *error);
    /* Completes them, image after image in order; NULL: nothing to complete. */
    bool (*complete)(void *context, const char *path, features *out, io_error *error);
    void *context;
    float max_ratio, max_distance; /* 0: mutual nearest neighbours alone, as the paper did */
    bool filter;                   /* kb_filter on the matches */
    const char *pairs;             /* file of pairs of image names to match; NULL: all pairs */
    const io_camera *camera;       /* shared by all images; NULL: a guess for each */
    bool one_camera;               /* the guess is shared by all images too */
    const kb_parallel *parallel;
    bool quiet;
} colmap_export_options;

typedef struct colmap_export_counts {
    size_t images, keypoints, pairs, matches;
} colmap_export_counts;

/* The database, and the list of pairs that `colmap matches_importer --match_type pairs` wants. counts may be NULL. */
bool colmap_export(const io_names *images, const colmap_export_options *options, const char *database,
                   const char *pair_list, colmap_export_counts *counts, io_error *error);

#endif
