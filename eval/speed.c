/* The protocol is in the header. A task is prepared once, so that a pass does the step and nothing else. */
#include "eval/speed.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eval/peers.h"
#include "io/progress.h"

typedef struct view {
    io_image image;
    io_keypoints keypoints;
} view;

struct ev_speed_set {
    view *views;
    size_t count;
    ev_speed_options options;
};

/* What is known about an image on the pipeline. */
typedef struct frame {
    io_keypoints keypoints;
    io_rows rows;
} frame;

struct ev_speed_task {
    ev_speed_set *set;
    ev_step step;
    const ev_method *method; /* NULL for EV_STEP_DETECT */
    kb_detector detector;
    bool peer;
    double keypoints; /* an image */
    kb_workspace *workspace;
    size_t capacity; /* of keypoints, rows and matches: ours are written into memory that is there already */
    frame scratch;
    kb_match *matches;
    kb_point_pair *pairs;
    /* prepared once */
    float scale;          /* of the keypoints that are described */
    io_keypoints *own;    /* the peer's own keypoints, one list an image; NULL: the set's */
    frame *frames;        /* MATCH, FIT: all images; ROAD: the first */
    kb_point_pair **set_pairs;  /* FIT: of image i and i + 1, best first */
    size_t *set_pair_count;
};

const char *ev_step_name(ev_step step)
{
    static const char *const names[] = {"detect", "describe", "match", "fit", "pipeline"};
    return (unsigned)step < sizeof names / sizeof *names ? names[step] : "?";
}

/* ------------------------------------------------------------------------------------------------------ the set */

bool ev_speed_open(const io_names *images, const ev_speed_options *options, ev_speed_set **out, io_error *error)
{
    ev_speed_set *set = io_alloc(1, sizeof *set);
    io_progress progress;
    bool good = true;
    set->options = *options;
    set->views = io_alloc(images->count, sizeof *set->views);
    io_progress_start(&progress, "reading images", images->count, options->quiet);
    for (; set->count < images->count && good; set->count++) {
        view *v = &set->views[set->count];
        const char *path = images->items[set->count];
        good = io_image_read(path, NULL, &v->image, error) &&
               ev_keypoints_load(&options->keypoints, NULL, path, &v->image.view, 0, &v->keypoints, error);
        io_progress_update(&progress, set->count);
    }
    io_progress_end(&progress);
    *out = good ? set : NULL;
    if (!good) ev_speed_close(set);
    return good;
}

void ev_speed_close(ev_speed_set *set)
{
    if (!set) return;
    for (size_t i = 0; i < set->count; i++) {
        io_keypoints_free(&set->views[i].keypoints);
        io_image_free(&set->views[i].image);
    }
    free(set->views);
    free(set);
}

size_t ev_speed_images(const ev_speed_set *set) { return set->count; }

double ev_speed_keypoints(const ev_speed_set *set)
{
    double sum = 0;
    for (size_t i = 0; i < set->count; i++) sum += (double)set->views[i].keypoints.count;
    return set->count ? sum / (double)set->count : 0;
}

/* ---------------------------------------------------------------------------------------------- steps of the pipeline */

static bool settle(kb_status status, io_error *error)
{
    return status == KB_OK || io_fail(error, "%s", kb_status_string(status));
}

static bool do_detect(ev_speed_task *task, const kb_image *image, io_keypoints *out, io_error *error)
{
    const ev_speed_options *o = &task->set->options;
    if (task->peer) {
        io_keypoints_free(out);
        float scale;
        return task->method
                   ? ev_peer_keypoints(task->method->peer, image, o->keypoints.max_keypoints, out, &scale, error)
                   : ev_peer_detect(task->detector, image, o->keypoints.max_keypoints, out, error);
    }
    kb_detect_options options;
    KB_INIT(options);
    options.detector = task->detector;
    options.max_keypoints = o->keypoints.max_keypoints;
    options.parallel = o->parallel;
    return settle(kb_detect(image, &options, task->workspace, out->items, task->capacity, &out->count), error);
}

