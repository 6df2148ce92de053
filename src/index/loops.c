/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* Loop closing in a sequence: candidates from the index without the last images, grouped into islands of neighbours,
 * the best image of the best islands checked by matching and geometry.
 *
 * How high a score is depends on scene, vocabulary and number of keypoints. The measure is the sequence itself: the
 * median score of an image with the one before it. Places that look alike, such as the doors of a corridor, may well
 * fit geometrically; but then they resemble several places. So the matches of a loop must be clearly more similar than
 * the matches of the most similar images of other places, the last images included. A smaller margin is enough where
 * they are far more similar than the matches of unrelated photographs, a larger one is asked for where there are few
 * images to compare with. The query's own place reaches back over the last images for as long as these are similar to
 * it. Where no image shows another place, only nearly the same view is a loop. A place that was returned to counts as
 * one place with its first pass, so that a third pass does not take the second for another place.
 *
 * A loop must have a plane, too: a homography with min_places places. Epipolar lines alone are met by any row of doors.
 *
 * The numbers are of the training photographs (bag256, 2000 keypoints): of 14,149 pairs of different scenes that share
 * words the score was at most 0.026, and of the 5,639 that were matched and verified at most 0.0104. Their inliers were
 * 20, 17, 14, 14, 13, 13, 12, 12 and fewer, a tail that halves every 3: one pair in some 60,000 would reach 30. Places
 * of one building are more alike than unrelated photographs, which is why CERTAIN_VERIFIED is four times as much. */
#include "common/options.h"
#include "index/index.h"

#include <math.h>

#define CANDIDATES 64
#define CERTAIN_SCORE 0.03    /* enough for a candidate, however similar neighbours are, as they are in a slow video */
#define CERTAIN_VERIFIED 0.04 /* from this score after verification on, NEARLY is asked for, else DISTINCT */
#define NEARLY 1.2            /* min ratio of the loop's score to the best score of other places */
#define DISTINCT 1.5          /* the same for a score below CERTAIN_VERIFIED */
#define DISTINCT_AMONG_FEW 2.0 /* the same with fewer than FEW_OTHERS images of other places to compare with */
#define FEW_OTHERS 5
#define ALONE 0.3             /* min score where there is no other place to compare with */

struct kb_loop_detector {
    kb_index *index;
    kb_loop_options o;
    double *neighbours; /* scores of images with the one before, ascending */
    size_t count;
    size_t *origins; /* of images: themselves, or where the first pass of their place was */
    size_t room;     /* of both arrays */
};

/* Neighbouring candidates: they support each other. */
typedef struct island {
    size_t first, last;   /* positions */
    size_t best;          /* the candidate with the best score, an index into the results */
    double score;         /* the sum of scores */
} island;

static const kbi_option loop_options[] = {
    KBI_OPTION(kb_loop_options, window, 'i', 20, 1, INT32_MAX),
    KBI_OPTION(kb_loop_options, checks, 'i', 2, 1, 1000),
    KBI_OPTION(kb_loop_options, island, 'i', 3, 1, INT32_MAX),
    KBI_OPTION(kb_loop_options, min_places, 'i', 30, 1, INT32_MAX),
    KBI_OPTION(kb_loop_options, min_score, 'd', 0.5, 0, INFINITY),
    KBI_OPTION(kb_loop_options, geometry, 'i', 0, KB_GEOMETRY_HOMOGRAPHY, KB_GEOMETRY_AFFINE),
    KBI_OPTION(kb_loop_options, threshold, 'd', 0, 0, 1e9),
};

kb_status kbi_loop_read(kb_loop_options *o, const kb_loop_options *given, kb_error *error)
{
    return KBI_OPTIONS_READ(kb_loop_options, loop_options, o, given, error);
}

