/* Corners and blobs by the determinant of the Hessian (Beaudet 1978): with Lxx, Lyy, Lxy the second derivatives of a
 * level blurred by sigma = 1.68 px,
 *
 *     det = Lxx Lyy - Lxy^2,
 *
 * which is large where the image curves in both directions. A corner is a pixel where it is the largest of its 3x3
 * neighbourhood, moved to the top of the parabola through these nine. Its response is sqrt(det), the geometric mean of
 * the two curvatures, of 1 for black to white.
 *
 * The blur is 30, 25, 15, 7, 2 / 128 on both sides of a pixel. Blurred rows have 16 bits, 128 for a gray level. By the
 * sums of these weights a second difference is within +-5100 and four times Lxy within +-12060, so 16 bits hold them,
 * and 32 the determinant; responses stay below 0.16, and scores below 200. */
#include <math.h>

#include "detect/hessian_rows.h"
#include "detect/orb.h"

#if KBI_HESSIAN

#define UNIT (1.0 / (128.0 * 255.0))

float kbi_hessian_response(int32_t determinant) { return (float)(sqrt((double)determinant) * UNIT); }

/* Scores are the logarithm of the response, 16 for a factor of 2, so that one byte covers all: they are the upper bits
 * of the float, less those of 2^-15, which is the root of 1 in this unit. */
#define SCORE_SHIFT 19
#define SCORE_ZERO ((127 - 15) << (23 - SCORE_SHIFT))

int32_t kbi_hessian_score(float response)
{
    uint32_t bits;
    memcpy(&bits, &response, sizeof bits);
    return kbi_clamp_i((int32_t)(bits >> SCORE_SHIFT) - SCORE_ZERO, 0, 255);
}

static float response_of_score(int32_t score)
{
    float response;
    uint32_t bits = (uint32_t)(score + SCORE_ZERO) << SCORE_SHIFT;
    memcpy(&response, &bits, sizeof response);
    return response;
}

int32_t kbi_hessian_limit(float response)
{
    double root = response / UNIT;
    int32_t limit = kbi_max_i((int32_t)(root * root * (1 - 3e-7)) - 2, 1); /* not above it, whatever a float rounds */
    while (kbi_hessian_response(limit) < response) limit++;
    return limit;
}

/* The least determinant that a search with this threshold takes. */
static int32_t limit_of(const kbi_orb *o, int32_t threshold)
{
    return kbi_max_i(kbi_hessian_limit(o->job->options.hessian_threshold),
                     kbi_hessian_limit(response_of_score(threshold + 1)));
}

/* Rows that a search keeps. Column 0 of the determinants is column `left` of the level; blurred rows have one more on
 * both sides, rows of which only columns are blurred KBI_HESSIAN_BLUR more. */
typedef struct hessian_rows {
    uint16_t *across, *blurred[3];
    int32_t *determinant[3];
    uint16_t *peak;
} hessian_rows;

#define ROW_MARGIN 64 /* columns; a multiple of KBI_ALIGN bytes */

static size_t row_columns(int32_t width) { return kbi_round_up((size_t)width) + 2 * ROW_MARGIN; }

size_t kbi_hessian_scratch(int32_t width)
{
    return row_columns(width) * (5 * sizeof(uint16_t) + 3 * sizeof(int32_t));
}

static hessian_rows rows_of(const kbi_orb *o, const kbi_orb_band *band)
{
    size_t row = row_columns(o->job->image.width);
    hessian_rows rows;
    int32_t *words = (int32_t *)(void *)band->scratch;
    for (int32_t i = 0; i < 3; i++) rows.determinant[i] = words + row * (size_t)i;
    uint16_t *halves = (uint16_t *)(void *)(words + 3 * row);
    for (int32_t i = 0; i < 3; i++) rows.blurred[i] = halves + row * (size_t)i + ROW_MARGIN;
    rows.across = halves + 3 * row + ROW_MARGIN;
    rows.peak = halves + 4 * row;
    return rows;
}

/* Row y, columns left - 1..left + width of the level, blurred. */
static void blur_row(const kbi_orb *o, const kbi_orb_level *level, int32_t left, int32_t width, int32_t y,
                     const hessian_rows *rows, uint16_t *out)
{
    static const kbi_blur blur = {.weight = {256 * KBI_HESSIAN_W0, 512 * KBI_HESSIAN_W1, 512 * KBI_HESSIAN_W2,
                                             512 * KBI_HESSIAN_W3, 512 * KBI_HESSIAN_W4},
                                  .taps = KBI_HESSIAN_BLUR + 1,
                                  .step = 1,
                                  .reach = KBI_HESSIAN_BLUR};
    const uint16_t *a[KBI_HESSIAN_BLUR + 1], *b[KBI_HESSIAN_BLUR + 1];
    const int32_t margin = KBI_HESSIAN_BLUR + 1;
    o->kernels.blur_bytes(kbi_orb_pixel(level, left - margin, y), level->stride, width + 2 * margin,
                          rows->across - margin);
    for (int32_t k = 0; k <= KBI_HESSIAN_BLUR; k++) {
        a[k] = rows->across - 1 - k;
        b[k] = rows->across - 1 + k;
    }
    o->kernels.blur_pairs(a, b, &blur, width + 2, out - 1);
}

