/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol is in the header. */
#include "eval/matching.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/places.h"
#include "io/features.h"
#include "io/progress.h"
#include "pipeline/features.h"

typedef struct view {
    io_image image;
    features f;
    size_t spots;
} view;

typedef struct sequence_work {
    const ev_scene *scene;
    const ev_matching_options *options;
    const ev_method *method;
    view *views;
    ev_mma *pairs;    /* one per image; the first is not used */
    io_error *errors; /* one per image, empty when all went well */
} sequence_work;

bool ev_matching_large(const char *sequence)
{
    static const char *const names[] = {"i_contruction", "i_crownnight", "i_dc",          "i_pencils",
                                        "i_whitebuilding", "v_artisans", "v_astronautis", "v_talent"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], sequence) == 0) return true;
    return false;
}

/* ------------------------------------------------------------------------------------------------- one sequence */

static void for_each(const sequence_work *work, size_t count, void (*task)(void *, int32_t))
{
    const kb_parallel *parallel = work->options->parallel;
    if (parallel) parallel->run(parallel->self, (int32_t)count, task, (void *)work);
    else for (size_t i = 0; i < count; i++) task((void *)work, (int32_t)i);
}

static bool first_error(const sequence_work *work, io_error *error)
{
    for (size_t i = 0; i < work->scene->images.count; i++)
        if (work->errors[i].text[0]) return io_fail(error, "%s", work->errors[i].text);
    return true;
}

static void load_view(void *context, int32_t index)
{
    sequence_work *work = context;
    view *v = &work->views[index];
    const char *path = work->scene->images.items[index];
    io_error *error = &work->errors[index];
    const ev_keypoint_source *source = &work->options->keypoints;
    if (ev_image_load(source, path, &v->image, error) &&
        ev_keypoints_load(source, work->scene->name, path, &v->image.view, 0, &v->f.keypoints, error))
        v->spots = ev_spots(v->f.keypoints.items, v->f.keypoints.count);
}

static void matching_describe_view(void *context, int32_t index)
{
    sequence_work *work = context;
    view *v = &work->views[index];
    ev_method_describe(work->method, &v->image.view, v->f.keypoints.items, v->f.keypoints.count, work->options->preset,
                       &v->f.rows, &work->errors[index]);
}

/* Distance in image k from where H sends the point of image 1; infinite when H sends it nowhere. */
static double transfer_error(const double h[9], const kb_point_pair *pair)
{
    double x, y;
    kb_homography_apply(h, pair->x1, pair->y1, &x, &y);
    double distance = hypot(x - pair->x2, y - pair->y2);
    return isfinite(distance) ? distance : INFINITY;
}

const double ev_corner_limits[EV_CORNER_LIMITS] = {1, 3, 5};

/* What a pair adds to the areas under the curves of corner errors. */
static void score_homography(const sequence_work *work, size_t k, const kb_point_pair *points, const float *distances,
                             size_t count)
{
    const io_image *image = &work->views[0].image;
    kb_fit_options options;
    kb_fit_report fit;
    KB_INIT(options);
    KB_INIT(fit);
    options.quality = distances;
    kb_status status = kb_fit(points, count, &options, NULL, NULL, &fit, NULL);
    if (status != KB_OK) io_fail(&work->errors[k], "fitting: %s", kb_status_string(status));
    if (status != KB_OK || fit.result != KB_FIT_FOUND) return;
    double error = ev_corner_error(fit.model, work->scene->h[k], image->width, image->height);
    for (int i = 0; i < EV_CORNER_LIMITS; i++) work->pairs[k].corner_auc[i] = fmax(0, 1 - error / ev_corner_limits[i]);
}

static void score_matches(const sequence_work *work, size_t k, const kb_match *matches, size_t count)
{
    const io_keypoints *a = &work->views[0].f.keypoints, *b = &work->views[k].f.keypoints;
    ev_mma *pair = &work->pairs[k];
    kb_point_pair *points = io_alloc(count + 1, sizeof *points);
    float *distances = io_alloc(count + 1, sizeof *distances);
    uint8_t *right = io_alloc(count + 1, 1);
    kb_features fa = io_features_view(a, NULL), fb = io_features_view(b, NULL);
    kb_match_points(&fa, &fb, matches, count, points, distances, NULL);
    for (size_t i = 0; i < count; i++) {
        double error = transfer_error(work->scene->h[k], &points[i]);
        for (int t = 0; t < EV_MMA_PX; t++) pair->accuracy[t] += error <= t + 1;
        right[i] = error <= EV_RIGHT_PX;
    }
    pair->pairs = 1;
    pair->matches = (double)count;
    pair->right = pair->accuracy[EV_RIGHT_PX - 1];
    pair->places = (double)ev_places(points, distances, right, count);
    pair->keypoints = (double)(a->count + b->count) / 2;
    pair->spots = (double)(work->views[0].spots + work->views[k].spots) / 2;
    for (int t = 0; t < EV_MMA_PX && count > 0; t++) pair->accuracy[t] /= (double)count;
    score_homography(work, k, points, distances, count);
    free(right);
    free(distances);
    free(points);
}

static void match_pair(void *context, int32_t index)
{
    sequence_work *work = context;
    size_t k = (size_t)index + 1, count = 0;
    const view *a = &work->views[0], *b = &work->views[k];
    kb_match *matches = io_alloc(a->f.keypoints.count + 1, sizeof *matches);
    memset(&work->pairs[k], 0, sizeof work->pairs[k]);
    if (ev_rows_match(&a->f.rows, &b->f.rows, true, 0, NULL, matches, &count, &work->errors[k]))
        score_matches(work, k, matches, count);
    free(matches);
}

