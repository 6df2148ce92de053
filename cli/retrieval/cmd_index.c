/* SPDX-License-Identifier: Apache-2.0 */
/* keybits index: an index of images is built, extended, asked and shown. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/progress.h"
#include "retrieval.h"

/* Options that decide the descriptors. */
#define DESCRIPTOR_OPTIONS(job, images, model)                                                                     \
    CLI_SECTION("Images"), CLI_GROUP(job, reading, images), CLI_SECTION("Keypoints"),                             \
        CLI_GROUP(job, pipeline.options.detect, detector_options), CLI_SECTION("Descriptors"),                   \
        CLI_GROUP(job, pipeline, model), CLI_GROUP(job, pipeline.options, patch_options)

/* ------------------------------------------------------------------------------------------------- build and extend */

typedef struct build_job {
    cli_pipeline pipeline;
    io_read_options reading;
    const char *output, *vocabulary;
    bool no_features, no_signatures;
    cli_common *common;
    io_names images;
    io_vocabulary words;
    retrieval_index existing; /* of add */
    kb_index *index;
    kb_workspace *workspace;
    int lock;
    uint64_t next_id;
    size_t added, failed, known, keypoints;
} build_job;

static bool add_image(void *context, size_t i, features *f, const char *why)
{
    build_job *j = context;
    kb_error error;
    if (!f) {
        cli_error("%s", why);
        j->failed++;
        return true;
    }
    if (f->keypoints.count == 0)
        cli_warn(j->common, "%s: no keypoints, so that it cannot be found", j->images.items[i]);
    kb_features view = features_view(f);
    if (kb_index_add(j->index, &view, j->next_id, j->images.items[i], j->workspace, &error) != KB_OK) {
        cli_error("%s: %s", j->images.items[i], error.text);
        return false;
    }
    j->next_id++;
    j->added++;
    j->keypoints += f->keypoints.count;
    return true;
}

static int compare_text(const void *a, const void *b) { return strcmp(a, b); }

/* Takes out of the list what is in the index, or stands in the list before. */
static void drop_known(build_job *j)
{
    kb_index_image image;
    void *names = NULL;
    io_names left = {0};
    KB_INIT(image);
    for (size_t i = 0; kb_index_get_image(j->index, i, &image, NULL, NULL) == KB_OK; i++)
        if (!image.removed) tsearch(image.name, &names, compare_text);
    for (size_t i = 0; i < j->images.count; i++) {
        const char *name = j->images.items[i], **found = tsearch(name, &names, compare_text);
        if (found && *found != name) {
            cli_warn(j->common, "%s is in the index already; it is not added again", name);
            j->known++;
        } else {
            io_names_add(&left, name);
        }
    }
    while (names) tdelete(*(const char *const *)names, &names, compare_text);
    io_names_free(&j->images);
    j->images = left;
}

static void build_report(const build_job *j, double seconds)
{
    kb_index_info info;
    KB_INIT(info);
    kb_index_get_info(j->index, &info);
    cli_say(j->common, "%s: %zu images, %zu added with %zu keypoints, %zu failed; %llu bytes, %.1f s", j->output,
            info.images, j->added, j->keypoints, j->failed, (unsigned long long)info.bytes, seconds);
    if (!j->common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "index", j->output);
    io_json_integer(&json, "images", (int64_t)info.images);
    io_json_integer(&json, "added", (int64_t)j->added);
    io_json_integer(&json, "failed", (int64_t)j->failed);
    io_json_integer(&json, "known", (int64_t)j->known);
    io_json_integer(&json, "keypoints", (int64_t)j->keypoints);
    io_json_integer(&json, "entries", (int64_t)info.entries);
    io_json_integer(&json, "bytes", (int64_t)info.bytes);
    io_json_number(&json, "seconds", seconds);
    io_json_end(&json);
}

