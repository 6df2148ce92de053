/* SPDX-License-Identifier: Apache-2.0 */
/* keybits patches colmap: a reconstruction becomes a set. */
#include <stdlib.h>

#include "io/progress.h"
#include "io/colmap_model.h"
#include "pipeline/colmap_patches.h"
#include "patches.h"

typedef struct colmap_job {
    colmap_patches_options options;
    int64_t max_points;
    patches_output output;
} colmap_job;

typedef struct listener {
    io_progress progress;
    io_names skipped;
} listener;

static void colmap_tick(void *context, size_t done) { io_progress_update(&((listener *)context)->progress, done); }
static void colmap_skip(void *context, const char *why) { io_names_add(&((listener *)context)->skipped, why); }

static int colmap_convert(cli_common *common, const io_scene *model, colmap_job *a)
{
    listener l = {0};
    multiview_report report;
    io_error error;
    if (!patches_output_open(common, &a->output, patches_output_side(&a->output))) return common->exit_code;
    io_progress_start(&l.progress, "images", 2 * model->image_count, common->quiet);
    bool ok = colmap_patches(model, &a->options, a->output.supports, a->output.support, a->output.writer,
                                colmap_skip, colmap_tick, &l, &report, &error);
    io_progress_end(&l.progress);
    for (size_t i = 0; i < l.skipped.count; i++) cli_warn(common, "skipped: %s", l.skipped.items[i]);
    io_names_free(&l.skipped);
    if (!ok) cli_error("%s", error.text);
    int result = patches_output_close(common, &a->output, ok);
    if (result == CLI_DONE) {
        cli_say(common, "%zu patches of %zu points from %zu images; %zu images could not be used", report.patches,
                report.points, model->image_count - report.skipped, report.skipped);
    }
    return result;
}

/* The model's files and the photographs it names. */
static bool claim_colmap(cli_common *common, const char *folder, const io_scene *model, const char *images,
                         io_error *error)
{
    static const char *const suffixes[] = {".bin", ".txt", NULL};
    io_names files = {NULL, 0};
    bool ok = io_names_folder(&files, folder, suffixes, error);
    for (size_t i = 0; i < model->image_count && ok; i++) {
        char *path = io_path_join(images, model->images[i].name);
        io_names_add(&files, path);
        free(path);
    }
    for (size_t i = 0; i < files.count && ok; i++) ok = cli_claim_input(common, files.items[i], error);
    io_names_free(&files);
    return ok;
}

static int colmap_run(cli_common *common, void *context, int count, char **arguments)
{
    colmap_job *job = context;
    io_scene model;
    io_error error;
    (void)count;
    if (!io_colmap_model_read(arguments[0], &model, &error)) return cli_error("%s", error.text);
    job->options.images = arguments[1];
    job->options.multiview.octaves = job->output.octaves;
    job->options.multiview.parallel = common->parallel;
    job->options.multiview.max_points = (size_t)job->max_points;
    int result = claim_colmap(common, arguments[0], &model, arguments[1], &error)
                     ? colmap_convert(common, &model, job)
                     : cli_error("%s", error.text);
    io_scene_free(&model);
    return result;
}

static void colmap_begin(void *context)
{
    colmap_job *job = context;
    colmap_patches_defaults(&job->options);
    patches_output_begin(&job->output);
}

static const cli_option colmap_options[] = {
    CLI_GROUP(colmap_job, output, patches_output_options),
    {"octaves", 0, CLI_FLAG(colmap_job, output.octaves), .help = PATCHES_OCTAVES_HELP},
    {"database", 0, CLI_INPUT(colmap_job, options.database), "FILE",
     .help = "take keypoints from COLMAP's database instead of detecting"},
    {"detectors", 0, CLI_CALL(colmap_job, options.multiview.detectors), "LIST", "orb,sift",
     .take = patches_take_detectors,
     .help = "of orb, sift and hessian, separated by commas"},
    {"upright", 0, CLI_FLAG(colmap_job, options.multiview.upright), .help = "detected keypoints have the angle 0"},
    {"keypoints", 0, CLI_NUMBER(colmap_job, options.multiview.keypoints, 100, 1000000), "N", "8000",
     .help = ", that a detector may find in an image"},
    {"max-points", 0, CLI_NUMBER(colmap_job, max_points, 0, 100000000), "N", "0",
     .help = "points of the model that are used; 0: all"},
    {"max-error", 0, CLI_NUMBER(colmap_job, options.multiview.max_error, 0, 100), "E", "2",
     .help = "px of reprojection error that a point may have"},
    {"seed", 0, CLI_NUMBER(colmap_job, options.multiview.seed, 0, CLI_NO_LIMIT), "N", "1",
     .help = "decides which points are taken"},
    {0}};

const cli_command patches_colmap = {
    .name = "patches colmap",
    .examples = "sparse/0 photos -o set.kbp # real views",
    .summary = "views of a scene that COLMAP reconstructed",
    .usage = "MODEL IMAGES -o SET.kbp [options]",
    .about = "MODEL is the folder of a sparse model of COLMAP (cameras, images and points3D, .bin or .txt), IMAGES the "
             "folder of its photographs. Keypoints are detected anew near the points of the model, or taken from "
             "COLMAP's database, and those that show the same 3D point in the same scale and direction get one label. "
             "Images that cannot be read are skipped and counted.",
    .options = colmap_options,
    .least = 2,
    .most = 2,
    .wants = "takes the folder of a model and the folder of its images",
    .reads_arguments = true,
    .job_size = sizeof(colmap_job),
    .begin = colmap_begin,
    .run = colmap_run};
