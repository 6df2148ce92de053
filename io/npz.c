/* SPDX-License-Identifier: Apache-2.0 */
/* A ZIP archive: per member a header, its bytes and their checksum; at the end a directory of all. */
#include "io/npz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MAX_MEMBERS 16
#define STORED_BEHIND 8 /* general flag: checksum and size follow the bytes */
#define DAY ((1 << 5) | 1) /* 1 January 1980: the same arrays give the same bytes */

typedef struct member {
    char name[64];
    uint32_t crc;
    uint64_t offset, size;
} member;

struct io_npz {
    io_writer *writer;
    FILE *file;
    member members[MAX_MEMBERS];
    size_t count;
    uint64_t at; /* bytes written */
    io_dtype type;
    char path[512];
};

/* Little endian; bytes beyond the value are 0. */
static void put(io_npz *z, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8) fputc((int)(value & 255), z->file);
    z->at += (uint64_t)bytes;
}

static void put_text(io_npz *z, const char *text)
{
    fputs(text, z->file);
    z->at += strlen(text);
}

io_npz *io_npz_open(const char *path, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return NULL;
    io_npz *z = io_alloc(1, sizeof *z);
    z->writer = writer;
    z->file = io_writer_file(writer);
    snprintf(z->path, sizeof z->path, "%s", path);
    return z;
}

static void member_bytes(io_npz *z, const void *data, size_t size)
{
    member *m = &z->members[z->count - 1];
    if (size == 0) return; /* without data crc32 begins again */
    fwrite(data, 1, size, z->file);
    m->crc = (uint32_t)crc32_z(m->crc, data, size);
    m->size += size;
    z->at += size;
}

static void member_end(io_npz *z)
{
    if (z->count == 0) return;
    const member *m = &z->members[z->count - 1];
    put(z, 0x08074b50, 4);
    put(z, m->crc, 4);
    put(z, m->size, 4);
    put(z, m->size, 4);
}

void io_npz_array(io_npz *npz, const char *name, io_dtype type, int32_t dimensions, const size_t *shape)
{
    member_end(npz);
    if (npz->count == MAX_MEMBERS) abort(); /* a mistake of the caller */
    member *m = &npz->members[npz->count++];
    *m = (member){.offset = npz->at};
    snprintf(m->name, sizeof m->name, "%s.npy", name);
    npz->type = type;
    put(npz, 0x04034b50, 4);
    put(npz, 20, 2); /* version 2.0 reads it */
    put(npz, STORED_BEHIND, 2);
    put(npz, 0, 4);  /* not compressed; midnight */
    put(npz, DAY, 2);
    put(npz, 0, 12); /* checksum and sizes */
    put(npz, strlen(m->name), 2);
    put(npz, 0, 2);
    put_text(npz, m->name);
    char header[IO_NPY_HEADER];
    member_bytes(npz, header, io_npy_header(header, type, dimensions, shape));
}

void io_npz_data(io_npz *npz, const void *data, size_t count)
{
    member_bytes(npz, data, count * io_dtype_size(npz->type));
}

static void write_directory(io_npz *z)
{
    uint64_t start = z->at;
    for (size_t i = 0; i < z->count; i++) {
        const member *m = &z->members[i];
        put(z, 0x02014b50, 4);
        put(z, 20, 2);
        put(z, 20, 2);
        put(z, STORED_BEHIND, 2);
        put(z, 0, 4);
        put(z, DAY, 2);
        put(z, m->crc, 4);
        put(z, m->size, 4);
        put(z, m->size, 4);
        put(z, strlen(m->name), 2);
        put(z, 0, 12); /* no comment, first disc, no attributes */
        put(z, m->offset, 4);
        put_text(z, m->name);
    }
    uint64_t end = z->at;
    put(z, 0x06054b50, 4);
    put(z, 0, 4);
    put(z, z->count, 2);
    put(z, z->count, 2);
    put(z, end - start, 4);
    put(z, start, 4);
    put(z, 0, 2);
}

bool io_npz_commit(io_npz *npz, io_error *error)
{
    member_end(npz);
    write_directory(npz);
    bool ok = npz->at <= UINT32_MAX;
    if (ok) {
        ok = io_writer_commit(npz->writer, error);
    } else {
        io_fail(error, "%s: more than 4 GiB do not fit into a .npz", npz->path);
        io_writer_abandon(npz->writer);
    }
    free(npz);
    return ok;
}

void io_npz_abandon(io_npz *npz)
{
    io_writer_abandon(npz->writer);
    free(npz);
}
