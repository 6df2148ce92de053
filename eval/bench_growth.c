/* SPDX-License-Identifier: Apache-2.0 */
/* How time and memory grow, over two decades each: with keypoints, pixels, rows to match against, images of an index
 * and words of a vocabulary. Positions, rows and trees are random, since sizes must be exact; pixels are those of the
 * first image, repeated and mirrored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench.h"
#include "keybits/index.h"
#include "io/features.h"
#include "learn/metrics.h"

#define REPEATS 3
#define QUERIES 1000

typedef struct growth {
    ev_bench_set *set;
    ev_bench_clock clock;
    io_progress progress;
    size_t done;
    uint64_t state;
} growth;

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static void random_rows(uint8_t *rows, size_t bytes, uint64_t *state)
{
    for (size_t i = 0; i < bytes; i++) rows[i] = (uint8_t)(256 * uniform(state));
}

/* Keypoints as ORB gives them: more small ones than large ones. */
static void random_keypoints(kb_keypoint *k, size_t n, int32_t width, int32_t height, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        double factor = 1;
        while (factor < 3.5 && uniform(state) < 0.75) factor *= 1.2;
        k[i] = (kb_keypoint){(float)(uniform(state) * (width - 1)),
                             (float)(uniform(state) * (height - 1)),
                             (float)(31 * factor),
                             (float)(360 * uniform(state)),
                             0,
                             0,
                             -1};
    }
}

/* ---- measuring one point ---- */

typedef kb_status work(const growth *g, void *context);

/* In a workspace of its own, whose size is the memory. */
static bool add_point(growth *g, ev_bench_curve *curve, double x, work *what, void *context, io_error *error)
{
    double ms[REPEATS];
    kb_workspace *kept = g->set->workspace;
    kb_workspace_limits none;
    KB_INIT(none);
    kb_status status = kb_workspace_create(NULL, &g->set->workspace);
    for (int r = -1; r < REPEATS && status == KB_OK; r++) {
        double before = ev_bench_clock_read(&g->clock).ms;
        status = what(g, context);
        if (r >= 0) ms[r] = ev_bench_clock_read(&g->clock).ms - before;
    }
    size_t bytes = 0;
    if (status == KB_OK) status = kb_workspace_reserve(g->set->workspace, &none, &bytes, NULL);
    curve->mb[curve->points] = 1e-6 * (double)bytes;
    kb_workspace_free(g->set->workspace);
    g->set->workspace = kept;
    if (status != KB_OK) return io_fail(error, "%s: %s", curve->name, kb_status_string(status));
    curve->x[curve->points] = x;
    curve->ms[curve->points++] = kbi_spread_of(ms, REPEATS).median;
    io_progress_update(&g->progress, ++g->done);
    return true;
}

double ev_bench_power(const double *x, const double *y, size_t points)
{
    size_t last = points - 1, from = last;
    while (from > 0 && x[from] * 9.9 > x[last]) from--;
    return log(y[last] / y[from]) / log(x[last] / x[from]);
}

typedef struct description {
    kb_image image;
    const kb_keypoint *keypoints;
    size_t n;
    const ev_method *method;
    uint8_t *rows;
} description;

static kb_status growth_describe(const growth *g, void *context)
{
    const description *d = context;
    kb_describe_options o;
    KB_INIT(o);
    o.parallel = g->set->parallel;
    kb_features f = io_keypoints_view(d->keypoints, d->n);
    f.detector = KB_DETECTOR_ORB;
    f.rows = d->rows;
    f.rows_size = SIZE_MAX;
    return kb_describe(d->method->model, &d->image, &o, g->set->workspace, &f, NULL);
}

typedef struct detection {
    kb_image image;
    kb_detector detector;
    kb_keypoint *keypoints;
} detection;

