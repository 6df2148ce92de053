/* SPDX-License-Identifier: Apache-2.0 */
/* -O2 on x86: for old processors. */
/* Extrema of differences of Gaussians (Lowe 2004): a sample that is the largest, or the smallest, of the 27 around
 * it in x, y and scale. A parabola through them gives its place between the samples. Weak ones are dropped, and
 * those on edges, where one principal curvature is more than `edge` times the other: trace^2 / determinant of the
 * 2x2 Hessian tells. */
#include <math.h>

#include "detect/dog_rows.h"

/* No step when the extremum is this close. A little more than half, or many would go to and fro until they are given
 * up, because the parabolas of two neighbouring samples each point to the other. */
#define NEAR 0.6

/* ---- one extremum ---- */

/* sign +1 looks for a larger value in the 3x3 around x, -1 for a smaller one. The middle is the likeliest. */
static bool beaten(int16_t *const rows[3], int32_t x, int32_t value, int32_t sign)
{
    if (sign * (rows[1][x] - value) > 0) return true;
    for (int32_t i = 0; i < 3; i++)
        for (int32_t k = x - 1; k <= x + 1; k++)
            if (sign * (rows[i][k] - value) > 0) return true;
    return false;
}

bool kbi_extremum_in_scale(int16_t *const finer[3], int16_t *const coarser[3], int32_t x, int32_t value)
{
    int32_t sign = value > 0 ? 1 : -1;
    return !beaten(finer, x, value, sign) && !beaten(coarser, x, value, sign);
}

/* Gradient and Hessian of the differences at a sample, by differences again; in units of 1/KBI_SIFT_ONE gray levels. */
typedef struct derivatives {
    double value, x, y, s, xx, yy, ss, xy, xs, ys;
} derivatives;

static derivatives derive(const kbi_octave *o, int32_t layer, int32_t y, int32_t x)
{
    int32_t v[3][3][3]; /* differences: layer, row, column */
    const uint16_t *rows[4][3];
    for (int32_t l = 0; l < 4; l++) kbi_octave_rows(o, layer + l - 1, y - 1, x - 1, 3, rows[l]);
    for (int32_t l = 0; l < 3; l++)
        for (int32_t r = 0; r < 3; r++)
            for (int32_t c = 0; c < 3; c++) v[l][r][c] = rows[l + 1][r][c] - rows[l][r][c];
#define AT(l, r, c) v[1 + (l)][1 + (r)][1 + (c)]
    int32_t value = AT(0, 0, 0);
    derivatives d = {
        .value = value,
        .x = 0.5 * (AT(0, 0, 1) - AT(0, 0, -1)),
        .y = 0.5 * (AT(0, 1, 0) - AT(0, -1, 0)),
        .s = 0.5 * (AT(1, 0, 0) - AT(-1, 0, 0)),
        .xx = AT(0, 0, 1) + AT(0, 0, -1) - 2 * value,
        .yy = AT(0, 1, 0) + AT(0, -1, 0) - 2 * value,
        .ss = AT(1, 0, 0) + AT(-1, 0, 0) - 2 * value,
        .xy = 0.25 * (AT(0, 1, 1) - AT(0, 1, -1) - AT(0, -1, 1) + AT(0, -1, -1)),
        .xs = 0.25 * (AT(1, 0, 1) - AT(1, 0, -1) - AT(-1, 0, 1) + AT(-1, 0, -1)),
        .ys = 0.25 * (AT(1, 1, 0) - AT(1, -1, 0) - AT(-1, 1, 0) + AT(-1, -1, 0)),
    };
#undef AT
    return d;
}

/* Where the gradient of the parabola vanishes, by Cramer's rule; false when it is flat. */
static bool solve(const derivatives *d, double *x, double *y, double *s)
{
    double c0 = d->yy * d->ss - d->ys * d->ys, c1 = d->xy * d->ss - d->ys * d->xs, c2 = d->xy * d->ys - d->yy * d->xs;
    double determinant = d->xx * c0 - d->xy * c1 + d->xs * c2;
    if (determinant == 0) return false;
    *x = -(d->x * c0 - d->y * c1 + d->s * c2) / determinant;
    *y = -(-d->x * c1 + d->y * (d->xx * d->ss - d->xs * d->xs) - d->s * (d->xx * d->ys - d->xy * d->xs)) / determinant;
    *s = -(d->x * c2 - d->y * (d->xx * d->ys - d->xy * d->xs) + d->s * (d->xx * d->yy - d->xy * d->xy)) / determinant;
    return true;
}

static bool passes(const derivatives *d, const kbi_extremum_limits *limits, kbi_extremum *e)
{
    e->contrast = (d->value + 0.5 * (d->x * e->dx + d->y * e->dy + d->s * e->dlayer)) / (255.0 * KBI_SIFT_ONE);
    if (fabs(e->contrast) < limits->contrast) return false;
    double trace = d->xx + d->yy, determinant = d->xx * d->yy - d->xy * d->xy;
    return determinant > 0 && trace * trace * limits->edge < (limits->edge + 1) * (limits->edge + 1) * determinant;
}

static int32_t nearest(double v) { return (int32_t)floor(v + 0.5); }

kbi_refinement kbi_extremum_refine(const kbi_octave *o, const kbi_extremum_limits *limits, kbi_extremum *e)
{
    derivatives d = derive(o, e->layer, e->y, e->x);
    if (!solve(&d, &e->dx, &e->dy, &e->dlayer)) return KBI_GIVEN_UP;
    if (fabs(e->dx) < NEAR && fabs(e->dy) < NEAR && fabs(e->dlayer) < NEAR)
        return passes(&d, limits, e) ? KBI_REFINED : KBI_GIVEN_UP;
    if (!(fabs(e->dx) < 65536 && fabs(e->dy) < 65536 && fabs(e->dlayer) < 65536)) return KBI_GIVEN_UP;
    e->x += nearest(e->dx);
    e->y += nearest(e->dy);
    e->layer += nearest(e->dlayer);
    bool outside = e->layer < 1 || e->layer > limits->layers || e->x < KBI_SIFT_BORDER ||
                   e->x >= o->width - KBI_SIFT_BORDER || e->y < KBI_SIFT_BORDER || e->y >= o->height - KBI_SIFT_BORDER;
    return outside ? KBI_GIVEN_UP : KBI_MOVED;
}
