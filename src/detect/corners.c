/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "detect/corners.h"
#include "detect/detectors.h"

/* ---- how many peaks go on ---- */

#define KEEP 5 /* peaks per keypoint: a fifth to a half of them are maxima */

/* Whether the strongest are chosen, not places or shares of levels. */
static bool takes_strongest(const kbi_corners *c)
{
    return c->job->options.selection == KB_SELECTION_BEST && !c->scheme->per_level;
}

/* How many peaks a list keeps, for all levels or with a scheme per level for one: enough that a dropped peak would
 * hardly be chosen. Rules that look at places, and shares of levels, choose among more peaks than a photograph has. */
static size_t peaks_to_keep(const kbi_corners *c, int32_t level)
{
    const kbi_level *at = &c->levels.level[c->scheme->per_level ? level : 0];
    size_t keep = KEEP * (size_t)c->job->options.max_keypoints;
    size_t many = (size_t)at->width * (size_t)at->height / 16;
    return takes_strongest(c) || many < keep ? keep : many;
}

static size_t peaks_in_all(const kbi_corners *c)
{
    size_t sum = 0;
    for (int32_t i = 0; i < (c->scheme->per_level ? c->levels.count : 1); i++) sum += peaks_to_keep(c, i);
    return sum;
}

/* Of two neighbours one is a peak at most. */
static size_t max_peaks(const kbi_corners *c)
{
    size_t sum = 0;
    for (int32_t i = 0; i < c->levels.count; i++)
        sum += (((size_t)c->levels.level[i].width + 1) / 2) * (((size_t)c->levels.level[i].height + 1) / 2);
    return sum;
}

static bool list_get(const kbi_corners *c, size_t keep, kbi_peaks *list)
{
    size_t spare = keep / (c->job->options.low_memory ? 16 : 4) + 32;
    return kbi_peaks_get(list, keep, spare, max_peaks(c), c->job->workspace);
}

/* ---- search ---- */

static bool is_allowed(const kb_image *mask, double factor, double x, double y)
{
    return !mask ||
           kbi_mask_allows(mask, (float)kbi_level_to_image(factor, x), (float)kbi_level_to_image(factor, y));
}

bool kbi_search_allows(const kbi_search *s, int32_t x, int32_t y)
{
    return is_allowed(s->options->mask, s->level->factor, x, y);
}

/* Tasks share the strips of some levels, one after the other from the coarsest level on, by the pixels in them. */
typedef struct search_tasks {
    const kbi_corners *corners;
    int32_t first, end; /* levels */
    int32_t strip;      /* rows; of a probe only the middle ones are searched */
    bool probe;
    size_t columns; /* of all strips */
    int32_t pieces;
    kbi_search *search; /* per task: list and scratch */
    kbi_peaks *lists;   /* the list of all levels, or one per task */
} search_tasks;

static size_t strips_of(const search_tasks *t, const kbi_level *level)
{
    return (size_t)((level->height - 2 * t->corners->border + t->strip - 1) / t->strip);
}

/* A probe searches PROBE_ROWS in the middle of every PROBE_STEP rows. */
#define PROBE_ROWS 4
#define PROBE_STEP 160

static void search_probes(const kbi_corners *c, kbi_search *s, int32_t from, int32_t to)
{
    for (int32_t y = from + (PROBE_STEP - PROBE_ROWS) / 2; y + PROBE_ROWS <= to; y += PROBE_STEP) {
        s->top = y;
        s->bottom = y + PROBE_ROWS;
        c->measure->search(s);
    }
}

static void search_strips(const search_tasks *t, kbi_search *s, int32_t number, size_t from, size_t to)
{
    const kbi_corners *c = t->corners;
    const kbi_level *level = &c->levels.level[number];
    int32_t bottom = level->height - c->border;
    s->level = level;
    s->number = (uint8_t)number;
    s->weight = c->weight[number];
    s->left = c->border;
    s->right = level->width - c->border;
    s->top = c->border + (int32_t)from * t->strip;
    s->bottom = kbi_min_i(c->border + (int32_t)to * t->strip, bottom);
    if (t->probe) search_probes(c, s, s->top, s->bottom);
    else c->measure->search(s);
}

