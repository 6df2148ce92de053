/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval oxford: options in, table or JSON out; the protocol is eval/oxford.h. */
#include <math.h>
#include <stdlib.h>

#include "cli/groups.h"
#include "eval/oxford.h"
#include "eval_common.h"

typedef struct oxford_job {
    eval_options eval;
    ev_oxford_options options;
    bool curves, strict;
} oxford_job;

/* ---- output ---- */

static void json_matches(io_json *json, const ev_oxford_matches *m)
{
    io_json_number(json, "precision_1px", 100 * m->precision_1px);
    io_json_number(json, "precision_3px", 100 * m->precision_3px);
    io_json_number(json, "homography_1px", 100 * m->homography_1px);
    io_json_number(json, "homography_3px", 100 * m->homography_3px);
    io_json_number(json, "homography_5px", 100 * m->homography_5px);
    io_json_number(json, "matches", m->matches);
    io_json_number(json, "right", m->right);
    io_json_number(json, "places", m->places);
    io_json_number(json, "exact", 100 * m->exact);
}

static void oxford_score_json(io_json *json, const ev_oxford_score *score, bool curves)
{
    io_json_integer(json, "pairs", (int64_t)score->pairs);
    io_json_number(json, "keypoints_per_image", score->keypoints);
    io_json_number(json, "spots", score->spots);
    io_json_number(json, "strict_map", 100 * score->strict_map);
    io_json_number(json, "paperlike_map", 100 * score->paperlike_map);
    json_matches(json, &score->mutual);
    io_json_object(json, "filtered");
    json_matches(json, &score->filtered);
    io_json_end(json);
    io_json_object(json, "refined");
    json_matches(json, &score->refined);
    io_json_end(json);
    io_json_object(json, "looks");
    json_matches(json, &score->looks);
    io_json_end(json);
    if (!curves) return;
    io_json_array(json, "precision_at_recall");
    for (int i = 0; i < KBI_CURVE_POINTS; i++) io_json_number(json, NULL, score->curve.precision[i]);
    io_json_end(json);
}

typedef struct oxford_output {
    char *set; /* its name */
    const eval_methods *methods;
    const ev_oxford_options *options;
    const ev_scenes *scenes;
    const ev_oxford_result *results;
    bool curves;
} oxford_output;

static void oxford_json(io_json *json, size_t index, const void *context)
{
    const oxford_output *o = context;
    const ev_keypoint_source *source = &o->options->keypoints;
    const ev_oxford_result *result = &o->results[index];
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "oxford");
    io_json_string(json, "set", o->set);
    io_json_string(json, "model", o->methods->items[index].name);
    io_json_string(json, "keypoints", ev_keypoint_source_name(source));
    io_json_string(json, "keypoints_kind",
                   source->folder ? source->kind : kb_name(KB_NAMES_DETECTOR, source->detector));
    io_json_string(json, "paperlike_keypoints", source->folder ? "csv" : "all");
    io_json_string(json, "preset", o->options->preset);
    oxford_score_json(json, &result->total, o->curves);
    io_json_array(json, "scenes");
    for (size_t s = 0; s < o->scenes->count; s++) {
        io_json_object(json, NULL);
        io_json_string(json, "scene", o->scenes->items[s].name);
        oxford_score_json(json, &result->scenes[s], false);
        io_json_end(json);
    }
    io_json_end(json);
    io_json_end(json);
}

static void print_matches(const ev_oxford_matches *m)
{
    char cell[6][16];
    printf(" %8s %8s %6s %6s %6s %7.0f %6.0f %6.0f %6s\n", eval_percent(cell[0], m->precision_1px),
           eval_percent(cell[1], m->precision_3px), eval_percent(cell[2], m->homography_1px),
           eval_percent(cell[3], m->homography_3px), eval_percent(cell[4], m->homography_5px), m->matches, m->right,
           m->places, eval_percent(cell[5], m->exact));
}

static void print_again(const char *name, const ev_oxford_matches *m)
{
    printf("%-28s %5s %9s %6s %6s %10s", name, "", "", "", "", "");
    print_matches(m);
}

static void oxford_print(const char *name, const ev_oxford_score *score)
{
    char cell[2][16];
    printf("%-28s %5zu %9.0f %6.0f %6s %10s", cli_shown(name), score->pairs, score->keypoints, score->spots,
           eval_percent(cell[0], score->strict_map), eval_percent(cell[1], score->paperlike_map));
    print_matches(&score->mutual);
    print_again("    filtered", &score->filtered);
    print_again("    refined", &score->refined);
    print_again("    looks", &score->looks);
}

