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

const kbi_match_kernels kbi_match_kernels_c = {.least_rows = 96,
                                               .hamming = kbi_hamming_block,
                                               .hamming_listed = kbi_hamming_listed,
                                               .hamming_nearest = kbi_hamming_nearest,
                                               .hamming_near = kbi_hamming_near,
                                               .list_circle = kbi_list_circle,
                                               .filter_block = kbi_filter_block};
