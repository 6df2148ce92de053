/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that the sets of 128 bits share: SSE4.2, NEON and WebAssembly. A vec_<set>.h includes this file once it
 * has defined vec, VEC_OP and v_join8. */
#ifndef KBI_VEC_128_H
#define KBI_VEC_128_H

#define v_load2(p, step)                ((void)(step), v_loadu(p))
#define v_set8_two(first, second)       ((void)(second), v_set((first)*257))
#define v_each16(p)                     v_loadu(p)
#define v_store16_each(rows, offset, a) v_storeu((rows)[0] + (offset), a)
#include "simd/vec_interleave.h"

VEC_INLINE void v_load_rows(const uint8_t *const rows[VEC_LANES], size_t offset, vec out[8])
{
    for (int k = 0; k < 8; k++) out[k] = v_loadu(rows[k] + offset);
}

/* Four tiles of 4x4 samples side by side, a lane for each, to rows of bytes that are `stride` apart. */
VEC_INLINE void v_store_tiles(const vec tile[8], uint8_t *to, int32_t stride)
{
    vec r[4];
    for (int i = 0; i < 4; i++) r[i] = v_join8(tile[2 * i], tile[2 * i + 1]);
    v_transpose4(r);
    for (int i = 0; i < 4; i++) v_storeu(to + i * stride, r[i]);
}

#endif
