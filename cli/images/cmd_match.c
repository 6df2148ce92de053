/* SPDX-License-Identifier: Apache-2.0 */
/* keybits match: two images, their keypoints, descriptors and matches, and the geometry between them. */
#include <stdlib.h>
#include <string.h>

#include "cli/groups.h"
#include "io/json.h"
#include "io/number.h"
#include "io/progress.h"
#include "match.h"
#include "pipeline/pose.h"
#include "pipeline/tilts.h"

typedef struct match_job {
    cli_pipeline pipeline;
    int32_t fit; /* index of fits */
    const char *names[2], *keypoints[2];
    const char *output, *draw;
    bool epilines;
    io_read_options reading;
    io_image images[2], colour[2]; /* colour: for --draw, where the file has it */
    features features[2];
    pipeline_times times[2];
    pipeline_result result;
    double ms_read, ms_draw;
} match_job;

/* Words of a kb_geometry, from KB_GEOMETRY_HOMOGRAPHY on, and none. */
enum { FIT_HOMOGRAPHY, FIT_FUNDAMENTAL, FIT_SIMILARITY, FIT_AFFINE, FIT_ESSENTIAL, FIT_ROTATION, FIT_ANY, FIT_NONE };
static const char *const fits[] = {"homography", "fundamental", "similarity", "affine", "essential",
                                   "rotation",   "any",         "none",       NULL};

static bool fit_calibrated(const match_job *job) { return job->fit == FIT_ESSENTIAL || job->fit == FIT_ROTATION; }

static int match_check_cameras(const cli_common *common, const match_job *job)
{
    const kb_camera *cameras = job->pipeline.options.cameras;
    if (fit_calibrated(job) && !cameras[0].struct_size)
        return cli_usage_error(common, "--fit %s needs --camera fx,fy,cx,cy", fits[job->fit]);
    if (!fit_calibrated(job) && job->fit != FIT_ANY && (cameras[0].struct_size || cameras[1].struct_size))
        return cli_usage_error(common, "--camera belongs to --fit essential, rotation and any");
    if (cameras[1].struct_size && !cameras[0].struct_size)
        return cli_usage_error(common, "--camera-b needs --camera, the camera of A");
    return CLI_DONE;
}

/* A camera of another image size is the usual mistake. */
static void match_warn_cameras(const cli_common *common, const match_job *job)
{
    const kb_camera *cameras = job->pipeline.options.cameras;
    for (int i = 0; i < 2; i++) {
        const kb_camera *c = &cameras[i == 1 && cameras[1].struct_size ? 1 : 0];
        const features *f = &job->features[i];
        if (!c->struct_size || f->width == 0) continue;
        if (c->cx >= 0 && c->cy >= 0 && c->cx < f->width && c->cy < f->height) continue;
        cli_warn(common,
                 "%s: the principal point %.6g,%.6g lies outside the image of %d x %d pixels: is the camera that of "
                 "another size?",
                 job->names[i], c->cx, c->cy, f->width, f->height);
    }
}

/* Whether the images are matched by looks; else their features, as they are. */
static bool match_by_looks(const match_job *job)
{
    return !job->keypoints[0] && !job->keypoints[1] && job->pipeline.options.tilts == 0;
}

