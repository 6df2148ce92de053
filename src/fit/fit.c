/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The public call: options in, report out. */
#include <math.h>

#include "common/options.h"
#include "fit/fit.h"

const fit_kind *kbi_fit_kind_of(kb_geometry geometry)
{
    static const fit_kind *const kinds[] = {
        [KB_GEOMETRY_HOMOGRAPHY] = &kbi_fit_homography, [KB_GEOMETRY_FUNDAMENTAL] = &kbi_fit_fundamental,
        [KB_GEOMETRY_SIMILARITY] = &kbi_fit_similarity, [KB_GEOMETRY_AFFINE] = &kbi_fit_affine,
        [KB_GEOMETRY_ESSENTIAL] = &kbi_fit_essential,   [KB_GEOMETRY_ROTATION] = &kbi_fit_rotation};
    return (uint32_t)geometry < KBI_COUNT(kinds) ? kinds[geometry] : NULL;
}

/* The caller's options with every default filled in, the cameras that they point to, and the kind of geometry. */
typedef struct fit_settings {
    kb_fit_options o;
    kb_camera camera1, camera2;
    const fit_kind *kind;
} fit_settings;

static kb_status read_camera(const kb_camera *given, const char *name, kb_camera *camera, kb_error *error)
{
    kb_status status = kbi_camera_read(given, camera);
    if (status == KB_E_STRUCT) return kbi_fail_struct(error);
    return status == KB_OK ? KB_OK
                           : kbi_fail_at(error, status, name, -1, "%s has a number that is not finite, a focal length "
                                         "that is not positive, or a number that its lens does not have", name);
}

static kb_status read_cameras(fit_settings *s, kb_error *error)
{
    if (!s->o.camera1)
        return s->kind->calibrated ? kbi_fail_at(error, KB_E_ARGUMENT, "camera1", -1,
                                                     "camera1 is NULL, but the geometry is of calibrated cameras")
                                       : KB_OK;
    kb_status status = read_camera(s->o.camera1, "camera1", &s->camera1, error);
    s->camera2 = s->camera1;
    if (status == KB_OK && s->o.camera2) status = read_camera(s->o.camera2, "camera2", &s->camera2, error);
    s->o.camera1 = &s->camera1;
    s->o.camera2 = &s->camera2;
    return status;
}

static const kbi_option fit_options[] = {
    KBI_OPTION(kb_fit_options, threshold, 'd', 3, 0, 1e9),
    KBI_OPTION(kb_fit_options, confidence, 'd', 0.995, 0, 1),
    KBI_OPTION(kb_fit_options, max_iterations, 'i', 10000, 1, INT32_MAX),
    KBI_OPTION(kb_fit_options, looks, 'i', 1, 1, INT32_MAX),
};

/* kind: NULL for what the options name. */
static kb_status read_fit_options(const kb_fit_options *given, const fit_kind *kind, fit_settings *s, kb_error *error)
{
    kb_fit_options *o = &s->o;
    if (KBI_STRUCT_READ(kb_fit_options, o, given) != KB_OK) return kbi_fail_struct(error);
    if (o->geometry == 0) o->geometry = KB_GEOMETRY_HOMOGRAPHY;
    s->kind = kind ? kind : kbi_fit_kind_of(o->geometry);
    if (!s->kind)
        return kbi_fail_at(error, KB_E_ARGUMENT, "geometry", -1, "there is no geometry %d", (int)o->geometry);
    kb_status status = read_cameras(s, error);
    if (status != KB_OK) return status;
    if (o->threshold == 0 && s->kind->epipolar) o->threshold = 1;
    /* PROSAC has seen the homographies it can find long before; a sample of seven takes longer. */
    if (o->max_iterations == 0 && s->kind->sample <= 4 && !o->plain_ransac) o->max_iterations = 2000;
    status = kbi_options_complete(fit_options, KBI_COUNT(fit_options), o, error);
    if (status != KB_OK || o->confidence < 1) return status;
    return kbi_fail_at(error, KB_E_ARGUMENT, "confidence", -1, "confidence is 1, but must be below 1");
}

/* ---- the report ---- */

static bool finite_numbers(const double *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (!(fabs(values[i]) <= DBL_MAX)) return false; /* mingw's isfinite warns */
    return true;
}

