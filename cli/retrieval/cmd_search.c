/* SPDX-License-Identifier: Apache-2.0 */
/* keybits search: which picture of an index this photograph shows, as a picture. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/draw.h"
#include "io/json.h"
#include "io/progress.h"
#include "retrieval.h"

typedef struct search_job {
    cli_pipeline pipeline;
    io_read_options reading;
    const char *draw;
    int32_t k, probes;
    retrieval_index index;
    features features;
    kb_index_result *results;
    size_t count;
    double ms;
    bool outlined;
    double outline[4][2]; /* the found picture's corners in the photograph */
} search_job;

static const char *result_name(const search_job *j, const kb_index_result *result)
{
    return retrieval_image_name(j->index.index, result->position);
}

/* Verified results come first; NULL: there is none. */
static const kb_index_result *found(const search_job *j)
{
    return j->count > 0 && j->results[0].inliers > 0 ? &j->results[0] : NULL;
}

static bool search_query(search_job *j, io_error *error)
{
    kb_index_query_options o;
    kb_error why;
    KB_INIT(o);
    o.verify = j->k;
    o.probes = j->probes;
    o.threshold = retrieval_threshold(j->index.index, j->reading.max_size);
    j->results = io_alloc((size_t)j->k, sizeof *j->results);
    kb_features view = features_view(&j->features);
    double start = io_clock_seconds();
    kb_status status =
        kb_index_query(j->index.index, &view, &o, NULL, j->results, (size_t)j->k, &j->count, &why);
    j->ms = 1000 * (io_clock_seconds() - start);
    return status == KB_OK || io_fail(error, "%s", why.text);
}

/* The corners of an image of that size under a homography. */
static void map_corners(const double h[9], int32_t width, int32_t height, double at[4][2])
{
    const double right = width - 1, bottom = height - 1;
    const double corner[4][2] = {{0, 0}, {right, 0}, {right, bottom}, {0, bottom}};
    for (int i = 0; i < 4; i++) kb_homography_apply(h, corner[i][0], corner[i][1], &at[i][0], &at[i][1]);
}

/* Up to a factor, which a homography may have. */
static void invert(const double m[9], double to[9])
{
    for (int i = 0; i < 9; i++) {
        int r = i % 3, c = i / 3, r1 = (r + 1) % 3, r2 = (r + 2) % 3, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
        to[i] = m[3 * r1 + c1] * m[3 * r2 + c2] - m[3 * r1 + c2] * m[3 * r2 + c1];
    }
}

/* The homography goes from the photograph to the picture, whose size the index may know. */
static void outline_find(search_job *j)
{
    kb_index_image image;
    double back[9];
    KB_INIT(image);
    const kb_index_result *best = found(j);
    if (!best || best->geometry != KB_GEOMETRY_HOMOGRAPHY) return;
    if (kb_index_get_image(j->index.index, best->position, &image, NULL, NULL) != KB_OK) return;
    if (image.width == 0 || image.height == 0) return;
    invert(best->model, back);
    map_corners(back, image.width, image.height, j->outline);
    j->outlined = true;
    for (int i = 0; i < 8; i++) j->outlined = j->outlined && isfinite(j->outline[i / 2][i % 2]);
}

static void draw_outline(io_canvas *canvas, double at[4][2], int32_t shift)
{
    for (int i = 0; i < 4; i++) {
        const double *a = at[i], *b = at[(i + 1) % 4];
        if (isfinite(a[0]) && isfinite(b[0]))
            io_draw_line(canvas, a[0] + shift, a[1], b[0] + shift, b[1], 3, (io_colour){0, 220, 90});
    }
}

static bool search_draw(search_job *j, const char *photo, io_error *error)
{
    const kb_index_result *result = found(j);
    io_image query, best;
    io_canvas canvas;
    int32_t shift;
    io_read_options colour = {.colour = true};
    char line[128];
    if (!io_image_read(photo, &colour, &query, error)) return false;
    bool ok = io_image_read(result ? result_name(j, result) : photo, &colour, &best, error);
    if (ok) {
        ok = io_canvas_side_by_side(&canvas, &query, &best, &shift, error);
        io_image_free(&best);
    }
    io_image_free(&query);
    if (!ok) return false;
    if (result) {
        double frame[4][2];
        if (result->geometry == KB_GEOMETRY_HOMOGRAPHY) {
            map_corners(result->model, j->features.width, j->features.height, frame);
            draw_outline(&canvas, frame, shift);
        }
        if (j->outlined) draw_outline(&canvas, j->outline, 0);
        snprintf(line, sizeof line, "%d inliers, score %.3f, %.1f ms", result->inliers, result->score, j->ms);
    } else {
        io_draw_rectangle(&canvas, shift, 0, canvas.width - shift, canvas.height, (io_colour){40, 40, 40});
        snprintf(line, sizeof line, "not in the index");
    }
    io_draw_rectangle(&canvas, 0, 0, io_text_width(2, line) + 8, io_text_height(2) + 8, (io_colour){0, 0, 0});
    io_draw_text(&canvas, 4, 4, 2, (io_colour){255, 255, 255}, line);
    ok = io_canvas_write(j->draw, &canvas, error);
    io_canvas_free(&canvas);
    return ok;
}

