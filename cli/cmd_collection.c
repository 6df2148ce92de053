/* keybits collection: from photographs to a database of COLMAP with verified matches, on one machine or many. */
#include <stdlib.h>
#include <string.h>

#include "collection.h"
#include "io/json.h"
#include "io/progress.h"

static const char *const collection_steps[] = {"all", "describe", "pairs", "match", "merge", NULL};
static const char *const collection_choices[] = {"auto", "exhaustive", "sequential", "retrieval", "gps", "list", NULL};

typedef struct merge_work {
    collection_job *j;
    io_colmap_db *db;
    int64_t *ids;
    size_t keypoints, verified, matches;
} merge_work;

/* ---- the database ---- */

static bool merge_images(merge_work *w, io_error *error)
{
    collection_job *j = w->j;
    int64_t camera = 0;
    int32_t width = 0, height = 0;
    bool known = j->camera_text != NULL, shared = known || j->one_camera;
    for (size_t i = 0; i < j->images.count; i++) {
        features f;
        if (!j->good[i]) continue;
        if (!collection_features_read(j, i, &f)) return io_fail(error, "%s: its features are gone", j->images.items[i]);
        io_camera camera_of = collection_camera(j, &f);
        bool other = !shared || camera == 0 || f.width != width || f.height != height;
        bool ok = (!other || io_colmap_db_add_camera(w->db, &camera_of, f.width, f.height, &camera, error)) &&
                  io_colmap_db_add_image(w->db, j->names.items[i], camera, &w->ids[i], error) &&
                  io_colmap_db_add_keypoints(w->db, w->ids[i], f.keypoints.items, f.keypoints.count, error);
        width = f.width;
        height = f.height;
        w->keypoints += f.keypoints.count;
        features_free(&f);
        if (!ok) return false;
    }
    return true;
}

static bool merge_pair(void *context, const collection_pair *p, io_error *error)
{
    merge_work *w = context;
    w->verified++;
    w->matches += p->inliers;
    return io_colmap_db_add_matches(w->db, w->ids[p->a], w->ids[p->b], p->matches, p->count, error) &&
           io_colmap_db_add_geometry(w->db, w->ids[p->a], w->ids[p->b], p->matches, p->inliers, p->geometry, p->model,
                                     error);
}

static bool merge_blocks(merge_work *w, io_error *error)
{
    size_t blocks = collection_blocks(w->j), missing = 0, first = 0;
    for (size_t i = 0; i < blocks; i++)
        if (!collection_block_check(w->j, i) && missing++ == 0) first = i;
    if (missing > 0)
        return io_fail(error, "%zu of %zu blocks of pairs are not matched yet, such as block %zu: run --step match for all "
                              "shards first", missing, blocks, first);
    return collection_pairs_read(w->j, merge_pair, w, error);
}

static bool collection_merge(merge_work *w, io_error *error)
{
    w->ids = io_alloc(w->j->images.count + 1, sizeof *w->ids);
    w->db = io_colmap_db_create(w->j->output, error);
    bool ok = w->db && merge_images(w, error) && merge_blocks(w, error);
    if (ok) ok = io_colmap_db_commit(w->db, error);
    else io_colmap_db_abandon(w->db);
    free(w->ids);
    return ok;
}

static bool write_outputs(const collection_job *j, double start, io_error *error)
{
    return (!j->openmvg || collection_openmvg_write(j, error)) && (!j->matches || collection_matches_write(j, error)) &&
           (!j->page || collection_page_write(j, io_clock_seconds() - start, error));
}

static void merge_report(const merge_work *w, double seconds)
{
    const collection_job *j = w->j;
    size_t images = j->images.count - j->failed;
    cli_say(j->common, "%s: %zu images, %zu keypoints, %zu pairs, %zu of them verified with %zu matches; %zu images failed; %.1f s",
            j->output, images, w->keypoints, j->pair_count, w->verified, w->matches, j->failed, seconds);
    for (size_t i = 0; i < j->images.count; i++)
        if (!j->good[i]) cli_warn(j->common, "left out: %s", j->images.items[i]);
    if (!j->common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "database", j->output);
    io_json_integer(&json, "images", (int64_t)images);
    io_json_integer(&json, "failed", (int64_t)j->failed);
    io_json_integer(&json, "keypoints", (int64_t)w->keypoints);
    io_json_integer(&json, "pairs", (int64_t)j->pair_count);
    io_json_integer(&json, "verified_pairs", (int64_t)w->verified);
    io_json_integer(&json, "matches", (int64_t)w->matches);
    io_json_number(&json, "seconds", seconds);
    io_json_end(&json);
}

/* ---- the job ---- */

