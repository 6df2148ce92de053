/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/progress.h"
#include "pipeline/tilts.h"

#define REFINED_PX 1.5 /* the threshold of refined points, where it is not below that anyway */

void pipeline_options_init(pipeline_options *options)
{
    *options = (pipeline_options){.geometry = KB_GEOMETRY_HOMOGRAPHY};
    KB_INIT(options->detect);
}

static bool is_upright(const pipeline_options *o)
{
    return (o->angles ? o->angles : o->detect.orientation) == KB_ORIENTATION_NONE;
}

const char *pipeline_rows_fault(const pipeline_options *o)
{
    if (o->rows == ROWS_ORIENTED && is_upright(o)) return "oriented rows need an orientation, which is none";
    if (o->rows == ROWS_UPRIGHT && o->angles && !is_upright(o)) return "upright rows have no orientation";
    return NULL;
}

bool pipeline_open(pipeline *p, const pipeline_options *options, const kb_model *model, const kb_parallel *parallel,
                   io_error *error)
{
    *p = (pipeline){.options = *options, .model = model, .parallel = parallel};
    pipeline_options *o = &p->options;
    const char *fault = pipeline_rows_fault(o);
    if (fault) return io_fail(error, "rows: %s", fault);
    if (o->rows == ROWS_UPRIGHT) o->angles = KB_ORIENTATION_NONE;
    kb_status status = kb_workspace_create(NULL, &p->workspace);
    KB_INIT(p->info);
    if (status == KB_OK && model) status = kb_model_get_info(model, &p->info);
    if (status != KB_OK) return io_fail(error, "%s", kb_status_string(status));
    if (o->detect.detector == 0) o->detect.detector = kb_detector_get_info(0).detector;
    if (!o->preset) o->preset = kb_name(KB_NAMES_DETECTOR, o->detect.detector);
    p->orient_scale = o->scale == 0 ? kb_model_scale(NULL, o->preset) : o->scale;
    if (o->scale == 0) o->scale = model ? kb_model_scale(model, o->preset) : p->orient_scale;
    if (o->detect.max_keypoints == 0) o->detect.max_keypoints = 2000;
    o->detect.parallel = parallel;
    return true;
}

void pipeline_close(pipeline *p)
{
    kb_workspace_free(p->workspace);
    memset(p, 0, sizeof *p);
}

/* -------------------------------------------------------------------------------------------------------- one image */

static double ms_since(double start) { return 1000 * (io_clock_seconds() - start); }

static kb_status detect_keypoints(const pipeline *p, const kb_image *image, io_keypoints *out)
{
    kb_detect_options o = p->options.detect;
    size_t capacity = (size_t)o.max_keypoints;
    if (p->options.angles != KB_ORIENTATION_DEFAULT) o.orientation = p->options.angles;
    out->items = io_alloc(capacity, sizeof *out->items);
    kb_features f = io_keypoints_view(out->items, capacity);
    kb_status status = kb_detect(image, &o, p->workspace, &f, NULL);
    out->count = f.n;
    if (status == KB_OK) out->items = io_grow(out->items, out->count, sizeof *out->items);
    return status;
}

/* All detectors but SIFT have set them already. */
static kb_status set_angles(const pipeline *p, const kb_image *image, bool given, io_keypoints *keypoints)
{
    kb_orient_options o;
    if (p->options.angles == KB_ORIENTATION_DEFAULT) return KB_OK;
    if (!given && p->options.detect.detector != KB_DETECTOR_SIFT) return KB_OK;
    KB_INIT(o);
    o.orientation = p->options.angles;
    o.scale = p->orient_scale;
    o.parallel = p->parallel;
    kb_features f = io_features_view(keypoints, NULL);
    return kb_orient(image, &o, p->workspace, &f, NULL, NULL);
}

