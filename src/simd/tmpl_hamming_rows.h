/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of matching that compare row by row (match/hamming_rows.h), with an instruction that counts bits. */
#ifndef KBI_TMPL_HAMMING_ROWS_H
#define KBI_TMPL_HAMMING_ROWS_H

#include "match/hamming_rows.h"
#include "simd/vec.h"

/* The kernel `hamming` for few rows of a, and for long ones. */
VEC_KERNEL void KERNEL(hamming_few)(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                    uint32_t *best, uint32_t *second, uint32_t *best_b)
{
    hamming_rows(a, na, b, nb, row_bytes, best, second, best_b, true);
}

VEC_KERNEL void KERNEL(hamming_listed)(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n,
                                       size_t row_bytes, size_t stride, uint32_t *distances)
{
    hamming_listed_rows(query, rows, listed, n, row_bytes, stride, distances, true);
}

VEC_KERNEL uint32_t KERNEL(hamming_nearest)(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes)
{
    return hamming_nearest_row(query, rows, n, row_bytes, true);
}

#endif
