/* SPDX-License-Identifier: Apache-2.0 */
/* The images of a run, and our steps on them in memory that is kept, so that a timed call does its step and nothing
 * else. */
#include <stdlib.h>
#include <string.h>

#include "eval/bench.h"
#include "eval/peers.h"
#include "io/features.h"

#define NONE SIZE_MAX

/* ------------------------------------------------------------------------------------------------------- memory */

#define ROW_BYTES (KB_SIFT_VALUES * sizeof(float)) /* the longest rows are SIFT's floats */

static void frame_make(ev_bench_frame *frame, size_t capacity)
{
    frame->f.keypoints.items = io_alloc(capacity, sizeof *frame->f.keypoints.items);
    frame->memory = io_alloc(capacity, ROW_BYTES);
}

static void frame_free(ev_bench_frame *frame)
{
    io_keypoints_free(&frame->f.keypoints);
    free(frame->memory);
}

static bool bench_settle(const char *what, kb_status status, io_error *error)
{
    return status == KB_OK || io_fail(error, "%s: %s", what, kb_status_string(status));
}

/* -------------------------------------------------------------------------------------------------------- steps */

static kb_status detect_into(const ev_bench_set *set, const kb_image *image, kb_detector detector,
                             kb_orientation orientation, kb_keypoint *keypoints, size_t *n)
{
    kb_detect_options o;
    KB_INIT(o);
    o.detector = detector;
    o.orientation = orientation;
    o.max_keypoints = set->max_keypoints;
    o.parallel = set->parallel;
    kb_features f = io_keypoints_view(keypoints, (size_t)set->max_keypoints);
    kb_status status = kb_detect(image, &o, set->workspace, &f, NULL);
    *n = f.n;
    return status;
}

bool ev_bench_detect(ev_bench_set *set, const kb_image *image, kb_detector detector, kb_orientation orientation,
                     ev_bench_frame *frame, io_error *error)
{
    io_keypoints *k = &frame->f.keypoints;
    return bench_settle("detecting", detect_into(set, image, detector, orientation, k->items, &k->count), error);
}

bool ev_bench_describe(ev_bench_set *set, const kb_image *image, const ev_method *method, const kb_keypoint *keypoints,
                       size_t n, ev_bench_frame *frame, io_error *error)
{
    kb_describe_options o;
    kb_model_info info;
    KB_INIT(o);
    KB_INIT(info);
    o.parallel = set->parallel;
    kb_model_get_info(method->model, &info);
    bool floats = info.row_floats > 0;
    frame->f.rows = (io_rows){floats ? NULL : frame->memory, floats ? frame->memory : NULL, n,
                              (size_t)(floats ? info.row_floats : info.row_bytes)};
    kb_features f = io_features_view(NULL, &frame->f.rows);
    f.keypoints = (kb_keypoint *)(uintptr_t)keypoints;
    f.detector = KB_DETECTOR_ORB;
    return bench_settle("describing", kb_describe(method->model, image, &o, set->workspace, &f, NULL), error);
}

bool ev_bench_match(ev_bench_set *set, const io_rows *a, const io_rows *b, size_t *count, io_error *error)
{
    kb_match_options o;
    KB_INIT(o);
    o.parallel = set->parallel;
    kb_features fa = io_features_view(NULL, a), fb = io_features_view(NULL, b);
    kb_status status = kb_match_features(&fa, &fb, &o, set->workspace, set->matches, count, NULL);
    return bench_settle("matching", status, error);
}

bool ev_bench_knn(ev_bench_set *set, const io_rows *a, const io_rows *b, int32_t k, io_error *error)
{
    kb_match_options o;
    KB_INIT(o);
    o.parallel = set->parallel;
    kb_features fa = io_features_view(NULL, a), fb = io_features_view(NULL, b);
    return bench_settle("matching", kb_match_knn(&fa, &fb, k, &o, set->workspace, set->neighbours, NULL), error);
}

bool ev_bench_filter(ev_bench_set *set, size_t pair, io_error *error)
{
    kb_features a = io_features_view(&set->keypoints[2 * pair], NULL);
    kb_features b = io_features_view(&set->keypoints[2 * pair + 1], NULL);
    size_t n;
    return bench_settle("filtering",
                        kb_filter(&a, &b, set->given_nearest, set->given_nearest_count, NULL, set->workspace,
                                  set->matches, &n, NULL),
                        error);
}

