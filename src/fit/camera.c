/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* Calibrated cameras: pixels to rays and back, and the pose of a plane.
 *
 * A ray (x, y, 1) is seen at (fx x' + cx, fy y' + cy), where with r2 = x^2 + y^2
 *     x' = x (1 + k1 r2 + k2 r2^2 + k3 r2^3) + 2 p1 x y + p2 (r2 + 2 x^2)
 *     y' = y (1 + k1 r2 + k2 r2^2 + k3 r2^3) + p1 (r2 + 2 y^2) + 2 p2 x y,
 * and by a fisheye lens (Kannala and Brandt 2006; OpenCV's and COLMAP's four parameters) where, with t = atan r the
 * angle to the axis, (x', y') = (x, y) / r x t (1 + k1 t^2 + k2 t^4 + k3 t^6 + k4 t^8). */
#include <math.h>

#include "fit/fit.h"

static bool camera_valid(const kb_camera *c)
{
    const double numbers[10] = {c->fx, c->fy, c->cx, c->cy, c->k1, c->k2, c->p1, c->p2, c->k3, c->k4};
    for (int32_t i = 0; i < 10; i++)
        if (!(fabs(numbers[i]) <= 1e9)) return false;
    bool lens = c->fisheye ? c->p1 == 0 && c->p2 == 0 : c->k4 == 0; /* no number without a meaning */
    return c->fx > 0 && c->fy > 0 && lens;
}

/* ---- fisheye lenses ---- */

static const double right_angle = 1.5707963267948966, radian_per_degree = 0.017453292519943295;

static double fisheye_radius(const kb_camera *c, double t)
{
    double t2 = t * t;
    return t * (1 + t2 * (c->k1 + t2 * (c->k2 + t2 * (c->k3 + t2 * c->k4))));
}

static double fisheye_slope(const kb_camera *c, double t)
{
    double t2 = t * t;
    return 1 + t2 * (3 * c->k1 + t2 * (5 * c->k2 + t2 * (7 * c->k3 + t2 * 9 * c->k4)));
}

static void fisheye_distort(const kb_camera *c, double *x, double *y)
{
    double r = sqrt(*x * *x + *y * *y);
    if (r == 0) return;
    double factor = fisheye_radius(c, kbi_atan2_degrees(r, 1) * radian_per_degree) / r;
    *x *= factor;
    *y *= factor;
}

/* Newton's method on the radius, from the angle of a lens without distortion. */
static bool fisheye_undistort(const kb_camera *c, double *x, double *y)
{
    double radius = sqrt(*x * *x + *y * *y), t = radius < right_angle ? radius : right_angle, sine, cosine;
    if (radius == 0) return true;
    for (int32_t i = 0; i < 30; i++) {
        double slope = fisheye_slope(c, t), next = t - (fisheye_radius(c, t) - radius) / slope;
        if (!(slope > 0 && next > 0)) return false; /* beyond the circle where the distortion turns back */
        bool settled = fabs(next - t) <= 1e-14 * next;
        t = next;
        if (!settled) continue;
        if (!(t < right_angle)) return false; /* beside the camera or behind it: (x, y, 1) is no ray there */
        kbi_sincos_degrees(t / radian_per_degree, &sine, &cosine);
        *x *= sine / cosine / radius;
        *y *= sine / cosine / radius;
        return true;
    }
    return false;
}

/* ---- other lenses ---- */

static void distort(const kb_camera *c, double x, double y, double *dx, double *dy)
{
    double r2 = x * x + y * y, radial = 1 + r2 * (c->k1 + r2 * (c->k2 + r2 * c->k3));
    *dx = x * radial + 2 * c->p1 * x * y + c->p2 * (r2 + 2 * x * x);
    *dy = y * radial + c->p1 * (r2 + 2 * y * y) + 2 * c->p2 * x * y;
}

