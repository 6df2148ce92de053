/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
/* The warped look. Where a homography is found, image b is warped into image a. There the same points look the same but
 * for light and noise: they are detected again, described upright, and matched with the keypoints of image a within a
 * few pixels; and once more, within fewer, where the homography through these matches says. The matches come back in
 * pixels of image b. Where the homography hardly changes the shape of anything, the keypoints of image b are already
 * what the warped image would show: they are matched as they are.
 *
 * A homography through few matches may lead the far corners of image a elsewhere. Nothing is found there then, and what
 * is found confirms it. So the search goes on, wider, from each homography found until the corners stay; where they
 * have moved far, the image is warped again.
 *
 * The numbers were chosen on rendered views of training photographs (bench/render_scenes), by places and precision. */
#include <math.h>

#include "fit/fit.h"
#include "image/kernels.h"
#include "model/model.h"
#include "pair/pair.h"

#define SEARCH_PX 8.0    /* where a match is sought, unless two thresholds are more; */
#define WIDE_PX 16.0     /* while corners move by more than CLOSE_PX, */
#define WIDE_ROUNDS 6    /* so often at most */
#define CLOSE_PX 5.0     /* the last time */
#define SEARCH_LEVELS 8  /* of the pyramid, up and down */
#define MIN_SHARE 0.5    /* of these matches that must agree with the homography; by chance a quarter at most would */
#define SAME_SHAPE 0.06  /* by which lengths may change, */
#define SAME_ANGLE 0.07  /* and directions, in radians, where an image need not be warped */

/* ---- the image ---- */

typedef struct pair_warp {
    kbi_warp warp;
    const kbi_image_kernels *kernels;
    uint8_t *to;
    int32_t to_height, pieces;
} pair_warp;

static void warp_task(void *context, int32_t piece)
{
    const pair_warp *w = context;
    size_t end = kbi_piece((size_t)w->to_height, w->pieces, piece + 1);
    for (size_t y = kbi_piece((size_t)w->to_height, w->pieces, piece); y < end; y++)
        w->kernels->warp_row(&w->warp, (int32_t)y, w->to + y * (size_t)w->warp.to_width);
}

/* The derivative of a homography at a point: du/dx, du/dy, dv/dx, dv/dy. False where it has none. */
static bool derivative(const double h[9], double x, double y, double d[4])
{
    double u, v, w = h[6] * x + h[7] * y + h[8];
    kb_homography_apply(h, x, y, &u, &v);
    d[0] = (h[0] - u * h[6]) / w, d[1] = (h[1] - u * h[7]) / w;
    d[2] = (h[3] - v * h[6]) / w, d[3] = (h[4] - v * h[7]) / w;
    double area = d[0] * d[3] - d[1] * d[2];
    return area > 0 && area < 1e8;
}

/* Image b as image a would show it, in the workspace. Where image b has more pixels than image a, a coarser level of it
 * is taken, so that nothing aliases. */
static kb_status warp_image(pair_job *job, const double h[9], kb_image *out)
{
    const kb_image *a = &job->sides[0].gray, *b = &job->sides[1].gray;
    kbi_pyramid levels;
    double d[4], step = 1;
    if (derivative(h, 0.5 * a->width, 0.5 * a->height, d)) step = sqrt(d[0] * d[3] - d[1] * d[2]);
    kbi_pyramid_plan(&levels, b);
    int32_t level = kbi_pyramid_level_for(step, levels.count);
    kb_status status = kbi_pyramid_build(&levels, b, 1u << level, job->workspace);
    uint8_t *pixels = kbi_workspace_array(job->workspace, (size_t)a->width, (size_t)a->height);
    if (status != KB_OK || !pixels) return status != KB_OK ? status : KB_E_MEMORY;
    double f = 1 / kbi_pyramid_factor(level), shift = 0.5 * f - 0.5;
    kbi_warp warp = {.from = levels.data[level], .stride = levels.stride[level], .width = levels.width[level],
                     .height = levels.height[level], .to_width = a->width};
    for (int k = 0; k < 3; k++) {
        warp.h[k] = f * h[k] + shift * h[6 + k];
        warp.h[3 + k] = f * h[3 + k] + shift * h[6 + k];
        warp.h[6 + k] = h[6 + k];
    }
    if (warp.width < 2 || warp.height < 2) return KB_E_ARGUMENT;
    pair_warp w = {warp, kbi_image_kernels_get(), pixels, a->height, 0};
    w.pieces = kbi_min_i(4 * kbi_parallel_threads(job->options.parallel), w.to_height);
    kbi_parallel_run(job->options.parallel, w.pieces, warp_task, &w);
    *out = *a;
    out->data = pixels;
    out->stride = a->width;
    return KB_OK;
}

