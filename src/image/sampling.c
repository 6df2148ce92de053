/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* Sampling: an oriented square region of the image becomes grids of samples (docs/sampling.md).
 *
 * The region's resolution chooses a level of the pyramid; there, samples lie on a rotated grid and are read by
 * bilinear interpolation with 1/64 pixel steps. Only the set-up per keypoint uses floating
 * point (IEEE double, plain operations, so the same everywhere); the samples are integers. */
#include <math.h>

#include "image/image.h"

#define ONE 65536.0  /* fixed point of positions */

/* Whether the bilinear neighbours of all samples lie in the level: the grid's corners decide. */
static bool grid_inside(const kbi_sampling *s, int32_t side, int32_t width, int32_t height)
{
    for (int corner = 0; corner < 4; corner++) {
        int32_t j = corner & 1 ? side / 2 - 1 : -side / 2, i = corner & 2 ? side / 2 - 1 : -side / 2;
        int32_t x = s->px + ((s->x + j * s->a - i * s->b) >> 16), y = s->py + ((s->y + j * s->b + i * s->a) >> 16);
        if (x < 0 || y < 0 || x + 1 >= width || y + 1 >= height) return false;
    }
    return true;
}

uint8_t kbi_keypoint_check(const kb_keypoint *k, double region, int32_t width, int32_t height)
{
    float zero = k->x * 0 + k->y * 0 + k->angle * 0; /* NaN when one of them is not finite */
    if (!(zero == 0 && k->size > 0 && region > 0 && region <= KBI_WIDEST_REGION)) return KB_KP_INVALID;
    bool inside = k->x >= -0.5f && k->y >= -0.5f && k->x < (float)width - 0.5f && k->y < (float)height - 0.5f;
    return inside ? 0 : KB_KP_OUTSIDE;
}

uint8_t kbi_sampling_plan(kbi_sampling *sampling, const kb_keypoint *keypoint, double width, kbi_grid grid,
                          const kbi_pyramid *levels)
{
    int32_t side = grid.side;
    uint8_t refused = kbi_keypoint_check(keypoint, width, levels->width[0], levels->height[0]);
    sampling->level = -1;
    if (refused) return refused;

    double step = width / side, sine, cosine;
    kbi_sincos_degrees(keypoint->angle, &sine, &cosine);
    int32_t level = kbi_pyramid_level_for(kbi_grid_share(grid) * step, levels->count);
    double factor = kbi_pyramid_factor(level), scaled = ONE * step / factor;
    double x = ((double)keypoint->x + 0.5) / factor - 0.5, y = ((double)keypoint->y + 0.5) / factor - 0.5;
    sampling->level = level;
    sampling->px = kbi_floor_i(x);
    sampling->py = kbi_floor_i(y);
    /* Positions are truncated to 1/64 px when they are read; half of that is added here, so that they are rounded. */
    sampling->x = kbi_round_i((x - sampling->px) * ONE) + 512;
    sampling->y = kbi_round_i((y - sampling->py) * ONE) + 512;
    sampling->a = kbi_round_i(scaled * cosine);
    sampling->b = kbi_round_i(scaled * sine);
    if (kbi_on_cells(grid)) {
        sampling->x += kbi_cells_offset_x(sampling->a, sampling->b);
        sampling->y += kbi_cells_offset_y(sampling->a, sampling->b);
    }
    sampling->inside = grid_inside(sampling, side, levels->width[level], levels->height[level]);
    return (uint8_t)((sampling->inside ? 0 : KB_KP_BORDER) | (width < KB_SMALL_PATCH ? KB_KP_SMALL : 0));
}

/* Bilinear: weights (64 - fx, fx) x (64 - fy, fy), rounded once. */
static uint8_t blend_bilinear(uint32_t p00, uint32_t p01, uint32_t p10, uint32_t p11, uint32_t fx, uint32_t fy)
{
    uint32_t top = p00 * (64 - fx) + p01 * fx, bottom = p10 * (64 - fx) + p11 * fx;
    return (uint8_t)((top * (64 - fy) + bottom * fy + 2048) >> 12);
}

static void sample_inside(const kbi_sampling *s, int32_t side, const uint8_t *data, ptrdiff_t stride, uint8_t *patch)
{
    const uint8_t *base = data + s->py * stride + s->px;
    int32_t half = side / 2;
    for (int32_t i = -half; i < half; i++) {
        int32_t x = s->x - half * s->a - i * s->b, y = s->y - half * s->b + i * s->a;
        for (int32_t j = 0; j < side; j++, x += s->a, y += s->b) {
            const uint8_t *p = base + (y >> 16) * stride + (x >> 16);
            *patch++ = blend_bilinear(p[0], p[1], p[stride], p[stride + 1],
                                      (uint32_t)(x >> 10) & 63, (uint32_t)(y >> 10) & 63);
        }
    }
}

