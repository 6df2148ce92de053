/* SPDX-License-Identifier: Apache-2.0 */
/* keybits train thresholds: the distances and the ratio that mean for a model what 50, 100 and 0.75 mean for ORB. */
#include <stdlib.h>
#include <string.h>

#include "cli/groups.h"
#include "io/features.h"
#include "io/json.h"
#include "io/progress.h"
#include "learn/random.h"
#include "pipeline/models.h"
#include "threshold_views.h"
#include "train.h"
#ifdef KB_HAVE_EVAL
#    include "eval/peers.h"
#endif

#define ORB_LOW 50
#define ORB_HIGH 100
#define ORB_RATIO 75 /* hundredths */

/* What describes the views: a model, or ORB where it is NULL. */
typedef struct descriptor {
    const char *name;
    kb_model *model;
    threshold_counts counts;
} descriptor;

/* Distances in bits, the ratio in hundredths. */
typedef struct limits {
    int32_t low, high, ratio;
} limits;

typedef struct threshold_job {
    const char *list; /* -m */
    double rate_low, rate_high, precision; /* per cent; 0: ORB's on the same views */
    double window;
    int32_t views;
    uint64_t seed;
    kb_detect_options detection;
    io_read_options reading;
    descriptor *descriptors; /* ORB first, when it is measured */
    size_t count;
    io_names names;
    io_json json;
    bool store; /* into the model files */
} threshold_job;

/* ----------------------------------------------------------------------------------------------------------- shares */

static uint64_t sum_of(const uint64_t *counts, int32_t last)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i <= last; i++) sum += counts[i];
    return sum;
}

static double per_cent(uint64_t part, uint64_t whole) { return whole ? 100 * (double)part / (double)whole : 0; }

static double wrong_within(const threshold_counts *c, int32_t distance)
{
    return per_cent(sum_of(c->wrong, distance), sum_of(c->wrong, KB_MAX_BITS));
}

static double right_within(const threshold_counts *c, int32_t distance)
{
    return per_cent(sum_of(c->right, distance), sum_of(c->right, KB_MAX_BITS));
}

static double precision_at(const threshold_counts *c, int32_t ratio)
{
    uint64_t right = sum_of(c->ratio_right, ratio);
    return per_cent(right, right + sum_of(c->ratio_wrong, ratio));
}

static double kept_at(const threshold_counts *c, int32_t ratio)
{
    return per_cent(sum_of(c->ratio_right, ratio), sum_of(c->ratio_right, RATIO_STEPS + 1));
}

/* The largest distance, up to `most`, that accepts no more than this share of the wrong pairs. */
static int32_t distance_at(const threshold_counts *c, double rate, int32_t most)
{
    int32_t distance = 0;
    while (distance < most && wrong_within(c, distance + 1) <= rate) distance++;
    return distance;
}

/* The largest ratio whose matches are right at least so often. */
static int32_t ratio_at(const threshold_counts *c, double precision)
{
    int32_t ratio = RATIO_STEPS;
    while (ratio > 1 && precision_at(c, ratio) < precision) ratio--;
    return ratio;
}

/* ------------------------------------------------------------------------------------------------------- describing */

#ifdef KB_HAVE_EVAL
static bool orb_available(io_error *error) { return ev_peers_available(error); }

static bool describe_orb(const kb_image *image, const kb_features *f, io_rows *rows, io_error *error)
{
    float scale = kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, f->detector));
    return ev_peer_describe("cv:orb", image, f->keypoints, f->n, scale, rows, error);
}
#else
static bool orb_available(io_error *error) { return io_fail(error, "this build is without OpenCV"); }

static bool describe_orb(const kb_image *image, const kb_features *f, io_rows *rows, io_error *error)
{
    (void)image, (void)f, (void)rows;
    return orb_available(error);
}
#endif