static int match_check(const cli_common *common, const match_job *job)
{
    bool rows[2] = {features_is_rows_file(job->names[0]), features_is_rows_file(job->names[1])};
    if (job->epilines && job->fit != FIT_FUNDAMENTAL && job->fit != FIT_ANY)
        return cli_usage_error(common, "--epilines belongs to --fit fundamental and any");
    if (job->epilines && !job->draw) return cli_usage_error(common, "--epilines needs --draw");
    if (job->keypoints[0] && job->keypoints[1] && job->pipeline.options.detect.detector)
        return cli_usage_error(common, "keypoints are given: --detector has nothing to do");
    for (int i = 0; i < 2; i++)
        if (rows[i] && !job->keypoints[i])
            return cli_usage_error(common, "%s holds descriptors: --keypoints-%c must name their keypoints",
                                   job->names[i], "ab"[i]);
    if (job->reading.max_size && (job->keypoints[0] || job->keypoints[1]))
        return cli_usage_error(common, "keypoints that are given are in pixels of the file: --max-size excludes them");
    if (job->pipeline.options.tilts && (rows[0] || rows[1] || job->keypoints[0] || job->keypoints[1]))
        return cli_usage_error(common, "--tilts finds keypoints in simulated views: they cannot be given");
    if ((rows[0] || rows[1]) && job->pipeline.options.refine)
        return cli_usage_error(common, "--refine needs images, not descriptors");
    if (job->pipeline.options.looks && !match_by_looks(job))
        return cli_usage_error(common,
                               "--looks needs two images, without keypoints that are given and without --tilts");
    if (job->pipeline.options.detect.second_angle && match_by_looks(job))
        return cli_usage_error(common, "--second-angle has nothing to do: a look gives a keypoint one angle");
    if ((rows[0] || rows[1]) && job->draw) return cli_usage_error(common, "--draw needs images, not descriptors");
    if (io_path_is_plain(job->draw) && !io_path_has_suffix(job->draw, ".png"))
        return cli_usage_error(common, "the picture %s must end in .png", job->draw);
    if (io_path_is_plain(job->output) && !io_path_has_suffix(job->output, ".csv"))
        return cli_usage_error(common, "the matches %s must end in .csv", job->output);
    if (common->json && job->output && strcmp(job->output, "-") == 0)
        return cli_usage_error(common, "--json and -o - both want standard output");
    return match_check_cameras(common, job);
}

/* ------------------------------------------------------------------------------------------------------------- work */

typedef struct match_reading {
    match_job *job;
    io_error errors[2];
    bool read[2];
} match_reading;

static bool match_read_one(match_job *job, int32_t i, io_error *error)
{
    if (features_is_rows_file(job->names[i]))
        return features_read(job->names[i], job->keypoints[i], &job->features[i], error);
    return (job->draw ? io_image_read_both(job->names[i], &job->reading, &job->images[i], &job->colour[i], error)
                      : io_image_read(job->names[i], &job->reading, &job->images[i], error)) &&
           (!job->keypoints[i] || io_keypoints_read(job->keypoints[i], &job->features[i].keypoints, error));
}

static void match_read_task(void *context, int32_t i)
{
    match_reading *r = context;
    r->read[i] = match_read_one(r->job, i, &r->errors[i]);
}

/* Decoding takes longer than matching: each image on a thread of its own. */
static bool match_read(match_job *job, const kb_parallel *parallel, io_error *error)
{
    match_reading r = {.job = job};
    double start = io_clock_seconds();
    if (parallel && parallel->threads > 1) parallel->run(parallel->self, 2, match_read_task, &r);
    else for (int32_t i = 0; i < 2; i++) match_read_task(&r, i);
    job->ms_read = 1000 * (io_clock_seconds() - start);
    for (int i = 0; i < 2; i++) {
        if (r.read[i]) continue;
        *error = r.errors[i];
        return false;
    }
    return true;
}

static void match_warn_patches(const cli_common *common, const match_job *job)
{
    int described = job->result.look == KB_LOOK_WARPED ? 1 : 2; /* that look describes B in the pixels of A */
    for (int i = 0; i < described; i++) {
        if (!job->images[i].pixels) continue;
        features_fit fit =
            features_measure(&job->features[i], job->pipeline.model, job->pipeline.pipeline.options.scale);
        cli_warn_patches(common, job->names[i], &fit);
    }
}

/* Features as they are: given keypoints or rows, or simulated views. */
static bool match_features(match_job *job, const kb_image *const views[2], io_error *error)
{
    const pipeline *p = &job->pipeline.pipeline;
    const bool given[2] = {job->keypoints[0] != NULL, job->keypoints[1] != NULL};
    return pipeline_describe_two(p, job->names, views, given, job->features, job->times, error) &&
           features_comparable(&job->features[0], &job->features[1], job->names[0], job->names[1], error) &&
           pipeline_match(p, &job->features[0], &job->features[1], &job->result, error);
}

/* What the user said in pixels of the files, in those of pictures that were shrunk. */
static void match_shrink_options(match_job *job)
{
    const pipeline_options *given = &job->pipeline.options;
    pipeline_options *o = &job->pipeline.pipeline.options;
    const io_grid *b = &job->images[1].file;
    if (given->threshold > 0) o->threshold = given->threshold / ((b->step_x + b->step_y) / 2);
    for (int i = 0; i < 2 && given->cameras[0].struct_size; i++)
        o->cameras[i] = pose_camera_shrunk(&given->cameras[given->cameras[i].struct_size ? i : 0], &job->images[i].file);
}

