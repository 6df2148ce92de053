/* A row of a pyramid's next level: kb_resize_row (src/detect/resize_rows.h). Template over kernels/vec.h.
 *
 * Eight neighbours of the smaller row lie within 16 pixels of the larger: one load and one shuffle bring their pairs. */
#ifndef KB_LANES_RESIZE_H
#define KB_LANES_RESIZE_H

#include "kernels/kernels.h"
#include "kernels/vec.h"

VEC_INLINE vec resize_group(const uint8_t *in, const kb_resize_map *map, int32_t x)
{
    int32_t first = map->index[x], step = map->index[x + VEC_LANES - 8] - first;
    vec pairs = v_lookup16(v_load2(in + first, step), v_loadu(map->pair + 2 * x));
    vec a = v_and(pairs, v_set(255)), b = v_shr(pairs, 8);
    vec product = v_mul(v_sub(b, a), v_widen8(map->weight + x));
    return v_add(a, v_sar(v_add(product, v_set(KB_RESIZE_ONE / 2)), KB_RESIZE_BITS));
}

VEC_TARGET static void resize_row_lanes(const uint8_t *in, int32_t in_width, kb_resize_map map, int32_t width, uint8_t *out)
{
    int32_t x = 0;
    for (; x + 2 * VEC_LANES <= width && map.index[x + 2 * VEC_LANES - 8] + 16 <= in_width; x += 2 * VEC_LANES)
        v_storeu(out + x, v_join8(resize_group(in, &map, x), resize_group(in, &map, x + VEC_LANES)));
    for (; x < width; x++) {
        int32_t a = in[map.index[x]], b = in[map.index[x] + 1];
        out[x] = (uint8_t)(a + (((b - a) * map.weight[x] + KB_RESIZE_ONE / 2) >> KB_RESIZE_BITS));
    }
}

#endif
