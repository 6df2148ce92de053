/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor rows as the search reads them: without gaps and without all-zero rows.
 *
 * kb_describe writes zeros for a keypoint that has no region. Such rows are equal to each other, so they would match at
 * distance 0, and they would be the nearest neighbour of sparse rows. They are left out before the search, which then
 * needs no test in its loops. */
#ifndef KBI_ROW_SET_H
#define KBI_ROW_SET_H

#include "common/common.h"

typedef struct kbi_row_set {
    const uint8_t *rows;  /* count x row_bytes */
    size_t count;
    const int32_t *index; /* of each row in the caller's set; NULL: the same */
} kbi_row_set;

/* Prepares n rows (at most INT32_MAX) that begin every `stride` bytes. Points at the caller's rows where they can be
 * read as they are; copies them into the workspace otherwise. With floats, -0 is zero too. */
kb_status kbi_row_set_prepare(kbi_row_set *set, const void *rows, size_t n, size_t stride, size_t row_bytes,
                              bool floats, kb_workspace *workspace);

/* Takes the memory of a copy (kbi_workspace_measure). */
bool kbi_row_set_measure(size_t n, size_t row_bytes, kb_workspace *workspace);

/* The caller's index of row i. */
static inline int32_t kbi_row_set_origin(const kbi_row_set *set, size_t i)
{
    return set->index ? set->index[i] : (int32_t)i;
}

/* Whether a row of bytes is the row of a keypoint without a region. */
bool kbi_row_bytes_are_zero(const uint8_t *row, size_t row_bytes);

#endif
