/* The rows of the benchmark: each a step that we do and that OpenCV does, on an image or on a pair of images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "io/rows.h"

#ifdef KB_HAVE_EVAL
#    include "eval/peers.h"
static bool have_peers(void) { return ev_peer_name(0) != NULL; }
#else
static bool have_peers(void) { return false; }
#endif

#define FIT_MATCHES 1000

/* ---- the set ---- */

static bool check(const char *what, kb_status status, io_error *error)
{
    return status == KB_OK || io_fail(error, "%s: %s", what, kb_status_string(status));
}

static kb_status detect(const bench_set *set, const kb_image *image, kb_detector detector, kb_keypoint *keypoints,
                        size_t *n)
{
    kb_detect_options o;
    KB_INIT(o);
    o.detector = detector;
    o.max_keypoints = set->max_keypoints;
    o.parallel = set->parallel;
    return kb_detect(image, &o, set->workspace, keypoints, (size_t)set->max_keypoints, n);
}

static kb_status describe(const bench_set *set, const kb_image *image, bench_model model, const kb_keypoint *keypoints,
                          size_t n, uint8_t *rows)
{
    kb_describe_options o;
    KB_INIT(o);
    o.parallel = set->parallel;
    return kb_describe(set->models[model], image, keypoints, n, &o, set->workspace, rows, NULL);
}

static kb_status match(const bench_set *set, const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                       size_t *n)
{
    kb_match_options o;
    KB_INIT(o);
    o.parallel = set->parallel;
    return kb_match_hamming(a, na, b, nb, row_bytes, &o, set->workspace, set->matches, n);
}

bool bench_set_open(bench_set *set, const cli_common *common, const io_names *names, int32_t max_keypoints,
                    kb_model *given[BENCH_MODELS], io_error *error)
{
    size_t room = (size_t)max_keypoints;
    memset(set, 0, sizeof *set);
    set->max_keypoints = max_keypoints;
    set->images = io_alloc(names->count, sizeof *set->images);
    set->keypoints = io_alloc(names->count, sizeof *set->keypoints);
    set->out = io_alloc(room, KB_MAX_BITS / 8);
    set->pairs = io_alloc(FIT_MATCHES, sizeof *set->pairs);
    set->matches = io_alloc(room, sizeof *set->matches);
    for (int i = 0; i < 2; i++) {
        set->found[i] = io_alloc(room, sizeof *set->found[i]);
        for (int k = 0; k < 2; k++) set->rows[k][i] = io_alloc(room, 64);
    }
    if (!check("workspace", kb_workspace_create(&set->workspace), error)) return false;
    for (; set->count < names->count; set->count++) {
        io_keypoints *k = &set->keypoints[set->count];
        if (!io_image_read(names->items[set->count], NULL, &set->images[set->count], error)) return false;
        k->items = io_alloc(room, sizeof *k->items);
        kb_status status = detect(set, &set->images[set->count].view, KB_DETECTOR_ORB, k->items, &k->count);
        if (!check(names->items[set->count], status, error)) return false;
    }
    for (int i = 0; i < BENCH_MODELS; i++) {
        set->models[i] = given[i];
        given[i] = NULL;
        if (!set->models[i] && !bench_model_open(common, (bench_model)i, &set->models[i], error)) return false;
    }
    set->current = set->count;
    return true;
}

void bench_set_close(bench_set *set)
{
    for (size_t i = 0; set->images && i < set->count; i++) {
        io_image_free(&set->images[i]);
        free(set->keypoints[i].items);
    }
    for (int i = 0; i < BENCH_MODELS; i++) kb_model_free(set->models[i]);
    for (int i = 0; i < 2; i++) {
        free(set->found[i]);
        for (int k = 0; k < 2; k++) free(set->rows[k][i]);
    }
    free(set->images);
    free(set->keypoints);
    free(set->out);
    free(set->pairs);
    free(set->matches);
    kb_workspace_free(set->workspace);
}

/* ---- matches of a pair: rows for matching, and pairs of points for fitting, best first ---- */

static int nearest_first(const void *a, const void *b)
{
    const kb_match *p = a, *q = b;
    if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
    return p->a - q->a;
}

