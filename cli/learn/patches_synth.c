/* SPDX-License-Identifier: Apache-2.0 */
/* keybits patches synth: many photographs, one set. */
#include <stdlib.h>
#include <string.h>

#include "cli/groups.h"
#include "io/progress.h"
#include "learn/random.h"
#include "learn/synth.h"
#include "patches.h"

#define BATCH 16 /* images that are worked on before what they gave is written */

typedef struct image_task {
    const char *path;
    uint64_t seed;
    bool read, done;
    kbi_synth_patches patches;
    io_error error;
} image_task;

typedef struct synth_batch {
    kbi_synth_options options;
    io_read_options reading;
    image_task tasks[BATCH];
} synth_batch;

static bool compress_image(uint8_t *pixels, int32_t width, int32_t height, int quality)
{
    return io_jpeg_round_trip(pixels, width, height, quality, NULL);
}

static void synth_image(void *context, int32_t index)
{
    synth_batch *batch = context;
    image_task *task = &batch->tasks[index];
    io_image image;
    task->read = io_image_read(task->path, &batch->reading, &image, &task->error);
    task->done = false;
    if (!task->read) return;
    kb_error problem;
    task->done = kbi_synth_image(&image.view, &batch->options, task->seed, &task->patches, &problem) == KB_OK ||
                 io_fail(&task->error, "%s", problem.text);
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

typedef struct synth_job {
    kbi_synth_options options;
    io_read_options reading;
    patches_output output;
    double light;
    uint64_t seed;
} synth_job;

typedef struct synth_totals {
    size_t points, patches, empty;
    io_names skipped; /* why images could not be read */
} synth_totals;

/* Writes what an image gave; false when it failed for another reason than the image. */
static bool write_image_patches(image_task *task, size_t image, synth_job *a, synth_totals *totals)
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
            io_patch_writer_add(a->output.writer[k], label, view, p->pixels[k] + i * KB_PATCH_SIDE * KB_PATCH_SIDE);
        }
    }
    totals->points += p->points;
    totals->patches += p->patches;
    totals->empty += p->points == 0;
    kbi_synth_patches_free(&task->patches);
    return true;
}

static bool synth_all(const cli_common *common, const io_names *images, synth_job *a, synth_totals *totals)
{
    io_progress progress;
    synth_batch *batch = io_alloc(1, sizeof *batch);
    bool ok = true;
    batch->options = a->options;
    batch->reading = a->reading;
    io_progress_start(&progress, "images", images->count, common->quiet);
    for (size_t from = 0; from < images->count && ok; from += BATCH) {
        size_t n = images->count - from < BATCH ? images->count - from : BATCH;
        for (size_t i = 0; i < n; i++) {
            batch->tasks[i].path = images->items[from + i];
            batch->tasks[i].seed = kbi_random_fork(a->seed, from + i);
        }
        kbi_parallel_run(common->parallel, (int32_t)n, synth_image, batch);
        for (size_t i = 0; i < n; i++) ok = write_image_patches(&batch->tasks[i], from + i, a, totals) && ok;
        io_progress_update(&progress, from + n);
    }
    io_progress_end(&progress);
    free(batch);
    return ok;
}

static int synth_write(cli_common *common, const io_names *images, synth_job *job)
{
    synth_totals totals = {0};
    if (!patches_output_open(common, &job->output, patches_output_side(&job->output))) return common->exit_code;
    bool ok = synth_all(common, images, job, &totals);
    if (ok && totals.points == 0) {
        cli_error("no image gave a point that two views share");
        ok = false;
    }
    int result = patches_output_close(common, &job->output, ok);
    for (size_t i = 0; i < totals.skipped.count; i++) cli_warn(common, "skipped: %s", totals.skipped.items[i]);
    if (result == CLI_DONE)
        cli_say(common, "%zu patches of %zu points from %zu images; %zu images could not be read, %zu gave no points",
                totals.patches, totals.points, images->count - totals.skipped.count, totals.skipped.count,
                totals.empty);
    io_names_free(&totals.skipped);
    return result;
}

static int synth_run(cli_common *common, void *context, int count, char **arguments)
{
    synth_job *job = context;
    io_names images = {0};
    io_error error;
    scale_light(&job->options.light, job->light);
    job->options.octaves = job->output.octaves;
    job->options.supports = job->output.supports;
    memcpy(job->options.support, job->output.support, sizeof job->output.support);
    int result = cli_claim_images(common, count, arguments, &images, &error) ? synth_write(common, &images, job)
                                                                             : cli_error("%s", error.text);
    io_names_free(&images);
    return result;
}

static void synth_begin(void *context)
{
    synth_job *job = context;
    kbi_synth_defaults(&job->options);
    job->options.light.codec = compress_image;
    patches_output_begin(&job->output);
}

static const cli_option synth_options[] = {
    CLI_GROUP(synth_job, output, patches_output_options),
    {"octaves", 0, CLI_FLAG(synth_job, output.octaves), .help = PATCHES_OCTAVES_HELP},
    {"views", 0, CLI_NUMBER(synth_job, options.views, 2, KBI_SYNTH_MAX_VIEWS), "N", "5",
     .help = "; the first is the photograph as it is"},
    {"detectors", 0, CLI_CALL(synth_job, options.detectors), "LIST", "orb,sift", .take = patches_take_detectors,
     .help = "of orb, sift and hessian, separated by commas"},
    {"upright", 0, CLI_FLAG(synth_job, options.upright),
     .help = "angles are the rotation of the view, as upright rows have it, instead of each keypoint's own"},
    {"keypoints", 0, CLI_NUMBER(synth_job, options.keypoints, 100, 100000), "N", "2000",
     .help = ", that a detector may find in a view"},
    {"max-per-image", 0, CLI_NUMBER(synth_job, options.max_points, 2, 100000), "N", "400",
     .help = "points, half of each detector"},
    {"rotation", 0, CLI_NUMBER(synth_job, options.geometry.rotation, 0, 180), "D", "180",
     .help = "degrees: half of the views turn that much at most"},
    {"tilt", 0, CLI_NUMBER(synth_job, options.geometry.tilt, 0, 75), "D", "60", .help = "degrees, at most"},
    {"light", 0, CLI_NUMBER(synth_job, light, 0, 2), "S", "1",
     .help = ": how much light, shadows, blur, noise and JPEG change; 0 is not at all"},
    {"seed", 0, CLI_NUMBER(synth_job, seed, 0, CLI_NO_LIMIT), "N", "1", .help = "decides the views"},
    CLI_SECTION("Images"),
    CLI_GROUP(synth_job, reading, reading_options),
    {0}};

const cli_command patches_synth = {
    .name = "patches synth",
    .examples = "photos -o set.kbp # rendered views",
    .summary = "views of single photographs by random homographies and changes of light",
    .usage = "IMAGE... -o SET.kbp [options]",
    .about = "Renders views of every photograph by random homographies and changes of light, detects keypoints anew in "
             "every view and groups those that show the same point. Images that cannot be read are skipped and "
             "counted. "
             CLI_IMAGES_HELP,
    .options = synth_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name photographs, or a folder of them",
    .reads_arguments = true,
    .job_size = sizeof(synth_job),
    .begin = synth_begin,
    .run = synth_run};
