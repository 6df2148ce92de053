/* SPDX-License-Identifier: Apache-2.0 */
/* -Os on x86: for old processors. */
/* FAST corners and their peaks for cores without vectors, where most pixels should cost a few instructions: every arc
 * of 9 holds one pixel of each pair of opposite ones, so pairs that fit neither a bright nor a dark arc end the test
 * early. It gives the same results as fast_rows.h. */
#include "detect/detect.h"

#ifdef __ARM_FEATURE_SIMD32
#    include <arm_acle.h>
#endif

#define RING KBI_FAST_CIRCLE
#define ARC 9

/* Bit i is set where the arc of 9 that begins at pixel i, of a circle that goes round, has all its bits set. */
static uint32_t arcs_of(uint32_t bits)
{
    bits |= bits << RING;
    uint32_t run = bits & bits >> 1;
    run &= run >> 2;
    run &= run >> 4;
    return run & bits >> 8 & 0xffff;
}

/* The score if there is an arc of pixels above the limit, all being multiplied by sign; else 0. Sign 1 looks for bright
 * ones, -1 for dark ones. */
static uint8_t score_of(const uint8_t *p, const ptrdiff_t ring[RING], int32_t sign, int32_t limit)
{
    uint32_t bits = 0;
    int32_t best = 0;
    for (int32_t i = RING; i-- > 0;) bits = bits << 1 | (uint32_t)((limit - p[ring[i]]) * sign) >> 31;
    uint32_t arcs = arcs_of(bits);
    for (int32_t i = 0; arcs; i++, arcs >>= 1) {
        if (!(arcs & 1)) continue;
        int32_t min = 255;
        for (int32_t k = i; k < i + ARC; k++) min = kbi_min_i(min, (p[ring[k & (RING - 1)]] - p[0]) * sign);
        best = kbi_max_i(best, min);
    }
    return (uint8_t)best;
}

/* Four pixels at a time that are no corners, where a core has instructions for that: of those above and below, or of
 * those left and right, none is bright enough, and none dark enough. */
