/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
#include "common/options.h"

/* ---- structs ---- */

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

/* ---- tables of options ---- */

double kbi_option_get(const kbi_option *row, const void *options)
{
    const void *field = (const char *)options + row->offset;
    return row->type == 'i' ? *(const int32_t *)field : row->type == 'f' ? *(const float *)field
                                                                         : *(const double *)field;
}

static void option_set(const kbi_option *row, void *options, double value)
{
    void *field = (char *)options + row->offset;
    if (row->type == 'i') *(int32_t *)field = (int32_t)value;
    else if (row->type == 'f') *(float *)field = (float)value;
    else *(double *)field = value;
}

kb_status kbi_option_complete(const kbi_option *row, void *options, kb_error *error)
{
    double value = kbi_option_get(row, options);
    if (value == 0) option_set(row, options, row->standard);
    else if (!(value >= row->low && value <= row->high)) /* nor when it is NaN */
        return kbi_fail_at(error, KB_E_ARGUMENT, row->name, -1, "%s is %.7g, but must be %.7g to %.7g", row->name,
                           value, row->low, row->high);
    return KB_OK;
}

kb_status kbi_options_complete(const kbi_option *rows, size_t count, void *options, kb_error *error)
{
    kb_status status = KB_OK;
    for (size_t i = 0; i < count && status == KB_OK; i++) status = kbi_option_complete(&rows[i], options, error);
    return status;
}

kb_status kbi_options_read(const kbi_option *rows, size_t count, void *options, size_t size, const void *given,
                           kb_error *error)
{
    if (kbi_struct_read(options, size, given) != KB_OK) return kbi_fail_struct(error);
    return kbi_options_complete(rows, count, options, error);
}
