#include "eval/pose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench.h"
#include "eval/peers.h"
#include "io/number.h"
#include "io/progress.h"
#include "learn/random.h"
#include "pipeline/pose.h"

#define PI 3.14159265358979323846

const double ev_pose_limits[EV_POSE_LIMITS] = {5, 10, 20};

const char *ev_pose_solver_name(ev_pose_solver solver)
{
    static const char *const names[EV_POSE_SOLVERS] = {"keybits essential", "keybits essential, filtered",
                                                       "OpenCV findEssentialMat", "keybits pose",
                                                       "OpenCV solvePnPRansac"};
    return names[solver];
}

/* ------------------------------------------------------------------------------------------------------------ error */

static double angle_between(const double a[3], const double b[3])
{
    double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    double sine = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]), cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    return atan2(sine, cosine) * (180 / PI);
}

double ev_pose_error(const double r[9], const double t[3], const double true_r[9], const double true_t[3])
{
    double difference[9], axis[3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            difference[3 * i + j] =
                r[3 * i] * true_r[3 * j] + r[3 * i + 1] * true_r[3 * j + 1] + r[3 * i + 2] * true_r[3 * j + 2];
    return fmax(pose_angle_axis(difference, axis), angle_between(t, true_t));
}

/* ---------------------------------------------------------------------------------------------------------- solving */

/* Correspondences best first, for the two kinds; points NULL: no absolute pose. */
typedef struct pose_problem {
    const kb_point_pair *pairs;
    const kb_scene_point *points;
    size_t n;
    const kb_camera *camera[2];
    double rotation[9], translation[3]; /* the truth */
} pose_problem;

typedef struct pose_answer {
    bool found;
    double rotation[9], translation[3];
} pose_answer;

static bool solve_ours(const pose_problem *p, bool absolute, double threshold, kb_workspace *ws, pose_answer *out,
                       io_error *error)
{
    kb_fit_options o;
    kb_fit_report report;
    KB_INIT(o);
    KB_INIT(report);
    o.geometry = KB_ESSENTIAL;
    o.threshold = threshold;
    o.camera1 = p->camera[absolute ? 1 : 0];
    o.camera2 = p->camera[1];
    kb_status status = absolute ? kb_fit_pose(p->points, p->n, &o, ws, NULL, &report)
                                : kb_fit(p->pairs, p->n, &o, ws, NULL, &report);
    if (status != KB_OK) return io_fail(error, "fitting: %s", kb_status_string(status));
    out->found = report.result == KB_FIT_FOUND;
    memcpy(out->rotation, report.rotation, sizeof out->rotation);
    memcpy(out->translation, report.translation, sizeof out->translation);
    return true;
}

static bool solve(const pose_problem *p, ev_pose_solver solver, double threshold, kb_workspace *ws, pose_answer *out,
                  io_error *error)
{
    switch (solver) {
    case EV_POSE_ESSENTIAL_PEER:
        return ev_peer_essential(p->pairs, p->n, p->camera[0], p->camera[1], threshold, out->rotation, out->translation,
                                 &out->found, error);
    case EV_POSE_ABSOLUTE_PEER:
        return ev_peer_pose(p->points, p->n, p->camera[1], threshold, out->rotation, out->translation, &out->found,
                            error);
    default: return solve_ours(p, solver == EV_POSE_ABSOLUTE, threshold, ws, out, error);
    }
}

/* Once to warm up, once timed. */
static bool score_solver(const pose_problem *p, ev_pose_solver solver, const ev_pose_options *o, kb_workspace *ws,
                         ev_pose_score *score, io_error *error)
{
    pose_answer answer = {.found = false};
    ev_bench_clock clock;
    if (!solve(p, solver, o->threshold, ws, &answer, error)) return false;
    ev_bench_clock_open(&clock, 1);
    ev_bench_reading before = ev_bench_clock_read(&clock);
    bool good = solve(p, solver, o->threshold, ws, &answer, error);
    score->ms += ev_bench_clock_read(&clock).ms - before.ms;
    ev_bench_clock_close(&clock);
    score->problems++;
    if (!good || !answer.found) return good;
    double angle = ev_pose_error(answer.rotation, answer.translation, p->rotation, p->translation);
    score->found++;
    for (int i = 0; i < EV_POSE_LIMITS; i++)
        if (angle < ev_pose_limits[i]) score->auc[i] += 1 - angle / ev_pose_limits[i];
    return true;
}

static void scores_finish(ev_pose_result *result)
{
    for (int s = 0; s < EV_POSE_SOLVERS; s++) {
        ev_pose_score *score = &result->solvers[s];
        if (score->problems == 0) continue;
        score->ms /= (double)score->problems;
        for (int i = 0; i < EV_POSE_LIMITS; i++) score->auc[i] /= (double)score->problems;
    }
}

/* -------------------------------------------------------------------------------------------------- rendered scenes */

enum { POINTS = 500 };
static const double width = 1280, height = 960;

static void rotation_about(const double axis[3], double radians, double r[9])
{
    double c = cos(radians), s = sin(radians), x = axis[0], y = axis[1], z = axis[2];
    const double all[9] = {c + x * x * (1 - c),     x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
                           y * x * (1 - c) + z * s, c + y * y * (1 - c),     y * z * (1 - c) - x * s,
                           z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)};
    memcpy(r, all, sizeof all);
}

