/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The guided look. Where an epipolar geometry is found, every keypoint of image a is sought again along its line in
 * image b, with the angles of the look that found it and at the levels that its inliers have. The filter then drops
 * matches that lie on their line by chance. */
#include "model/model.h"
#include "pair/pair.h"

#define RADIUS 2.0f    /* thresholds on either side of a line */
#define MIN_RATIO 0.9f /* max ratio to the second neighbour along the line, unless the caller gives one */
#define LEVELS 32      /* of pyramids */

/* ---- the geometry ---- */

/* (a, b, 1) F (x, y, 1)^T = 0 in pixels without distortion. */
static void fundamental_of(const pair_job *job, const kb_fit_report *fit, double f[9])
{
    const kb_camera *c = job->fit.camera1, *d = job->fit.camera2 ? job->fit.camera2 : c;
    memcpy(f, fit->model, 9 * sizeof *f);
    if (job->fit.geometry != KB_GEOMETRY_ESSENTIAL) return;
    for (int i = 0; i < 3; i++) { /* E K1^-1 */
        f[3 * i] /= c->fx, f[3 * i + 1] /= c->fy;
        f[3 * i + 2] -= f[3 * i] * c->cx + f[3 * i + 1] * c->cy;
    }
    for (int k = 0; k < 3; k++) { /* K2^-T E K1^-1 */
        f[k] /= d->fx, f[3 + k] /= d->fy;
        f[6 + k] -= f[k] * d->cx + f[3 + k] * d->cy;
    }
}

/* The keypoints as a camera without distortion sees them. */
static kb_keypoint *without_distortion(const pair_job *job, int which)
{
    const pair_side *side = &job->sides[which];
    const kb_camera *c = which && job->fit.camera2 ? job->fit.camera2 : job->fit.camera1;
    kb_keypoint *out = kbi_workspace_array(job->workspace, side->n, sizeof *out);
    for (size_t i = 0; i < side->n && out; i++) {
        double x, y;
        out[i] = side->keypoints[i];
        if (job->fit.geometry != KB_GEOMETRY_ESSENTIAL) continue;
        kb_camera_unproject(c, (double)out[i].x, (double)out[i].y, &x, &y);
        out[i].x = (float)(c->fx * x + c->cx);
        out[i].y = (float)(c->fy * y + c->cy);
    }
    return out;
}

/* ---- levels ---- */

/* The range of octave differences from image a to image b, without a tenth of the inliers at either end, and one level
 * wider on both sides. */
static void level_range(const pair_job *job, const pair_look *found, int32_t range[2])
{
    int32_t count[2 * LEVELS + 1] = {0}, total = 0, below = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (!found->inliers[i]) continue;
        int32_t d = job->sides[1].keypoints[found->matches[i].b].octave -
                    job->sides[0].keypoints[found->matches[i].a].octave;
        count[kbi_clamp_i(d, -LEVELS, LEVELS) + LEVELS]++;
        total++;
    }
    range[0] = LEVELS, range[1] = -LEVELS;
    for (int32_t k = 0; k <= 2 * LEVELS; k++) {
        bool middle = 10 * (below + count[k]) > total && 10 * below < 9 * total;
        below += count[k];
        if (!middle) continue;
        range[0] = kbi_min_i(range[0], k - LEVELS - 1);
        range[1] = kbi_max_i(range[1], k - LEVELS + 1);
    }
}

/* ---- matches ---- */

static kb_status match_along(pair_job *job, const pair_look *found, pair_look *out)
{
    const pair_side *a = &job->sides[0], *b = &job->sides[1];
    double f[9];
    int32_t levels[2];
    kb_guided_options o;
    KB_INIT(o);
    o.max_ratio = job->match.max_ratio > 0 ? job->match.max_ratio : MIN_RATIO;
    o.max_distance = job->match.max_distance;
    o.any_angle = 1;
    o.parallel = job->options.parallel;
    kb_keypoint *from = without_distortion(job, 0), *to = without_distortion(job, 1);
    kb_guide *guides = kbi_workspace_array(job->workspace, a->n, sizeof *guides);
    if (!from || !to || !guides) return KB_E_MEMORY;
    float threshold = job->fit.threshold > 0 ? (float)job->fit.threshold : 1.0f;
    fundamental_of(job, &found->fit, f);
    kb_features lines_a = kbi_pair_view(job, a, from), lines_b = kbi_pair_view(job, b, to);
    kb_status status =
        kb_guides_fill(KB_GEOMETRY_FUNDAMENTAL, f, &lines_a, &lines_b, RADIUS * threshold, guides, job->error);
    if (status != KB_OK) return status;
    level_range(job, found, levels);
    for (size_t i = 0; i < a->n; i++) {
        guides[i].min_level = from[i].octave + levels[0];
        guides[i].max_level = from[i].octave + levels[1];
    }
    kb_features fa = kbi_pair_view(job, a, NULL), fb = kbi_pair_view(job, b, to);
    return kb_match_guided(&fa, guides, &fb, &o, job->workspace, out->matches, &out->count, job->error);
}

kb_status kbi_pair_guided_look(pair_job *job, const pair_look *found, pair_look *out)
{
    out->angles = found->angles;
    out->rotation = found->rotation;
    out->b = job->sides[1].keypoints;
    out->nb = job->sides[1].n;
    job->looks++;
    kb_status status = KB_OK;
    for (int k = 0; k < 2 && status == KB_OK; k++) status = kbi_pair_describe(job, k, out);
    if (status == KB_OK) status = match_along(job, found, out);
    if (status == KB_OK) status = kbi_pair_filter(job, out);
    return status == KB_OK ? kbi_pair_fit(job, out) : status;
}
