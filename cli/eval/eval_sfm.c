/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval sfm: options in, ETH's table or JSON out; the protocol is eval/sfm.h. */
#include <stdlib.h>

#include "cli/groups.h"
#include "cli/images/export_colmap.h"
#include "eval/sfm.h"
#include "eval_common.h"

/* ---- output ---- */

static void sfm_json(io_json *json, const char *model, const ev_sfm_options *options, const ev_sfm_result *r)
{
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "sfm");
    char *set = eval_set_name(options->folder);
    io_json_string(json, "set", set);
    free(set);
    io_json_string(json, "model", model);
    io_json_string(json, "keypoints", ev_keypoint_source_name(&options->keypoints));
    io_json_number(json, "ratio", options->export.max_ratio);
    io_json_number(json, "images", r->images);
    io_json_number(json, "registered", r->registered);
    io_json_number(json, "points", r->points);
    io_json_number(json, "observations", r->observations);
    io_json_number(json, "track_length", r->track_length);
    io_json_number(json, "reprojection_px", r->reprojection_px);
    io_json_number(json, "matches", r->matches);
    io_json_number(json, "verified_pairs", r->verified_pairs);
    io_json_number(json, "verified_matches", r->verified_matches);
    io_json_number(json, "colmap_seconds", r->seconds);
    io_json_end(json);
}

static void sfm_print_json(const eval_methods *methods, const ev_sfm_options *options, const ev_sfm_result *results)
{
    io_json json;
    io_json_begin(&json, stdout);
    if (methods->count > 1) io_json_array(&json, NULL);
    for (size_t m = 0; m < methods->count; m++) sfm_json(&json, methods->items[m].name, options, &results[m]);
    if (methods->count > 1) io_json_end(&json);
}

static void sfm_print_table(const eval_methods *methods, const ev_sfm_result *results)
{
    printf("%-28s %10s %8s %12s %7s %9s %8s %9s\n", "", "registered", "points", "observations", "track", "repr.(px)",
           "pairs", "inliers");
    for (size_t m = 0; m < methods->count; m++) {
        const ev_sfm_result *r = &results[m];
        printf("%-28s %6.0f/%-3.0f %8.0f %12.0f %7.3f %9.3f %8.0f %9.0f\n", cli_shown(methods->items[m].name),
               r->registered, r->images, r->points, r->observations, r->track_length, r->reprojection_px,
               r->verified_pairs, r->verified_matches);
    }
}

/* ---- the run ---- */

static int sfm_evaluate(const cli_common *common, const eval_options *eval, const ev_sfm_options *options)
{
    io_error error;
    io_names images = {NULL, 0};
    eval_methods methods;
    char *folder = (char *)options->folder;
    if (!io_names_images(&images, 1, &folder, &error)) return cli_error("%s", error.text);
    if (!eval_methods_open(&methods, eval->models, eval->support, &eval->descriptors)) {
        io_names_free(&images);
        return CLI_FAILED;
    }
    ev_sfm_result *results = io_alloc(methods.count, sizeof *results);
    int code = CLI_DONE;
    for (size_t m = 0; m < methods.count && code == CLI_DONE; m++)
        if (!ev_sfm_run(&images, &methods.items[m], options, &results[m], &error)) code = cli_error("%s", error.text);
    if (code == CLI_DONE && common->json) sfm_print_json(&methods, options, results);
    else if (code == CLI_DONE) sfm_print_table(&methods, results);
    free(results);
    eval_methods_free(&methods);
    io_names_free(&images);
    return code;
}

typedef struct sfm_job {
    eval_options eval;
    export_options export;
    ev_sfm_options options;
    int32_t max_size;
} sfm_job;

static int sfm_run(cli_common *common, void *context, int count, char **arguments)
{
    sfm_job *job = context;
    ev_sfm_options *options = &job->options;
    io_error error;
    (void)count;
    if (!io_path_is_folder(arguments[0])) return cli_error("%s: is not a folder", arguments[0]);
    if (job->eval.export_patches)
        return cli_usage_error(common, "--export-patches works with oxford, hpatches and brown");
    if (!eval_options_settle(&job->eval, common)) return common->exit_code;
    if (!ev_sfm_find_colmap(options->colmap, &error)) return cli_error("%s", error.text);
    export_options_settle(&job->export, common, arguments[0]);
    options->export = job->export.options;
    options->keypoints = job->eval.source;
    options->keypoints.max_size = job->eval.source.folder ? 0 : job->max_size; /* those of files are in their pixels */
    options->preset = job->eval.preset;
    options->folder = arguments[0];
    options->cache = job->eval.cache;
    options->threads = common->threads;
    return sfm_evaluate(common, &job->eval, options);
}

static void sfm_end(void *job) { eval_options_end(&((sfm_job *)job)->eval); }

static const cli_option sfm_options[] = {
    CLI_GROUP(sfm_job, eval, eval_method_options),
    CLI_GROUP(sfm_job, eval, eval_sfm_keypoint_options),
    CLI_GROUP(sfm_job, export, export_colmap_options),
    CLI_SECTION("Other options"),
    MAX_SIZE_OPTION(sfm_job, max_size, MAX_SIZE_EXACT),
    {"colmap", 0, CLI_TEXT(sfm_job, options.colmap), "PROGRAM", .help = "another colmap than the one on the path"},
    {"work", 0, CLI_TEXT(sfm_job, options.keep), "DIR",
     .help = "work there and keep databases, models and logs (default: a temporary folder)"},
    {"cache", 0, CLI_TEXT(sfm_job, eval.cache), "DIR",
     .help = "keep results there, so that an interrupted run goes on"},
    {0}};

const cli_command eval_sfm = {
    .name = "eval sfm",
    .examples = "photos -m bag256,cv:orb # needs COLMAP",
    .summary = "reconstruction with COLMAP: points, observations, track length",
    .usage = "IMAGES [-m LIST] [options]",
    .about =
        "Reconstructs the folder IMAGES with COLMAP from our keypoints and matches, for every descriptor, and prints "
        "what the ETH benchmark counts: registered images, sparse points, observations, track length, reprojection "
        "error. COLMAP 3.8 must be installed (Debian: apt-get install colmap); it runs without a display.",
    .options = sfm_options,
    .least = 1,
    .most = 1,
    .wants = "it takes one folder of images",
    .job_size = sizeof(sfm_job),
    .run = sfm_run,
    .end = sfm_end};
