/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered scenes of eval/pose.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/pose_score.h"
#include "io/progress.h"
#include "learn/random.h"

#define PI 3.14159265358979323846

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
static void render_point(const ev_pose_problem *p, uint64_t *random, bool wrong, kb_point_pair *pair,
                         kb_scene_point *point)
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
static void render_problem(ev_pose_problem *p, uint64_t *random, kb_point_pair *pairs, kb_scene_point *points)
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
    bool good = kb_workspace_create(NULL, &ws) == KB_OK || io_fail(error, "out of memory");
    *result = (ev_pose_result){.threshold = o->threshold > 0 ? o->threshold : EV_POSE_PX};
    KB_INIT(camera);
    camera.fx = camera.fy = 800, camera.cx = 0.5 * (width - 1), camera.cy = 0.5 * (height - 1);
    io_progress_start(&progress, "rendered scenes", (size_t)o->scenes, o->quiet);
    for (int32_t i = 0; i < o->scenes && good; i++) {
        uint64_t random = kbi_random_fork(o->seed, (uint64_t)i);
        ev_pose_problem p = {.pairs = pairs,
                             .points = points,
                             .n = POINTS,
                             .camera = {&camera, &camera},
                             .threshold = result->threshold};
        render_problem(&p, &random, pairs, points);
        good = ev_pose_solve(&p, "", EV_POSE_ESSENTIAL, o, ws, result, error) &&
               (!o->peers || ev_pose_solve(&p, "", EV_POSE_ESSENTIAL_PEER, o, ws, result, error)) &&
               ev_pose_solve(&p, "", EV_POSE_ABSOLUTE, o, ws, result, error) &&
               (!o->peers || ev_pose_solve(&p, "", EV_POSE_ABSOLUTE_PEER, o, ws, result, error));
        io_progress_update(&progress, (size_t)i + 1);
    }
    io_progress_end(&progress);
    ev_pose_finish(result);
    kb_workspace_free(ws);
    free(points);
    free(pairs);
    if (!good) ev_pose_result_free(result);
    return good;
}
