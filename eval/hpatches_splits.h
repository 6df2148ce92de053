/* SPDX-License-Identifier: Apache-2.0 */
/* Which sequences of HPatches a split tests. */
#ifndef EVAL_HPATCHES_SPLITS_H
#define EVAL_HPATCHES_SPLITS_H

#include "io/file.h"

extern const char *const ev_hpatches_split_names[]; /* NULL-terminated */

/* The names of the test sequences, in the benchmark's order: from TASKS/splits/splits.json when it is there, else ours.
 * tasks may be NULL. */
bool ev_hpatches_split(const char *tasks, const char *name, io_names *out, io_error *error);

#endif
