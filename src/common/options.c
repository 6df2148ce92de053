/* SPDX-License-Identifier: Apache-2.0 */
#include "common/options.h"

static double option_get(const kbi_option *row, const void *options)
{
    const char *field = (const char *)options + row->offset;
    int32_t whole;
    float real;
    double wide;
    switch (row->type) {
    case 'i': return memcpy(&whole, field, sizeof whole), (double)whole;
    case 'f': return memcpy(&real, field, sizeof real), (double)real;
    default: return memcpy(&wide, field, sizeof wide), wide;
    }
}

static void option_set(const kbi_option *row, void *options, double value)
{
    char *field = (char *)options + row->offset;
    int32_t whole = (int32_t)value;
    float real = (float)value;
    if (row->type == 'i') memcpy(field, &whole, sizeof whole);
    else if (row->type == 'f') memcpy(field, &real, sizeof real);
    else memcpy(field, &value, sizeof value);
}

kb_status kbi_options_complete(const kbi_option *rows, size_t count, void *options, kb_error *error)
{
    for (const kbi_option *row = rows; row < rows + count; row++) {
        double value = option_get(row, options);
        if (value == 0) option_set(row, options, row->standard);
        else if (!(value >= row->low && value <= row->high)) /* nor when it is NaN */
            return kbi_fail_at(error, KB_E_ARGUMENT, row->name, -1, "%s is %.7g, but must be %.7g to %.7g", row->name,
                               value, row->low, row->high);
    }
    return KB_OK;
}
