/* SPDX-License-Identifier: Apache-2.0 */
/* The consistency filter's matches as columns of numbers, and the comparison of one match with a block of others
 * (filter.c explains it). */
#ifndef KBI_FILTER_BLOCK_H
#define KBI_FILTER_BLOCK_H

#include "common/common.h"

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

#endif
