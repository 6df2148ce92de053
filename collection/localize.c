/* SPDX-License-Identifier: Apache-2.0 */
/* The pose of a photograph in a map. */
#include "collection/localize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collection/pose_refine.h"
#include "io/progress.h"

#define IMAGES 10
#define MIN_PLACES 12
#define THRESHOLD 4.0
#define LOOSE 3               /* thresholds that a guessed camera may be off at first */
#define PHOTOGRAPHS 1e6       /* of other places, of which chance may find one */
#define FOCAL_LENGTHS 100     /* of which a refined one is one: steps of a fiftieth, half to four times a guess */
#define MAX_FOCAL_SPREAD 0.05 /* standard deviation of a focal length, of itself */
#define MAX_ATTEMPTS 8
#define UNSEEN 1.3 /* errors over standard deviations in rendered rooms (unit_localize), where inliers beside each other
                      count once: errors of the map and of detection are shared by many points */
#define MAX_ROUNDS 12
#define NARROWING 0.7 /* of the threshold, per round */
#define OTHER_FOCAL 4   /* standard deviations from which on the map's focal length is not the photograph's */
#define EXIF_FOCAL 0.15 /* by how much EXIF may deny the map's focal length */
/* Focal lengths that are tried where nobody knows one, as multiples of the longer side; 1.2 is COLMAP's guess. */
static const double guesses[] = {1.2, 0.85, 1.7};

/* ---- settings ---- */

bool localize_settings(const map *m, const char **model, pipeline_options *options, io_read_options *reading,
                       io_error *error)
{
    const map_info *info = &m->info;
    if (!*model) *model = info->model;
    kb_detect_options *d = &options->detect;
    if (d->detector == 0) d->detector = (kb_detector)info->detector;
    if (d->detector != (kb_detector)info->detector)
        return io_fail(error, "the map was made with the detector %s, not with %s",
                       features_detector_name(info->detector), features_detector_name(d->detector));
    int32_t revision = kb_detector_get_info(d->detector).revision;
    if (revision != info->revision)
        return io_fail(error, "the map was made with revision %d of the detector %s, and this is revision %d: build it again",
                       info->revision, features_detector_name(d->detector), revision);
    if (d->max_keypoints == 0) d->max_keypoints = info->max_keypoints;
    options->angles = (kb_orientation)info->orientation;
    if (reading->max_size == 0) reading->max_size = info->max_size;
    return true;
}

/* ---- matches ---- */

typedef struct candidate {
    uint32_t keypoint, point;
    float distance;
    uint32_t image;
} candidate;

typedef struct search {
    const map *m;
    const features *f;
    kb_index_result images[64];
    size_t image_count;
    candidate *candidates;
    size_t count, room;
    kb_scene_point *points;
    float *quality;
    uint8_t *inliers;
    double widening; /* of standard deviations */
} search;

static bool retrieve(search *s, size_t wanted, io_error *error)
{
    kb_index_query_options o;
    kb_error why;
    KB_INIT(o);
    o.scoring = KB_SCORING_TF_IDF;
    kb_features view = features_view(s->f);
    if (kb_index_query(s->m->index, &view, &o, NULL, s->images, wanted, &s->image_count, &why) == KB_OK) return true;
    return io_fail(error, "%s", why.text);
}

static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->keypoint != y->keypoint) return x->keypoint < y->keypoint ? -1 : 1;
    if (x->point != y->point) return x->point < y->point ? -1 : 1;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->image < y->image ? -1 : x->image > y->image;
}