static int build_images(build_job *j, int count, char **arguments)
{
    io_error error;
    double start = io_clock_seconds();
    if (!retrieval_images(j->common, count, arguments, &j->images, &error)) return cli_error("%s", error.text);
    drop_known(j);
    if (kb_workspace_create(NULL, &j->workspace) != KB_OK) return cli_error("out of memory");
    if (!retrieval_describe(j->common, &j->pipeline, &j->reading, &j->images, "describing", add_image, j, &error))
        return cli_error("%s", error.text);
    if (j->added == 0 && j->failed > 0)
        return cli_error("none of %zu images could be described; nothing is written", j->images.count);
    if (!retrieval_index_write(j->output, j->index, &error)) return cli_error("%s", error.text);
    build_report(j, io_clock_seconds() - start);
    return j->failed ? CLI_FAILED : CLI_DONE;
}

static int build_run(cli_common *common, void *job, int count, char **arguments)
{
    build_job *j = job;
    io_error error;
    kb_error why;
    kb_index_options options;
    j->common = common;
    if (!j->output) return cli_usage_error(common, "-o with the index's file is needed");
    if (!retrieval_open(common, &j->pipeline, &error) ||
        !photos_vocabulary_open(j->vocabulary, &j->pipeline.pipeline.info, &j->words, &error))
        return cli_error("%s", error.text);
    KB_INIT(options);
    options.keep_features = !j->no_features;
    options.no_signatures = j->no_signatures;
    if (kb_index_create(j->words.vocabulary, &options, NULL, &j->index, &why) != KB_OK)
        return cli_error("%s", why.text);
    return build_images(j, count, arguments);
}

static void build_begin(void *job)
{
    build_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
    j->reading.max_size = CLI_UNSAID;
    j->lock = -1;
}

static void build_end(void *job)
{
    build_job *j = job;
    retrieval_index_unlock(j->lock);
    if (j->index != j->existing.index) kb_index_free(j->index);
    retrieval_index_close(&j->existing);
    io_vocabulary_free(&j->words);
    kb_workspace_free(j->workspace);
    io_names_free(&j->images);
    cli_pipeline_close(&j->pipeline);
}

static const cli_option build_options[] = {
    {"output", 'o', CLI_OUTPUT(build_job, output), "FILE.kbi", .rank = CLI_FREQUENT, .help = "the index"},
    {"vocab", 0, CLI_INPUT(build_job, vocabulary), "NAME|FILE",
     .help = "a built-in vocabulary or a file of any format (default: that of 10,000 words for the model); "
             "keybits vocab list"},
    {"no-features", 0, CLI_FLAG(build_job, no_features),
     .help = "keep no keypoints and descriptors: a smaller file, but query --verify is not possible"},
    {"no-signatures", 0, CLI_FLAG(build_job, no_signatures),
     .help = "keep word counts only: the smallest file, for scores by tf-idf"},
    DESCRIPTOR_OPTIONS(build_job, photo_options, model_option),
    {0}};

static const cli_command index_build = {
    .name = "index build",
    .examples = "photos -o photos.kbi # of every image of a folder",
    .summary = "make an index of images",
    .usage = "IMAGE... -o FILE.kbi [options]",
    .about = "Describes the images and writes an index of them. The file holds its vocabulary and, without "
             "--no-features, the features of the images. An image that cannot be read is named and left out.\n\n"
             CLI_IMAGES_HELP,
    .options = build_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name at least one image",
    .job_size = sizeof(build_job),
    .begin = build_begin,
    .run = build_run,
    .end = build_end};

static int add_run(cli_common *common, void *job, int count, char **arguments)
{
    build_job *j = job;
    io_error error;
    kb_index_info info;
    kb_index_image image;
    const char *path = arguments[0];
    j->common = common;
    if (!j->output) {
        j->output = path;
        j->lock = retrieval_index_lock(common, path, &error);
        if (j->lock < 0) return cli_error("%s", error.text);
    }
    if (!retrieval_index_open(path, true, &j->existing, &error)) return cli_error("%s", error.text);
    j->index = j->existing.index;
    if (!retrieval_open_for(common, &j->pipeline, &j->reading, j->index, &error))
        return cli_error("%s: %s", path, error.text);
    KB_INIT(info);
    kb_index_get_info(j->index, &info);
    KB_INIT(image);
    for (size_t i = 0; i < info.positions; i++)
        if (kb_index_get_image(j->index, i, &image, NULL, NULL) == KB_OK && image.id >= j->next_id)
            j->next_id = image.id + 1;
    return build_images(j, count - 1, arguments + 1);
}

