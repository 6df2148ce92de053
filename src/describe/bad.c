/* SPDX-License-Identifier: Apache-2.0 */
/* BAD as the paper has it (section III-A). A bit is a weak descriptor, a decision stump on a feature of the patch x:
 *
 *     h(x; f, theta) = +1 if f(x) <= theta, -1 otherwise                         stored as 1 and 0
 *     f(x; u1, u2, s) = mean of the box of size s around u1 - mean of the box around u2
 *
 * Means come from the integral image. The patch is a keypoint's region of the image itself, not resampled: box
 * centres are rotated, scaled and rounded to whole pixels, boxes stay upright, and near the border they are cut off.
 * This is the arithmetic of OpenCV's TEBLID and BEBLID to the bit (docs/bad.md).
 *
 * Rounding is (int)(v + 0.5f), which truncates towards zero: it differs from floor for negative coordinates, which
 * only boxes beyond the left or upper border have. */
#include "describe/steps.h"

#define BORDER_SHARE 0.875f /* of the patch width: a keypoint closer to the edge takes the careful path */

typedef struct rigid {
    float a, b, tx, ty, scale; /* x' = a x - b y + tx, y' = b x + a y + ty */
} rigid;

static rigid keypoint_map(const kb_keypoint *k, float width)
{
    double sine, cosine;
    kbi_sincos_degrees(k->angle, &sine, &cosine);
    float s = width / KB_PATCH_SIDE, a = s * (float)cosine, b = s * (float)sine, half = KB_PATCH_SIDE / 2;
    return (rigid){a, b, (-a + b) * half + k->x, (-b - a) * half + k->y, s};
}

static int32_t round_half(float v) { return (int32_t)(v + 0.5f); }

/* A pair of boxes in pixels of the image: u1, u2 and the radius, so that s = 2 r + 1. */
typedef struct pixel_boxes {
    int32_t x1, y1, x2, y2, r;
} pixel_boxes;

static void box_centre(const rigid *m, float x, float y, int32_t *px, int32_t *py)
{
    *px = round_half(m->a * x - m->b * y + m->tx);
    *py = round_half(m->b * x + m->a * y + m->ty);
}

static pixel_boxes boxes_at(const rigid *m, const kb_box_pair *p)
{
    pixel_boxes b = {.r = round_half(m->scale * (float)p->radius1)};
    box_centre(m, p->x1, p->y1, &b.x1, &b.y1);
    box_centre(m, p->x2, p->y2, &b.x2, &b.y2);
    return b;
}

static uint32_t box_sum(const kbi_integral *ii, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    const uint32_t *top = ii->sums + y0 * ii->stride, *bottom = ii->sums + y1 * ii->stride;
    return bottom[x1] - bottom[x0] - top[x1] + top[x0];
}

/* f(x) <= theta for boxes inside the image, both sides times s^2. */
static bool weak_descriptor(const kbi_integral *ii, pixel_boxes b, float theta)
{
    int32_t r = b.r, s = 2 * r + 1;
    int32_t f = (int32_t)(box_sum(ii, b.x1 - r, b.y1 - r, b.x1 + r + 1, b.y1 + r + 1) -
                          box_sum(ii, b.x2 - r, b.y2 - r, b.x2 + r + 1, b.y2 + r + 1));
    return (float)f <= theta * (float)(s * s);
}

static float clipped_mean(const kbi_integral *ii, int32_t x, int32_t y, int32_t r)
{
    int32_t x0 = kbi_clamp_i(x - r, 0, ii->width - 1), x1 = kbi_clamp_i(x + r + 1, 1, ii->width);
    int32_t y0 = kbi_clamp_i(y - r, 0, ii->height - 1), y1 = kbi_clamp_i(y + r + 1, 1, ii->height);
    return (float)box_sum(ii, x0, y0, x1, y1) / (float)((int64_t)(x1 - x0) * (y1 - y0));
}

/* The same for boxes that the border may cut, so that their areas differ. */
static bool weak_descriptor_at_border(const kbi_integral *ii, pixel_boxes b, float theta)
{
    return clipped_mean(ii, b.x1, b.y1, b.r) - clipped_mean(ii, b.x2, b.y2, b.r) <= theta;
}

