/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The public call: options in, the best look out. */
#include "common/features.h"
#include "fit/fit.h"
#include "image/image.h"
#include "model/model.h"
#include "pair/pair.h"

#define MIN_ROLL 4.0f /* degrees; below it upright rows are as good as rotated ones */
#define MIN_EXPLAINED 0.3 /* of the matches, below which a geometry is no help: a homography of a solid scene */
#define MIN_SHARE 0.5 /* of the kept matches that agree with upright's geometry, below which oriented is tried too */

const char *kbi_look_name(int32_t look)
{
    switch (look) {
    case KB_LOOK_UPRIGHT: return "upright";
    case KB_LOOK_ORIENTED: return "oriented";
    case KB_LOOK_ROTATED: return "rotated";
    case KB_LOOK_WARPED: return "warped";
    case KB_LOOK_GUIDED: return "guided";
    default: return NULL;
    }
}

/* ---- options ---- */

static kb_status read_looks(pair_job *job)
{
    const int32_t first = KB_LOOK_UPRIGHT | KB_LOOK_ORIENTED, usual = first | KB_LOOK_ROTATED | KB_LOOK_WARPED;
    int32_t *looks = &job->options.looks;
    if (*looks == 0) *looks = usual;
    if (*looks & ~(usual | KB_LOOK_GUIDED)) return KB_E_ARGUMENT;
    if (job->detect.orientation == KB_ORIENTATION_NONE) *looks &= ~KB_LOOK_ORIENTED;
    return *looks & first ? KB_OK : KB_E_ARGUMENT;
}

static kb_status read_options(const kb_model *model, const kb_pair_options *given, pair_job *job)
{
    kb_pair_options *o = &job->options;
    kb_status status = KBI_STRUCT_READ(kb_pair_options, o, given);
    if (status == KB_OK) status = KBI_STRUCT_READ(kb_detect_options, &job->detect, o->detect);
    if (status == KB_OK) status = KBI_STRUCT_READ(kb_match_options, &job->match, o->match);
    if (status == KB_OK) status = KBI_STRUCT_READ(kb_fit_options, &job->fit, o->fit);
    if (status == KB_OK) status = read_looks(job);
    if (status != KB_OK) return status;
    job->model = model;
    job->detect.struct_size = sizeof job->detect;
    job->match.struct_size = sizeof job->match;
    job->fit.struct_size = sizeof job->fit;
    if (job->fit.geometry == 0) job->fit.geometry = KB_GEOMETRY_ANY;
    if (job->detect.detector == 0) job->detect.detector = kb_detector_get_info(0).detector;
    job->detect.second_angle = 0;
    job->detect.parallel = job->match.parallel = o->parallel;
    job->orient_scale = o->scale == 0 ? kb_model_scale(NULL, kbi_preset_of(job->detect.detector)) : o->scale;
    job->describe_scale = o->scale == 0 ? kb_model_scale(model, kbi_preset_of(job->detect.detector)) : o->scale;
    return job->detect.mask || (o->no_filter & ~1) ? KB_E_ARGUMENT : KB_OK;
}

/* ---- keypoints ---- */

/* SIFT gives a keypoint per peak of orientations, one after the other; without angles they are one. */
static size_t drop_copies(kb_keypoint *k, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *last = kept ? &k[kept - 1] : NULL;
        if (!last || last->x != k[i].x || last->y != k[i].y || last->size != k[i].size) k[kept++] = k[i];
    }
    return kept;
}

static kb_status find_keypoints(pair_job *job, pair_side *side, const kb_image *image, const kb_image *mask)
{
    kb_detect_options o = job->detect;
    size_t row = job->model->row_floats ? (size_t)job->model->row_floats * sizeof(float)
                                        : (size_t)job->model->row_bytes;
    o.orientation = KB_ORIENTATION_NONE;
    o.mask = mask;
    kb_status status = kbi_gray8(image, job->workspace, &side->gray);
    kb_features f = kbi_pair_view(job, side, NULL);
    if (status == KB_OK) status = kb_detect(&side->gray, &o, job->workspace, &f, job->error);
    if (status != KB_OK) return status;
    side->n = drop_copies(side->keypoints, f.n);
    side->rows = kbi_workspace_array(job->workspace, side->n, row);
    return side->rows ? KB_OK : KB_E_MEMORY;
}

/* ---- looks ---- */

static bool found(const pair_look *look) { return look->fit.result == KB_FIT_FOUND; }

/* A geometry that is degenerate is more than none. */
static int32_t rank_of(const pair_look *look)
{
    return found(look) ? 2 : look->fit.result == KB_FIT_DEGENERATE ? 1 : 0;
}

