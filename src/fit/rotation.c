/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Rotations, and the geometry of a camera that only turns: x2 ~ R x1 for rays x1, x2.
 *
 * R has nine entries and three degrees of freedom. A small step keeps it a rotation to first order when it is R times
 * an antisymmetric matrix; the six directions R S, S symmetric, leave SO(3) and are taken out of least squares. What
 * is left of an error of second order is mended by going to the nearest rotation (polar decomposition by Newton's
 * iteration X <- (X + X^-T) / 2, X^-T = cofactors / determinant). */
#include <math.h>

#include "fit/fit.h"

int32_t kbi_fit_rotation_gauge(const double *r, double directions[FIT_GAUGE][FIT_MODEL])
{
    static const uint8_t first[6] = {0, 1, 2, 0, 0, 1}, other[6] = {0, 1, 2, 1, 2, 2};
    memset(directions, 0, FIT_GAUGE * sizeof directions[0]);
    for (int32_t k = 0; k < 6; k++) {
        int32_t p = first[k], q = other[k];
        for (int32_t i = 0; i < 3; i++) {
            if (p == q) {
                directions[k][3 * i + p] = r[3 * i + p];
            } else {
                directions[k][3 * i + p] = FIT_HALF_ROOT * r[3 * i + q];
                directions[k][3 * i + q] = FIT_HALF_ROOT * r[3 * i + p];
            }
        }
    }
    return 6;
}

bool kbi_fit_rotation_nearest(double *r)
{
    for (int32_t step = 0; step < 30; step++) {
        double cofactors[9], change = 0;
        kbi_fit_cofactors3(r, cofactors);
        double determinant = r[0] * cofactors[0] + r[1] * cofactors[1] + r[2] * cofactors[2];
        if (!(determinant > 1e-100 && determinant <= 1e100)) return false;
        for (int32_t i = 0; i < 9; i++) {
            double next = 0.5 * (r[i] + cofactors[i] / determinant);
            change += fabs(next - r[i]);
            r[i] = next;
        }
        if (!(change > 1e-14)) return true;
    }
    return true;
}

static bool unit3(double *v)
{
    double norm = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(norm > 1e-12 && norm <= DBL_MAX)) return false;
    for (int32_t i = 0; i < 3; i++) v[i] /= norm;
    return true;
}

/* Orthonormal axes along a + b and a - b of unit directions a and b, so that both are treated alike. */
static bool triad(const double *a, const double *b, double axes[3][3])
{
    double p[3] = {a[0], a[1], a[2]}, q[3] = {b[0], b[1], b[2]};
    if (!unit3(p) || !unit3(q)) return false;
    for (int32_t i = 0; i < 3; i++) axes[0][i] = p[i] + q[i], axes[1][i] = p[i] - q[i];
    if (!unit3(axes[0]) || !unit3(axes[1])) return false;
    kbi_fit_cross3(axes[0], axes[1], axes[2]);
    return unit3(axes[2]);
}

bool kbi_fit_rotation_align(const double *a1, const double *a2, const double *b1, const double *b2, double *r)
{
    double from[3][3], to[3][3];
    if (!triad(a1, a2, from) || !triad(b1, b2, to)) return false;
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++)
            r[3 * i + j] = to[0][i] * from[0][j] + to[1][i] * from[1][j] + to[2][i] * from[2][j];
    return kbi_fit_rotation_nearest(r);
}

/* ---- the geometry ---- */

static int32_t rotation_solve(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL])
{
    double a[2][3], b[2][3];
    for (int32_t i = 0; i < 2; i++) {
        int32_t s = sample[i];
        a[i][0] = pairs->x1[s], a[i][1] = pairs->y1[s], a[i][2] = 1;
        b[i][0] = pairs->x2[s], b[i][1] = pairs->y2[s], b[i][2] = 1;
    }
    double dx = b[1][0] - b[0][0], dy = b[1][1] - b[0][1];
    if (dx * dx + dy * dy < 4 * pairs->threshold2) return 0;
    return kbi_fit_rotation_align(a[0], a[1], b[0], b[1], models[0]);
}

const fit_kind kbi_fit_rotation = {
    .name = "rotation",
    .sample = 2,
    FIT_BY_TRANSFER,
    .calibrated = true,
    .from_line = true,
    .solve = rotation_solve,
    .gauge = kbi_fit_rotation_gauge,
    .retract = kbi_fit_rotation_nearest,
};