static size_t make_pairs(kb_match *matches, size_t n, const kb_keypoint *a, const kb_keypoint *b, kb_point_pair *pairs,
                         size_t room)
{
    qsort(matches, n, sizeof *matches, nearest_first);
    if (n > room) n = room;
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *p = &a[matches[i].a], *q = &b[matches[i].b];
        pairs[i] = (kb_point_pair){p->x, p->y, q->x, q->y};
    }
    return n;
}

/* Pair i is made of images 2 i and 2 i + 1. */
static bool prepare_pair(bench_set *set, size_t i, io_error *error)
{
    if (set->current == i) return true;
    size_t first = 2 * i, n = 0;
    kb_status status = KB_OK;
    for (int bits = 0; bits < 2 && status == KB_OK; bits++)
        for (size_t k = 0; k < 2 && status == KB_OK; k++)
            status = describe(set, &set->images[first + k].view, bits ? BENCH_BAD512 : BENCH_BAD256,
                              set->keypoints[first + k].items, set->keypoints[first + k].count, set->rows[bits][k]);
    const io_keypoints *a = &set->keypoints[first], *b = a + 1;
    if (status == KB_OK) status = match(set, set->rows[0][0], a->count, set->rows[0][1], b->count, 32, &n);
    set->pair_count = make_pairs(set->matches, n, a->items, b->items, set->pairs, FIT_MATCHES);
    set->current = i;
    return check("describing", status, error);
}

/* ---- our side ---- */

static bool our_detect(bench_set *set, size_t i, int variant, io_error *error)
{
    size_t n;
    return check("detecting", detect(set, &set->images[i].view, (kb_detector)variant, set->found[0], &n), error);
}

static bool our_describe(bench_set *set, size_t i, int variant, io_error *error)
{
    const io_keypoints *k = &set->keypoints[i];
    return check("describing", describe(set, &set->images[i].view, (bench_model)variant, k->items, k->count, set->out),
                 error);
}

static bool our_match(bench_set *set, size_t i, int variant, io_error *error)
{
    size_t n;
    uint8_t *const *rows = set->rows[variant == 512];
    return check("matching",
                 match(set, rows[0], set->keypoints[2 * i].count, rows[1], set->keypoints[2 * i + 1].count,
                       (size_t)variant / 8, &n),
                 error);
}

static bool our_fit(bench_set *set, size_t i, int variant, io_error *error)
{
    (void)i, (void)variant;
    kb_fit_report report;
    KB_INIT(report);
    return check("fitting", kb_fit(set->pairs, set->pair_count, NULL, set->workspace, NULL, &report), error);
}

static bool our_road(bench_set *set, size_t i, int variant, io_error *error)
{
    kb_status status = KB_OK;
    size_t n[2] = {0, 0}, matches = 0;
    bench_model model = (bench_model)variant;
    for (size_t k = 0; k < 2 && status == KB_OK; k++) {
        const kb_image *image = &set->images[2 * i + k].view;
        status = detect(set, image, KB_DETECTOR_ORB, set->found[k], &n[k]);
        if (status == KB_OK) status = describe(set, image, model, set->found[k], n[k], set->rows[0][k]);
    }
    if (status == KB_OK) status = match(set, set->rows[0][0], n[0], set->rows[0][1], n[1], 32, &matches);
    if (status == KB_OK) {
        kb_point_pair *pairs = io_alloc(matches + 1, sizeof *pairs);
        kb_fit_report report;
        KB_INIT(report);
        size_t count = make_pairs(set->matches, matches, set->found[0], set->found[1], pairs, matches);
        status = kb_fit(pairs, count, NULL, set->workspace, NULL, &report);
        free(pairs);
    }
    set->current = set->count; /* the rows were overwritten */
    return check("the pipeline", status, error);
}

/* ---- OpenCV's side ---- */

#ifdef KB_HAVE_EVAL

static bool cv_detect(bench_set *set, size_t i, int variant, io_error *error)
{
    io_keypoints found = {NULL, 0};
    bool good = ev_peer_detect((kb_detector)variant, &set->images[i].view, set->max_keypoints, &found, error);
    io_keypoints_free(&found);
    return good;
}

static bool cv_describe(bench_set *set, size_t i, int variant, io_error *error)
{
    (void)variant;
    io_rows rows;
    const io_keypoints *k = &set->keypoints[i];
    bool good = ev_peer_describe("cv:orb", &set->images[i].view, k->items, k->count, 1, &rows, error);
    if (good) io_rows_free(&rows);
    return good;
}

