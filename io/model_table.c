/* SPDX-License-Identifier: Apache-2.0 */
/* Models as text: one row per bit. The number of columns tells the kind:
 *       6  x1 y1 x2 y2 r th               BAD, both boxes of one radius
 *       9  c1 x1 y1 r1 c2 x2 y2 r2 th     BAD, or BAG when a channel is not 0
 *     129  bias w1 ... w128               HashSIFT
 * '#' starts a comment; a comment "#: key value" says something about the table (name, sampler, support,
 * sift-support, thresholds, root, text).
 *
 * Only the sign of a HashSIFT row counts, so a row of any numbers is brought to 8-bit weights by one factor for weights
 * and bias, 127 / max |w|, rounded half away from zero. A row of whole numbers that already fit is taken as it is,
 * which makes export and import exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "model_table.h"

#define HASH_COLUMNS (KB_SIFT_VALUES + 1)
#define MAX_TEXT 65535

typedef struct table {
    const char *path;
    int columns; /* 0 before the first row */
    int32_t rows;
    size_t *lines; /* where each row stands */
    kb_box_pair *boxes;
    int8_t *weights;
    int32_t *bias;
    /* what the table says about itself */
    char name[64], sampler[16];
    double support, sift_support;
    int32_t threshold_low, threshold_high;
    bool root;
    char *text; /* with line breaks; owned */
    io_error *error;
} table;

/* ------------------------------------------------------------------------------------------------------------ rows */

static bool fail_at(const table *t, size_t line, const char *what)
{
    return io_fail(t->error, "%s:%zu: %s", t->path, line, what);
}

/* Up to HASH_COLUMNS numbers of a line; -1 when something is not a finite number. One more is counted, not stored. */
static int read_numbers(const table *t, size_t number, const char *line, double *values)
{
    int count = 0;
    for (const char *at = line + strspn(line, " \t,"); *at && *at != '#' && count <= HASH_COLUMNS;) {
        double value;
        const char *end;
        if (!io_number_parse(at, &end, &value) || !isfinite(value) || !strchr(" \t,#", *end)) {
            io_fail(t->error, "%s:%zu: \"%.*s\" is not a number", t->path, number, (int)strcspn(at, " \t,"), at);
            return -1;
        }
        if (count < HASH_COLUMNS) values[count] = value;
        count++;
        at = end + strspn(end, " \t,");
    }
    return count;
}

static bool set_boxes(table *t, size_t line, const double *v)
{
    /* The columns of kb_box_pair's bytes: channel, x, y, radius of each box; -1 stands for channel 0. */
    static const int narrow[8] = {-1, 0, 1, 4, -1, 2, 3, 4}, wide[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int *column = t->columns == 6 ? narrow : wide;
    uint8_t fields[8];
    for (int i = 0; i < 8; i++) {
        double value = column[i] < 0 ? 0 : v[column[i]];
        if (!(value >= 0 && value <= 255) || value != floor(value)) {
            return fail_at(t, line, "channels, centres and radii are whole numbers from 0 to 31");
        }
        fields[i] = (uint8_t)value;
    }
    t->boxes[t->rows] = (kb_box_pair){fields[0], fields[1], fields[2], fields[3], fields[4],
                                      fields[5], fields[6], fields[7], (float)v[t->columns - 1]};
    return true;
}

static double largest_weight(const double *weights, bool *fit)
{
    double largest = 0;
    *fit = true;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        if (weights[i] != floor(weights[i]) || fabs(weights[i]) > 127) *fit = false;
        if (fabs(weights[i]) > largest) largest = fabs(weights[i]);
    }
    return largest;
}

