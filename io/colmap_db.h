/* SPDX-License-Identifier: Apache-2.0 */
/* COLMAP's database, as version 3.8 makes it (user_version 3800): cameras, images, keypoints and matches in; what
 * COLMAP verified out. COLMAP counts pixels from the corner of the first one, so half a pixel is added here. */
#ifndef IO_COLMAP_DB_H
#define IO_COLMAP_DB_H

#include "io/file.h"
#include "keybits/keybits.h"

typedef struct io_colmap_db io_colmap_db;

/* COLMAP's numbers of camera models. */
typedef enum io_camera_model {
    IO_SIMPLE_PINHOLE = 0, /* f, cx, cy */
    IO_PINHOLE = 1,        /* fx, fy, cx, cy */
    IO_SIMPLE_RADIAL = 2,  /* f, cx, cy, k */
    IO_RADIAL = 3,         /* f, cx, cy, k1, k2 */
    IO_OPENCV = 4          /* fx, fy, cx, cy, k1, k2, p1, p2 */
} io_camera_model;

typedef struct io_camera {
    io_camera_model model;
    double parameters[8];
    bool known; /* the focal length is a measurement, not a guess */
} io_camera;

/* "PINHOLE,2759,2764,1520,1006": COLMAP's name of the model and its parameters, in px. */
bool io_camera_parse(const char *text, io_camera *camera, io_error *error);
/* COLMAP's guess for a camera nobody knows: SIMPLE_RADIAL with f = 1.2 x the longer side. */
io_camera io_camera_guess(int32_t width, int32_t height);
/* The same with a focal length that is known as a multiple of the longer side (io_image_focal). */
io_camera io_camera_of_focal(int32_t width, int32_t height, double focal);
/* In our pixels. */
kb_camera io_camera_lens(const io_camera *camera);
/* COLMAP's quaternion of a rotation: w, x, y, z. */
void io_quaternion_of(const double rotation[9], double q[4]);

/* A 3x3 matrix K.txt in the folder, as the Strecha sets have it, becomes a PINHOLE camera. False when there is none or
 * it is none. */
bool io_camera_from_folder(const char *folder, io_camera *camera);

/* Nothing is at `path` before the commit. After a function has given false, only abandon helps. */
io_colmap_db *io_colmap_db_create(const char *path, io_error *error);
bool io_colmap_db_add_camera(io_colmap_db *db, const io_camera *camera, int32_t width, int32_t height, int64_t *id,
                          io_error *error);
bool io_colmap_db_add_image(io_colmap_db *db, const char *name, int64_t camera, int64_t *id, io_error *error);
/* Where the image was taken: latitude, longitude, altitude, as COLMAP 3.8 has priors. */
bool io_colmap_db_set_prior(io_colmap_db *db, int64_t image, const double prior[3], io_error *error);
bool io_colmap_db_add_keypoints(io_colmap_db *db, int64_t image, const kb_keypoint *keypoints, size_t n,
                                io_error *error);
/* Matches of image a's keypoints with image b's; a != b. */
bool io_colmap_db_add_matches(io_colmap_db *db, int64_t a, int64_t b, const kb_match *matches, size_t n,
                              io_error *error);
/* What two views have in common, as kb_verification says it, in our pixels. */
typedef struct io_two_view {
    kb_geometry geometry;                         /* fundamental, essential, homography or rotation */
    const double *model, *rotation, *translation; /* 9, 9 and 3 numbers; the last two of essential and rotation */
    const kb_camera *cameras;                     /* two; NULL: not known */
} io_two_view;
/* Verified matches with the geometry that they fit: COLMAP's mapper takes them without matching anything itself. Its
 * names: fundamental is uncalibrated, essential calibrated, rotation panoramic; homography planar, without cameras
 * planar or panoramic. */
bool io_colmap_db_add_geometry(io_colmap_db *db, int64_t a, int64_t b, const kb_match *matches, size_t n,
                               const io_two_view *view, io_error *error);
bool io_colmap_db_commit(io_colmap_db *db, io_error *error); /* frees db */
void io_colmap_db_abandon(io_colmap_db *db);

/* How many pairs of images COLMAP verified, and how many matches in them. */
bool io_colmap_db_verified(const char *path, int64_t *pairs, int64_t *matches, io_error *error);

/* The keypoints of an image, COLMAP's scale as diameter 2 x scale like SIFT's elsewhere; malloc'ed. An image that has
 * none gives count 0. */
bool io_colmap_db_keypoints(const char *path, uint32_t image_id, kb_keypoint **keypoints, size_t *count,
                            io_error *error);

#endif