/* The normalised model back in pixels: H = T2^-1 H' T1, F = T2^T F' T1; models of rays stay as they are. False when
 * coordinates are so large that it cannot be written down. */
static bool to_pixels(const fit_kind *kind, const fit_pairs *pairs, const double *model, double *out)
{
    bool sampson = kind == &kbi_fit_fundamental;
    const fit_frame *a = &pairs->frame1, *b = &pairs->frame2;
    const double t1[9] = {a->scale, 0, -a->scale * a->x, 0, a->scale, -a->scale * a->y, 0, 0, 1};
    const double back[9] = {1 / b->scale, 0, b->x, 0, 1 / b->scale, b->y, 0, 0, 1};
    const double transposed[9] = {b->scale, 0, 0, 0, b->scale, 0, -b->scale * b->x, -b->scale * b->y, 1};
    double right[9], norm = 0;
    if (kind->calibrated) {
        memcpy(out, model, 9 * sizeof *out);
        return true;
    }
    kbi_fit_multiply3(model, t1, right);
    kbi_fit_multiply3(sampson ? transposed : back, right, out);
    for (int32_t i = 0; i < 9; i++) norm += out[i] * out[i];
    norm = sqrt(norm);
    if (!sampson && fabs(out[8]) > 1e-9 * norm) norm = out[8];
    for (int32_t i = 0; i < 9; i++) out[i] /= norm;
    return finite_numbers(out, 9);
}

/* (R | t) of the centred and scaled scene back in the caller's units: t = t' / scale - R centre. */
static void pose_to_scene(const fit_pairs *pairs, const double *model, kb_fit_report *report)
{
    const fit_frame *f = &pairs->frame1;
    for (int32_t i = 0; i < 3; i++) {
        const double *row = model + 4 * i;
        memcpy(report->rotation + 3 * i, row, 3 * sizeof *row);
        report->translation[i] = row[3] / f->scale - (row[0] * f->x + row[1] * f->y + row[2] * pairs->z);
    }
}

/* The model and the pose in the caller's units. False when coordinates are so large that they cannot be written. */
static bool fill_model(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch,
                       const fit_found *found, kb_fit_report *report)
{
    if (kind->size == FIT_POSE_SIZE) { /* by its size: a program without kb_fit_pose links none of it */
        pose_to_scene(pairs, found->model, report);
        return finite_numbers(report->rotation, 9) && finite_numbers(report->translation, 3);
    }
    if (kind == &kbi_fit_rotation) memcpy(report->rotation, found->model, sizeof report->rotation);
    if (kind == &kbi_fit_essential &&
        !kbi_fit_essential_pose(found->model, pairs, scratch->list.slot, found->score.count, report->rotation,
                                report->translation))
        return false;
    return to_pixels(kind, pairs, found->model, report->model);
}

static void fill_report(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch,
                        const fit_found *found, uint8_t *inliers, kb_fit_report *report)
{
    double sum = 0;
    if (!fill_model(kind, pairs, scratch, found, report)) {
        *report = (kb_fit_report){.result = KB_FIT_NOT_FOUND, .iterations = found->iterations};
        return;
    }
    for (int32_t k = 0; k < found->score.count; k++) {
        int32_t s = scratch->list.slot[k];
        sum += scratch->error2[s];
        if (inliers) inliers[pairs->origin[s]] = 1;
    }
    report->result = KB_FIT_FOUND;
    report->inliers = found->score.count;
    report->places = found->places;
    report->rms = kind->calibrated ? sqrt(sum / found->score.count) * pairs->pixel
                                   : sqrt(sum / found->score.count) / pairs->frame2.scale;
}

#define SCRATCH_BYTES (7 * sizeof(double) + 2 * sizeof(int32_t)) /* per pair */

/* The memory of a fit to n pairs is one block: the scratch, then what preparing takes. SIZE_MAX: more than size_t
 * holds. */
static size_t fit_bytes(size_t n)
{
    size_t prepare = kbi_fit_prepare_bytes(n);
    return n <= (SIZE_MAX - 1) / SCRATCH_BYTES && prepare < SIZE_MAX - n * SCRATCH_BYTES ? n * SCRATCH_BYTES + prepare
                                                                                         : SIZE_MAX;
}

