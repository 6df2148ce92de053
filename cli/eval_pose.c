/* keybits eval pose: options in, table or JSON out; the protocol is eval/pose.h. */
#include "eval/pose.h"

#include <stdlib.h>

#include "eval/peers.h"
#include "eval_common.h"
#include "groups.h"

typedef struct pose_job {
    cli_pipeline pipeline;
    ev_pose_options options;
    bool no_peers;
} pose_job;

static void pose_json(const char *set, const ev_pose_result *result, const ev_pose_options *o)
{
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "benchmark", "pose");
    io_json_string(&json, "set", set);
    io_json_number(&json, "threshold", o->threshold);
    io_json_array(&json, "solvers");
    for (int s = 0; s < EV_POSE_SOLVERS; s++) {
        const ev_pose_score *score = &result->solvers[s];
        if (score->problems == 0) continue;
        io_json_object(&json, NULL);
        io_json_string(&json, "solver", ev_pose_solver_name((ev_pose_solver)s));
        io_json_integer(&json, "problems", (int64_t)score->problems);
        io_json_integer(&json, "found", (int64_t)score->found);
        io_json_number(&json, "auc_5", 100 * score->auc[EV_POSE_5]);
        io_json_number(&json, "auc_10", 100 * score->auc[EV_POSE_10]);
        io_json_number(&json, "auc_20", 100 * score->auc[EV_POSE_20]);
        io_json_number(&json, "ms", score->ms);
        io_json_end(&json);
    }
    io_json_end(&json);
    io_json_end(&json);
}

static void pose_table(const ev_pose_result *result)
{
    printf("%-30s %8s %6s %7s %7s %7s %9s\n", "", "problems", "found", "AUC 5", "AUC 10", "AUC 20", "ms");
    for (int s = 0; s < EV_POSE_SOLVERS; s++) {
        const ev_pose_score *score = &result->solvers[s];
        if (score->problems == 0) continue;
        printf("%-30s %8zu %6zu %7.2f %7.2f %7.2f %9.3f\n", ev_pose_solver_name((ev_pose_solver)s), score->problems,
               score->found, 100 * score->auc[EV_POSE_5], 100 * score->auc[EV_POSE_10], 100 * score->auc[EV_POSE_20],
               score->ms);
    }
}

static int pose_run(cli_common *common, void *context, int count, char **arguments)
{
    pose_job *job = context;
    ev_pose_options *o = &job->options;
    ev_pose_result result;
    io_error error;
    o->quiet = common->quiet;
    o->peers = !job->no_peers && ev_peers_available(&error);
    if (!job->no_peers && !o->peers) cli_warn(common, "without OpenCV: %s", error.text);
    if (o->peers) ev_peers_threads(1);
    job->pipeline.options.no_fit = true;
    job->pipeline.options.geometry = KB_ESSENTIAL; /* what the keypoints are for */
    if (count == 0 ? !ev_pose_rendered(o, &result, &error)
                   : !cli_pipeline_open(common, &job->pipeline, &error) ||
                         !ev_pose_folder(&job->pipeline.pipeline, arguments[0], o, &result, &error))
        return cli_error("%s", error.text);
    char *set = count ? eval_set_name(arguments[0]) : NULL;
    if (common->json) pose_json(set ? set : "rendered", &result, o);
    else pose_table(&result);
    free(set);
    return CLI_DONE;
}

static void pose_begin(void *job) { cli_pipeline_begin(&((pose_job *)job)->pipeline); }

static void pose_end(void *job) { cli_pipeline_close(&((pose_job *)job)->pipeline); }

static const cli_option pose_options[] = {
    {"scenes", 0, CLI_NUMBER(pose_job, options.scenes, 1, 1000000), "N", "200", .help = "rendered scenes"},
    {"apart", 0, CLI_NUMBER(pose_job, options.apart, 1, 1000), "N", "3",
     .help = ": with DIR, pairs of images up to this far apart in the order of their names"},
    {"threshold", 0, CLI_NUMBER(pose_job, options.threshold, 0.01, 1000), "PX", "1.5",
     .help = "px, the largest error of an inlier, for every solver"},
    {"seed", 0, CLI_NUMBER(pose_job, options.seed, 0, CLI_NO_LIMIT), "S", "0", .help = "of the rendered scenes"},
    {"no-peers", 0, CLI_FLAG(pose_job, no_peers), .help = "ours alone"},
    CLI_SECTION("Keypoints"),
    CLI_GROUP(pose_job, pipeline.options.detect, detector_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(pose_job, pipeline, model_option),
    CLI_GROUP(pose_job, pipeline.options, patch_options),
    {0}};

const cli_command eval_pose = {
    .name = "eval pose",
    .summary = "relative and absolute pose of calibrated cameras, beside OpenCV's solvers",
    .usage = "[options]\nDIR [options]",
    .about = "Without DIR: rendered scenes of points, with noise and wrong correspondences. DIR is a set in Strecha's "
             "layout, such as fountain-P11: images/ and gt_dense_cameras/NAME.camera; images are described and matched "
             "by the pipeline. Prints for every solver the area under the curve of the share of poses within an error, "
             "up to 5, 10 and 20 degrees, and the processor time per problem. All solvers get the same correspondences, "
             "best first, and the same threshold.",
    .options = pose_options,
    .least = 0,
    .most = 1,
    .wants = "it takes one folder, or none",
    .job_size = sizeof(pose_job),
    .begin = pose_begin,
    .run = pose_run,
    .end = pose_end};