static bool box_inside(const kbi_integral *ii, int32_t x, int32_t y, int32_t r)
{
    return x >= r && y >= r && x + r < ii->width && y + r < ii->height;
}

/* BORDER_SHARE leaves room for the turned boxes, but not for rounding, which moves a side by up to one pixel more: in a
 * region of a few pixels near an edge that is outside the image. */
static bool all_boxes_inside(const kbi_integral *ii, const rigid *m, const kb_model *model)
{
    for (int32_t i = 0; i < model->spec.bits; i++) {
        pixel_boxes b = boxes_at(m, &model->spec.boxes[i]);
        if (!box_inside(ii, b.x1, b.y1, b.r) || !box_inside(ii, b.x2, b.y2, b.r)) return false;
    }
    return true;
}

static bool near_edge(const kbi_integral *ii, const kb_keypoint *k, float reach)
{
    return k->x < reach || k->y < reach || k->x + reach >= (float)ii->width || k->y + reach >= (float)ii->height;
}

/* Returns KB_KP_ flags; writes row unless the keypoint is outside or invalid. */
static uint8_t describe_keypoint(const kb_model *model, const kbi_integral *ii, const kb_keypoint *k, float scale,
                                 uint8_t *row)
{
    float width = scale * k->size * model->spec.support;
    uint8_t refused = kbi_keypoint_check(k, (double)width, ii->width, ii->height);
    if (refused) return refused;
    float reach = BORDER_SHARE * width;
    rigid map = keypoint_map(k, width);
    bool border = near_edge(ii, k, reach) || (near_edge(ii, k, reach + 2) && !all_boxes_inside(ii, &map, model));
    for (int32_t i = 0; i < model->spec.bits; i += 8) {
        uint32_t byte = 0;
        for (const kb_box_pair *p = model->spec.boxes + i, *end = p + 8; p < end; p++) {
            pixel_boxes b = boxes_at(&map, p);
            bool h = border ? weak_descriptor_at_border(ii, b, p->threshold) : weak_descriptor(ii, b, p->threshold);
            byte = byte << 1 | h;
        }
        row[i / 8] = (uint8_t)byte;
    }
    return (uint8_t)((border ? KB_KP_BORDER : 0) | (width < KB_SMALL_PATCH ? KB_KP_SMALL : 0));
}

typedef struct bad_job {
    const kb_model *model;
    kbi_integral integral;
    const kb_keypoint *keypoints;
    size_t n;
    float scale;
    const kbi_rows *rows;
    uint8_t *flags;
    int32_t pieces;
} bad_job;

static void describe_piece(void *context, int32_t piece)
{
    const bad_job *j = context;
    for (size_t i = kbi_piece(j->n, j->pieces, piece), end = kbi_piece(j->n, j->pieces, piece + 1); i < end; i++) {
        uint8_t *row = j->rows->rows + i * j->rows->stride;
        uint8_t flags = describe_keypoint(j->model, &j->integral, &j->keypoints[i], j->scale, row);
        if (flags & (KB_KP_OUTSIDE | KB_KP_INVALID)) kbi_rows_clear(j->rows, i);
        if (j->flags) j->flags[i] = flags;
    }
}

kb_status kbi_bad_describe_image(const kb_model *model, const kb_image *image, const kb_keypoint *keypoints, size_t n,
                                 float scale, const kb_parallel *parallel, kb_workspace *workspace,
                                 const kbi_rows *rows, uint8_t *flags)
{
    bad_job j = {model, {0}, keypoints, n, scale, rows, flags, kbi_parallel_threads(parallel)};
    kb_image gray;
    kb_status status = kbi_gray8(image, workspace, &gray);
    if (status != KB_OK || n == 0) return status;
    status = kbi_integral_build(&j.integral, &gray, workspace);
    if (status == KB_OK && !workspace->measures) kbi_parallel_run(parallel, j.pieces, describe_piece, &j);
    return status;
}
