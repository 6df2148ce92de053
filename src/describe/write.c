/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of describing: parts of rows go where their keypoints are. */
#include "describe/steps.h"

void kbi_rows_write(const kbi_rows *rows, size_t index, int32_t octave, const uint8_t *part)
{
    uint8_t *row = rows->rows + index * rows->stride;
    if (!rows->alternate) memcpy(row + (size_t)octave * rows->part, part, rows->part);
    else
        for (size_t i = 0; i < rows->part; i++) row[i * KB_OCTAVES + (size_t)octave] = part[i];
}

void kbi_rows_clear(const kbi_rows *rows, size_t index) { memset(rows->rows + index * rows->stride, 0, rows->bytes); }
