/* SPDX-License-Identifier: Apache-2.0 */
/* The codecs: what they give for files that this test makes, and that damaged files are refused. */
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

/* ------------------------------------------------------------------------------------------------------- test files */

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static bytes bytes_of(const void *data, size_t size)
{
    bytes b = {malloc(size ? size : 1), size};
    memcpy(b.data, data, size);
    return b;
}

static void append(bytes *b, const void *data, size_t size)
{
    b->data = realloc(b->data, b->size + size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* A sample that differs in every place and channel. */
static int value_at(int x, int y, int c) { return (17 * x + 29 * y + 71 * c + x * y) & 255; }

static int gray_of(int r, int g, int b) { return (9798 * r + 19235 * g + 3735 * b + 16384) >> 15; }

static int gray_at(int x, int y) { return gray_of(value_at(x, y, 0), value_at(x, y, 1), value_at(x, y, 2)); }

static void png_to_memory(png_structp png, png_bytep data, size_t size) { append(png_get_io_ptr(png), data, size); }

static int png_filters = PNG_ALL_FILTERS; /* of the rows that make_png writes */

/* rows: as the file holds them, row_bytes each */
static bytes make_png(int type, int depth, bool interlaced, const uint8_t *rows, size_t row_bytes)
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

static bytes make_jpeg(J_COLOR_SPACE in, J_COLOR_SPACE stored, int channels, const uint8_t *pixels, const uint8_t *exif,
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

/* Colours that change slowly, so that JPEG keeps them nearly. */
static void fill_soft(uint8_t *pixels, int channels)
{
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        for (int c = 0; c < channels; c++)
            pixels[i * channels + c] = (uint8_t)(60 * (c + 1) - 3 * (i % WIDTH) + 2 * (i / WIDTH));
    }
}

static void put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> 8 * i);
}

/* A BMP header of 54 bytes and palette or masks; rows follow. */
static bytes make_bmp_head(int bits, int32_t height, uint32_t compression, uint32_t colours)
{
    uint32_t extra = compression == 3 ? 12 : colours * 4;
    bytes out = {calloc(1, 54 + extra), 54 + extra};
    memcpy(out.data, "BM", 2);
    put_u32(out.data + 10, 54 + extra);
    put_u32(out.data + 14, 40);
    put_u32(out.data + 18, WIDTH);
    put_u32(out.data + 22, (uint32_t)height);
    put_u32(out.data + 26, 1u | (uint32_t)bits << 16);
    put_u32(out.data + 30, compression);
    put_u32(out.data + 46, colours);
    for (uint32_t i = 0; i < colours; i++)
        put_u32(out.data + 54 + 4 * i, i * 10 << 16 | i * 5 << 8 | (255 - i)); /* R, G, B */
    return out;
}

/* ----------------------------------------------------------------------------------------------------------- checks */

static bool decode(bytes file, const io_read_options *options, io_image *image)
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

static void expect_gray(bytes file, int (*expected)(int, int))
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

static void expect_rgb(bytes file, int (*expected)(int, int, int))
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

static void expect_refused(bytes file)
{
    io_image image;
    assert_false(decode(file, NULL, &image));
}

/* Every shorter file is refused. */
static void expect_refused_when_cut(bytes file, size_t last)
{
    for (size_t size = 0; size <= last; size++) {
        bytes copy = bytes_of(file.data, size); /* its own block, so that reading past it is seen */
        expect_refused(copy);
        free(copy.data);
    }
}

/* Damage anywhere must not crash; what it gives does not matter. */
static void survive_damage(bytes file)
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

/* -------------------------------------------------------------------------------------------------------------- PNG */

static int first_channel(int x, int y) { return value_at(x, y, 0); }

static bytes png_8(int type, int channels, bool interlaced)
{
    uint8_t rows[HEIGHT * WIDTH * 4];
    for (int i = 0; i < WIDTH * HEIGHT * channels; i++) {
        rows[i] = (uint8_t)value_at(i / channels % WIDTH, i / channels / WIDTH, i % channels);
    }
    return make_png(type, 8, interlaced, rows, (size_t)(WIDTH * channels));
}