static bool do_describe(ev_speed_task *task, const kb_image *image, const io_keypoints *keypoints, io_rows *out,
                        io_error *error)
{
    size_t n = keypoints->count;
    if (task->peer) {
        io_rows_free(out);
        return ev_peer_describe(task->method->peer, image, keypoints->items, n, task->scale, out, error);
    }
    kb_describe_options options;
    KB_INIT(options);
    options.scale = task->scale;
    options.parallel = task->set->options.parallel;
    out->count = n;
    const kb_model *model = task->method->model;
    kb_status status =
        out->floats ? kb_describe_float(model, image, keypoints->items, n, &options, task->workspace, out->floats, NULL)
                    : kb_describe(model, image, keypoints->items, n, &options, task->workspace, out->bytes, NULL);
    return settle(status, error);
}

static bool do_match(ev_speed_task *task, const io_rows *a, const io_rows *b, size_t *count, io_error *error)
{
    if (task->peer) return ev_peer_match(a, b, task->matches, count, error);
    kb_match_options options;
    KB_INIT(options);
    options.parallel = task->set->options.parallel;
    kb_workspace *w = task->workspace;
    kb_status status =
        a->bytes
            ? kb_match_hamming(a->bytes, a->count, b->bytes, b->count, a->width, &options, w, task->matches, count)
            : kb_match_float(a->floats, a->count, b->floats, b->count, a->width, &options, w, task->matches, count);
    return settle(status, error);
}

static bool do_fit(ev_speed_task *task, const kb_point_pair *pairs, size_t n, io_error *error)
{
    kb_fit_report report;
    KB_INIT(report);
    if (task->peer) return ev_peer_fit(pairs, n, error);
    return settle(kb_fit(pairs, n, NULL, task->workspace, NULL, &report), error);
}

static int by_distance(const void *a, const void *b)
{
    float x = ((const kb_match *)a)->distance, y = ((const kb_match *)b)->distance;
    return (x > y) - (x < y);
}

/* The points of matches, best first. Sorts the matches. */
static void make_pairs(kb_match *matches, size_t n, const io_keypoints *a, const io_keypoints *b, kb_point_pair *pairs)
{
    qsort(matches, n, sizeof *matches, by_distance);
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *p = &a->items[matches[i].a], *q = &b->items[matches[i].b];
        pairs[i] = (kb_point_pair){p->x, p->y, q->x, q->y};
    }
}

/* -------------------------------------------------------------------------------------------------------- passes */

static const kb_image *image_of(const ev_speed_task *task, size_t i) { return &task->set->views[i].image.view; }

static const io_keypoints *keypoints_of(const ev_speed_task *task, size_t i)
{
    return task->own ? &task->own[i] : &task->set->views[i].keypoints;
}

/* A frame of an application that looks for the first image in all others. */
static bool walk(ev_speed_task *task, size_t i, io_error *error)
{
    frame *f = &task->scratch;
    size_t count = 0;
    if (!do_detect(task, image_of(task, i), &f->keypoints, error)) return false;
    if (!do_describe(task, image_of(task, i), &f->keypoints, &f->rows, error)) return false;
    if (!do_match(task, &task->frames[0].rows, &f->rows, &count, error)) return false;
    make_pairs(task->matches, count, &task->frames[0].keypoints, &f->keypoints, task->pairs);
    task->keypoints += (double)f->keypoints.count;
    return do_fit(task, task->pairs, count, error);
}

static bool do_item(ev_speed_task *task, size_t i, io_error *error)
{
    size_t count;
    bool good;
    switch (task->step) {
    case EV_STEP_DETECT:
        good = do_detect(task, image_of(task, i), &task->scratch.keypoints, error);
        task->keypoints += (double)task->scratch.keypoints.count;
        return good;
    case EV_STEP_DESCRIBE:
        task->keypoints += (double)keypoints_of(task, i)->count;
        return do_describe(task, image_of(task, i), keypoints_of(task, i), &task->scratch.rows, error);
    case EV_STEP_MATCH:
        task->keypoints += (double)task->frames[i].rows.count;
        return do_match(task, &task->frames[i].rows, &task->frames[i + 1].rows, &count, error);
    case EV_STEP_FIT:
        task->keypoints += (double)task->set_pair_count[i];
        return do_fit(task, task->set_pairs[i], task->set_pair_count[i], error);
    case EV_STEP_ROAD: return walk(task, i + 1, error);
    }
    return false;
}

