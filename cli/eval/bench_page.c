/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements as one page: the table, and how cost grows, on logarithmic axes, where a cost that grows in
 * proportion is a straight line of slope 1. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "io/html.h"
#include "io/number.h"
#include "io/plot.h"

/* What a plot has along an axis. */
typedef enum axis_values { OF_X, OF_MS, OF_MB } axis_values;

static const double *values_of(const ev_bench_curve *curve, axis_values which)
{
    return which == OF_X ? curve->x : which == OF_MS ? curve->ms : curve->mb;
}

/* The axis that holds the values of all curves. */
static io_axis axis_of(const ev_bench_plot *plot, const char *label, axis_values which)
{
    double values[EV_BENCH_CURVES * EV_BENCH_POINTS];
    size_t n = 0;
    for (size_t c = 0; c < plot->count; c++)
        for (size_t i = 0; i < plot->curves[c].points; i++)
            values[n++] = values_of(&plot->curves[c], which)[i];
    return io_axis_of(label, values, n, true);
}

static void write_numbers(FILE *f, const ev_bench_plot *plot)
{
    const char *heads[EV_BENCH_POINTS + 2] = {plot->x_name};
    char numbers[EV_BENCH_POINTS][32];
    for (size_t i = 0; i < plot->curves[0].points; i++)
        heads[i + 1] = io_number_format(numbers[i], plot->curves[0].x[i], plot->curves[0].x[i] < 1000 ? 3 : 6);
    io_html_table_begin(f, heads);
    for (size_t c = 0; c < plot->count; c++) {
        io_html_row_begin(f, plot->curves[c].name);
        for (size_t i = 0; i < plot->curves[c].points; i++) {
            char number[32];
            io_html_cell_text(f, io_number_format(number, plot->curves[c].ms[i], 3));
        }
        io_html_row_end(f);
    }
    io_html_table_end(f);
}

static void write_curves(FILE *f, const ev_bench_plot *plot, const char *title, const char *label, axis_values which)
{
    io_plot_curve curves[EV_BENCH_CURVES];
    for (size_t c = 0; c < plot->count; c++)
        curves[c] = (io_plot_curve){plot->curves[c].x, values_of(&plot->curves[c], which), plot->curves[c].points,
                                    plot->curves[c].name, (int)c, true};
    io_plot_curves(f, title, axis_of(plot, plot->x_name, OF_X), axis_of(plot, label, which), curves, plot->count);
}

static void write_plot(FILE *f, const ev_bench_plot *plot)
{
    fputs("<section><h2>", f);
    io_html_text(f, plot->title);
    fputs("</h2>\n", f);
    write_curves(f, plot, "Milliseconds; both axes are logarithmic", "ms", OF_MS);
    write_numbers(f, plot);
    write_curves(f, plot, "Megabytes; both axes are logarithmic", "MB", OF_MB);
    fputs("</section>\n", f);
}

static void write_rows(FILE *f, const ev_bench_row *rows, size_t count)
{
    io_html_table_begin(
        f, (const char *const[]){"step", "ms", "ratio", "OpenCV, ms", "compared with", "&plusmn; %", NULL});
    for (size_t i = 0; i < count; i++) {
        const ev_bench_row *r = &rows[i];
        io_html_row_begin(f, r->task->name);
        io_html_cell(f, r->ms, 3, NULL);
        io_html_cell(f, r->peer ? r->ms / r->peer_ms : NAN, 3, NULL);
        io_html_cell(f, r->peer ? r->peer_ms : NAN, 3, NULL);
        io_html_cell_text(f, r->peer ? r->peer : "");
        io_html_cell(f, ev_spread_percent(r->ms, r->spread), 1, NULL);
        io_html_row_end(f);
    }
    io_html_table_end(f);
}

bool bench_page_write(const char *path, const bench_report *report, io_error *error)
{
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *f = io_writer_file(writer);
    char line[BENCH_LINE];
    io_html_begin(f, "keybits bench");
    for (int i = 0; i < BENCH_HEAD_LINES; i++) {
        fputs("<p>", f);
        io_html_text(f, bench_head(report, i, line));
        fputs("</p>\n", f);
    }
    write_rows(f, report->rows, report->count);
    for (int i = 0; report->plots && i < EV_BENCH_PLOTS; i++)
        if (report->plots[i].count > 0) write_plot(f, &report->plots[i]);
    io_html_end(f);
    return io_writer_commit(writer, error);
}
