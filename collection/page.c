/* SPDX-License-Identifier: Apache-2.0 */
/* The page of keybits collection: which images verified pairs connect, and which ones not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collection/collection.h"
#include "io/html.h"
#include "io/plot.h"

#define MATRIX 640  /* px */
#define WEAKEST 30  /* images in the table */
#define BARS 40
#define GROUPS 12   /* in the table */

typedef struct summary {
    const collection *c;
    size_t *keypoints, *pairs, *matches; /* per image */
    size_t *group;                       /* of each image: the least image that it hangs together with */
    size_t verified, inliers, homographies;
    uint32_t *cells, side; /* the most inliers of the pairs in a cell */
} summary;

static size_t group_of(summary *s, size_t image)
{
    while (s->group[image] != image) image = s->group[image] = s->group[s->group[image]];
    return image;
}

static bool summary_pair(void *context, const collection_pair *p, io_error *error)
{
    summary *s = context;
    size_t n = s->c->images.count, side = s->side, a = group_of(s, p->a), b = group_of(s, p->b);
    uint32_t *cell = &s->cells[p->a * side / n * side + p->b * side / n];
    (void)error;
    s->verified++;
    s->inliers += p->inliers;
    s->homographies += p->geometry == KB_GEOMETRY_HOMOGRAPHY;
    s->group[a > b ? a : b] = a > b ? b : a;
    const size_t images[2] = {p->a, p->b};
    for (int k = 0; k < 2; k++) {
        s->pairs[images[k]]++;
        s->matches[images[k]] += p->inliers;
    }
    if (p->inliers > *cell) *cell = p->inliers;
    return true;
}

static bool summary_make(summary *s, const collection *c, io_error *error)
{
    size_t n = c->images.count;
    s->c = c;
    s->side = (uint32_t)(n < MATRIX ? n : MATRIX);
    s->keypoints = io_alloc(4 * n, sizeof *s->keypoints);
    s->pairs = s->keypoints + n;
    s->matches = s->pairs + n;
    s->group = s->matches + n;
    s->cells = io_alloc((size_t)s->side * s->side, sizeof *s->cells);
    for (size_t i = 0; i < n; i++) {
        features f = {0};
        s->group[i] = i;
        if (c->good[i] && collection_features_read(c, i, &f)) s->keypoints[i] = f.keypoints.count;
        features_free(&f);
    }
    return collection_pairs_read(c, summary_pair, s, error);
}

static void write_numbers(FILE *out, const summary *s, double seconds)
{
    const collection *c = s->c;
    size_t keypoints = 0;
    for (size_t i = 0; i < c->images.count; i++) keypoints += s->keypoints[i];
    fprintf(out, "<dl>\n<dt>Images</dt><dd>%zu</dd>\n", c->images.count - c->failed);
    if (c->failed > 0) fprintf(out, "<dt>Left out</dt><dd>%zu</dd>\n", c->failed);
    fprintf(out, "<dt>Keypoints</dt><dd>%zu</dd>\n<dt>Pairs matched</dt><dd>%zu</dd>\n", keypoints, c->pair_count);
    fprintf(out, "<dt>Pairs verified</dt><dd>%zu, %zu of them by a homography</dd>\n", s->verified, s->homographies);
    fprintf(out, "<dt>Matches</dt><dd>%zu</dd>\n<dt>Seconds</dt><dd>%.1f</dd>\n</dl>\n", s->inliers, seconds);
}

/* ---- groups: what one reconstruction can hold at most ---- */

typedef struct image_group {
    size_t first, images;
} image_group;