/* Names as COLMAP wants them: below the folder that all images share. */
static void name_images(collection_job *j)
{
    size_t common = 0;
    for (size_t i = 0; i < j->images.count; i++) {
        const char *path = j->images.items[i], *first = j->images.items[0];
        if (i == 0) common = (size_t)(io_path_base(path) - path);
        while (common > 0 && (strncmp(path, first, common) != 0 || path[common - 1] != '/')) common--;
    }
    for (size_t i = 0; i < j->images.count; i++) io_names_add(&j->names, j->images.items[i] + common);
}

static void hash_options(collection_job *j)
{
    kb_detect_options detect = j->pipeline.options.detect;
    detect.mask = NULL;
    detect.parallel = NULL;
    uint64_t hash = collection_hash(0xcbf29ce484222325u, &detect, sizeof detect);
    const double numbers[] = {(double)j->pipeline.pipeline.options.scale, (double)j->pipeline.options.angles,
                              (double)j->reading.exif, (double)j->reading.white, (double)j->reading.keep16,
                              (double)kb_detector_revision(j->pipeline.pipeline.options.detect.detector)};
    hash = collection_hash(hash, numbers, sizeof numbers);
    hash = collection_hash(hash, KB_VERSION_STRING, sizeof KB_VERSION_STRING);
    j->describe_hash = collection_hash(hash, &j->pipeline.pipeline.info.id, sizeof j->pipeline.pipeline.info.id);
}

/* "name" in a folder is an output. */
static bool claim_in(const collection_job *j, const char *folder, const char *name, io_error *error)
{
    char *path = io_path_join(folder, name);
    bool ok = cli_claim_output(j->common, path, error);
    free(path);
    return ok;
}

/* Files in folders that are written: none of them is an input. */
static bool claim_folders(const collection_job *j, io_error *error)
{
    bool ok = claim_in(j, j->folder, "pairs.txt", error);
    for (int i = 0; ok && i < 2; i++) {
        char *folder = io_path_join(j->folder, i ? "blocks" : "features");
        ok = cli_claim_folder(j->common, folder, error);
        free(folder);
    }
    return ok && (!j->openmvg || collection_openmvg_claim(j, error));
}

static bool make_folders(collection_job *j, io_error *error)
{
    char *features_folder = io_path_join(j->folder, "features"), *blocks = io_path_join(j->folder, "blocks");
    bool ok = (j->work ? io_folder_make : io_folder_make_work)(j->folder, error) &&
              io_folder_make_work(features_folder, error) && io_folder_make_work(blocks, error);
    free(features_folder);
    free(blocks);
    return ok;
}

static bool collection_open(collection_job *j, int count, char **arguments, io_error *error)
{
    if (!places_open(j->common, &j->pipeline, error) ||
        !cli_claim_images(j->common, count, arguments, &j->images, error))
        return false;
    places_sort(&j->images);
    name_images(j);
    hash_options(j);
    j->folder = io_alloc(strlen(j->output) + (j->work ? strlen(j->work) : 0) + 8, 1);
    if (j->work) strcpy(j->folder, j->work);
    else sprintf(j->folder, "%s.work", j->output);
    return claim_folders(j, error) && make_folders(j, error);
}

static int collection_run(cli_common *common, void *job, int count, char **arguments)
{
    collection_job *j = job;
    merge_work w = {.j = j};
    io_error error;
    double start = io_clock_seconds();
    j->common = common;
    if (!j->output) return cli_usage_error(common, "-o with the database is needed");
    if (j->matches && !io_path_has_suffix(j->matches, ".txt") && !io_path_has_suffix(j->matches, ".npz"))
        return cli_usage_error(common, "--matches takes a file .txt or .npz");
    if (j->shards > 1 && j->step != STEP_DESCRIBE && j->step != STEP_MATCH)
        return cli_usage_error(common, "--shard is for --step describe and --step match");
    if (!collection_open(j, count, arguments, &error) || !collection_describe(j, &error))
        return cli_error("%s", error.text);
    if (j->step == STEP_DESCRIBE) return CLI_DONE;
    if (!collection_pairs(j, &error)) return cli_error("%s", error.text);
    if (j->failed == j->images.count) return cli_error("none of %zu images could be described", j->images.count);
    if (j->step == STEP_PAIRS) return CLI_DONE;
    if (j->step != STEP_MERGE && !collection_match(j, &error)) return cli_error("%s", error.text);
    if (j->step == STEP_MATCH) return CLI_DONE;
    if (!collection_merge(&w, &error) || !write_outputs(j, start, &error)) return cli_error("%s", error.text);
    merge_report(&w, io_clock_seconds() - start);
    return CLI_DONE;
}

static void collection_begin(void *job)
{
    collection_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
    j->shards = 1;
}