static bool cv_match(bench_set *set, size_t i, int variant, io_error *error)
{
    size_t n, width = (size_t)variant / 8;
    uint8_t *const *rows = set->rows[variant == 512];
    io_rows a = {rows[0], NULL, set->keypoints[2 * i].count, width},
            b = {rows[1], NULL, set->keypoints[2 * i + 1].count, width};
    return ev_peer_match(&a, &b, set->matches, &n, error);
}

static bool cv_fit(bench_set *set, size_t i, int variant, io_error *error)
{
    (void)i, (void)variant;
    return ev_peer_fit(set->pairs, set->pair_count, error);
}

static bool cv_road(bench_set *set, size_t i, int variant, io_error *error)
{
    (void)variant;
    io_keypoints k[2] = {{NULL, 0}, {NULL, 0}};
    io_rows rows[2] = {{NULL, NULL, 0, 0}, {NULL, NULL, 0, 0}};
    kb_match *matches = NULL;
    size_t n = 0;
    bool good = true;
    for (size_t j = 0; j < 2 && good; j++) {
        const kb_image *image = &set->images[2 * i + j].view;
        good = ev_peer_detect(KB_DETECTOR_ORB, image, set->max_keypoints, &k[j], error) &&
               ev_peer_describe("cv:orb", image, k[j].items, k[j].count, 1, &rows[j], error);
    }
    if (good) {
        matches = io_alloc(k[0].count + 1, sizeof *matches);
        good = ev_peer_match(&rows[0], &rows[1], matches, &n, error);
    }
    if (good) {
        kb_point_pair *pairs = io_alloc(n + 1, sizeof *pairs);
        size_t count = make_pairs(matches, n, k[0].items, k[1].items, pairs, n);
        good = ev_peer_fit(pairs, count, error);
        free(pairs);
    }
    free(matches);
    for (int j = 0; j < 2; j++) {
        io_keypoints_free(&k[j]);
        io_rows_free(&rows[j]);
    }
    return good;
}

#else
#    define cv_detect   NULL
#    define cv_describe NULL
#    define cv_match    NULL
#    define cv_fit      NULL
#    define cv_road     NULL
#endif

/* ---- the rows ---- */

typedef bool side(bench_set *set, size_t item, int variant, io_error *error);

static const struct row {
    const char *name;
    int variant;
    bool pairs; /* of images; else images */
    side *ours, *theirs;
    const char *peer;
} rows[] = {
    {"detect-orb", KB_DETECTOR_ORB, false, our_detect, cv_detect, "cv::ORB detect"},
    {"detect-sift", KB_DETECTOR_SIFT, false, our_detect, cv_detect, "cv::SIFT detect"},
    {"describe-bad256", BENCH_BAD256, false, our_describe, cv_describe, "cv::ORB compute"},
    {"describe-bad512", BENCH_BAD512, false, our_describe, cv_describe, "cv::ORB compute"},
    {"describe-bag256", BENCH_BAG256, false, our_describe, cv_describe, "cv::ORB compute"},
    {"describe-bag512", BENCH_BAG512, false, our_describe, cv_describe, "cv::ORB compute"},
    {"describe-hashsift256", BENCH_HASHSIFT256, false, our_describe, cv_describe, "cv::ORB compute"},
    {"describe-hashsift512", BENCH_HASHSIFT512, false, our_describe, cv_describe, "cv::ORB compute"},
    {"match-256", 256, true, our_match, cv_match, "cv::BFMatcher crossCheck"},
    {"match-512", 512, true, our_match, cv_match, "cv::BFMatcher crossCheck"},
    {"fit-homography", 0, true, our_fit, cv_fit, "cv::findHomography USAC_PROSAC"},
    {"pipeline", BENCH_BAG256, true, our_road, cv_road, "OpenCV with ORB"},
};

const char *bench_row_name(int index)
{
    return index >= 0 && (size_t)index < sizeof rows / sizeof *rows ? rows[index].name : NULL;
}

/* Times of one side: of every item the median over the repeats, and their mean. */
typedef struct times {
    double *ms; /* items x repeats */
    double *passes;
    double instructions;
} times;

bool bench_row_of_pairs(int index) { return rows[index].pairs; }

