/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of places: rows of descriptors with their 3-D points, made of a reconstruction and its photographs. A photograph
 * that is new finds its pose in one (localize.h).
 *
 * Points are made anew from our own keypoints: images that share points of the reconstruction are matched, matches that
 * the known poses contradict are dropped, and what is left becomes tracks and points. So it does not matter which
 * features the reconstruction was made of.
 *
 * The file (.kbl) is used where it lies in memory. Per row it has the row itself, 4 bytes for its point and up to 8 for
 * its word in the index; points have 24 bytes each. */
#ifndef COLLECTION_MAP_H
#define COLLECTION_MAP_H

#include "collection/photos.h"

typedef struct map_image {
    const char *name;
    double rotation[9], translation[3]; /* world to camera */
    kb_camera lens;
    int32_t width, height;
    uint32_t first, count; /* rows */
} map_image;

typedef struct map_info {
    uint64_t model_id;
    char model[32];
    int32_t detector, revision, orientation, max_keypoints, max_size;
} map_info;

typedef struct map {
    io_mapping file;
    map_info info;
    size_t row_bytes, row_count, point_count, image_count;
    const uint8_t *rows, *row_points, *points; /* in the file; little endian */
    map_image *images;                         /* owned; names are in the file */
    kb_index *index;
} map;

/* What is in the file is checked; a damaged one is an error. */
bool map_open(const char *path, map *out, io_error *error);
void map_close(map *m);
/* The index of a row's point, and a point. */
uint32_t map_row_point(const map *m, size_t row);
void map_point(const map *m, size_t point, double out[3]);

typedef struct map_counts {
    size_t images, failed, keypoints, pairs, rows, points;
    double rms; /* px, mean error of observations */
} map_counts;

/* model: the folder of COLMAP's model. images: the folder that its names are below. The pipeline is open and has binary
 * rows; vocabulary as in photos_vocabulary_open. */
bool map_build(const pipeline *p, const io_read_options *reading, const char *model, const char *images,
               const char *vocabulary, const photos_host *host, const char *output, map_counts *counts, io_error *error);

#endif
