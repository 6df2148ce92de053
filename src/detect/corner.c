/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* Measures of a corner: Harris's response and the direction of the intensity centroid, both from integer sums.
 *
 * Harris: with a, b, c the sums of Ix^2, Iy^2 and Ix Iy over the 7x7 block around the corner (Ix, Iy by Sobel's 3x3
 * masks), the response is ab - c^2 - 0.04 (a + b)^2. Times 25 it is an integer, at most 25 (49 x 1020^2)^2 < 2^63.
 *
 * Centroid (Rosin): the direction of (sum of x I, sum of y I) over the disc. */
#include <math.h>

#include "detect/corner_rows.h"
#include "image/image.h"

const uint8_t kbi_disc_half_width[KBI_DISC_RADIUS + 1] = {15, 15, 15, 15, 14, 14, 14, 13, 13, 12, 11, 10, 9, 8, 6, 3};

float kbi_harris_response(int64_t harris)
{
    /* OpenCV divides the gradients by 4 (the mask), 255 and the side of the block. */
    const double unit = 1.0 / (4.0 * 255.0 * KBI_HARRIS_BLOCK);
    return (float)((double)harris * (unit * unit * unit * unit / 25.0));
}

/* The direction of (x, y) as a float below 360. */
float kbi_direction(double y, double x)
{
    float degrees = (float)kbi_atan2_degrees(y, x);
    return degrees < 360.0f ? degrees : 0.0f;
}
