/* SPDX-License-Identifier: Apache-2.0 */
/* Models by name or file. */
#ifndef PIPELINE_MODELS_H
#define PIPELINE_MODELS_H

#include "io/file.h"
#include "keybits/advanced.h"

/* A built-in name or the path of a .kbm file. A name of a built-in wins over a file of that name; ./bad256 is the
 * file. */
bool models_open(const char *name_or_path, kb_model **out, io_error *error);
/* The model where none is named: the first available of bag256, bad256, hashsift256, sift. */
const char *models_default(void);

#endif
