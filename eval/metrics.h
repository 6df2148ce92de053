/* The numbers that benchmarks report, each computed in one place. All take plain arrays and allocate nothing that
 * outlives the call. */
#ifndef EVAL_METRICS_H
#define EVAL_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One answer of a matcher: how far it was, and whether it was right. */
typedef struct ev_answer {
    float distance;
    uint8_t correct;
} ev_answer;

/* A precision-recall curve brought to fixed recalls 0, 0.01, ... 1, so that curves of pairs can be averaged. Precision
 * is 0 beyond the largest recall reached. */
#define EV_CURVE_POINTS 101
typedef struct ev_curve {
    double precision[EV_CURVE_POINTS];
} ev_curve;

/* Average precision with one point per distinct distance: answers at the same distance enter together, so ties need no
 * rule. The curve starts at recall 0 and precision 1; the area is that of trapezoids. `positives` is what recall is
 * counted over; 0 gives an area of 0. Sorts the answers. curve may be NULL. */
double ev_average_precision(ev_answer *answers, size_t n, size_t positives, ev_curve *curve);

/* Average precision of a ranked list, one point per answer, in the given order (so ties are settled by the caller's
 * order): correct[i] belongs to rank i. The curve starts at precision 1 and recall 0, trapezoids again. */
double ev_average_precision_ranked(const uint8_t *correct, size_t n, size_t positives);

/* The area under the ROC curve of a ranked list: of all pairs of a right and a wrong answer, the share where the right
 * one comes first. */
double ev_roc_area_ranked(const uint8_t *correct, size_t n);

/* Histograms of integer distances 0..bins-1 for pairs that belong together and pairs that do not. */
typedef struct ev_histograms {
    const uint64_t *positive, *negative;
    size_t bins;
} ev_histograms;

/* False positive rate at 95 % recall. Whole distances tie often, and then "the" rate is a matter of the rule:
 *   rate          the smallest T with TPR(T) >= 0.95 counts, and everything up to and with T is accepted;
 *   best, worst   of the answers exactly at T only as many as are needed are taken, positives first or negatives first;
 *   interpolated  on the straight line of the ROC curve between T - 1 and T. */
typedef struct ev_fpr95 {
    double rate, best, worst, interpolated;
    size_t threshold;
} ev_fpr95;
ev_fpr95 ev_fpr_at_95(ev_histograms h);

/* Median and quartiles, by linear interpolation between ranks; sorts the values. n > 0. */
typedef struct ev_spread {
    double median, low, high, smallest, largest;
} ev_spread;
ev_spread ev_spread_of(double *values, size_t n);

#endif
