/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* Real roots of a polynomial by Sturm's theorem.
 *
 * p0 = p, p1 = p', p(k+1) = -(the remainder of p(k-1) by p(k)) x a positive factor. With V(x) the number of changes of
 * sign in p0(x), p1(x), ..., V(a) - V(b) different real roots lie in (a, b]. Intervals are halved until each holds one
 * root, which Newton's method then finds. The chain is kept as quotients, of degree one but for rare polynomials:
 * p(k-1) = q(k) p(k) - s(k) p(k+1), so a value of the whole chain costs the multiplications of three values of p.
 * All roots lie within a bound B with |c_n| B^n > sum |c_i| B^i.
 * A double root without a change of sign is not reported. */
#include <math.h>

#include "fit/fit.h"

#define DEGREE 10
#define HALVINGS 60 /* of the interval that holds all roots: roots closer than that are one */

typedef struct sturm {
    int32_t count;                    /* quotients */
    int32_t degree[DEGREE];           /* of the quotients */
    double quotient[DEGREE][DEGREE + 1];
    double factor[DEGREE];            /* s */
    double last;                      /* the constant that ends the chain */
} sturm;

static double polynomial_at(const double *c, int32_t degree, double x)
{
    double value = c[degree];
    for (int32_t i = degree - 1; i >= 0; i--) value = value * x + c[i];
    return value;
}

static double largest_of(const double *c, int32_t degree)
{
    double largest = 0;
    for (int32_t i = 0; i <= degree; i++) largest = fabs(c[i]) > largest ? fabs(c[i]) : largest;
    return largest;
}

/* Divides a by b; a becomes the negative remainder over its largest coefficient, which is returned. What rounding
 * leaves is no remainder: *degree becomes -1 when nothing else is left. */
static double divide(double *a, int32_t *degree, const double *b, int32_t by, double *quotient)
{
    double nothing = 1e-14 * largest_of(a, *degree);
    for (int32_t top = *degree; top >= by; top--) {
        double q = a[top] / b[by];
        quotient[top - by] = q;
        for (int32_t i = 0; i < by; i++) a[top - by + i] -= q * b[i];
    }
    *degree = by - 1;
    while (*degree >= 0 && !(fabs(a[*degree]) > nothing)) (*degree)--;
    double factor = largest_of(a, *degree);
    for (int32_t i = 0; i <= *degree; i++) a[i] /= -factor;
    return factor;
}

static void sturm_chain(const double *c, int32_t degree, sturm *out)
{
    double room[2][DEGREE + 1], *a = room[0], *b = room[1];
    int32_t of_a = degree, of_b = degree - 1;
    memcpy(a, c, ((size_t)degree + 1) * sizeof *c);
    for (int32_t i = 0; i < degree; i++) b[i] = (i + 1) * c[i + 1];
    out->count = 0;
    while (of_b > 0) {
        int32_t k = out->count++, left = of_a;
        double *next = a;
        out->degree[k] = of_a - of_b;
        out->factor[k] = divide(a, &left, b, of_b, out->quotient[k]);
        a = b, of_a = of_b;
        b = next, of_b = left;
    }
    if (of_b == 0) { /* by a constant: the last quotient is the polynomial before it */
        int32_t k = out->count++;
        out->degree[k] = of_a;
        for (int32_t i = 0; i <= of_a; i++) out->quotient[k][i] = a[i] / b[0];
        out->factor[k] = 0;
    }
    out->last = of_b == 0 ? b[0] : 1; /* a common divisor changes the signs of the whole chain at once, if any */
}

/* V(x); zeros do not count. */
static int32_t sign_changes(const sturm *s, double x)
{
    double above = 0, here = s->last;
    int32_t changes = 0;
    bool positive = here > 0;
    for (int32_t k = s->count - 1; k >= 0; k--) {
        double below = polynomial_at(s->quotient[k], s->degree[k], x) * here - s->factor[k] * above;
        bool changed = below != 0 && (below > 0) != positive;
        changes += changed;
        positive ^= changed;
        above = here;
        here = below;
    }
    return changes;
}

/* The root between low and high, where p changes its sign: Newton's method, and bisection where Newton would leave the
 * interval or gains less than that (far from the roots it gains little per step). */
static double enclosed_root(const double *c, int32_t degree, double low, double high, bool rising)
{
    double x = 0.5 * (low + high), before = high - low;
    for (int32_t i = 0; i < 100; i++) {
        double value = c[degree], slope = 0;
        for (int32_t k = degree - 1; k >= 0; k--) {
            slope = slope * x + value;
            value = value * x + c[k];
        }
        if (value == 0) return x;
        if ((value > 0) == rising) high = x;
        else low = x;
        double step = value / slope, next = x - step;
        bool newton = next > low && next < high && fabs(step) < 0.5 * before;
        if (!newton) {
            next = 0.5 * (low + high);
            step = high - low;
        }
        before = fabs(step);
        /* A step of Newton squares the error, so the next one would change nothing. */
        if (!(fabs(next - x) > (newton ? 1e-10 : 1e-15) * fabs(x))) return next;
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

int32_t kbi_fit_real_roots(const double *c, int32_t degree, double *roots)
{
    sturm chain;
    double highs[HALVINGS]; /* the ends of the intervals that are left, the next one last */
    int32_t changes[HALVINGS], left = 1, count = 0;
    while (degree > 0 && c[degree] == 0) degree--;
    if (degree < 1 || degree > DEGREE) return 0;
    double bound = root_bound(c, degree), low = -bound;
    if (!(bound > 0)) return 0; /* NaN, or a leading coefficient that says nothing */
    sturm_chain(c, degree, &chain);
    int32_t at_low = sign_changes(&chain, low);
    highs[0] = bound;
    changes[0] = sign_changes(&chain, bound);
    while (left > 0) {
        double high = highs[left - 1];
        int32_t inside = at_low - changes[left - 1];
        if (inside > 1 && left < HALVINGS) {
            highs[left] = 0.5 * (low + high);
            changes[left] = sign_changes(&chain, highs[left]);
            left++;
            continue;
        }
        double before = polynomial_at(c, degree, low), after = polynomial_at(c, degree, high);
        if (inside == 1 && after == 0) roots[count++] = high;
        else if (inside == 1 && (before == 0 || (before > 0) != (after > 0)))
            roots[count++] = enclosed_root(c, degree, low, high, after > 0);
        low = high;
        at_low = changes[--left];
    }
    return count;
}
