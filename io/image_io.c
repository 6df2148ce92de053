/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: recognising the format, and turning what a decoder gives into what was asked for.
 *
 * Colour becomes gray by the arithmetic of OpenCV's cvtColor (4.x), for 8 and 16 bits alike:
 *     gray = (9798 R + 19235 G + 3735 B + 2^14) >> 15
 * The weights are 0.299, 0.587, 0.114 times 2^15 and add up to 2^15, so that R = G = B = v gives v. */
#include "io/image_io.h"

#include <stdlib.h>
#include <string.h>

#include "io/codecs.h"

const char *const io_image_suffixes[] = {".jpg",  ".jpeg", ".png",  ".pgm", ".ppm", ".pnm", ".bmp",
#ifdef KB_HAVE_WEBP
                                         ".webp",
#endif
#ifdef KB_HAVE_TIFF
                                         ".tif",  ".tiff",
#endif
#ifdef KB_HAVE_HEIF
                                         ".heic", ".heif",
#endif
                                         NULL};

const char io_image_formats[] = "JPEG, PNG, PGM, PPM, BMP"
#ifdef KB_HAVE_WEBP
                                ", WebP"
#endif
#ifdef KB_HAVE_TIFF
                                ", TIFF"
#endif
#ifdef KB_HAVE_HEIF
                                ", HEIC"
#endif
    ;

int32_t io_layout_bytes(io_layout layout) { return layout == IO_RGB8 ? 3 : layout == IO_GRAY16 ? 2 : 1; }

void io_image_free(io_image *image)
{
    free(image->pixels);
    memset(image, 0, sizeof *image);
}

bool io_source_accepts(const io_source *source, int64_t width, int64_t height, io_error *error)
{
    if (width < 1 || height < 1 || width > IO_MAX_SIDE || height > IO_MAX_SIDE) {
        return io_fail(error, "%s: %lld x %lld pixels; sides must be 1 to %d", source->name, (long long)width,
                       (long long)height, IO_MAX_SIDE);
    }
    if (width * height > source->max_pixels) {
        return io_fail(error, "%s: %lld x %lld pixels are more than the limit of %lld", source->name, (long long)width,
                       (long long)height, (long long)source->max_pixels);
    }
    return true;
}

bool io_raster_create(io_raster *raster, const io_source *source, int64_t width, int64_t height, int32_t channels,
                      int32_t bytes, io_error *error)
{
    if (!io_source_accepts(source, width, height, error)) return false;
    *raster = (io_raster){(int32_t)width, (int32_t)height, channels, bytes, bytes == 2 ? 65535 : 255, 1, false, NULL,
                          {(int32_t)width, (int32_t)height, 1, 1, 0, 0}};
    raster->samples = malloc((size_t)height * ((size_t)width * (size_t)(channels * bytes) + 1));
    if (raster->samples) return true;
    return io_fail(error, "%s: no memory for %lld x %lld pixels", source->name, (long long)width, (long long)height);
}

/* ----------------------------------------------------------------------------------------------------- orientation */

/* Where pixel (x, y) of the upright picture lies in the picture as stored. Orientations 5 to 8 swap the axes. */
static void stored_position(const io_raster *stored, int32_t x, int32_t y, int32_t *sx, int32_t *sy)
{
    int32_t right = stored->width - 1, bottom = stored->height - 1;
    switch (stored->orientation) {
    case 2: *sx = right - x; *sy = y; break;
    case 3: *sx = right - x; *sy = bottom - y; break;
    case 4: *sx = x; *sy = bottom - y; break;
    case 5: *sx = y; *sy = x; break;
    case 6: *sx = y; *sy = bottom - x; break;
    case 7: *sx = right - y; *sy = bottom - x; break;
    case 8: *sx = right - y; *sy = x; break;
    default: *sx = x; *sy = y; break;
    }
}

/* The grid after turning: axes may change places, and a turned axis counts from the other end. */
static io_grid grid_upright(const io_raster *stored)
{
    int32_t how = stored->orientation;
    io_grid g = stored->file;
    bool swap = how >= 5, flip_x = how == 2 || how == 3 || how == 6 || how == 7,
         flip_y = how == 3 || how == 4 || how >= 7;
    if (swap) g = (io_grid){g.height, g.width, g.step_y, g.step_x, g.origin_y, g.origin_x};
    if (flip_x) g.origin_x = g.width - g.step_x * (swap ? stored->height : stored->width);
    if (flip_y) g.origin_y = g.height - g.step_y * (swap ? stored->width : stored->height);
    return g;
}

