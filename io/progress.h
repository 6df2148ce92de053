/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar with the time left, shown by the program (io/host.h). */
#ifndef IO_PROGRESS_H
#define IO_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct io_progress {
    const char *label;
    size_t total;
    bool shown;   /* the bar is wanted, and the program shows bars */
    double start; /* seconds of a steady clock */
    double last;  /* when it was drawn last */
} io_progress;

/* total 0: unknown, only a count is shown. label must live as long as the bar. One thread at a time. */
void io_progress_start(io_progress *progress, const char *label, size_t total, bool quiet);
/* `done` of total are done; draws at most ten times a second. */
void io_progress_update(io_progress *progress, size_t done);
/* Wipes the bar away, so that other words can be printed; the next update draws it again. */
void io_progress_wipe(io_progress *progress);
/* Wipes it away for good. */
void io_progress_end(io_progress *progress);

double io_clock_seconds(void); /* a steady clock */

#endif