/* Mutual matches with the rows of each image; a keypoint and a point are one candidate, however many images have it. */
static bool match_images(search *s, io_error *error)
{
    const features *f = s->f;
    kb_match *matches = io_alloc(f->rows.count + 1, sizeof *matches);
    kb_status status = KB_OK;
    for (size_t i = 0; status == KB_OK && i < s->image_count; i++) {
        if (s->images[i].id >= s->m->image_count) continue; /* of a forged index */
        const map_image *image = &s->m->images[s->images[i].id];
        const uint8_t *rows = s->m->rows + (size_t)image->first * s->m->row_bytes;
        size_t n = 0;
        kb_features query = io_features_view(NULL, &f->rows), kept = io_bytes_view(rows, image->count, s->m->row_bytes);
        status = kb_match_features(&query, &kept, NULL, NULL, matches, &n, NULL);
        s->candidates = io_grow(s->candidates, s->count + n + 1, sizeof *s->candidates);
        for (size_t k = 0; status == KB_OK && k < n; k++)
            s->candidates[s->count++] = (candidate){(uint32_t)matches[k].a,
                                                    map_row_point(s->m, image->first + (uint32_t)matches[k].b),
                                                    matches[k].distance, (uint32_t)s->images[i].id};
    }
    free(matches);
    if (status != KB_OK) return io_fail(error, "matching: %s", kb_status_string(status));
    if (s->count > 1) qsort(s->candidates, s->count, sizeof *s->candidates, compare_candidates);
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (kept == 0 || s->candidates[kept - 1].keypoint != s->candidates[i].keypoint ||
            s->candidates[kept - 1].point != s->candidates[i].point)
            s->candidates[kept++] = s->candidates[i];
    s->count = kept;
    return true;
}

static void gather_points(search *s)
{
    s->points = io_alloc(s->count + 1, sizeof *s->points);
    s->quality = io_alloc(s->count + 1, sizeof *s->quality);
    s->inliers = io_alloc(s->count + 1, 1);
    for (size_t i = 0; i < s->count; i++) {
        const kb_keypoint *k = &s->f->keypoints.items[s->candidates[i].keypoint];
        double p[3];
        map_point(s->m, s->candidates[i].point, p);
        s->points[i] = (kb_scene_point){p[0], p[1], p[2], (double)k->x, (double)k->y};
        s->quality[i] = s->candidates[i].distance;
    }
}

/* ---- pose ---- */

static kb_camera simple_camera(const features *f, double focal)
{
    kb_camera camera;
    KB_INIT(camera);
    camera.fx = camera.fy = focal;
    camera.cx = 0.5 * (f->width - 1);
    camera.cy = 0.5 * (f->height - 1);
    return camera;
}

/* looks: how many cameras and photographs chance had. */
static bool fit_camera(search *s, const kb_camera *camera, bool plain, double looks, double threshold, uint64_t seed,
                       kb_fit_report *report, io_error *error)
{
    kb_fit_options o;
    KB_INIT(o);
    KB_INIT(*report);
    o.camera1 = camera;
    o.threshold = threshold;
    o.quality = s->quality;
    o.seed = seed;
    o.looks = (int32_t)looks;
    o.plain_ransac = plain;
    kb_status status = kb_fit_pose(s->points, s->count, &o, NULL, s->inliers, report, NULL);
    return status == KB_OK || io_fail(error, "pose: %s", kb_status_string(status));
}

/* A camera to try. A guess is off by many pixels at the border, which the first fit has to bear. */
typedef struct attempt {
    kb_camera camera;
    const char *from;
    bool guess; /* its focal length is refined */
} attempt;

/* The camera of the options; else that of the map, if the most similar image has the photograph's size and EXIF does not
 * say otherwise; and that of EXIF or guesses. */
static size_t list_attempts(const search *s, const localize_options *o, const char *photo, attempt list[MAX_ATTEMPTS])
{
    const features *f = s->f;
    double longer = f->width > f->height ? f->width : f->height, exif;
    size_t n = 0;
    if (o->camera) {
        list[n++] = (attempt){*o->camera, "given", false};
        return n;
    }
    const map_image *alike = s->image_count && s->images[0].id < s->m->image_count ? &s->m->images[s->images[0].id] : NULL;
    bool told = io_image_focal(photo, &exif);
    if (alike && alike->width == f->width && alike->height == f->height &&
        (!told || fabs(exif * longer / alike->lens.fx - 1) <= EXIF_FOCAL))
        list[n++] = (attempt){alike->lens, "map", false};
    if (told) {
        list[n++] = (attempt){simple_camera(f, exif * longer), "exif", true};
        return n;
    }
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++)
        list[n++] = (attempt){simple_camera(f, guesses[i] * longer), "guess", true};
    return n;
}

