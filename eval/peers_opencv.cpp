/* SPDX-License-Identifier: Apache-2.0 */
/* The module keybits-peers.so: OpenCV's descriptors, detectors, matcher and fit behind eval/peers_module.h.
 *
 * A descriptor that takes patches only gets them through an image: many patches are laid out on one canvas, each in a
 * cell of its own whose border repeats the patch's edge, with a keypoint of fixed size in the middle. The peer's own
 * region around such a keypoint is about as wide as the patch. */
#include "eval/peers_module.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <opencv2/calib3d.hpp>
#include <opencv2/core.hpp>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/opencv_modules.hpp>
#ifdef HAVE_OPENCV_XFEATURES2D
#  include <opencv2/xfeatures2d.hpp>
#endif

namespace {

using Keypoints = std::vector<cv::KeyPoint>;
using Extractor = cv::Ptr<cv::Feature2D>;

struct Peer {
    const char *name;
    Extractor (*create)(float scale);
    float own_scale; // preset of its own detector's keypoints; 0: never on the image; -1: always
    int side;        // patches are brought to this size for it
    float size;      // of the keypoint in the middle of such a patch
    int octave;      // and its octave, as its detector would write it
    bool root;       // RootSIFT: the square root of the rows
};

Extractor orb(float) { return cv::ORB::create(1 << 20); }
Extractor brisk(float) { return cv::BRISK::create(); }
Extractor akaze(float) { return cv::AKAZE::create(); }
Extractor sift(float) { return cv::SIFT::create(); }
#ifdef HAVE_OPENCV_XFEATURES2D
Extractor latch(float) { return cv::xfeatures2d::LATCH::create(64); }
Extractor freak(float) { return cv::xfeatures2d::FREAK::create(false); }
Extractor beblid256(float scale)
{
    return cv::xfeatures2d::BEBLID::create(scale, cv::xfeatures2d::BEBLID::SIZE_256_BITS);
}
Extractor beblid512(float scale)
{
    return cv::xfeatures2d::BEBLID::create(scale, cv::xfeatures2d::BEBLID::SIZE_512_BITS);
}
#  if CV_VERSION_MAJOR > 4 || CV_VERSION_MINOR >= 7
Extractor teblid256(float scale)
{
    return cv::xfeatures2d::TEBLID::create(scale, cv::xfeatures2d::TEBLID::SIZE_256_BITS);
}
Extractor teblid512(float scale)
{
    return cv::xfeatures2d::TEBLID::create(scale, cv::xfeatures2d::TEBLID::SIZE_512_BITS);
}
#  endif
#endif

const int second_layer = 2 << 8; // of SIFT's octave 0, whose blur belongs to a keypoint of that size

const Peer peers[] = {
    {"cv:orb", orb, 1, 32, 31, 0, false},
    {"cv:brisk", brisk, 5, 32, 16, 0, false},
    {"cv:akaze", akaze, 5, 40, 4, 0, false}, // its region is 20 px times half the size
    {"cv:sift", sift, 6.75f, 32, 32 / 6.75f, second_layer, false},
    {"cv:rootsift", sift, 6.75f, 32, 32 / 6.75f, second_layer, true},
#ifdef HAVE_OPENCV_XFEATURES2D
    {"cv:latch", latch, 1, 48, 48, 0, false},
    {"cv:freak", freak, 0, 64, 7, 0, false},
    {"cv:beblid256", beblid256, -1, 32, 32, 0, false},
    {"cv:beblid512", beblid512, -1, 32, 32, 0, false},
#  if CV_VERSION_MAJOR > 4 || CV_VERSION_MINOR >= 7
    {"cv:teblid256", teblid256, -1, 32, 32, 0, false},
    {"cv:teblid512", teblid512, -1, 32, 32, 0, false},
#  endif
#endif
};
const size_t peer_count = sizeof peers / sizeof *peers;

const Peer *find(const char *name)
{
    for (const Peer &peer : peers)
        if (std::strcmp(peer.name, name) == 0) return &peer;
    return nullptr;
}

bool failed(const char *what, const std::exception &e, io_error *error)
{
    std::string text = e.what();
    for (char &c : text)
        if (c == '\n') c = ' ';
    if (error) std::snprintf(error->text, sizeof error->text, "%s: %s", what, text.c_str());
    return false;
}

template <typename T> T *zeroed(size_t count)
{
    void *block = std::calloc(count + 1, sizeof(T));
    if (!block) throw std::bad_alloc();
    return (T *)block;
}

void free_rows(io_rows *rows)
{
    std::free(rows->bytes);
    std::free(rows->floats);
    *rows = io_rows{nullptr, nullptr, 0, 0};
}

/* ---- rows ---- */

void allocate(io_rows *out, size_t n, const cv::Feature2D &extractor)
{
    *out = io_rows{nullptr, nullptr, n, (size_t)extractor.descriptorSize()};
    if (extractor.descriptorType() == CV_32F) out->floats = zeroed<float>(n * out->width);
    else out->bytes = zeroed<uint8_t>(n * out->width);
}

void put_row(io_rows *out, size_t at, const cv::Mat &rows, int from)
{
    if (out->floats) std::memcpy(out->floats + at * out->width, rows.ptr<float>(from), out->width * sizeof(float));
    else std::memcpy(out->bytes + at * out->width, rows.ptr<uint8_t>(from), out->width);
}

/* Each value divided by the sum of its row, and the square root of that. */
void take_roots(io_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        float *row = rows->floats + i * rows->width, sum = 0;
        for (size_t k = 0; k < rows->width; k++) sum += row[k];
        for (size_t k = 0; k < rows->width && sum > 0; k++) row[k] = std::sqrt(row[k] / sum);
    }
}

