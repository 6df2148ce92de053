/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of kbi_transfer_sums (src/fit/kernels.h) with two or four doubles per vector. As many pairs side by side are
 * turned into weights, which are then transposed: the four weights of a pair are one or two vectors, and so are the
 * three of its gradient. */
#ifndef KBI_TMPL_TRANSFER_H
#define KBI_TMPL_TRANSFER_H

#include "fit/kernels.h"
#include "simd/vec.h"

#ifdef KBI_VEC_AVX2
#    define PAIRS 4 /* per vector */
typedef __m256d doubles;
#else
#    define PAIRS 2
typedef double doubles __attribute__((vector_size(16)));
#endif
#define WEIGHT_PARTS (4 / PAIRS) /* vectors of four weights */

typedef struct transfer_block {
    doubles x, y, one, u, v, uv, ru, rv, rw; /* lanes are pairs */
} transfer_block;

typedef struct transfer_totals {
    doubles moments[6][WEIGHT_PARTS], gradient[3][WEIGHT_PARTS];
} transfer_totals;

/* values[slot[0]] and so on. */
VEC_INLINE doubles listed_doubles(const double *values, const int32_t *slot)
{
#ifdef KBI_VEC_AVX2
    return (doubles){values[slot[0]], values[slot[1]], values[slot[2]], values[slot[3]]};
#else
    return (doubles){values[slot[0]], values[slot[1]]};
#endif
}

/* Lane k of a, b, c and d is out[k]. */
VEC_INLINE void transpose_doubles(doubles a, doubles b, doubles c, doubles d, doubles out[PAIRS][WEIGHT_PARTS])
{
#ifdef KBI_VEC_AVX2
    doubles ab = _mm256_unpacklo_pd(a, b), ab_odd = _mm256_unpackhi_pd(a, b);
    doubles cd = _mm256_unpacklo_pd(c, d), cd_odd = _mm256_unpackhi_pd(c, d);
    out[0][0] = _mm256_permute2f128_pd(ab, cd, 0x20);
    out[1][0] = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20);
    out[2][0] = _mm256_permute2f128_pd(ab, cd, 0x31);
    out[3][0] = _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31);
#else
    out[0][0] = (doubles){a[0], b[0]}, out[0][1] = (doubles){c[0], d[0]};
    out[1][0] = (doubles){a[1], b[1]}, out[1][1] = (doubles){c[1], d[1]};
#endif
}

VEC_INLINE transfer_block transfer_fill(const double *h, const fit_pairs *pairs, const int32_t *slot, doubles weight)
{
    doubles x = listed_doubles(pairs->x1, slot), y = listed_doubles(pairs->y1, slot);
    doubles q = 1.0 / (h[6] * x + h[7] * y + h[8]);
    doubles u = (h[0] * x + h[1] * y + h[2]) * q, v = (h[3] * x + h[4] * y + h[5]) * q;
    doubles ru = u - listed_doubles(pairs->x2, slot), rv = v - listed_doubles(pairs->y2, slot);
    doubles rw = -(u * ru + v * rv), wq = weight * q, q2 = wq * q;
    return (transfer_block){x, y, q2, q2 * u, q2 * v, q2 * (u * u + v * v), ru * wq, rv * wq, rw * wq};
}

/* Adds the first n pairs of a block, one after the other. */
VEC_INLINE void transfer_add(const transfer_block *b, int32_t n, transfer_totals *t)
{
    doubles weights[PAIRS][WEIGHT_PARTS], slopes[PAIRS][WEIGHT_PARTS];
    transpose_doubles(b->one, b->u, b->v, b->uv, weights);
    transpose_doubles(b->ru, b->rv, b->rw, b->rw, slopes);
    VEC_UNROLL
    for (int32_t k = 0; k < PAIRS; k++) {
        if (k >= n) return;
        const double x = b->x[k], y = b->y[k];
        VEC_UNROLL
        for (int32_t p = 0; p < WEIGHT_PARTS; p++) {
            doubles w = weights[k][p], s = slopes[k][p];
            t->moments[0][p] += w * (x * x);
            t->moments[1][p] += w * (x * y);
            t->moments[2][p] += w * x;
            t->moments[3][p] += w * (y * y);
            t->moments[4][p] += w * y;
            t->moments[5][p] += w;
            t->gradient[0][p] += s * x;
            t->gradient[1][p] += s * y;
            t->gradient[2][p] += s;
        }
    }
}

VEC_INLINE void transfer_store(const transfer_totals *t, kbi_transfer_sums *out)
{
    double lanes[4];
    VEC_PEEL
    for (int32_t i = 0; i < 6; i++) {
        memcpy(lanes, t->moments[i], sizeof lanes);
        out->one[i] = lanes[0], out->u[i] = lanes[1], out->v[i] = lanes[2], out->uv[i] = lanes[3];
    }
    VEC_PEEL
    for (int32_t i = 0; i < 3; i++) {
        memcpy(lanes, t->gradient[i], sizeof lanes);
        out->gradient[i] = lanes[0], out->gradient[i + 3] = lanes[1], out->gradient[i + 6] = lanes[2];
    }
}

VEC_KERNEL void KERNEL(transfer_sums)(const double *h, const fit_pairs *pairs, const fit_list *list,
                                      kbi_transfer_sums *out)
{
    transfer_totals totals = {0};
    int32_t k = 0;
    for (; k + PAIRS <= list->n; k += PAIRS) {
        doubles weight;
        memcpy(&weight, list->weight + k, sizeof weight);
        transfer_block b = transfer_fill(h, pairs, list->slot + k, weight);
        transfer_add(&b, PAIRS, &totals);
    }
    if (k < list->n) { /* the last pair fills the missing lanes, which are not added */
        int32_t slot[PAIRS];
        doubles weight = {0};
        for (int32_t i = 0; i < PAIRS; i++) {
            slot[i] = list->slot[kbi_min_i(k + i, list->n - 1)];
            weight[i] = list->weight[kbi_min_i(k + i, list->n - 1)];
        }
        transfer_block b = transfer_fill(h, pairs, slot, weight);
        transfer_add(&b, list->n - k, &totals);
    }
    transfer_store(&totals, out);
}

#undef PAIRS
#undef WEIGHT_PARTS

#endif
