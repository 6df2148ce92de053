/* The one thing we want of EXIF: the orientation, tag 0x0112 of the first directory of a TIFF structure. */
#include "io/codecs.h"

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

int32_t io_exif_orientation(const uint8_t *data, size_t size)
{
    if (size < 8 || data[0] != data[1] || (data[0] != 'I' && data[0] != 'M')) return 1;
    reader r = {data, size, data[0] == 'M'};
    if (number_at(&r, 2, 2) != 42) return 1;
    size_t directory = number_at(&r, 4, 4);
    if (directory > size || size - directory < 2) return 1;
    size_t entries = number_at(&r, directory, 2);
    for (size_t i = 0; i < entries; i++) {
        size_t entry = directory + 2 + 12 * i;
        if (size - directory < 2 + 12 * (i + 1)) return 1;
        if (number_at(&r, entry, 2) != 0x0112) continue;
        uint32_t value = number_at(&r, entry + 8, 2); /* a SHORT, at the left of its four bytes */
        return value >= 1 && value <= 8 ? (int32_t)value : 1;
    }
    return 1;
}
