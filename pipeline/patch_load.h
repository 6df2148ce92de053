/* SPDX-License-Identifier: Apache-2.0 */
/* Patch-set files (io/patch_file.h) into memory, for learning. */
#ifndef PIPELINE_PATCH_LOAD_H
#define PIPELINE_PATCH_LOAD_H

#include "io/patch_file.h"
#include "learn/patch_set.h"

/* Loads a file, or a sample of it: points are taken whole, in an order that the seed decides, until the next would
 * bring more than max_patches (0: all). The patches of a point come in the order of the file. Points with a single
 * patch teach nothing; they are left out and counted. Fails when less than two points are left. */
bool patch_set_load(const char *path, size_t max_patches, uint64_t seed, kbi_patch_set *out, io_error *error);
/* The same for several files as one set: labels and views of different files are different. All must have the same side
 * and, where they tell it, the same support; with any_support the first tells that of the set. */
bool patch_set_load_files(const char *const *paths, size_t files, bool any_support, size_t max_patches,
                             uint64_t seed, kbi_patch_set *out, io_error *error);

#endif
