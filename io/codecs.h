/* SPDX-License-Identifier: Apache-2.0 */
/* Inside image_io: what a decoder gives, and the decoders. */
#ifndef IO_CODECS_H
#define IO_CODECS_H

#include "io/image_io.h"

/* Samples as the file holds them, rows without gaps. */
typedef struct io_raster {
    int32_t width, height;
    int32_t channels;    /* 1 gray, 3 RGB */
    int32_t bytes;       /* of a sample: 1, or 2 in native byte order */
    int32_t white;       /* the value of full brightness, 1 to 65535 */
    int32_t orientation; /* EXIF's 1 to 8; 1 when the file says nothing */
    bool ycc;            /* the three channels are Y, Cb, Cr as JPEG has them: Y is the gray */
    uint8_t *samples;    /* owned */
    io_grid file;        /* a decoder may give a fraction of the picture's size */
} io_raster;

/* A file in memory, its name for messages, and how many pixels it may have. */
typedef struct io_source {
    const char *name;
    const uint8_t *data;
    size_t size;
    int64_t max_pixels;
    int32_t max_size; /* the longer side that is wanted, at least; 0: all of it */
    bool both;        /* gray is wanted beside colour: a JPEG gives Y, Cb, Cr */
} io_source;

/* Checks the sides and their product; the sentence names them. */
bool io_source_accepts(const io_source *source, int64_t width, int64_t height, io_error *error);
/* The same, and makes room, with a byte more per row, which PNG's filters need; the samples are not cleared. A decoder
 * calls it as soon as it knows the header, before it or its library asks for memory that grows with the picture. */
bool io_raster_create(io_raster *raster, const io_source *source, int64_t width, int64_t height, int32_t channels,
                      int32_t bytes, io_error *error);
/* The address of a row. */
static inline uint8_t *io_raster_row(const io_raster *raster, int32_t y)
{
    return raster->samples + (size_t)y * (size_t)raster->width * (size_t)(raster->channels * raster->bytes);
}

/* A decoder fills the raster or fails with a sentence; on failure the caller frees raster->samples. */
typedef bool io_decoder(const io_source *source, bool colour, io_raster *raster, io_error *error);
io_decoder io_decode_jpeg, io_decode_png, io_decode_pnm, io_decode_bmp;
/* A usual PNG; false, and no raster, for any other: io_decode_png reads it then, or says what is wrong. */
bool io_decode_png_plain(const io_source *source, io_raster *raster);
/* The whole file, with 8 bits per sample, owned by the caller; NULL where io_png_encode must write it by libpng. False
 * when memory is out. */
bool io_png_pack(io_layout layout, int32_t width, int32_t height, const uint8_t *pixels, uint8_t **file, size_t *size);
#ifdef KB_HAVE_WEBP
io_decoder io_decode_webp;
#endif
#ifdef KB_HAVE_TIFF
io_decoder io_decode_tiff;
#endif
#ifdef KB_HAVE_HEIF
io_decoder io_decode_heif;
#endif
/* By the first bytes: HEIC. */
bool io_source_is_heif(const io_source *source);

/* Means of areas, until the longer side of the file has max_size px: exact in integers, rounded once. */
bool io_image_shrink(io_image *image, const char *name, int32_t max_size, io_error *error);

/* What a file is that no decoder is there for, such as "a GIF", with what to do about it; NULL when it is unknown. */
const char *io_foreign_format(const io_source *source);
/* Do these bytes stand at the offset? */
bool io_source_has(const io_source *source, size_t offset, const char *magic, size_t length);

/* The orientation that an EXIF block ("II*..." or "MM.*...") tells, 1 when it tells none. Never reads outside. */
int32_t io_exif_orientation(const uint8_t *data, size_t size);
/* Where the camera was, from such a block. Never reads outside. */
bool io_exif_position(const uint8_t *data, size_t size, io_position *out);

#endif
