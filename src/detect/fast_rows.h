/* SPDX-License-Identifier: Apache-2.0 */
/* FAST-9 corners (Rosten and Drummond): a pixel is a corner when 9 pixels in a row of the 16 on a circle of radius 3
 * are all brighter, or all darker, than it by more than a threshold. The score is the largest threshold that it
 * would pass:
 *
 *     score = max(max over arcs of min over the arc - centre, centre - min over arcs of max over the arc)
 *
 * Arcs that start at an even place k and at k + 1 share the 8 pixels between them, so both together give
 * min(min of the shared, max(pixel k, pixel k + 9)): 47 minima and maxima a side, on bytes, without a branch. A
 * compiler turns that into vector code. Since most of an image is not near a corner, blocks are first asked the
 * cheap question: every arc holds one of each pair of opposite pixels. */
#ifndef KBI_FAST_ROWS_H
#define KBI_FAST_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

#define FAST_BLOCK 16

static inline uint8_t least8(uint8_t a, uint8_t b) { return a < b ? a : b; }
static inline uint8_t most8(uint8_t a, uint8_t b) { return a > b ? a : b; }

/* The larger of the two differences, or 0 when it does not pass the threshold. */
static inline uint8_t fast_difference(uint8_t bright, uint8_t dark, uint8_t centre, uint8_t threshold)
{
    uint8_t up = (uint8_t)(most8(bright, centre) - centre), down = (uint8_t)(centre - least8(dark, centre));
    uint8_t best = most8(up, down);
    return best > threshold ? best : 0;
}

/* Not 0 where a pixel may be a corner: looks at four pairs of opposite pixels. */
KBI_ROWS_HELPER void promise_row(const uint8_t *const *p, const uint8_t *restrict centre, int32_t width,
                                uint8_t threshold, uint8_t *restrict promise)
{
    const uint8_t *restrict p0 = p[0], *restrict p2 = p[2], *restrict p4 = p[4], *restrict p6 = p[6];
    const uint8_t *restrict p8 = p[8], *restrict p10 = p[10], *restrict p12 = p[12], *restrict p14 = p[14];
    for (int32_t x = 0; x < width; x++) {
        uint8_t bright = least8(least8(most8(p0[x], p8[x]), most8(p2[x], p10[x])),
                                least8(most8(p4[x], p12[x]), most8(p6[x], p14[x])));
        uint8_t dark = most8(most8(least8(p0[x], p8[x]), least8(p2[x], p10[x])),
                             most8(least8(p4[x], p12[x]), least8(p6[x], p14[x])));
        promise[x] = fast_difference(bright, dark, centre[x], threshold);
    }
}

/* Scores of the n <= FAST_BLOCK pixels from `at` on. They go to a buffer of their own, so that the compiler knows that
 * no store overwrites a pixel still to be read. */
static inline void score_block(const uint8_t *const *p, const uint8_t *centre, int32_t at, int32_t n, uint8_t threshold,
                               uint8_t *score)
{
    uint8_t block[FAST_BLOCK];
    for (int32_t x = 0; x < n; x++) {
        uint8_t v[16], low2[8], high2[8], low4[8], high4[8], bright = 0, dark = 255;
        for (int32_t i = 0; i < 16; i++) v[i] = p[i][at + x];
        for (int32_t i = 0; i < 8; i++) {
            low2[i] = least8(v[2 * i + 1], v[(2 * i + 2) & 15]);
            high2[i] = most8(v[2 * i + 1], v[(2 * i + 2) & 15]);
        }
        for (int32_t i = 0; i < 8; i++) {
            low4[i] = least8(low2[i], low2[(i + 1) & 7]);
            high4[i] = most8(high2[i], high2[(i + 1) & 7]);
        }
        for (int32_t i = 0; i < 8; i++) {
            uint8_t first = v[2 * i], last = v[(2 * i + 9) & 15];
            bright = most8(bright, least8(least8(low4[i], low4[(i + 2) & 7]), most8(first, last)));
            dark = least8(dark, most8(most8(high4[i], high4[(i + 2) & 7]), least8(first, last)));
        }
        block[x] = fast_difference(bright, dark, centre[at + x], threshold);
    }
    memcpy(score + at, block, (size_t)n);
}

static inline uint64_t eight_bytes(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

KBI_ROWS void KBI_ROWS_NAME(fast_row)(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold,
                                    uint8_t *score)
{
    const uint8_t *const circle[KBI_FAST_CIRCLE] = KBI_FAST_AROUND(row, stride);
    uint8_t limit = (uint8_t)threshold;
    if (width < FAST_BLOCK) {
        score_block(circle, row, 0, width, limit, score);
        return;
    }
    promise_row(circle, row, width, limit, score);
    for (int32_t x = 0; x < width; x += FAST_BLOCK) {
        int32_t at = kbi_min_i(x, width - FAST_BLOCK); /* the last block overlaps the one before */
        if (eight_bytes(score + at) | eight_bytes(score + at + 8))
            score_block(circle, row, at, FAST_BLOCK, limit, score);
    }
}

KBI_ROWS void KBI_ROWS_NAME(fast_scores)(const kbi_fast_circles circles, int32_t n, uint8_t *score)
{
    const uint8_t *circle[KBI_FAST_CIRCLE];
    for (int32_t i = 0; i < KBI_FAST_CIRCLE; i++) circle[i] = circles[i];
    for (int32_t at = 0; at < n; at += FAST_BLOCK)
        score_block(circle, circles[KBI_FAST_CIRCLE], at, FAST_BLOCK, 1, score);
}

/* peak[i] is not 0 where the middle row's score beats those before it in reading order and matches those after it. */
static inline void peak_block(const uint8_t *restrict above, const uint8_t *restrict middle,
                              const uint8_t *restrict below, int32_t n, uint8_t *restrict peak)
{
    for (int32_t i = 0; i < n; i++) {
        uint8_t before = most8(most8(above[i - 1], above[i]), most8(above[i + 1], middle[i - 1]));
        uint8_t after = most8(most8(below[i - 1], below[i]), most8(below[i + 1], middle[i + 1]));
        peak[i] = (middle[i] > before) & (middle[i] >= after);
    }
}

KBI_ROWS int32_t KBI_ROWS_NAME(peaks_row)(const uint8_t *above, const uint8_t *middle, const uint8_t *below,
                                        int32_t width, uint16_t *x)
{
    int32_t count = 0, end = width - 1;
    for (int32_t at = 1; at < end; at += FAST_BLOCK) {
        uint8_t peak[FAST_BLOCK] = {0};
        const uint8_t *m = middle + at;
        if (at + FAST_BLOCK > end)
            peak_block(above + at, m, below + at, end - at, peak);
        else if (eight_bytes(m) | eight_bytes(m + 8))
            peak_block(above + at, m, below + at, FAST_BLOCK, peak);
        else
            continue;
        for (int32_t i = 0; i < FAST_BLOCK; i += 8) {
            if (eight_bytes(peak + i) == 0) continue;
            for (int32_t k = i; k < i + 8; k++) {
                x[count] = (uint16_t)(at + k);
                count += peak[k];
            }
        }
    }
    return count;
}

#endif
