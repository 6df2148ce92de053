/* SIFT's detector (Lowe 2004), with the conventions of OpenCV's.
 *
 *   1. Scale space: the image, doubled unless told otherwise, blurred to `sigma`; then layer after layer
 *      2^(1/layers) times more, until two layers past twice the blur. The layer with just twice the blur, every
 *      second pixel of it, starts the next octave. The image's own blur is taken as 0.5 px.
 *   2. Extrema of the differences of neighbouring layers, refined, without the weak ones and those on edges (dog.c).
 *   3. The selection picks among these; then each gets its directions (histogram.c), a keypoint for every one.
 *
 * Doubling puts pixel x of the image at 2 x and takes the mean between, so no place is shifted. Everything is 16-bit
 * integers up to the extrema; tasks work on rows or on runs of points, so the number of threads changes nothing. */
#include <math.h>

#include "common/cpu.h"
#include "detect/candidates.h"
#include "detect/sift.h"
#include "detect/kernels.h"

#define MAX_OCTAVES 17
#define CAMERA_BLUR 0.5
#define LN2 0.69314718055994530942

/* The directions of a keypoint. */
typedef struct sift_angles {
    int32_t count;
    float angle[KBI_SIFT_MAX_ANGLES];
} sift_angles;

/* What one task of the search keeps. */
typedef struct sift_task {
    kbi_candidates found;
    int16_t *scratch;
} sift_task;

typedef struct sift {
    const kbi_detect_job *job;
    kbi_detect_kernels kernels;
    int32_t threads, layers;
    kbi_octave octave[MAX_OCTAVES];
    int32_t octaves;
    kbi_blur blur[KBI_SIFT_MAX_LAYERS + 3]; /* [0]: from the image to the first layer; [i]: from layer i - 1 to i */
    /* what the tasks of a step share */
    const uint16_t *from;
    uint16_t *to;
    const kbi_octave *target;
    int32_t target_layer, pieces;
    uint16_t *rows; /* scratch of every task */
    sift_task *tasks; /* one for each thread */
    kb_keypoint *keypoints; /* of the first task's list, in which all are put together */
    kbi_candidate_point *points; /* in the order in which they were found: neighbours stand together */
    size_t count, point_count;
    sift_angles *angles;    /* of every point; count is -1 for one that was not picked */
    kb_keypoint *out;
} sift;

/* ---- scale space ---- */

static void plan_blurs(sift *s)
{
    double sigma = s->job->options.sigma, camera = s->job->options.no_upsampling ? CAMERA_BLUR : 2 * CAMERA_BLUR;
    double start = sigma * sigma - camera * camera;
    kbi_blur_plan(&s->blur[0], sqrt(start > 0.01 ? start : 0.01));
    for (int32_t i = 1; i < s->layers + 3; i++) {
        double before = sigma * kbi_exp(LN2 * (i - 1) / s->layers), after = sigma * kbi_exp(LN2 * i / s->layers);
        kbi_blur_plan(&s->blur[i], sqrt(after * after - before * before));
    }
}

/* Elements of the scratch of kbi_blur_image. */
static size_t blur_row(const sift *s) { return (size_t)s->octave[0].stride + 2 * KBI_BLUR_MAX_TAPS; }

/* Octaves as long as there is a pixel inside the border. */
static void plan_octaves(sift *s)
{
    int32_t first = s->job->options.no_upsampling ? 0 : -1;
    int32_t width = s->job->image.width << -first, height = s->job->image.height << -first;
    double pixel = first ? 0.5 : 1;
    for (s->octaves = 0; kbi_min_i(width, height) > 2 * KBI_SIFT_BORDER && s->octaves < MAX_OCTAVES; s->octaves++) {
        s->octave[s->octaves] = (kbi_octave){.width = width, .height = height, .pixel = pixel,
                                            .stride = (ptrdiff_t)kbi_round_up((size_t)width), .number = first + s->octaves};
        width /= 2;
        height /= 2;
        pixel *= 2;
    }
}

static bool octaves_get(sift *s, kb_workspace *workspace)
{
    for (int32_t i = 0; i < s->octaves; i++) {
        kbi_octave *o = &s->octave[i];
        if ((size_t)o->height > SIZE_MAX / 4 / (size_t)o->stride) return false; /* on 32-bit machines */
        for (int32_t k = 0; k < s->layers + 3; k++) {
            o->layer[k] = kbi_workspace_get(workspace, (size_t)o->stride * (size_t)o->height * sizeof(uint16_t));
            if (!o->layer[k]) return false;
        }
    }
    s->rows = kbi_workspace_get(workspace, blur_row(s) * (size_t)s->threads * sizeof *s->rows);
    return s->rows;
}

