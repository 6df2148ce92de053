/* SPDX-License-Identifier: Apache-2.0 */
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

static size_t words_of(const kbi_level *level) { return ((size_t)level->width + 63) / 64; }

/* One more word than there are bits: a window may begin in the last. */
size_t kbi_maxima_bytes(const kbi_levels *levels)
{
    size_t words = 1;
    for (int32_t i = 0; i < levels->count; i++) words += words_of(&levels->level[i]) * (size_t)levels->level[i].height;
    return words * (sizeof(uint64_t) + sizeof(uint32_t));
}

static uint32_t bit_count(uint64_t v)
{
    v -= v >> 1 & UINT64_C(0x5555555555555555);
    v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
    return (uint32_t)(((v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >> 56);
}

static bool row_before(const kbi_peak *a, const kbi_peak *b) { return a->y != b->y ? a->y < b->y : a->x < b->x; }

/* That is nearly how they were found: a strip of cells is out of order at most. */
static void sort_rows(kbi_level_peaks *at)
{
    for (size_t i = 1; i < at->count; i++) {
        if (!row_before(&at->peak[i], &at->peak[i - 1])) continue;
        kbi_peak moved = at->peak[i];
        size_t k = i;
        for (; k > 0 && row_before(&moved, &at->peak[k - 1]); k--) at->peak[k] = at->peak[k - 1];
        at->peak[k] = moved;
    }
}

static void index_level(const kbi_level_peaks *at)
{
    size_t words = at->words * (size_t)at->level->height;
    uint32_t sum = 0;
    memset(at->bits, 0, words * sizeof *at->bits);
    for (size_t i = 0; i < at->count; i++)
        at->bits[at->peak[i].y * at->words + at->peak[i].x / 64] |= (uint64_t)1 << at->peak[i].x % 64;
    for (size_t i = 0; i < words; i++) {
        at->rank[i] = sum;
        sum += bit_count(at->bits[i]);
    }
}

void kbi_maxima_start(kbi_maxima *maxima, const kbi_levels *levels, kbi_peaks *peaks)
{
    maxima->levels = levels->count;
    for (int32_t i = 0; i < levels->count; i++) {
        const kbi_level *level = &levels->level[i];
        kbi_level_peaks *at = &maxima->at[i];
        *at = (kbi_level_peaks){.level = level, .words = words_of(level)};
        if (i > 0) at->finer = level->factor / level[-1].factor;
        if (i + 1 < levels->count) at->coarser = level->factor / level[1].factor;
    }
    for (size_t i = 0; i < peaks->count; i++) {
        kbi_level_peaks *at = &maxima->at[peaks->peak[i].level];
        if (at->count++ == 0) at->peak = &peaks->peak[i];
    }
    for (int32_t i = 0; i < levels->count; i++) sort_rows(&maxima->at[i]);
}

void kbi_maxima_index(kbi_maxima *maxima, void *memory)
{
    size_t words = 0;
    for (int32_t i = 0; i < maxima->levels; i++) {
        maxima->at[i].bits = (uint64_t *)memory + words;
        words += maxima->at[i].words * (size_t)maxima->at[i].level->height;
    }
    ((uint64_t *)memory)[words++] = 0;
    for (int32_t i = 0; i < maxima->levels; i++) { /* ranks behind all bits */
        kbi_level_peaks *at = &maxima->at[i];
        at->rank = (uint32_t *)(void *)((uint64_t *)memory + words) + (at->bits - maxima->at[0].bits);
        index_level(at);
    }
}

/* ---- comparison ---- */

/* The first pixel of a side within reach of a place, and how many there are. */
static int32_t near_pixels(double ratio, int32_t pixel, int32_t side, int32_t *count)
{
    double middle = (pixel + 0.5) * ratio - 0.5, reach = ratio > 1 ? REACH : REACH * ratio;
    int32_t first = kbi_max_i((int32_t)(middle - reach + 1), 0); /* rounded up: places are above -reach */
    *count = kbi_min_i((int32_t)(middle + reach), side - 1) - first + 1;
    return first;
}

/* The bits of `columns` pixels from (left, y) on. */
static uint64_t bits_at(const kbi_level_peaks *at, int32_t left, int32_t y, int32_t columns)
{
    const uint64_t *bits = &at->bits[(size_t)y * at->words + (size_t)left / 64];
    int32_t shift = left % 64;
    return (bits[0] >> shift | bits[1] << 1 << (63 - shift)) & (((uint64_t)1 << columns) - 1);
}

static const kbi_peak *peak_at(const kbi_level_peaks *at, int32_t x, int32_t y)
{
    size_t word = (size_t)y * at->words + (size_t)x / 64;
    return &at->peak[at->rank[word] + bit_count(at->bits[word] & (((uint64_t)1 << x % 64) - 1))];
}

/* The strongest peak of a level near a peak of another one, `ratio` of its pixels being one there; NULL for none. The
 * window has 5 rows and columns at most: a byte of `near` for each row. */
static const kbi_peak *strongest_near(const kbi_level_peaks *to, double ratio, const kbi_peak *p)
{
    const kbi_peak *best = NULL;
    int32_t rows, columns;
    uint64_t near = 0;
    int32_t top = near_pixels(ratio, p->y, to->level->height, &rows);
    int32_t left = near_pixels(ratio, p->x, to->level->width, &columns);
    if (columns <= 0) return NULL;
    for (int32_t i = 0; i < rows; i++) near |= bits_at(to, left, top + i, columns) << 8 * i;
    for (; near; near &= near - 1) {
        int32_t bit = __builtin_ctzll(near);
        const kbi_peak *found = peak_at(to, left + bit % 8, top + bit / 8);
        if (!best || found->response > best->response) best = found;
    }
    return best;
}

/* Moves a place, in steps beside pixel `pixel`, by `part` of the way to the place of a peak of another level. */
static int16_t moved_to(int32_t pixel, int16_t offset, double part, double other, double ratio)
{
    double there = (other + 0.5) * ratio - 0.5 - pixel, here = (double)offset / KBI_PEAK_STEPS;
    return kbi_peak_steps(here + part * (there - here));
}

/* Scale and place of a maximum between its level and the ones beside it. */
static void interpolate(const kbi_level_peaks *at, kbi_peak *p, const kbi_peak *before, const kbi_peak *after)
{
    double curve = (double)before->response + after->response - 2.0 * p->response;
    if (curve >= 0) return;
    double offset = kbi_half_pixel(0.5 * ((double)before->response - after->response) / curve);
    const kbi_peak *q = offset < 0 ? before : after;
    double part = fabs(offset), ratio = 1 / (offset < 0 ? at->finer : at->coarser);
    p->dlevel = (int8_t)kbi_peak_steps(offset);
    p->dx = moved_to(p->x, p->dx, part, q->x + (double)q->dx / KBI_PEAK_STEPS, ratio);
    p->dy = moved_to(p->y, p->dy, part, q->y + (double)q->dy / KBI_PEAK_STEPS, ratio);
}

/* Of equal ones the finer stays. A peak that gives its place to a maximum is none itself, so it has not been moved. */
bool kbi_is_maximum(const kbi_maxima *maxima, kbi_peak *peak)
{
    const kbi_level_peaks *at = &maxima->at[peak->level];
    const kbi_peak *before = NULL, *after = NULL;
    if (peak->level > 0) before = strongest_near(at - 1, at->finer, peak);
    if (before && before->response >= peak->response) return false;
    if (peak->level + 1 < maxima->levels) after = strongest_near(at + 1, at->coarser, peak);
    if (after && after->response > peak->response) return false;
    if (before && after) interpolate(at, peak, before, after);
    return true;
}
