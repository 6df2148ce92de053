/* SPDX-License-Identifier: Apache-2.0 */
/* Gauss-Newton for a pose. The unknowns are a small rotation w and a shift s of the camera's own coordinates, and the
 * relative change g of the focal length: a point c becomes c + w x c + s, the focal length f (1 + g). The centre of the
 * camera moves by -R's, so the spread of s is that of the centre. */
#include "collection/pose_refine.h"

#include <math.h>
#include <string.h>

#define UNKNOWNS 7
#define ROUNDS 10
#define SMALL_GAIN 1e-6 /* of the squared error, with which rounds end: a small part of the standard deviations */

static bool to_camera(const double r[9], const double t[3], const kb_scene_point *p, double c[3])
{
    for (int i = 0; i < 3; i++) c[i] = r[3 * i] * p->X + r[3 * i + 1] * p->Y + r[3 * i + 2] * p->Z + t[i];
    return c[2] > 0;
}

bool pose_error(const kb_camera *camera, const double rotation[9], const double translation[3],
                const kb_scene_point *point, double error[2])
{
    double c[3], x, y;
    if (!to_camera(rotation, translation, point, c) ||
        kb_camera_project(camera, c[0] / c[2], c[1] / c[2], &x, &y) != KB_OK || !isfinite(x) || !isfinite(y))
        return false;
    error[0] = x - point->x;
    error[1] = y - point->y;
    return true;
}

/* Derivatives of the pixel `at` by its ray, by differences: lenses are smooth. */
static bool lens_slope(const kb_camera *camera, double u, double v, const double at[2], double slope[4])
{
    const double h = 1e-6;
    double x, y;
    for (int k = 0; k < 2; k++) {
        kb_camera_project(camera, u + (k ? 0 : h), v + (k ? h : 0), &x, &y);
        slope[k] = (x - at[0]) / h;
        slope[2 + k] = (y - at[1]) / h;
    }
    return isfinite(slope[0]) && isfinite(slope[1]) && isfinite(slope[2]) && isfinite(slope[3]);
}

/* Rows of the Jacobian for x and y, of a point that is seen with that error. */
static bool point_slope(const kb_camera *camera, const double r[9], const double t[3], const kb_scene_point *p,
                        const double error[2], double j[2][UNKNOWNS])
{
    const double at[2] = {p->x + error[0], p->y + error[1]};
    double c[3], s[4];
    if (!to_camera(r, t, p, c)) return false;
    double u = c[0] / c[2], v = c[1] / c[2];
    if (!lens_slope(camera, u, v, at, s)) return false;
    const double du[UNKNOWNS - 1] = {-u * v, 1 + u * u, -v, 1 / c[2], 0, -u / c[2]},
                 dv[UNKNOWNS - 1] = {-(1 + v * v), u * v, u, 0, 1 / c[2], -v / c[2]};
    for (int k = 0; k < UNKNOWNS - 1; k++) {
        j[0][k] = s[0] * du[k] + s[1] * dv[k];
        j[1][k] = s[2] * du[k] + s[3] * dv[k];
    }
    j[0][6] = at[0] - camera->cx;
    j[1][6] = at[1] - camera->cy;
    return true;
}

/* The inverse of a symmetric positive matrix of n x n numbers, by Gauss and Jordan. */
static bool invert(double m[UNKNOWNS][UNKNOWNS], int n, double out[UNKNOWNS][UNKNOWNS])
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) out[i][k] = i == k;
    for (int i = 0; i < n; i++) {
        double pivot = m[i][i];
        if (!(pivot > 1e-300)) return false;
        for (int k = 0; k < n; k++) {
            m[i][k] /= pivot;
            out[i][k] /= pivot;
        }
        for (int row = 0; row < n; row++) {
            double factor = m[row][i];
            if (row == i || factor == 0) continue;
            for (int k = 0; k < n; k++) {
                m[row][k] -= factor * m[i][k];
                out[row][k] -= factor * out[i][k];
            }
        }
    }
    return true;
}

/* Rows of unit length, at right angles. */
static void orthonormal(double r[9])
{
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            double along = r[0] * r[3] + r[1] * r[4] + r[2] * r[5];
            for (int k = 0; k < 3; k++) r[3 + k] -= along * r[k];
        }
        double length = sqrt(r[3 * i] * r[3 * i] + r[3 * i + 1] * r[3 * i + 1] + r[3 * i + 2] * r[3 * i + 2]);
        for (int k = 0; k < 3; k++) r[3 * i + k] /= length;
    }
    for (int k = 0; k < 3; k++) r[6 + k] = r[(k + 1) % 3] * r[3 + (k + 2) % 3] - r[(k + 2) % 3] * r[3 + (k + 1) % 3];
}

