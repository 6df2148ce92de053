/* SPDX-License-Identifier: Apache-2.0 */
/* keybits patches show and info: looking into a set. */
#include <stdlib.h>
#include <string.h>

#include "io/draw.h"
#include "io/json.h"
#include "patches.h"

/* ----------------------------------------------------------------------------------------------------------- show */

typedef struct sheet_job {
    const char *output;
    int64_t points, columns, patches, magnify, seed;
} sheet_job;

static void draw_patch(io_canvas *canvas, const uint8_t *pixels, int32_t side, int32_t magnify, int32_t x, int32_t y)
{
    int32_t large = side * magnify;
    uint8_t *grown = io_alloc((size_t)large * (size_t)large, 1);
    for (int32_t i = 0; i < large; i++) {
        for (int32_t j = 0; j < large; j++) grown[i * large + j] = pixels[(i / magnify) * side + j / magnify];
    }
    io_image image = {.width = large, .height = large, .layout = IO_GRAY8, .pixels = grown};
    io_draw_image(canvas, &image, x, y);
    free(grown);
}

/* Octaves are drawn in two rows, the whole region first, this many px apart. */
#define OCTAVE_GAP 1
/* Width in px of a patch as it is drawn, with some room between octaves of one and of the next. */
static int32_t drawn_width(const kbi_patch_set *set, int32_t magnify)
{
    return set->side == KB_OCTAVE_SIDE ? 2 * KB_OCTAVE_SIDE * magnify + 5 * OCTAVE_GAP : set->side * magnify;
}

static void draw_octaves(io_canvas *canvas, const uint8_t *pixels, int32_t magnify, int32_t x, int32_t y)
{
    int32_t step = KB_OCTAVE_SIDE * magnify + OCTAVE_GAP;
    for (int32_t k = 0; k < KB_OCTAVES; k++, pixels += KB_OCTAVE_SIDE * KB_OCTAVE_SIDE)
        draw_patch(canvas, pixels, KB_OCTAVE_SIDE, magnify, x + k % 2 * step, y + k / 2 * step);
}

static void draw_point(io_canvas *canvas, const kbi_patch_set *set, size_t point, const sheet_job *s, int32_t x,
                       int32_t y)
{
    int32_t magnify = (int32_t)s->magnify;
    char words[32];
    size_t start = set->first[point], count = set->first[point + 1] - start;
    snprintf(words, sizeof words, "%zu: %zu", point, count);
    io_draw_text(canvas, x, y, 1, (io_colour){200, 200, 120}, words);
    for (size_t k = 0; k < count && (int64_t)k < s->patches; k++) {
        const uint8_t *pixels = set->pixels + (start + k) * kbi_patch_bytes(set->side);
        int32_t left = x + (int32_t)k * (drawn_width(set, magnify) + 2);
        if (set->side == KB_OCTAVE_SIDE) draw_octaves(canvas, pixels, magnify, left, y + 9);
        else draw_patch(canvas, pixels, set->side, magnify, left, y + 9);
    }
}

static bool draw_sheet(const char *path, const kbi_patch_set *set, const sheet_job *s, io_error *error)
{
    int32_t wide = drawn_width(set, (int32_t)s->magnify), strip = (int32_t)s->patches * (wide + 2) + 12;
    int32_t line = wide + 13, columns = (int32_t)s->columns;
    int64_t points = s->points < (int64_t)set->points ? s->points : (int64_t)set->points;
    int32_t rows = ((int32_t)points + columns - 1) / columns;
    io_canvas canvas;
    if (!io_canvas_create(&canvas, strip * columns + 4, line * rows + 4, (io_colour){32, 32, 32}, error)) return false;
    for (int64_t i = 0; i < points; i++) {
        /* Spread over the set, since neighbours come from one image. */
        size_t point = (size_t)((uint64_t)i * set->points / (uint64_t)points);
        draw_point(&canvas, set, point, s, 4 + (int32_t)(i % columns) * strip, 4 + (int32_t)(i / columns) * line);
    }
    bool ok = io_canvas_write(path, &canvas, error);
    io_canvas_free(&canvas);
    return ok;
}