static bool turn_upright(io_raster *raster, const io_source *source, io_error *error)
{
    if (raster->orientation < 2 || raster->orientation > 8) return true;
    bool swap = raster->orientation >= 5;
    io_raster upright;
    if (!io_raster_create(&upright, source, swap ? raster->height : raster->width,
                          swap ? raster->width : raster->height, raster->channels, raster->bytes, error)) {
        return false;
    }
    upright.white = raster->white;
    upright.ycc = raster->ycc;
    upright.file = grid_upright(raster);
    size_t pixel = (size_t)(raster->channels * raster->bytes);
    uint8_t *to = upright.samples;
    for (int32_t y = 0; y < upright.height; y++) {
        for (int32_t x = 0; x < upright.width; x++, to += pixel) {
            int32_t sx, sy;
            stored_position(raster, x, y, &sx, &sy);
            memcpy(to, io_raster_row(raster, sy) + (size_t)sx * pixel, pixel);
        }
    }
    free(raster->samples);
    *raster = upright;
    return true;
}

/* ------------------------------------------------------------------------------------------------------ conversion */

static inline uint32_t sample_at(const io_raster *raster, const uint8_t *row, int64_t index)
{
    if (raster->bytes == 1) return row[index];
    uint16_t value;
    memcpy(&value, row + 2 * index, sizeof value);
    return value;
}

static inline uint32_t weigh_rgb(uint32_t r, uint32_t g, uint32_t b)
{
    return (9798 * r + 19235 * g + 3735 * b + (1 << 14)) >> 15; /* fits for 16 bits: the weights add up to 2^15 */
}

static inline uint32_t gray_at(const io_raster *raster, const uint8_t *row, int32_t x)
{
    if (raster->channels == 1) return sample_at(raster, row, x);
    if (raster->ycc) return row[3 * (size_t)x];
    const int64_t at = 3 * (int64_t)x;
    return weigh_rgb(sample_at(raster, row, at), sample_at(raster, row, at + 1), sample_at(raster, row, at + 2));
}

/* kb_image's rule from any white to 8 bits. */
static inline uint8_t to_8_bits(uint32_t value, uint32_t white)
{
    if (white == 255) return (uint8_t)value;
    uint32_t scaled = (value * 255 + white / 2) / white;
    return (uint8_t)(scaled < 255 ? scaled : 255);
}