/* Extractors may drop keypoints or change their order; class_id remembers where each row belongs. AKAZE does neither,
 * and its class_id is the level of its scale space. */
void compute(const Peer &peer, cv::Feature2D &extractor, const cv::Mat &image, Keypoints keypoints, size_t first,
             io_rows *out)
{
    cv::Mat rows;
    bool number = peer.create != akaze;
    for (size_t i = 0; i < keypoints.size() && number; i++) keypoints[i].class_id = (int)i;
    extractor.compute(image, keypoints, rows);
    for (int i = 0; i < rows.rows; i++)
        put_row(out, first + (size_t)(number ? keypoints[(size_t)i].class_id : i), rows, i);
}

/* ---- on the image ---- */

/* ORB reads its pyramid level out of the octave, SIFT its octave and layer, AKAZE its level out of class_id; others'
 * keypoints would crash them. */
bool octaves_fit(const Peer &peer, const kb_keypoint *keypoints, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int octave = keypoints[i].octave;
        if (peer.create == akaze && keypoints[i].class_id < 0) return false;
        if (peer.create == orb && (octave < 0 || octave > 7)) return false;
        if (peer.create == sift && (octave >> 8 & 255) > 3) return false;
        if (peer.create == sift && (octave & 255) > 12 && (octave & 255) != 255) return false;
    }
    return true;
}

bool works_on_image(const Peer &peer, const kb_keypoint *keypoints, size_t n, float scale)
{
    return peer.own_scale < 0 || (peer.own_scale == scale && octaves_fit(peer, keypoints, n));
}

cv::Mat view(const kb_image *image)
{
    return cv::Mat(image->height, image->width, CV_8UC1, const_cast<void *>(image->data), (size_t)image->stride);
}

Keypoints convert(const kb_keypoint *keypoints, size_t n)
{
    Keypoints out(n);
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint &k = keypoints[i];
        out[i] = cv::KeyPoint(k.x, k.y, k.size, k.angle, k.response, k.octave, k.class_id);
    }
    return out;
}

void give(const Keypoints &found, io_keypoints *out)
{
    *out = io_keypoints{zeroed<kb_keypoint>(found.size()), found.size()};
    for (size_t i = 0; i < found.size(); i++) {
        const cv::KeyPoint &k = found[i];
        out->items[i] = kb_keypoint{k.pt.x, k.pt.y, k.size, k.angle, k.response, k.octave, k.class_id};
    }
}

/* ---- on patches ---- */

const int margin = 32; // ORB wants 31 pixels around a keypoint's cell
const int across = 16; // cells in a row of the canvas

