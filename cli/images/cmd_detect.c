/* SPDX-License-Identifier: Apache-2.0 */
/* keybits detect: keypoints of images as tables, and as pictures to look at. */
#include <stdlib.h>
#include <string.h>

#include "cli/groups.h"
#include "io/csv.h"
#include "io/draw.h"
#include "io/features.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/progress.h"

typedef struct detect_job {
    kb_detect_options detect;
    const char *mask_path, *output, *picture, *deviations;
    int32_t format; /* index of formats */
    io_read_options reading;
    cli_common *common;
    kb_workspace *workspace;
    io_image mask; /* empty without --mask */
    io_json json;  /* used with --json */
    io_progress progress;
    size_t keypoints;
} detect_job;

/* ------------------------------------------------------------------------------------------------------- one image */

static bool mask_fits(const detect_job *j, const char *path, const io_image *image, io_error *error)
{
    const io_image *mask = &j->mask;
    if (!mask->pixels || (mask->width == image->width && mask->height == image->height)) return true;
    return io_fail(error, "%s: the mask %s has %d x %d px, the image %d x %d", path, j->mask_path, (int)mask->width,
                   (int)mask->height, (int)image->width, (int)image->height);
}

static bool detect_keypoints(const detect_job *j, const char *path, const io_image *image, io_keypoints *out,
                             io_error *error)
{
    kb_detect_options o = j->detect;
    size_t capacity = (size_t)o.max_keypoints;
    out->items = io_alloc(capacity, sizeof *out->items);
    o.mask = j->mask.pixels ? &j->mask.view : NULL;
    o.parallel = j->common->parallel;
    kb_error why;
    kb_features f = io_keypoints_view(out->items, capacity);
    kb_status status = kb_detect(&image->view, &o, j->workspace, &f, &why);
    out->count = f.n;
    return status == KB_OK || io_fail(error, "%s: %s", path, why.text);
}

static bool keypoints_write_npy(const char *path, const io_keypoints *keypoints, io_error *error)
{
    enum { COLUMNS = 6 };
    size_t shape[2] = {keypoints->count, COLUMNS};
    float *table = io_alloc(keypoints->count, COLUMNS * sizeof *table);
    for (size_t i = 0; i < keypoints->count; i++) {
        const kb_keypoint *k = &keypoints->items[i];
        const float row[COLUMNS] = {k->x, k->y, k->size, k->angle, k->response, (float)k->octave};
        memcpy(table + i * COLUMNS, row, sizeof row);
    }
    bool ok = io_npy_write(path, IO_F32, 2, shape, table, error);
    free(table);
    return ok;
}

static bool write_table(const char *path, const io_keypoints *keypoints, io_error *error)
{
    if (path && io_path_has_suffix(path, ".npy")) return keypoints_write_npy(path, keypoints, error);
    return io_keypoints_write(path, keypoints->items, keypoints->count, error);
}

/* The weakest first, so that the strongest lie on top. */
static bool write_picture(const char *path, const io_image *image, const io_keypoints *keypoints, io_error *error)
{
    io_canvas canvas;
    if (!io_canvas_create(&canvas, image->width, image->height, (io_colour){0, 0, 0}, error)) return false;
    io_draw_image(&canvas, image, 0, 0);
    for (size_t i = keypoints->count; i > 0; i--) {
        io_colour colour = io_colour_heat(1 - (double)(i - 1) / (double)keypoints->count);
        io_draw_keypoint(&canvas, &keypoints->items[i - 1], 1, 0, 1, colour);
    }
    bool ok = io_canvas_write(path, &canvas, error);
    io_canvas_free(&canvas);
    return ok;
}

/* The files of an image; NULL for what is not wanted, the table then being written to standard output. */
typedef struct detect_files {
    const char *table, *picture, *deviations;
} detect_files;

static void detect_report(detect_job *j, const char *path, const detect_files *files, const features *f,
                          double seconds)
{
    size_t count = f->keypoints.count;
    j->keypoints += count;
    io_progress_wipe(&j->progress);
    cli_say(j->common, "%s: %d x %d px, %zu keypoints, %.1f ms", path, (int)f->width, (int)f->height, count,
            1000 * seconds);
    if (!j->common->json) return;
    io_json_object(&j->json, NULL);
    io_json_string(&j->json, "image", path);
    io_json_string(&j->json, "output", files->table);
    io_json_string(&j->json, "picture", files->picture);
    io_json_string(&j->json, "deviations", files->deviations);
    io_json_integer(&j->json, "width", f->width);
    io_json_integer(&j->json, "height", f->height);
    io_json_integer(&j->json, "keypoints", (int64_t)count);
    io_json_number(&j->json, "ms", 1000 * seconds);
    io_json_end(&j->json);
}

