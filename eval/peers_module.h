/* SPDX-License-Identifier: Apache-2.0 */
/* What the shared module keybits-peers.so gives to eval/peers.c, which loads it when a benchmark asks for a peer. The
 * module needs OpenCV and nothing of ours: so the program starts without OpenCV's libraries, and runs where they are
 * not installed. Rows and keypoints come from malloc. */
#ifndef EVAL_PEERS_MODULE_H
#define EVAL_PEERS_MODULE_H

#include "keybits/keybits.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "io/csv.h"
#include "io/rows.h"

#define EV_PEERS_ABI 2 /* counts up with every change of the struct */

typedef struct ev_peers_module {
    uint32_t abi;
    const char *version; /* "OpenCV 4.6.0" */
    const char *(*name)(int index);
    /* Whether the peer describes these keypoints on the image itself; else it wants patches. */
    bool (*works_on_image)(const char *peer, const kb_keypoint *keypoints, size_t n, float scale);
    bool (*describe_image)(const char *peer, const kb_image *image, const kb_keypoint *keypoints, size_t n, float scale,
                           io_rows *out, io_error *error);
    bool (*describe_patches)(const char *peer, const uint8_t *patches, size_t n, int32_t side, io_rows *out,
                             io_error *error);
    bool (*keypoints)(const char *peer, const kb_image *image, int32_t max_keypoints, io_keypoints *out, float *scale,
                      io_error *error);
    void (*threads)(int32_t threads);
    bool (*detect)(kb_detector detector, const kb_image *image, int32_t max_keypoints, io_keypoints *out,
                   io_error *error);
    bool (*match)(const io_rows *a, const io_rows *b, kb_match *matches, size_t *count, io_error *error);
    bool (*fit)(const kb_point_pair *pairs, size_t n, io_error *error);
    bool (*essential)(const kb_point_pair *pairs, size_t n, const kb_camera *camera1, const kb_camera *camera2,
                      double threshold, double rotation[9], double translation[3], bool *found, io_error *error);
    bool (*pose)(const kb_scene_point *points, size_t n, const kb_camera *camera, double threshold, double rotation[9],
                 double translation[3], bool *found, io_error *error);
} ev_peers_module;

/* The one symbol of the module. */
#define EV_PEERS_ENTRY "keybits_peers"
typedef const ev_peers_module *ev_peers_entry(void);

#ifdef __cplusplus
}
#endif
#endif
