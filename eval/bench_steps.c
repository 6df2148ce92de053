/* SPDX-License-Identifier: Apache-2.0 */
/* The table of steps, and both sides of each. */
#include "eval/bench_steps.h"

#include <stdlib.h>
#include <string.h>

#include "eval/peers.h"

/* ----------------------------------------------------------------------------------------------------- detecting */

static bool our_detect(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)method;
    return ev_bench_detect(set, &set->images[item].view, (kb_detector)variant, KB_ORIENTATION_DEFAULT,
                           &set->frames[0], error);
}

static bool our_detect_upright(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)method;
    return ev_bench_detect(set, &set->images[item].view, (kb_detector)variant, KB_ORIENTATION_NONE, &set->frames[0],
                           error);
}

static bool give_large(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant, (void)method, (void)error;
    ev_bench_give_large(set, item);
    return true;
}

static bool our_detect_large(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)item, (void)method;
    return ev_bench_detect(set, &set->large, (kb_detector)variant, KB_ORIENTATION_DEFAULT, &set->frames[0], error);
}

static bool peer_detect(ev_bench_set *set, const kb_image *image, int variant, io_error *error)
{
    io_keypoints found = {NULL, 0};
    bool good = ev_peer_detect((kb_detector)variant, image, set->max_keypoints, &found, error);
    io_keypoints_free(&found);
    return good;
}

static bool cv_detect(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)method;
    return peer_detect(set, &set->images[item].view, variant, error);
}

static bool cv_detect_large(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)item, (void)method;
    return peer_detect(set, &set->large, variant, error);
}

/* ---------------------------------------------------------------------------------------------------- describing */

static bool peer_describe(ev_bench_set *set, size_t item, const char *peer, const io_keypoints *k, float scale,
                          io_error *error)
{
    io_rows rows;
    bool good = ev_peer_describe(peer, &set->images[item].view, k->items, k->count, scale, &rows, error);
    if (good) io_rows_free(&rows);
    return good;
}

/* A peer among the descriptors gets the keypoints of its own detector. */
static bool give_describe(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant;
    return !method->peer || ev_bench_give_own(set, item, method->peer, error);
}

static bool our_describe(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant;
    const io_keypoints *k = &set->keypoints[item];
    if (method->peer) return peer_describe(set, item, method->peer, &set->own, set->own_scale, error);
    return ev_bench_describe(set, &set->images[item].view, method, k->items, k->count, &set->frames[0], error);
}

/* ORB on its own keypoints, which it describes on the image; ours lie on more levels than it has. They are detected in the
 * call that warms up, which is not timed. */
static bool cv_describe(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant, (void)method;
    return ev_bench_give_own(set, item, "cv:orb", error) &&
           peer_describe(set, item, "cv:orb", &set->own, set->own_scale, error);
}

/* ------------------------------------------------------------------------------------------ matching and fitting */

static bool give_pair(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant;
    return ev_bench_give_pair(set, item, method, error);
}

static bool our_match(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)item, (void)variant, (void)method;
    size_t n;
    return ev_bench_match(set, &set->given[0].f.rows, &set->given[1].f.rows, &n, error);
}

static bool cv_match(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)item, (void)variant, (void)method;
    size_t n;
    return ev_peer_match(&set->given[0].f.rows, &set->given[1].f.rows, set->matches, &n, error);
}

/* More neighbours than the kernel gives, beside as many as it gives. */
static bool our_knn(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)item, (void)method;
    return ev_bench_knn(set, &set->given[0].f.rows, &set->given[1].f.rows, variant, error);
}

static bool our_two_nearest(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant;
    return our_knn(set, item, 2, method, error);
}

static bool our_filter(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant, (void)method;
    return ev_bench_filter(set, item, error);
}

static bool our_refine(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant, (void)method;
    return ev_bench_refine(set, item, error);
}

static bool our_fit(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)item, (void)variant, (void)method;
    return ev_bench_fit(set, set->given_pairs, set->given_count, error);
}

static bool cv_fit(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)item, (void)variant, (void)method;
    return ev_peer_fit(set->given_pairs, set->given_count, error);
}

/* --------------------------------------------------------------------------------------------- the whole pipeline */

/* Two images to a homography by one look, or to the geometry of their scene as kb_match_images has it by default. */
enum { ONE_LOOK, DEFAULT_LOOKS };

static bool our_pipeline(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    return ev_bench_pair(set, 2 * item, 2 * item + 1, method, variant == ONE_LOOK ? KB_LOOK_UPRIGHT : 0, error);
}

static bool peer_features(ev_bench_set *set, size_t image, const char *peer, features *frame, io_error *error)
{
    const kb_image *view = &set->images[image].view;
    float scale;
    memset(frame, 0, sizeof *frame);
    return ev_peer_keypoints(peer, view, set->max_keypoints, &frame->keypoints, &scale, error) &&
           ev_peer_describe(peer, view, frame->keypoints.items, frame->keypoints.count, scale, &frame->rows, error);
}

