/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: scores of all images that share a word with the query, the best of them, and their verification. */
#include "common/features.h"
#include "common/options.h"
#include "index/index.h"

#include <math.h>

#define PROBES 2        /* by default; it does not depend on the size of the index, since scores depend on it */
#define HEAD_NEAR 14    /* how many of the 64 bits of two heads may differ */
#define POOL 4          /* images per image to be verified that are compared with a sample of the query's rows */
#define SAMPLE_ROWS 512 /* rows of that sample */
#define LIST_PART 2048 /* entries whose heads are compared with the query's together */

typedef struct query {
    const kb_index *index;
    const kb_index_query_options *o;
    size_t images;        /* that take part */
    kbi_bag bag;
    const kbi_match_kernels *kernels;
    uint32_t *similarity; /* by distance */
    uint64_t *sums;       /* KB_SCORING_BINARY, one per image */
    double *scores;       /* one per image */
} query;

/* ---- lists ---- */

/* Heads are compared with the heads of a whole list; where few of their bits differ, as for 97 % of true matches and
 * 3 % of others in the same word (measured on training photographs), the rest of the signatures too. */
static void score_binary(query *q, const kbi_segment *s, uint64_t begin, uint64_t end, size_t k)
{
    size_t row_bytes = q->index->vocabulary->row_bytes, tail = kbi_tail_bytes(row_bytes);
    uint64_t selectivity = kbi_word_selectivity(q->index->vocabulary, q->bag.word[k]);
    uint32_t max = (uint32_t)(row_bytes < KBI_HEAD ? row_bytes : KBI_HEAD) * HEAD_NEAR / KBI_HEAD;
    uint32_t heads_apart[LIST_PART], tails_apart[LIST_PART];
    int32_t found[LIST_PART + KBI_NEAR_SLACK];
    uint8_t head[KBI_HEAD] = {0};
    const uint8_t *signature = q->bag.signature + k * row_bytes;
    memcpy(head, signature, tail ? KBI_HEAD : row_bytes);
    for (uint64_t from = begin; from < end; from += LIST_PART) {
        size_t count = (size_t)(end - from < LIST_PART ? end - from : LIST_PART);
        const uint8_t *heads = s->column[KBI_COLUMN_HEAD] + from * KBI_HEAD;
        size_t near = q->kernels->hamming_near(head, heads, count, max, found);
        q->kernels->hamming_listed(head, heads, found, near, KBI_HEAD, KBI_HEAD, heads_apart);
        if (tail)
            q->kernels->hamming_listed(signature + KBI_HEAD, kbi_entry(s, from) + KBI_ENTRY, found, near, tail,
                                      s->entry_bytes, tails_apart);
        for (size_t i = 0; i < near; i++) {
            uint32_t image = kbi_entry_image(s, from + (uint64_t)found[i]);
            uint32_t distance = heads_apart[i] + (tail ? tails_apart[i] : 0);
            if (image < q->images) q->sums[image] += selectivity * q->similarity[distance];
        }
    }
}

/* DBoW2's L1 score is 1 - |v - w| / 2 = half the sum over shared words of |v| + |w| - |v - w|, for vectors of norm
 * 1. */
static void score_tf_idf(query *q, const kbi_segment *s, uint64_t begin, uint64_t end, size_t k)
{
    const kb_vocabulary *v = q->index->vocabulary;
    uint32_t word = q->bag.word[k];
    double mine = kbi_word_value(v, word, q->bag.count[k]) / q->bag.l1;
    for (uint64_t i = begin; i < end; i++) {
        uint32_t image = kbi_entry_image(s, i);
        if (image >= q->images || !(q->index->images[image].l1 > 0)) continue;
        double its = kbi_word_value(v, word, kbi_entry_count(s, i)) / q->index->images[image].l1;
        if (its > 1) its = 1; /* of a damaged index, even not finite */
        q->scores[image] += (fabs(mine) + fabs(its) - fabs(mine - its)) / 2;
    }
}

