/* The oriented gradient planes of BAG (docs/bag.md).
 *
 * The patch is smoothed by 1-2-1 along both axes (kept as the sum of 16 weights, 0..4080), central differences give
 * (gx, gy), and both are scaled by one gain a patch, so that the mean gradient is KBI_PLANE_MEAN and contrast cancels.
 * Then every gradient is split on the two of eight directions that bound it: with major = max(|gx|, |gy|) and minor =
 * min(|gx|, |gy|) the direction along an axis gets major - minor, the diagonal one sqrt(2) minor; as vectors the two
 * add up to the gradient. */
#include "describe/describe.h"

#define SIDE KB_PATCH_SIDE

static void plane_smooth(const uint8_t *patch, uint16_t *out)
{
    uint16_t rows[KBI_PATCH_BYTES];
    for (int y = 0; y < SIDE; y++) {
        const uint8_t *p = patch + y * SIDE;
        for (int x = 0; x < SIDE; x++)
            rows[y * SIDE + x] = (uint16_t)(p[x ? x - 1 : 0] + 2 * p[x] + p[x < SIDE - 1 ? x + 1 : x]);
    }
    for (int y = 0; y < SIDE; y++) {
        const uint16_t *above = rows + (y ? y - 1 : 0) * SIDE, *here = rows + y * SIDE;
        const uint16_t *below = rows + (y < SIDE - 1 ? y + 1 : y) * SIDE;
        for (int x = 0; x < SIDE; x++) out[y * SIDE + x] = (uint16_t)(above[x] + 2 * here[x] + below[x]);
    }
}

/* The sum of the two parts that a gradient is split into: major - minor + sqrt(2) minor. */
static uint32_t octagonal_norm(int32_t gx, int32_t gy)
{
    uint32_t ax = (uint32_t)(gx < 0 ? -gx : gx), ay = (uint32_t)(gy < 0 ? -gy : gy);
    uint32_t major = ax > ay ? ax : ay, minor = ax > ay ? ay : ax;
    return major + (minor * KBI_ROOT_TWO_MINUS_1 >> 16);
}

/* v * gain / 65536, towards zero. */
static int16_t gradient_scaled(int32_t v, uint32_t gain)
{
    int32_t magnitude = (int32_t)((uint32_t)(v < 0 ? -v : v) * gain >> 16);
    return (int16_t)(v < 0 ? -magnitude : magnitude);
}

uint32_t kbi_plane_gain(uint32_t sum)
{
    /* 65536 KBI_PLANE_MEAN / (sum / 1024). Gradients are never made larger than they are: below a mean of KBI_PLANE_MEAN
     * (about 0.75 gray levels per sample) there is little but noise. */
    uint64_t gain = sum ? ((uint64_t)KBI_PLANE_MEAN << 26) / sum : 0;
    return gain > 65535 ? 65535 : (uint32_t)gain;
}

void kbi_gradients_of(const uint8_t *patch, kbi_gradients *g)
{
    uint16_t s[KBI_PATCH_BYTES];
    uint32_t sum = 0;
    plane_smooth(patch, s);
    for (int y = 0; y < SIDE; y++) {
        const uint16_t *above = s + (y ? y - 1 : 0) * SIDE, *below = s + (y < SIDE - 1 ? y + 1 : y) * SIDE;
        const uint16_t *here = s + y * SIDE;
        for (int x = 0; x < SIDE; x++) {
            int32_t gx = here[x < SIDE - 1 ? x + 1 : x] - here[x ? x - 1 : 0], gy = below[x] - above[x];
            g->x[y * SIDE + x] = (int16_t)gx;
            g->y[y * SIDE + x] = (int16_t)gy;
            sum += octagonal_norm(gx, gy);
        }
    }
    uint32_t gain = kbi_plane_gain(sum);
    for (int i = 0; i < KBI_PATCH_BYTES; i++) {
        g->x[i] = gradient_scaled(g->x[i], gain);
        g->y[i] = gradient_scaled(g->y[i], gain);
    }
}

void kbi_plane_of(const kbi_gradients *g, int32_t channel, uint8_t *plane)
{
    /* Signs of the plane's direction, clockwise on screen from +x: E, SE, S, SW, W, NW, N, NE. */
    static const int8_t toward[8][2] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    int32_t dx = toward[channel - 1][0], dy = toward[channel - 1][1];
    for (int i = 0; i < KBI_PATCH_BYTES; i++) {
        int32_t gx = g->x[i], gy = g->y[i], v;
        if (dx && dy) { /* diagonal */
            int32_t along_x = dx * gx, along_y = dy * gy, minor = along_x < along_y ? along_x : along_y;
            v = minor > 0 ? minor + (int32_t)((uint32_t)minor * KBI_ROOT_TWO_MINUS_1 >> 16) : 0;
        } else {
            int32_t along = dx * gx + dy * gy, across = dx ? gy : gx;
            v = kbi_max_i(0, along - (across < 0 ? -across : across));
        }
        plane[i] = (uint8_t)kbi_min_i(v, 255);
    }
}