static bool set_projection(table *t, size_t line, const double *v)
{
    bool fit;
    double largest = largest_weight(v + 1, &fit);
    bool as_is = fit && v[0] == floor(v[0]);
    double factor = as_is ? 1 : largest > 0 ? 127 / largest : fabs(v[0]) > 0 ? 1 / fabs(v[0]) : 1;
    double bias = round(v[0] * factor);
    if (fabs(bias) > 1 << 30) return fail_at(t, line, "the bias is too large beside the weights");
    t->bias[t->rows] = (int32_t)bias;
    for (int i = 0; i < KB_SIFT_VALUES; i++) {
        t->weights[(size_t)t->rows * KB_SIFT_VALUES + (size_t)i] = (int8_t)round(v[1 + i] * factor);
    }
    return true;
}

static bool add_row(table *t, size_t line, const double *values, int count)
{
    if (t->columns == 0) {
        if (count != 6 && count != 9 && count != HASH_COLUMNS) {
            return io_fail(t->error, "%s:%zu: %s%d numbers; a row has 6 (BAD), 9 (BAG) or 129 (HashSIFT)", t->path,
                           line, count > HASH_COLUMNS ? "more than " : "", count > HASH_COLUMNS ? HASH_COLUMNS : count);
        }
        t->columns = count;
    }
    if (count != t->columns) {
        return io_fail(t->error, "%s:%zu: %s%d numbers where the rows above have %d", t->path, line,
                       count > HASH_COLUMNS ? "more than " : "", count > HASH_COLUMNS ? HASH_COLUMNS : count,
                       t->columns);
    }
    if (t->rows == KB_MAX_BITS) return fail_at(t, line, "more than 1024 rows");
    if (!(t->columns == HASH_COLUMNS ? set_projection : set_boxes)(t, line, values)) return false;
    t->lines[t->rows++] = line;
    return true;
}

/* ------------------------------------------------------------------------------------------------------- directives */

bool model_sampler(const char *name, kb_sampler *sampler)
{
    static const kb_sampler all[] = {KB_SAMPLER_PATCH, KB_SAMPLER_IMAGE, KB_SAMPLER_OCTAVES, KB_SAMPLER_CELLS};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        *sampler = all[i];
        if (strcmp(name, kb_name(KB_NAMES_SAMPLER, all[i])) == 0) return true;
    }
    return false;
}

/* "LOW HIGH"; whether they go with the model is for kb_model_create to say. */
static bool read_thresholds(table *t, size_t number, const char *text)
{
    double values[HASH_COLUMNS];
    if (read_numbers(t, number, text, values) != 2 || !(values[0] >= 0 && values[0] <= KB_MAX_BITS) ||
        !(values[1] >= 0 && values[1] <= KB_MAX_BITS))
        return fail_at(t, number, "thresholds are two distances");
    t->threshold_low = (int32_t)values[0];
    t->threshold_high = (int32_t)values[1];
    return true;
}

/* "key value" after "#:". */
static bool read_directive(table *t, size_t number, const char *line)
{
    line += strspn(line, " \t");
    size_t key = strcspn(line, " \t");
    const char *value = line + key + (line[key] != 0);
    if (key == 4 && strncmp(line, "text", key) == 0) {
        size_t old = t->text ? strlen(t->text) : 0;
        if (old + strlen(value) + 1 > MAX_TEXT) return fail_at(t, number, "the text is longer than 65535 bytes");
        bool first = t->text == NULL;
        t->text = io_grow(t->text, old + strlen(value) + 2, 1);
        sprintf(t->text + old, "%s%s", first ? "" : "\n", value);
        return true;
    }
    if (key == 4 && strncmp(line, "name", key) == 0) {
        if (strlen(value) >= sizeof t->name) return fail_at(t, number, "the name is longer than 63 bytes");
        strcpy(t->name, value);
        return true;
    }
    if (key == 7 && strncmp(line, "sampler", key) == 0) {
        kb_sampler sampler;
        if (!model_sampler(value, &sampler)) return fail_at(t, number, "sampler is image, patch, octaves or cells");
        strcpy(t->sampler, value);
        return true;
    }
    if (key == 7 && strncmp(line, "support", key) == 0) {
        return io_number_is(value, &t->support) || fail_at(t, number, "support is not a number");
    }
    if (key == 12 && strncmp(line, "sift-support", key) == 0) {
        return io_number_is(value, &t->sift_support) || fail_at(t, number, "sift-support is not a number");
    }
    if (key == 10 && strncmp(line, "thresholds", key) == 0) return read_thresholds(t, number, value);
    if (key == 4 && strncmp(line, "root", key) == 0) {
        t->root = strcmp(value, "1") == 0;
        return true;
    }
    return io_fail(t->error, "%s:%zu: nothing is known about \"%.*s\" after #:", t->path, number, (int)key, line);
}

