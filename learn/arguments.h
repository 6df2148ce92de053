/* The structs of learn.h, checked as those of keybits.h are (src/common/structs.h). */
#ifndef KBI_LEARN_ARGUMENTS_H
#define KBI_LEARN_ARGUMENTS_H

#include "common/common.h"
#include "common/structs.h"
#include "keybits/learn.h"

/* The last field of each struct in the first release. New fields come after it; a row of this table never changes. */
#define KBI_LEARN_STRUCT_TABLE(ROW)      \
    ROW(kb_learn_patches, count)         \
    ROW(kb_learn_options, sampler)       \
    ROW(kb_learn_summary, loss)          \
    ROW(kb_learn_hash_options, parallel) \
    ROW(kb_learn_hash_summary, openblas)
enum { KBI_LEARN_STRUCT_TABLE(KBI_FIRST_SIZE_ROW) KBI_LEARN_FIRST_SIZE_END };

/* Checks patches and copies what this version knows of them. */
kb_status kbi_learn_patches_read(kb_learn_patches *out, const kb_learn_patches *patches, kb_error *error);

#endif