/* ---- keypoints ---- */

/* A keypoint of the warped image in image b: size and angle by the similarity nearest to the derivative. False where
 * image b does not reach, or its mask forbids. */
static bool send_keypoint(const pair_job *job, const double h[9], const kb_keypoint *k, kb_keypoint *out)
{
    const kb_image *b = &job->sides[1].gray, *mask = job->options.mask_b;
    double u, v, d[4];
    kb_homography_apply(h, (double)k->x, (double)k->y, &u, &v);
    if (!(u >= 0 && v >= 0 && u <= b->width - 1 && v <= b->height - 1)) return false;
    if (!derivative(h, (double)k->x, (double)k->y, d)) return false;
    ptrdiff_t at = mask ? (ptrdiff_t)(v + 0.5) * mask->stride + (ptrdiff_t)(u + 0.5) : 0;
    if (mask && !((const uint8_t *)mask->data)[at]) return false;
    double angle = kbi_atan2_degrees(d[2] - d[1], d[0] + d[3]);
    *out = *k;
    out->x = (float)u;
    out->y = (float)v;
    out->size = (float)((double)k->size * sqrt(d[0] * d[3] - d[1] * d[2]));
    out->angle = (float)(angle >= 360 ? angle - 360 : angle);
    return true;
}

static kb_status find_keypoints(pair_job *job, const double h[9], const kb_image *warped, pair_side *side,
                                kb_keypoint *sent)
{
    kb_detect_options o = job->detect;
    size_t n = 0;
    o.orientation = KB_ORIENTATION_NONE;
    kb_features f = kbi_pair_view(job, side, NULL);
    kb_status status = kb_detect(warped, &o, job->workspace, &f, job->error);
    for (size_t i = 0; i < f.n && status == KB_OK; i++) {
        if (!send_keypoint(job, h, &side->keypoints[i], &sent[n])) continue;
        side->keypoints[n] = side->keypoints[i];
        side->keypoints[n++].angle = -1;
    }
    side->n = n;
    return status;
}

/* Whether the homography is a rotation, by the angle of the rows, and a shift, at the corners of image a. */
static bool keeps_shape(const pair_job *job, const pair_look *found)
{
    const kb_image *a = &job->sides[0].gray;
    double sine, cosine;
    if (found->angles == KB_LOOK_ORIENTED) return false;
    kbi_sincos_degrees((double)found->rotation, &sine, &cosine);
    for (int corner = 0; corner < 4; corner++) {
        double d[4];
        if (!derivative(found->fit.model, corner & 1 ? a->width : 0, corner & 2 ? a->height : 0, d))
            return false;
        double c = 0.5 * (d[0] + d[3]), s = 0.5 * (d[2] - d[1]), e = 0.5 * (d[0] - d[3]), f = 0.5 * (d[1] + d[2]);
        double scale = sqrt(c * c + s * s), turn = (s * cosine - c * sine) / scale;
        bool same = fabs(scale - 1) + sqrt(e * e + f * f) <= SAME_SHAPE && fabs(turn) <= SAME_ANGLE &&
                    c * cosine + s * sine > 0;
        if (!same) return false;
    }
    return true;
}

/* ---- matches ---- */