static int compare_groups(const void *a, const void *b)
{
    const image_group *x = a, *y = b;
    if (x->images != y->images) return x->images > y->images ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void write_groups(FILE *out, summary *s)
{
    static const char *const heads[] = {"first image", "images", NULL};
    size_t n = s->c->images.count, count = 0, alone = 0;
    image_group *groups = io_alloc(n, sizeof *groups);
    for (size_t i = 0; i < n; i++) {
        groups[i].first = i;
        if (s->c->good[i]) groups[group_of(s, i)].images++;
    }
    qsort(groups, n, sizeof *groups, compare_groups);
    while (count < n && groups[count].images > 1) count++;
    for (size_t i = count; i < n; i++) alone += groups[i].images;
    fputs("<h2>Groups</h2>\n<p>Images that are connected by verified pairs; a reconstruction holds one group at most. "
          "Images of no pair: ", out);
    fprintf(out, "%zu.</p>\n", alone);
    io_html_table_begin(out, heads);
    for (size_t i = 0; i < count && i < GROUPS; i++) {
        io_html_row_begin(out, s->c->names.items[groups[i].first]);
        io_html_cell(out, (double)groups[i].images, 0, NULL);
        io_html_row_end(out);
    }
    io_html_table_end(out);
    if (count > GROUPS) fprintf(out, "<p>and %zu smaller ones</p>\n", count - GROUPS);
    free(groups);
}

/* Inliers as brightness, by their square root; both halves. */
static bool write_matrix(FILE *out, const summary *s, io_error *error)
{
    size_t side = s->side;
    uint8_t *pixels = io_alloc(side * side, 1);
    uint32_t most = 1;
    for (size_t i = 0; i < side * side; i++)
        if (s->cells[i] > most) most = s->cells[i];
    for (size_t y = 0; y < side; y++)
        for (size_t x = 0; x < side; x++) {
            uint32_t cell = s->cells[y * side + x];
            uint8_t v = cell ? (uint8_t)(40 + 215 * sqrt((double)cell / most)) : 0;
            if (v > pixels[y * side + x]) pixels[y * side + x] = v;
            if (v > pixels[x * side + y]) pixels[x * side + y] = v;
        }
    fputs("<h2>Verified pairs</h2>\n<p>Row and column are images in the order of their names; bright is a pair with many "
          "matches.</p>\n<div class=\"matrix\">", out);
    bool ok = io_html_picture(out, "verified pairs", (int32_t)side, (int32_t)side, pixels) || io_fail(error, "out of memory");
    fputs("</div>\n", out);
    free(pixels);
    return ok;
}

/* ---- images ---- */

static void write_histogram(FILE *out, const summary *s, const size_t *values, const char *title, const char *label)
{
    size_t most = 1, n = s->c->images.count;
    double bars[BARS] = {0}, highest = 1;
    for (size_t i = 0; i < n; i++)
        if (values[i] > most) most = values[i];
    size_t count = most < BARS ? most + 1 : BARS;
    for (size_t i = 0; i < n; i++) {
        size_t bar = values[i] * count / (most + 1);
        if (s->c->good[i] && ++bars[bar] > highest) highest = bars[bar];
    }
    io_plot_bars(out, title, (io_axis){label, 0, (double)(most + 1), .whole = true},
                 (io_axis){"images", 0, highest, .whole = true}, bars, count);
}

typedef struct weak_image {
    size_t image, pairs, matches;
} weak_image;

static int compare_weak(const void *a, const void *b)
{
    const weak_image *x = a, *y = b;
    if (x->pairs != y->pairs) return x->pairs < y->pairs ? -1 : 1;
    if (x->matches != y->matches) return x->matches < y->matches ? -1 : 1;
    return x->image < y->image ? -1 : x->image > y->image;
}

static void write_weakest(FILE *out, const summary *s)
{
    static const char *const heads[] = {"image", "keypoints", "verified pairs", "matches", NULL};
    const collection *c = s->c;
    size_t n = 0;
    weak_image *weak = io_alloc(c->images.count, sizeof *weak);
    for (size_t i = 0; i < c->images.count; i++)
        if (c->good[i]) weak[n++] = (weak_image){i, s->pairs[i], s->matches[i]};
    qsort(weak, n, sizeof *weak, compare_weak);
    fprintf(out, "<h2>Images with the fewest verified pairs</h2>\n");
    io_html_table_begin(out, heads);
    for (size_t i = 0; i < n && i < WEAKEST; i++) {
        io_html_row_begin(out, c->names.items[weak[i].image]);
        io_html_cell(out, (double)s->keypoints[weak[i].image], 0, NULL);
        io_html_cell(out, (double)weak[i].pairs, 0, NULL);
        io_html_cell(out, (double)weak[i].matches, 0, NULL);
        io_html_row_end(out);
    }
    io_html_table_end(out);
    free(weak);
}

static void write_failed(FILE *out, const collection *c)
{
    if (c->failed == 0) return;
    fputs("<h2>Left out</h2>\n<p>Images that could not be read.</p>\n<pre>", out);
    for (size_t i = 0; i < c->images.count; i++) {
        if (c->good[i]) continue;
        io_html_text(out, c->names.items[i]);
        fputc('\n', out);
    }
    fputs("</pre>\n", out);
}

bool collection_page_write(const collection *c, const char *path, double seconds, io_error *error)
{
    summary s = {0};
    io_writer *writer = io_writer_open(path, error);
    if (!writer) return false;
    FILE *out = io_writer_file(writer);
    bool ok = summary_make(&s, c, error);
    io_html_begin(out, "Collection");
    write_numbers(out, &s, seconds);
    fputs("<div class=\"plots\">\n", out);
    write_histogram(out, &s, s.pairs, "Verified pairs per image", "verified pairs");
    write_histogram(out, &s, s.keypoints, "Keypoints per image", "keypoints");
    fputs("</div>\n", out);
    write_groups(out, &s);
    ok = ok && write_matrix(out, &s, error);
    write_weakest(out, &s);
    write_failed(out, c);
    io_html_end(out);
    free(s.keypoints);
    free(s.cells);
    if (ok) return io_writer_commit(writer, error);
    io_writer_abandon(writer);
    return false;
}