static bool take_file_rows(sequence_work *work, ev_method *method, io_error *error)
{
    for (size_t i = 0; i < work->scene->images.count; i++)
        if (!ev_method_take(method, work->views[i].f.keypoints.count, &work->views[i].f.rows, error)) return false;
    return true;
}

/* Accuracy of every pair of the sequence, in work->pairs. */
static bool score_method(sequence_work *work, ev_method *method, io_error *error)
{
    size_t n = work->scene->images.count;
    bool good = true;
    work->method = method;
    if (ev_method_is_file(method)) good = take_file_rows(work, method, error);
    else for_each(work, n, matching_describe_view);
    if (good && (good = first_error(work, error))) for_each(work, n - 1, match_pair);
    good = good && first_error(work, error);
    for (size_t i = 0; i < n; i++) {
        io_rows_free(&work->views[i].f.rows);
        memset(&work->views[i].f.rows, 0, sizeof work->views[i].f.rows);
    }
    return good;
}

/* -------------------------------------------------------------------------------------------------------- means */

static void mma_add(ev_mma *sum, const ev_mma *pair)
{
    sum->pairs += pair->pairs;
    sum->keypoints += pair->keypoints;
    sum->spots += pair->spots;
    sum->matches += pair->matches;
    sum->right += pair->right;
    sum->places += pair->places;
    for (int t = 0; t < EV_MMA_PX; t++) sum->accuracy[t] += pair->accuracy[t];
    for (int i = 0; i < EV_CORNER_LIMITS; i++) sum->corner_auc[i] += pair->corner_auc[i];
}

static void mma_divide(ev_mma *sum)
{
    double n = sum->pairs > 0 ? (double)sum->pairs : NAN;
    sum->keypoints /= n;
    sum->spots /= n;
    sum->matches /= n;
    sum->right /= n;
    sum->places /= n;
    for (int t = 0; t < EV_MMA_PX; t++) sum->accuracy[t] /= n;
    for (int i = 0; i < EV_CORNER_LIMITS; i++) sum->corner_auc[i] /= n;
}

static void result_add(ev_matching_result *result, const ev_scene *scene, size_t index, const ev_mma *pair)
{
    mma_add(&result->all, pair);
    mma_add(&result->scenes[index], pair);
    if (strncmp(scene->name, "i_", 2) == 0) mma_add(&result->illumination, pair);
    if (strncmp(scene->name, "v_", 2) == 0) mma_add(&result->viewpoint, pair);
}

/* ---------------------------------------------------------------------------------------------------- all of it */

static void work_free(sequence_work *work)
{
    for (size_t i = 0; i < work->scene->images.count; i++) {
        features_free(&work->views[i].f);
        io_image_free(&work->views[i].image);
    }
    free(work->views);
    free(work->pairs);
    free(work->errors);
}

static bool run_sequence(const ev_scenes *scenes, size_t s, ev_method *methods, size_t method_count,
                         const ev_matching_options *options, ev_matching_result *results, io_error *error)
{
    const ev_scene *scene = &scenes->items[s];
    size_t n = scene->images.count;
    sequence_work work = {.scene = scene,
                          .options = options,
                          .views = io_alloc(n, sizeof *work.views),
                          .pairs = io_alloc(n, sizeof *work.pairs),
                          .errors = io_alloc(n, sizeof *work.errors)};
    for_each(&work, n, load_view);
    bool good = first_error(&work, error);
    for (size_t m = 0; m < method_count && good; m++) {
        good = score_method(&work, &methods[m], error);
        for (size_t k = 1; k < n && good; k++) result_add(&results[m], scene, s, &work.pairs[k]);
    }
    work_free(&work);
    return good;
}

bool ev_matching_run(const ev_scenes *scenes, ev_method *methods, size_t method_count,
                     const ev_matching_options *options, ev_matching_result *results, io_error *error)
{
    io_progress progress;
    bool good = true;
    for (size_t m = 0; m < method_count; m++) {
        memset(&results[m], 0, sizeof results[m]);
        results[m].scenes = io_alloc(scenes->count, sizeof *results[m].scenes);
    }
    io_progress_start(&progress, "sequences", scenes->count, options->quiet);
    for (size_t s = 0; s < scenes->count && good; s++) {
        bool left_out = !options->all_sequences && ev_matching_large(scenes->items[s].name);
        for (size_t m = 0; m < method_count; m++) results[m].left_out += left_out;
        if (!left_out) good = run_sequence(scenes, s, methods, method_count, options, results, error);
        io_progress_update(&progress, s + 1);
    }
    io_progress_end(&progress);
    for (size_t m = 0; m < method_count && good; m++) {
        ev_matching_result *r = &results[m];
        if (r->all.pairs == 0) good = io_fail(error, "all sequences are among those that are left out");
        mma_divide(&r->all);
        mma_divide(&r->illumination);
        mma_divide(&r->viewpoint);
        for (size_t s = 0; s < scenes->count; s++) mma_divide(&r->scenes[s]);
        good = good && ev_method_finish(&methods[m], error);
    }
    for (size_t m = 0; m < method_count && !good; m++) ev_matching_result_free(&results[m]);
    return good;
}

void ev_matching_result_free(ev_matching_result *result)
{
    free(result->scenes);
    memset(result, 0, sizeof *result);
}