kb_status kb_loop_detector_create(const kb_vocabulary *vocabulary, const kb_loop_options *options,
                                       const kb_allocator *given, kb_loop_detector **out, kb_error *error)
{
    kb_allocator allocator;
    kb_loop_options o;
    if (out) *out = NULL;
    if (!out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    kb_status status = kbi_loop_read(&o, options, error);
    if (status == KB_OK) status = kbi_allocator_read(&allocator, given, error);
    if (status != KB_OK) return status;
    kb_loop_detector *d = kbi_allocate_zeros(&allocator, sizeof *d);
    if (!d) return kbi_fail(error, KB_E_MEMORY, "out of memory");
    kb_index_options keep;
    KB_INIT(keep);
    keep.keep_features = 1;
    d->o = o;
    status = kb_index_create(vocabulary, &keep, &allocator, &d->index, error);
    if (status == KB_OK) *out = d;
    else kbi_deallocate(&allocator, d);
    return status;
}

void kb_loop_detector_free(kb_loop_detector *detector)
{
    if (!detector) return;
    kb_allocator allocator = detector->index->allocator;
    kb_index_free(detector->index);
    kbi_deallocate(&allocator, detector->neighbours);
    kbi_deallocate(&allocator, detector->origins);
    kbi_deallocate(&allocator, detector);
}

/* The score with the image just before, which is among the results unless it is nothing. */
static double neighbour_score(const kb_loop_detector *d, const kb_index_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (results[i].position == d->index->count - 1) return results[i].score;
    return 0;
}

/* Room for the score and the origin of one more image; there is at most one score per image. */
static kb_status loop_arrays_reserve(kb_loop_detector *d)
{
    const kb_allocator *allocator = &d->index->allocator;
    size_t images = d->index->count, room = d->room ? 2 * d->room : 64;
    if (images < d->room) return KB_OK;
    double *neighbours =
        kbi_reallocate(allocator, d->neighbours, d->count * sizeof *neighbours, room, sizeof *neighbours);
    if (!neighbours) return KB_E_MEMORY;
    d->neighbours = neighbours;
    size_t *origins = kbi_reallocate(allocator, d->origins, images * sizeof *origins, room, sizeof *origins);
    if (!origins) return KB_E_MEMORY;
    d->origins = origins;
    d->room = room;
    return KB_OK;
}

static void neighbour_note(kb_loop_detector *d, double score)
{
    size_t at = d->count++;
    for (; at > 0 && d->neighbours[at - 1] > score; at--) d->neighbours[at] = d->neighbours[at - 1];
    d->neighbours[at] = score;
}

static void neighbour_forget(kb_loop_detector *d, double score)
{
    size_t at = 0;
    while (d->neighbours[at] != score) at++;
    memmove(d->neighbours + at, d->neighbours + at + 1, (--d->count - at) * sizeof *d->neighbours);
}

/* The candidates in the order of results: all images but the last `window` ones. */
static size_t candidates_keep(const kb_loop_detector *d, const kb_index_result *results, size_t count,
                              kb_index_result *candidates)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < CANDIDATES; i++)
        if (results[i].position + (size_t)d->o.window < d->index->count) candidates[kept++] = results[i];
    return kept;
}

static bool are_near(size_t a, size_t b, size_t reach) { return a <= b + reach && b <= a + reach; }

/* Candidates in the order of scores: each joins an island that it is near to, or starts one. An island reaches no
 * further from its best image than the window, beyond which a place is another. */
static size_t islands_build(const kb_loop_detector *d, const kb_index_result *results, size_t count, double min,
                            island *islands)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (results[i].score < min) break;
        size_t at = results[i].position, reach = (size_t)d->o.island, k = 0;
        while (k < n && (at + reach < islands[k].first || at > islands[k].last + reach ||
                         !are_near(at, results[islands[k].best].position, (size_t)d->o.window)))
            k++;
        if (k == n) {
            islands[n++] = (island){at, at, i, results[i].score};
            continue;
        }
        if (at < islands[k].first) islands[k].first = at;
        if (at > islands[k].last) islands[k].last = at;
        islands[k].score += results[i].score;
    }
    for (size_t i = 1; i < n; i++) { /* best first; equal ones stay */
        island moved = islands[i];
        size_t to = i;
        for (; to > 0 && islands[to - 1].score < moved.score; to--) islands[to] = islands[to - 1];
        islands[to] = moved;
    }
    return n;
}

/* ---- checks ---- */

