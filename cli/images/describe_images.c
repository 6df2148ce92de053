/* SPDX-License-Identifier: Apache-2.0 */
/* keybits describe IMAGE...: for every image its keypoints, read or found, then their descriptors. */
#include <math.h>

#include "describe.h"
#include "io/json.h"
#include "io/progress.h"

/* What is the same for all images. */
typedef struct describe_state {
    cli_common *common;
    const describe_job *job;
    const pipeline *pipeline;
    io_json json; /* used with --json */
    io_progress progress;
    size_t keypoints;
} describe_state;

/* ---------------------------------------------------------------------------------------------------------- report */

static void describe_text(const describe_state *s, const char *path, const features *f, const features_fit *fit)
{
    char patch[64] = "";
    if (isfinite(fit->median_width))
        snprintf(patch, sizeof patch, ", patches %.1f px wide (median)", fit->median_width);
    cli_say(s->common, "%s: %d x %d px, %zu keypoints, %s%s; %zu at the border, %zu outside, %zu invalid", path,
            (int)f->width, (int)f->height, fit->keypoints, s->pipeline->info.spec->name, patch, fit->border,
            fit->outside, fit->invalid);
    cli_warn_patches(s->common, path, fit);
}

/* The files of an image; NULL for deviations that are not wanted, and for rows on standard output. */
typedef struct describe_files {
    const char *rows, *deviations;
} describe_files;

static void describe_json(describe_state *s, const char *path, const describe_files *files, const features *f,
                          const features_fit *fit)
{
    io_json_object(&s->json, NULL);
    io_json_string(&s->json, "image", path);
    io_json_string(&s->json, "output", files->rows);
    io_json_string(&s->json, "deviations", files->deviations);
    io_json_integer(&s->json, "width", f->width);
    io_json_integer(&s->json, "height", f->height);
    io_json_integer(&s->json, "keypoints", (int64_t)fit->keypoints);
    io_json_float(&s->json, "median_patch_width", (float)fit->median_width);
    io_json_integer(&s->json, "border", (int64_t)fit->border);
    io_json_integer(&s->json, "small", (int64_t)fit->small);
    io_json_integer(&s->json, "large", (int64_t)fit->large);
    io_json_integer(&s->json, "outside", (int64_t)fit->outside);
    io_json_integer(&s->json, "invalid", (int64_t)fit->invalid);
    io_json_end(&s->json);
}

static void describe_report(describe_state *s, const char *path, const describe_files *files, const features *f)
{
    features_fit fit = features_measure(f, s->pipeline->model, s->pipeline->options.scale);
    io_progress_wipe(&s->progress);
    describe_text(s, path, f, &fit);
    if (s->common->json) describe_json(s, path, files, f, &fit);
    s->keypoints += fit.keypoints;
}

/* ------------------------------------------------------------------------------------------------------- one image */

/* Keypoints that are given; *given tells whether there are any. */
static bool read_keypoints(const describe_job *job, const char *image, io_keypoints *out, bool *given, io_error *error)
{
    *given = job->keypoints || job->keypoints_folder;
    if (job->keypoints) return io_keypoints_read(job->keypoints, out, error);
    return !job->keypoints_folder || cli_keypoints_read(job->keypoints_folder, image, out, error);
}

static bool describe_one(describe_state *s, const char *path, const describe_files *files, io_error *error)
{
    io_image image;
    features f = {0};
    bool given;
    if (!io_image_read(path, &s->job->reading, &image, error)) return false;
    bool ok = read_keypoints(s->job, path, &f.keypoints, &given, error) &&
              pipeline_describe(s->pipeline, path, &image.view, given, &f, NULL, error) &&
              (!files->deviations || features_write_deviations(&f, &image, s->pipeline->parallel,
                                                               s->pipeline->workspace, files->deviations, error)) &&
              io_rows_write(files->rows, &f.rows, error);
    features_to_file(&f, &image.file);
    if (ok) describe_report(s, path, files, &f);
    features_free(&f);
    io_image_free(&image);
    return ok;
}

/* ------------------------------------------------------------------------------------------------------ all images */

/* Goes on after a failure when every image has a file of its own: one bad image of a thousand should not cost the rest.
 * Returns how many failed. */
static size_t describe_each(describe_state *s, const io_names *images, const io_names *rows, const io_names *deviations)
{
    size_t failed = 0;
    io_progress_start(&s->progress, "describing", images->count, s->common->quiet || images->count < 2);
    for (size_t i = 0; i < images->count; i++) {
        io_error error;
        io_progress_update(&s->progress, i);
        describe_files files = {rows->count ? rows->items[i] : NULL, deviations->count ? deviations->items[i] : NULL};
        if (describe_one(s, images->items[i], &files, &error)) continue;
        io_progress_wipe(&s->progress);
        cli_error("%s", error.text);
        failed++;
        if (rows->count == 0) break;
    }
    io_progress_end(&s->progress);
    return failed;
}

static int describe_all(describe_state *s, const io_names *images, const io_names *rows, const io_names *deviations)
{
    if (s->common->json) {
        io_json_begin(&s->json, stdout);
        io_json_object(&s->json, NULL);
        io_json_string(&s->json, "model", s->pipeline->info.spec->name);
        io_json_float(&s->json, "scale", s->pipeline->options.scale);
        io_json_array(&s->json, "images");
    }
    size_t failed = describe_each(s, images, rows, deviations);
    if (s->common->json) {
        io_json_end(&s->json);
        io_json_integer(&s->json, "failed", (int64_t)failed);
        io_json_end(&s->json);
    }
    if (images->count > 1)
        cli_say(s->common, "%zu keypoints of %zu images, %zu failed", s->keypoints, images->count - failed, failed);
    return failed ? CLI_FAILED : CLI_DONE;
}

int describe_images(cli_common *common, describe_job *job, int count, char **arguments)
{
    io_error error;
    io_names images = {0}, rows = {0}, deviations = {0};
    describe_state s = {.common = common, .job = job, .pipeline = &job->pipeline.pipeline};
    int code;
    if (!cli_claim_images(common, count, arguments, &images, &error) ||
        !cli_claim_keypoints(common, job->keypoints_folder, &images, &error) ||
        !cli_claim_outputs(common, &images, job->output, describe_suffix(job), &rows, &error) ||
        !cli_claim_outputs(common, &images, job->deviations, ".npy", &deviations, &error))
        code = cli_error("%s", error.text);
    else if (job->keypoints && images.count != 1)
        code = cli_usage_error(common, "--keypoints is for one image; use --keypoints-dir for %zu", images.count);
    else
        code = describe_all(&s, &images, &rows, &deviations);
    io_names_free(&images);
    io_names_free(&rows);
    io_names_free(&deviations);
    return code;
}
