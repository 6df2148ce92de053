#include "eval/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/number.h"

/* Units of the view box; the page decides how large one is. */
#define WIDTH 480.0
#define HEIGHT 340.0
#define LEFT 48.0
#define RIGHT 12.0
#define TOP 12.0
#define BOTTOM 46.0
#define LETTER 7.2 /* width of a letter, with some room */
#define LINE 13.0

void ev_html_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
    }
}

const char *ev_plot_colour(int index)
{
    static const char *const colours[] = {"#1769aa", "#c4500c", "#2e7d32", "#a3195b",
                                          "#6a4fb3", "#00798c", "#8d6b00", "#607080"};
    return colours[index & 7];
}

/* ------------------------------------------------------------------------------------------------------------ axes */

ev_axis ev_axis_of(const char *label, const double *values, size_t n, bool logarithmic)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i]) || (logarithmic && values[i] <= 0)) continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    if (low > high) low = 1, high = 2;
    if (logarithmic) return (ev_axis){label, low / 1.4, high * 1.6, true};
    double room = fmax((high - low) * 0.08, fabs(high) * 0.005 + 1e-9);
    return (ev_axis){label, low - room, high + room, false};
}

/* From 0 to 1 along the axis. */
static double place(const ev_axis *axis, double value)
{
    if (axis->logarithmic) return log(value / axis->low) / log(axis->high / axis->low);
    return (value - axis->low) / (axis->high - axis->low);
}

static double place_x(const ev_axis *axis, double value) { return LEFT + place(axis, value) * (WIDTH - LEFT - RIGHT); }
static double place_y(const ev_axis *axis, double value)
{
    return HEIGHT - BOTTOM - place(axis, value) * (HEIGHT - TOP - BOTTOM);
}

/* The next tick: 1, 2, 5, 10, ... on a logarithmic axis; whole steps of 1, 2 or 5 on a linear one. */
static double step_of(const ev_axis *axis)
{
    double rough = (axis->high - axis->low) / 5, power = pow(10, floor(log10(rough)));
    double digit = rough / power;
    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

static double first_tick(const ev_axis *axis)
{
    if (!axis->logarithmic) return ceil(axis->low / step_of(axis)) * step_of(axis);
    return pow(10, floor(log10(axis->low)));
}

static double next_tick(const ev_axis *axis, double tick)
{
    if (!axis->logarithmic) return tick + step_of(axis);
    double digit = tick / pow(10, floor(log10(tick) + 1e-9));
    return digit < 1.5 ? tick * 2 : digit < 3 ? tick * 2.5 : tick * 2;
}

static void draw_tick(FILE *out, const ev_axis *axis, double tick, bool vertical)
{
    char number[32];
    if (fabs(tick) < 1e-9 * (axis->high - axis->low)) tick = 0;
    io_number_format(number, tick, 4);
    double x = place_x(axis, tick), y = place_y(axis, tick);
    if (vertical) fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, y, WIDTH - RIGHT);
    else fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, TOP, HEIGHT - BOTTOM);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", vertical ? LEFT - 6 : x,
            vertical ? y + 4 : HEIGHT - BOTTOM + 16, vertical ? "end" : "middle", number);
}

static void draw_axis(FILE *out, const ev_axis *axis, bool vertical)
{
    for (double tick = first_tick(axis); tick <= axis->high; tick = next_tick(axis, tick))
        if (tick >= axis->low) draw_tick(out, axis, tick, vertical);
    fputs(vertical ? "<text class=\"axis\" transform=\"translate(13 " : "<text class=\"axis\" transform=\"translate(",
          out);
    if (vertical) fprintf(out, "%.1f) rotate(-90)\" text-anchor=\"middle\">", (HEIGHT - BOTTOM + TOP) / 2);
    else fprintf(out, "%.1f %.1f)\" text-anchor=\"middle\">", (WIDTH + LEFT - RIGHT) / 2, HEIGHT - 8);
    ev_html_text(out, axis->label);
    fputs("</text>\n", out);
}

static void begin(FILE *out, const char *title, const ev_axis *x, const ev_axis *y)
{
    fprintf(out, "<figure><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    ev_html_text(out, title);
    fputs("\">\n", out);
    draw_axis(out, x, false);
    draw_axis(out, y, true);
}

static void end(FILE *out, const char *title)
{
    fputs("</svg><figcaption>", out);
    ev_html_text(out, title);
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

static bool overlap(const box *a, const box *b)
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
            for (size_t i = 0; i < n && free_room; i++) free_room = !overlap(&b, &taken[i]);
            if (free_room) return (label_room){b, x + (side == 0 ? 8 : side == 1 ? -8 : 0), anchors[side]};
        }
    return (label_room){{x + 8, y - LINE / 2, x + 8 + width, y + LINE / 2}, x + 8, "start"};
}

void ev_plot_points(FILE *out, const char *title, ev_axis x, ev_axis y, const ev_plot_point *points, size_t n)
{
    box *taken = io_alloc(2 * n + 1, sizeof *taken);
    size_t count = 0;
    begin(out, title, &x, &y);
    for (size_t i = 0; i < n; i++) {
        double px = place_x(&x, points[i].x), py = place_y(&y, points[i].y);
        taken[count++] = (box){px - 5, py - 5, px + 5, py + 5};
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"/>\n", px, py,
                points[i].hollow ? "none" : ev_plot_colour(points[i].colour), ev_plot_colour(points[i].colour));
    }
    for (size_t i = 0; i < n; i++) {
        label_room room = find_room(place_x(&x, points[i].x), place_y(&y, points[i].y), points[i].label, taken, count);
        taken[count++] = room.b;
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", room.x, room.b.y1 - 3, room.anchor);
        ev_html_text(out, points[i].label);
        fputs("</text>\n", out);
    }
    end(out, title);
    free(taken);
}

void ev_plot_curves(FILE *out, const char *title, ev_axis x, ev_axis y, const ev_plot_curve *curves, size_t n)
{
    begin(out, title, &x, &y);
    for (size_t c = 0; c < n; c++) {
        const ev_plot_curve *curve = &curves[c];
        fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"",
                ev_plot_colour(curve->colour), c >= 8 ? " stroke-dasharray=\"5 3\"" : "");
        for (size_t i = 0; i < curve->n; i++)
            fprintf(out, "%.1f,%.1f ", place_x(&x, x.low + (x.high - x.low) * (double)i / (double)(curve->n - 1)),
                    place_y(&y, curve->y[i]));
        fputs("\"/>\n", out);
    }
    for (size_t c = 0; c < n; c++) { /* the key, from the top right corner down */
        double ky = TOP + 14 + 15 * (double)c, kx = WIDTH - RIGHT - 8;
        fprintf(out, "<text class=\"key\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" style=\"fill:%s\">", kx, ky,
                ev_plot_colour(curves[c].colour));
        ev_html_text(out, curves[c].label);
        fputs("</text>\n", out);
    }
    end(out, title);
}
