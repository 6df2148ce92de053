/* SPDX-License-Identifier: Apache-2.0 */
/* Usual PNGs (8 bits, gray or RGB, not interlaced) by libdeflate, in and out. Whatever is unusual or wrong is left to
 * libpng, with its results and messages: this file fails without a word. */
#include "io/codecs.h"

#ifndef KB_HAVE_LIBDEFLATE

bool io_decode_png_plain(const io_source *source, io_raster *raster)
{
    (void)source;
    (void)raster;
    return false;
}

bool io_png_pack(io_layout layout, int32_t width, int32_t height, const uint8_t *pixels, uint8_t **file, size_t *size)
{
    (void)layout;
    (void)width;
    (void)height;
    (void)pixels;
    (void)size;
    *file = NULL;
    return true;
}

#else

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_MAX_BYTES ((size_t)1 << 25) /* inflated at once; libpng reads larger ones row by row */

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- filters, section 9 of the PNG specification ---- */

static inline int paeth(int a, int b, int c)
{
    int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
    int least = pb < pa ? pb : pa, nearest = pb < pa ? b : a;
    return pc < least ? c : nearest;
}

/* a is the sample left, b above, c above the left one; what stands left of a row is 0. */
#define FOR_EACH_SAMPLE(prediction)                                                                                 \
    for (size_t i = 0; i < n * size; i += size) {                                                                   \
        for (size_t k = 0; k < size; k++) {                                                                         \
            int a = left[k], b = up[i + k], c = corner[k];                                                          \
            (void)a, (void)c;                                                                                       \
            left[k] = row[i + k] = (uint8_t)(row[i + k] + (prediction));                                            \
            corner[k] = b;                                                                                          \
        }                                                                                                           \
    }

/* n pixels of `size` samples, a constant wherever this is called. */
static inline bool unfilter(int filter, uint8_t *restrict row, const uint8_t *restrict up, size_t n, const size_t size)
{
    int left[3] = {0}, corner[3] = {0};
    switch (filter) {
    case 0: return true;
    case 1: FOR_EACH_SAMPLE(a) return true;
    case 2: FOR_EACH_SAMPLE(b) return true;
    case 3: FOR_EACH_SAMPLE((a + b) >> 1) return true;
    case 4: FOR_EACH_SAMPLE(paeth(a, b, c)) return true;
    default: return false;
    }
}

/* The samples hold the filtered rows, each behind the byte that tells its filter, and lose those bytes. Fresh memory
 * costs more than moving the rows. */
static bool unfilter_rows(io_raster *raster)
{
    size_t n = (size_t)raster->width, size = (size_t)raster->channels;
    uint8_t *above = calloc(n, size); /* the first row has zeros above it */
    bool ok = above != NULL;
    const uint8_t *up = above;
    for (int32_t y = 0; ok && y < raster->height; y++) {
        uint8_t *out = io_raster_row(raster, y), *in = out + y;
        ok = size == 3 ? unfilter(in[0], in + 1, up, n, 3) : unfilter(in[0], in + 1, up, n, 1);
        memmove(out, in + 1, n * size);
        up = out;
    }
    free(above);
    return ok;
}

/* The bytes of all IDAT, one after the other, at `to`; 0 for a file with another chunk that decides about pixels, or
 * with a wrong checksum. */
static size_t gather(const io_source *source, uint8_t *to)
{
    size_t at = 8, total = 0;
    while (source->size - at >= 12) {
        const uint8_t *chunk = source->data + at;
        size_t length = big_endian(chunk);
        if (length > source->size - at - 12) return 0;
        if (big_endian(chunk + 8 + length) != libdeflate_crc32(0, chunk + 4, 4 + length)) return 0;
        if (memcmp(chunk + 4, "IEND", 4) == 0) return total;
        if (memcmp(chunk + 4, "IDAT", 4) == 0) {
            memcpy(to + total, chunk + 8, length);
            total += length;
        } else if (memcmp(chunk + 4, "tRNS", 4) == 0 || memcmp(chunk + 4, "eXIf", 4) == 0) {
            return 0;
        } else if (!(chunk[4] & 0x20) && at > 8) {
            return 0; /* a chunk that one must know, or another header than the first */
        }
        at += 12 + length;
    }
    return 0;
}

