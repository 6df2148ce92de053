/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol is in the header. Scene by scene: images and keypoints are read, the truth of every pair is worked out
 * once (it does not depend on the descriptor), then every method describes the images and answers the pairs. */
#include "eval/oxford.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/cache.h"
#include "eval/hash.h"
#include "eval/places.h"
#include "io/features.h"
#include "io/npy.h"
#include "io/progress.h"
#include "pipeline/pipeline.h"

#define STRICT_PX 5.0
#define PAPERLIKE_PX 2.0
#define PAPERLIKE_SIZE 1.4142135623730951
#define PRECISION_PX 3.0
#define REFINED_PX 1.5 /* the threshold of a fit to refined points */

/* What is remembered of the matches of a pair, */
typedef struct matches_score {
    double matches, right_1px, right_3px, places, corner_error;
    double right_5px, right_5px_to_1px; /* by their keypoints, and those of them whose points lie within 1 px */
} matches_score;

/* and of the pair. */
typedef struct pair_score {
    double strict, paperlike;
    double keypoints, spots; /* means of the two images */
    matches_score mutual, filtered, refined, looks;
    kbi_curve curve;
} pair_score;
#define PAIR_NUMBERS (sizeof(pair_score) / sizeof(double))

/* The features of an image: `best` for the strict protocol, `all` for the paper-like one. CSV files have one list. The
 * rows are those of one method. */
typedef struct view {
    io_image image;
    features best, all;
    bool shared; /* all is best */
    size_t spots; /* of best */
} view;

/* Where H sends the keypoints of image 1, and which of them have a partner in image k. */
typedef struct truth {
    double *x, *y, *scale;
    uint8_t *has_partner;
    size_t partners;
} truth;

typedef struct scene_work {
    const ev_scene *scene;
    const ev_oxford_options *options;
    view *views;
    truth *strict, *paperlike; /* one per image; the first is empty */
    /* for one method */
    const ev_method *method;
    pair_score *scores;
    const bool *wanted;
    io_error *errors; /* one per image, empty when all went well */
} scene_work;

/* ---------------------------------------------------------------------------------------------------- ground truth */

static bool near_point(const truth *t, size_t a, double x, double y, double px)
{
    double dx = t->x[a] - x, dy = t->y[a] - y;
    return dx * dx + dy * dy <= px * px;
}

static bool near(const truth *t, size_t a, const kb_keypoint *b, double px) { return near_point(t, a, b->x, b->y, px); }

static bool right_strict(const truth *t, const io_keypoints *a, size_t i, const kb_keypoint *b)
{
    (void)a;
    return near(t, i, b, STRICT_PX);
}

static bool right_paperlike(const truth *t, const io_keypoints *a, size_t i, const kb_keypoint *b)
{
    double ratio = b->size / (a->items[i].size * t->scale[i]);
    return near(t, i, b, PAPERLIKE_PX) && ratio <= PAPERLIKE_SIZE && ratio * PAPERLIKE_SIZE >= 1;
}

typedef bool (*right_rule)(const truth *t, const io_keypoints *a, size_t i, const kb_keypoint *b);

static double determinant(const double h[9])
{
    return h[0] * (h[4] * h[8] - h[5] * h[7]) - h[1] * (h[3] * h[8] - h[5] * h[6]) + h[2] * (h[3] * h[7] - h[4] * h[6]);
}

/* The area scale of H at (x, y) is |det H / w^3|, w the third coordinate there; sizes change by its square root. */
static void truth_make(truth *t, const double h[9], const io_keypoints *a, const io_keypoints *b, right_rule right)
{
    size_t n = a->count;
    t->x = io_alloc(n + 1, sizeof *t->x);
    t->y = io_alloc(n + 1, sizeof *t->y);
    t->scale = io_alloc(n + 1, sizeof *t->scale);
    t->has_partner = io_alloc(n + 1, 1);
    double det = determinant(h);
    for (size_t i = 0; i < n; i++) {
        double x = a->items[i].x, y = a->items[i].y, w = h[6] * x + h[7] * y + h[8];
        t->x[i] = (h[0] * x + h[1] * y + h[2]) / w;
        t->y[i] = (h[3] * x + h[4] * y + h[5]) / w;
        t->scale[i] = sqrt(fabs(det / (w * w * w)));
        for (size_t j = 0; j < b->count && !t->has_partner[i]; j++) t->has_partner[i] = right(t, a, i, &b->items[j]);
        t->partners += t->has_partner[i];
    }
}