static bool detect_one(detect_job *j, const char *path, const detect_files *files, io_error *error)
{
    io_image image;
    features f = {.detector = j->detect.detector};
    if (!io_image_read(path, &j->reading, &image, error)) return false;
    double start = io_clock_seconds(), seconds = 0;
    bool ok = mask_fits(j, path, &image, error) && detect_keypoints(j, path, &image, &f.keypoints, error);
    seconds = io_clock_seconds() - start;
    ok = ok && (!files->picture || write_picture(files->picture, &image, &f.keypoints, error)) &&
         (!files->deviations || features_write_deviations(&f, &image, j->common->parallel, j->workspace,
                                                          files->deviations, error));
    features_to_file(&f, &image.file);
    ok = ok && write_table(files->table, &f.keypoints, error);
    if (ok) detect_report(j, path, files, &f, seconds);
    features_free(&f);
    io_image_free(&image);
    return ok;
}

/* ------------------------------------------------------------------------------------------------------ all images */

/* wanted: tables, pictures, deviations. Goes on after a failure: one bad image of a thousand should not cost the rest.
 * Returns how many failed. */
static size_t detect_all(detect_job *j, const io_names *images, const io_names wanted[3])
{
    size_t failed = 0;
    io_progress_start(&j->progress, "detecting", images->count, j->common->quiet || images->count < 2);
    for (size_t i = 0; i < images->count; i++) {
        io_error error;
        io_progress_update(&j->progress, i);
        const char *file[3];
        for (int k = 0; k < 3; k++) file[k] = wanted[k].count ? wanted[k].items[i] : NULL;
        if (detect_one(j, images->items[i], &(detect_files){file[0], file[1], file[2]}, &error)) continue;
        io_progress_wipe(&j->progress);
        cli_error("%s", error.text);
        failed++;
    }
    io_progress_end(&j->progress);
    return failed;
}

static int detect_images(detect_job *j, const io_names *images, const io_names wanted[3])
{
    if (j->common->json) {
        io_json_begin(&j->json, stdout);
        io_json_object(&j->json, NULL);
        io_json_string(&j->json, "detector", kb_name(KB_NAMES_DETECTOR, j->detect.detector));
        io_json_array(&j->json, "images");
    }
    size_t failed = detect_all(j, images, wanted);
    if (j->common->json) {
        io_json_end(&j->json);
        io_json_integer(&j->json, "failed", (int64_t)failed);
        io_json_end(&j->json);
    }
    if (images->count > 1)
        cli_say(j->common, "%zu keypoints of %zu images, %zu failed", j->keypoints, images->count - failed, failed);
    return failed ? CLI_FAILED : CLI_DONE;
}

/* What the options say together; CLI_DONE when it makes sense. */
static int detect_check(const cli_common *common, const detect_job *j)
{
    const char *out = j->output;
    if (j->mask_path && j->reading.max_size)
        return cli_usage_error(common, "--mask has the size of the file, so that --max-size excludes it");
    if (common->json && !out)
        return cli_usage_error(common, "--json needs -o, since the table would go to standard output");
    if (io_path_is_plain(out) && !io_path_has_suffix(out, ".csv") && !io_path_has_suffix(out, ".npy"))
        return cli_usage_error(
            common, "the output %s must end in .csv or .npy, or be a folder, new ones with / at the end", out);
    if (io_path_is_plain(j->picture) && !io_path_has_suffix(j->picture, ".png"))
        return cli_usage_error(common, "the picture %s must end in .png, or be a folder, new ones with / at the end",
                               j->picture);
    return cli_check_deviations(common, j->deviations);
}

static const char *const formats[] = {"csv", "npy", NULL};

