/* SPDX-License-Identifier: Apache-2.0 */
/* Uncompressed BMP: 1, 4 and 8 bits with a palette, 24 and 32 bits (also with channel masks of 8 bits), rows from the
 * bottom up or, with a negative height, from the top down; every row padded to 4 bytes. Always gives RGB. */
#include <string.h>

#include "io/codecs.h"

enum { PLAIN = 0, MASKS = 3, MASKS_WITH_ALPHA = 6 };

typedef struct bmp_header {
    uint32_t pixels;      /* offset of the first row */
    uint32_t header_size; /* of the second header, which starts at byte 14 */
    int64_t width, height;
    bool top_down;
    uint32_t bits, compression, colours;
    const uint8_t *palette;
    uint32_t palette_step;
    int shift[3]; /* where R, G and B stand in a pixel of 32 bits */
} bmp_header;

static uint32_t u16_at(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }
static uint32_t u32_at(const uint8_t *p) { return u16_at(p) | u16_at(p + 2) << 16; }

static bool read_sizes(const io_source *source, bmp_header *h, io_error *error)
{
    const uint8_t *d = source->data;
    if (source->size < 26) return io_fail(error, "%s: truncated BMP: no header", source->name);
    h->pixels = u32_at(d + 10);
    h->header_size = u32_at(d + 14);
    bool old = h->header_size == 12;
    if ((!old && h->header_size < 40) || h->header_size > 1024 || source->size < 14 + (size_t)h->header_size) {
        return io_fail(error, "%s: damaged or truncated BMP header", source->name);
    }
    if (old) {
        h->width = u16_at(d + 18);
        h->height = u16_at(d + 20);
        h->bits = u16_at(d + 24);
        h->palette_step = 3;
        return true;
    }
    h->width = (int32_t)u32_at(d + 18);
    h->height = (int32_t)u32_at(d + 22);
    h->top_down = h->height < 0;
    if (h->top_down) h->height = -h->height;
    h->bits = u16_at(d + 28);
    h->compression = u32_at(d + 30);
    h->colours = u32_at(d + 46);
    h->palette_step = 4;
    return true;
}

/* The masks of channels stand right behind the first 40 bytes, in the header itself or after it. */
static bool read_masks(const io_source *source, bmp_header *h, io_error *error)
{
    static const int usual[3] = {16, 8, 0};
    memcpy(h->shift, usual, sizeof usual);
    if (h->compression == PLAIN) return true;
    if (source->size < 14 + 40 + 12) return io_fail(error, "%s: truncated BMP: no channel masks", source->name);
    for (int c = 0; c < 3; c++) {
        uint32_t mask = u32_at(source->data + 54 + 4 * c);
        int shift = 0;
        while (shift < 24 && mask != 0xffu << shift) shift += 8;
        if (mask != 0xffu << shift) {
            return io_fail(error, "%s: BMP with channel mask %08x; only masks of whole bytes are read", source->name,
                           mask);
        }
        h->shift[c] = shift;
    }
    return true;
}

static bool read_palette(const io_source *source, bmp_header *h, io_error *error)
{
    if (h->bits > 8) return true;
    uint32_t most = 1u << h->bits;
    if (h->colours == 0 || h->colours > most) h->colours = most;
    size_t offset = 14 + (size_t)h->header_size;
    if (source->size < offset + (size_t)h->colours * h->palette_step) {
        return io_fail(error, "%s: truncated BMP: no palette", source->name);
    }
    h->palette = source->data + offset;
    return true;
}

static bool check_kind(const io_source *source, const bmp_header *h, io_error *error)
{
    if (h->compression != PLAIN && h->compression != MASKS && h->compression != MASKS_WITH_ALPHA) {
        return io_fail(error, "%s: compressed BMP (kind %u) is not read", source->name, h->compression);
    }
    bool known = h->compression == PLAIN
                     ? h->bits == 1 || h->bits == 4 || h->bits == 8 || h->bits == 24 || h->bits == 32
                     : h->bits == 32;
    if (known) return true;
    return io_fail(error, "%s: BMP of %u bits per pixel is not read (1, 4, 8, 24 and 32 are)", source->name, h->bits);
}

static bool palette_row(const io_source *source, const bmp_header *h, const uint8_t *from, uint8_t *to, io_error *error)
{
    uint32_t mask = (1u << h->bits) - 1, per_byte = 8 / h->bits;
    for (uint32_t x = 0; x < (uint32_t)h->width; x++, to += 3) {
        uint32_t shift = 8 - h->bits * (x % per_byte + 1);
        uint32_t index = (uint32_t)from[x / per_byte] >> shift & mask;
        if (index >= h->colours) {
            return io_fail(error, "%s: damaged BMP: colour %u of a palette of %u", source->name, index, h->colours);
        }
        const uint8_t *bgr = h->palette + (size_t)index * h->palette_step;
        to[0] = bgr[2];
        to[1] = bgr[1];
        to[2] = bgr[0];
    }
    return true;
}

static void direct_row(const bmp_header *h, const uint8_t *from, uint8_t *to)
{
    for (int64_t x = 0; x < h->width; x++, to += 3) {
        uint32_t pixel = h->bits == 24 ? u16_at(from) | (uint32_t)from[2] << 16 : u32_at(from);
        for (int c = 0; c < 3; c++) to[c] = (uint8_t)(pixel >> h->shift[c]);
        from += h->bits / 8;
    }
}

bool io_decode_bmp(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    (void)colour;
    bmp_header h = {0};
    if (!read_sizes(source, &h, error) || !check_kind(source, &h, error) || !read_masks(source, &h, error) ||
        !read_palette(source, &h, error)) {
        return false;
    }
    if (h.width >= 1 && h.width <= IO_MAX_SIDE && h.height >= 1 && h.height <= IO_MAX_SIDE) {
        uint64_t row = ((uint64_t)h.width * h.bits + 31) / 32 * 4;
        uint64_t needed = h.pixels + row * (uint64_t)h.height;
        if (source->size < needed) {
            return io_fail(error, "%s: truncated BMP: %zu bytes of %llu", source->name, source->size,
                           (unsigned long long)needed);
        }
    }
    if (!io_raster_create(raster, source, h.width, h.height, 3, 1, error)) return false;
    size_t row_bytes = ((size_t)h.width * h.bits + 31) / 32 * 4;
    for (int32_t y = 0; y < raster->height; y++) {
        size_t stored = (size_t)(h.top_down ? y : raster->height - 1 - y);
        const uint8_t *from = source->data + h.pixels + stored * row_bytes;
        if (h.bits > 8) {
            direct_row(&h, from, io_raster_row(raster, y));
        } else if (!palette_row(source, &h, from, io_raster_row(raster, y), error)) {
            return false;
        }
    }
    return true;
}
