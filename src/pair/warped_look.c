/* SPDX-License-Identifier: Apache-2.0 */
/* The warped look. Where a homography is found, image b is warped into image a. There the same points look the same but
 * for light and noise: they are detected again, described upright, and matched with the keypoints of image a within a
 * few pixels. The matches come back in pixels of image b. */
#include <math.h>

#include "image/image.h"
#include "model/model.h"
#include "pair/pair.h"

#define SEARCH_PX 8.0    /* where a match is sought, unless two thresholds are more */
#define SEARCH_LEVELS 2  /* of the pyramid, up and down */
#define MIN_SHARE 0.5    /* of these matches that must agree with the homography; by chance a quarter at most would */
#define BLOCK 8          /* pixels of a row between two divisions */
#define FRACTION 16      /* bits of coordinates between them */

/* ---- the image ---- */

typedef struct pair_warp {
    const uint8_t *from; /* image b, or a coarser level of it */
    ptrdiff_t stride;
    int32_t width, height;
    double h[9]; /* pixels of image a to pixels of `from` */
    uint8_t *to;
    int32_t to_width, to_height, pieces;
} pair_warp;

static uint8_t bilinear(const pair_warp *w, int64_t u, int64_t v)
{
    const uint8_t *p = w->from + (ptrdiff_t)(v >> FRACTION) * w->stride + (u >> FRACTION);
    uint32_t x = (uint32_t)(u >> (FRACTION - 8)) & 255, y = (uint32_t)(v >> (FRACTION - 8)) & 255;
    uint32_t top = p[0] * (256 - x) + p[1] * x, bottom = p[w->stride] * (256 - x) + p[w->stride + 1] * x;
    return (uint8_t)((top * (256 - y) + bottom * y + 32768) >> 16);
}

/* A coordinate with its fraction, held inside by half a step; anything for one that is not finite. */
static int64_t held(double x, int32_t size)
{
    double max = size - 1.001;
    return (int64_t)((x > 0 ? x < max ? x : max : 0) * (1 << FRACTION));
}

static bool is_inside(const pair_warp *w, double x, double y)
{
    return x >= 0 && y >= 0 && x < w->width - 1 && y < w->height - 1;
}

/* Coordinates are exact at the ends of a block and linear in between, which is off by a few hundredths of a pixel. */
static void warp_row(const pair_warp *w, int32_t y)
{
    uint8_t *out = w->to + (size_t)y * (size_t)w->to_width;
    double u0, v0, u1, v1;
    kb_homography_apply(w->h, 0, y, &u0, &v0);
    for (int32_t x = 0; x < w->to_width; x += BLOCK, u0 = u1, v0 = v1) {
        int32_t n = kbi_min_i(BLOCK, w->to_width - x);
        kb_homography_apply(w->h, x + BLOCK, y, &u1, &v1);
        bool inside = is_inside(w, u0, v0) && is_inside(w, u1, v1);
        int64_t u = held(u0, w->width), v = held(v0, w->height);
        int64_t du = (held(u1, w->width) - u) / BLOCK, dv = (held(v1, w->height) - v) / BLOCK;
        for (int32_t k = 0; inside && k < n; k++, u += du, v += dv) out[x + k] = bilinear(w, u, v);
        for (int32_t k = 0; !inside && k < n; k++) {
            double px, py;
            kb_homography_apply(w->h, x + k, y, &px, &py);
            out[x + k] = bilinear(w, held(px, w->width), held(py, w->height));
        }
    }
}

static void warp_task(void *context, int32_t piece)
{
    const pair_warp *w = context;
    size_t end = kbi_piece((size_t)w->to_height, w->pieces, piece + 1);
    for (size_t y = kbi_piece((size_t)w->to_height, w->pieces, piece); y < end; y++) warp_row(w, (int32_t)y);
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

/* Where image b has more pixels than image a, a coarser level of it is taken, so that nothing aliases. */
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
    pair_warp w = {.from = levels.data[level], .stride = levels.stride[level], .width = levels.width[level],
                   .height = levels.height[level], .to = pixels, .to_width = a->width, .to_height = a->height};
    for (int k = 0; k < 3; k++) {
        w.h[k] = f * h[k] + shift * h[6 + k];
        w.h[3 + k] = f * h[3 + k] + shift * h[6 + k];
        w.h[6 + k] = h[6 + k];
    }
    if (w.width < 2 || w.height < 2) return KB_E_ARGUMENT;
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

/* ---- matches ---- */

static kb_status match_near(pair_job *job, const pair_side *warped, double radius, pair_look *out)
{
    const pair_side *a = &job->sides[0];
    kb_guided_options o;
    KB_INIT(o);
    o.max_ratio = job->match.max_ratio;
    o.max_distance = job->match.max_distance;
    o.any_angle = 1;
    o.parallel = job->options.parallel;
    kb_guide *guides = kbi_workspace_array(job->workspace, a->n, sizeof *guides);
    if (!guides) return KB_E_MEMORY;
    for (size_t i = 0; i < a->n; i++) {
        const kb_keypoint *k = &a->keypoints[i];
        guides[i] = (kb_guide){.x = k->x, .y = k->y, .radius = (float)radius, .angle = -1,
                               .min_level = k->octave - SEARCH_LEVELS, .max_level = k->octave + SEARCH_LEVELS};
    }
    kb_features fa = kbi_pair_view(job, a, NULL), fb = kbi_pair_view(job, warped, NULL);
    kb_status status = kb_match_guided(&fa, guides, &fb, &o, job->workspace, out->matches, &out->count, job->error);
    out->candidates = out->count;
    return status;
}

kb_status kbi_pair_warped_look(pair_job *job, const pair_look *found, pair_look *out)
{
    pair_side warped = {0};
    double threshold = job->fit.threshold > 0 ? job->fit.threshold : 3, radius = SEARCH_PX;
    if (radius < 2 * threshold) radius = 2 * threshold;
    out->angles = KB_LOOK_UPRIGHT;
    out->rotation = found->rotation;
    job->looks++;
    warped.keypoints = kbi_workspace_array(job->workspace, job->capacity, sizeof *warped.keypoints);
    out->b = kbi_workspace_array(job->workspace, job->capacity, sizeof *out->b);
    warped.rows = kbi_workspace_array(job->workspace, job->capacity, (size_t)job->model->row_bytes);
    if (!warped.keypoints || !out->b || !warped.rows) return KB_E_MEMORY;
    kb_status status = warp_image(job, found->fit.model, &warped.gray);
    if (status == KB_OK) status = find_keypoints(job, found->fit.model, &warped.gray, &warped, out->b);
    if (status == KB_OK) status = kbi_pair_describe(job, 0, out);
    if (status == KB_OK) status = kbi_pair_describe_side(job, &warped, 0);
    if (status == KB_OK) status = match_near(job, &warped, radius, out);
    out->nb = warped.n;
    if (status == KB_OK) status = kbi_pair_fit(job, out);
    if ((double)out->fit.inliers < MIN_SHARE * (double)out->count) out->fit.result = KB_FIT_NOT_FOUND;
    return status;
}
