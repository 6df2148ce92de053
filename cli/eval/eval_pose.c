/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval pose: options in, table or JSON out; the protocol is eval/pose.h. */
#include "eval/pose.h"

#include <stdlib.h>

#include "cli/groups.h"
#include "eval/peers.h"
#include "eval_common.h"
#include "pipeline/models.h"

typedef struct pose_job {
    cli_pipeline pipeline;
    ev_pose_options options;
    const char *peer_list; /* --features */
    io_names features, matches;
    bool no_peers;
} pose_job;

/* ---- output ---- */

/* The results of one set. */
static void pose_json(io_json *json, const char *set, const char *protocol, const ev_pose_result *result,
                      const ev_pose_options *o)
{
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "pose");
    io_json_string(json, "set", set);
    io_json_string(json, "protocol", protocol);
    io_json_number(json, "threshold", result->threshold);
    io_json_integer(json, "seeds", o->seeds);
    io_json_array(json, "solvers");
    for (size_t i = 0; i < result->count; i++) {
        const ev_pose_score *score = &result->rows[i];
        io_json_object(json, NULL);
        io_json_string(json, "origin", score->origin);
        io_json_string(json, "solver", ev_pose_solver_name(score->solver));
        io_json_integer(json, "problems", (int64_t)score->problems);
        io_json_number(json, "found", score->found);
        io_json_number(json, "matches", score->matches);
        io_json_number(json, "auc_5", 100 * score->auc[EV_POSE_5]);
        io_json_number(json, "auc_10", 100 * score->auc[EV_POSE_10]);
        io_json_number(json, "auc_20", 100 * score->auc[EV_POSE_20]);
        io_json_number(json, "ms", score->ms);
        io_json_end(json);
    }
    io_json_end(json);
    io_json_end(json);
}

static void pose_table(const char *set, const char *protocol, const ev_pose_result *result)
{
    printf("%s (%s), %g px\n", set, protocol, result->threshold);
    printf("%-20s %-28s %8s %7s %8s %7s %7s %7s %9s\n", "", "", "problems", "found", "matches", "AUC 5", "AUC 10",
           "AUC 20", "ms");
    for (size_t i = 0; i < result->count; i++) {
        const ev_pose_score *score = &result->rows[i];
        printf("%-20s %-28s %8zu %7.1f %8.0f %7.2f %7.2f %7.2f %9.3f\n", score->origin,
               ev_pose_solver_name(score->solver), score->problems, score->found, score->matches,
               100 * score->auc[EV_POSE_5], 100 * score->auc[EV_POSE_10], 100 * score->auc[EV_POSE_20], score->ms);
    }
}

/* ---- the run ---- */

/* A set, and what came of it. */
typedef struct pose_outcome {
    char *name;
    const char *protocol;
    ev_pose_set set;
    ev_pose_result result;
} pose_outcome;

static void pose_print(bool as_json, const pose_outcome *outcomes, size_t count, const ev_pose_options *o)
{
    io_json json;
    if (as_json) io_json_begin(&json, stdout);
    if (as_json && count > 1) io_json_array(&json, NULL);
    for (size_t i = 0; i < count; i++) {
        const pose_outcome *one = &outcomes[i];
        if (as_json)
            pose_json(&json, one->name, one->protocol, &one->result, o);
        else
            pose_table(one->name, one->protocol, &one->result);
    }
    if (as_json && count > 1) io_json_end(&json);
}

/* All sets are opened before the first is run, so that a wrong list is told at once. */
static bool pose_folders(cli_common *common, pose_job *job, size_t count, char **folders, pose_outcome *outcomes,
                         io_error *error)
{
    bool good = cli_pipeline_open(common, &job->pipeline, error);
    job->options.model = job->pipeline.model_name ? job->pipeline.model_name : models_default();
    for (size_t i = 0; i < count && good; i++) {
        good = ev_pose_set_open(folders[i], (size_t)job->options.apart, &outcomes[i].set, error);
        outcomes[i].name = eval_set_name(folders[i]);
        outcomes[i].protocol = good ? outcomes[i].set.protocol->name : NULL;
    }
    for (size_t i = 0; i < count && good; i++)
        good = ev_pose_run(&job->pipeline.pipeline, &outcomes[i].set, &job->options, &outcomes[i].result, error);
    return good;
}

/* The peers' names, before any image is read. */
static bool pose_features(pose_job *job, io_error *error)
{
    bool good = true;
    io_names_split(&job->features, job->peer_list ? job->peer_list : "");
    for (size_t i = 0; i < job->features.count && good; i++) good = ev_peer_find(job->features.items[i], error) != NULL;
    job->options.features = &job->features;
    job->options.matches = &job->matches;
    return good;
}