static bool describe_view(const descriptor *d, const view_pair *pair, int side, const kb_parallel *parallel,
                           io_rows *rows, io_error *error)
{
    kb_features f = pair->features[side];
    if (!d->model) return describe_orb(&pair->image[side], &f, rows, error);
    kb_model_info info;
    kb_describe_options options;
    KB_INIT(info);
    KB_INIT(options);
    kb_model_get_info(d->model, &info);
    options.parallel = parallel;
    *rows = (io_rows){.count = f.n, .width = (size_t)info.row_bytes};
    f.rows = rows->bytes = io_alloc(f.n, rows->width);
    f.rows_size = f.n * rows->width;
    kb_status status = kb_describe(d->model, &pair->image[side], &options, pair->workspace, &f, NULL);
    return status == KB_OK || io_fail(error, "%s: %s", d->name, kb_status_string(status));
}

static bool count_descriptor(const threshold_job *job, const cli_common *common, descriptor *d, const view_pair *pair,
                             view_kind kind, io_error *error)
{
    io_rows rows[2] = {{0}, {0}};
    bool ok = describe_view(d, pair, 0, common->parallel, &rows[0], error) &&
              describe_view(d, pair, 1, common->parallel, &rows[1], error);
    const uint8_t *const bytes[2] = {rows[0].bytes, rows[1].bytes};
    kb_status status = KB_OK;
    if (ok && kind == VIEW_FRAME) count_windows(pair, bytes, rows[0].width, job->window, &d->counts);
    else if (ok) status = count_ratios(pair, bytes, rows[0].width, &d->counts);
    if (status != KB_OK) ok = io_fail(error, "%s: %s", d->name, kb_status_string(status));
    io_rows_free(&rows[0]);
    io_rows_free(&rows[1]);
    return ok;
}

static bool count_photo(threshold_job *job, const cli_common *common, const kb_image *photo, uint64_t seed,
                        io_error *error)
{
    bool ok = true;
    for (int32_t v = 0; v < 2 * job->views && ok; v++) {
        view_kind kind = v % 2 ? VIEW_PHOTOGRAPH : VIEW_FRAME;
        view_pair pair;
        kb_status status = view_pair_make(&pair, photo, kind, &job->detection, kbi_random_fork(seed, (uint64_t)v));
        if (status != KB_OK) ok = io_fail(error, "%s", kb_status_string(status));
        for (size_t i = 0; i < job->count && ok; i++)
            ok = count_descriptor(job, common, &job->descriptors[i], &pair, kind, error);
        view_pair_free(&pair);
    }
    return ok;
}

static bool count_photos(threshold_job *job, const cli_common *common, const io_names *photos, io_error *error)
{
    io_progress progress;
    bool ok = true;
    io_progress_start(&progress, "images", photos->count, common->quiet);
    for (size_t i = 0; i < photos->count && ok; i++) {
        io_image image;
        ok = io_image_read(photos->items[i], &job->reading, &image, error);
        if (!ok) break;
        io_error why;
        ok = count_photo(job, common, &image.view, kbi_random_fork(job->seed, i), &why) ||
             io_fail(error, "%s: %s", photos->items[i], why.text);
        io_image_free(&image);
        io_progress_update(&progress, i + 1);
    }
    io_progress_end(&progress);
    return ok;
}

/* ---------------------------------------------------------------------------------------------------------- results */

static void print_row(threshold_job *job, const cli_common *common, const descriptor *d, const limits *at)
{
    const threshold_counts *c = &d->counts;
    const double values[] = {wrong_within(c, at->low),  right_within(c, at->low),    wrong_within(c, at->high),
                             right_within(c, at->high), precision_at(c, at->ratio), kept_at(c, at->ratio)};
    if (!common->json) {
        printf("%-12s %5d %9.3f %7.1f %5d %9.3f %7.1f %5.2f %11.1f %7.1f\n", cli_shown(d->name), (int)at->low,
               values[0], values[1], (int)at->high, values[2], values[3], at->ratio / 100.0, values[4], values[5]);
        return;
    }
    static const char *const names[] = {"wrong_low", "right_low", "wrong_high", "right_high", "precision", "kept"};
    io_json_object(&job->json, NULL);
    io_json_string(&job->json, "model", d->name);
    io_json_integer(&job->json, "low", at->low);
    io_json_integer(&job->json, "high", at->high);
    io_json_number(&job->json, "ratio", at->ratio / 100.0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) io_json_number(&job->json, names[i], values[i]);
    io_json_end(&job->json);
}