static bool peer_rest(const features *a, const features *b, io_error *error)
{
    size_t n = 0, room = a->keypoints.count;
    kb_match *matches = io_alloc(room + 1, sizeof *matches);
    kb_point_pair *pairs = io_alloc(room + 1, sizeof *pairs);
    bool good = ev_peer_match(&a->rows, &b->rows, matches, &n, error);
    if (good) {
        n = ev_bench_pairs(matches, n, &a->keypoints, &b->keypoints, pairs, n);
        good = ev_peer_fit(pairs, n, error);
    }
    free(matches);
    free(pairs);
    return good;
}

static bool cv_pipeline(ev_bench_set *set, size_t item, int variant, const ev_method *method, io_error *error)
{
    (void)variant, (void)method;
    features f[2] = {{0}, {0}};
    bool good = peer_features(set, 2 * item, "cv:orb", &f[0], error) &&
                peer_features(set, 2 * item + 1, "cv:orb", &f[1], error) && peer_rest(&f[0], &f[1], error);
    features_free(&f[0]);
    features_free(&f[1]);
    return good;
}

/* ------------------------------------------------------------------------------------------------------ the table */

static const ev_bench_step steps[] = {
    {"detect-hessian", false, EV_BENCH_NO_METHOD, KB_DETECTOR_HESSIAN, NULL, our_detect, cv_detect, "cv::ORB detect"},
    {"detect-orb", false, EV_BENCH_NO_METHOD, KB_DETECTOR_ORB, NULL, our_detect, cv_detect, "cv::ORB detect"},
    {"detect-sift", false, EV_BENCH_NO_METHOD, KB_DETECTOR_SIFT, NULL, our_detect, cv_detect, "cv::SIFT detect"},
    {"detect-upright", false, EV_BENCH_NO_METHOD, KB_DETECTOR_HESSIAN, NULL, our_detect_upright, cv_detect,
     "cv::ORB detect"},
    {"detect-6mp", false, EV_BENCH_NO_METHOD, KB_DETECTOR_HESSIAN, give_large, our_detect_large, cv_detect_large,
     "cv::ORB detect"},
    {"describe", false, EV_BENCH_EACH_METHOD, 0, give_describe, our_describe, cv_describe, "cv::ORB compute, its own keypoints"},
    {"match-256", true, EV_BENCH_METHOD_OF_BITS, 256, give_pair, our_match, cv_match, "cv::BFMatcher crossCheck"},
    {"match-512", true, EV_BENCH_METHOD_OF_BITS, 512, give_pair, our_match, cv_match, "cv::BFMatcher crossCheck"},
    {"knn-3", true, EV_BENCH_FIRST_BINARY, EV_BENCH_NEIGHBOURS, give_pair, our_knn, our_two_nearest,
     "kb_match_knn, k = 2"},
    {"filter", true, EV_BENCH_FIRST_METHOD, 0, give_pair, our_filter, NULL, NULL},
    {"refine", true, EV_BENCH_FIRST_METHOD, 0, give_pair, our_refine, NULL, NULL},
    {"fit-homography", true, EV_BENCH_FIRST_METHOD, 0, give_pair, our_fit, cv_fit, "cv::findHomography USAC_PROSAC"},
    {"pipeline", true, EV_BENCH_FIRST_METHOD, ONE_LOOK, NULL, our_pipeline, cv_pipeline, "OpenCV with ORB"},
    {"looks", true, EV_BENCH_FIRST_METHOD, DEFAULT_LOOKS, NULL, our_pipeline, cv_pipeline, "OpenCV with ORB"},
};
#define STEPS (sizeof steps / sizeof *steps)

bool ev_bench_of_pairs(const ev_bench_task *task) { return task->step->of_pairs; }

const char *ev_bench_step_name(const ev_bench_task *task) { return task->step->name; }

static int32_t bits_of(const ev_method *method)
{
    kb_model_info info;
    KB_INIT(info);
    if (!method->model || kb_model_get_info(method->model, &info) != KB_OK) return 0;
    return info.row_floats ? 0 : info.row_bytes * 8;
}

/* The first method of ours that a step can work with: the pipeline prefers bag256, the default of the program. */
static const ev_method *method_for(const ev_bench_set *set, const ev_bench_step *step)
{
    const ev_method *first = NULL;
    for (size_t i = 0; i < set->method_count; i++) {
        const ev_method *m = &set->methods[i];
        if (m->peer) continue;
        if (step->methods == EV_BENCH_METHOD_OF_BITS && bits_of(m) != step->variant) continue;
        if (step->methods == EV_BENCH_FIRST_BINARY && bits_of(m) == 0) continue;
        if (!first) first = m;
        if (step->ours == our_pipeline && strcmp(m->name, "bag256") == 0) return m;
    }
    return first;
}

