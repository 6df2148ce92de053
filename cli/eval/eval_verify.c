/* SPDX-License-Identifier: Apache-2.0 */
/* keybits eval verify: options in, counts out; the pairs are of eval/verify.h. */
#include "eval/verify.h"

#include <stdlib.h>
#include <string.h>

#include "cli/retrieval/retrieval.h"
#include "eval_common.h"
#include "pipeline/models.h"

typedef struct verify_job {
    cli_pipeline pipeline;
    io_read_options reading;
    const char *models, *related, *list;
    int32_t photos, points, facades;
    cli_common *common;
    io_names images; /* of the folder that is described */
    int32_t folder;
    ev_verify set;
} verify_job;

/* ---- the pairs ---- */

static bool take_photo(void *context, size_t index, features *f, const char *why)
{
    verify_job *job = context;
    if (!f) {
        cli_error("%s", why);
        return false;
    }
    double step = photos_step(f->width, f->height, job->reading.max_size);
    ev_verify_add(&job->set, job->images.items[index], job->folder, f)->step = step;
    return true;
}

static bool describe_folder(verify_job *job, int32_t folder, char *path, io_error *error)
{
    job->folder = folder;
    bool ok = cli_claim_images(job->common, 1, &path, &job->images, error) &&
              retrieval_describe(job->common, &job->pipeline, &job->reading, &job->images, path, take_photo, job, error);
    io_names_free(&job->images);
    return ok;
}

/* COLMAP's model of a folder, where there is one. */
static bool add_shared(verify_job *job, int32_t folder, const char *path, io_error *error)
{
    if (!job->models) return true;
    char *name = eval_set_name(path), *work = io_path_join(job->models, name);
    char *model = io_path_join(work, "sparse/0");
    bool ok = !io_path_is_folder(model) || ev_verify_shared(&job->set, folder, model, job->points, error);
    free(name);
    free(work);
    free(model);
    return ok;
}

/* Whether both folders are named in one group of --related: "a,b;c,d,e". */
static bool are_related(const char *groups, const char *a, const char *b)
{
    bool found = false;
    char *text = io_copy_string(groups ? groups : "");
    for (char *group = text, *next; group && !found; group = next) {
        io_names names = {NULL, 0};
        next = strchr(group, ';');
        if (next) *next++ = '\0';
        io_names_split(&names, group);
        int count = 0;
        for (size_t i = 0; i < names.count; i++)
            count += strcmp(names.items[i], a) == 0 || strcmp(names.items[i], b) == 0;
        found = count == 2;
        io_names_free(&names);
    }
    free(text);
    return found;
}

static bool add_pairs(verify_job *job, int count, char **folders, io_error *error)
{
    for (int32_t i = 0; i < count; i++) {
        if (!describe_folder(job, i, folders[i], error) || !add_shared(job, i, folders[i], error)) return false;
        for (int32_t k = 0; k < i; k++) {
            char *a = eval_set_name(folders[i]), *b = eval_set_name(folders[k]);
            if (!are_related(job->related, a, b)) ev_verify_unrelated(&job->set, k, i, (size_t)job->photos);
            free(a);
            free(b);
        }
    }
    return ev_verify_facades(&job->set, &job->pipeline.pipeline, job->facades, error);
}

/* ---- output ---- */

static void count_kind(const ev_verify *v, ev_verify_kind kind, size_t *pairs, size_t *verified)
{
    *pairs = *verified = 0;
    for (size_t i = 0; i < v->pair_count; i++) {
        if (v->pairs[i].kind != kind) continue;
        ++*pairs;
        *verified += (size_t)v->pairs[i].found.verified;
    }
}

static bool write_list(const verify_job *job, io_error *error)
{
    const ev_verify *v = &job->set;
    io_writer *writer = io_writer_open(job->list, error);
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    fprintf(out, "kind,a,b,points,verified,candidates,matches,inliers,places,distinct,geometry\n");
    for (size_t i = 0; i < v->pair_count; i++) {
        const ev_verify_pair *p = &v->pairs[i];
        const kb_verification *f = &p->found;
        fprintf(out, "%s,", ev_verify_kind_name(p->kind));
        io_csv_text(out, v->images[p->a].name);
        fputc(',', out);
        io_csv_text(out, v->images[p->b].name);
        fprintf(out, ",%d,%d,%zu,%zu,%d,%d,%d,%s\n", p->points, f->verified, f->candidates, f->count, f->inliers,
                f->places, f->distinct, f->verified ? kb_name(KB_NAMES_GEOMETRY, f->geometry) : "");
    }
    return io_writer_commit(writer, error);
}