void kbi_hessian_place(const kbi_orb_corner *corner, double factor, kb_keypoint *keypoint)
{
    keypoint->x = kbi_orb_to_image(factor, corner->x + corner->dx * (1.0 / KBI_ORB_OFFSETS));
    keypoint->y = kbi_orb_to_image(factor, corner->y + corner->dy * (1.0 / KBI_ORB_OFFSETS));
}

static int8_t offset_of(double steps)
{
    const double most = KBI_ORB_MOST_OFFSET * KBI_ORB_OFFSETS;
    return (int8_t)floor((steps < -most ? -most : steps > most ? most : steps) + 0.5);
}

/* From the pixel to the top of the parabola through the nine determinants around it. */
static void move_to_top(const int32_t *above, const int32_t *middle, const int32_t *below, kbi_orb_corner *corner)
{
    double x = 0.5 * ((double)middle[1] - middle[-1]), y = 0.5 * ((double)below[0] - above[0]);
    double xx = (double)middle[1] + middle[-1] - 2.0 * middle[0], yy = (double)below[0] + above[0] - 2.0 * middle[0];
    double xy = 0.25 * ((double)below[1] + above[-1] - above[1] - below[-1]), d = xx * yy - xy * xy;
    if (d <= 0) return; /* a ridge: no top */
    corner->dx = offset_of(KBI_ORB_OFFSETS * (xy * y - yy * x) / d);
    corner->dy = offset_of(KBI_ORB_OFFSETS * (xy * x - xx * y) / d);
}

/* The peaks of row y, whose determinants are at[1], with those of the rows above and below. */
static void add_corners(const kbi_orb *o, kbi_orb_band *band, int32_t y, int32_t left, int32_t *const at[3],
                        const uint16_t *peak, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t x = peak[i] + left, p = peak[i];
        if (!kbi_orb_allows(o, &o->level[band->level], x, y)) continue;
        float response = kbi_hessian_response(at[1][p]);
        kbi_orb_corner corner = {.x = (uint16_t)x, .y = (uint16_t)y, .score = (uint8_t)kbi_hessian_score(response)};
        if (!o->job->options.whole_pixels) move_to_top(at[0] + p, at[1] + p, at[2] + p, &corner);
        kbi_orb_corner_add(o, band, corner, response);
    }
}

/* The outer columns and rows of determinants only compete with their neighbours. */
int32_t kbi_hessian_search(const kbi_orb *o, kbi_orb_band *band, int32_t top, int32_t bottom, int32_t threshold)
{
    const kbi_orb_level *level = &o->level[band->level];
    int32_t left = KBI_ORB_EDGE - 1, width = level->width - 2 * KBI_ORB_EDGE + 2, limit = limit_of(o, threshold);
    hessian_rows rows = rows_of(o, band);
    blur_row(o, level, left, width, top - 2, &rows, rows.blurred[0]);
    blur_row(o, level, left, width, top - 1, &rows, rows.blurred[1]);
    for (int32_t y = top - 1; y <= bottom; y++) { /* in the middle of the blurred rows; peaks are a row above it */
        int32_t *oldest = rows.determinant[0];
        uint16_t *last = rows.blurred[0];
        rows.determinant[0] = rows.determinant[1];
        rows.determinant[1] = rows.determinant[2];
        rows.determinant[2] = oldest;
        blur_row(o, level, left, width, y + 1, &rows, rows.blurred[2]);
        o->kernels.hessian_row(rows.blurred[0], rows.blurred[1], rows.blurred[2], width, oldest);
        rows.blurred[0] = rows.blurred[1];
        rows.blurred[1] = rows.blurred[2];
        rows.blurred[2] = last;
        if (y <= top) continue;
        int32_t n = o->kernels.hessian_peaks(rows.determinant[0], rows.determinant[1], oldest, width, limit, rows.peak);
        add_corners(o, band, y - 1, left, rows.determinant, rows.peak, n);
        int32_t risen = kbi_orb_risen_threshold(o, band, y - 1, threshold);
        if (risen > threshold) limit = limit_of(o, threshold = risen);
    }
    return threshold;
}

#endif