static void random_direction(uint64_t *random, double v[3])
{
    double norm = 0;
    for (int i = 0; i < 3; i++) v[i] = kbi_random_normal(random), norm += v[i] * v[i];
    for (int i = 0; i < 3; i++) v[i] /= sqrt(norm);
}

static bool pixel_of(const kb_camera *camera, const double r[9], const double t[3], const double p[3], double *x,
                     double *y)
{
    double q[3];
    for (int k = 0; k < 3; k++) q[k] = r[3 * k] * p[0] + r[3 * k + 1] * p[1] + r[3 * k + 2] * p[2] + t[k];
    if (!(q[2] > 0.5) || kb_camera_project(camera, q[0] / q[2], q[1] / q[2], x, y) != KB_OK) return false;
    return *x >= 0 && *y >= 0 && *x < width && *y < height;
}

/* One correspondence; a wrong one has its place in image 2 anywhere. */
static void render_point(const pose_problem *p, uint64_t *random, bool wrong, kb_point_pair *pair, kb_scene_point *point)
{
    static const double same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, nowhere[3] = {0, 0, 0};
    double at[3], x1, y1, x2, y2;
    do {
        at[2] = kbi_random_between(random, 4, 12);
        at[0] = at[2] * kbi_random_between(random, -0.8, 0.8);
        at[1] = at[2] * kbi_random_between(random, -0.6, 0.6);
    } while (!pixel_of(p->camera[0], same, nowhere, at, &x1, &y1) ||
             !pixel_of(p->camera[1], p->rotation, p->translation, at, &x2, &y2));
    const double noise = 0.7;
    x1 += noise * kbi_random_normal(random), y1 += noise * kbi_random_normal(random);
    x2 += noise * kbi_random_normal(random), y2 += noise * kbi_random_normal(random);
    if (wrong) x2 = kbi_random_between(random, 0, width), y2 = kbi_random_between(random, 0, height);
    *pair = (kb_point_pair){x1, y1, x2, y2};
    *point = (kb_scene_point){at[0], at[1], at[2], x2, y2};
}

