/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Guided matching: every query has a point or a line where it is expected, and is compared with the keypoints near it
 * only. The ratio and distance tests come first, then one-to-one; last go matches whose turn few others have. */
#include <math.h>

#include "common/features.h"
#include "common/options.h"
#include "match/region_search.h"

#define TURN_BINS 30

/* The keypoints along a line, anywhere in the image. */
static bool line_region(const kb_guide *g, kbi_region *r)
{
    float length = sqrtf(g->line_x * g->line_x + g->line_y * g->line_y);
    if (!(length > 0 && length < 1e18f)) return false;
    float nx = -g->line_y / length, ny = g->line_x / length, far = INFINITY;
    *r = (kbi_region){.shape = KBI_STRIP, .x0 = -far, .x1 = far, .y0 = -far, .y1 = far,
                      .strip = {nx, ny, -(nx * g->x + ny * g->y), g->radius, g->min_level, g->max_level}};
    return true;
}

static bool guide_region(const void *context, size_t q, kbi_region *r)
{
    const kb_guide *g = (const kb_guide *)context + q;
    if (!(fabsf(g->x) < 1e9f && fabsf(g->y) < 1e9f && g->radius >= 0 && g->radius < 1e9f)) return false;
    if (g->line_x != 0 || g->line_y != 0) return line_region(g, r);
    *r = (kbi_region){.shape = KBI_CIRCLE, .x0 = g->x - g->radius, .x1 = g->x + g->radius, .y0 = g->y - g->radius,
                      .y1 = g->y + g->radius,
                      .circle = {g->x, g->y, g->radius * g->radius, g->min_level, g->max_level}};
    return true;
}

/* ---- turns ---- */

/* The bin of the turn from query to keypoint; -1 when one of them has no angle. */
static int32_t guided_turn(float from, float to)
{
    if (!(from >= 0 && from <= 360) || !(to >= 0 && to <= 360)) return -1;
    float turn = to - from;
    if (turn < 0) turn += 360;
    return (int32_t)(turn * (TURN_BINS / 360.0f) + 0.5f) % TURN_BINS;
}

/* The three fullest bins, of them only those with a tenth of the fullest: the rule of ORB-SLAM. */
static void fullest_bins(const size_t bins[TURN_BINS], bool good[TURN_BINS])
{
    size_t max = 0;
    memset(good, 0, TURN_BINS * sizeof *good);
    for (int32_t k = 0; k < 3; k++) {
        int32_t best = -1;
        for (int32_t bin = 0; bin < TURN_BINS; bin++)
            if (!good[bin] && (best < 0 || bins[bin] > bins[best])) best = bin;
        if (k == 0) max = bins[best];
        if (10 * bins[best] >= max) good[best] = true;
    }
}

/* Keeps the matches with a turn in a good bin, and those without one; turns has room for one per match. */
static size_t guided_check_turns(const kb_guide *guides, const kb_keypoint *keypoints, int8_t *turns, kb_match *matches,
                                 size_t count)
{
    size_t bins[TURN_BINS + 1] = {0}, kept = 0;
    bool good[TURN_BINS];
    for (size_t i = 0; i < count; i++) {
        int32_t bin = guided_turn(guides[matches[i].a].angle, keypoints[matches[i].b].angle);
        turns[i] = (int8_t)bin;
        bins[bin + 1]++;
    }
    fullest_bins(bins + 1, good);
    for (size_t i = 0; i < count; i++)
        if (turns[i] < 0 || good[turns[i]]) matches[kept++] = matches[i];
    return kept;
}

/* ---- guides ---- */

static void guide_points(const double h[9], const kb_keypoint *keypoints, size_t n, float radius, kb_guide *guides)
{
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *k = &keypoints[i];
        double x = (double)k->x, y = (double)k->y, w = h[6] * x + h[7] * y + h[8];
        double u = (h[0] * x + h[1] * y + h[2]) / w, v = (h[3] * x + h[4] * y + h[5]) / w;
        double sine = h[3] - v * h[6] - h[1] + u * h[7], cosine = h[0] - u * h[6] + h[4] - v * h[7];
        double angle = (double)k->angle + kbi_atan2_degrees(sine / w, cosine / w);
        guides[i] = (kb_guide){.x = (float)u, .y = (float)v, .radius = radius,
                               .angle = k->angle < 0 ? -1 : (float)(angle >= 360 ? angle - 360 : angle),
                               .min_level = INT32_MIN, .max_level = INT32_MAX};
    }
}

static void guide_lines(const double f[9], const kb_keypoint *keypoints, size_t n, int32_t width, int32_t height,
                        float radius, kb_guide *guides)
{
    double cx = 0.5 * (width - 1), cy = 0.5 * (height - 1);
    for (size_t i = 0; i < n; i++) {
        double x = (double)keypoints[i].x, y = (double)keypoints[i].y;
        double a = f[0] * x + f[1] * y + f[2], b = f[3] * x + f[4] * y + f[5], c = f[6] * x + f[7] * y + f[8];
        double length = sqrt(a * a + b * b), away = (a * cx + b * cy + c) / length; /* of the centre of image b */
        a /= length, b /= length; /* NaN at an epipole, which finds nothing */
        guides[i] = (kb_guide){.x = (float)(cx - away * a), .y = (float)(cy - away * b), .radius = radius, .angle = -1,
                               .min_level = INT32_MIN, .max_level = INT32_MAX, .line_x = (float)-b, .line_y = (float)a};
    }
}

