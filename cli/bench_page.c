/* The measurements as one HTML file without anything from elsewhere: the table, and plots with logarithmic axes, on
 * which a cost that grows in proportion is a straight line of slope 1. */
#include <math.h>

#include "bench.h"

#define WIDTH  640 /* of a plot's inside */
#define HEIGHT 320
#define LEFT   70
#define TOP    10
#define RIGHT  30 /* half of the last number */
#define BOTTOM 45

static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd"};

/* ---- plots ---- */

typedef struct axis {
    double low, high; /* powers of ten */
} axis;

static axis axis_of(const bench_plot *plot, bool of_time)
{
    double least = INFINITY, most = 0;
    for (size_t c = 0; c < plot->count; c++)
        for (size_t i = 0; i < plot->curves[c].points; i++) {
            double v = of_time ? plot->curves[c].ms[i] : plot->curves[c].x[i];
            least = fmin(least, v);
            most = fmax(most, v);
        }
    return (axis){floor(log10(least)), ceil(log10(most))};
}

static double place(axis a, double v, double length)
{
    return a.high > a.low ? length * (log10(v) - a.low) / (a.high - a.low) : 0;
}

static void write_grid(FILE *f, axis x, axis y, const char *x_name)
{
    for (double p = x.low; p <= x.high; p++) {
        double at = LEFT + place(x, pow(10, p), WIDTH);
        fprintf(f,
                "<path d=\"M%.1f %dv%d\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                at, TOP, HEIGHT, at, TOP + HEIGHT + 16, pow(10, p));
    }
    for (double p = y.low; p <= y.high; p++) {
        double at = TOP + HEIGHT - place(y, pow(10, p), HEIGHT);
        fprintf(f,
                "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g ms</text>\n",
                LEFT, at, WIDTH, LEFT - 6, at + 4, pow(10, p));
    }
    fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", LEFT + WIDTH / 2, TOP + HEIGHT + 36,
            x_name);
}

static void write_plot(FILE *f, const bench_plot *plot)
{
    axis x = axis_of(plot, false), y = axis_of(plot, true);
    fprintf(f, "<h2>%s</h2>\n<svg width=\"%d\" height=\"%d\" font-size=\"12\" font-family=\"sans-serif\">\n",
            plot->title, LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    write_grid(f, x, y, plot->x_name);
    for (size_t c = 0; c < plot->count; c++) {
        const bench_curve *curve = &plot->curves[c];
        fprintf(f, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", colours[c % 4]);
        for (size_t i = 0; i < curve->points; i++)
            fprintf(f, "%.1f,%.1f ", LEFT + place(x, curve->x[i], WIDTH),
                    TOP + HEIGHT - place(y, curve->ms[i], HEIGHT));
        fprintf(f, "\"/>\n");
        for (size_t i = 0; i < curve->points; i++)
            fprintf(f, "<circle r=\"3\" cx=\"%.1f\" cy=\"%.1f\" fill=\"%s\"><title>%s, %g: %.3g ms</title></circle>\n",
                    LEFT + place(x, curve->x[i], WIDTH), TOP + HEIGHT - place(y, curve->ms[i], HEIGHT), colours[c % 4],
                    curve->name, curve->x[i], curve->ms[i]);
        fprintf(f, "<text x=\"%d\" y=\"%zu\" fill=\"%s\">%s</text>\n", LEFT + 12, TOP + 18 + 16 * c, colours[c % 4],
                curve->name);
    }
    fprintf(f, "</svg>\n<table><tr><th>%s</th>", plot->x_name);
    for (size_t i = 0; i < plot->curves[0].points; i++) fprintf(f, "<th>%g</th>", plot->curves[0].x[i]);
    fprintf(f, "</tr>\n");
    for (size_t c = 0; c < plot->count; c++) {
        fprintf(f, "<tr><td>%s, ms</td>", plot->curves[c].name);
        for (size_t i = 0; i < plot->curves[c].points; i++) fprintf(f, "<td>%.3g</td>", plot->curves[c].ms[i]);
        fprintf(f, "</tr>\n");
    }
    fprintf(f, "</table>\n");
}

/* ---- the page ---- */

static void write_rows(FILE *f, const bench_row *rows, size_t count)
{
    fprintf(
        f,
        "<table><tr><th>step</th><th>ms</th><th>&plusmn;</th><th>compared with</th><th>ms</th><th>ratio</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        const bench_row *r = &rows[i];
        fprintf(f, "<tr><td>%s</td><td>%.3f</td><td>%.3f</td>", r->name, r->ms, r->spread);
        if (r->peer)
            fprintf(f, "<td>%s</td><td>%.3f</td><td>%.3f</td></tr>\n", r->peer, r->peer_ms, r->ms / r->peer_ms);
        else
            fprintf(f, "<td></td><td></td><td></td></tr>\n");
    }
    fprintf(f, "</table>\n");
}

bool bench_page_write(const char *path, const bench_set *set, const bench_row *rows, size_t count,
                      const bench_plot plots[BENCH_PLOTS], io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *f = io_writer_file(writer);
    fprintf(f,
            "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>keybits bench</title>\n"
            "<style>body{font:15px sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}"
            "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;text-align:right}"
            "td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f4f4f4}</style>\n"
            "<h1>keybits bench</h1>\n<p>keybits %s, %s; %zu images, at most %d keypoints each, %d thread%s. "
            "Milliseconds an image, or a pair of images from match-256 on.</p>\n",
            kb_version(), *kb_cpu_features() ? kb_cpu_features() : "plain C", set->count, (int)set->max_keypoints,
            count ? (int)rows[0].threads : 1, count && rows[0].threads > 1 ? "s" : "");
    write_rows(f, rows, count);
    for (int i = 0; i < BENCH_PLOTS; i++) write_plot(f, &plots[i]);
    fprintf(f, "</html>\n");
    return io_writer_commit(writer, error);
}