/* Good correspondences tend to come first, as distances order real ones: the share of wrong ones rises evenly. */
static void render_problem(pose_problem *p, uint64_t *random, kb_point_pair *pairs, kb_scene_point *points)
{
    double axis[3], share = kbi_random_between(random, 0.2, 0.7);
    random_direction(random, axis);
    rotation_about(axis, kbi_random_between(random, 0, 20) * (PI / 180), p->rotation);
    random_direction(random, p->translation);
    for (int i = 0; i < POINTS; i++) {
        double chance = fmin(0.95, share * 2 * (i + 0.5) / POINTS);
        render_point(p, random, kbi_random_unit(random) < chance, &pairs[i], &points[i]);
    }
}

bool ev_pose_rendered(const ev_pose_options *o, ev_pose_result *result, io_error *error)
{
    kb_camera camera;
    kb_point_pair *pairs = io_alloc(POINTS, sizeof *pairs);
    kb_scene_point *points = io_alloc(POINTS, sizeof *points);
    kb_workspace *ws = NULL;
    io_progress progress;
    bool good = kb_workspace_create(&ws) == KB_OK || io_fail(error, "out of memory");
    memset(result, 0, sizeof *result);
    KB_INIT(camera);
    camera.fx = camera.fy = 800, camera.cx = 0.5 * (width - 1), camera.cy = 0.5 * (height - 1);
    io_progress_start(&progress, "rendered scenes", (size_t)o->scenes, o->quiet);
    for (int32_t i = 0; i < o->scenes && good; i++) {
        uint64_t random = kbi_random_fork(o->seed, (uint64_t)i);
        pose_problem p = {.pairs = pairs, .points = points, .n = POINTS, .camera = {&camera, &camera}};
        render_problem(&p, &random, pairs, points);
        for (int s = 0; s < EV_POSE_SOLVERS && good; s++) {
            bool peer = s == EV_POSE_ESSENTIAL_PEER || s == EV_POSE_ABSOLUTE_PEER;
            if ((peer && !o->peers) || s == EV_POSE_ESSENTIAL_FILTERED) continue;
            good = score_solver(&p, (ev_pose_solver)s, o, ws, &result->solvers[s], error);
        }
        io_progress_update(&progress, (size_t)i + 1);
    }
    io_progress_end(&progress);
    scores_finish(result);
    kb_workspace_free(ws);
    free(points);
    free(pairs);
    return good;
}

/* ---------------------------------------------------------------------------------------------------------- folders */

/* An image of a folder; a point P of the world is seen along rotation P + translation. */
typedef struct posed_image {
    features features;
    kb_camera camera;
    double rotation[9], translation[3];
} posed_image;

static bool read_camera(const char *path, posed_image *out, io_error *error)
{
    double v[26]; /* K, three numbers of distortion, R, C, size */
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    const char *at = (const char *)bytes.data;
    bool good = true;
    for (int i = 0; i < 26 && good; i++) {
        good = io_number_parse(at, &at, &v[i]) && isfinite(v[i]);
        if (!good) io_fail(error, "%s: number %d of the 26 of a camera is missing or wrong", path, i + 1);
    }
    io_bytes_free(&bytes);
    if (!good) return false;
    if (v[9] != 0 || v[10] != 0 || v[11] != 0) return io_fail(error, "%s: the camera has distortion", path);
    KB_INIT(out->camera);
    out->camera.fx = v[0], out->camera.fy = v[4], out->camera.cx = v[2], out->camera.cy = v[5];
    for (int i = 0; i < 3; i++) {
        out->translation[i] = 0;
        for (int j = 0; j < 3; j++) {
            out->rotation[3 * i + j] = v[12 + 3 * j + i];
            out->translation[i] -= out->rotation[3 * i + j] * v[21 + j];
        }
    }
    return true;
}

static bool read_posed(const pipeline *p, const char *folder, const char *path, posed_image *out, io_error *error)
{
    char name[512];
    snprintf(name, sizeof name, "gt_dense_cameras/%.400s.camera", io_path_base(path));
    char *camera = io_path_join(folder, name);
    io_image image = {0};
    bool good = read_camera(camera, out, error) && io_image_read(path, NULL, &image, error) &&
                pipeline_describe(p, path, &image.view, false, &out->features, NULL, error);
    io_image_free(&image);
    free(camera);
    return good;
}

