/* SPDX-License-Identifier: Apache-2.0 */
/* keybits describe: the options; describe_images.c and describe_patches.c do the work. */
#include <string.h>

#include "describe.h"
#include "io/rows.h"

const char *const describe_formats[] = {"npy", "csv", "hex", NULL};

const char *describe_suffix(const describe_job *job)
{
    static const char *const suffixes[] = {".npy", ".csv", ".hex"};
    return suffixes[job->format];
}

/* What the options say together; CLI_DONE when it makes sense. */
static int describe_check(const cli_common *common, const describe_job *job, int arguments)
{
    const char *out = job->output;
    if (job->patches && arguments) return cli_usage_error(common, "--patches takes no images beside it");
    if (!job->patches && !arguments) return cli_usage_error(common, "name at least one image");
    if (job->keypoints && job->keypoints_folder)
        return cli_usage_error(common, "--keypoints and --keypoints-dir exclude each other");
    if ((job->keypoints || job->keypoints_folder) && job->pipeline.options.detect.detector)
        return cli_usage_error(common, "keypoints are given: --detector has nothing to do");
    if ((job->keypoints || job->keypoints_folder) && job->reading.max_size)
        return cli_usage_error(common, "keypoints that are given are in pixels of the file: --max-size excludes them");
    if (job->deviations && (job->patches || job->keypoints || job->keypoints_folder))
        return cli_usage_error(common, "--deviations is for keypoints that are detected");
    if (common->json && !out)
        return cli_usage_error(common, "--json needs -o, since the rows would go to standard output");
    if (io_path_is_plain(out) && !io_rows_suffix_known(out, job->floats)) {
        return cli_usage_error(common,
                               "the output %s must end in .npy, .csv%s, or be a folder, new ones with / at the end",
                               out, job->floats ? "" : " or .hex");
    }
    if (job->floats && strcmp(describe_suffix(job), ".hex") == 0)
        return cli_usage_error(common, "floats do not go into hex");
    return cli_check_deviations(common, job->deviations);
}

static int describe_run(cli_common *common, void *context, int count, char **arguments)
{
    describe_job *job = context;
    io_error error;
    if (job->output && strcmp(job->output, "-") == 0) job->output = NULL;
    int code = describe_check(common, job, count);
    if (code != CLI_DONE) return code;
    job->pipeline.options.bytes = !job->floats;
    if (!cli_pipeline_open(common, &job->pipeline, &error)) return cli_error("%s", error.text);
    const kb_model_info *info = &job->pipeline.pipeline.info;
    if (job->floats && info->row_floats == 0)
        return cli_error("%s: --float needs sift or rootsift, not a model of kind %s", job->pipeline.model_name,
                         kb_name(KB_NAMES_KIND, info->spec->kind));
    return job->patches ? describe_patches(common, job) : describe_images(common, job, count, arguments);
}

static void describe_begin(void *context)
{
    describe_job *job = context;
    cli_pipeline_begin(&job->pipeline);
    reading_begin(&job->reading);
}

static void describe_end(void *context) { cli_pipeline_close(&((describe_job *)context)->pipeline); }

static const cli_option describe_options[] = {
    CLI_SECTION("Descriptors"),
    CLI_GROUP(describe_job, pipeline, model_option),
    {"float", 0, CLI_FLAG(describe_job, floats), .help = "sift and rootsift: rows of 128 floats instead of bytes"},
    CLI_GROUP(describe_job, pipeline.options, patch_options),
    CLI_SECTION("Keypoints"),
    {"keypoints", 'k', CLI_INPUT(describe_job, keypoints), "FILE",
     .help = "CSV with the header x,y,size,angle,response,octave (any order, others ignored; only x, y and size must "
             "be there), for one image"},
    {"keypoints-dir", 0, CLI_TEXT(describe_job, keypoints_folder), "DIR",
     .help = "DIR/NAME.csv for every image NAME.png"},
    CLI_GROUP(describe_job, pipeline.options.detect, detector_options),
    CLI_SECTION("Images"),
    CLI_GROUP(describe_job, reading, any_photo_options),
    CLI_SECTION("Ready patches"),
    {"patches", 0, CLI_INPUT(describe_job, patches), "FILE",
     .help = "an image that is a mosaic of square patches, row by row, or an .npy of N x S x S bytes; every patch is "
             "one row"},
    {"side", 0, CLI_NUMBER(describe_job, side, 32, 1024), "N",
     .help = ", the side of a patch in a mosaic (default: the width of the image)"},
    CLI_SECTION("Output"),
    {"output", 'o', CLI_TEXT(describe_job, output), "OUT",
     .help = "OUT.npy (N x bytes of uint8), OUT.csv or OUT.hex (a row of hexadecimal per line). For many images a "
             "folder, or a pattern in which {} stands for the image's name: out/{}.npy (default: hexadecimal on "
             "standard output, image after image)"},
    {"format", 0, CLI_CHOICE(describe_job, format, 0), "NAME", "npy", .words = describe_formats,
     .help = ": what goes into a folder"},
    DEVIATIONS_OPTION(describe_job, deviations),
    {0}};

const cli_command command_describe = {
    .name = "describe",
    .examples = "photo.jpg -o rows.npy # detected keypoints\n"
                "photo.jpg -k points.csv -m bad256 -o rows.npy # your keypoints",
    .summary = "turn keypoints of images, or ready patches, into descriptors",
    .usage = "IMAGE... [-k FILE.csv | --keypoints-dir DIR | --detector NAME] [options]\n"
             "--patches FILE [--side N] [options]",
    .about = "Turns keypoints into descriptors, one row per keypoint, in the same order. " CLI_IMAGES_HELP,
    .options = describe_options,
    .most = CLI_ANY,
    .reads_arguments = true,
    .job_size = sizeof(describe_job),
    .begin = describe_begin,
    .run = describe_run,
    .end = describe_end};