static void truth_free(truth *t)
{
    free(t->x);
    free(t->y);
    free(t->scale);
    free(t->has_partner);
}

/* -------------------------------------------------------------------------------------------- scoring of one pair */

/* AP of one-way matches; query[m.a] is the keypoint of image 1 behind row m.a. */
static double score_matches(const truth *t, const io_keypoints *a, const io_keypoints *b, right_rule right,
                            const kb_match *matches, size_t count, const size_t *query, kbi_curve *curve)
{
    kbi_answer *answers = io_alloc(count + 1, sizeof *answers);
    for (size_t i = 0; i < count; i++) {
        size_t from = query ? query[matches[i].a] : (size_t)matches[i].a;
        answers[i] = (kbi_answer){matches[i].distance, right(t, a, from, &b->items[matches[i].b])};
    }
    double area = kbi_average_precision(answers, count, t->partners, curve);
    free(answers);
    return area;
}

static bool score_strict(const scene_work *work, size_t k, pair_score *score, io_error *error)
{
    const io_keypoints *a = &work->views[0].best.keypoints, *b = &work->views[k].best.keypoints;
    kb_match *matches = io_alloc(a->count + 1, sizeof *matches);
    size_t count = 0;
    bool good = ev_rows_match(&work->views[0].best.rows, &work->views[k].best.rows, false, 0, NULL, matches, &count,
                              error);
    if (good) score->strict = score_matches(&work->strict[k], a, b, right_strict, matches, count, NULL, &score->curve);
    free(matches);
    return good;
}

/* The rows of keypoints that have a partner, and which keypoints these are. */
static void take_queries(const truth *t, const io_rows *rows, io_rows *some, size_t *query)
{
    size_t size = rows->bytes ? rows->width : rows->width * sizeof(float);
    const uint8_t *from = rows->bytes ? rows->bytes : (const uint8_t *)rows->floats;
    uint8_t *to = io_alloc(t->partners + 1, size);
    *some = (io_rows){rows->bytes ? to : NULL, rows->bytes ? NULL : (float *)(void *)to, 0, rows->width};
    for (size_t i = 0; i < rows->count; i++) {
        if (!t->has_partner[i]) continue;
        memcpy(to + some->count * size, from + i * size, size);
        query[some->count++] = i;
    }
}

static bool score_paperlike(const scene_work *work, size_t k, pair_score *score, io_error *error)
{
    const truth *t = &work->paperlike[k];
    const io_keypoints *a = &work->views[0].all.keypoints, *b = &work->views[k].all.keypoints;
    size_t *query = io_alloc(t->partners + 1, sizeof *query), count = 0;
    kb_match *matches = io_alloc(t->partners + 1, sizeof *matches);
    io_rows some;
    take_queries(t, &work->views[0].all.rows, &some, query);
    bool good = ev_rows_match(&some, &work->views[k].all.rows, false, 0, NULL, matches, &count, error);
    if (good) score->paperlike = score_matches(t, a, b, right_paperlike, matches, count, query, NULL);
    io_rows_free(&some);
    free(matches);
    free(query);
    return good;
}

/* The corner error of a homography; infinite when none was found. */
static double fit_error(const scene_work *work, size_t k, const kb_fit_report *fit)
{
    const io_image *image = &work->views[0].image;
    return fit->result == KB_FIT_FOUND ? ev_corner_error(fit->model, work->scene->h[k], image->width, image->height)
                                       : INFINITY;
}

static kb_status fit_homography(const kb_point_pair *pairs, const float *quality, size_t count, double threshold,
                                uint8_t *inliers, kb_fit_report *report)
{
    kb_fit_options options;
    KB_INIT(options);
    KB_INIT(*report);
    options.quality = quality;
    options.threshold = threshold;
    return kb_fit(pairs, count, &options, NULL, inliers, report, NULL);
}

