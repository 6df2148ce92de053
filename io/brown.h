/* SPDX-License-Identifier: Apache-2.0 */
/* The Brown/PhotoTour format: patchesNNNN.bmp with 16x16 patches of 64x64 each, and info.txt with the point of each
 * patch. */
#ifndef IO_BROWN_PATCHES_H
#define IO_BROWN_PATCHES_H

#include "io/patch_file.h"

#define IO_BROWN_SIDE 64

/* The point of every patch, as info.txt has it; *labels is the caller's to free. */
bool io_brown_labels(const char *folder, uint32_t **labels, size_t *count, io_error *error);
/* Writes all patches of the folder, brought to `side` (32 or 64). The format does not tell views: every patch gets one
 * of its own. tick (may be NULL) is called with the number of patches done, now and then. */
bool io_brown_convert(const char *folder, int32_t side, io_patch_writer *writer, void (*tick)(void *, size_t),
                      void *context, io_error *error);

#endif
