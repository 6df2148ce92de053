/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor rows as files, the format by suffix: .npy (N x bytes of uint8, or N x 128 floats), .csv (bytes or floats,
 * no header), .hex (one row of hexadecimal a line). */
#ifndef IO_ROWS_H
#define IO_ROWS_H

#include "io/file.h"

typedef struct io_rows {
    uint8_t *bytes; /* owned; or NULL when the rows are floats */
    float *floats;  /* owned; or NULL when the rows are bytes */
    size_t count, width; /* width: values in a row */
} io_rows;

/* True for a path that ends in .npy, .csv or .hex; floats do not go into .hex. */
bool io_rows_suffix_known(const char *path, bool floats);
/* path NULL or "-": standard output, hexadecimal for bytes, CSV for floats. */
bool io_rows_write_bytes(const char *path, const uint8_t *rows, size_t count, size_t width, io_error *error);
bool io_rows_write_floats(const char *path, const float *rows, size_t count, size_t width, io_error *error);
bool io_rows_write(const char *path, const io_rows *rows, io_error *error); /* whichever it holds */
/* Reads .npy (u8 or f32) and .hex. */
bool io_rows_read(const char *path, io_rows *out, io_error *error);
void io_rows_free(io_rows *rows);

/* 2 x count digits and a zero byte into text; bit 7 of byte 0 is the first bit, so the text reads in bit order. */
void io_hex_encode(char *text, const uint8_t *bytes, size_t count);
/* Exactly 2 x count digits at text; false when one is not a digit. */
bool io_hex_decode(const char *text, uint8_t *bytes, size_t count);

#endif
