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
#include "detect/sift.h"
#include "detect/kernels.h"

#define MAX_OCTAVES 17
#define CAMERA_BLUR 0.5
#define LN2 0.69314718055994530942

/* What a keypoint needs for its direction. */
typedef struct sift_point {
    int32_t x, y;
    uint8_t octave, layer;
    bool picked; /* the selection wants it */
    int32_t angles;
    float sigma; /* px of the octave */
    float angle[KBI_SIFT_MAX_ANGLES];
} sift_point;

typedef struct sift_band {
    int32_t octave, top, bottom;
    size_t count, room;
    kb_keypoint *keypoints;
    sift_point *points;
    int16_t *scratch;
} sift_band;

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
    sift_band *bands;
    int32_t band_count;
    kb_keypoint *keypoints;
    size_t count;
    sift_point *points; /* as they were found: neighbours in the image are neighbours here, which caches like */
    size_t point_count;
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

static kb_status place_octaves(sift *s)
{
    size_t elements = 0, layers = (size_t)s->layers + 3;
    size_t row = (size_t)s->octave[0].stride + 2 * KBI_BLUR_MAX_TAPS;
    for (int32_t i = 0; i < s->octaves; i++)
        elements += layers * (size_t)s->octave[i].stride * (size_t)s->octave[i].height;
    uint16_t *memory = kbi_workspace_get(s->job->workspace,
                                        (elements + row * (size_t)s->threads) * sizeof *memory);
    if (!memory) return KB_E_MEMORY;
    for (int32_t i = 0; i < s->octaves; i++) {
        kbi_octave *o = &s->octave[i];
        for (size_t k = 0; k < layers; k++, memory += o->stride * o->height) o->layer[k] = memory;
    }
    s->rows = memory;
    return KB_OK;
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
    uint16_t *row = s->rows + (size_t)piece * ((size_t)s->octave[0].stride + 2 * KBI_BLUR_MAX_TAPS);
    kbi_blur_image(&s->kernels, s->from, s->to, o->width, o->height, o->stride, &s->blur[s->target_layer],
                  (int32_t)kbi_piece((size_t)o->height, s->pieces, piece),
                  (int32_t)kbi_piece((size_t)o->height, s->pieces, piece + 1), row);
}

static void run(sift *s, void (*task)(void *, int32_t), const uint16_t *from, uint16_t *to)
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
            run(s, start_task, NULL, o->layer[1]);
            run(s, blur_task, o->layer[1], o->layer[0]);
        } else {
            const kbi_octave *above = &s->octave[i - 1];
            for (int32_t y = 0; y < o->height; y++)
                half_row(above->layer[s->layers] + 2 * y * above->stride, o->width, o->layer[0] + y * o->stride);
        }
        for (s->target_layer = 1; s->target_layer < s->layers + 3; s->target_layer++)
            run(s, blur_task, o->layer[s->target_layer - 1], o->layer[s->target_layer]);
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

static void add_point(const sift *s, sift_band *band, const kbi_extremum *e)
{
    const kbi_octave *o = &s->octave[band->octave];
    double sigma = s->job->options.sigma * kbi_exp(LN2 * (e->layer + e->dlayer) / s->layers);
    int32_t sub_layer = kbi_clamp_i((int32_t)((e->dlayer + 0.5) * 255 + 0.5), 0, 255);
    kb_keypoint k = {.x = (float)((e->x + e->dx) * o->pixel), .y = (float)((e->y + e->dy) * o->pixel),
                     .size = (float)(2 * sigma * o->pixel), .angle = -1, .response = (float)fabs(e->contrast)};
    k.octave = (o->number & 255) | e->layer << 8 | sub_layer << 16;
    if (s->job->options.mask && !kbi_mask_allows(s->job->options.mask, k.x, k.y)) return;
    if (band->count < band->room) {
        band->keypoints[band->count] = k;
        band->points[band->count] = (sift_point){.x = e->x, .y = e->y, .sigma = (float)sigma,
                                                 .octave = (uint8_t)band->octave, .layer = (uint8_t)e->layer};
    }
    band->count++;
}

