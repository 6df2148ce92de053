/* keybits bench: options in, a table or JSON out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "io/json.h"
#include "io/progress.h"
#ifdef KB_HAVE_EVAL
#    include "eval/peers.h"
#endif

static const char bench_help[] =
    "usage: keybits bench IMAGES... [options]\n"
    "\n"
    "Times every step on IMAGES (files, folders or @lists) and compares it with OpenCV's in the same run, where this\n"
    "program was built with OpenCV. Images 1 and 2, 3 and 4 and so on are matched with each other, so they should show "
    "the\n"
    "same. Prints milliseconds an image or pair: of each the median of the repeats, and the mean of these; after +- "
    "half\n"
    "the distance of the quartiles. With one thread it is processor time, which a busy machine does not lengthen, with "
    "more\n"
    "the time on the wall, and how many times as fast that is as one thread, by the least times of both.\n"
    "Instructions, which repeat when times do not, are shown where the system counts them.\n"
    "\n"
    "  -n, --max-keypoints N  1 to 1000000 keypoints an image (default 2000)\n"
    "  --repeats N            1 to 1000, after one to warm up (default 5)\n"
    "  --rows LIST            only these rows, separated by commas (default: all)\n"
    "  --model NAME=FILE      time a .kbm file in the place of a built-in model of the same length; may be repeated\n"
    "  --no-peers             ours alone\n"
    "  --instructions         where the system counts no instructions, let valgrind's callgrind count them, on the\n"
    "                         first two images; takes a minute or two\n"
    "  --plots FILE           also measure how cost grows with keypoints, pixels and rows, and write plots as HTML\n"
    "\n" CLI_COMMON_HELP "The default of --threads is 1 here. OpenCV gets the same number.\n";

enum { OPTION_REPEATS = CLI_OPTION_OWN, OPTION_ROWS, OPTION_MODEL, OPTION_PLOTS, OPTION_NO_PEERS, OPTION_INSTRUCTIONS };

static const struct option longs[] = {
    {"max-keypoints", required_argument, NULL, 'n'},
    {"repeats", required_argument, NULL, OPTION_REPEATS},
    {"rows", required_argument, NULL, OPTION_ROWS},
    {"model", required_argument, NULL, OPTION_MODEL},
    {"plots", required_argument, NULL, OPTION_PLOTS},
    {"no-peers", no_argument, NULL, OPTION_NO_PEERS},
    {"instructions", no_argument, NULL, OPTION_INSTRUCTIONS},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

typedef struct options {
    int64_t max_keypoints, repeats;
    const char *rows, *plots;
    bool no_peers, instructions;
    kb_model *models[BENCH_MODELS];
    const char *model_options[BENCH_MODELS]; /* what they were opened by */
} options;

/* ---- options ---- */

/* Is `name` in a list separated by commas? NULL is all names. */
static bool listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0)) return true;
    return list == NULL;
}

static bool rows_known(cli_common *common, const char *list)
{
    char *copy = io_copy_string(list);
    bool good = true;
    for (char *word = strtok(copy, ","); word && good; word = strtok(NULL, ",")) {
        int i = 0;
        while (bench_row_name(i) && strcmp(bench_row_name(i), word) != 0) i++;
        good = bench_row_name(i) != NULL;
        if (!good) common->exit_code = cli_usage_error(common, "--rows: no row is called \"%s\"", word);
    }
    free(copy);
    return good;
}

/* NAME=FILE, of the same kind and length as the built-in model NAME. */
static bool take_model(cli_common *common, options *o, const char *text)
{
    const char *equals = strchr(text, '=');
    for (int i = 0; i < BENCH_MODELS && equals; i++) {
        const char *name = bench_model_name((bench_model)i);
        if (strlen(name) != (size_t)(equals - text) || strncmp(name, text, strlen(name)) != 0) continue;
        io_error error;
        kb_model_info info;
        KB_INIT(info);
        kb_model_free(o->models[i]);
        o->models[i] = NULL;
        o->model_options[i] = text;
        if (!cli_model_open(equals + 1, &o->models[i], &error)) {
            common->exit_code = cli_error("%s", error.text);
            return false;
        }
        kb_model_get_info(o->models[i], &info);
        if (info.spec->bits == (strstr(name, "512") ? 512 : 256)) return true;
        common->exit_code =
            cli_error("%s: it has %d bits, so it cannot stand for %s", equals + 1, (int)info.spec->bits, name);
        return false;
    }
    common->exit_code =
        cli_usage_error(common, "--model takes NAME=FILE with the name of a built-in model, not \"%s\"", text);
    return false;
}

static bool take_option(cli_common *common, options *o, int option)
{
    switch (option) {
    case 'n': return cli_integer(common, "-n", optarg, 1, 1000000, &o->max_keypoints);
    case OPTION_REPEATS: return cli_integer(common, "--repeats", optarg, 1, 1000, &o->repeats);
    case OPTION_ROWS: o->rows = optarg; return rows_known(common, optarg);
    case OPTION_MODEL: return take_model(common, o, optarg);
    case OPTION_PLOTS: o->plots = optarg; return true;
    case OPTION_NO_PEERS: return o->no_peers = true;
    case OPTION_INSTRUCTIONS: return o->instructions = true;
    default: return false; /* CLI_STOP */
    }
}

