/* SPDX-License-Identifier: Apache-2.0 */
/* From a reconstruction to patches.
 *
 * The model tells where a 3D point appears in every image of its track. A keypoint near that region, COLMAP's own or one
 * that is detected anew, may describe the point. To tell which keypoints of different images agree in scale and
 * direction, each is projected onto a small plane through the point P that faces the cameras: with n the mean direction
 * to the cameras that see it, C a camera's centre and r the ray of a pixel,
 *     Q = C + r n.(P - C) / n.r,
 * and in coordinates of that plane the tracks of associate.h do the rest. So one 3D point can give several labels, such
 * as a small and a large keypoint at one region, and a keypoint that a detector has turned by mistake gives none.
 *
 * Images are read twice: once to find keypoints, once to sample the patches of those that were selected. */
#include "pipeline/multiview.h"

#include <math.h>
#include <string.h>

#include "common/common.h"
#include "learn/memory.h"
#include "learn/random.h"

#define DETECTORS 3
static const kb_detector detectors[DETECTORS] = {KB_DETECTOR_ORB, KB_DETECTOR_SIFT, KB_DETECTOR_HESSIAN};

/* A keypoint that stands where a 3D point appears. */
typedef struct observation {
    size_t point; /* index in the model */
    uint32_t view, detector, track;
    kb_keypoint keypoint;
    uint32_t label;
} observation;

typedef struct converter {
    const io_scene *model;
    const multiview_options *options;
    kb_workspace *workspace;
    observation *seen;
    size_t seen_count, seen_room;
    bool *skipped; /* of every image */
    size_t steps;
} converter;

void multiview_defaults(multiview_options *options)
{
    *options = (multiview_options){
        .detectors = 3, .keypoints = 8000, .max_error = 2, .association = kbi_association_default, .seed = 1};
}

static void report_step(converter *c)
{
    c->steps++;
    if (c->options->report) c->options->report(c->options->context, c->steps);
}

/* ------------------------------------------------------------------------------------------------ vectors, planes */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void normalise(double v[3])
{
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3 && length > 0; i++) v[i] /= length;
}

/* Where the camera stands: -R^T t. */
static void camera_centre(const io_scene_image *image, double out[3])
{
    const double *r = image->rotation, *t = image->translation;
    for (int i = 0; i < 3; i++) out[i] = -(r[i] * t[0] + r[3 + i] * t[1] + r[6 + i] * t[2]);
}

typedef struct plane {
    double origin[3], normal[3], right[3], down[3];
} plane;

/* The plane through a point that faces the mean of the cameras that see it. */
static void face_cameras(const io_scene *model, const observation *seen, size_t n, plane *out)
{
    const double *p = model->points[seen[0].point].position;
    memcpy(out->origin, p, sizeof out->origin);
    memset(out->normal, 0, sizeof out->normal);
    for (size_t i = 0; i < n; i++) {
        double to[3];
        camera_centre(&model->images[seen[i].view], to);
        for (int k = 0; k < 3; k++) to[k] -= p[k];
        normalise(to);
        for (int k = 0; k < 3; k++) out->normal[k] += to[k];
    }
    normalise(out->normal);
    int least = 0;
    for (int k = 1; k < 3; k++) {
        if (fabs(out->normal[k]) < fabs(out->normal[least])) least = k;
    }
    double axis[3] = {0};
    axis[least] = 1;
    cross(out->normal, axis, out->right);
    normalise(out->right);
    cross(out->normal, out->right, out->down);
}

/* A pixel of an image projected onto the plane, in its coordinates. False when the ray does not hit it in front. */
static bool project_onto(const plane *p, const io_scene *model, const io_scene_image *image, double x, double y,
                     double out[2])
{
    const io_scene_camera *camera = &model->cameras[image->camera];
    const double *r = image->rotation, u = (x - camera->cx) / camera->focal, v = (y - camera->cy) / camera->focal;
    double centre[3], ray[3], offset[3];
    camera_centre(image, centre);
    for (int i = 0; i < 3; i++) {
        ray[i] = r[i] * u + r[3 + i] * v + r[6 + i];
        offset[i] = p->origin[i] - centre[i];
    }
    double along = dot(p->normal, offset) / dot(p->normal, ray);
    if (!(along > 0)) return false;
    for (int i = 0; i < 3; i++) offset[i] = along * ray[i] - offset[i];
    out[0] = dot(p->right, offset);
    out[1] = dot(p->down, offset);
    return true;
}

