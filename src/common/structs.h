/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that cross the boundary of the library and may grow.
 *
 * Each starts with struct_size, which the caller sets. A caller built against a newer header has a longer one: the
 * fields that this version does not know must be zero, since it cannot obey them. No struct has grown since the first
 * release, so a shorter one is an error; the first that grows brings its former sizes here. */
#ifndef KBI_STRUCTS_H
#define KBI_STRUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "keybits/advanced.h"

#define KBI_STRUCT_LIMIT 4096 /* no version will have a larger struct: a size above it is not a size */

/* Copies the caller's struct over a zeroed one of `known` bytes. NULL source: all zero, which means all defaults.
 * KB_E_STRUCT: see above. */
kb_status kbi_struct_read(void *destination, size_t known, const void *source);
#define KBI_STRUCT_READ(type, local, source) kbi_struct_read((local), sizeof(type), (source))

/* Whether a struct that is to be filled has a size that can be. */
kb_status kbi_struct_check(const void *given, size_t known);
#define KBI_STRUCT_CHECK(type, given) kbi_struct_check((given), sizeof(type))

/* Fills the caller's struct from a full one of `known` bytes; struct_size stays the caller's. */
void kbi_struct_write(void *destination, size_t known, const void *source);
#define KBI_STRUCT_WRITE(type, destination, source) kbi_struct_write((destination), sizeof(type), (source))

#endif