static void png_of_8_bits(void **state)
{
    (void)state;
    static const struct {
        int type, channels;
    } kinds[] = {{PNG_COLOR_TYPE_GRAY, 1},
                 {PNG_COLOR_TYPE_GRAY_ALPHA, 2},
                 {PNG_COLOR_TYPE_RGB, 3},
                 {PNG_COLOR_TYPE_RGB_ALPHA, 4}};
    for (int k = 0; k < 4; k++) {
        for (int interlaced = 0; interlaced < 2; interlaced++) {
            bytes file = png_8(kinds[k].type, kinds[k].channels, interlaced);
            expect_gray(file, kinds[k].channels < 3 ? first_channel : gray_at);
            if (kinds[k].channels >= 3) expect_rgb(file, value_at);
            free(file.data);
        }
    }
}

#ifdef KB_HAVE_LIBDEFLATE
/* Every filter, and every byte of the file damaged: the reader of usual files is right or leaves it to libpng. */
static void png_plain(void **state)
{
    (void)state;
    static const int filters[] = {PNG_FILTER_NONE, PNG_FILTER_SUB, PNG_FILTER_UP, PNG_FILTER_AVG, PNG_FILTER_PAETH};
    for (int k = 0; k < 10; k++) {
        int channels = k < 5 ? 1 : 3;
        png_filters = filters[k % 5];
        bytes file = png_8(channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, channels, false);
        png_filters = PNG_ALL_FILTERS;
        for (size_t at = 7; at < file.size; at++) { /* the first time nothing is damaged: the signature is seen before */
            file.data[at] ^= at > 7 ? 4 : 0;
            io_source source = {"plain.png", file.data, file.size, 1000000, 0};
            io_raster raster;
            bool read = io_decode_png_plain(&source, &raster);
            assert_int_equal(read, at == 7);
            if (read) {
                assert_int_equal(raster.channels, channels);
                for (int i = 0; i < WIDTH * HEIGHT * channels; i++)
                    assert_int_equal(raster.samples[i], value_at(i / channels % WIDTH, i / channels / WIDTH, i % channels));
                free(raster.samples);
            }
            file.data[at] ^= at > 7 ? 4 : 0;
        }
        free(file.data);
    }
}
#endif

static int bit_at(int x, int y) { return (x + y) % 2 ? 255 : 0; }
static int nibble_at(int x, int y) { return (x + 3 * y) % 16 * 17; }
static int palette_gray(int x, int y)
{
    int i = value_at(x, y, 0);
    return gray_of(i, 255 - i, i / 2);
}

static void png_of_few_bits_and_palettes(void **state)
{
    (void)state;
    uint8_t rows[HEIGHT * WIDTH];
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        if ((i % WIDTH + i / WIDTH) % 2) rows[i / WIDTH * 2 + i % WIDTH / 8] |= (uint8_t)(0x80 >> i % WIDTH % 8);
    }
    bytes file = make_png(PNG_COLOR_TYPE_GRAY, 1, false, rows, 2);
    expect_gray(file, bit_at);
    free(file.data);

    memset(rows, 0, sizeof rows);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        rows[i / WIDTH * 7 + i % WIDTH / 2] |= (uint8_t)((i % WIDTH + 3 * (i / WIDTH)) % 16 << (i % WIDTH % 2 ? 0 : 4));
    }
    file = make_png(PNG_COLOR_TYPE_GRAY, 4, false, rows, 7);
    expect_gray(file, nibble_at);
    free(file.data);

    for (int i = 0; i < WIDTH * HEIGHT; i++) rows[i] = (uint8_t)value_at(i % WIDTH, i / WIDTH, 0);
    file = make_png(PNG_COLOR_TYPE_PALETTE, 8, true, rows, WIDTH);
    expect_gray(file, palette_gray);
    free(file.data);
}

