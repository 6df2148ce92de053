/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per file. */
#include "common/bytes.h"
#include "common/common.h"

kb_status kbi_head_check(const kbi_file_kind *kind, const uint8_t *data, size_t size, kb_error *error)
{
    const char *name = kind->name;
    if (size < 8 || memcmp(data, kind->magic, 8) != 0)
        return kbi_fail(error, KB_E_FORMAT, "this is not a keybits %s", name);
    if (size < kind->header)
        return kbi_fail(error, KB_E_TRUNCATED, "the %s ends inside its header, after %zu bytes", name, size);
    if (kbi_get_u32(data + 8) == kind->version) return KB_OK;
    return kbi_fail(error, KB_E_FORMAT, "version %u of a %s is not one that this library reads (%u)",
                    kbi_get_u32(data + 8), name, kind->version);
}

kb_status kbi_size_check(const kbi_file_kind *kind, size_t size, uint64_t says, kb_error *error)
{
    if (size >= says) return KB_OK;
    return kbi_fail(error, KB_E_TRUNCATED, "the %s ends after %zu of %llu bytes", kind->name, size,
                    (unsigned long long)says);
}
