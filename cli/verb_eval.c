/* keybits eval BENCHMARK: each benchmark is a file cli/eval_BENCHMARK.c, and its protocol a file in eval/. */
#include <stdio.h>
#include <string.h>

#include "eval_common.h"

#define EVAL_HELP_LINE(name, summary) "  " #name ": " summary "\n"

const char verb_eval_help[] =
    "usage: keybits eval BENCHMARK ... [options]\n"
    "Measures descriptors, ours and others, by the protocols of docs/evaluation.md.\n"
    "\n"
    "Benchmarks (keybits eval BENCHMARK --help says more)\n"
    EVAL_BENCHMARKS(EVAL_HELP_LINE);

int verb_eval(int argc, char **argv)
{
    static struct {
        const char *name;
        char verb[32]; /* what messages call it */
        int (*run)(int, char **);
    } benchmarks[] = {
#define EVAL_ENTRY(name, summary) {#name, "eval " #name, eval_##name},
        EVAL_BENCHMARKS(EVAL_ENTRY)
    };
    if (argc < 2) {
        fputs(verb_eval_help, stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0) {
        fputs(verb_eval_help, stdout);
        return CLI_DONE;
    }
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++)
        if (strcmp(argv[1], benchmarks[i].name) == 0) {
            argv[1] = benchmarks[i].verb;
            return benchmarks[i].run(argc - 1, argv + 1);
        }
    cli_error("eval: no benchmark is called %s; keybits eval --help lists them", argv[1]);
    return CLI_USAGE;
}