/* The strips that begin between two numbers of columns. */
static void search_task(void *context, int32_t piece)
{
    const search_tasks *t = context;
    size_t from = kbi_piece(t->columns, t->pieces, piece), to = kbi_piece(t->columns, t->pieces, piece + 1), before = 0;
    kbi_search s = t->search[piece];
    s.probe = t->probe;
    for (int32_t i = t->end - 1; i >= t->first; i--) {
        const kbi_level *level = &t->corners->levels.level[i];
        size_t width = (size_t)level->width, strips = strips_of(t, level);
        size_t first = from > before ? kbi_min_z((from - before + width - 1) / width, strips) : 0;
        size_t end = to > before ? kbi_min_z((to - before + width - 1) / width, strips) : 0;
        if (first < end) search_strips(t, &s, i, first, end);
        before += strips * width;
    }
}

/* A task alone adds to the list of all levels; several have lists of their own, which are joined in order. */
static bool several(const search_tasks *t) { return t->pieces > 1; }

static void search_range(kbi_corners *c, search_tasks *t, int32_t first, int32_t end)
{
    t->first = first;
    t->end = end;
    t->strip = t->probe ? PROBE_STEP : c->job->options.cell_size;
    t->columns = 0;
    for (int32_t i = first; i < end; i++)
        t->columns += strips_of(t, &c->levels.level[i]) * (size_t)c->levels.level[i].width;
    for (int32_t i = 0; several(t) && i < t->pieces; i++) kbi_peaks_start(&t->lists[i], c->peaks.min);
    kbi_parallel_run(c->job->options.parallel, t->pieces, search_task, t);
    if (several(t)) kbi_peaks_join(&c->peaks, t->lists, t->pieces);
}

static bool search_get(kbi_corners *c, search_tasks *t)
{
    kb_workspace *workspace = c->job->workspace;
    size_t keep = peaks_to_keep(c, 0), scratch = c->measure->scratch_bytes(c->job->image.width);
    *t = (search_tasks){.corners = c, .pieces = c->levels.threads > 1 ? 2 * c->levels.threads : 1};
    t->search = kbi_workspace_get(workspace, (size_t)t->pieces * sizeof *t->search);
    t->lists = several(t) ? kbi_workspace_get(workspace, (size_t)t->pieces * sizeof *t->lists) : &c->peaks;
    if (!t->search || !t->lists) return false;
    for (int32_t i = 0; i < t->pieces; i++) {
        kbi_peaks list = {.count = 0};
        void *memory = kbi_workspace_get(workspace, scratch);
        if (!memory || (several(t) && !list_get(c, keep, &list))) return false;
        if (workspace->measures) continue;
        memset(memory, 0, scratch); /* the margins of rows are read before they are written */
        if (several(t)) t->lists[i] = list;
        t->search[i] = (kbi_search){.options = &c->job->options, .kernels = c->kernels, .scratch = memory,
                                    .peaks = &t->lists[i]};
    }
    return true;
}

/* ---- all levels ---- */

/* Guesses the response that the weakest peak which goes on will have, from a sample: PROBE_MARGIN times the peaks that
 * go on should be stronger. 0 where a guess is not worth while: a peak has PEAK_PIXELS around it in textures. */
#define PROBE_MARGIN 1.15
#define PEAK_PIXELS 48

static float guess_min(kbi_corners *c, search_tasks *t)
{
    size_t keep = c->peaks.keep;
    double pixels = 0;
    for (int32_t i = 0; i < c->levels.count; i++)
        pixels += (double)c->levels.level[i].width * c->levels.level[i].height;
    if (!c->measure->skips || pixels < 2.0 * PEAK_PIXELS * (double)keep) return 0;
    kbi_peaks_start_level(&c->peaks, (size_t)(PROBE_MARGIN * (double)keep * PROBE_ROWS / PROBE_STEP) + 16, 0);
    t->probe = true;
    search_range(c, t, 0, c->levels.count);
    t->probe = false;
    float min = c->peaks.min;
    c->peaks.keep = keep;
    return min;
}