bool ev_bench_refine(ev_bench_set *set, size_t pair, io_error *error)
{
    kb_features a = io_features_view(&set->keypoints[2 * pair], NULL);
    kb_features b = io_features_view(&set->keypoints[2 * pair + 1], NULL);
    const kb_image images[2] = {set->images[2 * pair].view, set->images[2 * pair + 1].view};
    kb_refine_options o;
    KB_INIT(o);
    o.scale = 1;
    o.parallel = set->parallel;
    return bench_settle("refining",
                        kb_match_refine(images, &a, &b, set->given_nearest, set->given_nearest_count, &o,
                                        set->workspace, set->pairs, NULL, NULL),
                        error);
}

bool ev_bench_fit(ev_bench_set *set, const kb_point_pair *pairs, size_t n, io_error *error)
{
    kb_fit_report report;
    KB_INIT(report);
    return bench_settle("fitting", kb_fit(pairs, n, NULL, set->workspace, NULL, &report, NULL), error);
}

bool ev_bench_pair(ev_bench_set *set, size_t a, size_t b, const ev_method *method, int32_t looks, io_error *error)
{
    kb_detect_options detect;
    kb_fit_options fit;
    kb_pair_options o;
    kb_fit_report report;
    kb_pair pair;
    kb_features sides[2];
    KB_INIT(detect);
    KB_INIT(fit);
    KB_INIT(o);
    KB_INIT(report);
    KB_INIT(pair);
    detect.max_keypoints = set->max_keypoints;
    if (looks) fit.geometry = KB_GEOMETRY_HOMOGRAPHY; /* one look to the peer's geometry; else all is the default */
    o.looks = looks;
    o.detect = &detect;
    o.fit = &fit;
    o.parallel = set->parallel;
    for (int i = 0; i < 2; i++) {
        KB_INIT(sides[i]);
        sides[i].keypoints = set->frames[i].f.keypoints.items;
        sides[i].capacity = (size_t)set->max_keypoints;
    }
    pair.a = &sides[0];
    pair.b = &sides[1];
    pair.matches = set->matches;
    pair.inliers = set->inliers;
    pair.fit = &report;
    return bench_settle("matching", kb_match_images(method->model, &set->images[a].view, &set->images[b].view, &o,
                                                    set->workspace, &pair, NULL), error);
}

static int nearest_first(const void *a, const void *b)
{
    const kb_match *p = a, *q = b;
    if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
    return p->a - q->a;
}

size_t ev_bench_pairs(kb_match *matches, size_t n, const io_keypoints *a, const io_keypoints *b, kb_point_pair *pairs,
                      size_t room)
{
    if (n > 0) qsort(matches, n, sizeof *matches, nearest_first);
    if (n > room) n = room;
    kb_features fa = io_features_view(a, NULL), fb = io_features_view(b, NULL);
    return kb_match_points(&fa, &fb, matches, n, pairs, NULL, NULL) == KB_OK ? n : 0;
}

/* ---------------------------------------------------------------------------------------------------- preparing */

#define FIT_MATCHES 1000

bool ev_bench_give_pair(ev_bench_set *set, size_t pair, const ev_method *method, io_error *error)
{
    size_t first = 2 * pair, n = 0;
    if (set->given_pair == pair && set->given_method == method) return true;
    for (size_t k = 0; k < 2; k++) {
        const io_keypoints *found = &set->keypoints[first + k];
        if (!ev_bench_describe(set, &set->images[first + k].view, method, found->items, found->count, &set->given[k],
                               error))
            return false;
    }
    const io_rows *a = &set->given[0].f.rows, *b = &set->given[1].f.rows;
    if (!ev_bench_match(set, a, b, &n, error)) return false;
    set->given_count = ev_bench_pairs(set->matches, n, &set->keypoints[first], &set->keypoints[first + 1],
                                      set->given_pairs, FIT_MATCHES);
    if (!ev_rows_match(a, b, false, 0, set->parallel, set->given_nearest,
                       &set->given_nearest_count, error))
        return false;
    set->given_pair = pair;
    set->given_method = method;
    return true;
}

uint8_t *ev_bench_mirrored(const io_image *source, int32_t width, int32_t height)
{
    uint8_t *pixels = io_alloc((size_t)width, (size_t)height);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            int32_t u = x % (2 * source->width), v = y % (2 * source->height);
            if (u >= source->width) u = 2 * source->width - 1 - u;
            if (v >= source->height) v = 2 * source->height - 1 - v;
            pixels[(size_t)y * (size_t)width + (size_t)x] =
                source->pixels[(size_t)v * (size_t)source->width + (size_t)u];
        }
    return pixels;
}

