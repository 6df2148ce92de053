/* SPDX-License-Identifier: Apache-2.0 */
/* Sine and cosine as inline functions, so that loops over many angles can become vector code. Use kbi_sincos_degrees
 * elsewhere. */
#ifndef KBI_SINCOS_H
#define KBI_SINCOS_H

#include "common/common.h"

#define KBI_PI 3.14159265358979323846

/* Taylor series on [-pi/4, pi/4]: the first term left out is below 1e-17. */
static inline double kbi_sine_small(double x)
{
    double q = x * x;
    return x * (1.0 + q * (-1.0 / 6 + q * (1.0 / 120 + q * (-1.0 / 5040 + q * (1.0 / 362880 + q * (-1.0 / 39916800 +
           q * (1.0 / 6227020800.0 - q / 1307674368000.0)))))));
}

static inline double kbi_cosine_small(double x)
{
    double q = x * x;
    return 1.0 + q * (-1.0 / 2 + q * (1.0 / 24 + q * (-1.0 / 720 + q * (1.0 / 40320 + q * (-1.0 / 3628800 +
           q * (1.0 / 479001600.0 - q / 87178291200.0))))));
}

/* The angle, or 0 for "none", NaN and values beyond any sense. */
static inline double kbi_usable_degrees(double degrees) { return degrees >= 0 && degrees <= 1e9 ? degrees : 0; }

/* For a usable angle. No branches: conditions are selections, signs are factors. */
static inline void kbi_sincos_inline(double degrees, double *sine, double *cosine)
{
    double d = degrees - 360.0 * (int32_t)(degrees / 360.0);
    int32_t quarter = (int32_t)(d / 90.0 + 0.5); /* 0..4, the nearest multiple of 90 degrees */
    double x = (d - 90.0 * quarter) * (KBI_PI / 180.0);
    double s = kbi_sine_small(x), c = kbi_cosine_small(x);
    double along = quarter & 1 ? c : s, across = quarter & 1 ? s : c;
    *sine = along * (1 - (quarter & 2));
    *cosine = across * (1 - ((quarter + 1) & 2));
}

#endif
