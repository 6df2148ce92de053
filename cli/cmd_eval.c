/* keybits eval BENCHMARK: each benchmark is a file cli/eval_BENCHMARK.c, and its protocol a file in eval/. */
#include "eval_common.h"

static const char eval_help[] =
    "usage: keybits eval BENCHMARK ... [options]\n"
    "Measures descriptors, ours and others, by the protocols of docs/evaluation.md.\n"
    "\n"
    "Benchmarks (keybits eval BENCHMARK --help says more)\n"
    EVAL_BENCHMARKS(CLI_KIND_HELP);

static int eval_legacy(int argc, char **argv)
{
#define EVAL_ENTRY(name, summary) CLI_KIND(eval, name)
    static cli_kind kinds[] = {EVAL_BENCHMARKS(EVAL_ENTRY)};
    return cli_run_kind(kinds, sizeof kinds / sizeof *kinds, eval_help, argc, argv);
}

const cli_command command_eval = {
    .name = "eval", .summary = "measure descriptors by the benchmarks of the field", .legacy = eval_legacy, .legacy_help = eval_help};
