/* Which pairs of a collection are matched: all, neighbours in a sequence or in space, the most similar
 * ones, or those of a list. */
#include <stdlib.h>
#include <string.h>

#include "collection.h"
#include "io/pair_list.h"

#define EXHAUSTIVE_UP_TO 100 /* images, by default */
#define PROBED_IMAGES 8192   /* images x words per row: the time of a query does not grow up to so many images */

static void add_pair(collection_job *j, size_t *room, size_t a, size_t b)
{
    if (a == b || !j->good[a] || !j->good[b]) return;
    if (j->pair_count == *room) {
        *room = *room ? 2 * *room : 1024;
        j->pairs = io_grow(j->pairs, *room, sizeof *j->pairs);
    }
    j->pairs[j->pair_count][0] = (uint32_t)(a < b ? a : b);
    j->pairs[j->pair_count++][1] = (uint32_t)(a < b ? b : a);
}

static int compare_pairs(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;
    if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Sorted, each once. */
static void pairs_settle(collection_job *j)
{
    size_t kept = 0;
    if (j->pair_count > 1) qsort(j->pairs, j->pair_count, sizeof *j->pairs, compare_pairs);
    for (size_t i = 0; i < j->pair_count; i++) {
        if (kept > 0 && compare_pairs(j->pairs[kept - 1], j->pairs[i]) == 0) continue;
        memcpy(j->pairs[kept++], j->pairs[i], sizeof *j->pairs);
    }
    j->pair_count = kept;
}

/* ---- retrieval ---- */

static bool retrieval_index(collection_job *j, kb_index *index, kb_workspace *ws, io_error *error)
{
    kb_error why;
    for (size_t i = 0; i < j->images.count; i++) {
        features f;
        if (!j->good[i]) continue;
        if (!collection_features_read(j, i, &f)) return io_fail(error, "%s: its features are gone", j->images.items[i]);
        kb_features view = places_features(&f);
        bool ok = kb_index_add(index, &view, i, NULL, ws, &why) == KB_OK;
        features_free(&f);
        if (!ok) return io_fail(error, "%s: %s", j->images.items[i], why.text);
    }
    return true;
}

typedef struct retrieval {
    collection_job *j;
    kb_index *index;
    kb_index_result *results; /* k per image */
    size_t *counts, k;
    int32_t probes;
    const char **failure; /* per image; NULL: none */
} retrieval;

static void retrieval_query(void *context, int32_t i)
{
    retrieval *r = context;
    features f;
    kb_error why;
    if (!r->j->good[i]) return;
    r->failure[i] = "its features are gone";
    if (!collection_features_read(r->j, (size_t)i, &f)) return;
    kb_features view = places_features(&f);
    kb_index_query_options o;
    KB_INIT(o);
    o.probes = r->probes;
    kb_status status =
        kb_index_query(r->index, &view, &o, NULL, r->results + (size_t)i * r->k, r->k, &r->counts[i], &why);
    r->failure[i] = status == KB_OK ? NULL : kb_status_string(status);
    features_free(&f);
}

static bool pairs_retrieval(collection_job *j, size_t *room, io_error *error)
{
    io_vocabulary words;
    kb_workspace *ws = NULL;
    kb_error why;
    retrieval r = {.j = j, .k = (size_t)j->neighbours + 1}; /* the image itself is one */
    size_t n = j->images.count;
    r.probes = n <= PROBED_IMAGES / 8 ? 8 : n < PROBED_IMAGES ? (int32_t)(PROBED_IMAGES / n) : 1;
    if (!places_vocabulary_open(j->vocabulary, &j->pipeline.pipeline.info, &words, error)) return false;
    bool ok = (kb_index_create(words.vocabulary, NULL, &r.index, &why) == KB_OK && kb_workspace_create(&ws) == KB_OK) ||
              io_fail(error, "out of memory");
    ok = ok && retrieval_index(j, r.index, ws, error);
    r.results = io_alloc(n * r.k, sizeof *r.results);
    r.counts = io_alloc(n, sizeof *r.counts);
    r.failure = io_alloc(n, sizeof *r.failure);
    if (ok && j->common->parallel)
        j->common->parallel->run(j->common->parallel->self, (int32_t)n, retrieval_query, &r);
    else for (size_t i = 0; ok && i < n; i++) retrieval_query(&r, (int32_t)i);
    for (size_t i = 0; ok && i < n; i++) {
        if (r.failure[i]) ok = io_fail(error, "%s: %s", j->images.items[i], r.failure[i]);
        for (size_t k = 0; ok && k < r.counts[i]; k++) add_pair(j, room, i, (size_t)r.results[i * r.k + k].id);
    }
    free(r.results);
    free(r.counts);
    free(r.failure);
    kb_index_free(r.index);
    kb_workspace_free(ws);
    io_vocabulary_free(&words);
    return ok;
}

/* ---- positions ---- */

typedef struct pair_sink {
    collection_job *j;
    size_t *room;
} pair_sink;

static void gps_add(void *context, size_t a, size_t b)
{
    pair_sink *sink = context;
    add_pair(sink->j, sink->room, a, b);
}

/* ---- a list ---- */

/* Names as in the database. */
static bool pairs_list(collection_job *j, size_t *room, io_error *error)
{
    io_pairs pairs;
    if (!io_pairs_read(j->list, &j->names, &pairs, error)) return false;
    for (size_t i = 0; i < pairs.count; i++) add_pair(j, room, pairs.items[i][0], pairs.items[i][1]);
    io_pairs_free(&pairs);
    return true;
}

/* ---- all ---- */

static collection_pairs_by pairs_by(const collection_job *j)
{
    if (j->by != PAIRS_AUTO) return j->by;
    return j->list ? PAIRS_LIST : j->images.count <= EXHAUSTIVE_UP_TO ? PAIRS_EXHAUSTIVE : PAIRS_RETRIEVAL;
}

static bool pairs_choose(collection_job *j, io_error *error)
{
    size_t room = 0, n = j->images.count;
    collection_pairs_by by = pairs_by(j);
    j->pair_count = 0;
    bool ok = true;
    if (by == PAIRS_LIST) {
        ok = j->list ? pairs_list(j, &room, error) : io_fail(error, "--pairs list needs --list");
    } else if (by == PAIRS_RETRIEVAL) {
        ok = pairs_retrieval(j, &room, error);
    } else if (by == PAIRS_GPS) {
        pair_sink sink = {j, &room};
        ok = collection_gps(j, gps_add, &sink, error);
    } else {
        size_t reach = by == PAIRS_SEQUENTIAL ? (size_t)j->overlap : n;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1, found = 0; b < n && found < reach && j->good[a]; b++) {
                found += j->good[b];
                add_pair(j, &room, a, b);
            }
    }
    if (ok) pairs_settle(j);
    return ok;
}

