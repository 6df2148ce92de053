/* SPDX-License-Identifier: Apache-2.0 */
/* Points from one image to the next: kb_track_points.
 *
 * The window around a point is aligned with the other image by translations (match/align.c), from the coarsest level of
 * half, a quarter, ... of the resolution to the image itself; each level begins where the one before ended. Then the
 * point is followed back the same way: one that does not return to where it came from is lost. */
#include <math.h>

#include "common/cpu.h"
#include "image/kernels.h"
#include "match/align.h"
#include "track/track.h"

#define STEP 2 /* levels of the pyramid from one resolution to its half */

kb_status kbi_track_options_read(const kb_track_options *given, kb_track_options *o)
{
    kb_status status = KBI_STRUCT_READ(kb_track_options, o, given);
    if (status != KB_OK) return status;
    if (o->levels == 0) o->levels = 4;
    if (o->iterations == 0) o->iterations = 10;
    if (o->min_correlation == 0) o->min_correlation = 0.7f;
    if (o->max_error == 0) o->max_error = 0.5f;
    if (o->max_points == 0) o->max_points = 300;
    if (o->levels < 1 || o->levels > 8 || o->iterations < 1 || o->iterations > 1000) return KB_E_ARGUMENT;
    if (!(o->min_correlation > 0 && o->min_correlation <= 1)) return KB_E_ARGUMENT;
    if (!(o->max_error > 0 && o->max_error <= 65535)) return KB_E_ARGUMENT;
    if (o->predicted < 0 || o->predicted > 1 || o->max_points < 1 || o->max_points > 1000000) return KB_E_ARGUMENT;
    return o->mask_margin >= 0 && o->mask_margin <= 65535 ? KB_OK : KB_E_ARGUMENT;
}

uint32_t kbi_track_levels(const kb_track_options *o)
{
    uint32_t wanted = 0;
    for (int32_t i = 1; i < o->levels; i++) wanted |= (uint32_t)1 << STEP * i;
    return wanted;
}

/* ---- one point ---- */

/* The window of 16 x 16 px of a level around a point of the image. False outside the image, for NaN too. */
static bool window_at(kbi_frame *frame, kb_point point, int32_t level, const kbi_pyramid *levels)
{
    double x = (double)point.x, y = (double)point.y, factor = kbi_pyramid_factor(level);
    *frame = (kbi_frame){level, (x + 0.5) / factor - 0.5, (y + 0.5) / factor - 0.5, {1, 0, 0, 1}};
    return x >= -0.5 && y >= -0.5 && x < levels->width[0] - 0.5 && y < levels->height[0] - 0.5;
}

/* Moves `to`, which is the guess, to where the point is in image b; the correlation on the finest level. */
static double follow(const kbi_pyramid *a, const kbi_pyramid *b, kb_point from, const kb_track_options *o, kb_point *to)
{
    double correlation = 0;
    for (int32_t i = o->levels - 1; i >= 0; i--) {
        kbi_frame window, moved;
        if (!window_at(&window, from, STEP * i, a) || !window_at(&moved, *to, STEP * i, b)) return 0;
        correlation = kbi_align(a, &window, b, &moved, KBI_ALIGN_TRANSLATION, o->iterations);
        if (correlation < 0 && i > 0) continue; /* a level without structure moves nothing */
        double x, y;
        kbi_frame_point(&moved, &x, &y);
        *to = (kb_point){(float)x, (float)y};
    }
    return correlation;
}

static bool returns(const kbi_pyramid *a, const kbi_pyramid *b, kb_point from, kb_point to, const kb_track_options *o)
{
    kb_point back = {to.x, to.y};
    if (o->predicted) back = from; /* motion that a guess bridged is not searched again */
    if (follow(b, a, to, o, &back) < (double)o->min_correlation) return false;
    float dx = back.x - from.x, dy = back.y - from.y;
    return dx * dx + dy * dy <= o->max_error * o->max_error;
}

/* ---- all points ---- */

typedef struct track_job {
    const kbi_pyramid *a, *b;
    const kb_point *from;
    const kb_track_options *o;
    kb_point *to;
    float *correlations;
    size_t n;
    int32_t pieces;
} track_job;

static void track_piece(void *context, int32_t piece)
{
    const track_job *job = context;
    size_t end = kbi_piece(job->n, job->pieces, piece + 1);
    for (size_t i = kbi_piece(job->n, job->pieces, piece); i < end; i++) {
        kb_point from = job->from[i], to = job->o->predicted ? job->to[i] : from;
        double reached = follow(job->a, job->b, from, job->o, &to);
        bool found = reached >= (double)job->o->min_correlation && returns(job->a, job->b, from, to, job->o);
        job->to[i] = found ? to : from;
        job->correlations[i] = found ? (float)reached : 0;
    }
}

void kbi_track(const kbi_pyramid *a, const kbi_pyramid *b, const kb_point *from, size_t n, const kb_track_options *o,
               kb_point *to, float *correlations)
{
    int32_t threads = kbi_parallel_threads(o->parallel);
    size_t most = threads > 1 ? 4 * (size_t)threads : 1, pieces = n / 16 + 1;
    track_job job = {a, b, from, o, to, correlations, n, (int32_t)(pieces < most ? pieces : most)};
    kbi_parallel_run(o->parallel, job.pieces, track_piece, &job);
}

/* ---- the public call ---- */

static kb_status track_pyramid(kbi_pyramid *levels, const kb_image *image, kb_workspace *ws)
{
    kb_image gray;
    kb_status status = kbi_gray8(image, ws, &gray);
    return status == KB_OK ? kbi_pyramid_get(levels, &gray, false, ws) : status;
}

kb_status kb_track_points(const kb_image *a, const kb_image *b, const kb_point *from, size_t n,
                          const kb_track_options *options, kb_workspace *workspace, kb_point *to, float *correlations)
{
    kb_track_options o;
    kbi_pyramid levels[2];
    kb_status status = kbi_track_options_read(options, &o);
    if (status == KB_OK) status = kbi_image_check(a);
    if (status == KB_OK) status = kbi_image_check(b);
    if (status != KB_OK || n == 0) return status;
    if (!from || !to || !correlations) return KB_E_ARGUMENT;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws);
    status = track_pyramid(&levels[0], a, ws);
    if (status == KB_OK) status = track_pyramid(&levels[1], b, ws);
    if (status == KB_OK) {
        for (int i = 0; i < 2; i++) {
            kbi_pyramid_want(&levels[i], kbi_track_levels(&o));
            kbi_pyramid_pass(&levels[i], kbi_image_kernels_get(), 0, o.parallel);
        }
        kbi_track(&levels[0], &levels[1], from, n, &o, to, correlations);
    }
    kbi_workspace_rewind(ws, mark);
    kbi_workspace_release(&local);
    return status;
}
