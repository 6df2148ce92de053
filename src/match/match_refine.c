/* SPDX-License-Identifier: Apache-2.0 */
/* Matched points to a fraction of a pixel: kb_match_refine. The region of a's keypoint is aligned with image b,
 * beginning at b's keypoint (match/align.c). */
#include <math.h>

#include "common/features.h"
#include "common/options.h"
#include "image/kernels.h"
#include "match/align.h"
#include "match/match.h"

#define REGION 0.7 /* width, of scale x size */
#define LEAST_AREA 0.25 /* the area of the region in b may become this share of what it was, or grow by the inverse */

typedef struct refine_job {
    kb_refine_options o;
    const kb_keypoint *a, *b;
    const kb_match *matches;
    size_t n;
    kbi_pyramid levels[2];
    const kbi_image_kernels *kernels;
    kb_point_pair *pairs;
    float *correlations;
    int32_t pieces;
} refine_job;

static const kbi_option refine_options[] = {
    KBI_OPTION(kb_refine_options, iterations, 'i', 10, 1, 1000),
    KBI_OPTION(kb_refine_options, max_shift, 'f', 0.3, 0, 1),
    KBI_OPTION(kb_refine_options, min_correlation, 'f', 0.5, 0, 1),
};

static kb_status refine_read_options(const kb_refine_options *given, const kb_features *a, kb_refine_options *o,
                                     kb_error *error)
{
    kb_status status = KBI_OPTIONS_READ(kb_refine_options, refine_options, o, given, error);
    return status == KB_OK ? kbi_features_scale(a, &o->scale, error) : status;
}

/* ---- one match ---- */

static double refine_width(const refine_job *job, const kb_keypoint *k)
{
    return REGION * (double)job->o.scale * (double)k->size;
}

static double frame_area(const kbi_frame *f) { return f->a[0] * f->a[3] - f->a[1] * f->a[2]; }

/* Whether the frame is still the one of that keypoint: the steps of a wrong match lead anywhere. */
static bool refine_accepts(const refine_job *job, const kbi_frame *from, const kbi_frame *to, double correlation)
{
    double dx = to->x - from->x, dy = to->y - from->y, area = frame_area(from);
    double reach = (double)job->o.max_shift * KBI_ALIGN_SIDE * sqrt(area), changed = frame_area(to) / area;
    return correlation >= (double)job->o.min_correlation && dx * dx + dy * dy <= reach * reach &&
           changed >= LEAST_AREA && changed <= 1 / LEAST_AREA;
}

static void refine_match(const refine_job *job, size_t i)
{
    const kb_keypoint *a = &job->a[job->matches[i].a], *b = &job->b[job->matches[i].b];
    kb_point_pair *pair = &job->pairs[i];
    kbi_frame from, to, first;
    float correlation = 0;
    if (kbi_frame_of(&first, a, refine_width(job, a), &job->levels[0]) &&
        kbi_frame_of(&from, b, refine_width(job, b), &job->levels[1])) {
        to = from;
        double reached = kbi_align(&job->levels[0], &first, &job->levels[1], &to, KBI_ALIGN_AFFINE,
                                   job->o.iterations);
        if (refine_accepts(job, &from, &to, reached)) {
            kbi_frame_point(&to, &pair->x2, &pair->y2);
            correlation = (float)reached;
        }
    }
    if (job->correlations) job->correlations[i] = correlation;
}

static void refine_piece(void *context, int32_t piece)
{
    const refine_job *job = context;
    size_t end = kbi_piece(job->n, job->pieces, piece + 1);
    for (size_t i = kbi_piece(job->n, job->pieces, piece); i < end; i++) refine_match(job, i);
}

/* Several pieces per thread, since matches differ in the number of steps that they take. */
static int32_t refine_pieces(size_t n, int32_t threads)
{
    size_t max = threads > 1 ? 4 * (size_t)threads : 1, pieces = n / 64 + 1;
    return (int32_t)(pieces < max ? pieces : max);
}

/* ---- pyramids ---- */

/* The levels in which the regions of one side lie, as bits. */
static uint32_t refine_levels(const refine_job *job, int side)
{
    uint32_t wanted = 0;
    for (size_t i = 0; i < job->n; i++) {
        const kb_keypoint *k = side == 0 ? &job->a[job->matches[i].a] : &job->b[job->matches[i].b];
        kbi_frame frame;
        if (kbi_frame_of(&frame, k, refine_width(job, k), &job->levels[side]))
            wanted |= (uint32_t)1 << frame.level;
    }
    return wanted;
}

static kb_status refine_plan(refine_job *job, const kb_image images[2], kb_workspace *ws)
{
    for (int side = 0; side < 2; side++) {
        kb_image gray;
        kb_status status = kbi_gray8(&images[side], ws, &gray);
        if (status != KB_OK) return status;
        status = kbi_pyramid_get(&job->levels[side], &gray, 0, ws);
        if (status != KB_OK) return status;
    }
    return KB_OK;
}

static void refine_build(refine_job *job)
{
    job->kernels = kbi_image_kernels_get();
    for (int side = 0; side < 2; side++)
        kbi_pyramid_make(&job->levels[side], job->kernels, refine_levels(job, side), job->o.parallel);
}

kb_status kbi_refine_measure(const kb_image *image, kb_workspace *workspace)
{
    refine_job job = {.n = 0};
    const kb_image images[2] = {*image, *image};
    size_t mark = kbi_workspace_mark(workspace);
    kb_status status = refine_plan(&job, images, workspace);
    kbi_workspace_rewind(workspace, mark);
    return status;
}

/* ---- the public call ---- */

static kb_status refine_run(refine_job *job, const kb_image images[2], kb_workspace *ws)
{
    kb_status status = refine_plan(job, images, ws);
    if (status != KB_OK) return status;
    refine_build(job);
    job->pieces = refine_pieces(job->n, kbi_parallel_threads(job->o.parallel));
    kbi_parallel_run(job->o.parallel, job->pieces, refine_piece, job);
    return KB_OK;
}

kb_status kb_match_refine(const kb_image images[2], const kb_features *given_a, const kb_features *given_b,
                          const kb_match *matches, size_t n, const kb_refine_options *options, kb_workspace *workspace,
                          kb_point_pair *pairs, float *correlations, kb_error *error)
{
    refine_job job = {.matches = matches, .n = n, .pairs = pairs, .correlations = correlations};
    kb_features a, b;
    kb_status status = kb_match_points(given_a, given_b, matches, n, pairs, NULL, error);
    if (status == KB_OK) status = kbi_features_read(&a, given_a, "a", KBI_KEYPOINTS, SIZE_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&b, given_b, "b", KBI_KEYPOINTS, SIZE_MAX, error);
    if (status == KB_OK) status = refine_read_options(options, &a, &job.o, error);
    if (status != KB_OK) return status;
    status = kbi_image_check(images);
    if (status == KB_OK) status = kbi_image_check(&images[1]);
    if (status != KB_OK) return kbi_fail_status(error, status);
    if (n == 0) return KB_OK;
    job.a = a.keypoints;
    job.b = b.keypoints;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = refine_run(&job, images, ws);
    return kbi_workspace_end(&local, status, "refine, width, height", error);
}
