/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures made smaller: a pixel becomes the mean of the area that it covers.
 *
 * With W pixels becoming w, an old pixel is w units wide and a new one W units. So how much of an old pixel a new one
 * covers is a whole number of units, and sums are exact; each new pixel is rounded once. */
#include <stdlib.h>

#include "io/codecs.h"

typedef struct shrinking {
    const io_image *from;
    int32_t width, height; /* of the result */
    int32_t channels;
    uint32_t *row;  /* sums along a row of `from`: up to 65535 x 65535 */
    uint64_t *area; /* sums of rows */
    uint8_t *to;
} shrinking;

void io_grid_to_file(const io_grid *grid, double *x, double *y)
{
    *x = grid->origin_x + (*x + 0.5) * grid->step_x - 0.5;
    *y = grid->origin_y + (*y + 0.5) * grid->step_y - 0.5;
}

static inline uint32_t pixel_at(const uint8_t *row, size_t i, bool wide)
{
    return wide ? (uint32_t)((const uint16_t *)(const void *)row)[i] : row[i];
}

/* Sums of one row of `from` for each new pixel. */
static inline void sum_row(const shrinking *s, const uint8_t *row, size_t channels, bool wide)
{
    const uint32_t old_units = (uint32_t)s->width, new_units = (uint32_t)s->from->width;
    size_t x = 0;
    uint32_t left = old_units; /* of old pixel x */
    for (size_t i = 0; i < (size_t)s->width; i++) {
        uint32_t sum[3] = {0}, room = new_units;
        while (room > 0) {
            uint32_t part = left < room ? left : room;
            for (size_t c = 0; c < channels; c++) sum[c] += part * pixel_at(row, x * channels + c, wide);
            room -= part;
            left -= part;
            if (left == 0) {
                x++;
                left = old_units;
            }
        }
        for (size_t c = 0; c < channels; c++) s->row[i * channels + c] = sum[c];
    }
}

static void sum_any_row(const shrinking *s, int32_t y)
{
    const io_image *from = s->from;
    const uint8_t *row = from->pixels + (size_t)y * (size_t)from->width * (size_t)io_layout_bytes(from->layout);
    if (from->layout == IO_GRAY8) sum_row(s, row, 1, false);
    else if (from->layout == IO_GRAY16) sum_row(s, row, 1, true);
    else sum_row(s, row, 3, false);
}

static void add_rows(const shrinking *s, uint64_t part)
{
    size_t n = (size_t)s->width * (size_t)s->channels;
    for (size_t i = 0; i < n; i++) s->area[i] += part * s->row[i];
}

static void put_row(const shrinking *s, int32_t y)
{
    size_t n = (size_t)s->width * (size_t)s->channels;
    const uint64_t area = (uint64_t)s->from->width * (uint64_t)s->from->height;
    for (size_t i = 0; i < n; i++) {
        uint64_t mean = (s->area[i] + area / 2) / area;
        if (s->from->layout == IO_GRAY16) ((uint16_t *)(void *)s->to)[(size_t)y * n + i] = (uint16_t)mean;
        else s->to[(size_t)y * n + i] = (uint8_t)mean;
        s->area[i] = 0;
    }
}

static void shrink_all(const shrinking *s)
{
    uint32_t old_units = (uint32_t)s->height, room = (uint32_t)s->from->height;
    int32_t to = 0;
    for (int32_t y = 0; y < s->from->height; y++) {
        sum_any_row(s, y);
        for (uint32_t left = old_units; left > 0;) {
            uint32_t part = left < room ? left : room;
            add_rows(s, part);
            left -= part;
            room -= part;
            if (room == 0) {
                put_row(s, to++);
                room = (uint32_t)s->from->height;
            }
        }
    }
}

static int32_t shrunk(int32_t side, int32_t longer, int32_t max_size)
{
    int64_t size = ((int64_t)side * max_size + longer / 2) / longer;
    return size > 0 ? (int32_t)size : 1;
}

bool io_image_shrink(io_image *image, const char *name, int32_t max_size, io_error *error)
{
    const io_grid *file = &image->file;
    int32_t longer = file->width > file->height ? file->width : file->height;
    if (longer <= max_size) return true;
    shrinking s = {.from = image, .width = shrunk(file->width, longer, max_size),
                   .height = shrunk(file->height, longer, max_size), .channels = image->layout == IO_RGB8 ? 3 : 1};
    if (s.width > image->width) s.width = image->width; /* an eighth may have one pixel less */
    if (s.height > image->height) s.height = image->height;
    size_t n = (size_t)s.width * (size_t)s.channels;
    s.row = malloc(n * sizeof *s.row);
    s.area = calloc(n, sizeof *s.area);
    s.to = malloc((size_t)s.width * (size_t)s.height * (size_t)io_layout_bytes(image->layout));
    bool ok = s.row && s.area && s.to;
    if (ok) {
        shrink_all(&s);
        free(image->pixels);
        image->pixels = s.to;
        image->file.step_x *= (double)image->width / s.width;
        image->file.step_y *= (double)image->height / s.height;
        image->width = s.width;
        image->height = s.height;
    } else {
        free(s.to);
    }
    free(s.row);
    free(s.area);
    return ok || io_fail(error, "%s: no memory for %d x %d pixels", name, (int)s.width, (int)s.height);
}