bool ev_speed_pass(ev_speed_task *task, size_t *items, io_error *error)
{
    bool pairs = task->step == EV_STEP_MATCH || task->step == EV_STEP_FIT || task->step == EV_STEP_ROAD;
    size_t n = task->set->count - pairs;
    bool good = true;
    task->keypoints = 0;
    for (size_t i = 0; i < n && good; i++) good = do_item(task, i, error);
    task->keypoints /= (double)n;
    *items = n;
    return good;
}

/* ---------------------------------------------------------------------------------------------------- preparing */

/* Room for our own results; a peer brings its own. */
static void frame_make(const ev_speed_task *task, frame *f)
{
    memset(f, 0, sizeof *f);
    if (task->peer) return;
    f->keypoints.items = io_alloc(task->capacity, sizeof *f->keypoints.items);
    if (!task->method) return;
    kb_model_info info;
    KB_INIT(info);
    kb_model_get_info(task->method->model, &info);
    f->rows.width = (size_t)(info.row_floats ? info.row_floats : info.row_bytes);
    if (info.row_floats) f->rows.floats = io_alloc(task->capacity * f->rows.width, sizeof(float));
    else f->rows.bytes = io_alloc(task->capacity * f->rows.width, 1);
}

static void frame_free(frame *f)
{
    io_keypoints_free(&f->keypoints);
    io_rows_free(&f->rows);
}

/* A peer whose own keypoints are not those of the set describes its own. */
static bool prepare_keypoints(ev_speed_task *task, io_error *error)
{
    const ev_speed_options *o = &task->set->options;
    task->scale = task->step == EV_STEP_ROAD ? kb_detector_scale(task->detector) : o->scale;
    if (!task->peer) return true;
    io_keypoints first = {NULL, 0};
    float scale = 0;
    bool good =
        ev_peer_keypoints(task->method->peer, image_of(task, 0), o->keypoints.max_keypoints, &first, &scale, error);
    io_keypoints_free(&first);
    if (!good || (task->scale == scale && task->step != EV_STEP_ROAD)) return good;
    task->scale = scale;
    if (task->step == EV_STEP_ROAD) return true;
    task->own = io_alloc(task->set->count, sizeof *task->own);
    for (size_t i = 0; i < task->set->count && good; i++)
        good = ev_peer_keypoints(task->method->peer, image_of(task, i), o->keypoints.max_keypoints, &task->own[i],
                                 &scale, error);
    return good;
}

static bool prepare_frames(ev_speed_task *task, io_error *error)
{
    size_t n = task->step == EV_STEP_ROAD ? 1 : task->set->count;
    bool good = true;
    task->frames = io_alloc(task->set->count, sizeof *task->frames);
    for (size_t i = 0; i < n && good; i++) {
        frame *f = &task->frames[i];
        frame_make(task, f);
        if (task->step == EV_STEP_ROAD)
            good = do_detect(task, image_of(task, i), &f->keypoints, error) &&
                   do_describe(task, image_of(task, i), &f->keypoints, &f->rows, error);
        else good = do_describe(task, image_of(task, i), keypoints_of(task, i), &f->rows, error);
    }
    return good;
}

static bool prepare_pairs(ev_speed_task *task, io_error *error)
{
    bool good = true;
    task->set_pairs = io_alloc(task->set->count, sizeof *task->set_pairs);
    task->set_pair_count = io_alloc(task->set->count, sizeof *task->set_pair_count);
    for (size_t i = 0; i + 1 < task->set->count && good; i++) {
        size_t n = 0;
        good = do_match(task, &task->frames[i].rows, &task->frames[i + 1].rows, &n, error);
        task->set_pairs[i] = io_alloc(n + 1, sizeof **task->set_pairs);
        task->set_pair_count[i] = n;
        make_pairs(task->matches, n, keypoints_of(task, i), keypoints_of(task, i + 1), task->set_pairs[i]);
    }
    return good;
}

