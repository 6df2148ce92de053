/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the command track share: where frames come from, and where pictures of them go. */
#ifndef CLI_TRACK_H
#define CLI_TRACK_H

#include "cli/cli.h"
#include "io/draw.h"
#include "io/image_io.h"
#include "io/y4m.h"
#include "pipeline/pipeline.h"

/* ---- frames: images by name, or a Y4M stream ---- */
typedef struct track_frames {
    io_read_options reading;
    io_names names;   /* of images; none when there is a stream */
    size_t next;
    y4m_reader stream;
    bool streaming, ended;
    io_image image;   /* the frame, when it is an image, */
    io_image colour;  /* and in colour, when it is drawn and has colours */
    bool drawn;
    const char *name; /* of the frame: a file's, or that of the stream */
} track_frames;

typedef enum track_status { TRACK_FRAME, TRACK_UNREADABLE, TRACK_END } track_status;

/* FRAMES of the command line: "-" and *.y4m are streams, anything else images. */
bool track_frames_open(cli_common *common, track_frames *frames, const io_read_options *reading, bool drawn, int count,
                       char *const *arguments, io_error *error);
/* The next frame; an unreadable one is told in error, and the next call goes on behind it. */
track_status track_frames_next(track_frames *frames, kb_image *view, io_error *error);
/* The frame in colour, of frames that were opened to be drawn. */
bool track_frames_canvas(const track_frames *frames, io_canvas *canvas, io_error *error);
void track_frames_close(track_frames *frames);

/* ---- what was found ---- */
typedef struct track_result {
    bool found;
    size_t matches;
    int32_t inliers;
    double corners[4][2]; /* of the template in the frame: top left, top right, bottom right, bottom left */
    double ms;            /* detect, describe, match and fit */
    bool posed;           /* there is a camera, and the pose was found: */
    double turn[3];       /* rotation vector, radians, */
    double place[3];      /* and the place of the template's centre in camera coordinates */
    double cube[8][2];    /* corners of a cube on the template in the frame; the first four on it, the others above */
    bool cube_seen;       /* all of them in front of the camera */
} track_result;

/* ---- the pose of the template (track_pose.c) ---- Its coordinates begin at its centre, x to the right, y down, z away
 * from the viewer, in template pixels or metres. */
typedef struct track_camera {
    kb_camera camera; /* struct_size 0: no pose is wanted */
    double width;     /* of the template in metres; 0: coordinates in template pixels */
} track_camera;
bool track_pose(const track_camera *camera, const pipeline *p, const pipeline_result *matched, int32_t width,
                int32_t height, track_result *result, io_error *error);

/* Whether H can be the sight of a template of this size: its corners in front of the camera, convex, not turned over,
 * and neither too small to be recognised nor absurdly large. */
bool track_plausible(const double h[9], int32_t width, int32_t height, double corners[4][2]);

/* ---- pictures ---- */
typedef struct track_pictures {
    cli_common *common;
    const char *folder; /* PNG files; NULL: none */
    const char *video;  /* Y4M; NULL: none */
    const char *rate;   /* frames a second of the video, such as "25:1" */
    y4m_writer writer;
    int64_t claimed; /* PNG files, from the first on */
    int64_t skipped; /* frames of another size than the first, which a video cannot hold */
} track_pictures;

/* Claims the pictures of the first frames; those of a stream, whose number is not known, are claimed one by one. */
bool track_pictures_claim(track_pictures *pictures, size_t frames, io_error *error);
bool track_pictures_add(track_pictures *pictures, const track_frames *frames, int64_t number,
                        const track_result *result, io_error *error);
bool track_pictures_end(track_pictures *pictures, io_error *error);

#endif
