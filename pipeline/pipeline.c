#include "pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "io/progress.h"
#include "pipeline/align.h"
#include "pipeline/tilts.h"

void pipeline_options_init(pipeline_options *options)
{
    *options = (pipeline_options){.geometry = KB_GEOMETRY_HOMOGRAPHY};
    KB_INIT(options->detect);
}

bool pipeline_open(pipeline *p, const pipeline_options *options, const kb_model *model, const kb_parallel *parallel,
                   io_error *error)
{
    *p = (pipeline){.options = *options, .model = model, .parallel = parallel};
    pipeline_options *o = &p->options;
    kb_status status = kb_workspace_create(&p->workspace);
    KB_INIT(p->info);
    if (status == KB_OK && model) status = kb_model_get_info(model, &p->info);
    if (status != KB_OK) return io_fail(error, "%s", kb_status_string(status));
    bool epipolar = o->geometry == KB_GEOMETRY_FUNDAMENTAL || o->geometry == KB_GEOMETRY_ESSENTIAL;
    if (o->threshold == 0) o->threshold = epipolar ? 1.5 : o->refine ? PIPELINE_REFINED_PX : 3;
    if (o->detect.detector == 0) o->detect.detector = kb_detector_default();
    if (!o->preset) o->preset = kb_detector_name(o->detect.detector);
    p->orient_scale = o->scale == 0 ? kb_preset_scale(o->preset) : o->scale;
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
    kb_status status = kb_detect(image, &o, p->workspace, out->items, capacity, &out->count, NULL);
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
    return kb_orient(image, keypoints->items, keypoints->count, &o, p->workspace, NULL);
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
    if (floats) {
        f->rows.floats = io_alloc(n * f->rows.width, sizeof(float));
        return kb_describe_float(p->model, image, f->keypoints.items, n, &o, p->workspace, f->rows.floats, f->flags);
    }
    f->rows.bytes = io_alloc(n, f->rows.width);
    return kb_describe(p->model, image, f->keypoints.items, n, &o, p->workspace, f->rows.bytes, f->flags);
}