/* v + w x v */
static void turn(const double w[3], double v[3])
{
    const double a[3] = {v[0], v[1], v[2]};
    for (int i = 0; i < 3; i++) v[i] += w[(i + 1) % 3] * a[(i + 2) % 3] - w[(i + 2) % 3] * a[(i + 1) % 3];
}

static void apply(const double step[UNKNOWNS], kb_camera *camera, bool focal, double r[9], double t[3])
{
    for (int k = 0; k < 3; k++) {
        double column[3] = {r[k], r[3 + k], r[6 + k]};
        turn(step, column);
        for (int i = 0; i < 3; i++) r[3 * i + k] = column[i];
    }
    turn(step, t);
    for (int i = 0; i < 3; i++) t[i] += step[3 + i];
    orthonormal(r);
    if (focal) {
        camera->fx *= 1 + step[6];
        camera->fy *= 1 + step[6];
    }
}

typedef struct normal_equations {
    double matrix[UNKNOWNS][UNKNOWNS], right[UNKNOWNS], squares;
    size_t count;
} normal_equations;

static void add_points(normal_equations *e, const kb_scene_point *points, const uint8_t *used, size_t n,
                       const kb_camera *camera, const double r[9], const double t[3])
{
    memset(e, 0, sizeof *e);
    for (size_t p = 0; p < n; p++) {
        double error[2], j[2][UNKNOWNS];
        if (!used[p] || !pose_error(camera, r, t, &points[p], error) ||
            !point_slope(camera, r, t, &points[p], error, j))
            continue;
        e->count++;
        e->squares += error[0] * error[0] + error[1] * error[1];
        for (int axis = 0; axis < 2; axis++)
            for (int i = 0; i < UNKNOWNS; i++) {
                e->right[i] -= j[axis][i] * error[axis];
                for (int k = 0; k < UNKNOWNS; k++) e->matrix[i][k] += j[axis][i] * j[axis][k];
            }
    }
}

static void measure(const normal_equations *e, double inverse[UNKNOWNS][UNKNOWNS], int unknowns, double focal,
                    pose_spread *spread)
{
    double freedom = 2 * (double)e->count - unknowns, variance = freedom > 0 ? e->squares / freedom : 0;
    spread->rms = sqrt(e->squares / (double)e->count);
    spread->rotation = sqrt(variance * (inverse[0][0] + inverse[1][1] + inverse[2][2])) * 57.29577951308232;
    spread->position = sqrt(variance * (inverse[3][3] + inverse[4][4] + inverse[5][5]));
    spread->focal = unknowns == UNKNOWNS ? sqrt(variance * inverse[6][6]) * focal : 0;
}

bool pose_refine(const kb_scene_point *points, const uint8_t *used, size_t n, kb_camera *camera, bool focal,
                 double rotation[9], double translation[3], pose_spread *spread)
{
    kb_camera c = *camera;
    double r[9], t[3], inverse[UNKNOWNS][UNKNOWNS];
    int unknowns = focal ? UNKNOWNS : UNKNOWNS - 1;
    normal_equations e;
    double before = 0;
    memcpy(r, rotation, sizeof r);
    memcpy(t, translation, sizeof t);
    for (int round = 0; round <= ROUNDS; round++) {
        double step[UNKNOWNS] = {0};
        add_points(&e, points, used, n, &c, r, t);
        if (2 * e.count < (size_t)unknowns + 2 || !invert(e.matrix, unknowns, inverse)) return false;
        if (round == ROUNDS || (round > 0 && !(e.squares < before * (1 - SMALL_GAIN)))) break;
        before = e.squares;
        for (int i = 0; i < unknowns; i++)
            for (int k = 0; k < unknowns; k++) step[i] += inverse[i][k] * e.right[k];
        if (!(fabs(step[6]) < 0.5)) return false;
        apply(step, &c, focal, r, t);
    }
    if (!isfinite(r[0]) || !isfinite(t[0]) || !(c.fx > 0)) return false;
    measure(&e, inverse, unknowns, c.fx, spread);
    *camera = c;
    memcpy(rotation, r, sizeof r);
    memcpy(translation, t, sizeof t);
    return true;
}
