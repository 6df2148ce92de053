/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of gradient.c that every keypoint needs. */
#ifndef KBI_GRADIENT_ROWS_H
#define KBI_GRADIENT_ROWS_H

#include "common/rows.h"
#include "detect/sift.h"

/* The sums of 4x4 pixels, four bytes of a row at a time. Their order within the word plays no part. */
KBI_ROWS void KBI_ROWS_NAME(gradient_blocks)(const uint8_t *centre, ptrdiff_t stride, uint16_t *restrict blocks)
{
    const uint32_t pairs = 0x00ff00ff;
    const uint8_t *row = centre - KBI_GRADIENT_REACH * stride - KBI_GRADIENT_REACH;
    for (int32_t i = 0; i < KBI_GRADIENT_BLOCKS; i++, row += 4 * stride, blocks += KBI_GRADIENT_STRIDE) {
        for (int32_t j = 0; j < KBI_GRADIENT_BLOCKS; j++) {
            uint32_t a, b, c, d;
            memcpy(&a, row + 4 * j, sizeof a);
            memcpy(&b, row + stride + 4 * j, sizeof b);
            memcpy(&c, row + 2 * stride + 4 * j, sizeof c);
            memcpy(&d, row + 3 * stride + 4 * j, sizeof d);
            uint32_t sum = (a & pairs) + (a >> 8 & pairs) + (b & pairs) + (b >> 8 & pairs) + (c & pairs) +
                           (c >> 8 & pairs) + (d & pairs) + (d >> 8 & pairs);
            blocks[j + 1] = (uint16_t)((sum & 0xffff) + (sum >> 16));
        }
        blocks[0] = blocks[1];
        blocks[KBI_GRADIENT_BLOCKS + 1] = blocks[KBI_GRADIENT_BLOCKS];
    }
}

/* exp(-d^2 / 2 sigma^2) with sigma = 7 px. d = 4 j - 18.5 px is the distance of block j from the keypoint along one
 * axis; blocks 1 to 8 have a gradient. */
static const float gradient_window[KBI_GRADIENT_SIDE] = {0.11702026f, 0.32465247f, 0.64977934f, 0.9382156f,
                                                         0.97730237f, 0.73442054f, 0.39815322f, 0.15572029f};

/* |g|, |g| exp(i phi) and so on of n gradients, times w: x and y of three harmonics, n apart. With t = small / large of
 * the two components of a gradient, 1 / sqrt(1 + t^2) is a polynomial in t^2 (error below 1e-4), which gives the unit
 * vector. No branch and no function, so that compilers make vectors of it. */
KBI_ROWS_HELPER void KBI_ROWS_NAME(gradient_harmonics)(const float *restrict gx, const float *restrict gy,
                                                       const float *restrict w, int32_t n, float *restrict out)
{
    for (int32_t i = 0; i < n; i++) {
        float ax = gx[i] < 0 ? -gx[i] : gx[i], ay = gy[i] < 0 ? -gy[i] : gy[i];
        float large = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
        float t = small / (large + (large == 0 ? 1.0f : 0.0f)), q = t * t;
        float cosine = 0.99991554f + q * (-0.49570115f + q * (0.33736243f + q * (-0.18411854f + q * 0.049693281f)));
        float sine = t * cosine;
        float ux = ax > ay ? cosine : sine, uy = ax > ay ? sine : cosine;
        ux = gx[i] < 0 ? -ux : ux;
        uy = gy[i] < 0 ? -uy : uy;
        float x = w[i] * gx[i], y = w[i] * gy[i], x2 = x * ux - y * uy, y2 = x * uy + y * ux;
        out[i] = x;
        out[n + i] = y;
        out[2 * n + i] = x2;
        out[3 * n + i] = y2;
        out[4 * n + i] = x2 * ux - y2 * uy;
        out[5 * n + i] = x2 * uy + y2 * ux;
    }
}

/* Rows of blocks are one after the other, so 1 2 1 is one loop along each axis: what goes over the end of a row comes
 * to stand in places that are not used. 16 x 4080 is still of 16 bits. */
KBI_ROWS void KBI_ROWS_NAME(gradient_sums)(const uint16_t *restrict blocks, float *restrict out)
{
    enum { STRIDE = KBI_GRADIENT_STRIDE, ALL = STRIDE * KBI_GRADIENT_BLOCKS, SIDE = KBI_GRADIENT_SIDE };
    uint16_t across[ALL + 2 * STRIDE], smooth[ALL];
    float gx[SIDE * SIDE], gy[SIDE * SIDE], w[SIDE * SIDE], sums[KBI_GRADIENT_SUMS * SIDE * SIDE];
    for (int32_t i = 0; i < ALL; i++) across[STRIDE + i] = (uint16_t)(blocks[i] + 2 * blocks[i + 1] + blocks[i + 2]);
    memcpy(across, across + STRIDE, STRIDE * sizeof *across);
    memcpy(across + ALL + STRIDE, across + ALL, STRIDE * sizeof *across);
    for (int32_t i = 0; i < ALL; i++)
        smooth[i] = (uint16_t)(across[i] + 2 * across[i + STRIDE] + across[i + 2 * STRIDE]);
    for (int32_t i = 0; i < SIDE; i++)
        for (int32_t j = 0; j < SIDE; j++) {
            const uint16_t *s = smooth + (i + 1) * STRIDE + j + 1;
            gx[SIDE * i + j] = (float)((int32_t)s[1] - s[-1]);
            gy[SIDE * i + j] = (float)((int32_t)s[STRIDE] - s[-STRIDE]);
            w[SIDE * i + j] = gradient_window[i] * gradient_window[j];
        }
    KBI_ROWS_NAME(gradient_harmonics)(gx, gy, w, SIDE * SIDE, sums);
    for (int32_t k = 0; k < KBI_GRADIENT_SUMS; k++) {
        const float *s = sums + k * SIDE * SIDE;
        float a[SIDE];
        for (int32_t j = 0; j < SIDE; j++)
            a[j] = ((s[j] + s[SIDE + j]) + (s[2 * SIDE + j] + s[3 * SIDE + j])) +
                   ((s[4 * SIDE + j] + s[5 * SIDE + j]) + (s[6 * SIDE + j] + s[7 * SIDE + j]));
        out[k] = ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
    }
}

