/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per call. */
/* Two sets of kept features -> matches, geometry, verified or not: what collections, indexes and loops share.
 *
 * Mutual nearest neighbours are filtered by local consistency and fitted, by a homography and by an epipolar geometry:
 * scenes with depth seldom have a plane with enough matches. A geometry is good when chance does not explain it
 * (fit/chance.c) at the number of matches before the filter, of places and of pairs of images that are tried; and when
 * its inliers are distinct (distinct.c), since places that look alike, such as the doors of two corridors, lie on each
 * other's epipolar lines. One good geometry verifies the pair. `keybits eval verify` counts how often that is right. */
#include "common/features.h"
#include "fit/fit.h"
#include "match/match.h"
#include "pair/verify.h"

#define PAIRS 1e6          /* of images that a caller tries, unless it says otherwise */
#define SAMPLES 300        /* of a fit, at most: what the filter has left is right for the most part, or hopeless */
#define MORE_SAMPLES 200   /* of a second look, at a pair that is verified */
#define THRESHOLD_PX 3.0
#define FLAT 0.8           /* of the places of one geometry, above which a simpler one is all there is */
#define CALIBRATED 0.95    /* of the places of a fundamental matrix: with fewer, the cameras are wrong */
#define MAX_TURN 18.0      /* degrees, above which upright rows know less than oriented ones */
#define MAX_TRIES 4        /* geometries that are fitted to a pair */

typedef struct verify_job {
    const kb_features *a, *b;
    const kb_verify_options *o;
    int32_t plane; /* places of a homography that are asked for in any case */
    const kb_verification *other; /* of a look that verified the pair; this one has to have more places. NULL: none */
    kb_workspace *ws;
    kb_match *kept;
    size_t n, candidates;
    kb_point_pair *points;
    float *quality;
} verify_job;

/* What is known of a geometry: whether it is good is asked last, and not of all. */
typedef enum verify_state { NOT_GOOD, FOUND, GOOD } verify_state;

typedef struct verify_try {
    kb_geometry geometry;
    verify_state state;
    uint8_t *inliers;
    int32_t distinct;
    kb_fit_report fit;
} verify_try;

static int32_t looks_of(const kb_verify_options *o)
{
    double looks = o->pairs > 0 ? o->pairs : PAIRS;
    return looks < INT32_MAX ? (int32_t)looks + (looks < 1) : INT32_MAX;
}

static bool is_epipolar(kb_geometry g) { return g == KB_GEOMETRY_FUNDAMENTAL || g == KB_GEOMETRY_ESSENTIAL; }

static double threshold_of(const kb_verify_options *o, kb_geometry geometry)
{
    return (o->threshold > 0 ? o->threshold : THRESHOLD_PX) * (is_epipolar(geometry) ? 0.5 : 1);
}

static kb_status try_geometry(const verify_job *job, kb_geometry geometry, verify_try *out)
{
    kb_fit_options o;
    KB_INIT(o);
    KB_INIT(out->fit);
    o.geometry = out->geometry = geometry;
    o.threshold = threshold_of(job->o, geometry);
    o.quality = job->quality;
    o.seed = job->o->seed;
    o.max_iterations = job->other ? MORE_SAMPLES : SAMPLES;
    o.candidates = job->candidates;
    o.looks = looks_of(job->o);
    if (geometry == KB_GEOMETRY_ESSENTIAL || geometry == KB_GEOMETRY_ROTATION) {
        o.camera1 = job->o->camera_a;
        o.camera2 = job->o->camera_b;
    }
    out->inliers = kbi_workspace_get(job->ws, job->n);
    if (!out->inliers) return KB_E_MEMORY;
    memset(out->inliers, 0, job->n);
    kb_status status = kb_fit(job->points, job->n, &o, job->ws, out->inliers, &out->fit, NULL);
    bool found = status == KB_OK && out->fit.result == KB_FIT_FOUND && out->fit.places >= job->o->min_places;
    out->state = found ? FOUND : NOT_GOOD;
    return status;
}

/* Looks at the inliers when it is asked for the first time: that costs as much as the fit. */
static bool is_good(const verify_job *job, verify_try *t)
{
    if (t->state == FOUND)
        t->state = kbi_pair_distinct(job->a, job->b, job->kept, t->inliers, job->n, &t->distinct) ? GOOD : NOT_GOOD;
    return t->state == GOOD;
}

/* ---- the choice ---- */

/* Replaces `best` by another geometry where that one is good and best is not, or has fewer than `share` of its
 * places. */
