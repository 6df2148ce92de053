/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in and out. The format is recognised by content, never by suffix: JPEG, PNG, PGM/PPM (P2 P3 P5 P6), BMP,
 * WebP, TIFF and HEIC where the build has them. docs/formats.md says how each becomes gray. */
#ifndef IO_IMAGE_IO_H
#define IO_IMAGE_IO_H

#include "io/file.h"
#include "keybits/keybits.h"

#define IO_MAX_SIDE 65535
#define IO_MAX_PIXELS ((int64_t)1 << 28) /* by default */

typedef enum io_layout {
    IO_GRAY8,
    IO_GRAY16, /* native byte order */
    IO_RGB8
} io_layout;

/* Where pixels lie in the picture of the file: x there is origin_x + (x + 0.5) step_x - 0.5. Its size is that after
 * turning. */
typedef struct io_grid {
    int32_t width, height;
    double step_x, step_y, origin_x, origin_y;
} io_grid;
/* A place of the picture that was read, in pixels of its file. */
void io_grid_to_file(const io_grid *grid, double *x, double *y);

typedef struct io_image {
    int32_t width, height;
    io_layout layout;
    uint8_t *pixels; /* owned, rows without gaps */
    kb_image view; /* gray layouts: a view of the pixels for the library. IO_RGB8: empty, which the library refuses. */
    io_grid file;
} io_image;

/* Zero is the default of every field. */
typedef struct io_read_options {
    bool colour;   /* RGB8 whatever the file holds; else gray */
    bool keep16;   /* a 16-bit file stays IO_GRAY16 (view.white set); else it becomes 8 bits by kb_image's rule */
    bool exif; /* turn the picture as its EXIF orientation says; else that is ignored, as keypoints of OpenCV expect */
    int32_t white; /* 16-bit files: the value that becomes 255; 0: what the file says (PGM's maxval), else 65535 */
    int32_t max_size; /* px: the longer side of a larger picture is brought down to it; 0: none is shrunk */
    int64_t max_pixels; /* larger pictures are refused before memory is reserved for them; 0: IO_MAX_PIXELS */
} io_read_options;

/* options may be NULL. On failure `out` holds nothing. A truncated or damaged file is a failure, never half a
 * picture. */
bool io_image_read(const char *path, const io_read_options *options, io_image *out, io_error *error);
/* The same from memory; name is for the messages. */
bool io_image_decode(const char *name, const uint8_t *data, size_t size, const io_read_options *options, io_image *out,
                     io_error *error);
/* Gray as io_image_read gives it, and, where that is 8 bits of a picture in colour, RGB8 out of the same decoding; else
 * `colour` holds nothing. */
bool io_image_read_both(const char *path, const io_read_options *options, io_image *gray, io_image *colour,
                        io_error *error);
void io_image_free(io_image *image);
int32_t io_layout_bytes(io_layout layout); /* of one pixel */

/* Where the camera was, degrees, as the EXIF data of a JPEG or TIFF tells; false when it tells nothing. */
typedef struct io_position {
    double latitude, longitude;
    double altitude; /* metres; 0 where it is not told */
} io_position;
bool io_image_position(const char *path, io_position *out);
/* The focal length by EXIF's number for 35 mm film, as a multiple of the longer side. */
bool io_image_focal(const char *path, double *focal);

/* PNG of 8 bits, IO_GRAY8 or IO_RGB8, rows without gaps. path NULL or "-": standard output. */
bool io_png_encode(FILE *file, const char *name, io_layout layout, int32_t width, int32_t height,
                   const uint8_t *pixels, io_error *error); /* name is for the messages */
bool io_png_write(const char *path, io_layout layout, int32_t width, int32_t height, const uint8_t *pixels,
                  io_error *error);

/* 8-bit gray through libjpeg at a quality (1 to 100) and back, in place. */
bool io_jpeg_round_trip(uint8_t *pixels, int32_t width, int32_t height, int quality, io_error *error);

/* The formats that this build reads, such as "JPEG, PNG, PGM, PPM, BMP". */
extern const char io_image_formats[];
/* Suffixes of the files that a folder stands for, NULL-terminated. */
extern const char *const io_image_suffixes[];

#endif
