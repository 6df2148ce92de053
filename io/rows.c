/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor rows as files. */
#include "io/rows.h"

#include <stdlib.h>
#include <string.h>

#include "io/npy.h"
#include "io/number.h"

bool io_rows_suffix_known(const char *path, bool floats)
{
    return io_path_has_suffix(path, ".npy") || io_path_has_suffix(path, ".csv") ||
           (!floats && io_path_has_suffix(path, ".hex"));
}

/* ----------------------------------------------------------------------------------------------------- hexadecimal */

void io_hex_encode(char *text, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = 0;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool io_hex_decode(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int high = digit_value(text[2 * i]);
        int low = high < 0 ? -1 : digit_value(text[2 * i + 1]);
        if (low < 0) return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* --------------------------------------------------------------------------------------------------------- writing */

static void write_hex(FILE *file, const uint8_t *rows, size_t count, size_t width)
{
    char *line = io_alloc(2 * width + 2, 1);
    for (size_t i = 0; i < count; i++) {
        io_hex_encode(line, rows + i * width, width);
        line[2 * width] = '\n';
        fwrite(line, 1, 2 * width + 1, file);
    }
    free(line);
}

static const char *csv_end(size_t i, size_t width) { return (i + 1) % width ? "," : "\n"; }

static void write_csv_bytes(FILE *file, const uint8_t *rows, size_t count, size_t width)
{
    for (size_t i = 0; i < count * width; i++) fprintf(file, "%d%s", rows[i], csv_end(i, width));
}

static void write_csv_floats(FILE *file, const float *rows, size_t count, size_t width)
{
    char text[32];
    for (size_t i = 0; i < count * width; i++)
        fprintf(file, "%s%s", io_number_format(text, (double)rows[i], 9), csv_end(i, width));
}

bool io_rows_write_bytes(const char *path, const uint8_t *rows, size_t count, size_t width, io_error *error)
{
    const size_t shape[] = {count, width};
    if (path && io_path_has_suffix(path, ".npy")) return io_npy_write(path, IO_U8, 2, shape, rows, error);
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    if (path && io_path_has_suffix(path, ".csv")) write_csv_bytes(io_writer_file(writer), rows, count, width);
    else write_hex(io_writer_file(writer), rows, count, width);
    return io_writer_commit(writer, error);
}

bool io_rows_write_floats(const char *path, const float *rows, size_t count, size_t width, io_error *error)
{
    const size_t shape[] = {count, width};
    if (path && io_path_has_suffix(path, ".npy")) return io_npy_write(path, IO_F32, 2, shape, rows, error);
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    write_csv_floats(io_writer_file(writer), rows, count, width);
    return io_writer_commit(writer, error);
}

bool io_rows_write(const char *path, const io_rows *rows, io_error *error)
{
    if (rows->bytes) return io_rows_write_bytes(path, rows->bytes, rows->count, rows->width, error);
    return io_rows_write_floats(path, rows->floats, rows->count, rows->width, error);
}

/* --------------------------------------------------------------------------------------------------------- reading */

static bool parse_hex(const char *path, const char *text, io_rows *out, io_error *error)
{
    size_t capacity = 0;
    size_t number = 0;
    while (*text) {
        size_t length = strcspn(text, "\r\n");
        number++;
        if (length > 0) {
            if (out->count == 0) out->width = length / 2;
            if (length != 2 * out->width) {
                return io_fail(error, "%s:%zu: %zu digits where %zu were expected", path, number, length,
                               2 * out->width);
            }
            if (out->count == capacity) {
                capacity = capacity ? 2 * capacity : 1024;
                out->bytes = io_grow(out->bytes, capacity, out->width);
            }
            if (!io_hex_decode(text, out->bytes + out->count * out->width, out->width)) {
                return io_fail(error, "%s:%zu: not a row of hexadecimal digits", path, number);
            }
            out->count++;
        }
        text += length;
        text += *text == '\r';
        text += *text == '\n';
    }
    if (!out->bytes) out->bytes = io_alloc(1, 1);
    return true;
}

static bool read_hex(const char *path, io_rows *out, io_error *error)
{
    io_bytes text;
    if (!io_file_read(path, &text, error)) return false;
    bool ok = parse_hex(path, (const char *)text.data, out, error);
    io_bytes_free(&text);
    return ok;
}

static bool read_npy(const char *path, io_rows *out, io_error *error)
{
    io_array array;
    if (!io_npy_read(path, &array, error)) return false;
    if (array.dimensions != 2 || (array.type != IO_U8 && array.type != IO_F32)) {
        io_fail(error, "%s: descriptors are N x width arrays of u8 or f32; this has %d dimensions of %s", path,
                (int)array.dimensions, io_dtype_name(array.type));
        io_array_free(&array);
        return false;
    }
    out->count = array.shape[0];
    out->width = array.shape[1];
    if (array.type == IO_U8) out->bytes = array.data;
    else out->floats = array.data;
    return true;
}

bool io_rows_read(const char *path, io_rows *out, io_error *error)
{
    memset(out, 0, sizeof *out);
    bool ok = io_path_has_suffix(path, ".npy")   ? read_npy(path, out, error)
              : io_path_has_suffix(path, ".hex") ? read_hex(path, out, error)
                                                 : io_fail(error, "%s: descriptors are read from .npy and .hex", path);
    if (!ok) io_rows_free(out);
    return ok;
}

void io_rows_free(io_rows *rows)
{
    free(rows->bytes);
    free(rows->floats);
    memset(rows, 0, sizeof *rows);
}
