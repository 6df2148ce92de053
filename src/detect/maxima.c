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
#define NO_MAXIMUM INT8_MIN /* as dlevel */

/* The peaks of a level, in order of rows, and a bit for each of its pixels: 1 where there is a peak. */
typedef struct level_peaks {
    kbi_peak *peak;
    size_t count;
    const kbi_level *level;
    size_t words;   /* of bits per row; one more than there are, so that a window may begin in the last */
    uint64_t *bits;
    uint32_t *rank; /* peaks before a word */
} level_peaks;

static size_t words_of(const kbi_level *level) { return (size_t)level->width / 64 + 2; }

size_t kbi_maxima_bytes(const kbi_levels *levels)
{
    size_t words = 0;
    for (int32_t i = 0; i < levels->count; i++) words += words_of(&levels->level[i]) * (size_t)levels->level[i].height;
    return words * (sizeof(uint64_t) + sizeof(uint32_t));
}

static uint32_t bit_count(uint64_t v)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_popcountll(v);
#else
    uint32_t n = 0;
    for (; v; v &= v - 1) n++;
    return n;
#endif
}

static bool row_before(const kbi_peak *a, const kbi_peak *b) { return a->y != b->y ? a->y < b->y : a->x < b->x; }

/* Puts the peaks of a level in order of rows, which is nearly how they were found: a strip of cells is out of order at
 * most. Then sets bits and ranks. */
static void index_level(level_peaks *at)
{
    size_t words = at->words * (size_t)at->level->height;
    uint32_t sum = 0;
    for (size_t i = 1; i < at->count; i++) {
        if (!row_before(&at->peak[i], &at->peak[i - 1])) continue;
        kbi_peak moved = at->peak[i];
        size_t k = i;
        for (; k > 0 && row_before(&moved, &at->peak[k - 1]); k--) at->peak[k] = at->peak[k - 1];
        at->peak[k] = moved;
    }
    memset(at->bits, 0, words * sizeof *at->bits);
    for (size_t i = 0; i < at->count; i++)
        at->bits[at->peak[i].y * at->words + at->peak[i].x / 64] |= (uint64_t)1 << at->peak[i].x % 64;
    for (size_t i = 0; i < words; i++) {
        at->rank[i] = sum;
        if (at->bits[i]) sum += bit_count(at->bits[i]);
    }
}

/* From pixels of a level to another one's, and how far to look there. */
typedef struct level_step {
    const level_peaks *to;
    double ratio, reach;
} level_step;

static level_step step_to(const level_peaks *to, const level_peaks *from)
{
    double ratio = from->level->factor / to->level->factor;
    return (level_step){to, ratio, ratio > 1 ? REACH : REACH * ratio};
}

/* The first pixel of a side within reach of a place, and how many there are. */
static int32_t near_pixels(const level_step *s, int32_t pixel, int32_t side, int32_t *count)
{
    double middle = (pixel + 0.5) * s->ratio - 0.5;
    int32_t first = kbi_max_i((int32_t)(middle - s->reach + 1), 0); /* rounded up: places are above -reach */
    *count = kbi_min_i((int32_t)(middle + s->reach), side - 1) - first + 1;
    return first;
}

/* The strongest peak near a peak of the other level; NULL for none. */
static const kbi_peak *strongest_near(const level_step *s, const kbi_peak *p)
{
    const level_peaks *to = s->to;
    const kbi_peak *best = NULL;
    int32_t rows, columns;
    if (!to) return NULL;
    int32_t top = near_pixels(s, p->y, to->level->height, &rows), left = near_pixels(s, p->x, to->level->width, &columns);
    if (columns <= 0) return NULL;
    for (int32_t y = top; y < top + rows; y++) {
        size_t word = (size_t)y * to->words + (size_t)left / 64;
        const uint64_t *bits = &to->bits[word];
        int32_t shift = left % 64;
        uint64_t near = bits[0] >> shift | (shift ? bits[1] << (64 - shift) : 0);
        near &= ((uint64_t)1 << columns) - 1;
        if (!near) continue;
        uint32_t index = to->rank[word] + bit_count(bits[0] & (((uint64_t)1 << shift) - 1));
        for (; near; near &= near - 1, index++)
            if (!best || to->peak[index].response > best->response) best = &to->peak[index];
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
static void interpolate(kbi_peak *p, const kbi_peak *before, const kbi_peak *after, const level_step *finer,
                        const level_step *coarser)
{
    if (!before || !after) return;
    double curve = (double)before->response + after->response - 2.0 * p->response;
    if (curve >= 0) return;
    double offset = kbi_half_pixel(0.5 * ((double)before->response - after->response) / curve);
    const kbi_peak *q = offset < 0 ? before : after;
    double part = fabs(offset), ratio = 1 / (offset < 0 ? finer : coarser)->ratio;
    p->dlevel = (int8_t)kbi_peak_steps(offset);
    p->dx = moved_to(p->x, p->dx, part, q->x + (double)q->dx / KBI_PEAK_STEPS, ratio);
    p->dy = moved_to(p->y, p->dy, part, q->y + (double)q->dy / KBI_PEAK_STEPS, ratio);
}

/* Of equal ones the finer stays. A peak that gives its place to a maximum is none itself, so it has not been moved. */
static void mark_level(const level_peaks *at, const level_peaks *before, const level_peaks *after)
{
    level_step finer = {0}, coarser = {0};
    if (before) finer = step_to(before, at);
    if (after) coarser = step_to(after, at);
    for (size_t i = 0; i < at->count; i++) {
        kbi_peak *p = &at->peak[i];
        const kbi_peak *f = strongest_near(&finer, p), *c = NULL;
        bool beaten = f && f->response >= p->response;
        if (!beaten) c = strongest_near(&coarser, p);
        if (beaten || (c && c->response > p->response)) p->dlevel = NO_MAXIMUM;
        else interpolate(p, f, c, &finer, &coarser);
    }
}

void kbi_maxima_keep(const kbi_levels *levels, kbi_peaks *peaks, void *memory)
{
    level_peaks at[KB_PYRAMID_MAX_LEVELS];
    size_t kept = 0, words = 0;
    for (int32_t i = 0; i < levels->count; words += at[i].words * (size_t)levels->level[i].height, i++)
        at[i] = (level_peaks){.peak = peaks->peak, .level = &levels->level[i], .words = words_of(&levels->level[i]),
                              .bits = (uint64_t *)memory + words};
    for (int32_t i = 0; i < levels->count; i++) /* behind all bits */
        at[i].rank = (uint32_t *)(void *)((uint64_t *)memory + words) + (at[i].bits - at[0].bits);
    for (size_t i = 0; i < peaks->count; i++) { /* those of a level stand together */
        level_peaks *l = &at[peaks->peak[i].level];
        if (l->count++ == 0) l->peak = &peaks->peak[i];
    }
    for (int32_t i = 0; i < levels->count; i++) index_level(&at[i]);
    for (int32_t i = 0; i < levels->count; i++)
        mark_level(&at[i], i > 0 ? &at[i - 1] : NULL, i + 1 < levels->count ? &at[i + 1] : NULL);
    for (size_t i = 0; i < peaks->count; i++)
        if (peaks->peak[i].dlevel != NO_MAXIMUM) peaks->peak[kept++] = peaks->peak[i];
    peaks->count = kept;
}
