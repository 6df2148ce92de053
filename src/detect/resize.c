/* The next level of a pyramid, row by row, by bilinear interpolation with weights of 1/128: first two rows become
 * one, then its pixels are blended pairwise. A pixel's weight is rounded once when the map is made, so every variant
 * of the rows gives the same bytes. */
#include "detect/detect.h"

void kb_resize_plan(kb_resize_map map, int32_t n, double factor, int32_t larger)
{
    for (int32_t i = 0; i < n; i++) {
        double place = (i + 0.5) * factor - 0.5;
        int32_t fixed = (int32_t)(place * KB_RESIZE_ONE + 0.5);
        fixed = kb_clamp_i(fixed, 0, (larger - 1) * KB_RESIZE_ONE);
        int32_t index = kb_min_i(fixed / KB_RESIZE_ONE, kb_max_i(larger - 2, 0));
        map.index[i] = index;
        map.weight[i] = (uint8_t)(fixed - index * KB_RESIZE_ONE);
    }
}

void kb_blend_rows(const uint8_t *restrict a, const uint8_t *restrict b, int32_t width, int32_t weight,
                   uint8_t *restrict out)
{
    uint16_t wb = (uint16_t)weight, wa = (uint16_t)(KB_RESIZE_ONE - weight);
    for (int32_t i = 0; i < width; i++) {
        uint16_t sum = (uint16_t)((uint16_t)(a[i] * wa) + (uint16_t)(b[i] * wb) + KB_RESIZE_ONE / 2);
        out[i] = (uint8_t)(sum / KB_RESIZE_ONE);
    }
}

void kb_resize_row(const uint8_t *restrict in, kb_resize_map map, int32_t width, uint8_t *restrict out)
{
    const int32_t *restrict index = map.index;
    const uint8_t *restrict weight = map.weight;
    for (int32_t i = 0; i < width; i++) {
        int32_t a = in[index[i]], b = in[index[i] + 1];
        out[i] = (uint8_t)(a + (((b - a) * weight[i] + KB_RESIZE_ONE / 2) >> KB_RESIZE_BITS)); /* >> rounds down */
    }
}
