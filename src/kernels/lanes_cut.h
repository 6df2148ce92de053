/* Cutting patches out of a level: the arithmetic of src/image/sampler.c. Template over kernels/vec.h.
 *
 * Scattered loads are dear, so none are made: the patch is cut in tiles of 4x4 samples. Samples are at most sqrt(1.5)
 * px apart, so a tile and its bilinear neighbours lie in a window of 8x8 px, however it is turned; 7 rows are enough
 * for most. The window goes into registers, and shuffles look the pixels up.
 *
 * Positions have 16 fractional bits. Within a tile every sample is at a fixed offset from the window's corner, which
 * is the least floor of its positions: whole and fraction apart, the sum of two fractions is again 16 bits, and its
 * carry moves the sample to the next pixel. Fractions are kept with their highest bit turned over, so that signed
 * compares tell the carry and s = floor(fraction / 1024) is fx - 32.
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

#define TILE         4
#define TILE_SAMPLES (TILE * TILE)
#define TILES_SIDE   (KB_PATCH_SIDE / TILE)
#define TILES        (TILES_SIDE * TILES_SIDE)
#define TILE_VECS    (TILE_SAMPLES / VEC_LANES)
#define WINDOW       8
#define COPY_SIDE    64        /* 28 samples of at most sqrt(3) px, and a window: 57.5 */
#define MAX_STRIDE   (1 << 24) /* offsets within a region have 32 bits */

typedef struct cut_plan {
    /* of each sample of a tile, against the window's corner */
    uint16_t fx[TILE_SAMPLES], fy[TILE_SAMPLES], carry_x[TILE_SAMPLES], carry_y[TILE_SAMPLES];
    uint16_t index[TILE_SAMPLES]; /* two bytes: the pixel in the window, and the one to its right */
    /* of each tile's corner */
    uint32_t x[TILES], y[TILES];      /* the fraction, its highest bit turned over, in both halves */
    int32_t offset[TILES];            /* bytes from (left, top) */
    int32_t first_x, first_y;         /* of tile 0 */
    int32_t left, top, right, bottom; /* pixels of the level that windows may touch; right and bottom are beyond */
    int32_t rows;                     /* of a window, 7 or 8 */
} cut_plan;

/* ---- plan ---- */

VEC_TARGET static void plan_samples(const kb_sampling *s, int32_t least_x, int32_t least_y, cut_plan *plan)
{
    for (int32_t k = 0; k < TILE_SAMPLES; k++) {
        int32_t i = k / TILE, j = k % TILE, x = j * s->a - i * s->b - least_x, y = j * s->b + i * s->a - least_y;
        plan->fx[k] = (uint16_t)x;
        plan->fy[k] = (uint16_t)y;
        plan->carry_x[k] = (uint16_t)(x ^ 0x8000);
        plan->carry_y[k] = (uint16_t)(y ^ 0x8000);
        plan->index[k] = (uint16_t)((VEC_WINDOW_FIRST + (y >> 16) * WINDOW + (x >> 16)) * 257 + 256);
    }
}

/* Where the windows lie: those of the tiles in the corners of the patch tell. */
static void plan_region(const kb_sampling *s, cut_plan *plan)
{
    int32_t far_x = (KB_PATCH_SIDE - TILE) * s->a, far_y = (KB_PATCH_SIDE - TILE) * s->b;
    plan->left = s->px + ((plan->first_x + kb_min_i(0, far_x) + kb_min_i(0, -far_y)) >> 16);
    plan->right = s->px + ((plan->first_x + kb_max_i(0, far_x) + kb_max_i(0, -far_y)) >> 16) + WINDOW;
    plan->top = s->py + ((plan->first_y + kb_min_i(0, far_x) + kb_min_i(0, far_y)) >> 16);
    plan->bottom = s->py + ((plan->first_y + kb_max_i(0, far_x) + kb_max_i(0, far_y)) >> 16) + WINDOW;
}

