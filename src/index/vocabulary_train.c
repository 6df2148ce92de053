/* SPDX-License-Identifier: Apache-2.0 */
/* Training a vocabulary: hierarchical k-majority clustering, a level at a time.
 *
 * In `order` the rows of a node follow each other, ascending. For each node of a level its centres are found from at
 * most SAMPLE rows per child, evenly spaced; then every row goes to its nearest centre, and the lists of
 * the nodes are parted. Each step is a parallel loop whose result does not depend on who does what. */
#include <stdatomic.h>

#include "common/options.h"
#include "index/index.h"

#define SAMPLE 2000  /* rows per child that decide the centres */
#define CHUNK 65536  /* rows that one task assigns */
#define BATCH 256    /* rows compared with the centres at once */
#define REPORT_CHUNKS 64 /* between two reports to the caller */

typedef struct train_node {
    uint32_t begin, end; /* its rows in `order` */
    uint32_t first, children;
} train_node;

typedef struct trainer {
    kb_allocator allocator;
    const uint8_t *rows;
    size_t n, row_bytes;
    kb_vocabulary_options o;
    uint32_t *order, *spare; /* n */
    uint8_t *label;          /* n: the child of the row at this place of `order` */
    train_node *nodes;
    uint8_t *node_rows;
    uint32_t count, room;            /* of nodes */
    uint32_t level_begin, level_end; /* nodes of the level that is being split */
    uint8_t *centres;                /* of a level's nodes, branching rows each */
    uint32_t *found;                 /* how many centres a level's node has; 0: stays a leaf */
    kbi_k_majority *clusters;        /* one per piece */
    const kbi_match_kernels *kernels;
    int32_t pieces;
    int32_t level;      /* that is being split */
    size_t first_chunk; /* of a parallel loop over chunks */
    atomic_uint next; /* the next free node */
} trainer;

static uint8_t *centres_of(const trainer *t, uint32_t node)
{
    return t->centres + (size_t)(node - t->level_begin) * (size_t)t->o.branching * t->row_bytes;
}

static bool trainer_reserve(trainer *t, uint32_t nodes)
{
    if (nodes <= t->room) return true;
    uint32_t room = nodes > INT32_MAX / 2 ? INT32_MAX : nodes + nodes / 2;
    train_node *moved = kbi_reallocate(&t->allocator, t->nodes, t->count * sizeof *moved, room, sizeof *moved);
    if (moved) t->nodes = moved;
    uint8_t *rows = kbi_reallocate(&t->allocator, t->node_rows, t->count * t->row_bytes, room, t->row_bytes);
    if (rows) t->node_rows = rows;
    if (!moved || !rows) return false;
    t->room = room;
    return true;
}

/* ---- centres ---- */

static void find_centres(trainer *t, kbi_k_majority *m, uint32_t node)
{
    const train_node *x = &t->nodes[node];
    size_t count = x->end - x->begin, sample = count < m->capacity ? count : m->capacity;
    t->found[node - t->level_begin] = 0;
    if (count < 2) return;
    for (size_t i = 0; i < sample; i++) {
        size_t place = x->begin + (size_t)((uint64_t)i * count / sample);
        memcpy(m->rows + i * t->row_bytes, t->rows + (size_t)t->order[place] * t->row_bytes, t->row_bytes);
    }
    uint64_t seed = t->o.seed ^ (uint64_t)node * 0x9e3779b97f4a7c15u;
    uint32_t found = kbi_k_majority_run(m, sample, seed, centres_of(t, node));
    t->found[node - t->level_begin] = found > 1 ? found : 0;
}

static void centres_piece(void *context, int32_t piece)
{
    trainer *t = context;
    for (uint32_t node; (node = atomic_fetch_add(&t->next, 1)) < t->level_end;)
        find_centres(t, &t->clusters[piece], node);
}

/* ---- assignment ---- */

/* Rows at places [begin, end) of `order`, all of one node. */
static void assign_places(trainer *t, uint32_t node, size_t begin, size_t end)
{
    uint8_t batch[BATCH * 128], *rows = batch;
    uint32_t best[KB_MAX_BRANCHING], second[KB_MAX_BRANCHING], keys[BATCH];
    size_t step = t->row_bytes <= 128 ? BATCH : BATCH * 128 / t->row_bytes;
    for (size_t from = begin; from < end; from += step) {
        size_t count = end - from < step ? end - from : step;
        for (size_t i = 0; i < count; i++) {
            memcpy(rows + i * t->row_bytes, t->rows + (size_t)t->order[from + i] * t->row_bytes, t->row_bytes);
            keys[i] = KBI_NO_NEIGHBOUR;
        }
        t->kernels->hamming(centres_of(t, node), t->found[node - t->level_begin], rows, count, t->row_bytes, best,
                            second, keys);
        for (size_t i = 0; i < count; i++) t->label[from + i] = (uint8_t)keys[i];
    }
}

