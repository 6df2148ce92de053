/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* How exact a keypoint's place is.
 *
 * The place of a peak is where the gradient of its response vanishes. Noise of the image moves the gradient, and the
 * place by that over the curvature C of the response. The response is det = Lxx Lyy - Lxy^2 at the scale of the
 * keypoint (hessian.c), whatever the detector; noise of second derivatives changes it in proportion to sqrt(det).
 * Beside noise there is what pyramids, interpolation and a view from aside do, a share of the scale s. So
 *
 *     sigma^2 = s^2 (systematic^2 + noise^2 det C^-2),
 *
 * with C^-1 the mean of the inverse curvatures along the two axes, lengths in px of the scale. The two numbers of a
 * detector were fitted to the residuals of rendered views of photographs and of dead leaves, with noise of 1 to 3 gray
 * levels.
 *
 * det is computed on 3x3 blocks, each the mean of n x n pixels, under a Gaussian window. */
#include <math.h>

#include "common/features.h"
#include "detect/detectors.h"
#include "image/image.h"

#define BLOCK 1.25   /* of the scale is the side of a block, about */
#define FINEST 0.3   /* scale; no place is more exact than at it */
#define MAX_BLOCK 16 /* px; coarser keypoints have the usual deviation of their scale */
#define BLUR 3.0625  /* variance of the window, px^2 of the scale */
#define RADIUS 10    /* blocks of a window beside its middle: three standard deviations */
#define REACH (RADIUS + 2)
#define SIDE (2 * REACH + 1)
#define ROUNDEST 0.3 /* bounds of det / C, px^2 of the scale */
#define FLATTEST 6.0
#define LEAST 0.05   /* min det, gray levels^2; below is noise */

typedef float window_blocks[SIDE][SIDE];

/* Half of a Gaussian window, from its middle on. */
static void plan_window(double variance, float weight[RADIUS + 1])
{
    double value[RADIUS + 1] = {1}, sum = 1;
    for (int32_t k = 1; k <= RADIUS; k++) {
        value[k] = kbi_exp(-0.5 * k * k / variance);
        sum += 2 * value[k];
    }
    for (int32_t k = 0; k <= RADIUS; k++) weight[k] = (float)(value[k] / sum);
}

/* Adds n pixels of a row from x on to as many sums; beyond the image the border repeats. */
static void add_row(const kb_image *image, int32_t x, int32_t y, int32_t n, uint16_t *sums)
{
    const uint8_t *row = (const uint8_t *)image->data + kbi_clamp_i(y, 0, image->height - 1) * image->stride;
    if (x >= 0 && x <= image->width - n) {
        for (int32_t i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] + row[x + i]);
        return;
    }
    for (int32_t i = 0; i < n; i++) sums[i] = (uint16_t)(sums[i] + row[kbi_clamp_i(x + i, 0, image->width - 1)]);
}

/* The means of all blocks, of which the first begins at (x, y). */
static void mean_blocks(const kb_image *image, int32_t x, int32_t y, int32_t block, window_blocks out)
{
    float area = (float)(block * block);
    for (int32_t r = 0; r < SIDE; r++) {
        uint16_t sums[SIDE * MAX_BLOCK] = {0};
        for (int32_t j = 0; j < block; j++) add_row(image, x, y + r * block + j, SIDE * block, sums);
        for (int32_t c = 0; c < SIDE; c++) {
            int32_t sum = 0;
            for (int32_t i = 0; i < block; i++) sum += sums[c * block + i];
            out[r][c] = (float)sum / area;
        }
    }
}

/* 5x5 blurred blocks in the middle of others. */
static void blur(window_blocks in, const float weight[RADIUS + 1], float out[5][5])
{
    for (int32_t r = 0; r < 5; r++) {
        float sum[SIDE];
        for (int32_t c = 0; c < SIDE; c++) sum[c] = weight[0] * in[REACH + r - 2][c];
        for (int32_t k = 1; k <= RADIUS; k++)
            for (int32_t c = 0; c < SIDE; c++)
                sum[c] += weight[k] * (in[REACH + r - 2 - k][c] + in[REACH + r - 2 + k][c]);
        for (int32_t c = 0; c < 5; c++) {
            const float *at = sum + REACH + c - 2;
            out[r][c] = weight[0] * at[0];
            for (int32_t k = 1; k <= RADIUS; k++) out[r][c] += weight[k] * (at[-k] + at[k]);
        }
    }
}