VEC_TARGET static void plan_cut(const kb_sampling *s, cut_plan *plan)
{
    int32_t a = s->a, b = s->b, reach = TILE - 1, half = KB_PATCH_SIDE / 2;
    int32_t least_x = kb_min_i(0, reach * a) + kb_min_i(0, -reach * b);
    int32_t least_y = kb_min_i(0, reach * b) + kb_min_i(0, reach * a);
    plan->first_x = s->x - half * a + half * b + least_x;
    plan->first_y = s->y - half * b - half * a + least_y;
    int32_t spread = reach * ((a < 0 ? -a : a) + (b < 0 ? -b : b)) + 65535;
    plan->rows = spread >> 16 <= 5 ? 7 : 8;
    plan_samples(s, least_x, least_y, plan);
    plan_region(s, plan);
}

/* The tiles' corners, for data whose rows are `stride` apart; one vec of 32-bit lanes after the other. */
VEC_TARGET static void plan_tiles(const kb_sampling *s, int32_t stride, cut_plan *plan)
{
    int32_t x[TILES_SIDE], y[TILES_SIDE], down_x = -TILE * s->b, down_y = TILE * s->a;
    for (int32_t j = 0; j < TILES_SIDE; j++) {
        x[j] = plan->first_x + j * TILE * s->a;
        y[j] = plan->first_y + j * TILE * s->b;
    }
    const vec left = v_set32((uint32_t)(plan->left - s->px)), top = v_set32((uint32_t)(plan->top - s->py));
    const vec rows = v_set32((uint32_t)stride), high = v_set(0x8000);
    const vec step_x = v_set32((uint32_t)down_x), step_y = v_set32((uint32_t)down_y);
    for (int32_t j = 0; j < TILES_SIDE; j += VEC_LANES / 2) {
        vec tile_x = v_loadu(x + j), tile_y = v_loadu(y + j);
        for (int32_t k = j; k < TILES; k += TILES_SIDE) {
            v_storeu(plan->x + k, v_xor(v_low_twice(tile_x), high));
            v_storeu(plan->y + k, v_xor(v_low_twice(tile_y), high));
            vec column = v_sub32(v_sar32(tile_x, 16), left), row = v_sub32(v_sar32(tile_y, 16), top);
            v_storeu(plan->offset + k, v_add32(v_mul32(row, rows), column));
            tile_x = v_add32(tile_x, step_x);
            tile_y = v_add32(tile_y, step_y);
        }
    }
}

/* ---- cut ---- */

/* Where samples lie in the window of their tile, and the weights of their pixels. */
typedef struct cut_places {
    vec index, weights, slope;
} cut_places;

VEC_INLINE cut_places find_places(const cut_plan *plan, int k, int tile)
{
    vec fx = v_add(v_set32(plan->x[tile]), v_loadu(plan->fx + k)),
        fy = v_add(v_set32(plan->y[tile]), v_loadu(plan->fy + k));
    vec step_x = v_gt(v_loadu(plan->carry_x + k), fx), step_y = v_gt(v_loadu(plan->carry_y + k), fy);
    return (cut_places){v_add8(v_sub8(v_loadu(plan->index + k), step_x), v_and(step_y, v_set(WINDOW * 257))),
                        v_add(v_high_s(v_and(fx, v_set(0xfc00)), v_set(255 * 64)), v_set(32 * 257)),
                        v_and(fy, v_set(0xfc00))};
}

VEC_INLINE vec cut_samples(const cut_places *places, const vec_window *window, int rows)
{
    vec upper, lower;
    v_window_at(window, places->index, rows, &upper, &lower);
    vec t = v_dot8(upper, places->weights), b = v_dot8(lower, places->weights), difference = v_sub(b, t);
    vec slope = v_high_s(v_add(difference, difference), places->slope);
    return v_mul_q15(v_add(v_add(t, b), slope), v_set(256));
}

