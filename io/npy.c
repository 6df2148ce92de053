/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy: "\x93NUMPY", version, length of the header, a Python dictionary with type, order and shape padded to a
 * multiple of 64 bytes, then the numbers. */
#include "io/npy.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *code; /* without the byte order */
    const char *name;
    size_t size;
} types[] = {
    [IO_U8] = {"u1", "u8", 1},   [IO_BOOL] = {"b1", "bool", 1}, [IO_I32] = {"i4", "i32", 4},
    [IO_U32] = {"u4", "u32", 4}, [IO_I64] = {"i8", "i64", 8},   [IO_F32] = {"f4", "f32", 4},
    [IO_F64] = {"f8", "f64", 8},
};
#define TYPES ((int)(sizeof types / sizeof types[0]))

static const char magic[6] = "\x93NUMPY";

size_t io_dtype_size(io_dtype type) { return types[type].size; }
const char *io_dtype_name(io_dtype type) { return types[type].name; }

static char native_order(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1 ? '<' : '>';
}

/* --------------------------------------------------------------------------------------------------------- writing */

static size_t product(int32_t dimensions, const size_t *shape)
{
    size_t count = 1;
    for (int32_t i = 0; i < dimensions; i++) count *= shape[i];
    return count;
}

size_t io_npy_header(char header[IO_NPY_HEADER], io_dtype type, int32_t dimensions, const size_t *shape)
{
    char text[256];
    int length = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                          types[type].size == 1 ? '|' : native_order(), types[type].code);
    for (int32_t i = 0; i < dimensions; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%zu%s", i ? " " : "", shape[i],
                           i + 1 < dimensions || dimensions == 1 ? "," : "");
    }
    length += snprintf(text + length, sizeof text - (size_t)length, "), }");
    /* 10 bytes come before the dictionary, and a line break ends it. */
    int total = (10 + length + 1 + 63) / 64 * 64;
    int dictionary = total - 10;
    const uint8_t rest[4] = {1, 0, (uint8_t)(dictionary & 255), (uint8_t)(dictionary >> 8)};
    memcpy(header, magic, sizeof magic);
    memcpy(header + sizeof magic, rest, sizeof rest);
    memset(header + 10, ' ', (size_t)dictionary);
    memcpy(header + 10, text, (size_t)length);
    header[total - 1] = '\n';
    return (size_t)total;
}

bool io_npy_write(const char *path, io_dtype type, int32_t dimensions, const size_t *shape, const void *data,
                  io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *file = io_writer_file(writer);
    char header[IO_NPY_HEADER];
    fwrite(header, 1, io_npy_header(header, type, dimensions, shape), file);
    size_t count = product(dimensions, shape);
    if (count) fwrite(data, types[type].size, count, file);
    return io_writer_commit(writer, error);
}

/* --------------------------------------------------------------------------------------------------------- reading */

/* What follows 'key': in the dictionary; NULL when the key is not there. */
static const char *find_value(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (!at) return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at != ':') return NULL;
    return at + 1 + strspn(at + 1, " ");
}

static bool parse_type(const char *path, const char *header, io_array *out, io_error *error)
{
    const char *at = find_value(header, "descr");
    if (!at || *at != '\'' || strcspn(at + 1, "'") != 3) return io_fail(error, "%s: .npy of an unknown type", path);
    char order = at[1];
    for (int i = 0; i < TYPES; i++) {
        if (strncmp(at + 2, types[i].code, 2) != 0) continue;
        if (types[i].size > 1 && order != native_order() && order != '=') {
            return io_fail(error, "%s: .npy of another byte order (%.3s)", path, at + 1);
        }
        out->type = (io_dtype)i;
        return true;
    }
    return io_fail(error, "%s: .npy of type %.3s; u1, b1, i4, u4, i8, f4 and f8 are read", path, at + 1);
}

static bool parse_shape(const char *path, const char *header, io_array *out, io_error *error)
{
    const char *at = find_value(header, "shape");
    if (!at || *at++ != '(') return io_fail(error, "%s: .npy without a shape", path);
    out->count = 1;
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, " ,")) {
        char *end;
        unsigned long long side = strtoull(at, &end, 10);
        if (end == at || *at == '-') return io_fail(error, "%s: .npy with a shape that is not numbers", path);
        if (out->dimensions == IO_MAX_DIMENSIONS) {
            return io_fail(error, "%s: .npy of more than %d dimensions", path, IO_MAX_DIMENSIONS);
        }
        if (side > SIZE_MAX / 16 || (side && out->count > SIZE_MAX / 16 / side)) {
            return io_fail(error, "%s: .npy with an impossible shape", path);
        }
        out->shape[out->dimensions++] = (size_t)side;
        out->count *= (size_t)side;
        at = end;
    }
    return true;
}

static bool parse(const char *path, io_bytes *file, io_array *out, io_error *error)
{
    if (file->size < 12 || memcmp(file->data, magic, sizeof magic) != 0)
        return io_fail(error, "%s: not a .npy file", path);
    const uint8_t *d = file->data;
    if (d[6] < 1 || d[6] > 3) return io_fail(error, "%s: .npy of version %d; 1 to 3 are read", path, d[6]);
    size_t start = d[6] == 1 ? 10 : 12;
    size_t length = d[6] == 1 ? (size_t)d[8] | (size_t)d[9] << 8
                              : (size_t)d[8] | (size_t)d[9] << 8 | (size_t)d[10] << 16 | (size_t)d[11] << 24;
    if (length == 0 || file->size - start < length) return io_fail(error, "%s: truncated .npy header", path);
    char *header = (char *)file->data + start;
    header[length - 1] = 0; /* the line break */

    if (!parse_type(path, header, out, error) || !parse_shape(path, header, out, error)) return false;
    const char *order = find_value(header, "fortran_order");
    if (!order || strncmp(order, "False", 5) != 0) {
        return io_fail(error, "%s: .npy in Fortran order; save it with numpy.ascontiguousarray", path);
    }
    size_t bytes = out->count * types[out->type].size, found = file->size - start - length;
    if (found != bytes) {
        return io_fail(error, "%s: %s .npy: %zu bytes of numbers, the shape needs %zu", path,
                       found < bytes ? "truncated" : "damaged", found, bytes);
    }
    out->data = io_alloc(out->count, types[out->type].size);
    memcpy(out->data, file->data + start + length, bytes);
    return true;
}

bool io_npy_read(const char *path, io_array *out, io_error *error)
{
    io_bytes file;
    memset(out, 0, sizeof *out);
    if (!io_file_read(path, &file, error)) return false;
    bool ok = parse(path, &file, out, error);
    io_bytes_free(&file);
    if (!ok) io_array_free(out);
    return ok;
}

void io_array_free(io_array *array)
{
    free(array->data);
    memset(array, 0, sizeof *array);
}
