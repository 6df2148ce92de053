/* SPDX-License-Identifier: Apache-2.0 */
/* Local consistency of putative matches.
 *
 * A match of two keypoints with sizes and angles is a hypothesis of the similarity around it: as complex numbers, an
 * offset d in image a becomes m d in image b, m = (size_b / size_a) e^(i (angle_b - angle_a)). Two matches whose
 * keypoints are neighbours in image a support each other when their similarities agree, up to the errors that
 * detectors make in angle and scale, and when the mean of both takes the offset of their points in a to b:
 *     |d_b - m d_a| <= tolerance |m d_a| + SLACK (mean size in b).
 * The points of wrong matches lie anywhere in b, so a wrong match finds support by chance only. The first round
 * keeps what has one supporter; the second asks for `min_support` among these, so that wrong matches cannot keep each
 * other. (The ideas of GMS, Bian et al. 2017, and AdaLAM, Cavalli et al. 2020, with what a keypoint tells.)
 *
 * Neighbours are found in a grid over image a with MATCHES_PER_CELL matches per cell on average, and a match is
 * compared with at most NEIGHBOURS others in either direction: time and memory grow linearly with the number of
 * matches wherever they lie. All of it is single IEEE operations in a fixed order.
 *
 * Comparisons take most of the time, and nearly all of them fail. So they are made without branches, a block at a time,
 * on columns (kernels.h); the square root is taken only for pairs that pass a bound without one. */
#include <math.h>

#include "common/features.h"
#include "common/options.h"
#include "common/sincos.h"
#include "match/kernels.h"
#include "match/point_grid.h"
#include "match/match.h"

#define MATCHES_PER_CELL 2
#define NEIGHBOURS 24
#define SLACK 0.25f
#define FAR 1e6f /* px: keypoints beyond never match */

typedef struct filter_node {
    float value[KBI_FILTER_COLUMNS];
    int32_t match; /* index in the caller's list */
} filter_node;

typedef struct filter_job {
    kbi_filter_nodes sorted; /* by cell */
    const kbi_match_kernels *kernels;
    float tolerance;
    int32_t min_support;
    int32_t n;
    filter_node *nodes;
    uint8_t *kept;
    kbi_point_grid grid; /* over image a */
} filter_job;

static const kbi_option filter_options[] = {
    KBI_OPTION(kb_filter_options, tolerance, 'f', 0.3, 0, 2),
    KBI_OPTION(kb_filter_options, max_angle, 'f', 37, 0, 90),
    KBI_OPTION(kb_filter_options, max_scale, 'f', 1.6, 1, 100),
    KBI_OPTION(kb_filter_options, min_support, 'i', 2, 1, 1000),
};

static kb_status filter_read_options(const kb_filter_options *given, filter_job *job, kb_error *error)
{
    kb_filter_options o;
    double sine, cosine;
    kb_status status = KBI_OPTIONS_READ(kb_filter_options, filter_options, &o, given, error);
    if (status != KB_OK) return status;
    kbi_sincos_degrees((double)o.max_angle, &sine, &cosine);
    job->tolerance = o.tolerance;
    job->sorted.bound2 = 2.0001f * o.tolerance * o.tolerance;
    job->sorted.cosine2 = (float)(cosine * cosine);
    job->sorted.ratio2 = o.max_scale * o.max_scale;
    job->min_support = o.min_support;
    return KB_OK;
}

static bool filter_usable(const kb_keypoint *k)
{
    return fabsf(k->x) < FAR && fabsf(k->y) < FAR && k->size > 0 && k->size < FAR && fabsf(k->angle) <= 3600;
}

/* Fills a node but for the direction of its similarity, which *angle receives, from 0 on. */
static bool filter_node_of(const kb_keypoint *a, const kb_keypoint *b, int32_t match, filter_node *out, double *angle)
{
    if (!filter_usable(a) || !filter_usable(b)) return false;
    float scale = b->size / a->size;
    if (!(scale > 1e-6f && scale < FAR)) return false;
    double turn = (b->angle < 0 ? 0 : (double)b->angle) - (a->angle < 0 ? 0 : (double)a->angle);
    while (turn < 0) turn += 360;
    *angle = turn;
    *out = (filter_node){{a->x, a->y, b->x, b->y, scale, scale, scale * scale, 0.5f * SLACK * b->size}, match};
    return true;
}