/* The points of the matches: those of the keypoints, or refined ones. */
static kb_status points_of(const scene_work *work, size_t k, const kb_match *matches, size_t count, bool refined,
                           kb_point_pair *pairs, float *quality)
{
    const view *u = &work->views[0], *v = &work->views[k];
    kb_features a = io_features_view(&u->best.keypoints, NULL), b = io_features_view(&v->best.keypoints, NULL);
    const kb_image images[2] = {u->image.view, v->image.view};
    kb_refine_options options;
    KB_INIT(options);
    options.scale = kb_model_scale(NULL, work->options->preset);
    kb_status status = kb_match_points(&a, &b, matches, count, pairs, quality, NULL);
    if (status != KB_OK || !refined) return status;
    return kb_match_refine(images, &a, &b, matches, count, &options, NULL, pairs, NULL, NULL);
}

/* Counts a pair of points whose keypoint of image 1 is `a`; near_5px: the match was right before its points moved.
 * Returns whether it counts as right. */
static bool count_pair(const truth *t, size_t a, const kb_point_pair *pair, bool near_5px, matches_score *score)
{
    bool exact = near_point(t, a, pair->x2, pair->y2, 1), right = near_point(t, a, pair->x2, pair->y2, PRECISION_PX);
    score->right_1px += exact;
    score->right_3px += right;
    score->right_5px += near_5px;
    score->right_5px_to_1px += near_5px && exact;
    return right;
}

static bool score_two_way(const scene_work *work, size_t k, const kb_match *matches, size_t count, bool refined,
                          matches_score *score, io_error *error)
{
    const truth *t = &work->strict[k];
    const kb_keypoint *b = work->views[k].best.keypoints.items;
    kb_point_pair *pairs = io_alloc(count + 1, sizeof *pairs);
    float *quality = io_alloc(count + 1, sizeof *quality);
    uint8_t *right = io_alloc(count + 1, 1);
    kb_fit_report fit;
    kb_status status = points_of(work, k, matches, count, refined, pairs, quality);
    score->matches = (double)count;
    for (size_t i = 0; i < count && status == KB_OK; i++) {
        size_t a = (size_t)matches[i].a;
        right[i] = count_pair(t, a, &pairs[i], near(t, a, &b[matches[i].b], STRICT_PX), score);
    }
    score->places = (double)ev_places(pairs, quality, right, count);
    bool good = status == KB_OK || io_fail(error, "points of matches: %s", kb_status_string(status));
    if (good) {
        status = fit_homography(pairs, quality, count, refined ? REFINED_PX : 0, NULL, &fit);
        good = status == KB_OK || io_fail(error, "fitting: %s", kb_status_string(status));
    }
    if (good) score->corner_error = fit_error(work, k, &fit);
    free(right);
    free(quality);
    free(pairs);
    return good;
}

/* Whether image 1 and image k can be matched by looks: these detect, and describe more than once. */
static bool has_looks(const scene_work *work)
{
    return work->method->model && !work->options->keypoints.folder;
}

static void count_looks(const scene_work *work, size_t k, const pipeline_result *r, matches_score *score)
{
    float *quality = io_alloc(r->count + 1, sizeof *quality);
    uint8_t *right = io_alloc(r->count + 1, 1);
    score->matches = (double)r->count;
    for (size_t i = 0; i < r->count; i++) {
        const kb_point_pair *p = &r->pairs[i];
        double x, y;
        kb_homography_apply(work->scene->h[k], p->x1, p->y1, &x, &y);
        double error = hypot(x - p->x2, y - p->y2);
        right[i] = error <= PRECISION_PX;
        quality[i] = r->matches[i].distance;
        score->right_1px += error <= 1;
        score->right_3px += right[i];
        score->right_5px += error <= STRICT_PX;
        score->right_5px_to_1px += error <= 1;
    }
    score->places = (double)ev_places(r->pairs, quality, right, r->count);
    score->corner_error = fit_error(work, k, &r->fit);
    free(right);
    free(quality);
}

