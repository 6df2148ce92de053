/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints as CSV (docs/formats.md). */
#ifndef IO_CSV_H
#define IO_CSV_H

#include "io/file.h"
#include "keybits/keybits.h"

typedef struct io_keypoints {
    kb_keypoint *items; /* owned */
    size_t count;
} io_keypoints;

/* The header line names the columns, in any order: x, y, size are required; angle (default -1), response (0), octave
 * (0) and class_id (-1) may be there; others are ignored. Errors name the line and the value. path "-": standard
 * input. */
bool io_keypoints_read(const char *path, io_keypoints *out, io_error *error);
void io_keypoints_free(io_keypoints *keypoints);
/* x,y,size,angle,response,octave with 9 digits, which keeps floats exactly. path NULL or "-": standard output. */
bool io_keypoints_write(const char *path, const kb_keypoint *keypoints, size_t count, io_error *error);

/* A cell of text: control characters as \xNN (io_printable), in quotes where it has a comma or a quote. */
void io_csv_text(FILE *file, const char *text);

#endif
