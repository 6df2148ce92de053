/* ORB's detector (Rublee, Rabaud, Konolige, Bradski 2011), with the conventions of OpenCV's.
 *
 *   1. A pyramid, each level `level_factor` times smaller than the one above.
 *   2. FAST-9 corners of every level that are the strongest of their 3x3 neighbourhood.
 *   3. Every level has its share of the keypoints, falling by the factor from level to level. Of twice the share,
 *      the best by FAST score, Harris's response picks the share itself. Grid and spread pick among all corners.
 *   4. The angle is that of the intensity centroid of the disc of radius 15 in the level.
 *
 * Pixel x of level n is centred at (x + 0.5) factor^n - 0.5 of the image. Nothing is found within 31 px of a level's
 * edge: there would be no room for a descriptor. Tasks work on rows of levels or runs of corners and meet only where
 * lists are put together in order, so the number of threads changes nothing. */
#include <math.h>

#include "common/cpu.h"
#include "detect/detect.h"
#include "detect/kernels.h"

#define MAX_LEVELS 16
#define EDGE 31
#define SMALLEST_LEVEL 70
#define PATCH 31.0

typedef struct orb_level {
    const uint8_t *data;
    int32_t width, height;
    ptrdiff_t stride;
    double factor;   /* px of the image a pixel */
    size_t share;    /* keypoints wanted */
    size_t corners;  /* found */
} orb_level;

typedef struct orb_corner {
    uint16_t x, y;
    uint8_t score, level;
} orb_corner;

/* The rows of one level that one task searches. */
typedef struct orb_band {
    int32_t level, top, bottom;
    orb_corner *corners; /* has room for all that can be there */
    size_t count;
    uint8_t *scratch;
} orb_band;

typedef struct orb {
    const kbi_detect_job *job;
    kbi_detect_kernels kernels;
    orb_level level[MAX_LEVELS];
    int32_t levels;
    int32_t threads;
    /* what the tasks of a step share */
    int32_t target;             /* resize: the level being made */
    uint8_t *target_data;
    kbi_resize_map columns, rows;
    uint8_t *blended;           /* resize: a row of the level above for each task */
    orb_band *bands;
    int32_t band_count;
    orb_corner *corners;
    kb_keypoint *keypoints;     /* one each corner */
    size_t count;
} orb;

/* ---- levels ---- */

static void plan_levels(orb *o)
{
    const kb_detect_options *options = &o->job->options;
    double factor = 1, step = options->level_factor;
    for (o->levels = 0; o->levels < options->levels; o->levels++, factor *= step) {
        orb_level *level = &o->level[o->levels];
        *level = (orb_level){.factor = factor};
        level->width = (int32_t)(o->job->image.width / factor + 0.5);
        level->height = (int32_t)(o->job->image.height / factor + 0.5);
        level->stride = (ptrdiff_t)kbi_round_up((size_t)level->width);
        if (level->width < SMALLEST_LEVEL || level->height < SMALLEST_LEVEL) break;
    }
    /* share of level n ~ step^-n, rounded, the last level takes what is left */
    double sum = 0, part = 1;
    for (int32_t i = 0; i < o->levels; i++, part /= step) sum += part;
    double wanted = options->max_keypoints / sum;
    size_t left = (size_t)options->max_keypoints;
    for (int32_t i = 0; i < o->levels; i++, wanted /= step) {
        size_t share = (size_t)(wanted + 0.5);
        o->level[i].share = i == o->levels - 1 || share > left ? left : share;
        left -= o->level[i].share;
    }
}

static void resize_task(void *context, int32_t piece)
{
    orb *o = context;
    const orb_level *from = &o->level[o->target - 1], *to = &o->level[o->target];
    uint8_t *blended = o->blended + (size_t)piece * kbi_round_up((size_t)o->job->image.width);
    int32_t end = (int32_t)kbi_piece((size_t)to->height, o->threads, piece + 1);
    for (int32_t y = (int32_t)kbi_piece((size_t)to->height, o->threads, piece); y < end; y++) {
        const uint8_t *a = from->data + o->rows.index[y] * from->stride;
        o->kernels.blend_rows(a, a + from->stride, from->width, o->rows.weight[y], blended);
        o->kernels.resize_row(blended, from->width, o->columns, to->width, o->target_data + y * to->stride);
    }
}