static void prefer(const verify_job *job, verify_try *other, double share, verify_try *best)
{
    bool enough = other->fit.places >= share * best->fit.places;
    if (other->state == FOUND && (enough || !is_good(job, best)) && is_good(job, other)) *best = *other;
}

/* A homography, or an epipolar geometry where that explains clearly more, as COLMAP asks. */
static kb_status choose_plane_or_solid(const verify_job *job, verify_try *best)
{
    verify_try other;
    kb_status status = try_geometry(job, KB_GEOMETRY_HOMOGRAPHY, best);
    if (best->fit.places < job->plane) best->state = NOT_GOOD;
    if (status != KB_OK || (job->plane > 0 && !is_good(job, best))) return status;
    if (job->o->camera_a) {
        status = try_geometry(job, KB_GEOMETRY_ESSENTIAL, &other);
        if (status == KB_OK) prefer(job, &other, 1 / FLAT, best);
    }
    bool calibrated = best->geometry == KB_GEOMETRY_ESSENTIAL;
    if (status == KB_OK) status = try_geometry(job, KB_GEOMETRY_FUNDAMENTAL, &other);
    if (status == KB_OK) prefer(job, &other, 1 / (calibrated ? CALIBRATED : FLAT), best);
    return status;
}

/* Where a rotation explains as much as a homography, the camera only turned. */
static kb_status choose_geometry(const verify_job *job, verify_try *best)
{
    verify_try other;
    kb_geometry wanted = job->o->geometry == KB_GEOMETRY_ANY ? (kb_geometry)0 : job->o->geometry;
    kb_status status = choose_plane_or_solid(job, best);
    if (status != KB_OK || !is_good(job, best) || wanted == best->geometry) return status;
    if (wanted) {
        status = try_geometry(job, wanted, best);
        is_good(job, best);
        return status;
    }
    if (!job->o->camera_a || best->geometry != KB_GEOMETRY_HOMOGRAPHY) return KB_OK;
    status = try_geometry(job, KB_GEOMETRY_ROTATION, &other);
    if (status == KB_OK) prefer(job, &other, FLAT, best);
    return status;
}

static void fill_verification(const verify_try *best, kb_verification *out)
{
    if (best->state != GOOD) return;
    out->verified = 1;
    out->geometry = best->geometry;
    out->inliers = best->fit.inliers;
    out->places = best->fit.places;
    out->distinct = best->distinct;
    memcpy(out->model, best->fit.model, sizeof out->model);
    memcpy(out->rotation, best->fit.rotation, sizeof out->rotation);
    memcpy(out->translation, best->fit.translation, sizeof out->translation);
}

/* Which of the matches the filter kept, in their order, and which of these are inliers. */
static void mark_matches(const verify_job *job, const verify_try *best, const kb_match *matches, size_t n,
                         uint8_t *marks)
{
    for (size_t i = 0, k = 0; i < n; i++) {
        bool kept = k < job->n && job->kept[k].a == matches[i].a;
        bool inlier = kept && best->state == GOOD && best->inliers[k];
        marks[i] = inlier ? KBI_MATCH_INLIER : kept ? KBI_MATCH_KEPT : KBI_MATCH_DROPPED;
        k += kept;
    }
}

/* What the second look at a verified pair has. Where the first saw depth, this one need not look for a plane; and where
 * it has no more matches than that had places, for nothing. */
static kb_status choose_more(const verify_job *job, verify_try *best)
{
    kb_status status = KB_OK;
    if (job->n <= (size_t)job->other->places) return KB_OK;
    if (is_epipolar(job->other->geometry)) status = try_geometry(job, job->other->geometry, best);
    else status = choose_geometry(job, best);
    if (best->fit.places <= job->other->places) best->state = NOT_GOOD;
    if (status == KB_OK) is_good(job, best);
    return status;
}

static bool matches_allocate(verify_job *job, size_t n)
{
    job->kept = kbi_workspace_array(job->ws, n, sizeof *job->kept);
    job->points = kbi_workspace_array(job->ws, n, sizeof *job->points);
    job->quality = kbi_workspace_array(job->ws, n, sizeof *job->quality);
    return job->kept && job->points && job->quality;
}