/* All levels are in memory, so a sample of rows predicts how strong peaks must be. When the prediction was too high,
 * the rows are searched again for weaker peaks: it never decides which peaks are found. */
static void search_all(kbi_corners *c, search_tasks *t)
{
    float min = guess_min(c, t);
    for (bool again = true; again; min = 0) {
        kbi_peaks_start(&c->peaks, min);
        search_range(c, t, 0, c->levels.count);
        again = min > 0 && c->peaks.count < c->peaks.keep;
    }
}

/* With a scheme per level the peaks of a level are pruned before the peaks of the next come. */
static void search_one_by_one(kbi_corners *c, search_tasks *t)
{
    kbi_peaks_start(&c->peaks, 0);
    for (int32_t i = 0; i < c->levels.count; i++) {
        kbi_levels_build(&c->levels, i);
        if (c->scheme->per_level)
            kbi_peaks_start_level(&c->peaks, peaks_to_keep(c, i), -FLT_MAX); /* Harris's is below 0 on edges */
        search_range(c, t, i, i + 1);
        if (c->scheme->per_level) kbi_peaks_prune(&c->peaks);
    }
}

static kb_status search_levels(kbi_corners *c)
{
    search_tasks tasks;
    if (!search_get(c, &tasks)) return KB_E_MEMORY;
    if (c->job->workspace->measures) return KB_OK;
    if (c->levels.in_place || c->scheme->per_level) {
        search_one_by_one(c, &tasks);
    } else {
        for (int32_t i = 0; i < c->levels.count; i++) kbi_levels_build(&c->levels, i);
        search_all(c, &tasks);
    }
    kbi_peaks_prune(&c->peaks);
    return KB_OK;
}

/* ---- finish ---- */

static void finish_task(void *context, int32_t piece)
{
    const kbi_corners *c = context;
    kbi_corners_finish(c, kbi_piece(c->count, c->levels.threads, piece),
                       kbi_piece(c->count, c->levels.threads, piece + 1), -1);
}

/* With one level in memory at a time the levels are built again. */
static void finish(kbi_corners *c)
{
    if (!c->levels.in_place) {
        kbi_parallel_run(c->job->options.parallel, c->levels.threads, finish_task, c);
        return;
    }
    for (int32_t i = 0; i < c->levels.count; i++) {
        kbi_levels_build(&c->levels, i);
        kbi_corners_finish(c, 0, c->count, i);
    }
}

/* ---- all together ---- */

kb_keypoint kbi_corner_keypoint(const kbi_corners *c, size_t index, double growth)
{
    const kbi_peak *p = &c->peaks.peak[index];
    double factor = c->levels.level[p->level].factor, size = KBI_CORNER_SIZE * factor * growth;
    double x = p->x, y = p->y;
    if (!c->job->options.whole_pixels) {
        x += (double)p->dx / KBI_PEAK_STEPS;
        y += (double)p->dy / KBI_PEAK_STEPS;
    }
    if (!is_allowed(c->job->options.mask, factor, x, y)) { /* between pixels it may be hidden */
        x = p->x;
        y = p->y;
    }
    return (kb_keypoint){(float)kbi_level_to_image(factor, x), (float)kbi_level_to_image(factor, y), (float)size, -1,
                         p->response, p->level, (int32_t)index};
}

int32_t kbi_corners_levels(kbi_levels *levels, const kb_image *image, const kb_detect_options *options,
                           const kbi_measure *measure)
{
    const kbi_scheme *scheme = kbi_scheme_of(options);
    int32_t border = scheme->border > 0 ? scheme->border : measure->reach;
    kbi_levels_plan(levels, image, options->levels, options->level_factor, 2 * border + 8);
    return border;
}