kb_status kb_guides_fill(kb_geometry geometry, const double model[9], const kb_features *given_a,
                         const kb_features *given_b, float radius, kb_guide *guides, kb_error *error)
{
    kb_features a, b;
    kbi_error_clear(error);
    kb_status status = kbi_features_read(&a, given_a, "a", KBI_KEYPOINTS, PTRDIFF_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&b, given_b, "b", 0, PTRDIFF_MAX, error);
    if (status != KB_OK) return status;
    if (!model || (a.n && !guides))
        return kbi_fail(error, KB_E_ARGUMENT, "%s: a pointer is NULL", model ? "guides" : "model");
    if (geometry == KB_GEOMETRY_HOMOGRAPHY) {
        guide_points(model, a.keypoints, a.n, radius, guides);
        return KB_OK;
    }
    if (geometry != KB_GEOMETRY_FUNDAMENTAL)
        return kbi_fail_at(error, KB_E_ARGUMENT, "geometry", -1, "a geometry of %d gives no guides", (int)geometry);
    if (b.width < 1 || b.height < 1)
        return kbi_fail_at(error, KB_E_ARGUMENT, "width", -1, "lines in image b need its width and height");
    guide_lines(model, a.keypoints, a.n, b.width, b.height, radius, guides);
    return KB_OK;
}

/* ---- the public call ---- */

static size_t guided_collect(const kbi_candidate_search *s, kb_match *matches)
{
    size_t count = 0;
    for (size_t q = 0; q < s->na; q++) {
        const kbi_nearest *n = &s->nearest[q];
        if (n->index < 0) continue;
        matches[count++] = (kb_match){(int32_t)q, n->index, (float)n->distance,
                                      n->second_index < 0 ? INFINITY : (float)n->second};
    }
    return count;
}

static kb_status check_guides(const kb_guide *guides, size_t n, kb_error *error)
{
    if (n && !guides) return kbi_fail(error, KB_E_ARGUMENT, "guides: a pointer is NULL");
    for (size_t i = 0; i < n; i++)
        if (guides[i].reserved[0] || guides[i].reserved[1])
            return kbi_fail_at(error, KB_E_STRUCT, "reserved", -1,
                               "guide %zu has a field that this version does not know", i);
    return KB_OK;
}

static const kbi_option guided_options[] = {
    KBI_OPTION(kb_guided_options, max_ratio, 'f', 0, 0, 1),
    KBI_OPTION(kb_guided_options, max_distance, 'f', 0, 0, INFINITY),
    KBI_OPTION(kb_guided_options, ratio_per_level, 'i', 0, 0, 1),
    KBI_OPTION(kb_guided_options, any_angle, 'i', 0, 0, 1),
};

static kb_status guided_run(kbi_candidate_search *s, bool any_angle, const kb_guide *guides, kb_workspace *ws,
                            kb_match *matches, size_t *count)
{
    int8_t *turns = kbi_workspace_get(ws, s->na);
    if (!turns || !kbi_candidates_search(s, ws)) return KB_E_MEMORY;
    *count = guided_collect(s, matches);
    if (!any_angle) *count = guided_check_turns(guides, s->keypoints, turns, matches, *count);
    return KB_OK;
}

kb_status kbi_guided_measure(size_t na, size_t nb, size_t row_bytes, kb_workspace *workspace)
{
    size_t mark = kbi_workspace_mark(workspace);
    bool fits = kbi_candidates_measure(na, nb, row_bytes, workspace) && kbi_workspace_get(workspace, na);
    kbi_workspace_rewind(workspace, mark);
    return fits ? KB_OK : KB_E_MEMORY;
}

kb_status kb_match_guided(const kb_features *given_a, const kb_guide *guides, const kb_features *given_b,
                          const kb_guided_options *options, kb_workspace *workspace, kb_match *matches, size_t *count,
                          kb_error *error)
{
    kb_guided_options o;
    kb_features a, b;
    kbi_error_clear(error);
    if (!count) return kbi_fail(error, KB_E_ARGUMENT, "count: a pointer is NULL");
    *count = 0;
    kb_status status = KBI_OPTIONS_READ(kb_guided_options, guided_options, &o, options, error);
    if (status == KB_OK) status = kbi_features_read(&a, given_a, "a", KBI_PACKED_BITS, INT32_MAX / 64, error);
    if (status == KB_OK)
        status = kbi_features_read(&b, given_b, "b", KBI_PACKED_BITS | KBI_KEYPOINTS, INT32_MAX / 64, error);
    if (status == KB_OK) status = kbi_features_comparable(&a, &b, error);
    if (status == KB_OK) status = check_guides(guides, a.n, error);
    if (status != KB_OK) return status;
    if (a.n && !matches) return kbi_fail(error, KB_E_ARGUMENT, "matches: a pointer is NULL");
    if (a.n == 0 || b.n == 0) return KB_OK;
    kbi_candidate_search s = {.a = a.rows, .b = b.rows, .na = a.n, .nb = b.n, .row_bytes = a.row_bytes,
                              .keypoints = b.keypoints, .parallel = o.parallel, .region = guide_region,
                              .context = guides, .max_ratio = o.max_ratio, .max_distance = o.max_distance,
                              .ratio_per_level = o.ratio_per_level};
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = guided_run(&s, o.any_angle, guides, ws, matches, count);
    if (kbi_workspace_lacks(&local, status)) kbi_guided_measure(a.n, b.n, a.row_bytes, ws);
    return kbi_workspace_end(&local, status, "rows_a, rows_b, row_bytes, guided", error);
}
