/* keybits eval report: results of the other benchmarks in, one page out. */
#include <stdlib.h>

#include "eval/report.h"
#include "eval_common.h"

const char eval_report_help[] =
    "usage: keybits eval report RESULT.json... -o REPORT.html [options]\n"
    "Puts results on one page: a self-contained HTML file with tables, plots, and the paper's numbers\n"
    "beside ours. The RESULTs are what the benchmarks print with --json (oxford with --curves for\n"
    "precision-recall curves, hpatches, brown, sfm, speed, energy), and what keybits train ablation\n"
    "--json prints. Descriptors of the same name in oxford and speed make the plot of accuracy against\n"
    "cost.\n"
    "\n"
    "  -o, --output FILE  the page\n"
    "  --title TEXT       (default \"keybits: evaluation\")\n"
    "\n"
    CLI_COMMON_HELP;

enum { OPTION_TITLE = EVAL_OPTION_OWN };

static const struct option longs[] = {
    {"output", required_argument, NULL, 'o'},
    {"title", required_argument, NULL, OPTION_TITLE},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

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
    ev_report report = {NULL, 0};
    io_json_value **documents = io_alloc((size_t)count, sizeof *documents);
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        documents[i] = io_json_read(paths[i], &error);
        good = documents[i] && ev_report_add(&report, paths[i], documents[i], &error);
    }
    good = good && write_page(&report, title, output, &error);
    if (good) cli_say(common, "%s: %zu results", output, report.count);
    for (int i = 0; i < count; i++)
        if (documents[i]) io_json_free(documents[i]);
    free(documents);
    ev_report_free(&report);
    return good ? CLI_DONE : cli_error("%s", error.text);
}

int eval_report(int argc, char **argv)
{
    cli_common common;
    const char *output = NULL, *title = "keybits: evaluation";
    int option;
    cli_begin(&common, eval_report_help);
    while ((option = cli_getopt(&common, argc, argv, "o:", longs)) != CLI_END) {
        if (option == 'o') output = optarg;
        else if (option == OPTION_TITLE) title = optarg;
        else return cli_end(&common, common.exit_code);
    }
    int code;
    if (argc == optind) code = cli_usage_error(&common, "it takes results, files that keybits eval ... --json printed");
    else if (!output) code = cli_usage_error(&common, "the page needs a name: -o REPORT.html");
    else code = make_report(&common, argc - optind, argv + optind, output, title);
    return cli_end(&common, code);
}
