/* SPDX-License-Identifier: Apache-2.0 */
/* Precision, recall, ROC: the mathematics behind every table.
 *
 * With answers sorted by distance, tp(i) right ones among the first i:
 *     precision = tp(i) / i,   recall = tp(i) / positives,   AP = sum (r_i - r_(i-1)) (p_i + p_(i-1)) / 2
 * with p_0 = 1 and r_0 = 0. */
#include "learn/metrics.h"

#include <math.h>
#include <stdlib.h>

static int by_distance(const void *a, const void *b)
{
    float x = ((const kbi_answer *)a)->distance, y = ((const kbi_answer *)b)->distance;
    return (x > y) - (x < y);
}

/* The segment of the curve from (r0, p0) to (r1, p1) fills the grid recalls in (r0, r1]. */
static void draw_segment(kbi_curve *curve, double r0, double p0, double r1, double p1)
{
    if (!curve || r1 <= r0) return;
    int last = (int)floor(r1 * (KBI_CURVE_POINTS - 1) + 1e-9);
    for (int i = (int)floor(r0 * (KBI_CURVE_POINTS - 1) + 1e-9) + 1; i <= last && i < KBI_CURVE_POINTS; i++) {
        double t = ((double)i / (KBI_CURVE_POINTS - 1) - r0) / (r1 - r0);
        curve->precision[i] = p0 + (p1 - p0) * fmin(1.0, t);
    }
}

double kbi_average_precision(kbi_answer *answers, size_t n, size_t positives, kbi_curve *curve)
{
    double area = 0, recall = 0, precision = 1;
    if (curve) {
        for (int i = 0; i < KBI_CURVE_POINTS; i++) curve->precision[i] = 0;
        curve->precision[0] = 1;
    }
    if (n == 0 || positives == 0) return 0;
    qsort(answers, n, sizeof *answers, by_distance);
    size_t right = 0;
    for (size_t i = 0; i < n; i++) {
        right += answers[i].correct;
        if (i + 1 < n && answers[i + 1].distance == answers[i].distance) continue;
        double r = (double)right / (double)positives, p = (double)right / (double)(i + 1);
        area += (r - recall) * (p + precision) / 2;
        draw_segment(curve, recall, precision, r, p);
        recall = r;
        precision = p;
    }
    return area;
}

double kbi_average_precision_binned(const double *right, const uint64_t *answered, size_t bins, size_t positives,
                                    double *recall)
{
    double found = 0, given = 0, last_recall = 0, precision = 1, area = 0;
    for (size_t d = 0; d < bins && positives > 0; d++) {
        if (answered[d] == 0) continue;
        found += right[d];
        given += (double)answered[d];
        double r = found / (double)positives, p = found / given;
        area += (r - last_recall) * (p + precision) / 2;
        last_recall = r;
        precision = p;
    }
    if (recall) *recall = last_recall;
    return area;
}

double kbi_average_precision_ranked(const uint8_t *correct, size_t n, size_t positives)
{
    double area = 0, precision = 1;
    size_t right = 0;
    if (positives == 0) return 0;
    for (size_t i = 0; i < n; i++) {
        right += correct[i];
        double p = right ? (double)right / (double)(i + 1) : 1e-10 / (double)(i + 1);
        if (correct[i]) area += (p + precision) / 2;
        precision = p;
    }
    return area / (double)positives;
}

double kbi_roc_area_ranked(const uint8_t *correct, size_t n)
{
    double ordered = 0;
    size_t right = 0;
    for (size_t i = 0; i < n; i++) {
        right += correct[i];
        if (!correct[i]) ordered += (double)right;
    }
    return right == 0 || right == n ? 0 : ordered / ((double)right * (double)(n - right));
}

static uint64_t sum(const uint64_t *values, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) total += values[i];
    return total;
}

kbi_fpr95 kbi_fpr_at_95(kbi_histograms h)
{
    uint64_t positives = sum(h.positive, h.bins), negatives = sum(h.negative, h.bins);
    kbi_fpr95 result = {0, 0, 0, 0, 0};
    if (positives == 0 || negatives == 0) return result;
    uint64_t needed = (positives * 19 + 19) / 20; /* the smallest whole number that is 95 % */
    uint64_t tp = 0, fp = 0;
    size_t t = 0;
    while (tp + h.positive[t] < needed) {
        tp += h.positive[t];
        fp += h.negative[t];
        t++;
    }
    double all = (double)negatives, part = (0.95 * (double)positives - (double)tp) / (double)h.positive[t];
    result.threshold = t;
    result.rate = (double)(fp + h.negative[t]) / all;
    result.best = (double)fp / all;
    result.worst = result.rate;
    result.interpolated = ((double)fp + fmax(0.0, part) * (double)h.negative[t]) / all;
    return result;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

kbi_spread kbi_spread_of(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return (kbi_spread){quantile(values, n, 0.5), quantile(values, n, 0.25), quantile(values, n, 0.75), values[0],
                       values[n - 1]};
}