static void sample_clamped(const kbi_sampling *s, int32_t side, const uint8_t *data, ptrdiff_t stride, int32_t width,
                           int32_t height, uint8_t *patch)
{
    int32_t half = side / 2;
    for (int32_t i = -half; i < half; i++) {
        int32_t x = s->x - half * s->a - i * s->b, y = s->y - half * s->b + i * s->a;
        for (int32_t j = 0; j < side; j++, x += s->a, y += s->b) {
            int32_t ix = s->px + (x >> 16), iy = s->py + (y >> 16);
            int32_t x0 = kbi_clamp_i(ix, 0, width - 1), x1 = kbi_clamp_i(ix + 1, 0, width - 1);
            const uint8_t *r0 = data + kbi_clamp_i(iy, 0, height - 1) * stride;
            const uint8_t *r1 = data + kbi_clamp_i(iy + 1, 0, height - 1) * stride;
            *patch++ = blend_bilinear(r0[x0], r0[x1], r1[x0], r1[x1],
                                      (uint32_t)(x >> 10) & 63, (uint32_t)(y >> 10) & 63);
        }
    }
}

void kbi_sample_patch(const kbi_sampling *sampling, int32_t side, const kbi_pyramid *levels, uint8_t *patch)
{
    int32_t l = sampling->level;
    if (sampling->inside)
        sample_inside(sampling, side, levels->data[l], levels->stride[l], patch);
    else
        sample_clamped(sampling, side, levels->data[l], levels->stride[l], levels->width[l], levels->height[l], patch);
}

void kbi_patch_cells(const uint8_t *patch, uint8_t *cells)
{
    for (int32_t i = 0; i < KBI_CELLS_SIDE; i++, patch += 2 * KB_PATCH_SIDE)
        for (int32_t j = 0; j < KBI_CELLS_SIDE; j++) {
            const uint8_t *p = patch + 2 * j;
            *cells++ = (uint8_t)((p[0] + p[1] + p[KB_PATCH_SIDE] + p[KB_PATCH_SIDE + 1] + 2) >> 2);
        }
}

/* count x count means over squares `step` wide, the first from (start, start) on, in units of 1/64 pixel: pixel p
 * covers [64 p, 64 p + 64). They lie within the patch. Rounded to the nearest. */
static void average_squares(const uint8_t *in, int32_t side, int32_t start, int32_t step, int32_t count, uint8_t *out)
{
    const uint64_t area = (uint64_t)step * (uint64_t)step;
    for (int32_t i = 0; i < count; i++)
        for (int32_t j = 0; j < count; j++) {
            int32_t top = start + i * step, left = start + j * step;
            uint64_t sum = area / 2;
            for (int32_t y = top >> 6; y * 64 < top + step; y++) {
                const uint8_t *row = in + y * side;
                uint32_t high = (uint32_t)(kbi_min_i(64 * y + 64, top + step) - kbi_max_i(64 * y, top)), of_row = 0;
                for (int32_t x = left >> 6; x * 64 < left + step; x++) {
                    int32_t wide = kbi_min_i(64 * x + 64, left + step) - kbi_max_i(64 * x, left);
                    of_row += (uint32_t)wide * row[x];
                }
                sum += (uint64_t)high * of_row;
            }
            *out++ = (uint8_t)(sum / area);
        }
}

void kbi_patch_shrink(const uint8_t *in, int32_t side, uint8_t *patch)
{
    average_squares(in, side, 0, 2 * side, KB_PATCH_SIDE, patch);
}

void kbi_patch_octaves(const uint8_t *in, int32_t side, uint8_t *octaves)
{
    /* Octave k is side 2^(1 - k) pixels wide, so that its samples are side 2^(3 - k) units wide; octave 0, which the
     * patch does not show, is the patch as octave 1 is. */
    for (int32_t k = 0; k < KB_OCTAVES; k++) {
        int32_t step = side << 3 >> kbi_max_i(k, 1);
        average_squares(in, side, 32 * side - step * KB_OCTAVE_SIDE / 2, step, KB_OCTAVE_SIDE,
                        octaves + k * KBI_OCTAVE_BYTES);
    }
}
