/* SPDX-License-Identifier: Apache-2.0 */
/* Maxima over position and scale.
 *
 * A corner is a peak on several levels, at nearly the same place of the image. A peak is a maximum over scale when no
 * stronger peak of the level before or after lies near: within REACH px of the finer of the two levels along both axes.
 * So of the peaks along a corner's track through the levels the strongest stays. Only lists of peaks are compared,
 * never the responses of pixels, so it does not matter whether the levels are in memory. Each peak looks for peaks of
 * the finer level that are near it, and notes itself with them.
 *
 * A parabola through the responses of a maximum and of the strongest peaks near it on the levels before and after has
 * its top between the levels: that is the scale of the corner. The peak of a corner moves with scale (by a part of the
 * blur), so its place is interpolated to the same scale. */
#include <math.h>

#include "common/bytes.h"
#include "detect/corners.h"

#define REACH 2.0
#define WINDOW_ROWS 5 /* and columns, at most: 2 REACH + 1 */

/* What a peak knows of the peaks near it on the levels before and after: that there is none, that one of them is
 * stronger, or else the number of the strongest in the list. */
typedef struct relation {
    uint32_t before, after;
} relation;

#define NOBODY UINT32_MAX
#define BEATEN (UINT32_MAX - 1)

/* The peaks of a level, in order of rows. */
typedef struct level_peaks {
    kbi_peak *peak;
    size_t count;
    uint32_t first; /* number of the first in the list */
    relation *near;
} level_peaks;

/* A bit for every pixel of a level, 1 where there is a peak, and for groups of 32 with a peak the number of their
 * first. */
typedef struct peak_bits {
    size_t stride; /* bytes per row */
    uint8_t *bits;
    uint32_t *first;
} peak_bits;

#define GROUP 4 /* bytes */

/* One more: a window may begin in the last byte of pixels. */
static size_t row_bytes(const kbi_level *level) { return (((size_t)level->width + 7) / 8 + GROUP) / GROUP * GROUP; }

/* The rows of a window are read whatever their number. */
static size_t level_bytes(const kbi_level *level)
{
    return kbi_round_up(row_bytes(level) * ((size_t)level->height + WINDOW_ROWS));
}

static size_t bits_bytes(const kbi_level *level) { return level_bytes(level) * (1 + sizeof(uint32_t) / GROUP); }

/* Threads compare several pairs of levels at once; one alone needs the bits of one level, of which 0 is the largest. */
static size_t bits_before(const kbi_levels *levels, int32_t level)
{
    size_t sum = 0;
    for (int32_t i = 0; i < level && levels->threads > 1; i++) sum += bits_bytes(&levels->level[i]);
    return sum;
}

static size_t relation_bytes(size_t peaks) { return kbi_round_up(peaks * sizeof(relation)); }

size_t kbi_maxima_bytes(const kbi_levels *levels, size_t peaks)
{
    return relation_bytes(peaks) + bits_bytes(&levels->level[0]) + bits_before(levels, levels->count);
}

/* Which comes first in the order of rows, as one number: rows end where nobody can predict. */
static uint32_t row_order(const kbi_peak *p) { return (uint32_t)p->y << 16 | p->x; }

/* That is nearly how they were found: a strip of cells is out of order at most. */
static void sort_rows(level_peaks *at)
{
    for (size_t i = 1; i < at->count; i++) {
        if (row_order(&at->peak[i]) >= row_order(&at->peak[i - 1])) continue;
        kbi_peak moved = at->peak[i];
        size_t k = i;
        for (; k > 0 && row_order(&moved) < row_order(&at->peak[k - 1]); k--) at->peak[k] = at->peak[k - 1];
        at->peak[k] = moved;
    }
}

/* The peaks of a level stand together; their relations are in the order of levels. */
static void find_levels(level_peaks *at, int32_t levels, kbi_peaks *peaks, relation *relations)
{
    for (int32_t i = 0; i < levels; i++) at[i] = (level_peaks){.count = 0};
    for (size_t from = 0, to; from < peaks->count; from = to) {
        kbi_peak *first = &peaks->peak[from];
        for (to = from + 1; to < peaks->count && peaks->peak[to].level == first->level;) to++;
        at[first->level] = (level_peaks){first, to - from, (uint32_t)from, NULL};
    }
    for (int32_t i = 0; i < levels; relations += at[i++].count) {
        at[i].near = relations;
        sort_rows(&at[i]);
    }
}

