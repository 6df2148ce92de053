/* SPDX-License-Identifier: Apache-2.0 */
#include "match/row_set.h"

bool kbi_row_bytes_are_zero(const uint8_t *row, size_t row_bytes)
{
    for (size_t i = 0; i < row_bytes; i++)
        if (row[i]) return false;
    return true;
}

static bool floats_are_zero(const uint8_t *row, size_t row_bytes)
{
    for (size_t i = 0; i < row_bytes; i += sizeof(float)) {
        float value;
        memcpy(&value, row + i, sizeof value);
        if (value != 0) return false; /* NaN is not zero */
    }
    return true;
}

static bool row_is_zero(const uint8_t *row, size_t row_bytes, bool floats)
{
    return floats ? floats_are_zero(row, row_bytes) : kbi_row_bytes_are_zero(row, row_bytes);
}

static void *packed_get(size_t n, size_t row_bytes, kb_workspace *workspace)
{
    if (n > PTRDIFF_MAX / (row_bytes + sizeof(int32_t))) return NULL; /* on 32-bit machines */
    return kbi_workspace_array(workspace, n, row_bytes + sizeof(int32_t));
}

bool kbi_row_set_measure(size_t n, size_t row_bytes, kb_workspace *workspace)
{
    return packed_get(n, row_bytes, workspace);
}

kb_status kbi_row_set_prepare(kbi_row_set *set, const void *rows, size_t n, size_t stride, size_t row_bytes,
                              bool floats, kb_workspace *workspace)
{
    const uint8_t *from = rows;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) kept += !row_is_zero(from + i * stride, row_bytes, floats);
    *set = (kbi_row_set){from, kept, NULL};
    if (kept == 0 || (kept == n && stride == row_bytes)) return KB_OK;

    int32_t *index = packed_get(n, row_bytes, workspace);
    if (!index) return KB_E_MEMORY;
    uint8_t *packed = (uint8_t *)(index + n), *to = packed;
    for (size_t i = 0; i < n; i++) {
        if (row_is_zero(from + i * stride, row_bytes, floats)) continue;
        index[(size_t)(to - packed) / row_bytes] = (int32_t)i;
        memcpy(to, from + i * stride, row_bytes);
        to += row_bytes;
    }
    *set = (kbi_row_set){packed, kept, index};
    return KB_OK;
}
