/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Matching along the rows of a rectified stereo pair.
 *
 * Candidates of a left keypoint lie in the right image within a row tolerance, a range of disparities and a range of
 * sizes. With images, the place in the right image is refined: upright patches of 32x32 samples, one keypoint size
 * wide, are cut around the left keypoint and around its match, and the sum of absolute differences S(d) of the middle
 * window over shifts d of the right patch is minimised. The parabola through the three values around the minimum gives
 * the sub-sample shift (S(-1) - S(1)) / (2 (S(-1) + S(1) - 2 S(0))). A minimum at the end of the range, or one far
 * above the median over all matches, is a wrong match. */
#include <math.h>

#include "common/features.h"
#include "common/options.h"
#include "describe/describe.h"
#include "match/region_search.h"

#define WINDOW 11 /* samples */
#define REACH 5   /* shifts to either side */
#define OUTLIER 2.1f /* times the median difference: 1.5 standard deviations of a normal distribution */

typedef struct stereo_job {
    kb_stereo_options o;
    const kb_keypoint *left, *right;
} stereo_job;

static const kbi_option stereo_options[] = {
    KBI_OPTION(kb_stereo_options, min_disparity, 'f', 0, -1e6, 1e6),
    KBI_OPTION(kb_stereo_options, max_disparity, 'f', 10000, -1e6, 1e6),
    KBI_OPTION(kb_stereo_options, row_tolerance, 'f', 0, 0, 1e6),
    KBI_OPTION(kb_stereo_options, max_scale, 'f', 1.3, 1, 100),
    KBI_OPTION(kb_stereo_options, max_distance, 'f', 0, 0, INFINITY),
    KBI_OPTION(kb_stereo_options, max_ratio, 'f', 0, 0, 1),
};

static kb_status stereo_read_options(const kb_stereo_options *given, kb_stereo_options *o, kb_error *error)
{
    kb_status status = KBI_OPTIONS_READ(kb_stereo_options, stereo_options, o, given, error);
    if (status != KB_OK) return status;
    if (o->min_disparity > o->max_disparity)
        return kbi_fail_at(error, KB_E_ARGUMENT, "min_disparity", -1, "min_disparity is %.7g, above max_disparity, "
                           "which is %.7g", (double)o->min_disparity, (double)o->max_disparity);
    if (!o->left != !o->right)
        return kbi_fail_at(error, KB_E_ARGUMENT, o->left ? "right" : "left", -1, "one of the two images is NULL");
    status = o->left ? kbi_image_check(o->left) : KB_OK;
    if (status == KB_OK && o->right) status = kbi_image_check(o->right);
    return status == KB_OK ? KB_OK : kbi_fail_status(error, status);
}

static bool stereo_region(const void *context, size_t q, kbi_region *r)
{
    const stereo_job *job = context;
    const kb_keypoint *k = &job->left[q];
    if (!(fabsf(k->x) < 1e6f && fabsf(k->y) < 1e6f && k->size > 0 && k->size < 1e6f)) return false;
    float rows = job->o.row_tolerance > 0 ? job->o.row_tolerance : fmaxf(1, 0.065f * k->size);
    *r = (kbi_region){.x0 = k->x - job->o.max_disparity, .x1 = k->x - job->o.min_disparity,
                      .y0 = k->y - rows, .y1 = k->y + rows,
                      .min_size = k->size / job->o.max_scale, .max_size = k->size * job->o.max_scale};
    return true;
}

/* ---- refinement ---- */

static uint32_t window_difference(const uint8_t *left, const uint8_t *right, int32_t shift)
{
    const int32_t from = (KB_PATCH_SIDE - WINDOW) / 2;
    uint32_t sum = 0;
    for (int32_t y = from; y < from + WINDOW; y++)
        for (int32_t x = from; x < from + WINDOW; x++) {
            int32_t d = left[y * KB_PATCH_SIDE + x] - right[y * KB_PATCH_SIDE + x + shift];
            sum += (uint32_t)(d < 0 ? -d : d);
        }
    return sum;
}

/* The shift with the min difference of samples; false when it is at the end of the range. */
static bool best_shift(const uint8_t *left, const uint8_t *right, float *shift, uint32_t *difference)
{
    uint32_t sums[2 * REACH + 1];
    int32_t best = 0;
    for (int32_t i = 0; i <= 2 * REACH; i++) {
        sums[i] = window_difference(left, right, i - REACH);
        if (sums[i] < sums[best]) best = i;
    }
    if (best == 0 || best == 2 * REACH) return false;
    float before = (float)sums[best - 1], after = (float)sums[best + 1], curve = before + after - 2 * (float)sums[best];
    *shift = (float)(best - REACH) + (curve > 0 ? 0.5f * (before - after) / curve : 0);
    *difference = sums[best];
    return true;
}

/* Both patches of a match have the width of the left keypoint and lie on its row. */
static void stereo_place(const stereo_job *job, const kb_stereo_match *m, kb_keypoint *left, kb_keypoint *right)
{
    *left = *right = job->left[m->a];
    left->angle = right->angle = -1;
    right->x = m->x;
}

static kb_status stereo_cut(const kb_image *image, kb_keypoint *places, size_t n, const stereo_job *job,
                            kb_workspace *ws, uint8_t *patches)
{
    kb_describe_options o;
    kb_features f;
    KB_INIT(o);
    KB_INIT(f);
    o.scale = 1;
    o.parallel = job->o.parallel;
    f.keypoints = places;
    f.n = n;
    return kb_sample(image, KB_SAMPLER_PATCH, &o, ws, &f, patches, NULL);
}

static uint32_t median_of(uint32_t *values, size_t n, uint64_t *entries)
{
    for (size_t i = 0; i < n; i++) entries[i] = (uint64_t)values[i] << 32;
    kbi_sort_upper(entries, entries + n, n);
    return (uint32_t)(entries[n / 2] >> 32);
}

