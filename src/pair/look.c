/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
#include <math.h>

#include "detect/detectors.h"
#include "model/model.h"
#include "pair/pair.h"

kb_features kbi_pair_view(const pair_job *job, const pair_side *side, kb_keypoint *keypoints)
{
    const kb_model *model = job->model;
    kb_features f;
    KB_INIT(f);
    f.width = side->gray.width;
    f.height = side->gray.height;
    f.detector = job->detect.detector;
    f.n = side->n;
    f.capacity = job->capacity;
    f.keypoints = keypoints ? keypoints : side->keypoints;
    f.floats = model->row_floats > 0;
    f.row_bytes = f.floats ? (size_t)model->row_floats * sizeof(float) : (size_t)model->row_bytes;
    f.rows = side->rows;
    f.rows_size = side->rows ? side->n * f.row_bytes : 0;
    return f;
}

/* Angles by kb_orient, for detectors without one angle per place: SIFT gives a keypoint per direction. */
static kb_status orient_side(pair_job *job, pair_side *side)
{
    kb_orient_options o;
    KB_INIT(o);
    o.orientation = job->detect.orientation;
    o.scale = job->orient_scale;
    o.parallel = job->options.parallel;
    kb_features f = kbi_pair_view(job, side, NULL);
    return kb_orient(&side->gray, &o, job->workspace, &f, NULL, job->error);
}

/* The detector's own angles, so that this look is what kb_detect, kb_describe and kb_match_features give. */
static kb_status compute_angles(pair_job *job, pair_side *side)
{
    bool oriented;
    side->angles = kbi_workspace_array(job->workspace, side->n, sizeof *side->angles);
    if (!side->angles) return KB_E_MEMORY;
    kb_status status =
        kbi_detect_orient(&side->gray, &job->detect, job->workspace, side->keypoints, side->n, &oriented);
    if (status == KB_OK && !oriented) status = orient_side(job, side);
    for (size_t i = 0; i < side->n && status == KB_OK; i++) side->angles[i] = side->keypoints[i].angle;
    return status;
}

kb_status kbi_pair_set_angles(pair_job *job, int which, const pair_look *look)
{
    pair_side *side = &job->sides[which];
    float angle = look->angles == KB_LOOK_UPRIGHT ? -1.0f : which == 0 ? 0.0f : look->rotation;
    if (look->angles == KB_LOOK_ORIENTED && !side->angles) {
        kb_status status = compute_angles(job, side);
        if (status != KB_OK) return status;
    }
    for (size_t i = 0; i < side->n; i++)
        side->keypoints[i].angle = look->angles == KB_LOOK_ORIENTED ? side->angles[i] : angle;
    return KB_OK;
}

kb_status kbi_pair_describe(pair_job *job, int which, const pair_look *look)
{
    pair_side *side = &job->sides[which];
    float rotation = which == 0 ? 0.0f : look->rotation;
    bool angles = look->angles == KB_LOOK_ORIENTED, before = side->described == KB_LOOK_ORIENTED;
    bool same = side->described && angles == before && (angles || side->rotation == rotation);
    size_t from = same ? side->rows_n : 0;
    kb_status status = kbi_pair_set_angles(job, which, look);
    if (status != KB_OK || (same && from >= side->n)) return status;
    side->described = look->angles;
    side->rotation = rotation;
    side->rows_n = side->n;
    return kbi_pair_describe_side(job, side, from);
}

kb_status kbi_pair_describe_side(const pair_job *job, const pair_side *side, size_t from)
{
    kb_describe_options o;
    KB_INIT(o);
    o.scale = job->describe_scale;
    o.parallel = job->options.parallel;
    kb_features f = kbi_pair_view(job, side, NULL);
    f.keypoints += from;
    f.n -= from;
    f.rows = (uint8_t *)f.rows + from * f.row_bytes;
    f.rows_size -= from * f.row_bytes;
    return kb_describe(job->model, &side->gray, &o, job->workspace, &f, job->error);
}

static kb_status match_sides(const pair_job *job, pair_look *out)
{
    kb_features a = kbi_pair_view(job, &job->sides[0], NULL), b = kbi_pair_view(job, &job->sides[1], NULL);
    return kb_match_features(&a, &b, &job->match, job->workspace, out->matches, &out->count, job->error);
}

