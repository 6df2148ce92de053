/* The kinds of `keybits patches KIND ...`: each is a file cli/patches_KIND.c with patches_KIND() and its help. */
#ifndef PATCHES_H
#define PATCHES_H

#include "cli.h"
#include "learn/patch_set.h"

#define PATCHES_KINDS(KIND)                                                                  \
    KIND(synth, "views of single photographs by random homographies and changes of light")   \
    KIND(colmap, "views of a scene that COLMAP reconstructed")                               \
    KIND(brown, "a folder of the Brown/PhotoTour format")                                    \
    KIND(show, "a contact sheet of points and their patches, as PNG")                        \
    KIND(info, "what is in a set")

#define PATCHES_DECLARE(name, summary) int patches_##name(int argc, char **argv);
PATCHES_KINDS(PATCHES_DECLARE)

/* Sets of the same patches at several supports, written together. */
#define PATCHES_MAX_SUPPORTS 8
typedef struct patches_output {
    int32_t supports;
    float support[PATCHES_MAX_SUPPORTS];
    char *path[PATCHES_MAX_SUPPORTS];
    kbi_patch_writer *writer[PATCHES_MAX_SUPPORTS];
} patches_output;

#define PATCHES_OUTPUT_HELP                                                                                   \
    "  -o, --output SET   the file to write; required. With several supports {} in it becomes the support\n"  \
    "  --support S,...    0.1 to 10: patch width = preset x keypoint size x support; up to 8 of them, which\n" \
    "                     make as many sets of the same points (default 1)\n"

/* "1,1.3,1.6"; a wrong one is reported as cli_number does. */
bool patches_supports(cli_common *common, const char *text, patches_output *output);
/* "orb", "sift" or both: bit 0 is orb, bit 1 sift. */
bool patches_detectors(cli_common *common, const char *text, int32_t *detectors);
/* Opens a writer for every support; a wrong pattern is wrong usage. False with common->exit_code set. */
bool patches_output_open(cli_common *common, patches_output *output, const char *pattern, int32_t side);
/* Closes all files or, when `ok` is false, leaves nothing. Returns the exit code. */
int patches_output_close(patches_output *output, bool ok);

#endif