static bool better(const pair_look *a, const pair_look *b)
{
    if (rank_of(a) != rank_of(b)) return rank_of(a) > rank_of(b);
    return found(a) ? a->fit.places > b->fit.places : a->count > b->count;
}

/* One more look, which takes the place of the best one where it is better. */
static kb_status try_look(pair_job *job, kb_look look, float rotation, pair_look *best, pair_look *spare)
{
    if (!(job->options.looks & (int32_t)look)) return KB_OK;
    job->tried |= (int32_t)look;
    spare->look = look;
    spare->rotation = rotation;
    kb_status (*take)(pair_job *, const pair_look *, pair_look *) =
        look == KB_LOOK_WARPED ? kbi_pair_warped_look : look == KB_LOOK_GUIDED ? kbi_pair_guided_look : NULL;
    kb_status status = take ? take(job, best, spare) : kbi_pair_look(job, spare);
    if (status == KB_OK && (job->looks == 1 || better(spare, best))) {
        pair_look other = *best;
        *best = *spare;
        *spare = other;
    }
    return status;
}

/* Upright rows of a turned image can agree with what repeats in it, but not many of them do. Those that are left of a
 * scene with depth may lie on one plane, so that a degenerate geometry tells nothing. */
static bool believed(const pair_look *look)
{
    return found(look) && (double)look->fit.inliers >= MIN_SHARE * (double)look->count;
}

/* The rotation of the pair, as the look shows it that knows more. */
static float rotation_of(const pair_job *job, const pair_look *best, const pair_look *spare)
{
    if (best->look == KB_LOOK_UPRIGHT && found(best)) return kbi_pair_rotation_of_points(job, best);
    if (!job->sides[0].angles) return 0;
    return kbi_pair_rotation_of_angles(job, best->look == KB_LOOK_ORIENTED ? best : spare);
}

/* Whether a look that rests on the geometry can be expected to find more. */
static bool worth_more(const pair_look *look)
{
    return found(look) && (double)look->fit.inliers >= MIN_EXPLAINED * (double)look->count;
}

static bool maps_points(kb_geometry g)
{
    return g == KB_GEOMETRY_HOMOGRAPHY || g == KB_GEOMETRY_SIMILARITY || g == KB_GEOMETRY_AFFINE;
}

static bool maps_lines(kb_geometry g) { return g == KB_GEOMETRY_FUNDAMENTAL || g == KB_GEOMETRY_ESSENTIAL; }

/* The looks that follow a geometry fit the same one: then their places can be compared. */
static void settle_geometry(pair_job *job, const pair_look *best)
{
    if (job->fit.geometry != KB_GEOMETRY_ANY || !found(best)) return;
    job->fit.geometry = best->fit.geometry;
    if (maps_lines(job->fit.geometry)) job->fit.threshold /= FIT_ANY_THRESHOLDS;
    else job->deviations = NULL; /* and the keypoints of a warped image are others */
}

static kb_status try_looks(pair_job *job, pair_look *best, pair_look *spare)
{
    const int32_t both = KB_LOOK_UPRIGHT | KB_LOOK_ORIENTED;
    bool turned = false;
    kb_status status = KB_OK;
    if ((job->options.looks & both) == both) status = kbi_pair_looks_turned(job, spare, &turned);
    if (status == KB_OK) status = try_look(job, turned ? KB_LOOK_ORIENTED : KB_LOOK_UPRIGHT, 0, best, spare);
    if (status == KB_OK && !believed(best))
        status = try_look(job, turned ? KB_LOOK_UPRIGHT : KB_LOOK_ORIENTED, 0, best, spare);
    if (status != KB_OK) return status;
    settle_geometry(job, best);
    bool upright = job->tried & KB_LOOK_UPRIGHT;
    float rotation = rotation_of(job, best, spare);
    bool rolled = rotation >= MIN_ROLL && rotation <= 360 - MIN_ROLL;
    bool warped = (job->options.looks & KB_LOOK_WARPED) && maps_points(best->fit.geometry) && worth_more(best) &&
                  !job->model->row_floats; /* a warped image is turned, too */
    if ((rolled || !upright) && !warped) status = try_look(job, KB_LOOK_ROTATED, rotation, best, spare);
    if (status != KB_OK || !worth_more(best) || job->model->row_floats) return status;
    settle_geometry(job, best);
    if (maps_points(job->fit.geometry)) return try_look(job, KB_LOOK_WARPED, rolled ? rotation : 0, best, spare);
    return maps_lines(job->fit.geometry) ? try_look(job, KB_LOOK_GUIDED, 0, best, spare) : KB_OK;
}

