/* A build without OpenCV has no peers (eval/peers.h). */
#include "eval/peers.h"

#ifndef KB_HAVE_OPENCV

static bool none(const char *name, io_error *error)
{
    return io_fail(error, "%s: this program was built without OpenCV, so there are no peers", name);
}

const char *ev_peer_find(const char *name, io_error *error)
{
    none(name, error);
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
    return none(peer, error);
}

bool ev_peer_describe_patches(const char *peer, const uint8_t *patches, size_t n, int32_t side, io_rows *out,
                              io_error *error)
{
    (void)patches, (void)n, (void)side, (void)out;
    return none(peer, error);
}

bool ev_peer_keypoints(const char *peer, const kb_image *image, int32_t max_keypoints, io_keypoints *out, float *scale,
                       io_error *error)
{
    (void)image, (void)max_keypoints, (void)out, (void)scale;
    return none(peer, error);
}

void ev_peers_threads(int32_t threads) { (void)threads; }

bool ev_peer_detect(kb_detector detector, const kb_image *image, int32_t max_keypoints, io_keypoints *out,
                    io_error *error)
{
    (void)image, (void)max_keypoints, (void)out;
    return none(kb_detector_name(detector), error);
}

bool ev_peer_match(const io_rows *a, const io_rows *b, kb_match *matches, size_t *count, io_error *error)
{
    (void)a, (void)b, (void)matches, (void)count;
    return none("matching", error);
}

bool ev_peer_fit(const kb_pair *pairs, size_t n, io_error *error)
{
    (void)pairs, (void)n;
    return none("fitting", error);
}

#endif
