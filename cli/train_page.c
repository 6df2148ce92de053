/* The result of a training as one HTML file without anything from elsewhere: curves, boxes, means and correlations of
 * bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "model_text.h"
#include "train.h"

#define WIDTH 860 /* of the plots */
#define HEIGHT 240
#define LEFT 50
#define BOTTOM 30
#define SAMPLE 5000 /* patches that bits are counted on */
#define CELLS 64    /* of the picture of correlations, each side */

static const char *const colours[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728"};

/* ------------------------------------------------------------------------------------------------------------ plots */

static void begin_plot(FILE *f, const char *title, double top, const char *x_name, double x_end)
{
    char number[32];
    fprintf(f, "<h2>%s</h2>\n<svg width=\"%d\" height=\"%d\" font-size=\"12\" font-family=\"sans-serif\">\n", title,
            WIDTH + LEFT + 10, HEIGHT + BOTTOM + 10);
    for (int i = 0; i <= 4; i++) {
        double y = 5 + HEIGHT - i * HEIGHT / 4.0;
        fprintf(f, "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT, y, WIDTH, LEFT - 5, y + 4, io_number_format(number, top * i / 4, 3));
    }
    fprintf(f, "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", LEFT,
            HEIGHT + BOTTOM - 5, x_name, LEFT + WIDTH, HEIGHT + BOTTOM - 5, io_number_format(number, x_end, 9));
}

static double largest(const double *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = v[i] > most ? v[i] : most;
    return most;
}

static void write_curves(FILE *f, const train_page *page)
{
    double top = 0, end = page->points ? page->x[page->points - 1] : 1;
    for (size_t c = 0; c < page->curve_count; c++) top = fmax(top, largest(page->curves[c].y, page->points));
    if (!(top > 0)) top = 1;
    begin_plot(f, "Learning", top, page->x_name, end);
    for (size_t c = 0; c < page->curve_count; c++) {
        fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colours[c % 4]);
        for (size_t i = 0; i < page->points; i++)
            fprintf(f, "%.1f,%.1f ", LEFT + WIDTH * page->x[i] / end, 5 + HEIGHT - HEIGHT * page->curves[c].y[i] / top);
        fprintf(f, "\"/><text x=\"%d\" y=\"%zu\" fill=\"%s\" text-anchor=\"end\">%s</text>\n", LEFT + WIDTH - 8,
                22 + 16 * c, colours[c % 4], page->curves[c].name);
    }
    fprintf(f, "</svg>\n");
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
    size_t n = page->set->patches < SAMPLE ? page->set->patches : SAMPLE, bits = (size_t)info->spec.bits;
    size_t row_bytes = (size_t)info->row_bytes;
    uint8_t *rows = io_alloc(n, row_bytes);
    int32_t *ones = io_alloc(bits, sizeof *ones);
    kb_describe_options options;
    KB_INIT(options);
    options.parallel = parallel;
    *counts = (bit_counts){info->spec.bits, n, io_alloc(bits, sizeof(double)), io_alloc(bits * bits, sizeof(double))};
    bool done = kb_describe_patches(page->model, page->set->pixels, n, KB_PATCH_SIDE, &options, NULL, rows) == KB_OK;
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
    double sum = 0, wide = (double)WIDTH / c->bits;
    for (int32_t i = 0; i < c->bits; i++) sum += fabs(c->mean[i] - 0.5);
    begin_plot(f, "Share of ones of every bit", 1, "bit", c->bits);
    for (int32_t i = 0; i < c->bits; i++)
        fprintf(f, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"#1f77b4\"/>", LEFT + i * wide,
                5 + HEIGHT * (1 - c->mean[i]), wide * 0.9, HEIGHT * c->mean[i]);
    fprintf(f, "</svg>\n<p>Mean distance from one half: %.4f, on %zu patches.</p>\n", sum / c->bits, c->patches);
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
    int32_t cells = c->bits < CELLS ? c->bits : CELLS, side = 512 / cells;
    size_t bits = (size_t)c->bits;
    double sum = 0;
    for (size_t i = 0; i < bits * bits; i++) sum += i % (bits + 1) ? fabs(c->correlation[i]) : 0;
    fprintf(f, "<h2>Correlation of bits</h2>\n<svg width=\"%d\" height=\"%d\">\n", cells * side, cells * side);
    for (int32_t row = 0; row < cells; row++) {
        for (int32_t column = 0; column < cells; column++) {
            double v = strongest_in(c, cells, row, column);
            int pale = (int)(255 - 255 * fmin(1, fabs(v)));
            fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#%02x%02x%02x\"/>", column * side,
                    row * side, side, side, v > 0 ? 255 : pale, pale, v > 0 ? pale : 255);
        }
        fputc('\n', f);
    }
    fprintf(f,
            "</svg>\n<p>Red: bits that agree; blue: bits that disagree; white: neither. Every cell shows the strongest "
            "of its pairs.\nMean absolute correlation of two bits: %.4f.</p>\n", sum / (double)(bits * (bits - 1)));
}

/* ------------------------------------------------------------------------------------------------------------- page */

static void write_escaped(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", f);
        else if (*text == '&') fputs("&amp;", f);
        else fputc(*text, f);
    }
}

static void write_all(FILE *f, const train_page *page, const kb_model_info *info, const bit_counts *counts)
{
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", f);
    write_escaped(f, info->spec.name);
    fputs("</title>\n<style>body{font-family:sans-serif;margin:2em;max-width:60em}pre{white-space:pre-wrap}</style>"
          "</head><body>\n<h1>", f);
    write_escaped(f, info->spec.name);
    fprintf(f, "</h1>\n<p>%s, %d bits, id %016llx</p>\n<pre>", kb_kind_name(info->spec.kind), (int)info->spec.bits,
            (unsigned long long)info->id);
    if (info->spec.text) write_escaped(f, info->spec.text);
    fputs("</pre>\n", f);
    write_curves(f, page);
    write_means(f, counts);
    write_correlations(f, counts);
    if (info->spec.boxes) {
        fputs("<h2>Boxes</h2>\n", f);
        model_svg_print(f, info);
    }
    fputs("</body></html>\n", f);
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