/* All that is measured happens in here; callgrind finds it by its name (bench_count.c). */
bool bench_counted(bench_set *set, side *what, size_t item, int variant, io_error *error);
__attribute__((noinline)) bool bench_counted(bench_set *set, side *what, size_t item, int variant, io_error *error)
{
    return what(set, item, variant, error);
}

static bool time_once(bench_set *set, const struct row *row, side *what, size_t item, const bench_clock *clock,
                      bench_reading *out, io_error *error)
{
    /* With threads, a call before the one that is timed: threads sleep while the other side has its turn, but not in a
     * program that goes from one step to the next. */
    if (clock->wall && !bench_counted(set, what, item, row->variant, error)) return false;
    bench_reading before = bench_clock_read(clock);
    if (!bench_counted(set, what, item, row->variant, error)) return false;
    bench_reading after = bench_clock_read(clock);
    *out = (bench_reading){after.ms - before.ms, after.instructions - before.instructions};
    return true;
}

static void summarise(times *t, size_t items, size_t repeats, double *ms, double *spread)
{
    *ms = 0;
    for (size_t r = 0; r < repeats; r++) {
        t->passes[r] = 0;
        for (size_t i = 0; i < items; i++) t->passes[r] += t->ms[i * repeats + r] / (double)items;
    }
    for (size_t i = 0; i < items; i++) *ms += bench_median(t->ms + i * repeats, repeats) / (double)items;
    *spread = bench_spread(t->passes, repeats);
}

/* The least time of every item, added up: what is least disturbed by others on the machine. */
static double least_sum(const times *t, size_t items, size_t repeats)
{
    double sum = 0;
    for (size_t i = 0; i < items; i++) {
        double least = t->ms[i * repeats];
        for (size_t r = 1; r < repeats; r++) least = fmin(least, t->ms[i * repeats + r]);
        sum += least;
    }
    return sum;
}

/* Sides take turns on every item, so that a machine that slows down slows all of them. */
static bool measure_sides(bench_set *set, const struct row *row, side *const sides[3], times t[3], size_t items,
                          size_t repeats, const bench_clock *clock, io_error *error)
{
    const kb_parallel *parallel = set->parallel;
    for (size_t i = 0; i < items; i++) {
        for (size_t r = 0; r <= repeats; r++) { /* the first one warms up */
            if (row->pairs && !prepare_pair(set, i, error)) return false;
            for (int s = 0; s < 3; s++) {
                bench_reading reading;
                if (!sides[s]) continue;
                set->parallel = s == 2 ? NULL : parallel;
                bool good = time_once(set, row, sides[s], i, clock, &reading, error);
                set->parallel = parallel;
                if (!good) return false;
                if (r == 0) continue;
                t[s].ms[i * repeats + r - 1] = reading.ms;
                t[s].instructions += reading.instructions / (double)(items * repeats);
            }
        }
    }
    return true;
}

bool bench_row_measure(bench_set *set, int index, int32_t threads, int repeats, bench_row *out, io_error *error)
{
    const struct row *row = &rows[index];
    size_t items = row->pairs ? set->count / 2 : set->count, n = (size_t)repeats;
    bool peers = have_peers() && row->theirs && !set->no_peers;
    side *const sides[3] = {row->ours, peers ? row->theirs : NULL, threads > 1 ? row->ours : NULL};
    times t[3];
    bench_clock clock;
    for (int s = 0; s < 3; s++) t[s] = (times){io_alloc(items * n + 1, sizeof(double)), io_alloc(n, sizeof(double)), 0};
    bench_clock_open(&clock, threads);
    bool good = measure_sides(set, row, sides, t, items, n, &clock, error);
    bench_clock_close(&clock);
    if (good) {
        *out = (bench_row){.name = row->name, .instructions = t[0].instructions, .speedup = NAN, .threads = threads};
        summarise(&t[0], items, n, &out->ms, &out->spread);
        if (sides[1]) {
            out->peer = row->peer;
            summarise(&t[1], items, n, &out->peer_ms, &out->peer_spread);
        }
        if (sides[2]) out->speedup = least_sum(&t[2], items, n) / least_sum(&t[0], items, n);
    }
    for (int s = 0; s < 3; s++) {
        free(t[s].ms);
        free(t[s].passes);
    }
    return good;
}
