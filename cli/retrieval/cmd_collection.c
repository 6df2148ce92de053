/* SPDX-License-Identifier: Apache-2.0 */
/* keybits collection: from photographs to a database of COLMAP with verified matches, on one machine or many. */
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "io/json.h"
#include "retrieval.h"

enum { STEP_ALL, STEP_DESCRIBE, STEP_PAIRS, STEP_MATCH, STEP_EXPAND, STEP_MERGE };

static const char *const collection_steps[] = {"all", "describe", "pairs", "match", "expand", "merge", NULL};
static const char *const collection_choices[] = {"auto", "exhaustive", "sequential", "retrieval", "gps", "list", NULL};

typedef struct collection_job {
    cli_pipeline pipeline;
    collection_options options;
    const char *output, *work, *camera_text;
    const char *openmvg, *matches, *page; /* further outputs; NULL: none */
    io_camera camera;                     /* with camera_text */
    int32_t step;                         /* STEP_ALL to STEP_MERGE */
    collection_shard shard;
    cli_common *common;
    char *folder; /* the work folder */
    retrieval_bar bar;
    collection collection;
} collection_job;

static bool write_outputs(collection_job *j, double start, io_error *error)
{
    collection *c = &j->collection;
    return (!j->openmvg || collection_openmvg_write(c, j->openmvg, error)) &&
           (!j->matches || collection_matches_write(c, j->matches, error)) &&
           (!j->page || collection_page_write(c, j->page, io_clock_seconds() - start, error));
}

static void merge_report(const collection_job *j, const collection_counts *n, double seconds)
{
    const collection *c = &j->collection;
    cli_say(j->common, "%s: %zu images, %zu keypoints, %zu pairs, %zu of them verified with %zu matches; %zu images "
            "failed; %.1f s",
            j->output, n->images, n->keypoints, n->pairs, n->verified, n->matches, n->failed, seconds);
    for (size_t i = 0; i < c->images.count; i++)
        if (!c->good[i]) cli_warn(j->common, "left out: %s", c->images.items[i]);
    if (!j->common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "database", j->output);
    io_json_integer(&json, "images", (int64_t)n->images);
    io_json_integer(&json, "failed", (int64_t)n->failed);
    io_json_integer(&json, "keypoints", (int64_t)n->keypoints);
    io_json_integer(&json, "pairs", (int64_t)n->pairs);
    io_json_integer(&json, "verified_pairs", (int64_t)n->verified);
    io_json_integer(&json, "matches", (int64_t)n->matches);
    io_json_number(&json, "seconds", seconds);
    io_json_end(&json);
}

/* ---- files ---- */

static bool claim_lists(const collection_job *j, io_error *error)
{
    bool ok = true;
    for (int i = 0; ok && i < 2; i++) {
        char *path = io_path_join(j->folder, i ? "expanded.txt" : "pairs.txt");
        ok = cli_claim_output(j->common, path, error);
        free(path);
    }
    return ok;
}

static bool claim_openmvg(const collection_job *j, io_error *error)
{
    io_names files = {0};
    bool ok = collection_openmvg_outputs(&j->collection, j->openmvg, &files, error);
    for (size_t i = 0; ok && i < files.count; i++) ok = cli_claim_output(j->common, files.items[i], error);
    io_names_free(&files);
    return ok;
}

/* Files in folders that are written: none of them is an input. */
static bool claim_folders(const collection_job *j, io_error *error)
{
    bool ok = claim_lists(j, error);
    for (int i = 0; ok && i < 2; i++) {
        char *folder = io_path_join(j->folder, i ? "blocks" : "features");
        ok = cli_claim_folder(j->common, folder, error);
        free(folder);
    }
    return ok && (!j->openmvg || claim_openmvg(j, error));
}

/* ---- the job ---- */

static bool job_open(collection_job *j, int count, char **arguments, io_error *error)
{
    io_names images = {0};
    j->folder = io_alloc(strlen(j->output) + (j->work ? strlen(j->work) : 0) + 8, 1);
    if (j->work) strcpy(j->folder, j->work);
    else sprintf(j->folder, "%s.work", j->output);
    j->pipeline.options.patches = !j->options.no_refine;
    if (!retrieval_open(j->common, &j->pipeline, error) ||
        !retrieval_images(j->common, count, arguments, &images, error)) {
        io_names_free(&images);
        return false;
    }
    j->options.pipeline = &j->pipeline.pipeline;
    j->options.threshold = j->pipeline.options.threshold;
    j->options.folder = j->folder;
    j->options.folder_is_ours = j->work == NULL;
    j->options.camera = j->camera_text ? &j->camera : NULL;
    j->options.host = retrieval_host(&j->bar, j->common);
    collection_open(&j->collection, &j->options, &images);
    return (!j->matches || collection_matches_check(&j->collection, j->matches, error)) && claim_folders(j, error) &&
           collection_folders_make(&j->collection, error);
}

