/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions from additions, multiplications and divisions alone: every machine rounds them alike. */
#include "common/sincos.h"

#include <math.h>

void kbi_sincos_degrees(double degrees, double *sine, double *cosine)
{
    kbi_sincos_inline(kbi_usable_degrees(degrees), sine, cosine);
}

/* atan on [0, 1]: two half-angle steps, atan(t) = 2 atan(t / (1 + sqrt(1 + t^2))), would need a square root; instead
 * the argument is moved towards the nearest of tan(0), tan(22.5) and tan(45) degrees: atan(t) = a + atan((t - tan a) /
 * (1 + t tan a)). What is left is at most tan(11.25 degrees) = 0.199, where the series to t^15 errs below 1e-13. */
static double atan_unit(double t)
{
    static const double tan_middle = 0.41421356237309504880;
    double base = 0, r = t;
    if (t > 0.66817863791929891999) { /* tan(33.75 degrees) */
        base = KBI_PI / 4;
        r = (t - 1.0) / (1.0 + t);
    } else if (t > 0.19891236737965800691) { /* tan(11.25 degrees) */
        base = KBI_PI / 8;
        r = (t - tan_middle) / (1.0 + t * tan_middle);
    }
    double q = r * r;
    return base +
           r * (1.0 + q * (-1.0 / 3 +
                           q * (1.0 / 5 + q * (-1.0 / 7 + q * (1.0 / 9 + q * (-1.0 / 11 + q * (1.0 / 13 - q / 15)))))));
}

double kbi_atan2_degrees(double y, double x)
{
    double ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
    if (!(ax > 0 || ay > 0)) return 0;
    double a = (ay <= ax ? atan_unit(ay / ax) : KBI_PI / 2 - atan_unit(ax / ay)) * (180.0 / KBI_PI);
    if (x < 0) a = 180.0 - a;
    if (y < 0) a = 360.0 - a;
    return a >= 360.0 ? 0.0 : a;
}

double kbi_exp(double x)
{
    /* ln 2 in two parts, the first of 33 bits: n times it is exact, so that nothing of x is lost. */
    static const double ln2_high = 0x1.62e42feep-1, ln2_low = 1.90821492927058770002e-10;
    int n = (int)(x / ln2_high + (x < 0 ? -0.5 : 0.5));
    double r = (x - n * ln2_high) - n * ln2_low, term = 1, sum = 1;
    for (int i = 1; i <= 14; i++) {
        term = term * r / i;
        if (sum + term == sum) break; /* and so will all that follow */
        sum += term;
    }
    double two = n < 0 ? 0.5 : 2.0;
    for (int i = n < 0 ? -n : n; i > 0; i--) sum *= two;
    return sum;
}

/* x = m 2^e with m from sqrt(1/2) to sqrt(2); ln m = 2 atanh(t) with t = (m - 1) / (m + 1), |t| <= 0.172: the series
 * to the 19th power errs below 1e-16. */
double kbi_log(double x)
{
    static const double ln2 = 0.69314718055994530942, root_half = 0.70710678118654752440;
    int e = 0;
    for (; x > 2 * root_half; e++) x *= 0.5;
    for (; x < root_half; e--) x *= 2;
    double t = (x - 1) / (x + 1), q = t * t, sum = 0;
    for (int i = 19; i >= 1; i -= 2) sum = sum * q + 1.0 / i;
    return e * ln2 + 2 * t * sum;
}

uint32_t kbi_isqrt(uint64_t v)
{
    double guess = sqrt((double)v); /* off by less than 1 */
    uint64_t root = guess < 4294967295.0 ? (uint64_t)guess : UINT32_MAX;
    if (root * root > v) root--;
    if (root < UINT32_MAX && (root + 1) * (root + 1) <= v) root++;
    return (uint32_t)root;
}

bool kbi_cholesky(double *a, int32_t n, double min)
{
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int32_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i > j) a[i * n + j] = sum / a[j * n + j];
            else if (sum > min * a[i * n + i]) a[i * n + i] = sqrt(sum);
            else return false;
        }
    return true;
}

void kbi_cholesky_solve(const double *l, int32_t n, double *b)
{
    for (int32_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < i; k++) b[i] -= l[i * n + k] * b[k];
        b[i] /= l[i * n + i];
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        for (int32_t k = i + 1; k < n; k++) b[i] -= l[k * n + i] * b[k];
        b[i] /= l[i * n + i];
    }
}