/* Everything that the list depends on. */
static bool pairs_stamp(collection_job *j, io_error *error)
{
    uint64_t hash = j->describe_hash;
    const int32_t numbers[] = {(int32_t)j->by, j->neighbours, j->overlap, (int32_t)j->images.count};
    hash = collection_hash(hash, numbers, sizeof numbers);
    if (j->by == PAIRS_GPS) hash = collection_hash(hash, &j->reach, sizeof j->reach);
    for (size_t i = 0; i < j->images.count; i++) {
        uint64_t one = j->good[i] ? j->stamps[i] : 0;
        hash = collection_hash(hash, &one, sizeof one);
    }
    if (pairs_by(j) == PAIRS_RETRIEVAL) { /* its content, whatever it is called */
        io_vocabulary words;
        size_t size;
        if (!places_vocabulary_open(j->vocabulary, &j->pipeline.pipeline.info, &words, error)) return false;
        const void *data = kb_vocabulary_data(words.vocabulary, &size);
        hash = collection_hash(hash, data, size);
        io_vocabulary_free(&words);
    }
    if (j->list) {
        io_bytes bytes;
        if (!io_file_read(j->list, &bytes, error)) return false;
        hash = collection_hash(hash, bytes.data, bytes.size);
        io_bytes_free(&bytes);
    }
    j->pairs_hash = hash;
    return true;
}

/* Which images have features; those without must have said why. */
static bool images_settle(collection_job *j, io_error *error)
{
    size_t missing = 0, first = 0;
    j->failed = 0;
    for (size_t i = 0; i < j->images.count; i++) {
        j->good[i] = collection_features_check(j, i, &j->keypoints[i]);
        if (!j->good[i] && collection_failure_check(j, i)) j->failed++;
        else if (!j->good[i] && missing++ == 0) first = i;
    }
    if (missing == 0) return true;
    return io_fail(error, "%zu of %zu images are not described yet, such as %s: run --step describe for all shards first",
                   missing, j->images.count, j->images.items[first]);
}

bool collection_pairs(collection_job *j, io_error *error)
{
    if (!images_settle(j, error) || !pairs_stamp(j, error)) return false;
    char *path = io_path_join(j->folder, "pairs.txt");
    bool ok = collection_pairs_load(j, path);
    if (!ok) ok = pairs_choose(j, error) && collection_pairs_write(j, path, error);
    free(path);
    return ok;
}
