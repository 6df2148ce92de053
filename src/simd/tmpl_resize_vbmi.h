/* SPDX-License-Identifier: Apache-2.0 */
/* kbi_blend_rows, and kbi_resize_row by VPERMB: 32 neighbours of the smaller row lie within 64 pixels of the larger, as the factor is at
 * most 2: one load and one lookup give the pairs of all of them. At the end of the row masks keep loads and stores
 * inside the row. */
#ifndef KBI_TMPL_RESIZE_VBMI_H
#define KBI_TMPL_RESIZE_VBMI_H

#include "detect/detect.h"
#include "simd/vec.h"

#define RESIZE_GROUP 32 /* pixels that one lookup serves */

/* Sums of two products of bytes with weights that are KBI_RESIZE_ONE together, to pixels. */
VEC_INLINE vec mixed(vec pairs, vec mix)
{
    return v_mul_q15(v_dot8(pairs, mix), v_set(1 << (15 - KBI_RESIZE_BITS)));
}

/* The first n bytes at p, n > 0, and 0 after them. */
VEC_INLINE vec resize_load(const uint8_t *p, int32_t n)
{
    return _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (64 - kbi_min_i(n, 64)), p);
}

VEC_INLINE vec blend(vec a, vec b, vec weights)
{
    return v_pack8(mixed(_mm512_unpacklo_epi8(a, b), weights), mixed(_mm512_unpackhi_epi8(a, b), weights));
}

VEC_KERNEL void KERNEL(blend_rows)(const uint8_t *a, const uint8_t *b, int32_t width, int32_t weight, uint8_t *out)
{
    const vec weights = v_set((KBI_RESIZE_ONE - weight) | weight << 8);
    int32_t x = 0;
    if (weight == 0 || weight == KBI_RESIZE_ONE) {
        memcpy(out, weight ? b : a, (size_t)width);
        return;
    }
    for (; x + 64 <= width; x += 64) v_storeu(out + x, blend(v_loadu(a + x), v_loadu(b + x), weights));
    if (x < width)
        _mm512_mask_storeu_epi8(out + x, ~(__mmask64)0 >> (64 - (width - x)),
                                blend(resize_load(a + x, width - x), resize_load(b + x, width - x), weights));
}

VEC_INLINE vec resize_group(const uint8_t *in, const kbi_resize_map *map, int32_t x)
{
    vec window = v_loadu(in + map->index[x]);
    return mixed(_mm512_permutexvar_epi8(v_loadu(map->pair + 2 * x), window), v_loadu(map->mix + 2 * x));
}

VEC_INLINE vec resize_last(const uint8_t *in, int32_t in_width, const kbi_resize_map *map, int32_t x, int32_t n)
{
    int32_t first = map->index[x];
    vec window = resize_load(in + first, in_width - first), pair = resize_load(map->pair + 2 * x, 2 * n);
    return mixed(_mm512_permutexvar_epi8(pair, window), resize_load(map->mix + 2 * x, 2 * n));
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