/* Inliers anew by a pose; their number, and the sum of squared errors, none above threshold^2. */
static size_t choose_inliers(search *s, const localize_result *r, double threshold, double *cost)
{
    double limit = threshold * threshold, sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        double e[2], square = limit;
        s->inliers[i] = pose_error(&r->camera, r->rotation, r->translation, &s->points[i], e) &&
                        (square = e[0] * e[0] + e[1] * e[1]) <= limit;
        count += s->inliers[i];
        sum += s->inliers[i] ? square : limit;
    }
    if (cost) *cost = sum;
    return count;
}

/* Least squares and inliers in turn, until these stay, by a threshold that begins at `loose` times its last value.
 * Returns the cost. */
static double settle(search *s, bool focal, double loose, double threshold, localize_result *out)
{
    pose_spread spread = {0};
    double cost, wide = loose * threshold;
    size_t before = 0, count = choose_inliers(s, out, wide, &cost);
    for (int round = 0; round < MAX_ROUNDS && count >= MIN_PLACES && (wide > threshold || count != before); round++) {
        if (!pose_refine(s->points, s->inliers, s->count, &out->camera, focal, out->rotation, out->translation, &spread)) break;
        wide = fmax(threshold, wide * NARROWING);
        before = count;
        count = choose_inliers(s, out, wide, &cost);
    }
    out->rms = spread.rms;
    out->sigma_position = s->widening * spread.position;
    out->sigma_rotation = s->widening * spread.rotation;
    out->sigma_focal = focal ? s->widening * spread.focal : 0;
    return cost;
}

/* A photograph of the size of the map's may be zoomed or cropped: the map's focal length stays only where the points do
 * not know better. */
static void free_focal(search *s, double threshold, localize_result *out)
{
    localize_result freed = *out;
    freed.camera_from = "guess";
    double kept_cost, cost;
    choose_inliers(s, out, threshold, &kept_cost);
    cost = settle(s, true, LOOSE, threshold, &freed);
    if (freed.sigma_focal > 0 && freed.sigma_focal <= MAX_FOCAL_SPREAD * freed.camera.fx && cost < kept_cost &&
        fabs(freed.camera.fx - out->camera.fx) > OTHER_FOCAL * freed.sigma_focal)
        *out = freed;
}

/* Of several points of a keypoint, and keypoints of a point, one is an inlier; candidates are sorted by keypoint. */
static void count_inliers(search *s, localize_result *out)
{
    size_t *per_image = io_alloc(s->m->image_count, sizeof *per_image);
    uint8_t *used = io_alloc(s->m->point_count, 1);
    uint32_t before = UINT32_MAX;
    out->points = io_alloc(s->count + 1, sizeof *out->points);
    for (size_t i = 0; i < s->count; i++) {
        const candidate *c = &s->candidates[i];
        if (!s->inliers[i] || c->keypoint == before || used[c->point]) continue;
        before = c->keypoint;
        used[c->point] = 1;
        out->points[out->inliers++] = (localize_inlier){s->points[i].x, s->points[i].y, c->point};
        if (++per_image[c->image] > per_image[out->image]) out->image = c->image;
    }
    free(per_image);
    free(used);
}

/* One fit with out->camera, refined; *enough tells whether it found as many places as are wanted. */
static bool fit_and_refine(search *s, const localize_options *o, bool focal, bool plain, double looks, double fit_threshold,
                           double threshold, localize_result *out, double *cost, bool *enough, io_error *error)
{
    kb_fit_report report;
    if (!fit_camera(s, &out->camera, plain, looks, fit_threshold, o->seed, &report, error)) return false;
    *enough = report.result == KB_FIT_FOUND && report.places >= (o->min_places ? o->min_places : MIN_PLACES);
    if (!*enough) return true;
    memcpy(out->rotation, report.rotation, sizeof out->rotation);
    memcpy(out->translation, report.translation, sizeof out->translation);
    s->widening = UNSEEN * sqrt((double)report.inliers / (double)report.places);
    *cost = settle(s, focal, focal ? LOOSE : 1, threshold, out);
    out->places = (size_t)report.places;
    return true;
}

/* PROSAC finds a pose among many wrong candidates, but may end with the first part of a plane; sampling without order
 * then finds the rest. Of both the better one. */