static kb_status growth_detect(const growth *g, void *context)
{
    const detection *d = context;
    kb_features f = io_keypoints_view(d->keypoints, (size_t)g->set->max_keypoints);
    kb_detect_options o;
    KB_INIT(o);
    o.detector = d->detector;
    o.max_keypoints = g->set->max_keypoints;
    o.parallel = g->set->parallel;
    return kb_detect(&d->image, &o, g->set->workspace, &f, NULL);
}

typedef struct matching {
    const uint8_t *a, *b;
    size_t n, row_bytes;
    kb_match *matches;
} matching;

static kb_status growth_match(const growth *g, void *context)
{
    const matching *m = context;
    size_t count;
    kb_match_options o;
    KB_INIT(o);
    o.parallel = g->set->parallel;
    kb_features a = io_bytes_view(m->a, QUERIES, m->row_bytes), b = io_bytes_view(m->b, m->n, m->row_bytes);
    return kb_match_features(&a, &b, &o, g->set->workspace, m->matches, &count, NULL);
}

/* ---- the plots ---- */

/* Our binary descriptors of 256 bits, EV_BENCH_CURVES at most. */
static size_t find_methods(const ev_bench_set *set, const ev_method *found[EV_BENCH_CURVES])
{
    size_t n = 0;
    for (size_t i = 0; i < set->method_count && n < EV_BENCH_CURVES; i++) {
        kb_model_info info;
        KB_INIT(info);
        if (set->methods[i].model && kb_model_get_info(set->methods[i].model, &info) == KB_OK && info.row_bytes == 32)
            found[n++] = &set->methods[i];
    }
    return n;
}


static bool grow_keypoints(growth *g, ev_bench_plot *plot, io_error *error)
{
    static const size_t counts[] = {200, 500, 1000, 2000, 5000, 10000, 20000};
    const ev_method *methods[EV_BENCH_CURVES];
    const io_image *image = &g->set->images[0];
    kb_keypoint *keypoints = io_alloc(20000, sizeof *keypoints);
    uint8_t *rows = io_alloc(20000, 32);
    bool good = true;
    random_keypoints(keypoints, 20000, image->width, image->height, &g->state);
    *plot = (ev_bench_plot){.title = "Describing: keypoints", .x_name = "keypoints"};
    plot->count = find_methods(g->set, methods);
    for (size_t m = 0; m < plot->count; m++) {
        plot->curves[m].name = methods[m]->name;
        for (size_t i = 0; i < sizeof counts / sizeof *counts && good; i++) {
            description d = {image->view, keypoints, counts[i], methods[m], rows};
            good = add_point(g, &plot->curves[m], (double)counts[i], growth_describe, &d, error);
        }
    }
    free(keypoints);
    free(rows);
    return good;
}

static bool grow_pixels(growth *g, ev_bench_plot *plot, io_error *error)
{
    static const int32_t sizes[][2] = {{320, 240},   {640, 480},   {1280, 800}, {2000, 1500},
                                       {3000, 2000}, {4000, 3000}, {6000, 4000}};
    const ev_method *methods[EV_BENCH_CURVES];
    size_t n = (size_t)g->set->max_keypoints, found = find_methods(g->set, methods);
    kb_keypoint *keypoints = io_alloc(n, sizeof *keypoints);
    uint8_t *rows = io_alloc(n, 32);
    bool good = true;
    *plot = (ev_bench_plot){.title = "Pixels per image, keypoints as asked for", .x_name = "megapixels"};
    plot->count = found ? 3 : 2;
    plot->curves[0].name = "detect-hessian";
    plot->curves[1].name = "detect-sift";
    if (found) plot->curves[2].name = methods[0]->name;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && good; i++) {
        int32_t width = sizes[i][0], height = sizes[i][1];
        uint8_t *pixels = ev_bench_mirrored(&g->set->images[0], width, height);
        double megapixels = 1e-6 * width * height;
        detection hessian = {{pixels, width, height, width, KB_FORMAT_GRAY8, 0}, KB_DETECTOR_HESSIAN, keypoints};
        detection sift = {hessian.image, KB_DETECTOR_SIFT, keypoints};
        description d = {hessian.image, keypoints, n, methods[0], rows};
        good = add_point(g, &plot->curves[0], megapixels, growth_detect, &hessian, error) &&
               (megapixels > 7 || add_point(g, &plot->curves[1], megapixels, growth_detect, &sift, error));
        random_keypoints(keypoints, n, width, height, &g->state);
        if (good && found) good = add_point(g, &plot->curves[2], megapixels, growth_describe, &d, error);
        free(pixels);
    }
    free(keypoints);
    free(rows);
    return good;
}

