/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
#include <string.h>

#include "common/structs.h"

static uint32_t struct_size_of(const void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

kb_status kbi_struct_check(const void *given, size_t known)
{
    uint32_t size = struct_size_of(given);
    if (size < known || size > KBI_STRUCT_LIMIT) return KB_E_STRUCT;
    for (size_t i = known; i < size; i++)
        if (((const uint8_t *)given)[i]) return KB_E_STRUCT;
    return KB_OK;
}

kb_status kbi_struct_read(void *destination, size_t known, const void *source)
{
    memset(destination, 0, known);
    if (!source) return KB_OK;
    kb_status status = kbi_struct_check(source, known);
    if (status != KB_OK) return status;
    memcpy(destination, source, known);
    return KB_OK;
}

void kbi_struct_write(void *destination, size_t known, const void *source)
{
    uint32_t size = struct_size_of(destination);
    memcpy(destination, source, known);
    memcpy(destination, &size, sizeof size);
}