static kb_status fit_matches(verify_job *job, const kb_match *matches, size_t n, uint8_t *marks, kb_verification *out)
{
    verify_try best = {.state = NOT_GOOD};
    if (!matches_allocate(job, n)) return KB_E_MEMORY;
    kb_status status = kb_filter(job->a, job->b, matches, n, NULL, job->ws, job->kept, &job->n, NULL);
    if (status == KB_OK) status = kb_match_points(job->a, job->b, job->kept, job->n, job->points, job->quality, NULL);
    if (status == KB_OK && job->n > 0) status = (job->other ? choose_more : choose_geometry)(job, &best);
    if (status != KB_OK) return status;
    mark_matches(job, &best, matches, n, marks);
    fill_verification(&best, out);
    return KB_OK;
}

static kb_status verify_rows(verify_job *job, kb_match *matches, uint8_t *marks, size_t *n, kb_verification *out)
{
    kb_match_options o;
    KB_INIT(o);
    o.max_ratio = job->o->max_ratio;
    o.max_distance = job->o->max_distance;
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    size_t mark = kbi_workspace_mark(job->ws);
    kb_status status = kb_match_features(job->a, job->b, &o, job->ws, matches, n, NULL);
    out->candidates = job->candidates = status == KB_OK ? *n : 0;
    if (status == KB_OK && *n > 0) status = fit_matches(job, matches, *n, marks, out);
    kbi_workspace_rewind(job->ws, mark);
    return status;
}

kb_status kbi_pair_verify(const kb_features *a, const kb_features *b, const kb_verify_options *options, int32_t plane,
                          kb_workspace *ws, kb_match *matches, uint8_t *marks, size_t *n, kb_verification *out)
{
    verify_job job = {.a = a, .b = b, .o = options, .plane = plane, .ws = ws};
    return verify_rows(&job, matches, marks, n, out);
}

/* ---- the public call ---- */

static kb_status read_both(const kb_features *a, const kb_features *b, kb_features f[2], kb_error *error)
{
    const uint32_t needs = KBI_PACKED_BITS | KBI_KEYPOINTS;
    kb_status status = kbi_features_read(&f[0], a, "a", needs, INT32_MAX / 64, error);
    if (status == KB_OK) status = kbi_features_read(&f[1], b, "b", needs, INT32_MAX / 64, error);
    if (status != KB_OK) return status;
    if (f[0].row_bytes > KB_MAX_BITS / 8)
        return kbi_fail_at(error, KB_E_ARGUMENT, "row_bytes", -1, "rows of %zu bytes, not 1 to %d", f[0].row_bytes,
                           KB_MAX_BITS / 8);
    return kbi_features_comparable(&f[0], &f[1], error);
}

/* One kind of rows of two images, and what they gave. */
typedef struct verify_look {
    kb_features a, b;
    kb_match *matches;
    uint8_t *inliers;
    kb_verification found;
} verify_look;

/* Drops the matches that the filter did not keep. */
static kb_status take_look(verify_look *look, const kb_verify_options *o, const kb_verification *other,
                           kb_workspace *ws)
{
    size_t n = 0, kept = 0;
    verify_job job = {.a = &look->a, .b = &look->b, .o = o, .other = other, .ws = ws};
    kb_status status = verify_rows(&job, look->matches, look->inliers, &n, &look->found);
    for (size_t i = 0; i < n && status == KB_OK; i++) {
        if (look->inliers[i] == KBI_MATCH_DROPPED) continue;
        look->matches[kept] = look->matches[i];
        look->inliers[kept++] = look->inliers[i] == KBI_MATCH_INLIER;
    }
    look->found.count = kept;
    look->found.look = look->a.upright ? KB_LOOK_UPRIGHT : KB_LOOK_ORIENTED;
    return status;
}

/* The same keypoints with their upright rows. */
static bool make_upright(kb_features *f, const uint8_t *rows, kb_workspace *ws)
{
    kb_keypoint *keypoints = kbi_workspace_array(ws, f->n, sizeof *keypoints);
    for (size_t i = 0; i < f->n && keypoints; i++) {
        keypoints[i] = f->keypoints[i];
        keypoints[i].angle = -1;
    }
    f->keypoints = keypoints;
    f->rows = (void *)(uintptr_t)rows; /* which is read only */
    f->upright = 1;
    return keypoints != NULL;
}

static bool upright_allocate(verify_look *look, kb_workspace *ws)
{
    look->matches = kbi_workspace_array(ws, look->a.n, sizeof *look->matches);
    look->inliers = kbi_workspace_get(ws, look->a.n);
    return look->matches && look->inliers;
}

/* Whether b is turned against a by more than MAX_TURN: whether the mean direction of the differences of the inliers'
 * angles is. */
