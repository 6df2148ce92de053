/* SPDX-License-Identifier: Apache-2.0 */
/* Patch sets on disk (.kbp, docs/patches.md). A set may be larger than memory: it is written patch by patch and read in
 * pieces; pipeline/patch_load.h loads one, or a sample of it, for learning. */
#ifndef IO_PATCH_FILE_H
#define IO_PATCH_FILE_H

#include "image/image.h"
#include "image/patch_bytes.h"
#include "io/file.h"

#define IO_PATCH_MAX_SIDE 1024

/* What the header of a file tells. */
typedef struct io_patch_info {
    int32_t side; /* KB_OCTAVE_SIDE: octaves */
    float support; /* 0: not known */
    uint64_t patches;
} io_patch_info;

/* One patch at a time. A set needs a plain file: no pipe, no device, no standard output. Nothing is there under the
 * path before the close. */
typedef struct io_patch_writer io_patch_writer;
io_patch_writer *io_patch_writer_open(const char *path, int32_t side, float support, io_error *error);
/* A failure to write is told by the close. */
void io_patch_writer_add(io_patch_writer *writer, uint32_t label, uint32_t view, const uint8_t *pixels);
bool io_patch_writer_close(io_patch_writer *writer, io_error *error);
void io_patch_writer_abandon(io_patch_writer *writer); /* takes NULL */

/* Any patch, in any order. */
typedef struct io_patch_reader io_patch_reader;
io_patch_reader *io_patch_reader_open(const char *path, io_patch_info *info, io_error *error);
/* Patch `index`; pixels: room for kbi_patch_bytes(side), or NULL. Damage is seen only where pixels are read. */
bool io_patch_reader_at(io_patch_reader *reader, uint64_t index, uint32_t *label, uint32_t *view, uint8_t *pixels,
                        io_error *error);
void io_patch_reader_close(io_patch_reader *reader); /* takes NULL */

#endif