static void add_task(ev_bench_tasks *tasks, const ev_bench_step *step, const ev_method *method, const char *rows)
{
    ev_bench_task task = {step, method, ""};
    char *stem = method && io_path_has_suffix(method->name, ".kbm") ? io_path_stem(method->name) : NULL;
    if (method && step->methods == EV_BENCH_EACH_METHOD)
        snprintf(task.name, sizeof task.name, "%s-%s", step->name, stem ? stem : method->name);
    else snprintf(task.name, sizeof task.name, "%s", step->name);
    free(stem);
    io_names wanted = {NULL, 0};
    if (rows) io_names_split(&wanted, rows);
    bool take = rows == NULL;
    for (size_t i = 0; i < wanted.count; i++)
        take = take || strcmp(wanted.items[i], task.name) == 0 || strcmp(wanted.items[i], step->name) == 0;
    io_names_free(&wanted);
    if (!take) return;
    tasks->items = io_grow(tasks->items, tasks->count + 1, sizeof *tasks->items);
    tasks->items[tasks->count++] = task;
}

static void add_tasks(const ev_bench_set *set, const char *rows, ev_bench_tasks *out)
{
    memset(out, 0, sizeof *out);
    for (size_t s = 0; s < STEPS; s++) {
        const ev_bench_step *step = &steps[s];
        if (step->methods == EV_BENCH_NO_METHOD) {
            add_task(out, step, NULL, rows);
        } else if (step->methods == EV_BENCH_EACH_METHOD) {
            for (size_t m = 0; m < set->method_count; m++) add_task(out, step, &set->methods[m], rows);
        } else if (method_for(set, step)) {
            add_task(out, step, method_for(set, step), rows);
        }
    }
}

/* Is the word the name of a step or of a row? */
static bool row_known(const ev_bench_set *set, const char *word)
{
    ev_bench_tasks all;
    add_tasks(set, word, &all);
    bool known = all.count > 0;
    ev_bench_tasks_free(&all);
    return known;
}

bool ev_bench_tasks_make(const ev_bench_set *set, const char *rows, ev_bench_tasks *out, io_error *error)
{
    io_names words = {NULL, 0};
    bool good = true;
    memset(out, 0, sizeof *out);
    if (rows) io_names_split(&words, rows);
    for (size_t i = 0; i < words.count && good; i++)
        if (!row_known(set, words.items[i])) good = io_fail(error, "no row is called \"%s\"", words.items[i]);
    io_names_free(&words);
    if (good) add_tasks(set, rows, out);
    return good;
}

void ev_bench_tasks_free(ev_bench_tasks *tasks)
{
    free(tasks->items);
    memset(tasks, 0, sizeof *tasks);
}

/* --------------------------------------------------------------------------------------------------------- energy */

static bool our_frame(ev_bench_set *set, size_t image, const ev_method *method, ev_bench_frame *frame, io_error *error)
{
    const kb_image *view = &set->images[image].view;
    return ev_bench_detect(set, view, kb_detector_get_info(0).detector, KB_ORIENTATION_DEFAULT, frame, error) &&
           ev_bench_describe(set, view, method, frame->f.keypoints.items, frame->f.keypoints.count, frame, error);
}

/* Matches the two frames and fits a homography. */
static bool our_rest(ev_bench_set *set, io_error *error)
{
    size_t n = 0;
    const features *a = &set->frames[0].f, *b = &set->frames[1].f;
    if (!ev_bench_match(set, &a->rows, &b->rows, &n, error)) return false;
    n = ev_bench_pairs(set->matches, n, &a->keypoints, &b->keypoints, set->pairs, n);
    return ev_bench_fit(set, set->pairs, n, error);
}

/* One frame of the application: image `i` against the first, which frames[0] or `first` holds described. */
static bool one_frame(ev_bench_set *set, const ev_method *method, size_t i, const features *first, io_error *error)
{
    if (!method->peer) return our_frame(set, i, method, &set->frames[1], error) && our_rest(set, error);
    features frame;
    bool good = peer_features(set, i, method->peer, &frame, error) && peer_rest(first, &frame, error);
    features_free(&frame);
    return good;
}

bool ev_bench_frames(ev_bench_set *set, const ev_method *method, double seconds, ev_bench_energy *out, io_error *error)
{
    features first = {0};
    energy_meter meter;
    out->frames = 0;
    bool good = method->peer ? peer_features(set, 0, method->peer, &first, error)
                             : our_frame(set, 0, method, &set->frames[0], error);
    good = good && one_frame(set, method, 1, &first, error); /* warms up */
    double start = io_clock_seconds();
    energy_start(&meter);
    for (size_t i = 1; good && (out->frames < 1 || io_clock_seconds() - start < seconds);
         i = i + 1 < set->count ? i + 1 : 1) {
        good = one_frame(set, method, i, &first, error);
        out->frames++;
    }
    energy_stop(&meter, &out->cost);
    features_free(&first);
    return good;
}
