/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling regions that are not turned: the arithmetic of kbi_sample_patch (src/image/sampling.c) where b is 0. Then
 * all rows of samples have the same columns of pixels. So every row of pixels is weighted along x once, and two
 * neighbouring rows are blended as in simd/tmpl_sample.h. Columns are looked up by clamped numbers, so that a border
 * needs no copy. Template over simd/vec.h, for vecs of 8 and 16 lanes. */
#ifndef KBI_TMPL_UPRIGHT_H
#define KBI_TMPL_UPRIGHT_H

#include "describe/describe.h"
#include "simd/vec.h"

#define UPRIGHT_COLUMNS 16 /* pixels that 8 samples touch, at most: they are at most 1.75 px apart */

VEC_INLINE bool upright_serves(const kbi_sampling *s, const kbi_pyramid *levels)
{
    return s->b == 0 && s->a >= 0 && levels->width[s->level] >= UPRIGHT_COLUMNS;
}

#if !defined(KBI_VEC_AVX512) && !defined(KBI_VEC_WASM)

#define UPRIGHT_ROWS    58 /* pixels that 32 samples touch, at most */
#define UPRIGHT_VECS    (KB_PATCH_SIDE / VEC_LANES)

/* VEC_LANES neighbouring samples of every row. */
typedef struct upright_columns {
    uint16_t index[VEC_LANES], weights[VEC_LANES]; /* two bytes each: of the pixel and of the one to its right */
    int32_t first, step; /* the first of the UPRIGHT_COLUMNS pixels of 8 samples, and the step to the next 8 samples' */
} upright_columns;

typedef struct upright_plan {
    int32_t side, side_bits; /* 1 << side_bits samples in a row */
    int32_t top, rows;       /* rows of the level, from `top` on */
    int32_t upper[KB_PATCH_SIDE], lower[KB_PATCH_SIDE], slope[KB_PATCH_SIDE]; /* of every row of samples */
    upright_columns columns[UPRIGHT_VECS];
} upright_plan;

VEC_INLINE void upright_plan_columns(const kbi_sampling *s, int32_t from, int32_t width, upright_columns *c)
{
    int32_t first[2];
    for (int k = 0; k < VEC_LANES / 8; k++)
        first[k] = kbi_clamp_i(s->px + ((s->x + (from + 8 * k) * s->a) >> 16), 0, width - UPRIGHT_COLUMNS);
    c->first = first[0];
    c->step = VEC_LANES > 8 ? first[1] - first[0] : 0;
    for (int j = 0; j < VEC_LANES; j++) {
        int32_t x = s->x + (from + j) * s->a, at = s->px + (x >> 16), base = c->first + (j >= 8 ? c->step : 0);
        int32_t left = kbi_clamp_i(at, 0, width - 1) - base, right = kbi_clamp_i(at + 1, 0, width - 1) - base;
        c->index[j] = (uint16_t)(left | right << 8);
        c->weights[j] = (uint16_t)(64 + 255 * (x >> 10 & 63));
    }
}

VEC_INLINE void upright_plan_make(const kbi_sampling *s, int32_t side, const kbi_pyramid *levels, upright_plan *plan)
{
    const int32_t half = side / 2, last = levels->height[s->level] - 1, first_y = s->y - half * s->a;
    plan->side = side;
    plan->side_bits = side == KBI_CELLS_SIDE ? 4 : 5;
    plan->top = kbi_clamp_i(s->py + (first_y >> 16), 0, last);
    for (int32_t i = 0; i < side; i++) {
        int32_t y = first_y + i * s->a, at = s->py + (y >> 16);
        plan->upper[i] = (kbi_clamp_i(at, 0, last) - plan->top) * side;
        plan->lower[i] = (kbi_clamp_i(at + 1, 0, last) - plan->top) * side;
        plan->slope[i] = ((y >> 10 & 63) - 32) * 1024;
    }
    plan->rows = plan->lower[side - 1] / side + 1;
    for (int32_t k = 0; k < side / VEC_LANES; k++)
        upright_plan_columns(s, k * VEC_LANES - half, levels->width[s->level], &plan->columns[k]);
}

/* Samples from number k on, VEC_LANES of them. */
VEC_INLINE vec upright_blend(const upright_plan *plan, const uint16_t *rows, int32_t k)
{
    const int32_t i = k >> plan->side_bits, j = k & (plan->side - 1);
    vec t = v_loadu(rows + plan->upper[i] + j), b = v_loadu(rows + plan->lower[i] + j);
    return v_mul_q15(v_add(v_add(t, b), v_high_twice(v_sub(b, t), v_set(plan->slope[i]))), v_set(256));
}

VEC_INLINE void upright_cut(const kbi_sampling *s, int32_t side, const kbi_pyramid *levels, uint8_t *patch)
{
    uint16_t rows[UPRIGHT_ROWS * KB_PATCH_SIDE];
    upright_plan plan;
    upright_plan_make(s, side, levels, &plan);
    const ptrdiff_t stride = levels->stride[s->level];
    for (int32_t k = 0; k < side / VEC_LANES; k++) {
        const upright_columns *c = &plan.columns[k];
        const uint8_t *from = levels->data[s->level] + plan.top * stride + c->first;
        const vec index = v_loadu(c->index), weights = v_loadu(c->weights);
        for (int32_t y = 0; y < plan.rows; y++, from += stride)
            v_storeu(rows + y * side + k * VEC_LANES, v_dot8(v_lookup16(v_load2(from, c->step), index), weights));
    }
    for (int32_t k = 0; k < side * side; k += 2 * VEC_LANES)
        v_storeu(patch + k, v_join8(upright_blend(&plan, rows, k), upright_blend(&plan, rows, k + VEC_LANES)));
}

VEC_KERNEL void KERNEL(sample_upright)(const kbi_sampling *s, int32_t side, const kbi_pyramid *levels, uint8_t *patch)
{
    if (side == KBI_CELLS_SIDE) upright_cut(s, KBI_CELLS_SIDE, levels, patch);
    else upright_cut(s, KB_PATCH_SIDE, levels, patch);
}

#endif

#endif
