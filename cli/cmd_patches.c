/* keybits patches KIND: dispatch, and how sets at several supports are written. */
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "patches.h"

static const char patches_help[] =
    "usage: keybits patches KIND ... [options]\n"
    "Makes sets of patches (.kbp, docs/patches.md) that `keybits train` learns from, and looks into them.\n"
    "\n"
    "Kinds (keybits patches KIND --help says more)\n"
    PATCHES_KINDS(CLI_KIND_HELP);

/* --------------------------------------------------------------------------------------- options that kinds share */

bool patches_supports(cli_common *common, const char *text, patches_output *output)
{
    char *list = io_copy_string(text), *rest = list;
    bool ok = true;
    output->supports = 0;
    for (char *word = strtok_r(rest, ",", &rest); word && ok; word = strtok_r(NULL, ",", &rest)) {
        double value;
        if (output->supports == PATCHES_MAX_SUPPORTS) {
            common->exit_code = cli_usage_error(common, "--support takes at most %d numbers", PATCHES_MAX_SUPPORTS);
            ok = false;
        } else {
            ok = cli_number(common, "--support", word, 0.1, 10, &value);
            if (ok) output->support[output->supports++] = (float)value;
        }
    }
    free(list);
    if (ok && output->supports == 0) ok = cli_number(common, "--support", text, 0.1, 10, &(double){0});
    return ok;
}

bool patches_detectors(cli_common *common, const char *text, int32_t *detectors)
{
    static const char *const words[] = {"orb", "sift", "orb,sift", "sift,orb", NULL};
    static const int32_t bits[] = {1, 2, 3, 3};
    int index;
    if (!cli_choice(common, "--detectors", text, words, &index)) return false;
    *detectors = bits[index];
    return true;
}

/* The pattern with {} replaced by the support. */
static char *path_for(const char *pattern, float support)
{
    const char *place = strstr(pattern, "{}");
    char number[32], *path = io_alloc(strlen(pattern) + sizeof number, 1);
    io_number_format(number, (double)support, 6);
    if (place) sprintf(path, "%.*s%s%s", (int)(place - pattern), pattern, number, place + 2);
    else strcpy(path, pattern);
    return path;
}

bool patches_output_open(cli_common *common, patches_output *output, const char *pattern, int32_t side)
{
    io_error error;
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
        output->path[i] = path_for(pattern, output->support[i]);
        output->writer[i] = kbi_patch_writer_open(output->path[i], side, output->support[i], &error);
        if (output->writer[i]) continue;
        common->exit_code = cli_error("%s", error.text);
        patches_output_close(output, false);
        return false;
    }
    return true;
}

int patches_output_close(patches_output *output, bool ok)
{
    io_error error;
    for (int32_t i = 0; i < output->supports; i++) {
        if (!output->writer[i]) continue;
        if (!ok) kbi_patch_writer_abandon(output->writer[i]);
        else if (!kbi_patch_writer_close(output->writer[i], &error)) {
            cli_error("%s", error.text);
            ok = false;
        }
        output->writer[i] = NULL;
    }
    for (int32_t i = 0; i < output->supports; i++) {
        free(output->path[i]);
        output->path[i] = NULL;
    }
    return ok ? CLI_DONE : CLI_FAILED;
}

/* ----------------------------------------------------------------------------------------------------------- command */

static int patches_legacy(int argc, char **argv)
{
#define PATCHES_ENTRY(name, summary) CLI_KIND(patches, name)
    static cli_kind kinds[] = {PATCHES_KINDS(PATCHES_ENTRY)};
    return cli_run_kind(kinds, sizeof kinds / sizeof *kinds, patches_help, argc, argv);
}

const cli_command command_patches = {
    .name = "patches", .summary = "make, show and inspect sets of patches for learning", .legacy = patches_legacy, .legacy_help = patches_help};
