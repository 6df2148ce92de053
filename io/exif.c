/* SPDX-License-Identifier: Apache-2.0 */
/* What we want of EXIF, a TIFF structure: the orientation (tag 0x0112 of the first directory), where the camera was
 * (the directory at tag 0x8825), and its focal length (the directory at 0x8769). */
#include "io/codecs.h"

#include <math.h>
#include <string.h>

#include "io/mapping.h"

typedef struct reader {
    const uint8_t *data;
    size_t size;
    bool big_endian;
} reader;

static uint32_t number_at(const reader *r, size_t offset, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) {
        size_t at = offset + (size_t)(r->big_endian ? i : bytes - 1 - i);
        value = value << 8 | r->data[at];
    }
    return value;
}

/* The first directory; 0 when this is no TIFF structure. */
static size_t reader_open(reader *r, const uint8_t *data, size_t size)
{
    if (size < 8 || data[0] != data[1] || (data[0] != 'I' && data[0] != 'M')) return 0;
    *r = (reader){data, size, data[0] == 'M'};
    return number_at(r, 2, 2) == 42 ? number_at(r, 4, 4) : 0;
}

/* Where the four bytes of value of a tag are, of that type and count; 0 when there is none. */
static size_t tag_find(const reader *r, size_t directory, uint32_t tag, uint32_t type, uint32_t count)
{
    if (directory == 0 || directory > r->size || r->size - directory < 2) return 0;
    size_t entries = number_at(r, directory, 2);
    for (size_t i = 0; i < entries; i++) {
        size_t entry = directory + 2 + 12 * i;
        if (r->size - directory < 2 + 12 * (i + 1)) return 0;
        if (number_at(r, entry, 2) != tag) continue;
        return number_at(r, entry + 2, 2) == type && number_at(r, entry + 4, 4) == count ? entry + 8 : 0;
    }
    return 0;
}

int32_t io_exif_orientation(const uint8_t *data, size_t size)
{
    reader r = {0};
    size_t directory = reader_open(&r, data, size), at = tag_find(&r, directory, 0x0112, 3, 1);
    uint32_t value = at ? number_at(&r, at, 2) : 1; /* a SHORT, at the left of its four bytes */
    return value >= 1 && value <= 8 ? (int32_t)value : 1;
}

/* Degrees, minutes and seconds as three fractions, and the letter that makes them negative; NAN when there are none. */
static double degrees_at(const reader *r, size_t directory, uint32_t tag, char negative, double most)
{
    size_t letter = tag_find(r, directory, tag, 2, 2), at = tag_find(r, directory, tag + 1, 5, 3);
    if (letter == 0 || at == 0) return NAN;
    size_t offset = number_at(r, at, 4);
    if (offset > r->size || r->size - offset < 24) return NAN;
    double sum = 0, unit = 1;
    for (size_t i = 0; i < 3; i++, unit /= 60) {
        uint32_t above = number_at(r, offset + 8 * i, 4), below = number_at(r, offset + 8 * i + 4, 4);
        if (below == 0 && above != 0) return NAN;
        if (above != 0) sum += unit * above / below;
    }
    if (sum > most) return NAN;
    return r->data[letter] == (uint8_t)negative ? -sum : sum;
}

/* A fraction; below the sea where the byte at tag 5 is 1. */
static double altitude_at(const reader *r, size_t directory)
{
    size_t below = tag_find(r, directory, 5, 1, 1), at = tag_find(r, directory, 6, 5, 1);
    size_t offset = at ? number_at(r, at, 4) : r->size;
    if (offset > r->size || r->size - offset < 8) return 0;
    uint32_t above = number_at(r, offset, 4), under = number_at(r, offset + 4, 4);
    double metres = under ? (double)above / under : 0;
    return below && r->data[below] == 1 ? -metres : metres;
}

bool io_exif_position(const uint8_t *data, size_t size, io_position *out)
{
    reader r = {0};
    size_t first = reader_open(&r, data, size), at = tag_find(&r, first, 0x8825, 4, 1);
    if (at == 0) return false;
    size_t directory = number_at(&r, at, 4);
    *out = (io_position){degrees_at(&r, directory, 1, 'S', 90), degrees_at(&r, directory, 3, 'W', 180),
                         altitude_at(&r, directory)};
    return isfinite(out->latitude) && isfinite(out->longitude);
}

/* FocalLengthIn35mmFilm, tag 0xa405 of the directory at 0x8769; film is 36 mm wide. */
static bool exif_focal(const uint8_t *data, size_t size, void *out)
{
    reader r = {0};
    size_t first = reader_open(&r, data, size), at = tag_find(&r, first, 0x8769, 4, 1);
    if (at == 0) return false;
    size_t value = tag_find(&r, number_at(&r, at, 4), 0xa405, 3, 1);
    if (value == 0 || number_at(&r, value, 2) == 0) return false;
    *(double *)out = number_at(&r, value, 2) / 36.0;
    return true;
}

static bool exif_position(const uint8_t *data, size_t size, void *out) { return io_exif_position(data, size, out); }

/* Reads the EXIF block of a JPEG, in a marker APP1 before the picture, or a TIFF, which is one itself. */
static bool exif_read(const char *path, bool (*take)(const uint8_t *data, size_t size, void *out), void *out)
{
    io_mapping file;
    io_error ignored;
    bool found = false;
    if (!io_mapping_open(path, &file, &ignored)) return false;
    const uint8_t *data = file.data;
    size_t size = file.size, at = 2;
    if (size < 4 || data[0] != 0xff || data[1] != 0xd8) {
        found = take(data, size, out);
        at = size;
    }
    while (at + 4 <= size && data[at] == 0xff && data[at + 1] != 0xda) {
        size_t length = (size_t)data[at + 2] << 8 | data[at + 3];
        if (length < 2 || length > size - at - 2) break;
        if (data[at + 1] == 0xe1 && length > 8 && memcmp(data + at + 4, "Exif\0\0", 6) == 0) {
            found = take(data + at + 10, length - 8, out);
            break;
        }
        at += 2 + length;
    }
    io_mapping_close(&file);
    return found;
}

bool io_image_position(const char *path, io_position *out) { return exif_read(path, exif_position, out); }
bool io_image_focal(const char *path, double *focal) { return exif_read(path, exif_focal, focal); }
