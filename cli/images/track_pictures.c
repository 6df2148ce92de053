/* SPDX-License-Identifier: Apache-2.0 */
/* Frames with the outline of what was found, as PNG files and as a Y4M video. */
#include <stdlib.h>

#include "track.h"

static const io_colour yellow = {255, 210, 40}, green = {60, 230, 90}, red = {230, 60, 50}, black = {0, 0, 0},
                       blue = {70, 120, 255};

static void draw_cube(io_canvas *canvas, const double c[8][2], double stroke)
{
    for (int i = 0; i < 4; i++) {
        int next = (i + 1) % 4;
        io_draw_line(canvas, c[i][0], c[i][1], c[next][0], c[next][1], stroke, red);
        io_draw_line(canvas, c[i][0], c[i][1], c[i + 4][0], c[i + 4][1], stroke, blue);
        io_draw_line(canvas, c[i + 4][0], c[i + 4][1], c[next + 4][0], c[next + 4][1], stroke, green);
    }
}

static void draw_outline_and_text(io_canvas *canvas, const track_result *result)
{
    char text[96];
    int magnify = canvas->width >= 480 ? 2 : 1;
    double stroke = canvas->width >= 480 ? 3 : 2;
    for (int i = 0; result->found && i < 4; i++) {
        const double *a = result->corners[i], *b = result->corners[(i + 1) % 4];
        io_draw_line(canvas, a[0], a[1], b[0], b[1], stroke, yellow);
    }
    if (result->posed && result->cube_seen) draw_cube(canvas, result->cube, stroke);
    /* A dot at the first corner tells which way up the template is. */
    if (result->found) io_draw_circle(canvas, result->corners[0][0], result->corners[0][1], 2 * stroke, stroke, green);
    if (result->found) snprintf(text, sizeof text, "found  %d inliers  %.1f ms", (int)result->inliers, result->ms);
    else snprintf(text, sizeof text, "lost  %zu matches  %.1f ms", result->matches, result->ms);
    int32_t pad = 3 * magnify;
    io_draw_rectangle(canvas, 0, 0, io_text_width(magnify, text) + 2 * pad, io_text_height(magnify) + 2 * pad, black);
    io_draw_text(canvas, pad, pad, magnify, result->found ? green : red, text);
}

static char *png_path(const track_pictures *pictures, int64_t number)
{
    char name[64];
    snprintf(name, sizeof name, "frame_%06lld.png", (long long)number);
    return io_path_join(pictures->folder, name);
}

static bool claim_png(const track_pictures *pictures, int64_t number, io_error *error)
{
    char *path = png_path(pictures, number);
    bool ok = cli_claim_output(pictures->common, path, error);
    free(path);
    return ok;
}

bool track_pictures_claim(track_pictures *pictures, size_t frames, io_error *error)
{
    for (; pictures->folder && pictures->claimed < (int64_t)frames; pictures->claimed++)
        if (!claim_png(pictures, pictures->claimed, error)) return false;
    return true;
}

static bool write_png(const track_pictures *pictures, int64_t number, const io_canvas *canvas, io_error *error)
{
    if (number >= pictures->claimed && !claim_png(pictures, number, error)) return false; /* of a stream */
    char *path = png_path(pictures, number);
    bool ok = io_canvas_write(path, canvas, error);
    free(path);
    return ok;
}

static bool write_video(track_pictures *pictures, const io_canvas *canvas, io_error *error)
{
    y4m_writer *writer = &pictures->writer;
    if (!writer->file && !y4m_create(writer, pictures->video, canvas->width, canvas->height, pictures->rate, error))
        return false;
    if (canvas->width == writer->width && canvas->height == writer->height) return y4m_put(writer, canvas, error);
    pictures->skipped++;
    return true;
}

bool track_pictures_add(track_pictures *pictures, const track_frames *frames, int64_t number,
                        const track_result *result, io_error *error)
{
    io_canvas canvas;
    if (!pictures->folder && !pictures->video) return true;
    if (!track_frames_canvas(frames, &canvas, error)) return false;
    draw_outline_and_text(&canvas, result);
    bool ok = (!pictures->folder || write_png(pictures, number, &canvas, error)) &&
              (!pictures->video || write_video(pictures, &canvas, error));
    io_canvas_free(&canvas);
    return ok;
}

bool track_pictures_end(track_pictures *pictures, io_error *error) { return y4m_commit(&pictures->writer, error); }
