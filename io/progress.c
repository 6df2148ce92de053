/* SPDX-License-Identifier: Apache-2.0 */
/* Progress: when to show it, and in which words. */
#include "io/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "io/host.h"

#define BAR_WIDTH 30

static io_host host;

void io_set_host(const io_host *wanted) { host = *wanted; }

const io_host *io_get_host(void) { return &host; }

double io_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void io_progress_start(io_progress *progress, const char *label, size_t total, bool quiet)
{
    double now = io_clock_seconds();
    *progress = (io_progress){label, total, !quiet && host.show_progress, now, now};
}

static void format_duration(char *out, size_t room, double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s >= 3600) snprintf(out, room, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else if (s >= 60) snprintf(out, room, "%ld min %02ld s", s / 60, s % 60);
    else snprintf(out, room, "%ld s", s);
}

void io_progress_update(io_progress *progress, size_t done)
{
    double now = io_clock_seconds();
    char line[256], bar[BAR_WIDTH + 1], left[64] = "";
    if (!progress->shown || now - progress->last < 0.1) return;
    progress->last = now;
    if (progress->total == 0) {
        snprintf(line, sizeof line, "%s %zu", progress->label, done);
        host.show_progress(line);
        return;
    }
    if (done > progress->total) done = progress->total;
    double part = (double)done / (double)progress->total;
    for (int i = 0; i < BAR_WIDTH; i++) bar[i] = (i + 0.5) / BAR_WIDTH <= part ? '#' : '.';
    bar[BAR_WIDTH] = 0;
    if (done > 0) format_duration(left, sizeof left, (now - progress->start) * (1 - part) / part);
    snprintf(line, sizeof line, "%s [%s] %zu/%zu%s%s%s", progress->label, bar, done, progress->total, *left ? ", " : "",
             left, *left ? " left" : "");
    host.show_progress(line);
}

void io_progress_wipe(io_progress *progress)
{
    if (progress->shown) host.show_progress(NULL);
    progress->last = 0;
}

void io_progress_end(io_progress *progress)
{
    io_progress_wipe(progress);
    progress->shown = false;
}
