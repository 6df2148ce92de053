/* keybits eval hpatches: options in, tables or JSON out; the protocol is eval/hpatches.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/hpatches.h"
#include "eval/hpatches_splits.h"
#include "eval_common.h"

const char eval_hpatches_help[] =
    "usage: keybits eval hpatches DIR [options]\n"
    "DIR is the patch release of HPatches, or some of its sequences, or one: folders with ref.png, e1.png\n"
    ".. t5.png. Computes verification, matching and retrieval as the benchmark's Python does; numbers are\n"
    "from 0 to 1.\n"
    "\n"
    EVAL_METHOD_HELP
    "\n"
    "Tasks\n"
    "  --task LIST        verification, matching, retrieval, separated by commas (default: all three)\n"
    "  --split NAME       a, b, c, full, illum or view (default full, which takes any other sequence in DIR too)\n"
    "  --tasks DIR        the benchmark's task files; missing ones are drawn again as the benchmark did\n"
    "  --pairs N          pairs of each kind when verification is drawn, 1000 to 1000000 (default 1000000)\n"
    "\n"
    "Other options\n"
    "  --export-csv DIR   write descriptors too, as the benchmark reads them: DIR/MODEL/SEQUENCE/TYPE.csv\n"
    "  --cache DIR        keep descriptors there, so that an interrupted run goes on\n"
    "\n"
    CLI_COMMON_HELP;

enum { OPTION_TASK = EVAL_OPTION_OWN, OPTION_SPLIT, OPTION_TASKS, OPTION_PAIRS, OPTION_EXPORT_CSV };

static const struct option longs[] = {
    EVAL_METHOD_OPTIONS,
    {"cache", required_argument, NULL, EVAL_OPTION_CACHE},
    {"task", required_argument, NULL, OPTION_TASK},
    {"split", required_argument, NULL, OPTION_SPLIT},
    {"tasks", required_argument, NULL, OPTION_TASKS},
    {"pairs", required_argument, NULL, OPTION_PAIRS},
    {"export-csv", required_argument, NULL, OPTION_EXPORT_CSV},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- options ---- */

static bool take_tasks(cli_common *common, const char *text, unsigned *wanted)
{
    static const char *const words[] = {"verification", "matching", "retrieval", NULL};
    char *list = io_copy_string(text);
    bool good = true;
    *wanted = 0;
    for (char *rest = list, *word; good && (word = strsep(&rest, ",")) != NULL;) {
        int index = 0;
        good = cli_choice(common, "--task", word, words, &index);
        if (good) *wanted |= 1u << index;
    }
    free(list);
    return good;
}

static bool take_option(void *job, eval_options *own, cli_common *common, int option)
{
    ev_hpatches_options *options = job;
    int index;
    int64_t value;
    switch (option) {
    case OPTION_TASK: return take_tasks(common, optarg, &options->wanted);
    case OPTION_SPLIT:
        options->split = optarg;
        return cli_choice(common, "--split", optarg, ev_hpatches_split_names, &index);
    case OPTION_TASKS: options->tasks = optarg; return true;
    case OPTION_EXPORT_CSV: options->export_csv = optarg; return true;
    case OPTION_PAIRS:
        if (!cli_integer(common, "--pairs", optarg, 1000, EV_VERIFICATION_PAIRS, &value)) return false;
        options->pairs = (size_t)value;
        return true;
    default: return eval_option(own, common, option);
    }
}

/* ---- output ---- */

static void json_noises(io_json *json, const char *key, const double *values)
{
    io_json_object(json, key);
    for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++)
        io_json_number(json, ev_hpatches_noises[noise], values[noise]);
    io_json_end(json);
}

static void json_verification(io_json *json, const char *key, const double values[EV_HPATCHES_NOISES][2])
{
    io_json_object(json, key);
    for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++) {
        io_json_object(json, ev_hpatches_noises[noise]);
        io_json_number(json, "inter", values[noise][0]);
        io_json_number(json, "intra", values[noise][1]);
        io_json_end(json);
    }
    io_json_end(json);
}

static void json_retrieval(io_json *json, const ev_hpatches_result *result)
{
    io_json_object(json, "retrieval_map");
    for (int pool = 0; pool < EV_HPATCHES_POOLS; pool++) {
        double values[EV_HPATCHES_NOISES];
        char name[16];
        snprintf(name, sizeof name, "%d", ev_hpatches_pools[pool]);
        for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++) values[noise] = result->retrieval_map[noise][pool];
        json_noises(json, name, values);
    }
    io_json_end(json);
}

static void json_result(io_json *json, const char *model, const ev_hpatches_options *options,
                        const ev_hpatches_facts *facts, const ev_hpatches_result *result)
{
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "hpatches");
    io_json_string(json, "model", model);
    io_json_string(json, "split", options->split);
    io_json_integer(json, "sequences", (int64_t)facts->sequences);
    io_json_integer(json, "patches", (int64_t)facts->patches);
    io_json_integer(json, "task_rows_skipped", (int64_t)facts->skipped);
    io_json_number(json, "verification", result->verification);
    io_json_number(json, "matching", result->matching);
    io_json_number(json, "retrieval", result->retrieval);
    if (options->wanted & EV_VERIFICATION) {
        io_json_string(json, "verification_task", facts->verification_drawn ? "drawn" : "files");
        json_verification(json, "verification_ap", result->verification_ap);
        json_verification(json, "verification_auc", result->verification_auc);
    }
    if (options->wanted & EV_MATCHING) json_noises(json, "matching_map", result->matching_map);
    if (options->wanted & EV_RETRIEVAL) {
        io_json_string(json, "retrieval_task", facts->retrieval_drawn ? "drawn" : "files");
        json_retrieval(json, result);
    }
    io_json_end(json);
}

