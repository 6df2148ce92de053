/* SPDX-License-Identifier: Apache-2.0 */
/* keybits localize: where a photograph was taken, in a map made of a COLMAP model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collection/localize.h"
#include "io/colmap_db.h"
#include "io/draw.h"
#include "io/json.h"
#include "io/progress.h"
#include "pipeline/models.h"
#include "retrieval.h"

/* ------------------------------------------------------------------------------------------------------------ build */

typedef struct build_map_job {
    cli_pipeline pipeline;
    io_read_options reading;
    const char *output, *vocabulary;
} build_map_job;

static void build_map_report(const cli_common *common, const char *output, const map_counts *n, double seconds)
{
    cli_say(common,
            "%s: %zu images, %zu keypoints, %zu pairs matched, %zu points seen by %zu rows, error %.2f px; %.1f s",
            output, n->images, n->keypoints, n->pairs, n->points, n->rows, n->rms, seconds);
    if (!common->json) return;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_string(&json, "map", output);
    io_json_integer(&json, "images", (int64_t)n->images);
    io_json_integer(&json, "failed", (int64_t)n->failed);
    io_json_integer(&json, "keypoints", (int64_t)n->keypoints);
    io_json_integer(&json, "pairs", (int64_t)n->pairs);
    io_json_integer(&json, "points", (int64_t)n->points);
    io_json_integer(&json, "rows", (int64_t)n->rows);
    io_json_number(&json, "error_px", n->rms);
    io_json_number(&json, "seconds", seconds);
    io_json_end(&json);
}

static int build_map_run(cli_common *common, void *job, int count, char **arguments)
{
    build_map_job *j = job;
    io_error error;
    retrieval_bar bar;
    map_counts counts;
    double start = io_clock_seconds();
    (void)count;
    if (!j->output) return cli_usage_error(common, "-o with the map is needed");
    photos_host host = retrieval_host(&bar, common);
    bool ok = retrieval_open(common, &j->pipeline, &error) &&
              map_build(&j->pipeline.pipeline, &j->reading, arguments[0], arguments[1], j->vocabulary, &host, j->output,
                        &counts, &error);
    retrieval_bar_end(&bar);
    if (!ok) return cli_error("%s", error.text);
    build_map_report(common, j->output, &counts, io_clock_seconds() - start);
    return counts.failed ? CLI_FAILED : CLI_DONE;
}

static void build_map_begin(void *job)
{
    build_map_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
}

static void build_map_end(void *job) { cli_pipeline_close(&((build_map_job *)job)->pipeline); }

