/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that benchmarks and the trainer report, each computed in one place. All take plain arrays and allocate nothing that
 * outlives the call. */
#ifndef KBI_METRICS_H
#define KBI_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One answer of a matcher: how far it was, and whether it was right. */
typedef struct kbi_answer {
    float distance;
    uint8_t correct;
} kbi_answer;

/* A precision-recall curve brought to fixed recalls 0, 0.01, ... 1, so that curves of pairs can be averaged. Precision
 * is 0 beyond the largest recall reached. */
#define KBI_CURVE_POINTS 101
typedef struct kbi_curve {
    double precision[KBI_CURVE_POINTS];
} kbi_curve;

/* Average precision with one point per distinct distance: answers at the same distance enter together, so ties need no
 * rule. The curve starts at recall 0 and precision 1; the area is that of trapezoids. `positives` is what recall is
 * counted over; 0 gives an area of 0. Sorts the answers. curve may be NULL. */
double kbi_average_precision(kbi_answer *answers, size_t n, size_t positives, kbi_curve *curve);

/* The same for whole distances 0..bins-1 that were counted: answered[d] answers at distance d, of which right[d] are
 * right (a share of them, where ties were settled in proportion). *recall receives the largest recall; may be NULL. */
double kbi_average_precision_binned(const double *right, const uint64_t *answered, size_t bins, size_t positives,
                                    double *recall);

/* Average precision of a ranked list, one point per answer, in the given order (so ties are settled by the caller's
 * order): correct[i] belongs to rank i. The curve starts at precision 1 and recall 0, trapezoids again. */
double kbi_average_precision_ranked(const uint8_t *correct, size_t n, size_t positives);

/* The area under the ROC curve of a ranked list: of all pairs of a right and a wrong answer, the share where the right
 * one comes first. */
double kbi_roc_area_ranked(const uint8_t *correct, size_t n);

/* Histograms of integer distances 0..bins-1 for pairs that belong together and pairs that do not. */
typedef struct kbi_histograms {
    const uint64_t *positive, *negative;
    size_t bins;
} kbi_histograms;

/* False positive rate at 95 % recall. Whole distances tie often, and then "the" rate is a matter of the rule:
 *   rate          the smallest T with TPR(T) >= 0.95 counts, and everything up to and with T is accepted;
 *   best, worst   of the answers exactly at T only as many as are needed are taken, positives first or negatives first;
 *   interpolated  on the straight line of the ROC curve between T - 1 and T. */
typedef struct kbi_fpr95 {
    double rate, best, worst, interpolated;
    size_t threshold;
} kbi_fpr95;
kbi_fpr95 kbi_fpr_at_95(kbi_histograms h);

/* Median and quartiles, by linear interpolation between ranks; sorts the values. n > 0. */
typedef struct kbi_spread {
    double median, low, high, smallest, largest;
} kbi_spread;
kbi_spread kbi_spread_of(double *values, size_t n);

#endif
