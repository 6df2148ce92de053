/* SPDX-License-Identifier: Apache-2.0 */
/* Plots as inline SVG for the pages of io/html.h: points with labels, curves, bars. They scale with the page, take its
 * colours, and have round numbers at the ticks. */
#ifndef IO_PLOT_H
#define IO_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct io_axis {
    const char *label;
    double low, high;
    bool logarithmic; /* low > 0 */
    bool whole;       /* of counts: no tick between two whole numbers */
} io_axis;

/* Limits that hold all n values with a little room; values that are not finite do not count. */
io_axis io_axis_of(const char *label, const double *values, size_t n, bool logarithmic);

typedef struct io_plot_point {
    double x, y;
    const char *label;
    int colour; /* 0 to 7, then again */
    bool hollow;
} io_plot_point;

typedef struct io_plot_curve {
    const double *x, *y; /* n values each; x NULL: evenly from the low end of the axis to the high one */
    size_t n;
    const char *label;
    int colour;
    bool marks; /* a circle at every value, with a tooltip */
} io_plot_curve;

void io_plot_points(FILE *out, const char *title, io_axis x, io_axis y, const io_plot_point *points, size_t n);
/* The key stands below the plot. */
void io_plot_curves(FILE *out, const char *title, io_axis x, io_axis y, const io_plot_curve *curves, size_t n);
/* Bar i of n goes from i / n to (i + 1) / n of the x axis, and from the low end of the y axis up to its value. */
void io_plot_bars(FILE *out, const char *title, io_axis x, io_axis y, const double *values, size_t n);

#endif
