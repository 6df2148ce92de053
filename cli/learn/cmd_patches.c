/* SPDX-License-Identifier: Apache-2.0 */
/* keybits patches KIND: dispatch, and how sets at several supports are written. */
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "patches.h"

/* --------------------------------------------------------------------------------- options that subcommands share */

/* "1,1.3,1.6" */
static bool take_supports(cli_common *common, const char *option, const char *text, void *target)
{
    patches_output *output = target;
    io_names list = {NULL, 0};
    bool ok = true;
    io_names_split(&list, text);
    if (list.count == 0 || list.count > PATCHES_MAX_SUPPORTS) {
        common->exit_code = cli_usage_error(common, "%s takes 1 to %d numbers", option, PATCHES_MAX_SUPPORTS);
        ok = false;
    }
    for (size_t i = 0; i < list.count && ok; i++) {
        double value = 0;
        ok = cli_number(common, option, list.items[i], 0.1, 10, &value);
        output->support[i] = (float)value;
        output->supports = (int32_t)i + 1;
    }
    io_names_free(&list);
    return ok;
}

const cli_option patches_output_options[] = {
    {"output", 'o', CLI_TEXT(patches_output, pattern), "SET",
     .help = "the file to write; required. With several supports {} in it becomes the support"},
    {"support", 0, CLI_TYPE_CALL, .value = "S,...", .take = take_supports,
     .help = "0.1 to 10: patch width = preset x keypoint size x support; up to 8 of them, which make as many sets of "
             "the same points (default 1)"},
    {0}};

void patches_output_begin(patches_output *output) { *output = (patches_output){.supports = 1, .support = {1}}; }

bool patches_take_detectors(cli_common *common, const char *option, const char *text, void *detectors)
{
    io_names list = {NULL, 0};
    int32_t bits = 0;
    bool ok = true;
    io_names_split(&list, text);
    if (list.count == 0) io_names_add(&list, text); /* nothing is no name */
    for (size_t i = 0; i < list.count && ok; i++) {
        int index;
        ok = cli_choice(common, option, list.items[i], cli_detectors, &index);
        if (ok) bits |= 1 << index;
    }
    io_names_free(&list);
    if (ok) *(int32_t *)detectors = bits;
    return ok;
}

/* The pattern with {} replaced by the support. */
static char *path_for_support(const char *pattern, float support)
{
    const char *place = strstr(pattern, "{}");
    char number[32], *path = io_alloc(strlen(pattern) + sizeof number, 1);
    io_number_format(number, (double)support, 6);
    if (place) sprintf(path, "%.*s%s%s", (int)(place - pattern), pattern, number, place + 2);
    else strcpy(path, pattern);
    return path;
}

bool patches_output_open(cli_common *common, patches_output *output, int32_t side)
{
    io_error error;
    const char *pattern = output->pattern;
    if (!pattern) {
        common->exit_code = cli_usage_error(common, "needs -o SET.kbp");
        return false;
    }
    if (output->supports > 1 && !strstr(pattern, "{}")) {
        common->exit_code =
            cli_usage_error(common, "several supports need {} in the name of the output, not \"%s\"", pattern);
        return false;
    }
    for (int32_t i = 0; i < output->supports; i++) {
        output->path[i] = path_for_support(pattern, output->support[i]);
        if (cli_claim_output(common, output->path[i], &error))
            output->writer[i] = io_patch_writer_open(output->path[i], side, output->support[i], &error);
        if (output->writer[i]) continue;
        common->exit_code = cli_error("%s", error.text);
        patches_output_close(common, output, false);
        return false;
    }
    return true;
}

int patches_output_close(const cli_common *common, patches_output *output, bool ok)
{
    io_error error;
    for (int32_t i = 0; i < output->supports; i++) {
        if (!output->writer[i]) continue;
        if (!ok) io_patch_writer_abandon(output->writer[i]);
        else if (!io_patch_writer_close(output->writer[i], &error)) {
            cli_error("%s", error.text);
            ok = false;
        }
        output->writer[i] = NULL;
    }
    if (ok && common->json) ok = patches_print_info(common, output->supports, output->path) == CLI_DONE;
    for (int32_t i = 0; i < output->supports; i++) {
        free(output->path[i]);
        output->path[i] = NULL;
    }
    return ok ? CLI_DONE : CLI_FAILED;
}

/* --------------------------------------------------------------------------------------------------------- command */

static const cli_command *const patches_subcommands[] = {&patches_synth, &patches_colmap, &patches_brown,
                                                         &patches_show,  &patches_info,   NULL};

const cli_command command_patches = {
    .name = "patches",
    .summary = "make, show and inspect sets of patches for learning",
    .usage = "SUBCOMMAND ... [options]",
    .about = "Makes sets of patches (.kbp, docs/patches.md) that `keybits train` learns from, and inspects them.",
    .subcommands = patches_subcommands};
