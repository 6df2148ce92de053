/* The pyramid of the patch sampler: factors 1, 1.5, 2, 3, 4, 6, 8 ...
 *
 * Pixel k of a level with factor f covers the image from f k to f (k + 1) along each axis (pixel edges, not centres), so
 * image position p (centres at whole numbers) is (p + 0.5) / f - 0.5 in the level. Level 1 is the mean over 1.5 x 1.5
 * pixels: out of three pixels a b c come two, (2a + b) / 3 and (b + 2c) / 3, along both axes. Every later level is the mean
 * of 2 x 2 pixels of the level two before it. Sums are exact integers, rounded once a level. The last row and column repeat
 * where a level does not divide evenly. */
#include "image/image.h"

double kb_level_factor(int32_t level)
{
    double power = (double)((int64_t)1 << (level / 2));
    return level & 1 ? 1.5 * power : power;
}

int32_t kb_level_for(double step, int32_t count)
{
    /* The geometric means between neighbouring factors: sqrt(1 * 1.5) and sqrt(1.5 * 2), times a power of two. */
    const double first = 1.2247448713915890, second = 1.7320508075688772;
    int32_t level = 0;
    double power = 1;
    while (level + 1 < count && step >= (level & 1 ? second : first) * power) {
        if (level & 1) power *= 2;
        level++;
    }
    return level;
}

static int32_t level_side(int32_t side, int32_t level)
{
    if (level & 1) side = (2 * side + 2) / 3; /* two pixels for three, rounded up */
    for (int32_t i = level / 2; i > 0; i--) side = (side + 1) / 2;
    return side;
}

void kb_levels_plan(kb_levels *levels, const kb_image *gray)
{
    memset(levels, 0, sizeof *levels);
    levels->count = KB_LEVELS;
    for (int32_t i = 0; i < KB_LEVELS; i++) {
        levels->width[i] = level_side(gray->width, i);
        levels->height[i] = level_side(gray->height, i);
        levels->stride[i] = ((ptrdiff_t)levels->width[i] + 63) & ~(ptrdiff_t)63;
    }
    levels->data[0] = gray->data;
    levels->stride[0] = gray->stride;
}

/* Level 1 of the image, rows [from, to). */
static void shrink_two_thirds(const uint8_t *in, ptrdiff_t in_stride, int32_t in_width, int32_t in_height,
                              uint8_t *out, ptrdiff_t out_stride, int32_t out_width, int32_t out_height)
{
    for (int32_t y = 0; y < out_height; y++) {
        /* An even output pixel leans on the first of its two sources, an odd one on the second. */
        int32_t y0 = y / 2 * 3 + (y & 1), heavy_y = y & 1;
        const uint8_t *r0 = in + kb_min_i(y0, in_height - 1) * in_stride;
        const uint8_t *r1 = in + kb_min_i(y0 + 1, in_height - 1) * in_stride;
        const uint8_t *heavy = heavy_y ? r1 : r0, *light = heavy_y ? r0 : r1;
        uint8_t *to = out + y * out_stride;
        for (int32_t x = 0; x < out_width; x++) {
            int32_t x0 = kb_min_i(x / 2 * 3 + (x & 1), in_width - 1), x1 = kb_min_i(x / 2 * 3 + (x & 1) + 1, in_width - 1);
            int32_t hx = x & 1 ? x1 : x0, lx = x & 1 ? x0 : x1;
            uint32_t sum = 4u * heavy[hx] + 2u * heavy[lx] + 2u * light[hx] + light[lx];
            to[x] = (uint8_t)((sum + 4) / 9);
        }
    }
}

/* Level n + 2 of level n. */
static void shrink_half(const uint8_t *in, ptrdiff_t in_stride, int32_t in_width, int32_t in_height,
                        uint8_t *out, ptrdiff_t out_stride, int32_t out_width, int32_t out_height)
{
    for (int32_t y = 0; y < out_height; y++) {
        const uint8_t *r0 = in + 2 * y * in_stride;
        const uint8_t *r1 = in + kb_min_i(2 * y + 1, in_height - 1) * in_stride;
        uint8_t *to = out + y * out_stride;
        int32_t whole = in_width / 2;
        for (int32_t x = 0; x < whole; x++)
            to[x] = (uint8_t)((r0[2 * x] + r0[2 * x + 1] + r1[2 * x] + r1[2 * x + 1] + 2) >> 2);
        if (whole < out_width) to[whole] = (uint8_t)((2 * r0[2 * whole] + 2 * r1[2 * whole] + 2) >> 2);
    }
}

kb_status kb_levels_build(kb_levels *levels, const kb_image *gray, uint32_t wanted, kb_workspace *workspace)
{
    for (int32_t i = KB_LEVELS - 1; i >= 2; i--)
        if (wanted >> i & 1) wanted |= (uint32_t)1 << (i - 2);
    size_t bytes = 0;
    for (int32_t i = 1; i < KB_LEVELS; i++)
        if (wanted >> i & 1) bytes += (size_t)levels->stride[i] * (size_t)levels->height[i];
    uint8_t *room = kb_workspace_get(workspace, KB_SLOT_LEVELS, bytes);
    if (!room) return KB_E_MEMORY;

    levels->data[0] = gray->data;
    for (int32_t i = 1; i < KB_LEVELS; i++) {
        if (!(wanted >> i & 1)) continue;
        int32_t from = i == 1 ? 0 : i - 2;
        (i == 1 ? shrink_two_thirds : shrink_half)(levels->data[from], levels->stride[from], levels->width[from],
                                                   levels->height[from], room, levels->stride[i], levels->width[i],
                                                   levels->height[i]);
        levels->data[i] = room;
        room += (size_t)levels->stride[i] * (size_t)levels->height[i];
    }
    return KB_OK;
}
