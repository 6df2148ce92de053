/* SPDX-License-Identifier: Apache-2.0 */
/* SIFT's detector (Lowe 2004), with the conventions of OpenCV's.
 *
 *   1. Scale space: layers of the image, each blurred more than the one before, octave after octave (sift_space.c).
 *   2. Extrema of the differences of neighbouring layers, refined, without the weak ones and those on edges (dog.c).
 *   3. Each gets its directions (histogram.c), unless stronger ones fill the list already.
 *   4. The selection picks among them; a picked one becomes a keypoint for every direction.
 *
 * Everything is 16-bit integers up to the extrema. Tasks work on strips of rows of an octave, each with a window of its
 * own, so the number of threads changes nothing. */
#include <math.h>

#include "detect/candidates.h"
#include "detect/detectors.h"
#include "detect/sift_space.h"

#define LN2 0.69314718055994530942
#define STEPS 5 /* of refinement */

/* What one task keeps. */
typedef struct sift_task {
    kbi_candidates found;
    kbi_scale_window window;
    int16_t *scratch;
} sift_task;

typedef struct sift {
    const kbi_detect_job *job;
    const kbi_detect_kernels *kernels;
    kbi_scale_space space;
    int32_t threads;
    int32_t octave, pieces; /* the octave that is searched, cut into `pieces` strips */
    sift_task *tasks;       /* one for each thread */
    kb_keypoint *out;
} sift;

/* ---- extrema ---- */

static kbi_extremum_limits limits_of(const sift *s)
{
    const kb_detect_options *options = &s->job->options;
    return (kbi_extremum_limits){options->layers, options->contrast_threshold / (double)options->layers,
                                 options->edge_threshold};
}

/* Samples below half the contrast wanted are not looked at. */
static int32_t sample_limit(const sift *s)
{
    double limit = 0.5 * limits_of(s).contrast * 255 * KBI_SIFT_ONE;
    return kbi_clamp_i((int32_t)limit, 1, 32767);
}

/* An extremum becomes a candidate, with its directions. */
static void add_point(const sift *s, sift_task *task, const kbi_extremum *e)
{
    const kbi_octave *o = &s->space.octave[s->octave];
    if (task->found.full && (float)fabs(e->contrast) < task->found.weakest.response) return; /* as most do */
    double sigma = s->job->options.sigma * kbi_exp(LN2 * (e->layer + e->dlayer) / s->job->options.layers);
    int32_t sub_layer = kbi_clamp_i((int32_t)((e->dlayer + 0.5) * 255 + 0.5), 0, 255);
    kb_keypoint k = {.x = (float)((e->x + e->dx) * o->pixel), .y = (float)((e->y + e->dy) * o->pixel),
                     .size = (float)(2 * sigma * o->pixel), .angle = -1, .response = (float)fabs(e->contrast)};
    k.octave = (o->number & 255) | e->layer << 8 | sub_layer << 16;
    if (s->job->options.mask && !kbi_mask_allows(s->job->options.mask, k.x, k.y)) return;
    if (!kbi_candidates_wants(&task->found, &k)) return;
    kbi_candidate_angles angles;
    const kbi_octave *around = kbi_scale_window_around(&task->window, e->y, e->x, kbi_directions_reach((float)sigma));
    angles.count = kbi_directions(s->kernels, around, e->layer, e->y, e->x, (float)sigma, angles.angle);
    kbi_candidates_add(&task->found, &k, &angles);
}

/* From the sample where it was found to the extremum near it. */
static void refine_point(const sift *s, sift_task *task, int32_t layer, int32_t y, int32_t x)
{
    kbi_extremum_limits limits = limits_of(s);
    kbi_extremum e = {.x = x, .y = y, .layer = layer};
    kbi_refinement result = KBI_MOVED;
    for (int32_t step = 0; step < STEPS && result == KBI_MOVED; step++)
        result = kbi_extremum_refine(kbi_scale_window_around(&task->window, e.y, e.x, 1), &limits, &e);
    if (result == KBI_REFINED) add_point(s, task, &e);
}