/* The lists that all steps share. */
static bool lists_get(kbi_corners *c)
{
    const kb_detect_options *options = &c->job->options;
    size_t n = (size_t)options->max_keypoints;
    if (!list_get(c, peaks_in_all(c), &c->peaks)) return false;
    c->room = takes_strongest(c) ? kbi_min_z(n, c->peaks.room) : c->peaks.room;
    /* A keypoint with two directions is returned twice. */
    size_t room = options->second_angle ? kbi_min_z(n, 2 * c->room) : 0;
    c->keypoints = kbi_workspace_get(c->job->workspace, (room > c->room ? room : c->room) * sizeof *c->keypoints);
    return c->keypoints;
}

/* Responses are in order; equal ones need not be. */
static kb_status put_in_order(kbi_corners *c)
{
    bool ordered = true;
    for (size_t i = 1; i < c->count && ordered; i++)
        ordered = c->keypoints[i - 1].response > c->keypoints[i].response;
    if (ordered) return KB_OK;
    return kbi_select(c->keypoints, c->count, c->job->image.width, c->job->image.height, KB_SELECTION_BEST, c->count,
                     c->job->workspace, &c->count);
}

static void weigh_levels(kbi_corners *c)
{
    for (int32_t i = 0; i < c->levels.count; i++) {
        double root = sqrt(sqrt(c->levels.level[i].factor)), weight = 1;
        for (int32_t k = 0; c->scheme->weighs && k < c->measure->power; k++) weight *= root;
        c->weight[i] = (float)weight;
    }
}

static kbi_corners corners_of(const kbi_detect_job *job)
{
    kbi_corners c = {.job = job, .measure = job->detector->measure, .scheme = kbi_scheme_of(&job->options)};
    c.levels = (kbi_levels){.in_place = job->options.low_memory, .parallel = job->options.parallel};
    c.border = kbi_corners_levels(&c.levels, &job->image, &job->options, c.measure);
    weigh_levels(&c);
    c.levels.threads = job->options.low_memory ? 1 : job->threads;
    c.levels.kernels = c.kernels = job->kernels;
    return c;
}

kb_status kbi_corners_orient(const kbi_detect_job *job, kb_keypoint *keypoints, size_t n)
{
    kbi_corners c = corners_of(job);
    if (c.levels.count == 0) return KB_OK;
    if (!kbi_levels_get(&c.levels, job->workspace)) return KB_E_MEMORY;
    for (int32_t i = 0; i < c.levels.count && !c.levels.in_place; i++) kbi_levels_build(&c.levels, i);
    c.keypoints = keypoints;
    c.count = n;
    finish(&c);
    return KB_OK;
}

kb_status kbi_detect_corners(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    kbi_corners c = corners_of(job);
    *count = 0;
    if (c.levels.count == 0) return KB_OK;
    if (!lists_get(&c)) return KB_E_MEMORY;
    /* Levels that come one at a time leave their memory to the choice, which takes as much. */
    size_t mark = kbi_workspace_mark(job->workspace);
    if (!kbi_levels_get(&c.levels, job->workspace)) return KB_E_MEMORY;
    if (!c.levels.in_place) mark = kbi_workspace_mark(job->workspace);
    kb_status status = search_levels(&c);
    kbi_workspace_rewind(job->workspace, mark);
    if (status == KB_OK) status = c.scheme->choose(&c);
    kbi_workspace_rewind(job->workspace, mark);
    if (status == KB_OK && c.levels.in_place && !kbi_levels_get(&c.levels, job->workspace)) return KB_E_MEMORY;
    if (status != KB_OK) return status;
    if (job->workspace->measures)
        return kbi_select_measure((size_t)job->options.max_keypoints, (size_t)job->options.max_keypoints,
                                  job->image.width, job->image.height, KB_SELECTION_BEST, job->workspace);
    finish(&c);
    status = put_in_order(&c);
    if (job->options.second_angle) kbi_corners_spread(&c);
    *found = c.keypoints;
    *count = c.count;
    return status;
}
