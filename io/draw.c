/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing. A stroke covers a pixel by how far the pixel's centre is from the middle of the stroke: fully up to half the
 * width less half a pixel, not at all from half a pixel beyond, evenly between. One rule serves lines and circles. */
#include "io/draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool io_canvas_create(io_canvas *canvas, int32_t width, int32_t height, io_colour fill, io_error *error)
{
    *canvas = (io_canvas){0, 0, NULL};
    if (width < 1 || height < 1 || width > IO_MAX_SIDE || height > IO_MAX_SIDE) {
        return io_fail(error, "a picture of %d x %d pixels cannot be drawn; sides must be 1 to %d", (int)width,
                       (int)height, IO_MAX_SIDE);
    }
    size_t count = (size_t)width * (size_t)height;
    uint8_t *rgb = malloc(3 * count);
    if (!rgb) return io_fail(error, "no memory for a picture of %d x %d pixels", (int)width, (int)height);
    for (int32_t x = 0; x < width; x++) memcpy(rgb + 3 * (size_t)x, &fill, 3);
    for (int32_t y = 1; y < height; y++) memcpy(rgb + 3 * (size_t)y * (size_t)width, rgb, 3 * (size_t)width);
    *canvas = (io_canvas){width, height, rgb};
    return true;
}

void io_canvas_free(io_canvas *canvas)
{
    free(canvas->rgb);
    *canvas = (io_canvas){0, 0, NULL};
}

bool io_canvas_write(const char *path, const io_canvas *canvas, io_error *error)
{
    return io_png_write(path, IO_RGB8, canvas->width, canvas->height, canvas->rgb, error);
}

/* ----------------------------------------------------------------------------------------------------------- images */

/* n pixels from the one of this index on. */
static void pixels_as_rgb(const io_image *image, size_t index, size_t n, uint8_t *rgb)
{
    if (image->layout == IO_RGB8) {
        memcpy(rgb, image->pixels + 3 * index, 3 * n);
        return;
    }
    uint32_t white = image->view.white ? (uint32_t)image->view.white : 65535;
    for (size_t i = 0; i < n; i++) {
        uint32_t gray;
        if (image->layout == IO_GRAY16) {
            uint16_t value;
            memcpy(&value, image->pixels + 2 * (index + i), sizeof value);
            gray = (value * 255u + white / 2) / white;
            if (gray > 255) gray = 255;
        } else {
            gray = image->pixels[index + i];
        }
        rgb[3 * i] = rgb[3 * i + 1] = rgb[3 * i + 2] = (uint8_t)gray;
    }
}

void io_draw_image(io_canvas *canvas, const io_image *image, int32_t x, int32_t y)
{
    int64_t begin = x < 0 ? -(int64_t)x : 0, end = (int64_t)canvas->width - x;
    if (end > image->width) end = image->width;
    for (int32_t row = 0; row < image->height && begin < end; row++) {
        int64_t to_y = (int64_t)y + row;
        if (to_y < 0 || to_y >= canvas->height) continue;
        pixels_as_rgb(image, (size_t)row * (size_t)image->width + (size_t)begin, (size_t)(end - begin),
                      canvas->rgb + 3 * ((size_t)to_y * (size_t)canvas->width + (size_t)(x + begin)));
    }
}

