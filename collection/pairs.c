/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs of a collection are matched: all, neighbours in a sequence or in space, the most similar
 * ones, or those of a list. */
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "io/bytes.h"

#define EXHAUSTIVE_UP_TO 100 /* images, by default */
#define PROBED_IMAGES 8192   /* images x words per row: the time of a query does not grow up to so many images */

void collection_pairs_add(collection *c, size_t a, size_t b)
{
    if (a == b || !c->good[a] || !c->good[b]) return;
    if (c->pair_count >= c->pair_room) {
        c->pair_room = c->pair_count < 512 ? 1024 : 2 * c->pair_count;
        c->pairs = io_grow(c->pairs, c->pair_room, sizeof *c->pairs);
    }
    c->pairs[c->pair_count][0] = (uint32_t)(a < b ? a : b);
    c->pairs[c->pair_count++][1] = (uint32_t)(a < b ? b : a);
}

static int compare_pairs(const void *x, const void *y)
{
    const uint32_t *a = x, *b = y;
    if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

void collection_pairs_settle(collection *c, size_t first)
{
    size_t kept = first;
    if (c->pair_count > first + 1) qsort(c->pairs + first, c->pair_count - first, sizeof *c->pairs, compare_pairs);
    for (size_t i = first; i < c->pair_count; i++) {
        if (kept > first && compare_pairs(c->pairs[kept - 1], c->pairs[i]) == 0) continue;
        memcpy(c->pairs[kept++], c->pairs[i], sizeof *c->pairs);
    }
    c->pair_count = kept;
}

bool collection_chosen_pair(const collection *c, size_t a, size_t b)
{
    const uint32_t pair[2] = {(uint32_t)a, (uint32_t)b};
    return c->chosen > 0 && bsearch(pair, c->pairs, c->chosen, sizeof pair, compare_pairs) != NULL;
}

/* ---- retrieval ---- */

static bool retrieval_index(collection *c, kb_index *index, kb_workspace *ws, io_error *error)
{
    kb_error why;
    for (size_t i = 0; i < c->images.count; i++) {
        features f;
        if (!c->good[i]) continue;
        if (!collection_features_read(c, i, &f)) return io_fail(error, "%s: its features are gone", c->images.items[i]);
        kb_features view = features_view(&f);
        bool ok = kb_index_add(index, &view, i, NULL, ws, &why) == KB_OK;
        features_free(&f);
        if (!ok) return io_fail(error, "%s: %s", c->images.items[i], why.text);
    }
    return true;
}

typedef struct retrieval {
    collection *c;
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
    if (!r->c->good[i]) return;
    r->failure[i] = "its features are gone";
    if (!collection_features_read(r->c, (size_t)i, &f)) return;
    kb_features view = features_view(&f);
    kb_index_query_options o;
    KB_INIT(o);
    o.probes = r->probes;
    kb_status status =
        kb_index_query(r->index, &view, &o, NULL, r->results + (size_t)i * r->k, r->k, &r->counts[i], &why);
    r->failure[i] = status == KB_OK ? NULL : kb_status_string(status);
    features_free(&f);
}

static bool pairs_retrieval(collection *c, io_error *error)
{
    io_vocabulary words;
    kb_workspace *ws = NULL;
    kb_error why;
    retrieval r = {.c = c, .k = (size_t)c->options.neighbours + 1}; /* the image itself is one */
    size_t n = c->images.count;
    r.probes = n <= PROBED_IMAGES / 8 ? 8 : n < PROBED_IMAGES ? (int32_t)(PROBED_IMAGES / n) : 1;
    if (!photos_vocabulary_open(c->options.vocabulary, &c->options.pipeline->info, &words, error)) return false;
    bool ok = (kb_index_create(words.vocabulary, NULL, NULL, &r.index, &why) == KB_OK &&
               kb_workspace_create(NULL, &ws) == KB_OK) ||
              io_fail(error, "out of memory");
    ok = ok && retrieval_index(c, r.index, ws, error);
    r.results = io_alloc(n * r.k, sizeof *r.results);
    r.counts = io_alloc(n, sizeof *r.counts);
    r.failure = io_alloc(n, sizeof *r.failure);
    if (ok && c->options.pipeline->parallel)
        c->options.pipeline->parallel->run(c->options.pipeline->parallel->self, (int32_t)n, retrieval_query, &r);
    else for (size_t i = 0; ok && i < n; i++) retrieval_query(&r, (int32_t)i);
    for (size_t i = 0; ok && i < n; i++) {
        if (r.failure[i]) ok = io_fail(error, "%s: %s", c->images.items[i], r.failure[i]);
        for (size_t k = 0; ok && k < r.counts[i]; k++) collection_pairs_add(c, i, (size_t)r.results[i * r.k + k].id);
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

static void gps_add(void *context, size_t a, size_t b)
{
    collection_pairs_add(context, a, b);
}

/* ---- a list ---- */

static void pairs_list(collection *c)
{
    for (size_t i = 0; i < c->listed.count; i++) collection_pairs_add(c, c->listed.items[i][0], c->listed.items[i][1]);
}

/* Names as in the database. Once, since the list may be a pipe. */
static bool list_read(collection *c, io_error *error)
{
    return !c->options.list || c->listed.items || io_pairs_read(c->options.list, &c->names, &c->listed, error);
}

/* ---- all ---- */

static collection_pairs_by pairs_by(const collection *c)
{
    if (c->options.by != PAIRS_AUTO) return c->options.by;
    return c->options.list ? PAIRS_LIST : c->images.count <= EXHAUSTIVE_UP_TO ? PAIRS_EXHAUSTIVE : PAIRS_RETRIEVAL;
}

bool collection_expands(const collection *c)
{
    return !c->options.no_expand && pairs_by(c) == PAIRS_RETRIEVAL;
}

static bool pairs_choose(collection *c, io_error *error)
{
    size_t n = c->images.count;
    collection_pairs_by by = pairs_by(c);
    c->pair_count = 0;
    bool ok = true;
    if (by == PAIRS_LIST) {
        ok = c->options.list || io_fail(error, "--pairs list needs --list");
        if (ok) pairs_list(c);
    } else if (by == PAIRS_RETRIEVAL) {
        ok = pairs_retrieval(c, error);
    } else if (by == PAIRS_GPS) {
        ok = collection_gps(c, gps_add, c, error);
    } else {
        size_t reach = by == PAIRS_SEQUENTIAL ? (size_t)c->options.overlap : n;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1, found = 0; b < n && found < reach && c->good[a]; b++) {
                found += c->good[b];
                collection_pairs_add(c, a, b);
            }
    }
    if (ok) collection_pairs_settle(c, 0);
    return ok;
}

/* Everything that the list depends on. */
static bool pairs_stamp(collection *c, io_error *error)
{
    uint64_t hash = c->describe_hash;
    const int32_t numbers[] = {(int32_t)c->options.by, c->options.neighbours, c->options.overlap, (int32_t)c->images.count};
    hash = kbi_sum_bytes(hash, numbers, sizeof numbers);
    if (c->options.by == PAIRS_GPS) hash = kbi_sum_bytes(hash, &c->options.reach, sizeof c->options.reach);
    for (size_t i = 0; i < c->images.count; i++) {
        uint64_t one = c->good[i] ? c->stamps[i] : 0;
        hash = kbi_sum_bytes(hash, &one, sizeof one);
    }
    if (pairs_by(c) == PAIRS_RETRIEVAL) { /* its content, whatever it is called */
        io_vocabulary words;
        kb_vocabulary_info info;
        KB_INIT(info);
        if (!photos_vocabulary_open(c->options.vocabulary, &c->options.pipeline->info, &words, error)) return false;
        kb_vocabulary_get_info(words.vocabulary, &info);
        hash = kbi_sum_bytes(hash, info.data, info.bytes);
        io_vocabulary_free(&words);
    }
    if (!list_read(c, error)) return false;
    hash = kbi_sum_bytes(hash, c->listed.items, c->listed.count * sizeof *c->listed.items);
    c->pairs_hash = hash;
    return true;
}

/* Which images have features; those without must have said why. */
static bool images_settle(collection *c, io_error *error)
{
    size_t missing = 0, first = 0;
    c->failed = 0;
    for (size_t i = 0; i < c->images.count; i++) {
        c->good[i] = collection_features_check(c, i, &c->keypoints[i]);
        if (!c->good[i] && collection_failure_check(c, i)) c->failed++;
        else if (!c->good[i] && missing++ == 0) first = i;
    }
    if (missing == 0) return true;
    return io_fail(error, "%zu of %zu images are not described yet, such as %s: run --step describe for all shards first",
                   missing, c->images.count, c->images.items[first]);
}

void collection_expanded_load(collection *c)
{
    if (!c->expanded)
        c->expanded = collection_pairs_load(c, "expanded.txt", collection_expanded_hash(c), c->chosen);
}

bool collection_pairs(collection *c, io_error *error)
{
    collection_stamp(c, collection_whole);
    collection_unrefine(c);
    if (!images_settle(c, error) || !pairs_stamp(c, error)) return false;
    if (!collection_pairs_load(c, "pairs.txt", c->pairs_hash, 0) &&
        !(pairs_choose(c, error) && collection_pairs_write(c, "pairs.txt", c->pairs_hash, 0, error)))
        return false;
    c->chosen = c->pair_count;
    c->expanded = !collection_expands(c);
    collection_expanded_load(c);
    return true;
}
