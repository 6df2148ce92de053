/* keybits patches show and info: looking into a set. */
#include <stdlib.h>
#include <string.h>

#include "io/draw.h"
#include "io/json.h"
#include "patches.h"

static const char show_help[] =
    "usage: keybits patches show SET.kbp -o SHEET.png [options]\n"
    "Draws points of a set, one strip each with all its patches side by side.\n"
    "\n"
    "  -o, --output FILE  the picture; required\n"
    "  --points N         1 to 2000 points, chosen by the seed (default 90)\n"
    "  --columns N        1 to 10 strips side by side (default 3)\n"
    "  --patches N        2 to 32 patches of a point at most (default 6)\n"
    "  --magnify N        1 to 8 (default 2 for patches of 32x32, else 1)\n"
    "  --seed N           (default 1)\n"
    "\n" CLI_COMMON_HELP;

static const char info_help[] =
    "usage: keybits patches info SET.kbp... [options]\n"
    "Reads sets from end to end and prints what is in them; a damaged patch is a failure.\n"
    "\n" CLI_COMMON_HELP;

/* ----------------------------------------------------------------------------------------------------------- show */

typedef struct sheet {
    int64_t points, columns, patches, magnify, seed;
} sheet;

static void draw_patch(io_canvas *canvas, const uint8_t *pixels, int32_t side, int32_t magnify, int32_t x, int32_t y)
{
    int32_t large = side * magnify;
    uint8_t *grown = io_alloc((size_t)large * (size_t)large, 1);
    for (int32_t i = 0; i < large; i++) {
        for (int32_t j = 0; j < large; j++) grown[i * large + j] = pixels[(i / magnify) * side + j / magnify];
    }
    io_image image = {large, large, IO_GRAY8, grown, {0}};
    io_draw_image(canvas, &image, x, y);
    free(grown);
}

static void draw_point(io_canvas *canvas, const kbi_patch_set *set, size_t point, const sheet *s, int32_t x, int32_t y)
{
    int32_t magnify = (int32_t)s->magnify;
    char words[32];
    size_t start = set->first[point], count = set->first[point + 1] - start;
    snprintf(words, sizeof words, "%zu: %zu", point, count);
    io_draw_text(canvas, x, y, 1, (io_colour){200, 200, 120}, words);
    for (size_t k = 0; k < count && (int64_t)k < s->patches; k++) {
        draw_patch(canvas, set->pixels + (start + k) * (size_t)set->side * (size_t)set->side, set->side, magnify,
                   x + (int32_t)k * (set->side * magnify + 2), y + 9);
    }
}

static bool draw_sheet(const char *path, const kbi_patch_set *set, const sheet *s, io_error *error)
{
    int32_t strip = (int32_t)s->patches * (set->side * (int32_t)s->magnify + 2) + 12;
    int32_t line = set->side * (int32_t)s->magnify + 13, columns = (int32_t)s->columns;
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

int patches_show(int argc, char **argv)
{
    enum { POINTS = CLI_OPTION_OWN, COLUMNS, PATCHES, MAGNIFY, SEED };
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"points", required_argument, NULL, POINTS},
                                          {"columns", required_argument, NULL, COLUMNS},
                                          {"patches", required_argument, NULL, PATCHES},
                                          {"magnify", required_argument, NULL, MAGNIFY},
                                          {"seed", required_argument, NULL, SEED},
                                          CLI_COMMON_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    cli_common common;
    sheet s = {.points = 90, .columns = 3, .patches = 6, .magnify = 0, .seed = 1};
    const char *output = NULL;
    bool ok = true;
    int option;
    cli_begin(&common, show_help);
    while (ok && (option = cli_getopt(&common, argc, argv, "o:", longs)) != CLI_END) {
        switch (option) {
        case 'o': output = optarg; break;
        case POINTS: ok = cli_integer(&common, "--points", optarg, 1, 2000, &s.points); break;
        case COLUMNS: ok = cli_integer(&common, "--columns", optarg, 1, 10, &s.columns); break;
        case PATCHES: ok = cli_integer(&common, "--patches", optarg, 2, 32, &s.patches); break;
        case MAGNIFY: ok = cli_integer(&common, "--magnify", optarg, 1, 8, &s.magnify); break;
        case SEED: ok = cli_integer(&common, "--seed", optarg, 0, INT64_MAX, &s.seed); break;
        default: ok = false;
        }
    }
    if (!ok) return common.exit_code;
    if (argc - optind != 1) return cli_usage_error(&common, "takes one set");
    if (!output) return cli_usage_error(&common, "needs -o SHEET.png");

    kbi_patch_set set;
    io_error error;
    size_t most = (size_t)(s.points * s.patches) + 2; /* enough for the sheet, whatever the size of the file */
    if (!kbi_patch_set_load(argv[optind], most, (uint64_t)s.seed, &set, &error)) return cli_error("%s", error.text);
    if (s.magnify == 0) s.magnify = set.side <= 32 ? 2 : 1;
    ok = draw_sheet(output, &set, &s, &error);
    kbi_patch_set_free(&set);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

/* ----------------------------------------------------------------------------------------------------------- info */

typedef struct summary {
    kbi_patch_info info;
    size_t points, lonely, most, views;
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
        out->lonely += end - start == 1;
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
    kbi_patch_reader *reader = kbi_patch_reader_open(path, &out->info, error);
    if (!reader) return false;
    size_t n = (size_t)out->info.patches;
    uint8_t *pixels = io_alloc((size_t)out->info.side * (size_t)out->info.side, 1);
    uint32_t *labels = io_alloc(n, sizeof *labels), *views = io_alloc(n, sizeof *views);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) ok = kbi_patch_reader_at(reader, i, &labels[i], &views[i], pixels, error);
    if (ok) {
        count_labels(labels, n, out);
        out->views = count_distinct(views, n);
    }
    free(pixels);
    free(labels);
    free(views);
    kbi_patch_reader_close(reader);
    return ok;
}

static void info_json(const summary *summaries, char **paths, int sets)
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
        io_json_integer(&json, "lonely", (int64_t)s->lonely);
        io_json_integer(&json, "most", (int64_t)s->most);
        io_json_integer(&json, "views", (int64_t)s->views);
        io_json_end(&json);
    }
    io_json_end(&json);
}

static void info_text(const summary *summaries, char **paths, int sets)
{
    for (const summary *s = summaries; s < summaries + sets; s++) {
        printf("%s: %llu patches of side %d, support %g, %zu points (%zu with one patch only, up to %zu patches), %zu "
               "views\n",
               paths[s - summaries], (unsigned long long)s->info.patches, (int)s->info.side, (double)s->info.support,
               s->points, s->lonely, s->most, s->views);
    }
}

int patches_info(int argc, char **argv)
{
    static const struct option longs[] = {CLI_COMMON_OPTIONS, {NULL, 0, NULL, 0}};
    cli_common common;
    io_error error;
    cli_begin(&common, info_help);
    if (cli_getopt(&common, argc, argv, "", longs) != CLI_END) return common.exit_code;
    if (optind >= argc) return cli_usage_error(&common, "name a set");
    int sets = argc - optind;
    summary *summaries = io_alloc((size_t)sets, sizeof *summaries);
    bool ok = true;
    for (int i = 0; i < sets && ok; i++) ok = summarise(argv[optind + i], &summaries[i], &error);
    if (!ok) cli_error("%s", error.text);
    else if (common.json) info_json(summaries, argv + optind, sets);
    else info_text(summaries, argv + optind, sets);
    free(summaries);
    return ok ? CLI_DONE : CLI_FAILED;
}
