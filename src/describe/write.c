/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The last step of describing: parts of rows go where their keypoints are. */
#include "describe/steps.h"

void kbi_rows_write(const kbi_rows *rows, size_t index, const uint8_t *parts, size_t step)
{
    uint8_t *row = rows->rows + index * rows->stride;
    for (size_t at = 0; at < rows->bytes; at += rows->part, parts += step) memcpy(row + at, parts, rows->part);
}

void kbi_rows_clear(const kbi_rows *rows, size_t index) { memset(rows->rows + index * rows->stride, 0, rows->bytes); }