static bool prepare(ev_speed_task *task, io_error *error)
{
    const ev_speed_set *set = task->set;
    task->capacity = (size_t)set->options.keypoints.max_keypoints;
    for (size_t i = 0; i < set->count; i++)
        if (set->views[i].keypoints.count > task->capacity) task->capacity = set->views[i].keypoints.count;
    if (!settle(kb_workspace_create(&task->workspace), error)) return false;
    if (task->step != EV_STEP_DETECT && !prepare_keypoints(task, error)) return false;
    task->matches = io_alloc(task->capacity, sizeof *task->matches);
    task->pairs = io_alloc(task->capacity, sizeof *task->pairs);
    frame_make(task, &task->scratch);
    if (task->step < EV_STEP_MATCH) return true;
    if (set->count < 2) return io_fail(error, "matching needs two images or more");
    return prepare_frames(task, error) && (task->step != EV_STEP_FIT || prepare_pairs(task, error));
}

bool ev_speed_task_create(ev_speed_set *set, ev_step step, const ev_method *method, kb_detector detector, bool peer,
                          ev_speed_task **out, io_error *error)
{
    ev_speed_task *task = io_alloc(1, sizeof *task);
    *task = (ev_speed_task){
        .set = set, .step = step, .method = method, .detector = detector, .peer = method ? method->peer != NULL : peer};
    if (prepare(task, error)) {
        *out = task;
        return true;
    }
    ev_speed_task_free(task);
    return false;
}

void ev_speed_task_free(ev_speed_task *task)
{
    if (!task) return;
    for (size_t i = 0; i < task->set->count; i++) {
        if (task->own) io_keypoints_free(&task->own[i]);
        if (task->frames) frame_free(&task->frames[i]);
        if (task->set_pairs) free(task->set_pairs[i]);
    }
    frame_free(&task->scratch);
    free(task->own);
    free(task->frames);
    free(task->set_pairs);
    free(task->set_pair_count);
    free(task->matches);
    free(task->pairs);
    kb_workspace_free(task->workspace);
    free(task);
}

/* ----------------------------------------------------------------------------------------------------- measuring */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool timed_pass(ev_speed_task *task, double *ms, double *cpu_ms, io_error *error)
{
    size_t items = 1;
    double wall = io_clock_seconds(), cpu = cpu_seconds();
    bool good = ev_speed_pass(task, &items, error);
    *cpu_ms = (cpu_seconds() - cpu) * 1000 / (double)items;
    *ms = (io_clock_seconds() - wall) * 1000 / (double)items;
    return good;
}

bool ev_speed_measure(ev_speed_task *const *tasks, size_t count, const ev_speed_options *options, ev_speed_row *rows,
                      io_error *error)
{
    size_t repeats = (size_t)options->repeats, done = 0;
    double *ms = io_alloc(count * repeats, sizeof *ms), *cpu = io_alloc(count * repeats, sizeof *cpu), unused[2];
    io_progress progress;
    bool good = true;
    ev_peers_threads(options->threads);
    io_progress_start(&progress, "passes", count * (repeats + 1), options->quiet);
    for (size_t r = 0; r < repeats + 1 && good; r++)
        for (size_t t = 0; t < count && good; t++) {
            size_t at = t * repeats + r - 1;
            good = r == 0 ? timed_pass(tasks[t], &unused[0], &unused[1], error)
                          : timed_pass(tasks[t], &ms[at], &cpu[at], error);
            io_progress_update(&progress, ++done);
        }
    io_progress_end(&progress);
    for (size_t t = 0; t < count && good; t++) {
        const ev_speed_task *task = tasks[t];
        rows[t] = (ev_speed_row){task->step,
                                 task->method ? task->method->name : kb_detector_name(task->detector),
                                 task->peer,
                                 task->keypoints,
                                 ev_spread_of(ms + t * repeats, repeats),
                                 ev_spread_of(cpu + t * repeats, repeats).median};
    }
    free(ms);
    free(cpu);
    return good;
}