static kb_status check_image(const kb_loop_detector *d, const kb_features *f, kb_index_result *r, kb_workspace *ws)
{
    kb_index_query_options o;
    KB_INIT(o);
    o.geometry = d->o.geometry;
    o.threshold = d->o.threshold;
    size_t mark = kbi_workspace_mark(ws);
    kb_status status = kbi_index_verify(d->index, f, r->position, &o, d->o.min_places, ws, r);
    kbi_workspace_rewind(ws, mark);
    return status;
}

static void fill_loop(const kb_index_result *r, double score, const island *from, kb_loop *loop)
{
    loop->inliers = r->inliers;
    loop->places = r->places;
    loop->geometry = r->geometry;
    loop->reference = r->position;
    loop->score = score;
    loop->island_first = from->first;
    loop->island_last = from->last;
    memcpy(loop->model, r->model, sizeof loop->model);
}

/* The best image of each of the best islands. */
static kb_status check_islands(const kb_loop_detector *d, const kb_features *f, const island *islands, size_t n,
                               const kb_index_result *candidates, kb_workspace *ws, double *best, kb_loop *loop)
{
    for (size_t i = 0; i < n && loop->checked < d->o.checks; i++) {
        kb_index_result r = candidates[islands[i].best];
        kb_status status = check_image(d, f, &r, ws);
        if (status != KB_OK) return status;
        loop->checked++;
        if (r.score <= *best) continue;
        *best = r.score;
        fill_loop(&r, candidates[islands[i].best].score, &islands[i], loop);
    }
    return KB_OK;
}

/* The first of the images that show the place of the query, going back from it, but no further than the window. */
static size_t own_place(const kb_loop_detector *d, const kb_index_result *results, size_t count, double min)
{
    size_t now = d->index->count, first = now, before = now + 1, reach = (size_t)d->o.island;
    while (before != first) {
        before = first;
        for (size_t i = 0; i < count && results[i].score >= min; i++) {
            size_t at = results[i].position;
            if (at < first && at + reach >= first && at + (size_t)d->o.window >= now) first = at;
        }
    }
    return first;
}

/* Whether an image shows the place of a loop: one of its island, or an image of another pass. */
static bool shows_place(const kb_loop_detector *d, const kb_loop *loop, size_t at)
{
    size_t reach = (size_t)d->o.island, from = at > reach ? at - reach : 0;
    if (at + reach >= loop->island_first && at <= loop->island_last + reach) return true;
    for (size_t a = from; a <= at + reach && a < d->index->count; a++)
        if (are_near(d->origins[a], d->origins[loop->reference], reach) && (a == at || d->origins[a] != a)) return true;
    return false;
}

/* How many times as similar as the most similar image of other places a loop must be. Among few images of a corridor
 * there is hardly one that shows the next door from the same side, and the loop is the best only for want of it. */
static double ratio_wanted(double best, size_t others)
{
    if (others < FEW_OTHERS) return DISTINCT_AMONG_FEW;
    return best >= CERTAIN_VERIFIED ? NEARLY : DISTINCT;
}

/* Whether the loop is clearly more similar than the most similar images of other places. */
static kb_status check_others(const kb_loop_detector *d, const kb_features *f, const kb_index_result *results,
                              size_t count, double min, kb_workspace *ws, double best, kb_loop *loop)
{
    size_t own = own_place(d, results, count, min), reach = (size_t)d->o.island, others = 0;
    double next = 0;
    int32_t checked = 0;
    for (size_t at = 0; at + reach < own && others < FEW_OTHERS; at++) others += !shows_place(d, loop, at);
    for (size_t i = 0; i < count && others > 0 && checked < d->o.checks; i++) {
        kb_index_result r = results[i];
        if (r.position + reach >= own || shows_place(d, loop, r.position)) continue;
        kb_status status = check_image(d, f, &r, ws);
        if (status != KB_OK) return status;
        checked++;
        if (r.score > next) next = r.score;
    }
    loop->checked += checked;
    loop->found = others > 0 ? best >= ratio_wanted(best, others) * next : best >= ALONE;
    return KB_OK;
}

/* The results of the query, and the candidates among them. */
typedef struct loop_buffers {
    size_t room;
    kb_index_result *results, *candidates;
} loop_buffers;

