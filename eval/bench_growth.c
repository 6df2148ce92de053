/* How cost grows: with keypoints, with pixels, with rows to match against. Positions and rows are random, since sizes
 * must be exact; pixels are those of the first image, repeated and mirrored. */
#include <stdlib.h>
#include <string.h>

#include "eval/bench.h"
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

/* The image of `source`, mirrored again and again to fill width x height; malloc'ed. */
static uint8_t *mirrored_image(const io_image *source, int32_t width, int32_t height)
{
    uint8_t *pixels = io_alloc((size_t)width, (size_t)height);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            int32_t u = x % (2 * source->width), v = y % (2 * source->height);
            if (u >= source->width) u = 2 * source->width - 1 - u;
            if (v >= source->height) v = 2 * source->height - 1 - v;
            pixels[(size_t)y * (size_t)width + (size_t)x] =
                source->pixels[(size_t)v * (size_t)source->width + (size_t)u];
        }
    return pixels;
}

/* ---- measuring one point ---- */

typedef kb_status work(const growth *g, void *context);

static bool add_point(growth *g, ev_bench_curve *curve, double x, work *what, void *context, io_error *error)
{
    double ms[REPEATS];
    for (int r = -1; r < REPEATS; r++) {
        double before = ev_bench_clock_read(&g->clock).ms;
        kb_status status = what(g, context);
        if (status != KB_OK) return io_fail(error, "%s: %s", curve->name, kb_status_string(status));
        if (r >= 0) ms[r] = ev_bench_clock_read(&g->clock).ms - before;
    }
    curve->x[curve->points] = x;
    curve->ms[curve->points++] = kbi_spread_of(ms, REPEATS).median;
    io_progress_update(&g->progress, ++g->done);
    return true;
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
    static const size_t counts[] = {500, 1000, 2000, 5000, 10000, 20000};
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
    static const int32_t sizes[][2] = {{640, 480}, {1280, 800}, {2000, 1500}, {3000, 2000}, {4000, 3000}, {6000, 4000}};
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
        uint8_t *pixels = mirrored_image(&g->set->images[0], width, height);
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
    static const size_t counts[] = {256, 1000, 4000, 16000, 50000, 100000};
    size_t bytes = 100000 * 64;
    uint8_t *rows = io_alloc(bytes, 1);
    kb_match *matches = io_alloc(QUERIES, sizeof *matches);
    bool good = true;
    for (size_t i = 0; i < bytes; i++) rows[i] = (uint8_t)(256 * uniform(&g->state));
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

bool ev_bench_growth(ev_bench_set *set, int32_t threads, bool quiet, ev_bench_plot plots[EV_BENCH_PLOTS],
                     io_error *error)
{
    const ev_method *methods[EV_BENCH_CURVES];
    size_t found = find_methods(set, methods);
    growth g = {.set = set, .state = 1};
    ev_bench_clock_open(&g.clock, threads);
    io_progress_start(&g.progress, "growth", 6 * found + 10 + (found ? 6 : 0) + 12, quiet);
    bool good =
        grow_keypoints(&g, &plots[0], error) && grow_pixels(&g, &plots[1], error) && grow_rows(&g, &plots[2], error);
    io_progress_end(&g.progress);
    ev_bench_clock_close(&g.clock);
    return good;
}