static int wide_at(int x, int y) { return (1000 * x + 4001 * y) & 0xffff; }
static int wide_as_8(int x, int y) { return (wide_at(x, y) * 255 + 32767) / 65535; }
static int wide_as_12(int x, int y)
{
    int v = (wide_at(x, y) * 255 + 2047) / 4095;
    return v < 255 ? v : 255;
}

static bytes png_16(void)
{
    uint8_t rows[HEIGHT * WIDTH * 2];
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        rows[2 * i] = (uint8_t)(wide_at(i % WIDTH, i / WIDTH) >> 8);
        rows[2 * i + 1] = (uint8_t)wide_at(i % WIDTH, i / WIDTH);
    }
    return make_png(PNG_COLOR_TYPE_GRAY, 16, false, rows, WIDTH * 2);
}

static void png_of_16_bits(void **state)
{
    (void)state;
    bytes file = png_16();
    expect_gray(file, wide_as_8);
    io_image image;
    assert_true(decode(file, &(io_read_options){.keep16 = true}, &image));
    assert_int_equal(image.layout, IO_GRAY16);
    assert_int_equal(image.view.format, KB_FORMAT_GRAY16);
    assert_int_equal(image.view.white, 65535);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        assert_int_equal(((uint16_t *)(void *)image.pixels)[i], wide_at(i % WIDTH, i / WIDTH));
    io_image_free(&image);

    assert_true(decode(file, &(io_read_options){.white = 4095}, &image));
    for (int i = 0; i < WIDTH * HEIGHT; i++) assert_int_equal(image.pixels[i], wide_as_12(i % WIDTH, i / WIDTH));
    io_image_free(&image);
    free(file.data);
}

static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void png_damaged(void **state)
{
    (void)state;
    bytes file = png_8(PNG_COLOR_TYPE_RGB, 3, true);
    expect_refused_when_cut(file, file.size - 1);
    survive_damage(file);
    /* A header that promises 65280 x 65280 pixels and has the right checksum. */
    memcpy(file.data + 16, "\0\0\xff\0\0\0\xff\0", 8);
    uint32_t check = crc32_of(file.data + 12, 17);
    for (int i = 0; i < 4; i++) file.data[29 + i] = (uint8_t)(check >> (24 - 8 * i));
    io_image image;
    io_error error;
    assert_false(io_image_decode("test", file.data, file.size, NULL, &image, &error));
    assert_non_null(strstr(error.text, "too short"));
    free(file.data);
}

static void png_written_is_read(void **state)
{
    (void)state;
    uint8_t pixels[WIDTH * HEIGHT * 3];
    for (int i = 0; i < WIDTH * HEIGHT * 3; i++) pixels[i] = (uint8_t)value_at(i / 3 % WIDTH, i / 3 / WIDTH, i % 3);
    char path[] = "/tmp/keybits-test-XXXXXX";
    io_error error;
    FILE *file = fdopen(mkstemp(path), "wb");
    fclose(file);
    assert_true(io_png_write(path, IO_RGB8, WIDTH, HEIGHT, pixels, &error));
    io_image image;
    assert_true(io_image_read(path, &(io_read_options){.colour = true}, &image, &error));
    assert_memory_equal(image.pixels, pixels, sizeof pixels);
    io_image_free(&image);
    assert_true(io_png_write(path, IO_GRAY8, WIDTH, HEIGHT, pixels, &error));
    assert_true(io_image_read(path, NULL, &image, &error));
    assert_memory_equal(image.pixels, pixels, WIDTH * HEIGHT);
    io_image_free(&image);
    remove(path);
    assert_false(io_png_write("/nowhere/at/all.png", IO_GRAY8, WIDTH, HEIGHT, pixels, &error));
}

/* ------------------------------------------------------------------------------------------------------------- JPEG */