/* The first row of the directory from `from` on with a word not below `word`, by steps that double and then halve. As
 * only `missing` words of the vocabulary have no row, a word's row is at most `missing` before its number. */
static size_t directory_find(const kbi_segment *s, size_t from, uint32_t word, size_t missing)
{
    if (word > from + missing && word - missing < s->words) from = word - missing;
    size_t step = 1, low = from, high;
    while (low + step < s->words && kbi_directory_word(s, low + step) < word) {
        low += step;
        step *= 2;
    }
    high = low + step < s->words ? low + step : s->words;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kbi_directory_word(s, middle) < word) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void score_segment(query *q, const kbi_segment *s)
{
    size_t missing = q->index->vocabulary->words - s->words;
    for (size_t k = 0, row = 0; k < q->bag.n; k++) {
        uint64_t begin, end;
        row = directory_find(s, row, q->bag.word[k], missing);
        if (row == s->words) break;
        if (kbi_directory_word(s, row) != q->bag.word[k]) continue;
        kbi_directory_range(s, row, &begin, &end);
        (q->o->scoring == KB_SCORING_TF_IDF ? score_tf_idf : score_binary)(q, s, begin, end, k);
    }
}

static void score_segments(query *q)
{
    for (size_t i = 0; i < q->index->segment_count; i++) score_segment(q, &q->index->segments[i]);
}

/* ---- scores ---- */

static bool sums_get(query *q, kb_workspace *ws)
{
    q->sums = kbi_workspace_array(ws, q->images, sizeof *q->sums);
    return q->sums != NULL;
}

/* Adds up q->sums. Rows also look into the next nearest words: many true matches are there, above all on small or
 * blurred images. */
static kb_status query_binary(query *q, const kb_features *f, kb_workspace *ws)
{
    if (!sums_get(q, ws)) return KB_E_MEMORY;
    memset(q->sums, 0, q->images * sizeof *q->sums);
    score_segments(q);
    if (q->o->probes < 2) return KB_OK;
    kb_status status = kbi_bag_probe(q->index->vocabulary, f, (uint32_t)q->o->probes, ws, &q->bag);
    if (status == KB_OK) score_segments(q);
    return status;
}

static kb_status query_words(query *q, const kb_features *f, kb_workspace *ws)
{
    const kb_index *index = q->index;
    bool binary = q->o->scoring == KB_SCORING_BINARY;
    kb_status status = kbi_bag_create(index->vocabulary, f, binary, ws, &q->bag);
    if (status != KB_OK) return status;
    if (!binary) {
        score_segments(q);
        for (size_t i = 0; i < q->images; i++) /* an image may be twice in the lists of a damaged index */
            if (q->scores[i] > 1) q->scores[i] = 1;
        return KB_OK;
    }
    status = query_binary(q, f, ws);
    double root = sqrt((double)q->bag.self);
    for (size_t i = 0; status == KB_OK && i < q->images; i++) {
        if (q->sums[i] == 0) continue;
        double norm = root * index->norms[i];
        double score = norm > 0 ? (double)q->sums[i] / (norm * KBI_SIMILARITY_ONE) : 0;
        q->scores[i] = score < 1 ? score : 1;
    }
    return status;
}

static kb_status query_exact(query *q, const kb_features *f, kb_workspace *ws)
{
    for (size_t i = 0; i < q->images; i++) {
        if (q->index->images[i].removed) continue;
        size_t mark = kbi_workspace_mark(ws);
        kb_status status = kbi_index_exact(q->index, f, i, q->similarity, ws, &q->scores[i]);
        kbi_workspace_rewind(ws, mark);
        if (status != KB_OK) return status;
    }
    return KB_OK;
}

/* ---- the best ---- */

/* Whether a is a better result than b. */
static bool better_result(const kb_index_result *a, const kb_index_result *b)
{
    return a->score > b->score || (a->score == b->score && a->position < b->position);
}

