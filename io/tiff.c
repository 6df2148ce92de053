/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF through libtiff, where the build has it: the first picture of the file. Plain gray or RGB of 8 or 16 bits in
 * strips is read sample by sample; everything else goes through libtiff's own conversion to 8-bit RGB. */
#include "io/codecs.h"

#ifdef KB_HAVE_TIFF
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

typedef struct tiff_file {
    const io_source *source;
    toff_t position;
} tiff_file;

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t count)
{
    tiff_file *file = handle;
    uint64_t left = file->position < file->source->size ? file->source->size - file->position : 0;
    uint64_t take = (uint64_t)count < left ? (uint64_t)count : left;
    memcpy(to, file->source->data + (left ? file->position : 0), (size_t)take);
    file->position += take;
    return (tmsize_t)take;
}

static tmsize_t write_nothing(thandle_t handle, void *from, tmsize_t count)
{
    (void)handle;
    (void)from;
    (void)count;
    return 0;
}

static toff_t seek_to(thandle_t handle, toff_t offset, int whence)
{
    tiff_file *file = handle;
    toff_t base = whence == SEEK_CUR ? file->position : whence == SEEK_END ? file->source->size : 0;
    return file->position = base + offset;
}

static toff_t size_of(thandle_t handle) { return ((tiff_file *)handle)->source->size; }

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

/* Gray with 0 as black, or RGB, with all samples of a pixel together and rows in strips. */
static bool is_plain(TIFF *tiff, uint16_t *bits, uint16_t *samples)
{
    uint16_t photometric = 0, planar = 0, format = 0;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric)) return false;
    bool gray = photometric == PHOTOMETRIC_MINISBLACK && (*samples == 1 || *samples == 2);
    bool rgb = photometric == PHOTOMETRIC_RGB && *samples >= 3;
    return (gray || rgb) && (*bits == 8 || *bits == 16) && planar == PLANARCONFIG_CONTIG &&
           format == SAMPLEFORMAT_UINT && !TIFFIsTiled(tiff);
}

static bool read_plain(TIFF *tiff, const io_raster *raster, uint16_t samples)
{
    size_t bytes = (size_t)raster->bytes, keep = (size_t)raster->channels * bytes, step = samples * bytes;
    if ((uint64_t)TIFFScanlineSize64(tiff) < (uint64_t)raster->width * step) return false;
    uint8_t *line = malloc((size_t)TIFFScanlineSize64(tiff));
    bool ok = line != NULL;
    for (int32_t y = 0; ok && y < raster->height; y++) {
        ok = TIFFReadScanline(tiff, line, (uint32_t)y, 0) == 1;
        uint8_t *to = io_raster_row(raster, y);
        for (int32_t x = 0; ok && x < raster->width; x++) memcpy(to + (size_t)x * keep, line + (size_t)x * step, keep);
    }
    free(line);
    return ok;
}

static bool read_converted(TIFF *tiff, const io_raster *raster)
{
    size_t count = (size_t)raster->width * (size_t)raster->height;
    uint32_t *pixels = malloc(count * sizeof *pixels);
    /* Rows as stored: the orientation is applied later, if it is wanted. */
    uint16_t stored = ORIENTATION_TOPLEFT;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &stored);
    bool ok =
        pixels && TIFFReadRGBAImageOriented(tiff, (uint32_t)raster->width, (uint32_t)raster->height, pixels, stored, 1);
    for (size_t i = 0; ok && i < count; i++) {
        raster->samples[3 * i] = (uint8_t)TIFFGetR(pixels[i]);
        raster->samples[3 * i + 1] = (uint8_t)TIFFGetG(pixels[i]);
        raster->samples[3 * i + 2] = (uint8_t)TIFFGetB(pixels[i]);
    }
    free(pixels);
    return ok;
}

/* libtiff asks for memory as a header of a few bytes commands; no picture that is meant has pieces like these. */
static bool is_modest(TIFF *tiff)
{
    const uint64_t largest = (uint64_t)1 << 30;
    uint16_t samples = 1;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    uint64_t piece = TIFFIsTiled(tiff) ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
    return samples <= 8 && piece <= largest && TIFFScanlineSize64(tiff) <= largest;
}

static bool decode(const io_source *source, TIFF *tiff, io_raster *raster, io_error *error)
{
    uint32_t width = 0, height = 0;
    uint16_t bits = 8, samples = 1, orientation = 1;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &orientation);
    if (!is_modest(tiff)) return io_fail(error, "%s: damaged TIFF, or of a kind that is not read", source->name);
    bool plain = is_plain(tiff, &bits, &samples);
    int32_t channels = plain && samples < 3 ? 1 : 3;
    if (!io_raster_create(raster, source, width, height, channels, plain ? bits / 8 : 1, error)) return false;
    raster->orientation = orientation;
    if (plain ? read_plain(tiff, raster, samples) : read_converted(tiff, raster)) return true;
    return io_fail(error, "%s: damaged or truncated TIFF, or of a kind that is not read", source->name);
}

bool io_decode_tiff(const io_source *source, bool colour, io_raster *raster, io_error *error)
{
    (void)colour;
    TIFFSetWarningHandler(NULL);
    TIFFSetErrorHandler(NULL);
    tiff_file file = {source, 0};
    TIFF *tiff = TIFFClientOpen(source->name, "rm", &file, read_bytes, write_nothing, seek_to, close_nothing, size_of,
                                NULL, NULL);
    if (!tiff) return io_fail(error, "%s: damaged or truncated TIFF", source->name);
    bool ok = decode(source, tiff, raster, error);
    TIFFClose(tiff);
    return ok;
}
#else
typedef int io_tiff_is_left_out; /* a file of C may not be empty */
#endif