/* The node of the level that the place belongs to, or the next one; nodes of a level are in the order of places. */
static uint32_t node_at(const trainer *t, size_t place)
{
    uint32_t low = t->level_begin, high = t->level_end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->nodes[middle].end <= place) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void assign_chunk(void *context, int32_t chunk)
{
    trainer *t = context;
    size_t begin = (t->first_chunk + (size_t)chunk) * CHUNK, end = begin + CHUNK < t->n ? begin + CHUNK : t->n;
    for (uint32_t node = node_at(t, begin); node < t->level_end && t->nodes[node].begin < end; node++) {
        size_t from = t->nodes[node].begin > begin ? t->nodes[node].begin : begin;
        size_t to = t->nodes[node].end < end ? t->nodes[node].end : end;
        if (t->found[node - t->level_begin] > 0 && from < to) assign_places(t, node, from, to);
    }
}

/* ---- parting ---- */

/* Parts a node's list by label, keeping the order; its centres that got rows move to the front, and `found` counts
 * them. Their sizes go to `spare`, which is free there after the copy: a node has no more children than rows. */
static void part_node(trainer *t, uint32_t node)
{
    const train_node *x = &t->nodes[node];
    uint32_t size[KB_MAX_BRANCHING] = {0}, start[KB_MAX_BRANCHING], *found = &t->found[node - t->level_begin];
    if (*found == 0) return;
    for (uint32_t i = x->begin; i < x->end; i++) size[t->label[i]]++;
    uint32_t sum = x->begin, kept = 0;
    uint8_t *centres = centres_of(t, node);
    for (uint32_t c = 0; c < *found; c++) {
        start[c] = sum;
        sum += size[c];
    }
    for (uint32_t i = x->begin; i < x->end; i++) t->spare[start[t->label[i]]++] = t->order[i];
    memcpy(t->order + x->begin, t->spare + x->begin, (size_t)(x->end - x->begin) * sizeof *t->order);
    for (uint32_t c = 0; c < *found; c++) {
        if (size[c] == 0) continue;
        if (kept < c) memcpy(centres + kept * t->row_bytes, centres + c * t->row_bytes, t->row_bytes);
        t->spare[x->begin + kept++] = size[c];
    }
    *found = kept;
}

static void part_piece(void *context, int32_t piece)
{
    trainer *t = context;
    (void)piece;
    for (uint32_t node; (node = atomic_fetch_add(&t->next, 1)) < t->level_end;) part_node(t, node);
}

/* Appends the children of the level's nodes. */
static bool append_children(trainer *t)
{
    for (uint32_t node = t->level_begin; node < t->level_end; node++) {
        uint32_t found = t->found[node - t->level_begin], place = t->nodes[node].begin;
        if (found == 0) continue;
        if (found > INT32_MAX - t->count || !trainer_reserve(t, t->count + found)) return false;
        t->nodes[node].first = t->count;
        t->nodes[node].children = found;
        memcpy(t->node_rows + (size_t)t->count * t->row_bytes, centres_of(t, node), found * t->row_bytes);
        for (uint32_t c = 0; c < found; c++) {
            uint32_t size = t->spare[t->nodes[node].begin + c];
            t->nodes[t->count++] = (train_node){place, place + size, 0, 0};
            place += size;
        }
    }
    return true;
}

/* False: the caller stops the training. */
static bool assign_rows(trainer *t)
{
    const size_t chunks = (t->n + CHUNK - 1) / CHUNK, all = t->n * (size_t)t->o.levels;
    for (t->first_chunk = 0; t->first_chunk < chunks; t->first_chunk += REPORT_CHUNKS) {
        size_t count = kbi_min_z(REPORT_CHUNKS, chunks - t->first_chunk), end = (t->first_chunk + count) * CHUNK;
        kbi_parallel_run(t->o.parallel, (int32_t)count, assign_chunk, t);
        size_t done = t->n * (size_t)t->level + kbi_min_z(end, t->n);
        if (t->o.report && !t->o.report(t->o.report_context, done, all)) return false;
    }
    return true;
}

