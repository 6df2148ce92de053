/* The measurements as one page: the table, and how cost grows, on logarithmic axes, where a cost that grows in
 * proportion is a straight line of slope 1. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"
#include "io/html.h"
#include "io/number.h"
#include "io/plot.h"

/* The axis that holds x or the times of all curves. */
static io_axis axis_of(const ev_bench_plot *plot, const char *label, bool of_time)
{
    double values[EV_BENCH_CURVES * EV_BENCH_POINTS];
    size_t n = 0;
    for (size_t c = 0; c < plot->count; c++)
        for (size_t i = 0; i < plot->curves[c].points; i++)
            values[n++] = of_time ? plot->curves[c].ms[i] : plot->curves[c].x[i];
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

static void write_plot(FILE *f, const ev_bench_plot *plot)
{
    io_plot_curve curves[EV_BENCH_CURVES];
    for (size_t c = 0; c < plot->count; c++)
        curves[c] = (io_plot_curve){plot->curves[c].x, plot->curves[c].ms, plot->curves[c].points,
                                    plot->curves[c].name, (int)c, true};
    fputs("<section><h2>", f);
    io_html_text(f, plot->title);
    fputs("</h2>\n", f);
    io_plot_curves(f, "Milliseconds; both axes are logarithmic", axis_of(plot, plot->x_name, false),
                   axis_of(plot, "ms", true), curves, plot->count);
    write_numbers(f, plot);
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

bool bench_page_write(const char *path, const bench_report *report, const ev_bench_plot plots[EV_BENCH_PLOTS],
                      io_error *error)
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
    for (int i = 0; i < EV_BENCH_PLOTS; i++)
        if (plots[i].count > 0) write_plot(f, &plots[i]);
    io_html_end(f);
    return io_writer_commit(writer, error);
}
