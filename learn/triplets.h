/* SPDX-License-Identifier: Apache-2.0 */
/* sampleTriplets of the paper's Algorithm 1: pairs of patches that show the same point, and for each pair the hardest
 * negative in the batch with anchor swap (HardNet and TFeat, which the paper cites).
 *
 * A batch is n different points with two patches each, "left" and "right". The hardest negative of a pair is the
 * nearest of all right patches to its left one, or of all left patches to its right one, whichever is nearer; the patch
 * that it is near to is the anchor a, the other one the positive p (anchor swap). */
#ifndef KBI_TRIPLETS_H
#define KBI_TRIPLETS_H

#include "common/common.h"

/* Points with two patches or more: point p has the patches [first[p], first[p] + count[p]). */
typedef struct kbi_point_list {
    size_t *first;
    uint32_t *count;
    size_t points, patches;
    size_t singletons; /* patches of points that have no other */
} kbi_point_list;

/* labels must not descend. KB_E_ARGUMENT when they do or less than two points are left, KB_E_MEMORY. */
kb_status kbi_point_list_create(kbi_point_list *list, const uint32_t *labels, size_t patches, kb_error *error);
void kbi_point_list_free(kbi_point_list *list);

/* n different points (n at most list->points), two different patches of each. taken: (points + 7) / 8 zero bytes, which
 * they are again afterwards. */
void kbi_sample_pairs(const kbi_point_list *list, size_t n, uint64_t seed, size_t *left, size_t *right, uint8_t *taken);

typedef struct kbi_hard_negative {
    uint32_t place;    /* 0 to n - 1: a left patch; n to 2 n - 1: a right patch */
    bool anchor_right; /* the anchor is the right patch */
    int32_t distance;  /* anchor to negative */
} kbi_hard_negative;

/* codes: `words` 64-bit words of each of the n left patches, then of the n right patches; n from 2 to 65536. Of equally
 * near patches the one that follows the pair first, going round the batch, is taken; of both sides the left anchor. So
 * with few bits, when almost all are equally near, different pairs still get different negatives. scratch: 2 n numbers.
 */
void kbi_find_hard_negatives(const uint64_t *codes, size_t n, size_t words, kbi_hard_negative *negatives,
                            uint32_t *scratch);
/* The Hamming distance of two codes. */
int32_t kbi_code_distance(const uint64_t *a, const uint64_t *b, size_t words);

#endif
