/* keybits eval BENCHMARK: each benchmark is a file cli/eval_BENCHMARK.c, and its protocol a file in eval/. */
#include "eval_common.h"

const char command_eval_help[] =
    "usage: keybits eval BENCHMARK ... [options]\n"
    "Measures descriptors, ours and others, by the protocols of docs/evaluation.md.\n"
    "\n"
    "Benchmarks (keybits eval BENCHMARK --help says more)\n"
    EVAL_BENCHMARKS(CLI_KIND_HELP);

int command_eval(int argc, char **argv)
{
#define EVAL_ENTRY(name, summary) CLI_KIND(eval, name)
    static cli_kind kinds[] = {EVAL_BENCHMARKS(EVAL_ENTRY)};
    return cli_run_kind(kinds, sizeof kinds / sizeof *kinds, command_eval_help, argc, argv);
}
