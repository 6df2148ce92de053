/* keybits eval oxford: options in, table or JSON out; the protocol is eval/oxford.h. */
#include <math.h>
#include <stdlib.h>

#include "eval/oxford.h"
#include "eval_common.h"

const char eval_oxford_help[] =
    "usage: keybits eval oxford DIR [options]\n"
    "DIR is a scene or a folder of scenes: Oxford's (img1.png, H1to2p or H1to2p.xml), HPatches sequences\n"
    "(1.png, H_1_2), or images of a fixed camera (no homographies). Every image is compared with the\n"
    "first. Prints mAP by the strict and the paper-like protocol, the share of mutual matches within 3\n"
    "px, and the share of right homographies.\n"
    "\n"
    EVAL_METHOD_HELP
    "\n"
    EVAL_KEYPOINT_HELP
    "\n"
    "Other options\n"
    "  --strict           leave the paper-like protocol out, which takes all keypoints a detector finds\n"
    "  --curves           with --json: the mean precision-recall curves too\n"
    "  --cache DIR        keep the results of pairs there, so that an interrupted run goes on\n"
    "\n"
    CLI_COMMON_HELP;

enum { OPTION_STRICT = EVAL_OPTION_OWN, OPTION_CURVES };

static const struct option longs[] = {
    EVAL_METHOD_OPTIONS,
    EVAL_KEYPOINT_OPTIONS,
    {"cache", required_argument, NULL, EVAL_OPTION_CACHE},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"curves", no_argument, NULL, OPTION_CURVES},
    CLI_COMMON_OPTIONS,
    {NULL, 0, NULL, 0},
};

/* ---- output ---- */

static void json_score(io_json *json, const ev_oxford_score *score, bool curves)
{
    io_json_integer(json, "pairs", (int64_t)score->pairs);
    io_json_number(json, "strict_map", 100 * score->strict_map);
    io_json_number(json, "paperlike_map", 100 * score->paperlike_map);
    io_json_number(json, "precision_3px", 100 * score->precision_3px);
    io_json_number(json, "homography_3px", 100 * score->homography_3px);
    io_json_number(json, "homography_5px", 100 * score->homography_5px);
    io_json_number(json, "matches", score->matches);
    if (!curves) return;
    io_json_array(json, "precision_at_recall");
    for (int i = 0; i < EV_CURVE_POINTS; i++) io_json_number(json, NULL, score->curve.precision[i]);
    io_json_end(json);
}

static void json_result(io_json *json, const char *set, const ev_method *method, const ev_oxford_options *options,
                        const ev_scenes *scenes, const ev_oxford_result *result, bool curves)
{
    bool csv = options->keypoints.folder != NULL;
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "oxford");
    io_json_string(json, "set", set);
    io_json_string(json, "model", method->name);
    io_json_string(json, "keypoints", ev_keypoint_source_name(&options->keypoints));
    io_json_string(json, "keypoints_kind",
                   csv ? options->keypoints.kind : kb_detector_name(options->keypoints.detector));
    io_json_string(json, "paperlike_keypoints", csv ? "csv" : "all");
    io_json_number(json, "scale", options->scale);
    json_score(json, &result->total, curves);
    io_json_array(json, "scenes");
    for (size_t s = 0; s < scenes->count; s++) {
        io_json_object(json, NULL);
        io_json_string(json, "scene", scenes->items[s].name);
        json_score(json, &result->scenes[s], false);
        io_json_end(json);
    }
    io_json_end(json);
    io_json_end(json);
}

static void print_json(const char *folder, const eval_methods *methods, const ev_oxford_options *options,
                       const ev_scenes *scenes, const ev_oxford_result *results, bool curves)
{
    io_json json;
    char *set = eval_set_name(folder);
    io_json_begin(&json, stdout);
    if (methods->count > 1) io_json_array(&json, NULL);
    for (size_t m = 0; m < methods->count; m++)
        json_result(&json, set, &methods->items[m], options, scenes, &results[m], curves);
    if (methods->count > 1) io_json_end(&json);
    free(set);
}

