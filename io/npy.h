/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays as NumPy's .npy files: written as version 1.0 in C order, read in versions 1 to 3 in C order. */
#ifndef IO_NPY_H
#define IO_NPY_H

#include "io/file.h"

typedef enum io_dtype { IO_U8, IO_BOOL, IO_I32, IO_U32, IO_I64, IO_F32, IO_F64 } io_dtype;

#define IO_MAX_DIMENSIONS 4

typedef struct io_array {
    io_dtype type;
    int32_t dimensions; /* 0 to IO_MAX_DIMENSIONS; 0 is one number */
    size_t shape[IO_MAX_DIMENSIONS];
    size_t count; /* the product of shape */
    void *data;   /* owned */
} io_array;

size_t io_dtype_size(io_dtype type);
const char *io_dtype_name(io_dtype type); /* "u8", "f32", ... */
/* path NULL or "-": standard output. */
bool io_npy_write(const char *path, io_dtype type, int32_t dimensions, const size_t *shape, const void *data,
                  io_error *error);
/* What stands before the numbers; the result is its length. */
#define IO_NPY_HEADER 320
size_t io_npy_header(char header[IO_NPY_HEADER], io_dtype type, int32_t dimensions, const size_t *shape);
/* Checks the header, the type and that the file holds exactly the numbers that the shape promises. */
bool io_npy_read(const char *path, io_array *out, io_error *error);
void io_array_free(io_array *array);

#endif