static kb_status compute_rows(const pipeline *p, const kb_image *image, features *f)
{
    kb_describe_options o;
    size_t n = f->keypoints.count;
    bool floats = p->info.row_floats > 0 && !p->options.bytes;
    KB_INIT(o);
    o.scale = p->options.scale;
    o.parallel = p->parallel;
    f->rows = (io_rows){NULL, NULL, n, (size_t)(floats ? p->info.row_floats : p->info.row_bytes)};
    f->flags = io_alloc(n, 1);
    f->model_id = p->info.id;
    if (floats) f->rows.floats = io_alloc(n * f->rows.width, sizeof(float));
    else f->rows.bytes = io_alloc(n, f->rows.width);
    kb_features view = features_view(f);
    return kb_describe(p->model, image, &o, p->workspace, &view, NULL);
}

bool pipeline_keeps_upright(const pipeline *p) { return p->options.rows == ROWS_BOTH && !is_upright(&p->options); }

/* Upright rows beside the oriented ones. */
static kb_status compute_upright(const pipeline *p, const kb_image *image, features *f)
{
    kb_describe_options o;
    size_t n = f->keypoints.count;
    kb_keypoint *keypoints = io_alloc(n, sizeof *keypoints);
    KB_INIT(o);
    o.scale = p->options.scale;
    o.parallel = p->parallel;
    for (size_t i = 0; i < n; i++) {
        keypoints[i] = f->keypoints.items[i];
        keypoints[i].angle = -1;
    }
    f->upright_rows = io_alloc(n, f->rows.width);
    kb_features view = features_view(f);
    view.keypoints = keypoints;
    view.rows = f->upright_rows;
    view.flags = NULL; /* of the oriented regions */
    kb_status status = kb_describe(p->model, image, &o, p->workspace, &view, NULL);
    free(keypoints);
    return status;
}

/* Memory that is out is not the image's fault: it must not be left out for that. */
static bool image_failed(kb_status status, const char *name, const char *what, io_error *error)
{
    if (status == KB_E_MEMORY) io_out_of_memory();
    return io_fail(error, "%s: %s: %s", name, what, kb_status_string(status));
}

static void note_origin(const pipeline *p, features *f)
{
    const pipeline_options *o = &p->options;
    f->detector = o->detect.detector;
    f->revision = kb_detector_get_info(o->detect.detector).revision;
    f->upright = is_upright(o);
}

bool pipeline_describe(const pipeline *p, const char *name, const kb_image *image, bool given, features *out,
                       pipeline_times *times, io_error *error)
{
    pipeline_times unused, *t = times ? times : &unused;
    if (p->options.tilts > 0 && !given) return tilts_describe(p, name, image, out, t, error);
    double start = io_clock_seconds();
    kb_status status = KB_OK;
    out->width = image->width;
    out->height = image->height;
    if (!given) status = detect_keypoints(p, image, &out->keypoints);
    if (status != KB_OK) return image_failed(status, name, "no keypoints could be found", error);
    if (!given) note_origin(p, out);
    status = set_angles(p, image, given, &out->keypoints);
    if (status != KB_OK) return image_failed(status, name, "no angles could be found", error);
    t->detect = ms_since(start);
    start = io_clock_seconds();
    status = compute_rows(p, image, out);
    if (status == KB_OK && pipeline_keeps_upright(p)) status = compute_upright(p, image, out);
    t->describe = ms_since(start);
    return status == KB_OK || image_failed(status, name, "keypoints could not be described", error);
}

static pipeline pipeline_alone(const pipeline *p)
{
    pipeline alone = *p;
    alone.workspace = NULL;
    alone.parallel = alone.options.detect.parallel = NULL;
    return alone;
}

bool pipeline_describe_alone(const pipeline *p, const char *name, const kb_image *image, bool given, features *out,
                             io_error *error)
{
    pipeline alone = pipeline_alone(p);
    return pipeline_describe(&alone, name, image, given, out, NULL, error);
}

