/* The progress bar. */
#include "io/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 30

double io_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void io_progress_start(io_progress *progress, const char *label, size_t total, bool quiet)
{
    double now = io_clock_seconds();
    *progress = (io_progress){label, total, !quiet && isatty(STDERR_FILENO), now, now};
}

static void print_duration(double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s >= 3600) fprintf(stderr, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else if (s >= 60) fprintf(stderr, "%ld min %02ld s", s / 60, s % 60);
    else fprintf(stderr, "%ld s", s);
}

void io_progress_update(io_progress *progress, size_t done)
{
    double now = io_clock_seconds();
    if (!progress->shown || now - progress->last < 0.1) return;
    progress->last = now;
    if (progress->total == 0) {
        fprintf(stderr, "\r\033[K%s %zu", progress->label, done);
        return;
    }
    if (done > progress->total) done = progress->total;
    double part = (double)done / (double)progress->total;
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++) bar[i] = (i + 0.5) / BAR_WIDTH <= part ? '#' : '.';
    bar[BAR_WIDTH] = 0;
    fprintf(stderr, "\r\033[K%s [%s] %zu/%zu", progress->label, bar, done, progress->total);
    if (done > 0) {
        fputs(", ", stderr);
        print_duration((now - progress->start) * (1 - part) / part);
        fputs(" left", stderr);
    }
}

void io_progress_wipe(io_progress *progress)
{
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->last = 0;
}

void io_progress_end(io_progress *progress)
{
    io_progress_wipe(progress);
    progress->shown = false;
}
