/* COLMAP's database, as version 3.8 makes it (user_version 3800): cameras, images, keypoints and matches in; what
 * COLMAP verified out. COLMAP counts pixels from the corner of the first one, so half a pixel is added here. */
#ifndef EVAL_COLMAP_DB_H
#define EVAL_COLMAP_DB_H

#include "io/file.h"
#include "keybits/keybits.h"

typedef struct ev_colmap ev_colmap;

/* COLMAP's numbers of camera models. */
typedef enum ev_camera_model {
    EV_SIMPLE_PINHOLE = 0, /* f, cx, cy */
    EV_PINHOLE = 1,        /* fx, fy, cx, cy */
    EV_SIMPLE_RADIAL = 2,  /* f, cx, cy, k */
    EV_RADIAL = 3,         /* f, cx, cy, k1, k2 */
    EV_OPENCV = 4          /* fx, fy, cx, cy, k1, k2, p1, p2 */
} ev_camera_model;

typedef struct ev_camera {
    ev_camera_model model;
    double parameters[8];
    bool known; /* the focal length is a measurement, not a guess */
} ev_camera;

/* "PINHOLE,2759,2764,1520,1006": COLMAP's name of the model and its parameters, in px. */
bool ev_camera_parse(const char *text, ev_camera *camera, io_error *error);
/* COLMAP's guess for a camera nobody knows: SIMPLE_RADIAL with f = 1.2 x the longer side. */
ev_camera ev_camera_guess(int32_t width, int32_t height);

/* Nothing is at `path` before the commit. After a function has given false, only abandon helps. */
ev_colmap *ev_colmap_create(const char *path, io_error *error);
bool ev_colmap_add_camera(ev_colmap *db, const ev_camera *camera, int32_t width, int32_t height, int64_t *id,
                          io_error *error);
bool ev_colmap_add_image(ev_colmap *db, const char *name, int64_t camera, int64_t *id, io_error *error);
bool ev_colmap_add_keypoints(ev_colmap *db, int64_t image, const kb_keypoint *keypoints, size_t n, io_error *error);
/* Matches of image a's keypoints with image b's; a != b. */
bool ev_colmap_add_matches(ev_colmap *db, int64_t a, int64_t b, const kb_match *matches, size_t n, io_error *error);
bool ev_colmap_commit(ev_colmap *db, io_error *error); /* frees db */
void ev_colmap_abandon(ev_colmap *db);

/* How many pairs of images COLMAP verified, and how many matches in them. */
bool ev_colmap_verified(const char *path, int64_t *pairs, int64_t *matches, io_error *error);

#endif