static kb_status build_levels(orb *o)
{
    size_t pixels = 0, width = (size_t)o->job->image.width, height = (size_t)o->job->image.height;
    size_t side = width > height ? width : height, row = kbi_round_up(width);
    for (int32_t i = 1; i < o->levels; i++) pixels += (size_t)o->level[i].stride * (size_t)o->level[i].height;
    size_t maps = 2 * (kbi_round_up(side * sizeof(int32_t)) + kbi_round_up(side) + kbi_round_up(2 * side));
    uint8_t *memory = kbi_workspace_get(o->job->workspace, pixels + maps + row * (size_t)o->threads);
    if (!memory) return KB_E_MEMORY;

    o->level[0].data = o->job->image.data;
    o->level[0].stride = o->job->image.stride;
    uint8_t *next = memory;
    for (int32_t i = 1; i < o->levels; i++) {
        o->level[i].data = next;
        next += (size_t)o->level[i].stride * (size_t)o->level[i].height;
    }
    o->columns.index = (int32_t *)(void *)next;
    o->rows.index = (int32_t *)(void *)(next += kbi_round_up(side * sizeof(int32_t)));
    o->columns.weight = next += kbi_round_up(side * sizeof(int32_t));
    o->rows.weight = next += kbi_round_up(side);
    o->columns.pair = next += kbi_round_up(side);
    o->rows.pair = next += kbi_round_up(2 * side);
    o->blended = next + kbi_round_up(2 * side);
    next = memory;
    for (o->target = 1; o->target < o->levels; o->target++) {
        const orb_level *from = &o->level[o->target - 1], *to = from + 1;
        kbi_resize_plan(o->columns, to->width, o->job->options.level_factor, from->width);
        kbi_resize_plan(o->rows, to->height, o->job->options.level_factor, from->height);
        o->target_data = next;
        kbi_parallel_run(o->job->options.parallel, o->threads, resize_task, o);
        next += (size_t)to->stride * (size_t)to->height;
    }
    return KB_OK;
}

/* ---- corners ---- */

/* Scores of the columns EDGE - 1 to width - EDGE of a row; the outer two only compete with their neighbours. */
static void score_row(const orb *o, const orb_level *level, int32_t y, uint8_t *score)
{
    const uint8_t *row = level->data + y * level->stride + EDGE - 1;
    o->kernels.fast_row(row, level->stride, level->width - 2 * EDGE + 2, o->job->options.fast_threshold, score);
}

static float to_image(double factor, int32_t place) { return (float)((place + 0.5) * factor - 0.5); }

static void add_corners(const orb *o, orb_band *band, int32_t y, const uint8_t *score, const uint16_t *peak, int32_t n)
{
    const kb_image *mask = o->job->options.mask;
    double factor = o->level[band->level].factor;
    for (int32_t i = 0; i < n; i++) {
        int32_t x = peak[i] + EDGE - 1;
        if (mask && !kbi_mask_allows(mask, to_image(factor, x), to_image(factor, y))) continue;
        band->corners[band->count++] = (orb_corner){(uint16_t)x, (uint16_t)y, score[peak[i]], (uint8_t)band->level};
    }
}

static void search_task(void *context, int32_t index)
{
    orb *o = context;
    orb_band *band = &o->bands[index];
    const orb_level *level = &o->level[band->level];
    int32_t width = level->width - 2 * EDGE + 2;
    size_t row = kbi_round_up((size_t)width);
    uint8_t *above = band->scratch, *middle = above + row, *below = middle + row;
    uint16_t *peak = (uint16_t *)(void *)(below + row);
    band->count = 0;
    score_row(o, level, band->top - 1, above);
    score_row(o, level, band->top, middle);
    for (int32_t y = band->top; y < band->bottom; y++) {
        score_row(o, level, y + 1, below);
        int32_t n = o->kernels.peaks_row(above, middle, below, width, peak);
        add_corners(o, band, y, middle, peak, n);
        uint8_t *free_row = above;
        above = middle;
        middle = below;
        below = free_row;
    }
}

/* Cuts the levels into bands: whole levels for one thread, else a few for each thread. Of two neighbours one is a
 * peak at most, so a band holds at most a quarter of its pixels, rounded up. */
static kb_status plan_bands(orb *o)
{
    int32_t pieces = o->threads > 1 ? 2 * o->threads : 1;
    size_t room = 0, row = kbi_round_up((size_t)o->job->image.width), scratch = 3 * row + 2 * row;
    o->band_count = pieces * o->levels;
    for (int32_t i = 0; i < o->levels; i++) {
        size_t tallest = ((size_t)o->level[i].height + (size_t)pieces - 1) / (size_t)pieces + 1;
        room += (size_t)pieces * (tallest / 2 + 1) * ((size_t)o->level[i].width / 2 + 1);
    }
    size_t list = kbi_round_up((size_t)o->band_count * sizeof(orb_band));
    uint8_t *memory = kbi_workspace_get(o->job->workspace,
                                       list + (size_t)o->band_count * scratch + room * sizeof(orb_corner));
    if (!memory) return KB_E_MEMORY;
    o->bands = (orb_band *)(void *)memory;
    memory += list;
    o->corners = (orb_corner *)(void *)(memory + (size_t)o->band_count * scratch);
    orb_corner *corners = o->corners;
    for (int32_t i = 0; i < o->band_count; i++) {
        const orb_level *level = &o->level[i / pieces];
        size_t rows = (size_t)(level->height - 2 * EDGE);
        orb_band *band = &o->bands[i];
        band->level = i / pieces;
        band->top = EDGE + (int32_t)kbi_piece(rows, pieces, i % pieces);
        band->bottom = EDGE + (int32_t)kbi_piece(rows, pieces, i % pieces + 1);
        band->scratch = memory + (size_t)i * scratch;
        band->corners = corners;
        corners += ((size_t)(band->bottom - band->top) / 2 + 1) * ((size_t)level->width / 2 + 1);
    }
    return KB_OK;
}