/* Three rows of each difference of layers, y - 1 to y + 1. */
typedef struct window {
    int16_t *row[KBI_SIFT_MAX_LAYERS + 2][3];
    int32_t *x; /* where a row's extrema are */
} window;

static window window_over(const sift *s, const sift_band *band)
{
    window w;
    ptrdiff_t stride = s->octave[band->octave].stride;
    int16_t *next = band->scratch;
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

static void search_row(const sift *s, sift_band *band, const window *w, int32_t layer, int32_t y)
{
    const kbi_octave *o = &s->octave[band->octave];
    int16_t *const *row = w->row[layer], *const *finer = w->row[layer - 1], *const *coarser = w->row[layer + 1];
    kbi_extremum_limits limits = limits_of(s);
    int32_t n = s->kernels.extrema_row(row[0], row[1], row[2], o->width, sample_limit(s), w->x);
    for (int32_t i = 0; i < n; i++) {
        int32_t x = w->x[i];
        kbi_extremum e;
        if (kbi_extremum_in_scale(finer, coarser, x, row[1][x]) &&
            kbi_extremum_refine(o, layer, y, x, &limits, &e))
            add_point(s, band, &e);
    }
}

static void search_task(void *context, int32_t index)
{
    sift *s = context;
    sift_band *band = &s->bands[index];
    const kbi_octave *o = &s->octave[band->octave];
    window w = window_over(s, band);
    band->count = 0;
    window_move(&w, s, o, band->top - 2);
    window_move(&w, s, o, band->top - 1);
    for (int32_t y = band->top; y < band->bottom; y++) {
        window_move(&w, s, o, y);
        for (int32_t layer = 1; layer <= s->layers; layer++) search_row(s, band, &w, layer, y);
    }
}

/* Bands of rows for the tasks: an octave for one thread, else a few for each thread. */
static kb_status plan_bands(sift *s)
{
    int32_t pieces = s->threads > 1 ? 2 * s->threads : 1;
    s->band_count = pieces * s->octaves;
    size_t list = kbi_round_up((size_t)s->band_count * sizeof *s->bands);
    size_t scratch = (3 * ((size_t)s->layers + 2) + 2) * (size_t)s->octave[0].stride; /* a window */
    uint8_t *memory = kbi_workspace_get(s->job->workspace,
                                       list + (size_t)s->band_count * scratch * sizeof(int16_t));
    if (!memory) return KB_E_MEMORY;
    s->bands = (sift_band *)(void *)memory;
    for (int32_t i = 0; i < s->band_count; i++) {
        const kbi_octave *o = &s->octave[i / pieces];
        size_t rows = (size_t)o->height - 2 * KBI_SIFT_BORDER;
        sift_band *band = &s->bands[i];
        band->octave = i / pieces;
        band->top = KBI_SIFT_BORDER + (int32_t)kbi_piece(rows, pieces, i % pieces);
        band->bottom = KBI_SIFT_BORDER + (int32_t)kbi_piece(rows, pieces, i % pieces + 1);
        band->scratch = (int16_t *)(void *)(memory + list) + (size_t)i * scratch;
        band->room = 64 + (size_t)(band->bottom - band->top) * (size_t)o->width / 64; /* a fraction of that is usual */
    }
    return KB_OK;
}

static kb_status place_points(sift *s)
{
    size_t total = 0;
    for (int32_t i = 0; i < s->band_count; i++) total += s->bands[i].room;
    s->keypoints = kbi_workspace_get(s->job->workspace, total * sizeof *s->keypoints);
    s->points = kbi_workspace_get(s->job->workspace, total * sizeof *s->points);
    if (!s->keypoints || !s->points) return KB_E_MEMORY;
    total = 0;
    for (int32_t i = 0; i < s->band_count; i++) {
        s->bands[i].keypoints = s->keypoints + total;
        s->bands[i].points = s->points + total;
        total += s->bands[i].room;
    }
    return KB_OK;
}

/* Makes the bands' lists one. A keypoint's class_id says which point it is until the end. */
static void gather_points(sift *s)
{
    s->count = 0;
    for (int32_t b = 0; b < s->band_count; b++) {
        const sift_band *band = &s->bands[b];
        memmove(s->keypoints + s->count, band->keypoints, band->count * sizeof *s->keypoints);
        memmove(s->points + s->count, band->points, band->count * sizeof *s->points);
        s->count += band->count;
    }
    for (size_t i = 0; i < s->count; i++) s->keypoints[i].class_id = (int32_t)i;
    s->point_count = s->count;
}

static kb_status find_points(sift *s)
{
    kb_status status = plan_bands(s);
    size_t mark = kbi_workspace_mark(s->job->workspace);
    for (bool fits = false; status == KB_OK && !fits;) {
        kbi_workspace_rewind(s->job->workspace, mark);
        status = place_points(s);
        if (status != KB_OK) break;
        kbi_parallel_run(s->job->options.parallel, s->band_count, search_task, s);
        fits = true;
        for (int32_t i = 0; i < s->band_count; i++) {
            if (s->bands[i].count <= s->bands[i].room) continue;
            s->bands[i].room = s->bands[i].count; /* now it is known: once more */
            fits = false;
        }
    }
    if (status == KB_OK) gather_points(s);
    return status;
}

/* ---- keypoints ---- */

static kb_status select_points(sift *s, kb_selection rule, size_t n)
{
    return kb_select(s->keypoints, s->count, s->job->image.width, s->job->image.height, rule, n, s->job->workspace,
                     &s->count);
}

/* Several samples may lead to one extremum; in order, they stand together. */
static void drop_doubles(sift *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        const kb_keypoint *k = &s->keypoints[i], *last = &s->keypoints[kept > 0 ? kept - 1 : 0];
        if (kept > 0 && k->x == last->x && k->y == last->y && k->size == last->size) continue;
        s->keypoints[kept++] = *k;
    }
    s->count = kept;
}