static bool buffers_get(loop_buffers *b, const kb_loop_options *o, size_t images, kb_workspace *ws)
{
    b->room = kbi_min_z(CANDIDATES + (size_t)o->window, images);
    b->results = kbi_workspace_array(ws, b->room, sizeof *b->results);
    b->candidates = kbi_workspace_array(ws, CANDIDATES, sizeof *b->candidates);
    return b->results && b->candidates;
}

static kb_index_query_options loop_query(void)
{
    kb_index_query_options o;
    KB_INIT(o);
    o.probes = 1; /* CERTAIN_SCORE was found so */
    return o;
}

kb_status kbi_loop_measure(const kb_index_limits *l, const kb_loop_options *o, kb_workspace *ws)
{
    loop_buffers b;
    const kb_index_query_options query = loop_query();
    size_t mark = kbi_workspace_mark(ws);
    kb_status status = buffers_get(&b, o, l->images, ws) ? KB_OK : KB_E_MEMORY;
    if (status == KB_OK) status = kbi_index_query_measure(l, &query, b.room, ws);
    if (status == KB_OK) status = kbi_index_verify_measure(l->rows, l->row_bytes, ws);
    kbi_workspace_rewind(ws, mark);
    return status;
}

/* *neighbour receives the score with the image before, when one was noted. */
static kb_status find_loop(kb_loop_detector *d, const kb_features *f, kb_workspace *ws, kb_loop *loop,
                           double *neighbour, kb_error *error)
{
    island islands[CANDIDATES];
    loop_buffers b;
    size_t count;
    if (d->index->count == 0) return KB_OK;
    if (!buffers_get(&b, &d->o, d->index->count, ws)) return KB_E_MEMORY;
    const kb_index_query_options o = loop_query();
    kb_status status = kb_index_query(d->index, f, &o, ws, b.results, b.room, &count, error);
    if (status != KB_OK) return status;
    *neighbour = neighbour_score(d, b.results, count);
    neighbour_note(d, *neighbour);
    size_t kept = candidates_keep(d, b.results, count, b.candidates);
    double min = d->o.min_score * d->neighbours[d->count / 2], best = 0;
    min = min < CERTAIN_SCORE ? min : CERTAIN_SCORE;
    size_t n = islands_build(d, b.candidates, kept, min, islands);
    status = check_islands(d, f, islands, n, b.candidates, ws, &best, loop);
    if (status != KB_OK || loop->places < d->o.min_places) return status;
    return check_others(d, f, b.results, count, min, ws, best, loop);
}

kb_status kb_loop_detector_add(kb_loop_detector *detector, const kb_features *features, kb_workspace *workspace,
                               kb_loop *out, kb_error *error)
{
    kb_features f;
    kb_loop found = {.struct_size = sizeof found}, *loop = &found;
    kbi_error_clear(error);
    if (!detector || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    if (KBI_STRUCT_CHECK(kb_loop, out) != KB_OK) return kbi_fail_struct(error);
    loop->query = detector->index->count;
    const kb_vocabulary *v = detector->index->vocabulary;
    kb_status status = kbi_features_check(features, &f, v->row_bytes, v->model_id, v->model_name, error);
    if (status == KB_OK && f.n > 0 && !f.keypoints)
        status = kbi_fail(error, KB_E_ARGUMENT, "loop closing needs keypoints");
    if (status != KB_OK) return status;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws);
    size_t noted = detector->count;
    double neighbour = 0;
    status = loop_arrays_reserve(detector);
    if (status == KB_OK) status = find_loop(detector, &f, ws, loop, &neighbour, error);
    kbi_workspace_rewind(ws, mark);
    if (status == KB_OK) status = kb_index_add(detector->index, &f, loop->query, NULL, ws, error);
    if (status != KB_OK && detector->count > noted) neighbour_forget(detector, neighbour);
    size_t *origins = detector->origins;
    if (status == KB_OK) origins[loop->query] = loop->found ? origins[loop->reference] : loop->query;
    KBI_STRUCT_WRITE(kb_loop, out, loop);
    return kbi_workspace_end(&local, status, "images, rows, row_bytes, loop", error);
}