static int patches_show_run(cli_common *common, void *context, int count, char **arguments)
{
    sheet_job *s = context;
    kbi_patch_set set;
    io_error error;
    (void)count;
    if (!s->output) return cli_usage_error(common, "needs -o SHEET.png");
    if (io_path_is_plain(s->output) && !io_path_has_suffix(s->output, ".png"))
        return cli_usage_error(common, "the picture %s must end in .png", s->output);
    size_t most = (size_t)(s->points * s->patches) + 2; /* enough for the sheet, whatever the size of the file */
    if (!patch_set_load(arguments[0], most, (uint64_t)s->seed, &set, &error)) return cli_error("%s", error.text);
    if (s->magnify == 0) s->magnify = set.side <= 32 ? 2 : 1;
    bool ok = draw_sheet(s->output, &set, s, &error);
    if (ok && common->json) {
        io_json json;
        io_json_begin(&json, stdout);
        io_json_object(&json, NULL);
        io_json_string(&json, "set", arguments[0]);
        io_json_string(&json, "picture", s->output);
        io_json_end(&json);
    }
    kbi_patch_set_free(&set);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

static const cli_option show_options[] = {
    {"output", 'o', CLI_OUTPUT(sheet_job, output), "FILE", .help = "the picture; required"},
    {"points", 0, CLI_NUMBER(sheet_job, points, 1, 2000), "N", "90", .help = "points, chosen by the seed"},
    {"columns", 0, CLI_NUMBER(sheet_job, columns, 1, 10), "N", "3", .help = "strips side by side"},
    {"patches", 0, CLI_NUMBER(sheet_job, patches, 2, 32), "N", "6", .help = "patches per point at most"},
    {"magnify", 0, CLI_NUMBER(sheet_job, magnify, 1, 8), "N",
     .help = "(default 2 for octaves and patches of 32x32, else 1)"},
    {"seed", 0, CLI_NUMBER(sheet_job, seed, 0, CLI_NO_LIMIT), "N", "1", .help = "decides which points are shown"},
    {0}};

const cli_command patches_show = {
    .name = "patches show",
    .examples = "set.kbp -o sheet.png # look at them",
    .summary = "a contact sheet of points and their patches, as PNG",
    .usage = "SET.kbp -o SHEET.png [options]",
    .about = "Draws points of a set, one strip each with all its patches side by side.",
    .options = show_options,
    .least = 1,
    .most = 1,
    .wants = "takes one set",
    .reads_arguments = true,
    .job_size = sizeof(sheet_job),
    .run = patches_show_run};

/* ----------------------------------------------------------------------------------------------------------- info */

typedef struct summary {
    io_patch_info info;
    size_t points, singletons, most, views;
} summary;

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static void count_labels(uint32_t *labels, size_t n, summary *out)
{
    if (n) qsort(labels, n, sizeof *labels, compare_numbers);
    for (size_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && labels[end] == labels[start];) end++;
        out->points++;
        out->singletons += end - start == 1;
        if (end - start > out->most) out->most = end - start;
    }
}

static size_t count_distinct(uint32_t *values, size_t n)
{
    size_t distinct = n > 0;
    if (n) qsort(values, n, sizeof *values, compare_numbers);
    for (size_t i = 1; i < n; i++) distinct += values[i] != values[i - 1];
    return distinct;
}

/* Reads every patch, so that damage is found. */
static bool summarise(const char *path, summary *out, io_error *error)
{
    *out = (summary){0};
    io_patch_reader *reader = io_patch_reader_open(path, &out->info, error);
    if (!reader) return false;
    size_t n = (size_t)out->info.patches;
    uint8_t *pixels = io_alloc(kbi_patch_bytes(out->info.side), 1);
    uint32_t *labels = io_alloc(n, sizeof *labels), *views = io_alloc(n, sizeof *views);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) ok = io_patch_reader_at(reader, i, &labels[i], &views[i], pixels, error);
    if (ok) {
        count_labels(labels, n, out);
        out->views = count_distinct(views, n);
    }
    free(pixels);
    free(labels);
    free(views);
    io_patch_reader_close(reader);
    return ok;
}

static void patches_info_json(const summary *summaries, char *const *paths, int sets)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_array(&json, NULL);
    for (const summary *s = summaries; s < summaries + sets; s++) {
        io_json_object(&json, NULL);
        io_json_string(&json, "file", paths[s - summaries]);
        io_json_integer(&json, "side", s->info.side);
        io_json_float(&json, "support", s->info.support);
        io_json_integer(&json, "patches", (int64_t)s->info.patches);
        io_json_integer(&json, "points", (int64_t)s->points);
        io_json_integer(&json, "singletons", (int64_t)s->singletons);
        io_json_integer(&json, "most", (int64_t)s->most);
        io_json_integer(&json, "views", (int64_t)s->views);
        io_json_end(&json);
    }
    io_json_end(&json);
}

static void patches_info_text(const summary *summaries, char *const *paths, int sets)
{
    for (const summary *s = summaries; s < summaries + sets; s++) {
        printf(
            "%s: %llu patches of side %d%s, support %g, %zu points (%zu with one patch only, up to %zu patches), %zu "
            "views\n",
            cli_shown(paths[s - summaries]), (unsigned long long)s->info.patches, (int)s->info.side,
            s->info.side == KB_OCTAVE_SIDE ? " in four octaves" : "", (double)s->info.support, s->points, s->singletons,
            s->most, s->views);
    }
}

int patches_print_info(const cli_common *common, int sets, char *const *paths)
{
    io_error error;
    summary *summaries = io_alloc((size_t)sets, sizeof *summaries);
    bool ok = true;
    for (int i = 0; i < sets && ok; i++) ok = summarise(paths[i], &summaries[i], &error);
    if (!ok) cli_error("%s", error.text);
    else if (common->json) patches_info_json(summaries, paths, sets);
    else patches_info_text(summaries, paths, sets);
    free(summaries);
    return ok ? CLI_DONE : CLI_FAILED;
}

static int patches_info_run(cli_common *common, void *context, int count, char **arguments)
{
    (void)context;
    return patches_print_info(common, count, arguments);
}

const cli_command patches_info = {
    .name = "patches info",
    .examples = "set.kbp # points and patches",
    .summary = "what is in a set",
    .usage = "SET.kbp... [options]",
    .about = "Reads sets from end to end and prints what is in them; a damaged patch is a failure.",
    .least = 1,
    .most = CLI_ANY,
    .wants = "name a set",
    .run = patches_info_run};
