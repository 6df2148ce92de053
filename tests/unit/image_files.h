/* SPDX-License-Identifier: Apache-2.0 */
/* Image files that tests make, and what decoding them must give. */
#ifndef KB_TEST_IMAGE_FILES_H
#define KB_TEST_IMAGE_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jpeglib.h>
#include <png.h>

#include "io/codecs.h"
#include "io/image_io.h"

#define WIDTH 13
#define HEIGHT 11

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static inline bytes bytes_of(const void *data, size_t size)
{
    bytes b = {malloc(size ? size : 1), size};
    memcpy(b.data, data, size);
    return b;
}

static inline void append(bytes *b, const void *data, size_t size)
{
    b->data = realloc(b->data, b->size + size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* A sample that differs in every place and channel. */
static inline int value_at(int x, int y, int c) { return (17 * x + 29 * y + 71 * c + x * y) & 255; }

static inline int gray_of(int r, int g, int b) { return (9798 * r + 19235 * g + 3735 * b + 16384) >> 15; }

static inline int gray_at(int x, int y) { return gray_of(value_at(x, y, 0), value_at(x, y, 1), value_at(x, y, 2)); }

static inline int first_channel(int x, int y) { return value_at(x, y, 0); }

static inline void png_to_memory(png_structp png, png_bytep data, size_t size) { append(png_get_io_ptr(png), data, size); }

static int png_filters = PNG_ALL_FILTERS; /* of the rows that make_png writes */

/* rows: as the file holds them, row_bytes each */
static inline bytes make_png(int type, int depth, bool interlaced, const uint8_t *rows, size_t row_bytes)
{
    bytes out = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &out, png_to_memory, NULL);
    png_set_IHDR(png, info, WIDTH, HEIGHT, depth, type, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    png_set_filter(png, 0, png_filters);
    png_color palette[256];
    if (type == PNG_COLOR_TYPE_PALETTE) {
        for (int i = 0; i < 256; i++) palette[i] = (png_color){(png_byte)i, (png_byte)(255 - i), (png_byte)(i / 2)};
        png_set_PLTE(png, info, palette, 1 << depth);
    }
    png_bytep pointers[HEIGHT];
    for (int y = 0; y < HEIGHT; y++) pointers[y] = (png_bytep)rows + (size_t)y * row_bytes;
    png_set_rows(png, info, pointers);
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
    png_destroy_write_struct(&png, &info);
    return out;
}

static inline bytes make_jpeg(J_COLOR_SPACE in, J_COLOR_SPACE stored, int channels, const uint8_t *pixels, const uint8_t *exif,
                       size_t exif_size)
{
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr manager;
    unsigned char *data = NULL;
    unsigned long size = 0;
    info.err = jpeg_std_error(&manager);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &data, &size);
    info.image_width = WIDTH;
    info.image_height = HEIGHT;
    info.input_components = channels;
    info.in_color_space = in;
    jpeg_set_defaults(&info);
    jpeg_set_colorspace(&info, stored);
    jpeg_set_quality(&info, 100, TRUE);
    jpeg_start_compress(&info, TRUE);
    if (exif) jpeg_write_marker(&info, JPEG_APP0 + 1, exif, (unsigned)exif_size);
    while (info.next_scanline < HEIGHT) {
        JSAMPROW row = (JSAMPROW)pixels + (size_t)info.next_scanline * WIDTH * (size_t)channels;
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    bytes out = bytes_of(data, size);
    free(data);
    return out;
}

/* ---- checks ---- */

static inline bool decode(bytes file, const io_read_options *options, io_image *image)
{
    io_error error = {""};
    bool ok = io_image_decode("test", file.data, file.size, options, image, &error);
    if (!ok) {
        assert_non_null(strstr(error.text, "test"));
        assert_null(image->pixels);
        assert_null(strchr(error.text, '\n'));
    }
    return ok;
}

static inline void expect_gray(bytes file, int (*expected)(int, int))
{
    io_image image;
    assert_true(decode(file, NULL, &image));
    assert_int_equal(image.width, WIDTH);
    assert_int_equal(image.height, HEIGHT);
    assert_int_equal(image.layout, IO_GRAY8);
    assert_int_equal(image.view.format, KB_FORMAT_GRAY8);
    assert_ptr_equal(image.view.data, image.pixels);
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) assert_int_equal(image.pixels[y * WIDTH + x], expected(x, y));
    }
    io_image_free(&image);
}

static inline void expect_rgb(bytes file, int (*expected)(int, int, int))
{
    io_image image;
    const io_read_options colour = {.colour = true};
    assert_true(decode(file, &colour, &image));
    assert_int_equal(image.layout, IO_RGB8);
    assert_null(image.view.data);
    for (int i = 0; i < WIDTH * HEIGHT * 3; i++) {
        assert_int_equal(image.pixels[i], expected(i / 3 % WIDTH, i / 3 / WIDTH, i % 3));
    }
    io_image_free(&image);
}

static inline void expect_refused(bytes file)
{
    io_image image;
    assert_false(decode(file, NULL, &image));
}

/* Every shorter file is refused. */
static inline void expect_refused_when_cut(bytes file, size_t last)
{
    for (size_t size = 0; size <= last; size++) {
        bytes copy = bytes_of(file.data, size); /* its own block, so that reading past it is seen */
        expect_refused(copy);
        free(copy.data);
    }
}

/* Damage anywhere must not crash; what it gives does not matter. */
static inline void survive_damage(bytes file)
{
    uint32_t state = 1;
    for (int round = 0; round < 400; round++) {
        bytes copy = bytes_of(file.data, file.size);
        for (int i = 0; i < 1 + round % 4; i++) {
            state = state * 1664525 + 1013904223;
            copy.data[(state >> 8) % copy.size] = (uint8_t)(state >> 24);
        }
        io_image image;
        io_error error;
        if (io_image_decode("test", copy.data, copy.size, NULL, &image, &error)) io_image_free(&image);
        free(copy.data);
    }
}

#endif