/* The two images by looks, as `keybits match` does it. */
static bool score_looks(const scene_work *work, size_t k, matches_score *score, io_error *error)
{
    const ev_keypoint_source *source = &work->options->keypoints;
    const kb_image *const images[2] = {&work->views[0].image.view, &work->views[k].image.view};
    pipeline_options options;
    pipeline p;
    pipeline_result result = {0};
    features found[2] = {{0}, {0}};
    score->corner_error = INFINITY;
    if (!has_looks(work)) return true;
    pipeline_options_init(&options);
    ev_keypoint_options(source, &options.detect);
    options.looks = work->options->looks;
    bool good = pipeline_open(&p, &options, work->method->model, NULL, error) &&
                pipeline_match_images(&p, images, found, &result, error);
    if (good) count_looks(work, k, &result, score);
    pipeline_result_free(&result);
    for (int i = 0; i < 2; i++) features_free(&found[i]);
    pipeline_close(&p);
    return good;
}

static bool score_mutual(const scene_work *work, size_t k, pair_score *score, io_error *error)
{
    const io_keypoints *a = &work->views[0].best.keypoints, *b = &work->views[k].best.keypoints;
    kb_match *matches = io_alloc(a->count + 1, sizeof *matches);
    size_t count = 0, kept = 0;
    bool good = ev_rows_match(&work->views[0].best.rows, &work->views[k].best.rows, true, 0, NULL, matches, &count,
                              error) &&
                score_two_way(work, k, matches, count, false, &score->mutual, error) &&
                score_two_way(work, k, matches, count, true, &score->refined, error) &&
                score_looks(work, k, &score->looks, error);
    if (good) {
        kb_features fa = io_features_view(a, NULL), fb = io_features_view(b, NULL);
        kb_status status = kb_filter(&fa, &fb, matches, count, NULL, NULL, matches, &kept, NULL);
        good = status == KB_OK || io_fail(error, "filtering: %s", kb_status_string(status));
    }
    good = good && score_two_way(work, k, matches, kept, false, &score->filtered, error);
    free(matches);
    return good;
}

static void score_pair(void *context, int32_t index)
{
    scene_work *work = context;
    size_t k = (size_t)index + 1;
    io_error *error = &work->errors[k];
    pair_score *score = &work->scores[k];
    if (!work->wanted[k]) return;
    memset(score, 0, sizeof *score);
    score->paperlike = NAN;
    score->keypoints = (double)(work->views[0].best.keypoints.count + work->views[k].best.keypoints.count) / 2;
    score->spots = (double)(work->views[0].spots + work->views[k].spots) / 2;
    if (score_strict(work, k, score, error) && score_mutual(work, k, score, error) && work->options->paperlike)
        score_paperlike(work, k, score, error);
}

/* ------------------------------------------------------------------------------------------- one scene, one method */

static void oxford_for_each(const kb_parallel *parallel, size_t count, void (*task)(void *, int32_t), void *context)
{
    if (parallel) parallel->run(parallel->self, (int32_t)count, task, context);
    else for (size_t i = 0; i < count; i++) task(context, (int32_t)i);
}

static bool first_error(const scene_work *work, io_error *error)
{
    for (size_t i = 0; i < work->scene->images.count; i++)
        if (work->errors[i].text[0]) return io_fail(error, "%s", work->errors[i].text);
    return true;
}

static void load_view(void *context, int32_t index)
{
    scene_work *work = context;
    view *v = &work->views[index];
    const ev_oxford_options *options = work->options;
    const char *path = work->scene->images.items[index];
    io_error *error = &work->errors[index];
    v->shared = !options->paperlike || options->keypoints.folder;
    if (!ev_image_load(&options->keypoints, path, &v->image, error)) return;
    if (!ev_keypoints_load(&options->keypoints, work->scene->name, path, &v->image.view, 0, &v->best.keypoints, error))
        return;
    v->spots = ev_spots(v->best.keypoints.items, v->best.keypoints.count);
    if (v->shared) v->all.keypoints = v->best.keypoints;
    else
        ev_keypoints_load(&options->keypoints, work->scene->name, path, &v->image.view, EV_ALL_KEYPOINTS,
                          &v->all.keypoints, error);
}

