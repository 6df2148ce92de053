/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the log. */
#include "io/train_log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"

#define COLUMNS 13
static const char header[] = "bit,loss,active,mean,seconds,channel1,x1,y1,radius1,channel2,x2,y2,radius2,threshold\n";

static void print_row(FILE *file, int32_t bit, const io_train_row *row)
{
    const kb_box_pair *p = &row->pair;
    char loss[32], active[32], mean[32], seconds[32], threshold[32];
    fprintf(file, "%d,%s,%s,%s,%s,%d,%d,%d,%d,%d,%d,%d,%d,%s\n", (int)bit, io_number_format(loss, row->loss, 9),
            io_number_format(active, row->active, 9), io_number_format(mean, row->mean, 9),
            io_number_format(seconds, row->seconds, 6), p->channel1, p->x1, p->y1, p->radius1, p->channel2, p->x2,
            p->y2, p->radius2, io_number_format(threshold, (double)p->threshold, 9));
}

/* ---- reading ---- */

/* A line without its end: the number of the bit, then COLUMNS numbers. */
static bool parse_numbers(const char *line, int32_t bit, double v[COLUMNS + 1])
{
    const char *at = line;
    for (int i = 0; i <= COLUMNS; i++) {
        if (!io_number_parse(at, &at, &v[i]) || *at != (i < COLUMNS ? ',' : 0)) return false;
        at++;
    }
    return v[0] == bit;
}

/* v: channel, x, y, radius, as kb_box_pair says: of BAG on the cells of an octave, of BAD on samples or cells. */
static bool is_box(const double v[4])
{
    const double above[4] = {KB_CHANNELS, KB_PATCH_SIDE, KB_PATCH_SIDE, KB_MAX_CELL_RADIUS + 1};
    for (int i = 0; i < 4; i++)
        if (!(v[i] >= 0 && v[i] < above[i] && v[i] == floor(v[i]))) return false;
    bool samples = v[0] == 0 && v[3] <= KB_MAX_RADIUS, cells = v[3] > 0;
    for (int i = 1; i <= 2; i++) {
        if (v[i] < v[3] || v[i] + v[3] > (v[0] > 0 ? KB_OCTAVE_SIDE : KB_PATCH_SIDE)) return false;
        samples = samples && v[i] + v[3] < KB_PATCH_SIDE;
        cells = cells && !(fmod(v[i] - v[3], 2) > 0);
    }
    return samples || cells;
}

/* The row of bit number log->count. */
static bool parse_row(const io_train_log *log, const char *line, io_train_row *row, io_error *error)
{
    double v[COLUMNS + 1];
    int bit = (int)log->count, number = bit + 3;
    if (!parse_numbers(line, log->count, v))
        return io_fail(error, "%s line %d: not a row for bit %d", log->path, number, bit);
    for (int box = 1, at = 5; box <= 2; box++, at += 4) {
        if (!is_box(v + at))
            return io_fail(error, "%s line %d: box %d of bit %d: channel %g, centre (%g, %g), radius %g is no box",
                           log->path, number, box, bit, v[at], v[at + 1], v[at + 2], v[at + 3]);
    }
    if (!(v[13] >= -256 && v[13] <= 256))
        return io_fail(error, "%s line %d: threshold %g of bit %d is not between -256 and 256", log->path, number,
                       v[13], bit);
    kb_box_pair p = {(uint8_t)v[5],  (uint8_t)v[6],  (uint8_t)v[7],  (uint8_t)v[8], (uint8_t)v[9],
                     (uint8_t)v[10], (uint8_t)v[11], (uint8_t)v[12], (float)v[13]};
    *row = (io_train_row){v[1], v[2], v[3], v[4], p};
    return true;
}

/* Cuts the first line off *text; NULL when no whole line is left. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = 0;
    *text = end + 1;
    return line;
}

static bool parse_log(io_train_log *log, char *text, uint64_t settings, io_error *error)
{
    char *line = next_line(&text);
    unsigned long long found;
    if (!line || sscanf(line, "# settings %16llx", &found) != 1)
        return io_fail(error, "%s: not the log of a training", log->path);
    if (found != settings)
        return io_fail(error, "%s: a training with other settings or other patches; start anew without --resume",
                       log->path);
    line = next_line(&text);
    if (!line || strncmp(line, header, strlen(header) - 1) != 0)
        return io_fail(error, "%s line 2: not the names of the columns", log->path);
    while ((line = next_line(&text))) {
        if (log->count == log->capacity) return io_fail(error, "%s: more than %d bits", log->path, (int)log->capacity);
        if (!parse_row(log, line, &log->rows[log->count], error)) return false;
        log->count++;
    }
    return true;
}

/* ---- the log ---- */

static bool read_log(io_train_log *log, uint64_t settings, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(log->path, &bytes, error)) return false;
    bool read = parse_log(log, (char *)bytes.data, settings, error);
    io_bytes_free(&bytes);
    return read;
}

/* Writes the rows that are there as a new file, in one step: whatever happens, they are not lost. */
static bool write_log(const io_train_log *log, uint64_t settings, io_error *error)
{
    io_writer *writer = io_writer_open(log->path, error);
    if (!writer) return false;
    FILE *file = io_writer_file(writer);
    fprintf(file, "# settings %016llx\n%s", (unsigned long long)settings, header);
    for (int32_t i = 0; i < log->count; i++) print_row(file, i, &log->rows[i]);
    return io_writer_commit(writer, error);
}

bool io_train_log_open(io_train_log *log, const char *path, uint64_t settings, int32_t bits, bool go_on,
                       io_error *error)
{
    *log = (io_train_log){.path = path, .rows = io_alloc((size_t)bits, sizeof *log->rows), .capacity = bits};
    bool ok = (!go_on || !io_path_exists(path) || read_log(log, settings, error)) && write_log(log, settings, error);
    if (ok) {
        log->file = fopen(path, "a");
        if (!log->file) ok = io_fail(error, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (!ok) io_train_log_close(log, NULL);
    return ok;
}

bool io_train_log_add(io_train_log *log, const io_train_row *row, io_error *error)
{
    print_row(log->file, log->count, row);
    log->rows[log->count++] = *row;
    return io_stream_sync(log->file) || io_fail(error, "%s: cannot be written: %s", log->path, strerror(errno));
}

bool io_train_log_close(io_train_log *log, io_error *error)
{
    bool written = !log->file || fclose(log->file) == 0;
    free(log->rows);
    *log = (io_train_log){.path = log->path};
    return written || io_fail(error, "%s: cannot be written: %s", log->path, strerror(errno));
}
