/* Extrema of differences of Gaussians (Lowe 2004): a sample that is the largest, or the smallest, of the 27 around
 * it in x, y and scale. A parabola through them gives its place between the samples. Weak ones are dropped, and
 * those on edges, where one principal curvature is more than `edge` times the other: trace^2 / determinant of the
 * 2x2 Hessian tells. */
#include <math.h>

#include "detect/dog_rows.h"

#define STEPS 5  /* of refinement */
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

static inline int32_t difference(const kbi_octave *o, int32_t layer, ptrdiff_t place)
{
    return o->layer[layer + 1][place] - o->layer[layer][place];
}

/* Gradient and Hessian of the differences at a sample, by differences again; in units of 1/KBI_SIFT_ONE gray levels. */
typedef struct derivatives {
    double value, x, y, s, xx, yy, ss, xy, xs, ys;
} derivatives;

static derivatives derive(const kbi_octave *o, int32_t layer, ptrdiff_t p)
{
    ptrdiff_t r = o->stride;
#define AT(l, place) difference(o, layer + (l), p + (place))
    int32_t value = AT(0, 0);
    derivatives d = {
        .value = value,
        .x = 0.5 * (AT(0, 1) - AT(0, -1)),
        .y = 0.5 * (AT(0, r) - AT(0, -r)),
        .s = 0.5 * (AT(1, 0) - AT(-1, 0)),
        .xx = AT(0, 1) + AT(0, -1) - 2 * value,
        .yy = AT(0, r) + AT(0, -r) - 2 * value,
        .ss = AT(1, 0) + AT(-1, 0) - 2 * value,
        .xy = 0.25 * (AT(0, r + 1) - AT(0, r - 1) - AT(0, -r + 1) + AT(0, -r - 1)),
        .xs = 0.25 * (AT(1, 1) - AT(1, -1) - AT(-1, 1) + AT(-1, -1)),
        .ys = 0.25 * (AT(1, r) - AT(1, -r) - AT(-1, r) + AT(-1, -r)),
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

bool kbi_extremum_refine(const kbi_octave *o, int32_t layer, int32_t y, int32_t x, const kbi_extremum_limits *limits,
                        kbi_extremum *e)
{
    for (int32_t step = 0; step < STEPS; step++) {
        derivatives d = derive(o, layer, y * o->stride + x);
        if (!solve(&d, &e->dx, &e->dy, &e->dlayer)) return false;
        if (fabs(e->dx) < NEAR && fabs(e->dy) < NEAR && fabs(e->dlayer) < NEAR) {
            e->x = x;
            e->y = y;
            e->layer = layer;
            return passes(&d, limits, e);
        }
        if (!(fabs(e->dx) < 65536 && fabs(e->dy) < 65536 && fabs(e->dlayer) < 65536)) return false;
        x += nearest(e->dx);
        y += nearest(e->dy);
        layer += nearest(e->dlayer);
        if (layer < 1 || layer > limits->layers || x < KBI_SIFT_BORDER || x >= o->width - KBI_SIFT_BORDER ||
            y < KBI_SIFT_BORDER || y >= o->height - KBI_SIFT_BORDER)
            return false;
    }
    return false;
}
