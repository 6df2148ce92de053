/* SPDX-License-Identifier: Apache-2.0 */
/* Clustering of binary rows: k-means in Hamming space, where the centre of a cluster is the majority of each bit. */
#ifndef KBI_K_MAJORITY_H
#define KBI_K_MAJORITY_H

#include "index/vocabulary.h"

/* Adds up the bits of rows: eight counters of a byte each in a word, moved to wide counters before they overflow. */
typedef struct kbi_bit_counter {
    uint64_t *narrow; /* row_bytes */
    uint32_t *wide;   /* 8 x row_bytes */
    uint32_t pending, total;
} kbi_bit_counter;
void kbi_bit_counter_clear(kbi_bit_counter *c, size_t row_bytes);
void kbi_bit_counter_add(kbi_bit_counter *c, const uint8_t *row, size_t row_bytes);
/* Bits that most rows have; where half of them have it, the bit of `row` stays. */
void kbi_bit_counter_majority(kbi_bit_counter *c, size_t row_bytes, uint8_t *row);

/* What one clustering at a time needs; of rows at most `capacity`. */
typedef struct kbi_k_majority {
    kb_allocator allocator;
    size_t row_bytes, capacity;
    uint32_t k; /* 2 to KB_MAX_BRANCHING */
    int32_t iterations;
    const kbi_match_kernels *kernels;
    uint8_t *rows;      /* capacity rows: the input, by the caller */
    uint32_t *keys;     /* capacity: distance << 16 | centre */
    uint32_t *labels;   /* capacity */
    uint32_t *best, *second; /* k */
    kbi_bit_counter *counters; /* k */
    uint64_t *narrow;
    uint32_t *wide;
} kbi_k_majority;
bool kbi_k_majority_create(kbi_k_majority *m, const kb_allocator *allocator, size_t row_bytes, size_t capacity,
                           uint32_t k, int32_t iterations);
void kbi_k_majority_free(kbi_k_majority *m);
/* Clusters the first n rows; centres has room for k rows. The result is how many there are: fewer when the rows have
 * fewer different values. */
uint32_t kbi_k_majority_run(kbi_k_majority *m, size_t n, uint64_t seed, uint8_t *centres);

#endif
