/* SPDX-License-Identifier: Apache-2.0 */
/* The measures of corner.c that every corner needs. */
#ifndef KBI_CORNER_ROWS_H
#define KBI_CORNER_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

#ifdef KBI_SCALAR_CORE
#    define HARRIS_LANES KBI_HARRIS_BLOCK
#else
#    define HARRIS_LANES 8 /* the columns of the block, and one to fill the vector */
#endif

/* Of the sums of Ix^2, Iy^2 and Ix Iy, which are at most 49 x 1020^2 < 2^26. */
static inline int64_t harris_of(int32_t a, int32_t b, int32_t c)
{
    int64_t trace = (int64_t)a + b, determinant = (int64_t)a * b - (int64_t)c * c;
    return 25 * determinant - trace * trace;
}

KBI_ROWS int64_t KBI_ROWS_NAME(harris)(const uint8_t *centre, ptrdiff_t stride)
{
    /* of the rows: [-1 0 1] and [1 2 1] */
    int16_t slope[KBI_HARRIS_BLOCK + 2][HARRIS_LANES], smooth[KBI_HARRIS_BLOCK + 2][HARRIS_LANES];
    for (int32_t y = 0; y < KBI_HARRIS_BLOCK + 2; y++) {
        const uint8_t *row = centre + (y - KBI_HARRIS_REACH) * stride - KBI_HARRIS_REACH;
        for (int32_t i = 0; i < HARRIS_LANES; i++) {
            int16_t keep = i < KBI_HARRIS_BLOCK ? -1 : 0;
            slope[y][i] = (int16_t)(row[i + 2] - row[i]) & keep;
            smooth[y][i] = (int16_t)(row[i] + 2 * row[i + 1] + row[i + 2]) & keep;
        }
    }
    int32_t a = 0, b = 0, c = 0;
    for (int32_t y = 0; y < KBI_HARRIS_BLOCK; y++) {
        for (int32_t i = 0; i < HARRIS_LANES; i++) {
            int16_t ix = (int16_t)(slope[y][i] + 2 * slope[y + 1][i] + slope[y + 2][i]);
            int16_t iy = (int16_t)(smooth[y + 2][i] - smooth[y][i]);
            a += ix * ix;
            b += iy * iy;
            c += ix * iy;
        }
    }
    return harris_of(a, b, c);
}

#define DISC_COLUMNS 32 /* 31, and one for the vectors */
static const uint8_t disc_column[DISC_COLUMNS] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6,  5,  4,  3,  2,  1,  0,
                                                  1,  2,  3,  4,  5,  6,  7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

KBI_ROWS float KBI_ROWS_NAME(disc_angle)(const uint8_t *centre, ptrdiff_t stride)
{
    /* Rows y and -y are taken together; sums of 16 bits hold: 31 x 255 and (1 + ... + 15) x 255 = 30600. */
    int16_t columns[DISC_COLUMNS], moment[DISC_COLUMNS] = {0};
    for (int32_t i = 0; i < DISC_COLUMNS; i++) columns[i] = centre[i - KBI_DISC_RADIUS];
    for (int32_t y = 1; y <= KBI_DISC_RADIUS; y++) {
        uint8_t half = kbi_disc_half_width[y];
        const uint8_t *below = centre + y * stride - KBI_DISC_RADIUS, *above = centre - y * stride - KBI_DISC_RADIUS;
        for (int32_t i = 0; i < DISC_COLUMNS; i++) {
            uint8_t keep = disc_column[i] <= half ? 255 : 0;
            int16_t b = below[i] & keep, a = above[i] & keep;
            columns[i] = (int16_t)(columns[i] + b + a);
            moment[i] = (int16_t)(moment[i] + (int16_t)y * (int16_t)(b - a));
        }
    }
    int32_t x_moment = 0, y_moment = 0;
    for (int32_t i = 0; i < DISC_COLUMNS - 1; i++) {
        x_moment += (i - KBI_DISC_RADIUS) * columns[i];
        y_moment += moment[i];
    }
    return kbi_direction(y_moment, x_moment);
}

#endif
