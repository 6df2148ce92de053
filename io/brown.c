/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the Brown/PhotoTour format. */
#include "io/brown.h"

#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "io/image_io.h"

#define ACROSS 16
#define SHEET (ACROSS * ACROSS)

bool io_brown_labels(const char *folder, uint32_t **labels, size_t *count, io_error *error)
{
    char *path = io_path_join(folder, "info.txt");
    io_bytes bytes;
    bool ok = io_file_read(path, &bytes, error);
    size_t room = 0, line = 0;
    *labels = NULL;
    *count = 0;
    for (char *at = ok ? (char *)bytes.data : NULL; ok && *at;) {
        char *end = at + strcspn(at, "\n"), *after;
        line++;
        unsigned long long label = strtoull(at, &after, 10);
        if (after > end || after == at) {
            ok = at + strspn(at, " \t\r") == end ||
                 io_fail(error, "%s: line %zu does not begin with a number", path, line);
        } else if (label > UINT32_MAX) {
            ok = io_fail(error, "%s: line %zu: %llu is too large", path, line, label);
        } else {
            if (*count == room) *labels = io_grow(*labels, room = room ? 2 * room : 65536, sizeof **labels);
            (*labels)[(*count)++] = (uint32_t)label;
        }
        at = *end ? end + 1 : end;
    }
    if (ok && *count == 0) ok = io_fail(error, "%s: no patches are listed", path);
    if (!ok) {
        free(*labels);
        *labels = NULL;
    }
    io_bytes_free(&bytes);
    free(path);
    return ok;
}

/* Patch k of a sheet, row by row. */
static void cut_from_sheet(const io_image *sheet, size_t k, uint8_t *patch)
{
    const uint8_t *corner =
        sheet->pixels + (k / ACROSS) * IO_BROWN_SIDE * (size_t)sheet->width + (k % ACROSS) * IO_BROWN_SIDE;
    for (size_t y = 0; y < IO_BROWN_SIDE; y++)
        memcpy(patch + y * IO_BROWN_SIDE, corner + y * (size_t)sheet->width, IO_BROWN_SIDE);
}

static bool convert_sheet(const char *path, const uint32_t *labels, size_t first, size_t n, int32_t side,
                          io_patch_writer *writer, io_error *error)
{
    io_image sheet;
    uint8_t patch[IO_BROWN_SIDE * IO_BROWN_SIDE], small[KB_PATCH_SIDE * KB_PATCH_SIDE];
    if (!io_image_read(path, NULL, &sheet, error)) return false;
    bool ok = (sheet.width == ACROSS * IO_BROWN_SIDE && sheet.height == ACROSS * IO_BROWN_SIDE) ||
              io_fail(error, "%s: %d x %d pixels, not 1024 x 1024", path, (int)sheet.width, (int)sheet.height);
    for (size_t k = 0; k < n && ok; k++) {
        cut_from_sheet(&sheet, k, patch);
        if (side != IO_BROWN_SIDE) kbi_patch_shrink(patch, IO_BROWN_SIDE, small);
        io_patch_writer_add(writer, labels[k], (uint32_t)(first + k), side == IO_BROWN_SIDE ? patch : small);
    }
    io_image_free(&sheet);
    return ok;
}

bool io_brown_convert(const char *folder, int32_t side, io_patch_writer *writer, void (*tick)(void *, size_t),
                      void *context, io_error *error)
{
    static const char *const suffixes[] = {".bmp", NULL};
    uint32_t *labels;
    size_t count, done = 0;
    io_names sheets = {0};
    if (!io_brown_labels(folder, &labels, &count, error)) return false;
    bool ok = io_names_folder(&sheets, folder, suffixes, error);
    for (size_t i = 0; i < sheets.count && done < count && ok; i++) {
        size_t n = count - done < SHEET ? count - done : SHEET;
        ok = convert_sheet(sheets.items[i], labels + done, done, n, side, writer, error);
        done += n;
        if (tick) tick(context, done);
    }
    if (ok && done < count) {
        ok = io_fail(error, "%s: info.txt lists %zu patches, but the pictures hold %zu", folder, count, done);
    }
    free(labels);
    io_names_free(&sheets);
    return ok;
}
