/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of a set (eval/pose_sets.h), solved. An image is read, resized and described when a pair first needs it, and
 * freed after the last one. All points are in pixels of the resized image, and cameras are scaled to it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/keypoints.h"
#include "eval/method.h"
#include "eval/peers.h"
#include "eval/pose_score.h"
#include "io/features.h"
#include "io/number.h"
#include "io/progress.h"

/* An image at hand. */
typedef struct pose_view {
    io_image image;
    features *features; /* one per origin: the pipeline, then the peers; NULL before it is loaded */
    double scale[2];    /* pixels of the file per pixel of the image */
    size_t last;        /* pair that needs it */
} pose_view;

typedef struct pose_work {
    const pipeline *pipeline;
    const ev_pose_set *set;
    const ev_pose_options *options;
    ev_pose_result *result;
    pose_view *views;
    size_t peers; /* that detect and describe */
} pose_work;

/* ----------------------------------------------------------------------------------------------------------- images */

static bool describe_by_peer(const pose_work *work, const char *peer, const kb_image *image, features *out,
                             io_error *error)
{
    float scale;
    return ev_peer_keypoints(peer, image, work->pipeline->options.detect.max_keypoints, &out->keypoints, &scale,
                             error) &&
           ev_peer_describe(peer, image, out->keypoints.items, out->keypoints.count, scale, &out->rows, error);
}

static bool load_view(const pose_work *work, size_t index, io_error *error)
{
    const ev_posed_image *posed = &work->set->images[index];
    pose_view *v = &work->views[index];
    if (v->features) return true;
    v->features = io_alloc(1 + work->peers, sizeof *v->features);
    if (!io_image_read(posed->path, NULL, &v->image, error)) return false;
    v->scale[0] = posed->width ? (double)v->image.width / posed->width : 1;
    v->scale[1] = posed->height ? (double)v->image.height / posed->height : 1;
    if (v->scale[0] != 1 || v->scale[1] != 1) ev_image_resize(&v->image, posed->width, posed->height);
    bool good = pipeline_describe(work->pipeline, posed->path, &v->image.view, false, &v->features[0], NULL, error);
    for (size_t k = 0; k < work->peers && good; k++)
        good = describe_by_peer(work, work->options->features->items[k], &v->image.view, &v->features[1 + k], error);
    return good;
}

static void free_view(const pose_work *work, pose_view *v)
{
    for (size_t k = 0; k <= work->peers && v->features; k++) features_free(&v->features[k]);
    free(v->features);
    io_image_free(&v->image);
    v->features = NULL;
}

/* ------------------------------------------------------------------------------------------------------ one problem */

static kb_camera scaled_camera(const kb_camera *camera, const double scale[2])
{
    kb_camera c = *camera;
    c.fx /= scale[0], c.cx /= scale[0];
    c.fy /= scale[1], c.cy /= scale[1];
    return c;
}

/* A threshold in pixels of the files is the same angle in pixels of the images, by the mean of the focal lengths. */
static double scaled_threshold(const pose_work *work, const ev_posed_pair *pair, const kb_camera scaled[2])
{
    const kb_camera *k = pair->camera;
    if (work->set->protocol->resized_pixels) return work->result->threshold;
    return work->result->threshold * (scaled[0].fx + scaled[0].fy + scaled[1].fx + scaled[1].fy) /
           (k[0].fx + k[0].fy + k[1].fx + k[1].fy);
}

static bool solve_pairs(const pose_work *work, ev_pose_problem *p, const kb_point_pair *pairs, size_t n,
                        const char *origin, bool filtered, io_error *error)
{
    const ev_pose_options *o = work->options;
    kb_workspace *ws = work->pipeline->workspace;
    p->pairs = pairs;
    p->n = n;
    if (filtered) return ev_pose_solve(p, origin, EV_POSE_ESSENTIAL_FILTERED, o, ws, work->result, error);
    return ev_pose_solve(p, origin, EV_POSE_ESSENTIAL, o, ws, work->result, error) &&
           (!o->peers || ev_pose_solve(p, origin, EV_POSE_ESSENTIAL_PEER, o, ws, work->result, error));
}

/* ---- matches of features ---- */

static int nearest_first(const void *a, const void *b)
{
    const kb_match *p = a, *q = b;
    if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
    return p->a - q->a;
}

/* Mutual matches of the two images' features, best first, and those that the filter keeps. */
static bool solve_features(const pose_work *work, ev_pose_problem *p, const features *a, const features *b,
                           const char *origin, io_error *error)
{
    kb_features fa = io_features_view(&a->keypoints, NULL), fb = io_features_view(&b->keypoints, NULL);
    kb_match *matches = io_alloc(fa.n + 1, sizeof *matches);
    kb_point_pair *pairs = io_alloc(fa.n + 1, sizeof *pairs);
    size_t n = 0;
    bool good = ev_rows_match(&a->rows, &b->rows, true, 0, work->pipeline->parallel, matches, &n, error);
    for (int filtered = 0; filtered < 2 && good; filtered++) {
        kb_status status = KB_OK;
        if (filtered)
            status = kb_filter(&fa, &fb, matches, n, NULL, NULL, matches, &n, NULL);
        qsort(matches, n, sizeof *matches, nearest_first);
        if (status == KB_OK)
            status = kb_match_points(&fa, &fb, matches, n, pairs, NULL, NULL);
        good = status == KB_OK ? solve_pairs(work, p, pairs, n, origin, filtered, error)
                               : io_fail(error, "matches: %s", kb_status_string(status));
    }
    free(pairs);
    free(matches);
    return good;
}