static void make_truth(void *context, int32_t index)
{
    scene_work *work = context;
    size_t k = (size_t)index + 1;
    const double *h = work->scene->h[k];
    truth_make(&work->strict[k], h, &work->views[0].best.keypoints, &work->views[k].best.keypoints, right_strict);
    if (work->options->paperlike)
        truth_make(&work->paperlike[k], h, &work->views[0].all.keypoints, &work->views[k].all.keypoints,
                   right_paperlike);
}

static bool describe_features(const scene_work *work, const kb_image *image, features *f, io_error *error)
{
    return ev_method_describe(work->method, image, f->keypoints.items, f->keypoints.count, work->options->preset,
                              &f->rows, error);
}

static void oxford_describe_view(void *context, int32_t index)
{
    scene_work *work = context;
    view *v = &work->views[index];
    io_error *error = &work->errors[index];
    if (ev_method_is_file(work->method) || !describe_features(work, &v->image.view, &v->best, error)) return;
    if (v->shared) v->all.rows = v->best.rows;
    else describe_features(work, &v->image.view, &v->all, error);
}

static bool open_scene(scene_work *work, io_error *error)
{
    size_t n = work->scene->images.count;
    oxford_for_each(work->options->parallel, n, load_view, work);
    if (!first_error(work, error)) return false;
    oxford_for_each(work->options->parallel, n - 1, make_truth, work);
    return true;
}

static void free_rows(scene_work *work)
{
    for (size_t i = 0; i < work->scene->images.count; i++) {
        view *v = &work->views[i];
        if (!v->shared) io_rows_free(&v->all.rows);
        io_rows_free(&v->best.rows);
        v->all.rows = v->best.rows = (io_rows){0};
    }
}

static bool take_file_rows(scene_work *work, ev_method *method, io_error *error)
{
    for (size_t i = 0; i < work->scene->images.count; i++) {
        if (!work->views[i].shared)
            return io_fail(error, "%s: rows from a file need keypoints from files, or the strict protocol alone",
                           method->name);
        features *best = &work->views[i].best;
        if (!ev_method_take(method, best->keypoints.count, &best->rows, error)) return false;
        work->views[i].all.rows = best->rows;
    }
    return true;
}

static bool score_method(scene_work *work, ev_method *method, io_error *error)
{
    size_t n = work->scene->images.count;
    work->method = method;
    bool good = !ev_method_is_file(method) || take_file_rows(work, method, error);
    if (good) {
        oxford_for_each(work->options->parallel, n, oxford_describe_view, work);
        good = first_error(work, error);
    }
    if (good) {
        oxford_for_each(work->options->parallel, n - 1, score_pair, work);
        good = first_error(work, error);
    }
    free_rows(work);
    return good;
}

/* ----------------------------------------------------------------------------------------------------------- cache */

/* Hashes of the files that the images of the scene and their keypoints are in. */
static bool hash_views(const scene_work *work, uint64_t *hashes, io_error *error)
{
    const ev_keypoint_source *source = &work->options->keypoints;
    bool good = true;
    for (size_t i = 0; i < work->scene->images.count && good; i++) {
        const char *path = work->scene->images.items[i];
        char *csv = source->folder ? ev_keypoint_path(source, work->scene->name, path) : NULL;
        hashes[i] = KBI_SUM_START;
        good = ev_hash_file(&hashes[i], path, error) && (!csv || ev_hash_file(&hashes[i], csv, error));
        free(csv);
    }
    return good;
}

static uint64_t pair_key(const scene_work *work, const ev_method *method, const uint64_t *views, size_t k)
{
    const ev_oxford_options *o = work->options;
    double numbers[9] = {kb_model_scale(NULL, o->preset),
                         !o->paperlike,
                         o->keypoints.folder ? 0 : o->keypoints.detector,
                         o->keypoints.folder ? 0 : o->keypoints.max_keypoints,
                         o->keypoints.orientation,
                         o->keypoints.selection,
                         o->keypoints.fast_threshold_min,
                         o->keypoints.whole_pixels,
                         o->looks};
    uint64_t key = ev_hash_string(KBI_SUM_START, "oxford 7 " KB_VERSION_STRING);
    key = kbi_sum_bytes(key, &method->id, sizeof method->id);
    key = kbi_sum_bytes(key, numbers, sizeof numbers);
    key = kbi_sum_bytes(key, &views[0], sizeof views[0]);
    key = kbi_sum_bytes(key, &views[k], sizeof views[k]);
    return kbi_sum_bytes(key, work->scene->h[k], sizeof work->scene->h[k]);
}