static int detect_run(cli_common *common, void *job, int count, char **arguments)
{
    static const char *const suffixes[] = {".csv", ".npy"};
    detect_job *j = job;
    io_error error;
    io_names images = {0}, wanted[3] = {{0}};
    j->common = common;
    if (j->output && strcmp(j->output, "-") == 0) j->output = NULL;
    if (!j->detect.detector) j->detect.detector = kb_detector_get_info(0).detector;
    int code = detect_check(common, j);
    if (code != CLI_DONE) return code;
    if (!cli_claim_images(common, count, arguments, &images, &error) ||
        !cli_claim_outputs(common, &images, j->output, suffixes[j->format], &wanted[0], &error) ||
        !cli_claim_outputs(common, &images, j->picture, ".png", &wanted[1], &error) ||
        !cli_claim_outputs(common, &images, j->deviations, ".npy", &wanted[2], &error))
        code = cli_error("%s", error.text);
    else if (!j->output && images.count > 1)
        code = cli_usage_error(common, "%zu images need -o with a folder or a pattern", images.count);
    else if (j->mask_path && !io_image_read(j->mask_path, NULL, &j->mask, &error))
        code = cli_error("%s", error.text);
    else if (kb_workspace_create(NULL, &j->workspace) != KB_OK)
        code = cli_error("out of memory");
    else
        code = detect_images(j, &images, wanted);
    io_names_free(&images);
    for (int i = 0; i < 3; i++) io_names_free(&wanted[i]);
    return code;
}

static void detect_begin(void *job)
{
    detect_job *j = job;
    KB_INIT(j->detect);
    reading_begin(&j->reading);
}

static void detect_end(void *job)
{
    detect_job *j = job;
    kb_workspace_free(j->workspace);
    io_image_free(&j->mask);
}

static bool check_mask_margin(cli_common *common, const char *option, const char *text, void *job)
{
    const detect_job *j = job;
    (void)option, (void)text;
    if (j->detect.mask_margin == 0 || j->mask_path) return true;
    common->exit_code = cli_usage_error(common, "--mask-margin belongs to --mask");
    return false;
}

static const char *const orientations[] = {"gradient", "centroid", "none", NULL};

static const cli_option detect_options[] = {
    CLI_SECTION("Which keypoints"),
    CLI_GROUP(detect_job, detect, detector_options),
    CLI_SECTION("Angles of hessian and orb"),
    {"orientation", 0, CLI_CHOICE(detect_job, detect.orientation, KB_ORIENTATION_GRADIENT), "RULE",
     .words = orientations,
     .help = "gradient: the peak of the histogram of gradients (default); centroid: the intensity centroid, as "
             "OpenCV's ORB; none: -1"},
    CLI_SECTION("Images"),
    CLI_GROUP(detect_job, reading, any_photo_options),
    {"mask", 0, CLI_INPUT(detect_job, mask_path), "FILE",
     .help = "an image of the same size: keypoints only where it is not black"},
    {"mask-margin", 0, CLI_NUMBER(detect_job, detect.mask_margin, 0, 65535), "PX",
     .help = "px: keypoints keep this distance, in x or in y, from what the mask hides (default 0)"},
    CLI_CHECK(check_mask_margin),
    CLI_SECTION("Output"),
    {"output", 'o', CLI_TEXT(detect_job, output), "OUT",
     .help = "OUT.csv (x,y,size,angle,response,octave) or OUT.npy (the same as N x 6 floats). For many images a "
             "folder, or a pattern in which {} stands for the image's name: out/{}.csv (default: CSV of one image on "
             "standard output)"},
    {"format", 0, CLI_CHOICE(detect_job, format, 0), "NAME", "csv", .words = formats,
     .help = ": what goes into a folder"},
    {"draw", 0, CLI_TEXT(detect_job, picture), "PICTURE",
     .help = "a .png with a circle of its size and its angle for every keypoint, the weakest red and the strongest "
             "green; for many images a folder or a pattern"},
    DEVIATIONS_OPTION(detect_job, deviations),
    {0}};

const cli_command command_detect = {
    .name = "detect",
    .examples = "photo.jpg -o points.csv --draw points.png # a table and a picture\n"
                "photos -n 500 -o points/ --format npy # every image of a folder",
    .summary = "find keypoints in images, as tables and as pictures",
    .usage = "IMAGE... [--detector NAME] [-n N] [-o OUT] [--draw PICTURE] [options]",
    .about = "Finds keypoints, strongest first. " CLI_IMAGES_HELP,
    .options = detect_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name at least one image",
    .reads_arguments = true,
    .job_size = sizeof(detect_job),
    .begin = detect_begin,
    .run = detect_run,
    .end = detect_end};
