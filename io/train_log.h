/* SPDX-License-Identifier: Apache-2.0 */
/* The log of choosing boxes is its checkpoint too: a CSV file with one row per bit, written as bits are chosen.
 * Learning goes on from it to the same result, since all else follows from the settings. */
#ifndef IO_TRAIN_LOG_H
#define IO_TRAIN_LOG_H

#include "io/file.h"
#include "keybits/advanced.h"

typedef struct io_train_row {
    double loss, active, mean; /* as in kb_learn_progress */
    double seconds;            /* since the start */
    kb_box_pair pair;
} io_train_row;

typedef struct io_train_log {
    FILE *file;
    const char *path;
    io_train_row *rows; /* in the order of choice */
    int32_t count, capacity;
} io_train_log;

/* Opens the log for `bits` bits. settings names all that decides the result. go_on: rows that are there are read first;
 * a last line that was cut off is dropped; other settings, more rows than bits, or a line that is none is an error that
 * names it. Without go_on, or without a file, the log starts empty. path must live as long as the log. */
bool io_train_log_open(io_train_log *log, const char *path, uint64_t settings, int32_t bits, bool go_on,
                       io_error *error);
/* Adds a row and brings it to the file. */
bool io_train_log_add(io_train_log *log, const io_train_row *row, io_error *error);
bool io_train_log_close(io_train_log *log, io_error *error);

#endif