/* Three rows of each difference of layers, y - 1 to y + 1. */
typedef struct difference_window {
    int16_t *row[KBI_SIFT_MAX_LAYERS + 2][3];
    int32_t *x; /* where a row's extrema are */
} difference_window;

static difference_window differences_over(const sift *s, const sift_task *task)
{
    difference_window w;
    ptrdiff_t stride = s->space.octave[s->octave].stride;
    int16_t *next = task->scratch;
    for (int32_t i = 0; i < s->space.layers + 2; i++)
        for (int32_t k = 0; k < 3; k++, next += stride) w.row[i][k] = next;
    w.x = (int32_t *)(void *)next;
    return w;
}

/* One row further: row y comes in. */
static void differences_move(difference_window *w, const sift *s, const kbi_octave *o, int32_t y)
{
    for (int32_t i = 0; i < s->space.layers + 2; i++) {
        int16_t *oldest = w->row[i][0];
        w->row[i][0] = w->row[i][1];
        w->row[i][1] = w->row[i][2];
        w->row[i][2] = oldest;
        s->kernels->difference_row(kbi_octave_row(o, i, y), kbi_octave_row(o, i + 1, y), o->width, oldest);
    }
}

static void search_row(const sift *s, sift_task *task, const difference_window *w, int32_t layer, int32_t y)
{
    int16_t *const *row = w->row[layer], *const *finer = w->row[layer - 1], *const *coarser = w->row[layer + 1];
    int32_t n = s->kernels->extrema_row(row[0], row[1], row[2], finer[1], coarser[1], task->window.here.width,
                                       sample_limit(s), w->x);
    for (int32_t i = 0; i < n; i++) {
        int32_t x = w->x[i];
        if (kbi_extremum_in_scale(finer, coarser, x, row[1][x])) refine_point(s, task, layer, y, x);
    }
}

/* A strip of the octave's rows. */
static void search_task(void *context, int32_t piece)
{
    sift *s = context;
    sift_task *task = &s->tasks[piece];
    int32_t height = s->space.octave[s->octave].height;
    size_t rows = (size_t)height - 2 * KBI_SIFT_BORDER;
    int32_t top = KBI_SIFT_BORDER + (int32_t)kbi_piece(rows, s->pieces, piece);
    int32_t bottom = KBI_SIFT_BORDER + (int32_t)kbi_piece(rows, s->pieces, piece + 1);
    kbi_scale_window_start(&task->window, &s->space, s->octave, top, piece == 0 ? 0 : top,
                           piece + 1 == s->pieces ? height : bottom);
    difference_window w = differences_over(s, task);
    for (int32_t y = top; y < bottom; y++) {
        kbi_scale_window_move(&task->window, y);
        for (int32_t r = y == top ? y - 1 : y + 1; r <= y + 1; r++) differences_move(&w, s, &task->window.here, r);
        for (int32_t layer = 1; layer <= s->space.layers; layer++) search_row(s, task, &w, layer, y);
    }
}

/* A strip makes some rows beside its own, so each is worth a thread only when it is much larger than these. */
#define MIN_STRIP_ROWS 64

static void search_octaves(sift *s)
{
    for (s->octave = 0; s->octave < s->space.octaves; s->octave++) {
        s->pieces = kbi_clamp_i(s->space.octave[s->octave].height / MIN_STRIP_ROWS, 1, s->threads);
        kbi_parallel_run(s->job->options.parallel, s->pieces, search_task, s);
    }
}

/* How many of the strongest extrema take part in the selection: max_keypoints, or for rules that look at places more
 * than any image has. */
static size_t candidate_limit(const sift *s)
{
    size_t wanted = (size_t)s->job->options.max_keypoints;
    size_t many = (size_t)s->job->image.width * (size_t)s->job->image.height / 16;
    if (s->job->options.selection == KB_SELECTION_BEST) return wanted;
    return many > 4 * wanted ? many : 4 * wanted;
}

