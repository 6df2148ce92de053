/* From a reconstruction to patches.
 *
 * The model tells where a 3D point appears in every image of its track. A keypoint near that place, COLMAP's own or one
 * that is detected anew, may describe the point. To tell which keypoints of different images agree in scale and
 * direction, each is thrown back on a small plane through the point P that faces the cameras: with n the mean direction
 * to the cameras that see it, C a camera's centre and r the ray of a pixel,
 *     Q = C + r n.(P - C) / n.r,
 * and in coordinates of that plane the tracks of associate.h do the rest. So one 3D point can give several labels, such
 * as a small and a large keypoint at one place, and a keypoint that a detector has turned by mistake gives none.
 *
 * Images are read twice: once to find keypoints, once to cut those that were taken. */
#include "learn/colmap_patches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/image_io.h"
#include "learn/random.h"

#define DETECTORS 2
static const kb_detector detectors[DETECTORS] = {KB_DETECTOR_ORB, KB_DETECTOR_SIFT};

/* A keypoint that stands where a 3D point appears. */
typedef struct observation {
    size_t point; /* index in the model */
    uint32_t view, detector, track;
    kb_keypoint keypoint;
    uint32_t label;
} observation;

typedef struct converter {
    const kbi_colmap_model *model;
    const kbi_colmap_options *options;
    kb_workspace *workspace;
    observation *seen;
    size_t seen_count, seen_room;
    bool *skipped; /* of every image */
    void (*warn)(void *, const char *);
    void (*tick)(void *, size_t);
    void *context;
    size_t steps;
} converter;

void kbi_colmap_defaults(kbi_colmap_options *options)
{
    *options = (kbi_colmap_options){
        .detectors = 3, .keypoints = 8000, .max_error = 2, .tolerance = kbi_tolerance_default, .seed = 1};
}