/* Where a homography from image a to image b leads in the frame of the other side: image b, or the warped image. */
static void into_frame(const double h[9], const double *frame, double out[9])
{
    double cofactors[9], back[9];
    if (!frame) {
        memcpy(out, h, 9 * sizeof *out);
        return;
    }
    kbi_fit_cofactors3(frame, cofactors);
    for (int i = 0; i < 9; i++) back[i] = cofactors[3 * (i % 3) + i / 3];
    kbi_fit_multiply3(back, h, out);
}

/* Matches within a radius of where the homography h leads, and the geometry through them. */
static kb_status match_near(pair_job *job, const pair_side *other, const double *frame, const double h[9],
                            double radius, pair_look *out)
{
    const pair_side *a = &job->sides[0];
    double map[9];
    kb_guided_options o;
    KB_INIT(o);
    o.max_ratio = job->match.max_ratio;
    o.max_distance = job->match.max_distance;
    o.any_angle = 1;
    o.parallel = job->options.parallel;
    size_t mark = kbi_workspace_mark(job->workspace);
    kb_guide *guides = kbi_workspace_array(job->workspace, a->n, sizeof *guides);
    if (!guides) return KB_E_MEMORY;
    into_frame(h, frame, map);
    kb_features fa = kbi_pair_view(job, a, NULL), fb = kbi_pair_view(job, other, NULL);
    kb_status status = kb_guides_fill(KB_GEOMETRY_HOMOGRAPHY, map, &fa, &fb, (float)radius, guides, job->error);
    if (status != KB_OK) return status;
    for (size_t i = 0; i < a->n; i++) {
        guides[i].min_level = a->keypoints[i].octave - SEARCH_LEVELS;
        guides[i].max_level = a->keypoints[i].octave + SEARCH_LEVELS;
    }
    status = kb_match_guided(&fa, guides, &fb, &o, job->workspace, out->matches, &out->count, job->error);
    out->candidates = out->count;
    kbi_workspace_rewind(job->workspace, mark);
    return status == KB_OK ? kbi_pair_fit(job, out) : status;
}

/* The largest distance between where two homographies lead the corners of image a, in pixels of the frame. */
static double corners_apart(const pair_job *job, const double *frame, const double h1[9], const double h2[9])
{
    const kb_image *a = &job->sides[0].gray;
    double first[9], second[9], max2 = 0;
    into_frame(h1, frame, first);
    into_frame(h2, frame, second);
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? a->width : 0, y = corner & 2 ? a->height : 0, u1, v1, u2, v2;
        kb_homography_apply(first, x, y, &u1, &v1);
        kb_homography_apply(second, x, y, &u2, &v2);
        double distance2 = (u1 - u2) * (u1 - u2) + (v1 - v2) * (v1 - v2);
        if (!(distance2 < INFINITY)) return INFINITY; /* at a horizon */
        max2 = fmax(max2, distance2);
    }
    return sqrt(max2);
}

/* Replaces h by the homography of the matches within a radius of it, where they agree with one; *moved tells whether
 * that one leads the corners elsewhere. */
static kb_status move_on(pair_job *job, const pair_side *other, const double *frame, double radius, double h[9],
                         bool *moved, pair_look *out)
{
    kb_status status = match_near(job, other, frame, h, radius, out);
    bool agree = status == KB_OK && out->fit.result == KB_FIT_FOUND &&
                 (double)out->fit.inliers >= MIN_SHARE * (double)out->count;
    if (status == KB_OK && !agree) out->fit.result = KB_FIT_NOT_FOUND;
    *moved = agree && corners_apart(job, frame, h, out->fit.model) > CLOSE_PX;
    if (agree) memcpy(h, out->fit.model, 9 * sizeof *h);
    return status;
}

/* The matches near a homography, or, where they move it, near the last one that follows from it: whichever has more
 * places. */