static int pose_run(cli_common *common, void *context, int count, char **arguments)
{
    pose_job *job = context;
    ev_pose_options *o = &job->options;
    io_error error;
    o->quiet = common->quiet;
    o->peers = !job->no_peers && ev_peers_available(&error);
    if (!job->no_peers && !o->peers) cli_warn(common, "without OpenCV: %s", error.text);
    if (o->peers) ev_peers_threads(1);
    job->pipeline.options.no_fit = true;
    job->pipeline.options.geometry = KB_GEOMETRY_ESSENTIAL; /* what the keypoints are for */
    size_t sets = count > 0 ? (size_t)count : 1;
    pose_outcome *outcomes = io_alloc(sets, sizeof *outcomes);
    bool good = pose_features(job, &error);
    if (count > 0)
        good = good && pose_folders(common, job, sets, arguments, outcomes, &error);
    else {
        outcomes->name = io_copy_string(outcomes->protocol = "rendered");
        good = good && ev_pose_rendered(o, &outcomes->result, &error);
    }
    if (good) pose_print(common->json, outcomes, sets, o);
    for (size_t i = 0; i < sets; i++) {
        free(outcomes[i].name);
        ev_pose_set_free(&outcomes[i].set);
        ev_pose_result_free(&outcomes[i].result);
    }
    free(outcomes);
    return good ? CLI_DONE : cli_error("%s", error.text);
}

static bool take_matches(cli_common *common, const char *option, const char *text, void *target)
{
    (void)common, (void)option;
    io_names_add(target, text);
    return true;
}

static void pose_begin(void *job) { cli_pipeline_begin(&((pose_job *)job)->pipeline); }

static void pose_end(void *context)
{
    pose_job *job = context;
    cli_pipeline_close(&job->pipeline);
    io_names_free(&job->features);
    io_names_free(&job->matches);
}

static const cli_option pose_options[] = {
    {"scenes", 0, CLI_NUMBER(pose_job, options.scenes, 1, 1000000), "N", "200", .help = "rendered scenes"},
    {"apart", 0, CLI_NUMBER(pose_job, options.apart, 1, 1000000), "N",
     .help =
         ": pairs of images up to this far apart in their order (default: 3 for Strecha's sets, all for cameras.txt)"},
    {"threshold", 0, CLI_NUMBER(pose_job, options.threshold, 0.01, 1000), "PX",
     .help = "px, the largest error of an inlier, for every solver (default: what the set's protocol has, else 1.5)"},
    {"seeds", 0, CLI_NUMBER(pose_job, options.seeds, 1, 1000), "N", "5",
     .help = "seeds of our fits, of which the mean counts"},
    {"seed", 0, CLI_NUMBER(pose_job, options.seed, 0, CLI_NO_LIMIT), "S", "0",
     .help = "of the rendered scenes, and the first of the fits"},
    {"no-peers", 0, CLI_FLAG(pose_job, no_peers), .help = "without OpenCV's solvers"},
    CLI_SECTION("Beside the pipeline"),
    {"features", 0, CLI_TEXT(pose_job, peer_list), "LIST",
     .help = "OpenCV's own keypoints and descriptors (cv:orb, cv:sift, cv:rootsift, cv:akaze, cv:brisk), separated by "
             "commas"},
    {"matches", 0, CLI_CALL(pose_job, matches), "DIR", .take = take_matches,
     .help =
         "matches that another program found, DIR/STEM1_STEM2.txt for each pair: a line \"x1 y1 x2 y2\" in pixels of "
         "the files for each match, best first (may be repeated)"},
    CLI_SECTION("Keypoints"),
    CLI_GROUP(pose_job, pipeline.options.detect, detector_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(pose_job, pipeline, model_option),
    CLI_GROUP(pose_job, pipeline.options, patch_options),
    CLI_GROUP(pose_job, pipeline.options.looks, looks_option),
    {0}};

const cli_command eval_pose = {
    .name = "eval pose",
    .examples = "scene -m bag256 # a folder with cameras",
    .summary = "relative and absolute pose of calibrated cameras, beside OpenCV's solvers",
    .usage = "[options]\nDIR... [options]",
    .about =
        "Without DIR: rendered scenes of points, with noise and wrong correspondences. DIR is a set of photographs "
        "with known cameras: cameras.txt and images beside it; Strecha's layout, such as fountain-P11 (images/ and "
        "gt_dense_cameras/NAME.camera); MegaDepth-1500 with XFeat's list megadepth_1500.json; ScanNet-1500 with "
        "SuperGlue's list scannet_test_pairs_with_gt.txt; a model of COLMAP's (sparse/0 and images/); or such a list. "
        "Images are resized as the protocol has it, described and matched by the pipeline. Prints for every solver "
        "the area under the curve of the share of poses within an error, up to 5, 10 and 20 degrees, and the "
        "processor time per problem. The solvers of one origin get the same correspondences, best first, and the same threshold.",
    .options = pose_options,
    .least = 0,
    .most = CLI_ANY,
    .wants = "it takes folders, or none",
    .job_size = sizeof(pose_job),
    .begin = pose_begin,
    .run = pose_run,
    .end = pose_end};
