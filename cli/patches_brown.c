/* keybits patches brown: a folder of the Brown/PhotoTour format becomes a set. */
#include "io/progress.h"
#include "learn/brown_patches.h"
#include "patches.h"

static const char help[] =
    "usage: keybits patches brown FOLDER -o SET.kbp [options]\n"
    "FOLDER holds patches0000.bmp, patches0001.bmp ... (16x16 patches of 64x64 pixels each) and\n"
    "info.txt (a line a patch that begins with the number of its point).\n"
    "\n"
    "  -o, --output SET   the file to write; required\n"
    "  --side N           64 as they are, or 32 by area averaging (default 64)\n"
    "\n" CLI_COMMON_HELP;

static void tick(void *context, size_t done) { io_progress_update(context, done); }

int patches_brown(int argc, char **argv)
{
    enum { SIDE = CLI_OPTION_OWN };
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"side", required_argument, NULL, SIDE},
                                          CLI_COMMON_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const char *const sides[] = {"64", "32", NULL};
    cli_common common;
    const char *pattern = NULL;
    int option, small = 0;
    cli_begin(&common, help);
    while ((option = cli_getopt(&common, argc, argv, "o:", longs)) != CLI_END) {
        if (option == 'o') pattern = optarg;
        else if (option != SIDE || !cli_choice(&common, "--side", optarg, sides, &small)) return common.exit_code;
    }
    if (argc - optind != 1) return cli_usage_error(&common, "takes one folder");

    int32_t side = small ? 32 : KBI_BROWN_SIDE;
    patches_output output = {.supports = 1}; /* support 0: not known */
    if (!patches_output_open(&common, &output, pattern, side)) return common.exit_code;
    io_progress progress;
    io_error error;
    io_progress_start(&progress, "patches", 0, common.quiet);
    bool ok = kbi_brown_convert(argv[optind], side, output.writer[0], tick, &progress, &error);
    io_progress_end(&progress);
    if (!ok) cli_error("%s", error.text);
    return patches_output_close(&output, ok);
}