/* The steps up to the one that is asked for; the database comes behind. */
static bool job_steps(collection_job *j, io_error *error)
{
    collection *c = &j->collection;
    bool all = j->step == STEP_ALL;
    if ((all || j->step == STEP_DESCRIBE) && !collection_describe(c, j->shard, error)) return false;
    if (j->step == STEP_DESCRIBE) return true;
    if (!collection_pairs(c, error)) return false;
    if (c->failed == c->images.count) return io_fail(error, "none of %zu images could be described", c->images.count);
    if (all) return collection_match_all(c, error);
    return (j->step != STEP_MATCH || collection_match(c, j->shard, error)) &&
           (j->step != STEP_EXPAND || collection_expand(c, error));
}

static int collection_run(cli_common *common, void *job, int count, char **arguments)
{
    collection_job *j = job;
    collection_counts counts;
    io_error error;
    double start = io_clock_seconds();
    j->common = common;
    if (!j->output) return cli_usage_error(common, "-o with the database is needed");
    if (j->matches && !io_path_has_suffix(j->matches, ".txt") && !io_path_has_suffix(j->matches, ".npz"))
        return cli_usage_error(common, "--matches takes a file .txt or .npz");
    if (j->shard.count > 1 && j->step != STEP_DESCRIBE && j->step != STEP_MATCH)
        return cli_usage_error(common, "--shard is for --step describe and --step match");
    bool ok = job_open(j, count, arguments, &error) && job_steps(j, &error);
    retrieval_bar_end(&j->bar);
    if (!ok) return cli_error("%s", error.text);
    if (j->step != STEP_ALL && j->step != STEP_MERGE) return CLI_DONE;
    if (!collection_merge(&j->collection, j->output, &counts, &error) || !write_outputs(j, start, &error))
        return cli_error("%s", error.text);
    merge_report(j, &counts, io_clock_seconds() - start);
    return counts.failed ? CLI_FAILED : CLI_DONE;
}

static void collection_begin(void *job)
{
    collection_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->options.reading);
    j->shard.count = 1;
}

static void collection_end(void *job)
{
    collection_job *j = job;
    collection_close(&j->collection);
    free(j->folder);
    cli_pipeline_close(&j->pipeline);
}

/* "3/7": the third of seven. */
static bool take_shard(cli_common *common, const char *option, const char *text, void *target)
{
    collection_shard *shard = target;
    int i, n, end = 0;
    if (sscanf(text, "%d/%d%n", &i, &n, &end) == 2 && text[end] == '\0' && i >= 1 && i <= n && n <= 1000000) {
        *shard = (collection_shard){i - 1, n};
        return true;
    }
    common->exit_code = cli_usage_error(common, "%s takes I/N with I from 1 to N, not \"%s\"", option, text);
    return false;
}

static bool check_camera(cli_common *common, const char *option, const char *text, void *job)
{
    collection_job *j = job;
    io_error error;
    (void)option, (void)text;
    if (!j->camera_text || io_camera_parse(j->camera_text, &j->camera, &error)) return true;
    common->exit_code = cli_usage_error(common, "--camera: %s", error.text);
    return false;
}

