/* The k nearest rows of every row. The Hamming kernel gives the two nearest of a tile, which is all that k = 2 takes; for
 * a larger k, a tile whose second nearest still belongs among the k best is gone through row by row. */
#include "common/cpu.h"
#include "common/features.h"
#include "match/kernels.h"
#include "match/row_set.h"

#define TILE_BYTES 32768 /* of rows of b */
#define FEW_ROWS 64      /* of b in a tile for k > 2, since some tiles are gone through again */
#define CLAIM_ROWS 256   /* rows of a per task */

typedef struct knn_search {
    kbi_match_kernels kernels;
    kbi_row_set a, b;
    size_t row_bytes, tile;
    int32_t k;
    kb_neighbour *neighbours; /* of the caller: k per row of a */
} knn_search;

static bool neighbour_before(float distance, int32_t index, const kb_neighbour *than)
{
    return than->index < 0 || distance < than->distance || (distance == than->distance && index < than->index);
}

/* Into the list of the k best, which is sorted. */
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

static void knn_tile_row(const knn_search *s, const uint8_t *row, size_t first, size_t n, uint32_t best,
                         uint32_t second, kb_neighbour *list)
{
    bool more = s->k > 2 && n > 2 && second != KBI_NO_NEIGHBOUR &&
                (list[s->k - 1].index < 0 || (float)(second >> 16) <= list[s->k - 1].distance);
    if (!more) {
        knn_insert_key(s, list, best, first);
        knn_insert_key(s, list, second, first);
        return;
    }
    for (size_t j = first; j < first + n; j++) {
        int32_t distance = kb_hamming(row, s->b.rows + j * s->row_bytes, s->row_bytes);
        neighbour_insert(list, s->k, (float)distance, kbi_row_set_origin(&s->b, j));
    }
}

static void knn_task(void *context, int32_t task)
{
    const knn_search *s = context;
    uint32_t best[CLAIM_ROWS], second[CLAIM_ROWS];
    size_t a0 = (size_t)task * CLAIM_ROWS, na = s->a.count - a0 < CLAIM_ROWS ? s->a.count - a0 : CLAIM_ROWS;
    for (size_t b0 = 0; b0 < s->b.count; b0 += s->tile) {
        size_t nb = s->b.count - b0 < s->tile ? s->b.count - b0 : s->tile;
        const uint8_t *rows = s->a.rows + a0 * s->row_bytes;
        s->kernels.hamming(rows, na, s->b.rows + b0 * s->row_bytes, nb, s->row_bytes, best, second, NULL);
        for (size_t i = 0; i < na; i++) {
            kb_neighbour *list = s->neighbours + (size_t)kbi_row_set_origin(&s->a, a0 + i) * (size_t)s->k;
            knn_tile_row(s, rows + i * s->row_bytes, b0, nb, best[i], second[i], list);
        }
    }
}

static kb_status knn_run(knn_search *s, const kb_features *a, const kb_features *b, const kb_parallel *parallel,
                         kb_workspace *ws)
{
    kb_status status = kbi_row_set_prepare(&s->a, a->rows, a->n, a->row_stride, a->row_bytes, false, ws);
    if (status == KB_OK) status = kbi_row_set_prepare(&s->b, b->rows, b->n, b->row_stride, b->row_bytes, false, ws);
    if (status != KB_OK || s->a.count == 0) return status;
    kbi_match_kernels_init(&s->kernels, kbi_cpu_flags_matching());
    s->tile = s->k > 2 ? FEW_ROWS : (size_t)kbi_clamp_i((int32_t)(TILE_BYTES / s->row_bytes), 16, 4096);
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
    size_t mark = kbi_workspace_mark(ws);
    status = knn_run(&s, &a, &b, o.parallel, ws);
    return kbi_workspace_end(ws, mark, &local, status, "rows_a, rows_b, row_bytes", error);
}