kb_status kbi_fit_measure(size_t n, kb_workspace *workspace)
{
    if (n > INT32_MAX / 5) return KB_E_ARGUMENT;
    if (n == 0) return KB_OK;
    size_t mark = kbi_workspace_mark(workspace);
    bool fits = kbi_workspace_get(workspace, n) && kbi_workspace_get(workspace, fit_bytes(n)); /* any.c marks inliers */
    kbi_workspace_rewind(workspace, mark);
    return fits ? KB_OK : KB_E_MEMORY;
}

static fit_scratch scratch_in(double *d, size_t n, bool weighted)
{
    int32_t *slots = (int32_t *)(d + 7 * n);
    return (fit_scratch){
        .error2 = d,
        .list = {.slot = slots, .weight = d + 5 * n},
        .part = {.x1 = d + n, .y1 = d + 2 * n, .x2 = d + 3 * n, .y2 = d + 4 * n, .weight = weighted ? d + 6 * n : NULL,
                 .slot = slots + n}};
}

/* The slots of the inliers into scratch->list.slot, of their places into scratch->part.slot; the errors are in
 * scratch->error2. */
static void list_inliers(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, fit_found *found)
{
    int32_t n = 0;
    if (!found->measured) found->score = kbi_fit_score(kind, pairs, found->model, scratch);
    for (int32_t s = 0; s < pairs->n; s++) {
        scratch->list.slot[n] = s;
        n += scratch->error2[s] <= pairs->threshold2;
    }
    found->places = kbi_fit_places(pairs, scratch->list.slot, n, scratch, scratch->part.slot);
}

/* list_inliers after another search has overwritten the scratch. */
static void list_again(const fit_kind *kind, const fit_pairs *pairs, const fit_scratch *scratch, fit_found *found)
{
    found->measured = false;
    list_inliers(kind, pairs, scratch, found);
}

/* Whether the inliers, although more than chance explains, determine the model. */
static bool determined(const fit_kind *kind, const fit_pairs *pairs, const fit_limits *limits,
                       const fit_scratch *scratch, fit_found *found)
{
    if (kind == &kbi_fit_homography || kind == &kbi_fit_affine)
        return kbi_fit_off_line(pairs, scratch->part.slot, found->places);
    if (kind == &kbi_fit_fundamental) return kbi_fit_off_plane(kind, pairs, limits, scratch, found);
    if (kind == &kbi_fit_essential) {
        kbi_fit_off_plane(kind, pairs, limits, scratch, found); /* a plane alone determines it, too */
        list_again(kind, pairs, scratch, found);
        return kbi_fit_has_parallax(pairs, limits, scratch, found);
    }
    return true;
}

static kb_fit_result fit_prepared(const fit_settings *settings, const fit_pairs *pairs, const fit_scratch *scratch,
                                  fit_found *found)
{
    const kb_fit_options *o = &settings->o;
    const fit_kind *kind = settings->kind;
    fit_limits limits = {o->confidence, o->max_iterations, o->seed, !o->plain_ransac, true};
    kbi_fit_search(kind, pairs, &limits, scratch, found);
    if (found->score.count < kind->sample) return KB_FIT_NOT_FOUND;
    kbi_fit_refine(kind, pairs, scratch, found);
    list_inliers(kind, pairs, scratch, found);
    if (!kbi_fit_significant(kind, pairs, scratch, found)) return KB_FIT_NOT_FOUND;
    if (!determined(kind, pairs, &limits, scratch, found)) return KB_FIT_DEGENERATE;
    if (kind->epipolar) list_again(kind, pairs, scratch, found); /* determined() has searched for a plane, a rotation */
    return KB_FIT_FOUND;
}

/* Prepares the correspondences, searches, and fills a full report. */
static void fit_rows(const fit_input *input, const fit_settings *settings, uint8_t *memory, uint8_t *inliers,
                     kb_fit_report *report)
{
    fit_pairs prepared;
    fit_found found;
    size_t n = (size_t)input->n;
    fit_scratch scratch = scratch_in((double *)(void *)memory, n, settings->o.deviations);
    report->result = kbi_fit_prepare(input, &settings->o, settings->kind, memory + n * SCRATCH_BYTES, &prepared);
    if (report->result != KB_FIT_FOUND) return;
    report->result = fit_prepared(settings, &prepared, &scratch, &found);
    report->iterations = found.iterations;
    if (report->result == KB_FIT_FOUND) fill_report(settings->kind, &prepared, &scratch, &found, inliers, report);
}