static bool allocate_look(pair_job *job, pair_look *look)
{
    *look = (pair_look){.fit.result = KB_FIT_NOT_FOUND};
    look->matches = kbi_workspace_array(job->workspace, job->sides[0].n, sizeof *look->matches);
    look->inliers = kbi_workspace_get(job->workspace, job->sides[0].n);
    return look->matches && look->inliers;
}

/* What the caller's features say of the keypoints that they hold. */
static void fill_features(const pair_job *job, int k, const pair_look *look, size_t n, kb_features *out)
{
    out->n = n;
    out->width = job->sides[k].gray.width;
    out->height = job->sides[k].gray.height;
    out->detector = job->detect.detector;
    out->revision = kb_detector_get_info(out->detector).revision;
    out->upright = look->angles == KB_LOOK_UPRIGHT;
}

static kb_status match_sides(pair_job *job, kb_pair *pair)
{
    pair_look best, spare;
    size_t n = job->sides[0].n;
    job->points = kbi_workspace_array(job->workspace, n, sizeof *job->points);
    job->quality = kbi_workspace_array(job->workspace, n, sizeof *job->quality);
    bool weighted = job->options.fit && (maps_lines(job->fit.geometry) || job->fit.geometry == KB_GEOMETRY_ANY);
    if (weighted) job->deviations = kbi_workspace_array(job->workspace, n, sizeof *job->deviations);
    if (weighted && !job->deviations) return KB_E_MEMORY;
    if (!allocate_look(job, &best) || !allocate_look(job, &spare) || !job->points || !job->quality) return KB_E_MEMORY;
    kb_status status = try_looks(job, &best, &spare);
    for (int k = 0; k < 2 && status == KB_OK; k++) status = kbi_pair_set_angles(job, k, &best);
    if (status != KB_OK) return status;
    if (best.nb && best.b != job->sides[1].keypoints) memcpy(job->sides[1].keypoints, best.b, best.nb * sizeof *best.b);
    if (best.count) memcpy(pair->matches, best.matches, best.count * sizeof *best.matches);
    if (best.count) memcpy(pair->inliers, best.inliers, best.count);
    if (pair->fit) KBI_STRUCT_WRITE(kb_fit_report, pair->fit, &best.fit);
    fill_features(job, 0, &best, n, pair->a);
    fill_features(job, 1, &best, best.nb, pair->b);
    pair->count = best.count;
    pair->candidates = best.candidates;
    pair->look = best.look;
    pair->rotation = best.rotation;
    pair->looks = job->looks;
    return KB_OK;
}

/* The buffers of the caller. The smaller of both capacities counts. */
static kb_status read_pair(const kb_pair *pair, pair_job *job, kb_error *error)
{
    kb_features f[2];
    kb_status status = KBI_STRUCT_CHECK(kb_pair, pair);
    if (status == KB_OK && pair->fit) status = KBI_STRUCT_CHECK(kb_fit_report, pair->fit);
    if (status != KB_OK) return kbi_fail_struct(error);
    status = kbi_features_read(&f[0], pair->a, "a", 0, PTRDIFF_MAX, error);
    if (status == KB_OK) status = kbi_features_read(&f[1], pair->b, "b", 0, PTRDIFF_MAX, error);
    if (status != KB_OK) return status;
    job->capacity = kbi_min_z(f[0].capacity, f[1].capacity);
    for (int k = 0; k < 2; k++) job->sides[k].keypoints = f[k].keypoints;
    if (job->capacity == 0 || (f[0].keypoints && f[1].keypoints && pair->matches && pair->inliers)) return KB_OK;
    return kbi_fail(error, KB_E_ARGUMENT, "keypoints, matches or inliers: a pointer is NULL");
}

kb_status kb_match_images(const kb_model *model, const kb_image *a, const kb_image *b, const kb_pair_options *options,
                          kb_workspace *workspace, kb_pair *pair, kb_error *error)
{
    pair_job job = {.error = error};
    kbi_error_clear(error);
    if (!model || !pair) return kbi_fail(error, KB_E_ARGUMENT, "%s: a pointer is NULL", model ? "pair" : "model");
    kb_status status = read_pair(pair, &job, error);
    if (status != KB_OK) return status;
    status = kbi_image_check(a);
    if (status == KB_OK) status = kbi_image_check(b);
    if (status == KB_OK) status = read_options(model, options, &job);
    if (status != KB_OK) return kbi_fail_status(error, status);
    kb_workspace local;
    job.workspace = kbi_workspace_or(workspace, &local);
    status = find_keypoints(&job, &job.sides[0], a, job.options.mask_a);
    if (status == KB_OK) status = find_keypoints(&job, &job.sides[1], b, job.options.mask_b);
    if (status == KB_OK) status = match_sides(&job, pair);
    return kbi_workspace_end(&local, status, "", error);
}
