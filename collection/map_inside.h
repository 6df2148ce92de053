/* SPDX-License-Identifier: Apache-2.0 */
/* Inside maps: what is written, tracks, and the geometry of known poses. */
#ifndef COLLECTION_MAP_INSIDE_H
#define COLLECTION_MAP_INSIDE_H

#include "collection/map.h"

typedef struct map_parts {
    map_info info;
    size_t row_bytes, row_count, point_count, image_count;
    uint8_t *rows;
    uint32_t *row_points;
    double *points; /* 3 each */
    map_image *images;
    kb_index *index;
} map_parts;

bool map_write(const char *path, const map_parts *parts, io_error *error);

/* Where a camera with a known pose sees a keypoint. */
typedef struct map_view {
    const double *rotation, *translation; /* world to camera */
    const kb_camera *lens;
    double x, y, error; /* px; error: the largest that is allowed */
} map_view;

/* The point that views see, by least squares of the reprojection error; false when they are nearly parallel, or a view
 * is further off than allowed or has the point behind it (*worst is the one that is furthest off). */
bool map_triangulate(const map_view *views, size_t n, double point[3], size_t *worst, double *square_sum);
/* How far a match is from what two poses allow: the larger of the distances to the epipolar planes, as px at the centre of
 * an image; infinite when a pixel has no ray. */
double map_epipolar_error(const map_view *a, const map_view *b);

#endif