void describe_canvas(const Peer &peer, cv::Feature2D &extractor, const uint8_t *patches, size_t n, int side,
                     size_t first, io_rows *out)
{
    int cell = peer.side + 2 * margin;
    cv::Mat canvas((int)((n + across - 1) / across) * cell, across * cell, CV_8UC1, cv::Scalar(0));
    Keypoints keypoints;
    for (size_t i = 0; i < n; i++) {
        cv::Mat patch(side, side, CV_8UC1, const_cast<uint8_t *>(patches + i * (size_t)side * (size_t)side)), fitted;
        int x = (int)(i % across) * cell, y = (int)(i / across) * cell;
        cv::resize(patch, fitted, cv::Size(peer.side, peer.side), 0, 0,
                   side > peer.side ? cv::INTER_AREA : cv::INTER_CUBIC);
        cv::copyMakeBorder(fitted, canvas(cv::Rect(x, y, cell, cell)), margin, margin, margin, margin,
                           cv::BORDER_REPLICATE);
        float middle = (float)margin + ((float)peer.side - 1) / 2;
        keypoints.emplace_back((float)x + middle, (float)y + middle, peer.size, 0.0f, 0.0f, peer.octave, 0);
    }
    compute(peer, extractor, canvas, keypoints, first, out);
}

void describe_patches(const Peer &peer, const uint8_t *patches, size_t n, int side, io_rows *out)
{
    const size_t batch = across * across;
    Extractor extractor = peer.create(1);
    allocate(out, n, *extractor);
    for (size_t at = 0; at < n; at += batch)
        describe_canvas(peer, *extractor, patches + at * (size_t)side * (size_t)side, std::min(batch, n - at), side, at,
                        out);
}

/* ------------------------------------------------------------------------------------------------- the interface */

const char *name_at(int index) { return index >= 0 && (size_t)index < peer_count ? peers[index].name : nullptr; }

bool describes_on_image(const char *name, const kb_keypoint *keypoints, size_t n, float scale)
{
    return works_on_image(*find(name), keypoints, n, scale);
}

/* Runs `work`, which fills *out; nothing is left in *out when it throws. */
template <typename Work> bool fill_rows(const char *name, io_rows *out, io_error *error, Work work)
{
    const Peer *peer = find(name);
    *out = io_rows{nullptr, nullptr, 0, 0};
    try {
        work(*peer);
    } catch (const std::exception &e) {
        free_rows(out);
        return failed(name, e, error);
    }
    if (peer->root) take_roots(out);
    return true;
}

bool peer_describe_image(const char *name, const kb_image *image, const kb_keypoint *keypoints, size_t n, float scale,
                         io_rows *out, io_error *error)
{
    return fill_rows(name, out, error, [&](const Peer &peer) {
        Extractor extractor = peer.create(scale);
        allocate(out, n, *extractor);
        compute(peer, *extractor, view(image), convert(keypoints, n), 0, out);
    });
}

bool peer_describe_patches(const char *name, const uint8_t *patches, size_t n, int32_t side, io_rows *out,
                           io_error *error)
{
    return fill_rows(name, out, error, [&](const Peer &peer) { describe_patches(peer, patches, n, side, out); });
}

void set_threads(int32_t threads) { cv::setNumThreads(threads > 0 ? threads : -1); }

bool peer_detect(kb_detector detector, const kb_image *image, int32_t max_keypoints, io_keypoints *out,
                    io_error *error)
{
    Keypoints found;
    try {
        Extractor extractor = detector == KB_DETECTOR_SIFT ? Extractor(cv::SIFT::create(max_keypoints))
                                                           : Extractor(cv::ORB::create(max_keypoints));
        extractor->detect(view(image), found);
        give(found, out);
    } catch (const std::exception &e) {
        return failed("OpenCV's detector", e, error);
    }
    return true;
}

bool peer_keypoints(const char *name, const kb_image *image, int32_t max_keypoints, io_keypoints *out, float *scale,
                       io_error *error)
{
    const Peer *peer = find(name);
    bool own = peer->create == brisk || peer->create == akaze || peer->create == sift; // the others take ORB's
    Keypoints found;
    try {
        Extractor detector = own ? peer->create(1) : Extractor(cv::ORB::create(max_keypoints));
        detector->detect(view(image), found);
        cv::KeyPointsFilter::retainBest(found, max_keypoints); // keeps all that are as strong as the last
        if (found.size() > (size_t)max_keypoints) found.resize((size_t)max_keypoints);
        give(found, out);
    } catch (const std::exception &e) {
        return failed(name, e, error);
    }
    *scale = own ? peer->own_scale : 1;
    return true;
}

