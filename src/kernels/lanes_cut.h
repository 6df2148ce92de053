/* Cutting patches out of a level: the arithmetic of src/image/sampler.c. Template over kernels/vec.h.
 *
 * Scattered loads are dear, so none are made: the patch is cut in tiles of 4x4 samples. Samples are at most sqrt(1.5) px
 * apart, so a tile and its bilinear neighbours lie in a window of 8x8 px, however it is turned; 6 rows are enough for most.
 * The window goes into registers, and shuffles look the pixels up.
 *
 * Positions have 16 fractional bits. Within a tile every sample is at a fixed offset from the window's corner, which is the least
 * floor of its positions: whole and fraction apart, the sum of two fractions is again 16 bits, and its carry moves the sample
 * to the next pixel. Fractions are kept with their highest bit turned over, so that signed compares tell the carry and
 * s = floor(fraction / 1024) is fx - 32.
 *
 * Blending: with t and b the upper and lower pair, each weighted along x (times 64), and s = fy - 32 the sample is
 *     floor((t (64 - fy) + b fy + 2048) / 4096) = floor((t + b + floor((b - t) s / 32) + 64) / 128),
 * which stays in 16 bits.
 *
 * A patch whose windows would leave the level is cut out of a copy that repeats the border. */
#ifndef KB_LANES_CUT_H
#define KB_LANES_CUT_H

#include "describe/describe.h"
#include "kernels/vec.h"

#define TILE 4
#define TILE_SAMPLES (TILE * TILE)
#define TILES_SIDE (KB_PATCH_SIDE / TILE)
#define TILES (TILES_SIDE * TILES_SIDE)
#define TILE_VECS (TILE_SAMPLES / VEC_LANES)
#define WINDOW 8
#define COPY_SIDE 64        /* 28 samples of at most sqrt(3) px, and a window: 57.5 */
#define MAX_STRIDE (1 << 24) /* offsets within a region have 32 bits */

typedef struct cut_plan {
    /* of each sample of a tile, against the window's corner */
    uint16_t fx[TILE_SAMPLES], fy[TILE_SAMPLES], carry_x[TILE_SAMPLES], carry_y[TILE_SAMPLES];
    uint16_t index[TILE_SAMPLES]; /* two bytes: the pixel in the window, and the one to its right */
    /* of each tile's corner */
    int32_t x[TILES], y[TILES];             /* whole pixels from the keypoint's */
    uint32_t tile_fx[TILES], tile_fy[TILES]; /* the fraction, twice */
    int32_t offset[TILES];                  /* bytes from the least corner of all */
    int32_t left, top, right, bottom; /* of all corners */
    int32_t rows; /* of a window, 6 or 8 */
} cut_plan;

/* ---- plan ---- */

VEC_TARGET static void plan_tile(const kb_sampling *s, int32_t least_x, int32_t least_y, cut_plan *plan)
{
    for (int32_t k = 0; k < TILE_SAMPLES; k++) {
        int32_t i = k / TILE, j = k % TILE, x = j * s->a - i * s->b - least_x, y = j * s->b + i * s->a - least_y;
        plan->fx[k] = (uint16_t)x;
        plan->fy[k] = (uint16_t)y;
        plan->carry_x[k] = (uint16_t)(x ^ 0x8000);
        plan->carry_y[k] = (uint16_t)(y ^ 0x8000);
        plan->index[k] = (uint16_t)(((y >> 16) * WINDOW + (x >> 16)) * 257 + 256);
    }
}

VEC_TARGET static void plan_corners(int32_t x, int32_t y, int32_t a, int32_t b, cut_plan *plan)
{
    for (int32_t k = 0; k < TILES; k++) {
        int32_t i = k / TILES_SIDE, j = k % TILES_SIDE;
        int32_t tile_x = x + TILE * (j * a - i * b), tile_y = y + TILE * (j * b + i * a);
        plan->x[k] = tile_x >> 16;
        plan->y[k] = tile_y >> 16;
        plan->tile_fx[k] = (uint32_t)((tile_x & 0xffff) ^ 0x8000) * 0x10001u;
        plan->tile_fy[k] = (uint32_t)((tile_y & 0xffff) ^ 0x8000) * 0x10001u;
    }
}

VEC_TARGET static void plan_cut(const kb_sampling *s, cut_plan *plan)
{
    int32_t a = s->a, b = s->b, reach = TILE - 1;
    int32_t least_x = kb_min_i(0, reach * a) + kb_min_i(0, -reach * b);
    int32_t least_y = kb_min_i(0, reach * b) + kb_min_i(0, reach * a);
    plan_tile(s, least_x, least_y, plan);
    plan_corners(s->x - 16 * a + 16 * b + least_x, s->y - 16 * b - 16 * a + least_y, a, b, plan);
    const int32_t corner[4] = {0, TILES_SIDE - 1, TILES - TILES_SIDE, TILES - 1};
    plan->left = plan->right = plan->x[0];
    plan->top = plan->bottom = plan->y[0];
    for (int k = 1; k < 4; k++) {
        plan->left = kb_min_i(plan->left, plan->x[corner[k]]);
        plan->right = kb_max_i(plan->right, plan->x[corner[k]]);
        plan->top = kb_min_i(plan->top, plan->y[corner[k]]);
        plan->bottom = kb_max_i(plan->bottom, plan->y[corner[k]]);
    }
    int32_t spread = reach * ((a < 0 ? -a : a) + (b < 0 ? -b : b)) + 65535;
    plan->rows = spread >> 16 <= 4 ? 6 : 8;
}