/* Memory that is out is not the image's fault: it must not be left out for that. */
static bool image_failed(kb_status status, const char *name, const char *what, io_error *error)
{
    if (status == KB_E_MEMORY) io_out_of_memory();
    return io_fail(error, "%s: %s: %s", name, what, kb_status_string(status));
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
    status = set_angles(p, image, given, &out->keypoints);
    if (status != KB_OK) return image_failed(status, name, "no angles could be found", error);
    t->detect = ms_since(start);
    start = io_clock_seconds();
    status = compute_rows(p, image, out);
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

static kb_status match_rows(const pipeline *p, const io_rows *a, const io_rows *b, pipeline_result *result)
{
    kb_match_options o;
    KB_INIT(o);
    o.max_ratio = p->options.max_ratio;
    o.max_distance = p->options.max_distance;
    o.parallel = p->parallel;
    result->matches = io_alloc(a->count, sizeof *result->matches);
    if (!a->bytes)
        return kb_match_float(a->floats, a->count, b->floats, b->count, a->width, &o, p->workspace, result->matches,
                              &result->count);
    return kb_match_hamming(a->bytes, a->count, b->bytes, b->count, a->width, &o, p->workspace, result->matches,
                            &result->count);
}

static kb_status fit_geometry(const pipeline *p, const float *quality, pipeline_result *result)
{
    kb_fit_options o;
    KB_INIT(o);
    KB_INIT(result->fit);
    o.geometry = p->options.geometry;
    o.threshold = p->options.threshold;
    o.seed = p->options.seed;
    o.quality = quality;
    if (p->options.cameras[0].struct_size) o.camera1 = &p->options.cameras[0];
    if (p->options.cameras[1].struct_size) o.camera2 = &p->options.cameras[1];
    return kb_fit(result->pairs, result->count, &o, p->workspace, result->inliers, &result->fit);
}

/* The two sides of a match. */
typedef struct pipeline_sides {
    const features *a, *b;
    const kb_image *image_a, *image_b; /* may be NULL */
} pipeline_sides;

static kb_status refine_points(const pipeline *p, const pipeline_sides *s, pipeline_result *result)
{
    kb_refine_options o;
    double start = io_clock_seconds();
    KB_INIT(o);
    o.scale = p->orient_scale;
    o.parallel = p->parallel;
    if (!result->correlations) result->correlations = io_alloc(result->putative, sizeof *result->correlations);
    kb_status status = kb_match_refine(s->image_a, s->image_b, s->a->keypoints.items, s->a->keypoints.count,
                                       s->b->keypoints.items, s->b->keypoints.count, result->matches, result->count, &o,
                                       p->workspace, result->pairs, result->correlations);
    result->ms_refine += ms_since(start);
    return status;
}

static kb_status align_fit(const pipeline *p, const pipeline_sides *s, pipeline_result *result)
{
    align_result aligned;
    const align_input input = {.image_a = s->image_a, .image_b = s->image_b, .a = &s->a->keypoints,
                               .matches = result->matches, .pairs = result->pairs, .count = result->count,
                               .scale = p->orient_scale, .threshold = p->options.threshold, .seed = p->options.seed,
                               .parallel = p->parallel, .workspace = p->workspace};
    double start = io_clock_seconds();
    kb_status status = align_homography(&input, result->inliers, &result->fit, &aligned);
    result->aligned = aligned.taken ? aligned.count : 0;
    result->ms_align += ms_since(start);
    return status;
}

static bool can_align(const pipeline *p, const pipeline_sides *s, const pipeline_result *result)
{
    return !p->options.no_align && !p->options.no_fit && !p->options.refine &&
           p->options.geometry == KB_GEOMETRY_HOMOGRAPHY && s->image_a && s->image_a->data && s->image_b->data &&
           result->fit.result == KB_FIT_FOUND;
}

/* Pairs of points of the matches, and the geometry between them if it is wanted. */
static kb_status fit_matches(const pipeline *p, const pipeline_sides *s, pipeline_result *result)
{
    float *quality = io_alloc(result->count, sizeof *quality);
    kb_status status = kb_match_points(s->a->keypoints.items, s->a->keypoints.count, s->b->keypoints.items,
                                       s->b->keypoints.count, result->matches, result->count, result->pairs, quality);
    if (status == KB_OK && p->options.refine && s->image_a) status = refine_points(p, s, result);
    double start = io_clock_seconds();
    if (status == KB_OK && !p->options.no_fit) status = fit_geometry(p, quality, result);
    result->ms_fit += ms_since(start);
    if (status == KB_OK && can_align(p, s, result)) status = align_fit(p, s, result);
    free(quality);
    return status;
}

/* Fits the matches that the filter keeps. When these are too few or too one-sided to tell the geometry, all of them
 * have a chance: the filter knows nothing of what it drops but that it stands alone. */
static kb_status filter_and_fit(const pipeline *p, const pipeline_sides *s, pipeline_result *result)
{
    const io_keypoints *a = &s->a->keypoints, *b = &s->b->keypoints;
    kb_match *all = result->matches;
    double start = io_clock_seconds();
    result->matches = io_alloc(result->putative, sizeof *result->matches);
    kb_status status = kb_filter(a->items, a->count, b->items, b->count, all, result->putative, NULL, p->workspace,
                                 result->matches, &result->count);
    result->ms_filter = ms_since(start);
    if (status == KB_OK) status = fit_matches(p, s, result);
    if (status == KB_OK && !p->options.no_fit && result->fit.result != KB_FIT_FOUND) {
        memcpy(result->matches, all, result->putative * sizeof *all);
        result->count = result->putative;
        status = fit_matches(p, s, result);
    }
    free(all);
    return status;
}

bool pipeline_match(const pipeline *p, const features *a, const features *b, pipeline_result *result, io_error *error)
{
    return pipeline_match_images(p, a, b, NULL, NULL, result, error);
}

bool pipeline_match_images(const pipeline *p, const features *a, const features *b, const kb_image *image_a,
                           const kb_image *image_b, pipeline_result *result, io_error *error)
{
    const pipeline_sides sides = {a, b, image_a, image_b};
    memset(result, 0, sizeof *result);
    double start = io_clock_seconds();
    kb_status status = match_rows(p, &a->rows, &b->rows, result);
    if (status == KB_OK && p->options.tilts > 0) result->count = tilts_merge(a, b, result->matches, result->count);
    result->ms_match = ms_since(start);
    if (status != KB_OK) return io_fail(error, "matching failed: %s", kb_status_string(status));
    result->putative = result->count;
    result->pairs = io_alloc(result->count, sizeof *result->pairs);
    result->inliers = io_alloc(result->count, 1);
    status = p->options.filter ? filter_and_fit(p, &sides, result) : fit_matches(p, &sides, result);
    return status == KB_OK || io_fail(error, "fitting failed: %s", kb_status_string(status));
}

void pipeline_result_free(pipeline_result *result)
{
    free(result->matches);
    free(result->pairs);
    free(result->inliers);
    free(result->correlations);
    memset(result, 0, sizeof *result);
}
