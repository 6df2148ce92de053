/* SPDX-License-Identifier: Apache-2.0 */
/* Matching and verifying the pairs of a collection, block by block. */
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "common/common.h"

/* ---- one pair ---- */

typedef struct block_work {
    collection *c;
    size_t first, count;          /* pairs */
    features *images;             /* those of the block, ascending */
    io_mapping *patches;          /* their patches; NULL without refinement */
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

static size_t block_place(const block_work *w, uint32_t number)
{
    const uint32_t *found = bsearch(&number, w->numbers, w->image_count, sizeof number, compare_numbers);
    return (size_t)(found - w->numbers);
}

#define PAIR_PX 3 /* kb_verify_options.threshold */

/* Keypoints are exact to pixels of the images as they were described. */
static double pair_step(const collection *c, const features *a, const features *b)
{
    int32_t max_size = c->options.reading.max_size;
    double of_a = photos_step(a->width, a->height, max_size), of_b = photos_step(b->width, b->height, max_size);
    return of_a > of_b ? of_a : of_b;
}

/* Inliers to the front, in the order of matches. */
static void inliers_first(const kb_match *matches, size_t n, const uint8_t *inliers, collection_pair *out)
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
    const pipeline_options *p = &c->options.pipeline->options;
    kb_features view_a = features_view(a), view_b = features_view(b);
    kb_verify_options o;
    kb_verification found;
    KB_INIT(o);
    KB_INIT(found);
    o.max_ratio = p->max_ratio;
    o.max_distance = p->max_distance;
    o.seed = p->seed;
    o.threshold = c->options.threshold > 0 ? c->options.threshold : PAIR_PX * pair_step(c, a, b);
    o.min_places = c->options.min_places;
    o.upright_a = a->upright_rows;
    o.upright_b = b->upright_rows;
    const io_camera cameras[2] = {collection_camera(c, a), collection_camera(c, b)};
    const kb_camera lenses[2] = {io_camera_lens(&cameras[0]), io_camera_lens(&cameras[1])};
    if (cameras[0].known && cameras[1].known) {
        o.camera_a = &lenses[0];
        o.camera_b = &lenses[1];
    }
    kb_match *matches = io_alloc(view_a.n + 1, sizeof *matches);
    uint8_t *inliers = io_alloc(view_a.n + 1, 1);
    kb_status status = kb_pair_verify(&view_a, &view_b, &o, ws, matches, inliers, &found, NULL);
    if (status == KB_OK && found.verified) {
        out->geometry = found.geometry;
        out->inliers = (uint32_t)found.inliers;
        memcpy(out->model, found.model, sizeof out->model);
        memcpy(out->rotation, found.rotation, sizeof out->rotation);
        memcpy(out->translation, found.translation, sizeof out->translation);
        inliers_first(matches, found.count, inliers, out);
    }
    free(matches);
    free(inliers);
    return status;
}

/* How far b is turned against a, degrees clockwise: the mean direction of the differences of the inliers' angles, of
 * which single ones are noisy. */
static double pair_rotation(const features *a, const features *b, const collection_pair *p)
{
    double x = 0, y = 0, sine, cosine;
    for (size_t i = 0; i < p->inliers; i++) {
        float from = a->keypoints.items[p->matches[i].a].angle, to = b->keypoints.items[p->matches[i].b].angle;
        kbi_sincos_degrees((double)(to < from ? to - from + 360 : to - from), &sine, &cosine);
        x += cosine;
        y += sine;
    }
    return kbi_atan2_degrees(y, x);
}

/* Inliers that do not look alike when they are aligned are mostly other points near the epipolar line: they go behind the
 * inliers. Where half of a pair and more cannot be aligned, it is the photographs that differ, as by day and night. */
static void drop_unaligned(collection_pair *p)
{
    size_t n = p->inliers, aligned = 0;
    for (size_t i = 0; i < n; i++) aligned += patch_shift_known(p->shifts[i]);
    if (2 * aligned <= n) return;
    kb_match *others = io_alloc(n - aligned + 1, sizeof *others);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!patch_shift_known(p->shifts[i])) {
            others[i - kept] = p->matches[i];
            continue;
        }
        p->matches[kept] = p->matches[i];
        p->shifts[kept++] = p->shifts[i];
    }
    memcpy(p->matches + kept, others, (n - kept) * sizeof *others);
    free(others);
    p->inliers = (uint32_t)kept;
}

/* How far the keypoints of the inliers are from showing the same; those that do not are inliers no more. */
static kb_status align_pair(const block_work *w, const size_t places[2], kb_workspace *ws, collection_pair *out)
{
    patch_side sides[2];
    for (int side = 0; side < 2; side++)
        sides[side] = (patch_side){w->patches[places[side]].data + COLLECTION_PATCHES_HEAD,
                                   w->images[places[side]].keypoints.count};
    out->shifts = io_alloc((size_t)out->inliers + 1, sizeof *out->shifts);
    out->turned = (float)pair_rotation(&w->images[places[0]], &w->images[places[1]], out);
    kb_status status = patch_sheet_align(sides, out->matches, out->inliers, (double)out->turned, ws, out->shifts);
    if (status == KB_OK) drop_unaligned(out);
    return status;
}

static void block_task(void *context, int32_t i)
{
    block_work *w = context;
    const uint32_t *pair = w->c->pairs[w->first + (size_t)i];
    kb_workspace *ws = NULL;
    w->results[i] = (collection_pair){.a = pair[0], .b = pair[1]};
    w->status[i] = kb_workspace_create(NULL, &ws);
    const size_t places[2] = {block_place(w, pair[0]), block_place(w, pair[1])};
    if (w->status[i] == KB_OK)
        w->status[i] = match_pair(w->c, &w->images[places[0]], &w->images[places[1]], ws, &w->results[i]);
    if (w->status[i] == KB_OK && w->patches && w->results[i].inliers > 0)
        w->status[i] = align_pair(w, places, ws, &w->results[i]);
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
    if (!w->c->options.no_refine) w->patches = io_alloc(w->image_count, sizeof *w->patches);
    for (size_t i = 0; i < w->image_count; i++)
        if (!collection_features_read(w->c, w->numbers[i], &w->images[i]) ||
            (w->patches && !collection_patches_open(w->c, w->numbers[i], w->images[i].keypoints.count, &w->patches[i])))
            return io_fail(error, "%s: its features are gone", w->c->images.items[w->numbers[i]]);
    return true;
}

static void block_free(block_work *w)
{
    for (size_t i = 0; w->images && i < w->image_count; i++) features_free(&w->images[i]);
    for (size_t i = 0; w->patches && i < w->image_count; i++) io_mapping_close(&w->patches[i]);
    for (size_t i = 0; i < w->count; i++) {
        free(w->results[i].matches);
        free(w->results[i].shifts);
    }
    free(w->patches);
    free(w->images);
    free(w->numbers);
    free(w);
}

static bool block_make(collection *c, size_t block, io_error *error)
{
    block_work *w = io_alloc(1, sizeof *w);
    w->c = c;
    w->first = collection_block_first(c, block);
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
    collection_unrefine(c);
    for (size_t block = (size_t)shard.index; block < blocks; block += (size_t)shard.count) {
        if (!photos_progress(&c->options.host, "matching", block, blocks, error)) return false;
        if (!collection_block_check(c, block) && !block_make(c, block, error)) return false;
    }
    return photos_progress(&c->options.host, "matching", blocks, blocks, error);
}