/* The least FAST score such that at least `wanted` corners have it or more; 0 when there are not so many. */
static int32_t score_limit(const orb *o, int32_t level, size_t wanted)
{
    size_t histogram[256] = {0}, sum = 0;
    for (int32_t b = 0; b < o->band_count; b++)
        if (o->bands[b].level == level)
            for (size_t i = 0; i < o->bands[b].count; i++) histogram[o->bands[b].corners[i].score]++;
    for (int32_t score = 255; score > 0; score--) {
        sum += histogram[score];
        if (sum >= wanted) return score;
    }
    return 0;
}

/* Puts the corners that go on into one list, level by level. */
static void gather_corners(orb *o)
{
    bool by_score = o->job->options.selection == KB_SELECT_BEST;
    int32_t limit = 0, level = -1;
    o->count = 0;
    for (int32_t b = 0; b < o->band_count; b++) {
        const orb_band *band = &o->bands[b];
        if (band->level != level) {
            level = band->level;
            limit = by_score ? score_limit(o, level, 2 * o->level[level].share) : 0;
            o->level[level].corners = 0;
        }
        size_t before = o->count;
        for (size_t i = 0; i < band->count; i++)
            if (band->corners[i].score >= limit) o->corners[o->count++] = band->corners[i];
        o->level[level].corners += o->count - before;
    }
}

static kb_status find_corners(orb *o)
{
    kb_status status = plan_bands(o);
    if (status != KB_OK) return status;
    kbi_parallel_run(o->job->options.parallel, o->band_count, search_task, o);
    gather_corners(o);
    o->keypoints = kbi_workspace_get(o->job->workspace, o->count * sizeof *o->keypoints);
    return o->keypoints ? KB_OK : KB_E_MEMORY;
}

/* ---- keypoints ---- */

static void measure_task(void *context, int32_t piece)
{
    orb *o = context;
    size_t end = kbi_piece(o->count, o->threads, piece + 1);
    for (size_t i = kbi_piece(o->count, o->threads, piece); i < end; i++) {
        const orb_corner *c = &o->corners[i];
        const orb_level *level = &o->level[c->level];
        int64_t harris = o->kernels.harris(level->data + c->y * level->stride + c->x, level->stride);
        o->keypoints[i] = (kb_keypoint){to_image(level->factor, c->x), to_image(level->factor, c->y),
                                        (float)(PATCH * level->factor), -1, kbi_harris_response(harris), c->level, -1};
    }
}

/* Each level keeps its share; the kept move together. */
static kb_status share_out(orb *o)
{
    size_t from = 0, to = 0;
    for (int32_t i = 0; i < o->levels; i++) {
        const kb_detect_options *options = &o->job->options;
        size_t kept = 0, n = o->level[i].corners;
        kb_status status = kb_select(o->keypoints + from, n, o->job->image.width, o->job->image.height,
                                     options->selection, o->level[i].share, o->job->workspace, &kept);
        if (status != KB_OK) return status;
        memmove(o->keypoints + to, o->keypoints + from, kept * sizeof *o->keypoints);
        from += n;
        to += kept;
    }
    o->count = to;
    return KB_OK;
}

static void orient_task(void *context, int32_t piece)
{
    orb *o = context;
    size_t end = kbi_piece(o->count, o->threads, piece + 1);
    for (size_t i = kbi_piece(o->count, o->threads, piece); i < end; i++) {
        kb_keypoint *k = &o->keypoints[i];
        const orb_level *level = &o->level[k->octave];
        int32_t x = (int32_t)((k->x + 0.5) / level->factor), y = (int32_t)((k->y + 0.5) / level->factor);
        k->angle = o->kernels.disc_angle(level->data + y * level->stride + x, level->stride);
    }
}

kb_status kbi_detect_orb(const kbi_detect_job *job, kb_keypoint **found, size_t *count)
{
    orb o = {.job = job, .threads = kbi_parallel_threads(job->options.parallel)};
    kbi_detect_kernels_init(&o.kernels, kbi_cpu_flags());
    *count = 0;
    plan_levels(&o);
    if (o.levels == 0) return KB_OK;
    kb_status status = build_levels(&o);
    if (status == KB_OK) status = find_corners(&o);
    if (status != KB_OK) return status;
    kbi_parallel_run(job->options.parallel, o.threads, measure_task, &o);
    status = share_out(&o);
    if (status != KB_OK) return status;
    kbi_parallel_run(job->options.parallel, o.threads, orient_task, &o);
    *found = o.keypoints;
    *count = o.count;
    return kb_select(o.keypoints, o.count, job->image.width, job->image.height, KB_SELECT_BEST, o.count, job->workspace,
                     count);
}
