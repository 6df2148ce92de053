/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of every format: any bytes are refused with words, or give a picture whose every pixel can be read. Input that
 * begins with a zero byte, as no picture does, is the inside of a PNG: our decoder of usual ones, whose checksums bytes
 * hardly pass, gives the pixels of libpng. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <zlib.h>
#ifdef KB_HAVE_TIFF
#include <tiffio.h>
#endif
#ifdef KB_HAVE_WEBP
#include <webp/encode.h>
#endif

#include "fuzz.h"
#include "io/image_io.h"

enum { SIDE = 12 };

static uint32_t sum_of(const io_image *image)
{
    uint32_t sum = 0;
    size_t bytes = (size_t)image->width * (size_t)image->height * (size_t)io_layout_bytes(image->layout);
    for (size_t i = 0; i < bytes; i++) sum += image->pixels[i];
    return sum;
}

/* ----------------------------------------------------------------------------------------------------- inside a PNG */

enum { PNG_ROOM = 1 << 17, INSIDE = 6 }; /* bytes before the rows: 0, colour, width, height */

static void put_big(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint8_t *put_chunk(uint8_t *at, const char *name, const uint8_t *content, uint32_t length)
{
    put_big(at, length);
    memcpy(at + 4, name, 4);
    if (length) memcpy(at + 8, content, length);
    put_big(at + 8 + length, (uint32_t)crc32(0, at + 4, 4 + length));
    return at + 12 + length;
}

/* The PNG of rows with their filters. With an EXIF chunk, one without entries, it is libpng's. */
static size_t wrap_png(const uint8_t *data, size_t size, bool exif, uint8_t *png)
{
    uint8_t head[13] = {0, 0, data[2], data[3], 0, 0, data[4], data[5], 8, data[1] & 1 ? 2 : 0, 0, 0, 0};
    uLongf packed = PNG_ROOM / 2;
    uint8_t *inside = malloc(packed), *at = png + 8;
    fuzz_expect(inside && compress2(inside, &packed, data + INSIDE, size - INSIDE, 0) == Z_OK);
    memcpy(png, "\x89PNG\r\n\x1a\n", 8);
    at = put_chunk(at, "IHDR", head, sizeof head);
    if (exif) at = put_chunk(at, "eXIf", (const uint8_t *)"II*\0\x08\0\0\0\0\0\0\0\0\0", 14);
    size_t half = packed / 2; /* in two chunks */
    at = put_chunk(put_chunk(at, "IDAT", inside, (uint32_t)half), "IDAT", inside + half, (uint32_t)(packed - half));
    free(inside);
    return (size_t)(put_chunk(at, "IEND", NULL, 0) - png);
}

static void check_plain_png(const uint8_t *data, size_t size)
{
    static uint8_t png[PNG_ROOM];
    const io_read_options options = {.colour = true};
    io_image image[2];
    io_error error;
    bool good[2];
    if (size < INSIDE || size > PNG_ROOM / 4) return;
    for (int i = 0; i < 2; i++) {
        size_t length = wrap_png(data, size, i, png);
        uint8_t *exact = malloc(length);
        memcpy(exact, png, length);
        good[i] = io_image_decode("seed", exact, length, &options, &image[i], &error);
        free(exact);
    }
    fuzz_expect(good[0] == good[1]);
    if (good[0]) {
        fuzz_expect(image[0].width == image[1].width && image[0].height == image[1].height);
        fuzz_expect(image[0].layout == image[1].layout);
        size_t bytes = (size_t)image[0].width * (size_t)image[0].height * (size_t)io_layout_bytes(image[0].layout);
        fuzz_expect(memcmp(image[0].pixels, image[1].pixels, bytes) == 0);
    }
    for (int i = 0; i < 2; i++) io_image_free(&image[i]);
}

/* Every filter in turn. */
static size_t seed_rows(bool colour, uint8_t *buffer)
{
    const size_t n = colour ? 3 * SIDE : SIDE;
    const uint8_t head[INSIDE] = {0, colour, 0, SIDE, 0, SIDE};
    memcpy(buffer, head, INSIDE);
    for (size_t y = 0; y < SIDE; y++) {
        uint8_t *row = buffer + INSIDE + y * (n + 1);
        row[0] = (uint8_t)(y % 5);
        for (size_t i = 1; i <= n; i++) row[i] = (uint8_t)(i * 29 + y * y * i / 5);
    }
    return INSIDE + SIDE * (n + 1);
}

/* ------------------------------------------------------------------------------------------------------- any bytes */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile uint32_t sink;
    static const io_read_options ways[] = {
        {0}, {.keep16 = true}, {.colour = true, .exif = true}, {.max_size = SIDE / 2}};
    if (size > 0 && data[0] == 0) check_plain_png(data, size);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        io_image image;
        io_error error = {""};
        if (io_image_decode("seed", data, size, &ways[i], &image, &error)) {
            fuzz_expect(image.width >= 1 && image.height >= 1 && image.width <= IO_MAX_SIDE &&
                        image.height <= IO_MAX_SIDE);
            sink = sum_of(&image);
        } else {
            fuzz_expect(error.text[0] != 0 && !image.pixels);
        }
        io_image_free(&image);
    }
    (void)sink;
    return 0;
}

