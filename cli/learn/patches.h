/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of `keybits patches`, and what those that make sets share. */
#ifndef PATCHES_H
#define PATCHES_H

#include "cli/cli.h"
#include "pipeline/patch_load.h"

extern const cli_command patches_synth, patches_colmap, patches_brown, patches_show, patches_info;

/* Sets of the same patches at several supports, written together. */
#define PATCHES_MAX_SUPPORTS 8
typedef struct patches_output {
    const char *pattern; /* -o */
    bool octaves;        /* octaves instead of 32x32 patches */
    int32_t supports;
    float support[PATCHES_MAX_SUPPORTS];
    char *path[PATCHES_MAX_SUPPORTS];
    io_patch_writer *writer[PATCHES_MAX_SUPPORTS];
} patches_output;

/* -o and --support; the job is patches_output. */
extern const cli_option patches_output_options[];
void patches_output_begin(patches_output *output); /* support 1 */
#define PATCHES_OCTAVES_HELP                                                                                           \
    "samples octaves, which bag is learned from, instead of patches of 32x32; the support is that of the whole region"

/* Names of detectors, separated by commas: bit 0 is orb, 1 sift, 2 hessian. */
bool patches_take_detectors(cli_common *common, const char *option, const char *text, void *detectors);
/* Opens a writer for every support; a wrong pattern is wrong usage. False with common->exit_code set. */
bool patches_output_open(cli_common *common, patches_output *output, int32_t side);
static inline int32_t patches_output_side(const patches_output *output)
{
    return output->octaves ? KB_OCTAVE_SIDE : KB_PATCH_SIDE;
}
/* Closes all files or, when `ok` is false, leaves nothing; with --json prints what is in them. Returns the exit
 * code. */
int patches_output_close(const cli_common *common, patches_output *output, bool ok);
/* What is in sets, as `patches info` prints it. Returns the exit code. */
int patches_print_info(const cli_common *common, int sets, char *const *paths);

#endif
