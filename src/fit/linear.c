/* SPDX-License-Identifier: Apache-2.0 */
/* Linear algebra on matrices of twelve rows at most. */
#include <math.h>

#include "fit/fit.h"

/* One rotation makes element (p, q) zero: with theta = (a_qq - a_pp) / (2 a_pq), t = sign(theta) / (|theta| +
 * sqrt(theta^2 + 1)) is the smaller root of t^2 + 2 theta t - 1 = 0, c = 1 / sqrt(t^2 + 1), s = t c. */
static void rotate(double *a, int32_t n, double *v, int32_t p, int32_t q)
{
    double apq = a[p * n + q];
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    double t = 1 / (fabs(theta) + sqrt(theta * theta + 1));
    if (theta < 0) t = -t;
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int32_t i = 0; i < n; i++) {
        double aip = a[i * n + p], aiq = a[i * n + q];
        a[i * n + p] = c * aip - s * aiq;
        a[i * n + q] = s * aip + c * aiq;
    }
    for (int32_t i = 0; i < n; i++) {
        double api = a[p * n + i], aqi = a[q * n + i];
        a[p * n + i] = c * api - s * aqi;
        a[q * n + i] = s * api + c * aqi;
        double vp = v[p * n + i], vq = v[q * n + i];
        v[p * n + i] = c * vp - s * vq;
        v[q * n + i] = s * vp + c * vq;
    }
}

static void sort_ascending(double *values, double *vectors, int32_t n)
{
    for (int32_t i = 1; i < n; i++) {
        for (int32_t j = i; j > 0 && values[j] < values[j - 1]; j--) {
            double value = values[j];
            values[j] = values[j - 1];
            values[j - 1] = value;
            for (int32_t k = 0; k < n; k++) {
                double x = vectors[j * n + k];
                vectors[j * n + k] = vectors[(j - 1) * n + k];
                vectors[(j - 1) * n + k] = x;
            }
        }
    }
}

void kbi_fit_eigen(double *matrix, int32_t n, double *values, double *vectors)
{
    for (int32_t i = 0; i < n * n; i++) vectors[i] = i % (n + 1) == 0;
    for (int32_t sweep = 0; sweep < 30; sweep++) {
        bool rotated = false;
        for (int32_t p = 0; p < n; p++) {
            for (int32_t q = p + 1; q < n; q++) {
                double small = 1e-16 * sqrt(fabs(matrix[p * n + p] * matrix[q * n + q]));
                if (!(fabs(matrix[p * n + q]) > small)) continue;
                rotate(matrix, n, vectors, p, q);
                rotated = true;
            }
        }
        if (!rotated) break;
    }
    for (int32_t i = 0; i < n; i++) values[i] = matrix[i * n + i];
    sort_ascending(values, vectors, n);
}

void kbi_fit_right_singular(const double *m, double values[3], double vectors[9])
{
    double square[9], transposed[9] = {m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]};
    kbi_fit_multiply3(transposed, m, square);
    kbi_fit_eigen(square, 3, values, vectors);
}

bool kbi_fit_unit9(double *v)
{
    double norm = 0;
    for (int32_t i = 0; i < 9; i++) norm += v[i] * v[i];
    norm = sqrt(norm);
    if (!(norm > 0 && norm <= DBL_MAX)) return false;
    for (int32_t i = 0; i < 9; i++) v[i] /= norm;
    return true;
}

bool kbi_fit_solve(double *a, const double *b, int32_t n, double *x)
{
    if (!kbi_cholesky(a, n, 1e-14)) return false;
    memcpy(x, b, (size_t)n * sizeof *x);
    kbi_cholesky_solve(a, n, x);
    return true;
}

void kbi_fit_multiply3(const double *a, const double *b, double *out)
{
    for (int32_t i = 0; i < 3; i++)
        for (int32_t j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

void kbi_fit_cofactors3(const double *m, double *out)
{
    out[0] = m[4] * m[8] - m[5] * m[7];
    out[1] = m[5] * m[6] - m[3] * m[8];
    out[2] = m[3] * m[7] - m[4] * m[6];
    out[3] = m[2] * m[7] - m[1] * m[8];
    out[4] = m[0] * m[8] - m[2] * m[6];
    out[5] = m[1] * m[6] - m[0] * m[7];
    out[6] = m[1] * m[5] - m[2] * m[4];
    out[7] = m[2] * m[3] - m[0] * m[5];
    out[8] = m[0] * m[4] - m[1] * m[3];
}

void kbi_fit_cross3(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