static void print_line(const char *name, const ev_oxford_score *score)
{
    char cell[5][16];
    printf("%-28s %6zu %7s %10s %8s %7s %7s %8.0f\n", name, score->pairs, eval_percent(cell[0], score->strict_map),
           eval_percent(cell[1], score->paperlike_map), eval_percent(cell[2], score->precision_3px),
           eval_percent(cell[3], score->homography_3px), eval_percent(cell[4], score->homography_5px), score->matches);
}

static void print_table(const eval_methods *methods, const ev_scenes *scenes, const ev_oxford_result *results)
{
    printf("%-28s %6s %7s %10s %8s %7s %7s %8s\n", "", "pairs", "strict", "paper-like", "prec.3px", "H<3px", "H<5px",
           "matches");
    for (size_t m = 0; m < methods->count; m++) {
        print_line(methods->items[m].name, &results[m].total);
        for (size_t s = 0; s < scenes->count && scenes->count > 1 && methods->count == 1; s++) {
            char name[64];
            snprintf(name, sizeof name, "  %s", scenes->items[s].name);
            print_line(name, &results[m].scenes[s]);
        }
    }
}

/* ---- the run ---- */

/* Homographies that were forgotten look like a camera that never moved. */
static void tell_fixed_cameras(const cli_common *common, const ev_scenes *scenes)
{
    for (size_t s = 0; s < scenes->count; s++) {
        if (!scenes->items[s].fixed_camera) continue;
        cli_say(common, "%s: no homographies (H1to2p, H1to2p.xml, H_1_2), so its camera is taken to stand still",
                scenes->items[s].name);
    }
}

static int evaluate(const cli_common *common, const eval_options *own, const char *folder, const ev_scenes *scenes,
                    const ev_oxford_options *options, bool curves)
{
    io_error error;
    eval_methods methods;
    if (own->export_patches) {
        if (!ev_oxford_export_patches(scenes, options, own->export_patches, &error)) return cli_error("%s", error.text);
        return CLI_DONE;
    }
    if (!eval_methods_open(&methods, own->models, own->support, &own->descriptors)) return CLI_FAILED;
    ev_oxford_result *results = io_alloc(methods.count, sizeof *results);
    int code = CLI_DONE;
    if (!ev_oxford_run(scenes, methods.items, methods.count, options, results, &error))
        code = cli_error("%s", error.text);
    else if (common->json) print_json(folder, &methods, options, scenes, results, curves);
    else print_table(&methods, scenes, results);
    if (code == CLI_DONE) tell_fixed_cameras(common, scenes);
    if (code == CLI_DONE && own->source.folder && !options->strict_only)
        cli_say(common,
                "paper-like numbers use the keypoints of the files, which may be fewer than the detector found");
    for (size_t m = 0; m < methods.count; m++) ev_oxford_result_free(&results[m]);
    free(results);
    eval_methods_free(&methods);
    return code;
}

typedef struct oxford_job {
    ev_oxford_options options;
    bool curves;
} oxford_job;

static bool take(void *context, eval_options *own, cli_common *common, int option)
{
    oxford_job *job = context;
    if (option == OPTION_STRICT) job->options.strict_only = true;
    else if (option == OPTION_CURVES) job->curves = true;
    else return eval_option(own, common, option);
    return true;
}

static int run(void *context, eval_options *own, cli_common *common, int count, char **arguments)
{
    oxford_job *job = context;
    ev_oxford_options *options = &job->options;
    ev_scenes scenes;
    io_error error;
    if (count != 1) return cli_usage_error(common, "it takes one folder");
    if (!eval_options_settle(own, common) || !cli_ready(common)) return common->exit_code;
    if (!ev_scenes_open(arguments[0], &scenes, &error)) return cli_error("%s", error.text);
    options->keypoints = own->source;
    options->scale = own->scale;
    options->cache = own->cache;
    options->parallel = common->parallel;
    options->quiet = common->quiet;
    int code = evaluate(common, own, arguments[0], &scenes, options, job->curves);
    ev_scenes_free(&scenes);
    return code;
}

int eval_oxford(int argc, char **argv)
{
    static const eval_frame frame = {
        .help = eval_oxford_help, .shorts = "m:n:", .longs = longs, .take = take, .run = run};
    oxford_job job = {.curves = false};
    return eval_run(&frame, &job, argc, argv);
}
