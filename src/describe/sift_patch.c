/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* SIFT of a 32x32 patch in integers (docs/hashsift.md): blur, gradients, eight orientation planes, 4x4 spatial bins,
 * and the normalisations. A histogram entry is (row of bins, column of bins, orientation), orientation fastest.
 *
 * Orientation runs over planes instead of a scatter, and bins are pooled by separable weights, so that many patches
 * can go through it side by side in vector lanes of 16 bits. */
#include <math.h>

#include "describe/describe.h"

#define SIDE KB_PATCH_SIDE
#define BINS 4
#define ORIENTATIONS 8

/* Weight of sample j for bin c along one axis, times 64: the tent max(0, 1 - |d + 1.5 - c|) of the trilinear share
 * times the Gaussian exp(-d^2 / 8), with d = (j - 16) / 8 in bins. The outermost samples have no central
 * difference. */
const uint8_t kbi_sift_pool[BINS][SIDE] = {
    {0, 26, 33, 40, 48, 44, 39, 34, 28, 22, 15, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 6, 13, 20, 28, 36, 45, 53, 62, 55, 48, 40, 32, 24, 16, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 16, 24, 32, 40, 48, 55, 62, 53, 45, 36, 28, 20, 13, 6, 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 15, 22, 28, 34, 39, 44, 48, 40, 33, 0},
};

static int sift_mirrored(int i) { return i < 0 ? -i : i >= SIDE ? 2 * SIDE - 2 - i : i; }

/* Gaussian-like blur, sigma 1.53, by the taps (1 2 3 2 1) * (1 4 6 4 1) = 1 6 17 30 36 30 17 6 1 along both axes, with
 * mirrored borders. Out comes 8 times the gray level: 0..2040. Every step fits 16 bits. */
static void sift_blur(const uint8_t *patch, uint16_t *out)
{
    static const uint16_t taps[5] = {36, 30, 17, 6, 1};
    uint16_t rows[KBI_PATCH_BYTES], half[KBI_PATCH_BYTES];
    for (int y = 0; y < SIDE; y++) {
        const uint8_t *p = patch + y * SIDE;
        for (int x = 0; x < SIDE; x++) {
            uint32_t sum = (uint32_t)taps[0] * p[x];
            for (int k = 1; k < 5; k++)
                sum += (uint32_t)taps[k] * (p[sift_mirrored(x - k)] + (uint32_t)p[sift_mirrored(x + k)]);
            rows[y * SIDE + x] = (uint16_t)(sum * 7282 >> 16); /* / 9 */
        }
    }
    for (int y = 0; y < SIDE; y++) {
        const uint16_t *a = rows + sift_mirrored(y - 2) * SIDE, *b = rows + sift_mirrored(y - 1) * SIDE;
        const uint16_t *c = rows + y * SIDE;
        const uint16_t *d = rows + sift_mirrored(y + 1) * SIDE, *e = rows + sift_mirrored(y + 2) * SIDE;
        for (int x = 0; x < SIDE; x++)
            half[y * SIDE + x] = (uint16_t)((a[x] + e[x] + 4 * (b[x] + d[x]) + 6 * c[x] + 8) >> 4);
    }
    for (int y = 0; y < SIDE; y++) {
        const uint16_t *a = half + sift_mirrored(y - 2) * SIDE, *b = half + sift_mirrored(y - 1) * SIDE;
        const uint16_t *c = half + y * SIDE;
        const uint16_t *d = half + sift_mirrored(y + 1) * SIDE, *e = half + sift_mirrored(y + 2) * SIDE;
        for (int x = 0; x < SIDE; x++) {
            uint32_t sum = (uint32_t)(a[x] + e[x] + 2 * (b[x] + d[x]) + 3 * c[x]);
            out[y * SIDE + x] = (uint16_t)(sum * 3641 >> 16); /* / 18 */
        }
    }
}

/* a * c / 32768, rounded. */
static int32_t times_q15(int32_t a, int32_t c) { return (a * c + 16384) >> 15; }

/* Shares a gradient's magnitude linearly by angle between the axis and the diagonal that bound it, without square root
 * or arctangent: for major = 1, minor = r the exact shares sqrt(1 + r^2) (4 / pi) atan(r) (diagonal) and the rest
 * (axis) are convex in r, and the larger of two straight lines follows each within 0.6 % of major. */
