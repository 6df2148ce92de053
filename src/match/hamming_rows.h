/* SPDX-License-Identifier: Apache-2.0 */
/* Hamming distances row by row. The loop over pairs is written once and inlined for the usual row lengths, where the
 * compiler unrolls the words of a row and keeps the query in registers. `instruction` is a constant: whether bits are
 * counted by an instruction that the including function may use. */
#ifndef KBI_HAMMING_ROWS_H
#define KBI_HAMMING_ROWS_H

#include "common/bits.h"
#include "match/kernels.h"

#define ALWAYS_INLINE static inline KBI_ALWAYS

ALWAYS_INLINE uint32_t hamming_distance(const uint8_t *a, const uint8_t *b, size_t row_bytes, bool instruction)
{
    uint32_t sum = 0;
    size_t i = 0;
#ifdef KBI_HAMMING_32 /* of the including tier: the distance of 32 bytes */
    for (; i + 32 <= row_bytes; i += 32) sum += KBI_HAMMING_32(a + i, b + i);
#endif
    for (; i + 8 <= row_bytes; i += 8) sum += kbi_count_bits(kbi_load64(a + i) ^ kbi_load64(b + i), instruction);
    if (i < row_bytes) {
        uint64_t rest = 0;
        for (; i < row_bytes; i++) rest = rest << 8 | (uint64_t)(a[i] ^ b[i]);
        sum += kbi_count_bits(rest, instruction);
    }
    return sum;
}

ALWAYS_INLINE void hamming_rows_of(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                   uint32_t *best, uint32_t *second, uint32_t *best_b, bool instruction)
{
    for (size_t i = 0; i < na; i++) {
        const uint8_t *row = a + i * row_bytes;
        uint32_t first = KBI_NO_NEIGHBOUR, next = KBI_NO_NEIGHBOUR;
        for (size_t j = 0; j < nb; j++) {
            uint32_t d = hamming_distance(row, b + j * row_bytes, row_bytes, instruction) << 16;
            uint32_t key = d | (uint32_t)j;
            uint32_t loser = key > first ? key : first; /* the second best is the best loser */
            first = key < first ? key : first;
            next = loser < next ? loser : next;
            if (best_b) {
                uint32_t key_b = d | (uint32_t)i;
                best_b[j] = key_b < best_b[j] ? key_b : best_b[j];
            }
        }
        best[i] = first;
        second[i] = next;
    }
}

/* The contract of kbi_hamming_block. */
ALWAYS_INLINE void hamming_rows(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                uint32_t *best, uint32_t *second, uint32_t *best_b, bool instruction)
{
    if (row_bytes == 32)
        hamming_rows_of(a, na, b, nb, 32, best, second, best_b, instruction);
    else if (row_bytes == 64)
        hamming_rows_of(a, na, b, nb, 64, best, second, best_b, instruction);
    else
        hamming_rows_of(a, na, b, nb, row_bytes, best, second, best_b, instruction);
}

/* The contract of the kernel hamming_listed. */
ALWAYS_INLINE void hamming_listed_rows(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n,
                                       size_t row_bytes, size_t stride, uint32_t *distances, bool instruction)
{
    if (row_bytes == 32)
        for (size_t i = 0; i < n; i++)
            distances[i] = hamming_distance(query, rows + (size_t)listed[i] * stride, 32, instruction);
    else if (row_bytes == 24) /* of 32 without a head of 8 bytes */
        for (size_t i = 0; i < n; i++)
            distances[i] = hamming_distance(query, rows + (size_t)listed[i] * stride, 24, instruction);
    else
        for (size_t i = 0; i < n; i++)
            distances[i] = hamming_distance(query, rows + (size_t)listed[i] * stride, row_bytes, instruction);
}

ALWAYS_INLINE uint32_t hamming_nearest_of(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes,
                                          bool instruction)
{
    uint32_t min = KBI_NO_NEIGHBOUR;
    for (size_t i = 0; i < n; i++) {
        uint32_t key = hamming_distance(query, rows + i * row_bytes, row_bytes, instruction) << 16 | (uint32_t)i;
        min = key < min ? key : min;
    }
    return min;
}

/* The contract of the kernel hamming_nearest. */
ALWAYS_INLINE uint32_t hamming_nearest_row(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes,
                                           bool instruction)
{
    if (row_bytes == 32) return hamming_nearest_of(query, rows, n, 32, instruction);
    return hamming_nearest_of(query, rows, n, row_bytes, instruction);
}

/* The contract of the kernel hamming_near. */
ALWAYS_INLINE size_t hamming_near_words(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max,
                                        int32_t *found, bool instruction)
{
    const uint64_t word = kbi_load64(query);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) { /* no branch: which ones are near cannot be predicted */
        found[count] = (int32_t)i;
        count += kbi_count_bits(word ^ kbi_load64(words + 8 * i), instruction) <= max;
    }
    return count;
}

#endif
