/* keybits patches synth: many photographs, one set. */
#include <stdlib.h>
#include <string.h>

#include "io/image_io.h"
#include "io/progress.h"
#include "learn/random.h"
#include "learn/synth.h"
#include "patches.h"

static const char help[] =
    "usage: keybits patches synth IMAGE|FOLDER|@LIST... -o SET.kbp [options]\n"
    "Renders views of every photograph by random homographies and changes of light, detects keypoints anew\n"
    "in every view and puts those together that show the same point. Images that cannot be read are skipped\n"
    "and counted.\n"
    "\n"
    PATCHES_OUTPUT_HELP
    "  --views N          2 to 32; the first is the photograph as it is (default 5)\n"
    "  --detectors LIST   orb, sift or orb,sift (default orb,sift)\n"
    "  --keypoints N      100 to 100000, that a detector may find in a view (default 2000)\n"
    "  --max-per-image N  2 to 100000 points, half of each detector (default 400)\n"
    "  --rotation D       0 to 180 degrees: half of the views turn that much at most (default 180)\n"
    "  --tilt D           0 to 75 degrees, at most (default 60)\n"
    "  --light S          0 to 2: how much light, shadows, blur, noise and JPEG change; 0 is not at all (default 1)\n"
    "  --seed N           (default 1)\n"
    "\n" CLI_COMMON_HELP;

#define BATCH 16 /* images that are worked on before what they gave is written */

typedef struct image_task {
    const char *path;
    uint64_t seed;
    bool read, done;
    kbi_synth_patches patches;
    io_error error;
} image_task;

typedef struct synth_job {
    kbi_synth_options options;
    image_task tasks[BATCH];
} synth_job;

static void run_image(void *context, int32_t index)
{
    synth_job *job = context;
    image_task *task = &job->tasks[index];
    io_image image;
    task->read = io_image_read(task->path, NULL, &image, &task->error);
    task->done = false;
    if (!task->read) return;
    task->done = kbi_synth_image(&image.view, &job->options, task->seed, &task->patches, &task->error);
    io_image_free(&image);
}

static void scale_light(kbi_light_range *light, double by)
{
    light->blur *= by;
    light->gain *= by;
    light->gamma *= by;
    light->offset *= by;
    light->shading *= by;
    light->shadow = by < 1 ? light->shadow * by : light->shadow;
    light->noise *= by;
    light->jpeg = by == 0 ? 0 : light->jpeg;
}

typedef struct synth_arguments {
    kbi_synth_options options;
    patches_output output;
    const char *pattern;
    uint64_t seed;
} synth_arguments;

enum { VIEWS = CLI_OPTION_OWN, DETECTORS, KEYPOINTS, MAX_POINTS, ROTATION, TILT, LIGHT, SEED, SUPPORT };

static bool read_option(cli_common *common, int option, synth_arguments *a)
{
    kbi_synth_options *o = &a->options;
    int64_t whole;
    double number;
    switch (option) {
    case 'o': a->pattern = optarg; return true;
    case DETECTORS: return patches_detectors(common, optarg, &o->detectors);
    case SUPPORT: return patches_supports(common, optarg, &a->output);
    case ROTATION: return cli_number(common, "--rotation", optarg, 0, 180, &o->geometry.rotation);
    case TILT: return cli_number(common, "--tilt", optarg, 0, 75, &o->geometry.tilt);
    case LIGHT:
        if (!cli_number(common, "--light", optarg, 0, 2, &number)) return false;
        scale_light(&o->light, number);
        return true;
    case VIEWS:
        if (!cli_integer(common, "--views", optarg, 2, KBI_SYNTH_MAX_VIEWS, &whole)) return false;
        o->views = (int32_t)whole;
        return true;
    case KEYPOINTS:
        if (!cli_integer(common, "--keypoints", optarg, 100, 100000, &whole)) return false;
        o->keypoints = (int32_t)whole;
        return true;
    case MAX_POINTS:
        if (!cli_integer(common, "--max-per-image", optarg, 2, 100000, &whole)) return false;
        o->max_points = (int32_t)whole;
        return true;
    case SEED:
        if (!cli_integer(common, "--seed", optarg, 0, INT64_MAX, &whole)) return false;
        a->seed = (uint64_t)whole;
        return true;
    default: return false;
    }
}

