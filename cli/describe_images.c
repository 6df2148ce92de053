/* keybits describe IMAGE...: for every image its keypoints, read or found, then their descriptors. */
#include <math.h>
#include <stdlib.h>

#include "describe.h"
#include "io/csv.h"
#include "io/json.h"
#include "io/progress.h"

/* What was odd about the keypoints of one image, or of all. */
typedef struct tally {
    size_t keypoints, border, small, outside, invalid;
} tally;

typedef struct job {
    const cli_common *common;
    const describe_options *options;
    kb_workspace *workspace;
    float scale;
    io_json json; /* used with --json */
    io_progress progress;
    tally total;
} job;

/* ------------------------------------------------------------------------------------------------------- keypoints */

static bool detect(const job *j, const char *path, const io_image *image, io_keypoints *out, io_error *error)
{
    size_t capacity = (size_t)j->options->max_keypoints;
    out->items = io_alloc(capacity, sizeof *out->items);
    kb_detect_options o;
    KB_INIT(o);
    o.detector = j->options->detector;
    o.max_keypoints = j->options->max_keypoints;
    o.parallel = j->common->parallel;
    kb_status status = kb_detect(&image->view, &o, j->workspace, out->items, capacity, &out->count);
    return status == KB_OK || io_fail(error, "%s: no keypoints could be found: %s", path, kb_status_string(status));
}

static bool read_from_folder(const char *folder, const char *image, io_keypoints *out, io_error *error)
{
    char *pattern = io_path_join(folder, "{}.csv");
    char *path = io_path_pattern(pattern, image);
    bool ok = io_keypoints_read(path, out, error);
    free(path);
    free(pattern);
    return ok;
}