static bool table_read_line(table *t, size_t number, const char *line)
{
    double values[HASH_COLUMNS];
    if (strncmp(line, "#:", 2) == 0) return read_directive(t, number, line + 2);
    int count = read_numbers(t, number, line, values);
    return count == 0 || (count > 0 && add_row(t, number, values, count));
}

static bool read_lines(table *t, char *text)
{
    char *rest = text;
    for (size_t number = 1; rest; number++) {
        char *line = rest, *end = strchr(line, '\n');
        rest = end ? end + 1 : NULL;
        if (!end) end = line + strlen(line);
        if (end > line && end[-1] == '\r') end--;
        *end = 0;
        if (!table_read_line(t, number, line)) return false;
    }
    if (t->rows > 0) return true;
    return io_fail(t->error, "%s: no rows of numbers", t->path);
}

/* ----------------------------------------------------------------------------------------------------------- model */

static kb_kind find_kind(const table *t)
{
    if (t->columns == HASH_COLUMNS) return KB_KIND_HASHSIFT;
    for (int32_t i = 0; i < t->rows; i++) {
        if (t->boxes[i].channel1 || t->boxes[i].channel2) return KB_KIND_BAG;
    }
    return KB_KIND_BAD;
}

static bool make_model(const table *t, const table_options *options, kb_model **out)
{
    char *stem = io_path_stem(strcmp(t->path, "-") == 0 ? "model" : t->path);
    kb_model_spec spec;
    KB_INIT(spec);
    spec.kind = find_kind(t);
    spec.bits = t->rows;
    spec.name = options->name ? options->name : t->name[0] ? t->name : stem;
    const char *sampler = options->sampler      ? options->sampler
                          : t->sampler[0]       ? t->sampler
                          : spec.kind == KB_KIND_BAD ? "image"
                          : spec.kind == KB_KIND_BAG ? "octaves"
                                                : "patch";
    if (!model_sampler(sampler, &spec.sampler)) return io_fail(t->error, "no sampler has the name %s", sampler);
    spec.support = options->support > 0 ? options->support : (float)t->support;
    spec.sift_support = options->sift_support > 0 ? options->sift_support : (float)t->sift_support;
    if (options->support == 0 && !options->sampler) { /* they belong to the bits that they were measured with */
        spec.threshold_low = t->threshold_low;
        spec.threshold_high = t->threshold_high;
    }
    spec.root = options->root || t->root;
    spec.text = t->text;
    spec.boxes = t->boxes;
    spec.weights = t->weights;
    spec.bias = t->bias;

    kb_error why;
    kb_status status = kb_model_create(&spec, NULL, out, &why);
    free(stem);
    if (status == KB_OK) return true;
    const char *words = why.text[0] ? why.text : kb_status_string(status);
    if (why.row >= 0 && why.row < t->rows) return fail_at(t, t->lines[why.row], words);
    return io_fail(t->error, "%s: %s", t->path, words);
}

