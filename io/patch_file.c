/* SPDX-License-Identifier: Apache-2.0 */
/* The patch-set file (docs/patches.md): little endian, a header of 48 bytes, then records of equal length, each with a
 * checksum of its own, so that a sample of a large file is checked without reading the rest. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "io/patch_file.h"

#define VERSION 1
#define HEADER 48
#define RECORD_HEAD 12 /* checksum, label, view */
static const uint8_t magic[8] = {0x8b, 'K', 'B', 'P', '\r', '\n', 0x1a, '\n'};

static void put(uint8_t *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)from[i] << (8 * i);
    return v;
}

static uint32_t checksum(const uint8_t *data, size_t size) { return (uint32_t)crc32(0, data, (uInt)size); }
static size_t record_bytes(int32_t side) { return RECORD_HEAD + kbi_patch_bytes(side); }

/* -------------------------------------------------------------------------------------------------------- writing */

struct io_patch_writer {
    io_writer *file;
    char *path;
    io_patch_info info;
    uint8_t *record;
};

static void write_header(io_patch_writer *writer)
{
    uint8_t header[HEADER] = {0};
    uint32_t support;
    memcpy(&support, &writer->info.support, 4);
    memcpy(header, magic, sizeof magic);
    put(header + 8, VERSION, 4);
    put(header + 12, (uint64_t)writer->info.side, 4);
    put(header + 16, writer->info.patches, 8);
    put(header + 24, support, 4);
    put(header + HEADER - 4, checksum(header, HEADER - 4), 4);
    fwrite(header, 1, HEADER, io_writer_file(writer->file));
}

io_patch_writer *io_patch_writer_open(const char *path, int32_t side, float support, io_error *error)
{
    if (side < 1 || side > IO_PATCH_MAX_SIDE) {
        io_fail(error, "%s: patches of side %d cannot be kept; 1 to %d can", path, side, IO_PATCH_MAX_SIDE);
        return NULL;
    }
    io_writer *file = io_writer_open(path, error);
    if (!file) return NULL;
    if (!io_writer_temporary(file)) {
        io_writer_abandon(file);
        io_fail(error, "%s: a patch set needs a plain file, since its header is written last", path);
        return NULL;
    }
    io_patch_writer *writer = io_alloc(1, sizeof *writer);
    writer->file = file;
    writer->path = io_copy_string(path);
    writer->info = (io_patch_info){side, support, 0};
    writer->record = io_alloc(record_bytes(side), 1);
    write_header(writer);
    return writer;
}

void io_patch_writer_add(io_patch_writer *writer, uint32_t label, uint32_t view, const uint8_t *pixels)
{
    size_t size = record_bytes(writer->info.side);
    put(writer->record + 4, label, 4);
    put(writer->record + 8, view, 4);
    memcpy(writer->record + RECORD_HEAD, pixels, size - RECORD_HEAD);
    put(writer->record, checksum(writer->record + 4, size - 4), 4);
    fwrite(writer->record, 1, size, io_writer_file(writer->file));
    writer->info.patches++;
}

static void writer_free(io_patch_writer *writer)
{
    free(writer->path);
    free(writer->record);
    free(writer);
}

bool io_patch_writer_close(io_patch_writer *writer, io_error *error)
{
    FILE *file = io_writer_file(writer->file);
    bool ok = fflush(file) == 0 && fseeko(file, 0, SEEK_SET) == 0;
    if (ok) {
        write_header(writer);
        ok = io_writer_commit(writer->file, error);
    } else {
        io_fail(error, "%s: cannot be written: %s", writer->path, strerror(errno));
        io_writer_abandon(writer->file);
    }
    writer_free(writer);
    return ok;
}

void io_patch_writer_abandon(io_patch_writer *writer)
{
    if (!writer) return;
    io_writer_abandon(writer->file);
    writer_free(writer);
}

/* -------------------------------------------------------------------------------------------------------- reading */

struct io_patch_reader {
    FILE *file;
    char *path;
    io_patch_info info;
    uint8_t *record;
};