static void expect_near(bytes file, const io_read_options *options, const int *expected, int channels)
{
    io_image image;
    assert_true(decode(file, options, &image));
    for (int c = 0; c < channels; c++) {
        int middle = image.pixels[(HEIGHT / 2 * WIDTH + WIDTH / 2) * channels + c];
        if (abs(middle - expected[c]) > 4) fail_msg("channel %d: %d instead of about %d", c, middle, expected[c]);
    }
    io_image_free(&image);
}

static void jpeg_of_all_colour_spaces(void **state)
{
    (void)state;
    uint8_t pixels[WIDTH * HEIGHT * 4];
    const io_read_options colour = {.colour = true};
    int middle[4];
    fill_soft(pixels, 3);
    for (int c = 0; c < 3; c++) middle[c] = pixels[(HEIGHT / 2 * WIDTH + WIDTH / 2) * 3 + c];
    int gray = gray_of(middle[0], middle[1], middle[2]);
    bytes ycc = make_jpeg(JCS_RGB, JCS_YCbCr, 3, pixels, NULL, 0);
    bytes rgb = make_jpeg(JCS_RGB, JCS_RGB, 3, pixels, NULL, 0);
    expect_near(ycc, NULL, &gray, 1);
    expect_near(ycc, &colour, middle, 3);
    expect_near(rgb, NULL, &gray, 1);
    expect_near(rgb, &colour, middle, 3);
    free(ycc.data);
    free(rgb.data);

    /* libjpeg writes Adobe's marker for CMYK, which means that 255 is no ink. */
    fill_soft(pixels, 4);
    for (int c = 0; c < 4; c++) middle[c] = pixels[(HEIGHT / 2 * WIDTH + WIDTH / 2) * 4 + c];
    for (int c = 0; c < 3; c++) middle[c] = middle[c] * middle[3] / 255;
    bytes cmyk = make_jpeg(JCS_CMYK, JCS_YCCK, 4, pixels, NULL, 0);
    expect_near(cmyk, &colour, middle, 3);
    free(cmyk.data);

    fill_soft(pixels, 1);
    gray = pixels[HEIGHT / 2 * WIDTH + WIDTH / 2];
    bytes plain = make_jpeg(JCS_GRAYSCALE, JCS_GRAYSCALE, 1, pixels, NULL, 0);
    expect_near(plain, NULL, &gray, 1);
    free(plain.data);
}

static void jpeg_damaged(void **state)
{
    (void)state;
    uint8_t pixels[WIDTH * HEIGHT * 3];
    fill_soft(pixels, 3);
    bytes file = make_jpeg(JCS_RGB, JCS_YCbCr, 3, pixels, NULL, 0);
    expect_refused_when_cut(file, file.size - 3);
    survive_damage(file);
    free(file.data);
}