static const cli_option add_options[] = {
    {"output", 'o', CLI_OUTPUT(build_job, output), "FILE.kbi", .rank = CLI_FREQUENT,
     .help = "the extended index (default: the index itself, replaced in one step)"},
    DESCRIPTOR_OPTIONS(build_job, index_photo_options, index_model_option),
    {0}};

static const cli_command index_add = {
    .name = "index add",
    .examples = "photos.kbi new.jpg # one more",
    .summary = "add images to an index",
    .usage = "FILE.kbi IMAGE... [options]",
    .about = "Adds images to an index. The result is the same as that of one build with all of them. An image whose "
             "name is in the index is not added again. Several of these may run at once: they wait for each other.",
    .options = add_options,
    .least = 2,
    .most = CLI_ANY,
    .wants = "name an index and at least one image",
    .job_size = sizeof(build_job),
    .begin = build_begin,
    .run = add_run,
    .end = build_end};

/* ------------------------------------------------------------------------------------------------------------ query */

static const char *const scorings[] = {"binary", "tf-idf", "exact", NULL};

typedef struct query_job {
    cli_pipeline pipeline;
    io_read_options reading;
    int32_t k;
    bool verify;
    kb_scoring scoring;
    int32_t probes;
    cli_common *common;
    io_names images;
    retrieval_index index;
    kb_workspace *workspace;
    kb_index_result *results;
    io_json json;
    size_t failed;
} query_job;

static const char *image_name(const query_job *j, const kb_index_result *result)
{
    return retrieval_image_name(j->index.index, result->position);
}

static void query_json(query_job *j, const char *name, size_t count, double ms)
{
    io_json_object(&j->json, NULL);
    io_json_string(&j->json, "query", name);
    io_json_array(&j->json, "results");
    for (size_t i = 0; i < count; i++) {
        io_json_object(&j->json, NULL);
        io_json_string(&j->json, "image", image_name(j, &j->results[i]));
        io_json_number(&j->json, "score", j->results[i].score);
        if (j->results[i].inliers >= 0) io_json_integer(&j->json, "inliers", j->results[i].inliers);
        io_json_end(&j->json);
    }
    io_json_end(&j->json);
    io_json_number(&j->json, "ms", ms);
    io_json_end(&j->json);
}

static void query_text(query_job *j, const char *name, size_t count, double ms)
{
    printf("%s: %zu images, %.2f ms\n", cli_shown(name), count, ms);
    for (size_t i = 0; i < count; i++) {
        printf("  %.4f", j->results[i].score);
        if (j->results[i].inliers >= 0) printf(" %5d inliers", j->results[i].inliers);
        printf("  %s\n", cli_shown(image_name(j, &j->results[i])));
    }
}

static bool query_image(void *context, size_t i, features *f, const char *why)
{
    query_job *j = context;
    kb_error error;
    kb_index_query_options o;
    size_t count;
    if (!f) {
        cli_error("%s", why);
        j->failed++;
        return true;
    }
    retrieval_warn_empty(j->common, j->images.items[i], f->keypoints.count);
    KB_INIT(o);
    o.scoring = j->scoring;
    o.verify = j->verify ? j->k : 0;
    o.probes = j->probes;
    o.threshold = retrieval_threshold(j->index.index, j->reading.max_size);
    kb_features view = features_view(f);
    double start = io_clock_seconds();
    if (kb_index_query(j->index.index, &view, &o, j->workspace, j->results, (size_t)j->k, &count, &error) != KB_OK) {
        cli_error("%s: %s", j->images.items[i], error.text);
        j->failed++;
        return false;
    }
    double ms = 1000 * (io_clock_seconds() - start);
    (j->common->json ? query_json : query_text)(j, j->images.items[i], count, ms);
    return true;
}

