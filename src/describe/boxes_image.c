/* BAD measured in the image itself, with the arithmetic of OpenCV's TEBLID and BEBLID to the bit (docs/bad.md): box
 * centres are rotated, scaled and rounded to whole pixels, boxes stay upright, and near the border they are cut off.
 *
 * Rounding is (int)(v + 0.5f), which truncates towards zero: other than floor it moves negative coordinates, which only
 * boxes beyond the left or upper border have. */
#include <math.h>

#include "describe/describe.h"

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

static uint32_t box_sum(const kbi_integral *ii, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    const uint32_t *top = ii->sums + y0 * ii->stride, *bottom = ii->sums + y1 * ii->stride;
    return bottom[x1] - bottom[x0] - top[x1] + top[x0];
}

static float clipped_mean(const kbi_integral *ii, int32_t x, int32_t y, int32_t r)
{
    int32_t x0 = kbi_clamp_i(x - r, 0, ii->width - 1), x1 = kbi_clamp_i(x + r + 1, 1, ii->width);
    int32_t y0 = kbi_clamp_i(y - r, 0, ii->height - 1), y1 = kbi_clamp_i(y + r + 1, 1, ii->height);
    return (float)box_sum(ii, x0, y0, x1, y1) / (float)((int64_t)(x1 - x0) * (y1 - y0));
}

typedef struct pixel_box {
    int32_t x, y;
} pixel_box;

static pixel_box box_centre(const rigid *m, float x, float y)
{
    return (pixel_box){round_half(m->a * x - m->b * y + m->tx), round_half(m->b * x + m->a * y + m->ty)};
}

static bool test_bit(const kbi_integral *ii, const rigid *m, const kb_box_pair *p, bool border)
{
    pixel_box one = box_centre(m, p->x1, p->y1), two = box_centre(m, p->x2, p->y2);
    int32_t r = round_half(m->scale * (float)p->radius1);
    if (border) return clipped_mean(ii, one.x, one.y, r) - clipped_mean(ii, two.x, two.y, r) <= p->threshold;
    int32_t side = 2 * r + 1;
    int32_t difference = (int32_t)(box_sum(ii, one.x - r, one.y - r, one.x + r + 1, one.y + r + 1) -
                                   box_sum(ii, two.x - r, two.y - r, two.x + r + 1, two.y + r + 1));
    return (float)difference <= p->threshold * (float)(side * side);
}

static bool box_inside(const kbi_integral *ii, pixel_box centre, int32_t r)
{
    return centre.x >= r && centre.y >= r && centre.x + r < ii->width && centre.y + r < ii->height;
}

/* BORDER_SHARE leaves room for the turned boxes, but not for rounding, which moves a side by up to one pixel more: in a
 * region of a few pixels near an edge that is outside the image. */
static bool all_boxes_inside(const kbi_integral *ii, const rigid *m, const kb_model *model)
{
    for (int32_t i = 0; i < model->spec.bits; i++) {
        const kb_box_pair *p = &model->spec.boxes[i];
        int32_t r = round_half(m->scale * (float)p->radius1);
        if (!box_inside(ii, box_centre(m, p->x1, p->y1), r) || !box_inside(ii, box_centre(m, p->x2, p->y2), r))
            return false;
    }
    return true;
}

static bool near_edge(const kbi_integral *ii, const kb_keypoint *k, float reach)
{
    return k->x < reach || k->y < reach || k->x + reach >= (float)ii->width || k->y + reach >= (float)ii->height;
}

uint8_t kbi_boxes_describe_image(const kb_model *model, const kbi_integral *ii, const kb_keypoint *k, float scale,
                                uint8_t *row)
{
    float width = scale * k->size * model->spec.support;
    if (!isfinite(k->x) || !isfinite(k->y) || !isfinite(k->angle) || !isfinite(k->size) || !(k->size > 0) ||
        !(width > 0 && width <= 1048576.0f))
        return KB_KP_INVALID;
    if (k->x < -0.5f || k->y < -0.5f || k->x >= (float)ii->width - 0.5f || k->y >= (float)ii->height - 0.5f)
        return KB_KP_OUTSIDE;

    float reach = BORDER_SHARE * width;
    rigid map = keypoint_map(k, width);
    bool border = near_edge(ii, k, reach) || (near_edge(ii, k, reach + 2) && !all_boxes_inside(ii, &map, model));
    for (int32_t i = 0; i < model->spec.bits; i += 8) {
        uint32_t byte = 0;
        for (int32_t j = 0; j < 8; j++) byte = byte << 1 | test_bit(ii, &map, &model->spec.boxes[i + j], border);
        row[i / 8] = (uint8_t)byte;
    }
    return (uint8_t)((border ? KB_KP_BORDER : 0) | (width < KB_SMALL_PATCH ? KB_KP_SMALL : 0));
}
