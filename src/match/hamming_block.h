/* SPDX-License-Identifier: Apache-2.0 */
/* The hot loop of matching: one block of the matrix of Hamming distances, both directions at once. */
#ifndef KBI_HAMMING_BLOCK_H
#define KBI_HAMMING_BLOCK_H

#include <stddef.h>
#include <stdint.h>

/* A neighbour as one number, so that the smaller number is the better neighbour and ties go to the lower index:
 * distance << 16 | index in the block. A distance is at most 8 x 4096 = 2^15, an index at most 2^16 - 1. */
#define KBI_NO_NEIGHBOUR UINT32_MAX
#define KBI_HAMMING_BLOCK_ROWS 65536

/* Compares rows a[0..na) with rows b[0..nb), each of row_bytes bytes without gaps; na and nb up to
 * KBI_HAMMING_BLOCK_ROWS, row_bytes 1 to 4096. Nothing is assumed about alignment, and no byte outside the rows is
 * read.
 *     best[i]     receives the min of (distance << 16 | j) over all j, for row i of a
 *     second[i]   receives the next one
 *     best_b[j]   becomes the min of itself and (distance << 16 | i) over all i, for row j of b; NULL: not wanted
 * Where there is no neighbour the number is KBI_NO_NEIGHBOUR. The caller sets best_b before the first call. */
void kbi_hamming_block(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                      uint32_t *best, uint32_t *second, uint32_t *best_b);

#endif
