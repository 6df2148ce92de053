/* SPDX-License-Identifier: Apache-2.0 */
/* Patches with one keypoint per lane: VEC_LANES of them, one after the other in memory, are transposed. Template over
 * simd/vec.h. */
#ifndef KBI_TMPL_PATCHES_H
#define KBI_TMPL_PATCHES_H

#include "describe/describe.h"
#include "simd/vec.h"

typedef uint8_t spare_patches[VEC_LANES * KBI_PATCH_BYTES];

/* The first VEC_LANES patches, of `bytes` each; when there are only n, a copy of them, in which the last one fills the
 * other lanes. */
static const uint8_t *whole_group(const uint8_t *patches, int32_t bytes, int32_t n, spare_patches spare)
{
    if (n >= VEC_LANES) return patches;
    for (int32_t k = 0; k < VEC_LANES; k++)
        memcpy(spare + k * bytes, patches + kbi_min_i(k, n - 1) * bytes, (size_t)bytes);
    return spare;
}

/* 16 samples from (x, y) on of patches of side x side, as 8 vecs, two in a lane: the first one in its low byte. */
VEC_INLINE void load_samples(const uint8_t *patches, int side, int x, int y, vec units[8])
{
    const uint8_t *rows[VEC_LANES];
    VEC_UNROLL
    for (int k = 0; k < VEC_LANES; k++) rows[k] = patches + k * side * side;
    v_load_rows(rows, (size_t)(y * side + x), units);
    v_transpose8(units);
}
VEC_INLINE vec first_sample(vec unit) { return v_and(unit, v_set(255)); }
VEC_INLINE vec second_sample(vec unit) { return v_shr(unit, 8); }

#endif