static kb_status split_level(trainer *t)
{
    size_t nodes = t->level_end - t->level_begin;
    uint8_t *centres = kbi_reallocate(&t->allocator, t->centres, 0, nodes, (size_t)t->o.branching * t->row_bytes);
    if (centres) t->centres = centres;
    uint32_t *found = kbi_reallocate(&t->allocator, t->found, 0, nodes, sizeof *found);
    if (found) t->found = found;
    if (!centres || !found) return KB_E_MEMORY;
    atomic_store(&t->next, t->level_begin);
    kbi_parallel_run(t->o.parallel, t->pieces, centres_piece, t);
    if (!assign_rows(t)) return KB_E_STOPPED;
    atomic_store(&t->next, t->level_begin);
    kbi_parallel_run(t->o.parallel, t->pieces, part_piece, t);
    return append_children(t) ? KB_OK : KB_E_MEMORY;
}

/* ---- the whole ---- */

static bool trainer_create(trainer *t)
{
    size_t sample = (size_t)t->o.branching * SAMPLE, capacity = t->n < sample ? t->n : sample;
    t->pieces = kbi_parallel_threads(t->o.parallel);
    t->kernels = kbi_match_kernels_get();
    t->order = kbi_allocate_array(&t->allocator, t->n, sizeof *t->order);
    t->spare = kbi_allocate_array(&t->allocator, t->n, sizeof *t->spare);
    t->label = kbi_allocate(&t->allocator, t->n);
    t->clusters = kbi_allocate_zeros(&t->allocator, (size_t)t->pieces * sizeof *t->clusters);
    if (!t->order || !t->spare || !t->label || !t->clusters || !trainer_reserve(t, 1)) return false;
    for (int32_t i = 0; i < t->pieces; i++)
        if (!kbi_k_majority_create(&t->clusters[i], &t->allocator, t->row_bytes, capacity, (uint32_t)t->o.branching,
                                   t->o.iterations))
            return false;
    for (size_t i = 0; i < t->n; i++) t->order[i] = (uint32_t)i;
    t->nodes[0] = (train_node){0, (uint32_t)t->n, 0, 0};
    t->count = 1;
    return true;
}

static void trainer_free(trainer *t)
{
    for (int32_t i = 0; t->clusters && i < t->pieces; i++) kbi_k_majority_free(&t->clusters[i]);
    void *const blocks[] = {t->clusters, t->order, t->spare, t->label, t->nodes, t->node_rows, t->centres, t->found};
    for (size_t i = 0; i < KBI_COUNT(blocks); i++) kbi_deallocate(&t->allocator, blocks[i]);
}

/* ln(images / images that have the word). Rows of a leaf are ascending, so images that share one follow each other. */
static double leaf_weight(const trainer *t, const train_node *leaf, const uint32_t *image_of)
{
    if (!t->o.image_ends) return 1;
    uint32_t images = 0;
    for (uint32_t i = leaf->begin; i < leaf->end; i++)
        images += i == leaf->begin || image_of[t->order[i]] != image_of[t->order[i - 1]];
    return (double)(float)kbi_log((double)t->o.images / (double)images);
}

static kb_status pack_trained(trainer *t, kb_vocabulary **out, kb_error *error)
{
    uint32_t *parents = kbi_allocate_array(&t->allocator, t->count, sizeof *parents), words = 0;
    double *weights = kbi_allocate_array(&t->allocator, t->count, sizeof *weights);
    bool tells = false; /* a weight of 0 says that every image has the word */
    kb_status status = kbi_fail(error, KB_E_MEMORY, "out of memory");
    kb_model_info info;
    KB_INIT(info);
    if (t->o.model) kb_model_get_info(t->o.model, &info);
    for (size_t i = 0, image = 0; t->o.image_ends && i < t->n; i++) {
        while (t->o.image_ends[image] <= i) image++;
        t->spare[i] = (uint32_t)image;
    }
    for (uint32_t i = 0; parents && weights && i < t->count; i++) {
        const train_node *node = &t->nodes[i];
        for (uint32_t k = 0; k < node->children; k++) parents[node->first + k] = i;
        weights[i] = node->children == 0 ? leaf_weight(t, node, t->spare) : 0;
        words += node->children == 0;
        tells |= weights[i] > 0;
    }
    if (parents && weights && !tells)
        status = kbi_fail(error, KB_E_ARGUMENT, "each of %zu images has all %u words, so that no word has a weight: "
                          "more words or other images are needed", t->o.images, words);
    if (parents && weights && tells) {
        const kb_vocabulary_spec spec = {
            .struct_size = sizeof spec, .nodes = t->count, .parents = parents, .rows = t->node_rows,
            .weights = weights, .row_bytes = (int32_t)t->row_bytes, .branching = t->o.branching,
            .levels = t->o.levels, .weighting = t->o.image_ends ? KB_WEIGHTING_TF_IDF : KB_WEIGHTING_TF,
            .model_id = info.id, .model_name = info.spec ? info.spec->name : NULL};
        status = kb_vocabulary_create(&spec, &t->allocator, out, error);
    }
    kbi_deallocate(&t->allocator, parents);
    kbi_deallocate(&t->allocator, weights);
    return status;
}

