/* SPDX-License-Identifier: Apache-2.0 */
/* keybits bench: options in, a table, JSON or a page out; what is measured is eval/bench.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "eval/peers.h"
#include "eval_common.h"

typedef struct bench_job {
    const char *models, *rows, *plots;
    int32_t max_keypoints, repeats;
    double seconds, energy_seconds;
    bool no_peers, instructions, growth;
} bench_job;

/* The models of the paper's two descriptors and of ours, as far as this build has them; malloc'ed. */
static char *default_models(void)
{
    static const char *const wanted[] = {"bad256", "bad512", "bag256", "bag512", "hashsift256", "hashsift512"};
    char list[128] = "";
    const char *name;
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
        for (int32_t i = 0; (name = kb_name(KB_NAMES_MODEL, i)) != NULL; i++)
            if (strcmp(name, wanted[w]) == 0) {
                if (*list) strcat(list, ",");
                strcat(list, name);
            }
    return io_copy_string(*list ? list : "sift");
}

/* ---------------------------------------------------------------------------------------------------- measuring */

/* Instructions by callgrind where the system counted none. */
static bool count_instructions(const cli_common *common, const bench_job *j, const ev_bench_set *set, ev_bench_row *row,
                               io_error *error)
{
    if (!j->instructions || !isnan(row->instructions)) return true;
    bench_count_job job = {.images = {set->names->items[0], set->names->items[1]},
                           .models = j->models,
                           .cpu = common->cpu,
                           .max_keypoints = j->max_keypoints};
    return bench_count(&job, row->task->name, ev_bench_of_pairs(row->task), &row->instructions, error);
}

static bool measure_rows(const cli_common *common, const bench_job *j, ev_bench_set *set, const ev_bench_tasks *tasks,
                         bench_report *report, io_error *error)
{
    io_progress progress;
    size_t total = 0, done = 0;
    bool good = true;
    for (size_t t = 0; t < tasks->count; t++) total += ev_bench_items(set, &tasks->items[t]);
    io_progress_start(&progress, "timing", total, common->quiet);
    for (size_t t = 0; t < tasks->count && good; t++) {
        ev_bench_row *row = &report->rows[t];
        good = ev_bench_measure(set, &tasks->items[t], report->plan, &progress, &done, row, error) &&
               count_instructions(common, j, set, row, error);
        io_progress_wipe(&progress);
        if (!good) break;
        if (!common->json && t == 0) bench_print_head(report);
        if (!common->json) bench_print_row(row);
        report->count++;
    }
    io_progress_end(&progress);
    return good;
}

static bool measure_energy(const cli_common *common, const bench_job *j, ev_bench_set *set, bench_report *report,
                           io_error *error)
{
    io_progress progress;
    bool good = true;
    if (!(j->energy_seconds > 0)) return true;
    report->energy = io_alloc(set->method_count, sizeof *report->energy);
    report->energy_methods = set->methods;
    io_progress_start(&progress, "energy", set->method_count, common->quiet);
    for (size_t m = 0; m < set->method_count && good; m++) {
        good = ev_bench_frames(set, &set->methods[m], j->energy_seconds, &report->energy[m], error);
        report->energy_count += good;
        io_progress_update(&progress, m + 1);
    }
    io_progress_end(&progress);
    if (good && !common->json) bench_print_energy(report);
    return good;
}

static bool measure_growth(const cli_common *common, const bench_job *j, ev_bench_set *set, bench_report *report,
                           ev_bench_plot plots[EV_BENCH_PLOTS], io_error *error)
{
    if (j->growth) {
        if (!ev_bench_growth(set, report->plan->threads, common->quiet, plots, error)) return false;
        report->plots = plots;
        if (!common->json) bench_print_growth(plots);
    }
    return !j->plots || bench_page_write(j->plots, report, error);
}

/* -------------------------------------------------------------------------------------------------------- the run */

static int bench_set_run(const cli_common *common, const bench_job *j, ev_bench_set *set, bool peers)
{
    io_error error;
    ev_bench_tasks tasks;
    ev_bench_plan plan = {common->parallel->threads, j->repeats, j->seconds, peers, common->quiet};
    ev_bench_plot plots[EV_BENCH_PLOTS];
    bench_report report = {.set = set, .plan = &plan};
    if (!ev_bench_tasks_make(set, j->rows, &tasks, &error)) return cli_usage_error(common, "--rows: %s", error.text);
    if (peers) ev_peers_threads(plan.threads);
    ev_machine_find(&report.machine, peers);
    report.rows = io_alloc(tasks.count, sizeof *report.rows);
    bool good = ev_bench_plan_fit(set, &tasks, &plan, &error) &&
                measure_rows(common, j, set, &tasks, &report, &error) &&
                measure_energy(common, j, set, &report, &error) && 
                measure_growth(common, j, set, &report, plots, &error);
    if (good && common->json) bench_print_json(&report);
    free(report.rows);
    free(report.energy);
    ev_bench_tasks_free(&tasks);
    return good ? CLI_DONE : cli_error("%s", error.text);
}

