/* keybits eval energy: what a frame of the paper's application costs, with each descriptor. */
#include <math.h>
#include <stdlib.h>

#include "energy.h"
#include "eval/peers.h"
#include "eval_machine.h"
#include "io/progress.h"

const char eval_energy_help[] =
    "usage: keybits eval energy IMAGES... [options]\n"
    "The application of the paper: the first image is looked for in all others (detect, describe, match,\n"
    "fit), again and again for some seconds with each descriptor. Prints frames a second, processor time\n"
    "a frame, and the energy that the machine's own counters give, where it has any: of the whole\n"
    "machine, so let it do nothing else.\n"
    "\n"
    "  -m, --model LIST   descriptors, separated by commas (default: all built-in ones and all peers,\n"
    "                     each with its own detector, matcher and fit)\n"
    "  --seconds S        0.1 to 3600, for each descriptor (default 10)\n"
    "  --detector NAME    orb or sift, for our descriptors (default orb)\n"
    "  -n, --max-keypoints N  asked of the detector, 1 to 1000000 (default 2000)\n"
    "\n"
    CLI_COMMON_HELP
    "With peers, --threads counts for them too; the default here is 1.\n";

enum { OPTION_SECONDS = EVAL_OPTION_OWN };

static const struct option longs[] = {
    {"model", required_argument, NULL, 'm'},
    {"detector", required_argument, NULL, EVAL_OPTION_DETECTOR},
    {"max-keypoints", required_argument, NULL, 'n'},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

typedef struct cost_row {
    double frames;
    energy_cost cost;
} cost_row;

/* Passes until the time is over; at least one. */
static bool measure_one(ev_speed_set *set, const ev_method *method, kb_detector detector, double seconds, cost_row *row,
                        io_error *error)
{
    ev_speed_task *task;
    energy_meter meter;
    size_t items = 0;
    row->frames = 0;
    if (!ev_speed_task_create(set, EV_STEP_ROAD, method, detector, false, &task, error)) return false;
    bool good = ev_speed_pass(task, &items, error); /* warms up */
    double start = io_clock_seconds();
    energy_start(&meter);
    do {
        good = good && ev_speed_pass(task, &items, error);
        row->frames += (double)items;
    } while (good && io_clock_seconds() - start < seconds);
    energy_stop(&meter, &row->cost);
    ev_speed_task_free(task);
    return good;
}

static double millijoules(const cost_row *row)
{
    return row->cost.joules < 0 ? NAN : row->cost.joules * 1000 / row->frames;
}

static void print_table(const eval_methods *methods, const cost_row *rows)
{
    printf("%-28s %10s %14s %14s\n", "", "frames/s", "CPU ms/frame", "mJ/frame");
    for (size_t m = 0; m < methods->count; m++) {
        const cost_row *r = &rows[m];
        printf("%-28s %10.2f %14.2f ", methods->items[m].name, r->frames / r->cost.wall,
               r->cost.cpu * 1000 / r->frames);
        if (isfinite(millijoules(r))) printf("%14.2f\n", millijoules(r));
        else printf("%14s\n", "-");
    }
}

static void print_json(const eval_methods *methods, const ev_speed_set *set, const ev_speed_options *options,
                       const cost_row *rows)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "benchmark", "energy");
    io_json_integer(&json, "images", (int64_t)ev_speed_images(set));
    io_json_integer(&json, "threads", options->threads);
    io_json_string(&json, "counters", rows[0].cost.source);
    eval_machine_json(&json);
    io_json_array(&json, "rows");
    for (size_t m = 0; m < methods->count; m++) {
        io_json_object(&json, NULL);
        io_json_string(&json, "name", methods->items[m].name);
        io_json_number(&json, "frames", rows[m].frames);
        io_json_number(&json, "fps", rows[m].frames / rows[m].cost.wall);
        io_json_number(&json, "cpu_ms", rows[m].cost.cpu * 1000 / rows[m].frames);
        io_json_number(&json, "millijoules", millijoules(&rows[m]));
        io_json_end(&json);
    }
    io_json_end(&json);
    io_json_end(&json);
}

static int measure(void *seconds, const cli_common *common, const io_names *images, const eval_methods *methods,
                   const ev_speed_options *options)
{
    io_error error;
    ev_speed_set *set;
    if (!ev_speed_open(images, options, &set, &error)) return cli_error("%s", error.text);
    if (images->count < 2) {
        ev_speed_close(set);
        return cli_error("%s: the application needs two images or more", images->items[0]);
    }
    cost_row *rows = io_alloc(methods->count, sizeof *rows);
    io_progress progress;
    int code = CLI_DONE;
    ev_peers_threads(options->threads);
    io_progress_start(&progress, "descriptors", methods->count, options->quiet);
    for (size_t m = 0; m < methods->count && code == CLI_DONE; m++) {
        if (!measure_one(set, &methods->items[m], options->keypoints.detector, *(double *)seconds, &rows[m], &error))
            code = cli_error("%s: %s", methods->items[m].name, error.text);
        io_progress_update(&progress, m + 1);
    }
    io_progress_end(&progress);
    if (code == CLI_DONE && common->json) print_json(methods, set, options, rows);
    else if (code == CLI_DONE) print_table(methods, rows);
    if (code == CLI_DONE) cli_say(common, "energy counters: %s", rows[0].cost.source);
    free(rows);
    ev_speed_close(set);
    return code;
}

static bool take(void *seconds, eval_options *own, cli_common *common, int option)
{
    if (option != OPTION_SECONDS) return eval_option(own, common, option);
    return cli_number(common, "--seconds", optarg, 0.1, 3600, seconds);
}

static int run(void *seconds, eval_options *own, cli_common *common, int count, char **arguments)
{
    ev_speed_options options = {.repeats = 1};
    return eval_measure(own, common, count, arguments, &options, seconds, measure);
}

int eval_energy(int argc, char **argv)
{
    static const eval_frame frame = {
        .help = eval_energy_help, .shorts = "m:n:", .longs = longs, .threads = 1, .take = take, .run = run};
    double seconds = 10;
    return eval_run(&frame, &seconds, argc, argv);
}