static void match_to_files(match_job *job)
{
    const io_grid files[2] = {job->images[0].file, job->images[1].file};
    for (int i = 0; i < 2; i++) features_to_file(&job->features[i], &files[i]);
    pipeline_result_to_file(&job->result, files);
}

static bool match_images(cli_common *common, match_job *job, io_error *error)
{
    cli_pipeline *p = &job->pipeline;
    if (!match_read(job, common->parallel, error)) return false;
    bool images = job->images[0].pixels || job->images[1].pixels;
    if (images ? !cli_pipeline_open(common, p, error)
               : !pipeline_open(&p->pipeline, &p->options, NULL, common->parallel, error))
        return false;
    if (job->reading.max_size) match_shrink_options(job);
    const kb_image *views[2];
    for (int i = 0; i < 2; i++) views[i] = job->images[i].pixels ? &job->images[i].view : NULL;
    bool good = match_by_looks(job)
                    ? pipeline_match_images(&p->pipeline, views, job->features, &job->result, error)
                    : match_features(job, views, error);
    if (!good) return false;
    match_warn_patches(common, job);
    return !p->options.refine ||
           pipeline_refine(&p->pipeline, &job->features[0], &job->features[1], views, &job->result, error);
}

static bool match_picture_write(match_job *job, io_error *error)
{
    double start = io_clock_seconds();
    match_picture picture = {.path = job->draw,
                             .images = {job->colour[0].pixels ? &job->colour[0] : &job->images[0],
                                        job->colour[1].pixels ? &job->colour[1] : &job->images[1]},
                             .pipeline = &job->pipeline.pipeline,
                             .result = &job->result,
                             .epilines = job->epilines};
    bool ok = match_draw(&picture, error);
    job->ms_draw = 1000 * (io_clock_seconds() - start);
    return ok;
}

static bool match_table_write(const match_job *job, io_error *error)
{
    const pipeline_result *r = &job->result;
    io_writer *writer = io_writer_open(job->output, error);
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    fprintf(out, "a,b,x1,y1,x2,y2,distance,second,inlier%s\n", r->correlations ? ",correlation" : "");
    for (size_t i = 0; i < r->count; i++) {
        const kb_match *m = &r->matches[i];
        const double values[6] = {r->pairs[i].x1, r->pairs[i].y1, r->pairs[i].x2,
                                  r->pairs[i].y2, m->distance,    m->second};
        char text[32];
        fprintf(out, "%d,%d", (int)m->a, (int)m->b);
        for (int k = 0; k < 6; k++) fprintf(out, ",%s", io_number_shortest(text, values[k], true));
        fprintf(out, ",%d", (int)r->inliers[i]);
        if (r->correlations) fprintf(out, ",%s", io_number_shortest(text, (double)r->correlations[i], true));
        fprintf(out, "\n");
    }
    return io_writer_commit(writer, error);
}

/* ----------------------------------------------------------------------------------------------------------- report */

static const char *descriptor_name(const match_job *job)
{
    return job->pipeline.model ? job->pipeline.pipeline.info.spec->name : "rows from files";
}

static bool geometry_found(const match_job *job)
{
    return job->fit != FIT_NONE && job->result.fit.result == KB_FIT_FOUND;
}

/* What was found, or else sought. */
static const char *geometry_name(const match_job *job)
{
    return geometry_found(job) ? kb_name(KB_NAMES_GEOMETRY, job->result.fit.geometry) : fits[job->fit];
}

static bool pose_found(const match_job *job)
{
    kb_geometry g = job->result.fit.geometry;
    return geometry_found(job) && (g == KB_GEOMETRY_ESSENTIAL || g == KB_GEOMETRY_ROTATION);
}

static size_t match_refined(const pipeline_result *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) count += r->correlations[i] > 0;
    return count;
}

/* The steps and their times, in order; a step that was not taken has a negative time. Looks are one step. */
enum { STEPS = 7 };
static void match_times(const match_job *job, const char *names[STEPS], double ms[STEPS])
{
    const char *const all[STEPS] = {"read", "detect", "describe", "match", "refine", "fit", "draw"};
    bool looks = job->result.look != 0;
    memcpy(names, all, sizeof all);
    ms[0] = job->ms_read;
    ms[1] = looks ? -1 : job->times[0].detect + job->times[1].detect;
    ms[2] = looks ? -1 : job->times[0].describe + job->times[1].describe;
    ms[3] = job->result.ms_match;
    ms[4] = job->result.correlations ? job->result.ms_refine : -1;
    ms[5] = job->result.ms_fit > 0 ? job->result.ms_fit : -1;
    ms[6] = job->draw ? job->ms_draw : -1;
}

