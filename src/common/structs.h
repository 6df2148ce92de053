/* Structs that cross the boundary of the library and may grow.
 *
 * Each starts with struct_size, which the caller sets. A caller built against an older header has a shorter struct: the
 * newer fields get their defaults. A caller built against a newer header has a longer one: the fields that this version
 * does not know must be zero, since it cannot obey them. A size below that of the first release is an error. */
#ifndef KBI_STRUCTS_H
#define KBI_STRUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "keybits/keybits.h"

/* The last field of each struct of keybits.h in the first release. New fields come after it; a row of this table never
 * changes. Those of index.h and learn.h have tables in src/index/vocabulary.h and learn/arguments.h. */
#define KBI_STRUCT_TABLE(ROW)                    \
    ROW(kb_model_spec, root)                     \
    ROW(kb_model_info, distinct_boxes)           \
    ROW(kb_describe_options, parallel)           \
    ROW(kb_detect_options, no_upsampling)        \
    ROW(kb_pyramid, factor)                      \
    ROW(kb_workspace_limits, pairs)              \
    ROW(kb_orient_options, parallel)             \
    ROW(kb_match_options, parallel)              \
    ROW(kb_filter_options, min_support)          \
    ROW(kb_refine_options, parallel)             \
    ROW(kb_guided_options, parallel)             \
    ROW(kb_stereo_options, parallel)             \
    ROW(kb_camera, k3)                           \
    ROW(kb_fit_options, keep_duplicates)         \
    ROW(kb_fit_report, rms)                      \
    ROW(kb_pair_options, parallel)               \
    ROW(kb_pair, looks)                          \
    ROW(kb_track_options, detect)

#define KBI_FIRST_SIZE_ROW(type, last) KBI_FIRST_SIZE_##type = offsetof(type, last) + sizeof(((type *)0)->last),
enum { KBI_STRUCT_TABLE(KBI_FIRST_SIZE_ROW) KBI_FIRST_SIZE_END };

#define KBI_STRUCT_LIMIT 4096 /* no version will have a larger struct: a size above it is not a size */

/* Copies the caller's struct over a zeroed one of `known` bytes. NULL source: all zero, which means all defaults.
 * KB_E_STRUCT: see above. */
kb_status kbi_struct_read(void *destination, size_t known, size_t first, const void *source);
#define KBI_STRUCT_READ(type, local, source) kbi_struct_read((local), sizeof(type), KBI_FIRST_SIZE_##type, (source))

/* Whether a struct that is to be filled has a size that can be. */
kb_status kbi_struct_check(const void *given, size_t known, size_t first);
#define KBI_STRUCT_CHECK(type, given) kbi_struct_check((given), sizeof(type), KBI_FIRST_SIZE_##type)

/* Fills the caller's struct, as far as it goes, from a full one of `known` bytes; struct_size stays the caller's. */
void kbi_struct_write(void *destination, size_t known, const void *source);
#define KBI_STRUCT_WRITE(type, destination, source) kbi_struct_write((destination), sizeof(type), (source))

#endif