/* A heap whose first is the worst: moves an element down to its place. */
static void heap_sink(kb_index_result *heap, size_t n, size_t i)
{
    kb_index_result moved = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && better_result(&heap[child], &heap[child + 1])) child++;
        if (!better_result(&moved, &heap[child])) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

static size_t take_best(const query *q, kb_index_result *results, size_t capacity)
{
    size_t n = 0;
    for (size_t i = 0; i < q->images && capacity > 0; i++) {
        if (!(q->scores[i] > 0) || (n == capacity && q->scores[i] < results[0].score)) continue;
        if (q->index->images[i].removed) continue;
        kb_index_result r = {.id = q->index->images[i].id, .position = i, .score = q->scores[i], .inliers = -1,
                             .places = -1};
        if (n < capacity) {
            results[n++] = r;
            if (n == capacity)
                for (size_t k = n / 2; k-- > 0;) heap_sink(results, n, k);
        } else if (better_result(&r, &results[0])) {
            results[0] = r;
            heap_sink(results, n, 0);
        }
    }
    if (n < capacity)
        for (size_t k = n / 2; k-- > 0;) heap_sink(results, n, k);
    for (size_t left = n; left > 1;) { /* the worst goes to the end */
        kb_index_result worst = results[0];
        results[0] = results[--left];
        results[left] = worst;
        heap_sink(results, left, 0);
    }
    return n;
}

/* ---- verification ---- */

/* Images with a verified geometry come before the others. */
static bool verified_better(const kb_index_result *a, const kb_index_result *b)
{
    return (a->inliers > 0) != (b->inliers > 0) ? a->inliers > 0 : a->score > b->score;
}

static kb_status verify_best(const query *q, const kb_features *f, kb_workspace *ws, kb_index_result *results,
                             size_t count)
{
    size_t n = (size_t)q->o->verify < count ? (size_t)q->o->verify : count;
    for (size_t i = 0; i < n; i++) {
        size_t mark = kbi_workspace_mark(ws);
        kb_status status = kbi_index_verify(q->index, f, results[i].position, q->o, 0, ws, &results[i]);
        kbi_workspace_rewind(ws, mark);
        if (status != KB_OK) return status;
        size_t to = i; /* insertion; equal ones stay in the order of the scores before */
        kb_index_result moved = results[i];
        for (; to > 0 && verified_better(&moved, &results[to - 1]); to--) results[to] = results[to - 1];
        results[to] = moved;
    }
    return KB_OK;
}

/* ---- sampling ----
 *
 * Quantisation gives some matching rows different words, so a picture among clutter can be far down the list. Therefore
 * SAMPLE_ROWS rows of the query are matched with POOL x verify images. The most similar images move to the front; the
 * others stay in the order of their scores. A photograph of clutter has a mutual match with every image for many of its
 * rows, of which few are right but near: so the similarity of a match is cubed. */

typedef struct sampling {
    size_t sampled, room, rows;
    kb_index_result *pool; /* `room` results, of which `sampled` are compared */
    double *similarity;    /* of these */
    uint8_t *sample;       /* rows of the query */
    uint32_t *cubed;       /* similarity by distance */
} sampling;

static bool sampling_get(sampling *s, const query *q, size_t rows, size_t row_bytes, size_t capacity, kb_workspace *ws)
{
    size_t verify = (size_t)q->o->verify;
    s->sampled = verify < q->images / POOL ? verify * POOL : q->images;
    s->room = s->sampled > capacity ? s->sampled : capacity;
    s->rows = rows < SAMPLE_ROWS ? rows : SAMPLE_ROWS;
    s->pool = kbi_workspace_array(ws, s->room, sizeof *s->pool);
    s->similarity = kbi_workspace_array(ws, s->sampled, sizeof *s->similarity);
    s->sample = kbi_workspace_array(ws, s->rows, row_bytes);
    s->cubed = kbi_workspace_array(ws, 8 * row_bytes + 1, sizeof *s->cubed);
    return s->pool && s->similarity && s->sample && s->cubed;
}