static inline uint8_t to_byte(int32_t value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

/* JFIF's transform, in 16 bits behind the point. */
static void ycc_to_rgb(const uint8_t *ycc, int32_t width, uint8_t *rgb)
{
    for (int32_t x = 0; x < width; x++, ycc += 3, rgb += 3) {
        int32_t y = (ycc[0] << 16) + (1 << 15), b = ycc[1] - 128, r = ycc[2] - 128;
        rgb[0] = to_byte((y + 91881 * r) >> 16);
        rgb[1] = to_byte((y - 22554 * b - 46802 * r) >> 16);
        rgb[2] = to_byte((y + 116130 * b) >> 16);
    }
}

static void rgb_to_gray(const uint8_t *restrict rgb, int32_t width, uint8_t *restrict gray)
{
    for (int32_t x = 0; x < width; x++) gray[x] = (uint8_t)weigh_rgb(rgb[3 * x], rgb[3 * x + 1], rgb[3 * x + 2]);
}

static void convert_row(const io_raster *raster, int32_t y, io_layout layout, uint8_t *out)
{
    const uint8_t *row = io_raster_row(raster, y);
    uint32_t white = (uint32_t)raster->white;
    bool usual = raster->channels == 3 && raster->bytes == 1 && white == 255;
    if (raster->ycc && layout == IO_RGB8) {
        ycc_to_rgb(row, raster->width, out);
        return;
    }
    if (usual && !raster->ycc && layout == IO_GRAY8) {
        rgb_to_gray(row, raster->width, out);
        return;
    }
    for (int32_t x = 0; x < raster->width; x++) {
        if (layout == IO_GRAY8) {
            out[x] = to_8_bits(gray_at(raster, row, x), white);
        } else if (layout == IO_GRAY16) {
            uint16_t value = (uint16_t)gray_at(raster, row, x);
            memcpy(out + 2 * (size_t)x, &value, sizeof value);
        } else {
            for (int32_t c = 0; c < 3; c++) {
                int64_t index = raster->channels == 3 ? 3 * (int64_t)x + c : x;
                out[3 * (size_t)x + (size_t)c] = to_8_bits(sample_at(raster, row, index), white);
            }
        }
    }
}

static bool convert(const char *name, const io_raster *raster, io_layout layout, io_image *out, io_error *error)
{
    size_t row = (size_t)raster->width * (size_t)io_layout_bytes(layout);
    *out = (io_image){raster->width, raster->height, layout, malloc(row * (size_t)raster->height), {0}, raster->file};
    if (!out->pixels) {
        return io_fail(error, "%s: no memory for %d x %d pixels", name, (int)raster->width, (int)raster->height);
    }
    for (int32_t y = 0; y < raster->height; y++) convert_row(raster, y, layout, out->pixels + (size_t)y * row);
    return true;
}

static void set_view(io_image *image, int32_t white)
{
    if (image->layout == IO_RGB8) return;
    bool wide = image->layout == IO_GRAY16;
    image->view = (kb_image){image->pixels, image->width, image->height, (ptrdiff_t)image->width * (wide ? 2 : 1),
                             wide ? KB_FORMAT_GRAY16 : KB_FORMAT_GRAY8, wide ? white : 0};
}

static bool finish(const io_source *source, io_raster *raster, const io_read_options *options, io_image *out,
                   io_error *error)
{
    if (options->exif && !turn_upright(raster, source, error)) return false;
    if (raster->bytes == 2 && options->white > 0) raster->white = options->white;
    io_layout layout = options->colour ? IO_RGB8 : options->keep16 && raster->bytes == 2 ? IO_GRAY16 : IO_GRAY8;
    bool same = raster->white == 255 && raster->bytes == 1 && raster->channels == io_layout_bytes(layout) && !raster->ycc;
    if (same) { /* the samples are the pixels */
        *out = (io_image){raster->width, raster->height, layout, raster->samples, {0}, raster->file};
        raster->samples = NULL;
    } else if (!convert(source->name, raster, layout, out, error)) {
        return false;
    }
    if (options->max_size > 0 && !io_image_shrink(out, source->name, options->max_size, error)) return false;
    set_view(out, raster->white);
    return true;
}

/* --------------------------------------------------------------------------------------------------------- formats */

bool io_source_has(const io_source *source, size_t offset, const char *magic, size_t length)
{
    return source->size >= offset + length && memcmp(source->data + offset, magic, length) == 0;
}

static io_decoder *recognise(const io_source *source)
{
    if (io_source_has(source, 0, "\xff\xd8\xff", 3)) return io_decode_jpeg;
    if (io_source_has(source, 0, "\x89PNG\r\n\x1a\n", 8)) return io_decode_png;
    if (source->size > 2 && source->data[0] == 'P' && source->data[1] && strchr("2356", source->data[1]))
        return io_decode_pnm;
    if (io_source_has(source, 0, "BM", 2)) return io_decode_bmp;
#ifdef KB_HAVE_WEBP
    if (io_source_has(source, 0, "RIFF", 4) && io_source_has(source, 8, "WEBP", 4)) return io_decode_webp;
#endif
#ifdef KB_HAVE_TIFF
    if (io_source_has(source, 0, "II*\0", 4) || io_source_has(source, 0, "MM\0*", 4)) return io_decode_tiff;
#endif
#ifdef KB_HAVE_HEIF
    if (io_source_is_heif(source)) return io_decode_heif;
#endif
    return NULL;
}

/* colour: NULL, or what receives a picture in colour beside `out`, which is gray then. */
static bool decode_as(const char *name, const uint8_t *data, size_t size, const io_read_options *options, io_image *out,
                      io_image *colour, io_error *error)
{
    io_source source = {name, data, size, options->max_pixels > 0 ? options->max_pixels : IO_MAX_PIXELS,
                        options->max_size, colour != NULL};
    if (size == 0) return io_fail(error, "%s: the file is empty", name);
    const char *foreign = io_foreign_format(&source);
    if (foreign) return io_fail(error, "%s: %s (this build reads %s)", name, foreign, io_image_formats);
    io_decoder *decode = recognise(&source);
    if (!decode)
        return io_fail(error, "%s: not an image of a format that this build reads (%s)", name, io_image_formats);
    io_raster raster = {0};
    bool ok = decode(&source, options->colour || colour, &raster, error) &&
              finish(&source, &raster, options, out, error);
    if (ok && colour && out->layout == IO_GRAY8 && raster.channels == 3) {
        io_read_options as_colour = *options;
        as_colour.colour = true;
        ok = finish(&source, &raster, &as_colour, colour, error);
    }
    free(raster.samples);
    if (ok) return true;
    io_image_free(out);
    if (colour) io_image_free(colour);
    return false;
}

bool io_image_decode(const char *name, const uint8_t *data, size_t size, const io_read_options *options, io_image *out,
                     io_error *error)
{
    static const io_read_options defaults;
    memset(out, 0, sizeof *out);
    return decode_as(name, data, size, options ? options : &defaults, out, NULL, error);
}

bool io_image_read(const char *path, const io_read_options *options, io_image *out, io_error *error)
{
    io_bytes bytes;
    memset(out, 0, sizeof *out);
    if (!io_file_read(path, &bytes, error)) return false;
    bool ok = io_image_decode(io_path_shown(path), bytes.data, bytes.size, options, out, error);
    io_bytes_free(&bytes);
    return ok;
}

bool io_image_read_both(const char *path, const io_read_options *options, io_image *gray, io_image *colour,
                        io_error *error)
{
    io_bytes bytes;
    memset(gray, 0, sizeof *gray);
    memset(colour, 0, sizeof *colour);
    if (!io_file_read(path, &bytes, error)) return false;
    bool ok = decode_as(io_path_shown(path), bytes.data, bytes.size, options, gray, colour, error);
    io_bytes_free(&bytes);
    return ok;
}
