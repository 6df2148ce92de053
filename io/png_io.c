/* SPDX-License-Identifier: Apache-2.0 */
/* PNG through libpng, in and out. */
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "io/codecs.h"

/* Where libpng's callbacks find what they need. */
typedef struct png_state {
    const io_source *source; /* reading */
    size_t position;
    char text[128];
} png_state;

static void on_error(png_structp png, png_const_charp message)
{
    png_state *state = png_get_error_ptr(png);
    snprintf(state->text, sizeof state->text, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* -------------------------------------------------------------------------------------------------------------- in */

static void read_bytes(png_structp png, png_bytep to, size_t count)
{
    png_state *state = png_get_io_ptr(png);
    if (count > state->source->size - state->position) png_error(png, "the file ends too early");
    memcpy(to, state->source->data + state->position, count);
    state->position += count;
}

static bool is_little_endian(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1;
}

/* Palettes and small depths become 8-bit samples; transparency is dropped. */
static void choose_transforms(png_structp png)
{
    png_set_expand(png);
    png_set_strip_alpha(png);
    if (is_little_endian()) png_set_swap(png);
    png_set_interlace_handling(png);
}

static int32_t find_orientation(png_structp png, png_infop info)
{
#ifdef PNG_eXIf_SUPPORTED
    png_bytep exif;
    png_uint_32 size;
    if (png_get_eXIf_1(png, info, &size, &exif)) return io_exif_orientation(exif, size);
#else
    (void)png;
    (void)info;
#endif
    return 1;
}

/* Deflate shrinks at most 1032 to 1: a header that promises more than the file can hold is found out before memory is
 * asked for. */
static bool can_hold(const io_source *source, png_structp png, png_infop info)
{
    uint64_t promised = (uint64_t)png_get_image_height(png, info) * (1 + (uint64_t)png_get_rowbytes(png, info));
    return promised / 1032 <= source->size;
}

static bool prepare_raster(const io_source *source, png_structp png, png_infop info, io_raster *raster, io_error *error)
{
    png_read_info(png, info);
    bool plausible = can_hold(source, png, info);
    choose_transforms(png);
    png_read_update_info(png, info);
    uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    if (!plausible) {
        return io_fail(error, "%s: truncated PNG: the file is too short for %u x %u pixels", source->name, width,
                       height);
    }
    int32_t channels = png_get_channels(png, info), bytes = png_get_bit_depth(png, info) / 8;
    if (!io_raster_create(raster, source, width, height, channels, bytes, error)) return false;
    raster->orientation = find_orientation(png, info);
    return true;
}

bool io_decode_png(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    (void)colour; /* the caller turns colour into gray */
    if (io_decode_png_plain(source, raster)) return true;
    png_state state = {source, 0, ""};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    png_bytep *volatile rows = NULL;
    bool ok;
    if (!info) io_out_of_memory();
    if (setjmp(png_jmpbuf(png))) {
        ok = io_fail(error, "%s: damaged or truncated PNG: %s", source->name, state.text);
    } else {
        png_set_read_fn(png, &state, read_bytes);
        ok = prepare_raster(source, png, info, raster, error);
        if (ok) {
            rows = io_alloc((size_t)raster->height, sizeof *rows);
            for (int32_t y = 0; y < raster->height; y++) rows[y] = io_raster_row(raster, y);
            png_read_image(png, rows);
            png_read_end(png, NULL);
        }
    }
    png_destroy_read_struct(&png, &info, NULL);
    free(rows);
    return ok;
}

/* ------------------------------------------------------------------------------------------------------------- out */

/* Fast, too. Our colours are mostly gray, three equal bytes, which zlib's default strategy sees and the one for filtered
 * rows does not. */
static void choose_compression(png_structp png)
{
    png_set_compression_level(png, 2);
    png_set_compression_strategy(png, 0);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
}

static void write_all(png_structp png, png_infop info, io_layout layout, int32_t width, int32_t height,
                      const uint8_t *pixels)
{
    choose_compression(png);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8,
                 layout == IO_RGB8 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    size_t row = (size_t)width * (size_t)io_layout_bytes(layout);
    for (int32_t y = 0; y < height; y++) png_write_row(png, pixels + (size_t)y * row);
    png_write_end(png, info);
}

bool io_png_encode(FILE *file, const char *name, io_layout layout, int32_t width, int32_t height,
                   const uint8_t *pixels, io_error *error)
{
    if (layout == IO_GRAY16) return io_fail(error, "%s: PNG is written with 8 bits only", name);
    size_t size = 0;
    uint8_t *whole = NULL;
    if (!io_png_pack(layout, width, height, pixels, &whole, &size)) return io_fail(error, "%s: out of memory", name);
    if (whole) {
        bool written = fwrite(whole, 1, size, file) == size;
        free(whole);
        return written || io_fail(error, "%s: cannot be written", name);
    }
    png_state state = {NULL, 0, ""};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = false;
    if (!info) {
        io_fail(error, "%s: out of memory", name);
    } else if (setjmp(png_jmpbuf(png))) {
        io_fail(error, "%s: cannot be written: %s", name, state.text);
    } else {
        png_init_io(png, file);
        write_all(png, info, layout, width, height, pixels);
        ok = true;
    }
    png_destroy_write_struct(&png, &info);
    return ok;
}

bool io_png_write(const char *path, io_layout layout, int32_t width, int32_t height, const uint8_t *pixels,
                  io_error *error)
{
    if (layout == IO_GRAY16) return io_fail(error, "%s: PNG is written with 8 bits only", path ? path : "-");
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    if (io_png_encode(io_writer_file(writer), path ? path : "-", layout, width, height, pixels, error))
        return io_writer_commit(writer, error);
    io_writer_check(writer, error); /* knows better than libpng why a disc takes nothing */
    io_writer_abandon(writer);
    return false;
}