/* Newton's method on the distortion, from the distorted point. False when it does not settle: no ray is seen there. */
static bool undistort(const kb_camera *c, double *x, double *y)
{
    const double u = *x, v = *y;
    for (int32_t i = 0; i < 30; i++) {
        double px = *x, py = *y, r2 = px * px + py * py, dx, dy;
        double radial = 1 + r2 * (c->k1 + r2 * (c->k2 + r2 * c->k3));
        double slope = 2 * (c->k1 + r2 * (2 * c->k2 + 3 * r2 * c->k3)); /* of radial by r2, times 2 */
        double a = radial + slope * px * px + 2 * c->p1 * py + 6 * c->p2 * px;
        double b = slope * px * py + 2 * c->p1 * px + 2 * c->p2 * py;
        double d = radial + slope * py * py + 6 * c->p1 * py + 2 * c->p2 * px;
        double determinant = a * d - b * b;
        distort(c, px, py, &dx, &dy);
        if (!(determinant > 0)) return false; /* beyond the circle where the distortion turns back */
        *x = px - (d * (dx - u) - b * (dy - v)) / determinant;
        *y = py - (a * (dy - v) - b * (dx - u)) / determinant;
        if (fabs(*x - px) + fabs(*y - py) <= 1e-14 * (1 + fabs(*x) + fabs(*y))) return true;
    }
    return false;
}

/* ---- cameras ---- */

kb_status kbi_camera_read(const kb_camera *camera, kb_camera *out)
{
    if (!camera) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_READ(kb_camera, out, camera);
    if (status != KB_OK) return status;
    return camera_valid(out) ? KB_OK : KB_E_ARGUMENT;
}

kb_status kb_camera_unproject(const kb_camera *camera, double px, double py, double *x, double *y)
{
    kb_camera c;
    if (!x || !y) return KB_E_ARGUMENT;
    kb_status status = kbi_camera_read(camera, &c);
    if (status != KB_OK) return status;
    *x = (px - c.cx) / c.fx;
    *y = (py - c.cy) / c.fy;
    bool straight = !c.fisheye && c.k1 == 0 && c.k2 == 0 && c.k3 == 0 && c.p1 == 0 && c.p2 == 0;
    if (!straight && !(c.fisheye ? fisheye_undistort(&c, x, y) : undistort(&c, x, y))) *x = *y = NAN;
    return KB_OK;
}

kb_status kb_camera_project(const kb_camera *camera, double x, double y, double *px, double *py)
{
    kb_camera c;
    double dx = x, dy = y;
    if (!px || !py) return KB_E_ARGUMENT;
    kb_status status = kbi_camera_read(camera, &c);
    if (status != KB_OK) return status;
    if (c.fisheye) fisheye_distort(&c, &dx, &dy);
    else distort(&c, x, y, &dx, &dy);
    *px = c.fx * dx + c.cx;
    *py = c.fy * dy + c.cy;
    return KB_OK;
}

/* K^-1 H = s (r1 r2 t): the plane's axes become orthonormal by going to the nearest rotation of (r1, r2, r1 x r2). */
kb_status kb_pose_from_homography(const double h[9], const kb_camera *camera, double rotation[9], double translation[3])
{
    kb_camera c;
    double m[9], r[9], t[3], length = 0;
    if (!h || !rotation || !translation) return KB_E_ARGUMENT;
    kb_status status = kbi_camera_read(camera, &c);
    if (status != KB_OK) return status;
    for (int32_t j = 0; j < 3; j++) {
        m[j] = (h[j] - c.cx * h[6 + j]) / c.fx;
        m[3 + j] = (h[3 + j] - c.cy * h[6 + j]) / c.fy;
        m[6 + j] = h[6 + j];
    }
    for (int32_t i = 0; i < 3; i++) length += m[3 * i] * m[3 * i] + m[3 * i + 1] * m[3 * i + 1];
    double scale = sqrt(length / 2);
    if (!(scale > 0 && scale <= DBL_MAX)) return KB_E_ARGUMENT;
    if (m[8] < 0) scale = -scale; /* the plane's origin is in front of the camera */
    for (int32_t i = 0; i < 3; i++) {
        r[3 * i] = m[3 * i] / scale;
        r[3 * i + 1] = m[3 * i + 1] / scale;
        t[i] = m[3 * i + 2] / scale;
        if (!(fabs(t[i]) <= DBL_MAX)) return KB_E_ARGUMENT;
    }
    for (int32_t i = 0; i < 3; i++) {
        int32_t p = 3 * ((i + 1) % 3), q = 3 * ((i + 2) % 3);
        r[3 * i + 2] = r[p] * r[q + 1] - r[q] * r[p + 1];
    }
    if (!kbi_fit_rotation_nearest(r)) return KB_E_ARGUMENT;
    memcpy(rotation, r, sizeof r);
    memcpy(translation, t, sizeof t);
    return KB_OK;
}
