/* SPDX-License-Identifier: Apache-2.0 */
/* kbi_resize_row by VPERMB: 32 neighbours of the smaller row lie within 64 pixels of the larger, as the factor is at
 * most 2: one load and one lookup give the pairs of all of them. At the end of the row masks keep loads and stores
 * inside the row. */
#ifndef KBI_TMPL_RESIZE_VBMI_H
#define KBI_TMPL_RESIZE_VBMI_H

#include "detect/detect.h"
#include "simd/vec.h"

#define RESIZE_GROUP 32 /* pixels that one lookup serves */

VEC_INLINE vec resize_mixed(vec window, vec pair, vec mix)
{
    vec sums = _mm512_maddubs_epi16(_mm512_permutexvar_epi8(pair, window), mix);
    return v_shr(v_add(sums, v_set(KBI_RESIZE_ONE / 2)), KBI_RESIZE_BITS);
}

VEC_INLINE vec resize_group(const uint8_t *in, const kbi_resize_map *map, int32_t x)
{
    return resize_mixed(v_loadu(in + map->index[x]), v_loadu(map->pair + 2 * x), v_loadu(map->mix + 2 * x));
}

/* The first n bytes at p, n > 0, and 0 after them. */
VEC_INLINE vec resize_load(const uint8_t *p, int32_t n)
{
    return _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (64 - kbi_min_i(n, 64)), p);
}

VEC_INLINE vec resize_last(const uint8_t *in, int32_t in_width, const kbi_resize_map *map, int32_t x, int32_t n)
{
    int32_t first = map->index[x];
    return resize_mixed(resize_load(in + first, in_width - first), resize_load(map->pair + 2 * x, 2 * n),
                        resize_load(map->mix + 2 * x, 2 * n));
}

VEC_KERNEL void KERNEL(resize_row)(const uint8_t *in, int32_t in_width, kbi_resize_map map, int32_t width, uint8_t *out)
{
    const vec order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0); /* of packed 64-bit parts */
    int32_t x = 0;
    for (; x + 2 * RESIZE_GROUP <= width && map.index[x + RESIZE_GROUP] + 64 <= in_width; x += 2 * RESIZE_GROUP) {
        vec both = _mm512_packus_epi16(resize_group(in, &map, x), resize_group(in, &map, x + RESIZE_GROUP));
        v_storeu(out + x, _mm512_permutexvar_epi64(order, both));
    }
    for (; x < width; x += RESIZE_GROUP) {
        vec last = resize_last(in, in_width, &map, x, width - x);
        _mm512_mask_cvtepi16_storeu_epi8(out + x, (__mmask32)(~0u >> (32 - kbi_min_i(width - x, 32))), last);
    }
}

#endif