/* Small octaves are not worth waking other threads. */
static int32_t pieces_for(const sift *s, const kbi_octave *octave)
{
    return (int64_t)octave->width * octave->height < 20000 ? 1 : s->threads;
}

/* Row y of the doubled image, in units of 1/KBI_SIFT_ONE. */
static void doubled_row(const kb_image *image, int32_t y, uint16_t *restrict out)
{
    int32_t below = kbi_min_i(y / 2 + (y & 1), image->height - 1), last = image->width - 1;
    const uint8_t *restrict a = (const uint8_t *)image->data + (y / 2) * image->stride;
    const uint8_t *restrict b = (const uint8_t *)image->data + below * image->stride;
    for (int32_t x = 0; x < last; x++) {
        int32_t here = a[x] + b[x], next = a[x + 1] + b[x + 1];
        out[2 * x] = (uint16_t)(here * (KBI_SIFT_ONE / 2));
        out[2 * x + 1] = (uint16_t)((here + next) * (KBI_SIFT_ONE / 4));
    }
    out[2 * last] = out[2 * last + 1] = (uint16_t)((a[last] + b[last]) * (KBI_SIFT_ONE / 2));
}

static void plain_row(const kb_image *image, int32_t y, uint16_t *restrict out)
{
    const uint8_t *restrict row = (const uint8_t *)image->data + y * image->stride;
    for (int32_t x = 0; x < image->width; x++) out[x] = (uint16_t)(row[x] * KBI_SIFT_ONE);
}

static void half_row(const uint16_t *restrict in, int32_t width, uint16_t *restrict out)
{
    for (int32_t x = 0; x < width; x++) out[x] = in[2 * x];
}

static void start_task(void *context, int32_t piece)
{
    sift *s = context;
    const kbi_octave *o = s->target;
    int32_t end = (int32_t)kbi_piece((size_t)o->height, s->pieces, piece + 1);
    for (int32_t y = (int32_t)kbi_piece((size_t)o->height, s->pieces, piece); y < end; y++) {
        uint16_t *row = s->to + y * o->stride;
        if (s->job->options.no_upsampling) plain_row(&s->job->image, y, row);
        else doubled_row(&s->job->image, y, row);
    }
}

static void blur_task(void *context, int32_t piece)
{
    sift *s = context;
    const kbi_octave *o = s->target;
    uint16_t *row = s->rows + (size_t)piece * blur_row(s);
    kbi_blur_image(&s->kernels, s->from, s->to, o->width, o->height, o->stride, &s->blur[s->target_layer],
                  (int32_t)kbi_piece((size_t)o->height, s->pieces, piece),
                  (int32_t)kbi_piece((size_t)o->height, s->pieces, piece + 1), row);
}

static void sift_run_tasks(sift *s, void (*task)(void *, int32_t), const uint16_t *from, uint16_t *to)
{
    s->from = from;
    s->to = to;
    kbi_parallel_run(s->job->options.parallel, s->pieces, task, s);
}

static void build_scale_space(sift *s)
{
    for (int32_t i = 0; i < s->octaves; i++) {
        kbi_octave *o = &s->octave[i];
        s->target = o;
        s->target_layer = 0;
        s->pieces = pieces_for(s, o);
        if (i == 0) { /* the raw image waits where layer 1 will be */
            sift_run_tasks(s, start_task, NULL, o->layer[1]);
            sift_run_tasks(s, blur_task, o->layer[1], o->layer[0]);
        } else {
            const kbi_octave *above = &s->octave[i - 1];
            for (int32_t y = 0; y < o->height; y++)
                half_row(above->layer[s->layers] + 2 * y * above->stride, o->width, o->layer[0] + y * o->stride);
        }
        for (s->target_layer = 1; s->target_layer < s->layers + 3; s->target_layer++)
            sift_run_tasks(s, blur_task, o->layer[s->target_layer - 1], o->layer[s->target_layer]);
    }
}

/* ---- extrema ---- */

static kbi_extremum_limits limits_of(const sift *s)
{
    const kb_detect_options *options = &s->job->options;
    return (kbi_extremum_limits){s->layers, options->contrast_threshold / (double)s->layers, options->edge_threshold};
}

/* Samples below half the contrast wanted are not looked at. */
static int32_t sample_limit(const sift *s)
{
    double limit = 0.5 * limits_of(s).contrast * 255 * KBI_SIFT_ONE;
    return kbi_clamp_i((int32_t)limit, 1, 32767);
}