/* ------------------------------------------------------------------------------------------------------------ seeds */

static void fill(uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++) pixels[i] = (uint8_t)(i * 29 + i * i / 5);
}

static size_t seed_text(const char *head, size_t pixels, uint8_t *buffer)
{
    size_t length = strlen(head);
    memcpy(buffer, head, length);
    fill(buffer + length, pixels);
    return length + pixels;
}

/* What some library wrote into a file. */
static size_t seed_from_file(const char *path, uint8_t *buffer, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    fuzz_expect(file != NULL);
    size_t size = fread(buffer, 1, capacity, file);
    fclose(file);
    return size;
}

static size_t seed_png(uint8_t *buffer, size_t capacity)
{
    uint8_t pixels[SIDE * SIDE * 3];
    const char *path = fuzz_file(NULL, 0);
    char copy[128];
    io_error error;
    snprintf(copy, sizeof copy, "%s.png", path);
    fill(pixels, sizeof pixels);
    fuzz_expect(io_png_write(copy, IO_RGB8, SIDE, SIDE, pixels, &error));
    size_t size = seed_from_file(copy, buffer, capacity);
    remove(copy);
    return size;
}

static size_t seed_jpeg(uint8_t *buffer, size_t capacity)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t row[SIDE * 3], *out = NULL;
    unsigned long size = 0;
    JSAMPROW rows[1] = {row};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out, &size);
    jpeg.image_width = jpeg.image_height = SIDE;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1,
                      (const uint8_t *)"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0", 36);
    fill(row, sizeof row);
    while (jpeg.next_scanline < jpeg.image_height) jpeg_write_scanlines(&jpeg, rows, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    fuzz_expect(size <= capacity);
    memcpy(buffer, out, size);
    free(out);
    return size;
}

static size_t seed_bmp(uint8_t *buffer)
{
    static const uint8_t head[54] = {'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, SIDE, 0, 0, 0, SIDE,
                                     0, 0, 0, 1, 0, 24};
    memcpy(buffer, head, sizeof head);
    fill(buffer + sizeof head, SIDE * SIDE * 3);
    return sizeof head + SIDE * SIDE * 3;
}

static size_t seed_tiff(uint8_t *buffer, size_t capacity)
{
#ifdef KB_HAVE_TIFF
    uint8_t row[SIDE];
    const char *path = fuzz_file(NULL, 0);
    TIFF *tiff = TIFFOpen(path, "w");
    fuzz_expect(tiff != NULL);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, SIDE);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, SIDE);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
    fill(row, sizeof row);
    for (uint32_t y = 0; y < SIDE; y++) TIFFWriteScanline(tiff, row, y, 0);
    TIFFClose(tiff);
    return seed_from_file(path, buffer, capacity);
#else
    (void)capacity;
    return seed_bmp(buffer);
#endif
}

static size_t seed_webp(uint8_t *buffer, size_t capacity)
{
#ifdef KB_HAVE_WEBP
    uint8_t pixels[SIDE * SIDE * 3], *out = NULL;
    fill(pixels, sizeof pixels);
    size_t size = WebPEncodeRGB(pixels, SIDE, SIDE, SIDE * 3, 80, &out);
    fuzz_expect(size > 0 && size <= capacity);
    memcpy(buffer, out, size);
    WebPFree(out);
    return size;
#else
    (void)capacity;
    return seed_bmp(buffer);
#endif
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    switch (index) {
    case 0: return seed_png(buffer, capacity);
    case 1: return seed_jpeg(buffer, capacity);
    case 2: return seed_bmp(buffer);
    case 3: return seed_text("P5 # bytes\n12 12 255\n", SIDE * SIDE, buffer);
    case 4: return seed_text("P6 4 4 65535\n", 4 * 4 * 6, buffer);
    case 5: return seed_text("P2 3 2 99\n1 2 3 # words\n4 5 99\n", 0, buffer);
    case 6: return seed_tiff(buffer, capacity);
    case 7: return seed_webp(buffer, capacity);
    case 8: return seed_rows(false, buffer);
    case 9: return seed_rows(true, buffer);
    default: return 0;
    }
}