static void print_counts(const verify_job *job)
{
    io_json json;
    if (job->common->json) {
        io_json_begin(&json, stdout);
        io_json_object(&json, NULL);
        io_json_string(&json, "benchmark", "verify");
        io_json_string(&json, "model", job->pipeline.model_name ? job->pipeline.model_name : models_default());
    } else {
        printf("%-12s %8s %9s %8s\n", "", "pairs", "verified", "per cent");
    }
    for (int kind = 0; kind < EV_VERIFY_KINDS; kind++) {
        size_t pairs, verified;
        const char *name = ev_verify_kind_name((ev_verify_kind)kind);
        count_kind(&job->set, (ev_verify_kind)kind, &pairs, &verified);
        if (job->common->json) {
            io_json_object(&json, name);
            io_json_integer(&json, "pairs", (int64_t)pairs);
            io_json_integer(&json, "verified", (int64_t)verified);
            io_json_end(&json);
        } else if (pairs > 0) {
            printf("%-12s %8zu %9zu %8.2f\n", name, pairs, verified, 100.0 * (double)verified / (double)pairs);
        }
    }
    if (job->common->json) io_json_end(&json);
}

static int verify_run(cli_common *common, void *context, int count, char **arguments)
{
    verify_job *job = context;
    io_error error;
    job->common = common;
    for (int i = 0; i < count; i++)
        if (!io_path_is_folder(arguments[i])) return cli_error("%s: is not a folder", arguments[i]);
    if (!retrieval_open(common, &job->pipeline, &error) || !add_pairs(job, count, arguments, &error) ||
        !ev_verify_run(&job->set, common->parallel, &error) || (job->list && !write_list(job, &error)))
        return cli_error("%s", error.text);
    print_counts(job);
    return CLI_DONE;
}

static void verify_begin(void *context)
{
    verify_job *job = context;
    cli_pipeline_begin(&job->pipeline);
    reading_begin(&job->reading);
}

static void verify_end(void *context)
{
    verify_job *job = context;
    ev_verify_free(&job->set);
    cli_pipeline_close(&job->pipeline);
}

static const cli_option verify_options[] = {
    CLI_SECTION("Pairs"),
    {"reconstructions", 0, CLI_TEXT(verify_job, models), "DIR",
     .help = "COLMAP models DIR/FOLDER/sparse/0 (scripts/train-reconstruct): pairs of a folder that share points"},
    {"points", 0, CLI_NUMBER(verify_job, points, 1, 1000000), "N", "30", .help = "that such a pair shares at least"},
    {"related", 0, CLI_TEXT(verify_job, related), "A,B;C,D",
     .help = "folders that show the same things, whose pairs are left out"},
    {"photos", 0, CLI_NUMBER(verify_job, photos, 1, 1000000), "N", "8",
     .help = "photographs of each folder in unrelated pairs, evenly chosen"},
    {"facades", 0, CLI_NUMBER(verify_job, facades, 0, 1000), "N", "0",
     .help = "rendered facades with equal windows, all pairs"},
    {"list", 0, CLI_OUTPUT(verify_job, list), "FILE.csv", .help = "the result of every pair"},
    CLI_SECTION("Features"),
    CLI_GROUP(verify_job, pipeline, pipeline_option_groups),
    CLI_SECTION("Kept rows"),
    CLI_GROUP(verify_job, pipeline.options, rows_option),
    CLI_SECTION("Images"),
    CLI_GROUP(verify_job, reading, exact_photo_options),
    {0}};

const cli_command eval_verify = {
    .name = "eval verify",
    .examples = "harbour church --facades 21 # pairs across the two, and rendered ones",
    .summary = "which pairs of photographs are taken for one scene",
    .usage = "FOLDER... [options]",
    .about =
        "Verifies pairs of photographs as keybits collection does, and counts: pairs across folders, which show "
        "different things, and rendered facades with equal windows, of which none should be verified; pairs of one "
        "folder that share points in a reconstruction, and two views of a facade, of which all should be.",
    .options = verify_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name at least one folder of photographs",
    .job_size = sizeof(verify_job),
    .begin = verify_begin,
    .run = verify_run,
    .end = verify_end};
