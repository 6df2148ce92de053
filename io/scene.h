/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse reconstruction: cameras, images with features, 3D points. Coordinates follow keybits.h: (0, 0) is the centre
 * of the first pixel. */
#ifndef IO_SCENE_H
#define IO_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include "keybits/advanced.h"

#define IO_SCENE_NO_POINT UINT64_MAX

/* focal, cx and cy leave the distortion out: it does not matter for how a small region is turned and scaled. */
typedef struct io_scene_camera {
    uint32_t id;
    int32_t width, height;
    double focal, cx, cy;
    kb_camera lens; /* all of it; struct_size 0: of a kind that kb_camera has not */
} io_scene_camera;

typedef struct io_scene_feature {
    double x, y;
    uint64_t point; /* id of the 3D point, or IO_SCENE_NO_POINT */
} io_scene_feature;

typedef struct io_scene_image {
    uint32_t id, camera; /* camera: index into cameras */
    char *name;
    double rotation[9], translation[3]; /* world to camera */
    io_scene_feature *features;        /* in the order of the database's keypoints */
    size_t feature_count;
} io_scene_image;

typedef struct io_scene_point {
    uint64_t id;
    double position[3];
    double error; /* mean reprojection error, px */
} io_scene_point;

typedef struct io_scene {
    io_scene_camera *cameras;
    size_t camera_count;
    io_scene_image *images; /* by name */
    size_t image_count;
    io_scene_point *points; /* by id */
    size_t point_count;
} io_scene;

void io_scene_free(io_scene *scene);
/* The index of a point by its id, or SIZE_MAX. */
size_t io_scene_point_index(const io_scene *scene, uint64_t id);
/* The ids of the points that an image sees, ascending, each once; malloc'ed. */
uint64_t *io_scene_seen(const io_scene_image *image, size_t *count);
/* How many ids two such lists have in common; out receives them, unless it is NULL. */
size_t io_scene_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *out);

#endif
