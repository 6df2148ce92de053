/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Nearest neighbours, in one pass over the matrix of distances.
 *
 * The matrix has a row per row of a and a column per row of b. It is walked once, in tiles that fit into the first
 * level of the cache. Every distance serves both directions: it may be the min of its row (a's nearest b) and the
 * min of its column (b's nearest a). Workers claim rows of a until none is left; each keeps its own minima of the
 * columns, which are merged at the end. Minima with ties to the lowest index do not depend on how the matrix is split,
 * so neither do the matches. */
#include <math.h>
#include <stdatomic.h>

#include "common/common.h"
#include "common/features.h"
#include "common/options.h"
#include "match/kernels.h"
#include "match/match.h"
#include "match/row_set.h"

#define TILE_BYTES 32768 /* of rows of b, which are compared with every row of a in the tile */
#define TILE_ROWS 4096

typedef struct match_search {
    const kbi_match_kernels *kernels;
    kbi_row_set a, b;
    size_t row_bytes;
    size_t tile_b;
    int32_t workers;
    atomic_size_t next;      /* the first row of a that no worker has claimed */
    bool mutual;
    bool squared;            /* float rows: the tables hold squared distances */
    kbi_neighbours of_a;     /* an entry per row of a */
    kbi_neighbours of_b;     /* a table of b.count entries per worker; after merging the first one is the result */
    size_t tile_rows; /* rows of either set in a tile, at most */
    uint32_t *keys; /* Hamming: per worker, best and second of a tile's rows of a, and best of its rows of b */
} match_search;

static kbi_neighbours neighbours_from(const kbi_neighbours *table, size_t first)
{
    float *second = table->second ? table->second + first : NULL;
    return (kbi_neighbours){table->distance + first, second, table->index + first};
}

static void neighbours_clear(const kbi_neighbours *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        table->distance[i] = INFINITY;
        table->index[i] = -1;
        if (table->second) table->second[i] = INFINITY;
    }
}

/* ---- tiles ---- */

/* Updates entry i with a key of the kernel `hamming`, if it is nearer; first is the index of the tile's first row on
 * the other side. */
static void neighbour_update(const kbi_neighbours *table, size_t i, uint32_t key, size_t first)
{
    float distance = (float)(key >> 16);
    if (key == KBI_NO_NEIGHBOUR || !(distance < table->distance[i])) return;
    if (table->second) table->second[i] = table->distance[i];
    table->distance[i] = distance;
    table->index[i] = (int32_t)(first + (key & 0xffff));
}

/* A distance that is not the min of its tile may still be the second smallest of all. */
static void second_update(const kbi_neighbours *table, size_t i, uint32_t key)
{
    float distance = (float)(key >> 16);
    /* tables of a always have it, which the analyzer cannot see: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    if (key != KBI_NO_NEIGHBOUR && distance < table->second[i]) table->second[i] = distance;
}

static void hamming_tile(const match_search *s, int32_t worker, size_t a0, size_t na, size_t b0, size_t nb,
                         const kbi_neighbours *of_a, const kbi_neighbours *of_b)
{
    uint32_t *best = s->keys + (size_t)worker * 3 * s->tile_rows, *second = best + s->tile_rows,
             *best_b = second + s->tile_rows;
    for (size_t j = 0; j < nb; j++) best_b[j] = KBI_NO_NEIGHBOUR;
    s->kernels->hamming(s->a.rows + a0 * s->row_bytes, na, s->b.rows + b0 * s->row_bytes, nb, s->row_bytes, best,
                        second, of_b ? best_b : NULL);
    for (size_t i = 0; i < na; i++) {
        float before = of_a->distance[i];
        neighbour_update(of_a, i, best[i], b0);
        second_update(of_a, i, of_a->distance[i] < before ? second[i] : best[i]);
    }
    for (size_t j = 0; of_b && j < nb; j++) neighbour_update(of_b, j, best_b[j], a0);
}

static void search_tile(const match_search *s, int32_t worker, size_t a0, size_t na, size_t b0, size_t nb,
                        const kbi_neighbours *table_b)
{
    kbi_neighbours of_a = neighbours_from(&s->of_a, a0), of_b;
    if (table_b) of_b = neighbours_from(table_b, b0);
    if (!s->squared) {
        hamming_tile(s, worker, a0, na, b0, nb, &of_a, table_b ? &of_b : NULL);
        return;
    }
    size_t values = s->row_bytes / sizeof(float);
    const float *a = (const float *)(const void *)s->a.rows, *b = (const float *)(const void *)s->b.rows;
    kbi_l2_block(a + a0 * values, na, (int32_t)a0, b + b0 * values, nb, (int32_t)b0, values, &of_a,
                 table_b ? &of_b : NULL);
}

/* ---- workers ---- */

/* Claims the next rows of a: *first is the first of them; returns how many, 0 when none is left. Claims shrink towards
 * the end, so that workers of unequal speed end together; but the kernel prepares the rows of b for each claim, so none
 * is smaller than it wants, or than an equal share. */
static size_t claim_rows(match_search *s, size_t *first)
{
    size_t rows, workers = (size_t)s->workers;
    size_t min = kbi_min_z(s->kernels->least_rows, (s->a.count + workers - 1) / workers);
    *first = atomic_load_explicit(&s->next, memory_order_relaxed);
    do {
        size_t left = s->a.count - *first, share = workers == 1 ? left : left / workers / 2;
        rows = kbi_min_z(left, kbi_min_z(share < min ? min : share, TILE_ROWS));
    } while (!atomic_compare_exchange_weak_explicit(&s->next, first, *first + rows, memory_order_relaxed,
                                                    memory_order_relaxed));
    return rows;
}

static void search_worker(void *context, int32_t worker)
{
    match_search *s = context;
    kbi_neighbours of_b = {0};
    if (s->mutual) {
        of_b = neighbours_from(&s->of_b, (size_t)worker * s->b.count);
        neighbours_clear(&of_b, s->b.count);
    }
    for (size_t a0, rows; (rows = claim_rows(s, &a0)) > 0;) {
        kbi_neighbours of_a = neighbours_from(&s->of_a, a0);
        neighbours_clear(&of_a, rows);
        for (size_t b0 = 0; b0 < s->b.count; b0 += s->tile_b)
            search_tile(s, worker, a0, rows, b0, kbi_min_z(s->tile_b, s->b.count - b0), of_b.index ? &of_b : NULL);
    }
}

/* ---- the whole search ---- */

static bool search_allocate(match_search *s, kb_workspace *workspace)
{
    size_t na = s->a.count, nb = s->b.count;
    size_t columns = s->mutual ? nb * (size_t)s->workers : 0;
    if (na > SIZE_MAX / 64 || nb > SIZE_MAX / 64 / (size_t)s->workers) return false; /* on 32-bit machines */
    s->tile_rows = kbi_min_z(na > nb ? na : nb, TILE_ROWS);
    s->of_a.distance = kbi_workspace_array(workspace, na, sizeof *s->of_a.distance);
    s->of_a.second = kbi_workspace_array(workspace, na, sizeof *s->of_a.second);
    s->of_a.index = kbi_workspace_array(workspace, na, sizeof *s->of_a.index);
    s->of_b.distance = kbi_workspace_array(workspace, columns, sizeof *s->of_b.distance);
    s->of_b.second = NULL;
    s->of_b.index = kbi_workspace_array(workspace, columns, sizeof *s->of_b.index);
    s->keys = kbi_workspace_array(workspace, s->squared ? 0 : (size_t)s->workers * 3 * s->tile_rows, sizeof *s->keys);
    return s->of_a.distance && s->of_a.second && s->of_a.index && s->of_b.distance && s->of_b.index && s->keys;
}

/* Rows that have gaps, or zeros among them, are copied: the worst case is both sets. */
kb_status kbi_match_measure(size_t na, size_t nb, size_t row_bytes, int32_t threads, kb_workspace *workspace)
{
    match_search s = {.a = {.count = na}, .b = {.count = nb}, .row_bytes = row_bytes, .mutual = true};
    if (na > INT32_MAX || nb > INT32_MAX || row_bytes > 4096 * sizeof(float)) return KB_E_ARGUMENT;
    if (na == 0 || nb == 0) return KB_OK;
    size_t mark = kbi_workspace_mark(workspace);
    s.workers = (int32_t)kbi_min_z((size_t)threads, na);
    bool fits = kbi_row_set_measure(na, row_bytes, workspace) && kbi_row_set_measure(nb, row_bytes, workspace) &&
                search_allocate(&s, workspace);
    kbi_workspace_rewind(workspace, mark);
    return fits ? KB_OK : KB_E_MEMORY;
}

static void merge_columns(match_search *s)
{
    for (int32_t worker = 1; worker < s->workers; worker++) {
        kbi_neighbours more = neighbours_from(&s->of_b, (size_t)worker * s->b.count);
        for (size_t j = 0; j < s->b.count; j++) {
            bool nearer = more.distance[j] < s->of_b.distance[j];
            if (!nearer && (more.distance[j] > s->of_b.distance[j] || more.index[j] >= s->of_b.index[j])) continue;
            s->of_b.distance[j] = more.distance[j];
            s->of_b.index[j] = more.index[j];
        }
    }
}

static size_t collect_matches(const match_search *s, const kb_match_options *o, kb_match *matches)
{
    size_t count = 0;
    for (size_t i = 0; i < s->a.count; i++) {
        int32_t j = s->of_a.index[i];
        if (j < 0 || (s->mutual && s->of_b.index[j] != (int32_t)i)) continue;
        float distance = s->of_a.distance[i], second = s->of_a.second[i];
        if (s->squared) distance = sqrtf(distance), second = sqrtf(second);
        if (o->max_ratio > 0 && !(distance < o->max_ratio * second)) continue;
        if (o->max_distance > 0 && !(distance <= o->max_distance)) continue;
        matches[count++] = (kb_match){kbi_row_set_origin(&s->a, i), kbi_row_set_origin(&s->b, (size_t)j), distance,
                                      second};
    }
    return count;
}

static kb_status search_run(match_search *s, const kb_match_options *o, kb_workspace *workspace, kb_match *matches,
                            size_t *count)
{
    if (s->a.count == 0 || s->b.count == 0) return KB_OK;
    s->kernels = kbi_match_kernels_get();
    s->mutual = !o->one_way;
    s->workers = (int32_t)kbi_min_z((size_t)s->workers, s->a.count);
    atomic_init(&s->next, 0);
    s->tile_b = (size_t)kbi_clamp_i((int32_t)(TILE_BYTES / s->row_bytes), 16, TILE_ROWS);
    if (!search_allocate(s, workspace)) return KB_E_MEMORY;
    kbi_parallel_run(o->parallel, s->workers, search_worker, s);
    if (s->mutual) merge_columns(s);
    *count = collect_matches(s, o, matches);
    return KB_OK;
}

/* ---- the public calls ---- */

static const kbi_option match_options[] = {
    KBI_OPTION(kb_match_options, one_way, 'i', 0, 0, 1),
    KBI_OPTION(kb_match_options, max_ratio, 'f', 0, 0, 1),
    KBI_OPTION(kb_match_options, max_distance, 'f', 0, 0, INFINITY),
};

static kb_status prepare_rows(kbi_row_set *set, const kb_features *f, kb_workspace *workspace)
{
    return kbi_row_set_prepare(set, f->rows, f->n, f->row_stride, f->row_bytes, f->floats, workspace);
}

kb_status kb_match_features(const kb_features *given_a, const kb_features *given_b, const kb_match_options *options,
                            kb_workspace *workspace, kb_match *matches, size_t *count, kb_error *error)
{
    kb_match_options o;
    kb_features a, b;
    kbi_error_clear(error);
    if (!count) return kbi_fail(error, KB_E_ARGUMENT, "count: a pointer is NULL");
    *count = 0;
    kb_status status = KBI_OPTIONS_READ(kb_match_options, match_options, &o, options, error);
    if (status == KB_OK) status = kbi_features_read(&a, given_a, "a", KBI_ROWS, INT32_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&b, given_b, "b", KBI_ROWS, INT32_MAX, error);
    if (status == KB_OK) status = kbi_features_comparable(&a, &b, error);
    if (status != KB_OK) return status;
    if (a.n && !matches) return kbi_fail(error, KB_E_ARGUMENT, "matches: a pointer is NULL");

    match_search s = {.row_bytes = a.row_bytes, .squared = a.floats, .workers = kbi_parallel_threads(o.parallel)};
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = prepare_rows(&s.a, &a, ws);
    if (status == KB_OK) status = prepare_rows(&s.b, &b, ws);
    if (status == KB_OK) status = search_run(&s, &o, ws, matches, count);
    if (kbi_workspace_lacks(&local, status))
        kbi_match_measure(a.n, b.n, a.row_bytes, kbi_parallel_threads(o.parallel), ws);
    return kbi_workspace_end(&local, status, "rows_a, rows_b, row_bytes, threads", error);
}

kb_status kb_match_points(const kb_features *given_a, const kb_features *given_b, const kb_match *matches, size_t n,
                          kb_point_pair *pairs, float *quality, kb_error *error)
{
    kb_features a, b;
    kbi_error_clear(error);
    kb_status status = kbi_features_read(&a, given_a, "a", KBI_KEYPOINTS, SIZE_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&b, given_b, "b", KBI_KEYPOINTS, SIZE_MAX, error);
    if (status == KB_OK) status = kbi_matches_check(matches, n, &a, &b, error);
    if (status != KB_OK) return status;
    if (n && !pairs) return kbi_fail(error, KB_E_ARGUMENT, "pairs: a pointer is NULL");
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *p = &a.keypoints[matches[i].a], *q = &b.keypoints[matches[i].b];
        pairs[i] = (kb_point_pair){(double)p->x, (double)p->y, (double)q->x, (double)q->y};
        if (quality) quality[i] = matches[i].distance;
    }
    return KB_OK;
}