static void oxford_print_table(const eval_methods *methods, const ev_scenes *scenes, const ev_oxford_result *results)
{
    printf("%-28s %5s %9s %6s %6s %10s %8s %8s %6s %6s %6s %7s %6s %6s %6s\n", "", "pairs", "keypoints", "spots",
           "strict", "paper-like", "prec.1px", "prec.3px", "H<1px", "H<3px", "H<5px", "matches", "right", "places",
           "exact");
    for (size_t m = 0; m < methods->count; m++) {
        oxford_print(methods->items[m].name, &results[m].total);
        for (size_t s = 0; s < scenes->count && scenes->count > 1 && methods->count == 1; s++) {
            char name[64];
            snprintf(name, sizeof name, "  %s", scenes->items[s].name);
            oxford_print(name, &results[m].scenes[s]);
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

static int oxford_evaluate(const cli_common *common, const eval_options *own, const char *folder,
                           const ev_scenes *scenes, const ev_oxford_options *options, bool curves)
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
    else if (common->json) {
        oxford_output output = {eval_set_name(folder), &methods, options, scenes, results, curves};
        eval_json_results(&methods, oxford_json, &output);
        free(output.set);
    }
    else oxford_print_table(&methods, scenes, results);
    if (code == CLI_DONE) tell_fixed_cameras(common, scenes);
    if (code == CLI_DONE && own->source.folder && options->paperlike)
        cli_say(common,
                "paper-like numbers use the keypoints of the files, which may be fewer than the detector found");
    for (size_t m = 0; m < methods.count; m++) ev_oxford_result_free(&results[m]);
    free(results);
    eval_methods_free(&methods);
    return code;
}

static int oxford_run(cli_common *common, void *context, int count, char **arguments)
{
    oxford_job *job = context;
    ev_oxford_options *options = &job->options;
    ev_scenes scenes;
    io_error error;
    (void)count;
    if (job->strict) options->paperlike = false;
    if (!eval_options_settle(&job->eval, common)) return common->exit_code;
    if (!ev_scenes_open(arguments[0], &scenes, &error)) return cli_error("%s", error.text);
    options->keypoints = job->eval.source;
    options->preset = job->eval.preset;
    options->cache = job->eval.cache;
    options->parallel = common->parallel;
    options->quiet = common->quiet;
    int code = oxford_evaluate(common, &job->eval, arguments[0], &scenes, options, job->curves);
    ev_scenes_free(&scenes);
    return code;
}

static void oxford_end(void *job) { eval_options_end(&((oxford_job *)job)->eval); }

static const cli_option oxford_options[] = {
    CLI_GROUP(oxford_job, eval, eval_method_options),
    CLI_GROUP(oxford_job, eval, eval_keypoint_options),
    CLI_SECTION("Other options"),
    {"paper-like", 0, CLI_FLAG(oxford_job, options.paperlike),
     .help = "the paper-like protocol too, which takes all keypoints that a detector finds: half an hour on Oxford"},
    {"strict", 0, CLI_FLAG(oxford_job, strict), .help = "the strict protocol alone, which is the default"},
    {"curves", 0, CLI_FLAG(oxford_job, curves), .help = "with --json: the mean precision-recall curves too"},
    CLI_GROUP(oxford_job, options.looks, looks_option),
    {"cache", 0, CLI_TEXT(oxford_job, eval.cache), "DIR",
     .help = "keep the results of pairs there, so that an interrupted run goes on"},
    {0}};

const cli_command eval_oxford = {
    .name = "eval oxford",
    .examples = "oxford -m bag256,bad256,cv:orb # a folder per sequence",
    .summary = "mAP, precision and homographies between images of a plane",
    .usage = "DIR [-m LIST] [options]",
    .about =
        "DIR is a scene or a folder of scenes: Oxford's (img1.png, H1to2p or H1to2p.xml), HPatches sequences "
        "(1.png, H_1_2), or images of a fixed camera (no homographies). Every image is compared with the first. "
        "Prints mAP by the strict protocol, the share of mutual matches within 1 and 3 px, the share of homographies "
        "that are right within 1, 3 and 5 px, and how many matches there are, how many of them are right within "
        "3 px, and how many places these are, at least 2 px apart in one of the images (places; of keypoints: spots); "
        "of the matches with keypoints within 5 px of the truth, the share within 1 px (exact); then all of it for "
        "the matches that the filter keeps, for refined points (match --refine), and for what match finds by looks.",
    .options = oxford_options,
    .least = 1,
    .most = 1,
    .wants = "it takes one folder",
    .job_size = sizeof(oxford_job),
    .run = oxford_run,
    .end = oxford_end};
