/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a call: a table per struct with the default and the range of every field. */
#ifndef KBI_OPTIONS_H
#define KBI_OPTIONS_H

#include "common/common.h"

typedef struct kbi_option {
    const char *name;
    uint16_t offset;
    char type;       /* 'i': int32_t or an enum, 'f': float, 'd': double */
    double standard; /* what 0 means */
    double low, high;
} kbi_option;

#define KBI_OPTION(structure, field, type, ...) {#field, (uint16_t)offsetof(structure, field), type, __VA_ARGS__}

double kbi_option_get(const kbi_option *row, const void *options);
/* Puts the default where the option is zero, or checks its range. *error names the option, its value and its range. */
kb_status kbi_option_complete(const kbi_option *row, void *options, kb_error *error);
kb_status kbi_options_complete(const kbi_option *rows, size_t count, void *options, kb_error *error);
/* Copies the caller's struct (common.h) and completes the options of a table. */
kb_status kbi_options_read(const kbi_option *rows, size_t count, void *options, size_t size, const void *given,
                           kb_error *error);
#define KBI_OPTIONS_READ(type, rows, options, given, error)                                                            \
    kbi_options_read((rows), KBI_COUNT(rows), (options), sizeof(type), (given), (error))

#endif
