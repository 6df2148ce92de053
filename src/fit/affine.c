/* SPDX-License-Identifier: Apache-2.0 */
/* Similarity and affine transformations between two images, as homographies with the last row (0, 0, 1).
 *
 * The transfer error and its derivatives are the homography's. The two kinds differ in where a step of least squares
 * may go: an affine transformation keeps its last row; a similarity (a, -b, c; b, a, d) also keeps its two equal
 * entries equal and its two opposite entries opposite. */
#include <math.h>

#include "fit/fit.h"

static bool finite_entries(const double *m)
{
    for (int32_t i = 0; i < 6; i++)
        if (!(fabs(m[i]) <= DBL_MAX)) return false;
    return true;
}

static int32_t affine_gauge(const double *m, double directions[FIT_GAUGE][FIT_MODEL])
{
    (void)m;
    memset(directions, 0, FIT_GAUGE * sizeof directions[0]);
    for (int32_t i = 0; i < 3; i++) directions[i][6 + i] = 1;
    return 3;
}

static bool keep_last_row(double *m)
{
    m[6] = m[7] = 0;
    m[8] = 1;
    return finite_entries(m);
}

/* ---- affine: three pairs ---- */

static int32_t affine_solve(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL])
{
    int32_t a = sample[0], b = sample[1], c = sample[2];
    double ux = pairs->x1[b] - pairs->x1[a], uy = pairs->y1[b] - pairs->y1[a];
    double vx = pairs->x1[c] - pairs->x1[a], vy = pairs->y1[c] - pairs->y1[a];
    double area = ux * vy - uy * vx, extent = ux * ux + uy * uy + vx * vx + vy * vy;
    double px = pairs->x2[b] - pairs->x2[a], py = pairs->y2[b] - pairs->y2[a];
    double qx = pairs->x2[c] - pairs->x2[a], qy = pairs->y2[c] - pairs->y2[a];
    double area2 = px * qy - py * qx, extent2 = px * px + py * py + qx * qx + qy * qy;
    /* Three points within one threshold of each other in image 2 would be fitted by anything that shrinks enough. */
    if (!(fabs(area) > 1e-5 * extent) || !(fabs(area2) > 1e-5 * extent2) || extent2 < 4 * pairs->threshold2) return 0;
    double *m = models[0];
    m[0] = (px * vy - qx * uy) / area, m[1] = (qx * ux - px * vx) / area;
    m[3] = (py * vy - qy * uy) / area, m[4] = (qy * ux - py * vx) / area;
    m[2] = pairs->x2[a] - m[0] * pairs->x1[a] - m[1] * pairs->y1[a];
    m[5] = pairs->y2[a] - m[3] * pairs->x1[a] - m[4] * pairs->y1[a];
    return keep_last_row(m);
}

const fit_kind kbi_fit_affine = {
    .name = "affine",
    .sample = 3,
    FIT_BY_TRANSFER,
    .solve = affine_solve,
    .gauge = affine_gauge,
    .retract = keep_last_row,
};

/* ---- similarity: two pairs ---- */

/* As complex numbers, x2 = m x1 + t with m = (b2 - a2) / (b1 - a1). */
static int32_t similarity_solve(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL])
{
    int32_t a = sample[0], b = sample[1];
    double ux = pairs->x1[b] - pairs->x1[a], uy = pairs->y1[b] - pairs->y1[a];
    double px = pairs->x2[b] - pairs->x2[a], py = pairs->y2[b] - pairs->y2[a];
    double length2 = ux * ux + uy * uy;
    if (!(length2 > 0) || px * px + py * py < 4 * pairs->threshold2) return 0;
    double *m = models[0];
    m[0] = m[4] = (px * ux + py * uy) / length2;
    m[3] = (py * ux - px * uy) / length2;
    m[1] = -m[3];
    m[2] = pairs->x2[a] - m[0] * pairs->x1[a] - m[1] * pairs->y1[a];
    m[5] = pairs->y2[a] - m[3] * pairs->x1[a] - m[4] * pairs->y1[a];
    return keep_last_row(m);
}

static int32_t similarity_gauge(const double *m, double directions[FIT_GAUGE][FIT_MODEL])
{
    int32_t n = affine_gauge(m, directions);
    directions[n][0] = FIT_HALF_ROOT, directions[n][4] = -FIT_HALF_ROOT;
    directions[n + 1][1] = FIT_HALF_ROOT, directions[n + 1][3] = FIT_HALF_ROOT;
    return n + 2;
}

static bool similarity_retract(double *m)
{
    double a = 0.5 * (m[0] + m[4]), b = 0.5 * (m[3] - m[1]);
    m[0] = m[4] = a;
    m[3] = b;
    m[1] = -b;
    return keep_last_row(m);
}

const fit_kind kbi_fit_similarity = {
    .name = "similarity",
    .sample = 2,
    FIT_BY_TRANSFER,
    .from_line = true,
    .solve = similarity_solve,
    .gauge = similarity_gauge,
    .retract = similarity_retract,
};
