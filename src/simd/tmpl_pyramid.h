/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the sampler's pyramid: the arithmetic of src/image/pyramid.c. The last pixels of a row are made together with
 * some that are there already, since one by one they would take as long as the others. Template over simd/vec.h. */
#ifndef KBI_TMPL_LEVELS_H
#define KBI_TMPL_LEVELS_H

#include "simd/vec.h"

#define HALF_STEP   (2 * VEC_LANES)                 /* pixels that one round writes */
#define THIRDS_READ (12 * (VEC_LANES / 8 - 1) + 16) /* bytes that are read for a vec, 12 x VEC_LANES / 8 of them */

VEC_INLINE vec half_of(const uint8_t *upper, const uint8_t *lower)
{
    return v_shr_round(v_add_pairs8(v_sum_pairs8(v_loadu(upper)), v_loadu(lower)), 2);
}

VEC_KERNEL void KERNEL(shrink_half)(const uint8_t *upper, const uint8_t *lower, int32_t n, uint8_t *out)
{
    if (n >= HALF_STEP) {
        for (int32_t x = 0; x < n; x += HALF_STEP) {
            if (x > n - HALF_STEP) x = n - HALF_STEP;
            vec first = half_of(upper + 2 * x, lower + 2 * x);
            v_storeu(out + x, v_join8(first, half_of(upper + 2 * x + HALF_STEP, lower + 2 * x + HALF_STEP)));
        }
        return;
    }
    for (int32_t x = 0; x < n; x++)
        out[x] = (uint8_t)((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
}

/* Twice the pixel that weighs more plus the other one: a b c become 2a + b and 2c + b. */
VEC_INLINE vec lean(const uint8_t *row)
{
    static const uint8_t order[16] = {0, 1, 2, 1, 3, 4, 5, 4, 6, 7, 8, 7, 9, 10, 11, 10};
    return v_dot8(v_lookup16(v_load2(row, 12), v_each16(order)), v_set(0x0102));
}

/* VEC_LANES pixels. / 9 as a product: 7282 = (2^16 + 2) / 9 serves for numbers below 2^15. */
VEC_INLINE vec two_thirds_of(const uint8_t *heavy, const uint8_t *light)
{
    vec h = lean(heavy);
    return v_high_by(v_add(v_add(v_add(h, h), lean(light)), v_set(4)), 7282);
}

VEC_KERNEL void KERNEL(shrink_two_thirds)(const uint8_t *heavy, const uint8_t *light, int32_t triples, uint8_t *out)
{
    const int32_t step = VEC_LANES / 2; /* triples per vec; a round has two */
    const int32_t last = triples - step - (THIRDS_READ + 2) / 3, end = last < 0 ? 0 : last + 2 * step;
    int32_t t = 0;
    while (t < end) {
        if (t > last) t = last;
        v_storeu(out + 2 * t, v_join8(two_thirds_of(heavy + 3 * t, light + 3 * t),
                                      two_thirds_of(heavy + 3 * (t + step), light + 3 * (t + step))));
        t += 2 * step;
    }
    for (out += 2 * t; t < triples; t++, out += 2) {
        const uint8_t *h = heavy + 3 * t, *l = light + 3 * t;
        out[0] = (uint8_t)((4 * h[0] + 2 * h[1] + 2 * l[0] + l[1] + 4) / 9);
        out[1] = (uint8_t)((4 * h[2] + 2 * h[1] + 2 * l[2] + l[1] + 4) / 9);
    }
}

#endif
