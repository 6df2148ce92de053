/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints and rows as the library takes them. */
#ifndef IO_FEATURES_H
#define IO_FEATURES_H

#include "io/csv.h"
#include "io/rows.h"
#include "keybits/advanced.h"

/* A view of n keypoints, with room for n. */
static inline kb_features io_keypoints_view(const kb_keypoint *keypoints, size_t n)
{
    kb_features f;
    KB_INIT(f);
    f.keypoints = (kb_keypoint *)(uintptr_t)keypoints;
    f.n = f.capacity = n;
    return f;
}

/* A view of n rows of row_bytes, with room for n. */
static inline kb_features io_bytes_view(const void *rows, size_t n, size_t row_bytes)
{
    kb_features f;
    KB_INIT(f);
    f.rows = (void *)(uintptr_t)rows;
    f.rows_size = n * row_bytes;
    f.row_bytes = row_bytes;
    f.n = n;
    return f;
}

/* A view of both, to read or to fill; either may be NULL. */
static inline kb_features io_features_view(const io_keypoints *keypoints, const io_rows *rows)
{
    if (!rows) return keypoints ? io_keypoints_view(keypoints->items, keypoints->count) : io_keypoints_view(NULL, 0);
    kb_features f = io_bytes_view(rows->floats ? (const void *)rows->floats : rows->bytes, rows->count,
                                  rows->width * (rows->floats ? sizeof(float) : 1));
    f.floats = rows->floats != NULL;
    if (keypoints) f.keypoints = keypoints->items;
    return f;
}

#endif
