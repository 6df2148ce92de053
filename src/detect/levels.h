/* SPDX-License-Identifier: Apache-2.0 */
/* The pyramid that the corner detectors search: each level `step` times smaller than the one before, by bilinear
 * interpolation in integers. Pixel x of level n is centred at (x + 0.5) step^n - 0.5 of the image. */
#ifndef KBI_DETECT_LEVELS_H
#define KBI_DETECT_LEVELS_H

#include "detect/kernels.h"

typedef struct kbi_level {
    const uint8_t *data;
    int32_t width, height;
    ptrdiff_t stride;
    double factor; /* px of the image per pixel */
} kbi_level;

typedef struct kbi_levels {
    kbi_level level[KB_PYRAMID_MAX_LEVELS];
    uint8_t *made[KB_PYRAMID_MAX_LEVELS]; /* where a level is built */
    int32_t count;
    double step;
    bool in_place; /* one level in memory at a time: each takes the place of the one before */
    int32_t threads;
    const kb_parallel *parallel;
    const kbi_detect_kernels *kernels;
    int32_t target, pieces; /* the level being built, and by how many tasks */
    kbi_resize_map columns, rows;
    uint8_t *blended; /* a row of the level before, per task */
} kbi_levels;

/* The sizes of at most `max` levels whose sides are at least `smallest`; none is built. */
void kbi_levels_plan(kbi_levels *levels, const kb_image *image, int32_t max, double step, int32_t smallest);
/* Memory for what building needs beside the levels. */
bool kbi_levels_maps_get(kbi_levels *levels, kb_workspace *workspace);
/* Memory for the levels and the maps. */
bool kbi_levels_get(kbi_levels *levels, kb_workspace *workspace);
/* Builds a level out of the one before it, which was built last; level 0 is the image. */
void kbi_levels_build(kbi_levels *levels, int32_t level);

static inline const uint8_t *kbi_level_pixel(const kbi_level *level, int32_t x, int32_t y)
{
    return level->data + y * level->stride + x;
}
/* Where `place`, in pixels of a level, is in the image. */
static inline double kbi_level_to_image(double factor, double place) { return (place + 0.5) * factor - 0.5; }

#endif