static int query_run(cli_common *common, void *job, int count, char **arguments)
{
    query_job *j = job;
    io_error error;
    const char *path = arguments[0];
    j->common = common;
    if (!retrieval_index_open(path, false, &j->index, &error)) return cli_error("%s", error.text);
    if (!retrieval_open_for(common, &j->pipeline, &j->reading, j->index.index, &error))
        return cli_error("%s: %s", path, error.text);
    kb_index_info info;
    KB_INIT(info);
    kb_index_get_info(j->index.index, &info);
    if ((j->verify || j->scoring == KB_SCORING_EXACT) && !info.features)
        return cli_error("%s: made with --no-features, so that %s is not possible", path,
                         j->verify ? "--verify" : "exact search");
    if (j->scoring == KB_SCORING_BINARY && !info.signatures) j->scoring = KB_SCORING_TF_IDF;
    if (!cli_claim_images(common, count - 1, arguments + 1, &j->images, &error)) return cli_error("%s", error.text);
    if (kb_workspace_create(NULL, &j->workspace) != KB_OK) return cli_error("out of memory");
    j->results = io_alloc((size_t)j->k, sizeof *j->results);
    if (common->json) {
        io_json_begin(&j->json, stdout);
        io_json_array(&j->json, NULL);
    }
    bool ok = retrieval_describe(common, &j->pipeline, &j->reading, &j->images, "asking", query_image, j, &error);
    if (common->json) io_json_end(&j->json);
    return ok && j->failed == 0 ? CLI_DONE : CLI_FAILED;
}

static void query_begin(void *job)
{
    query_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
    j->reading.max_size = CLI_UNSAID;
}

static void query_end(void *job)
{
    query_job *j = job;
    retrieval_index_close(&j->index);
    kb_workspace_free(j->workspace);
    io_names_free(&j->images);
    free(j->results);
    cli_pipeline_close(&j->pipeline);
}

static const cli_option query_options[] = {
    {"results", 'k', CLI_NUMBER(query_job, k, 1, 1000000), "K", "10", .help = "images per query at most"},
    {"verify", 0, CLI_FLAG(query_job, verify),
     .help = "match each of them and fit a geometry: those that it verifies come first, by the similarity of the "
             "matches, where inliers count twice"},
    {"scoring", 0, CLI_CHOICE(query_job, scoring, KB_SCORING_BINARY), "WHICH", "binary", .words = scorings,
     .help = "binary: descriptors are compared within words; tf-idf: L1, as DBoW2; exact: descriptors of all images "
             "are matched, the slow reference"},
    PROBES_OPTION(query_job),
    DESCRIPTOR_OPTIONS(query_job, index_photo_options, index_model_option),
    {0}};

static const cli_command index_query = {
    .name = "index query",
    .examples = "photos.kbi new.jpg # the most similar images",
    .summary = "the images of an index that are most similar",
    .usage = "FILE.kbi IMAGE... [options]",
    .about = "Prints, for each image, the most similar images of the index with their scores, 0 to 1. The time is that "
             "of the search (and the verification), without reading and describing.\n\n" CLI_IMAGES_HELP,
    .options = query_options,
    .least = 2,
    .most = CLI_ANY,
    .wants = "name an index and at least one image",
    .job_size = sizeof(query_job),
    .begin = query_begin,
    .run = query_run,
    .end = query_end};

/* ------------------------------------------------------------------------------------------------------------- info */

