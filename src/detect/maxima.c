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

#include "detect/corners.h"

#define REACH 2.0
#define WINDOW_ROWS 5 /* and columns, at most: 2 REACH + 1 */

/* The strongest peaks near a peak, on the levels before and after: their numbers in the list. */
typedef struct relation {
    uint32_t before, after;
} relation;

/* The peaks of a level, in order of rows. */
typedef struct level_peaks {
    kbi_peak *peak;
    size_t count;
    uint32_t first; /* number of the first in the list */
    relation *near;
} level_peaks;

#define NOBODY UINT32_MAX

/* A bit for every pixel of a level, 1 where there is a peak, and for bytes with a peak the number of their first. */
typedef struct peak_bits {
    size_t stride; /* bytes per row */
    uint8_t *bits;
    uint32_t *first;
} peak_bits;

/* One more: a window may begin in the last byte of pixels. */
static size_t row_bytes(const kbi_level *level) { return ((size_t)level->width + 7) / 8 + 1; }

/* The rows of a window are read whatever their number. */
static size_t level_bytes(const kbi_level *level)
{
    return kbi_round_up(row_bytes(level) * ((size_t)level->height + WINDOW_ROWS));
}

/* Level 0 is the largest. */
size_t kbi_maxima_bytes(const kbi_levels *levels, size_t peaks)
{
    return peaks * sizeof(relation) + level_bytes(&levels->level[0]) * (1 + sizeof(uint32_t));
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

static void set_bits(peak_bits *b, const level_peaks *at, const kbi_level *level)
{
    b->stride = row_bytes(level);
    memset(b->bits, 0, level_bytes(level));
    for (size_t i = 0; i < at->count; i++) {
        size_t byte = at->peak[i].y * b->stride + at->peak[i].x / 8;
        if (b->bits[byte] == 0) b->first[byte] = (uint32_t)i;
        b->bits[byte] |= (uint8_t)(1 << at->peak[i].x % 8);
    }
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
    size_t byte = (size_t)y * b->stride + (size_t)x / 8;
    uint32_t before = b->bits[byte] & ((1u << x % 8) - 1); /* no two of them are neighbours */
    before = (before & 0x55) + (before >> 1 & 0x55);
    before = (before & 0x33) + (before >> 2 & 0x33);
    return b->first[byte] + (before & 7) + (before >> 4);
}

/* Of equal ones the first in the order of rows counts, which comes first. */
static void take_stronger(const kbi_peak *peaks, uint32_t found, uint32_t *best)
{
    if (*best == NOBODY || peaks[found].response > peaks[*best].response) *best = found;
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
                uint32_t fine = peak_at(b, w->left + bit % 8, w->top + bit / 8);
                take_stronger(peaks, finer->first + fine, &coarser->near[w->coarse].before);
                take_stronger(peaks, coarser->first + w->coarse, &finer->near[fine].after);
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

/* Scale and place of a maximum between its level and the ones beside it. */
static void interpolate(const kbi_level *level, kbi_peak *p, const kbi_peak *before, const kbi_peak *after)
{
    double curve = (double)before->response + after->response - 2.0 * p->response;
    if (curve >= 0) return;
    double offset = kbi_half_pixel(0.5 * ((double)before->response - after->response) / curve);
    const kbi_peak *q = offset < 0 ? before : after;
    double part = fabs(offset), ratio = 1 / (level[0].factor / level[offset < 0 ? -1 : 1].factor);
    p->dlevel = (int8_t)kbi_peak_steps(offset);
    p->dx = moved_to(p->x, p->dx, part, q->x + (double)q->dx / KBI_PEAK_STEPS, ratio);
    p->dy = moved_to(p->y, p->dy, part, q->y + (double)q->dy / KBI_PEAK_STEPS, ratio);
}

/* Of equal ones the finer stays. A peak that gives its place to a maximum is none itself, so it has not been moved.
 * Who has neighbours, and who is stronger, cannot be predicted: both are asked without branches. */
static bool move_to_maximum(const kbi_levels *levels, kbi_peak *peaks, kbi_peak *p, relation near)
{
    bool has_before = near.before != NOBODY, has_after = near.after != NOBODY;
    const kbi_peak *before = &peaks[has_before ? near.before : 0], *after = &peaks[has_after ? near.after : 0];
    bool beaten = (has_before & (before->response >= p->response)) | (has_after & (after->response > p->response));
    if (!beaten & has_before & has_after) interpolate(&levels->level[p->level], p, before, after);
    return !beaten;
}

size_t kbi_maxima_find(const kbi_levels *levels, kbi_peaks *peaks, void *memory)
{
    relation *relations = memory;
    uint64_t *entries = memory; /* in the place of relations that are no longer needed */
    level_peaks at[KB_PYRAMID_MAX_LEVELS];
    peak_bits b = {.first = (uint32_t *)(void *)(entries + peaks->count)};
    size_t found = 0;
    b.bits = (uint8_t *)(b.first + level_bytes(&levels->level[0]));
    find_levels(at, levels->count, peaks, relations);
    memset(relations, 0xff, peaks->count * sizeof *relations); /* NOBODY */
    for (int32_t i = 0; i + 1 < levels->count; i++) {
        if (at[i].count == 0 || at[i + 1].count == 0) continue;
        set_bits(&b, &at[i], &levels->level[i]);
        compare_levels(peaks->peak, &at[i], &b, &levels->level[i]);
    }
    for (int32_t i = 0; i < levels->count; i++)
        for (size_t k = 0; k < at[i].count; k++) {
            bool maximum = move_to_maximum(levels, peaks->peak, &at[i].peak[k], at[i].near[k]);
            entries[found] = (uint64_t)~kbi_float_order(at[i].peak[k].response) << 32 | (at[i].first + k);
            found += maximum;
        }
    return found;
}