/* Of the strongest alone it is known when no more are wanted. */
static size_t enough_directions(const sift *s)
{
    return s->job->options.selection == KB_SELECTION_BEST ? (size_t)s->job->options.max_keypoints : 0;
}

static bool search_get(sift *s, kb_workspace *workspace)
{
    /* a window of differences */
    size_t rows = (3 * ((size_t)s->space.layers + 2) + 2) * (size_t)s->space.octave[0].stride;
    if (!kbi_scale_space_get(&s->space, workspace)) return false;
    s->tasks = kbi_workspace_get(workspace, (size_t)s->threads * sizeof *s->tasks);
    if (!s->tasks) return false;
    for (int32_t i = 0; i < s->threads; i++) {
        sift_task task;
        task.scratch = kbi_workspace_get(workspace, rows * sizeof *task.scratch);
        if (!task.scratch || !kbi_scale_window_get(&task.window, &s->space, workspace) ||
            !kbi_candidates_get(&task.found, candidate_limit(s), enough_directions(s), workspace))
            return false;
        if (!workspace->measures) s->tasks[i] = task;
    }
    s->out = kbi_workspace_get(workspace, (size_t)s->job->options.max_keypoints * sizeof *s->out);
    return s->out;
}

/* Puts the tasks' lists together. A keypoint's class_id says which angles it has until the end. */
static kbi_candidates *gather_points(sift *s)
{
    kbi_candidates *all = &s->tasks[0].found;
    for (int32_t i = 1; i < s->threads; i++) {
        const kbi_candidates *more = &s->tasks[i].found;
        for (size_t k = 0; k < more->count; k++) kbi_candidates_add(all, &more->keypoints[k], &more->angles[k]);
    }
    kbi_candidates_prune(all);
    for (size_t i = 0; i < all->count; i++) all->keypoints[i].class_id = (int32_t)i;
    return all;
}

/* One keypoint for every direction, strongest first, until there are max_keypoints. */
static size_t spread_directions(sift *s, const kbi_candidates *picked, size_t n)
{
    size_t max = (size_t)s->job->options.max_keypoints, count = 0;
    for (size_t i = 0; i < n; i++) {
        const kbi_candidate_angles *a = &picked->angles[picked->keypoints[i].class_id];
        for (int32_t k = 0; k < a->count && count < max; k++) {
            s->out[count] = picked->keypoints[i];
            s->out[count].angle = a->angle[k];
            s->out[count++].class_id = -1;
        }
    }
    return count;
}

static kb_status detect_sift(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    sift s = {.job = job, .threads = job->threads, .kernels = job->kernels};
    size_t n = (size_t)job->options.max_keypoints;
    *count = 0;
    kbi_scale_space_plan(&s.space, job, s.kernels);
    if (s.space.octaves == 0) return KB_OK;
    if (!search_get(&s, job->workspace)) return KB_E_MEMORY;
    if (job->workspace->measures)
        return kbi_select_measure(candidate_limit(&s), n, job->image.width, job->image.height, job->options.selection,
                                  job->workspace);
    search_octaves(&s);
    kbi_candidates *all = gather_points(&s);
    kb_status status = kbi_select(all->keypoints, all->count, job->image.width, job->image.height,
                                 job->options.selection, n, job->workspace, &n);
    if (status != KB_OK) return status;
    *found = s.out;
    *count = spread_directions(&s, all, n);
    return KB_OK;
}

static const char *const sift_options[] = {"layers", "contrast_threshold", "edge_threshold", "sigma", "no_upsampling",
                                           NULL};
const kbi_detector kbi_detector_sift = {KB_DETECTOR_SIFT, "sift", 1, sift_options, detect_sift, NULL,
                                        {3.2, 0.065, 0.145, 0.16, 0}, NULL};
