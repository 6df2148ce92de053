/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, memory, reading whole files, and names. */
#include "io/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "io/host.h"
#include "io/text.h"

#define MAX_FILE_BYTES ((uint64_t)4 << 30)
#define MAX_PIPE_BYTES ((uint64_t)1 << 30)
#define MAX_DEVICE_BYTES ((uint64_t)64 << 20) /* most devices, such as /dev/zero, have no end */

#define LONGEST 10240 /* bytes of a sentence: two names of PATH_MAX, and what is said of them */

bool io_fail(io_error *error, const char *format, ...)
{
    if (error) {
        char text[LONGEST], printable[4 * LONGEST];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        io_shortened(error->text, sizeof error->text, io_printable(printable, sizeof printable, text));
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------------------- memory */

void io_out_of_memory(void)
{
    if (io_get_host()->out_of_memory) io_get_host()->out_of_memory();
    abort();
}

static void *or_stop(void *block)
{
    if (!block) io_out_of_memory();
    return block;
}

void *io_alloc(size_t count, size_t size) { return or_stop(calloc(count ? count : 1, size ? size : 1)); }

void *io_grow(void *block, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) return or_stop(NULL);
    size_t bytes = count * size;
    return or_stop(realloc(block, bytes ? bytes : 1));
}

char *io_copy_string(const char *text) { return or_stop(strdup(text)); }

/* --------------------------------------------------------------------------------------------------------- reading */

static bool too_large(const char *path, uint64_t most, io_error *error)
{
    return io_fail(error, "%s: larger than %llu MiB", path, (unsigned long long)(most >> 20));
}

/* Appends what is left in the stream; pipes have no size, so the buffer doubles. */
static bool read_stream(FILE *file, const char *path, uint64_t most, io_bytes *out, io_error *error)
{
    size_t capacity = out->size;
    size_t used = 0;
    for (;;) {
        if (used == capacity) {
            capacity = capacity ? capacity * 2 : 65536;
            out->data = io_grow(out->data, capacity + 1, 1);
        }
        size_t got = fread(out->data + used, 1, capacity - used, file);
        used += got;
        if (got == 0) break;
        if (used > most) return too_large(path, most, error);
    }
    if (ferror(file)) return io_fail(error, "%s: cannot be read: %s", path, strerror(errno));
    out->size = used;
    out->data[used] = 0;
    return true;
}

const char *io_path_shown(const char *path) { return strcmp(path, "-") == 0 ? "standard input" : path; }

bool io_file_read(const char *path, io_bytes *out, io_error *error)
{
    *out = (io_bytes){NULL, 0};
    bool standard = strcmp(path, "-") == 0;
    const char *name = io_path_shown(path);
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file && errno == ENOMEM) io_out_of_memory(); /* fopen allocates, too */
    if (!file) return io_fail(error, "%s: cannot be opened: %s", name, strerror(errno));

    struct stat status;
    bool known = fstat(fileno(file), &status) == 0;
    bool ok;
    if (known && S_ISDIR(status.st_mode)) {
        ok = io_fail(error, "%s: is a folder, not a file", name);
    } else if (known && (uint64_t)status.st_size > MAX_FILE_BYTES) {
        ok = too_large(name, MAX_FILE_BYTES, error);
    } else {
        uint64_t most = !known || S_ISREG(status.st_mode) ? MAX_FILE_BYTES
                        : S_ISCHR(status.st_mode)         ? MAX_DEVICE_BYTES
                                                          : MAX_PIPE_BYTES;
        /* One byte more than the size, so that the end is seen without growing. */
        out->size = known && S_ISREG(status.st_mode) ? (size_t)status.st_size + 1 : 65536;
        out->data = io_alloc(out->size + 1, 1);
        ok = read_stream(file, name, most, out, error);
    }
    if (!standard) fclose(file);
    if (!ok) io_bytes_free(out);
    return ok;
}

bool io_text_read(const char *path, io_bytes *out, io_error *error)
{
    if (!io_file_read(path, out, error)) return false;
    if (!memchr(out->data, 0, out->size)) return true;
    io_bytes_free(out);
    return io_fail(error, "%s: not a text file", io_path_shown(path));
}

void io_bytes_free(io_bytes *bytes)
{
    free(bytes->data);
    *bytes = (io_bytes){NULL, 0};
}

/* ----------------------------------------------------------------------------------------------------------- names */

const char *io_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *io_path_suffix(const char *path)
{
    const char *base = io_path_base(path);
    const char *dot = strrchr(base, '.');
    return dot && dot != base ? dot : base + strlen(base);
}

bool io_path_has_suffix(const char *path, const char *suffix) { return strcasecmp(io_path_suffix(path), suffix) == 0; }

bool io_path_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool io_path_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

bool io_path_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

bool io_path_never_waits(const char *path, io_error *error)
{
    return io_path_is_file(path) || !io_path_exists(path) || io_fail(error, "%s: not a regular file", path);
}

bool io_path_is_plain(const char *path)
{
    return path && strcmp(path, "-") != 0 && strncmp(path, "/dev/", 5) != 0 && *path && path[strlen(path) - 1] != '/' &&
           !io_path_is_folder(path);
}

char *io_path_stem(const char *path)
{
    const char *base = io_path_base(path);
    size_t length = (size_t)(io_path_suffix(path) - base);
    char *stem = io_alloc(length + 1, 1);
    memcpy(stem, base, length);
    return stem;
}

char *io_path_join(const char *folder, const char *name)
{
    size_t length = strlen(folder);
    bool slash = length > 0 && folder[length - 1] != '/';
    char *path = io_alloc(length + strlen(name) + 2, 1);
    sprintf(path, "%s%s%s", folder, slash ? "/" : "", name);
    return path;
}

char *io_path_with_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path) - strlen(io_path_suffix(path));
    char *result = io_alloc(length + strlen(suffix) + 1, 1);
    sprintf(result, "%.*s%s", (int)length, path, suffix);
    return result;
}

char *io_path_pattern(const char *pattern, const char *path)
{
    char *stem = io_path_stem(path);
    size_t places = 0;
    for (const char *p = pattern; (p = strstr(p, "{}")); p += 2) places++;
    char *result = io_alloc(strlen(pattern) + places * strlen(stem) + 1, 1);
    const char *rest = pattern;
    for (const char *p; (p = strstr(rest, "{}")); rest = p + 2) {
        strncat(result, rest, (size_t)(p - rest));
        strcat(result, stem);
    }
    strcat(result, rest);
    free(stem);
    return result;
}

bool io_folder_make(const char *path, io_error *error)
{
    if (mkdir(path, 0777) == 0) return true;
    int reason = errno;
    if (reason == EEXIST && io_path_is_folder(path)) return true;
    return io_fail(error, "%s: the folder cannot be made: %s", path, strerror(reason));
}

bool io_folder_make_work(const char *path, io_error *error)
{
    struct stat status;
    if (!io_folder_make(path, error)) return false;
    if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) return true;
    return io_fail(error, "%s: a link stands in place of the folder", path);
}