static void match_pose_json(io_json *json, const match_job *job)
{
    const kb_fit_report *fit = &job->result.fit;
    double axis[3], angle = pose_angle_axis(fit->rotation, axis);
    io_json_array(json, "rotation");
    for (int i = 0; i < 9; i++) io_json_number(json, NULL, fit->rotation[i]);
    io_json_end(json);
    io_json_number(json, "angle", angle);
    io_json_array(json, "axis");
    for (int i = 0; i < 3; i++) io_json_number(json, NULL, axis[i]);
    io_json_end(json);
    if (fit->geometry != KB_GEOMETRY_ESSENTIAL) return;
    io_json_array(json, "translation");
    for (int i = 0; i < 3; i++) io_json_number(json, NULL, fit->translation[i]);
    io_json_end(json);
}

static void match_json(const match_job *job)
{
    const pipeline_result *r = &job->result;
    const char *names[STEPS];
    double ms[STEPS], total = 0;
    io_json json;
    io_json_begin(&json, stdout);
    io_json_object(&json, NULL);
    io_json_array(&json, "images");
    for (int i = 0; i < 2; i++) io_json_string(&json, NULL, job->names[i]);
    io_json_end(&json);
    io_json_string(&json, "descriptor", descriptor_name(job));
    io_json_integer(&json, "views", (int64_t)tilts_views(job->pipeline.options.tilts, NULL));
    io_json_array(&json, "keypoints");
    for (int i = 0; i < 2; i++) io_json_integer(&json, NULL, (int64_t)job->features[i].keypoints.count);
    io_json_end(&json);
    if (r->look) io_json_string(&json, "look", kb_name(KB_NAMES_LOOK, r->look));
    if (r->look) io_json_number(&json, "roll", (double)r->rotation);
    io_json_integer(&json, "looks", r->looks);
    io_json_integer(&json, "candidates", (int64_t)r->candidates);
    io_json_integer(&json, "matches", (int64_t)r->count);
    if (r->correlations) io_json_integer(&json, "refined", (int64_t)match_refined(r));
    io_json_integer(&json, "inliers", r->fit.inliers);
    io_json_integer(&json, "places", r->fit.places);
    io_json_string(&json, "fit", geometry_name(job));
    io_json_string(&json, "result", job->fit != FIT_NONE ? kb_name(KB_NAMES_FIT_RESULT, r->fit.result) : NULL);
    if (geometry_found(job)) {
        io_json_array(&json, "model");
        for (int i = 0; i < 9; i++) io_json_number(&json, NULL, r->fit.model[i]);
        io_json_end(&json);
    } else {
        io_json_string(&json, "model", NULL);
    }
    if (geometry_found(job)) io_json_number(&json, "rms", r->fit.rms);
    if (pose_found(job)) match_pose_json(&json, job);
    if (job->fit != FIT_NONE) io_json_integer(&json, "iterations", r->fit.iterations);
    match_times(job, names, ms);
    io_json_object(&json, "ms");
    for (int i = 0; i < STEPS; i++) {
        if (ms[i] < 0) continue;
        io_json_number(&json, names[i], ms[i]);
        total += ms[i];
    }
    io_json_number(&json, "total", total);
    io_json_end(&json);
    io_json_end(&json);
}

static void match_fit_text(FILE *out, const match_job *job)
{
    const kb_fit_report *fit = &job->result.fit;
    const char *name = geometry_name(job);
    if (!geometry_found(job)) {
        fprintf(out, "%-12s%s\n", job->fit == FIT_ANY ? "geometry" : name, kb_name(KB_NAMES_FIT_RESULT, fit->result));
        if (fit->result == KB_FIT_DEGENERATE && job->fit == FIT_FUNDAMENTAL)
            fprintf(out, "            the pairs lie on one plane (or line): try --fit homography\n");
        if (fit->result == KB_FIT_DEGENERATE && job->fit == FIT_ESSENTIAL)
            fprintf(out, "            there is no parallax: try --fit rotation\n");
        return;
    }
    fprintf(out, "inliers     %d (%.0f %%) at %d places, rms %.2f px, %d iterations\n", (int)fit->inliers,
            100.0 * fit->inliers / (double)job->result.count, (int)fit->places, fit->rms, (int)fit->iterations);
    for (int i = 0; i < 3; i++) {
        fprintf(out, "%-12s", i == 0 ? name : "");
        for (int k = 0; k < 3; k++) fprintf(out, " %16.9g", fit->model[3 * i + k]);
        fprintf(out, "\n");
    }
}

