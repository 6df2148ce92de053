/* SPDX-License-Identifier: Apache-2.0 */
#include "io/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool io_mapping_open(const char *path, io_mapping *out, io_error *error)
{
    struct stat status;
    *out = (io_mapping){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return io_fail(error, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data != MAP_FAILED) *out = (io_mapping){data, (size_t)status.st_size, true};
    }
    close(file);
    if (out->mapped) return true;
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    if (bytes.size == 0) {
        io_bytes_free(&bytes);
        return io_fail(error, "%s: the file is empty", path);
    }
    *out = (io_mapping){bytes.data, bytes.size, false};
    return true;
}

void io_mapping_close(io_mapping *mapping)
{
    union {
        const uint8_t *from;
        void *to;
    } data = {mapping->data};
    if (mapping->mapped) munmap(data.to, mapping->size);
    else free(data.to);
    *mapping = (io_mapping){0};
}
