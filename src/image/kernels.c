/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* The plain C kernels of this module. */
#include "image/warp_rows.h"

static void shrink_half_c(const uint8_t *upper, const uint8_t *lower, int32_t n, uint8_t *out)
{
    for (int32_t x = 0; x < n; x++)
        out[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
}

static void shrink_two_thirds_c(const uint8_t *heavy, const uint8_t *light, int32_t n, uint8_t *out)
{
    for (int32_t x = 0; x < n; x++, heavy += 3, light += 3, out += 2) {
        out[0] = (uint8_t)((4 * heavy[0] + 2 * heavy[1] + 2 * light[0] + light[1] + 4) / 9);
        out[1] = (uint8_t)((4 * heavy[2] + 2 * heavy[1] + 2 * light[2] + light[1] + 4) / 9);
    }
}

static void plan_c(const kb_keypoint *keypoints, const uint32_t *which, int32_t n, double width_scale, kbi_grid grid,
                   const kbi_pyramid *levels, kbi_sampling *samplings, uint8_t *flags)
{
    const int32_t octaves = grid.octaves;
    for (int32_t i = 0; i < n; i++, samplings += octaves) {
        const kb_keypoint *keypoint = &keypoints[which[i]];
        double width = width_scale * (double)keypoint->size;
        uint8_t all = kbi_sampling_plan(samplings, keypoint, width, grid, levels);
        bool usable = samplings->level >= 0;
        if (octaves > 1) all &= (uint8_t)~KB_KP_SMALL;
        for (int32_t k = 1; k < octaves; k++) {
            uint8_t one = kbi_sampling_plan(&samplings[k], keypoint, width / (1 << k), grid, levels);
            if (!usable) samplings[k].level = -1;
            else all |= one & (k == KBI_SMALL_OCTAVE ? KB_KP_BORDER | KB_KP_SMALL : KB_KP_BORDER);
        }
        flags[i] = all;
    }
}

static void sample_c(const kbi_sampling *samplings, int32_t n, kbi_grid grid, const kbi_pyramid *levels, uint8_t *grids)
{
    const size_t bytes = (size_t)(grid.side * grid.side), octaves = (size_t)grid.octaves;
    for (size_t i = 0; i < (size_t)n; i++)
        for (size_t k = 0; k < octaves; k++)
            kbi_sample_patch(samplings++, grid.side, levels, grids + (k * (size_t)n + i) * bytes);
}

const kbi_image_kernels kbi_image_kernels_c = {.batch = 4, /* more gains nothing: patches go one after the other */
                                               .margin = 0,
                                               .shrink_half = shrink_half_c,
                                               .shrink_two_thirds = shrink_two_thirds_c,
                                               .plan = plan_c,
                                               .sample = sample_c,
                                               .warp_row = kbi_warp_row};