/* exp(-(k 35 degrees)^2 / 2) cos(k theta) and the same with the sine, k = 1, 2, 3, theta = 0, 11.25, 22.5 ...
 * degrees. */
static const float gradient_direction[KBI_GRADIENT_SUMS][KBI_GRADIENT_DIRECTIONS] = {
    {0.82979369f, 0.81384944f, 0.76662941f, 0.68994824f, 0.58675275f, 0.46100868f, 0.3175483f, 0.16188472f,
     0.0f, -0.16188472f, -0.3175483f, -0.46100868f, -0.58675275f, -0.68994824f, -0.76662941f, -0.81384944f,
     -0.82979369f, -0.81384944f, -0.76662941f, -0.68994824f, -0.58675275f, -0.46100868f, -0.3175483f, -0.16188472f,
     0.0f, 0.16188472f, 0.3175483f, 0.46100868f, 0.58675275f, 0.68994824f, 0.76662941f, 0.81384944f},
    {0.0f, 0.16188472f, 0.3175483f, 0.46100868f, 0.58675275f, 0.68994824f, 0.76662941f, 0.81384944f,
     0.82979369f, 0.81384944f, 0.76662941f, 0.68994824f, 0.58675275f, 0.46100868f, 0.3175483f, 0.16188472f,
     0.0f, -0.16188472f, -0.3175483f, -0.46100868f, -0.58675275f, -0.68994824f, -0.76662941f, -0.81384944f,
     -0.82979369f, -0.81384944f, -0.76662941f, -0.68994824f, -0.58675275f, -0.46100868f, -0.3175483f, -0.16188472f},
    {0.47411154f, 0.43802194f, 0.33524748f, 0.18143463f, 0.0f, -0.18143463f, -0.33524748f, -0.43802194f,
     -0.47411154f, -0.43802194f, -0.33524748f, -0.18143463f, 0.0f, 0.18143463f, 0.33524748f, 0.43802194f,
     0.47411154f, 0.43802194f, 0.33524748f, 0.18143463f, 0.0f, -0.18143463f, -0.33524748f, -0.43802194f,
     -0.47411154f, -0.43802194f, -0.33524748f, -0.18143463f, 0.0f, 0.18143463f, 0.33524748f, 0.43802194f},
    {0.0f, 0.18143463f, 0.33524748f, 0.43802194f, 0.47411154f, 0.43802194f, 0.33524748f, 0.18143463f,
     0.0f, -0.18143463f, -0.33524748f, -0.43802194f, -0.47411154f, -0.43802194f, -0.33524748f, -0.18143463f,
     0.0f, 0.18143463f, 0.33524748f, 0.43802194f, 0.47411154f, 0.43802194f, 0.33524748f, 0.18143463f,
     0.0f, -0.18143463f, -0.33524748f, -0.43802194f, -0.47411154f, -0.43802194f, -0.33524748f, -0.18143463f},
    {0.18652248f, 0.15508777f, 0.071379062f, -0.03638873f, -0.13189131f, -0.1829385f, -0.1723243f, -0.10362634f,
     0.0f, 0.10362634f, 0.1723243f, 0.1829385f, 0.13189131f, 0.03638873f, -0.071379062f, -0.15508777f,
     -0.18652248f, -0.15508777f, -0.071379062f, 0.03638873f, 0.13189131f, 0.1829385f, 0.1723243f, 0.10362634f,
     0.0f, -0.10362634f, -0.1723243f, -0.1829385f, -0.13189131f, -0.03638873f, 0.071379062f, 0.15508777f},
    {0.0f, 0.10362634f, 0.1723243f, 0.1829385f, 0.13189131f, 0.03638873f, -0.071379062f, -0.15508777f,
     -0.18652248f, -0.15508777f, -0.071379062f, 0.03638873f, 0.13189131f, 0.1829385f, 0.1723243f, 0.10362634f,
     0.0f, -0.10362634f, -0.1723243f, -0.1829385f, -0.13189131f, -0.03638873f, 0.071379062f, 0.15508777f,
     0.18652248f, 0.15508777f, 0.071379062f, -0.03638873f, -0.13189131f, -0.1829385f, -0.1723243f, -0.10362634f},
};

KBI_ROWS int32_t KBI_ROWS_NAME(gradient_histogram)(const float *restrict sums, float *restrict h)
{
    int32_t highest = 0;
    for (int32_t t = 0; t < KBI_GRADIENT_DIRECTIONS; t++)
        h[t] = ((sums[0] * gradient_direction[0][t] + sums[1] * gradient_direction[1][t]) +
                (sums[2] * gradient_direction[2][t] + sums[3] * gradient_direction[3][t])) +
               (sums[4] * gradient_direction[4][t] + sums[5] * gradient_direction[5][t]);
    for (int32_t t = 1; t < KBI_GRADIENT_DIRECTIONS; t++) highest = h[t] > h[highest] ? t : highest;
    return highest;
}

#endif
