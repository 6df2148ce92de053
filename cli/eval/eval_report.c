/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval report: results of the other benchmarks in, one page out. */
#include <stdlib.h>

#include "eval/report.h"
#include "eval_common.h"

typedef struct report_job {
    const char *output, *title;
} report_job;

static bool write_page(const ev_report *report, const char *title, const char *path, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    ev_report_write(report, title, io_writer_file(writer));
    return io_writer_commit(writer, error);
}

static int make_report(const cli_common *common, int count, char **paths, const char *output, const char *title)
{
    io_error error;
    ev_report report = {0};
    io_json_value **documents = io_alloc((size_t)count, sizeof *documents);
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        documents[i] = io_json_read(paths[i], &error);
        good = documents[i] && ev_report_add(&report, paths[i], documents[i], &error);
    }
    if (good && report.count == 0) good = io_fail(&error, "none of the files has a result that the page shows");
    good = good && write_page(&report, title, output, &error);
    if (good) cli_say(common, "%s: %zu result%s", output, report.count, report.count == 1 ? "" : "s");
    if (good && report.left_out) cli_say(common, "results without a section on the page: %zu files", report.left_out);
    if (good && common->json) {
        io_json json;
        io_json_begin(&json, stdout);
        io_json_object(&json, NULL);
        io_json_string(&json, "page", output);
        io_json_integer(&json, "results", (int64_t)report.count);
        io_json_end(&json);
    }
    for (int i = 0; i < count; i++)
        if (documents[i]) io_json_free(documents[i]);
    free(documents);
    ev_report_free(&report);
    return good ? CLI_DONE : cli_error("%s", error.text);
}

static int report_run(cli_common *common, void *job, int count, char **arguments)
{
    const report_job *j = job;
    if (!j->output) return cli_usage_error(common, "the page needs a name: -o REPORT.html");
    return make_report(common, count, arguments, j->output, j->title);
}

static const cli_option report_options[] = {
    {"output", 'o', CLI_OUTPUT(report_job, output), "FILE", .help = "the page"},
    {"title", 0, CLI_TEXT(report_job, title), "TEXT", "keybits: evaluation", .help = "the title of the page"},
    {0}};

const cli_command eval_report = {
    .name = "eval report",
    .examples = "oxford.json brown.json -o report.html # one page\n"
                "results/*.json -o report.html         # of all that make results measured",
    .summary = "all results on one page",
    .usage = "RESULT.json... -o REPORT.html [options]",
    .about =
        "Puts results on one page: a self-contained HTML file with tables, plots, and, where the protocol is the same, "
        "the paper's numbers beside ours. The RESULTs are what the benchmarks print with --json (oxford with --curves "
        "for precision-recall curves, matching, hpatches, brown, sfm, pose, verify, scale), what keybits bench --json "
        "and keybits train ablation --json print, and records of these as make results writes them (results/*.json). "
        "Descriptors of the same name in oxford and bench make the plot of accuracy against cost.",
    .options = report_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "it takes results, files that keybits eval ... --json printed",
    .reads_arguments = true,
    .job_size = sizeof(report_job),
    .run = report_run};