/* The keypoints of image b that a look matched. */
static kb_features places_of(const pair_look *look)
{
    kb_features f;
    KB_INIT(f);
    f.keypoints = look->b;
    f.n = look->nb;
    return f;
}

kb_status kbi_pair_filter(const pair_job *job, pair_look *out)
{
    out->candidates = out->count;
    if (job->options.no_filter) return KB_OK;
    kb_features a = kbi_pair_view(job, &job->sides[0], NULL), b = places_of(out);
    return kb_filter(&a, &b, out->matches, out->count, job->options.filter, job->workspace, out->matches, &out->count,
                     job->error);
}

static float square_of(const kb_keypoint *k, float weak)
{
    float share = weak > 0 ? weak / k->response : 0;
    return k->size * k->size * (1 + share * share);
}

/* How exact the matches of a look are, for the fit of an epipolar geometry, up to a factor. A place is as exact as its
 * scale is fine, and noise of the image moves a weak peak more than a strong one. kb_keypoint_deviations looks at the
 * image and knows more, at the price of describing once again. */
static void fill_deviations(const pair_job *job, const pair_look *look)
{
    const float weak = kbi_detector_find(job->detect.detector)->exactness.weak;
    const kb_keypoint *a = job->sides[0].keypoints, *b = job->sides[1].keypoints;
    for (size_t i = 0; i < look->count; i++)
        job->deviations[i] = sqrtf(square_of(&a[look->matches[i].a], weak) + square_of(&b[look->matches[i].b], weak));
}

kb_status kbi_pair_fit(const pair_job *job, pair_look *out)
{
    kb_fit_options o = job->fit;
    KB_INIT(out->fit);
    out->fit.result = KB_FIT_NOT_FOUND;
    memset(out->inliers, 0, out->count);
    if (!job->options.fit) return KB_OK;
    o.quality = job->quality;
    o.deviations = job->deviations;
    o.candidates = out->candidates;
    o.looks = job->looks * (o.looks > 0 ? o.looks : 1);
    kb_features a = kbi_pair_view(job, &job->sides[0], NULL), b = places_of(out);
    kb_status status = kb_match_points(&a, &b, out->matches, out->count, job->points, job->quality, job->error);
    if (status == KB_OK && job->deviations) fill_deviations(job, out);
    if (status == KB_OK)
        status = kb_fit(job->points, out->count, &o, job->workspace, out->inliers, &out->fit, job->error);
    return status;
}

/* A look without the fit. */
static kb_status describe_and_match(pair_job *job, pair_look *out)
{
    kb_status status = KB_OK;
    out->angles = out->look;
    out->b = job->sides[1].keypoints;
    out->nb = job->sides[1].n;
    for (int k = 0; k < 2 && status == KB_OK; k++) status = kbi_pair_describe(job, k, out);
    if (status == KB_OK) status = match_sides(job, out);
    return status == KB_OK ? kbi_pair_filter(job, out) : status;
}

kb_status kbi_pair_look(pair_job *job, pair_look *out)
{
    job->looks++;
    kb_status status = describe_and_match(job, out);
    return status == KB_OK ? kbi_pair_fit(job, out) : status;
}

#define STRONGEST 400  /* the first keypoints of each image, which are matched to see whether the pair is turned */
#define TURNED 0.25    /* share of their matches that the filter keeps in a turned pair; an upright one keeps half */

/* The upright look that may follow keeps these rows and describes only the other keypoints. */
kb_status kbi_pair_looks_turned(pair_job *job, pair_look *spare, bool *turned)
{
    pair_side *a = &job->sides[0], *b = &job->sides[1];
    size_t na = a->n, nb = b->n;
    *turned = false;
    if (job->options.no_filter || na < 2 * STRONGEST || nb < 2 * STRONGEST) return KB_OK;
    spare->look = KB_LOOK_UPRIGHT;
    spare->rotation = 0;
    a->n = b->n = STRONGEST;
    kb_status status = describe_and_match(job, spare);
    a->n = na;
    b->n = nb;
    *turned = (double)spare->count < TURNED * (double)spare->candidates;
    return status;
}