/* EXIF with the orientation alone, behind a jpeg's "Exif\0\0". */
static const uint8_t exif_little[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0";
static const uint8_t exif_big[] = "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0";

/* A progressive file of 64 x 64 pixels; a scan of its 64 blocks says that all of them end at once. */
static bytes jpeg_of_scans(int scans)
{
    static const uint8_t frame[] = {0xff, 0xc2, 0, 11, 8, 0, 64, 0, 64, 1, 1, 0x11, 0};
    static const uint8_t codes[] = {0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x60};
    static const uint8_t scan[] = {0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0, 0};
    uint8_t table[69] = {0xff, 0xdb, 0, 67, 0};
    bytes file = bytes_of("\xff\xd8", 2);
    memset(table + 5, 1, 64);
    append(&file, table, sizeof table);
    append(&file, frame, sizeof frame);
    append(&file, codes, sizeof codes);
    for (int i = 0; i < scans; i++) append(&file, scan, sizeof scan);
    append(&file, "\xff\xd9", 2);
    return file;
}

/* Ten bytes of a file that make the decoder look at the whole picture again. */
static void jpeg_of_many_scans(void **state)
{
    (void)state;
    for (int scans = 100; scans <= 101; scans++) {
        bytes file = jpeg_of_scans(scans);
        io_image image;
        io_error error = {""};
        bool ok = io_image_decode("scans.jpg", file.data, file.size, NULL, &image, &error);
        if (ok != (scans == 100)) fail_msg("%d scans: %s", scans, error.text);
        if (ok) io_image_free(&image);
        else assert_non_null(strstr(error.text, "scans.jpg: damaged or truncated JPEG: more than 100 scans"));
        free(file.data);
    }
}

static void exif_turns_only_when_asked(void **state)
{
    (void)state;
    const uint8_t *const kinds[] = {exif_little, exif_big};
    uint8_t pixels[WIDTH * HEIGHT];
    fill_soft(pixels, 1);
    for (int k = 0; k < 2; k++) {
        bytes file = make_jpeg(JCS_GRAYSCALE, JCS_GRAYSCALE, 1, pixels, kinds[k], sizeof exif_little);
        io_image stored, upright;
        assert_true(decode(file, NULL, &stored));
        assert_true(decode(file, &(io_read_options){.exif = true}, &upright));
        assert_int_equal(stored.width, WIDTH);
        assert_int_equal(upright.width, HEIGHT);
        assert_int_equal(upright.height, WIDTH);
        /* 6: the picture was taken with the camera turned left; turned right its first row is the right column */
        for (int y = 0; y < WIDTH; y++) {
            for (int x = 0; x < HEIGHT; x++) {
                assert_int_equal(upright.pixels[y * HEIGHT + x], stored.pixels[(HEIGHT - 1 - x) * WIDTH + y]);
            }
        }
        io_image_free(&stored);
        io_image_free(&upright);
        free(file.data);
    }
}

static void exif_never_reads_outside(void **state)
{
    (void)state;
    for (size_t size = 0; size + 7 <= sizeof exif_little; size++) {
        bytes copy = bytes_of(exif_little + 6, size);
        int32_t orientation = io_exif_orientation(copy.data, copy.size);
        assert_true(orientation == 1 || orientation == 6);
        free(copy.data);
    }
    assert_int_equal(io_exif_orientation(exif_little + 6, sizeof exif_little - 7), 6);
    assert_int_equal(io_exif_orientation((const uint8_t *)"II*\0\xff\xff\xff\xff", 8), 1);
}

/* --------------------------------------------------------------------------------------------------------- PGM, PPM */

static bytes text_file(const char *text) { return bytes_of(text, strlen(text)); }

static void expect_pixels(bytes file, const io_read_options *options, int width, int height, const uint8_t *pixels,
                          size_t n)
{
    io_image image;
    assert_true(decode(file, options, &image));
    assert_int_equal(image.width, width);
    assert_int_equal(image.height, height);
    assert_memory_equal(image.pixels, pixels, n);
    io_image_free(&image);
    free(file.data);
}

static void pnm_as_text(void **state)
{
    (void)state;
    expect_pixels(text_file("P2\n# a comment\n3 2 # another\n255\n0 10 20\n30 40 # in the data\n255"), NULL, 3, 2,
                  (const uint8_t[]){0, 10, 20, 30, 40, 255}, 6);
    expect_pixels(text_file("P2 2 1 15 0 15"), NULL, 2, 1, (const uint8_t[]){0, 255}, 2);
    expect_pixels(text_file("P2 2 1 1023 512 1023\n"), NULL, 2, 1, (const uint8_t[]){128, 255}, 2);
    expect_pixels(text_file("P3 1 2 255 1 2 3 250 251 252"), &(io_read_options){.colour = true}, 1, 2,
                  (const uint8_t[]){1, 2, 3, 250, 251, 252}, 6);
}

static void pnm_as_bytes(void **state)
{
    (void)state;
    expect_pixels(bytes_of("P5\n2 2\n255\n\x00\x20\x40\xff", 15), NULL, 2, 2, (const uint8_t[]){0, 32, 64, 255}, 4);
    expect_pixels(bytes_of("P6 1 1 255 \x01\x02\x03", 14), &(io_read_options){.colour = true}, 1, 1,
                  (const uint8_t[]){1, 2, 3}, 3);
    bytes deep = bytes_of("P5 2 1 4095 \x0f\xff\x07\xff", 16);
    io_image image;
    assert_true(decode(deep, &(io_read_options){.keep16 = true}, &image));
    assert_int_equal(image.view.white, 4095);
    assert_int_equal(((uint16_t *)(void *)image.pixels)[0], 4095);
    assert_int_equal(((uint16_t *)(void *)image.pixels)[1], 2047);
    io_image_free(&image);
    expect_refused_when_cut(deep, deep.size - 1);
    survive_damage(deep);
    free(deep.data);
}

static void pnm_damaged(void **state)
{
    (void)state;
    static const char *const wrong[] = {"P5 65535 65535 255 abc",
                                        "P5 65536 1 255 abc",
                                        "P5 0 5 255 ",
                                        "P5 5 0 255 ",
                                        "P5 1 1 0 a",
                                        "P5 1 1 65536 ab",
                                        "P5 x 1 255 a",
                                        "P2 2 2 255 1 2 3",
                                        "P2 2 2 255 1 2 3 x",
                                        "P5",
                                        "P5 1",
                                        "P9 1 1 255 a"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bytes file = text_file(wrong[i]);
        expect_refused(file);
        free(file.data);
    }
}

/* -------------------------------------------------------------------------------------------------------------- BMP */

static int bmp_palette_gray(int i) { return gray_of(i * 10, i * 5, 255 - i); }
static int bmp_1(int x, int y) { return bmp_palette_gray((x + y) % 2); }
static int bmp_4(int x, int y) { return bmp_palette_gray((x + 3 * y) % 16); }
static int bmp_8(int x, int y) { return bmp_palette_gray((x + 3 * y) % 20); }

static bytes make_bmp(int bits, bool top_down, uint32_t compression, uint32_t colours)
{
    bytes out = make_bmp_head(bits, top_down ? -HEIGHT : HEIGHT, compression, colours);
    if (compression == 3) { /* stored as R, G, B from the lowest byte */
        for (int c = 0; c < 3; c++) put_u32(out.data + 54 + 4 * c, 0xffu << 8 * c);
    }
    size_t row_bytes = ((size_t)WIDTH * (size_t)bits + 31) / 32 * 4;
    for (int stored = 0; stored < HEIGHT; stored++) {
        int y = top_down ? stored : HEIGHT - 1 - stored;
        uint8_t row[WIDTH * 4 + 4] = {0};
        for (int x = 0; x < WIDTH; x++) {
            if (bits == 1) row[x / 8] |= (uint8_t)((x + y) % 2 << (7 - x % 8));
            if (bits == 4) row[x / 2] |= (uint8_t)((x + 3 * y) % 16 << (x % 2 ? 0 : 4));
            if (bits == 8) row[x] = (uint8_t)((x + 3 * y) % 20);
            for (int c = 0; c < 3 && bits >= 24; c++)
                row[x * bits / 8 + (compression == 3 ? c : 2 - c)] = (uint8_t)value_at(x, y, c);
        }
        append(&out, row, row_bytes);
    }
    return out;
}

static void bmp_of_all_depths(void **state)
{
    (void)state;
    for (int top_down = 0; top_down < 2; top_down++) {
        bytes files[] = {make_bmp(1, top_down, 0, 2),  make_bmp(4, top_down, 0, 16), make_bmp(8, top_down, 0, 20),
                         make_bmp(24, top_down, 0, 0), make_bmp(32, top_down, 0, 0), make_bmp(32, top_down, 3, 0)};
        int (*const expected[])(int, int) = {bmp_1, bmp_4, bmp_8, gray_at, gray_at, gray_at};
        for (int i = 0; i < 6; i++) {
            expect_gray(files[i], expected[i]);
            if (i >= 3) expect_rgb(files[i], value_at);
            expect_refused_when_cut(files[i], files[i].size - 1);
            survive_damage(files[i]);
            free(files[i].data);
        }
    }
}

static void bmp_refused(void **state)
{
    (void)state;
    bytes few = make_bmp(8, false, 0, 19); /* colour 19 is used and not there */
    expect_refused(few);
    put_u32(few.data + 30, 1); /* run lengths */
    expect_refused(few);
    free(few.data);
    bytes odd = make_bmp(24, false, 0, 0);
    odd.data[28] = 16;
    expect_refused(odd);
    free(odd.data);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "x", "GIF89a", "<svg>", "x,y,size\n1,2,3\n", "\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "BM"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bytes file = text_file(wrong[i]);
        expect_refused(file);
        free(file.data);
    }
    io_image image;
    io_error error;
    assert_false(io_image_read("/nowhere/at/all.png", NULL, &image, &error));
    assert_non_null(strstr(error.text, "/nowhere/at/all.png"));
    assert_false(io_image_read("/tmp", NULL, &image, &error));
}