/* The pose of image b as image a sees the world. */
static void relative_pose(const posed_image *a, const posed_image *b, pose_problem *p)
{
    for (int i = 0; i < 3; i++) {
        p->translation[i] = b->translation[i];
        for (int j = 0; j < 3; j++) {
            const double *x = &b->rotation[3 * i], *y = &a->rotation[3 * j];
            p->rotation[3 * i + j] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
        }
        for (int j = 0; j < 3; j++) p->translation[i] -= p->rotation[3 * i + j] * a->translation[j];
    }
}

static int nearest_first(const void *a, const void *b)
{
    const kb_match *p = a, *q = b;
    if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
    return p->a - q->a;
}

/* Sorts matches and solves what their points tell. */
static bool score_matches(const pipeline *pl, const posed_image *a, const posed_image *b, kb_match *matches, size_t n,
                          const ev_pose_options *o, bool filtered, ev_pose_result *result, io_error *error)
{
    kb_point_pair *pairs = io_alloc(n + 1, sizeof *pairs);
    pose_problem p = {.pairs = pairs, .n = n, .camera = {&a->camera, &b->camera}};
    relative_pose(a, b, &p);
    qsort(matches, n, sizeof *matches, nearest_first);
    kb_match_points(a->features.keypoints.items, a->features.keypoints.count, b->features.keypoints.items,
                    b->features.keypoints.count, matches, n, pairs, NULL);
    ev_pose_solver ours = filtered ? EV_POSE_ESSENTIAL_FILTERED : EV_POSE_ESSENTIAL;
    bool good = score_solver(&p, ours, o, pl->workspace, &result->solvers[ours], error);
    if (good && o->peers && !filtered)
        good = score_solver(&p, EV_POSE_ESSENTIAL_PEER, o, NULL, &result->solvers[EV_POSE_ESSENTIAL_PEER], error);
    free(pairs);
    return good;
}

static bool score_images(const pipeline *p, const posed_image *a, const posed_image *b, const ev_pose_options *o,
                         ev_pose_result *result, io_error *error)
{
    pipeline_result matched = {0};
    size_t kept = 0;
    const io_keypoints *ka = &a->features.keypoints, *kb = &b->features.keypoints;
    bool good = pipeline_match(p, &a->features, &b->features, &matched, error) &&
                score_matches(p, a, b, matched.matches, matched.count, o, false, result, error);
    if (good && kb_filter(ka->items, ka->count, kb->items, kb->count, matched.matches, matched.count, NULL, p->workspace,
                          matched.matches, &kept) == KB_OK)
        good = score_matches(p, a, b, matched.matches, kept, o, true, result, error);
    pipeline_result_free(&matched);
    return good;
}

bool ev_pose_folder(const pipeline *p, const char *folder, const ev_pose_options *o, ev_pose_result *result,
                    io_error *error)
{
    io_names names = {NULL, 0};
    io_progress progress;
    char *images = io_path_join(folder, "images");
    bool good = io_names_images(&names, 1, &images, error);
    size_t n = names.count;
    posed_image *posed = io_alloc(n + 1, sizeof *posed);
    memset(result, 0, sizeof *result);
    io_progress_start(&progress, "images", n, o->quiet);
    for (size_t i = 0; i < n && good; i++) {
        good = read_posed(p, folder, names.items[i], &posed[i], error);
        for (size_t k = 1; k <= (size_t)o->apart && k <= i && good; k++)
            good = score_images(p, &posed[i - k], &posed[i], o, result, error);
        io_progress_update(&progress, i + 1);
    }
    io_progress_end(&progress);
    scores_finish(result);
    for (size_t i = 0; i < n; i++) features_free(&posed[i].features);
    free(posed);
    free(images);
    io_names_free(&names);
    return good;
}
