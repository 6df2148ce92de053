/* keybits match: two images, their keypoints, descriptors and matches, and the geometry between them. */
#include <string.h>

#include "io/json.h"
#include "io/number.h"
#include "io/progress.h"
#include "match.h"

static const char match_help[] =
    "usage: keybits match A B [options]\n"
    "\n"
    "Finds keypoints in both images, describes and matches them (mutual nearest neighbours), and fits the geometry\n"
    "between the images. Prints keypoints, matches, inliers, the matrix and the time of each step. Finding no\n"
    "geometry is a result.\n"
    "\n"
    "  --fit WHICH            homography: a plane, or a camera that only turns (default); fundamental: any rigid\n"
    "                         scene; none: matches only\n"
    "  --keypoints-a FILE     CSV with x,y,size,angle,... for A instead of a detector, and\n"
    "  --keypoints-b FILE     for B\n"
    "  -o, --output FILE.csv  the matches: a,b,x1,y1,x2,y2,distance,second,inlier; - for standard output\n"
    "  --draw FILE.png        both images with inliers in green, outliers in red, and the outline of A in B\n"
    "  --epilines             with --fit fundamental: epipolar lines of some inliers instead of their lines\n"
    "  --exif                 turn images as their EXIF orientation says (default: pixels as stored)\n"
    "\n" PIPELINE_HELP "\n" CLI_COMMON_HELP;

typedef struct match_job {
    pipeline pipeline;
    const char *names[2], *keypoints[2];
    const char *output, *draw;
    bool epilines;
    io_read_options reading;
    io_image images[2];
    pipeline_features views[2];
    pipeline_result result;
    double ms_read, ms_draw;
} match_job;

/* ---------------------------------------------------------------------------------------------------------- options */

enum { FIT = CLI_OPTION_OWN, KEYPOINTS_A, KEYPOINTS_B, DRAW, EPILINES, EXIF };

static bool take_fit(cli_common *common, pipeline *r)
{
    static const char *const words[] = {"homography", "fundamental", "none", NULL};
    int index;
    if (!cli_choice(common, "--fit", optarg, words, &index)) return false;
    r->fit = index < 2;
    r->geometry = index == 1 ? KB_FUNDAMENTAL : KB_HOMOGRAPHY;
    return true;
}