bool io_canvas_side_by_side(io_canvas *canvas, const io_image *first, const io_image *second, int32_t *second_x,
                            io_error *error)
{
    const io_colour black = {0, 0, 0};
    int32_t height = first->height > second->height ? first->height : second->height;
    if (!io_canvas_create(canvas, first->width + second->width, height, black, error)) return false;
    *second_x = first->width;
    io_draw_image(canvas, first, 0, 0);
    io_draw_image(canvas, second, *second_x, 0);
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- strokes */

static void blend(io_canvas *canvas, int32_t x, int32_t y, double cover, io_colour colour)
{
    if (cover <= 0) return;
    if (cover > 1) cover = 1;
    uint8_t *rgb = canvas->rgb + 3 * ((size_t)y * (size_t)canvas->width + (size_t)x);
    const uint8_t wanted[3] = {colour.r, colour.g, colour.b};
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(rgb[c] + (wanted[c] - rgb[c]) * cover + 0.5);
}

/* The pixels between low and high, cut to 0 .. size - 1; an empty range when nothing is left or a number is not
 * finite. */
typedef struct range {
    int32_t first, last;
} range;

static range clip(double low, double high, int32_t size)
{
    if (!(low <= high) || !(high >= 0) || !(low <= size - 1)) return (range){0, -1};
    return (range){low > 0 ? (int32_t)floor(low) : 0, high < size - 1 ? (int32_t)ceil(high) : size - 1};
}

static void stroke(io_canvas *canvas, double x0, double y0, double x1, double y1, double width, double opacity,
                   io_colour colour)
{
    double dx = x1 - x0, dy = y1 - y0, length2 = dx * dx + dy * dy, reach = width / 2 + 0.5;
    if (!isfinite(length2)) return;
    double length = sqrt(length2);
    /* How far a stroke spreads along a row: across, divided by the slope, but no further than its ends. */
    double spread = fabs(dy) > 1e-9 ? reach * length / fabs(dy) : length + reach;
    range rows = clip(fmin(y0, y1) - reach, fmax(y0, y1) + reach, canvas->height);
    for (int32_t y = rows.first; y <= rows.last; y++) {
        double middle = fabs(dy) > 1e-9 ? x0 + (y - y0) * dx / dy : x0;
        double low = fmax(middle - spread, fmin(x0, x1) - reach), high = fmin(middle + spread, fmax(x0, x1) + reach);
        range columns = clip(low, high, canvas->width);
        for (int32_t x = columns.first; x <= columns.last; x++) {
            double px = x - x0, py = y - y0, along = px * dx + py * dy;
            double away = along <= 0        ? sqrt(px * px + py * py)
                          : along >= length2 ? sqrt((x - x1) * (x - x1) + (y - y1) * (y - y1))
                                             : fabs(px * dy - py * dx) / length;
            blend(canvas, x, y, opacity * fmin(1, reach - away), colour);
        }
    }
}

void io_draw_line(io_canvas *canvas, double x0, double y0, double x1, double y1, double width, io_colour colour)
{
    stroke(canvas, x0, y0, x1, y1, width, 1, colour);
}

void io_draw_faint_line(io_canvas *canvas, double x0, double y0, double x1, double y1, double opacity, io_colour colour)
{
    stroke(canvas, x0, y0, x1, y1, 1, opacity, colour);
}

void io_draw_circle(io_canvas *canvas, double x, double y, double radius, double width, io_colour colour)
{
    double reach = width / 2 + 0.5, outer = radius + reach;
    if (!isfinite(x) || !isfinite(y) || !isfinite(radius) || radius < 0) return;
    range rows = clip(y - outer, y + outer, canvas->height);
    for (int32_t py = rows.first; py <= rows.last; py++) {
        double half = sqrt(fmax(0, outer * outer - (py - y) * (py - y)));
        range columns = clip(x - half, x + half, canvas->width);
        for (int32_t px = columns.first; px <= columns.last; px++) {
            double dx = px - x, dy = py - y;
            blend(canvas, px, py, reach - fabs(sqrt(dx * dx + dy * dy) - radius), colour);
        }
    }
}

void io_draw_rectangle(io_canvas *canvas, int32_t x, int32_t y, int32_t width, int32_t height, io_colour colour)
{
    range rows = clip(y, (double)y + height - 1, canvas->height),
          columns = clip(x, (double)x + width - 1, canvas->width);
    for (int32_t py = rows.first; py <= rows.last; py++) {
        for (int32_t px = columns.first; px <= columns.last; px++) blend(canvas, px, py, 1, colour);
    }
}

void io_draw_keypoint(io_canvas *canvas, const kb_keypoint *keypoint, double scale, double shift_x, double width,
                      io_colour colour)
{
    double x = (double)keypoint->x + shift_x, y = (double)keypoint->y, radius = (double)keypoint->size * scale / 2;
    io_draw_circle(canvas, x, y, radius, width, colour);
    if (!(keypoint->angle >= 0)) return;
    double angle = (double)keypoint->angle * (3.14159265358979323846 / 180);
    io_draw_line(canvas, x, y, x + radius * cos(angle), y + radius * sin(angle), width, colour);
}

/* ---------------------------------------------------------------------------------------------------------- colours */

/* hue from 0 to 1, full saturation, brightness 255 at most */
static io_colour from_hue(double hue)
{
    double part[3];
    for (int c = 0; c < 3; c++) {
        double distance = fabs(fmod(hue + 1 - c / 3.0, 1) - 0.5) * 6; /* 3 at the channel's own hue, 0 opposite */
        part[c] = fmin(1, fmax(0, distance - 1));
    }
    return (io_colour){(uint8_t)(55 + 200 * part[0]), (uint8_t)(55 + 200 * part[1]), (uint8_t)(55 + 200 * part[2])};
}

/* Steps of the golden ratio around the circle of hues never come close to where they have been. */
io_colour io_colour_at(size_t index) { return from_hue(fmod((double)(index % 100000) * 0.61803398874989485, 1)); }

io_colour io_colour_heat(double goodness)
{
    double g = !(goodness > 0) ? 0 : goodness > 1 ? 1 : goodness;
    return from_hue(g / 3);
}
