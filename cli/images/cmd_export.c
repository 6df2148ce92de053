/* SPDX-License-Identifier: Apache-2.0 */
/* keybits export colmap: keypoints and matches of a set of images as COLMAP's database. */
#include <stdlib.h>
#include <string.h>

#include "cli/groups.h"
#include "export_colmap.h"
#include "io/json.h"

typedef struct export_job {
    cli_pipeline pipeline;
    export_options export;
    io_read_options reading;
    const char *keypoints_folder, *output, *deviations;
    io_names images, deviation_files; /* no files of deviations unless they are wanted */
    cli_common *common;
} export_job;

static void export_report(const cli_common *common, const char *database, const char *list,
                          const colmap_export_counts *counts)
{
    cli_say(common, "%s: %zu images, %zu keypoints, %zu pairs with %zu matches; pairs are listed in %s", database,
            counts->images, counts->keypoints, counts->pairs, counts->matches, list);
    if (!common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "database", database);
    io_json_string(&json, "pair_list", list);
    io_json_integer(&json, "images", (int64_t)counts->images);
    io_json_integer(&json, "keypoints", (int64_t)counts->keypoints);
    io_json_integer(&json, "pairs", (int64_t)counts->pairs);
    io_json_integer(&json, "matches", (int64_t)counts->matches);
    io_json_end(&json);
}

/* Threads are busy with other images, so that each works alone. */
static bool export_deviations(const export_job *job, const char *path, const io_image *image, const features *f,
                              io_error *error)
{
    size_t i = 0;
    if (!job->deviation_files.count) return true;
    while (job->images.items[i] != path) i++;
    return features_write_deviations(f, image, NULL, NULL, job->deviation_files.items[i], error);
}

/* Keypoints of a file or of the detector, and their descriptors. */
static bool export_describe(void *context, const char *path, features *out, io_error *error)
{
    const export_job *job = context;
    io_image image;
    bool given = job->keypoints_folder != NULL;
    io_read_options reading = job->reading;
    if (given) reading.max_size = 0; /* they are in pixels of the file */
    if (!io_image_read(path, &reading, &image, error)) return false;
    bool good = (!given || cli_keypoints_read(job->keypoints_folder, path, &out->keypoints, error)) &&
                pipeline_describe_alone(&job->pipeline.pipeline, path, &image.view, given, out, error) &&
                export_deviations(job, path, &image, out, error);
    features_to_file(out, &image.file);
    io_image_free(&image);
    return good;
}

/* In order, so that warnings are. */
static bool export_check(void *context, const char *path, features *f, io_error *error)
{
    const export_job *job = context;
    (void)error;
    features_fit fit = features_measure(f, job->pipeline.model, job->pipeline.pipeline.options.scale);
    cli_warn_patches(job->common, path, &fit);
    return true;
}

static int export_images(cli_common *common, export_job *job, const char *list)
{
    io_error error;
    colmap_export_counts counts;
    colmap_export_options options = job->export.options;
    options.describe = export_describe;
    options.complete = export_check;
    options.context = job;
    if (!cli_pipeline_open(common, &job->pipeline, &error) ||
        !colmap_export(&job->images, &options, job->output, list, &counts, &error))
        return cli_error("%s", error.text);
    export_report(common, job->output, list, &counts);
    return CLI_DONE;
}

static int export_run(cli_common *common, void *context, int count, char **arguments)
{
    export_job *job = context;
    io_error error;
    job->common = common;
    if (!job->output) return cli_usage_error(common, "the database needs a name: -o DATABASE.db");
    if (job->keypoints_folder && job->pipeline.options.detect.detector)
        return cli_usage_error(common, "keypoints are given: --detector has nothing to do");
    if (job->keypoints_folder && job->deviations)
        return cli_usage_error(common, "--deviations is for keypoints that are detected");
    int code = cli_check_deviations(common, job->deviations);
    if (code != CLI_DONE) return code;
    if (!job->keypoints_folder && !job->pipeline.options.detect.detector)
        job->pipeline.options.detect.detector = KB_DETECTOR_SIFT;
    export_options_settle(&job->export, common,
                          count == 1 && io_path_is_folder(arguments[0]) ? arguments[0] : NULL);
    char *list = io_path_with_suffix(job->output, ".pairs.txt");
    bool good = cli_claim_images(common, count, arguments, &job->images, &error) &&
                cli_claim_keypoints(common, job->keypoints_folder, &job->images, &error) &&
                cli_claim_output(common, list, &error) &&
                cli_claim_outputs(common, &job->images, job->deviations, ".npy", &job->deviation_files, &error);
    code = good ? export_images(common, job, list) : cli_error("%s", error.text);
    free(list);
    return code;
}

static void export_begin(void *context)
{
    export_job *job = context;
    cli_pipeline_begin(&job->pipeline);
    reading_begin(&job->reading);
}

static void export_end(void *context)
{
    export_job *job = context;
    cli_pipeline_close(&job->pipeline);
    io_names_free(&job->images);
    io_names_free(&job->deviation_files);
}

static const cli_option export_options_table[] = {
    {"output", 'o', CLI_OUTPUT(export_job, output), "DATABASE.db", .help = "the database; required"},
    CLI_SECTION("Keypoints"),
    {"keypoints-dir", 0, CLI_TEXT(export_job, keypoints_folder), "DIR",
     .help = "DIR/NAME.csv for every image NAME.png, instead of a detector"},
    CLI_GROUP(export_job, pipeline.options.detect, sfm_detector_options),
    DEVIATIONS_OPTION(export_job, deviations),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(export_job, pipeline, model_option),
    CLI_GROUP(export_job, pipeline.options, patch_options),
    CLI_SECTION("Images"),
    CLI_GROUP(export_job, reading, exact_photo_options),
    CLI_GROUP(export_job, export, export_colmap_options),
    {0}};

static const cli_command export_colmap = {
    .name = "export colmap",
    .examples = "photos -o photos.db # all pairs, one machine",
    .summary = "a database of COLMAP 3.8 with keypoints and matches, and the list of pairs beside it",
    .usage = "IMAGES... -o DATABASE.db [options]",
    .about = "Writes the keypoints of images and their matches as a database of COLMAP 3.8, and beside it the list of "
             "pairs, DATABASE.pairs.txt. Names of images must differ and hold no spaces. " CLI_IMAGES_HELP
             "\n\n"
             "COLMAP goes on with\n"
             "  export QT_QPA_PLATFORM=offscreen    # where there is no display\n"
             "  colmap matches_importer --database_path DATABASE.db --match_list_path DATABASE.pairs.txt \\\n"
             "      --match_type pairs --SiftMatching.use_gpu 0    # COLMAP 4: --FeatureMatching.use_gpu 0\n"
             "  colmap mapper --database_path DATABASE.db --image_path FOLDER --output_path FOLDER",
    .options = export_options_table,
    .least = 1,
    .most = CLI_ANY,
    .wants = "say: export colmap IMAGES...",
    .reads_arguments = true,
    .job_size = sizeof(export_job),
    .begin = export_begin,
    .run = export_run,
    .end = export_end};

static const cli_command *const formats[] = {&export_colmap, NULL};

const cli_command command_export = {
    .name = "export",
    .summary = "keypoints and matches as a database of COLMAP",
    .usage = "FORMAT ... [options]",
    .about = "Writes keypoints and matches in the formats of other programs.",
    .subcommands = formats};