/* Places first, for four tiles: otherwise every lookup would wait for its own. */
VEC_INLINE void cut_tiles(const cut_plan *plan, const uint8_t *data, ptrdiff_t stride, int rows, uint8_t *patch)
{
    for (int tile = 0; tile < TILES; tile += 4) {
        cut_places places[4 * TILE_VECS];
        vec samples[4 * TILE_VECS];
        VEC_UNROLL
        for (int k = 0; k < 4 * TILE_VECS; k++)
            places[k] = find_places(plan, k % TILE_VECS * VEC_LANES, tile + k / TILE_VECS);
        VEC_UNROLL
        for (int k = 0; k < 4; k++) {
            vec_window window = v_window(data + plan->offset[tile + k], stride, rows);
            VEC_UNROLL
            for (int v = k * TILE_VECS; v < (k + 1) * TILE_VECS; v++)
                samples[v] = cut_samples(&places[v], &window, rows);
        }
        v_store_tiles(samples, patch + tile / TILES_SIDE * TILE * KB_PATCH_SIDE + tile % TILES_SIDE * TILE);
    }
}

static void copy_bytes(uint8_t *to, const uint8_t *from, int32_t n)
{
    int32_t i = 0;
    for (; i + 16 <= n; i += 16) memcpy(to + i, from + i, 16);
    if (n >= 16) memcpy(to + n - 16, from + n - 16, 16);
    else for (; i < n; i++) to[i] = from[i];
}

/* The region that the windows touch, the border of the level repeated; rows are COPY_SIDE apart. Most regions leave
 * the level on one side only, and sizes that the compiler knows make it quick: what is filled in beyond the right end
 * is written over by the next row, and behind the last there is room for it. */
static void copy_region(const cut_plan *plan, const uint8_t *data, ptrdiff_t stride, int32_t width, int32_t height,
                        uint8_t *copy)
{
    int32_t columns = plan->right - plan->left;
    int32_t from = kb_clamp_i(-plan->left, 0, columns - 1), to = kb_clamp_i(width - plan->left, 1, columns);
    for (int32_t y = plan->top; y < plan->bottom; y++, copy += COPY_SIDE) {
        const uint8_t *row = data + kb_clamp_i(y, 0, height - 1) * stride;
        if (from > 0) memset(copy, row[0], COPY_SIDE);
        copy_bytes(copy + from, row + plan->left + from, to - from);
        if (to < columns) memset(copy + to, row[width - 1], COPY_SIDE);
    }
}

static bool region_inside(const cut_plan *plan, const kb_levels *levels, int32_t level)
{
    return plan->left >= 0 && plan->top >= 0 && plan->right <= levels->width[level] &&
           plan->bottom <= levels->height[level] && levels->stride[level] <= MAX_STRIDE;
}

VEC_TARGET static void cut_patch(const kb_sampling *s, const kb_levels *levels, uint8_t *patch)
{
    cut_plan plan;
    uint8_t copy[COPY_SIDE * (COPY_SIDE + 1)];
    plan_cut(s, &plan);
    ptrdiff_t stride = levels->stride[s->level];
    const uint8_t *data = levels->data[s->level];
    if (region_inside(&plan, levels, s->level)) {
        data += plan.top * stride + plan.left;
    } else {
        copy_region(&plan, data, stride, levels->width[s->level], levels->height[s->level], copy);
        data = copy;
        stride = COPY_SIDE;
    }
    plan_tiles(s, (int32_t)stride, &plan);
    if (plan.rows == 7)
        cut_tiles(&plan, data, stride, 7, patch);
    else
        cut_tiles(&plan, data, stride, 8, patch);
}

VEC_TARGET static void cut_lanes(const kb_sampling *samplings, int32_t n, const kb_levels *levels, uint8_t *patches)
{
    for (int32_t i = 0; i < n; i++) cut_patch(&samplings[i], levels, patches + (size_t)i * KB_PATCH_BYTES);
}

#endif