static int bench_images(const cli_common *common, const bench_job *j, const io_names *names)
{
    io_error error;
    eval_methods methods;
    ev_bench_set set;
    const io_names no_files = {NULL, 0};
    bool peers = !j->no_peers && ev_peers_available(&error);
    if (!peers && !j->no_peers) cli_say(common, "nothing to compare with: %s", error.text);
    char *models = j->models ? io_copy_string(j->models) : default_models();
    bool opened = eval_methods_open(&methods, models, 0, &no_files);
    free(models);
    if (!opened) return CLI_FAILED;
    bool good = ev_bench_open(&set, names, methods.items, methods.count, j->max_keypoints, &error);
    set.parallel = common->parallel->threads > 1 ? common->parallel : NULL;
    int code = good ? bench_set_run(common, j, &set, peers) : cli_error("%s", error.text);
    ev_bench_close(&set);
    eval_methods_free(&methods);
    return code;
}

static int bench_run(cli_common *common, void *job, int count, char **arguments)
{
    io_names names = {NULL, 0};
    io_error error;
    int code;
    if (!cli_claim_images(common, count, arguments, &names, &error)) code = cli_error("%s", error.text);
    else if (names.count < 2)
        code = cli_error("%s: one image; at least two images are needed, to match them", names.items[0]);
    else code = bench_images(common, job, &names);
    io_names_free(&names);
    return code;
}

static const cli_option bench_options[] = {
    {"model", 'm', CLI_INPUTS(bench_job, models), "LIST",
     .help =
         "descriptors, separated by commas: built-in models, .kbm files and peers such as cv:brisk, which get their "
         "own detector's keypoints (default: bad, bag and hashsift of 256 and 512 bits)"},
    {"max-keypoints", 'n', CLI_NUMBER(bench_job, max_keypoints, 1, 1000000), "N", "2000",
     .help = "keypoints per image"},
    {"rows", 0, CLI_TEXT(bench_job, rows), "LIST",
     .help = "only these rows, separated by commas; describe means all that begin so (default: all)"},
    {"seconds", 0, CLI_NUMBER(bench_job, seconds, 0, 86400), "S", "25",
     .help = "seconds for all rows together: as many images are used as fit in; 0 uses all"},
    {"repeats", 0, CLI_NUMBER(bench_job, repeats, 1, 1000), "N", "5", .help = "repeats, after one to warm up"},
    {"no-peers", 0, CLI_FLAG(bench_job, no_peers), .help = "ours alone"},
    {"instructions", 0, CLI_FLAG(bench_job, instructions),
     .help = "where the system counts no instructions, let valgrind's callgrind count them, on the first two images; "
             "takes a minute or two"},
    {"energy", 0, CLI_NUMBER(bench_job, energy_seconds, 0, 3600), "S", "0",
     .help = "seconds for each descriptor: the first image is looked for in the others (detect, describe, match, fit); "
             "prints frames per second, processor time and energy per frame, where the machine has counters. These are "
             "of the whole machine, so let it do nothing else"},
    {"growth", 0, CLI_FLAG(bench_job, growth),
     .help = "also how time and memory grow with keypoints, pixels, rows, words and images, over two decades each: the "
             "ends of every curve, and the power of its growth over the last decade, where 1 is in proportion; takes "
             "some 20 seconds"},
    {"plots", 0, CLI_OUTPUT(bench_job, plots), "FILE.html",
     .help = "a page with the rows and, with --growth, plots of the growth"},
    {0}};

const cli_command command_bench = {
    .name = "bench",
    .examples = "photos # beside OpenCV\n"
                "photos --rows describe -m bag256,cv:orb # some rows",
    .summary = "time every step, next to OpenCV's",
    .usage = "IMAGE... [--seconds S] [--rows LIST] [-m LIST] [options]",
    .about = "Times every step of the pipeline and compares it with OpenCV's in the same run, where the module "
             "keybits-peers.so is there. Images 1 and 2, 3 and 4 and so on are matched with each other, so they should "
             "show the same. " CLI_IMAGES_HELP
             "\n\n"
             "Prints milliseconds per image or pair: the mean over images of the median of the repeats, and half the "
             "distance of the quartiles. With one thread it is processor time, which a busy machine does not lengthen; "
             "with more it is wall-clock time, and how many times as fast that is as one thread, by the least times of "
             "both. Instructions, which repeat when times do not, are shown where the system counts them.",
    .notes = "OpenCV gets the same number of threads.",
    .options = bench_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "it takes images",
    .reads_arguments = true,
    .threads = 1,
    .job_size = sizeof(bench_job),
    .run = bench_run};
