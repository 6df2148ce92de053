/* Matching and verifying the pairs of a collection, block by block. */
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"

/* ---- one pair ---- */

typedef struct block_work {
    collection *c;
    size_t first, count;          /* pairs */
    features *images;             /* those of the block, ascending */
    uint32_t *numbers;            /* which images they are */
    size_t image_count;
    collection_pair results[COLLECTION_BLOCK];
    kb_status status[COLLECTION_BLOCK];
} block_work;

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static const features *block_image(const block_work *w, uint32_t number)
{
    const uint32_t *found = bsearch(&number, w->numbers, w->image_count, sizeof number, compare_numbers);
    return &w->images[found - w->numbers];
}

/* Keypoints are exact to pixels of the images as they were described. */
static double pair_step(const collection *c, const features *a, const features *b)
{
    int32_t max_size = c->options.reading.max_size;
    double of_a = photos_step(a->width, a->height, max_size), of_b = photos_step(b->width, b->height, max_size);
    return of_a > of_b ? of_a : of_b;
}

/* A fundamental matrix; where there is none, as for a plane, a homography. */
static kb_status fit_pair(const collection *c, const kb_point_pair *points, const float *quality, size_t n, double step,
                          kb_workspace *ws, uint8_t *inliers, collection_pair *out)
{
    static const kb_geometry tries[] = {KB_GEOMETRY_FUNDAMENTAL, KB_GEOMETRY_HOMOGRAPHY};
    for (int i = 0; i < 2; i++) {
        kb_fit_options o;
        kb_fit_report report;
        KB_INIT(o);
        KB_INIT(report);
        o.geometry = tries[i];
        o.threshold = c->options.threshold > 0 ? c->options.threshold : (i == 0 ? 1.5 : 3) * step;
        o.quality = quality;
        o.seed = c->options.pipeline->options.seed;
        o.max_iterations = COLLECTION_SAMPLES; /* what the filter has left is right for the most part, or hopeless */
        kb_status status = kb_fit(points, n, &o, ws, inliers, &report, NULL);
        if (status != KB_OK) return status;
        if (report.result != KB_FIT_FOUND || report.inliers < c->options.min_inliers) continue;
        out->geometry = tries[i];
        out->inliers = (uint32_t)report.inliers;
        memcpy(out->model, report.model, sizeof out->model);
        return KB_OK;
    }
    return KB_OK;
}

/* Inliers to the front, in the order of matches. */
static void inliers_first(kb_match *matches, size_t n, const uint8_t *inliers, collection_pair *out)
{
    size_t at = 0;
    out->matches = io_alloc(n, sizeof *out->matches);
    for (int pass = 1; pass >= 0; pass--)
        for (size_t i = 0; i < n; i++)
            if (inliers[i] == pass) out->matches[at++] = matches[i];
    out->count = (uint32_t)n;
}

static kb_status match_pair(const collection *c, const features *a, const features *b, kb_workspace *ws,
                            collection_pair *out)
{
    kb_match_options o;
    size_t n = 0, room = a->rows.count + 1;
    KB_INIT(o);
    o.max_ratio = c->options.pipeline->options.max_ratio;
    o.max_distance = c->options.pipeline->options.max_distance;
    kb_match *matches = io_alloc(room, sizeof *matches);
    kb_features fa = features_view(a), fb = features_view(b);
    kb_status status = kb_match_features(&fa, &fb, &o, ws, matches, &n, NULL);
    if (status == KB_OK) status = kb_filter(&fa, &fb, matches, n, NULL, ws, matches, &n, NULL);
    kb_point_pair *points = io_alloc(n + 1, sizeof *points);
    float *quality = io_alloc(n + 1, sizeof *quality);
    uint8_t *inliers = io_alloc(n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *p = &a->keypoints.items[matches[i].a], *q = &b->keypoints.items[matches[i].b];
        points[i] = (kb_point_pair){p->x, p->y, q->x, q->y};
        quality[i] = matches[i].distance;
    }
    if (status == KB_OK && n >= (size_t)c->options.min_inliers)
        status = fit_pair(c, points, quality, n, pair_step(c, a, b), ws, inliers, out);
    if (status == KB_OK && out->inliers > 0) inliers_first(matches, n, inliers, out);
    free(matches);
    free(points);
    free(quality);
    free(inliers);
    return status;
}

static void block_task(void *context, int32_t i)
{
    block_work *w = context;
    const uint32_t *pair = w->c->pairs[w->first + (size_t)i];
    kb_workspace *ws = NULL;
    w->results[i] = (collection_pair){.a = pair[0], .b = pair[1]};
    w->status[i] = kb_workspace_create(&ws);
    if (w->status[i] == KB_OK)
        w->status[i] = match_pair(w->c, block_image(w, pair[0]), block_image(w, pair[1]), ws, &w->results[i]);
    kb_workspace_free(ws);
}

/* ---- one block ---- */

static bool block_load(block_work *w, io_error *error)
{
    w->numbers = io_alloc(2 * w->count, sizeof *w->numbers);
    for (size_t i = 0; i < w->count; i++) memcpy(w->numbers + 2 * i, w->c->pairs[w->first + i], 2 * sizeof *w->numbers);
    qsort(w->numbers, 2 * w->count, sizeof *w->numbers, compare_numbers);
    for (size_t i = 0; i < 2 * w->count; i++)
        if (i == 0 || w->numbers[i] != w->numbers[w->image_count - 1]) w->numbers[w->image_count++] = w->numbers[i];
    w->images = io_alloc(w->image_count, sizeof *w->images);
    for (size_t i = 0; i < w->image_count; i++)
        if (!collection_features_read(w->c, w->numbers[i], &w->images[i]))
            return io_fail(error, "%s: its features are gone", w->c->images.items[w->numbers[i]]);
    return true;
}

static void block_free(block_work *w)
{
    for (size_t i = 0; w->images && i < w->image_count; i++) features_free(&w->images[i]);
    for (size_t i = 0; i < w->count; i++) free(w->results[i].matches);
    free(w->images);
    free(w->numbers);
    free(w);
}

static bool block_make(collection *c, size_t block, io_error *error)
{
    block_work *w = io_alloc(1, sizeof *w);
    w->c = c;
    w->first = block * COLLECTION_BLOCK;
    w->count = collection_block_pairs(c, block);
    bool ok = block_load(w, error);
    if (ok && c->options.pipeline->parallel && c->options.pipeline->parallel->threads > 1)
        c->options.pipeline->parallel->run(c->options.pipeline->parallel->self, (int32_t)w->count, block_task, w);
    else for (size_t i = 0; ok && i < w->count; i++) block_task(w, (int32_t)i);
    for (size_t i = 0; ok && i < w->count; i++)
        if (w->status[i] != KB_OK)
            ok = io_fail(error, "%s and %s: %s", c->names.items[w->results[i].a], c->names.items[w->results[i].b],
                         kb_status_string(w->status[i]));
    ok = ok && collection_block_write(c, block, w->results, error);
    block_free(w);
    return ok;
}

bool collection_match(collection *c, collection_shard shard, io_error *error)
{
    size_t blocks = collection_blocks(c);
    for (size_t block = (size_t)shard.index; block < blocks; block += (size_t)shard.count) {
        if (!photos_progress(&c->options.host, "matching", block, blocks, error)) return false;
        if (!collection_block_check(c, block) && !block_make(c, block, error)) return false;
    }
    return photos_progress(&c->options.host, "matching", blocks, blocks, error);
}
