/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval matching: options in, table or JSON out; the protocol is eval/matching.h. */
#include "eval/matching.h"

#include <math.h>
#include <stdlib.h>

#include "eval_common.h"

typedef struct matching_job {
    eval_options eval;
    ev_matching_options options;
} matching_job;

/* ---- output ---- */

static void json_mma(io_json *json, const char *key, const ev_mma *mma)
{
    io_json_array(json, key);
    for (int t = 0; t < EV_MMA_PX; t++) io_json_number(json, NULL, mma->accuracy[t]);
    io_json_end(json);
}

static void json_counts(io_json *json, const ev_mma *mma)
{
    io_json_number(json, "spots", mma->spots);
    io_json_number(json, "matches", mma->matches);
    io_json_number(json, "right", mma->right);
    io_json_number(json, "places", mma->places);
    io_json_number(json, "homography_auc_1px", 100 * mma->corner_auc[0]);
    io_json_number(json, "homography_auc_3px", 100 * mma->corner_auc[1]);
    io_json_number(json, "homography_auc_5px", 100 * mma->corner_auc[2]);
}

typedef struct matching_output {
    char *set; /* its name */
    const eval_methods *methods;
    const ev_matching_options *options;
    const ev_scenes *scenes;
    const ev_matching_result *results;
} matching_output;

static void matching_json(io_json *json, size_t index, const void *context)
{
    const matching_output *o = context;
    const ev_keypoint_source *source = &o->options->keypoints;
    const ev_matching_result *r = &o->results[index];
    io_json_object(json, NULL);
    io_json_string(json, "benchmark", "matching");
    io_json_string(json, "set", o->set);
    io_json_string(json, "model", o->methods->items[index].name);
    io_json_string(json, "keypoints", ev_keypoint_source_name(source));
    io_json_string(json, "keypoints_kind",
                   source->folder ? source->kind : kb_name(KB_NAMES_DETECTOR, source->detector));
    io_json_integer(json, "pairs", (int64_t)r->all.pairs);
    io_json_integer(json, "left_out", (int64_t)r->left_out);
    io_json_number(json, "keypoints_per_image", r->all.keypoints);
    json_counts(json, &r->all);
    json_mma(json, "mma", &r->all);
    json_mma(json, "mma_illumination", &r->illumination);
    json_mma(json, "mma_viewpoint", &r->viewpoint);
    io_json_array(json, "scenes");
    for (size_t s = 0; s < o->scenes->count; s++) {
        if (r->scenes[s].pairs == 0) continue;
        io_json_object(json, NULL);
        io_json_string(json, "scene", o->scenes->items[s].name);
        io_json_integer(json, "pairs", (int64_t)r->scenes[s].pairs);
        json_counts(json, &r->scenes[s]);
        json_mma(json, "mma", &r->scenes[s]);
        io_json_end(json);
    }
    io_json_end(json);
    io_json_end(json);
}

static void matching_print(const char *name, const ev_mma *mma)
{
    if (mma->pairs == 0) return;
    printf("%-28s %6zu %9.0f %6.0f %7.0f %6.0f %6.0f", cli_shown(name), mma->pairs, mma->keypoints, mma->spots,
           mma->matches, mma->right, mma->places);
    for (int i = 0; i < EV_CORNER_LIMITS; i++) printf(" %6.2f", 100 * mma->corner_auc[i]);
    for (int t = 0; t < EV_MMA_PX; t++) printf(" %5.3f", mma->accuracy[t]);
    printf("\n");
}

static void matching_print_table(const eval_methods *methods, const ev_matching_result *results)
{
    printf("%-28s %6s %9s %6s %7s %6s %6s", "", "pairs", "keypoints", "spots", "matches", "right", "places");
    for (int i = 0; i < EV_CORNER_LIMITS; i++) printf(" AUC%1.0fpx", ev_corner_limits[i]);
    for (int t = 1; t <= EV_MMA_PX; t++) printf(" %2d px", t);
    printf("\n");
    for (size_t m = 0; m < methods->count; m++) {
        matching_print(methods->items[m].name, &results[m].all);
        matching_print("  illumination", &results[m].illumination);
        matching_print("  viewpoint", &results[m].viewpoint);
    }
}