#define LARGE_WIDTH 3000
#define LARGE_HEIGHT 2000

void ev_bench_give_large(ev_bench_set *set, size_t image)
{
    if (set->large_item == image) return;
    free(set->large_pixels);
    set->large_pixels = ev_bench_mirrored(&set->images[image], LARGE_WIDTH, LARGE_HEIGHT);
    set->large = (kb_image){set->large_pixels, LARGE_WIDTH, LARGE_HEIGHT, LARGE_WIDTH, KB_FORMAT_GRAY8, 0};
    set->large_item = image;
}

bool ev_bench_give_own(ev_bench_set *set, size_t image, const char *peer, io_error *error)
{
    if (set->own_image == image && strcmp(set->own_peer, peer) == 0) return true;
    io_keypoints_free(&set->own);
    set->own = (io_keypoints){NULL, 0};
    set->own_image = image;
    set->own_peer = peer;
    return ev_peer_keypoints(peer, &set->images[image].view, set->max_keypoints, &set->own, &set->own_scale,
                             error);
}

/* ------------------------------------------------------------------------------------------------------- the set */

static bool take_image(ev_bench_set *set, size_t name, io_error *error)
{
    size_t i = set->count;
    io_keypoints *k = &set->keypoints[i];
    if (!io_image_read(set->names->items[name], NULL, &set->images[i], error)) return false;
    set->count++; /* from here on ev_bench_close frees it */
    k->items = io_alloc((size_t)set->max_keypoints, sizeof *k->items);
    kb_status status = detect_into(set, &set->images[i].view, kb_detector_get_info(0).detector, KB_ORIENTATION_DEFAULT,
                                   k->items, &k->count);
    return bench_settle(set->names->items[name], status, error);
}

bool ev_bench_open(ev_bench_set *set, const io_names *names, const ev_method *methods, size_t method_count,
                   int32_t max_keypoints, io_error *error)
{
    size_t capacity = (size_t)max_keypoints;
    *set = (ev_bench_set){.names = names,
                          .methods = methods,
                          .method_count = method_count,
                          .max_keypoints = max_keypoints,
                          .given_pair = NONE,
                          .own_image = NONE,
                          .large_item = NONE};
    set->images = io_alloc(names->count, sizeof *set->images);
    set->keypoints = io_alloc(names->count, sizeof *set->keypoints);
    set->matches = io_alloc(capacity, sizeof *set->matches);
    set->neighbours = io_alloc(capacity, EV_BENCH_NEIGHBOURS * sizeof *set->neighbours);
    set->inliers = io_alloc(capacity, 1);
    set->pairs = io_alloc(capacity, sizeof *set->pairs);
    set->given_pairs = io_alloc(FIT_MATCHES, sizeof *set->given_pairs);
    set->given_nearest = io_alloc(capacity, sizeof *set->given_nearest);
    for (int i = 0; i < 2; i++) {
        frame_make(&set->frames[i], capacity);
        frame_make(&set->given[i], capacity);
    }
    return bench_settle("workspace", kb_workspace_create(NULL, &set->workspace), error) && take_image(set, 0, error) &&
           take_image(set, 1, error);
}

bool ev_bench_take_pairs(ev_bench_set *set, size_t pairs, io_error *error)
{
    size_t all = set->names->count / 2;
    for (size_t i = 1; i < pairs && i < all; i++) {
        size_t first = 2 * (i * all / pairs);
        if (!take_image(set, first, error) || !take_image(set, first + 1, error)) return false;
    }
    return pairs < all || set->names->count % 2 == 0 || take_image(set, set->names->count - 1, error);
}

void ev_bench_close(ev_bench_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        io_image_free(&set->images[i]);
        io_keypoints_free(&set->keypoints[i]);
    }
    for (int i = 0; i < 2; i++) {
        frame_free(&set->frames[i]);
        frame_free(&set->given[i]);
    }
    io_keypoints_free(&set->own);
    free(set->images);
    free(set->keypoints);
    free(set->large_pixels);
    free(set->matches);
    free(set->neighbours);
    free(set->inliers);
    free(set->pairs);
    free(set->given_pairs);
    free(set->given_nearest);
    kb_workspace_free(set->workspace);
}
