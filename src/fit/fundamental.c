/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* The fundamental matrix between two images of a rigid scene: x2^T F x1 = 0, F of rank two.
 *
 * Minimal solver. Seven pairs give seven linear equations for nine entries: F = a A + (1 - a) B out of a null space
 * of two dimensions, and det F = 0 is a cubic in a with one or three real roots. A solution must also be possible
 * with all seven points in front of both cameras: F x1 and the line from the epipole e2 to x2 are the same line up to
 * a factor, and the factor has the same sign for all of them (Chum, Werner and Matas 2004).
 *
 * Error. Sampson's: r = x2^T F x1 / g, g^2 = the squared first two entries of F x1 and of F^T x2. To first order it
 * is the distance by which the four coordinates must move to satisfy F.
 *
 * Least squares. From a rough model: the 8-point solution, the smallest eigenvector of the sum of a a^T / g^2 with a
 * the nine products of coordinates, brought to rank two. Near the optimum: Gauss-Newton on r itself, in the nine
 * entries, kept from moving along F (its factor is free) and along its cofactors (the direction in which the
 * determinant grows). */
#include <math.h>

#include "fit/fit.h"

#define TOGETHER 16 /* errors of pairs that are computed at once */

void kbi_fit_products(const fit_pairs *pairs, int32_t s, double a[9])
{
    double x1 = pairs->x1[s], y1 = pairs->y1[s], x2 = pairs->x2[s], y2 = pairs->y2[s];
    a[0] = x2 * x1, a[1] = x2 * y1, a[2] = x2;
    a[3] = y2 * x1, a[4] = y2 * y1, a[5] = y2;
    a[6] = x1, a[7] = y1, a[8] = 1;
}

static double dot9(const double *a, const double *b)
{
    double sum = 0;
    for (int32_t i = 0; i < 9; i++) sum += a[i] * b[i];
    return sum;
}

/* ---- seven points ---- */

static void swap_rows(double *a, double *b)
{
    double row[9];
    memcpy(row, a, sizeof row);
    memmove(a, b, sizeof row);
    memcpy(b, row, sizeof row);
}

static void swap_columns(double (*a)[9], int32_t rows, int32_t k, int32_t l, int32_t column[9])
{
    int32_t number = column[k];
    column[k] = column[l];
    column[l] = number;
    for (int32_t i = 0; i < rows; i++) {
        double t = a[i][k];
        a[i][k] = a[i][l];
        a[i][l] = t;
    }
}

/* Columns are swapped in place, and all nine of a row are worked on, so that compilers see loops of fixed length. */
bool kbi_fit_eliminate(double (*a)[9], int32_t rows, int32_t column[9])
{
    for (int32_t j = 0; j < 9; j++) column[j] = j;
    for (int32_t k = 0; k < rows; k++) {
        int32_t row = k, col = k;
        double largest = fabs(a[k][k]), pivots[9];
        for (int32_t i = k; i < rows; i++)
            for (int32_t j = k; j < 9; j++)
                if (fabs(a[i][j]) > largest) largest = fabs(a[row = i][col = j]);
        if (!(largest > 1e-10)) return false;
        swap_rows(a[row], a[k]);
        swap_columns(a, rows, k, col, column);
        double inverse = 1 / a[k][k];
        for (int32_t j = 0; j < 9; j++) pivots[j] = j < k ? 0 : a[k][j] * inverse;
        memcpy(a[k], pivots, sizeof pivots);
        for (int32_t i = 0; i < rows; i++) {
            double factor = a[i][k];
            if (i == k) continue;
            for (int32_t j = 0; j < 9; j++) a[i][j] -= factor * pivots[j];
        }
    }
    return true;
}

