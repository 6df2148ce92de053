/* Plots as inline SVG: points with labels, and curves. They scale with the page and take its text colour. */
#ifndef EVAL_PLOT_H
#define EVAL_PLOT_H

#include <stdbool.h>
#include <stdio.h>
#include <stddef.h>

typedef struct ev_axis {
    const char *label;
    double low, high;
    bool logarithmic; /* low > 0 */
} ev_axis;

/* Limits that hold all n values with a little room; values that are not finite do not count. */
ev_axis ev_axis_of(const char *label, const double *values, size_t n, bool logarithmic);

typedef struct ev_plot_point {
    double x, y;
    const char *label;
    int colour; /* of ev_plot_colour */
    bool hollow;
} ev_plot_point;

typedef struct ev_plot_curve {
    const double *y; /* n values, at x = i / (n - 1) of the axis */
    size_t n;
    const char *label;
    int colour;
} ev_plot_curve;

const char *ev_plot_colour(int index); /* "#...", eight that differ well, then again */

void ev_plot_points(FILE *out, const char *title, ev_axis x, ev_axis y, const ev_plot_point *points, size_t n);
void ev_plot_curves(FILE *out, const char *title, ev_axis x, ev_axis y, const ev_plot_curve *curves, size_t n);

/* Text with <, >, & and quotes made harmless. */
void ev_html_text(FILE *out, const char *text);

#endif
