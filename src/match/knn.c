/* SPDX-License-Identifier: Apache-2.0 */
/* The k nearest rows of every row. The Hamming kernel gives the two nearest of a tile, which is all that k = 2 takes.
 * For a larger k several tiles are compared first. Then the k-th best so far is a bound: only a tile whose second
 * nearest row is within it can have further rows among the k best, and is gone through row by row. */
#include "common/features.h"
#include "match/kernels.h"
#include "match/row_set.h"

#define TILE_ROWS 256  /* of b; half of it where rows are long */
#define CLAIM_ROWS 128 /* rows of a per task */
#define CLAIM_TILES 8  /* compared before one of them is gone through row by row */

typedef struct knn_search {
    const kbi_match_kernels *kernels;
    kbi_row_set a, b;
    size_t row_bytes, tile;
    int32_t k, all[TILE_ROWS]; /* rows of a tile: 0, 1, 2, ... */
    kb_neighbour *neighbours; /* of the caller: k per row of a */
} knn_search;

static bool neighbour_before(float distance, int32_t index, const kb_neighbour *than)
{
    return than->index < 0 || distance < than->distance || (distance == than->distance && index < than->index);
}

/* Inserts a neighbour into the sorted list of the k nearest. */
static void neighbour_insert(kb_neighbour *list, int32_t k, float distance, int32_t index)
{
    int32_t i = k - 1;
    if (!neighbour_before(distance, index, &list[i])) return;
    for (; i > 0 && neighbour_before(distance, index, &list[i - 1]); i--) list[i] = list[i - 1];
    list[i] = (kb_neighbour){index, distance};
}

static void knn_insert_key(const knn_search *s, kb_neighbour *list, uint32_t key, size_t first)
{
    if (key == KBI_NO_NEIGHBOUR) return;
    neighbour_insert(list, s->k, (float)(key >> 16), kbi_row_set_origin(&s->b, first + (key & 0xffff)));
}

/* The rows of a tile that are neither its nearest nor its second nearest. */
static void knn_insert_others(const knn_search *s, const uint8_t *row, size_t first, size_t n, uint32_t best,
                              uint32_t second, kb_neighbour *list)
{
    uint32_t distances[TILE_ROWS];
    const kb_neighbour *last = &list[s->k - 1];
    s->kernels->hamming_listed(row, s->b.rows + first * s->row_bytes, s->all, n, s->row_bytes, s->row_bytes, distances);
    for (size_t j = 0; j < n; j++)
        if ((last->index < 0 || (float)distances[j] <= last->distance) && j != (best & 0xffff) &&
            j != (second & 0xffff))
            neighbour_insert(list, s->k, (float)distances[j], kbi_row_set_origin(&s->b, first + j));
}

static void knn_task(void *context, int32_t task)
{
    const knn_search *s = context;
    uint32_t best[CLAIM_TILES][CLAIM_ROWS], second[CLAIM_TILES][CLAIM_ROWS];
    size_t a0 = (size_t)task * CLAIM_ROWS, na = kbi_min_z(s->a.count - a0, CLAIM_ROWS);
    const uint8_t *rows = s->a.rows + a0 * s->row_bytes;
    for (size_t b0 = 0; b0 < s->b.count; b0 += CLAIM_TILES * s->tile) {
        size_t nb = kbi_min_z(s->b.count - b0, CLAIM_TILES * s->tile), tiles = (nb + s->tile - 1) / s->tile;
        for (size_t t = 0; t < tiles; t++)
            s->kernels->hamming(rows, na, s->b.rows + (b0 + t * s->tile) * s->row_bytes,
                                kbi_min_z(nb - t * s->tile, s->tile), s->row_bytes, best[t], second[t], NULL);
        for (size_t i = 0; i < na; i++) {
            kb_neighbour *list = s->neighbours + (size_t)kbi_row_set_origin(&s->a, a0 + i) * (size_t)s->k;
            const kb_neighbour *last = &list[s->k - 1];
            for (size_t t = 0; t < tiles; t++) {
                knn_insert_key(s, list, best[t][i], b0 + t * s->tile);
                knn_insert_key(s, list, second[t][i], b0 + t * s->tile);
            }
            for (size_t t = 0; t < tiles && s->k > 2; t++)
                if (second[t][i] != KBI_NO_NEIGHBOUR &&
                    neighbour_before((float)(second[t][i] >> 16),
                                     kbi_row_set_origin(&s->b, b0 + t * s->tile + (second[t][i] & 0xffff)), last))
                    knn_insert_others(s, rows + i * s->row_bytes, b0 + t * s->tile,
                                      kbi_min_z(nb - t * s->tile, s->tile), best[t][i], second[t][i], list);
        }
    }
}

static kb_status knn_run(knn_search *s, const kb_features *a, const kb_features *b, const kb_parallel *parallel,
                         kb_workspace *ws)
{
    kb_status status = kbi_row_set_prepare(&s->a, a->rows, a->n, a->row_stride, a->row_bytes, false, ws);
    if (status == KB_OK) status = kbi_row_set_prepare(&s->b, b->rows, b->n, b->row_stride, b->row_bytes, false, ws);
    if (status != KB_OK || s->a.count == 0) return status;
    s->kernels = kbi_match_kernels_get();
    for (int32_t i = 0; i < TILE_ROWS; i++) s->all[i] = i;
    s->tile = s->row_bytes > 32 ? TILE_ROWS / 2 : TILE_ROWS;
    kbi_parallel_run(parallel, (int32_t)((s->a.count + CLAIM_ROWS - 1) / CLAIM_ROWS), knn_task, s);
    return KB_OK;
}

kb_status kb_match_knn(const kb_features *given_a, const kb_features *given_b, int32_t k,
                       const kb_match_options *options, kb_workspace *workspace, kb_neighbour *neighbours,
                       kb_error *error)
{
    kb_match_options o;
    kb_features a, b;
    kbi_error_clear(error);
    if (KBI_STRUCT_READ(kb_match_options, &o, options) != KB_OK) return kbi_fail_struct(error);
    kb_status status = kbi_features_read(&a, given_a, "a", KBI_ROWS, INT32_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&b, given_b, "b", KBI_ROWS, INT32_MAX, error);
    if (status == KB_OK) status = kbi_features_comparable(&a, &b, error);
    if (status != KB_OK) return status;
    if (a.floats) return kbi_fail_at(error, KB_E_KIND, "floats", -1, "kb_match_knn takes bits, not floats");
    if (k < 1 || a.n > SIZE_MAX / sizeof *neighbours / (size_t)k)
        return kbi_fail_at(error, KB_E_ARGUMENT, "k", -1, "k is %d, but must be 1 or more", (int)k);
    if (a.n && !neighbours) return kbi_fail(error, KB_E_ARGUMENT, "neighbours: a pointer is NULL");
    for (size_t i = 0; i < a.n * (size_t)k; i++) neighbours[i] = (kb_neighbour){-1, 0};
    if (a.n == 0 || b.n == 0) return KB_OK;
    knn_search s = {.row_bytes = a.row_bytes, .k = k, .neighbours = neighbours};
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = knn_run(&s, &a, &b, o.parallel, ws);
    return kbi_workspace_end(&local, status, "rows_a, rows_b, row_bytes", error);
}