/* ---- output ---- */

static void print_json(const bench_row *rows, size_t count)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_array(&json, NULL);
    for (size_t i = 0; i < count; i++) {
        const bench_row *r = &rows[i];
        io_json_object(&json, NULL);
        io_json_string(&json, "name", r->name);
        io_json_number(&json, "ms", r->ms);
        io_json_number(&json, "spread", r->spread);
        io_json_string(&json, "peer", r->peer);
        io_json_number(&json, "peer_ms", r->peer ? r->peer_ms : NAN);
        io_json_number(&json, "peer_spread", r->peer ? r->peer_spread : NAN);
        io_json_number(&json, "ratio", r->peer ? r->ms / r->peer_ms : NAN);
        io_json_integer(&json, "threads", r->threads);
        io_json_number(&json, "speedup", r->speedup);
        io_json_number(&json, "instructions", r->instructions);
        io_json_end(&json);
    }
    io_json_end(&json);
}

static void print_row(const bench_row *r)
{
    char speedup[32] = "", instructions[32] = "";
    if (!isnan(r->speedup)) snprintf(speedup, sizeof speedup, "  %.2f x one thread", r->speedup);
    if (!isnan(r->instructions))
        snprintf(instructions, sizeof instructions, "  %.2f M instructions", 1e-6 * r->instructions);
    printf("%-22s %9.3f +- %-7.3f", r->name, r->ms, r->spread);
    if (r->peer) printf(" %9.3f +- %-7.3f %6.3f of %s", r->peer_ms, r->peer_spread, r->ms / r->peer_ms, r->peer);
    printf("%s%s\n", speedup, instructions);
    fflush(stdout);
}

/* ---- the run ---- */

/* Row `index`, with instructions if they are wanted and it has none. */
static bool measure_row(const cli_common *common, const options *o, bench_set *set, const io_names *names, int index,
                        bench_row *row, io_error *error)
{
    if (!bench_row_measure(set, index, common->parallel->threads, (int)o->repeats, row, error)) return false;
    if (!o->instructions || !isnan(row->instructions)) return true;
    bench_count_job job = {.images = {names->items[0], names->items[1]}, .cpu = common->cpu,
                           .max_keypoints = (int32_t)o->max_keypoints};
    memcpy(job.models, o->model_options, sizeof job.models);
    return bench_count(&job, bench_row_name(index), bench_row_of_pairs(index), &row->instructions, error);
}

static int measure(const cli_common *common, const options *o, bench_set *set, const io_names *names)
{
    bench_row rows[32];
    bench_plot plots[BENCH_PLOTS];
    size_t count = 0, total = 0, done = 0;
    io_progress progress;
    io_error error;
    for (int i = 0; bench_row_name(i); i++) total += listed(o->rows, bench_row_name(i));
    io_progress_start(&progress, "rows", total, common->quiet);
    for (int i = 0; bench_row_name(i); i++) {
        if (!listed(o->rows, bench_row_name(i))) continue;
        if (!measure_row(common, o, set, names, i, &rows[count], &error)) return cli_error("%s", error.text);
        io_progress_wipe(&progress);
        if (!common->json) print_row(&rows[count]);
        count++;
        io_progress_update(&progress, ++done);
    }
    io_progress_end(&progress);
    if (common->json) print_json(rows, count);
    if (!o->plots) return CLI_DONE;
    if (!bench_growth(set, common, plots, &error) || !bench_page_write(o->plots, set, rows, count, plots, &error))
        return cli_error("%s", error.text);
    return CLI_DONE;
}

static int run(cli_common *common, options *o, int count, char **arguments)
{
    io_names names = {NULL, 0};
    io_error error;
    bench_set set;
    if (count < 1) return cli_usage_error(common, "it takes images");
    if (!cli_ready(common)) return common->exit_code;
    if (!io_names_images(&names, count, arguments, &error)) return cli_error("%s", error.text);
    int code;
    if (names.count < 2) {
        code = cli_error("bench: at least two images are needed, to match them");
    } else {
        bool good = bench_set_open(&set, common, &names, (int32_t)o->max_keypoints, o->models, &error);
        set.parallel = common->parallel->threads > 1 ? common->parallel : NULL;
        set.no_peers = o->no_peers;
#ifdef KB_HAVE_EVAL
        ev_peers_threads(common->parallel->threads);
#endif
        code = good ? measure(common, o, &set, &names) : cli_error("%s", error.text);
        bench_set_close(&set);
    }
    io_names_free(&names);
    return code;
}

static int bench_legacy(int argc, char **argv)
{
    cli_common common;
    options o = {.max_keypoints = 2000, .repeats = 5};
    int option, code;
    cli_begin(&common, bench_help);
    common.threads = 1;
    while ((option = cli_getopt(&common, argc, argv, "n:", longs)) != CLI_END)
        if (!take_option(&common, &o, option)) break;
    code = option == CLI_END ? run(&common, &o, argc - optind, argv + optind) : common.exit_code;
    for (int i = 0; i < BENCH_MODELS; i++) kb_model_free(o.models[i]);
    return cli_end(&common, code);
}

const cli_command command_bench = {
    .name = "bench", .summary = "time every step, next to OpenCV's", .legacy = bench_legacy, .legacy_help = bench_help};