static bool grow_rows(growth *g, ev_bench_plot *plot, io_error *error)
{
    static const size_t counts[] = {1000, 3000, 10000, 30000, 100000};
    size_t bytes = 100000 * 64;
    uint8_t *rows = io_alloc(bytes, 1);
    kb_match *matches = io_alloc(QUERIES, sizeof *matches);
    bool good = true;
    random_rows(rows, bytes, &g->state);
    *plot =
        (ev_bench_plot){.title = "Mutual matching of 1000 rows: rows to match against", .x_name = "rows", .count = 2};
    for (size_t c = 0; c < 2; c++) {
        plot->curves[c].name = c ? "512 bits" : "256 bits";
        for (size_t i = 0; i < sizeof counts / sizeof *counts && good; i++) {
            matching m = {rows + bytes / 2, rows, counts[i], c ? 64 : 32, matches};
            good = add_point(g, &plot->curves[c], (double)counts[i], growth_match, &m, error);
        }
    }
    free(rows);
    free(matches);
    return good;
}

/* ---- words and images ---- */

#define WORD_ROW 32     /* bytes */
#define IMAGE_ROWS 300  /* of an image in the index; a query has QUERIES */
#define BRANCHING 10

/* A full tree of random rows, BRANCHING^levels words. */
static kb_vocabulary *random_vocabulary(int32_t levels, uint64_t *state, io_error *error)
{
    uint32_t nodes = 1, wide = 1;
    for (int32_t i = 0; i < levels; i++) nodes += wide *= BRANCHING;
    uint32_t *parents = io_alloc(nodes, sizeof *parents);
    double *weights = io_alloc(nodes, sizeof *weights);
    uint8_t *rows = io_alloc(nodes, WORD_ROW);
    for (uint32_t i = 0; i < nodes; i++) parents[i] = i ? (i - 1) / BRANCHING : 0, weights[i] = 1;
    random_rows(rows, (size_t)nodes * WORD_ROW, state);
    kb_vocabulary_spec spec;
    KB_INIT(spec);
    spec.nodes = nodes;
    spec.parents = parents;
    spec.rows = rows;
    spec.weights = weights;
    spec.row_bytes = WORD_ROW;
    spec.branching = BRANCHING;
    spec.levels = levels;
    kb_vocabulary *vocabulary = NULL;
    kb_error reason;
    if (kb_vocabulary_create(&spec, NULL, &vocabulary, &reason) != KB_OK) io_fail(error, "vocabulary: %s", reason.text);
    free(parents);
    free(weights);
    free(rows);
    return vocabulary;
}

typedef struct retrieval {
    const kb_vocabulary *vocabulary;
    const kb_index *index;
    const uint8_t *rows; /* QUERIES of them */
    uint32_t words[QUERIES];
} retrieval;

static kb_status growth_words(const growth *g, void *context)
{
    retrieval *r = context;
    kb_words_options o;
    KB_INIT(o);
    o.parallel = g->set->parallel;
    kb_features f = io_bytes_view(r->rows, QUERIES, WORD_ROW);
    return kb_vocabulary_words(r->vocabulary, &f, &o, r->words, NULL, NULL);
}

static kb_status growth_query(const growth *g, void *context)
{
    const retrieval *r = context;
    kb_index_result results[10];
    size_t count;
    kb_features f = io_bytes_view(r->rows, QUERIES, WORD_ROW);
    return kb_index_query(r->index, &f, NULL, g->set->workspace, results, 10, &count, NULL);
}