static void match_pose_text(FILE *out, const match_job *job)
{
    const kb_fit_report *fit = &job->result.fit;
    double axis[3], angle = pose_angle_axis(fit->rotation, axis);
    fprintf(out, "angle       %.3f degrees, axis %.4f %.4f %.4f\n", angle, axis[0], axis[1], axis[2]);
    if (fit->geometry != KB_GEOMETRY_ESSENTIAL) return;
    fprintf(out, "translation %.4f %.4f %.4f (of unit length; the true one is not known)\n", fit->translation[0],
            fit->translation[1], fit->translation[2]);
}

static void match_look_text(FILE *out, const pipeline_result *r)
{
    fprintf(out, "look        %s", kb_name(KB_NAMES_LOOK, r->look));
    if (r->rotation != 0) fprintf(out, " by %.1f degrees", (double)r->rotation);
    fprintf(out, ", of %d\n", (int)r->looks);
}

static void match_text(FILE *out, const match_job *job)
{
    const char *names[STEPS];
    double ms[STEPS], total = 0;
    fprintf(out, "keypoints   %zu %zu (%s)\n", job->features[0].keypoints.count, job->features[1].keypoints.count,
            job->keypoints[0] || job->keypoints[1]
                ? "given"
                : kb_name(KB_NAMES_DETECTOR, job->pipeline.pipeline.options.detect.detector));
    if (job->pipeline.options.tilts)
        fprintf(out, "views       %zu per image\n", tilts_views(job->pipeline.options.tilts, NULL));
    if (job->result.look) match_look_text(out, &job->result);
    fprintf(out, "matches     %zu of %zu candidates (%s)\n", job->result.count, job->result.candidates,
            descriptor_name(job));
    if (job->result.correlations) fprintf(out, "refined     %zu\n", match_refined(&job->result));
    if (job->fit != FIT_NONE) match_fit_text(out, job);
    if (pose_found(job)) match_pose_text(out, job);
    match_times(job, names, ms);
    fprintf(out, "ms         ");
    for (int i = 0; i < STEPS; i++) {
        if (ms[i] < 0) continue;
        fprintf(out, " %s %.2f", names[i], ms[i]);
        total += ms[i];
    }
    fprintf(out, " total %.2f\n", total);
    if (job->draw) fprintf(out, "picture     %s\n", job->draw);
}

static void match_report(const cli_common *common, const match_job *job)
{
    bool taken = job->output && strcmp(job->output, "-") == 0; /* standard output holds the matches */
    if (common->json) match_json(job);
    else if (!common->quiet) match_text(taken ? stderr : stdout, job);
}

static int match_run(cli_common *common, void *context, int count, char **arguments)
{
    match_job *job = context;
    io_error error;
    (void)count;
    job->names[0] = arguments[0];
    job->names[1] = arguments[1];
    job->pipeline.options.no_fit = job->fit == FIT_NONE;
    if (job->fit != FIT_NONE) job->pipeline.options.geometry = (kb_geometry)(KB_GEOMETRY_HOMOGRAPHY + job->fit);
    job->pipeline.options.quiet = common->quiet;
    if (job->pipeline.options.tilts) job->reading.keep16 = false; /* views have 8 bits */
    int code = match_check(common, job);
    if (code != CLI_DONE) return code;
    if (!match_images(common, job, &error) || (job->draw && !match_picture_write(job, &error)))
        return cli_error("%s", error.text);
    if (job->reading.max_size) match_to_files(job);
    if (job->output && !match_table_write(job, &error)) return cli_error("%s", error.text);
    match_warn_cameras(common, job);
    match_report(common, job);
    return CLI_DONE;
}

static void match_begin(void *context)
{
    match_job *job = context;
    cli_pipeline_begin(&job->pipeline);
    reading_begin(&job->reading);
}

