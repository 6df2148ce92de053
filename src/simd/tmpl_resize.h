/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a pyramid's next level: kbi_blend_rows and kbi_resize_row (src/detect/resize_rows.h). Template over
 * simd/vec.h.
 *
 * Eight neighbours of the smaller row lie within 16 pixels of the larger: one load and one shuffle give their pairs. */
#ifndef KBI_TMPL_RESIZE_H
#define KBI_TMPL_RESIZE_H

#include "simd/kernels.h"
#include "simd/vec.h"

#define RESIZE_GROUP 8               /* pixels that one shuffle serves */
#define RESIZE_STEP (2 * VEC_LANES) /* pixels that one round writes */

/* Sums of two products of bytes with weights that are KBI_RESIZE_ONE together, to pixels. */
VEC_INLINE vec mixed(vec sums) { return v_mul_q15(sums, v_set(1 << (15 - KBI_RESIZE_BITS))); }

VEC_KERNEL void KERNEL(blend_rows)(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out)
{
    int32_t x = 0;
    if (weight == 0 || weight == KBI_RESIZE_ONE) {
        memcpy(out, weight ? b : a, (size_t)width);
        return;
    }
    for (; width >= RESIZE_STEP && x < width; x += RESIZE_STEP) {
        vec first, second;
        x = kbi_min_i(x, width - RESIZE_STEP); /* the last one overlaps the one before */
        v_mix8(v_loadu(a + x), v_loadu(b + x), KBI_RESIZE_ONE - weight, weight, &first, &second);
        v_storeu(out + x, v_pack8(mixed(first), mixed(second)));
    }
    for (; x < width; x++)
        out[x] = (uint8_t)(a[x] + (((b[x] - a[x]) * weight + KBI_RESIZE_ONE / 2) >> KBI_RESIZE_BITS));
}

VEC_INLINE vec resize_group(const uint8_t *in, const kbi_resize_map *map, int32_t x)
{
    int32_t first = map->index[x], step = map->index[x + VEC_LANES - 8] - first;
    vec pairs = v_lookup16(v_load2(in + first, step), v_loadu(map->pair + 2 * x));
    return mixed(v_dot8(pairs, v_loadu(map->mix + 2 * x)));
}

/* The same near the end of the row: where 16 pixels would go beyond it, the last 16 are loaded. */
VEC_INLINE vec resize_last(const uint8_t *in, int32_t in_width, const kbi_resize_map *map, int32_t x)
{
    int32_t first = map->index[x], second = map->index[x + VEC_LANES - 8], last = in_width - 16;
    int32_t at = kbi_min_i(first, last), step = kbi_min_i(second, last) - at;
    vec late = v_set8_two(first - at, second - at - step);
    vec pairs = v_lookup16(v_load2(in + at, step), v_add8(v_loadu(map->pair + 2 * x), late));
    return mixed(v_dot8(pairs, v_loadu(map->mix + 2 * x)));
}

VEC_KERNEL void KERNEL(resize_row)(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width, uint8_t *out)
{
    int32_t x = 0;
    for (; x + RESIZE_STEP <= width && map.index[x + RESIZE_STEP - 8] + 16 <= in_width; x += RESIZE_STEP)
        v_storeu(out + x, v_join8(resize_group(in, &map, x), resize_group(in, &map, x + VEC_LANES)));
    int32_t last = (width - RESIZE_STEP) & ~7; /* groups begin at multiples of 8 */
    while (in_width >= 16 && last >= 0 && x < last + RESIZE_STEP) {
        x = kbi_min_i(x, last);
        v_storeu(out + x, v_join8(resize_last(in, in_width, &map, x), resize_last(in, in_width, &map, x + VEC_LANES)));
        x += RESIZE_STEP;
    }
    for (; x < width; x++) {
        int32_t a = in[map.index[x]], b = in[map.index[x] + 1];
        out[x] = (uint8_t)(a + (((b - a) * map.weight[x] + KBI_RESIZE_ONE / 2) >> KBI_RESIZE_BITS));
    }
}

#endif
