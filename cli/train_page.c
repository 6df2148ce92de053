/* The result of a training as one page: curves, boxes, means and correlations of bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/html.h"
#include "io/plot.h"
#include "model_text.h"
#include "train.h"

#define SAMPLE 5000 /* patches that bits are counted on */
#define CELLS 64    /* of the picture of correlations, each side */

/* ------------------------------------------------------------------------------------------------------------ plots */

static double largest(const double *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = v[i] > most ? v[i] : most;
    return most;
}

static void write_curves(FILE *f, const train_page *page)
{
    io_plot_curve *curves = io_alloc(page->curve_count + 1, sizeof *curves);
    double top = 0, end = page->points ? page->x[page->points - 1] : 1;
    for (size_t c = 0; c < page->curve_count; c++) {
        top = fmax(top, largest(page->curves[c].y, page->points));
        curves[c] = (io_plot_curve){
            .x = page->x, .y = page->curves[c].y, .n = page->points, .label = page->curves[c].name, .colour = (int)c};
    }
    fputs("<h2>Learning</h2>\n", f);
    io_plot_curves(f, "What was learned, step by step", (io_axis){page->x_name, 0, end, false},
                   (io_axis){"", 0, top > 0 ? 1.05 * top : 1, false}, curves, page->curve_count);
    free(curves);
}

/* ------------------------------------------------------------------------------------------------------------- bits */

typedef struct bit_counts {
    int32_t bits;
    size_t patches;
    double *mean;        /* of every bit */
    double *correlation; /* bits x bits */
} bit_counts;

static int bit_at(const uint8_t *row, int32_t bit) { return row[bit / 8] >> (7 - bit % 8) & 1; }

/* Shares of ones, and of ones that two bits have in common. */
static bool count_bits(const train_page *page, const kb_model_info *info, const kb_parallel *parallel,
                       bit_counts *counts)
{
    size_t n = page->set->patches < SAMPLE ? page->set->patches : SAMPLE, bits = (size_t)info->spec->bits;
    size_t row_bytes = (size_t)info->row_bytes;
    uint8_t *rows = io_alloc(n, row_bytes);
    int32_t *ones = io_alloc(bits, sizeof *ones);
    kb_describe_options options;
    KB_INIT(options);
    options.parallel = parallel;
    *counts = (bit_counts){info->spec->bits, n, io_alloc(bits, sizeof(double)), io_alloc(bits * bits, sizeof(double))};
    bool done = kb_describe_patches(page->model, page->set->pixels, n, page->set->side, &options, NULL, rows) == KB_OK;
    for (size_t i = 0; done && i < n; i++) {
        const uint8_t *row = rows + i * row_bytes;
        size_t set = 0;
        for (size_t b = 0; b < bits; b++)
            if (bit_at(row, (int32_t)b)) ones[set++] = (int32_t)b;
        for (size_t a = 0; a < set; a++)
            for (size_t b = 0; b < set; b++) counts->correlation[(size_t)ones[a] * bits + (size_t)ones[b]]++;
    }
    for (size_t b = 0; b < bits; b++) counts->mean[b] = counts->correlation[b * bits + b] / (double)n;
    for (size_t a = 0; a < bits; a++) {
        for (size_t b = 0; b < bits; b++) {
            double p = counts->mean[a], q = counts->mean[b], spread = sqrt(p * (1 - p) * q * (1 - q));
            double *c = &counts->correlation[a * bits + b];
            *c = spread > 0 ? (*c / (double)n - p * q) / spread : 0;
        }
    }
    free(rows);
    free(ones);
    return done;
}

static void write_means(FILE *f, const bit_counts *c)
{
    double sum = 0;
    for (int32_t i = 0; i < c->bits; i++) sum += fabs(c->mean[i] - 0.5);
    fprintf(f, "<h2>Share of ones of every bit</h2>\n<p>Mean distance from one half: %.4f, on %zu patches.</p>\n",
            sum / c->bits, c->patches);
    io_plot_bars(f, "Share of patches in which the bit is 1", (io_axis){"bit", 0, c->bits, false},
                 (io_axis){"share", 0, 1, false}, c->mean, (size_t)c->bits);
}

/* The correlation of two different bits that is strongest among the pairs of a cell. */
static double strongest_in(const bit_counts *c, int32_t cells, int32_t row, int32_t column)
{
    double strongest = 0;
    for (int32_t a = row * c->bits / cells; a < (row + 1) * c->bits / cells; a++) {
        for (int32_t b = column * c->bits / cells; b < (column + 1) * c->bits / cells; b++) {
            double v = c->correlation[(size_t)a * (size_t)c->bits + (size_t)b];
            if (a != b && fabs(v) > fabs(strongest)) strongest = v;
        }
    }
    return strongest;
}

static void write_correlations(FILE *f, const bit_counts *c)
{
    int32_t cells = c->bits < CELLS ? c->bits : CELLS;
    size_t bits = (size_t)c->bits;
    double sum = 0;
    for (size_t i = 0; i < bits * bits; i++) sum += i % (bits + 1) ? fabs(c->correlation[i]) : 0;
    fprintf(f,
            "<h2>Correlation of bits</h2>\n<p>Red: bits that agree; blue: bits that disagree; white: neither. Every cell "
            "shows the strongest of its pairs.\nMean absolute correlation of two bits: %.4f.</p>\n"
            "<figure><svg viewBox=\"0 0 %d %d\" shape-rendering=\"crispEdges\">\n",
            sum / (double)(bits * (bits - 1)), cells, cells);
    for (int32_t row = 0; row < cells; row++) {
        for (int32_t column = 0; column < cells; column++) {
            double v = strongest_in(c, cells, row, column);
            int pale = (int)(255 - 255 * fmin(1, fabs(v)));
            fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"1\" height=\"1\" fill=\"#%02x%02x%02x\"/>", column, row,
                    v > 0 ? 255 : pale, pale, v > 0 ? pale : 255);
        }
        fputc('\n', f);
    }
    fputs("</svg></figure>\n", f);
}

/* ------------------------------------------------------------------------------------------------------------- page */

static void write_all(FILE *f, const train_page *page, const kb_model_info *info, const bit_counts *counts)
{
    io_html_begin(f, info->spec->name);
    fprintf(f, "<p>%s, %d bits, id %016llx</p>\n<pre>", kb_kind_name(info->spec->kind), (int)info->spec->bits,
            (unsigned long long)info->id);
    if (info->spec->text) io_html_text(f, info->spec->text);
    fputs("</pre>\n", f);
    write_curves(f, page);
    write_means(f, counts);
    write_correlations(f, counts);
    if (info->spec->boxes) {
        fputs("<h2>Boxes</h2>\n<div class=\"picture\">", f);
        model_svg_print(f, info);
        fputs("</div>\n", f);
    }
    io_html_end(f);
}

bool train_page_write(const char *path, const train_page *page, const kb_parallel *parallel, io_error *error)
{
    kb_model_info info;
    bit_counts counts;
    KB_INIT(info);
    kb_model_get_info(page->model, &info);
    bool done = count_bits(page, &info, parallel, &counts);
    io_writer *writer = done ? io_writer_open(path, error) : NULL;
    if (!done) io_fail(error, "%s: no memory to describe patches", path);
    if (writer) {
        write_all(io_writer_file(writer), page, &info, &counts);
        done = io_writer_commit(writer, error);
    }
    free(counts.mean);
    free(counts.correlation);
    return writer && done;
}