static float detector_scale(uint32_t detector)
{
    return kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (int32_t)detectors[detector]));
}

/* The keypoint's region on the plane. False when it cannot be seen there. */
static bool region_on(const plane *p, const io_scene *model, const observation *o, kbi_region *out)
{
    const io_scene_image *image = &model->images[o->view];
    double half = 0.5 * detector_scale(o->detector) * o->keypoint.size, sine, cosine;
    double x = o->keypoint.x, y = o->keypoint.y, middle[2], ahead[2], aside[2];
    kbi_sincos_degrees(o->keypoint.angle, &sine, &cosine);
    if (!project_onto(p, model, image, x, y, middle) ||
        !project_onto(p, model, image, x + half * cosine, y + half * sine, ahead) ||
        !project_onto(p, model, image, x - half * sine, y + half * cosine, aside))
        return false;
    double ax = ahead[0] - middle[0], ay = ahead[1] - middle[1], bx = aside[0] - middle[0], by = aside[1] - middle[1];
    *out = (kbi_region){middle[0], middle[1], 2 * sqrt(fabs(ax * by - ay * bx)), kbi_atan2_degrees(ay, ax)};
    return true;
}

/* ------------------------------------------------------------------------------------------------------ keypoints */

static kb_status observe(converter *c, size_t point, size_t view, uint32_t detector, const kb_keypoint *keypoint)
{
    if (c->seen_count == c->seen_room) {
        size_t room = c->seen_room ? 2 * c->seen_room : 16384;
        observation *seen = kbi_resized(c->seen, room, sizeof *seen);
        if (!seen) return KB_E_MEMORY;
        c->seen = seen;
        c->seen_room = room;
    }
    c->seen[c->seen_count++] = (observation){point, (uint32_t)view, detector, UINT32_MAX, *keypoint, UINT32_MAX};
    return KB_OK;
}

/* The index of a feature's 3D point, or SIZE_MAX when it has none that is good enough. */
static size_t good_point(const converter *c, const io_scene_feature *feature)
{
    if (feature->point == IO_SCENE_NO_POINT) return SIZE_MAX;
    size_t index = io_scene_point_index(c->model, feature->point);
    return index != SIZE_MAX && c->model->points[index].error <= c->options->max_error ? index : SIZE_MAX;
}

static kb_status observe_given(converter *c, size_t view, kb_error *error)
{
    const io_scene_image *image = &c->model->images[view];
    const kb_keypoint *keypoints;
    kb_status status = c->options->read_keypoints(c->options->context, view, &keypoints, error);
    for (size_t i = 0; status == KB_OK && i < image->feature_count; i++) {
        size_t point = good_point(c, &image->features[i]);
        if (point != SIZE_MAX && keypoints[i].size > 0) status = observe(c, point, view, 1, &keypoints[i]);
    }
    return status;
}

static int compare_x(const void *left, const void *right)
{
    const io_scene_feature *a = left, *b = right;
    return a->x < b->x ? -1 : a->x > b->x;
}

/* Good features of an image sorted by x; the point is an index now. Returns how many. */
static size_t sorted_features(const converter *c, const io_scene_image *image, io_scene_feature *out)
{
    size_t count = 0;
    for (size_t i = 0; i < image->feature_count; i++) {
        size_t point = good_point(c, &image->features[i]);
        if (point != SIZE_MAX) out[count++] = (io_scene_feature){image->features[i].x, image->features[i].y, point};
    }
    if (count) qsort(out, count, sizeof *out, compare_x);
    return count;
}