/* What kb_fit and kb_fit_pose share. kind: NULL for what the options name. */
static kb_status fit_input_with(const fit_input *input, const fit_kind *kind, const kb_fit_options *options,
                                kb_workspace *workspace, uint8_t *inliers, kb_fit_report *report, kb_error *error)
{
    fit_settings settings;
    kb_fit_report full;
    if (KBI_STRUCT_CHECK(kb_fit_report, report) != KB_OK) return kbi_fail_struct(error);
    size_t bytes = fit_bytes((size_t)input->n);
    kb_status status = read_fit_options(options, kind, &settings, error);
    if (status != KB_OK) return status;
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    bool enough = input->n >= settings.kind->sample;
    uint8_t *memory = enough ? kbi_workspace_get(ws, bytes) : NULL;
    KB_INIT(full);
    full.result = KB_FIT_TOO_FEW;
    full.geometry = kind ? (kb_geometry)0 : settings.o.geometry;
    if (inliers && input->n) memset(inliers, 0, (size_t)input->n);
    if (memory) fit_rows(input, &settings, memory, inliers, &full);
    KBI_STRUCT_WRITE(kb_fit_report, report, &full);
    return kbi_workspace_end(&local, memory || !enough ? KB_OK : KB_E_MEMORY, "pairs", error);
}

static kb_status check_pairs(const void *pairs, size_t n, size_t max, const kb_fit_report *report, kb_error *error)
{
    kbi_error_clear(error);
    if (!report || (n && !pairs))
        return kbi_fail(error, KB_E_ARGUMENT, "%s: a pointer is NULL", report ? "pairs" : "report");
    return n <= max ? KB_OK : kbi_fail(error, KB_E_ARGUMENT, "%zu pairs, but at most %zu can be fitted", n, max);
}

kb_status kb_fit(const kb_point_pair *pairs, size_t n, const kb_fit_options *options, kb_workspace *workspace,
                 uint8_t *inliers, kb_fit_report *report, kb_error *error)
{
    kb_fit_options o;
    kb_status status = check_pairs(pairs, n, INT32_MAX / 4, report, error);
    if (status != KB_OK) return status;
    if (KBI_STRUCT_READ(kb_fit_options, &o, options) != KB_OK) return kbi_fail_struct(error);
    o.struct_size = sizeof o;
    if (o.geometry == KB_GEOMETRY_ANY) return kbi_fit_any(pairs, n, &o, workspace, inliers, report, error);
    const fit_input input = {n ? &pairs->x1 : NULL, 4, (int32_t)n};
    return fit_input_with(&input, NULL, options, workspace, inliers, report, error);
}

kb_status kb_fit_pose(const kb_scene_point *points, size_t n, const kb_fit_options *options, kb_workspace *workspace,
                      uint8_t *inliers, kb_fit_report *report, kb_error *error)
{
    kb_status status = check_pairs(points, n, INT32_MAX / 5, report, error);
    if (status != KB_OK) return status;
    const fit_input input = {n ? &points->X : NULL, 5, (int32_t)n};
    return fit_input_with(&input, &kbi_fit_pose, options, workspace, inliers, report, error);
}

const char *kbi_fit_result_name(int32_t result)
{
    static const char *const names[] = {[KB_FIT_FOUND] = "found",
                                        [KB_FIT_TOO_FEW] = "too few pairs",
                                        [KB_FIT_DEGENERATE] = "degenerate",
                                        [KB_FIT_NOT_FOUND] = "not found"};
    return (uint32_t)result < KBI_COUNT(names) ? names[result] : NULL;
}

const char *kbi_geometry_name(int32_t geometry)
{
    const fit_kind *kind = kbi_fit_kind_of((kb_geometry)geometry);
    if (geometry == KB_GEOMETRY_ANY) return "any";
    return kind ? kind->name : NULL;
}