static bool is_turned(const verify_look *look)
{
    double x = 0, y = 0, sine, cosine;
    for (size_t i = 0; i < look->found.count; i++) {
        if (!look->inliers[i]) continue;
        float from = look->a.keypoints[look->matches[i].a].angle, to = look->b.keypoints[look->matches[i].b].angle;
        kbi_sincos_degrees((double)(to < from ? to - from + 360 : to - from), &sine, &cosine);
        x += cosine;
        y += sine;
    }
    kbi_sincos_degrees(MAX_TURN, &sine, &cosine);
    return x <= 0 || x * x < cosine * cosine * (x * x + y * y);
}

/* Upright rows may know more of a pair that oriented rows verify, unless one image is turned. They do not decide about
 * others: with a second look, more facades with equal windows were taken for one. */
static kb_status take_both(verify_look *best, const kb_verify_options *o, kb_workspace *ws)
{
    verify_look upright = *best;
    kb_status status = take_look(best, o, NULL, ws);
    if (status != KB_OK || !best->found.verified || is_turned(best)) return status;
    if (!upright_allocate(&upright, ws) || !make_upright(&upright.a, o->upright_a, ws) ||
        !make_upright(&upright.b, o->upright_b, ws))
        return KB_E_MEMORY;
    status = take_look(&upright, o, &best->found, ws);
    if (status != KB_OK || upright.found.places <= best->found.places) return status;
    memcpy(best->matches, upright.matches, upright.found.count * sizeof *best->matches);
    memcpy(best->inliers, upright.inliers, upright.found.count);
    best->found = upright.found;
    return KB_OK;
}

kb_status kbi_pair_verify_measure(size_t n, size_t row_bytes, bool upright, kb_workspace *ws)
{
    verify_job job = {.ws = ws};
    verify_look look = {.a = {.n = n}};
    size_t mark = kbi_workspace_mark(ws);
    bool fits = !upright || (upright_allocate(&look, ws) && kbi_workspace_array(ws, n, sizeof(kb_keypoint)) &&
                             kbi_workspace_array(ws, n, sizeof(kb_keypoint)));
    kb_status status = fits ? kbi_match_measure(n, n, row_bytes, 1, ws) : KB_E_MEMORY;
    if (status == KB_OK && !matches_allocate(&job, n)) status = KB_E_MEMORY;
    if (status == KB_OK) status = kbi_filter_measure(n, ws);
    for (int i = 0; i < MAX_TRIES && status == KB_OK; i++)
        if (!kbi_workspace_get(ws, n)) status = KB_E_MEMORY;
    if (status == KB_OK) status = kbi_fit_measure(n, ws);
    kbi_workspace_rewind(ws, mark);
    return status;
}

static kb_status check_upright(const kb_features *a, const kb_verify_options *o, kb_error *error)
{
    if (!o->upright_a == !o->upright_b && !(o->upright_a && a->upright)) return KB_OK;
    if (o->upright_a && o->upright_b)
        return kbi_fail_at(error, KB_E_ARGUMENT, "upright_a", -1, "upright rows beside rows that are upright already");
    const char *field = o->upright_a ? "upright_b" : "upright_a";
    return kbi_fail_at(error, KB_E_ARGUMENT, field, -1, "upright rows of one image, but %s is NULL", field);
}

kb_status kb_pair_verify(const kb_features *a, const kb_features *b, const kb_verify_options *options,
                         kb_workspace *workspace, kb_match *matches, uint8_t *inliers, kb_verification *out,
                         kb_error *error)
{
    kb_features f[2];
    kb_verify_options o;
    kbi_error_clear(error);
    if (!out || KBI_STRUCT_CHECK(kb_verification, out) != KB_OK) return kbi_fail_struct(error);
    if (KBI_STRUCT_READ(kb_verify_options, &o, options) != KB_OK) return kbi_fail_struct(error);
    kb_status status = read_both(a, b, f, error);
    if (status == KB_OK) status = check_upright(&f[0], &o, error);
    if (status != KB_OK) return status;
    if (f[0].n > 0 && (!matches || !inliers)) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    verify_look look = {.a = f[0], .b = f[1], .matches = matches, .inliers = inliers};
    status = o.upright_a ? take_both(&look, &o, ws) : take_look(&look, &o, NULL, ws);
    if (status == KB_OK) KBI_STRUCT_WRITE(kb_verification, out, &look.found);
    return kbi_workspace_end(&local, status, "rows, row_bytes, pair", error);
}