static kb_status match_on(pair_job *job, const pair_side *other, const double *frame, const double start[9],
                          pair_look *out)
{
    double threshold = job->fit.threshold > 0 ? job->fit.threshold : 3, first[9], last[9];
    double radius = 2 * threshold > SEARCH_PX ? 2 * threshold : SEARCH_PX;
    double close = threshold + 1 > CLOSE_PX ? threshold + 1 : CLOSE_PX;
    bool moved;
    memcpy(first, start, sizeof first);
    kb_status status = move_on(job, other, frame, radius, first, &moved, out);
    if (status != KB_OK || out->fit.result != KB_FIT_FOUND) return status;
    status = match_near(job, other, frame, first, close, out);
    if (!moved || status != KB_OK || out->fit.result != KB_FIT_FOUND) return status;
    int32_t places = out->fit.places;
    memcpy(last, first, sizeof last);
    for (int round = 0; moved && round < WIDE_ROUNDS && status == KB_OK; round++)
        status = move_on(job, other, frame, radius > WIDE_PX ? radius : WIDE_PX, last, &moved, out);
    if (status == KB_OK) status = match_near(job, other, frame, last, close, out);
    if (status != KB_OK || (out->fit.result == KB_FIT_FOUND && out->fit.places >= places)) return status;
    return match_near(job, other, frame, first, close, out);
}

/* The keypoints of the warped image, described, and as they are in image b. */
static kb_status warp_side(pair_job *job, const double h[9], pair_side *warped, pair_look *out)
{
    warped->keypoints = kbi_workspace_array(job->workspace, job->capacity, sizeof *warped->keypoints);
    warped->rows = kbi_workspace_array(job->workspace, job->capacity, (size_t)job->model->row_bytes);
    if (!warped->keypoints || !warped->rows) return KB_E_MEMORY;
    kb_status status = warp_image(job, h, &warped->gray);
    if (status == KB_OK) status = find_keypoints(job, h, &warped->gray, warped, out->b);
    if (status == KB_OK) status = kbi_pair_describe_side(job, warped, 0);
    out->nb = warped->n;
    return status;
}

/* Warps by the homography in out->fit, which the geometry found replaces. */
static kb_status warp_once(pair_job *job, pair_look *out)
{
    pair_side warped = {0};
    double h[9];
    memcpy(h, out->fit.model, sizeof h);
    kb_status status = warp_side(job, h, &warped, out);
    return status == KB_OK ? match_on(job, &warped, h, h, out) : status;
}

/* A second warp is tried where the first one has moved the corners far, and replaces it where it has more places. */
static kb_status warp_twice(pair_job *job, const double h[9], pair_look *out)
{
    const size_t n = job->sides[0].n;
    pair_look second = *out;
    out->b = kbi_workspace_array(job->workspace, job->capacity, sizeof *out->b);
    second.b = kbi_workspace_array(job->workspace, job->capacity, sizeof *second.b);
    second.matches = kbi_workspace_array(job->workspace, n, sizeof *second.matches);
    second.inliers = kbi_workspace_get(job->workspace, n);
    if (!out->b || !second.b || !second.matches || !second.inliers) return KB_E_MEMORY;
    size_t mark = kbi_workspace_mark(job->workspace);
    memcpy(out->fit.model, h, 9 * sizeof *h);
    kb_status status = warp_once(job, out);
    if (status != KB_OK || out->fit.result != KB_FIT_FOUND || corners_apart(job, h, h, out->fit.model) <= WIDE_PX)
        return status;
    kbi_workspace_rewind(job->workspace, mark);
    second.fit = out->fit;
    status = warp_once(job, &second);
    if (status == KB_OK && second.fit.result == KB_FIT_FOUND && second.fit.places >= out->fit.places) *out = second;
    return status;
}

kb_status kbi_pair_warped_look(pair_job *job, const pair_look *found, pair_look *out)
{
    bool same = keeps_shape(job, found);
    kb_status status = KB_OK;
    out->angles = same ? found->angles : KB_LOOK_UPRIGHT;
    if (same) out->rotation = found->rotation;
    job->looks++;
    out->b = job->sides[1].keypoints;
    out->nb = job->sides[1].n;
    for (int k = 0; k < (same ? 2 : 1) && status == KB_OK; k++) status = kbi_pair_describe(job, k, out);
    if (status != KB_OK) return status;
    if (same) return match_on(job, &job->sides[1], NULL, found->fit.model, out);
    return warp_twice(job, found->fit.model, out);
}