static bool store_limits(const descriptor *d, const limits *at, io_error *error)
{
    kb_model_info info;
    kb_model *model;
    kb_error why;
    KB_INIT(info);
    kb_model_get_info(d->model, &info);
    kb_model_spec changed = *info.spec;
    changed.threshold_low = at->low;
    changed.threshold_high = at->high;
    changed.ratio = (float)at->ratio / RATIO_STEPS;
    if (kb_model_create(&changed, NULL, &model, &why) != KB_OK) return io_fail(error, "%s: %s", d->name, why.text);
    bool ok = train_model_save(model, d->name, error);
    kb_model_free(model);
    return ok;
}

static bool report_descriptor(threshold_job *job, const cli_common *common, const descriptor *d, io_error *error)
{
    limits at = {ORB_LOW, ORB_HIGH, ORB_RATIO};
    if (d->model) {
        kb_model_info info;
        KB_INIT(info);
        kb_model_get_info(d->model, &info);
        at = (limits){distance_at(&d->counts, job->rate_low, info.spec->bits),
                      distance_at(&d->counts, job->rate_high, info.spec->bits), ratio_at(&d->counts, job->precision)};
    } else {
        job->rate_low = wrong_within(&d->counts, ORB_LOW);
        job->rate_high = wrong_within(&d->counts, ORB_HIGH);
        job->precision = precision_at(&d->counts, ORB_RATIO);
    }
    print_row(job, common, d, &at);
    return !job->store || !d->model || store_limits(d, &at, error);
}

static bool report(threshold_job *job, const cli_common *common, io_error *error)
{
    bool ok = true;
    if (common->json) {
        io_json_begin(&job->json, stdout);
        io_json_array(&job->json, NULL);
    } else {
        printf("%-12s %5s %9s %7s %5s %9s %7s %5s %11s %7s\n", "model", "low", "wrong %", "right %", "high", "wrong %",
               "right %", "ratio", "precision %", "kept %");
    }
    for (size_t i = 0; i < job->count && ok; i++) ok = report_descriptor(job, common, &job->descriptors[i], error);
    if (ok && common->json) io_json_end(&job->json);
    return ok;
}

/* ---------------------------------------------------------------------------------------------------------- command */

static bool is_built_in(const char *name)
{
    const char *known;
    for (int32_t i = 0; (known = kb_name(KB_NAMES_MODEL, i)); i++)
        if (strcmp(known, name) == 0) return true;
    return false;
}

static bool open_descriptor(threshold_job *job, const char *name, io_error *error)
{
    descriptor *d = &job->descriptors[job->count];
    kb_model_info info;
    KB_INIT(info);
    d->name = name;
    if (job->store && is_built_in(name))
        return io_fail(error, "--store writes into model files, and %s is built in", name);
    if (!models_open(name, &d->model, error)) return false;
    job->count++;
    kb_model_get_info(d->model, &info);
    return info.row_floats == 0 || io_fail(error, "%s gives floats, which have no Hamming distance", name);
}

static bool open_descriptors(threshold_job *job, io_error *error)
{
    static const char builtin[] = "bad256,bad512,bag128,bag256,bag512,hashsift256,hashsift512";
    io_error why;
    bool ok = true;
    io_names_split(&job->names, job->list ? job->list : builtin);
    job->descriptors = io_alloc(job->names.count + 1, sizeof *job->descriptors);
    memset(job->descriptors, 0, (job->names.count + 1) * sizeof *job->descriptors);
    if (job->precision == 0) {
        if (!orb_available(&why))
            return io_fail(error, "no ORB to compare with (%s): give --rate-low, --rate-high and --precision",
                           why.text);
        job->descriptors[job->count++].name = "ORB";
    }
    for (size_t i = 0; i < job->names.count && ok; i++) ok = open_descriptor(job, job->names.items[i], error);
    return ok;
}

