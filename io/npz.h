/* SPDX-License-Identifier: Apache-2.0 */
/* Several arrays in one file, NumPy's .npz: a ZIP archive of .npy files, not compressed. */
#ifndef IO_NPZ_H
#define IO_NPZ_H

#include "io/npy.h"

typedef struct io_npz io_npz;

io_npz *io_npz_open(const char *path, io_error *error); /* NULL when it failed */
/* Starts an array; its numbers follow by io_npz_data in as many parts as are convenient, as many as the shape says. */
void io_npz_array(io_npz *npz, const char *name, io_dtype type, int32_t dimensions, const size_t *shape);
void io_npz_data(io_npz *npz, const void *data, size_t count);
/* Both free it. Commit fails when writing did, or when the archive is above 4 GiB. */
bool io_npz_commit(io_npz *npz, io_error *error);
void io_npz_abandon(io_npz *npz);

#endif
