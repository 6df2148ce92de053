/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints as CSV: a header line that names the columns, then one keypoint a line. */
#include "io/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/number.h"
#include "io/text.h"

enum { COLUMN_X, COLUMN_Y, COLUMN_SIZE, COLUMN_ANGLE, COLUMN_RESPONSE, COLUMN_OCTAVE, COLUMN_CLASS, KNOWN_COLUMNS };

static const char *const column_names[KNOWN_COLUMNS] = {"x", "y", "size", "angle", "response", "octave", "class_id"};

/* Where in a line each known column stands; -1: nowhere. */
typedef struct layout {
    int place[KNOWN_COLUMNS];
    int columns;
} layout;

/* Cuts the next field off *rest, without the spaces around it; NULL when the line is over. */
static char *next_field(char **rest)
{
    char *field = *rest;
    if (!field) return NULL;
    char *comma = strchr(field, ',');
    if (comma) *comma = 0;
    *rest = comma ? comma + 1 : NULL;
    field += strspn(field, " \t");
    size_t length = strlen(field);
    while (length && strchr(" \t", field[length - 1])) field[--length] = 0;
    return field;
}

/* Cuts the next line off *rest, without its line break. */
static char *next_line(char **rest)
{
    char *line = *rest;
    if (!line) return NULL;
    char *end = strchr(line, '\n');
    *rest = end ? end + 1 : NULL;
    if (!end) end = line + strlen(line);
    *end = 0;
    if (end > line && end[-1] == '\r') end[-1] = 0;
    return line;
}

static bool is_blank(const char *line) { return line[strspn(line, " \t\r")] == 0; }

static bool read_header(const char *path, char *line, layout *columns, io_error *error)
{
    for (int i = 0; i < KNOWN_COLUMNS; i++) columns->place[i] = -1;
    columns->columns = 0;
    if (strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3; /* the mark that some editors put in front of UTF-8 */
    for (char *field; (field = next_field(&line)); columns->columns++) {
        for (int i = 0; i < KNOWN_COLUMNS; i++) {
            if (strcasecmp(field, column_names[i]) != 0) continue;
            if (columns->place[i] >= 0) return io_fail(error, "%s:1: column %s is there twice", path, column_names[i]);
            columns->place[i] = columns->columns;
        }
    }
    for (int i = COLUMN_X; i <= COLUMN_SIZE; i++) {
        if (columns->place[i] < 0) {
            return io_fail(error, "%s:1: the header has no column %s (expected x,y,size,angle,response,octave)", path,
                           column_names[i]);
        }
    }
    return true;
}

/* Numbers that are not finite are passed on: describing flags such keypoints. */
static bool set_field(kb_keypoint *keypoint, int column, double value)
{
    if (column == COLUMN_OCTAVE || column == COLUMN_CLASS) {
        if (!(value >= INT32_MIN && value <= INT32_MAX) || value != floor(value)) return false;
        if (column == COLUMN_OCTAVE) keypoint->octave = (int32_t)value;
        else keypoint->class_id = (int32_t)value;
        return true;
    }
    float *const fields[] = {&keypoint->x, &keypoint->y, &keypoint->size, &keypoint->angle, &keypoint->response};
    *fields[column] = (float)value;
    return true;
}

static bool read_keypoint(const char *path, size_t number, char *line, const layout *columns, kb_keypoint *keypoint,
                          io_error *error)
{
    *keypoint = (kb_keypoint){.angle = -1, .class_id = -1};
    int place = 0;
    for (char *field; (field = next_field(&line)); place++) {
        for (int i = 0; i < KNOWN_COLUMNS; i++) {
            double value;
            if (columns->place[i] != place) continue;
            if (!io_number_is(field, &value) || !set_field(keypoint, i, value)) {
                return io_fail(error, "%s:%zu: %s is \"%.40s\", not %s number", path, number, column_names[i], field,
                               i >= COLUMN_OCTAVE ? "a whole" : "a");
            }
        }
    }
    if (place == columns->columns) return true;
    return io_fail(error, "%s:%zu: %d values, but the header has %d columns", path, number, place, columns->columns);
}

static bool parse(const char *path, char *text, io_keypoints *out, io_error *error)
{
    char *rest = text;
    char *line = next_line(&rest);
    layout columns;
    if (is_blank(line)) return io_fail(error, "%s:1: no header line x,y,size,angle,response,octave", path);
    if (!read_header(path, line, &columns, error)) return false;
    size_t capacity = 0;
    for (size_t number = 2; (line = next_line(&rest)); number++) {
        if (is_blank(line)) continue;
        if (out->count == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            out->items = io_grow(out->items, capacity, sizeof *out->items);
        }
        if (!read_keypoint(path, number, line, &columns, &out->items[out->count], error)) return false;
        out->count++;
    }
    return true;
}

bool io_keypoints_read(const char *path, io_keypoints *out, io_error *error)
{
    io_bytes text;
    *out = (io_keypoints){NULL, 0};
    if (!io_text_read(path, &text, error)) return false;
    bool ok = parse(path, (char *)text.data, out, error);
    io_bytes_free(&text);
    if (!ok) io_keypoints_free(out);
    return ok;
}

void io_keypoints_free(io_keypoints *keypoints)
{
    free(keypoints->items);
    *keypoints = (io_keypoints){NULL, 0};
}

bool io_keypoints_write(const char *path, const kb_keypoint *keypoints, size_t count, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *file = io_writer_file(writer);
    fputs("x,y,size,angle,response,octave\n", file);
    for (size_t i = 0; i < count; i++) {
        const kb_keypoint *k = &keypoints[i];
        const float values[] = {k->x, k->y, k->size, k->angle, k->response};
        char text[32];
        for (int c = 0; c < 5; c++) fprintf(file, "%s,", io_number_format(text, (double)values[c], 9));
        fprintf(file, "%d\n", (int)k->octave);
    }
    return io_writer_commit(writer, error);
}

void io_csv_text(FILE *file, const char *text)
{
    size_t room = 4 * strlen(text) + 1;
    char *shown = io_printable(io_alloc(room, 1), room, text);
    bool quoted = strpbrk(shown, ",\"") != NULL;
    if (quoted) fputc('"', file);
    for (const char *at = shown; *at; at++) {
        if (*at == '"') fputc('"', file);
        fputc(*at, file);
    }
    if (quoted) fputc('"', file);
    free(shown);
}
