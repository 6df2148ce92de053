/* SPDX-License-Identifier: Apache-2.0 */
/* Points from views with known poses.
 *
 * The first guess is the point nearest to all rays: with centres c and unit directions d in the world, the sum of
 * (I - d d') over all rays, times X, is the sum of (I - d d') c. Then Gauss-Newton on the reprojection error. */
#include <math.h>
#include <string.h>

#include "collection/map_inside.h"

#define MIN_ANGLE_COS 0.99966 /* 1.5 degrees between the two rays that are furthest apart */

/* The 3x3 system m x = b by Cramer's rule; false when it has no solution worth the name. */
static bool solve3(const double m[9], const double b[3], double x[3])
{
    double c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6];
    double det = m[0] * c0 + m[1] * c1 + m[2] * c2;
    if (!(fabs(det) > 1e-300)) return false;
    const double inverse[9] = {c0, m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
                               c1, m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
                               c2, m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    for (int i = 0; i < 3; i++)
        x[i] = (inverse[3 * i] * b[0] + inverse[3 * i + 1] * b[1] + inverse[3 * i + 2] * b[2]) / det;
    return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

/* The centre of a view, and its ray in the world, of length 1. */
static bool view_ray(const map_view *v, double centre[3], double ray[3])
{
    double x, y;
    const double *r = v->rotation, *t = v->translation;
    if (kb_camera_unproject(v->lens, v->x, v->y, &x, &y) != KB_OK || !isfinite(x) || !isfinite(y)) return false;
    double length = sqrt(x * x + y * y + 1);
    for (int i = 0; i < 3; i++) {
        ray[i] = (r[i] * x + r[3 + i] * y + r[6 + i]) / length;
        centre[i] = -(r[i] * t[0] + r[3 + i] * t[1] + r[6 + i] * t[2]);
    }
    return true;
}

static bool nearest_to_rays(const map_view *views, size_t n, double point[3])
{
    double m[9] = {0}, b[3] = {0}, first[3] = {0}, least = 1;
    for (size_t v = 0; v < n; v++) {
        double c[3], d[3];
        if (!view_ray(&views[v], c, d)) return false;
        if (v == 0) memcpy(first, d, sizeof first);
        double along = first[0] * d[0] + first[1] * d[1] + first[2] * d[2];
        least = along < least ? along : least;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double part = (i == j) - d[i] * d[j];
                m[3 * i + j] += part;
                b[i] += part * c[j];
            }
    }
    return least < MIN_ANGLE_COS && solve3(m, b, point);
}

/* The error of a view in px, and its derivatives by the point; false behind the camera. The lens is taken as linear
 * within a step. */
static bool view_error(const map_view *v, const double p[3], double e[2], double j[6])
{
    const double *r = v->rotation, *t = v->translation;
    double c[3], at_x, at_y;
    for (int i = 0; i < 3; i++) c[i] = r[3 * i] * p[0] + r[3 * i + 1] * p[1] + r[3 * i + 2] * p[2] + t[i];
    if (!(c[2] > 0)) return false;
    double x = c[0] / c[2], y = c[1] / c[2];
    if (kb_camera_project(v->lens, x, y, &at_x, &at_y) != KB_OK || !isfinite(at_x) || !isfinite(at_y)) return false;
    e[0] = at_x - v->x;
    e[1] = at_y - v->y;
    for (int i = 0; i < 3; i++) {
        j[i] = v->lens->fx * (r[i] - x * r[6 + i]) / c[2];
        j[3 + i] = v->lens->fy * (r[3 + i] - y * r[6 + i]) / c[2];
    }
    return true;
}

static bool step_towards(const map_view *views, size_t n, double point[3])
{
    double m[9] = {0}, b[3] = {0}, step[3];
    for (size_t v = 0; v < n; v++) {
        double e[2], j[6];
        if (!view_error(&views[v], point, e, j)) return false;
        for (int i = 0; i < 3; i++) {
            b[i] += j[i] * e[0] + j[3 + i] * e[1];
            for (int k = 0; k < 3; k++) m[3 * i + k] += j[i] * j[k] + j[3 + i] * j[3 + k];
        }
    }
    if (!solve3(m, b, step)) return false;
    for (int i = 0; i < 3; i++) point[i] -= step[i];
    return true;
}

bool map_triangulate(const map_view *views, size_t n, double point[3], size_t *worst, double *square_sum)
{
    *worst = SIZE_MAX;
    if (!nearest_to_rays(views, n, point)) return false;
    for (int i = 0; i < 5; i++)
        if (!step_towards(views, n, point)) return false;
    double largest = 0;
    bool good = true;
    *square_sum = 0;
    for (size_t v = 0; v < n; v++) {
        double e[2], j[6];
        if (!view_error(&views[v], point, e, j)) return false;
        double square = e[0] * e[0] + e[1] * e[1], share = square / (views[v].error * views[v].error);
        *square_sum += square;
        if (share > largest) {
            largest = share;
            *worst = v;
        }
        good = good && share <= 1;
    }
    return good;
}

double map_epipolar_error(const map_view *a, const map_view *b)
{
    double ca[3], da[3], cb[3], db[3], n[3];
    if (!view_ray(a, ca, da) || !view_ray(b, cb, db)) return INFINITY;
    const double base[3] = {cb[0] - ca[0], cb[1] - ca[1], cb[2] - ca[2]};
    /* How far ray b is out of the plane of the base line and ray a, as an angle, and the other way round. */
    double out[2];
    const double *rays[2][2] = {{da, db}, {db, da}};
    for (int k = 0; k < 2; k++) {
        const double *p = rays[k][0], *q = rays[k][1];
        for (int i = 0; i < 3; i++) n[i] = base[(i + 1) % 3] * p[(i + 2) % 3] - base[(i + 2) % 3] * p[(i + 1) % 3];
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        if (!(length > 0)) return INFINITY;
        out[k] = fabs(n[0] * q[0] + n[1] * q[1] + n[2] * q[2]) / length;
    }
    return out[0] * b->lens->fx > out[1] * a->lens->fx ? out[0] * b->lens->fx : out[1] * a->lens->fx;
}