/* The feature nearest to (x, y) within a radius, or NULL. */
static const io_scene_feature *nearest_feature(const io_scene_feature *features, size_t count, double x, double y,
                                                double radius)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (features[middle].x < x - radius) low = middle + 1;
        else high = middle;
    }
    const io_scene_feature *best = NULL;
    double least = radius * radius;
    for (; low < count && features[low].x <= x + radius; low++) {
        double dx = features[low].x - x, dy = features[low].y - y, d = dx * dx + dy * dy;
        if (d < least) {
            least = d;
            best = &features[low];
        }
    }
    return best;
}

/* Those of one detector that stand near a feature. */
static kb_status detect_near(converter *c, size_t view, uint32_t detector, const kb_image *pixels,
                             const io_scene_feature *features, size_t feature_count, kb_keypoint *keypoints)
{
    const multiview_options *o = c->options;
    kb_detect_options options;
    kb_features f;
    KB_INIT(f);
    KB_INIT(options);
    options.detector = detectors[detector];
    options.max_keypoints = o->keypoints;
    options.parallel = o->parallel;
    if (o->upright) options.orientation = KB_ORIENTATION_NONE;
    f.keypoints = keypoints;
    f.capacity = (size_t)o->keypoints;
    kb_status status = kb_detect(pixels, &options, c->workspace, &f, NULL);
    double reach = o->association.position * detector_scale(detector);
    for (size_t i = 0; i < f.n && status == KB_OK; i++) {
        const kb_keypoint *k = &keypoints[i];
        const io_scene_feature *near = nearest_feature(features, feature_count, k->x, k->y, reach * k->size);
        if (near) status = observe(c, (size_t)near->point, view, detector, k);
    }
    return status;
}

static kb_status observe_detected(converter *c, size_t view, const kb_image *pixels)
{
    const io_scene_image *image = &c->model->images[view];
    io_scene_feature *features = kbi_zeros(image->feature_count, sizeof *features);
    kb_keypoint *keypoints = kbi_zeros((size_t)c->options->keypoints, sizeof *keypoints);
    kb_status status = features && keypoints ? KB_OK : KB_E_MEMORY;
    size_t count = status == KB_OK ? sorted_features(c, image, features) : 0;
    for (uint32_t d = 0; d < DETECTORS && status == KB_OK; d++)
        if (c->options->detectors >> d & 1) status = detect_near(c, view, d, pixels, features, count, keypoints);
    free(features);
    free(keypoints);
    return status;
}

static kb_status find_keypoints(converter *c, multiview_report *report, kb_error *error)
{
    const multiview_options *o = c->options;
    for (size_t view = 0; view < c->model->image_count; view++, report_step(c)) {
        kb_image image;
        c->skipped[view] = !o->read_image(o->context, view, &image);
        report->skipped += c->skipped[view];
        if (c->skipped[view]) continue;
        if (o->read_keypoints) {
            kb_status status = observe_given(c, view, error);
            if (status != KB_OK) return status;
        } else {
            kb_status status = observe_detected(c, view, &image);
            if (status != KB_OK)
                return kbi_fail(error, status, "%s: detecting failed: %s", c->model->images[view].name,
                                kb_status_string(status));
        }
    }
    return KB_OK;
}

/* ---------------------------------------------------------------------------------------------------- association */