static const cli_option build_map_options[] = {
    {"output", 'o', CLI_OUTPUT(build_map_job, output), "FILE.kbl", .rank = CLI_FREQUENT, .help = "the map"},
    {"vocab", 0, CLI_INPUT(build_map_job, vocabulary), "NAME|FILE",
     .help = "for retrieval (default: that of 10,000 words for the model)"},
    CLI_SECTION("Images"),
    CLI_GROUP(build_map_job, reading, exact_photo_options),
    CLI_SECTION("Keypoints"),
    CLI_GROUP(build_map_job, pipeline.options.detect, detector_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(build_map_job, pipeline, model_option),
    CLI_GROUP(build_map_job, pipeline.options, patch_options),
    {0}};

static const cli_command localize_build = {
    .name = "localize build",
    .examples = "sparse/0 photos -o place.kbl # a map of a reconstruction by COLMAP",
    .summary = "make a map of a COLMAP model and its images",
    .usage = "MODEL IMAGES -o FILE.kbl [options]",
    .about = "MODEL is the folder of COLMAP's model, text or binary; IMAGES the folder that its names are below. "
             "Images that share points of the model are matched with keypoints of keybits, and matches that fit the "
             "poses of the model become points of the map: it does not matter which features the model was made with.",
    .options = build_map_options,
    .least = 2,
    .most = 2,
    .wants = "name the folder of the model and the folder of the images",
    .job_size = sizeof(build_map_job),
    .begin = build_map_begin,
    .run = build_map_run,
    .end = build_map_end};

/* ------------------------------------------------------------------------------------------------------------- find */

typedef struct find_job {
    cli_pipeline pipeline;
    io_read_options reading;
    localize_options options;
    const char *camera_text, *output, *draw;
    kb_camera camera;
    cli_common *common;
    io_names photos;
    map map;
    io_writer *writer;
    io_json json;
    size_t found, failed;
} find_job;

static void json_numbers(io_json *json, const char *name, const double *values, int n)
{
    io_json_array(json, name);
    for (int i = 0; i < n; i++) io_json_number(json, NULL, values[i]);
    io_json_end(json);
}

static void find_json(find_job *j, const char *photo, const localize_result *r)
{
    io_json *json = &j->json;
    io_json_object(json, NULL);
    io_json_string(json, "photo", photo);
    io_json_bool(json, "found", r->found);
    io_json_integer(json, "keypoints", (int64_t)r->keypoints);
    io_json_integer(json, "matches", (int64_t)r->matches);
    io_json_integer(json, "inliers", (int64_t)r->inliers);
    if (r->found) {
        double q[4];
        io_quaternion_of(r->rotation, q);
        json_numbers(json, "quaternion", q, 4);
        json_numbers(json, "translation", r->translation, 3);
        json_numbers(json, "position", r->centre, 3);
        io_json_number(json, "sigma_position", r->sigma_position);
        io_json_number(json, "sigma_rotation_degrees", r->sigma_rotation);
        io_json_number(json, "error_px", r->rms);
        io_json_string(json, "camera", r->camera_from);
        const double camera[4] = {r->camera.fx, r->camera.fy, r->camera.cx, r->camera.cy};
        json_numbers(json, "camera_px", camera, 4);
        io_json_number(json, "sigma_focal_px", r->sigma_focal);
        io_json_string(json, "nearest", j->map.images[r->image].name);
    }
    io_json_number(json, "ms_describe", r->ms_describe);
    io_json_number(json, "ms", r->ms_total);
    io_json_end(json);
}

static void find_text(const find_job *j, const char *photo, const localize_result *r)
{
    if (!r->found) {
        printf("%s: not found (%zu matches), %.0f ms\n", cli_shown(photo), r->matches, r->ms_total);
        return;
    }
    printf(
        "%s: at %.6g %.6g %.6g (+-%.2g), turned +-%.2g degrees, %zu inliers of %zu matches, %.2f px, focal length %.1f "
        "(%s), near %s, %.0f ms\n",
        cli_shown(photo), r->centre[0], r->centre[1], r->centre[2], r->sigma_position, r->sigma_rotation, r->inliers,
        r->matches, r->rms, r->camera.fx, r->camera_from, cli_shown(j->map.images[r->image].name), r->ms_total);
}

/* A line of COLMAP's images.txt, and an empty one for its points. */
static bool find_line(find_job *j, const char *photo, const localize_result *r, io_error *error)
{
    double q[4];
    FILE *out = io_writer_file(j->writer);
    io_quaternion_of(r->rotation, q);
    fprintf(out, "%zu %.17g %.17g %.17g %.17g %.17g %.17g %.17g %zu %s\n\n", j->found, q[0], q[1], q[2], q[3],
            r->translation[0], r->translation[1], r->translation[2], j->found, io_path_base(photo));
    return io_writer_check(j->writer, error);
}

/* The photograph, and lines from where the keypoints are to where the pose has their points. */
static bool find_draw(const find_job *j, const char *photo, const localize_result *r, io_error *error)
{
    io_image image;
    io_canvas canvas;
    char line[128];
    const io_read_options colour = {.colour = true, .exif = j->reading.exif, .max_pixels = j->reading.max_pixels};
    if (!io_image_read(photo, &colour, &image, error)) return false;
    bool ok = io_canvas_create(&canvas, image.width, image.height, (io_colour){0, 0, 0}, error);
    if (ok) io_draw_image(&canvas, &image, 0, 0);
    io_image_free(&image);
    if (!ok) return false;
    for (size_t i = 0; i < r->inliers; i++) {
        double p[3], c[3], x, y;
        map_point(&j->map, r->points[i].point, p);
        for (int k = 0; k < 3; k++)
            c[k] = r->rotation[3 * k] * p[0] + r->rotation[3 * k + 1] * p[1] + r->rotation[3 * k + 2] * p[2] +
                   r->translation[k];
        if (kb_camera_project(&r->camera, c[0] / c[2], c[1] / c[2], &x, &y) != KB_OK) continue;
        io_draw_circle(&canvas, x, y, 4, 2, (io_colour){0, 220, 90});
        io_draw_line(&canvas, r->points[i].x, r->points[i].y, x, y, 2, (io_colour){255, 60, 60});
    }
    if (r->found)
        snprintf(line, sizeof line, "%zu inliers, %.2f px, near %.60s", r->inliers, r->rms,
                 j->map.images[r->image].name);
    else snprintf(line, sizeof line, "not found");
    io_draw_rectangle(&canvas, 0, 0, io_text_width(2, line) + 8, io_text_height(2) + 8, (io_colour){0, 0, 0});
    io_draw_text(&canvas, 4, 4, 2, (io_colour){255, 255, 255}, line);
    ok = io_canvas_write(j->draw, &canvas, error);
    io_canvas_free(&canvas);
    return ok;
}

static bool find_one(find_job *j, const char *photo, io_error *error)
{
    localize_result r;
    if (!localize(&j->map, &j->pipeline.pipeline, &j->reading, &j->options, photo, &r, error)) return false;
    retrieval_warn_empty(j->common, photo, r.keypoints);
    j->found += r.found;
    if (j->common->json) find_json(j, photo, &r);
    else find_text(j, photo, &r);
    bool ok =
        (!j->writer || !r.found || find_line(j, photo, &r, error)) && (!j->draw || find_draw(j, photo, &r, error));
    localize_result_free(&r);
    return ok;
}

static bool find_open(find_job *j, int count, char **arguments, io_error *error)
{
    if (!map_open(arguments[0], &j->map, error)) return false;
    if (!localize_settings(&j->map, &j->pipeline.model_name, &j->pipeline.options, &j->reading, error) ||
        !retrieval_open(j->common, &j->pipeline, error))
        return false;
    if (j->pipeline.pipeline.info.id != j->map.info.model_id)
        return io_fail(error,
                       "%s was made with the model %s (%016llx), not with %s (%016llx); name its file with --model",
                       arguments[0], j->map.info.model, (unsigned long long)j->map.info.model_id,
                       j->pipeline.model_name, (unsigned long long)j->pipeline.pipeline.info.id);
    return retrieval_images(j->common, count - 1, arguments + 1, &j->photos, error) &&
           (j->photos.count == 1 || !j->draw || io_fail(error, "--draw is for one photograph"));
}

static int find_run(cli_common *common, void *job, int count, char **arguments)
{
    find_job *j = job;
    io_error error;
    j->common = common;
    j->options.camera = j->camera_text ? &j->camera : NULL;
    if (io_path_is_plain(j->draw) && !io_path_has_suffix(j->draw, ".png"))
        return cli_usage_error(common, "the picture %s must end in .png", j->draw);
    if (!find_open(j, count, arguments, &error)) return cli_error("%s", error.text);
    for (size_t i = 0; j->output && i < j->photos.count; i++)
        if (strpbrk(io_path_base(j->photos.items[i]), " \t\r\n"))
            return cli_error("%s: COLMAP's images.txt cannot hold names with spaces", j->photos.items[i]);
    if (j->output && !(j->writer = io_writer_open(j->output, &error))) return cli_error("%s", error.text);
    if (common->json) {
        io_json_begin(&j->json, stdout);
        io_json_array(&j->json, NULL);
    }
    for (size_t i = 0; i < j->photos.count; i++) {
        if (find_one(j, j->photos.items[i], &error)) continue;
        cli_error("%s", error.text);
        j->failed++;
    }
    if (common->json) io_json_end(&j->json);
    io_writer *writer = j->writer;
    j->writer = NULL;
    if (writer && !io_writer_commit(writer, &error)) return cli_error("%s", error.text);
    if (j->photos.count > 1)
        cli_say(common, "%zu of %zu photographs found, %zu failed", j->found, j->photos.count, j->failed);
    return j->failed ? CLI_FAILED : CLI_DONE;
}

static void find_begin(void *job)
{
    find_job *j = job;
    cli_pipeline_begin(&j->pipeline);
    reading_begin(&j->reading);
}

static void find_end(void *job)
{
    find_job *j = job;
    if (j->writer) io_writer_abandon(j->writer);
    io_names_free(&j->photos);
    cli_pipeline_close(&j->pipeline);
    map_close(&j->map);
}

/* COLMAP's words; its pixels begin half a pixel earlier. */
static bool take_colmap_camera(cli_common *common, const char *option, const char *text, void *target)
{
    find_job *j = target;
    io_camera camera;
    io_error error;
    if (!io_camera_parse(text, &camera, &error)) {
        common->exit_code = cli_usage_error(common, "%s: %s", option, error.text);
        return false;
    }
    const double *p = camera.parameters;
    bool two = camera.model == IO_PINHOLE || camera.model == IO_OPENCV;
    const double *rest = p + (two ? 4 : 3);
    KB_INIT(j->camera);
    j->camera.fx = p[0];
    j->camera.fy = two ? p[1] : p[0];
    j->camera.cx = rest[-2] - 0.5;
    j->camera.cy = rest[-1] - 0.5;
    if (camera.model >= IO_SIMPLE_RADIAL) j->camera.k1 = rest[0];
    if (camera.model >= IO_RADIAL) j->camera.k2 = rest[1];
    if (camera.model == IO_OPENCV) j->camera.p1 = rest[2], j->camera.p2 = rest[3];
    j->camera_text = text;
    return true;
}

static const cli_option find_options[] = {
    {"output", 'o', CLI_OUTPUT(find_job, output), "FILE.txt", .help = "the poses as COLMAP's images.txt"},
    {"draw", 0, CLI_OUTPUT(find_job, draw), "FILE.png",
     .help = "for one photograph: the points of the map where the pose projects them, with red lines to its keypoints"},
    {"camera", 0, CLI_TYPE_CALL, .value = "MODEL,F,...", .take = take_colmap_camera,
     .help = "the camera of the photographs, such as PINHOLE,2759,2764,1520,1006 (default: the focal length of EXIF or "
             "a guess, refined with the pose)"},
    {"candidates", 'k', CLI_NUMBER(find_job, options.images, 1, 64), "K", "10",
     .help = "similar images of the map that are matched"},
    {"min-inliers", 0, CLI_NUMBER(find_job, options.min_places, 6, 1000000), "N", "12",
     .help = "inliers at different places of the photograph"},
    {"threshold", 0, CLI_NUMBER(find_job, options.threshold, 0.01, 1000), "PX",
     .help = "px, the largest reprojection error (default 4 px of the photograph as it is described)"},
    {"seed", 0, CLI_NUMBER(find_job, options.seed, 0, CLI_NO_LIMIT), "S", "0",
     .help = "the same seed gives the same result"},
    CLI_SECTION("Images"),
    {"max-size", 0, CLI_NUMBER(find_job, reading.max_size, 1, IO_MAX_SIDE), "PX",
     .help = "px: larger photographs are shrunk to it first (default: that of the map)"},
    CLI_GROUP(find_job, reading, reading_options),
    CLI_SECTION("Descriptors"),
    CLI_GROUP(find_job, pipeline, index_model_option),
    {"max-keypoints", 'n', CLI_NUMBER(find_job, pipeline.options.detect.max_keypoints, 1, 1000000), "N",
     .help = "keypoints per photograph (default: that of the map)"},
    {0}};

static const cli_command localize_find = {
    .name = "localize find",
    .examples = "place.kbl photo.jpg # where a photograph was taken",
    .summary = "the pose of photographs in a map",
    .usage = "FILE.kbl IMAGE... [options]",
    .about = "Finds similar images of the map, matches their points, and computes where the photograph was taken: "
             "position and rotation with standard deviations, inliers, error and time. Finding none is a result. "
             "Detector, orientation and sizes are those of the map.\n\n" CLI_IMAGES_HELP,
    .options = find_options,
    .least = 2,
    .most = CLI_ANY,
    .wants = "name a map and photographs",
    .reads_arguments = true,
    .job_size = sizeof(find_job),
    .begin = find_begin,
    .run = find_run,
    .end = find_end};

static const cli_command *const localize_commands[] = {&localize_build, &localize_find, NULL};

const cli_command command_localize = {
    .name = "localize",
    .summary = "where a photograph was taken, in a map of a COLMAP model",
    .usage = "build MODEL IMAGES -o FILE.kbl [options]\nFILE.kbl IMAGE... [options]",
    .about = "A map holds descriptors with their 3-D points. The pose of a new photograph is found in it.",
    .subcommands = localize_commands,
    .otherwise = &localize_find};