typedef struct two_images {
    pipeline alone;
    const char *const *names;
    const kb_image *const *images;
    const bool *given;
    features *out;
    pipeline_times *times;
    io_error errors[2];
    bool good[2];
} two_images;

static void describe_one_of_two(void *context, int32_t i)
{
    two_images *two = context;
    two->good[i] = pipeline_describe(&two->alone, two->names[i], two->images[i], two->given[i], &two->out[i],
                                     &two->times[i], &two->errors[i]);
}

/* What ran side by side becomes shares of the time that passed. */
static void share_time(pipeline_times times[2], double passed)
{
    double sum = times[0].detect + times[0].describe + times[1].detect + times[1].describe;
    for (int i = 0; i < 2 && sum > 0; i++) {
        times[i].detect *= passed / sum;
        times[i].describe *= passed / sum;
    }
}

bool pipeline_describe_two(const pipeline *p, const char *const names[2], const kb_image *const images[2],
                           const bool given[2], features out[2], pipeline_times times[2], io_error *error)
{
    if (!p->parallel || p->parallel->threads != 2 || !images[0] || !images[1]) {
        for (int i = 0; i < 2; i++)
            if (images[i] && !pipeline_describe(p, names[i], images[i], given[i], &out[i], &times[i], error))
                return false;
        return true;
    }
    two_images two = {.alone = pipeline_alone(p), .names = names, .images = images, .given = given, .out = out,
                      .times = times};
    double start = io_clock_seconds();
    p->parallel->run(p->parallel->self, 2, describe_one_of_two, &two);
    share_time(times, ms_since(start));
    if (two.good[0] && two.good[1]) return true;
    *error = two.errors[two.good[0] ? 1 : 0];
    return false;
}

/* ------------------------------------------------------------------------------------------------------- two images */

static kb_match_options match_options_of(const pipeline *p)
{
    kb_match_options o;
    KB_INIT(o);
    o.max_ratio = p->options.max_ratio;
    o.max_distance = p->options.max_distance;
    o.parallel = p->parallel;
    return o;
}

static kb_fit_options fit_options_of(const pipeline *p, kb_geometry geometry)
{
    bool epipolar = geometry == KB_GEOMETRY_FUNDAMENTAL || geometry == KB_GEOMETRY_ESSENTIAL;
    kb_fit_options o;
    KB_INIT(o);
    o.geometry = geometry;
    o.threshold = p->options.threshold;
    if (o.threshold == 0 && p->options.refine && !epipolar && geometry != KB_GEOMETRY_ANY) o.threshold = REFINED_PX;
    o.seed = p->options.seed;
    if (p->options.cameras[0].struct_size) o.camera1 = &p->options.cameras[0];
    if (p->options.cameras[1].struct_size) o.camera2 = &p->options.cameras[1];
    return o;
}

/* The points of the matches, with their distances. */
static kb_status points_of(const features *a, const features *b, pipeline_result *result, float *quality)
{
    result->pairs = io_alloc(result->count, sizeof *result->pairs);
    kb_features fa = features_view(a), fb = features_view(b);
    return kb_match_points(&fa, &fb, result->matches, result->count, result->pairs, quality, NULL);
}

static kb_status fit_pairs(const pipeline *p, kb_geometry geometry, const float *quality, pipeline_result *result)
{
    kb_fit_options o = fit_options_of(p, geometry);
    KB_INIT(result->fit);
    if (p->options.no_fit) return KB_OK;
    o.quality = quality;
    o.candidates = result->candidates;
    o.looks = result->looks;
    double start = io_clock_seconds();
    kb_status status = kb_fit(result->pairs, result->count, &o, p->workspace, result->inliers, &result->fit, NULL);
    result->ms_fit = ms_since(start);
    return status;
}