#ifdef __ARM_FEATURE_SIMD32
static uint32_t four_bytes(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static bool four_without_corners(const uint8_t *p, const ptrdiff_t ring[RING], uint32_t threshold)
{
    uint32_t centre = four_bytes(p), high = __uqadd8(centre, threshold), low = __uqsub8(centre, threshold);
    uint32_t a = four_bytes(p + ring[0]), b = four_bytes(p + ring[8]);
    bool bright = __uqsub8(a, high) | __uqsub8(b, high), dark = __uqsub8(low, a) | __uqsub8(low, b);
    if (!bright && !dark) return true;
    a = four_bytes(p + ring[4]);
    b = four_bytes(p + ring[12]);
    return !(bright && (__uqsub8(a, high) | __uqsub8(b, high))) && !(dark && (__uqsub8(low, a) | __uqsub8(low, b)));
}
#endif

void kbi_fast_row_scalar(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold, uint8_t *score)
{
    const ptrdiff_t ring[RING] = KBI_FAST_AROUND(0, stride);
    const ptrdiff_t below = ring[0], left = ring[4], above = ring[8], right = ring[12];
    memset(score, 0, (size_t)width);
    for (int32_t x = 0; x < width; x++) {
#ifdef __ARM_FEATURE_SIMD32
        const uint32_t four = (uint32_t)threshold * 0x01010101u;
        while (x % 4 == 0 && x + 4 <= width && four_without_corners(row + x, ring, four)) x += 4;
        if (x == width) break;
#endif
        const uint8_t *p = row + x;
        int32_t high = p[0] + threshold, low = p[0] - threshold;
        int32_t a = p[above], b = p[below];
        bool bright = a > high || b > high, dark = a < low || b < low;
        if (!bright && !dark) continue;
        int32_t c = p[left], d = p[right];
        bright = bright && (c > high || d > high);
        dark = dark && (c < low || d < low);
        if (!bright && !dark) continue;
        for (int32_t i = 2; i < RING / 2 && (bright || dark); i += 4) {
            int32_t v = p[ring[i]], w = p[ring[i + RING / 2]];
            bright = bright && (v > high || w > high);
            dark = dark && (v < low || w < low);
        }
        if (bright) score[x] = score_of(p, ring, 1, high);
        if (dark && score[x] == 0) score[x] = score_of(p, ring, -1, low);
    }
}

void kbi_fast_scores_scalar(const kbi_fast_circles circles, int32_t n, uint8_t *score)
{
    ptrdiff_t ring[RING];
    for (int32_t i = 0; i < RING; i++) ring[i] = (i - RING) * KBI_FAST_BATCH;
    for (int32_t i = 0; i < n; i++) {
        const uint8_t *p = circles[RING] + i;
        score[i] = score_of(p, ring, 1, *p + 1);
        if (score[i] == 0) score[i] = score_of(p, ring, -1, *p - 1);
    }
}

int32_t kbi_peaks_row_scalar(const uint8_t *above, const uint8_t *middle, const uint8_t *below, int32_t width,
                             uint16_t *x)
{
    int32_t count = 0, end = width - 1;
    for (int32_t i = 1; i < end; i++) {
        uint32_t four;
        while (i + 4 <= end && (memcpy(&four, middle + i, 4), four == 0)) i += 4;
        if (i >= end) break;
        uint8_t v = middle[i];
        if (v <= above[i] || v <= middle[i - 1] || v < below[i] || v < middle[i + 1]) continue; /* 0 is above nothing */
        if (v <= above[i - 1] || v <= above[i + 1] || v < below[i - 1] || v < below[i + 1]) continue;
        x[count++] = (uint16_t)i;
    }
    return count;
}

/* Keeps a number in a register, so that Arm masks and shifts, or multiplies and adds, by one instruction. The loops
 * of four test at their ends, which takes fewer instructions where compilers aim at size. */
static inline uint32_t in_register(uint32_t number)
{
#ifdef __GNUC__
    __asm__("" : "+r"(number));
#endif
    return number;
}

/* Four bytes at a time, two in each half of a word. */
void kbi_blend_rows_scalar(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out)
{
    const uint32_t wb = (uint32_t)weight, wa = KBI_RESIZE_ONE - wb;
    const uint32_t mask = in_register(0x00ff00ff), half = in_register(0x00400040);
    const uint8_t *last = out + width;
    if (width >= 4) do {
            uint32_t p, q;
            memcpy(&p, a, 4);
            memcpy(&q, b, 4);
            uint32_t even = in_register((mask & q) * wb + half) + (mask & p) * wa;
            uint32_t odd = in_register((mask & q >> 8) * wb + half) + (mask & p >> 8) * wa;
            p = (mask & even >> KBI_RESIZE_BITS) | (mask & odd >> KBI_RESIZE_BITS) << 8;
            memcpy(out, &p, 4);
            a += 4;
            b += 4;
            out += 4;
        } while (last - out >= 4);
    for (; out < last; a++, b++, out++)
        *out = (uint8_t)((*a * wa + *b * wb + KBI_RESIZE_ONE / 2) >> KBI_RESIZE_BITS);
}

/* Four pixels at a time. */
void kbi_resize_row_scalar(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width, uint8_t *out)
{
    const int32_t *index = map.index, half = (int32_t)in_register(KBI_RESIZE_ONE / 2);
    const uint8_t *weight = map.weight, *next = in + 1;
    (void)in_width;
#define RESIZE_PIXEL(k)                                                                                                \
    {                                                                                                                  \
        int32_t at = index[k], a = in[at];                                                                             \
        out[k] = (uint8_t)(a + (((next[at] - a) * weight[k] + half) >> KBI_RESIZE_BITS));                              \
    }
    const uint8_t *last = out + width;
    if (width >= 4) do {
            RESIZE_PIXEL(0)
            RESIZE_PIXEL(1)
            RESIZE_PIXEL(2)
            RESIZE_PIXEL(3)
            index += 4;
            weight += 4;
            out += 4;
        } while (last - out >= 4);
    for (; out < last; index++, weight++, out++) RESIZE_PIXEL(0)
#undef RESIZE_PIXEL
}

/* Only the pixels inside of the disc, those on both sides of its axes together. */
float kbi_disc_angle_scalar(const uint8_t *centre, ptrdiff_t stride)
{
    int32_t x_moment = 0, y_moment = 0;
    for (int32_t x = 1; x <= KBI_DISC_RADIUS; x++) {
        x_moment += x * (centre[x] - centre[-x]);
        y_moment += x * (centre[x * stride] - centre[-x * stride]);
    }
    for (int32_t y = 1; y <= KBI_DISC_RADIUS; y++) {
        const uint8_t *below = centre + y * stride, *above = centre - y * stride;
        int32_t half = kbi_disc_half_width[y], rows = 0;
        for (int32_t x = 1; x <= half; x++) {
            int32_t a = below[x], b = below[-x], c = above[x], d = above[-x];
            x_moment += x * (a + c - b - d);
            rows += a + b - c - d;
        }
        y_moment += y * rows;
    }
    return kbi_direction(y_moment, x_moment);
}
