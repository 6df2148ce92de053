/* SPDX-License-Identifier: Apache-2.0 */
/* FAST corners (fast.c) that are the strongest of their 3x3 neighbourhood, with Harris's response (corner.c), as ORB
 * has them (Rublee, Rabaud, Konolige, Bradski 2011).
 *
 * A level is cut into cells of cell_size px. Where a cell has no corner above fast_threshold, it is searched again with
 * fast_threshold_min, as ORB-SLAM does, so that soft and dim regions give corners too. What a search finds above a
 * higher threshold does not depend on how low its own is: such a corner is stronger than anything below it. */
#include "common/rows.h"
#include "detect/corners.h"
#include "detect/detectors.h"

/* The rows of scores that a search keeps, the peaks of a row, and whether a cell of a strip has a corner. */
typedef struct score_rows {
    uint8_t *above, *middle, *below, *found;
    uint16_t *peak;
} score_rows;

static size_t fast_scratch_bytes(int32_t width) { return 6 * kbi_round_up((size_t)width); }

static score_rows rows_in(void *scratch, int32_t width)
{
    size_t row = kbi_round_up((size_t)width);
    uint8_t *s = scratch;
    return (score_rows){s, s + row, s + 2 * row, s + 3 * row, (uint16_t *)(void *)(s + 4 * row)};
}

/* Vectors need rows of at least so many pixels; shorter ones begin further left, and these scores are not used. */
#ifdef KBI_SCALAR_CORE
#    define SHORTEST 0
#else
#    define SHORTEST 33
#endif

/* Searches columns left..right - 1 of rows top..bottom - 1. The outer columns and rows of scores only compete with
 * their neighbours. found may be NULL. */
static void search_rows(const kbi_search *s, int32_t left, int32_t right, int32_t top, int32_t bottom,
                        int32_t threshold, uint8_t *found)
{
    static const double none[2] = {0, 0};
    int32_t width = right - left + 2;
    int32_t more = SHORTEST ? kbi_clamp_i(SHORTEST - width, 0, left - 1 - KBI_FAST_RADIUS) : 0;
    int32_t first = left - 1 - more, all = width + more;
    ptrdiff_t stride = s->level->stride;
    score_rows rows = rows_in(s->scratch, s->level->width);
    s->kernels->fast_row(kbi_level_pixel(s->level, first, top - 1), stride, all, threshold, rows.above);
    s->kernels->fast_row(kbi_level_pixel(s->level, first, top), stride, all, threshold, rows.middle);
    for (int32_t y = top; y < bottom; y++) {
        s->kernels->fast_row(kbi_level_pixel(s->level, first, y + 1), stride, all, threshold, rows.below);
        int32_t n = s->kernels->peaks_row(rows.above + more, rows.middle + more, rows.below + more, width, rows.peak);
        for (int32_t i = 0; i < n; i++) {
            int32_t x = left - 1 + rows.peak[i];
            int64_t harris = s->kernels->harris(kbi_level_pixel(s->level, x, y), stride);
            kbi_search_add(s, x, y, kbi_harris_response(harris), none);
            if (found) found[(x - s->left) / s->options->cell_size] = 1;
        }
        uint8_t *oldest = rows.above;
        rows.above = rows.middle;
        rows.middle = rows.below;
        rows.below = oldest;
    }
}

/* A strip is a row of cells. Runs of empty ones are searched again at once. */
static void search_strip(const kbi_search *s, int32_t top, int32_t bottom)
{
    int32_t cell = s->options->cell_size, cells = (s->right - s->left + cell - 1) / cell;
    uint8_t *found = rows_in(s->scratch, s->level->width).found;
    memset(found, 0, (size_t)cells);
    search_rows(s, s->left, s->right, top, bottom, s->options->fast_threshold, found);
    if (s->options->fast_threshold_min == s->options->fast_threshold) return;
    for (int32_t i = 0, end; i < cells; i = end + 1) {
        for (end = i; end < cells && !found[end];) end++;
        if (end > i)
            search_rows(s, s->left + i * cell, kbi_min_i(s->left + end * cell, s->right), top, bottom,
                        s->options->fast_threshold_min, NULL);
    }
}

static void fast_search(const kbi_search *s)
{
    int32_t cell = s->options->cell_size;
    for (int32_t top = s->top; top < s->bottom; top += cell) search_strip(s, top, kbi_min_i(top + cell, s->bottom));
}

/* ---- places between pixels ---- */

/* The top of a parabola through the scores beside a corner, px; none where the middle is not the largest. */
static double parabola_top(int32_t before, int32_t middle, int32_t after)
{
    int32_t slope = before - after, curve = before + after - 2 * middle;
    return curve >= 0 ? 0 : kbi_half_pixel(0.5 * slope / curve);
}

/* The pixel of a corner and its neighbours, side by side. */
enum { CROSS_LEFT, CROSS_MIDDLE, CROSS_RIGHT, CROSS_ABOVE, CROSS_BELOW, CROSS };

/* The circles of the cross around a pixel, from place `at` on; there is room for CROSS. */
static void cross_circles(const uint8_t *p, ptrdiff_t stride, kbi_fast_circles circles, size_t at)
{
    const uint8_t *const circle[KBI_FAST_CIRCLE] = KBI_FAST_AROUND(p, stride);
    for (int32_t i = 0; i <= KBI_FAST_CIRCLE; i++) {
        const uint8_t *from = i < KBI_FAST_CIRCLE ? circle[i] : p;
        memcpy(&circles[i][at + CROSS_LEFT], from - 1, 4); /* three of them count */
        circles[i][at + CROSS_ABOVE] = from[-stride];
        circles[i][at + CROSS_BELOW] = from[stride];
    }
}

/* To the top of FAST's score, by which the pixels of corners were chosen. (Harris's response has its top somewhere
 * else, so that a parabola through it leads away.) */
static void fast_refine(const kbi_detect_kernels *kernels, const kbi_place *places, size_t n, double (*offset)[2])
{
    kbi_fast_circles circles = {{0}};
    uint8_t score[KBI_FAST_BATCH];
    for (size_t i = 0; i < n; i++) cross_circles(places[i].pixel, places[i].stride, circles, CROSS * i);
    kernels->fast_scores((const uint8_t(*)[KBI_FAST_BATCH])circles, (int32_t)(CROSS * n), score);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *s = score + CROSS * i;
        offset[i][0] = parabola_top(s[CROSS_LEFT], s[CROSS_MIDDLE], s[CROSS_RIGHT]);
        offset[i][1] = parabola_top(s[CROSS_ABOVE], s[CROSS_MIDDLE], s[CROSS_BELOW]);
    }
}

/* Harris's response reads one pixel more to the right than FAST around the neighbours of a corner. */
const kbi_measure kbi_measure_fast = {KBI_HARRIS_REACH + 1, 4, false, fast_scratch_bytes, fast_search, fast_refine};

static const char *const orb_options[] = {KBI_PYRAMID_OPTIONS, "fast_threshold", "fast_threshold_min", "cell_size",
                                          NULL};
const kbi_detector kbi_detector_orb = {KB_DETECTOR_ORB, "orb", 2, orb_options, kbi_detect_corners, &kbi_measure_fast,
                                       {31, 0.224, 0.081, 0.27, 0}, kbi_corners_orient};
