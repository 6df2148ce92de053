/* FAST corners and their peaks for cores without vectors, where most pixels should cost a few instructions: every arc
 * of 9 holds one pixel of each pair of opposite ones, so pairs that fit neither a bright nor a dark arc end the test
 * early. Results are those of fast_rows.h. */
#include "detect/detect.h"

#define RING 16
#define ARC 9

/* The circle, clockwise on the screen from below the centre. */
static void ring_of(ptrdiff_t stride, ptrdiff_t ring[RING])
{
    static const int8_t x[RING] = {0, -1, -2, -3, -3, -3, -2, -1, 0, 1, 2, 3, 3, 3, 2, 1};
    static const int8_t y[RING] = {3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1, 0, 1, 2, 3};
    for (int32_t i = 0; i < RING; i++) ring[i] = y[i] * stride + x[i];
}

/* The largest least value of the arcs of `value`; differences may have either sign. */
static int32_t best_arc(const int16_t value[RING])
{
    int32_t best = INT16_MIN;
    for (int32_t i = 0; i < RING; i += 2) { /* arcs that begin at i and at i + 1 share the 8 between */
        int32_t shared = value[i + 1];
        for (int32_t k = i + 2; k <= i + 8 && shared > best; k++) shared = kbi_min_i(shared, value[k & (RING - 1)]);
        if (shared <= best) continue;
        int32_t end = kbi_max_i(value[i], value[(i + ARC) & (RING - 1)]);
        best = kbi_max_i(best, kbi_min_i(shared, end));
    }
    return best;
}

/* Whether 9 bits in a row of the 16, which go round, are set. */
static bool has_arc(uint32_t bits)
{
    bits |= bits << RING;
    uint32_t run = bits & bits >> 1;
    run &= run >> 2;
    run &= run >> 4;
    return run & bits >> 8 & 0xffff;
}

/* The score if there is an arc, else 0. sign +1: brighter than the centre; -1: darker. */
static uint8_t score_of(const uint8_t *p, const ptrdiff_t ring[RING], int32_t sign, int32_t threshold)
{
    int16_t value[RING];
    uint32_t bits = 0;
    for (int32_t i = 0; i < RING; i++) {
        int32_t v = sign * (p[ring[i]] - p[0]);
        value[i] = (int16_t)v;
        bits |= (uint32_t)(v > threshold) << i;
    }
    return has_arc(bits) ? (uint8_t)best_arc(value) : 0;
}

void kbi_fast_row_scalar(const uint8_t *row, ptrdiff_t stride, int32_t width, int32_t threshold, uint8_t *score)
{
    ptrdiff_t ring[RING];
    ring_of(stride, ring);
    const ptrdiff_t below = ring[0], left = ring[4], above = ring[8], right = ring[12];
    for (int32_t x = 0; x < width; x++) {
        const uint8_t *p = row + x;
        int32_t high = p[0] + threshold, low = p[0] - threshold;
        int32_t a = p[above], b = p[below];
        score[x] = 0;
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
        if (bright) score[x] = score_of(p, ring, 1, threshold);
        if (dark && score[x] == 0) score[x] = score_of(p, ring, -1, threshold);
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

/* Four bytes at a time, two in each half of a word. */
void kbi_blend_rows_scalar(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out)
{
    const uint32_t wb = (uint32_t)weight, wa = KBI_RESIZE_ONE - wb, mask = 0x00ff00ff, half = 0x00400040;
    int32_t i = 0;
    for (; i + 4 <= width; i += 4) {
        uint32_t p, q;
        memcpy(&p, a + i, 4);
        memcpy(&q, b + i, 4);
        uint32_t even = ((p & mask) * wa + (q & mask) * wb + half) >> KBI_RESIZE_BITS & mask;
        uint32_t odd = ((p >> 8 & mask) * wa + (q >> 8 & mask) * wb + half) >> KBI_RESIZE_BITS & mask;
        p = even | odd << 8;
        memcpy(out + i, &p, 4);
    }
    for (; i < width; i++)
        out[i] = (uint8_t)((a[i] * wa + b[i] * wb + KBI_RESIZE_ONE / 2) >> KBI_RESIZE_BITS);
}