/* ---- the run ---- */

static int matching_evaluate(const cli_common *common, const matching_job *job, const char *folder,
                             const ev_scenes *scenes)
{
    io_error error;
    eval_methods methods;
    const eval_options *own = &job->eval;
    if (!eval_methods_open(&methods, own->models, own->support, &own->descriptors)) return CLI_FAILED;
    ev_matching_result *results = io_alloc(methods.count, sizeof *results);
    int code = CLI_DONE;
    if (!ev_matching_run(scenes, methods.items, methods.count, &job->options, results, &error))
        code = cli_error("%s", error.text);
    else if (common->json) {
        matching_output output = {eval_set_name(folder), &methods, &job->options, scenes, results};
        eval_json_results(&methods, matching_json, &output);
        free(output.set);
    } else matching_print_table(&methods, results);
    if (code == CLI_DONE && results[0].left_out > 0)
        cli_say(common, "%zu sequences of large images are left out, as papers do; --all-sequences takes them in",
                results[0].left_out);
    for (size_t m = 0; m < methods.count && code == CLI_DONE; m++) ev_matching_result_free(&results[m]);
    free(results);
    eval_methods_free(&methods);
    return code;
}

static int matching_run(cli_common *common, void *context, int count, char **arguments)
{
    matching_job *job = context;
    ev_matching_options *options = &job->options;
    ev_scenes scenes;
    io_error error;
    (void)count;
    if (job->eval.export_patches)
        return cli_usage_error(common, "--export-patches works with oxford, hpatches and brown");
    if (!eval_options_settle(&job->eval, common)) return common->exit_code;
    if (!ev_scenes_open(arguments[0], &scenes, &error)) return cli_error("%s", error.text);
    options->keypoints = job->eval.source;
    options->preset = job->eval.preset;
    options->parallel = common->parallel;
    options->quiet = common->quiet;
    int code = matching_evaluate(common, job, arguments[0], &scenes);
    ev_scenes_free(&scenes);
    return code;
}

static void matching_end(void *job) { eval_options_end(&((matching_job *)job)->eval); }

static const cli_option matching_options[] = {
    CLI_GROUP(matching_job, eval, eval_method_options),
    CLI_GROUP(matching_job, eval, eval_keypoint_options),
    CLI_SECTION("Other options"),
    {"all-sequences", 0, CLI_FLAG(matching_job, options.all_sequences),
     .help = "the eight sequences of HPatches with the largest images too, which papers leave out"},
    {0}};

const cli_command eval_matching = {
    .name = "eval matching",
    .examples = "sequences -m bag256,cv:orb # mean matching accuracy",
    .summary = "mean matching accuracy on image sequences, as papers on local features report it",
    .usage = "DIR [-m LIST] [options]",
    .about =
        "DIR is a sequence in the layout of HPatches (1.png, H_1_2) or Oxford (img1.png, H1to2p), or a folder of "
        "sequences. Image 1 is matched with every other image by mutual nearest neighbours. Prints the mean matching "
        "accuracy (MMA): the share of matches that the homography confirms within 1, 2 ... 10 px, from 0 to 1, mean "
        "over pairs; matches within 3 px (right), the places that these are, at least 2 px apart in one of the images "
        "(of "
        "keypoints: spots), and the area under the curve of the corner errors of homographies fitted to the matches, "
        "up "
        "to 1, 3 and 5 px (AUC); and the same for sequences with changes of light (i_...) and of viewpoint (v_...).",
    .options = matching_options,
    .least = 1,
    .most = 1,
    .wants = "it takes one folder",
    .job_size = sizeof(matching_job),
    .run = matching_run,
    .end = matching_end};
