/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval brown: options in, table or JSON out; the protocol is eval/brown.h. */
#include <stdlib.h>

#include "eval/brown.h"
#include "eval_common.h"

typedef struct brown_job {
    eval_options eval;
    ev_brown_options options;
} brown_job;

static void fpr95_json(io_json *json, const kbi_fpr95 *fpr)
{
    io_json_number(json, "fpr95", 100 * fpr->rate);
    io_json_number(json, "fpr95_best", 100 * fpr->best);
    io_json_number(json, "fpr95_worst", 100 * fpr->worst);
    io_json_number(json, "fpr95_interpolated", 100 * fpr->interpolated);
}

static void json_method(io_json *json, const char *model, size_t m, const ev_brown_result *result)
{
    kbi_fpr95 mean = {0, 0, 0, 0, 0};
    double n = (double)result->count;
    for (size_t i = 0; i < result->count; i++) {
        const kbi_fpr95 *fpr = &result->sets[i].scores[m].fpr;
        mean.rate += fpr->rate / n;
        mean.best += fpr->best / n;
        mean.worst += fpr->worst / n;
        mean.interpolated += fpr->interpolated / n;
    }
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "brown");
    io_json_string(json, "model", model);
    fpr95_json(json, &mean);
    io_json_array(json, "sets");
    for (size_t i = 0; i < result->count; i++) {
        const ev_brown_set *set = &result->sets[i];
        io_json_object(json, NULL);
        io_json_string(json, "set", set->name);
        io_json_integer(json, "positives", (int64_t)set->positives);
        io_json_integer(json, "negatives", (int64_t)set->negatives);
        fpr95_json(json, &set->scores[m].fpr);
        io_json_number(json, "threshold", set->scores[m].threshold);
        io_json_end(json);
    }
    io_json_end(json);
    io_json_end(json);
}

static void brown_print_json(const eval_methods *methods, const ev_brown_result *result)
{
    io_json json;
    io_json_begin(&json, stdout);
    if (methods->count > 1) io_json_array(&json, NULL);
    for (size_t m = 0; m < methods->count; m++) json_method(&json, methods->items[m].name, m, result);
    if (methods->count > 1) io_json_end(&json);
}

static void brown_print_table(const eval_methods *methods, const ev_brown_result *result)
{
    printf("%-28s %-16s %8s %8s %8s %12s %9s\n", "", "set", "FPR95", "best", "worst", "interpolated", "T");
    for (size_t m = 0; m < methods->count; m++)
        for (size_t i = 0; i < result->count; i++) {
            const ev_brown_score *s = &result->sets[i].scores[m];
            printf("%-28s %-16s %8.2f %8.2f %8.2f %12.2f %9.4g\n", cli_shown(methods->items[m].name),
                   cli_shown(result->sets[i].name), 100 * s->fpr.rate, 100 * s->fpr.best, 100 * s->fpr.worst,
                   100 * s->fpr.interpolated, s->threshold);
        }
}

static int brown_evaluate(const cli_common *common, const eval_options *own, const char *folder,
                    const ev_brown_options *options)
{
    io_error error;
    eval_methods methods;
    ev_brown_result result;
    int code = CLI_DONE;
    if (own->export_patches) {
        if (!ev_brown_export_patches(folder, options, own->export_patches, &error)) return cli_error("%s", error.text);
        return CLI_DONE;
    }
    if (!eval_methods_open(&methods, own->models, own->support, &own->descriptors)) return CLI_FAILED;
    if (!ev_brown_run(folder, methods.items, methods.count, options, &result, &error))
        code = cli_error("%s", error.text);
    else if (common->json) brown_print_json(&methods, &result);
    else brown_print_table(&methods, &result);
    if (code == CLI_DONE) ev_brown_result_free(&result);
    eval_methods_free(&methods);
    return code;
}

static int eval_brown_run(cli_common *common, void *context, int count, char **arguments)
{
    brown_job *job = context;
    ev_brown_options *options = &job->options;
    (void)count;
    options->cache = job->eval.cache;
    options->parallel = common->parallel;
    options->quiet = common->quiet;
    return brown_evaluate(common, &job->eval, arguments[0], options);
}

static void brown_end(void *job) { eval_options_end(&((brown_job *)job)->eval); }

static const cli_option brown_options[] = {
    CLI_GROUP(brown_job, eval, eval_method_options),
    CLI_SECTION("Other options"),
    {"pairs", 0, CLI_TEXT(brown_job, options.pairs), "NAME",
     .help = "the file of pairs in every set (default: the only m50_*.txt)"},
    {"cache", 0, CLI_TEXT(brown_job, eval.cache), "DIR",
     .help = "keep descriptors there, so that an interrupted run goes on"},
    {0}};

const cli_command eval_brown = {
    .name = "eval brown",
    .examples = "notredame -m bad256,hashsift256 # false positives",
    .summary = "false positive rate at 95 % recall on Brown's patches",
    .usage = "DIR [-m LIST] [options]",
    .about =
        "DIR is a patch set of Brown (patches0000.bmp .., info.txt, m50_100000_100000_0.txt) or a folder of such "
        "sets. Prints the false positive rate at 95 % recall, in per cent: everything up to the smallest distance T "
        "that reaches 95 % is accepted. Distances are whole numbers and tie, so the bounds are printed too: \"best\" "
        "and \"worst\" take of the pairs at T only as many as are needed, right ones or wrong ones first; "
        "\"interpolated\" lies between T - 1 and T.",
    .options = brown_options,
    .least = 1,
    .most = 1,
    .wants = "it takes one folder",
    .job_size = sizeof(brown_job),
    .run = eval_brown_run,
    .end = brown_end};