static const cli_option collection_option_table[] = {
    {"output", 'o', CLI_OUTPUT(collection_job, output), "FILE.db", .rank = CLI_FREQUENT, .help = "COLMAP's database"},
    {"work", 0, CLI_TEXT(collection_job, work), "FOLDER",
     .help = "features and matches as they come about, for resuming and for other machines (default: FILE.db.work)"},
    {"openmvg", 0, CLI_TEXT(collection_job, openmvg), "FOLDER",
     .help = "the same for OpenMVG: sfm_data.json, features, matches.f.txt"},
    {"matches", 0, CLI_OUTPUT(collection_job, matches), "FILE.txt|FILE.npz",
     .help = "the verified matches: names and indices as COLMAP's matches_importer reads them, or arrays"},
    {"page", 0, CLI_OUTPUT(collection_job, page), "FILE.html",
     .help = "a summary: groups of images that verified pairs connect, and how well"},
    CLI_SECTION("Pairs"),
    {"pairs", 0, CLI_CHOICE(collection_job, options.by, PAIRS_AUTO), "WHICH", "auto", .words = collection_choices,
     .help = "exhaustive: all; sequential: neighbours in the natural order of names; retrieval: the most similar by "
             "words; gps: the nearest by the positions in their EXIF data; list: those of --list; auto: those of "
             "--list if it is given, all for up to 100 images, else retrieval"},
    {"neighbours", 'k', CLI_NUMBER(collection_job, options.neighbours, 1, 10000), "K",
     .help = "similar or near images per image, for retrieval and gps (default: 10 where pairs are expanded, else 30)"},
    {"no-expand", 0, CLI_FLAG(collection_job, options.no_expand),
     .help = "for retrieval: do not also match the images that are verified with the same third image"},
    {"reach", 0, CLI_NUMBER(collection_job, options.reach, 0, CLI_NO_LIMIT), "METRES", "100",
     .help = "how far apart a pair may be, for gps"},
    {"overlap", 0, CLI_NUMBER(collection_job, options.overlap, 1, 1000000), "N", "10",
     .help = "following images, for sequential"},
    {"list", 0, CLI_INPUT(collection_job, options.list), "FILE.txt",
     .help = "two names per line, as the database has them"},
    {"vocab", 0, CLI_INPUT(collection_job, options.vocabulary), "NAME|FILE",
     .help = "for retrieval: a vocabulary (default: the built-in one of 10,000 words for the model)"},
    {"min-places", 0, CLI_NUMBER(collection_job, options.min_places, 0, 1000000), "N", "0",
     .help = "different inliers of a verified pair; 0: what chance and repetition do not explain"},
    {"no-refine", 0, CLI_FLAG(collection_job, options.no_refine),
     .help = "leave keypoints where they were detected (default: matched keypoints are aligned to a fraction of a "
             "pixel, for which the work folder keeps 576 bytes per keypoint)"},
    CLI_SECTION("Cameras"),
    CLI_CHECK(check_camera),
    {"camera", 0, CLI_TEXT(collection_job, camera_text), "MODEL,F,...",
     .help = "the camera of all images, such as PINHOLE,2759,2764,1520,1006 (default: per image, the focal length of "
             "its EXIF data, else COLMAP's guess)"},
    {"one-camera", 0, CLI_FLAG(collection_job, options.one_camera),
     .help = "images of one size share the guessed camera"},
    CLI_SECTION("Many machines"),
    {"step", 0, CLI_CHOICE(collection_job, step, 0), "STEP", "all", .words = collection_steps,
     .help = "do only this part: describe, pairs, match, expand, match again, or merge, which makes the database out "
             "of the work folder"},
    {"shard", 0, CLI_CALL(collection_job, shard), "I/N", .take = take_shard,
     .help = "do only the I-th of N parts of --step describe or match"},
    CLI_SECTION("Images"),
    CLI_GROUP(collection_job, options.reading, exact_photo_options),
    CLI_GROUP(collection_job, pipeline, pipeline_option_groups),
    CLI_SECTION("Kept rows"),
    CLI_GROUP(collection_job, pipeline.options, rows_option),
    {0}};

const cli_command command_collection = {
    .name = "collection",
    .examples = "photos -o photos.db # for COLMAP\n"
                "photos -o photos.db --step describe --shard 1/8 # one of eight machines",
    .summary = "from photographs to COLMAP's database, on one machine or many",
    .usage = "IMAGE... -o FILE.db [options]\nIMAGE... -o FILE.db --step describe --shard 1/8 [options]",
    .about = "Describes the images, chooses pairs, matches and verifies them, and writes COLMAP's database with "
             "two-view geometries, so that its mapper can start. Everything that is done is kept in the work folder: a "
             "run that was interrupted goes on, and shards may run anywhere, in any order, again and at once. The "
             "database is the same bytes for any number of shards and threads. Matches are filtered. Images that "
             "cannot be read are named and left out.\n\n"
             CLI_IMAGES_HELP,
    .options = collection_option_table,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name a folder or images",
    .job_size = sizeof(collection_job),
    .begin = collection_begin,
    .run = collection_run,
    .end = collection_end};