static void orient_task(void *context, int32_t piece)
{
    sift *s = context;
    size_t end = kbi_piece(s->point_count, s->pieces, piece + 1);
    for (size_t i = kbi_piece(s->point_count, s->pieces, piece); i < end; i++) {
        sift_point *p = &s->points[i];
        if (p->picked) p->angles = kbi_directions(&s->octave[p->octave], p->layer, p->y, p->x, p->sigma, p->angle);
    }
}

/* One keypoint for every direction, strongest first, until there are max_keypoints. */
static kb_status spread_directions(sift *s, kb_keypoint **found, size_t *count)
{
    size_t most = (size_t)s->job->options.max_keypoints, total = 0;
    for (size_t i = 0; i < s->count; i++) total += (size_t)s->points[s->keypoints[i].class_id].angles;
    if (most > total) most = total;
    kb_keypoint *out = kbi_workspace_get(s->job->workspace, most * sizeof *out);
    if (!out) return KB_E_MEMORY;
    for (size_t i = 0; i < s->count; i++) {
        const sift_point *p = &s->points[s->keypoints[i].class_id];
        for (int32_t k = 0; k < p->angles && *count < most; k++) {
            out[*count] = s->keypoints[i];
            out[*count].angle = p->angle[k];
            out[(*count)++].class_id = -1;
        }
    }
    *found = out;
    return KB_OK;
}

kb_status kbi_detect_sift(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    sift s = {.job = job, .threads = kbi_parallel_threads(job->options.parallel), .layers = job->options.layers};
    kbi_detect_kernels_init(&s.kernels, kbi_cpu_flags());
    *count = 0;
    plan_octaves(&s);
    if (s.octaves == 0) return KB_OK;
    plan_blurs(&s);
    kb_status status = place_octaves(&s);
    if (status != KB_OK) return status;
    build_scale_space(&s);
    status = find_points(&s);
    if (status == KB_OK) status = select_points(&s, KB_SELECT_BEST, s.count);
    if (status != KB_OK) return status;
    drop_doubles(&s);
    status = select_points(&s, job->options.selection, (size_t)job->options.max_keypoints);
    if (status != KB_OK) return status;
    for (size_t i = 0; i < s.count; i++) s.points[s.keypoints[i].class_id].picked = true;
    s.pieces = s.threads;
    kbi_parallel_run(job->options.parallel, s.pieces, orient_task, &s);
    return spread_directions(&s, found, count);
}
