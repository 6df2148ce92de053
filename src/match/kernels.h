/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of this module; image/kernels.h states the contract. */
#ifndef KBI_MATCH_KERNELS_H
#define KBI_MATCH_KERNELS_H

#include "common/common.h"

/* ---- Hamming distances: one block of their matrix, both directions at once ---- */

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

/* ---- squared Euclidean distances of float rows, likewise; plain C alone ---- */

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

/* ---- the consistency filter's matches as columns of numbers, one of them with a block of others (filter.c) ---- */

#define KBI_FILTER_BLOCK 8 /* pairs that are compared at once */

/* The columns: a number per match. */
enum { KBI_FILTER_AX, KBI_FILTER_AY, KBI_FILTER_BX, KBI_FILTER_BY, /* points */
       KBI_FILTER_MX, KBI_FILTER_MY, /* the similarity, as a complex number; 0 in a match that takes no part any more */
       KBI_FILTER_NORM2,             /* |m|^2 */
       KBI_FILTER_SLACK,             /* of its size, px of image b */
       KBI_FILTER_COLUMNS };

typedef struct kbi_filter_nodes {
    float cosine2, ratio2;
    float bound2; /* twice the square of the tolerance, and a little for rounding */
    float *column[KBI_FILTER_COLUMNS]; /* the nodes by cell; KBI_FILTER_BLOCK zeros more than there are */
    int32_t *support;                  /* with KBI_FILTER_BLOCK more, too */
} kbi_filter_nodes;

/* The mean similarity of nodes i and j takes their offset in a to p; the offset in b is d off. Squares of both. */
typedef struct kbi_filter_error {
    float p2, d2;
} kbi_filter_error;

static inline kbi_filter_error kbi_filter_compare(float *const c[KBI_FILTER_COLUMNS], int32_t i, int32_t j)
{
    float mx = 0.5f * (c[KBI_FILTER_MX][i] + c[KBI_FILTER_MX][j]);
    float my = 0.5f * (c[KBI_FILTER_MY][i] + c[KBI_FILTER_MY][j]);
    float ax = c[KBI_FILTER_AX][j] - c[KBI_FILTER_AX][i], ay = c[KBI_FILTER_AY][j] - c[KBI_FILTER_AY][i];
    float px = mx * ax - my * ay, py = mx * ay + my * ax;
    float dx = c[KBI_FILTER_BX][j] - c[KBI_FILTER_BX][i] - px, dy = c[KBI_FILTER_BY][j] - c[KBI_FILTER_BY][i] - py;
    return (kbi_filter_error){px * px + py * py, dx * dx + dy * dy};
}

/* Bit l of KBI_FILTER_BLOCK is set when node j + l may support node i: one of the two has less support than `min`, and
 * all conditions hold; the last one, on (s + t)^2, in its weaker form with 2 s^2 + 2 t^2. */
uint32_t kbi_filter_block(const kbi_filter_nodes *nodes, int32_t i, int32_t j, int32_t min);

/* ---- the table ---- */

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