static bool find_keypoints(const job *j, const char *path, const io_image *image, io_keypoints *out, io_error *error)
{
    const describe_options *options = j->options;
    bool ok = options->keypoints          ? io_keypoints_read(options->keypoints, out, error)
              : options->keypoints_folder ? read_from_folder(options->keypoints_folder, path, out, error)
                                          : detect(j, path, image, out, error);
    if (!ok) return false;
    if (options->orientation == ORIENTATION_NONE) {
        for (size_t i = 0; i < out->count; i++) out->items[i].angle = -1;
    }
    if (options->orientation == ORIENTATION_COMPUTE) {
        kb_status status = kb_orient(&image->view, out->items, out->count, NULL, NULL);
        if (status != KB_OK) return io_fail(error, "%s: no angles could be found: %s", path, kb_status_string(status));
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- report */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* The median width of the regions that can be described; NaN when there is none. */
static double median_width(const job *j, const io_keypoints *keypoints, const uint8_t *flags)
{
    float *widths = io_alloc(keypoints->count, sizeof *widths);
    size_t n = 0;
    for (size_t i = 0; i < keypoints->count; i++) {
        if (!(flags[i] & KB_KP_INVALID))
            widths[n++] = kb_patch_width(j->options->model, &keypoints->items[i], j->scale);
    }
    qsort(widths, n, sizeof *widths, compare_floats);
    double median = n ? (double)widths[n / 2] : NAN;
    free(widths);
    return median;
}

static tally count_flags(const uint8_t *flags, size_t n)
{
    tally t = {.keypoints = n};
    for (size_t i = 0; i < n; i++) {
        t.border += (flags[i] & KB_KP_BORDER) != 0;
        t.small += (flags[i] & KB_KP_SMALL) != 0;
        t.outside += (flags[i] & KB_KP_OUTSIDE) != 0;
        t.invalid += (flags[i] & KB_KP_INVALID) != 0;
    }
    return t;
}

static void report_words(const job *j, const char *path, const io_image *image, const tally *t, double width)
{
    char patch[64] = "";
    if (isfinite(width)) snprintf(patch, sizeof patch, ", patches %.1f px wide (median)", width);
    cli_say(j->common, "%s: %d x %d px, %zu keypoints, %s%s; %zu at the border, %zu outside, %zu invalid", path,
            (int)image->width, (int)image->height, t->keypoints, j->options->info.spec->name, patch, t->border,
            t->outside, t->invalid);
    if (t->small > 0) {
        cli_warn(j->common,
                 "%s: %zu of %zu patches are narrower than %g px: boxes fall together and descriptors say little; "
                 "is another --preset or --scale meant?",
                 path, t->small, t->keypoints, (double)KB_SMALL_PATCH);
    }
}

static void report_json(job *j, const char *path, const char *output, const io_image *image, const tally *t,
                        double width)
{
    io_json_object(&j->json, NULL);
    io_json_string(&j->json, "image", path);
    io_json_string(&j->json, "output", output);
    io_json_integer(&j->json, "width", image->width);
    io_json_integer(&j->json, "height", image->height);
    io_json_integer(&j->json, "keypoints", (int64_t)t->keypoints);
    io_json_float(&j->json, "median_patch_width", (float)width);
    io_json_integer(&j->json, "border", (int64_t)t->border);
    io_json_integer(&j->json, "small", (int64_t)t->small);
    io_json_integer(&j->json, "outside", (int64_t)t->outside);
    io_json_integer(&j->json, "invalid", (int64_t)t->invalid);
    io_json_end(&j->json);
}

static void report(job *j, const char *path, const char *output, const io_image *image, const io_keypoints *keypoints,
                   const uint8_t *flags)
{
    tally t = count_flags(flags, keypoints->count);
    double width = median_width(j, keypoints, flags);
    io_progress_wipe(&j->progress);
    report_words(j, path, image, &t, width);
    if (j->common->json) report_json(j, path, output, image, &t, width);
    j->total.keypoints += t.keypoints;
    j->total.small += t.small;
}

/* ------------------------------------------------------------------------------------------------------- one image */

static bool compute(const job *j, const char *path, const io_image *image, const io_keypoints *keypoints,
                    describe_rows *rows, uint8_t *flags, io_error *error)
{
    const describe_options *options = j->options;
    kb_describe_options o;
    KB_INIT(o);
    o.scale = j->scale;
    o.parallel = j->common->parallel;
    kb_status status = options->floats ? kb_describe_float(options->model, &image->view, keypoints->items,
                                                           keypoints->count, &o, j->workspace, rows->floats, flags)
                                       : kb_describe(options->model, &image->view, keypoints->items, keypoints->count,
                                                     &o, j->workspace, rows->bytes, flags);
    return status == KB_OK || io_fail(error, "%s: %s", path, kb_status_string(status));
}

static bool describe_one(job *j, const char *path, const char *output, io_error *error)
{
    io_image image;
    io_keypoints keypoints = {0};
    describe_rows rows = {0};
    uint8_t *flags = NULL;
    if (!io_image_read(path, &j->options->reading, &image, error)) return false;
    bool ok = find_keypoints(j, path, &image, &keypoints, error);
    if (ok) {
        describe_rows_create(&rows, j->options, keypoints.count);
        flags = io_alloc(keypoints.count, 1);
        ok = compute(j, path, &image, &keypoints, &rows, flags, error) &&
             describe_rows_write(output, &rows, j->options, error);
    }
    if (ok) report(j, path, output, &image, &keypoints, flags);
    free(flags);
    describe_rows_free(&rows);
    io_keypoints_free(&keypoints);
    io_image_free(&image);
    return ok;
}

/* ------------------------------------------------------------------------------------------------------ all images */

static float choose_scale(const describe_options *options)
{
    if (options->scale > 0) return options->scale;
    if (options->keypoints || options->keypoints_folder) return 1;
    return kb_detector_scale(options->detector ? options->detector : KB_DETECTOR_ORB);
}

/* Goes on after a failure when every image has a file of its own: one bad image of a thousand should not cost the rest.
 * Returns how many failed. */
static size_t describe_all(job *j, const io_names *images, const io_names *outputs)
{
    size_t failed = 0;
    io_progress_start(&j->progress, "describing", images->count, j->common->quiet || images->count < 2);
    for (size_t i = 0; i < images->count; i++) {
        io_error error;
        io_progress_update(&j->progress, i);
        if (describe_one(j, images->items[i], outputs->count ? outputs->items[i] : NULL, &error)) continue;
        io_progress_wipe(&j->progress);
        cli_error("%s", error.text);
        failed++;
        if (outputs->count == 0) break;
    }
    io_progress_end(&j->progress);
    return failed;
}

static int run(job *j, const io_names *images, const io_names *outputs)
{
    if (j->common->json) {
        io_json_begin(&j->json, stdout);
        io_json_object(&j->json, NULL);
        io_json_string(&j->json, "model", j->options->info.spec->name);
        io_json_float(&j->json, "scale", j->scale);
        io_json_array(&j->json, "images");
    }
    size_t failed = describe_all(j, images, outputs);
    if (j->common->json) {
        io_json_end(&j->json);
        io_json_integer(&j->json, "failed", (int64_t)failed);
        io_json_end(&j->json);
    }
    if (images->count > 1) {
        cli_say(j->common, "%zu keypoints of %zu images, %zu failed", j->total.keypoints, images->count - failed,
                failed);
    }
    return failed ? CLI_FAILED : CLI_DONE;
}

int describe_images(const cli_common *common, const describe_options *options, int count, char **arguments)
{
    io_error error;
    io_names images = {0}, outputs = {0};
    job j = {.common = common, .options = options, .scale = choose_scale(options)};
    bool ok = io_refuse_overwrite(options->output, options->keypoints, &error) &&
              io_names_images(&images, count, arguments, &error) &&
              (!options->output || io_names_outputs(&outputs, &images, options->output, options->suffix, &error));
    int code;
    if (!ok) {
        code = cli_error("%s", error.text);
    } else if (options->keypoints && images.count != 1) {
        code = cli_usage_error(common, "--keypoints is for one image; use --keypoints-dir for %zu", images.count);
    } else if (kb_workspace_create(&j.workspace) != KB_OK) {
        code = cli_error("out of memory");
    } else {
        code = run(&j, &images, &outputs);
    }
    kb_workspace_free(j.workspace);
    io_names_free(&images);
    io_names_free(&outputs);
    return code;
}
