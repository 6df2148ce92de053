/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* The kernels of this module in plain C. */
#include "match/hamming_rows.h"
#include "match/kernels.h"

void kbi_hamming_block(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                      uint32_t *second, uint32_t *best_b)
{
    hamming_rows(a, na, b, nb, row_bytes, best, second, best_b, KBI_COUNTS_BITS);
}

void kbi_hamming_listed(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n, size_t row_bytes,
                           size_t stride, uint32_t *distances)
{
    hamming_listed_rows(query, rows, listed, n, row_bytes, stride, distances, KBI_COUNTS_BITS);
}

uint32_t kbi_hamming_nearest(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes)
{
    return hamming_nearest_row(query, rows, n, row_bytes, KBI_COUNTS_BITS);
}

size_t kbi_hamming_near(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max, int32_t *found)
{
    return hamming_near_words(query, words, n, max, found, KBI_COUNTS_BITS);
}

/* Without branches, since whether a point is inside cannot be foreseen. */
size_t kbi_list_circle(const float *x, const float *y, const int32_t *level, int32_t from, int32_t to,
                          const kbi_circle *circle, int32_t *listed)
{
    size_t n = 0;
    for (int32_t k = from; k < to; k++) {
        float dx = x[k] - circle->x, dy = y[k] - circle->y;
        listed[n] = k;
        n += (size_t)((dx * dx + dy * dy <= circle->radius2) & (level[k] >= circle->min_level) &
                      (level[k] <= circle->max_level));
    }
    return n;
}

/* Without branches, so that compilers make vectors of it. */
uint32_t kbi_filter_block(const kbi_filter_nodes *nodes, int32_t i, int32_t j, int32_t min)
{
    float *const *c = nodes->column;
    const float mx = c[KBI_FILTER_MX][i], my = c[KBI_FILTER_MY][i], norm2 = c[KBI_FILTER_NORM2][i];
    const float cosine2 = nodes->cosine2 * norm2, ratio2 = nodes->ratio2, most2 = ratio2 * norm2;
    const float slack = c[KBI_FILTER_SLACK][i], bound2 = nodes->bound2;
    const int32_t wants = nodes->support[i] < min;
    int32_t may[KBI_FILTER_BLOCK], any = 0;
    uint32_t bits = 0;
    for (int32_t l = 0; l < KBI_FILTER_BLOCK; l++) {
        int32_t k = j + l;
        float other2 = c[KBI_FILTER_NORM2][k], reach = slack + c[KBI_FILTER_SLACK][k];
        float dot = mx * c[KBI_FILTER_MX][k] + my * c[KBI_FILTER_MY][k];
        kbi_filter_error e = kbi_filter_compare(c, i, k);
        may[l] = ((nodes->support[k] < min) | wants) & (dot > 0) & (dot * dot >= cosine2 * other2) &
                 (norm2 <= ratio2 * other2) & (other2 <= most2) & (e.d2 <= bound2 * e.p2 + 2.0001f * reach * reach);
        any |= may[l];
    }
    for (int32_t l = 0; any && l < KBI_FILTER_BLOCK; l++) bits |= (uint32_t)may[l] << l;
    return bits;
}

const kbi_match_kernels kbi_match_kernels_c = {.least_rows = 96,
                                               .hamming = kbi_hamming_block,
                                               .hamming_listed = kbi_hamming_listed,
                                               .hamming_nearest = kbi_hamming_nearest,
                                               .hamming_near = kbi_hamming_near,
                                               .list_circle = kbi_list_circle,
                                               .filter_block = kbi_filter_block};
