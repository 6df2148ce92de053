/* SPDX-License-Identifier: Apache-2.0 */
#include "common/common.h"

#include <stdarg.h>
#include <stdio.h>

const char *kb_version(void) { return KB_VERSION_STRING; }

const char *kb_status_string(kb_status status)
{
    switch (status) {
    case KB_OK: return "done";
    case KB_E_ARGUMENT: return "an argument is missing or out of its range";
    case KB_E_MEMORY: return "out of memory";
    case KB_E_IMAGE: return "not a usable image (no pixels, a side of 0 or above 65535, or too small a stride)";
    case KB_E_UNKNOWN: return "no such name";
    case KB_E_NO_TABLE: return "this build holds no table for that model";
    case KB_E_FORMAT: return "not a keybits file, or one made for a newer version";
    case KB_E_TRUNCATED: return "the file ends too early";
    case KB_E_CHECKSUM: return "the file is damaged";
    case KB_E_TABLE: return "a value in the tables is out of its range";
    case KB_E_KIND: return "this kind of model cannot do that";
    case KB_E_SPACE: return "the output buffer is too small";
    case KB_E_MODEL: return "rows of another model, or keypoints of another detector";
    case KB_E_STRUCT: return "a struct_size is not set, or a field is used that this version does not know";
    case KB_E_STOPPED: return "stopped by the caller";
    default: return "unknown status";
    }
}

void kbi_error_clear(kb_error *error)
{
    if (!error) return;
    error->text[0] = 0;
    error->field = "";
    error->row = -1;
}

static void error_set(kb_error *error, const char *field, int32_t row, const char *format, va_list arguments)
{
    vsnprintf(error->text, sizeof error->text, format, arguments);
    error->field = field;
    error->row = row;
}

kb_status kbi_fail(kb_error *error, kb_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (error) error_set(error, "", -1, format, arguments);
    va_end(arguments);
    return status;
}

kb_status kbi_fail_at(kb_error *error, kb_status status, const char *field, int32_t row, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (error) error_set(error, field, row, format, arguments);
    va_end(arguments);
    return status;
}

kb_status kbi_fail_status(kb_error *error, kb_status status)
{
    return kbi_fail(error, status, "%s", kb_status_string(status));
}

kb_status kbi_fail_struct(kb_error *error)
{
    return kbi_fail_at(error, KB_E_STRUCT, "struct_size", -1, "%s", kb_status_string(KB_E_STRUCT));
}
