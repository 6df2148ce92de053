/* SPDX-License-Identifier: Apache-2.0 */
/* Image b as image a would show it, by a homography. */
#include <math.h>

#include "image/kernels.h"
#include "pair/pair.h"

typedef struct pair_warp {
    kbi_warp warp;
    const kbi_image_kernels *kernels;
    uint8_t *to;
    int32_t to_height, pieces;
} pair_warp;

static void warp_task(void *context, int32_t piece)
{
    const pair_warp *w = context;
    size_t end = kbi_piece((size_t)w->to_height, w->pieces, piece + 1);
    for (size_t y = kbi_piece((size_t)w->to_height, w->pieces, piece); y < end; y++)
        w->kernels->warp_row(&w->warp, (int32_t)y, w->to + y * (size_t)w->warp.to_width);
}

bool kbi_pair_derivative(const double h[9], double x, double y, double d[4])
{
    double u, v, w = h[6] * x + h[7] * y + h[8];
    kb_homography_apply(h, x, y, &u, &v);
    d[0] = (h[0] - u * h[6]) / w, d[1] = (h[1] - u * h[7]) / w;
    d[2] = (h[3] - v * h[6]) / w, d[3] = (h[4] - v * h[7]) / w;
    double area = d[0] * d[3] - d[1] * d[2];
    return area > 0 && area < 1e8;
}

/* Where image b has more pixels than image a, a coarser level of it is taken, so that nothing aliases. */
kb_status kbi_pair_warp(pair_job *job, const double h[9], kb_image *out)
{
    const kb_image *a = &job->sides[0].gray, *b = &job->sides[1].gray;
    kbi_pyramid levels;
    double d[4], step = 1;
    if (kbi_pair_derivative(h, 0.5 * a->width, 0.5 * a->height, d)) step = sqrt(d[0] * d[3] - d[1] * d[2]);
    kbi_pyramid_plan(&levels, b);
    int32_t level = kbi_pyramid_level_for(step, levels.count);
    kb_status status = kbi_pyramid_build(&levels, b, 1u << level, job->workspace);
    uint8_t *pixels = kbi_workspace_array(job->workspace, (size_t)a->width, (size_t)a->height);
    if (status != KB_OK || !pixels) return status != KB_OK ? status : KB_E_MEMORY;
    double f = 1 / kbi_pyramid_factor(level), shift = 0.5 * f - 0.5;
    kbi_warp warp = {.from = levels.data[level], .stride = levels.stride[level], .width = levels.width[level],
                     .height = levels.height[level], .to_width = a->width};
    for (int k = 0; k < 3; k++) {
        warp.h[k] = f * h[k] + shift * h[6 + k];
        warp.h[3 + k] = f * h[3 + k] + shift * h[6 + k];
        warp.h[6 + k] = h[6 + k];
    }
    if (warp.width < 2 || warp.height < 2) return KB_E_ARGUMENT;
    pair_warp w = {warp, kbi_image_kernels_get(), pixels, a->height, 0};
    w.pieces = kbi_min_i(4 * kbi_parallel_threads(job->options.parallel), w.to_height);
    kbi_parallel_run(job->options.parallel, w.pieces, warp_task, &w);
    *out = *a;
    out->data = pixels;
    out->stride = a->width;
    return KB_OK;
}
