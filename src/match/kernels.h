/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this module; image/kernels.h states the contract. */
#ifndef KBI_MATCH_KERNELS_H
#define KBI_MATCH_KERNELS_H

#include "match/filter_block.h"
#include "match/hamming_block.h"

/* A circle in an image, and the levels that count in it. */
typedef struct kbi_circle {
    float x, y, radius2;
    int32_t min_level, max_level;
} kbi_circle;
#define KBI_NEAR_SLACK 16 /* elements beyond the last that hamming_near may write */
#define KBI_LIST_SLACK 7 /* elements beyond the last that list_circle may read and write */

typedef struct kbi_match_kernels {
    size_t least_rows; /* of a, from which on a call of hamming pays for preparing the rows of b */
    /* kbi_hamming_block. */
    void (*hamming)(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes, uint32_t *best,
                    uint32_t *second, uint32_t *best_b);
    /* distances[i] receives the distance from the query to row listed[i], for i below n; rows begin every `stride`
     * bytes. */
    void (*hamming_listed)(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n,
                           size_t row_bytes, size_t stride, uint32_t *distances);
    /* The min of (distance << 16 | i) over the rows i below n, 1 to KBI_HAMMING_BLOCK_ROWS. */
    uint32_t (*hamming_nearest)(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes);
    /* Lists the words of 8 bytes whose distance from the query, another one, is at most `max`, ascending. The
     * result is how many there are; found has room for KBI_NEAR_SLACK more than n, which may be written too. */
    size_t (*hamming_near)(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max, int32_t *found);
    /* Lists the k from `from` to `to` - 1 whose point (x[k], y[k]) and level[k] lie in the circle; returns how many.
     * The arrays, and `listed`, which has room for all, reach KBI_LIST_SLACK elements further. */
    size_t (*list_circle)(const float *x, const float *y, const int32_t *level, int32_t from, int32_t to,
                          const kbi_circle *circle, int32_t *listed);
    /* kbi_filter_block. */
    uint32_t (*filter_block)(const kbi_filter_nodes *nodes, int32_t i, int32_t j, int32_t min);
} kbi_match_kernels;

/* SLOT(module, slot) for every slot. */
#define KBI_MATCH_KERNEL_SLOTS(SLOT)                                                                                   \
    SLOT(match, hamming) SLOT(match, hamming_listed) SLOT(match, hamming_nearest) SLOT(match, hamming_near)  \
    SLOT(match, list_circle) SLOT(match, filter_block)

/* Plain C, and the parts of it that other tables have too. */
void kbi_hamming_listed(const uint8_t *query, const uint8_t *rows, const int32_t *listed, size_t n, size_t row_bytes,
                        size_t stride, uint32_t *distances);
uint32_t kbi_hamming_nearest(const uint8_t *query, const uint8_t *rows, size_t n, size_t row_bytes);
size_t kbi_hamming_near(const uint8_t *query, const uint8_t *words, size_t n, uint32_t max, int32_t *found);
size_t kbi_list_circle(const float *x, const float *y, const int32_t *level, int32_t from, int32_t to,
                       const kbi_circle *circle, int32_t *listed);
extern const kbi_match_kernels kbi_match_kernels_c;
/* The best variants for this CPU; implemented in src/simd. */
const kbi_match_kernels *kbi_match_kernels_get(void);

#endif
