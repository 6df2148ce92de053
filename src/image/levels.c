/* The pyramid of the patch sampler: factors 1, 1.5, 2, 3, 4, 6, 8 ...
 *
 * Pixel k of a level with factor f covers the image from f k to f (k + 1) along each axis (pixel edges, not centres), so
 * image position p (centres at whole numbers) is (p + 0.5) / f - 0.5 in the level. Level 1 is the mean over 1.5 x 1.5
 * pixels: out of three pixels a b c come two, (2a + b) / 3 and (b + 2c) / 3, along both axes. Every later level is the mean
 * of 2 x 2 pixels of the level two before it. Sums are exact integers, rounded once a level. The last row and column repeat
 * where a level does not divide evenly. */
#include "image/image.h"
#include "kernels/kernels.h"

double kb_level_factor(int32_t level)
{
    double power = (double)((int64_t)1 << (level / 2));
    return level & 1 ? 1.5 * power : power;
}

int32_t kb_level_for(double step, int32_t count)
{
    /* The geometric means between neighbouring factors: sqrt(1 * 1.5) and sqrt(1.5 * 2), times a power of two. The power is
     * taken from the exponent of the IEEE number: step = mantissa * 2^exponent, mantissa from 1 to 2. */
    const double first = 1.2247448713915890, second = 1.7320508075688772;
    uint64_t bits, one = (uint64_t)1023 << 52;
    memcpy(&bits, &step, sizeof bits);
    int32_t exponent = (int32_t)(bits >> 52) - 1023;
    if (exponent < 0) return 0;
    bits = (bits & (((uint64_t)1 << 52) - 1)) | one;
    double mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    return kb_min_i(2 * exponent + (mantissa >= first) + (mantissa >= second), count - 1);
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

/* One level and the one that it is made of. */
typedef struct level_view {
    const uint8_t *data;
    int32_t width, height;
    ptrdiff_t stride;
} level_view;

static const uint8_t *row_of(const level_view *v, int32_t y) { return v->data + kb_min_i(y, v->height - 1) * v->stride; }

/* Level 1 of the image. An even output pixel leans on the first of its two sources, an odd one on the second. */
static void shrink_two_thirds(const kb_kernels *kernels, const level_view *in, const level_view *level, uint8_t *out)
{
    for (int32_t y = 0; y < level->height; y++, out += level->stride) {
        int32_t first = y / 2 * 3 + (y & 1);
        const uint8_t *heavy = row_of(in, first + (y & 1)), *light = row_of(in, first + !(y & 1));
        int32_t whole = in->width / 3;
        kernels->shrink_two_thirds(heavy, light, whole, out);
        for (int32_t x = 2 * whole; x < level->width; x++) {
            int32_t middle = kb_min_i(x / 2 * 3 + 1, in->width - 1), outer = kb_min_i(x / 2 * 3 + 2 * (x & 1), in->width - 1);
            out[x] = (uint8_t)((4 * heavy[outer] + 2 * heavy[middle] + 2 * light[outer] + light[middle] + 4) / 9);
        }
    }
}

/* Level n + 2 of level n. */
static void shrink_half(const kb_kernels *kernels, const level_view *in, const level_view *level, uint8_t *out)
{
    for (int32_t y = 0; y < level->height; y++, out += level->stride) {
        const uint8_t *upper = row_of(in, 2 * y), *lower = row_of(in, 2 * y + 1);
        int32_t whole = in->width / 2;
        kernels->shrink_half(upper, lower, whole, out);
        if (whole < level->width) out[whole] = (uint8_t)((upper[2 * whole] + lower[2 * whole] + 1) >> 1);
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

    kb_kernels kernels;
    kb_kernels_init(&kernels, kb_cpu_flags());
    levels->data[0] = gray->data;
    for (int32_t i = 1; i < KB_LEVELS; i++) {
        if (!(wanted >> i & 1)) continue;
        int32_t from = i == 1 ? 0 : i - 2;
        level_view in = {levels->data[from], levels->width[from], levels->height[from], levels->stride[from]};
        level_view level = {room, levels->width[i], levels->height[i], levels->stride[i]};
        (i == 1 ? shrink_two_thirds : shrink_half)(&kernels, &in, &level, room);
        levels->data[i] = room;
        room += (size_t)levels->stride[i] * (size_t)levels->height[i];
    }
    return KB_OK;
}
