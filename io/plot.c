/* SPDX-License-Identifier: Apache-2.0 */
#include "io/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/html.h"
#include "io/number.h"

/* Units of the view box; the page decides how large one is. */
#define WIDTH 480.0
#define HEIGHT 340.0
#define LEFT 48.0
#define RIGHT 20.0 /* half of the last tick's number */
#define TOP 12.0
#define BOTTOM 46.0
#define LETTER 7.2 /* width of a letter, with some room */
#define LINE 13.0

static int colour_of(int index) { return index & 7; } /* io/html.c defines eight */

/* ------------------------------------------------------------------------------------------------------------ axes */

io_axis io_axis_of(const char *label, const double *values, size_t n, bool logarithmic)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]) || (logarithmic && values[i] <= 0)) continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    if (low > high) low = 1, high = 2;
    if (logarithmic) return (io_axis){label, low / 1.4, high * 1.6, true, false};
    double room = fmax((high - low) * 0.08, fabs(high) * 0.005 + 1e-9);
    return (io_axis){label, low - room, high + room, false, false};
}

/* From 0 to 1 along the axis. */
static double axis_place(const io_axis *axis, double value)
{
    if (axis->logarithmic) return log(value / axis->low) / log(axis->high / axis->low);
    return (value - axis->low) / (axis->high - axis->low);
}

static double place_x(const io_axis *axis, double value)
{
    return LEFT + axis_place(axis, value) * (WIDTH - LEFT - RIGHT);
}
static double place_y(const io_axis *axis, double value)
{
    return HEIGHT - BOTTOM - axis_place(axis, value) * (HEIGHT - TOP - BOTTOM);
}

/* Ticks: 1, 2, 5, 10, ... on a logarithmic axis, powers of ten on a long one; multiples of 1, 2 or 5 times a power of
 * ten on a linear one. */
static double step_of(const io_axis *axis)
{
    double rough = (axis->high - axis->low) / 5, power = pow(10, floor(log10(rough)));
    double digit = rough / power;
    double step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
    return axis->whole ? fmax(1, step) : step;
}

static double first_tick(const io_axis *axis)
{
    if (!axis->logarithmic) return ceil(axis->low / step_of(axis)) * step_of(axis);
    return pow(10, floor(log10(axis->low)));
}

static double next_tick(const io_axis *axis, double tick)
{
    if (!axis->logarithmic) return tick + step_of(axis);
    if (axis->high > 300 * axis->low) return tick * 10;
    double digit = tick / pow(10, floor(log10(tick) + 1e-9));
    return digit < 1.5 ? tick * 2 : digit < 3 ? tick * 2.5 : tick * 2;
}

/* 20, 0.5, 10k, 2M: short enough to stand side by side. */
static void format_tick(char number[32], double tick)
{
    const char *unit = fabs(tick) >= 1e6 ? "M" : fabs(tick) >= 1e4 ? "k" : "";
    io_number_format(number, *unit == 'M' ? tick / 1e6 : *unit == 'k' ? tick / 1e3 : tick, 4);
    strcat(number, unit);
}

static void draw_tick(FILE *out, const io_axis *axis, double tick, bool vertical)
{
    char number[32];
    if (fabs(tick) < 1e-9 * (axis->high - axis->low)) tick = 0;
    format_tick(number, tick);
    double x = place_x(axis, tick), y = place_y(axis, tick);
    if (vertical) fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, y, WIDTH - RIGHT);
    else fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, TOP, HEIGHT - BOTTOM);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", vertical ? LEFT - 6 : x,
            vertical ? y + 4 : HEIGHT - BOTTOM + 16, vertical ? "end" : "middle", number);
}

static void draw_axis(FILE *out, const io_axis *axis, bool vertical)
{
    for (double tick = first_tick(axis); tick <= axis->high; tick = next_tick(axis, tick))
        if (tick >= axis->low) draw_tick(out, axis, tick, vertical);
    fputs(vertical ? "<text class=\"axis\" transform=\"translate(13 " : "<text class=\"axis\" transform=\"translate(",
          out);
    if (vertical) fprintf(out, "%.1f) rotate(-90)\" text-anchor=\"middle\">", (HEIGHT - BOTTOM + TOP) / 2);
    else fprintf(out, "%.1f %.1f)\" text-anchor=\"middle\">", (WIDTH + LEFT - RIGHT) / 2, HEIGHT - 8);
    io_html_text(out, axis->label);
    fputs("</text>\n", out);
}