static void collection_end(void *job)
{
    collection_job *j = job;
    io_names_free(&j->images);
    io_names_free(&j->names);
    free(j->folder);
    free(j->good);
    free(j->keypoints);
    free(j->stamps);
    free(j->pairs);
    cli_pipeline_close(&j->pipeline);
}

/* "3/7": the third of seven. */
static bool take_shard(cli_common *common, const char *option, const char *text, void *target)
{
    int32_t *shard = target; /* and shards behind it */
    int i, n, end = 0;
    if (sscanf(text, "%d/%d%n", &i, &n, &end) == 2 && text[end] == '\0' && i >= 1 && i <= n && n <= 1000000) {
        shard[0] = i - 1;
        shard[1] = n;
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

static const cli_option collection_options[] = {
    {"output", 'o', CLI_OUTPUT(collection_job, output), "FILE.db", .help = "COLMAP's database"},
    {"work", 0, CLI_TEXT(collection_job, work), "FOLDER",
     .help = "features and matches as they come about, for resuming and for other machines (default: FILE.db.work)"},
    {"openmvg", 0, CLI_TEXT(collection_job, openmvg), "FOLDER",
     .help = "the same for OpenMVG: sfm_data.json, features, matches.f.txt"},
    {"matches", 0, CLI_OUTPUT(collection_job, matches), "FILE.txt|FILE.npz",
     .help = "the verified matches: names and indices as COLMAP's matches_importer reads them, or arrays"},
    {"page", 0, CLI_OUTPUT(collection_job, page), "FILE.html",
     .help = "a summary: groups of images that verified pairs connect, and how well"},
    CLI_SECTION("Pairs"),
    {"pairs", 0, CLI_CHOICE(collection_job, by, PAIRS_AUTO), "WHICH", "auto", .words = collection_choices,
     .help = "exhaustive: all; sequential: neighbours in the natural order of names; retrieval: the most similar by "
             "words; gps: the nearest by the positions in their EXIF data; list: those of --list; auto: those of "
             "--list if it is given, all for up to 100 images, else retrieval"},
    {"neighbours", 'k', CLI_NUMBER(collection_job, neighbours, 1, 10000), "K", "30",
     .help = "similar or near images per image, for retrieval and gps"},
    {"reach", 0, CLI_NUMBER(collection_job, reach, 0, CLI_NO_LIMIT), "METRES", "100",
     .help = "how far apart a pair may be, for gps"},
    {"overlap", 0, CLI_NUMBER(collection_job, overlap, 1, 1000000), "N", "10", .help = "following images, for sequential"},
    {"list", 0, CLI_INPUT(collection_job, list), "FILE.txt",
     .help = "two names per line, as the database has them"},
    {"vocab", 0, CLI_INPUT(collection_job, vocabulary), "NAME|FILE",
     .help = "for retrieval (default: that of 10,000 words for the model)"},
    {"min-inliers", 0, CLI_NUMBER(collection_job, min_inliers, 8, 1000000), "N", "15",
     .help = "inliers of a verified pair"},
    CLI_SECTION("Cameras"),
    CLI_CHECK(check_camera),
    {"camera", 0, CLI_TEXT(collection_job, camera_text), "MODEL,F,...",
     .help = "the camera of all images, such as PINHOLE,2759,2764,1520,1006 (default: a guess per image, as COLMAP's)"},
    {"one-camera", 0, CLI_FLAG(collection_job, one_camera), .help = "images of one size share the guessed camera"},
    CLI_SECTION("Many machines"),
    {"step", 0, CLI_CHOICE(collection_job, step, 0), "STEP", "all", .words = collection_steps,
     .help = "do only this part: describe, pairs, match, or merge, which makes the database out of the work folder"},
    {"shard", 0, CLI_CALL(collection_job, shard), "I/N", .take = take_shard,
     .help = "do only the I-th of N parts of --step describe or match"},
    CLI_SECTION("Images"),
    CLI_GROUP(collection_job, reading, reading_options),
    CLI_GROUP(collection_job, pipeline, pipeline_option_groups),
    {0}};

const cli_command command_collection = {
    .name = "collection",
    .summary = "from photographs to COLMAP's database, on one machine or many",
    .usage = "IMAGE... -o FILE.db [options]\nIMAGE... -o FILE.db --step describe --shard 1/8 [options]",
    .about = "Describes the images, chooses pairs, matches and verifies them, and writes COLMAP's database with two-view "
             "geometries, so that its mapper can start. Everything that is done is kept in the work folder: a run that was "
             "interrupted goes on, and shards may run anywhere, in any order, again and at once. The database is the same "
             "bytes for any number of shards and threads. Matches are filtered. Images that cannot be "
             "read are named and left out.\n\n"
             CLI_IMAGES_HELP,
    .options = collection_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name a folder or images",
    .job_size = sizeof(collection_job),
    .begin = collection_begin,
    .run = collection_run,
    .end = collection_end};
