/* SPDX-License-Identifier: Apache-2.0 */
/* PNG and JPEG: what they give for files that this test makes, and that damaged files are refused. */
#include "image_files.h"
#include "io/image_io.h"

/* Colours that change slowly, so that JPEG keeps them nearly. */
static void fill_soft(uint8_t *pixels, int channels)
{
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        for (int c = 0; c < channels; c++)
            pixels[i * channels + c] = (uint8_t)(60 * (c + 1) - 3 * (i % WIDTH) + 2 * (i / WIDTH));
    }
}

/* ---- PNG ---- */

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
            io_source source = {"plain.png", file.data, file.size, 1000000, 0, false};
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

/* A file with its header twice is left to libpng, which refuses it. */
static void png_with_two_headers(void **state)
{
    enum { HEADER = 25, START = 8 };
    bytes file = png_8(PNG_COLOR_TYPE_GRAY, 1, false);
    io_image image;
    io_error error;
    (void)state;
    uint8_t *twice = malloc(file.size + HEADER);
    memcpy(twice, file.data, START + HEADER);
    memcpy(twice + START + HEADER, file.data + START, file.size - START);
    assert_false(io_image_decode("twice.png", twice, file.size + HEADER, NULL, &image, &error));
    free(twice);
    free(file.data);
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

/* ---- JPEG ---- */

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

/* One decoding: the gray of reading gray, exactly, and the colours of reading colour, but for their rounding. */
static void gray_and_colour_of_one_decoding(void **state)
{
    (void)state;
    uint8_t pixels[WIDTH * HEIGHT * 3];
    char path[] = "/tmp/keybits-test-XXXXXX";
    const io_read_options none = {0}, turned = {.exif = true, .max_size = WIDTH / 2};
    io_error error;
    fclose(fdopen(mkstemp(path), "wb"));
    fill_soft(pixels, 3);
    bytes jpeg = make_jpeg(JCS_RGB, JCS_YCbCr, 3, pixels, NULL, 0);
    for (int kind = 0; kind < 4; kind++) { /* a PNG and a JPEG in colour, a gray PNG, the JPEG shrunk */
        const io_read_options *options = kind == 3 ? &turned : &none;
        io_read_options as_colour = *options;
        io_image gray, colour, expected;
        as_colour.colour = true;
        if (kind == 0) assert_true(io_png_write(path, IO_RGB8, WIDTH, HEIGHT, pixels, &error));
        if (kind == 2) assert_true(io_png_write(path, IO_GRAY8, WIDTH, HEIGHT, pixels, &error));
        FILE *file = kind % 2 ? fopen(path, "wb") : NULL;
        if (file) {
            assert_int_equal(fwrite(jpeg.data, 1, jpeg.size, file), jpeg.size);
            fclose(file);
        }
        assert_true(io_image_read_both(path, options, &gray, &colour, &error));
        assert_true(io_image_read(path, options, &expected, &error));
        assert_memory_equal(gray.pixels, expected.pixels, (size_t)expected.width * (size_t)expected.height);
        io_image_free(&expected);
        assert_true(io_image_read(path, &as_colour, &expected, &error));
        assert_int_equal(colour.width, kind == 2 ? 0 : expected.width);
        for (int32_t i = 0; i < 3 * colour.width * colour.height; i++)
            assert_true(abs(colour.pixels[i] - expected.pixels[i]) <= kind % 2);
        io_image_free(&expected);
        io_image_free(&gray);
        io_image_free(&colour);
    }
    free(jpeg.data);
    remove(path);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_of_8_bits),
#ifdef KB_HAVE_LIBDEFLATE
        cmocka_unit_test(png_plain),
        cmocka_unit_test(png_with_two_headers),
#endif
        cmocka_unit_test(png_of_few_bits_and_palettes),
        cmocka_unit_test(png_of_16_bits),
        cmocka_unit_test(png_damaged),
        cmocka_unit_test(png_written_is_read),
        cmocka_unit_test(jpeg_of_all_colour_spaces),
        cmocka_unit_test(gray_and_colour_of_one_decoding),
        cmocka_unit_test(jpeg_damaged),
        cmocka_unit_test(jpeg_of_many_scans),
        cmocka_unit_test(exif_turns_only_when_asked),
        cmocka_unit_test(exif_never_reads_outside),
        cmocka_unit_test(orientations_are_eight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