/* What a header says, if it is one. */
static bool parse_header(const char *path, const uint8_t *header, io_patch_info *info, io_error *error)
{
    if (memcmp(header, magic, sizeof magic) != 0) return io_fail(error, "%s: not a patch set of keybits", path);
    uint64_t version = get(header + 8, 4), side = get(header + 12, 4);
    uint32_t support = (uint32_t)get(header + 24, 4);
    if (version != VERSION)
        return io_fail(error, "%s: patch-set version %u; this program reads version %d", path, (unsigned)version,
                       VERSION);
    if (get(header + HEADER - 4, 4) != checksum(header, HEADER - 4))
        return io_fail(error, "%s: the header is damaged", path);
    if (side < 1 || side > IO_PATCH_MAX_SIDE) return io_fail(error, "%s: patches of side %u", path, (unsigned)side);
    info->side = (int32_t)side;
    info->patches = get(header + 16, 8);
    memcpy(&info->support, &support, 4);
    if (!(info->support >= 0 && info->support <= 1000))
        return io_fail(error, "%s: the support is no sensible number", path);
    return true;
}

static bool check_size(const char *path, FILE *file, const io_patch_info *info, io_error *error)
{
    struct stat status;
    if (fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode))
        return io_fail(error, "%s: not a plain file", path);
    uint64_t size = (uint64_t)status.st_size - HEADER, record = record_bytes(info->side);
    if (size / record == info->patches && size % record == 0) return true;
    if (size / record >= info->patches)
        return io_fail(error, "%s: longer than its %llu patches", path, (unsigned long long)info->patches);
    return io_fail(error, "%s: truncated: %llu of %llu patches are there", path, (unsigned long long)(size / record),
                   (unsigned long long)info->patches);
}

io_patch_reader *io_patch_reader_open(const char *path, io_patch_info *info, io_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        io_fail(error, "%s: cannot be opened: %s", path, strerror(errno));
        return NULL;
    }
    uint8_t header[HEADER];
    size_t got = fread(header, 1, HEADER, file);
    bool ok = got == HEADER || io_fail(error, "%s: not a patch set of keybits", path);
    ok = ok && parse_header(path, header, info, error) && check_size(path, file, info, error);
    if (!ok) {
        fclose(file);
        return NULL;
    }
    io_patch_reader *reader = io_alloc(1, sizeof *reader);
    *reader = (io_patch_reader){file, io_copy_string(path), *info, io_alloc(record_bytes(info->side), 1)};
    return reader;
}

bool io_patch_reader_at(io_patch_reader *reader, uint64_t index, uint32_t *label, uint32_t *view, uint8_t *pixels,
                        io_error *error)
{
    size_t record = record_bytes(reader->info.side), wanted = pixels ? record : RECORD_HEAD;
    off_t place = (off_t)(HEADER + index * record);
    /* Seeking throws the buffer away, so reading in order does without. */
    if (ftello(reader->file) != place && fseeko(reader->file, place, SEEK_SET) != 0)
        return io_fail(error, "%s: cannot be read: %s", reader->path, strerror(errno));
    if (fread(reader->record, 1, wanted, reader->file) != wanted)
        return io_fail(error, "%s: cannot be read: %s", reader->path,
                       ferror(reader->file) ? strerror(errno) : "it ends early");
    *label = (uint32_t)get(reader->record + 4, 4);
    *view = (uint32_t)get(reader->record + 8, 4);
    if (!pixels) return true;
    if (get(reader->record, 4) != checksum(reader->record + 4, record - 4))
        return io_fail(error, "%s: patch %llu is damaged", reader->path, (unsigned long long)index);
    memcpy(pixels, reader->record + RECORD_HEAD, record - RECORD_HEAD);
    return true;
}

void io_patch_reader_close(io_patch_reader *reader)
{
    if (!reader) return;
    fclose(reader->file);
    free(reader->path);
    free(reader->record);
    free(reader);
}
