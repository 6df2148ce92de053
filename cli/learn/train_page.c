/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a training as one page: accuracy on patches held back, curves, boxes, means and correlations of
 * bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/features.h"
#include "io/html.h"
#include "io/model_table.h"
#include "io/plot.h"
#include "train.h"

#define SAMPLE 5000 /* patches that bits are counted on */
#define CELLS 64    /* of the picture of correlations, each side */

/* ------------------------------------------------------------------------------------------------------------ plots */

/* A curve with an axis of its own. A loss that falls far is drawn on a logarithmic one. */
static void write_curve(FILE *f, const train_page *page, const char *title, const char *name, const double *y,
                        int colour)
{
    double low = INFINITY, high = 0, end = page->points ? page->x[page->points - 1] : 1;
    for (size_t i = 0; i < page->points; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    bool falls = low > 0 && high > 5 * low;
    io_plot_curve curve = {.x = page->x, .y = y, .n = page->points, .label = name, .colour = colour};
    io_axis axis = {name, 0, high > 0 ? 1.05 * high : 1, .logarithmic = false};
    if (falls) axis = io_axis_of(name, y, page->points, true);
    io_plot_curves(f, title, (io_axis){page->x_name, 0, end, .whole = true}, axis, &curve, 1);
}

static void write_curves(FILE *f, const train_page *page)
{
    fputs("<h2>Learning</h2>\n<div class=\"plots\">\n", f);
    write_curve(f, page, "The loss", "loss", page->loss, 0);
    if (page->active) write_curve(f, page, "Triplets that still have a loss", "share active", page->active, 1);
    fputs("</div>\n", f);
}

/* -------------------------------------------------------------------------------------------- on patches held back */

/* How the distances of right and wrong pairs are spread, and what that means for a threshold. */
#define BINS 64 /* of distances, about */
typedef struct distances {
    double x[KB_MAX_BITS + 1], right[KB_MAX_BITS + 1], wrong[KB_MAX_BITS + 1]; /* shares of each bin, in per cent */
    size_t bins;
    double accepted_right[KB_MAX_BITS + 1], accepted_wrong[KB_MAX_BITS + 1]; /* up to a distance */
    size_t first; /* whose accepted_wrong is above 0 */
} distances;

static void sum_distances(const kbi_validation *v, size_t bits, distances *d)
{
    double right = 0, wrong = 0, right_sum = 0, wrong_sum = 0;
    size_t width = bits > BINS ? bits / BINS : 1;
    for (size_t i = 0; i <= bits; i++) {
        right += (double)v->right[i];
        wrong += (double)v->wrong[i];
    }
    d->bins = bits / width + 1;
    for (size_t i = 0; i <= bits; i++) {
        double share_right = 100 * (double)v->right[i] / right, share_wrong = 100 * (double)v->wrong[i] / wrong;
        d->x[i / width] = fmin((double)bits, (double)(i / width * width) + 0.5 * (double)(width - 1));
        d->right[i / width] += share_right;
        d->wrong[i / width] += share_wrong;
        d->accepted_right[i] = right_sum += share_right;
        d->accepted_wrong[i] = wrong_sum += share_wrong;
    }
    while (d->first < bits && !(d->accepted_wrong[d->first] > 0)) d->first++;
}

static double largest(const double *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, v[i]);
    return most;
}

static void write_held(FILE *f, const kbi_validation *v, size_t bits)
{
    distances *d = io_alloc(1, sizeof *d);
    sum_distances(v, bits, d);
    fprintf(f,
            "<h2>On patches held back</h2>\n<p>Matching %zu points that were not learned from: mAP <b>%.2f</b>, "
            "nearest right %.2f %%, FPR95 %.2f %% (wrong pairs accepted at the distance that accepts 95 %% of the "
            "right ones).</p>\n<div class=\"plots\">\n",
            v->queries, 100 * v->map, 100 * v->rate, 100 * v->fpr95);
    const io_plot_curve spread[] = {{.x = d->x, .y = d->right, .n = d->bins, .label = "right pairs", .colour = 0},
                                    {.x = d->x, .y = d->wrong, .n = d->bins, .label = "wrong pairs", .colour = 1}};
    double top = fmax(largest(d->right, d->bins), largest(d->wrong, d->bins));
    io_plot_curves(f, "Distances of right and wrong pairs", (io_axis){"Hamming distance", 0, (double)bits, .whole = true},
                   (io_axis){"% of the pairs", 0, 1.05 * top, .logarithmic = false}, spread, 2);
    const double *wrong = d->accepted_wrong + d->first;
    const io_plot_curve roc = {.x = wrong, .y = d->accepted_right + d->first, .n = bits + 1 - d->first, .colour = 0,
                               .label = "every distance as a threshold"};
    io_plot_curves(f, "ROC", (io_axis){"% of the wrong pairs accepted", fmin(1, wrong[0]), 100, .logarithmic = true},
                   (io_axis){"% of the right pairs accepted", 0, 100, .logarithmic = false}, &roc, 1);
    fputs("</div>\n", f);
    free(d);
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
    kb_features f = io_bytes_view(rows, n, row_bytes);
    kb_status status =
        kb_describe_patches(page->result->model, page->set->pixels, page->set->side, &options, NULL, &f, NULL);
    bool done = status == KB_OK;
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
    io_plot_bars(f, "Share of patches in which the bit is 1", (io_axis){"bit", 0, c->bits, .whole = true},
                 (io_axis){"share", 0, 1, .logarithmic = false}, c->mean, (size_t)c->bits);
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
            "<h2>Correlation of bits</h2>\n<p>Red: bits that agree; blue: bits that disagree; white: neither. Every "
            "cell shows the strongest of its pairs.\nMean absolute correlation of two bits: %.4f.</p>\n"
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
    fprintf(f, "<p>%s, %d bits, id %016llx</p>\n<pre>", kb_name(KB_NAMES_KIND, info->spec->kind), (int)info->spec->bits,
            (unsigned long long)info->id);
    if (info->spec->text) io_html_text(f, info->spec->text);
    fputs("</pre>\n", f);
    if (page->result->validated) write_held(f, &page->result->on_held, (size_t)info->spec->bits);
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
    kb_model_get_info(page->result->model, &info);
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
