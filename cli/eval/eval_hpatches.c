/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval hpatches: options in, tables or JSON out; the protocol is eval/hpatches.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/hpatches.h"
#include "eval/hpatches_splits.h"
#include "eval_common.h"

typedef struct hpatches_job {
    eval_options eval;
    ev_hpatches_options options;
    int64_t pairs;
} hpatches_job;

/* ---- options ---- */

static bool take_tasks(cli_common *common, const char *option, const char *text, void *target)
{
    unsigned *wanted = target;
    static const char *const words[] = {"verification", "matching", "retrieval", NULL};
    char *list = io_copy_string(text);
    bool good = true;
    *wanted = 0;
    for (char *rest = list, *word; good && (word = strsep(&rest, ",")) != NULL;) {
        int index = 0;
        good = cli_choice(common, option, word, words, &index);
        if (good) *wanted |= 1u << index;
    }
    free(list);
    return good;
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

static void hpatches_json(io_json *json, const char *model, const ev_hpatches_options *options,
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

static const char *hpatches_cell(char buffer[16], double value)
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

static void hpatches_print_table(const eval_methods *methods, const ev_hpatches_options *options,
                        const ev_hpatches_result *results)
{
    char cells[3][16];
    printf("%-28s %12s %12s %12s\n", "", "verification", "matching", "retrieval");
    for (size_t m = 0; m < methods->count; m++) {
        const ev_hpatches_result *r = &results[m];
        printf("%-28s %12s %12s %12s\n", cli_shown(methods->items[m].name), hpatches_cell(cells[0], r->verification),
               hpatches_cell(cells[1], r->matching), hpatches_cell(cells[2], r->retrieval));
        if (methods->count == 1) print_details(options, r);
    }
}

static void hpatches_print_json(const eval_methods *methods, const ev_hpatches_options *options,
                                const ev_hpatches_facts *facts, const ev_hpatches_result *results)
{
    io_json json;
    io_json_begin(&json, stdout);
    if (methods->count > 1) io_json_array(&json, NULL);
    for (size_t m = 0; m < methods->count; m++)
        hpatches_json(&json, methods->items[m].name, options, facts, &results[m]);
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

static int hpatches_evaluate(const cli_common *common, const eval_options *own, const char *folder,
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
        if (common->json) hpatches_print_json(&methods, options, &facts, results);
        else hpatches_print_table(&methods, options, results);
    }
    free(results);
    eval_methods_free(&methods);
    return code;
}

static int hpatches_run(cli_common *common, void *context, int count, char **arguments)
{
    hpatches_job *job = context;
    ev_hpatches_options *options = &job->options;
    (void)count;
    options->pairs = (size_t)job->pairs;
    options->cache = job->eval.cache;
    options->parallel = common->parallel;
    options->quiet = common->quiet;
    return hpatches_evaluate(common, &job->eval, arguments[0], options);
}

static void hpatches_begin(void *job)
{
    ((hpatches_job *)job)->options.wanted = EV_VERIFICATION | EV_MATCHING | EV_RETRIEVAL;
}

static void hpatches_end(void *job) { eval_options_end(&((hpatches_job *)job)->eval); }

static const cli_option hpatches_options[] = {
    CLI_GROUP(hpatches_job, eval, eval_method_options),
    CLI_SECTION("Tasks"),
    {"task", 0, CLI_CALL(hpatches_job, options.wanted), "LIST", .take = take_tasks,
     .help = "verification, matching, retrieval, separated by commas (default: all three)"},
    {"split", 0, CLI_CHOICE(hpatches_job, options.split, 0), "NAME", "full", .words = ev_hpatches_split_names,
     .help = "; full takes any other sequence in DIR too"},
    {"tasks", 0, CLI_TEXT(hpatches_job, options.tasks), "DIR",
     .help = "the benchmark's task files; missing ones are drawn again as the benchmark did"},
    {"pairs", 0, CLI_NUMBER(hpatches_job, pairs, 1000, EV_VERIFICATION_PAIRS), "N", "1000000",
     .help = "pairs of each kind when verification is drawn"},
    CLI_SECTION("Other options"),
    {"export-csv", 0, CLI_TEXT(hpatches_job, options.export_csv), "DIR",
     .help = "write descriptors too, as the benchmark reads them: DIR/MODEL/SEQUENCE/TYPE.csv"},
    {"cache", 0, CLI_TEXT(hpatches_job, eval.cache), "DIR",
     .help = "keep descriptors there, so that an interrupted run goes on"},
    {0}};

const cli_command eval_hpatches = {
    .name = "eval hpatches",
    .examples = "hpatches -m bad256,hashsift256 # the three tasks",
    .summary = "verification, matching and retrieval on HPatches' patches",
    .usage = "DIR [-m LIST] [options]",
    .about = "DIR is the patch release of HPatches, or some of its sequences, or one: folders with ref.png, e1.png .. "
             "t5.png. Computes verification, matching and retrieval as the benchmark's Python does; numbers are from 0 "
             "to 1.",
    .options = hpatches_options,
    .least = 1,
    .most = 1,
    .wants = "it takes one folder",
    .job_size = sizeof(hpatches_job),
    .begin = hpatches_begin,
    .run = hpatches_run,
    .end = hpatches_end};
