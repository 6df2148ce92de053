/* SPDX-License-Identifier: Apache-2.0 */
/* The homography between two images of a plane.
 *
 * Minimal solver. Four points p1..p4 (as (x, y, 1)) with no three on a line are a frame of the plane: p4 = (l1 p1 +
 * l2 p2 + l3 p3) / det(p1 p2 p3) with l1 = det(p4 p2 p3), l2 = det(p1 p4 p3), l3 = det(p1 p2 p4); the same with
 * m1..m3 for q1..q4 in image 2. The map that takes each p to its q is then
 *     H = sum over i of (m_i / l_i) q_i (p_j x p_k)^T,
 * which needs no elimination. The determinants are twice the signed areas of triangles, so they also say whether
 * three points are nearly on a line, and whether the sample is possible at all: a camera that has all four points in
 * front of it turns either none of the four triangles over, or all.
 *
 * Least squares. The transfer error of a pair is r = (X / W - x2, Y / W - y2) where (X, Y, W) = H p. With (u, v) =
 * (X, Y) / W its derivatives by the rows of H are p / W, 0, -u p / W and 0, p / W, -v p / W, so J^T J is made of four
 * sums of p p^T: weighted 1, u, v and u^2 + v^2, each over W^2. */
#include <math.h>

#include "fit/kernels.h"

typedef struct vec3 {
    double x, y, z;
} vec3;

static vec3 cross_points(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* det(a b c) of points with z = 1: twice the signed area. */
static double twice_area(vec3 a, vec3 b, vec3 c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* The areas l1, l2, l3 and of p1 p2 p3, in this order. False when three points are as good as on a line. */
static bool triangles(const vec3 p[4], double areas[4], double *largest)
{
    areas[0] = twice_area(p[3], p[1], p[2]);
    areas[1] = twice_area(p[0], p[3], p[2]);
    areas[2] = twice_area(p[0], p[1], p[3]);
    areas[3] = twice_area(p[0], p[1], p[2]);
    double extent = 0;
    for (int32_t i = 1; i < 4; i++) {
        double dx = p[i].x - p[0].x, dy = p[i].y - p[0].y;
        extent += dx * dx + dy * dy;
    }
    *largest = 0;
    for (int32_t i = 0; i < 4; i++) {
        double size = fabs(areas[i]);
        if (!(size > 1e-5 * extent)) return false;
        if (size > *largest) *largest = size;
    }
    return true;
}

static int32_t homography_solve(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL])
{
    vec3 p[4], q[4];
    for (int32_t i = 0; i < 4; i++) {
        int32_t s = sample[i];
        p[i] = (vec3){pairs->x1[s], pairs->y1[s], 1};
        q[i] = (vec3){pairs->x2[s], pairs->y2[s], 1};
    }
    double l[4], m[4], extent1, extent2;
    if (!triangles(p, l, &extent1) || !triangles(q, m, &extent2)) return 0;
    /* Four points within one threshold of each other in image 2 would be fitted by anything that shrinks enough. */
    if (extent2 < 4 * pairs->threshold2) return 0;
    bool turned = l[3] * m[3] < 0;
    for (int32_t i = 0; i < 3; i++)
        if ((l[i] * m[i] < 0) != turned) return 0;

    double *h = models[0];
    double sign = m[3] < 0 ? -1 : 1; /* W is positive at the sample */
    for (int32_t i = 0; i < 9; i++) h[i] = 0;
    for (int32_t i = 0; i < 3; i++) {
        vec3 row = cross_points(p[(i + 1) % 3], p[(i + 2) % 3]);
        double c = sign * m[i] / l[i];
        double x = c * q[i].x, y = c * q[i].y;
        h[0] += x * row.x, h[1] += x * row.y, h[2] += x * row.z;
        h[3] += y * row.x, h[4] += y * row.y, h[5] += y * row.z;
        h[6] += c * row.x, h[7] += c * row.y, h[8] += c * row.z;
    }
    return 1;
}

void kbi_fit_transfer_errors(const double *h, const fit_pairs *pairs, int32_t from, int32_t to, double *error2)
{
    const double h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3], h4 = h[4], h5 = h[5], h6 = h[6], h7 = h[7], h8 = h[8];
    const double *restrict x1 = pairs->x1 + from, *restrict y1 = pairs->y1 + from;
    const double *restrict x2 = pairs->x2 + from, *restrict y2 = pairs->y2 + from;
    for (int32_t i = 0; i < to - from; i++) {
        double w = h6 * x1[i] + h7 * y1[i] + h8, q = 1 / w;
        double dx = (h0 * x1[i] + h1 * y1[i] + h2) * q - x2[i];
        double dy = (h3 * x1[i] + h4 * y1[i] + h5) * q - y2[i];
        /* |w| - w is 0 in front of the camera; behind it the error becomes huge, without a branch in the loop. */
        error2[i] = dx * dx + dy * dy + (fabs(w) - w) * 1e300;
    }
}

