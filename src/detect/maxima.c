/* Maxima over position and scale.
 *
 * A corner is a peak on several levels, at nearly the same place of the image. A peak is a maximum over scale when no
 * stronger peak of the level before or after lies near: within REACH px of the finer of the two levels along both axes.
 * So of the peaks along a corner's track through the levels the strongest stays. Only lists of peaks are compared, never
 * the responses of pixels, so it does not matter whether the levels are in memory.
 *
 * A parabola through the responses of a maximum and of the strongest peaks near it on the levels before and after has
 * its top between the levels: that is the scale of the corner. The peak of a corner moves with scale (by a part of the
 * blur), so its place is interpolated to the same scale. */
#include <math.h>

#include "detect/corners.h"

#define REACH 2.0
#define MAX_ROWS 6 /* within REACH of a place */
#define NO_MAXIMUM INT8_MIN /* as dlevel */

/* The peaks of a level, by rows. */
typedef struct level_peaks {
    kbi_peak *peak;
    size_t count;
    uint32_t *row; /* peaks of row y are row[y]..row[y + 1] - 1 */
    const kbi_level *level;
} level_peaks;

size_t kbi_maxima_bytes(const kbi_levels *levels)
{
    size_t rows = 0;
    for (int32_t i = 0; i < levels->count; i++) rows += (size_t)levels->level[i].height + 1;
    return rows * sizeof(uint32_t);
}

static bool row_before(const kbi_peak *a, const kbi_peak *b) { return a->y != b->y ? a->y < b->y : a->x < b->x; }

/* Puts the peaks of a level in order of rows, which is nearly how they were found: a strip of cells is out of order at
 * most. Notes where rows begin. */
static void index_rows(level_peaks *at)
{
    for (size_t i = 1; i < at->count; i++) {
        kbi_peak moved = at->peak[i];
        size_t k = i;
        for (; k > 0 && row_before(&moved, &at->peak[k - 1]); k--) at->peak[k] = at->peak[k - 1];
        at->peak[k] = moved;
    }
    size_t i = 0;
    for (int32_t y = 0; y <= at->level->height; y++) {
        while (i < at->count && at->peak[i].y < y) i++;
        at->row[y] = (uint32_t)i;
    }
}

/* The rows of a level that lie near a row of another one, whose peaks come from the left. */
typedef struct row_window {
    const level_peaks *at;
    double ratio, reach;       /* px of this level per pixel of the other; px of this level */
    int32_t first, count;      /* rows */
    uint32_t cursor[MAX_ROWS]; /* peaks before it are too far left */
} row_window;

static void window_move(row_window *w, const level_peaks *at, const level_peaks *from, int32_t y)
{
    double here = at->level->factor, there = from->level->factor;
    w->at = at;
    w->ratio = there / here;
    w->reach = here < there ? REACH : REACH * w->ratio;
    double middle = (y + 0.5) * w->ratio - 0.5;
    w->first = kbi_max_i((int32_t)ceil(middle - w->reach), 0);
    w->count = kbi_max_i(kbi_min_i((int32_t)floor(middle + w->reach), at->level->height - 1) - w->first + 1, 0);
    for (int32_t i = 0; i < w->count; i++) w->cursor[i] = at->row[w->first + i];
}

/* The strongest peak near column x of the other level, which is right of the one before; NULL for none. */
static const kbi_peak *strongest_near(row_window *w, int32_t x)
{
    const kbi_peak *best = NULL;
    double middle = (x + 0.5) * w->ratio - 0.5, left = middle - w->reach, right = middle + w->reach;
    for (int32_t i = 0; i < w->count; i++) {
        uint32_t end = w->at->row[w->first + i + 1], k = w->cursor[i];
        while (k < end && w->at->peak[k].x < left) k++;
        w->cursor[i] = k;
        for (; k < end && w->at->peak[k].x <= right; k++)
            if (!best || w->at->peak[k].response > best->response) best = &w->at->peak[k];
    }
    return best;
}

static int32_t steps_of(double offset) { return (int32_t)floor(offset * KBI_PEAK_STEPS + 0.5); }

/* Moves a place, in steps beside pixel `pixel`, by `part` of the way to the place of a peak of another level. */
static int16_t moved_to(int32_t pixel, int16_t offset, double part, double other, double ratio)
{
    double there = (other + 0.5) * ratio - 0.5 - pixel, here = (double)offset / KBI_PEAK_STEPS;
    return (int16_t)steps_of(here + part * (there - here));
}

/* Scale and place of a maximum between its level and the ones beside it. */
static void interpolate(kbi_peak *p, const kbi_peak *before, const kbi_peak *after, const row_window *finer,
                        const row_window *coarser)
{
    if (!before || !after) return;
    double curve = (double)before->response + after->response - 2.0 * p->response;
    if (curve >= 0) return;
    double offset = kbi_half_pixel(0.5 * ((double)before->response - after->response) / curve);
    const kbi_peak *q = offset < 0 ? before : after;
    double part = fabs(offset), ratio = 1 / (offset < 0 ? finer : coarser)->ratio;
    p->dlevel = (int8_t)steps_of(offset);
    p->dx = moved_to(p->x, p->dx, part, q->x + (double)q->dx / KBI_PEAK_STEPS, ratio);
    p->dy = moved_to(p->y, p->dy, part, q->y + (double)q->dy / KBI_PEAK_STEPS, ratio);
}

/* Of equal ones the finer stays. A peak that gives its place to a maximum is none itself, so it has not been moved. */
static void mark_level(const level_peaks *at, const level_peaks *before, const level_peaks *after)
{
    row_window finer = {.count = 0}, coarser = {.count = 0};
    int32_t y = -1;
    for (size_t i = 0; i < at->count; i++) {
        kbi_peak *p = &at->peak[i];
        if (p->y != y) {
            y = p->y;
            if (before) window_move(&finer, before, at, y);
            if (after) window_move(&coarser, after, at, y);
        }
        const kbi_peak *f = strongest_near(&finer, p->x), *c = strongest_near(&coarser, p->x);
        if ((f && f->response >= p->response) || (c && c->response > p->response)) p->dlevel = NO_MAXIMUM;
        else interpolate(p, f, c, &finer, &coarser);
    }
}

void kbi_maxima_keep(const kbi_levels *levels, kbi_peaks *peaks, void *memory)
{
    level_peaks at[KB_PYRAMID_MAX_LEVELS];
    uint32_t *row = memory;
    size_t end = 0, kept = 0;
    for (int32_t i = 0; i < levels->count; row += levels->level[i++].height + 1) {
        size_t first = end;
        while (end < peaks->count && peaks->peak[end].level == i) end++;
        at[i] = (level_peaks){peaks->peak + first, end - first, row, &levels->level[i]};
        index_rows(&at[i]);
    }
    for (int32_t i = 0; i < levels->count; i++)
        mark_level(&at[i], i > 0 ? &at[i - 1] : NULL, i + 1 < levels->count ? &at[i + 1] : NULL);
    for (size_t i = 0; i < peaks->count; i++)
        if (peaks->peak[i].dlevel != NO_MAXIMUM) peaks->peak[kept++] = peaks->peak[i];
    peaks->count = kept;
}
