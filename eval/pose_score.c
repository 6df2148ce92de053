/* SPDX-License-Identifier: Apache-2.0 */
#include "eval/pose_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench.h"
#include "eval/peers.h"
#include "pipeline/pose.h"

#define PI 3.14159265358979323846

const double ev_pose_limits[EV_POSE_LIMITS] = {5, 10, 20};

const char *ev_pose_solver_name(ev_pose_solver solver)
{
    static const char *const names[EV_POSE_SOLVERS] = {
        "keybits match",           "keybits essential", "keybits essential, filtered",
        "OpenCV findEssentialMat", "keybits pose",      "OpenCV solvePnPRansac"};
    return names[solver];
}

/* ------------------------------------------------------------------------------------------------------------ error */

static double angle_between(const double a[3], const double b[3])
{
    double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    double sine = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]), cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    return atan2(sine, cosine) * (180 / PI);
}

double ev_pose_error(const double r[9], const double t[3], const double true_r[9], const double true_t[3],
                     bool either_sign)
{
    double difference[9], axis[3], direction = angle_between(t, true_t);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            difference[3 * i + j] =
                r[3 * i] * true_r[3 * j] + r[3 * i + 1] * true_r[3 * j + 1] + r[3 * i + 2] * true_r[3 * j + 2];
    if (either_sign) direction = fmin(direction, 180 - direction);
    return fmax(pose_angle_axis(difference, axis), direction);
}

/* ---------------------------------------------------------------------------------------------------------- solving */

typedef struct pose_answer {
    bool found;
    size_t matches;
    double rotation[9], translation[3];
} pose_answer;

static void take_report(const kb_fit_report *report, pose_answer *out)
{
    out->found = report->result == KB_FIT_FOUND;
    memcpy(out->rotation, report->rotation, sizeof out->rotation);
    memcpy(out->translation, report->translation, sizeof out->translation);
}

static bool solve_ours(const ev_pose_problem *p, bool absolute, uint64_t seed, kb_workspace *ws, pose_answer *out,
                       io_error *error)
{
    kb_fit_options o;
    kb_fit_report report;
    KB_INIT(o);
    KB_INIT(report);
    o.geometry = KB_GEOMETRY_ESSENTIAL;
    o.threshold = p->threshold;
    o.seed = seed;
    o.camera1 = p->camera[absolute ? 1 : 0];
    o.camera2 = p->camera[1];
    kb_error why;
    kb_status status = absolute ? kb_fit_pose(p->points, p->n, &o, ws, NULL, &report, &why)
                                : kb_fit(p->pairs, p->n, &o, ws, NULL, &report, &why);
    if (status != KB_OK) return io_fail(error, "fitting: %s", why.text);
    take_report(&report, out);
    return true;
}

static bool solve_by_match(const ev_pose_problem *p, uint64_t seed, pose_answer *out, io_error *error)
{
    pipeline match = *p->pipeline;
    pipeline_result result = {0};
    features found[2] = {{0}, {0}};
    match.options.no_fit = false;
    match.options.geometry = KB_GEOMETRY_ESSENTIAL;
    match.options.cameras[0] = *p->camera[0];
    match.options.cameras[1] = *p->camera[1];
    match.options.threshold = p->threshold;
    match.options.seed = seed;
    bool good = pipeline_match_images(&match, p->image, found, &result, error);
    if (good) take_report(&result.fit, out);
    out->matches = result.count;
    pipeline_result_free(&result);
    for (int i = 0; i < 2; i++) features_free(&found[i]);
    return good;
}

static bool solve(const ev_pose_problem *p, ev_pose_solver solver, uint64_t seed, kb_workspace *ws, pose_answer *out,
                  io_error *error)
{
    switch (solver) {
    case EV_POSE_MATCH: return solve_by_match(p, seed, out, error);
    case EV_POSE_ESSENTIAL_PEER:
        return ev_peer_essential(p->pairs, p->n, p->camera[0], p->camera[1], p->threshold, out->rotation,
                                 out->translation, &out->found, error);
    case EV_POSE_ABSOLUTE_PEER:
        return ev_peer_pose(p->points, p->n, p->camera[1], p->threshold, out->rotation, out->translation, &out->found,
                            error);
    default: return solve_ours(p, solver == EV_POSE_ABSOLUTE, seed, ws, out, error);
    }
}

/* ---------------------------------------------------------------------------------------------------------- scoring */

static ev_pose_score *row_of(ev_pose_result *result, const char *origin, ev_pose_solver solver)
{
    for (size_t i = 0; i < result->count; i++)
        if (result->rows[i].solver == solver && strcmp(result->rows[i].origin, origin) == 0) return &result->rows[i];
    result->rows = io_grow(result->rows, result->count + 1, sizeof *result->rows);
    result->rows[result->count] = (ev_pose_score){.origin = origin, .solver = solver};
    return &result->rows[result->count++];
}

/* OpenCV's solvers have a seed of their own. */
static int32_t seeds_of(ev_pose_solver solver, const ev_pose_options *o)
{
    bool peer = solver == EV_POSE_ESSENTIAL_PEER || solver == EV_POSE_ABSOLUTE_PEER;
    return peer || o->seeds < 1 ? 1 : o->seeds;
}

/* Once to warm up, then timed with each seed. */
bool ev_pose_solve(const ev_pose_problem *p, const char *origin, ev_pose_solver solver, const ev_pose_options *o,
                   kb_workspace *ws, ev_pose_result *result, io_error *error)
{
    ev_pose_score *score = row_of(result, origin, solver);
    int32_t seeds = seeds_of(solver, o);
    pose_answer answer = {.matches = p->n};
    ev_bench_clock clock;
    bool good = solve(p, solver, o->seed, ws, &answer, error);
    score->problems++;
    score->matches += (double)answer.matches;
    ev_bench_clock_open(&clock, 1);
    for (int32_t s = 0; s < seeds && good; s++) {
        ev_bench_reading before = ev_bench_clock_read(&clock);
        good = solve(p, solver, o->seed + (uint64_t)s, ws, &answer, error);
        score->ms += (ev_bench_clock_read(&clock).ms - before.ms) / seeds;
        if (!good || !answer.found) continue;
        double angle = ev_pose_error(answer.rotation, answer.translation, p->rotation, p->translation, p->either_sign);
        score->found += 1.0 / seeds;
        for (int i = 0; i < EV_POSE_LIMITS; i++) score->auc[i] += fmax(0, 1 - angle / ev_pose_limits[i]) / seeds;
    }
    ev_bench_clock_close(&clock);
    return good;
}

void ev_pose_finish(ev_pose_result *result)
{
    for (size_t k = 0; k < result->count; k++) {
        ev_pose_score *score = &result->rows[k];
        double n = (double)score->problems;
        score->ms /= n;
        score->matches /= n;
        for (int i = 0; i < EV_POSE_LIMITS; i++) score->auc[i] /= n;
    }
}

void ev_pose_result_free(ev_pose_result *result)
{
    free(result->rows);
    memset(result, 0, sizeof *result);
}