static kb_status match_and_fit(const pipeline *p, const features *a, const features *b, pipeline_result *result)
{
    kb_features fa = features_view(a), fb = features_view(b);
    const kb_match_options o = match_options_of(p);
    double start = io_clock_seconds();
    kb_status status = kb_match_features(&fa, &fb, &o, p->workspace, result->matches, &result->count, NULL);
    if (status == KB_OK && p->options.tilts > 0) result->count = tilts_merge(a, b, result->matches, result->count);
    result->candidates = result->count;
    if (status == KB_OK && !p->options.no_filter)
        status = kb_filter(&fa, &fb, result->matches, result->count, NULL, p->workspace, result->matches,
                           &result->count, NULL);
    result->ms_match = ms_since(start);
    float *quality = io_alloc(result->count, sizeof *quality);
    if (status == KB_OK) status = points_of(a, b, result, quality);
    if (status == KB_OK) status = fit_pairs(p, p->options.geometry, quality, result);
    free(quality);
    return status;
}

bool pipeline_match(const pipeline *p, const features *a, const features *b, pipeline_result *result, io_error *error)
{
    size_t room = a->keypoints.count;
    *result = (pipeline_result){.matches = io_alloc(room, sizeof *result->matches), .inliers = io_alloc(room, 1),
                                .looks = 1};
    kb_status status = match_and_fit(p, a, b, result);
    return status == KB_OK || io_fail(error, "matching failed: %s", kb_status_string(status));
}

/* What kb_match_images finds, with buffers in `out` and `result`. */
static kb_status look_at(const pipeline *p, const kb_image *const images[2], features out[2], pipeline_result *result)
{
    size_t capacity = (size_t)p->options.detect.max_keypoints;
    kb_detect_options detect = p->options.detect;
    const kb_match_options match = match_options_of(p);
    const kb_fit_options fit = fit_options_of(p, p->options.geometry);
    kb_pair_options o;
    kb_pair pair;
    kb_features sides[2];
    KB_INIT(o);
    KB_INIT(pair);
    KB_INIT(result->fit);
    if (p->options.angles != KB_ORIENTATION_DEFAULT) detect.orientation = p->options.angles;
    o.looks = p->options.looks;
    o.detect = &detect;
    if (p->options.scale != kb_model_scale(p->model, kb_name(KB_NAMES_DETECTOR, detect.detector)))
        o.scale = p->options.scale;
    o.match = &match;
    o.no_filter = p->options.no_filter;
    o.fit = p->options.no_fit ? NULL : &fit;
    o.parallel = p->parallel;
    for (int i = 0; i < 2; i++) {
        KB_INIT(sides[i]);
        sides[i].keypoints = out[i].keypoints.items = io_alloc(capacity, sizeof *sides[i].keypoints);
        sides[i].capacity = capacity;
    }
    pair.a = &sides[0];
    pair.b = &sides[1];
    pair.matches = result->matches = io_alloc(capacity, sizeof *pair.matches);
    pair.inliers = result->inliers = io_alloc(capacity, 1);
    pair.fit = &result->fit;
    kb_status status = kb_match_images(p->model, images[0], images[1], &o, p->workspace, &pair, NULL);
    if (status != KB_OK) return status;
    for (int i = 0; i < 2; i++) out[i].keypoints.count = sides[i].n;
    result->count = pair.count;
    result->candidates = pair.candidates;
    result->look = pair.look;
    result->rotation = pair.rotation;
    result->looks = pair.looks;
    return KB_OK;
}

bool pipeline_match_images(const pipeline *p, const kb_image *const images[2], features out[2],
                           pipeline_result *result, io_error *error)
{
    double start = io_clock_seconds();
    *result = (pipeline_result){0};
    for (int i = 0; i < 2; i++) out[i].width = images[i]->width, out[i].height = images[i]->height;
    kb_status status = look_at(p, images, out, result);
    if (status == KB_OK) status = points_of(&out[0], &out[1], result, NULL);
    result->ms_match = ms_since(start);
    if (status == KB_E_MEMORY) io_out_of_memory();
    return status == KB_OK || io_fail(error, "matching failed: %s", kb_status_string(status));
}