static void orientations_are_eight(void **state)
{
    (void)state;
    /* Which of the six pixels of a 3x2 picture, as stored, is the first of the upright one, by orientation. */
    static const uint8_t first[9] = {0, 0, 2, 5, 3, 0, 3, 5, 2};
    uint8_t head[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0";
    for (uint8_t orientation = 1; orientation <= 8; orientation++) {
        head[24] = orientation;
        bytes file = {NULL, 0};
        png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
        png_infop info = png_create_info_struct(png);
        png_set_write_fn(png, &file, png_to_memory, NULL);
        png_set_IHDR(png, info, 3, 2, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, 0, 0);
        png_set_eXIf_1(png, info, sizeof head - 7, head + 6);
        uint8_t pixels[6] = {0, 1, 2, 3, 4, 5};
        png_bytep rows[2] = {pixels, pixels + 3};
        png_set_rows(png, info, rows);
        png_write_png(png, info, PNG_TRANSFORM_IDENTITY, NULL);
        png_destroy_write_struct(&png, &info);
        io_image image;
        assert_true(decode(file, &(io_read_options){.exif = true}, &image));
        assert_int_equal(image.width, orientation < 5 ? 3 : 2);
        assert_int_equal(image.pixels[0], first[orientation]);
        int sum = 0;
        for (int i = 0; i < 6; i++) sum += 1 << image.pixels[i];
        assert_int_equal(sum, 63); /* every pixel once */
        io_image_free(&image);
        free(file.data);
    }
}

static void expect_words(const void *data, size_t size, int64_t max_pixels, const char *words)
{
    io_image image;
    io_error error = {""};
    const io_read_options options = {.max_pixels = max_pixels};
    assert_false(io_image_decode("t", data, size, &options, &image, &error));
    if (!strstr(error.text, words)) fail_msg("no \"%s\" in \"%s\"", words, error.text);
}

/* The header is enough to refuse a picture: no memory is reserved for what it claims. */
static void large_pictures_are_refused_by_their_header(void **state)
{
    (void)state;
    uint8_t pixels[WIDTH * HEIGHT * 3] = {0};
    char bmp[54 + 3 * 16] = "BM";
    bmp[10] = 54, bmp[14] = 40, bmp[18] = 4, bmp[22] = 4, bmp[26] = 1, bmp[28] = 24;
    const struct {
        bytes file;
        int64_t count;
    } files[] = {{make_png(PNG_COLOR_TYPE_GRAY, 8, false, pixels, WIDTH), WIDTH * HEIGHT},
                 {make_png(PNG_COLOR_TYPE_RGB, 8, true, pixels, 3 * WIDTH), WIDTH * HEIGHT},
                 {make_jpeg(JCS_GRAYSCALE, JCS_GRAYSCALE, 1, pixels, NULL, 0), WIDTH * HEIGHT},
                 {bytes_of("P2 2 2 9 1 2 3 4", 16), 4},
                 {bytes_of(bmp, sizeof bmp), 16}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        io_image image;
        io_error error = {""};
        io_read_options enough = {.max_pixels = files[i].count};
        if (!io_image_decode("t", files[i].file.data, files[i].file.size, &enough, &image, &error))
            fail_msg("%zu: %s", i, error.text);
        io_image_free(&image);
        expect_words(files[i].file.data, files[i].file.size, files[i].count - 1, "more than the limit");
    }
    /* A JPEG of a few hundred bytes that claims 65000 x 65000 pixels, and a PGM above 2^28. */
    bytes jpeg = files[2].file;
    for (size_t i = 0; i + 9 < jpeg.size; i++) {
        if (jpeg.data[i] != 0xff || jpeg.data[i + 1] != 0xc0) continue;
        memcpy(jpeg.data + i + 5, "\xfd\xe8\xfd\xe8", 4);
        break;
    }
    expect_words(jpeg.data, jpeg.size, 0, "65000 x 65000 pixels are more than the limit of 268435456");
    expect_words("P5 20000 20000 255\n", 19, 0, "more than the limit");
    expect_words("P5 16384 16384 255\n", 19, 0, "truncated");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) free(files[i].file.data);
}

