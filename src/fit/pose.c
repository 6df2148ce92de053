/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Absolute pose: where a calibrated camera is, from points of the scene and where it sees them.
 *
 * Minimal solver. Three points at distances s1, s2, s3 along their rays: the law of cosines for every pair of them,
 * with s2 = u s1 and s3 = v s1, leads to a quartic in v (Grunert 1841; coefficients as in Haralick et al. 1994). Each
 * real v > 0 gives u, s1, s2, s3, which Newton's method on the three laws of cosines makes exact. The pose is then
 * the motion between two triangles.
 *
 * Least squares. The model is the 3x4 matrix (R | t); the residual of a point p = (X, Y, Z, 1) is the homography's
 * with four coordinates. R is kept a rotation as in rotation.c. */
#include <math.h>

#include "fit/fit.h"

/* ---- three points ---- */

static double squared_length(const double *a, const double *b)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return kbi_fit_dot3(d, d);
}

/* Squared sides a, b, c opposite to points 1, 2, 3 and the cosines between the rays of their end points. */
typedef struct triangle {
    double a, b, c, alpha, beta, gamma;
} triangle;

static void quartic(const triangle *t, double q[5])
{
    double ratio = (t->a - t->c) / t->b, sum = (t->a + t->c) / t->b, ca = t->alpha, cb = t->beta, cg = t->gamma;
    q[4] = (ratio - 1) * (ratio - 1) - 4 * t->c / t->b * ca * ca;
    q[3] = 4 * (ratio * (1 - ratio) * cb - (1 - sum) * ca * cg + 2 * t->c / t->b * ca * ca * cb);
    q[2] = 2 * (ratio * ratio - 1 + 2 * ratio * ratio * cb * cb + 2 * (t->b - t->c) / t->b * ca * ca -
                4 * sum * ca * cb * cg + 2 * (t->b - t->a) / t->b * cg * cg);
    q[1] = 4 * (-ratio * (1 + ratio) * cb + 2 * t->a / t->b * cg * cg * cb - (1 - sum) * ca * cg);
    q[0] = (1 + ratio) * (1 + ratio) - 4 * t->a / t->b * cg * cg;
}

static bool distances_of(const triangle *t, double v, double s[3])
{
    double ratio = (t->a - t->c) / t->b, below = 2 * (t->gamma - v * t->alpha);
    double u = ((ratio - 1) * v * v - 2 * ratio * t->beta * v + 1 + ratio) / below;
    double square = t->b / (1 + v * v - 2 * v * t->beta);
    if (!(v > 0) || !(u > 0) || !(square > 0 && square <= DBL_MAX)) return false;
    s[0] = sqrt(square);
    s[1] = u * s[0];
    s[2] = v * s[0];
    return s[1] <= DBL_MAX && s[2] <= DBL_MAX;
}

/* Newton's steps on f1 = s2^2 + s3^2 - 2 s2 s3 cos alpha - a and the two like it. */
static void polish_distances(const triangle *t, double s[3])
{
    for (int32_t step = 0; step < 3; step++) {
        const double f[3] = {s[1] * s[1] + s[2] * s[2] - 2 * s[1] * s[2] * t->alpha - t->a,
                             s[0] * s[0] + s[2] * s[2] - 2 * s[0] * s[2] * t->beta - t->b,
                             s[0] * s[0] + s[1] * s[1] - 2 * s[0] * s[1] * t->gamma - t->c};
        const double j[9] = {0, 2 * (s[1] - s[2] * t->alpha), 2 * (s[2] - s[1] * t->alpha),
                             2 * (s[0] - s[2] * t->beta), 0, 2 * (s[2] - s[0] * t->beta),
                             2 * (s[0] - s[1] * t->gamma), 2 * (s[1] - s[0] * t->gamma), 0};
        double cofactors[9], next[3];
        kbi_fit_cofactors3(j, cofactors);
        double determinant = j[1] * cofactors[1] + j[2] * cofactors[2];
        for (int32_t i = 0; i < 3; i++) {
            next[i] = s[i] - (cofactors[i] * f[0] + cofactors[3 + i] * f[1] + cofactors[6 + i] * f[2]) / determinant;
            if (!(next[i] > 0 && next[i] <= DBL_MAX)) return;
        }
        memcpy(s, next, sizeof next);
    }
}

/* The motion that takes triangle p to triangle q. */
static bool align_triangles(double p[3][3], double q[3][3], double *model)
{
    double p1[3], p2[3], q1[3], q2[3], r[9];
    for (int32_t i = 0; i < 3; i++) {
        p1[i] = p[1][i] - p[0][i], p2[i] = p[2][i] - p[0][i];
        q1[i] = q[1][i] - q[0][i], q2[i] = q[2][i] - q[0][i];
    }
    if (!kbi_fit_rotation_align(p1, p2, q1, q2, r)) return false;
    for (int32_t i = 0; i < 3; i++) {
        model[4 * i + 3] = 0;
        for (int32_t j = 0; j < 3; j++) model[4 * i + j] = r[3 * i + j];
        for (int32_t k = 0; k < 3; k++) model[4 * i + 3] += (q[k][i] - kbi_fit_dot3(r + 3 * i, p[k])) / 3;
    }
    return true;
}

