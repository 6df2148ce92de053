/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of every format: any bytes are refused with words, or give a picture whose every pixel can be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile uint32_t sink;
    static const io_read_options ways[] = {{0}, {.keep16 = true}, {.colour = true, .exif = true}};
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
    default: return 0;
    }
}