bool peer_match(const io_rows *a, const io_rows *b, kb_match *matches, size_t *count, io_error *error)
{
    int type = a->bytes ? CV_8UC1 : CV_32FC1;
    void *first = a->bytes ? (void *)a->bytes : (void *)a->floats,
         *second = b->bytes ? (void *)b->bytes : (void *)b->floats;
    try {
        cv::Mat left((int)a->count, (int)a->width, type, first), right((int)b->count, (int)b->width, type, second);
        std::vector<cv::DMatch> found;
        cv::BFMatcher(a->bytes ? cv::NORM_HAMMING : cv::NORM_L2, true).match(left, right, found);
        *count = found.size();
        for (size_t i = 0; i < found.size(); i++)
            matches[i] = kb_match{found[i].queryIdx, found[i].trainIdx, found[i].distance, HUGE_VALF};
    } catch (const std::exception &e) {
        return failed("OpenCV's matcher", e, error);
    }
    return true;
}

bool peer_fit(const kb_point_pair *pairs, size_t n, io_error *error)
{
    try {
        std::vector<cv::Point2f> from(n), to(n);
        for (size_t i = 0; i < n; i++) {
            from[i] = cv::Point2f((float)pairs[i].x1, (float)pairs[i].y1);
            to[i] = cv::Point2f((float)pairs[i].x2, (float)pairs[i].y2);
        }
        if (n >= 4) cv::findHomography(from, to, cv::USAC_PROSAC, 3.0);
    } catch (const std::exception &e) {
        return failed("OpenCV's findHomography", e, error);
    }
    return true;
}

cv::Matx33d matrix_of(const kb_camera *c) { return cv::Matx33d(c->fx, 0, c->cx, 0, c->fy, c->cy, 0, 0, 1); }

void give_pose(const cv::Mat &r, const cv::Mat &t, double rotation[9], double translation[3])
{
    cv::Mat(r.reshape(1, 9)).convertTo(cv::Mat(9, 1, CV_64F, rotation), CV_64F);
    cv::Mat(t.reshape(1, 3)).convertTo(cv::Mat(3, 1, CV_64F, translation), CV_64F);
}

/* Two cameras: points of the second become those that the first would see along the same rays. */
bool peer_essential(const kb_point_pair *pairs, size_t n, const kb_camera *a, const kb_camera *b, double threshold,
                    double rotation[9], double translation[3], bool *found, io_error *error)
{
    *found = false;
    try {
        std::vector<cv::Point2d> from(n), to(n);
        for (size_t i = 0; i < n; i++) {
            from[i] = cv::Point2d(pairs[i].x1, pairs[i].y1);
            to[i] = cv::Point2d((pairs[i].x2 - b->cx) / b->fx * a->fx + a->cx,
                                (pairs[i].y2 - b->cy) / b->fy * a->fy + a->cy);
        }
        if (n < 6) return true;
        cv::Mat mask, r, t, e = cv::findEssentialMat(from, to, matrix_of(a), cv::USAC_ACCURATE, 0.995, threshold, mask);
        if (e.rows != 3 || e.cols != 3) return true;
        if (cv::recoverPose(e, from, to, matrix_of(a), r, t, mask) < 5) return true;
        give_pose(r, t, rotation, translation);
        *found = true;
    } catch (const std::exception &e) {
        return failed("OpenCV's findEssentialMat", e, error);
    }
    return true;
}

bool peer_pose(const kb_scene_point *points, size_t n, const kb_camera *camera, double threshold, double rotation[9],
               double translation[3], bool *found, io_error *error)
{
    *found = false;
    try {
        std::vector<cv::Point3d> object(n);
        std::vector<cv::Point2d> seen(n);
        for (size_t i = 0; i < n; i++) {
            object[i] = cv::Point3d(points[i].X, points[i].Y, points[i].Z);
            seen[i] = cv::Point2d(points[i].x, points[i].y);
        }
        if (n < 6) return true;
        cv::UsacParams params;
        params.threshold = threshold;
        params.confidence = 0.995;
        cv::Mat k(matrix_of(camera)), none, turn, t, r, inliers;
        if (!cv::solvePnPRansac(object, seen, k, none, turn, t, inliers, params)) return true;
        cv::Rodrigues(turn, r);
        give_pose(r, t, rotation, translation);
        *found = true;
    } catch (const std::exception &e) {
        return failed("OpenCV's solvePnPRansac", e, error);
    }
    return true;
}

const ev_peers_module the_module = {
    EV_PEERS_ABI,          "OpenCV " CV_VERSION,  name_at,     describes_on_image, peer_describe_image,
    peer_describe_patches, peer_keypoints,        set_threads, peer_detect,        peer_match,
    peer_fit,              peer_essential,        peer_pose,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const ev_peers_module *keybits_peers(void);
extern "C" const ev_peers_module *keybits_peers(void) { return &the_module; }
