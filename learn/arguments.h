/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that several functions of learn.h take. */
#ifndef KBI_LEARN_ARGUMENTS_H
#define KBI_LEARN_ARGUMENTS_H

#include "common/common.h"
#include "keybits/learn.h"

/* Checks patches and copies what this version knows of them. */
kb_status kbi_learn_patches_read(kb_learn_patches *out, const kb_learn_patches *patches, kb_error *error);

#endif