bool pipeline_refine(const pipeline *p, const features *a, const features *b, const kb_image *const images[2],
                     pipeline_result *result, io_error *error)
{
    double start = io_clock_seconds();
    bool found = !p->options.no_fit && result->fit.result == KB_FIT_FOUND;
    kb_geometry geometry = found ? result->fit.geometry : p->options.geometry; /* any: the one that was found */
    kb_refine_options o;
    KB_INIT(o);
    o.scale = p->orient_scale;
    o.parallel = p->parallel;
    result->correlations = io_alloc(result->count, sizeof *result->correlations);
    const kb_image views[2] = {*images[0], *images[1]};
    kb_features fa = features_view(a), fb = features_view(b);
    kb_status status = kb_match_refine(views, &fa, &fb, result->matches, result->count, &o, p->workspace, result->pairs,
                                       result->correlations, NULL);
    result->ms_refine = ms_since(start);
    float *quality = io_alloc(result->count, sizeof *quality);
    for (size_t i = 0; i < result->count; i++) quality[i] = result->matches[i].distance;
    if (status == KB_OK) status = fit_pairs(p, geometry, quality, result);
    free(quality);
    return status == KB_OK || io_fail(error, "refining failed: %s", kb_status_string(status));
}

/* m S^-1, where S takes the pixels of a picture to pixels of its file. */
static void model_of_file_points(double m[9], const io_grid *file)
{
    double x = 0, y = 0;
    io_grid_to_file(file, &x, &y);
    for (int row = 0; row < 3; row++) {
        double *r = m + 3 * row;
        r[0] /= file->step_x;
        r[1] /= file->step_y;
        r[2] -= r[0] * x + r[1] * y;
    }
}

/* S m */
static void model_to_file_points(double m[9], const io_grid *file)
{
    double x = 0, y = 0;
    io_grid_to_file(file, &x, &y);
    for (int column = 0; column < 3; column++) {
        m[column] = file->step_x * m[column] + x * m[6 + column];
        m[3 + column] = file->step_y * m[3 + column] + y * m[6 + column];
    }
}

static void transpose(double m[9])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < i; k++) {
            double t = m[3 * i + k];
            m[3 * i + k] = m[3 * k + i];
            m[3 * k + i] = t;
        }
}

/* As kb_fit_report has models. That of calibrated cameras is of rays, which have no pixels. */
static void model_to_file(double m[9], kb_geometry geometry, const io_grid files[2])
{
    double scale = 0;
    if (geometry == KB_GEOMETRY_ESSENTIAL || geometry == KB_GEOMETRY_ROTATION) return;
    model_of_file_points(m, &files[0]);
    if (geometry == KB_GEOMETRY_FUNDAMENTAL) {
        transpose(m);
        model_of_file_points(m, &files[1]);
        transpose(m);
        for (int i = 0; i < 9; i++) scale += m[i] * m[i];
        scale = sqrt(scale);
    } else {
        model_to_file_points(m, &files[1]);
        scale = m[8];
    }
    for (int i = 0; i < 9 && scale != 0; i++) m[i] /= scale;
}

void pipeline_result_to_file(pipeline_result *result, const io_grid files[2])
{
    for (size_t i = 0; i < result->count; i++) {
        kb_point_pair *p = &result->pairs[i];
        io_grid_to_file(&files[0], &p->x1, &p->y1);
        io_grid_to_file(&files[1], &p->x2, &p->y2);
    }
    result->fit.rms *= (files[1].step_x + files[1].step_y) / 2;
    if (result->fit.result == KB_FIT_FOUND) model_to_file(result->fit.model, result->fit.geometry, files);
}

void pipeline_result_free(pipeline_result *result)
{
    free(result->matches);
    free(result->pairs);
    free(result->inliers);
    free(result->correlations);
    memset(result, 0, sizeof *result);
}