/* ---- matches of others ---- */

static bool read_matches(const char *path, const double a[2], const double b[2], kb_point_pair **out, size_t *n,
                         io_error *error)
{
    io_bytes bytes;
    if (!io_text_read(path, &bytes, error)) return false;
    const char *at = (const char *)bytes.data;
    bool good = true;
    for (at += strspn(at, " \t\r\n"); *at && good; at += strspn(at, " \t\r\n")) {
        double v[4] = {0};
        for (int i = 0; i < 4 && good; i++) good = io_number_parse(at, &at, &v[i]) && isfinite(v[i]);
        if (!good) io_fail(error, "%s: match %zu is not four numbers", path, *n + 1);
        *out = io_grow(*out, *n + 1, sizeof **out);
        (*out)[(*n)++] = (kb_point_pair){v[0] / a[0], v[1] / a[1], v[2] / b[0], v[3] / b[1]};
    }
    io_bytes_free(&bytes);
    return good;
}

static bool solve_given(const pose_work *work, ev_pose_problem *p, const ev_posed_pair *pair, const char *folder,
                        io_error *error)
{
    char *stem[2], *name;
    kb_point_pair *pairs = NULL;
    size_t n = 0;
    for (int i = 0; i < 2; i++) stem[i] = io_path_stem(work->set->images[pair->image[i]].path);
    name = io_alloc(strlen(stem[0]) + strlen(stem[1]) + 8, 1);
    sprintf(name, "%s_%s.txt", stem[0], stem[1]);
    char *path = io_path_join(folder, name);
    bool good =
        read_matches(path, work->views[pair->image[0]].scale, work->views[pair->image[1]].scale, &pairs, &n, error) &&
        solve_pairs(work, p, pairs, n, folder, false, error);
    free(pairs);
    free(path);
    free(name);
    for (int i = 0; i < 2; i++) free(stem[i]);
    return good;
}

/* -------------------------------------------------------------------------------------------------------- all pairs */

static bool solve_pair(const pose_work *work, const ev_posed_pair *pair, io_error *error)
{
    const ev_pose_options *o = work->options;
    const pose_view *v[2] = {&work->views[pair->image[0]], &work->views[pair->image[1]]};
    if (!load_view(work, pair->image[0], error) || !load_view(work, pair->image[1], error)) return false;
    const kb_camera cameras[2] = {scaled_camera(&pair->camera[0], v[0]->scale),
                                  scaled_camera(&pair->camera[1], v[1]->scale)};
    ev_pose_problem p = {.camera = {&cameras[0], &cameras[1]},
                         .threshold = scaled_threshold(work, pair, cameras),
                         .either_sign = work->set->protocol->either_sign,
                         .pipeline = work->pipeline,
                         .image = {&v[0]->image.view, &v[1]->image.view}};
    memcpy(p.rotation, pair->rotation, sizeof p.rotation);
    memcpy(p.translation, pair->translation, sizeof p.translation);
    bool good = ev_pose_solve(&p, o->model, EV_POSE_MATCH, o, NULL, work->result, error);
    for (size_t k = 0; k <= work->peers && good; k++)
        good = solve_features(work, &p, &v[0]->features[k], &v[1]->features[k],
                              k ? o->features->items[k - 1] : o->model, error);
    for (size_t k = 0; o->matches && k < o->matches->count && good; k++)
        good = solve_given(work, &p, pair, o->matches->items[k], error);
    return good;
}

bool ev_pose_run(const pipeline *p, const ev_pose_set *set, const ev_pose_options *o, ev_pose_result *result,
                 io_error *error)
{
    pose_work work = {
        p, set, o, result, io_alloc(set->image_count, sizeof *work.views), o->features ? o->features->count : 0};
    io_progress progress;
    bool good = true;
    *result = (ev_pose_result){.threshold = o->threshold > 0 ? o->threshold : set->protocol->threshold};
    for (size_t i = 0; i < set->pair_count; i++)
        for (int k = 0; k < 2; k++) work.views[set->pairs[i].image[k]].last = i;
    io_progress_start(&progress, "pairs", set->pair_count, o->quiet);
    for (size_t i = 0; i < set->pair_count && good; i++) {
        good = solve_pair(&work, &set->pairs[i], error);
        for (int k = 0; k < 2; k++) {
            pose_view *v = &work.views[set->pairs[i].image[k]];
            if (v->last == i) free_view(&work, v);
        }
        io_progress_update(&progress, i + 1);
    }
    io_progress_end(&progress);
    for (size_t i = 0; i < set->image_count; i++) free_view(&work, &work.views[i]);
    free(work.views);
    if (good)
        ev_pose_finish(result);
    else
        ev_pose_result_free(result);
    return good;
}