static void plot_begin(FILE *out, const char *title, const io_axis *x, const io_axis *y)
{
    fprintf(out, "<figure><svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    io_html_text(out, title);
    fputs("\">\n", out);
    draw_axis(out, x, false);
    draw_axis(out, y, true);
}

static void plot_end(FILE *out, const char *title)
{
    fputs("<figcaption>", out);
    io_html_text(out, title);
    fputs("</figcaption></figure>\n", out);
}

/* ----------------------------------------------------------------------------------------------------------- labels */

typedef struct box {
    double x0, y0, x1, y1;
} box;

/* Where a label stands, and how its text is anchored there. */
typedef struct label_room {
    box b;
    double x;
    const char *anchor;
} label_room;

static bool boxes_overlap(const box *a, const box *b)
{
    return a->x0 < b->x1 && b->x0 < a->x1 && a->y0 < b->y1 && b->y0 < a->y1;
}

/* Beside a point: to its right, left, below or above, further and further away; the first place that is free. */
static label_room find_room(double x, double y, const char *label, const box *taken, size_t n)
{
    static const char *const anchors[] = {"start", "end", "middle", "middle"};
    double width = (double)strlen(label) * LETTER;
    for (int distance = 0; distance < 6; distance++)
        for (int side = 0; side < 4; side++) {
            double dx = side == 0 ? 8 : side == 1 ? -8 - width : -width / 2;
            double dy = (side == 2 ? LINE : side == 3 ? -LINE : 0) + distance * LINE * (side % 2 ? -1 : 1) * 0.7;
            box b = {x + dx, y + dy - LINE / 2, x + dx + width, y + dy + LINE / 2};
            bool free_room = b.x0 > LEFT && b.x1 < WIDTH && b.y0 > 0 && b.y1 < HEIGHT - BOTTOM;
            for (size_t i = 0; i < n && free_room; i++) free_room = !boxes_overlap(&b, &taken[i]);
            if (free_room) return (label_room){b, x + (side == 0 ? 8 : side == 1 ? -8 : 0), anchors[side]};
        }
    return (label_room){{x + 8, y - LINE / 2, x + 8 + width, y + LINE / 2}, x + 8, "start"};
}

void io_plot_points(FILE *out, const char *title, io_axis x, io_axis y, const io_plot_point *points, size_t n)
{
    box *taken = io_alloc(2 * n + 1, sizeof *taken);
    size_t count = 0;
    plot_begin(out, title, &x, &y);
    for (size_t i = 0; i < n; i++) {
        double px = place_x(&x, points[i].x), py = place_y(&y, points[i].y);
        taken[count++] = (box){px - 5, py - 5, px + 5, py + 5};
        int colour = colour_of(points[i].colour);
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" style=\"stroke:var(--c%d);fill:", px, py, colour);
        if (points[i].hollow) fputs("none", out);
        else fprintf(out, "var(--c%d)", colour);
        fputs("\" stroke-width=\"2\"/>\n", out);
    }
    for (size_t i = 0; i < n; i++) {
        label_room room = find_room(place_x(&x, points[i].x), place_y(&y, points[i].y), points[i].label, taken, count);
        taken[count++] = room.b;
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", room.x, room.b.y1 - 3, room.anchor);
        io_html_text(out, points[i].label);
        fputs("</text>\n", out);
    }
    fputs("</svg>", out);
    plot_end(out, title);
    free(taken);
}

/* ----------------------------------------------------------------------------------------------- curves and bars */

static double curve_x(const io_axis *x, const io_plot_curve *curve, size_t i)
{
    return curve->x ? curve->x[i] : x->low + (x->high - x->low) * (double)i / (double)(curve->n - 1);
}

static void draw_marks(FILE *out, const io_axis *x, const io_axis *y, const io_plot_curve *curve)
{
    for (size_t i = 0; i < curve->n; i++) {
        fprintf(out, "<circle r=\"3.5\" cx=\"%.1f\" cy=\"%.1f\" style=\"fill:var(--c%d)\"><title>",
                place_x(x, curve_x(x, curve, i)), place_y(y, curve->y[i]), colour_of(curve->colour));
        io_html_text(out, curve->label);
        fprintf(out, ", %.4g: %.4g</title></circle>\n", curve_x(x, curve, i), curve->y[i]);
    }
}

static void draw_key(FILE *out, const io_plot_curve *curves, size_t n)
{
    fputs("<p class=\"key\">", out);
    for (size_t c = 0; c < n; c++) {
        fprintf(out, "<span%s style=\"--c:var(--c%d)\">", c >= 8 ? " class=\"dashed\"" : "",
                colour_of(curves[c].colour));
        io_html_text(out, curves[c].label);
        fputs("</span> ", out);
    }
    fputs("</p>\n", out);
}

void io_plot_curves(FILE *out, const char *title, io_axis x, io_axis y, const io_plot_curve *curves, size_t n)
{
    plot_begin(out, title, &x, &y);
    for (size_t c = 0; c < n; c++) {
        const io_plot_curve *curve = &curves[c];
        fprintf(out, "<polyline fill=\"none\" style=\"stroke:var(--c%d)\" stroke-width=\"2\"%s points=\"",
                colour_of(curve->colour), c >= 8 ? " stroke-dasharray=\"5 3\"" : "");
        for (size_t i = 0; i < curve->n; i++)
            fprintf(out, "%.1f,%.1f ", place_x(&x, curve_x(&x, curve, i)), place_y(&y, curve->y[i]));
        fputs("\"/>\n", out);
        if (curve->marks) draw_marks(out, &x, &y, curve);
    }
    fputs("</svg>", out);
    draw_key(out, curves, n);
    plot_end(out, title);
}

void io_plot_bars(FILE *out, const char *title, io_axis x, io_axis y, const double *values, size_t n)
{
    double wide = (WIDTH - LEFT - RIGHT) / (double)n, bottom = place_y(&y, y.low);
    plot_begin(out, title, &x, &y);
    fputs("<g style=\"fill:var(--c0)\">", out);
    for (size_t i = 0; i < n; i++) {
        double top = place_y(&y, values[i]);
        fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>", LEFT + (double)i * wide, top,
                wide * 0.9, fmax(0, bottom - top));
    }
    fputs("</g></svg>\n", out);
    plot_end(out, title);
}
