/* SPDX-License-Identifier: Apache-2.0 */
/* Peers to compare with: OpenCV's descriptors on given keypoints or patches, and its other steps. They are in a module,
 * keybits-peers.so, which is loaded by the first call: from where the environment's KEYBITS_PEERS says, from beside the
 * program, or from where it is installed. Where there is none, there are no peers. */
#ifndef EVAL_PEERS_H
#define EVAL_PEERS_H

#include "io/csv.h"
#include "io/rows.h"
#include "keybits/advanced.h"

/* Loads the module; false with the reason when there is none. */
bool ev_peers_available(io_error *error);
/* "cv:orb" and so on; the result lives for ever. NULL, with a sentence that lists the names, for another one. */
const char *ev_peer_find(const char *name, io_error *error);
/* The names, index from 0; NULL past the last. */
const char *ev_peer_name(int index);
/* "OpenCV 4.6.0", or "none". */
const char *ev_peers_version(void);

/* A row for every keypoint. A peer whose own detector's keypoints are given (told by the scale: orb 1, brisk and akaze
 * 5, sift 6.75) works on the image itself, and keypoints that it refuses get rows of zeros; else it gets the oriented
 * region of scale x size, resampled to 32x32, and describes that upright. Safe to call from several threads. */
bool ev_peer_describe(const char *peer, const kb_image *image, const kb_keypoint *keypoints, size_t n, float scale,
                      io_rows *out, io_error *error);
bool ev_peer_describe_patches(const char *peer, const uint8_t *patches, size_t n, int32_t side, io_rows *out,
                              io_error *error);

/* The best max_keypoints of the detector that belongs to the peer, and their preset: what it describes on the image
 * itself. */
bool ev_peer_keypoints(const char *peer, const kb_image *image, int32_t max_keypoints, io_keypoints *out, float *scale,
                       io_error *error);

/* The other steps of the pipeline, for timing. Threads: OpenCV's own, for the whole program. */
void ev_peers_threads(int32_t threads);
bool ev_peer_detect(kb_detector detector, const kb_image *image, int32_t max_keypoints, io_keypoints *out,
                    io_error *error);
/* BFMatcher with crossCheck; `matches` has room for a->count. */
bool ev_peer_match(const io_rows *a, const io_rows *b, kb_match *matches, size_t *count, io_error *error);
/* findHomography with USAC_PROSAC, 3 px; pairs best first. */
bool ev_peer_fit(const kb_point_pair *pairs, size_t n, io_error *error);
/* findEssentialMat with USAC_ACCURATE, then recoverPose; solvePnPRansac with the defaults of USAC. Pairs and points
 * best first, cameras without distortion, threshold in px; the pose as kb_fit_report has it. */
bool ev_peer_essential(const kb_point_pair *pairs, size_t n, const kb_camera *camera1, const kb_camera *camera2,
                       double threshold, double rotation[9], double translation[3], bool *found, io_error *error);
bool ev_peer_pose(const kb_scene_point *points, size_t n, const kb_camera *camera, double threshold, double rotation[9],
                  double translation[3], bool *found, io_error *error);

#endif