static peak_bits set_bits(void *memory, const level_peaks *at, const kbi_level *level)
{
    peak_bits b = {row_bytes(level), memory, NULL};
    b.first = (uint32_t *)(void *)(b.bits + level_bytes(level));
    memset(b.bits, 0, level_bytes(level));
    for (size_t i = at->count; i-- > 0;) { /* so that the first of a group comes last */
        size_t byte = at->peak[i].y * b.stride + at->peak[i].x / 8;
        b.first[byte / GROUP] = (uint32_t)i;
        b.bits[byte] |= (uint8_t)(1 << at->peak[i].x % 8);
    }
    return b;
}

/* ---- comparison of two levels ---- */

/* The peaks of the finer level near one of the coarser: a byte for each row. */
typedef struct near_window {
    uint64_t bits;
    int32_t left, top;
    uint32_t coarse; /* number in its level */
} near_window;

/* The first pixel of a side of the finer level within reach of a place, and how many there are. */
static int32_t near_pixels(double ratio, int32_t pixel, int32_t side, int32_t *count)
{
    double middle = (pixel + 0.5) * ratio - 0.5;
    int32_t first = kbi_max_i((int32_t)(middle - REACH + 1), 0); /* rounded up: places are above -reach */
    *count = kbi_min_i((int32_t)(middle + REACH), side - 1) - first + 1;
    return first;
}

static near_window window_near(const peak_bits *b, const kbi_level *finer, double ratio, const kbi_peak *p)
{
    int32_t rows, columns, top = near_pixels(ratio, p->y, finer->height, &rows);
    near_window window = {0, near_pixels(ratio, p->x, finer->width, &columns), top, 0};
    const uint8_t *at = b->bits + (size_t)top * b->stride + (size_t)window.left / 8;
    for (int32_t i = 0; i < WINDOW_ROWS; i++, at += b->stride) {
        uint32_t row = (uint32_t)(at[0] | at[1] << 8) >> window.left % 8 & ((1u << columns) - 1);
        window.bits |= (uint64_t)row << 8 * i;
    }
    window.bits &= ((uint64_t)1 << 8 * rows) - 1;
    return window;
}

static uint32_t peak_at(const peak_bits *b, int32_t x, int32_t y)
{
    size_t group = ((size_t)y * b->stride + (size_t)x / 8) / GROUP;
    uint32_t before = kbi_get_u32(b->bits + group * GROUP) & ((1u << x % 32) - 1);
    before = (before | before >> 1) & 0x55555555; /* no two of them are neighbours */
    before = (before & 0x33333333) + (before >> 2 & 0x33333333);
    before = (before + (before >> 4)) & 0x0f0f0f0f;
    return b->first[group] + (before * 0x01010101 >> 24);
}

/* Of two peaks that are near each other one is beaten: of equal ones the coarser. Which one cannot be predicted, so
 * there is no branch. Among equal ones that a peak beats the first in the order of rows counts, which comes first. */
static void compare_peaks(const kbi_peak *peaks, const level_peaks *finer, uint32_t fine, uint32_t coarse)
{
    const level_peaks *coarser = finer + 1;
    uint32_t *const side[2] = {&coarser->near[coarse].before, &finer->near[fine].after};
    const uint32_t number[2] = {finer->first + fine, coarser->first + coarse};
    bool winner = peaks[number[0]].response >= peaks[number[1]].response;
    uint32_t *best = side[winner], loser = number[winner];
    *side[!winner] = BEATEN;
    if (*best == NOBODY || (*best != BEATEN && peaks[loser].response > peaks[*best].response)) *best = loser;
}

/* Windows that hold peaks are collected first: which of them do cannot be predicted. */
#define WINDOWS 64

static void compare_levels(const kbi_peak *peaks, const level_peaks *finer, const peak_bits *b, const kbi_level *level)
{
    const level_peaks *coarser = finer + 1;
    near_window window[WINDOWS];
    double ratio = level[1].factor / level[0].factor;
    for (size_t from = 0, to; from < coarser->count; from = to) {
        size_t n = 0;
        to = kbi_min_z(from + WINDOWS, coarser->count);
        for (size_t i = from; i < to; i++) {
            window[n] = window_near(b, level, ratio, &coarser->peak[i]);
            window[n].coarse = (uint32_t)i;
            n += window[n].bits != 0;
        }
        for (size_t i = 0; i < n; i++) {
            const near_window *w = &window[i];
            for (uint64_t bits = w->bits; bits; bits &= bits - 1) {
                int32_t bit = __builtin_ctzll(bits);
                compare_peaks(peaks, finer, peak_at(b, w->left + bit % 8, w->top + bit / 8), w->coarse);
            }
        }
    }
}

