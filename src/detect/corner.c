/* Measures of a corner: Harris's response and the direction of the intensity centroid, both from integer sums.
 *
 * Harris: with a, b, c the sums of Ix^2, Iy^2 and Ix Iy over the 7x7 block around the corner (Ix, Iy by Sobel's 3x3
 * masks), the response is ab - c^2 - 0.04 (a + b)^2. Times 25 it is an integer, at most 25 (49 x 1020^2)^2 < 2^63.
 *
 * Centroid (Rosin): the direction of (sum of x I, sum of y I) over the disc. */
#include <math.h>

#include "detect/corner_rows.h"
#include "image/image.h"

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

/* ---- any image, any size ---- */

#define SUBPIXEL 256 /* moments are measured from the keypoint in 1/256 px, so that they stay integers */

/* Sums over the pixels inside both the disc and the image. */
static float region_angle(const kb_image *gray, const kb_keypoint *keypoint)
{
    double radius = keypoint->size * 0.5;
    int64_t cx = (int64_t)floor((double)keypoint->x * SUBPIXEL + 0.5);
    int64_t cy = (int64_t)floor((double)keypoint->y * SUBPIXEL + 0.5);
    int32_t top = kbi_clamp_i((int32_t)ceil(keypoint->y - radius), 0, gray->height);
    int32_t bottom = kbi_clamp_i((int32_t)floor(keypoint->y + radius), -1, gray->height - 1);
    int64_t x_moment = 0, y_moment = 0;
    for (int32_t y = top; y <= bottom; y++) {
        double dy = y - (double)keypoint->y, rest = radius * radius - dy * dy, half = rest > 0 ? sqrt(rest) : 0;
        int32_t left = kbi_clamp_i((int32_t)ceil(keypoint->x - half), 0, gray->width);
        int32_t right = kbi_clamp_i((int32_t)floor(keypoint->x + half), -1, gray->width - 1);
        const uint8_t *row = (const uint8_t *)gray->data + y * gray->stride;
        int64_t sum = 0, moment = 0;
        for (int32_t x = left; x <= right; x++) {
            sum += row[x];
            moment += (int64_t)x * row[x];
        }
        x_moment += moment * SUBPIXEL - sum * cx;
        y_moment += sum * (y * SUBPIXEL - cy);
    }
    return kbi_direction((double)y_moment, (double)x_moment);
}

static bool inside(const kb_image *gray, const kb_keypoint *k)
{
    return k->size > 0 && k->size <= 1048576.0f && k->x >= -0.5f && k->y >= -0.5f && k->x < (float)gray->width - 0.5f &&
           k->y < (float)gray->height - 0.5f;
}

typedef struct orient_job {
    const kb_image *gray;
    kb_keypoint *keypoints;
    size_t n;
    int32_t pieces;
} orient_job;

static void orient_task(void *context, int32_t piece)
{
    const orient_job *job = context;
    size_t end = kbi_piece(job->n, job->pieces, piece + 1);
    for (size_t i = kbi_piece(job->n, job->pieces, piece); i < end; i++) {
        kb_keypoint *k = &job->keypoints[i];
        k->angle = inside(job->gray, k) ? region_angle(job->gray, k) : -1.0f;
    }
}

kb_status kb_orient(const kb_image *image, kb_keypoint *keypoints, size_t n, const kb_orient_options *options,
                    kb_workspace *workspace)
{
    kb_orient_options o;
    kb_workspace local;
    kb_image gray;
    if (n > 0 && !keypoints) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_READ(kb_orient_options, &o, options);
    if (status != KB_OK) return status;
    workspace = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(workspace);
    status = kbi_gray8(image, workspace, &gray);
    if (status == KB_OK) {
        orient_job job = {&gray, keypoints, n, kbi_parallel_threads(o.parallel)};
        kbi_parallel_run(o.parallel, job.pieces, orient_task, &job);
    }
    kbi_workspace_rewind(workspace, mark);
    kbi_workspace_release(&local);
    return status;
}
