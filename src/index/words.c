/* SPDX-License-Identifier: Apache-2.0 */
/* Rows to words: every row goes from the root to a leaf, at each node to the nearest child. */
#include "common/features.h"
#include "index/index.h"

#define PIECE_ROWS 256

typedef struct assignment {
    const kb_vocabulary *v;
    const uint8_t *rows;
    size_t n;
    int32_t levels_up;
    const kbi_match_kernels *kernels;
    uint32_t *words, *nodes;
} assignment;

kb_status kbi_features_check(const kb_features *features, kb_features *read, size_t row_bytes, uint64_t model_id,
                             const char *model_name, kb_error *error)
{
    if (!features) return kbi_fail(error, KB_E_ARGUMENT, "features: a pointer is NULL");
    kb_status status = kbi_features_read(read, features, "features", 0, INT32_MAX, error);
    if (status != KB_OK) return status;
    if (read->row_bytes != row_bytes)
        return kbi_fail(error, KB_E_MODEL, "rows of %zu bytes, but the vocabulary is for %zu bytes (model %s)",
                        read->row_bytes, row_bytes, model_name[0] ? model_name : "unknown");
    if (model_id != 0 && read->model_id != 0 && read->model_id != model_id)
        return kbi_fail(error, KB_E_MODEL, "rows of the model %016llx, but the vocabulary is for %016llx (%s)",
                        (unsigned long long)read->model_id, (unsigned long long)model_id,
                        model_name[0] ? model_name : "unknown");
    return kbi_features_read(read, features, "features", KBI_PACKED_BITS, INT32_MAX, error);
}

static uint32_t nearest_child(const assignment *a, const uint8_t *row, uint32_t first, uint32_t children)
{
    const uint32_t max = KBI_HAMMING_BLOCK_ROWS;
    uint32_t nearest = KBI_NO_NEIGHBOUR, chosen = 0;
    for (uint32_t from = 0; from < children; from += max) {
        uint32_t left = children - from;
        uint32_t best = a->kernels->hamming_nearest(row, kbi_node_row(a->v, first + from), left < max ? left : max,
                                                   a->v->row_bytes);
        if (best >> 16 >= nearest) continue;
        nearest = best >> 16;
        chosen = from + (best & 0xffff);
    }
    return first + chosen;
}

/* Rows of a batch descend together, a level at a time: while one row waits for memory, the next ones are compared. */
#define BATCH 32
typedef struct batch {
    uint32_t node[BATCH], depth[BATCH], path[BATCH][KBI_MAX_DEPTH];
} batch;

static bool batch_step(const assignment *a, const uint8_t *rows, size_t count, batch *b)
{
    bool moved = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t children = kbi_node_children(a->v, b->node[i]);
        if (children == 0) continue;
        b->node[i] = nearest_child(a, rows + i * a->v->row_bytes, kbi_node_first(a->v, b->node[i]), children);
        b->path[i][b->depth[i]++] = b->node[i];
        moved = true;
    }
    return moved;
}

static void assign_batch(const assignment *a, size_t begin, size_t count)
{
    batch b; /* paths are written before they are read */
    memset(b.node, 0, sizeof b.node);
    memset(b.depth, 0, sizeof b.depth);
    while (batch_step(a, a->rows + begin * a->v->row_bytes, count, &b)) continue;
    uint32_t up = (uint32_t)a->levels_up;
    for (size_t i = 0; i < count; i++) {
        a->words[begin + i] = kbi_node_first(a->v, b.node[i]);
        if (a->nodes) a->nodes[begin + i] = up >= b.depth[i] ? 0 : b.path[i][b.depth[i] - 1 - up];
    }
}

static void assign_piece(void *context, int32_t piece)
{
    const assignment *a = context;
    size_t begin = (size_t)piece * PIECE_ROWS, end = a->n - begin < PIECE_ROWS ? a->n : begin + PIECE_ROWS;
    for (; begin < end; begin += BATCH) assign_batch(a, begin, end - begin < BATCH ? end - begin : BATCH);
}

kb_status kb_vocabulary_words(const kb_vocabulary *vocabulary, const kb_features *features,
                              const kb_words_options *options, uint32_t *words, uint32_t *nodes, kb_error *error)
{
    kb_features f = {0};
    kb_words_options o;
    if (!vocabulary) return kbi_fail(error, KB_E_ARGUMENT, "vocabulary is NULL");
    kb_status status = kbi_features_check(features, &f, vocabulary->row_bytes, vocabulary->model_id,
                                          vocabulary->model_name, error);
    if (status != KB_OK) return status;
    if (KBI_STRUCT_READ(kb_words_options, &o, options) != KB_OK) return kbi_fail_struct(error);
    if (o.levels_up < 0) return kbi_fail(error, KB_E_ARGUMENT, "levels_up %d", o.levels_up);
    if (f.n > 0 && !words) return kbi_fail(error, KB_E_ARGUMENT, "words is NULL");
    assignment a = {vocabulary, f.rows, f.n, o.levels_up, kbi_match_kernels_get(), words, nodes};
    kbi_parallel_run(o.parallel, (int32_t)((f.n + PIECE_ROWS - 1) / PIECE_ROWS), assign_piece, &a);
    return KB_OK;
}