static void sift_split(int32_t gx, int32_t gy, uint16_t planes[ORIENTATIONS])
{
    int32_t ax = gx < 0 ? -gx : gx, ay = gy < 0 ? -gy : gy, major = kbi_max_i(ax, ay), minor = kbi_min_i(ax, ay);
    int32_t diagonal = minor + kbi_max_i(times_q15(minor, 10165), times_q15(minor, 16757) - times_q15(major, 3384));
    int32_t rest = major - minor;
    int32_t axis = rest - kbi_min_i(times_q15(major, 154) + times_q15(minor, 4392), times_q15(rest, 2499));
    int which_diagonal = gx >= 0 ? (gy >= 0 ? 1 : 7) : (gy >= 0 ? 3 : 5);
    int which_axis = ax >= ay ? (gx >= 0 ? 0 : 4) : (gy >= 0 ? 2 : 6);
    memset(planes, 0, ORIENTATIONS * sizeof *planes);
    planes[which_diagonal] = (uint16_t)diagonal;
    planes[which_axis] = (uint16_t)axis;
}

void kbi_sift_histogram(const uint8_t *patch, uint32_t histogram[KB_SIFT_VALUES])
{
    uint16_t b[KBI_PATCH_BYTES];
    sift_blur(patch, b);
    memset(histogram, 0, KB_SIFT_VALUES * sizeof *histogram);
    for (int y = 1; y < SIDE - 1; y++) {
        /* One row of samples pooled along x, then added to the bins that it reaches along y. */
        uint32_t row[BINS][ORIENTATIONS] = {{0}};
        for (int x = 1; x < SIDE - 1; x++) {
            uint16_t planes[ORIENTATIONS];
            sift_split(b[y * SIDE + x + 1] - b[y * SIDE + x - 1], b[(y - 1) * SIDE + x] - b[(y + 1) * SIDE + x],
                       planes);
            for (int c = 0; c < BINS; c++)
                for (int o = 0; o < ORIENTATIONS; o++) row[c][o] += (uint32_t)kbi_sift_pool[c][x] * planes[o];
        }
        for (int r = 0; r < BINS; r++)
            for (int c = 0; c < BINS; c++)
                for (int o = 0; o < ORIENTATIONS; o++)
                    histogram[(r * BINS + c) * ORIENTATIONS + o] += kbi_sift_pool[r][y] * (row[c][o] >> 6);
    }
}

/* Clips at a fifth of the L2 norm. Returns the squared norm afterwards; *sum receives the L1 norm. */
static uint64_t sift_clip(const uint32_t *histogram, uint32_t *clipped, uint64_t *sum)
{
    uint64_t squares = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) squares += (uint64_t)histogram[i] * histogram[i];
    uint32_t limit = kbi_isqrt(squares) / 5;
    squares = *sum = 0;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        uint32_t v = clipped[i] = histogram[i] < limit ? histogram[i] : limit;
        squares += (uint64_t)v * v;
        *sum += v;
    }
    return squares;
}

void kbi_sift_bytes(const uint32_t histogram[KB_SIFT_VALUES], bool root, uint8_t *row)
{
    uint32_t clipped[KB_SIFT_VALUES];
    uint64_t sum, norm = kbi_isqrt(sift_clip(histogram, clipped, &sum));
    if (norm == 0) {
        memset(row, 0, KB_SIFT_VALUES);
        return;
    }
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        uint64_t v = clipped[i];
        v = root ? (kbi_isqrt((v << 20) / sum) + 1) / 2
                 : (v * 512 + norm / 2) / norm; /* 512 sqrt(v / sum), 512 v / norm */
        row[i] = (uint8_t)(v > 255 ? 255 : v);
    }
}

void kbi_sift_floats(const uint32_t histogram[KB_SIFT_VALUES], bool root, float *row)
{
    uint32_t clipped[KB_SIFT_VALUES];
    uint64_t sum;
    double norm = sqrt((double)sift_clip(histogram, clipped, &sum));
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        double v = (double)clipped[i];
        row[i] = sum == 0 ? 0.0f : (float)(root ? sqrt(v / (double)sum) : v / norm);
    }
}
