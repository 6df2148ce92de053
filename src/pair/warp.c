/* SPDX-License-Identifier: Apache-2.0 */
/* Image b as image a would show it, by a homography. */
#include <math.h>

#include "image/image.h"
#include "pair/pair.h"

#define BLOCK 8          /* pixels of a row between two divisions */
#define FRACTION 14      /* bits of coordinates between them */

typedef struct pair_warp {
    const uint8_t *from; /* image b, or a coarser level of it */
    ptrdiff_t stride;
    int32_t width, height;
    double h[9]; /* pixels of image a to pixels of `from` */
    uint8_t *to;
    int32_t to_width, to_height, pieces;
} pair_warp;

/* Two columns at once, in the halves of a word, which hold 255 x 256. */
static uint8_t bilinear(const uint8_t *from, ptrdiff_t stride, int32_t u, int32_t v)
{
    const uint8_t *p = from + (ptrdiff_t)(v >> FRACTION) * stride + (u >> FRACTION), *q = p + stride;
    uint32_t x = (uint32_t)u >> (FRACTION - 8) & 255, y = (uint32_t)v >> (FRACTION - 8) & 255;
    uint32_t columns =
        ((uint32_t)p[0] | (uint32_t)p[1] << 16) * (256 - y) + ((uint32_t)q[0] | (uint32_t)q[1] << 16) * y;
    return (uint8_t)(((columns & 65535) * (256 - x) + (columns >> 16) * x + 32768) >> 16);
}

/* A coordinate with its fraction; anything for one that is not finite. */
static int32_t fixed(double x)
{
    const double max = 1e5;
    return (int32_t)((x > -max ? x < max ? x : max : -max) * (1 << FRACTION));
}

static bool is_inside(const pair_warp *w, double x, double y)
{
    return x >= 0 && y >= 0 && x < w->width - 1 && y < w->height - 1;
}

/* Held inside the image. */
static int32_t held(int32_t x, int32_t size)
{
    int32_t max = ((size - 1) << FRACTION) - 1;
    return x > 0 ? x < max ? x : max : 0;
}

/* Coordinates are exact at the ends of a block and linear in between, which is off by a few hundredths of a pixel. */
static void warp_row(const pair_warp *w, int32_t y)
{
    uint8_t *restrict out = w->to + (size_t)y * (size_t)w->to_width;
    const uint8_t *from = w->from;
    const ptrdiff_t stride = w->stride;
    double u0, v0, u1, v1;
    kb_homography_apply(w->h, 0, y, &u0, &v0);
    for (int32_t x = 0; x < w->to_width; x += BLOCK, u0 = u1, v0 = v1) {
        int32_t n = kbi_min_i(BLOCK, w->to_width - x);
        kb_homography_apply(w->h, x + BLOCK, y, &u1, &v1);
        bool inside = is_inside(w, u0, v0) && is_inside(w, u1, v1);
        int32_t u = fixed(u0), v = fixed(v0), du = (fixed(u1) - u) / BLOCK, dv = (fixed(v1) - v) / BLOCK;
        for (int32_t k = 0; inside && k < n; k++, u += du, v += dv) out[x + k] = bilinear(from, stride, u, v);
        for (int32_t k = 0; !inside && k < n; k++, u += du, v += dv)
            out[x + k] = bilinear(from, stride, held(u, w->width), held(v, w->height));
    }
}

static void warp_task(void *context, int32_t piece)
{
    const pair_warp *w = context;
    size_t end = kbi_piece((size_t)w->to_height, w->pieces, piece + 1);
    for (size_t y = kbi_piece((size_t)w->to_height, w->pieces, piece); y < end; y++) warp_row(w, (int32_t)y);
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
    pair_warp w = {.from = levels.data[level], .stride = levels.stride[level], .width = levels.width[level],
                   .height = levels.height[level], .to = pixels, .to_width = a->width, .to_height = a->height};
    for (int k = 0; k < 3; k++) {
        w.h[k] = f * h[k] + shift * h[6 + k];
        w.h[3 + k] = f * h[3 + k] + shift * h[6 + k];
        w.h[6 + k] = h[6 + k];
    }
    if (w.width < 2 || w.height < 2) return KB_E_ARGUMENT;
    w.pieces = kbi_min_i(4 * kbi_parallel_threads(job->options.parallel), w.to_height);
    kbi_parallel_run(job->options.parallel, w.pieces, warp_task, &w);
    *out = *a;
    out->data = pixels;
    out->stride = a->width;
    return KB_OK;
}
