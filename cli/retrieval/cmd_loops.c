/* SPDX-License-Identifier: Apache-2.0 */
/* keybits loops: where a sequence of images comes back to a place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"
#include "io/json.h"
#include "io/number.h"
#include "io/progress.h"
#include "loops.h"

typedef struct loops_job {
    cli_pipeline pipeline;
    io_read_options reading;
    kb_loop_options options;
    const char *vocabulary, *output, *page;
    cli_common *common;
    io_names images, described; /* described: those that could be read */
    io_vocabulary words;
    kb_loop_detector *detector;
    kb_index *index; /* for the matrix of the page */
    kb_workspace *workspace;
    float *scores;
    loops_found found;
    size_t failed, checked, keypoints;
} loops_job;

/* The scores of image i with all before it, for the page. */
static bool note_scores(loops_job *j, const kb_features *view, kb_error *why)
{
    size_t i = j->described.count - 1, n = j->images.count, count;
    kb_index_result *results = io_alloc(n, sizeof *results);
    bool ok = kb_index_query(j->index, view, NULL, j->workspace, results, n, &count, why) == KB_OK &&
              kb_index_add(j->index, view, i, NULL, j->workspace, why) == KB_OK;
    for (size_t k = 0; k < i; k++) j->scores[i * n + k] = 0;
    for (size_t k = 0; ok && k < count; k++) j->scores[i * n + results[k].position] = (float)results[k].score;
    free(results);
    return ok;
}

/* Of images that were shrunk an inlier may be off by more pixels of the file; the first tells for all. */
static bool detector_make(loops_job *j, const features *f, kb_error *why)
{
    j->options.threshold = 3 * photos_step(f->width, f->height, j->reading.max_size);
    return kb_loop_detector_create(j->words.vocabulary, &j->options, NULL, &j->detector, why) == KB_OK;
}

static bool take_image(void *context, size_t index, features *f, const char *why)
{
    loops_job *j = context;
    kb_error error;
    kb_loop loop;
    KB_INIT(loop);
    if (!f) {
        cli_error("%s", why);
        j->failed++;
        return true;
    }
    if (f->keypoints.count == 0)
        cli_warn(j->common, "%s: no keypoints, so that no loop can be found", j->images.items[index]);
    kb_features view = features_view(f);
    io_names_add(&j->described, j->images.items[index]);
    j->keypoints += f->keypoints.count;
    bool ok = (j->detector || detector_make(j, f, &error)) &&
              kb_loop_detector_add(j->detector, &view, j->workspace, &loop, &error) == KB_OK &&
              (!j->index || note_scores(j, &view, &error));
    if (!ok) {
        cli_error("%s: %s", j->images.items[index], error.text);
        return false;
    }
    j->checked += (size_t)loop.checked;
    if (loop.found) {
        j->found.items = io_grow(j->found.items, j->found.count + 1, sizeof *j->found.items);
        j->found.items[j->found.count++] = loop;
    }
    return true;
}

static const char *name_of(const loops_job *j, size_t position) { return j->described.items[position]; }

static void loops_json(const loops_job *j, double seconds)
{
    io_json json;
    size_t n = j->described.count;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_integer(&json, "images", (int64_t)n);
    io_json_integer(&json, "failed", (int64_t)j->failed);
    io_json_integer(&json, "keypoints", (int64_t)j->keypoints);
    io_json_integer(&json, "pairs", (int64_t)(n * (n - (n > 0)) / 2));
    io_json_integer(&json, "matched_pairs", (int64_t)j->checked);
    io_json_number(&json, "seconds", seconds);
    io_json_array(&json, "loops");
    for (size_t i = 0; i < j->found.count; i++) {
        const kb_loop *loop = &j->found.items[i];
        io_json_object(&json, NULL);
        io_json_string(&json, "query", name_of(j, loop->query));
        io_json_string(&json, "reference", name_of(j, loop->reference));
        io_json_number(&json, "score", loop->score);
        io_json_integer(&json, "inliers", loop->inliers);
        io_json_integer(&json, "places", loop->places);
        io_json_string(&json, "geometry", kb_name(KB_NAMES_GEOMETRY, loop->geometry));
        io_json_array(&json, "model");
        for (int k = 0; k < 9; k++) io_json_number(&json, NULL, loop->model[k]);
        io_json_end(&json);
        io_json_end(&json);
    }
    io_json_end(&json);
    io_json_end(&json);
}

static bool loops_csv(const loops_job *j, io_error *error)
{
    io_writer *writer = io_writer_open(j->output, error);
    char number[32];
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    fprintf(out, "query,reference,score,inliers,geometry,m11,m12,m13,m21,m22,m23,m31,m32,m33\n");
    for (size_t i = 0; i < j->found.count; i++) {
        const kb_loop *loop = &j->found.items[i];
        io_csv_text(out, name_of(j, loop->query));
        fputc(',', out);
        io_csv_text(out, name_of(j, loop->reference));
        fprintf(out, ",%s,%d,%s", io_number_shortest(number, loop->score, false), loop->inliers,
                kb_name(KB_NAMES_GEOMETRY, loop->geometry));
        for (int k = 0; k < 9; k++) fprintf(out, ",%s", io_number_shortest(number, loop->model[k], false));
        fputc('\n', out);
    }
    return io_writer_commit(writer, error);
}

static void loops_text(const loops_job *j)
{
    for (size_t i = 0; i < j->found.count; i++) {
        const kb_loop *loop = &j->found.items[i];
        printf("%s -> %s  score %.4f  %d inliers\n", cli_shown(name_of(j, loop->query)),
               cli_shown(name_of(j, loop->reference)), loop->score, loop->inliers);
    }
}