static int info_run(cli_common *common, void *job, int count, char **arguments)
{
    retrieval_index index;
    io_error error;
    kb_index_info info;
    kb_vocabulary_info words;
    (void)job, (void)count;
    if (!retrieval_index_open(arguments[0], true, &index, &error)) return cli_error("%s", error.text);
    KB_INIT(info);
    KB_INIT(words);
    kb_index_get_info(index.index, &info);
    kb_vocabulary_get_info(info.vocabulary, &words);
    double per_image = info.images ? (double)info.bytes / (double)info.images : 0;
    if (common->json) {
        io_json json;
        io_json_begin(&json, stdout);
        io_json_object(&json, NULL);
        io_json_integer(&json, "images", (int64_t)info.images);
        io_json_integer(&json, "entries", (int64_t)info.entries);
        io_json_bool(&json, "signatures", info.signatures);
        io_json_bool(&json, "features", info.features);
        io_json_integer(&json, "bytes", (int64_t)index.file.size);
        io_json_number(&json, "bytes_per_image", per_image);
        io_json_string(&json, "model", words.model_name[0] ? words.model_name : NULL);
        io_json_integer(&json, "words", words.words);
        io_json_string(&json, "detector", info.detector ? kb_name(KB_NAMES_DETECTOR, info.detector) : NULL);
        io_json_integer(&json, "revision", info.revision);
        io_json_string(&json, "rows", !info.detector ? NULL : info.upright ? "upright" : "oriented");
        io_json_integer(&json, "max_size", info.max_size);
        io_json_end(&json);
    } else {
        printf("images      %zu\nentries     %llu\nkept        %s%s\nfile        %zu bytes\nper image   %.0f bytes\n"
               "vocabulary  %u words, model %s\n",
               info.images, (unsigned long long)info.entries, info.signatures ? "signatures" : "word counts",
               info.features ? ", features" : "", index.file.size, per_image, words.words,
               words.model_name[0] ? cli_shown(words.model_name) : "unknown");
        char limit[32] = "images of any size";
        if (info.max_size) snprintf(limit, sizeof limit, "images up to %d px", (int)info.max_size);
        if (info.detector)
            printf("keypoints   %s, revision %d, %s, %s\n", features_detector_name(info.detector), (int)info.revision,
                   info.upright ? "upright" : "oriented", limit);
        else printf("keypoints   of an unknown detector\n");
    }
    retrieval_index_close(&index);
    return CLI_DONE;
}

static const cli_command index_info = {.name = "index info",
                                       .examples = "photos.kbi --json # sizes and model",
                                       .summary = "what is in an index",
                                       .usage = "FILE.kbi [options]",
                                       .about = "Reads the whole index, checks it, and prints what it holds.",
                                       .least = 1,
                                       .most = 1,
                                       .wants = "name one index",
                                       .reads_arguments = true,
                                       .run = info_run};

/* ----------------------------------------------------------------------------------------------------- list, remove */

static void list_json(const kb_index *index)
{
    kb_index_image image;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_array(&json, NULL);
    KB_INIT(image);
    for (size_t i = 0; kb_index_get_image(index, i, &image, NULL, NULL) == KB_OK; i++) {
        io_json_object(&json, NULL);
        io_json_string(&json, "image", image.name);
        io_json_integer(&json, "id", (int64_t)image.id);
        io_json_integer(&json, "keypoints", image.rows);
        io_json_integer(&json, "words", image.words);
        io_json_integer(&json, "width", image.width);
        io_json_integer(&json, "height", image.height);
        io_json_end(&json);
    }
    io_json_end(&json);
}

static int list_run(cli_common *common, void *job, int count, char **arguments)
{
    retrieval_index index;
    io_error error;
    kb_index_image image;
    (void)job, (void)count;
    if (!retrieval_index_open(arguments[0], false, &index, &error)) return cli_error("%s", error.text);
    if (common->json) list_json(index.index);
    KB_INIT(image);
    for (size_t i = 0; !common->json && kb_index_get_image(index.index, i, &image, NULL, NULL) == KB_OK; i++)
        printf("%s\n", cli_shown(image.name));
    retrieval_index_close(&index);
    return CLI_DONE;
}