static void cube_similarity(const query *q, size_t row_bytes, uint32_t *cubed)
{
    for (size_t h = 0; h <= 8 * row_bytes; h++) {
        uint64_t one = q->similarity[h];
        cubed[h] = (uint32_t)(one * one / KBI_SIMILARITY_ONE * one / KBI_SIMILARITY_ONE);
    }
}

static kb_features sample_rows(const kb_features *f, const sampling *s)
{
    kb_features sample = *f;
    for (size_t i = 0; i < s->rows; i++)
        memcpy(s->sample + i * f->row_bytes, (const uint8_t *)f->rows + i * f->n / s->rows * f->row_bytes,
               f->row_bytes);
    sample.n = s->rows;
    sample.rows = s->sample;
    return sample;
}

/* Moves the `front` most similar of n results to the front, the most similar one first. */
static void most_similar_first(kb_index_result *results, double *similarity, size_t n, size_t front)
{
    for (size_t k = 0; k < front && k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (similarity[i] > similarity[best]) best = i;
        kb_index_result moved = results[best];
        double with = similarity[best];
        for (; best > k; best--) results[best] = results[best - 1], similarity[best] = similarity[best - 1];
        results[k] = moved;
        similarity[k] = with;
    }
}

static kb_status take_similar(const query *q, const kb_features *f, kb_workspace *ws, kb_index_result *results,
                              size_t capacity, size_t *count)
{
    sampling s;
    if (!sampling_get(&s, q, f->n, f->row_bytes, capacity, ws)) return KB_E_MEMORY;
    const kb_features sample = sample_rows(f, &s);
    cube_similarity(q, f->row_bytes, s.cubed);
    size_t n = take_best(q, s.pool, s.room), sampled = kbi_min_z(s.sampled, n);
    for (size_t i = 0; i < sampled; i++) {
        size_t mark = kbi_workspace_mark(ws);
        kb_status status = kbi_index_exact(q->index, &sample, s.pool[i].position, s.cubed, ws, &s.similarity[i]);
        kbi_workspace_rewind(ws, mark);
        if (status != KB_OK) return status;
    }
    most_similar_first(s.pool, s.similarity, sampled, (size_t)q->o->verify);
    *count = kbi_min_z(n, capacity);
    if (*count > 0) memcpy(results, s.pool, *count * sizeof *results);
    return KB_OK;
}

static bool scores_get(query *q, size_t row_bytes, kb_workspace *ws)
{
    q->scores = kbi_workspace_array(ws, q->images, sizeof *q->scores);
    q->similarity = kbi_workspace_array(ws, 8 * row_bytes + 1, sizeof *q->similarity);
    return q->scores && q->similarity;
}

/* What query_run takes. */
kb_status kbi_index_query_measure(const kb_index_limits *l, const kb_index_query_options *o, size_t capacity,
                                  kb_workspace *ws)
{
    query q = {.o = o, .images = l->images};
    sampling s;
    size_t mark = kbi_workspace_mark(ws);
    bool exact = o->scoring == KB_SCORING_EXACT, binary = o->scoring == KB_SCORING_BINARY;
    kb_status status = scores_get(&q, l->row_bytes, ws) ? KB_OK : KB_E_MEMORY;
    if (status == KB_OK && exact) status = kbi_index_exact_measure(l->rows, l->rows, l->row_bytes, ws);
    if (status == KB_OK && binary && !sums_get(&q, ws)) status = KB_E_MEMORY;
    if (status == KB_OK && !exact)
        status = kbi_bag_measure(l->rows, l->row_bytes, binary, binary ? (uint32_t)o->probes : 1, ws);
    if (status == KB_OK && o->verify > 0) {
        if (!exact && !sampling_get(&s, &q, l->rows, l->row_bytes, capacity, ws)) status = KB_E_MEMORY;
        if (status == KB_OK && !exact) status = kbi_index_exact_measure(s.rows, l->rows, l->row_bytes, ws);
        if (status == KB_OK) status = kbi_index_verify_measure(l->rows, l->row_bytes, ws);
    }
    kbi_workspace_rewind(ws, mark);
    return status;
}

