/* SPDX-License-Identifier: Apache-2.0 */
/* Points from one image to the next: kb_track_points.
 *
 * The window around a point is aligned with the other image by translations (match/align.c), from the coarsest level of
 * half, a quarter, ... of the resolution to the image itself; each level begins where the one before ended. Then the
 * point is followed back the same way: one that does not return to where it came from is lost. */
#include <math.h>

#include "common/features.h"
#include "common/options.h"
#include "image/kernels.h"
#include "match/align.h"
#include "track/track.h"

#define STEP 2 /* levels of the pyramid from one resolution to its half */

static const kbi_option track_options[] = {
    KBI_OPTION(kb_track_options, levels, 'i', 4, 1, 8),
    KBI_OPTION(kb_track_options, iterations, 'i', 10, 1, 1000),
    KBI_OPTION(kb_track_options, min_correlation, 'f', 0.7, 0, 1),
    KBI_OPTION(kb_track_options, max_error, 'f', 0.5, 0, 65535),
    KBI_OPTION(kb_track_options, predicted, 'i', 0, 0, 1),
    KBI_OPTION(kb_track_options, max_points, 'i', 300, 1, 1000000),
    KBI_OPTION(kb_track_options, mask_margin, 'i', 0, 0, 65535),
};

kb_status kbi_track_options_read(const kb_track_options *given, kb_track_options *o, kb_error *error)
{
    return KBI_OPTIONS_READ(kb_track_options, track_options, o, given, error);
}

uint32_t kbi_track_levels(const kb_track_options *o)
{
    uint32_t wanted = 0;
    for (int32_t i = 1; i < o->levels; i++) wanted |= (uint32_t)1 << STEP * i;
    return wanted;
}

/* ---- one point ---- */

/* The window of 16 x 16 px of a level around a point of the image. False outside the image, for NaN too. */
static bool window_at(kbi_frame *frame, track_point point, int32_t level, const kbi_pyramid *levels)
{
    double x = (double)point.x, y = (double)point.y, factor = kbi_pyramid_factor(level);
    *frame = (kbi_frame){level, (x + 0.5) / factor - 0.5, (y + 0.5) / factor - 0.5, {1, 0, 0, 1}};
    return x >= -0.5 && y >= -0.5 && x < levels->width[0] - 0.5 && y < levels->height[0] - 0.5;
}

/* Moves `to`, which is the guess, to where the point is in image b; the correlation on the finest level. */
static double follow(const kbi_pyramid *a, const kbi_pyramid *b, track_point from, const kb_track_options *o,
                     track_point *to)
{
    double correlation = 0;
    for (int32_t i = o->levels - 1; i >= 0; i--) {
        kbi_frame window, moved;
        if (!window_at(&window, from, STEP * i, a) || !window_at(&moved, *to, STEP * i, b)) return 0;
        correlation = kbi_align(a, &window, b, &moved, KBI_ALIGN_TRANSLATION, o->iterations);
        if (correlation < 0 && i > 0) continue; /* a level without structure moves nothing */
        double x, y;
        kbi_frame_point(&moved, &x, &y);
        *to = (track_point){(float)x, (float)y};
    }
    return correlation;
}

static bool returns(const kbi_pyramid *a, const kbi_pyramid *b, track_point from, track_point to,
                    const kb_track_options *o)
{
    track_point back = {to.x, to.y};
    if (o->predicted) back = from; /* motion that a guess bridged is not searched again */
    if (follow(b, a, to, o, &back) < (double)o->min_correlation) return false;
    float dx = back.x - from.x, dy = back.y - from.y;
    return dx * dx + dy * dy <= o->max_error * o->max_error;
}

/* ---- all points ---- */

typedef struct track_job {
    const kbi_pyramid *a, *b;
    const float *from; /* x and y of a point every `step` floats */
    float *to;
    size_t step, n;
    const kb_track_options *o;
    float *correlations;
    int32_t pieces;
} track_job;