/* When all rows are equal, the tree gets one word: that row. */
static bool add_only_word(trainer *t)
{
    if (t->count > 1) return true;
    if (!trainer_reserve(t, 2)) return false;
    t->nodes[0].first = t->nodes[0].children = 1;
    memcpy(t->node_rows + t->row_bytes, t->rows, t->row_bytes);
    t->nodes[1] = (train_node){0, (uint32_t)t->n, 0, 0};
    t->count = 2;
    return true;
}

static kb_status trainer_run(trainer *t, kb_vocabulary **out, kb_error *error)
{
    kb_status status = trainer_create(t) ? KB_OK : KB_E_MEMORY;
    for (t->level = 0; status == KB_OK && t->level < t->o.levels; t->level++) {
        t->level_begin = t->level_end;
        t->level_end = t->count;
        if (t->level_begin == t->level_end) break;
        status = split_level(t);
    }
    if (status == KB_E_STOPPED) return kbi_fail_status(error, status);
    if (status != KB_OK || !add_only_word(t))
        return kbi_fail(error, KB_E_MEMORY, "no memory for training with %zu rows", t->n);
    return pack_trained(t, out, error);
}

static kb_status check_images(const kb_vocabulary_options *o, size_t n, kb_error *error)
{
    if (!o->image_ends) return KB_OK;
    for (size_t i = 0; i < o->images; i++)
        if ((i > 0 && o->image_ends[i] < o->image_ends[i - 1]) || o->image_ends[i] > n)
            return kbi_fail(error, KB_E_ARGUMENT, "image_ends[%zu] is %zu, which is not ascending to %zu", i,
                            o->image_ends[i], n);
    if (o->images == 0 || o->images > INT32_MAX || o->image_ends[o->images - 1] != n)
        return kbi_fail(error, KB_E_ARGUMENT, "%zu images do not end with the last of %zu rows", o->images, n);
    return KB_OK;
}

static const kbi_option train_options[] = {
    KBI_OPTION(kb_vocabulary_options, branching, 'i', 10, 2, KB_MAX_BRANCHING),
    KBI_OPTION(kb_vocabulary_options, levels, 'i', 4, 1, KB_MAX_LEVELS),
    KBI_OPTION(kb_vocabulary_options, iterations, 'i', 10, 1, 1000),
};

static kb_status check_train(const kb_vocabulary_options *o, const uint8_t *rows, size_t n, size_t row_bytes,
                             kb_error *error)
{
    if (!rows || n < 1 || n > UINT32_MAX || row_bytes < 1 || row_bytes > 4096)
        return kbi_fail(error, KB_E_ARGUMENT, "%zu rows of %zu bytes: a vocabulary needs 1 to 2^32 - 1 of 1 to 4096", n,
                        row_bytes);
    kb_model_info info;
    KB_INIT(info);
    if (o->model && (kb_model_get_info(o->model, &info) != KB_OK || info.row_bytes != (int32_t)row_bytes))
        return kbi_fail(error, KB_E_MODEL, "rows of %zu bytes, but the model gives rows of %d", row_bytes,
                        info.row_bytes);
    return check_images(o, n, error);
}

kb_status kb_vocabulary_train(const uint8_t *rows, size_t n, size_t row_bytes, const kb_vocabulary_options *options,
                              const kb_allocator *allocator, kb_vocabulary **out, kb_error *error)
{
    trainer t = {.rows = rows, .n = n, .row_bytes = row_bytes};
    if (out) *out = NULL;
    if (!out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    kb_status status = KBI_OPTIONS_READ(kb_vocabulary_options, train_options, &t.o, options, error);
    if (status == KB_OK) status = kbi_allocator_read(&t.allocator, allocator, error);
    if (status == KB_OK) status = check_train(&t.o, rows, n, row_bytes, error);
    if (status != KB_OK) return status;
    status = trainer_run(&t, out, error);
    trainer_free(&t);
    return status;
}
