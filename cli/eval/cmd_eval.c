/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval BENCHMARK: each benchmark is a file cli/eval_BENCHMARK.c, and its protocol a file in eval/. */
#include "eval_common.h"

#define EVAL_ENTRY(name) &eval_##name,
static const cli_command *const benchmarks[] = {EVAL_BENCHMARKS(EVAL_ENTRY) NULL};

const cli_command command_eval = {
    .name = "eval",
    .summary = "measure descriptors by the benchmarks of the field",
    .usage = "BENCHMARK ... [options]",
    .about = "Measures descriptors, ours and others, by the protocols of docs/evaluation.md. keybits bench measures "
             "time and energy.",
    .subcommands = benchmarks};
