/* SPDX-License-Identifier: Apache-2.0 */
/* Essential matrices through five pairs of calibrated points (Nister 2004).
 *
 * Five pairs give five linear equations for the nine entries, so E = x X + y Y + z Z + W out of a null space of four
 * dimensions. An essential matrix has E E^T E = trace(E E^T) E / 2 and det E = 0: ten cubic equations in x, y, z.
 * Gauss-Jordan elimination of their ten highest monomials leaves, after two rows are combined to cancel x^2 z, y^2 z
 * and x y z, three equations that are linear in x and y with polynomials in z as coefficients:
 *     B(z) (x, y, 1)^T = 0,  so det B(z) = 0, of degree ten. */
#include <math.h>

#include "fit/fit.h"

/* Monomials. Degree 1: x y z 1. Degree 2: x2 xy xz x y2 yz y z2 z 1.
 * Degree 3: x3 y3 x2y xy2 x2z x2 y2z y2 xyz xy | xz2 xz x yz2 yz y z3 z2 z 1. */
enum { LINEAR = 4, QUADRATIC = 10, CUBIC = 20, EQUATIONS = 10 };
static const uint8_t product_11[LINEAR][LINEAR] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
static const uint8_t product_21[QUADRATIC][LINEAR] = {
    {0, 2, 4, 5},   {2, 3, 8, 9},   {4, 8, 10, 11},   {5, 9, 11, 12},   {3, 1, 6, 7},
    {8, 6, 13, 14}, {9, 7, 14, 15}, {10, 13, 16, 17}, {11, 14, 17, 18}, {12, 15, 18, 19}};

static void add_11(const double *a, const double *b, double factor, double *sum)
{
    for (int32_t i = 0; i < LINEAR; i++)
        for (int32_t j = 0; j < LINEAR; j++) sum[product_11[i][j]] += factor * a[i] * b[j];
}

static void add_21(const double *a, const double *b, double *sum)
{
    for (int32_t i = 0; i < QUADRATIC; i++)
        for (int32_t j = 0; j < LINEAR; j++) sum[product_21[i][j]] += a[i] * b[j];
}

/* An orthonormal basis of the null space; basis[i] has the coefficients of entry i of E by x, y, z and 1. */
static bool null_space(const fit_pairs *pairs, const int32_t *sample, double basis[9][LINEAR])
{
    double a[5][9], vectors[LINEAR][9];
    int32_t column[9];
    for (int32_t i = 0; i < 5; i++) kbi_fit_products(pairs, sample[i], a[i]);
    if (!kbi_fit_eliminate(a, 5, column)) return false;
    for (int32_t v = 0; v < LINEAR; v++) {
        double *vector = vectors[v];
        kbi_fit_null_vector(a, 5, column, 5 + v, vector);
        for (int32_t u = 0; u < v; u++) {
            double along = 0;
            for (int32_t i = 0; i < 9; i++) along += vector[i] * vectors[u][i];
            for (int32_t i = 0; i < 9; i++) vector[i] -= along * vectors[u][i];
        }
        if (!kbi_fit_unit9(vector)) return false;
        for (int32_t i = 0; i < 9; i++) basis[i][v] = vector[i];
    }
    return true;
}

/* The ten cubic equations. */
static void constraints(double e[9][LINEAR], double rows[EQUATIONS][CUBIC])
{
    double square[9][QUADRATIC] = {{0}}, minor[QUADRATIC], trace[QUADRATIC];
    memset(rows, 0, EQUATIONS * sizeof rows[0]);
    for (int32_t j = 0; j < 3; j++) { /* det E by the first row */
        int32_t p = (j + 1) % 3, q = (j + 2) % 3;
        memset(minor, 0, sizeof minor);
        add_11(e[3 + p], e[6 + q], 1, minor);
        add_11(e[3 + q], e[6 + p], -1, minor);
        add_21(minor, e[j], rows[9]);
    }
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++)
            for (int32_t k = 0; k < 3; k++) add_11(e[3 * i + k], e[3 * j + k], 1, square[3 * i + j]);
    for (int32_t m = 0; m < QUADRATIC; m++) trace[m] = 0.5 * (square[0][m] + square[4][m] + square[8][m]);
    for (int32_t i = 0; i < 3; i++)
        for (int32_t m = 0; m < QUADRATIC; m++) square[4 * i][m] -= trace[m];
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++)
            for (int32_t k = 0; k < 3; k++) add_21(square[3 * i + k], e[3 * k + j], rows[3 * i + j]);
}

