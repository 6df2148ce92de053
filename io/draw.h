/* SPDX-License-Identifier: Apache-2.0 */
/* A canvas of RGB pixels to draw keypoints, matches and tracks on. Everything is anti-aliased and clipped; (0,0)
 * is the centre of the first pixel. */
#ifndef IO_DRAW_H
#define IO_DRAW_H

#include "io/image_io.h"

typedef struct io_colour {
    uint8_t r, g, b;
} io_colour;

typedef struct io_canvas {
    int32_t width, height;
    uint8_t *rgb; /* owned, rows without gaps */
} io_canvas;

/* Sides from 1 to IO_MAX_SIDE. */
bool io_canvas_create(io_canvas *canvas, int32_t width, int32_t height, io_colour fill, io_error *error);
void io_canvas_free(io_canvas *canvas);
bool io_canvas_write(const char *path, const io_canvas *canvas, io_error *error);

/* Two pictures beside each other on black, tops aligned; add *second_x to the x of what is in the second. */
bool io_canvas_side_by_side(io_canvas *canvas, const io_image *first, const io_image *second, int32_t *second_x,
                            io_error *error);
/* Copies a picture of any layout with its first pixel at (x, y). */
void io_draw_image(io_canvas *canvas, const io_image *image, int32_t x, int32_t y);

/* width is the thickness of the stroke in px, 1 or more. */
void io_draw_line(io_canvas *canvas, double x0, double y0, double x1, double y1, double width, io_colour colour);
/* 1 px wide; what is below shows through, from opacity 0 (all of it) to 1. */
void io_draw_faint_line(io_canvas *canvas, double x0, double y0, double x1, double y1, double opacity,
                        io_colour colour);
void io_draw_circle(io_canvas *canvas, double x, double y, double radius, double width, io_colour colour);
void io_draw_rectangle(io_canvas *canvas, int32_t x, int32_t y, int32_t width, int32_t height,
                       io_colour colour); /* filled */
/* A keypoint as a circle of its size x scale, with a spoke along its angle if it has one. */
void io_draw_keypoint(io_canvas *canvas, const kb_keypoint *keypoint, double scale, double shift_x, double width,
                      io_colour colour);

/* Printable ASCII in a font of strokes between 5x7 dots, magnified by a whole number; (x, y) is the top left corner.
 * Other characters show as '?'. */
void io_draw_text(io_canvas *canvas, int32_t x, int32_t y, int32_t magnify, io_colour colour, const char *text);
int32_t io_text_width(int32_t magnify, const char *text);
int32_t io_text_height(int32_t magnify);

/* Bright colours that differ well from one index to the next. */
io_colour io_colour_at(size_t index);
/* From red (0) over yellow to green (1). */
io_colour io_colour_heat(double goodness);

#endif