static void match_end(void *context)
{
    match_job *job = context;
    for (int i = 0; i < 2; i++) {
        io_image_free(&job->images[i]);
        io_image_free(&job->colour[i]);
        features_free(&job->features[i]);
    }
    pipeline_result_free(&job->result);
    cli_pipeline_close(&job->pipeline);
}

static const cli_option match_options[] = {
    {"fit", 0, CLI_CHOICE(match_job, fit, 0), "WHICH", "any", .words = fits, .rank = CLI_FREQUENT,
     .help = "homography: a plane, or a camera that only turns; fundamental: any rigid scene; similarity: a plane seen "
             "from straight above; affine: a small or distant plane; essential: any rigid scene and calibrated "
             "cameras, gives the relative pose; rotation: calibrated cameras with one centre; any: a homography, or "
             "where the scene has depth fundamental, with --camera essential; none: matches only"},
    {"camera", 0, CLI_CALL(match_job, pipeline.options.cameras[0]), "C", .take = cli_take_camera,
     .help = "fx,fy,cx,cy[,k1,k2,p1,p2,k3] in px, distortion as OpenCV has it: the camera of both images, for --fit "
             "essential, rotation and any"},
    {"camera-b", 0, CLI_CALL(match_job, pipeline.options.cameras[1]), "C", .take = cli_take_camera,
     .help = "the camera of B (default: the same as A's)"},
    {"tilts", 0, CLI_NUMBER(match_job, pipeline.options.tilts, 0, TILTS_MOST), "N", "0",
     .help = "steps: describe simulated views of both images too, each step foreshortened more by sqrt(2): 5, 10, 18 "
             "and 28 views per image. For viewpoints more than some 45 degrees apart; 3 is usual. The time of "
             "description grows with the views, the time of matching with their square"},
    {"refine", 0, CLI_FLAG(match_job, pipeline.options.refine),
     .help = "move the points of B to a fraction of a pixel: the region around each keypoint of A is aligned with B. "
             "Inliers lie within 1.5 px at most then, unless --threshold says otherwise"},
    CLI_GROUP(match_job, pipeline.options.looks, looks_option),
    {"keypoints-a", 0, CLI_INPUT(match_job, keypoints[0]), "FILE",
     .help = "keypoints of A instead of a detector: CSV with x,y,size,angle,..."},
    {"keypoints-b", 0, CLI_INPUT(match_job, keypoints[1]), "FILE", .help = "keypoints of B, likewise"},
    {"output", 'o', CLI_OUTPUT(match_job, output), "FILE.csv", .rank = CLI_FREQUENT,
     .help = "the matches: a,b,x1,y1,x2,y2,distance,second,inlier, and with --refine correlation, 0 where a point "
             "was left as it was; - for standard output"},
    {"draw", 0, CLI_OUTPUT(match_job, draw), "FILE.png", .rank = CLI_FREQUENT,
     .help = "both images with some inliers in green, some outliers in dark red, and the outline of A in B"},
    {"epilines", 0, CLI_FLAG(match_job, epilines),
     .help = "with a fundamental matrix: draw epipolar lines of some inliers instead of lines between matches"},
    CLI_SECTION("Images"),
    CLI_GROUP(match_job, reading, any_photo_options),
    CLI_GROUP(match_job, pipeline, pipeline_option_groups),
    {0}};

const cli_command command_match = {
    .name = "match",
    .examples = "poster.jpg photo.jpg --draw match.png # find a poster, look at it\n"
                "a.jpg b.jpg --fit fundamental -o matches.csv # epipolar lines\n"
                "a.jpg b.jpg --fit essential --camera 800,800,320,240 # the relative pose",
    .summary = "match two images and find the geometry between them",
    .usage = "A B [options]\nA.npy B.npy --keypoints-a A.csv --keypoints-b B.csv [options]",
    .about = "Finds keypoints in both images, describes and matches them (mutual nearest neighbours that agree with "
             "their neighbours), and fits the geometry between the images, by one or more looks: upright first, with "
             "angles where that finds little. Prints keypoints, matches, inliers, the matrix and times. "
             "Finding no geometry is a result. A and B may also be descriptors that were computed before (.npy, .hex), "
             "with their keypoints; - is a file on standard input.",
    .options = match_options,
    .least = 2,
    .most = 2,
    .wants = "name two images",
    .reads_arguments = true,
    .job_size = sizeof(match_job),
    .begin = match_begin,
    .run = match_run,
    .end = match_end};