static bool read_options(cli_common *common, int argc, char **argv, match_job *job)
{
    static const struct option longs[] = {PIPELINE_OPTIONS,
                                          {"fit", required_argument, NULL, FIT},
                                          {"keypoints-a", required_argument, NULL, KEYPOINTS_A},
                                          {"keypoints-b", required_argument, NULL, KEYPOINTS_B},
                                          {"output", required_argument, NULL, 'o'},
                                          {"draw", required_argument, NULL, DRAW},
                                          {"epilines", no_argument, NULL, EPILINES},
                                          {"exif", no_argument, NULL, EXIF},
                                          CLI_COMMON_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    int option;
    while ((option = cli_getopt(common, argc, argv, PIPELINE_SHORTS "o:", longs)) != CLI_END) {
        switch (option) {
        case CLI_STOP: return false;
        case FIT:
            if (!take_fit(common, &job->pipeline)) return false;
            break;
        case KEYPOINTS_A: job->keypoints[0] = optarg; break;
        case KEYPOINTS_B: job->keypoints[1] = optarg; break;
        case 'o': job->output = optarg; break;
        case DRAW: job->draw = optarg; break;
        case EPILINES: job->epilines = true; break;
        case EXIF: job->reading.exif = true; break;
        default:
            if (!pipeline_option(common, option, &job->pipeline)) return false;
        }
    }
    return true;
}

static int check_options(const cli_common *common, const match_job *job, int arguments)
{
    if (arguments != 2) return cli_usage_error(common, "name two images, not %d", arguments);
    if (job->epilines && (!job->pipeline.fit || job->pipeline.geometry != KB_FUNDAMENTAL)) {
        return cli_usage_error(common, "--epilines belongs to --fit fundamental");
    }
    if (job->epilines && !job->draw) return cli_usage_error(common, "--epilines needs --draw");
    if (job->keypoints[0] && job->keypoints[1] && job->pipeline.detector) {
        return cli_usage_error(common, "keypoints are given: --detector has nothing to do");
    }
    if (io_path_is_plain(job->draw) && !io_path_has_suffix(job->draw, ".png")) {
        return cli_usage_error(common, "the picture %s must end in .png", job->draw);
    }
    if (io_path_is_plain(job->output) && !io_path_has_suffix(job->output, ".csv")) {
        return cli_usage_error(common, "the matches %s must end in .csv", job->output);
    }
    if (common->json && job->output && strcmp(job->output, "-") == 0) {
        return cli_usage_error(common, "--json and -o - both want standard output");
    }
    return CLI_DONE;
}

/* ------------------------------------------------------------------------------------------------------------- work */

/* Nothing that is read may be written. */
static bool spares_inputs(const match_job *job, io_error *error)
{
    for (int i = 0; i < 2; i++) {
        if (!io_refuse_overwrite(job->draw, job->names[i], error) || !io_refuse_overwrite(job->output, job->names[i], error) ||
            !io_refuse_overwrite(job->output, job->keypoints[i], error))
            return false;
    }
    return true;
}

static bool work(match_job *job, io_error *error)
{
    double start = io_clock_seconds();
    if (!spares_inputs(job, error)) return false;
    for (int i = 0; i < 2; i++) {
        pipeline_features *view = &job->views[i];
        if (!io_image_read(job->names[i], &job->reading, &job->images[i], error)) return false;
        view->given = job->keypoints[i] != NULL;
        if (view->given && !io_keypoints_read(job->keypoints[i], &view->keypoints, error)) return false;
    }
    job->ms_read = 1000 * (io_clock_seconds() - start);
    for (int i = 0; i < 2; i++) {
        if (!pipeline_describe(&job->pipeline, job->names[i], &job->images[i].view, &job->views[i], error)) return false;
    }
    return pipeline_match(&job->pipeline, &job->views[0], &job->views[1], &job->result, error);
}

static bool draw(match_job *job, io_error *error)
{
    double start = io_clock_seconds();
    match_picture picture = {.path = job->draw,
                             .images = {&job->images[0], &job->images[1]},
                             .pipeline = &job->pipeline,
                             .result = &job->result,
                             .epilines = job->epilines};
    bool ok = match_draw(&picture, error);
    job->ms_draw = 1000 * (io_clock_seconds() - start);
    return ok;
}

static bool write_matches(const match_job *job, io_error *error)
{
    const pipeline_result *r = &job->result;
    io_writer *writer = io_writer_open(job->output, error);
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    fprintf(out, "a,b,x1,y1,x2,y2,distance,second,inlier\n");
    for (size_t i = 0; i < r->count; i++) {
        const kb_match *m = &r->matches[i];
        const double values[6] = {r->pairs[i].x1, r->pairs[i].y1, r->pairs[i].x2,
                                  r->pairs[i].y2, m->distance,    m->second};
        char text[32];
        fprintf(out, "%d,%d", (int)m->a, (int)m->b);
        for (int k = 0; k < 6; k++) fprintf(out, ",%s", io_number_shortest(text, values[k], true));
        fprintf(out, ",%d\n", (int)r->inliers[i]);
    }
    return io_writer_commit(writer, error);
}

/* ----------------------------------------------------------------------------------------------------------- report */

static const char *geometry_name(const pipeline *r)
{
    return !r->fit ? "none" : r->geometry == KB_HOMOGRAPHY ? "homography" : "fundamental";
}

static bool found(const match_job *job) { return job->pipeline.fit && job->result.fit.result == KB_FIT_FOUND; }

/* The steps and their times, in order; a step that was not taken has a negative time. */
enum { STEPS = 6 };
static void times(const match_job *job, const char *names[STEPS], double ms[STEPS])
{
    const char *const all[STEPS] = {"read", "detect", "describe", "match", "fit", "draw"};
    memcpy(names, all, sizeof all);
    ms[0] = job->ms_read;
    ms[1] = job->views[0].ms_detect + job->views[1].ms_detect;
    ms[2] = job->views[0].ms_describe + job->views[1].ms_describe;
    ms[3] = job->result.ms_match;
    ms[4] = job->pipeline.fit ? job->result.ms_fit : -1;
    ms[5] = job->draw ? job->ms_draw : -1;
}

static void print_json(const match_job *job)
{
    const pipeline_result *r = &job->result;
    const char *names[STEPS];
    double ms[STEPS], total = 0;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_array(&json, "images");
    for (int i = 0; i < 2; i++) io_json_string(&json, NULL, job->names[i]);
    io_json_end(&json);
    io_json_string(&json, "descriptor", job->pipeline.info.spec->name);
    io_json_array(&json, "keypoints");
    for (int i = 0; i < 2; i++) io_json_integer(&json, NULL, (int64_t)job->views[i].keypoints.count);
    io_json_end(&json);
    io_json_integer(&json, "matches", (int64_t)r->count);
    io_json_integer(&json, "inliers", r->fit.inliers);
    io_json_string(&json, "fit", geometry_name(&job->pipeline));
    io_json_string(&json, "result", job->pipeline.fit ? kb_fit_result_name(r->fit.result) : NULL);
    if (found(job)) {
        io_json_array(&json, "model");
        for (int i = 0; i < 9; i++) io_json_number(&json, NULL, r->fit.model[i]);
        io_json_end(&json);
    } else {
        io_json_string(&json, "model", NULL);
    }
    if (found(job)) io_json_number(&json, "rms", r->fit.rms);
    if (job->pipeline.fit) io_json_integer(&json, "iterations", r->fit.iterations);
    times(job, names, ms);
    io_json_object(&json, "ms");
    for (int i = 0; i < STEPS; i++) {
        if (ms[i] < 0) continue;
        io_json_number(&json, names[i], ms[i]);
        total += ms[i];
    }
    io_json_number(&json, "total", total);
    io_json_end(&json);
    io_json_end(&json);
}

static void print_fit(FILE *out, const match_job *job)
{
    const kb_fit_report *fit = &job->result.fit;
    const char *name = geometry_name(&job->pipeline);
    if (!found(job)) {
        fprintf(out, "%-12s%s\n", name, kb_fit_result_name(fit->result));
        if (fit->result == KB_FIT_DEGENERATE && job->pipeline.geometry == KB_FUNDAMENTAL) {
            fprintf(out, "            the pairs lie on one plane (or line): try --fit homography\n");
        }
        return;
    }
    fprintf(out, "inliers     %d (%.0f %%), rms %.2f px, %d iterations\n", (int)fit->inliers,
            100.0 * fit->inliers / (double)job->result.count, fit->rms, (int)fit->iterations);
    for (int i = 0; i < 3; i++) {
        fprintf(out, "%-12s", i == 0 ? name : "");
        for (int k = 0; k < 3; k++) fprintf(out, " %16.9g", fit->model[3 * i + k]);
        fprintf(out, "\n");
    }
}

static void print_words(FILE *out, const match_job *job)
{
    const char *names[STEPS];
    double ms[STEPS], total = 0;
    fprintf(out, "keypoints   %zu %zu (%s)\n", job->views[0].keypoints.count, job->views[1].keypoints.count,
            job->views[0].given || job->views[1].given ? "given" : kb_detector_name(job->pipeline.detector));
    fprintf(out, "matches     %zu (%s, mutual)\n", job->result.count, job->pipeline.info.spec->name);
    if (job->pipeline.fit) print_fit(out, job);
    times(job, names, ms);
    fprintf(out, "ms         ");
    for (int i = 0; i < STEPS; i++) {
        if (ms[i] < 0) continue;
        fprintf(out, " %s %.2f", names[i], ms[i]);
        total += ms[i];
    }
    fprintf(out, " total %.2f\n", total);
    if (job->draw) fprintf(out, "picture     %s\n", job->draw);
}

static void report(const cli_common *common, const match_job *job)
{
    bool taken = job->output && strcmp(job->output, "-") == 0; /* standard output holds the matches */
    if (common->json) print_json(job);
    else if (!common->quiet) print_words(taken ? stderr : stdout, job);
}

static void free_job(match_job *job)
{
    for (int i = 0; i < 2; i++) {
        io_image_free(&job->images[i]);
        pipeline_view_free(&job->views[i]);
    }
    pipeline_result_free(&job->result);
    pipeline_close(&job->pipeline);
}

static int match_legacy(int argc, char **argv)
{
    cli_common common;
    match_job job = {.reading = {.keep16 = true}};
    io_error error;
    pipeline_defaults(&job.pipeline);
    cli_begin(&common, match_help);
    if (!read_options(&common, argc, argv, &job)) return cli_end(&common, common.exit_code);
    int code = check_options(&common, &job, argc - optind);
    if (code != CLI_DONE) return code;
    job.names[0] = argv[optind];
    job.names[1] = argv[optind + 1];
    if (!cli_ready(&common)) return cli_end(&common, common.exit_code);
    if (!pipeline_open(&job.pipeline, common.parallel)) code = CLI_FAILED;
    else if (!work(&job, &error) || (job.draw && !draw(&job, &error)) || (job.output && !write_matches(&job, &error)))
        code = cli_error("%s", error.text);
    else report(&common, &job);
    free_job(&job);
    return cli_end(&common, code);
}

const cli_command command_match = {
    .name = "match", .summary = "match two images and find the geometry between them", .legacy = match_legacy, .legacy_help = match_help};