/* ------------------------------------------------------------------------------------------------------- all of it */

static void matches_add(ev_oxford_matches *sum, const matches_score *pair)
{
    double n = pair->matches > 0 ? pair->matches : 1;
    sum->matches += pair->matches;
    sum->right += pair->right_3px;
    sum->places += pair->places;
    sum->precision_1px += pair->right_1px / n;
    sum->precision_3px += pair->right_3px / n;
    sum->near += pair->right_5px;
    sum->exact += pair->right_5px_to_1px;
    sum->homography_1px += pair->corner_error < 1;
    sum->homography_3px += pair->corner_error < 3;
    sum->homography_5px += pair->corner_error < 5;
}

static void matches_divide(ev_oxford_matches *sum, double n)
{
    sum->matches /= n;
    sum->right /= n;
    sum->places /= n;
    sum->precision_1px /= n;
    sum->precision_3px /= n;
    sum->exact = sum->near > 0 ? sum->exact / sum->near : 0;
    sum->near /= n;
    sum->homography_1px /= n;
    sum->homography_3px /= n;
    sum->homography_5px /= n;
}

static void add_pair(ev_oxford_score *sum, const pair_score *pair)
{
    sum->pairs++;
    sum->keypoints += pair->keypoints;
    sum->spots += pair->spots;
    sum->strict_map += pair->strict;
    sum->paperlike_map += pair->paperlike;
    matches_add(&sum->mutual, &pair->mutual);
    matches_add(&sum->filtered, &pair->filtered);
    matches_add(&sum->refined, &pair->refined);
    matches_add(&sum->looks, &pair->looks);
    for (int i = 0; i < KBI_CURVE_POINTS; i++) sum->curve.precision[i] += pair->curve.precision[i];
}

static void score_divide(ev_oxford_score *sum)
{
    double n = (double)sum->pairs;
    sum->keypoints /= n;
    sum->spots /= n;
    sum->strict_map /= n;
    sum->paperlike_map /= n;
    matches_divide(&sum->mutual, n);
    matches_divide(&sum->filtered, n);
    matches_divide(&sum->refined, n);
    matches_divide(&sum->looks, n);
    for (int i = 0; i < KBI_CURVE_POINTS; i++) sum->curve.precision[i] /= n;
}

/* Scores of one method on the scene, from the cache as far as they are there. The scene is opened when first needed. */
static bool method_scores(scene_work *work, ev_method *method, const uint64_t *hashes, bool *open, io_error *error)
{
    size_t n = work->scene->images.count;
    const char *cache = work->options->cache;
    bool *wanted = io_alloc(n, sizeof *wanted), any = ev_method_is_file(method), good = true;
    for (size_t k = 1; k < n; k++) {
        wanted[k] = !ev_cache_get(cache, pair_key(work, method, hashes, k), (double *)&work->scores[k], PAIR_NUMBERS);
        any = any || wanted[k];
    }
    work->wanted = wanted;
    if (any && !*open) good = *open = open_scene(work, error);
    if (any && good) good = score_method(work, method, error);
    for (size_t k = 1; k < n && good; k++)
        if (wanted[k])
            good =
                ev_cache_put(cache, pair_key(work, method, hashes, k), (double *)&work->scores[k], PAIR_NUMBERS, error);
    free(wanted);
    return good;
}

static scene_work *work_create(const ev_scene *scene, const ev_oxford_options *options)
{
    size_t n = scene->images.count;
    scene_work *work = io_alloc(1, sizeof *work);
    work->scene = scene;
    work->options = options;
    work->views = io_alloc(n, sizeof *work->views);
    work->strict = io_alloc(n, sizeof *work->strict);
    work->paperlike = io_alloc(n, sizeof *work->paperlike);
    work->scores = io_alloc(n, sizeof *work->scores);
    work->errors = io_alloc(n, sizeof *work->errors);
    return work;
}