/* In the order of the arguments; those of a folder in the natural order of their names. */
static bool loops_images(loops_job *j, int count, char **arguments, io_error *error)
{
    for (int i = 0; i < count; i++) {
        io_names some = {0};
        bool ok = cli_claim_images(j->common, 1, &arguments[i], &some, error);
        if (ok && io_path_is_folder(arguments[i])) io_names_sort(&some);
        for (size_t k = 0; ok && k < some.count; k++) io_names_add(&j->images, some.items[k]);
        io_names_free(&some);
        if (!ok) return false;
    }
    return true;
}

static bool loops_open(loops_job *j, int count, char **arguments, io_error *error)
{
    kb_error why;
    if (!retrieval_open(j->common, &j->pipeline, error) ||
        !photos_vocabulary_open(j->vocabulary, &j->pipeline.pipeline.info, &j->words, error) ||
        !loops_images(j, count, arguments, error))
        return false;
    if (kb_workspace_create(NULL, &j->workspace) != KB_OK) return io_fail(error, "out of memory");
    if (!j->page) return true;
    if (kb_index_create(j->words.vocabulary, NULL, NULL, &j->index, &why) != KB_OK)
        return io_fail(error, "%s", why.text);
    j->scores = io_alloc(j->images.count * j->images.count, sizeof *j->scores);
    for (size_t i = 0; i < j->images.count * j->images.count; i++) j->scores[i] = NAN;
    return true;
}

static int loops_run(cli_common *common, void *job, int count, char **arguments)
{
    loops_job *j = job;
    io_error error;
    double start = io_clock_seconds();
    j->common = common;
    if (!loops_open(j, count, arguments, &error) ||
        !retrieval_describe(common, &j->pipeline, &j->reading, &j->images, "looking", take_image, j, &error))
        return cli_error("%s", error.text);
    if (j->described.count == 0) return cli_error("none of %zu images could be described", j->images.count);
    if ((j->output && !loops_csv(j, &error)) ||
        (j->page && !loops_page_write(j->page, &j->described, &j->reading, j->scores, j->images.count,
                                     &j->found, &error)))
        return cli_error("%s", error.text);
    double seconds = io_clock_seconds() - start;
    if (common->json) loops_json(j, seconds);
    else if (!common->quiet && !j->output) loops_text(j);
    cli_say(common, "%zu loops in %zu images, %zu pairs matched, %zu images failed, %.1f s", j->found.count,
            j->described.count, j->checked, j->failed, seconds);
    return j->failed ? CLI_FAILED : CLI_DONE;
}

static void loops_begin(void *job)
{
    loops_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
    KB_INIT(j->options);
}

static void loops_end(void *job)
{
    loops_job *j = job;
    kb_loop_detector_free(j->detector);
    kb_index_free(j->index);
    io_vocabulary_free(&j->words);
    kb_workspace_free(j->workspace);
    io_names_free(&j->images);
    io_names_free(&j->described);
    free(j->scores);
    free(j->found.items);
    cli_pipeline_close(&j->pipeline);
}

static const cli_option loops_options[] = {
    {"output", 'o', CLI_OUTPUT(loops_job, output), "FILE.csv", .rank = CLI_FREQUENT,
     .help = "query,reference,score,inliers,geometry and its matrix from query to reference; - for standard output"},
    {"page", 0, CLI_OUTPUT(loops_job, page), "FILE.html", .rank = CLI_FREQUENT,
     .help = "a page with the similarity of all pairs and both pictures of each loop"},
    {"window", 0, CLI_NUMBER(loops_job, options.window, 1, 1000000), "N", "20",
     .help = ": the last N images are not searched"},
    {"checks", 0, CLI_NUMBER(loops_job, options.checks, 1, 1000), "N", "2",
     .help = "pairs that are matched per image, at most"},
    {"min-places", 0, CLI_NUMBER(loops_job, options.min_places, 1, 1000000), "N", "30",
     .help = "different inliers of a loop"},
    {"min-score", 0, CLI_NUMBER(loops_job, options.min_score, 0.001, 100), "X", "0.5",
     .help = ": the least score of a loop, relative to the median score of neighbouring images; lower finds "
             "places that have changed more, and more that only look alike"},
    {"vocab", 0, CLI_INPUT(loops_job, vocabulary), "NAME|FILE",
     .help = "a built-in vocabulary or a file of any format (default: that of 10,000 words for the model)"},
    CLI_SECTION("Images"),
    CLI_GROUP(loops_job, reading, photo_options),
    CLI_SECTION("Keypoints"),
    CLI_GROUP(loops_job, pipeline.options.detect, detector_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(loops_job, pipeline, model_option),
    CLI_GROUP(loops_job, pipeline.options, patch_options),
    {0}};

const cli_command command_loops = {
    .name = "loops",
    .examples = "frames --page loops.html # revisited places, with a page",
    .summary = "where a sequence of images comes back to a place",
    .usage = "FOLDER [options]\nIMAGE... [options]",
    .about = "Takes images in the order in which they are named, those of a folder in the natural order of their names "
             "(2.jpg before 10.jpg), and finds, for each, an earlier image of "
             "the same place: by words, and by matching and a geometry for the best candidates. Images that cannot be "
             "read are named and left out.\n\n" CLI_IMAGES_HELP,
    .options = loops_options,
    .least = 1,
    .most = CLI_ANY,
    .wants = "name a folder or images",
    .job_size = sizeof(loops_job),
    .begin = loops_begin,
    .run = loops_run,
    .end = loops_end};