bool model_table_read(const char *path, const table_options *options, kb_model **out, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    table t = {.path = path, .error = error};
    t.lines = io_alloc(KB_MAX_BITS, sizeof *t.lines);
    t.boxes = io_alloc(KB_MAX_BITS, sizeof *t.boxes);
    t.weights = io_alloc((size_t)KB_MAX_BITS * KB_SIFT_VALUES, sizeof *t.weights);
    t.bias = io_alloc(KB_MAX_BITS, sizeof *t.bias);
    bool ok = memchr(bytes.data, 0, bytes.size) ? io_fail(error, "%s: not a text file", path)
                                                : read_lines(&t, (char *)bytes.data) && make_model(&t, options, out);
    free(t.lines);
    free(t.boxes);
    free(t.weights);
    free(t.bias);
    free(t.text);
    io_bytes_free(&bytes);
    return ok;
}

/* --------------------------------------------------------------------------------------------------------- writing */

static void table_write_head(FILE *file, const kb_model_info *info)
{
    const kb_model_spec *spec = info->spec;
    char number[32];
    fprintf(file, "#: name %s\n#: sampler %s\n#: support %s\n", spec->name, kb_name(KB_NAMES_SAMPLER, spec->sampler),
            io_number_shortest(number, (double)spec->support, true));
    if (spec->sift_support > 0)
        fprintf(file, "#: sift-support %s\n", io_number_shortest(number, (double)spec->sift_support, true));
    if (spec->threshold_high > 0)
        fprintf(file, "#: thresholds %d %d\n", (int)spec->threshold_low, (int)spec->threshold_high);
    if (spec->root) fprintf(file, "#: root 1\n");
    for (const char *text = spec->text; text && *spec->text;) { /* a line end at the end makes an empty line */
        size_t length = strcspn(text, "\n");
        fprintf(file, "#: text %.*s\n", (int)length, text);
        text = text[length] ? text + length + 1 : NULL;
    }
}

static void write_boxes(FILE *file, const kb_box_pair *p, bool narrow)
{
    char threshold[32];
    io_number_shortest(threshold, (double)p->threshold, true);
    if (narrow) {
        fprintf(file, "%d %d %d %d %d %s\n", p->x1, p->y1, p->x2, p->y2, p->radius1, threshold);
    } else {
        fprintf(file, "%d %d %d %d %d %d %d %d %s\n", p->channel1, p->x1, p->y1, p->radius1, p->channel2, p->x2, p->y2,
                p->radius2, threshold);
    }
}

static bool all_narrow(const kb_model_spec *spec)
{
    for (int32_t i = 0; i < spec->bits; i++) {
        const kb_box_pair *p = &spec->boxes[i];
        if (p->channel1 || p->channel2 || p->radius1 != p->radius2) return false;
    }
    return true;
}

static void write_projection(FILE *file, const kb_model_spec *spec, int32_t row)
{
    fprintf(file, "%d", (int)spec->bias[row]);
    for (int i = 0; i < KB_SIFT_VALUES; i++)
        fprintf(file, " %d", spec->weights[(size_t)row * KB_SIFT_VALUES + (size_t)i]);
    fputc('\n', file);
}

bool model_table_write(const char *path, const kb_model_info *info, io_error *error)
{
    const kb_model_spec *spec = info->spec;
    bool boxes = spec->kind == KB_KIND_BAD || spec->kind == KB_KIND_BAG;
    if (!boxes && spec->kind != KB_KIND_HASHSIFT) return io_fail(error, "%s has no tables to export", spec->name);
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *file = io_writer_file(writer);
    table_write_head(file, info);
    bool narrow = boxes && all_narrow(spec);
    fprintf(file, "# %s\n",
            !boxes   ? "bias, then 128 weights"
            : narrow ? "x1 y1 x2 y2 r th"
                     : "c1 x1 y1 r1 c2 x2 y2 r2 th");
    for (int32_t i = 0; i < spec->bits; i++) {
        if (boxes) write_boxes(file, &spec->boxes[i], narrow);
        else write_projection(file, spec, i);
    }
    return io_writer_commit(writer, error);
}