/* The nodes of all matches whose keypoints can be used. Directions are computed for many at once, which compilers turn
 * into vector code. */
#define DIRECTIONS 32
static void filter_list_nodes(const kb_keypoint *a, const kb_keypoint *b, const kb_match *matches, size_t n,
                              filter_job *job)
{
    double angle[DIRECTIONS] = {0}, sine[DIRECTIONS], cosine[DIRECTIONS];
    for (size_t first = 0; first < n; first += DIRECTIONS) {
        filter_node *nodes = job->nodes + job->n;
        int32_t count = 0;
        for (size_t i = first; i < n && i < first + DIRECTIONS; i++)
            count += filter_node_of(&a[matches[i].a], &b[matches[i].b], (int32_t)i, &nodes[count], &angle[count]);
        for (int32_t k = 0; k < DIRECTIONS; k++) kbi_sincos_inline(angle[k], &sine[k], &cosine[k]);
        for (int32_t k = 0; k < count; k++) {
            nodes[k].value[KBI_FILTER_MX] *= (float)cosine[k];
            nodes[k].value[KBI_FILTER_MY] *= (float)sine[k];
        }
        job->n += count;
    }
}

/* ---- support ---- */

static bool filter_agree(const filter_job *job, int32_t i, int32_t j)
{
    kbi_filter_error e = kbi_filter_compare(job->sorted.column, i, j);
    float limit = job->tolerance * sqrtf(e.p2) + job->sorted.column[KBI_FILTER_SLACK][i] +
                  job->sorted.column[KBI_FILTER_SLACK][j];
    return e.d2 <= limit * limit;
}

static void filter_count_between(const filter_job *job, int32_t min, int32_t i, int32_t from, int32_t to)
{
    int32_t *support = job->sorted.support;
    if (to - from > NEIGHBOURS) to = from + NEIGHBOURS;
    for (int32_t j = from; j < to; j += KBI_FILTER_BLOCK) {
        uint32_t may = job->kernels->filter_block(&job->sorted, i, j, min);
        if (to - j < KBI_FILTER_BLOCK) may &= ((uint32_t)1 << (to - j)) - 1;
        for (int32_t k = j; may; k++, may >>= 1) {
            if (!(may & 1) || (support[i] >= min && support[k] >= min)) continue;
            if (!filter_agree(job, i, k)) continue;
            support[i]++;
            support[k]++;
        }
    }
}

/* Counts support up to `min`. Every pair of neighbours is compared once: a match with the matches that follow it in its
 * cell and in the cell to the right, and with the row of cells below. Dropped matches take no part. */
static void filter_count_support(const filter_job *job, int32_t min)
{
    const int32_t *start = job->grid.start, columns = job->grid.columns, rows = job->grid.rows;
    for (int32_t i = 0; i < job->n; i++) job->sorted.support[i] = job->kept[i] ? 0 : min; /* these want no more */
    for (int32_t y = 0; y < rows; y++) {
        for (int32_t x = 0; x < columns; x++) {
            int32_t c = y * columns + x, end = start[c + 1], last = x + 1 == columns;
            for (int32_t i = start[c]; i < end; i++) {
                if (!job->kept[i]) continue;
                filter_count_between(job, min, i, i + 1, last ? end : start[c + 2]);
                if (y + 1 == rows) continue;
                int32_t below = c + columns;
                filter_count_between(job, min, i, start[below - (x > 0)], start[below + 2 - last]);
            }
        }
    }
}

static void filter_sort(const filter_job *job)
{
    for (int32_t i = 0; i < job->n; i++) {
        const filter_node *node = &job->nodes[job->grid.order[i]];
        for (int column = 0; column < KBI_FILTER_COLUMNS; column++) job->sorted.column[column][i] = node->value[column];
    }
    for (int column = 0; column < KBI_FILTER_COLUMNS; column++)
        memset(job->sorted.column[column] + job->n, 0, KBI_FILTER_BLOCK * sizeof(float));
}

