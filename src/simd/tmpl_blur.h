/* Gaussian blur: kbi_blur_pairs (src/detect/blur_rows.h). Template over simd/vec.h. */
#ifndef KBI_TMPL_BLUR_H
#define KBI_TMPL_BLUR_H

#include "detect/sift.h"
#include "simd/vec.h"

/* `vecs` vecs from `at` on, all taps while the sums are in registers. */
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

VEC_TARGET static void blur_pairs_simd(const uint16_t *const *a, const uint16_t *const *b, const kbi_blur *blur,
                                        int32_t width, uint16_t *out)
{
    int32_t x = 0;
    if (width < VEC_LANES) {
        kbi_blur_pairs(a, b, blur, width, out);
        return;
    }
    for (; x + 4 * VEC_LANES <= width; x += 4 * VEC_LANES) blur_at(a, b, blur, x, 4, out);
    for (; x < width; x += VEC_LANES) blur_at(a, b, blur, kbi_min_i(x, width - VEC_LANES), 1, out);
}

#endif
