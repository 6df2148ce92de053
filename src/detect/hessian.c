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

/* Rows that a search keeps: row y of the blurred ones is blurred[y & 3]; rows of determinants take turns. Column 0 of the
 * determinants is the column before `left`, which only competes with its neighbours; blurred rows have one more on both
 * sides, and begin with it at a whole line of the cache. */
typedef struct hessian_rows {
    uint16_t *columns, *blurred[4];
    int32_t *determinant[3];
    uint16_t *peak; /* in the place of columns */
} hessian_rows;

static size_t row_columns(int32_t width) { return kbi_round_up((size_t)width + KBI_HESSIAN_MARGIN); }

static size_t hessian_scratch_bytes(int32_t width)
{
    return row_columns(width) * (6 * sizeof(uint16_t) + 3 * sizeof(int32_t));
}

static hessian_rows rows_in(void *scratch, int32_t width)
{
    size_t row = row_columns(width);
    hessian_rows rows;
    int32_t *words = scratch;
    for (int32_t i = 0; i < 3; i++) rows.determinant[i] = words + row * (size_t)i;
    uint16_t *halves = (uint16_t *)(void *)(words + 3 * row);
    for (int32_t i = 0; i < 4; i++) rows.blurred[i] = halves + row * (size_t)i + 1;
    rows.columns = rows.peak = halves + 4 * row;
    return rows;
}

/* Rows y and y + 1, columns left - 1..left + width of the level, blurred. */
static void blur_rows(const kbi_search *s, int32_t left, int32_t width, int32_t y, const hessian_rows *rows)
{
    uint16_t *const out[2] = {rows->blurred[y & 3] - 1, rows->blurred[(y + 1) & 3] - 1};
    s->kernels->hessian_blur(kbi_level_pixel(s->level, left - 1, y), s->level->stride, width + 2, rows->columns, out);
}

/* From the pixel to the top of the parabola through the nine determinants around it, whose sums and differences 32 bits
 * hold. */
static void top_of_parabola(const int32_t *above, const int32_t *middle, const int32_t *below, double offset[2])
{
    double x = 0.5 * (middle[1] - middle[-1]), y = 0.5 * (below[0] - above[0]);
    double xx = middle[1] + middle[-1] - 2 * middle[0], yy = below[0] + above[0] - 2 * middle[0];
    double xy = 0.25 * (below[1] + above[-1] - above[1] - below[-1]), d = xx * yy - xy * xy;
    if (d <= 0) return; /* a ridge: no top */
    offset[0] = kbi_half_pixel((xy * y - yy * x) / d);
    offset[1] = kbi_half_pixel((xy * x - xx * y) / d);
}

static void hessian_search(const kbi_search *s)
{
    int32_t left = s->left - 1, width = s->right - s->left + 2;
    float min = 0;
    int32_t threshold = kbi_hessian_limit(s->options->hessian_threshold), limit = threshold;
    hessian_rows rows = rows_in(s->scratch, s->level->width);
    blur_rows(s, left, width, s->top - 2, &rows);
    int32_t *above = rows.determinant[0], *middle = rows.determinant[1], *below = rows.determinant[2];
    for (int32_t y = s->top - 1; y <= s->bottom; y++) { /* row y of the determinants, peaks of the row above it */
        uint16_t *const *blurred = rows.blurred;
        int32_t *free = above;
        above = middle;
        middle = below;
        below = free;
        if (((y - s->top) & 1) != 0) blur_rows(s, left, width, kbi_min_i(y + 1, s->bottom), &rows);
        s->kernels->hessian_row(blurred[(y - 1) & 3], blurred[y & 3], blurred[(y + 1) & 3], width, below);
        if (y <= s->top) continue;
        if (s->peaks->min > min) {
            min = s->peaks->min;
            limit = kbi_max_i(threshold, kbi_hessian_limit(min / s->weight * (1 - 1e-6f))); /* whatever is rounded */
        }
        int32_t n = s->kernels->hessian_peaks(above, middle, below, width, limit, rows.peak);
        for (int32_t i = 0; i < n; i++) {
            int32_t p = rows.peak[i];
            double offset[2] = {0, 0};
            if (!s->options->whole_pixels && !s->probe) top_of_parabola(above + p, middle + p, below + p, offset);
            kbi_search_add(s, left + p, y - 1, kbi_hessian_response(middle[p]), offset);
        }
    }
}

/* Blur, second differences around the neighbours of a peak. */
const kbi_measure kbi_measure_hessian = {KBI_HESSIAN_BLUR + 2, 1, true, hessian_scratch_bytes, hessian_search, NULL};

static const char *const hessian_options[] = {KBI_PYRAMID_OPTIONS, "hessian_threshold", NULL};
const kbi_detector kbi_detector_hessian = {KB_DETECTOR_HESSIAN, "hessian", 2, hessian_options, kbi_detect_corners,
                                           &kbi_measure_hessian, {31, 0.104, 0.13, 0.27, 0.01f}, kbi_corners_orient};