static void step(converter *c)
{
    c->steps++;
    if (c->tick) c->tick(c->context, c->steps);
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
static void camera_centre(const kbi_colmap_image *image, double out[3])
{
    const double *r = image->rotation, *t = image->translation;
    for (int i = 0; i < 3; i++) out[i] = -(r[i] * t[0] + r[3 + i] * t[1] + r[6 + i] * t[2]);
}

typedef struct plane {
    double origin[3], normal[3], right[3], down[3];
} plane;

/* The plane through a point that faces the mean of the cameras that see it. */
static void face_cameras(const kbi_colmap_model *model, const observation *seen, size_t n, plane *out)
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

/* A pixel of an image thrown on the plane, in its coordinates. False when the ray does not meet the plane in front. */
static bool throw_on(const plane *p, const kbi_colmap_model *model, const kbi_colmap_image *image, double x, double y,
                     double out[2])
{
    const kbi_colmap_camera *camera = &model->cameras[image->camera];
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

/* The keypoint's region on the plane. False when it cannot be seen there. */
static bool place_on(const plane *p, const kbi_colmap_model *model, const observation *o, kbi_place *out)
{
    const kbi_colmap_image *image = &model->images[o->view];
    double half = 0.5 * kb_detector_scale(detectors[o->detector]) * o->keypoint.size, sine, cosine;
    double x = o->keypoint.x, y = o->keypoint.y, middle[2], ahead[2], aside[2];
    kbi_sincos_degrees(o->keypoint.angle, &sine, &cosine);
    if (!throw_on(p, model, image, x, y, middle) ||
        !throw_on(p, model, image, x + half * cosine, y + half * sine, ahead) ||
        !throw_on(p, model, image, x - half * sine, y + half * cosine, aside))
        return false;
    double ax = ahead[0] - middle[0], ay = ahead[1] - middle[1], bx = aside[0] - middle[0], by = aside[1] - middle[1];
    *out = (kbi_place){middle[0], middle[1], 2 * sqrt(fabs(ax * by - ay * bx)), kbi_atan2_degrees(ay, ax)};
    return true;
}

/* ------------------------------------------------------------------------------------------------------ keypoints */

static void observe(converter *c, size_t point, size_t view, uint32_t detector, const kb_keypoint *keypoint)
{
    if (c->seen_count == c->seen_room) {
        c->seen_room = c->seen_room ? 2 * c->seen_room : 16384;
        c->seen = io_grow(c->seen, c->seen_room, sizeof *c->seen);
    }
    c->seen[c->seen_count++] = (observation){point, (uint32_t)view, detector, UINT32_MAX, *keypoint, UINT32_MAX};
}

/* The index of a feature's 3D point, or SIZE_MAX when it has none that is good enough. */
static size_t good_point(const converter *c, const kbi_colmap_feature *feature)
{
    if (feature->point == KBI_COLMAP_NO_POINT) return SIZE_MAX;
    size_t index = kbi_colmap_point_index(c->model, feature->point);
    return index != SIZE_MAX && c->model->points[index].error <= c->options->max_error ? index : SIZE_MAX;
}

static bool observe_database(converter *c, size_t view, io_error *error)
{
    const kbi_colmap_image *image = &c->model->images[view];
    kb_keypoint *keypoints;
    size_t count;
    if (!kbi_colmap_keypoints_read(c->options->database, image->id, &keypoints, &count, error)) return false;
    bool ok = count == image->feature_count || io_fail(error, "%s: %zu keypoints of %s, but the model has %zu",
                                                       c->options->database, count, image->name, image->feature_count);
    for (size_t i = 0; i < count && ok; i++) {
        size_t point = good_point(c, &image->features[i]);
        if (point != SIZE_MAX && keypoints[i].size > 0) observe(c, point, view, 1, &keypoints[i]);
    }
    free(keypoints);
    return ok;
}

static int compare_x(const void *left, const void *right)
{
    const kbi_colmap_feature *a = left, *b = right;
    return a->x < b->x ? -1 : a->x > b->x;
}

/* Good features of an image sorted by x; the point is an index now. Returns how many. */
static size_t sorted_features(const converter *c, const kbi_colmap_image *image, kbi_colmap_feature *out)
{
    size_t count = 0;
    for (size_t i = 0; i < image->feature_count; i++) {
        size_t point = good_point(c, &image->features[i]);
        if (point != SIZE_MAX) out[count++] = (kbi_colmap_feature){image->features[i].x, image->features[i].y, point};
    }
    if (count) qsort(out, count, sizeof *out, compare_x);
    return count;
}

/* The feature nearest to (x, y) within a radius, or NULL. */
static const kbi_colmap_feature *nearest_feature(const kbi_colmap_feature *features, size_t count, double x, double y,
                                                double radius)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (features[middle].x < x - radius) low = middle + 1;
        else high = middle;
    }
    const kbi_colmap_feature *best = NULL;
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

static bool observe_detected(converter *c, size_t view, const kb_image *pixels, io_error *error)
{
    const kbi_colmap_image *image = &c->model->images[view];
    const kbi_colmap_options *o = c->options;
    kbi_colmap_feature *features = io_alloc(image->feature_count, sizeof *features);
    kb_keypoint *keypoints = io_alloc((size_t)o->keypoints, sizeof *keypoints);
    size_t feature_count = sorted_features(c, image, features);
    kb_status status = KB_OK;
    for (uint32_t d = 0; d < DETECTORS && status == KB_OK; d++) {
        kb_detect_options options;
        size_t found = 0;
        if (!(o->detectors >> d & 1)) continue;
        KB_INIT(options);
        options.detector = detectors[d];
        options.max_keypoints = o->keypoints;
        options.parallel = o->parallel;
        status = kb_detect(pixels, &options, c->workspace, keypoints, (size_t)o->keypoints, &found);
        double reach = o->tolerance.position * kb_detector_scale(detectors[d]);
        for (size_t i = 0; i < found && status == KB_OK; i++) {
            const kb_keypoint *k = &keypoints[i];
            const kbi_colmap_feature *near = nearest_feature(features, feature_count, k->x, k->y, reach * k->size);
            if (near) observe(c, (size_t)near->point, view, d, k);
        }
    }
    free(features);
    free(keypoints);
    return status == KB_OK || io_fail(error, "%s: detecting failed: %s", image->name, kb_status_string(status));
}

/* False when the image is to be skipped, which is told. */
static bool read_view(converter *c, size_t view, io_image *out)
{
    const kbi_colmap_image *image = &c->model->images[view];
    const kbi_colmap_camera *camera = &c->model->cameras[image->camera];
    char *path = io_path_join(c->options->images, image->name);
    io_error error;
    bool ok = io_image_read(path, NULL, out, &error);
    if (ok && (out->width != camera->width || out->height != camera->height)) {
        ok = io_fail(&error, "%s: %d x %d pixels, but its camera has %d x %d", path, (int)out->width, (int)out->height,
                     (int)camera->width, (int)camera->height);
        io_image_free(out);
    }
    if (!ok && c->warn) c->warn(c->context, error.text);
    free(path);
    return ok;
}

static bool find_keypoints(converter *c, kbi_colmap_report *report, io_error *error)
{
    bool ok = true;
    for (size_t view = 0; view < c->model->image_count && ok; view++, step(c)) {
        io_image image;
        c->skipped[view] = !read_view(c, view, &image);
        report->skipped += c->skipped[view];
        if (c->skipped[view]) continue;
        ok = c->options->database ? observe_database(c, view, error) : observe_detected(c, view, &image.view, error);
        io_image_free(&image);
    }
    return ok;
}

/* ---------------------------------------------------------------------------------------------------- association */

static int compare_observations(const void *left, const void *right)
{
    const observation *a = left, *b = right;
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    if (a->detector != b->detector) return a->detector < b->detector ? -1 : 1;
    if (a->view != b->view) return a->view < b->view ? -1 : 1;
    return memcmp(&a->keypoint, &b->keypoint, sizeof a->keypoint);
}

static int compare_tracks(const void *left, const void *right)
{
    const observation *a = left, *b = right;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    return a->view < b->view ? -1 : a->view > b->view;
}

/* The observations of one 3D point by one detector, by view: gives tracks. */
static void associate(const converter *c, observation *seen, size_t n)
{
    plane p;
    face_cameras(c->model, seen, n, &p);
    kbi_tracks *tracks = kbi_tracks_create(&c->options->tolerance, 0, 0);
    kbi_place *places = io_alloc(n, sizeof *places);
    uint32_t *track = io_alloc(n, sizeof *track);
    for (size_t start = 0, end; start < n; start = end) {
        size_t seen_well = 0;
        for (end = start; end < n && seen[end].view == seen[start].view; end++) {
            if (place_on(&p, c->model, &seen[end], &places[seen_well])) seen_well++;
            else places[seen_well++] = (kbi_place){0, 0, 0, 0}; /* fits nothing */
        }
        kbi_tracks_add(tracks, places, seen_well, track);
        for (size_t i = start; i < end; i++) seen[i].track = track[i - start];
    }
    kbi_tracks_free(tracks);
    free(places);
    free(track);
    qsort(seen, n, sizeof *seen, compare_tracks);
}

static void find_tracks(converter *c)
{
    if (c->seen_count) qsort(c->seen, c->seen_count, sizeof *c->seen, compare_observations);
    for (size_t start = 0, end; start < c->seen_count; start = end) {
        const observation *s = c->seen;
        for (end = start + 1;
             end < c->seen_count && s[end].point == s[start].point && s[end].detector == s[start].detector;)
            end++;
        associate(c, c->seen + start, end - start);
    }
}

/* --------------------------------------------------------------------------------------------------------- choice */

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

static kbi_place place_in_image(const observation *o)
{
    return (kbi_place){o->keypoint.x, o->keypoint.y, kb_detector_scale(detectors[o->detector]) * o->keypoint.size,
                      o->keypoint.angle};
}

/* Gives labels to the tracks that are taken: in none of its views may a track be a near copy of one taken before. */
static size_t take_tracks(converter *c)
{
    const kbi_colmap_model *model = c->model;
    run *runs = io_alloc(c->seen_count / 2 + 1, sizeof *runs);
    kbi_crowd **crowds = io_alloc(model->image_count, sizeof *crowds);
    size_t count = long_tracks(c, runs), labels = 0;
    for (size_t v = 0; v < model->image_count; v++) {
        const kbi_colmap_camera *camera = &model->cameras[model->images[v].camera];
        crowds[v] = kbi_crowd_create(camera->width, camera->height);
    }
    for (size_t r = 0; r < count && (c->options->max_points == 0 || labels < c->options->max_points); r++) {
        bool crowded = false;
        observation *s = c->seen + runs[r].start;
        for (size_t i = 0; i < runs[r].count && !crowded; i++) {
            kbi_place place = place_in_image(&s[i]);
            crowded = kbi_crowd_has(crowds[s[i].view], &place, &kbi_tolerance_copy);
        }
        for (size_t i = 0; i < runs[r].count && !crowded; i++) {
            kbi_place place = place_in_image(&s[i]);
            kbi_crowd_take(crowds[s[i].view], &place);
            s[i].label = (uint32_t)labels;
        }
        labels += !crowded;
    }
    for (size_t v = 0; v < model->image_count; v++) kbi_crowd_free(crowds[v]);
    free(crowds);
    free(runs);
    return labels;
}

/* -------------------------------------------------------------------------------------------------------- cutting */

static bool cut_view(converter *c, size_t view, uint32_t detector, const kb_image *image, int32_t supports,
                     const float *support, kbi_patch_writer *const *writers, io_error *error)
{
    const size_t area = KB_PATCH_SIDE * KB_PATCH_SIDE;
    kb_keypoint *keypoints = io_alloc(c->seen_count, sizeof *keypoints);
    uint32_t *labels = io_alloc(c->seen_count, sizeof *labels);
    size_t n = 0;
    kb_status status = KB_OK;
    for (size_t i = 0; i < c->seen_count; i++) {
        const observation *o = &c->seen[i];
        if (o->view != view || o->detector != detector || o->label == UINT32_MAX) continue;
        keypoints[n] = o->keypoint;
        labels[n++] = o->label;
    }
    uint8_t *patches = io_alloc(n, area);
    for (int32_t k = 0; k < supports && status == KB_OK; k++) {
        kb_describe_options options;
        KB_INIT(options);
        options.scale = kb_detector_scale(detectors[detector]) * support[k];
        options.parallel = c->options->parallel;
        status = kb_sample_patches(image, keypoints, n, &options, c->workspace, patches, NULL);
        for (size_t i = 0; i < n && status == KB_OK; i++) {
            kbi_patch_writer_add(writers[k], labels[i], (uint32_t)view, patches + i * area);
        }
    }
    free(keypoints);
    free(labels);
    free(patches);
    return status == KB_OK || io_fail(error, "cutting patches failed: %s", kb_status_string(status));
}

static bool cut_all(converter *c, int32_t supports, const float *support, kbi_patch_writer *const *writers,
                    io_error *error)
{
    bool ok = true;
    for (size_t view = 0; view < c->model->image_count && ok; view++, step(c)) {
        io_image image;
        if (c->skipped[view]) continue;
        if (!read_view(c, view, &image)) return io_fail(error, "%s: cannot be read again", c->model->images[view].name);
        for (uint32_t d = 0; d < DETECTORS && ok; d++)
            ok = cut_view(c, view, d, &image.view, supports, support, writers, error);
        io_image_free(&image);
    }
    return ok;
}

bool kbi_colmap_convert(const kbi_colmap_model *model, const kbi_colmap_options *options, int32_t supports,
                       const float *support, kbi_patch_writer *const *writers, void (*warn)(void *, const char *),
                       void (*tick)(void *, size_t), void *context, kbi_colmap_report *report, io_error *error)
{
    converter c = {.model = model, .options = options, .warn = warn, .tick = tick, .context = context};
    *report = (kbi_colmap_report){0};
    c.skipped = io_alloc(model->image_count, sizeof *c.skipped);
    bool ok = kb_workspace_create(&c.workspace) == KB_OK || io_fail(error, "out of memory");
    ok = ok && find_keypoints(&c, report, error);
    if (ok) {
        find_tracks(&c);
        report->points = take_tracks(&c);
        for (size_t i = 0; i < c.seen_count; i++) report->patches += c.seen[i].label != UINT32_MAX;
        if (report->points == 0) ok = io_fail(error, "no point of the model was found in two images");
    }
    ok = ok && cut_all(&c, supports, support, writers, error);
    kb_workspace_free(c.workspace);
    free(c.skipped);
    free(c.seen);
    return ok;
}
