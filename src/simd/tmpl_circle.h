/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the points in a circle. Four numbers are stored at a time, with the points inside moved to the front; the next
 * four overwrite the others. */
#ifndef KBI_TMPL_CIRCLE_H
#define KBI_TMPL_CIRCLE_H

#include "match/kernels.h"
#include "simd/vec.h"

#define FRONT(a, b, c, d) {4 * a, 4 * a + 1, 4 * a + 2, 4 * a + 3, 4 * b, 4 * b + 1, 4 * b + 2, 4 * b + 3, \
                           4 * c, 4 * c + 1, 4 * c + 2, 4 * c + 3, 4 * d, 4 * d + 1, 4 * d + 2, 4 * d + 3}
/* For every set of lanes, the order that moves them to the front. */
static const uint8_t lanes_first[16][16] = {
    FRONT(0, 1, 2, 3), FRONT(0, 1, 2, 3), FRONT(1, 0, 2, 3), FRONT(0, 1, 2, 3), FRONT(2, 0, 1, 3), FRONT(0, 2, 1, 3),
    FRONT(1, 2, 0, 3), FRONT(0, 1, 2, 3), FRONT(3, 0, 1, 2), FRONT(0, 3, 1, 2), FRONT(1, 3, 0, 2), FRONT(0, 1, 3, 2),
    FRONT(2, 3, 0, 1), FRONT(0, 2, 3, 1), FRONT(1, 2, 3, 0), FRONT(0, 1, 2, 3)};
#undef FRONT

/* A bit for each of VEC_FLOATS points that lies in the circle and has one of its levels. */
VEC_INLINE unsigned circle_inside(const float *x, const float *y, const int32_t *level, const kbi_circle *circle)
{
    vec_floats dx = (vec_floats)v_loadu(x) - circle->x, dy = (vec_floats)v_loadu(y) - circle->y;
    vec_ints at = (vec_ints)v_loadu(level);
    return v_bits_floats((dx * dx + dy * dy <= circle->radius2) & (at >= circle->min_level) &
                         (at <= circle->max_level));
}

VEC_KERNEL size_t KERNEL(list_circle)(const float *x, const float *y, const int32_t *level, int32_t from, int32_t to,
                                      const kbi_circle *circle, int32_t *listed)
{
    static const uint8_t lanes_in[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    size_t n = 0;
    for (int32_t k = from; k < to; k += VEC_FLOATS) {
        int32_t rest = to - k < VEC_FLOATS ? to - k : VEC_FLOATS;
        unsigned inside = circle_inside(x + k, y + k, level + k, circle) & ((1u << rest) - 1);
        VEC_UNROLL
        for (int32_t i = 0; i < VEC_FLOATS; i += 4, inside >>= 4) {
            v_store_lanes4(listed + n, k + i, lanes_first[inside & 15]);
            n += lanes_in[inside & 15];
        }
    }
    return n;
}

#endif