static void search_json(const search_job *j, const char *photo)
{
    const kb_index_result *best = found(j);
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "query", photo);
    io_json_string(&json, "found", best ? result_name(j, best) : NULL);
    io_json_array(&json, "results");
    for (size_t i = 0; i < j->count; i++) {
        io_json_object(&json, NULL);
        io_json_string(&json, "image", result_name(j, &j->results[i]));
        io_json_number(&json, "score", j->results[i].score);
        io_json_integer(&json, "inliers", j->results[i].inliers);
        io_json_integer(&json, "places", j->results[i].places);
        io_json_end(&json);
    }
    io_json_end(&json);
    if (best) {
        io_json_string(&json, "geometry", kb_name(KB_NAMES_GEOMETRY, best->geometry));
        io_json_array(&json, "model");
        for (int i = 0; i < 9; i++) io_json_number(&json, NULL, best->model[i]);
        io_json_end(&json);
    }
    if (j->outlined) {
        io_json_array(&json, "outline");
        for (int i = 0; i < 8; i++) io_json_number(&json, NULL, j->outline[i / 2][i % 2]);
        io_json_end(&json);
    }
    io_json_number(&json, "ms", j->ms);
    io_json_end(&json);
}

static int search_run(cli_common *common, void *job, int count, char **arguments)
{
    search_job *j = job;
    io_error error;
    kb_index_info info;
    (void)count;
    if (io_path_is_plain(j->draw) && !io_path_has_suffix(j->draw, ".png"))
        return cli_usage_error(common, "the picture %s must end in .png", j->draw);
    if (!retrieval_index_open(arguments[0], false, &j->index, &error)) return cli_error("%s", error.text);
    KB_INIT(info);
    kb_index_get_info(j->index.index, &info);
    if (!info.features || !info.signatures)
        return cli_error("%s: made without features or signatures, which search needs", arguments[0]);
    if (!retrieval_open_for(common, &j->pipeline, &j->reading, j->index.index, &error))
        return cli_error("%s: %s", arguments[0], error.text);
    if (!photos_describe_one(&j->pipeline.pipeline, &j->reading, arguments[1], &j->features, &error) ||
        !search_query(j, &error))
        return cli_error("%s", error.text);
    retrieval_warn_empty(common, arguments[1], j->features.keypoints.count);
    outline_find(j);
    if (j->draw && !search_draw(j, arguments[1], &error)) return cli_error("%s", error.text);
    const kb_index_result *best = found(j);
    if (common->json) search_json(j, arguments[1]);
    else if (best)
        printf("%s  %d inliers, score %.4f, %.1f ms\n", cli_shown(result_name(j, best)), best->inliers, best->score,
               j->ms);
    else printf("not in the index (%zu candidates, none verified), %.1f ms\n", j->count, j->ms);
    return CLI_DONE;
}

static void search_begin(void *job)
{
    search_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
    j->reading.max_size = CLI_UNSAID;
}

static void search_end(void *job)
{
    search_job *j = job;
    retrieval_index_close(&j->index);
    features_free(&j->features);
    free(j->results);
    cli_pipeline_close(&j->pipeline);
}

static const cli_option search_options[] = {
    {"draw", 0, CLI_OUTPUT(search_job, draw), "FILE.png",
     .help = "the photograph beside the picture that it shows, each with the outline of the other"},
    {"candidates", 'k', CLI_NUMBER(search_job, k, 1, 10000), "K", "20",
     .help = "most similar images that are verified"},
    PROBES_OPTION(search_job),
    CLI_SECTION("Images"),
    CLI_GROUP(search_job, reading, index_photo_options),
    CLI_SECTION("Keypoints"),
    CLI_GROUP(search_job, pipeline.options.detect, detector_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(search_job, pipeline, index_model_option),
    CLI_GROUP(search_job, pipeline.options, patch_options),
    {0}};

const cli_command command_search = {
    .name = "search",
    .examples = "photos.kbi new.jpg # which image it shows",
    .summary = "which picture of an index a photograph shows",
    .usage = "FILE.kbi PHOTO [options]",
    .about = "Finds the image of an index that the photograph shows, verified by matching and a geometry that neither "
             "chance nor repetition explains. Finding none is a result.",
    .options = search_options,
    .least = 2,
    .most = 2,
    .wants = "name an index and a photograph",
    .reads_arguments = true,
    .job_size = sizeof(search_job),
    .begin = search_begin,
    .run = search_run,
    .end = search_end};
