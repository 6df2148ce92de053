/* SPDX-License-Identifier: Apache-2.0 */
/* Where the frames of the command track come from. */
#include <string.h>

#include "track.h"

bool track_frames_open(cli_common *common, track_frames *frames, const io_read_options *reading, bool drawn, int count,
                       char *const *arguments, io_error *error)
{
    *frames = (track_frames){.reading = *reading, .drawn = drawn};
    const char *first = count > 0 ? arguments[0] : "";
    frames->streaming = strcmp(first, "-") == 0 || io_path_has_suffix(first, ".y4m");
    if (!frames->streaming) return cli_claim_images(common, count, arguments, &frames->names, error);
    if (count > 1) return io_fail(error, "%s is a stream: nothing may follow it", first);
    return y4m_open(&frames->stream, first, error);
}

static track_status next_of_stream(track_frames *frames, kb_image *view, io_error *error)
{
    frames->name = frames->stream.name;
    if (frames->ended) return TRACK_END;
    switch (y4m_next(&frames->stream, error)) {
    case Y4M_FRAME: *view = y4m_view(&frames->stream); return TRACK_FRAME;
    case Y4M_BROKEN: frames->ended = true; return TRACK_UNREADABLE; /* where the next frame begins is not known */
    default: return TRACK_END;
    }
}

track_status track_frames_next(track_frames *frames, kb_image *view, io_error *error)
{
    if (frames->streaming) return next_of_stream(frames, view, error);
    if (frames->next == frames->names.count) return TRACK_END;
    frames->name = frames->names.items[frames->next++];
    io_image_free(&frames->image);
    io_image_free(&frames->colour);
    bool read = frames->drawn
                    ? io_image_read_both(frames->name, &frames->reading, &frames->image, &frames->colour, error)
                    : io_image_read(frames->name, &frames->reading, &frames->image, error);
    if (!read) return TRACK_UNREADABLE;
    *view = frames->image.view;
    return TRACK_FRAME;
}

bool track_frames_canvas(const track_frames *frames, io_canvas *canvas, io_error *error)
{
    const io_colour black = {0, 0, 0};
    if (frames->streaming) {
        if (!io_canvas_create(canvas, frames->stream.width, frames->stream.height, black, error)) return false;
        y4m_to_rgb(&frames->stream, canvas->rgb);
        return true;
    }
    const io_image *image = frames->colour.pixels ? &frames->colour : &frames->image;
    if (!io_canvas_create(canvas, image->width, image->height, black, error)) return false;
    io_draw_image(canvas, image, 0, 0);
    return true;
}

void track_frames_close(track_frames *frames)
{
    io_image_free(&frames->image);
    io_image_free(&frames->colour);
    io_names_free(&frames->names);
    y4m_close(&frames->stream);
}
