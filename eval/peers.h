/* Other people's descriptors, through OpenCV, to compare with. A build without OpenCV has none. C on this side, C++ behind. */
#ifndef EVAL_PEERS_H
#define EVAL_PEERS_H

#include "io/file.h"
#include "io/rows.h"
#include "keybits/keybits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "cv:orb" and so on; the result lives for ever. NULL, with a sentence that lists the names, for another one. */
const char *ev_peer_find(const char *name, io_error *error);
/* The names, index from 0; NULL past the last. */
const char *ev_peer_name(int index);
/* "OpenCV 4.6.0", or "none". */
const char *ev_peers_version(void);

/* A row for every keypoint. A peer whose own detector's keypoints are given (told by the scale: orb 1, sift 6.75) works on
 * the image; else it gets the oriented region of scale x size, resampled to 32x32, and describes that upright. */
bool ev_peer_describe(const char *peer, const kb_image *image, const kb_keypoint *keypoints, size_t n, float scale,
                      io_rows *out, io_error *error);
bool ev_peer_describe_patches(const char *peer, const uint8_t *patches, size_t n, int32_t side, io_rows *out,
                              io_error *error);

#ifdef __cplusplus
}
#endif
#endif
