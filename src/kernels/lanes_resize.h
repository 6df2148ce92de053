/* A row of a pyramid's next level: kb_blend_rows and kb_resize_row (src/detect/resize_rows.h). Template over
 * kernels/vec.h.
 *
 * Eight neighbours of the smaller row lie within 16 pixels of the larger: a load and a shuffle bring their pairs. */
#ifndef KB_LANES_RESIZE_H
#define KB_LANES_RESIZE_H

#include "kernels/kernels.h"
#include "kernels/vec.h"

/* a + ((b - a) weight + half) / one, rounded down, which is what both functions say. */
VEC_INLINE vec blend(vec a, vec b, vec weight)
{
    vec product = v_mul(v_sub(b, a), weight);
    return v_add(a, v_sar(v_add(product, v_set(KB_RESIZE_ONE / 2)), KB_RESIZE_BITS));
}

VEC_TARGET static void blend_rows_lanes(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out)
{
    const vec w = v_set(weight);
    int32_t x = 0;
    for (; x + 2 * VEC_LANES <= width; x += 2 * VEC_LANES) {
        vec first = blend(v_widen8(a + x), v_widen8(b + x), w);
        v_storeu(out + x, v_join8(first, blend(v_widen8(a + x + VEC_LANES), v_widen8(b + x + VEC_LANES), w)));
    }
    for (; x < width; x++) out[x] = (uint8_t)(a[x] + (((b[x] - a[x]) * weight + KB_RESIZE_ONE / 2) >> KB_RESIZE_BITS));
}

VEC_INLINE vec resize_group(const uint8_t *in, const kb_resize_map *map, int32_t x)
{
    int32_t first = map->index[x], step = map->index[x + VEC_LANES - 8] - first;
    vec pairs = v_lookup16(v_load2(in + first, step), v_loadu(map->pair + 2 * x));
    return blend(v_and(pairs, v_set(255)), v_shr(pairs, 8), v_widen8(map->weight + x));
}

VEC_TARGET static void resize_row_lanes(const uint8_t *in, int32_t in_width, kb_resize_map map, int32_t width,
                                        uint8_t *out)
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
