/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/cache.h"

#include <inttypes.h>
#include <stdlib.h>

#include "io/number.h"

static char *cache_path(const char *folder, uint64_t key, const char *suffix)
{
    char name[32];
    snprintf(name, sizeof name, "%016" PRIx64 "%s", key, suffix);
    return io_path_join(folder, name);
}

bool ev_cache_get(const char *folder, uint64_t key, double *numbers, size_t n)
{
    if (!folder) return false;
    io_bytes bytes;
    char *path = cache_path(folder, key, ".txt");
    bool there = io_path_exists(path) && io_file_read(path, &bytes, NULL);
    free(path);
    if (!there) return false;
    const char *at = (const char *)bytes.data;
    size_t got = 0;
    while (got < n && io_number_parse(at, &at, &numbers[got])) got++;
    io_bytes_free(&bytes);
    return got == n;
}

bool ev_cache_put(const char *folder, uint64_t key, const double *numbers, size_t n, io_error *error)
{
    if (!folder) return true;
    char *path = cache_path(folder, key, ".txt");
    io_writer *writer = io_folder_make(folder, error) ? io_writer_open_work(path, error) : NULL;
    free(path);
    if (!writer) return false;
    char text[32];
    for (size_t i = 0; i < n; i++) fprintf(io_writer_file(writer), "%s\n", io_number_format(text, numbers[i], 17));
    return io_writer_commit(writer, error);
}

bool ev_cache_get_rows(const char *folder, uint64_t key, size_t count, io_rows *rows)
{
    if (!folder) return false;
    char *path = cache_path(folder, key, ".npy");
    bool there = io_path_exists(path) && io_rows_read(path, rows, NULL);
    free(path);
    if (there && rows->count != count) {
        io_rows_free(rows);
        return false;
    }
    return there;
}

bool ev_cache_put_rows(const char *folder, uint64_t key, const io_rows *rows, io_error *error)
{
    if (!folder) return true;
    char *path = cache_path(folder, key, ".npy");
    bool good = io_folder_make(folder, error) &&
                (rows->bytes ? io_rows_write_bytes(path, rows->bytes, rows->count, rows->width, error)
                             : io_rows_write_floats(path, rows->floats, rows->count, rows->width, error));
    free(path);
    return good;
}