static const char *cell(char buffer[16], double value)
{
    if (isfinite(value)) snprintf(buffer, 16, "%.6f", value);
    else strcpy(buffer, "-");
    return buffer;
}

static void print_details(const ev_hpatches_options *options, const ev_hpatches_result *r)
{
    for (int noise = 0; noise < EV_HPATCHES_NOISES; noise++) {
        printf("  %s\n", ev_hpatches_noises[noise]);
        if (options->wanted & EV_VERIFICATION)
            printf("    verification  AP inter %.6f  intra %.6f   ROC area inter %.6f  intra %.6f\n",
                   r->verification_ap[noise][0], r->verification_ap[noise][1], r->verification_auc[noise][0],
                   r->verification_auc[noise][1]);
        if (options->wanted & EV_MATCHING) printf("    matching      mAP %.6f\n", r->matching_map[noise]);
        if (!(options->wanted & EV_RETRIEVAL)) continue;
        printf("    retrieval     mAP");
        for (int pool = 0; pool < EV_HPATCHES_POOLS; pool++)
            printf("  %d: %.6f", ev_hpatches_pools[pool], r->retrieval_map[noise][pool]);
        printf("\n");
    }
}

static void print_table(const eval_methods *methods, const ev_hpatches_options *options,
                        const ev_hpatches_result *results)
{
    char cells[3][16];
    printf("%-28s %12s %12s %12s\n", "", "verification", "matching", "retrieval");
    for (size_t m = 0; m < methods->count; m++) {
        const ev_hpatches_result *r = &results[m];
        printf("%-28s %12s %12s %12s\n", methods->items[m].name, cell(cells[0], r->verification),
               cell(cells[1], r->matching), cell(cells[2], r->retrieval));
        if (methods->count == 1) print_details(options, r);
    }
}

static void print_json(const eval_methods *methods, const ev_hpatches_options *options, const ev_hpatches_facts *facts,
                       const ev_hpatches_result *results)
{
    io_json json;
    io_json_begin(&json, stdout);
    if (methods->count > 1) io_json_array(&json, NULL);
    for (size_t m = 0; m < methods->count; m++) json_result(&json, methods->items[m].name, options, facts, &results[m]);
    if (methods->count > 1) io_json_end(&json);
}

/* ---- the run ---- */

static void say_facts(const cli_common *common, const ev_hpatches_options *options, const ev_hpatches_facts *facts)
{
    cli_say(common, "%zu sequences with %zu patches each way; split %s", facts->sequences, facts->patches,
            options->split);
    if (facts->missing > 0)
        cli_say(common, "%zu sequences of the split are not there: these are not the benchmark's numbers",
                facts->missing);
    if (facts->skipped > 0)
        cli_say(common, "%zu rows of the task files name patches that are not there", facts->skipped);
    if (facts->verification_drawn) cli_say(common, "the pairs of verification were drawn again");
    if (facts->retrieval_drawn) cli_say(common, "the queries and distractors of retrieval were drawn again");
}

static int evaluate(const cli_common *common, const eval_options *own, const char *folder,
                    const ev_hpatches_options *options)
{
    io_error error;
    if (own->export_patches) {
        if (!ev_hpatches_export_patches(folder, options, own->export_patches, &error))
            return cli_error("%s", error.text);
        return CLI_DONE;
    }
    eval_methods methods;
    if (!eval_methods_open(&methods, own->models, own->support, &own->descriptors)) return CLI_FAILED;
    ev_hpatches_result *results = io_alloc(methods.count, sizeof *results);
    ev_hpatches_facts facts;
    int code = CLI_DONE;
    if (!ev_hpatches_run(folder, methods.items, methods.count, options, &facts, results, &error)) {
        code = cli_error("%s", error.text);
    } else {
        say_facts(common, options, &facts);
        if (common->json) print_json(&methods, options, &facts, results);
        else print_table(&methods, options, results);
    }
    free(results);
    eval_methods_free(&methods);
    return code;
}

static int run(void *job, eval_options *own, cli_common *common, int count, char **arguments)
{
    ev_hpatches_options *options = job;
    if (count != 1) return cli_usage_error(common, "it takes one folder");
    if (!cli_ready(common)) return common->exit_code;
    options->cache = own->cache;
    options->parallel = common->parallel;
    options->quiet = common->quiet;
    return evaluate(common, own, arguments[0], options);
}

int eval_hpatches(int argc, char **argv)
{
    static const eval_frame frame = {
        .help = eval_hpatches_help, .shorts = "m:", .longs = longs, .take = take_option, .run = run};
    ev_hpatches_options options = {.split = "full", .wanted = EV_VERIFICATION | EV_MATCHING | EV_RETRIEVAL};
    return eval_run(&frame, &options, argc, argv);
}
