/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of kbi_transfer_sums (src/fit/kernels.h) with four doubles per vector. Four pairs side by side are turned
 * into weights, which are then transposed: the four weights of a pair are a vector, and so are the three of its
 * gradient. */
#ifndef KBI_TMPL_TRANSFER_H
#define KBI_TMPL_TRANSFER_H

#include "fit/kernels.h"
#include "simd/vec.h"

typedef struct transfer_block {
    __m256d x, y, one, u, v, uv, ru, rv, rw; /* lanes are pairs */
} transfer_block;

/* values[slot[0]] to values[slot[3]]. */
VEC_INLINE __m256d four_listed(const double *values, const int32_t *slot)
{
    return _mm256_set_pd(values[slot[3]], values[slot[2]], values[slot[1]], values[slot[0]]);
}

VEC_INLINE __m256d row_times(const double *row, __m256d x, __m256d y)
{
    __m256d a = _mm256_mul_pd(_mm256_set1_pd(row[0]), x), b = _mm256_mul_pd(_mm256_set1_pd(row[1]), y);
    return _mm256_add_pd(_mm256_add_pd(a, b), _mm256_set1_pd(row[2]));
}

VEC_INLINE transfer_block transfer_fill(const double *h, const fit_pairs *pairs, const int32_t *slot, __m256d weight)
{
    __m256d x = four_listed(pairs->x1, slot), y = four_listed(pairs->y1, slot);
    __m256d q = _mm256_div_pd(_mm256_set1_pd(1), row_times(h + 6, x, y));
    __m256d u = _mm256_mul_pd(row_times(h, x, y), q), v = _mm256_mul_pd(row_times(h + 3, x, y), q);
    __m256d ru = _mm256_sub_pd(u, four_listed(pairs->x2, slot)), rv = _mm256_sub_pd(v, four_listed(pairs->y2, slot));
    __m256d rw = _mm256_xor_pd(_mm256_add_pd(_mm256_mul_pd(u, ru), _mm256_mul_pd(v, rv)), _mm256_set1_pd(-0.0));
    __m256d wq = _mm256_mul_pd(weight, q), q2 = _mm256_mul_pd(wq, q);
    return (transfer_block){x, y, q2, _mm256_mul_pd(q2, u), _mm256_mul_pd(q2, v),
                            _mm256_mul_pd(q2, _mm256_add_pd(_mm256_mul_pd(u, u), _mm256_mul_pd(v, v))),
                            _mm256_mul_pd(ru, wq), _mm256_mul_pd(rv, wq), _mm256_mul_pd(rw, wq)};
}

VEC_INLINE void transpose_doubles(__m256d a, __m256d b, __m256d c, __m256d d, __m256d out[4])
{
    __m256d ab = _mm256_unpacklo_pd(a, b), ab_odd = _mm256_unpackhi_pd(a, b);
    __m256d cd = _mm256_unpacklo_pd(c, d), cd_odd = _mm256_unpackhi_pd(c, d);
    out[0] = _mm256_permute2f128_pd(ab, cd, 0x20);
    out[1] = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20);
    out[2] = _mm256_permute2f128_pd(ab, cd, 0x31);
    out[3] = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31);
}

/* Adds the first n of four pairs, one after the other. */
VEC_INLINE void transfer_add(const transfer_block *b, int32_t n, __m256d moments[6], __m256d gradient[3])
{
    __m256d weights[4], slopes[4];
    double x[4], y[4];
    _mm256_storeu_pd(x, b->x);
    _mm256_storeu_pd(y, b->y);
    transpose_doubles(b->one, b->u, b->v, b->uv, weights);
    transpose_doubles(b->ru, b->rv, b->rw, b->rw, slopes);
    VEC_UNROLL
    for (int32_t k = 0; k < 4; k++) {
        if (k >= n) return;
        __m256d px = _mm256_set1_pd(x[k]), py = _mm256_set1_pd(y[k]), w = weights[k], s = slopes[k];
        moments[0] = _mm256_add_pd(moments[0], _mm256_mul_pd(w, _mm256_mul_pd(px, px)));
        moments[1] = _mm256_add_pd(moments[1], _mm256_mul_pd(w, _mm256_mul_pd(px, py)));
        moments[2] = _mm256_add_pd(moments[2], _mm256_mul_pd(w, px));
        moments[3] = _mm256_add_pd(moments[3], _mm256_mul_pd(w, _mm256_mul_pd(py, py)));
        moments[4] = _mm256_add_pd(moments[4], _mm256_mul_pd(w, py));
        moments[5] = _mm256_add_pd(moments[5], w);
        gradient[0] = _mm256_add_pd(gradient[0], _mm256_mul_pd(s, px));
        gradient[1] = _mm256_add_pd(gradient[1], _mm256_mul_pd(s, py));
        gradient[2] = _mm256_add_pd(gradient[2], s);
    }
}

VEC_INLINE void transfer_store(const __m256d moments[6], const __m256d gradient[3], kbi_transfer_sums *out)
{
    double lanes[4];
    VEC_PEEL
    for (int32_t i = 0; i < 6; i++) {
        _mm256_storeu_pd(lanes, moments[i]);
        out->one[i] = lanes[0], out->u[i] = lanes[1], out->v[i] = lanes[2], out->uv[i] = lanes[3];
    }
    VEC_PEEL
    for (int32_t i = 0; i < 3; i++) {
        _mm256_storeu_pd(lanes, gradient[i]);
        out->gradient[i] = lanes[0], out->gradient[i + 3] = lanes[1], out->gradient[i + 6] = lanes[2];
    }
}

VEC_KERNEL void KERNEL(transfer_sums)(const double *h, const fit_pairs *pairs, const fit_list *list,
                                      kbi_transfer_sums *out)
{
    __m256d moments[6], gradient[3];
    VEC_PEEL
    for (int32_t i = 0; i < 6; i++) moments[i] = _mm256_setzero_pd();
    VEC_PEEL
    for (int32_t i = 0; i < 3; i++) gradient[i] = _mm256_setzero_pd();
    int32_t k = 0;
    for (; k + 4 <= list->n; k += 4) {
        transfer_block b = transfer_fill(h, pairs, list->slot + k, _mm256_loadu_pd(list->weight + k));
        transfer_add(&b, 4, moments, gradient);
    }
    if (k < list->n) { /* the last pair fills the missing lanes, which are not added */
        int32_t slot[4];
        double weight[4];
        for (int32_t i = 0; i < 4; i++) {
            slot[i] = list->slot[kbi_min_i(k + i, list->n - 1)];
            weight[i] = list->weight[kbi_min_i(k + i, list->n - 1)];
        }
        transfer_block b = transfer_fill(h, pairs, slot, _mm256_loadu_pd(weight));
        transfer_add(&b, list->n - k, moments, gradient);
    }
    transfer_store(moments, gradient, out);
}

#endif
