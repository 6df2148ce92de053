/* SPDX-License-Identifier: Apache-2.0 */
/* Gaussian blur: kbi_blur_pairs (src/detect/blur_rows.h). Template over simd/vec.h. */
#ifndef KBI_TMPL_BLUR_H
#define KBI_TMPL_BLUR_H

#include "detect/sift.h"
#include "simd/vec.h"

/* Blurs `vecs` vecs of the row from `at` on; their sums stay in registers over all taps. */
VEC_INLINE void blur_at(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur, int32_t at, int vecs,
                        uint16_t *out)
{
    vec sum[4];
    VEC_UNROLL
    for (int i = 0; i < vecs; i++) sum[i] = v_set(blur->taps / 2);
    for (int32_t k = 0; k < blur->taps; k++) {
        const uint16_t *p = a[k] + at, *q = b[k] + at;
        vec weight = v_set(blur->weight[k]);
        VEC_UNROLL
        for (int i = 0; i < vecs; i++) {
            vec both = v_add(v_loadu(p + i * VEC_LANES), v_loadu(q + i * VEC_LANES));
            sum[i] = v_add(sum[i], v_high(both, weight));
        }
    }
    VEC_UNROLL
    for (int i = 0; i < vecs; i++) v_storeu(out + at + i * VEC_LANES, sum[i]);
}

/* Few taps, whose number is a constant: their weights and rows are in registers for a whole row. */
VEC_INLINE void blur_few(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur, int32_t width,
                         int taps, uint16_t *out)
{
    const uint16_t *p[5], *q[5];
    vec weight[5], start = v_set(blur->taps / 2);
    VEC_UNROLL
    for (int k = 0; k < taps; k++) {
        p[k] = a[k];
        q[k] = b[k];
        weight[k] = v_set(blur->weight[k]);
    }
    for (int32_t x = 0; x < width; x += VEC_LANES) {
        int32_t at = kbi_min_i(x, width - VEC_LANES);
        vec centre = v_loadu(p[0] + at), sum = v_add(start, v_high(v_add(centre, centre), weight[0]));
        VEC_UNROLL
        for (int k = 1; k < taps; k++)
            sum = v_add(sum, v_high(v_add(v_loadu(p[k] + at), v_loadu(q[k] + at)), weight[k]));
        v_storeu(out + at, sum);
    }
}

VEC_KERNEL void KERNEL(blur_pairs)(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur,
                                   int32_t width, uint16_t *out)
{
    int32_t x = 0;
    if (width < VEC_LANES) {
        kbi_blur_pairs(a, b, blur, width, out);
        return;
    }
    switch (blur->taps) { /* of the layers of an octave with default options */
    case 3: blur_few(a, b, blur, width, 3, out); return;
    case 4: blur_few(a, b, blur, width, 4, out); return;
    case 5: blur_few(a, b, blur, width, 5, out); return;
    default: break;
    }
    for (; x + 4 * VEC_LANES <= width; x += 4 * VEC_LANES) blur_at(a, b, blur, x, 4, out);
    for (; x < width; x += VEC_LANES) blur_at(a, b, blur, kbi_min_i(x, width - VEC_LANES), 1, out);
}

#endif
