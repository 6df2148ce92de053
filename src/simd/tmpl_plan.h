/* SPDX-License-Identifier: Apache-2.0 */
/* The set-up of regions: the arithmetic of kbi_sampling_plan (src/image/sampling.c), operation for operation, as loops
 * over PLAN_GROUP keypoints without branches, which compilers turn into vector code. */
#ifndef KBI_TMPL_PLAN_H
#define KBI_TMPL_PLAN_H

#include "common/sincos.h"
#include "simd/kernels.h"
#include "simd/vec.h"

#define PLAN_GROUP 16

typedef struct plan_group {
    double x[PLAN_GROUP], y[PLAN_GROUP], angle[PLAN_GROUP], width[PLAN_GROUP];
    double sine[PLAN_GROUP], cosine[PLAN_GROUP], factor[PLAN_GROUP];
    int32_t level[PLAN_GROUP], px[PLAN_GROUP], py[PLAN_GROUP], fx[PLAN_GROUP], fy[PLAN_GROUP], a[PLAN_GROUP],
        b[PLAN_GROUP];
    int32_t columns[PLAN_GROUP], rows[PLAN_GROUP], inside[PLAN_GROUP]; /* of the level; whether it has all pixels */
} plan_group;

/* Reads keypoint i of the group; a refused one gets harmless numbers. Returns its flag. */
VEC_INLINE uint8_t plan_take(plan_group *g, int i, const kb_keypoint *k, double width_scale, const kbi_pyramid *levels)
{
    double width = width_scale * (double)k->size;
    float zero = k->x * 0 + k->y * 0 + k->angle * 0 + k->size * 0; /* NaN when one is not finite */
    bool valid = zero == 0 && k->size > 0 && width > 0 && width <= KBI_WIDEST_REGION;
    bool inside = k->x >= -0.5f && k->y >= -0.5f && k->x < (float)levels->width[0] - 0.5f &&
                  k->y < (float)levels->height[0] - 0.5f;
    bool good = valid && inside;
    g->x[i] = good ? k->x : 0;
    g->y[i] = good ? k->y : 0;
    g->angle[i] = good ? kbi_usable_degrees(k->angle) : 0;
    g->width[i] = good ? width : KB_PATCH_SIDE;
    return (uint8_t)(!valid ? KB_KP_INVALID : !inside ? KB_KP_OUTSIDE : 0);
}

VEC_TARGET static void plan_directions(plan_group *restrict g)
{
    for (int i = 0; i < PLAN_GROUP; i++) kbi_sincos_inline(g->angle[i], &g->sine[i], &g->cosine[i]);
}

/* Where one grid of every keypoint of the group lies in which level. */
VEC_TARGET static void plan_places(plan_group *restrict g, double per_side, kbi_grid grid, const kbi_pyramid *levels)
{
    const double share = kbi_grid_share(grid) * per_side;
    for (int i = 0; i < PLAN_GROUP; i++) g->level[i] = kbi_pyramid_level_for(g->width[i] * share, levels->count);
    for (int i = 0; i < PLAN_GROUP; i++) g->factor[i] = kbi_pyramid_factor(g->level[i]);
    for (int i = 0; i < PLAN_GROUP; i++) {
        g->columns[i] = levels->width[g->level[i]];
        g->rows[i] = levels->height[g->level[i]];
    }
    for (int i = 0; i < PLAN_GROUP; i++) {
        double scaled = 65536.0 * (g->width[i] * per_side) / g->factor[i];
        double x = (g->x[i] + 0.5) / g->factor[i] - 0.5, y = (g->y[i] + 0.5) / g->factor[i] - 0.5;
        int32_t px = kbi_floor_i(x), py = kbi_floor_i(y);
        g->px[i] = px;
        g->py[i] = py;
        g->fx[i] = (int32_t)((x - px) * 65536.0 + 0.5) + 512; /* rounded, since it is not negative */
        g->fy[i] = (int32_t)((y - py) * 65536.0 + 0.5) + 512;
        g->a[i] = kbi_round_i(scaled * g->cosine[i]);
        g->b[i] = kbi_round_i(scaled * g->sine[i]);
    }
    if (!kbi_on_cells(grid)) return;
    for (int i = 0; i < PLAN_GROUP; i++) {
        g->fx[i] += kbi_cells_offset_x(g->a[i], g->b[i]);
        g->fy[i] += kbi_cells_offset_y(g->a[i], g->b[i]);
    }
}