/* For n matches. */
typedef struct refine_buffers {
    kb_keypoint *places;
    uint8_t *patches;
    uint32_t *differences;
    uint64_t *entries;
} refine_buffers;

static bool refine_allocate(refine_buffers *b, size_t n, kb_workspace *ws)
{
    b->places = kbi_workspace_array(ws, 2 * n, sizeof *b->places);
    b->patches = kbi_workspace_array(ws, 2 * n, KB_PATCH_SIDE * KB_PATCH_SIDE);
    b->differences = kbi_workspace_array(ws, n, sizeof *b->differences);
    b->entries = kbi_workspace_array(ws, 2 * n, sizeof *b->entries);
    return b->places && b->patches && b->differences && b->entries;
}

static kb_status stereo_refine(const stereo_job *job, kb_workspace *ws, kb_stereo_match *matches, size_t *count)
{
    size_t n = *count, kept = 0;
    refine_buffers b;
    if (n == 0) return KB_OK;
    if (!refine_allocate(&b, n, ws)) return KB_E_MEMORY;
    for (size_t i = 0; i < n; i++) stereo_place(job, &matches[i], &b.places[i], &b.places[n + i]);
    uint8_t *right = b.patches + n * KB_PATCH_SIDE * KB_PATCH_SIDE;
    kb_status status = stereo_cut(job->o.left, b.places, n, job, ws, b.patches);
    if (status == KB_OK) status = stereo_cut(job->o.right, b.places + n, n, job, ws, right);
    if (status != KB_OK) return status;
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *k = &job->left[matches[i].a];
        size_t at = i * KB_PATCH_SIDE * KB_PATCH_SIDE;
        float shift;
        if (!best_shift(b.patches + at, right + at, &shift, &b.differences[kept])) continue;
        kb_stereo_match m = matches[i];
        m.x += shift * k->size / KB_PATCH_SIDE;
        m.disparity = k->x - m.x;
        if (m.disparity < job->o.min_disparity || m.disparity > job->o.max_disparity) continue;
        matches[kept++] = m;
    }
    n = kept;
    kept = 0;
    float limit = n ? OUTLIER * (float)median_of(b.differences, n, b.entries) : 0;
    for (size_t i = 0; i < n; i++)
        if ((float)b.differences[i] <= limit) matches[kept++] = matches[i];
    *count = kept;
    return KB_OK;
}

/* ---- the public call ---- */

static size_t stereo_collect(const kbi_candidate_search *s, const stereo_job *job, kb_stereo_match *matches)
{
    size_t count = 0;
    for (size_t q = 0; q < s->na; q++) {
        const kbi_nearest *n = &s->nearest[q];
        if (n->index < 0) continue;
        float x = job->right[n->index].x;
        matches[count++] = (kb_stereo_match){(int32_t)q, n->index, (float)n->distance, x, job->left[q].x - x};
    }
    return count;
}

static kb_status stereo_run(kbi_candidate_search *s, const stereo_job *job, kb_workspace *ws, kb_stereo_match *matches,
                            size_t *count)
{
    if (!kbi_candidates_search(s, ws)) return KB_E_MEMORY;
    *count = stereo_collect(s, job, matches);
    return job->o.left ? stereo_refine(job, ws, matches, count) : KB_OK;
}

kb_status kbi_stereo_measure(size_t na, size_t nb, size_t row_bytes, const kb_image *image, const kb_parallel *parallel,
                             kb_workspace *workspace)
{
    refine_buffers buffers;
    size_t mark = kbi_workspace_mark(workspace);
    bool fits = kbi_candidates_measure(na, nb, row_bytes, workspace) &&
                (!image || refine_allocate(&buffers, na, workspace));
    kb_status status = !fits ? KB_E_MEMORY : image ? kbi_sample_measure(image, na, parallel, workspace) : KB_OK;
    kbi_workspace_rewind(workspace, mark);
    return status;
}

kb_status kb_match_stereo(const kb_features *left, const kb_features *right, const kb_stereo_options *options,
                          kb_workspace *workspace, kb_stereo_match *matches, size_t *count, kb_error *error)
{
    stereo_job job;
    kb_features a, b;
    const uint32_t needs = KBI_PACKED_BITS | KBI_KEYPOINTS;
    kbi_error_clear(error);
    if (!count) return kbi_fail(error, KB_E_ARGUMENT, "count: a pointer is NULL");
    *count = 0;
    kb_status status = stereo_read_options(options, &job.o, error);
    if (status == KB_OK) status = kbi_features_read(&a, left, "left", needs, INT32_MAX / 4096, error);
    if (status == KB_OK) status = kbi_features_read(&b, right, "right", needs, INT32_MAX / 64, error);
    if (status == KB_OK) status = kbi_features_comparable(&a, &b, error);
    if (status != KB_OK) return status;
    if (a.n && !matches) return kbi_fail(error, KB_E_ARGUMENT, "matches: a pointer is NULL");
    if (a.n == 0 || b.n == 0) return KB_OK;
    job.left = a.keypoints;
    job.right = b.keypoints;
    kbi_candidate_search s = {.a = a.rows, .b = b.rows, .na = a.n, .nb = b.n, .row_bytes = a.row_bytes,
                              .keypoints = b.keypoints, .parallel = job.o.parallel, .region = stereo_region,
                              .context = &job, .max_ratio = job.o.max_ratio, .max_distance = job.o.max_distance};
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = stereo_run(&s, &job, ws, matches, count);
    if (status != KB_OK) *count = 0;
    return kbi_workspace_end(&local, status, "rows_a, rows_b, row_bytes, stereo", error);
}
