/* A build without OpenCV has no peers (eval/peers.h). */
#include "eval/peers.h"

#ifndef KB_HAVE_OPENCV

const char *ev_peer_find(const char *name, io_error *error)
{
    io_fail(error, "%s: this program was built without OpenCV, so there are no peers", name);
    return NULL;
}

const char *ev_peer_name(int index)
{
    (void)index;
    return NULL;
}

const char *ev_peers_version(void) { return "none"; }

bool ev_peer_describe(const char *peer, const kb_image *image, const kb_keypoint *keypoints, size_t n, float scale,
                      io_rows *out, io_error *error)
{
    (void)image, (void)keypoints, (void)n, (void)scale, (void)out;
    return ev_peer_find(peer, error) != NULL;
}

bool ev_peer_describe_patches(const char *peer, const uint8_t *patches, size_t n, int32_t side, io_rows *out,
                              io_error *error)
{
    (void)patches, (void)n, (void)side, (void)out;
    return ev_peer_find(peer, error) != NULL;
}

#endif
