/* A row of a pyramid's next level: kbi_blend_rows and kbi_resize_row (src/detect/resize_rows.h). Template over
 * simd/vec.h.
 *
 * Eight neighbours of the smaller row lie within 16 pixels of the larger: a load and a shuffle bring their pairs. */
#ifndef KBI_TMPL_RESIZE_H
#define KBI_TMPL_RESIZE_H

#include "simd/kernels.h"
#include "simd/vec.h"

/* a + ((b - a) weight + half) / one, rounded down, which is what both functions say. */
VEC_INLINE vec blend(vec a, vec b, vec weight)
{
    vec product = v_mul(v_sub(b, a), weight);
    return v_add(a, v_sar(v_add(product, v_set(KBI_RESIZE_ONE / 2)), KBI_RESIZE_BITS));
}

VEC_TARGET static void blend_rows_simd(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out)
{
    const vec w = v_set(weight);
    int32_t x = 0;
    for (; x + 2 * VEC_LANES <= width; x += 2 * VEC_LANES) {
        vec first = blend(v_widen8(a + x), v_widen8(b + x), w);
        v_storeu(out + x, v_join8(first, blend(v_widen8(a + x + VEC_LANES), v_widen8(b + x + VEC_LANES), w)));
    }
    for (; x < width; x++)
        out[x] = (uint8_t)(a[x] + (((b[x] - a[x]) * weight + KBI_RESIZE_ONE / 2) >> KBI_RESIZE_BITS));
}

VEC_INLINE vec resize_group(const uint8_t *in, const kbi_resize_map *map, int32_t x)
{
    int32_t first = map->index[x], step = map->index[x + VEC_LANES - 8] - first;
    vec pairs = v_lookup16(v_load2(in + first, step), v_loadu(map->pair + 2 * x));
    return blend(v_and(pairs, v_set(255)), v_shr(pairs, 8), v_widen8(map->weight + x));
}

VEC_TARGET static void resize_row_simd(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width,
                                        uint8_t *out)
{
    int32_t x = 0;
    for (; x + 2 * VEC_LANES <= width && map.index[x + 2 * VEC_LANES - 8] + 16 <= in_width; x += 2 * VEC_LANES)
        v_storeu(out + x, v_join8(resize_group(in, &map, x), resize_group(in, &map, x + VEC_LANES)));
    for (; x < width; x++) {
        int32_t a = in[map.index[x]], b = in[map.index[x] + 1];
        out[x] = (uint8_t)(a + (((b - a) * map.weight[x] + KBI_RESIZE_ONE / 2) >> KBI_RESIZE_BITS));
    }
}

#endif