/* ---- interpolation ---- */

/* Moves a place, in steps beside pixel `pixel`, by `part` of the way to the place of a peak of another level. */
static int16_t moved_to(int32_t pixel, int16_t offset, double part, double other, double ratio)
{
    double there = (other + 0.5) * ratio - 0.5 - pixel, here = (double)offset / KBI_PEAK_STEPS;
    return kbi_peak_steps(here + part * (there - here));
}

/* Scale and place of a maximum between its level and the ones beside it, whose pixels are `ratio` times as large. */
static void interpolate(const double ratio[2], kbi_peak *p, const kbi_peak *before, const kbi_peak *after)
{
    double curve = (double)before->response + after->response - 2.0 * p->response;
    if (curve >= 0) return;
    double offset = kbi_half_pixel(0.5 * ((double)before->response - after->response) / curve);
    const kbi_peak *q = offset < 0 ? before : after;
    double part = fabs(offset), larger = ratio[offset >= 0];
    p->dlevel = (int8_t)kbi_peak_steps(offset);
    p->dx = moved_to(p->x, p->dx, part, q->x + (double)q->dx / KBI_PEAK_STEPS, larger);
    p->dy = moved_to(p->y, p->dy, part, q->y + (double)q->dy / KBI_PEAK_STEPS, larger);
}

/* ---- all levels ---- */

typedef struct maxima_tasks {
    const kbi_levels *levels;
    kbi_peak *peaks;
    level_peaks at[KB_PYRAMID_MAX_LEVELS];
    uint8_t *bits;
    size_t found[KB_PYRAMID_MAX_LEVELS];
} maxima_tasks;

static void compare_task(void *context, int32_t finer)
{
    const maxima_tasks *t = context;
    const level_peaks *at = &t->at[finer];
    const kbi_level *level = &t->levels->level[finer];
    if (at[0].count == 0 || at[1].count == 0) return;
    peak_bits bits = set_bits(t->bits + bits_before(t->levels, finer), at, level);
    compare_levels(t->peaks, at, &bits, level);
}

/* Entries take the place of relations that are no longer needed. */
static void move_task(void *context, int32_t level)
{
    maxima_tasks *t = context;
    const level_peaks *at = &t->at[level];
    const relation *near = at->near;
    uint64_t *entries = (uint64_t *)(void *)at->near;
    kbi_peak *p = at->peak;
    size_t found = 0, first = at->first;
    const kbi_peak *peaks = t->peaks;
    double factor = t->levels->level[level].factor, ratio[2] = {0, 0};
    if (level > 0) ratio[0] = 1 / (factor / t->levels->level[level - 1].factor);
    if (level + 1 < t->levels->count) ratio[1] = 1 / (factor / t->levels->level[level + 1].factor);
    for (size_t k = 0, count = at->count; k < count; k++) { /* a beaten peak gives its place, so it is not moved */
        uint32_t before = near[k].before, after = near[k].after;
        if ((before < BEATEN) & (after < BEATEN)) interpolate(ratio, &p[k], &peaks[before], &peaks[after]);
        entries[found] = (uint64_t)~kbi_float_order(p[k].response) << 32 | (first + k);
        found += (before != BEATEN) & (after != BEATEN);
    }
    t->found[level] = found;
}

size_t kbi_maxima_find(const kbi_levels *levels, kbi_peaks *peaks, void *memory)
{
    const kb_parallel *parallel = levels->threads > 1 ? levels->parallel : NULL;
    maxima_tasks t = {.levels = levels, .peaks = peaks->peak};
    uint64_t *entries = memory;
    size_t found = 0;
    t.bits = (uint8_t *)memory + relation_bytes(peaks->count);
    find_levels(t.at, levels->count, peaks, memory);
    memset(memory, 0xff, peaks->count * sizeof(relation)); /* NOBODY */
    kbi_parallel_run(parallel, levels->count - 1, compare_task, &t);
    kbi_parallel_run(parallel, levels->count, move_task, &t);
    for (int32_t i = 0; i < levels->count; found += t.found[i++])
        memmove(entries + found, t.at[i].near, t.found[i] * sizeof *entries);
    return found;
}