static int compare_observations(const void *left, const void *right)
{
    const observation *a = left, *b = right;
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    if (a->detector != b->detector) return a->detector < b->detector ? -1 : 1;
    if (a->view != b->view) return a->view < b->view ? -1 : 1;
    /* any order will do, if it is one: NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    return memcmp(&a->keypoint, &b->keypoint, sizeof a->keypoint);
}

static int compare_tracks(const void *left, const void *right)
{
    const observation *a = left, *b = right;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    return a->view < b->view ? -1 : a->view > b->view;
}

/* The observations of one 3D point by one detector, by view: gives tracks. */
static kb_status associate(const converter *c, observation *seen, size_t n)
{
    plane p;
    face_cameras(c->model, seen, n, &p);
    kbi_tracks *tracks = kbi_tracks_create(&c->options->association, 0, 0);
    kbi_region *regions = kbi_zeros(n, sizeof *regions);
    uint32_t *track = kbi_zeros(n, sizeof *track);
    kb_status status = tracks && regions && track ? KB_OK : KB_E_MEMORY;
    for (size_t start = 0, end; start < n && status == KB_OK; start = end) {
        for (end = start; end < n && seen[end].view == seen[start].view; end++) {
            kbi_region *region = &regions[end - start];
            if (!region_on(&p, c->model, &seen[end], region)) *region = (kbi_region){0, 0, 0, 0}; /* fits nothing */
        }
        status = kbi_tracks_add(tracks, regions, end - start, track);
        for (size_t i = start; i < end && status == KB_OK; i++) seen[i].track = track[i - start];
    }
    kbi_tracks_free(tracks);
    free(regions);
    free(track);
    qsort(seen, n, sizeof *seen, compare_tracks);
    return status;
}

static kb_status find_tracks(converter *c)
{
    kb_status status = KB_OK;
    if (c->seen_count) qsort(c->seen, c->seen_count, sizeof *c->seen, compare_observations);
    for (size_t start = 0, end; start < c->seen_count && status == KB_OK; start = end) {
        const observation *s = c->seen;
        for (end = start + 1;
             end < c->seen_count && s[end].point == s[start].point && s[end].detector == s[start].detector;)
            end++;
        status = associate(c, c->seen + start, end - start);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------ selection */

typedef struct run {
    size_t start, count;
} run;

/* Tracks of two views or more, in random order. */
static size_t long_tracks(const converter *c, run *runs)
{
    size_t count = 0;
    uint64_t state = kbi_random_fork(c->options->seed, 0);
    for (size_t start = 0, end; start < c->seen_count; start = end) {
        const observation *s = c->seen;
        for (end = start + 1; end < c->seen_count && s[end].point == s[start].point &&
                              s[end].detector == s[start].detector && s[end].track == s[start].track;)
            end++;
        if (end - start >= 2) runs[count++] = (run){start, end - start};
    }
    for (size_t i = 0; i + 1 < count; i++) {
        size_t j = i + kbi_random_below(&state, (uint32_t)(count - i));
        run swap = runs[i];
        runs[i] = runs[j];
        runs[j] = swap;
    }
    return count;
}

static kbi_region region_in_image(const observation *o)
{
    return (kbi_region){o->keypoint.x, o->keypoint.y, detector_scale(o->detector) * o->keypoint.size,
                        o->keypoint.angle};
}

/* Is a track in any of its views a near duplicate of one selected before? */
static bool is_duplicate(kbi_duplicates *const *selected, const observation *seen, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kbi_region region = region_in_image(&seen[i]);
        if (kbi_duplicates_has(selected[seen[i].view], &region, &kbi_association_duplicate)) return true;
    }
    return false;
}

static kb_status select_track(kbi_duplicates *const *selected, observation *seen, size_t n, uint32_t label)
{
    kb_status status = KB_OK;
    for (size_t i = 0; i < n && status == KB_OK; i++) {
        kbi_region region = region_in_image(&seen[i]);
        status = kbi_duplicates_add(selected[seen[i].view], &region);
        seen[i].label = label;
    }
    return status;
}

/* Gives labels to the tracks that are selected. */
static kb_status select_tracks(converter *c, size_t *labels)
{
    const io_scene *model = c->model;
    run *runs = kbi_zeros(c->seen_count / 2 + 1, sizeof *runs);
    kbi_duplicates **selected = kbi_zeros(model->image_count, sizeof *selected);
    kb_status status = runs && selected ? KB_OK : KB_E_MEMORY;
    size_t count = status == KB_OK ? long_tracks(c, runs) : 0;
    for (size_t v = 0; v < model->image_count && status == KB_OK; v++) {
        const io_scene_camera *camera = &model->cameras[model->images[v].camera];
        selected[v] = kbi_duplicates_create(camera->width, camera->height);
        if (!selected[v]) status = KB_E_MEMORY;
    }
    *labels = 0;
    for (size_t r = 0; r < count && (c->options->max_points == 0 || *labels < c->options->max_points); r++) {
        observation *s = c->seen + runs[r].start;
        if (status != KB_OK || is_duplicate(selected, s, runs[r].count)) continue;
        status = select_track(selected, s, runs[r].count, (uint32_t)(*labels)++);
    }
    for (size_t v = 0; selected && v < model->image_count; v++) kbi_duplicates_free(selected[v]);
    free(selected);
    free(runs);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- sampling */

static kb_status sample_view(converter *c, size_t view, uint32_t detector, const kb_image *image)
{
    const size_t area = KB_PATCH_SIDE * KB_PATCH_SIDE; /* octaves take as many bytes */
    const multiview_options *options = c->options;
    kb_keypoint *keypoints = kbi_zeros(c->seen_count, sizeof *keypoints);
    uint32_t *labels = kbi_zeros(c->seen_count, sizeof *labels);
    size_t n = 0;
    kb_status status = keypoints && labels ? KB_OK : KB_E_MEMORY;
    for (size_t i = 0; i < c->seen_count && status == KB_OK; i++) {
        const observation *o = &c->seen[i];
        if (o->view != view || o->detector != detector || o->label == UINT32_MAX) continue;
        keypoints[n] = o->keypoint;
        labels[n++] = o->label;
    }
    uint8_t *patches = kbi_zeros(n, area);
    if (!patches) status = KB_E_MEMORY;
    for (int32_t k = 0; k < options->supports && status == KB_OK; k++) {
        kb_describe_options describe;
        KB_INIT(describe);
        describe.scale = detector_scale(detector) * options->support[k];
        describe.parallel = options->parallel;
        kb_features f;
        KB_INIT(f);
        f.keypoints = keypoints;
        f.n = n;
        status = kb_sample(image, options->octaves ? KB_SAMPLER_OCTAVES : KB_SAMPLER_PATCH, &describe, c->workspace, &f,
                           patches, NULL);
        for (size_t i = 0; i < n && status == KB_OK; i++)
            options->write_patch(options->context, k, labels[i], (uint32_t)view, patches + i * area);
    }
    free(keypoints);
    free(labels);
    free(patches);
    return status;
}

static kb_status sample_all(converter *c, kb_error *error)
{
    for (size_t view = 0; view < c->model->image_count; view++, report_step(c)) {
        kb_image image;
        if (c->skipped[view]) continue;
        const char *name = c->model->images[view].name;
        if (!c->options->read_image(c->options->context, view, &image))
            return kbi_fail(error, KB_E_IMAGE, "%s: cannot be read again", name);
        for (uint32_t d = 0; d < DETECTORS; d++) {
            kb_status status = sample_view(c, view, d, &image);
            if (status != KB_OK)
                return kbi_fail(error, status, "%s: sampling patches failed: %s", name, kb_status_string(status));
        }
    }
    return KB_OK;
}

kb_status multiview_patches(const io_scene *scene, const multiview_options *options,
                                multiview_report *report, kb_error *error)
{
    converter c = {.model = scene, .options = options};
    *report = (multiview_report){0};
    c.skipped = kbi_zeros(scene->image_count, sizeof *c.skipped);
    kb_status status = c.skipped ? kb_workspace_create(NULL, &c.workspace) : KB_E_MEMORY;
    if (status == KB_OK) status = find_keypoints(&c, report, error);
    else kbi_fail(error, status, "%s", kb_status_string(status));
    if (status == KB_OK) {
        status = find_tracks(&c);
        if (status == KB_OK) status = select_tracks(&c, &report->points);
        if (status != KB_OK) kbi_fail(error, status, "%s", kb_status_string(status));
    }
    for (size_t i = 0; i < c.seen_count; i++) report->patches += c.seen[i].label != UINT32_MAX;
    if (status == KB_OK && report->points == 0)
        status = kbi_fail(error, KB_E_ARGUMENT, "no point of the model was found in two images");
    if (status == KB_OK) status = sample_all(&c, error);
    kb_workspace_free(c.workspace);
    free(c.skipped);
    free(c.seen);
    return status;
}
