/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks of `keybits eval` share: the list of descriptors to compare, and where keypoints come from. */
#ifndef CLI_EVAL_COMMON_H
#define CLI_EVAL_COMMON_H

#include "cli/cli.h"
#include "eval/keypoints.h"
#include "eval/method.h"
#include "io/json.h"

typedef struct eval_methods {
    ev_method *items;
    size_t count;
} eval_methods;

/* names: built-in models, files and peers ("cv:orb"), separated by commas; support overrides the models' own unless it
 * is 0. files: rows computed elsewhere; may be empty. Says what is wrong and gives false. */
bool eval_methods_open(eval_methods *methods, const char *names, double support, const io_names *files);
void eval_methods_free(eval_methods *methods);

/* The options that the benchmarks share. */
typedef struct eval_options {
    const char *models;
    double support;
    io_names descriptors;
    const char *export_patches;
    const char *cache;
    ev_keypoint_source source;
    const char *preset;
} eval_options;

/* Tables of them; the job is eval_options. */
extern const cli_option eval_method_options[];
extern const cli_option eval_keypoint_options[]; /* hessian's, 2000 per image, unless asked otherwise */
extern const cli_option eval_sfm_keypoint_options[]; /* for reconstruction: SIFT's, 8192 */

/* Fills in what follows from the options: the kind, the preset. */
bool eval_options_settle(eval_options *options, cli_common *common);
void eval_options_end(eval_options *options);

/* What results call the set in a folder: its name, with its parent's when it is only "images"; malloc'ed. */
char *eval_set_name(const char *folder);

/* A number as a percentage for tables: "32.61", or "-" when there is none. */
const char *eval_percent(char buffer[16], double value);

/* One object, or an array of them for several descriptors: calls write for each. */
void eval_json_results(const eval_methods *methods, void (*write)(io_json *json, size_t index, const void *context),
                       const void *context);

/* The benchmarks; a new one is a file cli/eval_NAME.c and a row here. */
#define EVAL_BENCHMARKS(BENCHMARK)                                                                                     \
    BENCHMARK(oxford)                                                                                                  \
    BENCHMARK(matching) BENCHMARK(hpatches) BENCHMARK(brown) BENCHMARK(scale) BENCHMARK(sfm) BENCHMARK(pose)           \
        BENCHMARK(verify) BENCHMARK(report)
#define EVAL_DECLARE(name) extern const cli_command eval_##name;
EVAL_BENCHMARKS(EVAL_DECLARE)

#endif