static bool read_arguments(cli_common *common, int argc, char **argv, synth_arguments *a)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"views", required_argument, NULL, VIEWS},
                                          {"detectors", required_argument, NULL, DETECTORS},
                                          {"keypoints", required_argument, NULL, KEYPOINTS},
                                          {"max-per-image", required_argument, NULL, MAX_POINTS},
                                          {"rotation", required_argument, NULL, ROTATION},
                                          {"tilt", required_argument, NULL, TILT},
                                          {"light", required_argument, NULL, LIGHT},
                                          {"seed", required_argument, NULL, SEED},
                                          {"support", required_argument, NULL, SUPPORT},
                                          CLI_COMMON_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    int option;
    kbi_synth_defaults(&a->options);
    a->output = (patches_output){.supports = 1, .support = {1}};
    a->pattern = NULL;
    a->seed = 1;
    while ((option = cli_getopt(common, argc, argv, "o:", longs)) != CLI_END) {
        if (!read_option(common, option, a)) return false;
    }
    a->options.supports = a->output.supports;
    memcpy(a->options.support, a->output.support, sizeof a->output.support);
    return true;
}

typedef struct synth_totals {
    size_t points, patches, empty;
    io_names skipped; /* why images could not be read */
} synth_totals;

/* Writes what an image gave; false when it failed for another reason than the image. */
static bool take_image(image_task *task, size_t image, synth_arguments *a, synth_totals *totals)
{
    if (!task->read) {
        io_names_add(&totals->skipped, task->error.text);
        return true;
    }
    if (!task->done) {
        cli_error("%s: %s", task->path, task->error.text);
        return false;
    }
    const kbi_synth_patches *p = &task->patches;
    for (size_t i = 0; i < p->patches; i++) {
        uint32_t label = (uint32_t)totals->points + p->point[i],
                 view = (uint32_t)image * (uint32_t)a->options.views + p->view[i];
        for (int32_t k = 0; k < a->output.supports; k++) {
            kbi_patch_writer_add(a->output.writer[k], label, view, p->pixels[k] + i * KB_PATCH_SIDE * KB_PATCH_SIDE);
        }
    }
    totals->points += p->points;
    totals->patches += p->patches;
    totals->empty += p->points == 0;
    kbi_synth_patches_free(&task->patches);
    return true;
}

static bool run_all(const cli_common *common, const io_names *images, synth_arguments *a, synth_totals *totals)
{
    io_progress progress;
    synth_job *job = io_alloc(1, sizeof *job);
    bool ok = true;
    job->options = a->options;
    io_progress_start(&progress, "images", images->count, common->quiet);
    for (size_t from = 0; from < images->count && ok; from += BATCH) {
        size_t n = images->count - from < BATCH ? images->count - from : BATCH;
        for (size_t i = 0; i < n; i++) {
            job->tasks[i].path = images->items[from + i];
            job->tasks[i].seed = kbi_random_fork(a->seed, from + i);
        }
        kbi_parallel_run(common->parallel, (int32_t)n, run_image, job);
        for (size_t i = 0; i < n; i++) ok = take_image(&job->tasks[i], from + i, a, totals) && ok;
        io_progress_update(&progress, from + n);
    }
    io_progress_end(&progress);
    free(job);
    return ok;
}

int patches_synth(int argc, char **argv)
{
    cli_common common;
    synth_arguments a;
    synth_totals totals = {0};
    io_names images = {0};
    io_error error;
    cli_begin(&common, help);
    if (!read_arguments(&common, argc, argv, &a)) return common.exit_code;
    if (optind >= argc) return cli_usage_error(&common, "name photographs, or a folder of them");
    if (!io_names_images(&images, argc - optind, argv + optind, &error)) return cli_error("%s", error.text);
    int result = CLI_FAILED;
    if (!cli_ready(&common) || !patches_output_open(&common, &a.output, a.pattern, KB_PATCH_SIDE)) {
        result = common.exit_code;
    } else {
        bool ok = run_all(&common, &images, &a, &totals);
        if (ok && totals.points == 0) {
            cli_error("no image gave a point that two views share");
            ok = false;
        }
        result = patches_output_close(&a.output, ok);
        for (size_t i = 0; i < totals.skipped.count; i++) cli_warn(&common, "skipped: %s", totals.skipped.items[i]);
        if (result == CLI_DONE) {
            cli_say(
                &common, "%zu patches of %zu points from %zu images; %zu images could not be read, %zu gave no points",
                totals.patches, totals.points, images.count - totals.skipped.count, totals.skipped.count, totals.empty);
        }
    }
    io_names_free(&totals.skipped);
    io_names_free(&images);
    return cli_end(&common, result);
}
