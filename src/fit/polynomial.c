/* Real roots of a polynomial by its derivatives.
 *
 * Between two neighbouring roots of p' the polynomial p is monotonic, so a change of sign there encloses exactly one
 * root of p. Starting from the linear derivative, the roots of every derivative give the intervals of the next one.
 * All roots lie within a bound B with |c_n| B^n > sum |c_i| B^i, and by the theorem of Gauss and Lucas so do those of
 * the derivatives.
 * A double root without a change of sign is not reported. */
#include <math.h>

#include "fit/fit.h"

#define DEGREE 10

static double polynomial_at(const double *c, int32_t degree, double x)
{
    double value = c[degree];
    for (int32_t i = degree - 1; i >= 0; i--) value = value * x + c[i];
    return value;
}

/* The root between low and high, where p changes its sign: Newton's method, and bisection where Newton would leave the
 * interval or gains less than that (far from the roots it gains little per step). */
static double enclosed_root(const double *c, const double *derivative, int32_t degree, double low, double high,
                            bool rising)
{
    double x = 0.5 * (low + high), before = high - low;
    for (int32_t i = 0; i < 100; i++) {
        double value = polynomial_at(c, degree, x);
        if (value == 0) return x;
        if ((value > 0) == rising) high = x;
        else low = x;
        double step = value / polynomial_at(derivative, degree - 1, x), next = x - step;
        if (!(next > low && next < high) || !(fabs(step) < 0.5 * before)) {
            next = 0.5 * (low + high);
            step = high - low;
        }
        before = fabs(step);
        if (!(fabs(next - x) > 1e-15 * fabs(x))) return next;
        x = next;
    }
    return x;
}

/* A power of two beyond which |p| is larger than zero for certain; 0 when there is none in sight. */
static double root_bound(const double *c, int32_t degree)
{
    double sizes[DEGREE + 1], bound = 1;
    for (int32_t i = 0; i <= degree; i++) sizes[i] = i < degree ? -fabs(c[i]) : fabs(c[i]);
    while (bound < 1e30 && !(polynomial_at(sizes, degree, bound) > 0)) bound *= 2;
    while (bound > 1e-30 && polynomial_at(sizes, degree, 0.5 * bound) > 0) bound *= 0.5;
    return polynomial_at(sizes, degree, bound) > 0 ? bound : 0;
}

static int32_t roots_between(const double *c, const double *derivative, int32_t degree, double bound,
                             const double *critical, int32_t criticals, double *roots)
{
    int32_t count = 0;
    double low = -bound, at_low = polynomial_at(c, degree, low);
    for (int32_t k = 0; k <= criticals; k++) {
        double high = k < criticals ? critical[k] : bound, at_high = polynomial_at(c, degree, high);
        if ((at_low < 0 && at_high >= 0) || (at_low > 0 && at_high <= 0))
            roots[count++] = enclosed_root(c, derivative, degree, low, high, at_high > at_low);
        low = high;
        at_low = at_high;
    }
    return count;
}

int32_t kbi_fit_real_roots(const double *c, int32_t degree, double *roots)
{
    double chain[DEGREE + 1][DEGREE + 1] = {{0}}, found[DEGREE];
    while (degree > 0 && c[degree] == 0) degree--;
    if (degree < 1 || degree > DEGREE) return 0;
    double bound = root_bound(c, degree);
    if (!(bound > 0)) return 0; /* NaN, or a leading coefficient that says nothing */
    memcpy(chain[degree], c, ((size_t)degree + 1) * sizeof *c);
    for (int32_t d = degree; d > 0; d--)
        for (int32_t i = 1; i <= d; i++) chain[d - 1][i - 1] = i * chain[d][i];
    int32_t count = 0;
    for (int32_t d = 1; d <= degree; d++) {
        count = roots_between(chain[d], chain[d - 1], d, bound, roots, count, found);
        memcpy(roots, found, (size_t)count * sizeof *roots);
    }
    return count;
}