/* Without a division, |H p - (x2, y2)|^2 < cutoff^2 is |(X, Y) - W (x2, y2)|^2 < cutoff^2 W^2. The cutoff is a little
 * wider, for rounding; at the cutoff a pair counts for nothing anyway. */
int32_t kbi_fit_transfer_near(const double *h, const fit_pairs *pairs)
{
    float m[9];
    for (int32_t i = 0; i < 9; i++) m[i] = (float)h[i];
    const float half_cutoff2 = (float)(0.5 * 1.001 * FIT_CUTOFF2 * pairs->threshold2);
    const size_t n = (size_t)pairs->n;
    const float *x1 = pairs->rough, *y1 = x1 + n, *x2 = y1 + n, *y2 = x2 + n;
    int32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        float w = m[6] * x1[i] + m[7] * y1[i] + m[8];
        float dx = m[0] * x1[i] + m[1] * y1[i] + m[2] - w * x2[i], dy = m[3] * x1[i] + m[4] * y1[i] + m[5] - w * y2[i];
        /* 0 behind the camera, without a branch */
        count += dx * dx + dy * dy < half_cutoff2 * w * (w + fabsf(w));
    }
    return count;
}

/* What pairs add to the normal equations, computed for NORMAL_BLOCK of them at a time: these are loops that compilers
 * turn into vectors, and the sums that follow stay in registers, each in the order of the list. */
#define NORMAL_BLOCK 32
typedef struct normal_block {
    double x[NORMAL_BLOCK], y[NORMAL_BLOCK], x2[NORMAL_BLOCK], y2[NORMAL_BLOCK], weight[NORMAL_BLOCK];
    double one[NORMAL_BLOCK], u[NORMAL_BLOCK], v[NORMAL_BLOCK], uv[NORMAL_BLOCK]; /* weights of p p^T */
    double ru[NORMAL_BLOCK], rv[NORMAL_BLOCK], rw[NORMAL_BLOCK];                  /* and of p in the gradient */
} normal_block;

static void block_fill(const double *h, const fit_pairs *pairs, const fit_list *list, int32_t from, int32_t n,
                       normal_block *restrict b)
{
    const double h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3], h4 = h[4], h5 = h[5], h6 = h[6], h7 = h[7], h8 = h[8];
    for (int32_t k = 0; k < n; k++) {
        int32_t s = list->slot[from + k];
        b->x[k] = pairs->x1[s], b->y[k] = pairs->y1[s];
        b->x2[k] = pairs->x2[s], b->y2[k] = pairs->y2[s];
        b->weight[k] = list->weight[from + k];
    }
    for (int32_t k = 0; k < n; k++) {
        double x = b->x[k], y = b->y[k], q = 1 / (h6 * x + h7 * y + h8);
        double u = (h0 * x + h1 * y + h2) * q, v = (h3 * x + h4 * y + h5) * q;
        double ru = u - b->x2[k], rv = v - b->y2[k], rw = -(u * ru + v * rv);
        double wq = b->weight[k] * q, q2 = wq * q;
        b->one[k] = q2, b->u[k] = q2 * u, b->v[k] = q2 * v, b->uv[k] = q2 * (u * u + v * v);
        b->ru[k] = ru * wq, b->rv[k] = rv * wq, b->rw[k] = rw * wq;
    }
}

/* Adds first x and second x the six different products of p = (x, y, 1) to two sums. */
static void block_moments(const normal_block *b, int32_t n, const double *first, const double *second, double sum1[6],
                          double sum2[6])
{
    double a[6], c[6];
    memcpy(a, sum1, sizeof a);
    memcpy(c, sum2, sizeof c);
    for (int32_t k = 0; k < n; k++) {
        double x = b->x[k], y = b->y[k];
        const double moments[6] = {x * x, x * y, x, y * y, y, 1};
        for (int32_t i = 0; i < 6; i++) a[i] += first[k] * moments[i];
        for (int32_t i = 0; i < 6; i++) c[i] += second[k] * moments[i];
    }
    memcpy(sum1, a, sizeof a);
    memcpy(sum2, c, sizeof c);
}