static kb_status query_run(query *q, const kb_features *f, kb_workspace *ws, kb_index_result *results,
                           size_t capacity, size_t *count)
{
    if (!scores_get(q, f->row_bytes, ws)) return KB_E_MEMORY;
    for (size_t i = 0; i < q->images; i++) q->scores[i] = 0;
    kbi_similarity_table(q->index->vocabulary->row_bytes, q->similarity);
    kb_status status = (q->o->scoring == KB_SCORING_EXACT ? query_exact : query_words)(q, f, ws);
    if (status != KB_OK) return status;
    if (q->o->verify > 0 && q->o->scoring != KB_SCORING_EXACT)
        status = take_similar(q, f, ws, results, capacity, count);
    else
        *count = take_best(q, results, capacity);
    return status == KB_OK ? verify_best(q, f, ws, results, *count) : status;
}

static const kbi_option query_options[] = {
    KBI_OPTION(kb_index_query_options, scoring, 'i', KB_SCORING_BINARY, KB_SCORING_BINARY, KB_SCORING_EXACT),
    KBI_OPTION(kb_index_query_options, verify, 'i', 0, 0, INT32_MAX),
    KBI_OPTION(kb_index_query_options, probes, 'i', PROBES, 1, KB_MAX_PROBES),
};

kb_status kbi_index_query_read(kb_index_query_options *o, const kb_index_query_options *given, kb_error *error)
{
    return KBI_OPTIONS_READ(kb_index_query_options, query_options, o, given, error);
}

static kb_status query_check(const kb_index *index, const kb_features *f, const kb_index_query_options *o,
                             kb_error *error)
{
    if ((o->scoring == KB_SCORING_EXACT || o->verify > 0) && !index->features)
        return kbi_fail(error, KB_E_KIND, "this index keeps no features, which exact search and verification need");
    if (o->scoring == KB_SCORING_BINARY && !index->signatures)
        return kbi_fail(error, KB_E_KIND, "this index keeps no signatures: its scores are tf-idf");
    if (o->verify > 0 && f->n > 0 && !f->keypoints)
        return kbi_fail(error, KB_E_ARGUMENT, "verification needs the keypoints of the query");
    return KB_OK;
}

kb_status kb_index_query(const kb_index *index, const kb_features *features, const kb_index_query_options *options,
                         kb_workspace *workspace, kb_index_result *results, size_t capacity, size_t *count,
                         kb_error *error)
{
    kb_features f;
    kb_index_query_options o;
    kbi_error_clear(error);
    if (count) *count = 0;
    if (!index || !count || (capacity > 0 && !results)) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    const kb_vocabulary *v = index->vocabulary;
    kb_status status = kbi_index_query_read(&o, options, error);
    if (status == KB_OK) status = kbi_features_check(features, &f, v->row_bytes, v->model_id, v->model_name, error);
    if (status == KB_OK) status = kbi_features_alike(&index->origin, "the index", &f, "the query", error);
    if (status == KB_OK) status = query_check(index, &f, &o, error);
    if (status != KB_OK) return status;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    query q = {.index = index, .o = &o, .images = index->count, .kernels = kbi_match_kernels_get()};
    if (o.first_images > 0 && o.first_images < q.images) q.images = o.first_images;
    status = query_run(&q, &f, ws, results, capacity, count);
    if (status != KB_OK) *count = 0;
    return kbi_workspace_end(&local, status, "images, rows, row_bytes, results, query", error);
}
