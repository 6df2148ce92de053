/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/keypoints.h"
#include "eval/peers.h"

#define OVERLAP    0.5
#define SIZE_RATIO 0.8
#define PI         3.14159265358979323846

const double ev_scales[EV_SCALES] = {1.5, 2, 2.5};

/* -------------------------------------------------------------------------------------------------------- detectors */

static kb_detector detector_of(const char *name)
{
    for (int d = 1; kb_name(KB_NAMES_DETECTOR, d); d++)
        if (strcmp(kb_name(KB_NAMES_DETECTOR, d), name) == 0) return (kb_detector)d;
    return (kb_detector)0;
}

bool ev_scale_detector_find(const char *detector, io_error *error)
{
    if (strncmp(detector, "cv:", 3) == 0) return ev_peer_find(detector, error) != NULL;
    return detector_of(detector) || io_fail(error, "%s: no such detector", detector);
}

static bool scale_detect(const char *detector, int32_t max_keypoints, const char *path, const kb_image *image,
                         io_keypoints *out, io_error *error)
{
    float scale;
    const ev_keypoint_source source = {.detector = detector_of(detector), .max_keypoints = max_keypoints};
    if (source.detector) return ev_keypoints_load(&source, NULL, path, image, 0, out, error);
    return ev_peer_keypoints(detector, image, max_keypoints, out, &scale, error);
}

/* ---------------------------------------------------------------------------------------------------------- scoring */

/* The area that is cut off a circle of radius r by a chord at distance d from its centre, d from -r to r. */
static double segment(double r, double d)
{
    return r * r * acos(fmax(-1, fmin(1, d / r))) - d * sqrt(fmax(0, r * r - d * d));
}

/* The area that two circles share, over the area that they cover together. */
static double overlap(double distance, double r, double s)
{
    double shared = 0, least = fmin(r, s);
    if (distance <= fabs(r - s))
        shared = PI * least * least;
    else if (distance < r + s) {
        double d = (distance * distance + r * r - s * s) / (2 * distance);
        shared = segment(r, d) + segment(s, distance - d);
    }
    return shared / (PI * (r * r + s * s) - shared);
}

/* A keypoint of the small image, as the image would have it. */
static kb_keypoint brought_back(const kb_keypoint *k, const double scale[2])
{
    kb_keypoint out = *k;
    out.x = (float)((k->x + 0.5) * scale[0] - 0.5);
    out.y = (float)((k->y + 0.5) * scale[1] - 0.5);
    out.size = (float)(k->size * sqrt(scale[0] * scale[1]));
    return out;
}

ev_scale_score ev_scale_compare(const io_keypoints *image, const io_keypoints *small, const double scale[2])
{
    size_t repeated = 0, sized = 0;
    for (size_t i = 0; i < small->count; i++) {
        kb_keypoint a = brought_back(&small->items[i], scale);
        double best = 0, size = 0;
        for (size_t j = 0; j < image->count; j++) {
            const kb_keypoint *b = &image->items[j];
            double shared = overlap(hypot(a.x - b->x, a.y - b->y), 0.5 * a.size, 0.5 * b->size);
            if (shared > best) best = shared, size = b->size;
        }
        if (best < OVERLAP) continue;
        repeated++;
        sized += fmin(a.size, size) > SIZE_RATIO * fmax(a.size, size);
    }
    return (ev_scale_score){(double)small->count, small->count ? (double)repeated / (double)small->count : 0,
                            repeated ? (double)sized / (double)repeated : 0};
}

static bool scale_image(const char *path, const char *detector, int32_t max_keypoints, ev_scale_score scores[EV_SCALES],
                        io_error *error)
{
    io_image image = {0};
    io_keypoints keypoints = {NULL, 0};
    bool good = io_image_read(path, NULL, &image, error) &&
                scale_detect(detector, max_keypoints, path, &image.view, &keypoints, error);
    for (int s = 0; s < EV_SCALES && good; s++) {
        io_image small = {0};
        io_keypoints found = {NULL, 0};
        good = io_image_read(path, NULL, &small, error);
        if (!good) break;
        ev_image_resize(&small, (int32_t)fmax(1, small.width / ev_scales[s]),
                        (int32_t)fmax(1, small.height / ev_scales[s]));
        const double scale[2] = {(double)image.width / small.width, (double)image.height / small.height};
        good = scale_detect(detector, max_keypoints, path, &small.view, &found, error);
        ev_scale_score score = ev_scale_compare(&keypoints, &found, scale);
        scores[s].keypoints += score.keypoints;
        scores[s].repeated += score.repeated;
        scores[s].sized += score.sized;
        io_keypoints_free(&found);
        io_image_free(&small);
    }
    io_keypoints_free(&keypoints);
    io_image_free(&image);
    return good;
}

bool ev_scale_run(const io_names *images, const char *detector, int32_t max_keypoints, ev_scale_score scores[EV_SCALES],
                  io_error *error)
{
    bool good = true;
    memset(scores, 0, EV_SCALES * sizeof *scores);
    for (size_t i = 0; i < images->count && good; i++)
        good = scale_image(images->items[i], detector, max_keypoints, scores, error);
    for (int s = 0; s < EV_SCALES; s++) {
        scores[s].keypoints /= (double)images->count;
        scores[s].repeated /= (double)images->count;
        scores[s].sized /= (double)images->count;
    }
    return good;
}