static void track_piece(void *context, int32_t piece)
{
    const track_job *job = context;
    size_t end = kbi_piece(job->n, job->pieces, piece + 1);
    for (size_t i = kbi_piece(job->n, job->pieces, piece); i < end; i++) {
        float *place = job->to + i * job->step;
        track_point from = {job->from[i * job->step], job->from[i * job->step + 1]}, to = from;
        if (job->o->predicted) to = (track_point){place[0], place[1]};
        double reached = follow(job->a, job->b, from, job->o, &to);
        bool found = reached >= (double)job->o->min_correlation && returns(job->a, job->b, from, to, job->o);
        place[0] = found ? to.x : from.x;
        place[1] = found ? to.y : from.y;
        job->correlations[i] = found ? (float)reached : 0;
    }
}

void kbi_track(const kbi_pyramid *a, const kbi_pyramid *b, const float *from, float *to, size_t step, size_t n,
               const kb_track_options *o, float *correlations)
{
    int32_t threads = kbi_parallel_threads(o->parallel);
    size_t max = threads > 1 ? 4 * (size_t)threads : 1, pieces = n / 16 + 1;
    track_job job = {a, b, from, to, step, n, o, correlations, (int32_t)(pieces < max ? pieces : max)};
    kbi_parallel_run(o->parallel, job.pieces, track_piece, &job);
}

/* ---- the public call ---- */

static kb_status track_pyramid(kbi_pyramid *levels, const kb_image *image, kb_workspace *ws)
{
    kb_image gray;
    kb_status status = kbi_gray8(image, ws, &gray);
    return status == KB_OK ? kbi_pyramid_get(levels, &gray, 0, ws) : status;
}

/* `to` receives what `from` says of its keypoints, but for guesses of their places. */
static kb_status copy_keypoints(const kb_features *from, kb_features *to, bool predicted, kb_error *error)
{
    if (to->capacity < from->n)
        return kbi_fail_at(error, KB_E_SPACE, "capacity", -1, "to.capacity is %zu, but there are %zu keypoints",
                           to->capacity, from->n);
    for (size_t i = 0; i < from->n; i++) {
        track_point guess = {to->keypoints[i].x, to->keypoints[i].y};
        to->keypoints[i] = from->keypoints[i];
        if (predicted) to->keypoints[i].x = guess.x, to->keypoints[i].y = guess.y;
    }
    to->n = from->n;
    to->detector = from->detector;
    to->revision = from->revision;
    to->upright = from->upright;
    to->max_size = from->max_size;
    return KB_OK;
}

static kb_status track_images(const kb_image *a, const kb_image *b, const kb_features *from, const kb_track_options *o,
                              kb_workspace *ws, kb_features *to, float *correlations)
{
    kbi_pyramid levels[2];
    kb_status status = track_pyramid(&levels[0], a, ws);
    if (status == KB_OK) status = track_pyramid(&levels[1], b, ws);
    if (status != KB_OK) return status;
    for (int i = 0; i < 2; i++)
        kbi_pyramid_make(&levels[i], kbi_image_kernels_get(), kbi_track_levels(o), o->parallel);
    kbi_track(&levels[0], &levels[1], &from->keypoints->x, &to->keypoints->x, sizeof *from->keypoints / sizeof(float),
              from->n, o, correlations);
    return KB_OK;
}

kb_status kb_track_points(const kb_image *a, const kb_image *b, const kb_features *given,
                          const kb_track_options *options, kb_workspace *workspace, kb_features *out,
                          float *correlations, kb_error *error)
{
    kb_track_options o;
    kb_features from, to;
    kbi_error_clear(error);
    kb_status status = kbi_track_options_read(options, &o, error);
    if (status == KB_OK) status = kbi_features_read(&from, given, "from", KBI_KEYPOINTS, PTRDIFF_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&to, out, "to", KBI_KEYPOINTS, PTRDIFF_MAX, error);
    if (status != KB_OK) return status;
    status = kbi_image_check(a);
    if (status == KB_OK) status = kbi_image_check(b);
    if (status == KB_OK && from.n && (!to.keypoints || !correlations)) status = KB_E_ARGUMENT;
    if (status != KB_OK) return kbi_fail_status(error, status);
    status = copy_keypoints(&from, &to, o.predicted, error);
    if (status != KB_OK) return status;
    to.width = b->width;
    to.height = b->height;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    if (from.n) status = track_images(a, b, &from, &o, ws, &to, correlations);
    if (status == KB_OK) kbi_features_write(out, &to);
    return kbi_workspace_end(&local, status, "width, height, track", error);
}
