/* SPDX-License-Identifier: Apache-2.0 */
/* One match with a block of others: kbi_filter_block (src/match/kernels.h). Template over simd/vec.h;
 * operations and their order as in plain C. */
#ifndef KBI_TMPL_FILTER_H
#define KBI_TMPL_FILTER_H

#include "match/kernels.h"
#include "simd/vec.h"

VEC_INLINE vec_floats filter_get(const kbi_filter_nodes *nodes, int column, int32_t k)
{
    vec_floats found;
    memcpy(&found, nodes->column[column] + k, sizeof found);
    return found;
}

/* -1 where node k, or one after it, may support node i. */
VEC_INLINE vec_ints filter_may(const kbi_filter_nodes *nodes, int32_t i, int32_t k)
{
    float *const *c = nodes->column;
    const float norm2 = c[KBI_FILTER_NORM2][i], ratio2 = nodes->ratio2;
    vec_floats mx = filter_get(nodes, KBI_FILTER_MX, k), my = filter_get(nodes, KBI_FILTER_MY, k);
    vec_floats dot = c[KBI_FILTER_MX][i] * mx + c[KBI_FILTER_MY][i] * my;
    vec_floats other2 = filter_get(nodes, KBI_FILTER_NORM2, k);
    vec_floats reach = c[KBI_FILTER_SLACK][i] + filter_get(nodes, KBI_FILTER_SLACK, k);
    mx = 0.5f * (c[KBI_FILTER_MX][i] + mx);
    my = 0.5f * (c[KBI_FILTER_MY][i] + my);
    vec_floats ax = filter_get(nodes, KBI_FILTER_AX, k) - c[KBI_FILTER_AX][i];
    vec_floats ay = filter_get(nodes, KBI_FILTER_AY, k) - c[KBI_FILTER_AY][i];
    vec_floats px = mx * ax - my * ay, py = mx * ay + my * ax;
    vec_floats dx = filter_get(nodes, KBI_FILTER_BX, k) - c[KBI_FILTER_BX][i] - px;
    vec_floats dy = filter_get(nodes, KBI_FILTER_BY, k) - c[KBI_FILTER_BY][i] - py;
    vec_floats p2 = px * px + py * py, d2 = dx * dx + dy * dy;
    return (dot > 0.0f) & (dot * dot >= nodes->cosine2 * norm2 * other2) & (norm2 <= ratio2 * other2) &
           (other2 <= ratio2 * norm2) & (d2 <= nodes->bound2 * p2 + 2.0001f * reach * reach);
}

VEC_KERNEL uint32_t KERNEL(filter_block)(const kbi_filter_nodes *nodes, int32_t i, int32_t j, int32_t min)
{
    uint32_t bits = 0;
    VEC_UNROLL
    for (int32_t l = 0; l < KBI_FILTER_BLOCK; l += VEC_FLOATS) {
        vec_ints support, may = filter_may(nodes, i, j + l);
        memcpy(&support, nodes->support + j + l, sizeof support);
        may &= (support < min) | -(nodes->support[i] < min);
        bits |= v_bits_floats(may) << l;
    }
    return bits;
}

#endif
