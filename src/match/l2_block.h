/* SPDX-License-Identifier: Apache-2.0 */
/* Squared Euclidean distances of float rows, one block of the matrix, both directions at once. */
#ifndef KBI_L2_BLOCK_H
#define KBI_L2_BLOCK_H

#include <stddef.h>
#include <stdint.h>

/* One side of a table of neighbours: for each row the distance to its nearest row, that row's index, and the distance
 * to the second nearest (NULL: not wanted). Rows without a neighbour have distance infinity and index -1. */
typedef struct kbi_neighbours {
    float *distance;
    float *second;
    int32_t *index;
} kbi_neighbours;

/* Compares rows a[0..na) with rows b[0..nb) and improves of_a (na entries) and of_b (nb entries; NULL: not wanted) with
 * squared distances. a[0] is row first_a of its image, b[0] row first_b. A neighbour replaces
 * another only when it is strictly nearer, so blocks visited in order of index leave ties to the lowest index.
 * The sum of a distance has a fixed order: eight partial sums, term k into sum k mod 8, added as a tree. */
void kbi_l2_block(const float *a, size_t na, int32_t first_a, const float *b, size_t nb, int32_t first_b, size_t values,
                 const kbi_neighbours *of_a, const kbi_neighbours *of_b);

#endif