/* By the corners of the grid of samples, from -half to half - 1 along both axes. */
VEC_TARGET static void plan_inside(plan_group *restrict g, int32_t half)
{
    const int32_t first = -half, last = half - 1;
    for (int i = 0; i < PLAN_GROUP; i++) {
        int32_t a = g->a[i], b = g->b[i];
        int32_t least_a = kbi_min_i(first * a, last * a), most_a = kbi_max_i(first * a, last * a);
        int32_t least_b = kbi_min_i(first * b, last * b), most_b = kbi_max_i(first * b, last * b);
        int32_t left = g->px[i] + ((g->fx[i] + least_a - most_b) >> 16);
        int32_t right = g->px[i] + ((g->fx[i] + most_a - least_b) >> 16) + 1;
        int32_t top = g->py[i] + ((g->fy[i] + least_a + least_b) >> 16);
        int32_t bottom = g->py[i] + ((g->fy[i] + most_a + most_b) >> 16) + 1;
        g->inside[i] = (left >= 0) & (top >= 0) & (right < g->columns[i]) & (bottom < g->rows[i]);
    }
}

/* Returns the flags, KB_KP_SMALL only where `small` asks for it. */
VEC_INLINE uint8_t plan_give(const plan_group *g, int i, bool small, kbi_sampling *s)
{
    *s = (kbi_sampling){g->level[i], g->px[i], g->py[i], g->fx[i], g->fy[i], g->a[i], g->b[i], g->inside[i]};
    return (uint8_t)((g->inside[i] ? 0 : KB_KP_BORDER) | (small && g->width[i] < KB_SMALL_PATCH ? KB_KP_SMALL : 0));
}

VEC_TARGET static void plan_halve(plan_group *restrict g)
{
    for (int i = 0; i < PLAN_GROUP; i++) g->width[i] *= 0.5;
}

VEC_KERNEL void KERNEL(plan)(const kb_keypoint *keypoints, const uint32_t *which, int32_t n, double width_scale,
                             kbi_grid grid, const kbi_pyramid *levels, kbi_sampling *samplings, uint8_t *flags)
{
    const double per_side = 1.0 / grid.side; /* a power of two, so that products are quotients */
    const int32_t octaves = grid.octaves;
    for (int32_t first = 0; first < n; first += PLAN_GROUP) {
        plan_group g;
        int32_t count = kbi_min_i(PLAN_GROUP, n - first);
        for (int32_t i = 0; i < PLAN_GROUP; i++) {
            int32_t k = first + kbi_min_i(i, count - 1);
            flags[k] = plan_take(&g, i, &keypoints[which[k]], width_scale, levels);
        }
        plan_directions(&g);
        for (int32_t octave = 0; octave < octaves; octave++) {
            if (octave > 0) plan_halve(&g);
            plan_places(&g, per_side, grid, levels);
            plan_inside(&g, grid.side / 2);
            for (int32_t i = 0; i < count; i++) {
                int32_t k = first + i;
                kbi_sampling *s = &samplings[k * octaves + octave];
                if (flags[k] & (KB_KP_INVALID | KB_KP_OUTSIDE)) s->level = -1;
                else flags[k] |= plan_give(&g, i, octaves == 1 || octave == KBI_SMALL_OCTAVE, s);
            }
        }
    }
}

#endif
