/* A sparse model of COLMAP, text (cameras.txt, images.txt, points3D.txt) or binary (.bin), and keypoints out of its
 * database.
 *
 * COLMAP's pixel (0.5, 0.5) is the centre of the first pixel; here everything follows the house rule, where that is (0,
 * 0). */
#ifndef KBI_COLMAP_MODEL_H
#define KBI_COLMAP_MODEL_H

#include "io/file.h"
#include "keybits/keybits.h"

#define KBI_COLMAP_NO_POINT UINT64_MAX

/* Lens distortion is left out: it does not matter for how a small region is turned and scaled. */
typedef struct kbi_colmap_camera {
    uint32_t id;
    int32_t width, height;
    double focal, cx, cy;
} kbi_colmap_camera;

typedef struct kbi_colmap_feature {
    double x, y;
    uint64_t point; /* id of the 3D point, or KBI_COLMAP_NO_POINT */
} kbi_colmap_feature;

typedef struct kbi_colmap_image {
    uint32_t id, camera; /* camera: index into cameras */
    char *name;
    double rotation[9], translation[3]; /* world to camera */
    kbi_colmap_feature *features;        /* in the order of the database's keypoints */
    size_t feature_count;
} kbi_colmap_image;

typedef struct kbi_colmap_point {
    uint64_t id;
    double position[3];
    double error; /* mean reprojection error, px */
} kbi_colmap_point;

typedef struct kbi_colmap_model {
    kbi_colmap_camera *cameras;
    size_t camera_count;
    kbi_colmap_image *images; /* by name */
    size_t image_count;
    kbi_colmap_point *points; /* by id */
    size_t point_count;
} kbi_colmap_model;

/* folder holds the three files, .bin or .txt; .bin is taken when both are there. */
bool kbi_colmap_model_read(const char *folder, kbi_colmap_model *out, io_error *error);
void kbi_colmap_model_free(kbi_colmap_model *model);
/* The index of a point by its id, or SIZE_MAX. */
size_t kbi_colmap_point_index(const kbi_colmap_model *model, uint64_t id);

/* The keypoints of an image in a database, COLMAP's scale as diameter 2 x scale like SIFT's elsewhere; malloc'ed. An
 * image that has none gives count 0. */
bool kbi_colmap_keypoints_read(const char *database, uint32_t image_id, kb_keypoint **keypoints, size_t *count,
                              io_error *error);

#endif