static void add_point(const sift *s, sift_task *task, int32_t octave, const kbi_extremum *e)
{
    const kbi_octave *o = &s->octave[octave];
    double sigma = s->job->options.sigma * kbi_exp(LN2 * (e->layer + e->dlayer) / s->layers);
    int32_t sub_layer = kbi_clamp_i((int32_t)((e->dlayer + 0.5) * 255 + 0.5), 0, 255);
    kb_keypoint k = {.x = (float)((e->x + e->dx) * o->pixel), .y = (float)((e->y + e->dy) * o->pixel),
                     .size = (float)(2 * sigma * o->pixel), .angle = -1, .response = (float)fabs(e->contrast)};
    k.octave = (o->number & 255) | e->layer << 8 | sub_layer << 16;
    if (s->job->options.mask && !kbi_mask_allows(s->job->options.mask, k.x, k.y)) return;
    kbi_candidates_add(&task->found, &k, &(kbi_candidate_point){e->x, e->y, (float)sigma, (uint8_t)octave,
                                                                (uint8_t)e->layer});
}

/* Three rows of each difference of layers, y - 1 to y + 1. */
typedef struct window {
    int16_t *row[KBI_SIFT_MAX_LAYERS + 2][3];
    int32_t *x; /* where a row's extrema are */
} window;

static window window_over(const sift *s, const sift_task *task, int32_t octave)
{
    window w;
    ptrdiff_t stride = s->octave[octave].stride;
    int16_t *next = task->scratch;
    for (int32_t i = 0; i < s->layers + 2; i++)
        for (int32_t k = 0; k < 3; k++, next += stride) w.row[i][k] = next;
    w.x = (int32_t *)(void *)next;
    return w;
}

/* One row further: the row y + 1 comes in. */
static void window_move(window *w, const sift *s, const kbi_octave *o, int32_t y)
{
    for (int32_t i = 0; i < s->layers + 2; i++) {
        int16_t *oldest = w->row[i][0];
        w->row[i][0] = w->row[i][1];
        w->row[i][1] = w->row[i][2];
        w->row[i][2] = oldest;
        s->kernels.difference_row(o->layer[i] + (y + 1) * o->stride, o->layer[i + 1] + (y + 1) * o->stride, o->width,
                                  oldest);
    }
}

static void search_row(const sift *s, sift_task *task, int32_t octave, const window *w, int32_t layer, int32_t y)
{
    const kbi_octave *o = &s->octave[octave];
    int16_t *const *row = w->row[layer], *const *finer = w->row[layer - 1], *const *coarser = w->row[layer + 1];
    kbi_extremum_limits limits = limits_of(s);
    int32_t n = s->kernels.extrema_row(row[0], row[1], row[2], o->width, sample_limit(s), w->x);
    for (int32_t i = 0; i < n; i++) {
        int32_t x = w->x[i];
        kbi_extremum e;
        if (kbi_extremum_in_scale(finer, coarser, x, row[1][x]) &&
            kbi_extremum_refine(o, layer, y, x, &limits, &e))
            add_point(s, task, octave, &e);
    }
}

static void search_rows(const sift *s, sift_task *task, int32_t octave, int32_t top, int32_t bottom)
{
    const kbi_octave *o = &s->octave[octave];
    window w = window_over(s, task, octave);
    if (top >= bottom) return;
    window_move(&w, s, o, top - 2);
    window_move(&w, s, o, top - 1);
    for (int32_t y = top; y < bottom; y++) {
        window_move(&w, s, o, y);
        for (int32_t layer = 1; layer <= s->layers; layer++) search_row(s, task, octave, &w, layer, y);
    }
}

/* Of every octave each task takes some bands of rows, spread over the image so that all have about as much to do. */
#define BANDS_A_TASK 4

static void search_task(void *context, int32_t index)
{
    sift *s = context;
    int32_t bands = s->threads > 1 ? BANDS_A_TASK * s->threads : 1;
    for (int32_t i = 0; i < s->octaves; i++) {
        size_t rows = (size_t)s->octave[i].height - 2 * KBI_SIFT_BORDER;
        for (int32_t band = index; band < bands; band += s->threads)
            search_rows(s, &s->tasks[index], i, KBI_SIFT_BORDER + (int32_t)kbi_piece(rows, bands, band),
                        KBI_SIFT_BORDER + (int32_t)kbi_piece(rows, bands, band + 1));
    }
}