/* ---- cut ---- */

VEC_INLINE vec cut_samples(const cut_plan *plan, int k, int tile, const vec_window *window, int rows)
{
    vec fx = v_add(v_set32(plan->tile_fx[tile]), v_loadu(plan->fx + k));
    vec fy = v_add(v_set32(plan->tile_fy[tile]), v_loadu(plan->fy + k));
    vec step_x = v_gt(v_loadu(plan->carry_x + k), fx), step_y = v_gt(v_loadu(plan->carry_y + k), fy);
    vec upper = v_add8(v_sub8(v_loadu(plan->index + k), step_x), v_and(step_y, v_set(WINDOW * 257)));
    vec lower = v_add8(upper, v_set(WINDOW * 257));
    vec weights = v_add(v_mul(v_sar(fx, 10), v_set(255)), v_set(32 * 255 + 64)); /* bytes 64 - fx and fx */
    vec t = v_dot8(v_window_at(window, upper, rows), weights);
    vec b = v_dot8(v_window_at(window, lower, rows), weights);
    vec difference = v_sub(b, t);
    vec slope = v_high_s(v_add(difference, difference), v_and(fy, v_set(0xfc00)));
    return v_mul_q15(v_add(v_add(t, b), slope), v_set(256));
}

VEC_INLINE void cut_tiles(const cut_plan *plan, const uint8_t *data, ptrdiff_t stride, int rows, uint8_t *patch)
{
    for (int tile = 0; tile < TILES; tile += 4) {
        vec samples[4 * TILE_VECS];
        for (int k = 0; k < 4; k++) {
            vec_window window = v_window(data + plan->offset[tile + k], stride, rows);
            for (int v = 0; v < TILE_VECS; v++)
                samples[k * TILE_VECS + v] = cut_samples(plan, v * VEC_LANES, tile + k, &window, rows);
        }
        v_store_tiles(samples, patch + tile / TILES_SIDE * TILE * KB_PATCH_SIDE + tile % TILES_SIDE * TILE);
    }
}

/* The part of the level that the windows touch, its border repeated. Column 0, row 0 is (left, top). */
static void copy_region(const uint8_t *data, ptrdiff_t stride, int32_t width, int32_t height, int32_t left, int32_t top,
                        int32_t columns, int32_t rows, uint8_t *copy)
{
    int32_t from = kb_clamp_i(-left, 0, columns - 1), to = kb_clamp_i(width - left, 1, columns); /* columns inside */
    for (int32_t r = 0; r < rows; r++, copy += COPY_SIDE) {
        const uint8_t *row = data + kb_clamp_i(top + r, 0, height - 1) * stride;
        memset(copy, row[0], (size_t)from);
        if (to > from) memcpy(copy + from, row + left + from, (size_t)(to - from));
        memset(copy + to, row[width - 1], (size_t)(columns - to));
    }
}

/* Where the tiles' corners lie from (left, top). */
VEC_TARGET static void place_corners(cut_plan *plan, int32_t stride)
{
    for (int k = 0; k < TILES; k++) plan->offset[k] = (plan->y[k] - plan->top) * stride + plan->x[k] - plan->left;
}

VEC_TARGET static void cut_lanes(const kb_sampling *samplings, int32_t n, const kb_levels *levels, uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++, patches += KB_PATCH_BYTES) {
        const kb_sampling *s = &samplings[i];
        cut_plan plan;
        uint8_t copy[COPY_SIDE * COPY_SIDE];
        plan_cut(s, &plan);
        int32_t width = levels->width[s->level], height = levels->height[s->level];
        int32_t left = s->px + plan.left, right = s->px + plan.right + WINDOW;
        int32_t top = s->py + plan.top, bottom = s->py + plan.bottom + WINDOW;
        ptrdiff_t stride = levels->stride[s->level];
        const uint8_t *data = levels->data[s->level];
        if (left < 0 || top < 0 || right > width || bottom > height || stride > MAX_STRIDE) {
            copy_region(data, stride, width, height, left, top, right - left, bottom - top, copy);
            data = copy;
            stride = COPY_SIDE;
        } else {
            data += top * stride + left;
        }
        place_corners(&plan, (int32_t)stride);
        if (plan.rows == 6) cut_tiles(&plan, data, stride, 6, patches);
        else cut_tiles(&plan, data, stride, 8, patches);
    }
}

#endif
