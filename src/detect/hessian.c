/* SPDX-License-Identifier: Apache-2.0 */
/* Corners and blobs by the determinant of the Hessian (Beaudet 1978): with Lxx, Lyy, Lxy the second derivatives of a
 * level blurred by sigma = 1.68 px,
 *
 *     det = Lxx Lyy - Lxy^2,
 *
 * which is large where the image curves in both directions. A peak is a pixel where it is the largest of its 3x3
 * neighbourhood, moved to the top of the parabola through these nine. Its response is sqrt(det), the geometric mean of
 * the two curvatures, of 1 for black to white. Derivatives per pixel of a level blurred by a fixed number of pixels are
 * normalised by scale, so responses of different levels can be compared (Lindeberg 1998).
 *
 * The blur is 30, 25, 15, 7, 2 / 128 on both sides of a pixel. Blurred rows have 16 bits, 128 for a gray level. By the
 * sums of these weights a second difference is within +-5100 and four times Lxy within +-12060, so 16 bits hold them,
 * and 32 the determinant; responses stay below 0.16. */
#include <math.h>

#include "detect/corners.h"
#include "detect/detectors.h"
#include "detect/hessian_rows.h"

#define UNIT (1.0 / (128.0 * 255.0))

float kbi_hessian_response(int32_t determinant) { return (float)(sqrt((double)determinant) * UNIT); }

int32_t kbi_hessian_limit(float response)
{
    double root = response / UNIT;
    int32_t limit = kbi_max_i((int32_t)(root * root * (1 - 3e-7)) - 2, 1); /* not above it, whatever a float rounds */
    while (kbi_hessian_response(limit) < response) limit++;
    return limit;
}

/* Rows that a search keeps. Column 0 of the determinants is the column before `left`, which only competes with its
 * neighbours; blurred rows have one more on both sides, and begin with it at a whole line of the cache. */
typedef struct hessian_rows {
    uint16_t *columns, *blurred[3];
    int32_t *determinant[3];
    uint16_t *peak;
} hessian_rows;

#define ROW_MARGIN 64 /* columns */

static size_t row_columns(int32_t width) { return kbi_round_up((size_t)width + ROW_MARGIN); }

static size_t hessian_scratch_bytes(int32_t width)
{
    return row_columns(width) * (5 * sizeof(uint16_t) + 3 * sizeof(int32_t));
}

static hessian_rows rows_in(void *scratch, int32_t width)
{
    size_t row = row_columns(width);
    hessian_rows rows;
    int32_t *words = scratch;
    for (int32_t i = 0; i < 3; i++) rows.determinant[i] = words + row * (size_t)i;
    uint16_t *halves = (uint16_t *)(void *)(words + 3 * row);
    for (int32_t i = 0; i < 3; i++) rows.blurred[i] = halves + row * (size_t)i + 1;
    rows.columns = halves + 3 * row;
    rows.peak = halves + 4 * row;
    return rows;
}

/* Row y, columns left - 1..left + width of the level, blurred. */
static void blur_row(const kbi_search *s, int32_t left, int32_t width, int32_t y, const hessian_rows *rows,
                     uint16_t *out)
{
    s->kernels->hessian_blur(kbi_level_pixel(s->level, left - 1, y), s->level->stride, width + 2, rows->columns,
                             out - 1);
}

/* From the pixel to the top of the parabola through the nine determinants around it. */
static void top_of_parabola(const int32_t *above, const int32_t *middle, const int32_t *below, double offset[2])
{
    double x = 0.5 * ((double)middle[1] - middle[-1]), y = 0.5 * ((double)below[0] - above[0]);
    double xx = (double)middle[1] + middle[-1] - 2.0 * middle[0], yy = (double)below[0] + above[0] - 2.0 * middle[0];
    double xy = 0.25 * ((double)below[1] + above[-1] - above[1] - below[-1]), d = xx * yy - xy * xy;
    if (d <= 0) return; /* a ridge: no top */
    offset[0] = kbi_half_pixel((xy * y - yy * x) / d);
    offset[1] = kbi_half_pixel((xy * x - xx * y) / d);
}

/* Adds the peaks of row y. at[] has the determinants of the rows y - 1, y and y + 1. */
static void add_peaks(const kbi_search *s, int32_t y, int32_t left, int32_t *const at[3], const uint16_t *peak,
                      int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        double offset[2] = {0, 0};
        int32_t p = peak[i];
        if (!s->options->whole_pixels && !s->probe) top_of_parabola(at[0] + p, at[1] + p, at[2] + p, offset);
        kbi_search_add(s, left + p, y, kbi_hessian_response(at[1][p]), offset);
    }
}

static void hessian_search(const kbi_search *s)
{
    int32_t left = s->left - 1, width = s->right - s->left + 2;
    float least = 0;
    int32_t threshold = kbi_hessian_limit(s->options->hessian_threshold), limit = threshold;
    hessian_rows rows = rows_in(s->scratch, s->level->width);
    blur_row(s, left, width, s->top - 2, &rows, rows.blurred[0]);
    blur_row(s, left, width, s->top - 1, &rows, rows.blurred[1]);
    /* y is the middle of the blurred rows; peaks are a row above it. */
    for (int32_t y = s->top - 1; y <= s->bottom; y++) {
        int32_t *oldest = rows.determinant[0];
        uint16_t *last = rows.blurred[0];
        rows.determinant[0] = rows.determinant[1];
        rows.determinant[1] = rows.determinant[2];
        rows.determinant[2] = oldest;
        blur_row(s, left, width, y + 1, &rows, rows.blurred[2]);
        s->kernels->hessian_row(rows.blurred[0], rows.blurred[1], rows.blurred[2], width, oldest);
        rows.blurred[0] = rows.blurred[1];
        rows.blurred[1] = rows.blurred[2];
        rows.blurred[2] = last;
        if (y <= s->top) continue;
        if (s->peaks->least > least) {
            least = s->peaks->least;
            limit = kbi_max_i(threshold, kbi_hessian_limit(least / s->weight * (1 - 1e-6f))); /* whatever is rounded */
        }
        int32_t n =
            s->kernels->hessian_peaks(rows.determinant[0], rows.determinant[1], oldest, width, limit, rows.peak);
        add_peaks(s, y - 1, left, rows.determinant, rows.peak, n);
    }
}

/* Blur, second differences around the neighbours of a peak. */
const kbi_measure kbi_measure_hessian = {KBI_HESSIAN_BLUR + 2, 1, true, hessian_scratch_bytes, hessian_search, NULL};

static const char *const hessian_options[] = {KBI_PYRAMID_OPTIONS, "hessian_threshold", NULL};
const kbi_detector kbi_detector_hessian = {KB_DETECTOR_HESSIAN, "hessian", 2, hessian_options, kbi_detect_corners,
                                           &kbi_measure_hessian, {31, 0.104, 0.13, 0.27}, kbi_corners_orient};