static bool fit_twice(search *s, const localize_options *o, bool focal, double looks, double threshold,
                      localize_result *out, bool *enough, io_error *error)
{
    double cost = 0, other_cost = 0;
    localize_result other = *out;
    bool others = false;
    if (!fit_and_refine(s, o, focal, false, looks, threshold, threshold, out, &cost, enough, error)) return false;
    if (!*enough) return true;
    if (!fit_and_refine(s, o, focal, true, looks, threshold, threshold, &other, &other_cost, &others, error)) return false;
    if (others && other_cost < cost) *out = other;
    return true;
}

/* The pose with one camera; out->found tells whether there is one. A guess finds a focal length first, with a threshold
 * so wide that it proves little; whether there is a pose is asked of the camera with that focal length, one of many. A
 * focal length that the points do not decide is none: pose and focal length then run away together. */
static bool try_camera(search *s, const attempt *a, size_t attempts, const localize_options *o, double threshold,
                       localize_result *out, io_error *error)
{
    size_t wanted = (size_t)(o->min_places ? o->min_places : MIN_PLACES);
    double looks = PHOTOGRAPHS * (double)attempts;
    bool enough = true;
    double cost;
    out->camera = a->camera;
    out->camera_from = a->from;
    if (a->guess && !fit_and_refine(s, o, true, false, 1, LOOSE * threshold, threshold, out, &cost, &enough, error))
        return false;
    if (a->guess) looks *= FOCAL_LENGTHS;
    if (enough && !fit_twice(s, o, a->guess, looks, threshold, out, &enough, error)) return false;
    if (!enough) return true;
    if (strcmp(a->from, "map") == 0) free_focal(s, threshold, out);
    out->inliers = choose_inliers(s, out, threshold, NULL);
    out->found = out->inliers >= wanted && out->sigma_position > 0 && out->sigma_focal <= MAX_FOCAL_SPREAD * out->camera.fx;
    return true;
}

/* Of the cameras the one with most inliers; one that comes later has to be better by a tenth. */
static bool find_pose(search *s, const localize_options *o, const char *photo, double threshold, localize_result *out,
                      io_error *error)
{
    attempt list[MAX_ATTEMPTS];
    size_t n = list_attempts(s, o, photo, list);
    for (size_t i = 0; i < n; i++) {
        localize_result one = {0};
        if (!try_camera(s, &list[i], n, o, threshold, &one, error)) return false;
        if (i == 0 || (one.found && (!out->found || 10 * one.inliers > 11 * out->inliers))) *out = one;
    }
    if (!out->found) return true;
    out->inliers = 0;
    choose_inliers(s, out, threshold, NULL);
    count_inliers(s, out);
    const double *r = out->rotation, *t = out->translation;
    for (int i = 0; i < 3; i++) out->centre[i] = -(r[i] * t[0] + r[3 + i] * t[1] + r[6 + i] * t[2]);
    return true;
}

bool localize(const map *m, const pipeline *p, const io_read_options *reading, const localize_options *options,
              const char *photo, localize_result *out, io_error *error)
{
    features f;
    double start = io_clock_seconds();
    memset(out, 0, sizeof *out);
    if (!photos_describe_one(p, reading, photo, &f, error)) return false;
    double described = io_clock_seconds();
    search s = {.m = m, .f = &f};
    size_t wanted = (size_t)(options->images ? options->images : IMAGES);
    if (wanted > sizeof s.images / sizeof *s.images) wanted = sizeof s.images / sizeof *s.images;
    double step = photos_step(f.width, f.height, reading->max_size);
    bool ok = (f.rows.width == m->row_bytes || io_fail(error, "rows of %zu bytes, but those of the map have %zu",
                                                       f.rows.width, m->row_bytes)) &&
              retrieve(&s, wanted, error) && match_images(&s, error);
    if (ok) gather_points(&s);
    ok = ok && find_pose(&s, options, photo, options->threshold > 0 ? options->threshold : THRESHOLD * step, out, error);
    out->ms_describe = 1000 * (described - start);
    out->keypoints = f.keypoints.count;
    out->matches = s.count;
    out->width = f.width;
    out->height = f.height;
    out->ms_total = 1000 * (io_clock_seconds() - start);
    free(s.candidates);
    free(s.points);
    free(s.quality);
    free(s.inliers);
    features_free(&f);
    if (!ok) localize_result_free(out);
    return ok;
}

void localize_result_free(localize_result *result)
{
    free(result->points);
    result->points = NULL;
}
