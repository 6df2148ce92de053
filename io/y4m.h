/* SPDX-License-Identifier: Apache-2.0 */
/* Y4M streams, as ffmpeg's yuv4mpegpipe and mpv write and read them: a header line, then for every frame the line FRAME
 * and the planes of luma and chroma. */
#ifndef IO_Y4M_H
#define IO_Y4M_H

#include "io/draw.h"

typedef struct y4m_reader {
    FILE *in;
    const char *name; /* for messages */
    int32_t width, height;
    char rate[32];              /* "30000:1001", as in the header; "25:1" when it says nothing */
    int32_t bits;               /* of a sample, 8 to 16 */
    int32_t shift_x, shift_y;   /* chroma planes are this many halvings smaller; */
    bool colour;                /* and there are none of them when this is false */
    bool alpha;
    bool full_range;            /* luma from 0 to 255, not from 16 to 235 */
    int64_t frames;             /* read so far */
    uint8_t *luma, *cb, *cr;    /* 8 bits per sample; owned */
    uint8_t *raw;               /* one plane as read, owned */
} y4m_reader;

typedef enum y4m_status { Y4M_FRAME, Y4M_END, Y4M_BROKEN } y4m_status;

/* path "-": standard input. */
bool y4m_open(y4m_reader *reader, const char *path, io_error *error);
y4m_status y4m_next(y4m_reader *reader, io_error *error);
void y4m_close(y4m_reader *reader);

kb_image y4m_view(const y4m_reader *reader); /* of the luma of the frame */
void y4m_to_rgb(const y4m_reader *reader, uint8_t *rgb); /* width x height x 3 bytes */

/* ---- writing ---- 8 bits, 4:2:0, BT.601, luma from 16 to 235 */
typedef struct y4m_writer {
    io_writer *file;
    int32_t width, height;
    uint8_t *planes; /* owned */
} y4m_writer;

/* path "-": standard output. */
bool y4m_create(y4m_writer *writer, const char *path, int32_t width, int32_t height, const char *rate, io_error *error);
bool y4m_put(y4m_writer *writer, const io_canvas *canvas, io_error *error); /* of the same size */
/* Ends the stream and puts the file in place, or throws it away. */
bool y4m_commit(y4m_writer *writer, io_error *error);
void y4m_abandon(y4m_writer *writer);

#endif
