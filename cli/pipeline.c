/* The whole pipeline between two images. */
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "io/progress.h"

void pipeline_defaults(pipeline *r)
{
    *r = (pipeline){.max_keypoints = 2000, .fit = true, .geometry = KB_HOMOGRAPHY};
}

bool pipeline_option(cli_common *common, int option, pipeline *r)
{
    static const char *const detectors[] = {"orb", "sift", NULL};
    int64_t whole;
    double number;
    int index;
    switch (option) {
    case 'm': r->model_name = optarg; return true;
    case 'n':
        if (!cli_integer(common, "-n", optarg, 1, 1000000, &whole)) return false;
        r->max_keypoints = (int32_t)whole;
        return true;
    case PIPELINE_DETECTOR:
        if (!cli_choice(common, "--detector", optarg, detectors, &index)) return false;
        r->detector = index == 0 ? KB_DETECTOR_ORB : KB_DETECTOR_SIFT;
        return true;
    case PIPELINE_PRESET: return cli_preset(common, optarg, &r->scale);
    case PIPELINE_RATIO:
        if (!cli_number(common, "--ratio", optarg, 0.1, 1, &number)) return false;
        r->ratio = (float)number;
        return true;
    case PIPELINE_MAX_DISTANCE:
        if (!cli_number(common, "--max-distance", optarg, 0.001, 1e9, &number)) return false;
        r->max_distance = (float)number;
        return true;
    case PIPELINE_THRESHOLD: return cli_number(common, "--threshold", optarg, 0.01, 1000, &r->threshold);
    default:
        if (!cli_integer(common, "--seed", optarg, 0, INT64_MAX, &whole)) return false;
        r->seed = (uint64_t)whole;
        return true;
    }
}

bool pipeline_open(pipeline *r, const kb_parallel *parallel)
{
    io_error error;
    r->parallel = parallel;
    if (!r->model_name) r->model_name = cli_model_default();
    if (!cli_model_open(r->model_name, &r->model, &error)) return cli_error("%s", error.text), false;
    KB_INIT(r->info);
    kb_status status = kb_model_get_info(r->model, &r->info);
    if (status == KB_OK) status = kb_workspace_create(&r->workspace);
    if (status != KB_OK) return cli_error("%s: %s", r->model_name, kb_status_string(status)), false;
    if (r->threshold == 0) r->threshold = r->geometry == KB_FUNDAMENTAL ? 1.5 : 3;
    if (r->detector == 0) r->detector = KB_DETECTOR_ORB;
    if (r->scale == 0) r->scale = kb_detector_scale(r->detector);
    return true;
}

void pipeline_close(pipeline *r)
{
    kb_model_free(r->model);
    kb_workspace_free(r->workspace);
    r->model = NULL;
    r->workspace = NULL;
}

/* -------------------------------------------------------------------------------------------------------- one image */

static double ms_since(double start) { return 1000 * (io_clock_seconds() - start); }

static kb_status detect(const pipeline *r, const kb_image *image, io_keypoints *out)
{
    kb_detect_options o;
    KB_INIT(o);
    o.detector = r->detector;
    o.max_keypoints = r->max_keypoints;
    o.parallel = r->parallel;
    out->items = io_alloc((size_t)r->max_keypoints, sizeof *out->items);
    return kb_detect(image, &o, r->workspace, out->items, (size_t)r->max_keypoints, &out->count);
}

static kb_status describe(const pipeline *r, const kb_image *image, pipeline_features *view)
{
    kb_describe_options o;
    size_t n = view->keypoints.count;
    KB_INIT(o);
    o.scale = r->scale;
    o.parallel = r->parallel;
    if (r->info.row_floats) {
        view->floats = io_alloc(n * (size_t)r->info.row_floats, sizeof *view->floats);
        return kb_describe_float(r->model, image, view->keypoints.items, n, &o, r->workspace, view->floats, NULL);
    }
    view->bytes = io_alloc(n, (size_t)r->info.row_bytes);
    return kb_describe(r->model, image, view->keypoints.items, n, &o, r->workspace, view->bytes, NULL);
}

bool pipeline_describe(const pipeline *r, const char *name, const kb_image *image, pipeline_features *view, io_error *error)
{
    double start = io_clock_seconds();
    kb_status status = KB_OK;
    if (!view->given) {
        status = detect(r, image, &view->keypoints);
        if (status != KB_OK)
            return io_fail(error, "%s: no keypoints could be found: %s", name, kb_status_string(status));
    }
    view->ms_detect = ms_since(start);
    start = io_clock_seconds();
    status = describe(r, image, view);
    view->ms_describe = ms_since(start);
    return status == KB_OK ||
           io_fail(error, "%s: keypoints could not be described: %s", name, kb_status_string(status));
}

void pipeline_view_free(pipeline_features *view)
{
    io_keypoints_free(&view->keypoints);
    free(view->bytes);
    free(view->floats);
    memset(view, 0, sizeof *view);
}

/* ------------------------------------------------------------------------------------------------------- two images */

static kb_status match(const pipeline *r, const pipeline_features *a, const pipeline_features *b, pipeline_result *result)
{
    kb_match_options o;
    size_t na = a->keypoints.count, nb = b->keypoints.count;
    KB_INIT(o);
    o.max_ratio = r->ratio;
    o.max_distance = r->max_distance;
    o.parallel = r->parallel;
    result->matches = io_alloc(na, sizeof *result->matches);
    if (r->info.row_floats) {
        return kb_match_float(a->floats, na, b->floats, nb, (size_t)r->info.row_floats, &o, r->workspace,
                              result->matches, &result->count);
    }
    return kb_match_hamming(a->bytes, na, b->bytes, nb, (size_t)r->info.row_bytes, &o, r->workspace, result->matches,
                            &result->count);
}

static kb_status fit(const pipeline *r, pipeline_result *result)
{
    kb_fit_options o;
    float *quality = io_alloc(result->count, sizeof *quality);
    for (size_t i = 0; i < result->count; i++) quality[i] = result->matches[i].distance;
    KB_INIT(o);
    o.geometry = r->geometry;
    o.threshold = r->threshold;
    o.seed = r->seed;
    o.quality = quality;
    KB_INIT(result->fit);
    kb_status status = kb_fit(result->pairs, result->count, &o, r->workspace, result->inliers, &result->fit);
    free(quality);
    return status;
}

bool pipeline_match(const pipeline *r, const pipeline_features *a, const pipeline_features *b, pipeline_result *result, io_error *error)
{
    memset(result, 0, sizeof *result);
    double start = io_clock_seconds();
    kb_status status = match(r, a, b, result);
    result->ms_match = ms_since(start);
    if (status != KB_OK) return io_fail(error, "matching failed: %s", kb_status_string(status));
    result->pairs = io_alloc(result->count, sizeof *result->pairs);
    result->inliers = io_alloc(result->count, 1);
    for (size_t i = 0; i < result->count; i++) {
        const kb_keypoint *p = &a->keypoints.items[result->matches[i].a],
                          *q = &b->keypoints.items[result->matches[i].b];
        result->pairs[i] = (kb_point_pair){p->x, p->y, q->x, q->y};
    }
    if (!r->fit) return true;
    start = io_clock_seconds();
    status = fit(r, result);
    result->ms_fit = ms_since(start);
    return status == KB_OK || io_fail(error, "fitting failed: %s", kb_status_string(status));
}

void pipeline_result_free(pipeline_result *result)
{
    free(result->matches);
    free(result->pairs);
    free(result->inliers);
    memset(result, 0, sizeof *result);
}
