/* keybits patches colmap: a reconstruction becomes a set. */
#include <stdlib.h>

#include "io/progress.h"
#include "learn/colmap_patches.h"
#include "patches.h"

static const char help[] =
    "usage: keybits patches colmap MODEL IMAGES -o SET.kbp [options]\n"
    "MODEL is the folder of a sparse model of COLMAP (cameras, images and points3D, .bin or .txt), IMAGES\n"
    "the folder of its photographs. Keypoints are detected anew near the points of the model, or taken from\n"
    "COLMAP's database, and those that show the same 3D point in the same scale and direction get one label.\n"
    "Images that cannot be read are skipped and counted.\n"
    "\n"
    PATCHES_OUTPUT_HELP
    "  --database FILE    take keypoints from COLMAP's database instead of detecting\n"
    "  --detectors LIST   orb, sift or orb,sift (default orb,sift)\n"
    "  --keypoints N      100 to 1000000, that a detector may find in an image (default 8000)\n"
    "  --max-points N     0 to 100000000; 0 is all (default 0)\n"
    "  --max-error E      0 to 100 px of reprojection error a point may have (default 2)\n"
    "  --seed N           decides which points are taken (default 1)\n"
    "\n" CLI_COMMON_HELP;

typedef struct colmap_arguments {
    kbi_colmap_options options;
    patches_output output;
    const char *pattern;
} colmap_arguments;

enum { DATABASE = CLI_OPTION_OWN, DETECTORS, KEYPOINTS, MAX_POINTS, MAX_ERROR, SEED, SUPPORT };

static bool read_option(cli_common *common, int option, colmap_arguments *a)
{
    int64_t whole;
    switch (option) {
    case 'o': a->pattern = optarg; return true;
    case DATABASE: a->options.database = optarg; return true;
    case DETECTORS: return patches_detectors(common, optarg, &a->options.detectors);
    case SUPPORT: return patches_supports(common, optarg, &a->output);
    case MAX_ERROR: return cli_number(common, "--max-error", optarg, 0, 100, &a->options.max_error);
    case KEYPOINTS:
        if (!cli_integer(common, "--keypoints", optarg, 100, 1000000, &whole)) return false;
        a->options.keypoints = (int32_t)whole;
        return true;
    case MAX_POINTS:
        if (!cli_integer(common, "--max-points", optarg, 0, 100000000, &whole)) return false;
        a->options.max_points = (size_t)whole;
        return true;
    case SEED:
        if (!cli_integer(common, "--seed", optarg, 0, INT64_MAX, &whole)) return false;
        a->options.seed = (uint64_t)whole;
        return true;
    default: return false;
    }
}

static bool read_arguments(cli_common *common, int argc, char **argv, colmap_arguments *a)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"database", required_argument, NULL, DATABASE},
                                          {"detectors", required_argument, NULL, DETECTORS},
                                          {"keypoints", required_argument, NULL, KEYPOINTS},
                                          {"max-points", required_argument, NULL, MAX_POINTS},
                                          {"max-error", required_argument, NULL, MAX_ERROR},
                                          {"seed", required_argument, NULL, SEED},
                                          {"support", required_argument, NULL, SUPPORT},
                                          CLI_COMMON_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    int option;
    kbi_colmap_defaults(&a->options);
    a->output = (patches_output){.supports = 1, .support = {1}};
    a->pattern = NULL;
    while ((option = cli_getopt(common, argc, argv, "o:", longs)) != CLI_END) {
        if (!read_option(common, option, a)) return false;
    }
    return true;
}

typedef struct listener {
    io_progress progress;
    io_names skipped;
} listener;

static void tick(void *context, size_t done) { io_progress_update(&((listener *)context)->progress, done); }
static void skip(void *context, const char *why) { io_names_add(&((listener *)context)->skipped, why); }

static int convert(cli_common *common, const kbi_colmap_model *model, colmap_arguments *a)
{
    listener l = {0};
    kbi_colmap_report report;
    io_error error;
    if (!patches_output_open(common, &a->output, a->pattern, KB_PATCH_SIDE)) return common->exit_code;
    io_progress_start(&l.progress, "images", 2 * model->image_count, common->quiet);
    bool ok = kbi_colmap_convert(model, &a->options, a->output.supports, a->output.support, a->output.writer, skip, tick,
                                &l, &report, &error);
    io_progress_end(&l.progress);
    for (size_t i = 0; i < l.skipped.count; i++) cli_warn(common, "skipped: %s", l.skipped.items[i]);
    io_names_free(&l.skipped);
    if (!ok) cli_error("%s", error.text);
    int result = patches_output_close(&a->output, ok);
    if (result == CLI_DONE) {
        cli_say(common, "%zu patches of %zu points from %zu images; %zu images could not be used", report.patches,
                report.points, model->image_count - report.skipped, report.skipped);
    }
    return result;
}

int patches_colmap(int argc, char **argv)
{
    cli_common common;
    colmap_arguments a;
    kbi_colmap_model model;
    io_error error;
    cli_begin(&common, help);
    if (!read_arguments(&common, argc, argv, &a)) return common.exit_code;
    if (argc - optind != 2) return cli_usage_error(&common, "takes the folder of a model and the folder of its images");
    if (!cli_ready(&common)) return cli_end(&common, common.exit_code);
    if (!kbi_colmap_model_read(argv[optind], &model, &error)) return cli_end(&common, cli_error("%s", error.text));
    a.options.images = argv[optind + 1];
    a.options.parallel = common.parallel;
    int result = convert(&common, &model, &a);
    kbi_colmap_model_free(&model);
    return cli_end(&common, result);
}
