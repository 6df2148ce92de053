/* Measures of a corner: Harris's response and the direction of the intensity centroid, both from integer sums.
 *
 * Harris: with a, b, c the sums of Ix^2, Iy^2 and Ix Iy over the 7x7 block around the corner (Ix, Iy by Sobel's 3x3
 * masks), the response is ab - c^2 - 0.04 (a + b)^2. Times 25 it is an integer, at most 25 (49 x 1020^2)^2 < 2^63.
 *
 * Centroid (Rosin): the direction of (sum of x I, sum of y I) over the disc. */
#include <math.h>

#include "detect/detect.h"
#include "image/image.h"

#define BLOCK 7
#define LANES 8 /* the columns of the block, and one to fill the vector */

int64_t kb_harris(const uint8_t *centre, ptrdiff_t stride)
{
    static const int16_t keep[LANES] = {-1, -1, -1, -1, -1, -1, -1, 0};
    int16_t slope[BLOCK + 2][LANES], smooth[BLOCK + 2][LANES]; /* of the rows: [-1 0 1] and [1 2 1] */
    for (int32_t y = 0; y < BLOCK + 2; y++) {
        const uint8_t *row = centre + (y - KB_HARRIS_REACH) * stride - KB_HARRIS_REACH;
        for (int32_t i = 0; i < LANES; i++) {
            slope[y][i] = (int16_t)(row[i + 2] - row[i]) & keep[i];
            smooth[y][i] = (int16_t)(row[i] + 2 * row[i + 1] + row[i + 2]) & keep[i];
        }
    }
    int32_t a = 0, b = 0, c = 0; /* at most 49 x 1020^2 < 2^26 */
    for (int32_t y = 0; y < BLOCK; y++) {
        for (int32_t i = 0; i < LANES; i++) {
            int16_t ix = (int16_t)(slope[y][i] + 2 * slope[y + 1][i] + slope[y + 2][i]);
            int16_t iy = (int16_t)(smooth[y + 2][i] - smooth[y][i]);
            a += ix * ix;
            b += iy * iy;
            c += ix * iy;
        }
    }
    int64_t trace = (int64_t)a + b, determinant = (int64_t)a * b - (int64_t)c * c;
    return 25 * determinant - trace * trace;
}

float kb_harris_response(int64_t harris)
{
    /* OpenCV divides the gradients by 4 (the mask), 255 and the side of the block. */
    const double unit = 1.0 / (4.0 * 255.0 * BLOCK);
    return (float)((double)harris * (unit * unit * unit * unit / 25.0));
}

/* Half the width of the disc at each distance from its middle row: the circle's, rounded, and made the same after a
 * quarter turn. These are the rows of OpenCV's disc too. */
static const uint8_t disc_half_width[KB_DISC_RADIUS + 1] = {15, 15, 15, 15, 14, 14, 14, 13, 13, 12, 11, 10, 9, 8, 6, 3};

#define DISC_COLUMNS 32 /* 31, and one for the vectors */
static const uint8_t disc_column[DISC_COLUMNS] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6,  5,  4,  3,  2,  1,  0,
                                                  1,  2,  3,  4,  5,  6,  7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

/* The direction of (x, y) as a float below 360. */
static float direction(double y, double x)
{
    float degrees = (float)kb_atan2_degrees(y, x);
    return degrees < 360.0f ? degrees : 0.0f;
}

float kb_disc_angle(const uint8_t *centre, ptrdiff_t stride)
{
    /* Rows y and -y are taken together; sums of 16 bits hold: 31 x 255 and (1 + ... + 15) x 255 = 30600. */
    int16_t columns[DISC_COLUMNS], moment[DISC_COLUMNS] = {0};
    for (int32_t i = 0; i < DISC_COLUMNS; i++) columns[i] = centre[i - KB_DISC_RADIUS];
    for (int32_t y = 1; y <= KB_DISC_RADIUS; y++) {
        uint8_t half = disc_half_width[y];
        const uint8_t *below = centre + y * stride - KB_DISC_RADIUS, *above = centre - y * stride - KB_DISC_RADIUS;
        for (int32_t i = 0; i < DISC_COLUMNS; i++) {
            uint8_t keep = disc_column[i] <= half ? 255 : 0;
            int16_t b = below[i] & keep, a = above[i] & keep;
            columns[i] = (int16_t)(columns[i] + b + a);
            moment[i] = (int16_t)(moment[i] + (int16_t)y * (int16_t)(b - a));
        }
    }
    int32_t x_moment = 0, y_moment = 0;
    for (int32_t i = 0; i < DISC_COLUMNS - 1; i++) {
        x_moment += (i - KB_DISC_RADIUS) * columns[i];
        y_moment += moment[i];
    }
    return direction(y_moment, x_moment);
}

/* ---- any image, any size ---- */

#define SUBPIXEL 256 /* moments are measured from the keypoint in 1/256 px, so that they stay integers */

/* Sums over the pixels inside both the disc and the image. */
static float region_angle(const kb_image *gray, const kb_keypoint *keypoint)
{
    double radius = keypoint->size * 0.5;
    int64_t cx = (int64_t)floor((double)keypoint->x * SUBPIXEL + 0.5);
    int64_t cy = (int64_t)floor((double)keypoint->y * SUBPIXEL + 0.5);
    int32_t top = kb_clamp_i((int32_t)ceil(keypoint->y - radius), 0, gray->height);
    int32_t bottom = kb_clamp_i((int32_t)floor(keypoint->y + radius), -1, gray->height - 1);
    int64_t x_moment = 0, y_moment = 0;
    for (int32_t y = top; y <= bottom; y++) {
        double dy = y - (double)keypoint->y, rest = radius * radius - dy * dy, half = rest > 0 ? sqrt(rest) : 0;
        int32_t left = kb_clamp_i((int32_t)ceil(keypoint->x - half), 0, gray->width);
        int32_t right = kb_clamp_i((int32_t)floor(keypoint->x + half), -1, gray->width - 1);
        const uint8_t *row = (const uint8_t *)gray->data + y * gray->stride;
        int64_t sum = 0, moment = 0;
        for (int32_t x = left; x <= right; x++) {
            sum += row[x];
            moment += (int64_t)x * row[x];
        }
        x_moment += moment * SUBPIXEL - sum * cx;
        y_moment += sum * (y * SUBPIXEL - cy);
    }
    return direction((double)y_moment, (double)x_moment);
}

static bool inside(const kb_image *gray, const kb_keypoint *k)
{
    return k->size > 0 && k->size <= 1048576.0f && k->x >= -0.5f && k->y >= -0.5f && k->x < (float)gray->width - 0.5f &&
           k->y < (float)gray->height - 0.5f;
}

kb_status kb_orient(const kb_image *image, kb_keypoint *keypoints, size_t n)
{
    kb_workspace local;
    kb_workspace *workspace = kb_workspace_or(NULL, &local);
    kb_image gray;
    if (n > 0 && !keypoints) return KB_E_ARGUMENT;
    kb_status status = kb_gray8(image, workspace, &gray);
    for (size_t i = 0; status == KB_OK && i < n; i++)
        keypoints[i].angle = inside(&gray, &keypoints[i]) ? region_angle(&gray, &keypoints[i]) : -1.0f;
    kb_workspace_release(&local);
    return status;
}