static bool grow_words(growth *g, ev_bench_plot *plot, io_error *error)
{
    uint8_t rows[QUERIES * WORD_ROW];
    bool good = true;
    random_rows(rows, sizeof rows, &g->state);
    *plot = (ev_bench_plot){.title = "Words of 1000 rows: words of the vocabulary", .x_name = "words", .count = 1};
    ev_bench_curve *curve = &plot->curves[0];
    curve->name = "words of 1000 rows";
    for (int32_t levels = 3; levels <= 5 && good; levels++) {
        kb_vocabulary *vocabulary = random_vocabulary(levels, &g->state, error);
        kb_vocabulary_info info;
        KB_INIT(info);
        retrieval r = {.vocabulary = vocabulary, .rows = rows};
        good = vocabulary && kb_vocabulary_get_info(vocabulary, &info) == KB_OK &&
               add_point(g, curve, pow(BRANCHING, levels), growth_words, &r, error);
        if (good) curve->mb[curve->points - 1] = 1e-6 * (double)info.bytes;
        kb_vocabulary_free(vocabulary);
    }
    return good;
}

static bool grow_images(growth *g, ev_bench_plot *plot, io_error *error)
{
    static const size_t counts[] = {100, 300, 1000, 3000, 10000};
    uint8_t rows[QUERIES * WORD_ROW];
    kb_index *index = NULL;
    kb_index_info info;
    KB_INIT(info);
    kb_vocabulary *vocabulary = random_vocabulary(4, &g->state, error);
    kb_status status = vocabulary ? kb_index_create(vocabulary, NULL, NULL, &index, NULL) : KB_E_MEMORY;
    *plot = (ev_bench_plot){
        .title = "A query of 1000 rows: images in the index, 300 rows each", .x_name = "images", .count = 1};
    ev_bench_curve *curve = &plot->curves[0];
    curve->name = "query of 1000 rows";
    bool good = vocabulary && (status == KB_OK || io_fail(error, "index: %s", kb_status_string(status)));
    for (size_t c = 0, added = 0; c < sizeof counts / sizeof *counts && good; c++) {
        for (; added < counts[c] && status == KB_OK; added++) {
            random_rows(rows, IMAGE_ROWS * WORD_ROW, &g->state);
            kb_features f = io_bytes_view(rows, IMAGE_ROWS, WORD_ROW);
            status = kb_index_add(index, &f, added, NULL, g->set->workspace, NULL);
        }
        if (status == KB_OK) status = kb_index_get_info(index, &info);
        random_rows(rows, sizeof rows, &g->state);
        retrieval r = {.index = index, .rows = rows};
        good = (status == KB_OK || io_fail(error, "index: %s", kb_status_string(status))) &&
               add_point(g, curve, (double)counts[c], growth_query, &r, error);
        if (good) curve->mb[curve->points - 1] = 1e-6 * (double)info.bytes;
    }
    kb_index_free(index);
    kb_vocabulary_free(vocabulary);
    return good;
}

bool ev_bench_growth(ev_bench_set *set, int32_t threads, bool quiet, ev_bench_plot plots[EV_BENCH_PLOTS],
                     io_error *error)
{
    const ev_method *methods[EV_BENCH_CURVES];
    size_t found = find_methods(set, methods);
    growth g = {.set = set, .state = 1};
    ev_bench_clock_open(&g.clock, threads);
    io_progress_start(&g.progress, "growth", 7 * found + 12 + (found ? 7 : 0) + 10 + 3 + 5, quiet);
    bool good = grow_keypoints(&g, &plots[0], error) && grow_pixels(&g, &plots[1], error) &&
                grow_rows(&g, &plots[2], error) && grow_words(&g, &plots[3], error) &&
                grow_images(&g, &plots[4], error);
    io_progress_end(&g.progress);
    ev_bench_clock_close(&g.clock);
    return good;
}