static void block_gradient(const normal_block *b, int32_t n, double gradient[9])
{
    double g[9];
    memcpy(g, gradient, sizeof g);
    for (int32_t k = 0; k < n; k++) {
        double x = b->x[k], y = b->y[k], ru = b->ru[k], rv = b->rv[k], rw = b->rw[k];
        g[0] += ru * x, g[1] += ru * y, g[2] += ru;
        g[3] += rv * x, g[4] += rv * y, g[5] += rv;
        g[6] += rw * x, g[7] += rw * y, g[8] += rw;
    }
    memcpy(gradient, g, sizeof g);
}

static void put_block(double *matrix, int32_t row, int32_t column, const double sum[6], double sign)
{
    static const uint8_t place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++) matrix[(row + i) * 9 + column + j] = sign * sum[place[3 * i + j]];
}

static void transfer_sums(const double *h, const fit_pairs *pairs, const fit_list *list, kbi_transfer_sums *out)
{
    normal_block b;
    memset(out, 0, sizeof *out);
    for (int32_t from = 0; from < list->n; from += NORMAL_BLOCK) {
        int32_t n = kbi_min_i(NORMAL_BLOCK, list->n - from);
        block_fill(h, pairs, list, from, n, &b);
        block_moments(&b, n, b.one, b.u, out->one, out->u);
        block_moments(&b, n, b.v, b.uv, out->v, out->uv);
        block_gradient(&b, n, out->gradient);
    }
}

const kbi_fit_kernels kbi_fit_kernels_c = {.transfer_sums = transfer_sums};

void kbi_fit_transfer_normal(const double *h, const fit_pairs *pairs, const fit_list *list, fit_normal *out)
{
    kbi_transfer_sums sums;
    kbi_fit_kernels_get()->transfer_sums(h, pairs, list, &sums);
    memset(out, 0, sizeof *out);
    memcpy(out->gradient, sums.gradient, sizeof sums.gradient);
    put_block(out->matrix, 0, 0, sums.one, 1);
    put_block(out->matrix, 3, 3, sums.one, 1);
    put_block(out->matrix, 6, 6, sums.uv, 1);
    put_block(out->matrix, 0, 6, sums.u, -1);
    put_block(out->matrix, 6, 0, sums.u, -1);
    put_block(out->matrix, 3, 6, sums.v, -1);
    put_block(out->matrix, 6, 3, sums.v, -1);
}

/* A homography is known up to a factor: it must not move along itself. */
static int32_t homography_gauge(const double *h, double directions[FIT_GAUGE][FIT_MODEL])
{
    memcpy(directions[0], h, 9 * sizeof *h);
    return 1;
}

/* A step of Gauss and Newton lands close enough even from a model through four noisy points. */
static bool homography_relax(double *h, const fit_pairs *pairs, const fit_list *list)
{
    fit_normal around;
    if (list->n < 4 || !kbi_fit_unit9(h)) return false;
    kbi_fit_transfer_normal(h, pairs, list, &around);
    return kbi_fit_step(&kbi_fit_homography, &around, 0, h);
}

double kbi_fit_disc_chance(double threshold) { return 3.14159265358979 / 4 * threshold * threshold; }

const fit_kind kbi_fit_homography = {
    .name = "homography",
    .sample = 4,
    FIT_BY_TRANSFER,
    .solve = homography_solve,
    .relax = homography_relax,
    .gauge = homography_gauge,
    .retract = kbi_fit_unit9,
};

void kb_homography_apply(const double h[9], double x, double y, double *out_x, double *out_y)
{
    if (!h || !out_x || !out_y) return;
    double w = h[6] * x + h[7] * y + h[8];
    double u = (h[0] * x + h[1] * y + h[2]) / w, v = (h[3] * x + h[4] * y + h[5]) / w;
    bool finite = fabs(u) <= DBL_MAX && fabs(v) <= DBL_MAX; /* false for NaN too */
    *out_x = finite ? u : NAN;
    *out_y = finite ? v : NAN;
}