/* How many extrema take part in the selection, the strongest: those that are wanted, or for rules that look at places
 * many more than an image has. */
static size_t candidate_limit(const sift *s)
{
    size_t wanted = (size_t)s->job->options.max_keypoints;
    size_t many = (size_t)s->job->image.width * (size_t)s->job->image.height / 16;
    if (s->job->options.selection == KB_SELECT_BEST) return wanted;
    return many > 4 * wanted ? many : 4 * wanted;
}

static bool search_get(sift *s, kb_workspace *workspace)
{
    size_t rows = (3 * ((size_t)s->layers + 2) + 2) * (size_t)s->octave[0].stride, room = 0; /* a window */
    s->tasks = kbi_workspace_get(workspace, (size_t)s->threads * sizeof *s->tasks);
    if (!s->tasks) return false;
    for (int32_t i = 0; i < s->threads; i++) {
        sift_task task;
        task.scratch = kbi_workspace_get(workspace, rows * sizeof *task.scratch);
        if (!task.scratch || !kbi_candidates_get(&task.found, candidate_limit(s), workspace)) return false;
        room = task.found.room;
        if (!workspace->measures) s->tasks[i] = task;
    }
    s->angles = kbi_workspace_get(workspace, room * sizeof *s->angles);
    s->out = kbi_workspace_get(workspace, (size_t)s->job->options.max_keypoints * sizeof *s->out);
    return s->angles && s->out;
}

/* Puts the tasks' lists together. A keypoint's class_id says which point it is until the end. */
static void gather_points(sift *s)
{
    kbi_candidates *all = &s->tasks[0].found;
    for (int32_t i = 1; i < s->threads; i++) {
        const kbi_candidates *more = &s->tasks[i].found;
        for (size_t k = 0; k < more->count; k++) kbi_candidates_add(all, &more->keypoints[k], &more->points[k]);
    }
    kbi_candidates_prune(all);
    for (size_t i = 0; i < all->count; i++) {
        all->keypoints[i].class_id = (int32_t)i;
        s->angles[i].count = -1;
    }
    s->keypoints = all->keypoints;
    s->points = all->points;
    s->count = s->point_count = all->count;
}

/* ---- keypoints ---- */

static void orient_task(void *context, int32_t piece)
{
    sift *s = context;
    size_t end = kbi_piece(s->point_count, s->pieces, piece + 1);
    for (size_t i = kbi_piece(s->point_count, s->pieces, piece); i < end; i++) {
        const kbi_candidate_point *p = &s->points[i];
        sift_angles *a = &s->angles[i];
        if (a->count == 0) a->count = kbi_directions(&s->octave[p->octave], p->layer, p->y, p->x, p->sigma, a->angle);
    }
}

/* One keypoint for every direction, strongest first, until there are max_keypoints. */
static size_t spread_directions(sift *s)
{
    size_t most = (size_t)s->job->options.max_keypoints, count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const sift_angles *a = &s->angles[s->keypoints[i].class_id];
        for (int32_t k = 0; k < a->count && count < most; k++) {
            s->out[count] = s->keypoints[i];
            s->out[count].angle = a->angle[k];
            s->out[count++].class_id = -1;
        }
    }
    return count;
}

kb_status kbi_detect_sift(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    sift s = {.job = job, .threads = kbi_parallel_threads(job->options.parallel), .layers = job->options.layers};
    kbi_detect_kernels_init(&s.kernels, kbi_cpu_flags());
    *count = 0;
    plan_octaves(&s);
    if (s.octaves == 0) return KB_OK;
    plan_blurs(&s);
    if (!octaves_get(&s, job->workspace) || !search_get(&s, job->workspace)) return KB_E_MEMORY;
    if (job->workspace->measures)
        return kbi_select_measure(candidate_limit(&s), (size_t)job->options.max_keypoints, job->image.width,
                                  job->image.height, job->options.selection, job->workspace);
    build_scale_space(&s);
    kbi_parallel_run(job->options.parallel, s.threads, search_task, &s);
    gather_points(&s);
    kb_status status = kb_select(s.keypoints, s.count, job->image.width, job->image.height, job->options.selection,
                                 (size_t)job->options.max_keypoints, job->workspace, &s.count);
    if (status != KB_OK) return status;
    for (size_t i = 0; i < s.count; i++) s.angles[s.keypoints[i].class_id].count = 0;
    s.pieces = s.threads;
    kbi_parallel_run(job->options.parallel, s.pieces, orient_task, &s);
    *found = s.out;
    *count = spread_directions(&s);
    return KB_OK;
}