void kbi_fit_null_vector(double (*a)[9], int32_t rows, const int32_t column[9], int32_t free_column, double *f)
{
    for (int32_t k = 0; k < rows; k++) f[column[k]] = -a[k][free_column];
    for (int32_t k = rows; k < 9; k++) f[column[k]] = k == free_column;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Newton's method on x^3 + a x^2 + b x + c from beyond all roots on the side where there is one: it comes down to the
 * outermost root without ever stepping over it. */
static double outer_root(double a, double b, double c)
{
    double bound = 1 + larger(fabs(a), larger(fabs(b), fabs(c))); /* Cauchy's */
    double middle = -a / 3;
    double x = ((middle + a) * middle + b) * middle + c > 0 ? -bound : bound;
    for (int32_t i = 0; i < 100; i++) {
        double value = ((x + a) * x + b) * x + c, slope = (3 * x + 2 * a) * x + b;
        double next = x - value / slope;
        if (!(fabs(next - x) > 1e-15 * fabs(x)) || !(fabs(next) <= bound)) break;
        x = next;
    }
    return x;
}

/* The real roots of c3 x^3 + c2 x^2 + c1 x + c0. */
static int32_t cubic_roots(double c3, double c2, double c1, double c0, double roots[3])
{
    double a, b, largest = larger(larger(fabs(c2), fabs(c1)), fabs(c0));
    int32_t count = 0;
    if (fabs(c3) > 1e-12 * largest) {
        double r = outer_root(c2 / c3, c1 / c3, c0 / c3);
        roots[count++] = r;
        a = c2 / c3 + r; /* the other factor is x^2 + a x + b */
        b = c1 / c3 + r * a;
    } else if (fabs(c2) > 1e-12 * largest) {
        a = c1 / c2;
        b = c0 / c2;
    } else {
        if (!(fabs(c1) > 0)) return 0;
        roots[0] = -c0 / c1;
        return 1;
    }
    double discriminant = a * a / 4 - b;
    if (!(discriminant >= 0)) return count;
    double far = a > 0 ? -a / 2 - sqrt(discriminant) : -a / 2 + sqrt(discriminant); /* no cancellation */
    roots[count++] = far;
    if (far != 0) roots[count++] = b / far;
    return count;
}

/* The epipole in image 2, up to a factor: the longest cross product of two columns of F. */
static void epipole2(const double *f, double e[3])
{
    double longest = -1;
    for (int32_t i = 0; i < 3; i++) {
        int32_t p = i, q = (i + 1) % 3;
        double x = f[3 + p] * f[6 + q] - f[6 + p] * f[3 + q];
        double y = f[6 + p] * f[q] - f[p] * f[6 + q];
        double z = f[p] * f[3 + q] - f[3 + p] * f[q];
        double length = x * x + y * y + z * z;
        if (!(length > longest)) continue;
        longest = length;
        e[0] = x, e[1] = y, e[2] = z;
    }
}

bool kbi_fit_oriented(const double *f, const fit_pairs *pairs, const int32_t *sample, int32_t n)
{
    double e[3] = {0};
    int32_t positive = 0;
    epipole2(f, e);
    for (int32_t i = 0; i < n; i++) {
        int32_t s = sample[i];
        double x1 = pairs->x1[s], y1 = pairs->y1[s], x2 = pairs->x2[s], y2 = pairs->y2[s];
        double lx = f[0] * x1 + f[1] * y1 + f[2], ly = f[3] * x1 + f[4] * y1 + f[5];
        positive += lx * (e[1] - e[2] * y2) + ly * (e[2] * x2 - e[0]) > 0;
    }
    return positive == 0 || positive == n;
}

static int32_t fundamental_solve(const fit_pairs *pairs, const int32_t *sample,
                                 double models[FIT_MAX_MODELS][FIT_MODEL])
{
    double a[7][9], first[9], other[9], cofactors[9], roots[3];
    int32_t column[9];
    for (int32_t i = 0; i < 7; i++) kbi_fit_products(pairs, sample[i], a[i]);
    if (!kbi_fit_eliminate(a, 7, column)) return 0;
    kbi_fit_null_vector(a, 7, column, 7, first);
    kbi_fit_null_vector(a, 7, column, 8, other);
    for (int32_t i = 0; i < 9; i++) first[i] -= other[i]; /* F = other + root x first */

    kbi_fit_cofactors3(first, cofactors);
    double c3 = (cofactors[0] * first[0] + cofactors[1] * first[1] + cofactors[2] * first[2]);
    double c2 = dot9(cofactors, other);
    kbi_fit_cofactors3(other, cofactors);
    double c1 = dot9(cofactors, first);
    double c0 = (cofactors[0] * other[0] + cofactors[1] * other[1] + cofactors[2] * other[2]);
    int32_t found = cubic_roots(c3, c2, c1, c0, roots), kept = 0;
    for (int32_t k = 0; k < found; k++) {
        double *f = models[kept];
        for (int32_t i = 0; i < 9; i++) f[i] = other[i] + roots[k] * first[i];
        if (kbi_fit_unit9(f) && kbi_fit_oriented(f, pairs, sample, 7)) kept++;
    }
    return kept;
}

/* ---- the error and its derivatives ---- */

typedef struct sampson {
    double lx, ly; /* of F x1 */
    double mx, my; /* of F^T x2 */
    double e;      /* x2^T F x1 */
} sampson;

static inline sampson sampson_at(const double *f, double x1, double y1, double x2, double y2)
{
    sampson p;
    p.lx = f[0] * x1 + f[1] * y1 + f[2];
    p.ly = f[3] * x1 + f[4] * y1 + f[5];
    p.mx = f[0] * x2 + f[3] * y2 + f[6];
    p.my = f[1] * x2 + f[4] * y2 + f[7];
    p.e = p.lx * x2 + p.ly * y2 + (f[6] * x1 + f[7] * y1 + f[8]);
    return p;
}

static inline double slope2(sampson p)
{
    return (p.lx * p.lx + p.ly * p.ly) + (p.mx * p.mx + p.my * p.my);
}

/* NaN when both points are epipoles: never an inlier. */
static inline double sampson_error(const double *f, const fit_pairs *pairs, int32_t i)
{
    sampson p = sampson_at(f, pairs->x1[i], pairs->y1[i], pairs->x2[i], pairs->y2[i]);
    return p.e * p.e / slope2(p);
}

void kbi_fit_sampson_errors(const double *f, const fit_pairs *pairs, int32_t from, int32_t to, double *error2)
{
    for (int32_t i = from; i < to; i += TOGETHER) {
        double found[TOGETHER]; /* which overlaps no input, and is of fixed length, for compilers that vectorise */
        const int32_t first = i + TOGETHER <= to ? i : to - TOGETHER;
        if (first < from) {
            for (; i < to; i++) error2[i - from] = sampson_error(f, pairs, i);
            return;
        }
        for (int32_t k = 0; k < TOGETHER; k++) found[k] = sampson_error(f, pairs, first + k);
        memcpy(error2 + (first - from), found, sizeof found);
    }
}

static void add_square(double *matrix, const double *a, double weight)
{
    for (int32_t i = 0; i < 9; i++) {
        double w = weight * a[i];
        for (int32_t j = 0; j <= i; j++) matrix[9 * i + j] += w * a[j];
    }
}

static void mirror_lower_half(double *matrix)
{
    for (int32_t i = 0; i < 9; i++)
        for (int32_t j = 0; j < i; j++) matrix[9 * j + i] = matrix[9 * i + j];
}

/* dr = (de - r dg) / g, with g dg = lx dlx + ly dly + mx dmx + my dmy. */
void kbi_fit_sampson_normal(const double *f, const fit_pairs *pairs, const fit_list *list, fit_normal *out)
{
    memset(out, 0, sizeof *out);
    for (int32_t k = 0; k < list->n; k++) {
        int32_t s = list->slot[k];
        double x1 = pairs->x1[s], y1 = pairs->y1[s], x2 = pairs->x2[s], y2 = pairs->y2[s], a[9];
        sampson p = sampson_at(f, x1, y1, x2, y2);
        double g2 = slope2(p);
        if (!(g2 > 0)) continue;
        double g = sqrt(g2), r = p.e / g, c = r / g;
        kbi_fit_products(pairs, s, a);
        a[0] -= c * (p.lx * x1 + p.mx * x2), a[1] -= c * (p.lx * y1 + p.my * x2), a[2] -= c * p.lx;
        a[3] -= c * (p.ly * x1 + p.mx * y2), a[4] -= c * (p.ly * y1 + p.my * y2), a[5] -= c * p.ly;
        a[6] -= c * p.mx, a[7] -= c * p.my;
        add_square(out->matrix, a, list->weight[k] / g2);
        for (int32_t i = 0; i < 9; i++) out->gradient[i] += list->weight[k] * c * a[i];
    }
    mirror_lower_half(out->matrix);
}

/* The nearest matrix of rank two: without the part that acts on the smallest singular vector. */
static bool fundamental_retract(double *f)
{
    double values[3], v[9]; /* the first vector is of the smallest singular value */
    kbi_fit_right_singular(f, values, v);
    for (int32_t i = 0; i < 3; i++) {
        double part = f[3 * i] * v[0] + f[3 * i + 1] * v[1] + f[3 * i + 2] * v[2];
        for (int32_t j = 0; j < 3; j++) f[3 * i + j] -= part * v[j];
    }
    return kbi_fit_unit9(f);
}

static int32_t fundamental_gauge(const double *f, double directions[FIT_GAUGE][FIT_MODEL])
{
    memcpy(directions[0], f, 9 * sizeof *f);
    kbi_fit_cofactors3(f, directions[1]);
    return kbi_fit_unit9(directions[1]) ? 2 : 1;
}

static bool fundamental_relax(double *f, const fit_pairs *pairs, const fit_list *list)
{
    double matrix[81] = {0}, values[9], vectors[81], a[9];
    if (list->n < 8) return false;
    for (int32_t k = 0; k < list->n; k++) {
        int32_t s = list->slot[k];
        double g2 = slope2(sampson_at(f, pairs->x1[s], pairs->y1[s], pairs->x2[s], pairs->y2[s]));
        kbi_fit_products(pairs, s, a);
        if (g2 > 0) add_square(matrix, a, list->weight[k] / g2);
    }
    mirror_lower_half(matrix);
    kbi_fit_eigen(matrix, 9, values, vectors);
    memcpy(f, vectors, 9 * sizeof *f);
    return fundamental_retract(f);
}

double kbi_fit_band_chance(double threshold) { return 1.5 * threshold; }

const fit_kind kbi_fit_fundamental = {
    .name = "fundamental",
    .sample = 7,
    FIT_BY_SAMPSON,
    .chance = kbi_fit_band_chance,
    .one_scale = true,
    .solve = fundamental_solve,
    .relax = fundamental_relax,
    .gauge = fundamental_gauge,
    .retract = fundamental_retract,
};
