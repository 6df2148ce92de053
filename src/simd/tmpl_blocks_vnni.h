/* SPDX-License-Identifier: Apache-2.0 */
/* kbi_gradient_blocks by products that are summed: the four pixels of a row of a block, times 1. With vectors of 256
 * bits: wider ones take a port from the code around this, which is of 256 bits. */
#ifndef KBI_TMPL_BLOCKS_VNNI_H
#define KBI_TMPL_BLOCKS_VNNI_H

#include "detect/detect.h"
#include "simd/vec.h"

/* Eight blocks from p on. */
VEC_INLINE vec eight_blocks(const uint8_t *p, ptrdiff_t stride)
{
    vec sum = v_zero();
    VEC_UNROLL
    for (int k = 0; k < 4; k++, p += stride) sum = _mm256_dpbusd_epi32(sum, v_loadu(p), v_set(0x0101));
    return sum;
}

/* A row of blocks with its border is one store, which also writes to the beginning of the next row: so what loads it
 * soon gets it from that store. */
VEC_KERNEL void KERNEL(gradient_blocks)(const uint8_t *centre, ptrdiff_t stride, uint16_t *blocks)
{
    /* lanes of the first eight blocks, and 16 further on of the last eight; 1 is always 0 */
    static const uint16_t lanes[16] = {0, 0, 2, 4, 6, 8, 10, 12, 14, 28, 30, 30, 1, 1, 1, 1};
    const vec order = v_loadu(lanes);
    const uint8_t *row = centre - KBI_GRADIENT_REACH * stride - KBI_GRADIENT_REACH;
    for (int i = 0; i < KBI_GRADIENT_BLOCKS; i++, row += 4 * stride, blocks += KBI_GRADIENT_STRIDE)
        v_storeu(blocks, _mm256_permutex2var_epi16(eight_blocks(row, stride), order, eight_blocks(row + 8, stride)));
}

#endif