bool io_decode_png_plain(const io_source *source, io_raster *raster)
{
    const uint8_t *header = source->data + 16;
    if (source->size < 57 || !io_source_has(source, 8, "\0\0\0\rIHDR", 8)) return false;
    uint64_t width = big_endian(header), height = big_endian(header + 4), channels = header[9] == 2 ? 3 : 1;
    if (header[8] != 8 || (header[9] != 0 && header[9] != 2) || header[10] || header[11] || header[12]) return false;
    if (width > 65535 || height > 65535) return false;
    uint64_t bytes = height * (1 + width * channels);
    if (bytes > PLAIN_MAX_BYTES || bytes / 1032 > source->size) return false;

    io_error ignored;
    if (!io_raster_create(raster, source, (int64_t)width, (int64_t)height, (int32_t)channels, 1, &ignored))
        return false;
    uint8_t *packed = malloc(source->size);
    struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
    size_t size = packed && inflate ? gather(source, packed) : 0;
    bool ok = size > 0 && libdeflate_zlib_decompress(inflate, packed, size, raster->samples, (size_t)bytes, NULL) ==
                              LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(inflate);
    free(packed);
    ok = ok && unfilter_rows(raster);
    if (ok) return true;
    free(raster->samples);
    *raster = (io_raster){0};
    return false;
}

/* ---- out ---- */

/* A row as differences from the sample left of each or above it, whichever are smaller; what stands above the first
 * row is 0. */
static void filter_row(const uint8_t *restrict row, const uint8_t *restrict up, size_t n, size_t size,
                       uint8_t *restrict out)
{
    uint32_t by_left = 0, by_up = 0;
    for (size_t i = size; i < n; i++) {
        by_left += (uint32_t)abs((int8_t)(row[i] - row[i - size]));
        by_up += (uint32_t)abs((int8_t)(row[i] - up[i]));
    }
    *out++ = by_left <= by_up ? 1 : 2;
    if (by_left <= by_up) {
        memcpy(out, row, size);
        for (size_t i = size; i < n; i++) out[i] = (uint8_t)(row[i] - row[i - size]);
    } else {
        for (size_t i = 0; i < n; i++) out[i] = (uint8_t)(row[i] - up[i]);
    }
}

static void put_big_endian(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Length, name and checksum around the content that stands 8 bytes after `at`; returns where the next chunk begins. */
static uint8_t *finish_chunk(uint8_t *at, const char *name, size_t length)
{
    put_big_endian(at, (uint32_t)length);
    memcpy(at + 4, name, 4);
    put_big_endian(at + 8 + length, libdeflate_crc32(0, at + 4, 4 + length));
    return at + 12 + length;
}

/* Pictures are there to be looked at, often frame after frame: the fastest level. */
bool io_png_pack(io_layout layout, int32_t width, int32_t height, const uint8_t *pixels, uint8_t **file, size_t *size)
{
    size_t channels = layout == IO_RGB8 ? 3 : 1, n = channels * (size_t)width, bytes = (n + 1) * (size_t)height;
    *file = NULL;
    if (bytes > PLAIN_MAX_BYTES) return true;
    struct libdeflate_compressor *deflate = libdeflate_alloc_compressor(1);
    size_t bound = libdeflate_zlib_compress_bound(deflate, bytes), packed = 0;
    uint8_t *filtered = malloc(bytes), *out = malloc(8 + 25 + 12 + bound + 12), *zero = calloc(n, 1);
    if (deflate && filtered && out && zero) {
        for (size_t y = 0; y < (size_t)height; y++)
            filter_row(pixels + y * n, y ? pixels + (y - 1) * n : zero, n, channels, filtered + y * (n + 1));
        packed = libdeflate_zlib_compress(deflate, filtered, bytes, out + 8 + 25 + 8, bound);
    }
    libdeflate_free_compressor(deflate);
    free(filtered);
    free(zero);
    if (!packed) {
        free(out);
        return false;
    }
    memcpy(out, (const uint8_t[8]){0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'}, 8);
    put_big_endian(out + 16, (uint32_t)width);
    put_big_endian(out + 20, (uint32_t)height);
    memcpy(out + 24, (const uint8_t[5]){8, layout == IO_RGB8 ? 2 : 0, 0, 0, 0}, 5);
    *size = (size_t)(finish_chunk(finish_chunk(finish_chunk(out + 8, "IHDR", 13), "IDAT", packed), "IEND", 0) - out);
    *file = out;
    return true;
}

#endif
