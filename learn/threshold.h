/* SPDX-License-Identifier: Apache-2.0 */
/* findThreshold(T, f, L): the threshold theta of a feature f that makes the loss least, by one sweep (the paper,
 * section III-A, Algorithm 2, Fig. 2).
 *
 * The loss of a triplet (a, p, n) changes only where theta passes one of its values f(a), f(p), f(n). Each such value
 * gets the change dL = L(theta = f + eps) - L(theta = f - eps); the changes are sorted by value, and theta* is where
 * their running sum is least. Sorting is the paper's integer sorting: a histogram over theta at a fixed precision,
 * O(P + m) instead of O(P log P). Sums of integers, so exact.
 *
 * dL follows from which of the three patches is alone on its side of theta. As theta rises, first nobody is alone,
 * then the patch with the least value, then the one with the greatest, then nobody again. */
#ifndef KBI_THRESHOLD_H
#define KBI_THRESHOLD_H

#include "common/common.h"

/* A triplet: the places of a, p and n in the array of values, and for each what it adds to the loss when it is
 * alone. */
typedef struct kbi_triple {
    uint32_t place[3];
    int32_t alone[3];
} kbi_triple;

/* theta is a whole number of steps of 64/5 units of describing: 0.1 gray level for BAD, as in the paper, and 1/1280
 * of the mean gradient for BAG. KBI_BINS is the paper's m. */
#define KBI_VALUE_LIMIT 32640
#define KBI_MAX_STEP (KBI_VALUE_LIMIT * 5 / 64)
#define KBI_BINS (2 * KBI_MAX_STEP + 1)
static inline double kbi_step_threshold(int32_t step, double units) { return step * 64.0 / (5 * units); }

typedef struct kbi_found_threshold {
    int64_t change; /* of the loss against a bit that is the same everywhere; never above 0 */
    int32_t step;   /* the bit is f <= theta, with theta = kbi_step_threshold(step, units) */
} kbi_found_threshold;

/* values: f of every patch, within +-KBI_VALUE_LIMIT. histogram: KBI_BINS zeros, which it is again afterwards. The
 * amounts of all triples together must stay below 2^30. The lowest of equally good thresholds is taken. */
kbi_found_threshold kbi_find_threshold(const kbi_triple *triples, size_t n, const int16_t *values,
                                     int32_t *histogram);
/* The same change for a threshold that is given, in units of describing. */
int64_t kbi_threshold_change(const kbi_triple *triples, size_t n, const int16_t *values, int32_t threshold);

#endif