static const cli_command index_list = {.name = "index list",
                                       .examples = "photos.kbi # names",
                                       .summary = "the images of an index",
                                       .usage = "FILE.kbi [options]",
                                       .about = "Prints the names of the images, one per line; with --json also ids, "
                                                "keypoints, words and sizes.",
                                       .least = 1,
                                       .most = 1,
                                       .wants = "name one index",
                                       .reads_arguments = true,
                                       .run = list_run};

typedef struct remove_job {
    const char *output;
    int lock;
    retrieval_index index;
} remove_job;

static bool find_name(const kb_index *index, const char *name, kb_index_image *image)
{
    KB_INIT(*image);
    for (size_t i = 0; kb_index_get_image(index, i, image, NULL, NULL) == KB_OK; i++)
        if (!image->removed && strcmp(image->name, name) == 0) return true;
    return false;
}

/* Removes the images with that name. What the library knows are ids, which others may share. */
static bool remove_name(kb_index *index, const char *name, io_error *error)
{
    kb_index_image image, other;
    size_t removed = 0;
    KB_INIT(other);
    for (; find_name(index, name, &image); removed++) {
        for (size_t i = 0; kb_index_get_image(index, i, &other, NULL, NULL) == KB_OK; i++)
            if (!other.removed && other.id == image.id && strcmp(other.name, name) != 0)
                return io_fail(error, "%s: %s has the same id, and would go too", name, other.name);
        kb_index_remove(index, image.id, NULL);
    }
    if (removed > 0) return true;
    return io_fail(error, "%s: no image of that name is in the index (keybits index list shows them)", name);
}

static int remove_run(cli_common *common, void *job, int count, char **arguments)
{
    remove_job *j = job;
    io_error error;
    const char *path = arguments[0];
    if (!j->output) {
        j->output = path;
        j->lock = retrieval_index_lock(common, path, &error);
        if (j->lock < 0) return cli_error("%s", error.text);
    }
    if (!retrieval_index_open(path, true, &j->index, &error)) return cli_error("%s", error.text);
    for (int i = 1; i < count; i++)
        if (!remove_name(j->index.index, arguments[i], &error)) return cli_error("%s: %s", path, error.text);
    if (!retrieval_index_write(j->output, j->index.index, &error)) return cli_error("%s", error.text);
    kb_index_info info;
    KB_INIT(info);
    kb_index_get_info(j->index.index, &info);
    cli_say(common, "%s: %zu images", j->output, info.images);
    if (common->json) {
        io_json json;
        io_json_begin(&json, stdout);
        io_json_object(&json, NULL);
        io_json_string(&json, "index", j->output);
        io_json_integer(&json, "images", (int64_t)info.images);
        io_json_end(&json);
    }
    return CLI_DONE;
}

static void remove_begin(void *job) { ((remove_job *)job)->lock = -1; }

static void remove_end(void *job)
{
    remove_job *j = job;
    retrieval_index_unlock(j->lock);
    retrieval_index_close(&j->index);
}

static const cli_option remove_options[] = {
    {"output", 'o', CLI_OUTPUT(remove_job, output), "FILE.kbi",
     .help = "the smaller index (default: the index itself, replaced in one step)"},
    {0}};

static const cli_command index_remove = {
    .name = "index remove",
    .examples = "photos.kbi old.jpg # by name",
    .summary = "remove images from an index",
    .usage = "FILE.kbi NAME... [options]",
    .about = "Removes images by the names that keybits index list prints. The result is the same as that of a build "
             "without them. A name that is not in the index is an error, and then nothing is removed.",
    .options = remove_options,
    .least = 2,
    .most = CLI_ANY,
    .wants = "name an index and at least one image of it",
    .job_size = sizeof(remove_job),
    .begin = remove_begin,
    .run = remove_run,
    .end = remove_end};

static const cli_command *const index_commands[] = {&index_build, &index_add,    &index_remove, &index_query,
                                                    &index_list,  &index_info, NULL};

const cli_command command_index = {.name = "index",
                                   .summary = "find the images that show the same place",
                                   .usage = "build|add|remove|query|list|info ...",
                                   .about = "An index of images answers which of them are most similar to another one.",
                                   .subcommands = index_commands};
