/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The pyramid that regions are sampled from: factors 1, 1.5, 2, 3, 4, 6, 8 ...
 *
 * Pixel k of a level with factor f covers the image from f k to f (k + 1) along each axis (pixel edges, not centres),
 * so image position p (centres at whole numbers) is (p + 0.5) / f - 0.5 in the level. Level 1 is the mean over 1.5 x
 * 1.5 pixels: three pixels a b c become two, (2a + b) / 3 and (b + 2c) / 3, along both axes. Every later level
 * is the mean of 2 x 2 pixels of the level two before it. Sums are exact integers, rounded once per level. The last row
 * and column repeat where a level does not divide evenly. */
#include "image/kernels.h"

static int32_t level_side(int32_t side, int32_t level)
{
    if (level & 1) side = (2 * side + 2) / 3; /* two pixels for three, rounded up */
    for (int32_t i = level / 2; i > 0; i--) side = (side + 1) / 2;
    return side;
}

static ptrdiff_t stride_for(int32_t width) { return ((ptrdiff_t)width + 63) & ~(ptrdiff_t)63; }

void kbi_pyramid_plan(kbi_pyramid *levels, const kb_image *gray)
{
    memset(levels, 0, sizeof *levels);
    levels->count = KBI_PYRAMID_LEVELS;
    for (int32_t i = 0; i < KBI_PYRAMID_LEVELS; i++) {
        levels->width[i] = level_side(gray->width, i);
        levels->height[i] = level_side(gray->height, i);
        levels->stride[i] = stride_for(levels->width[i]);
    }
    levels->data[0] = gray->data;
    levels->stride[0] = gray->stride;
}

/* Levels are made in strips of STRIP image rows, all levels of a strip one after the other while its pixels are in the
 * cache. A strip has a whole number of rows of the levels up to IN_STRIPS, so strips need nothing from each other. */
#define STRIP 96
#define IN_STRIPS 11

static int32_t rows_of_strip(int32_t level) { return (level & 1 ? STRIP * 2 / 3 : STRIP) >> (level / 2); }

static const uint8_t *level_row(const kbi_pyramid *l, int32_t level, int32_t y)
{
    return l->data[level] + kbi_min_i(y, l->height[level] - 1) * l->stride[level];
}

/* A row of level 1 of the image. An even output pixel has more weight on the first of its two sources, an odd one
 * on the second. */
static void shrink_two_thirds(const kbi_pyramid *l, const kbi_image_kernels *kernels, int32_t y, uint8_t *out)
{
    int32_t first = y / 2 * 3 + (y & 1), whole = l->width[0] / 3, last = l->width[0] - 1;
    const uint8_t *heavy = level_row(l, 0, first + (y & 1)), *light = level_row(l, 0, first + !(y & 1));
    kernels->shrink_two_thirds(heavy, light, whole, out);
    for (int32_t x = 2 * whole; x < l->width[1]; x++) {
        int32_t middle = kbi_min_i(x / 2 * 3 + 1, last), outer = kbi_min_i(x / 2 * 3 + 2 * (x & 1), last);
        out[x] = (uint8_t)((4 * heavy[outer] + 2 * heavy[middle] + 2 * light[outer] + light[middle] + 4) / 9);
    }
}

/* A row of a level from the level two before it. */
static void shrink_half(const kbi_pyramid *l, const kbi_image_kernels *kernels, int32_t level, int32_t y, uint8_t *out)
{
    const uint8_t *upper = level_row(l, level - 2, 2 * y), *lower = level_row(l, level - 2, 2 * y + 1);
    int32_t whole = l->width[level - 2] / 2;
    kernels->shrink_half(upper, lower, whole, out);
    if (whole < l->width[level]) out[whole] = (uint8_t)((upper[2 * whole] + lower[2 * whole] + 1) >> 1);
}

static void repeat_ends(uint8_t *row, int32_t width, int32_t margin)
{
    memset(row - margin, row[0], (size_t)margin);
    memset(row + width, row[width - 1], (size_t)margin);
}

/* Copies a finished row to the margin above (step -1) or below it. */
static void repeat_row(const kbi_pyramid *l, int32_t level, uint8_t *row, int step)
{
    const int32_t margin = l->margin[level];
    for (int32_t i = 1; i <= margin; i++)
        memcpy(row - margin + step * i * l->stride[level], row - margin, (size_t)(l->width[level] + 2 * margin));
}

static void build_rows(const kbi_pyramid *l, const kbi_image_kernels *kernels, int32_t level, int32_t from, int32_t to)
{
    for (int32_t y = from; y < to; y++) {
        uint8_t *out = l->made[level] + y * l->stride[level];
        if (level == 1) shrink_two_thirds(l, kernels, y, out);
        else shrink_half(l, kernels, level, y, out);
        if (l->margin[level] > 0) repeat_ends(out, l->width[level], l->margin[level]);
        if (y == 0) repeat_row(l, level, out, -1);
        if (y == l->height[level] - 1) repeat_row(l, level, out, 1);
    }
}

/* Takes memory for all levels, wanted or not: the need of a call must not depend on the content of its image. */
kb_status kbi_pyramid_get(kbi_pyramid *levels, const kb_image *gray, int32_t margin, kb_workspace *workspace)
{
    kbi_pyramid_plan(levels, gray);
    for (int32_t i = 1; i < KBI_PYRAMID_LEVELS; i++) {
        const int32_t around = levels->margin[i] = i <= IN_STRIPS ? margin : 0;
        const ptrdiff_t stride = levels->stride[i] = stride_for(levels->width[i] + 2 * around);
        uint8_t *data = kbi_workspace_array(workspace, (size_t)stride, (size_t)(levels->height[i] + 2 * around));
        if (!data) return KB_E_MEMORY;
        levels->data[i] = levels->made[i] = data + around * stride + around;
    }
    return KB_OK;
}

typedef struct strip_job {
    const kbi_pyramid *levels;
    const kbi_image_kernels *kernels;
} strip_job;

static void make_strip(void *context, int32_t strip)
{
    const strip_job *job = context;
    for (int32_t i = 1; i <= IN_STRIPS; i++) {
        int32_t rows = rows_of_strip(i), from = strip * rows;
        if (job->levels->wanted >> i & 1)
            build_rows(job->levels, job->kernels, i, from, kbi_min_i(from + rows, job->levels->height[i]));
    }
}

void kbi_pyramid_make(kbi_pyramid *levels, const kbi_image_kernels *kernels, uint32_t wanted,
                      const kb_parallel *parallel)
{
    for (int32_t i = KBI_PYRAMID_LEVELS - 1; i > 2; i--)
        if (wanted >> i & 1) wanted |= (uint32_t)1 << (i - 2);
    levels->wanted = wanted;
    strip_job job = {levels, kernels};
    if (wanted >> 1) kbi_parallel_run(parallel, (levels->height[0] + STRIP - 1) / STRIP, make_strip, &job);
    for (int32_t i = IN_STRIPS + 1; i < KBI_PYRAMID_LEVELS; i++)
        if (wanted >> i & 1) build_rows(levels, kernels, i, 0, levels->height[i]);
}

kb_status kbi_pyramid_build(kbi_pyramid *levels, const kb_image *gray, uint32_t wanted, kb_workspace *workspace)
{
    kb_status status = kbi_pyramid_get(levels, gray, 0, workspace);
    if (status == KB_OK) kbi_pyramid_make(levels, kbi_image_kernels_get(), wanted, NULL);
    return status;
}