static void foreign_files_are_named(void **state)
{
    (void)state;
    static const struct {
        const char data[32], *words;
    } files[] = {{"GIF89a\x01\x02", "a GIF"},
#ifndef KB_HAVE_HEIF
                 {"\0\0\0\x18" "ftypheic", "a HEIC image"},
                 {"\0\0\0\x18" "ftypmif1", "a HEIC image"},
#endif
                 {"\0\0\0\x18" "ftypavif", "an AVIF image"},
                 {"\0\0\0\x18" "ftypisom", "an MP4 video"},
                 {"\0\0\0\x14" "ftypqt  ", "a QuickTime video"},
                 {"RIFF\x10\0\0\0AVI LIST", "an AVI video"},
                 {"\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska", "a Matroska video"},
                 {"\x1a\x45\xdf\xa3\x93\x42\x82\x84webm", "a WebM video"},
                 {"RIFF\x10\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0", "an animated WebP"},
                 {"\0\0\0\x0cJXL \x0d\x0a", "a JPEG XL image"},
                 {"YUV4MPEG2 W2 H2", "a Y4M video"},
                 {"something else", "not an image of a format that this build reads (JPEG, PNG"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        expect_words(files[i].data, sizeof files[i].data, 0, files[i].words);
#ifdef KB_HAVE_WEBP
    expect_words("GIF87a", 6, 0, "WebP");
#endif
#ifdef KB_HAVE_TIFF
    expect_words("GIF87a", 6, 0, "TIFF");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_of_8_bits),
#ifdef KB_HAVE_LIBDEFLATE
        cmocka_unit_test(png_plain),
#endif
        cmocka_unit_test(png_of_few_bits_and_palettes),
        cmocka_unit_test(png_of_16_bits),
        cmocka_unit_test(png_damaged),
        cmocka_unit_test(png_written_is_read),
        cmocka_unit_test(jpeg_of_all_colour_spaces),
        cmocka_unit_test(jpeg_damaged),
        cmocka_unit_test(jpeg_of_many_scans),
        cmocka_unit_test(exif_turns_only_when_asked),
        cmocka_unit_test(exif_never_reads_outside),
        cmocka_unit_test(orientations_are_eight),
        cmocka_unit_test(pnm_as_text),
        cmocka_unit_test(pnm_as_bytes),
        cmocka_unit_test(pnm_damaged),
        cmocka_unit_test(bmp_of_all_depths),
        cmocka_unit_test(bmp_refused),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(large_pictures_are_refused_by_their_header),
        cmocka_unit_test(foreign_files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
