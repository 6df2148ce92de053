/* SPDX-License-Identifier: Apache-2.0 */
/* PGM, PPM and BMP, and the sentences with which files of other formats and too large ones are refused. */
#include "image_files.h"
#include "io/image_io.h"

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

/* ---- PGM, PPM ---- */

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

/* ---- BMP ---- */

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

/* ---- what is refused ---- */

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