static void work_free(scene_work *work)
{
    for (size_t i = 0; i < work->scene->images.count; i++) {
        if (!work->views[i].shared) features_free(&work->views[i].all);
        features_free(&work->views[i].best);
        io_image_free(&work->views[i].image);
        truth_free(&work->strict[i]);
        truth_free(&work->paperlike[i]);
    }
    free(work->views);
    free(work->strict);
    free(work->paperlike);
    free(work->scores);
    free(work->errors);
    free(work);
}

bool ev_oxford_run(const ev_scenes *scenes, ev_method *methods, size_t method_count, const ev_oxford_options *options,
                   ev_oxford_result *results, io_error *error)
{
    io_progress progress;
    io_progress_start(&progress, "pairs", 0, options->quiet);
    for (size_t s = 0; s < scenes->count; s++) progress.total += (scenes->items[s].images.count - 1) * method_count;
    for (size_t m = 0; m < method_count; m++) {
        memset(&results[m], 0, sizeof results[m]);
        results[m].scenes = io_alloc(scenes->count, sizeof *results[m].scenes);
    }
    size_t done = 0;
    bool good = true;
    for (size_t s = 0; s < scenes->count && good; s++) {
        scene_work *work = work_create(&scenes->items[s], options);
        size_t n = scenes->items[s].images.count;
        uint64_t *hashes = io_alloc(n, sizeof *hashes);
        bool open = false;
        good = !options->cache || hash_views(work, hashes, error);
        for (size_t m = 0; m < method_count && good; m++) {
            good = method_scores(work, &methods[m], hashes, &open, error);
            for (size_t k = 1; k < n && good; k++) {
                add_pair(&results[m].scenes[s], &work->scores[k]);
                add_pair(&results[m].total, &work->scores[k]);
            }
            if (good) score_divide(&results[m].scenes[s]);
            io_progress_update(&progress, done += n - 1);
        }
        free(hashes);
        work_free(work);
    }
    io_progress_end(&progress);
    for (size_t m = 0; m < method_count && good; m++) {
        score_divide(&results[m].total);
        good = ev_method_finish(&methods[m], error);
    }
    for (size_t m = 0; m < method_count && !good; m++) ev_oxford_result_free(&results[m]);
    return good;
}

void ev_oxford_result_free(ev_oxford_result *result)
{
    free(result->scenes);
    memset(result, 0, sizeof *result);
}

/* ---------------------------------------------------------------------------------------------------- patches out */

bool ev_oxford_export_patches(const ev_scenes *scenes, const ev_oxford_options *options, const char *path,
                              io_error *error)
{
    uint8_t *patches = NULL;
    size_t total = 0, side = KB_PATCH_SIDE;
    bool good = true;
    for (size_t s = 0; s < scenes->count && good; s++) {
        const ev_scene *scene = &scenes->items[s];
        for (size_t i = 0; i < scene->images.count && good; i++) {
            const char *path_of_image = scene->images.items[i];
            io_image image = {0};
            io_keypoints k = {0};
            good = ev_image_load(&options->keypoints, path_of_image, &image, error) &&
                   ev_keypoints_load(&options->keypoints, scene->name, path_of_image, &image.view, 0, &k, error);
            if (!good) {
                io_image_free(&image);
                break;
            }
            patches = io_grow(patches, total + k.count + 1, side * side);
            kb_describe_options sampling;
            KB_INIT(sampling);
            sampling.scale = kb_model_scale(NULL, options->preset);
            sampling.parallel = options->parallel;
            kb_features f = io_features_view(&k, NULL);
            kb_status status = kb_sample(&image.view, KB_SAMPLER_PATCH, &sampling, NULL, &f,
                                         patches + total * side * side, NULL);
            if (status != KB_OK) good = io_fail(error, "%s: %s", path_of_image, kb_status_string(status));
            total += k.count;
            io_keypoints_free(&k);
            io_image_free(&image);
        }
    }
    size_t shape[3] = {total, side, side};
    good = good && io_npy_write(path, IO_U8, 3, shape, patches, error);
    free(patches);
    return good;
}