static int thresholds_run(cli_common *common, void *context, int count, char **arguments)
{
    threshold_job *job = context;
    io_names photos = {0};
    io_error error;
    if ((job->rate_low > 0) != (job->rate_high > 0) || (job->rate_low > 0) != (job->precision > 0) ||
        job->rate_low > job->rate_high)
        return cli_usage_error(common, "--rate-low, --rate-high and --precision go together, the lower rate first");
    if (job->detection.detector == 0) job->detection.detector = kb_detector_get_info(0).detector;
    job->detection.parallel = common->parallel;
    bool ok = cli_claim_images(common, count, arguments, &photos, &error) && open_descriptors(job, &error) &&
              count_photos(job, common, &photos, &error) && report(job, common, &error);
    io_names_free(&photos);
    return ok ? CLI_DONE : cli_error("%s", error.text);
}

static void thresholds_begin(void *context)
{
    threshold_job *job = context;
    KB_INIT(job->detection);
}

static void thresholds_end(void *context)
{
    threshold_job *job = context;
    for (size_t i = 0; i < job->count; i++) kb_model_free(job->descriptors[i].model);
    free(job->descriptors);
    io_names_free(&job->names);
}

static const cli_option thresholds_options[] = {
    {"model", 'm', CLI_INPUTS(threshold_job, list), "LIST",
     .help = "binary models and .kbm files, separated by commas (default: all that are built in)"},
    {"store", 0, CLI_FLAG(threshold_job, store), .help = "write the numbers into the model files"},
    {"views", 0, CLI_NUMBER(threshold_job, views, 1, 1000), "N", "1",
     .help = "frames, and as many of the views that differ more, of every photograph"},
    {"window", 0, CLI_NUMBER(threshold_job, window, 0.25, 100), "W", "1",
     .help = ": the search reaches so many keypoint sizes to each side"},
    {"rate-low", 0, CLI_NUMBER(threshold_job, rate_low, 0, 100), "P",
     .help = ": per cent of the wrong pairs that the low threshold may accept (default: what 50 of ORB accepts)"},
    {"rate-high", 0, CLI_NUMBER(threshold_job, rate_high, 0, 100), "P",
     .help = ": the same for the high threshold (default: what 100 of ORB accepts)"},
    {"precision", 0, CLI_NUMBER(threshold_job, precision, 0, 100), "P",
     .help = ": per cent of the matches within the ratio that must be right (default: as many as ORB's at 0.75)"},
    {"seed", 0, CLI_NUMBER(threshold_job, seed, 0, CLI_NO_LIMIT), "N", "1", .help = "decides the views"},
    CLI_GROUP(threshold_job, detection, detector_options),
    CLI_SECTION("Images"),
    CLI_GROUP(threshold_job, reading, reading_options),
    {0}};

const cli_command train_thresholds = {
    .name = "train thresholds",
    .examples = "frames -m my.kbm # distances and a ratio for SLAM\n"
                "frames -m my.kbm --store # and write them into the model",
    .summary = "distances and a ratio that mean for a model what 50, 100 and 0.75 mean for ORB",
    .usage = "IMAGE... [options]",
    .about = "SLAM systems search a window around the place where a point should be, and accept a match of ORB "
             "descriptors when its distance is at most 50 or 100. This command finds the distances that mean the same "
             "for a model. It renders frames of a moving camera from every photograph and compares each keypoint with "
             "the others in such a window. For every model it prints the largest distances that accept no larger share "
             "of wrong pairs than 50 and 100 do for ORB, and the shares of wrong and right pairs that they accept, in "
             "per cent. It also renders views that differ more, as `patches synth` does, and prints the largest ratio "
             "of the nearest to the second nearest distance whose matches are right as often as ORB's at 0.75, with "
             "this precision and the share of right matches that the ratio keeps. ORB is OpenCV's, on the same "
             "keypoints, where the program was built with it. Model files hold the numbers; `keybits model show` "
             "prints them (docs/slam.md). " CLI_IMAGES_HELP,
    .options = thresholds_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name photographs, or a folder of them",
    .reads_arguments = true,
    .job_size = sizeof(threshold_job),
    .begin = thresholds_begin,
    .run = thresholds_run,
    .end = thresholds_end};