static void filter_run(filter_job *job)
{
    filter_sort(job);
    memset(job->kept, 1, (size_t)job->n);
    memset(job->sorted.support + job->n, 0, KBI_FILTER_BLOCK * sizeof *job->sorted.support);
    for (int32_t round = 0; round < 2; round++) {
        int32_t min = round == 0 ? 1 : job->min_support;
        filter_count_support(job, min);
        for (int32_t i = 0; i < job->n; i++) {
            job->kept[i] = job->kept[i] && job->sorted.support[i] >= min;
            if (!job->kept[i]) job->sorted.column[KBI_FILTER_MX][i] = job->sorted.column[KBI_FILTER_MY][i] = 0;
        }
    }
}

/* ---- the public call ---- */

static bool filter_allocate(kb_workspace *ws, size_t n, filter_job *job)
{
    bool all = true;
    for (int column = 0; column < KBI_FILTER_COLUMNS; column++) {
        job->sorted.column[column] = kbi_workspace_array(ws, n + KBI_FILTER_BLOCK, sizeof *job->sorted.column[column]);
        all = all && job->sorted.column[column];
    }
    job->nodes = kbi_workspace_array(ws, n, sizeof *job->nodes);
    job->sorted.support = kbi_workspace_array(ws, n + KBI_FILTER_BLOCK, sizeof *job->sorted.support);
    job->kept = kbi_workspace_get(ws, n);
    return all && job->nodes && job->sorted.support && job->kept;
}

kb_status kbi_filter_measure(size_t n, kb_workspace *workspace)
{
    filter_job job;
    if (n > INT32_MAX / 64) return KB_E_ARGUMENT;
    size_t mark = kbi_workspace_mark(workspace);
    bool fits = n == 0 || (filter_allocate(workspace, n, &job) && kbi_grid_measure(n, workspace));
    kbi_workspace_rewind(workspace, mark);
    return fits ? KB_OK : KB_E_MEMORY;
}

static size_t filter_write(const filter_job *job, const kb_match *matches, size_t n, kb_match *out)
{
    uint8_t *wanted = (uint8_t *)job->sorted.support; /* not needed any more */
    size_t count = 0;
    memset(wanted, 0, n);
    for (int32_t i = 0; i < job->n; i++) wanted[job->nodes[job->grid.order[i]].match] = job->kept[i];
    for (size_t i = 0; i < n; i++)
        if (wanted[i]) out[count++] = matches[i];
    return count;
}

static kb_status filter_given(filter_job *job, const kb_features *a, const kb_features *b, const kb_match *matches,
                              size_t n, kb_workspace *ws, kb_match *out, size_t *count)
{
    if (!filter_allocate(ws, n, job)) return KB_E_MEMORY;
    filter_list_nodes(a->keypoints, b->keypoints, matches, n, job);
    if (!kbi_grid_build(&job->grid, &job->nodes->value[KBI_FILTER_AX], &job->nodes->value[KBI_FILTER_AY],
                        sizeof *job->nodes, job->n, MATCHES_PER_CELL, ws))
        return KB_E_MEMORY;
    filter_run(job);
    *count = filter_write(job, matches, n, out);
    return KB_OK;
}

kb_status kb_filter(const kb_features *given_a, const kb_features *given_b, const kb_match *matches, size_t n,
                    const kb_filter_options *options, kb_workspace *workspace, kb_match *out, size_t *count,
                    kb_error *error)
{
    filter_job job = {.n = 0};
    kb_features a, b;
    job.kernels = kbi_match_kernels_get();
    kbi_error_clear(error);
    if (!count) return kbi_fail(error, KB_E_ARGUMENT, "count: a pointer is NULL");
    if (n > INT32_MAX / 64)
        return kbi_fail(error, KB_E_ARGUMENT, "%zu matches, but at most %d can be filtered", n, INT32_MAX / 64);
    kb_status status = filter_read_options(options, &job, error);
    if (status == KB_OK) status = kbi_features_read(&a, given_a, "a", KBI_KEYPOINTS, SIZE_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&b, given_b, "b", KBI_KEYPOINTS, SIZE_MAX, error);
    if (status == KB_OK) status = kbi_matches_check(matches, n, &a, &b, error);
    if (status != KB_OK) return status;
    *count = 0;
    if (n && !out) return kbi_fail(error, KB_E_ARGUMENT, "out: a pointer is NULL");
    if (n == 0) return KB_OK;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = filter_given(&job, &a, &b, matches, n, ws, out, count);
    if (kbi_workspace_lacks(&local, status)) kbi_filter_measure(n, ws);
    return kbi_workspace_end(&local, status, "rows_a", error);
}