static void determinants(float at[5][5], double out[3][3])
{
    for (int32_t r = 1; r <= 3; r++)
        for (int32_t c = 1; c <= 3; c++) {
            double xx = (double)at[r][c - 1] + at[r][c + 1] - 2.0 * at[r][c];
            double yy = (double)at[r - 1][c] + at[r + 1][c] - 2.0 * at[r][c];
            double xy = 0.25 * ((double)at[r - 1][c - 1] + at[r + 1][c + 1] - at[r - 1][c + 1] - at[r + 1][c - 1]);
            out[r - 1][c - 1] = xx * yy - xy * xy;
        }
}

/* det C^-2 in px^2 of the scale; a pixel of the scale is `ratio` blocks wide. Below 0 where the response has no top. */
static double noise_gain(double d[3][3], double ratio)
{
    double square = ratio * ratio, det = d[1][1] * square * square;
    double xx = d[1][0] + d[1][2] - 2 * d[1][1], yy = d[0][1] + d[2][1] - 2 * d[1][1];
    double xy = 0.25 * (d[0][0] + d[2][2] - d[0][2] - d[2][0]), curvature = xx * yy - xy * xy;
    if (!(det > 0 && xx < 0 && curvature > 0)) return -1;
    double width = d[1][1] * -0.5 * (xx + yy) / curvature / square; /* det / C */
    width = width < ROUNDEST ? ROUNDEST : width > FLATTEST ? FLATTEST : width;
    return width * width / (det < LEAST ? LEAST : det);
}

static double deviation_of(const kb_image *image, const kbi_exactness *e, const kb_keypoint *k)
{
    window_blocks in;
    float weight[RADIUS + 1], blurred[5][5];
    double det[3][3], scale = k->size / e->size;
    if (scale < FINEST) scale = FINEST;
    int32_t block = kbi_clamp_i((int32_t)(scale / BLOCK + 0.5), 1, MAX_BLOCK + 1);
    if (block > MAX_BLOCK) return scale * e->flat;
    double ratio = scale / block, half = 0.5 * (block - 1);
    int32_t left = (int32_t)floor(k->x - half + 0.5), above = (int32_t)floor(k->y - half + 0.5);
    plan_window(BLUR * ratio * ratio - (1 - 1.0 / (block * block)) / 12, weight);
    mean_blocks(image, left - REACH * block, above - REACH * block, block, in);
    blur(in, weight, blurred);
    determinants(blurred, det);
    double gain = noise_gain(det, ratio);
    return gain < 0 ? scale * e->flat : scale * sqrt(e->systematic * e->systematic + e->noise * e->noise * gain);
}

typedef struct deviation_job {
    kb_image image;
    const kbi_exactness *exactness;
    const kb_keypoint *keypoints;
    size_t n;
    int32_t pieces;
    float *deviation;
} deviation_job;

/* A keypoint that cannot be described has no place either. */
static void deviation_task(void *context, int32_t piece)
{
    const deviation_job *j = context;
    for (size_t i = kbi_piece(j->n, j->pieces, piece); i < kbi_piece(j->n, j->pieces, piece + 1); i++) {
        bool fine = kbi_keypoint_check(&j->keypoints[i], j->keypoints[i].size, j->image.width, j->image.height) == 0;
        j->deviation[i] = fine ? (float)deviation_of(&j->image, j->exactness, &j->keypoints[i]) : NAN;
    }
}

kb_status kb_keypoint_deviations(const kb_image *image, const kb_features *features, const kb_parallel *parallel,
                                 kb_workspace *workspace, float *deviations, kb_error *error)
{
    kb_features f;
    kbi_error_clear(error);
    kb_status status = kbi_features_read(&f, features, "features", KBI_KEYPOINTS, PTRDIFF_MAX, error);
    if (status != KB_OK) return status;
    const kbi_detector *row = kbi_detector_find(f.detector);
    if (!row) return kbi_fail_at(error, KB_E_UNKNOWN, "detector", -1, "there is no detector %d", (int)f.detector);
    if (f.n && !deviations) return kbi_fail(error, KB_E_ARGUMENT, "deviations: a pointer is NULL");
    deviation_job job = {.keypoints = f.keypoints, .n = f.n, .pieces = kbi_parallel_threads(parallel),
                         .deviation = deviations, .exactness = &row->exactness};
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    status = kbi_gray8(image, ws, &job.image);
    if (status == KB_OK) kbi_parallel_run(parallel, job.pieces, deviation_task, &job);
    return kbi_workspace_end(&local, status, "width, height, format", error);
}