static int32_t pose_solve(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL])
{
    double p[3][3], ray[3][3], q[5], roots[4];
    for (int32_t k = 0; k < 3; k++) {
        int32_t s = sample[k];
        double x = pairs->x2[s], y = pairs->y2[s], norm = sqrt(x * x + y * y + 1);
        p[k][0] = pairs->x1[s], p[k][1] = pairs->y1[s], p[k][2] = pairs->z1[s];
        ray[k][0] = x / norm, ray[k][1] = y / norm, ray[k][2] = 1 / norm;
    }
    triangle t = {squared_length(p[1], p[2]), squared_length(p[0], p[2]), squared_length(p[0], p[1]),
                  kbi_fit_dot3(ray[1], ray[2]),       kbi_fit_dot3(ray[0], ray[2]),       kbi_fit_dot3(ray[0], ray[1])};
    if (!(t.a > 0) || !(t.b > 0) || !(t.c > 0)) return 0;
    quartic(&t, q);
    int32_t found = kbi_fit_real_roots(q, 4, roots), kept = 0;
    for (int32_t k = 0; k < found; k++) {
        double s[3], seen[3][3];
        if (!distances_of(&t, roots[k], s)) continue;
        polish_distances(&t, s);
        for (int32_t i = 0; i < 3; i++)
            for (int32_t j = 0; j < 3; j++) seen[i][j] = s[i] * ray[i][j];
        kept += align_triangles(p, seen, models[kept]);
    }
    return kept;
}

/* ---- the error and its derivatives ---- */

static void pose_errors(const double *m, const fit_pairs *pairs, int32_t from, int32_t to, double *error2)
{
    for (int32_t i = from; i < to; i++) {
        double x = pairs->x1[i], y = pairs->y1[i], z = pairs->z1[i];
        double w = m[8] * x + m[9] * y + m[10] * z + m[11], q = 1 / w;
        double dx = (m[0] * x + m[1] * y + m[2] * z + m[3]) * q - pairs->x2[i];
        double dy = (m[4] * x + m[5] * y + m[6] * z + m[7]) * q - pairs->y2[i];
        error2[i - from] = dx * dx + dy * dy + (fabs(w) - w) * 1e300; /* huge behind the camera */
    }
}

static void pose_normal(const double *m, const fit_pairs *pairs, const fit_list *list, fit_normal *out)
{
    memset(out, 0, sizeof *out);
    for (int32_t k = 0; k < list->n; k++) {
        int32_t s = list->slot[k];
        const double p[4] = {pairs->x1[s], pairs->y1[s], pairs->z1[s], 1};
        double q = 1 / (m[8] * p[0] + m[9] * p[1] + m[10] * p[2] + m[11]);
        double u = (m[0] * p[0] + m[1] * p[1] + m[2] * p[2] + m[3]) * q;
        double v = (m[4] * p[0] + m[5] * p[1] + m[6] * p[2] + m[7]) * q;
        double ru = u - pairs->x2[s], rv = v - pairs->y2[s], wq = list->weight[k] * q, q2 = wq * q;
        for (int32_t i = 0; i < 4; i++) {
            double *row = out->matrix + 12 * i;
            for (int32_t j = 0; j < 4; j++) {
                double moment = q2 * p[i] * p[j];
                row[j] += moment;                        /* u by u */
                row[48 + 4 + j] += moment;               /* v by v */
                row[96 + 8 + j] += moment * (u * u + v * v);
                row[8 + j] -= moment * u;                /* u by w */
                row[48 + 8 + j] -= moment * v;           /* v by w */
            }
            out->gradient[i] += wq * ru * p[i];
            out->gradient[4 + i] += wq * rv * p[i];
            out->gradient[8 + i] -= wq * (u * ru + v * rv) * p[i];
        }
    }
    for (int32_t i = 8; i < 12; i++)
        for (int32_t j = 0; j < 8; j++) out->matrix[12 * i + j] = out->matrix[12 * j + i];
}

static void pose_rotation(const double *m, double r[9])
{
    for (int32_t i = 0; i < 3; i++) memcpy(r + 3 * i, m + 4 * i, 3 * sizeof *r);
}

/* The directions of the rotation, spread over rows of four. */
static int32_t pose_gauge(const double *m, double directions[FIT_GAUGE][FIT_MODEL])
{
    double r[9];
    pose_rotation(m, r);
    int32_t n = kbi_fit_rotation_gauge(r, directions);
    for (int32_t k = 0; k < n; k++) {
        double nine[9];
        memcpy(nine, directions[k], sizeof nine);
        for (int32_t i = 0; i < 3; i++) {
            memcpy(directions[k] + 4 * i, nine + 3 * i, 3 * sizeof nine[0]);
            directions[k][4 * i + 3] = 0;
        }
    }
    return n;
}

static bool pose_retract(double *m)
{
    double r[9];
    pose_rotation(m, r);
    if (!kbi_fit_rotation_nearest(r)) return false;
    for (int32_t i = 0; i < 3; i++) {
        if (!(fabs(m[4 * i + 3]) <= DBL_MAX)) return false;
        memcpy(m + 4 * i, r + 3 * i, 3 * sizeof *r);
    }
    return true;
}

const fit_kind kbi_fit_pose = {
    .name = "pose",
    .sample = 3,
    .size = 12,
    .calibrated = true,
    .beta = 0.01,
    .chance = kbi_fit_disc_chance,
    .solve = pose_solve,
    .errors = pose_errors,
    .normal = pose_normal,
    .gauge = pose_gauge,
    .retract = pose_retract,
};