/* Gauss-Jordan on the first ten columns, with pivoting by rows; the first UNUSED rows are left triangular. */
#define UNUSED 4
static bool reduce(double rows[EQUATIONS][CUBIC])
{
    for (int32_t k = 0; k < EQUATIONS; k++) {
        int32_t pivot = k;
        for (int32_t i = k + 1; i < EQUATIONS; i++)
            if (fabs(rows[i][k]) > fabs(rows[pivot][k])) pivot = i;
        if (!(fabs(rows[pivot][k]) > 1e-14)) return false;
        for (int32_t j = k; j < CUBIC; j++) {
            double t = rows[pivot][j];
            rows[pivot][j] = rows[k][j];
            rows[k][j] = t;
        }
        double inverse = 1 / rows[k][k];
        for (int32_t j = k; j < CUBIC; j++) rows[k][j] *= inverse;
        for (int32_t i = UNUSED < k ? UNUSED : k + 1; i < EQUATIONS; i++) {
            double factor = rows[i][k];
            if (i == k) continue;
            for (int32_t j = k; j < CUBIC; j++) rows[i][j] -= factor * rows[k][j];
        }
    }
    return true;
}

/* One row of B(z), lowest power first: the row of u z minus z times the row of u, where u is x^2, y^2 or x y. */
typedef struct bilinear {
    double x[4], y[4], one[5];
} bilinear;

static bilinear combine(const double *with_z, const double *without)
{
    const double *e = with_z + EQUATIONS, *f = without + EQUATIONS; /* xz2 xz x yz2 yz y z3 z2 z 1 */
    return (bilinear){.x = {e[2], e[1] - f[2], e[0] - f[1], -f[0]},
                      .y = {e[5], e[4] - f[5], e[3] - f[4], -f[3]},
                      .one = {e[9], e[8] - f[9], e[7] - f[8], e[6] - f[7], -f[6]}};
}

static void add_product(const double *a, int32_t na, const double *b, int32_t nb, double sign, double *sum)
{
    for (int32_t i = 0; i < na; i++)
        for (int32_t j = 0; j < nb; j++) sum[i + j] += sign * a[i] * b[j];
}

static void determinant(const bilinear b[3], double polynomial[11])
{
    memset(polynomial, 0, 11 * sizeof *polynomial);
    for (int32_t i = 0; i < 3; i++) { /* along the column of `one` */
        const bilinear *p = &b[(i + 1) % 3], *q = &b[(i + 2) % 3];
        double minor[7] = {0};
        add_product(p->x, 4, q->y, 4, 1, minor);
        add_product(p->y, 4, q->x, 4, -1, minor);
        add_product(minor, 7, b[i].one, 5, 1, polynomial);
    }
}

static double value_at(const double *c, int32_t n, double z)
{
    double value = c[n - 1];
    for (int32_t i = n - 2; i >= 0; i--) value = value * z + c[i];
    return value;
}

/* x and y of a root z: (x, y, 1) is orthogonal to the rows of B(z), so a cross product of two rows has its direction;
 * of the three the one with the largest last component. */
static bool back_substitute(const bilinear b[3], double z, double *x, double *y)
{
    double row[3][3], best[3] = {0, 0, 0};
    for (int32_t i = 0; i < 3; i++) {
        row[i][0] = value_at(b[i].x, 4, z);
        row[i][1] = value_at(b[i].y, 4, z);
        row[i][2] = value_at(b[i].one, 5, z);
    }
    for (int32_t i = 0; i < 3; i++) {
        const double *p = row[i], *q = row[(i + 1) % 3];
        double last = p[0] * q[1] - p[1] * q[0];
        if (!(fabs(last) > fabs(best[2]))) continue;
        best[0] = p[1] * q[2] - p[2] * q[1];
        best[1] = p[2] * q[0] - p[0] * q[2];
        best[2] = last;
    }
    *x = best[0] / best[2];
    *y = best[1] / best[2];
    return fabs(*x) <= DBL_MAX && fabs(*y) <= DBL_MAX;
}

int32_t kbi_fit_five_point(const fit_pairs *pairs, const int32_t *sample, double models[FIT_MAX_MODELS][FIT_MODEL])
{
    double basis[9][LINEAR], rows[EQUATIONS][CUBIC], polynomial[11], roots[10];
    if (!null_space(pairs, sample, basis)) return 0;
    constraints(basis, rows);
    if (!reduce(rows)) return 0;
    const bilinear b[3] = {combine(rows[4], rows[5]), combine(rows[6], rows[7]), combine(rows[8], rows[9])};
    determinant(b, polynomial);
    int32_t found = kbi_fit_real_roots(polynomial, 10, roots), kept = 0;
    for (int32_t k = 0; k < found; k++) {
        double x, y, *e = models[kept];
        if (!back_substitute(b, roots[k], &x, &y)) continue;
        for (int32_t i = 0; i < 9; i++)
            e[i] = x * basis[i][0] + y * basis[i][1] + roots[k] * basis[i][2] + basis[i][3];
        kept += kbi_fit_unit9(e) && kbi_fit_oriented(e, pairs, sample, 5);
    }
    return kept;
}
