/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of dog.c. */
#ifndef KBI_DOG_ROWS_H
#define KBI_DOG_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

#define EXTREMA_BLOCK 32

KBI_ROWS void KBI_ROWS_NAME(difference_row)(const uint16_t *restrict smaller, const uint16_t *restrict larger,
                                          int32_t width, int16_t *restrict out)
{
    for (int32_t i = 0; i < width; i++) out[i] = (int16_t)(larger[i] - smaller[i]);
}

static inline int16_t least16(int16_t a, int16_t b) { return a < b ? a : b; }
static inline int16_t most16(int16_t a, int16_t b) { return a > b ? a : b; }

static inline void extrema_block(const int16_t *restrict above, const int16_t *restrict middle,
                                 const int16_t *restrict below, const int16_t *restrict finer,
                                 const int16_t *restrict coarser, int32_t n, int16_t limit, int16_t *restrict found)
{
    for (int32_t i = 0; i < n; i++) {
        int16_t v = middle[i];
        int16_t high = most16(most16(most16(above[i - 1], above[i]), most16(above[i + 1], middle[i - 1])),
                              most16(most16(below[i - 1], below[i]), most16(below[i + 1], middle[i + 1])));
        int16_t low = least16(least16(least16(above[i - 1], above[i]), least16(above[i + 1], middle[i - 1])),
                              least16(least16(below[i - 1], below[i]), least16(below[i + 1], middle[i + 1])));
        int16_t top = most16(most16(high, limit), most16(finer[i], coarser[i]));
        int16_t bottom = least16(least16(low, (int16_t)-limit), least16(finer[i], coarser[i]));
        found[i] = (int16_t)((v >= top) | (v <= bottom));
    }
}

static inline uint64_t four_numbers(const int16_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

KBI_ROWS int32_t KBI_ROWS_NAME(extrema_row)(const int16_t *above, const int16_t *middle, const int16_t *below,
                                          const int16_t *finer, const int16_t *coarser, int32_t width, int32_t limit,
                                          int32_t *x)
{
    int32_t count = 0, end = width - KBI_SIFT_BORDER;
    for (int32_t at = KBI_SIFT_BORDER; at < end; at += EXTREMA_BLOCK) {
        int16_t found[EXTREMA_BLOCK] = {0};
        if (at + EXTREMA_BLOCK <= end)
            extrema_block(above + at, middle + at, below + at, finer + at, coarser + at, EXTREMA_BLOCK, (int16_t)limit,
                          found);
        else
            extrema_block(above + at, middle + at, below + at, finer + at, coarser + at, end - at, (int16_t)limit,
                          found);
        for (int32_t i = 0; i < EXTREMA_BLOCK; i += 4) {
            if (four_numbers(found + i) == 0) continue;
            for (int32_t k = i; k < i + 4; k++)
                if (found[k]) x[count++] = at + k;
        }
    }
    return count;
}

#endif
