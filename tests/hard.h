/* SPDX-License-Identifier: Apache-2.0 */
/* Images where thousands of corners are equal, or lie exactly between two pixels, levels or cells, rendered from a
 * number; what is asked of them, drawn from the same number; and one run of it all: detecting, describing, matching,
 * fitting and following points. Shared by tests/unit/test_hard_images.c and tests/fuzz/fuzz_same.c. */
#ifndef TESTS_HARD_H
#define TESTS_HARD_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/common.h"
#include "keybits/advanced.h"

/* ---- images ---- */

typedef enum pattern { BOARD, SINES, SATURATED, DOTS, TWO_VALUES, LINES, BANDS, PATTERNS } pattern;

typedef struct hard {
    pattern pattern;
    int32_t width, height, deep; /* deep: 16 bits */
    double period[2], phase[2];
    uint8_t low, high;
    uint64_t seed;
} hard;

static inline double hard_fraction(uint64_t *seed) { return (double)(kbi_random_next(seed) >> 40) / 16777216; }

static inline double hard_wave(double phase)
{
    double sine, cosine;
    kbi_sincos_degrees(360 * (phase - floor(phase)), &sine, &cosine);
    return sine;
}

/* Every sixth is tiny, down to one pixel; of the others some are strips, thousands of pixels wide or high. */
static inline void hard_size(hard *h)
{
    bool tiny = kbi_random_below(&h->seed, 6) == 0, strip = kbi_random_below(&h->seed, 25) == 0;
    h->width = tiny ? 1 + (int32_t)kbi_random_below(&h->seed, 44) : 15 + (int32_t)kbi_random_below(&h->seed, 200);
    h->height = tiny ? 1 + (int32_t)kbi_random_below(&h->seed, 44) : 15 + (int32_t)kbi_random_below(&h->seed, 200);
    if (!strip) return;
    *(h->width > h->height ? &h->width : &h->height) = 1000 + (int32_t)kbi_random_below(&h->seed, 4000);
    *(h->width > h->height ? &h->height : &h->width) = 15 + (int32_t)kbi_random_below(&h->seed, 30);
}

static inline hard hard_number(uint64_t number)
{
    hard h = {.pattern = (pattern)(number % PATTERNS), .seed = 77 + number};
    hard_size(&h);
    bool whole = kbi_random_below(&h.seed, 2);
    h.deep = kbi_random_below(&h.seed, 5) == 0;
    for (int i = 0; i < 2; i++) {
        h.period[i] = whole ? 2 + kbi_random_below(&h.seed, 20) : 2 + 20 * hard_fraction(&h.seed);
        h.phase[i] = whole ? 0 : hard_fraction(&h.seed);
    }
    h.low = (uint8_t)kbi_random_below(&h.seed, 120);
    h.high = (uint8_t)(h.low + 5 + kbi_random_below(&h.seed, 130));
    return h;
}

/* 0 to 1. */
static inline double hard_value(hard *h, int32_t x, int32_t y)
{
    double u = x / h->period[0] + h->phase[0], v = y / h->period[1] + h->phase[1];
    bool dot = u - floor(u) < 1 / h->period[0] && v - floor(v) < 1 / h->period[1];
    switch (h->pattern) {
    case BOARD: return ((int32_t)floor(u) + (int32_t)floor(v)) % 2;
    case SINES: return 0.5 + 0.25 * hard_wave(u) + 0.25 * hard_wave(v);
    case SATURATED: return fmin(1, fmax(0, 0.5 + 2 * hard_wave(u) * hard_wave(v)));
    case DOTS: return dot;
    case TWO_VALUES: return kbi_random_below(&h->seed, 2);
    case LINES: return u - floor(u) < 0.5 || v - floor(v) < 0.2;
    case BANDS: return dot ? (y % 128 >= 62 && y % 128 < 78 ? 1 : 0.2) : 0; /* a sample of rows expects more */
    case PATTERNS: break;
    }
    return 0;
}

/* The pixels are the caller's to free. */
static inline kb_image hard_render(hard h)
{
    size_t bytes = h.deep ? 2 : 1;
    uint8_t *pixels = malloc((size_t)h.width * (size_t)h.height * bytes);
    if (!pixels) abort();
    for (int32_t i = 0; i < h.width * h.height; i++) {
        double value = h.low + (h.high - h.low) * hard_value(&h, i % h.width, i / h.width);
        uint16_t whole = (uint16_t)(value + 0.5);
        if (h.deep)
            memcpy(pixels + 2 * (size_t)i, &(uint16_t){(uint16_t)(257 * whole)}, 2);
        else
            pixels[i] = (uint8_t)whole;
    }
    return (kb_image){
        pixels, h.width, h.height, h.width * (ptrdiff_t)bytes, h.deep ? KB_FORMAT_GRAY16 : KB_FORMAT_GRAY8, 0};
}

/* ---- what is asked ---- */

enum { HARD_MOST = 600 };

typedef struct hard_task {
    kb_detect_options detect;
    const char *model;
    kb_geometry geometry;
    float max_ratio;
    int32_t whole_pair; /* 1: kb_match_images too */
} hard_task;

static inline kb_detect_options hard_detect_options(uint64_t *seed, int32_t many)
{
    const int32_t most[] = {1, 6, 60, 300, many};
    kb_detect_options o;
    KB_INIT(o);
    o.detector = (kb_detector)(KB_DETECTOR_ORB + kbi_random_below(seed, 3));
    o.selection = (kb_selection)kbi_random_below(seed, KB_SELECTION_QUADTREE + 1);
    o.max_keypoints = most[kbi_random_below(seed, KBI_COUNT(most))];
    o.every_level = kbi_random_below(seed, 3) == 0;
    o.second_angle = kbi_random_below(seed, 4) == 0;
    o.whole_pixels = kbi_random_below(seed, 4) == 0;
    o.level_factor = kbi_random_below(seed, 3) ? 0 : 1.05f + 0.95f * (float)hard_fraction(seed);
    o.cell_size = kbi_random_below(seed, 2) ? 0 : 8 + (int32_t)kbi_random_below(seed, 60);
    o.fast_threshold = kbi_random_below(seed, 2) ? 0 : 1 + (int32_t)kbi_random_below(seed, 30);
    o.orientation = (kb_orientation)kbi_random_below(seed, KB_ORIENTATION_NONE + 1);
    o.no_upsampling = kbi_random_below(seed, 2) == 0;
    /* options of another detector are refused */
    bool sift = o.detector == KB_DETECTOR_SIFT;
    if (sift) o.every_level = o.second_angle = o.whole_pixels = 0, o.level_factor = 0;
    if (sift) o.orientation = KB_ORIENTATION_DEFAULT;
    if (!sift) o.no_upsampling = 0;
    if (o.detector != KB_DETECTOR_ORB) o.cell_size = o.fast_threshold = 0;
    return o;
}

static inline hard_task hard_task_draw(uint64_t *seed)
{
    static const char *const models[] = {"bad256", "bad512", "bag128", "bag256", "hashsift256", "sift", "rootsift"};
    static const kb_geometry geometries[] = {KB_GEOMETRY_HOMOGRAPHY, KB_GEOMETRY_FUNDAMENTAL, KB_GEOMETRY_SIMILARITY,
                                             KB_GEOMETRY_AFFINE,     KB_GEOMETRY_ESSENTIAL,   KB_GEOMETRY_ROTATION};
    hard_task t = {.detect = hard_detect_options(seed, HARD_MOST)};
    t.model = models[kbi_random_below(seed, KBI_COUNT(models))];
    t.geometry = geometries[kbi_random_below(seed, KBI_COUNT(geometries))];
    t.max_ratio = kbi_random_below(seed, 2) ? 0 : 0.9f;
    t.whole_pair = kbi_random_below(seed, 8) == 0;
    return t;
}

/* ---- ways ---- */

enum { HARD_THREADS = 8 };

typedef struct hard_way {
    int32_t threads, low_memory;
    const char *cpu; /* kb_cpu_features; NULL: all */
} hard_way;

/* Way `index` of image `number`: every tier with and without low_memory, while the threads, 1 to 8, go round from image
 * to image. False past the last. Sanitizers see the widest tier and plain C: check_kernels shows them the kernels of the
 * tiers between, and the code around the kernels is the same. */
static inline bool hard_way_at(uint64_t number, int index, hard_way *way)
{
#ifdef KEYBITS_SANITIZED
    static const char *const tiers[] = {NULL, "c"};
#else
    static const char *const tiers[] = {NULL, "avx2", "sse4.2", "c"}; /* neon is all that ARM has beside c */
#endif
    if (index >= 2 * (int)KBI_COUNT(tiers)) return false;
    *way = (hard_way){1 + (int32_t)((number * 3 + (uint64_t)index) % HARD_THREADS), index & 1, tiers[index / 2]};
    return true;
}

typedef struct hard_pools {
    kb_parallel *of[HARD_THREADS + 1];
} hard_pools;

static inline void hard_pools_create(hard_pools *pools)
{
    for (int32_t i = 2; i <= HARD_THREADS; i++)
        if (kb_pool_create(i, NULL, &pools->of[i]) != KB_OK) abort();
}

static inline void hard_pools_free(hard_pools *pools)
{
    for (int32_t i = 2; i <= HARD_THREADS; i++) kb_pool_free(pools->of[i]);
}

/* ---- a run ---- */

/* What came of it, and the step that did not give KB_OK, if any. Zeroed first, so that runs compare byte by byte. */
typedef struct hard_outcome {
    size_t n[2], matches, pair_matches;
    kb_keypoint keypoints[2][HARD_MOST], pair_keypoints[2][HARD_MOST];
    uint8_t flags[2][HARD_MOST], inliers[HARD_MOST], pair_inliers[HARD_MOST];
    uint8_t rows[2][HARD_MOST * KB_SIFT_VALUES];
    kb_match match[HARD_MOST], pair_match[HARD_MOST];
    kb_fit_report fit, pair_fit;
    kb_keypoint moved[HARD_MOST];
    float correlations[HARD_MOST];
    const char *failed;
} hard_outcome;

static inline kb_features hard_features(hard_outcome *o, int which)
{
    kb_features f;
    KB_INIT(f);
    f.keypoints = o->keypoints[which];
    f.capacity = HARD_MOST;
    f.flags = o->flags[which];
    f.rows = o->rows[which];
    f.rows_size = sizeof o->rows[which];
    return f;
}

static inline void hard_fit(hard_outcome *o, const hard_task *t, const kb_features f[2])
{
    kb_point_pair pairs[HARD_MOST];
    float quality[HARD_MOST];
    kb_camera camera;
    kb_fit_options options;
    KB_INIT(camera);
    KB_INIT(options);
    KB_INIT(o->fit);
    camera.fx = camera.fy = 200;
    camera.cx = camera.cy = 100;
    options.geometry = t->geometry;
    options.camera1 = &camera;
    options.max_iterations = 200;
    if (kb_match_points(&f[0], &f[1], o->match, o->matches, pairs, quality, NULL) != KB_OK)
        o->failed = "kb_match_points";
    options.quality = quality;
    if (kb_fit(pairs, o->matches, &options, NULL, o->inliers, &o->fit, NULL) != KB_OK) o->failed = "kb_fit";
}

static inline void hard_follow(hard_outcome *o, const kb_image images[2], const kb_parallel *parallel)
{
    kb_features from = hard_features(o, 0), to = from;
    kb_track_options options;
    KB_INIT(options);
    options.parallel = parallel;
    from.n = o->n[0];
    to.keypoints = o->moved;
    if (kb_track_points(&images[0], &images[1], &from, &options, NULL, &to, o->correlations, NULL) != KB_OK)
        o->failed = "kb_track_points";
}

static inline void hard_pair(hard_outcome *o, const hard_task *t, const kb_model *model, const kb_image images[2],
                             const kb_detect_options *detect, const kb_parallel *parallel)
{
    kb_pair pair;
    kb_pair_options options;
    kb_fit_options fit;
    KB_INIT(pair);
    KB_INIT(options);
    KB_INIT(fit);
    KB_INIT(o->pair_fit);
    fit.geometry = t->geometry <= KB_GEOMETRY_AFFINE ? t->geometry : KB_GEOMETRY_FUNDAMENTAL;
    options.fit = &fit;
    options.detect = detect;
    options.parallel = parallel;
    kb_features sides[2] = {hard_features(o, 0), hard_features(o, 1)};
    for (int i = 0; i < 2; i++) sides[i].keypoints = o->pair_keypoints[i];
    pair.a = &sides[0];
    pair.b = &sides[1];
    pair.matches = o->pair_match;
    pair.inliers = o->pair_inliers;
    pair.fit = &o->pair_fit;
    if (kb_match_images(model, &images[0], &images[1], &options, NULL, &pair, NULL) != KB_OK)
        o->failed = "kb_match_images";
    o->pair_matches = pair.count;
    /* behind what is promised, buffers may have anything */
    for (int i = 0; i < 2; i++)
        memset(o->pair_keypoints[i] + sides[i].n, 0, (HARD_MOST - sides[i].n) * sizeof(kb_keypoint));
    memset(o->pair_match + pair.count, 0, (HARD_MOST - pair.count) * sizeof(kb_match));
    memset(o->pair_inliers + pair.count, 0, HARD_MOST - pair.count);
}

/* The image against a part of itself, a view whose rows begin at odd addresses. */
static inline void hard_run(const kb_image *image, const hard_task *t, const kb_parallel *parallel, int32_t low_memory,
                            hard_outcome *o)
{
    kb_image images[2] = {*image, *image};
    kb_features f[2];
    kb_model *model = NULL;
    kb_detect_options detect = t->detect;
    kb_describe_options describe;
    kb_match_options match;
    memset(o, 0, sizeof *o);
    KB_INIT(describe);
    KB_INIT(match);
    describe.parallel = match.parallel = detect.parallel = parallel;
    detect.low_memory = low_memory;
    match.max_ratio = t->max_ratio;
    if (image->width > 8 && image->height > 8) {
        int pixel = image->format == KB_FORMAT_GRAY16 ? 2 : 1;
        images[1].data = (const uint8_t *)image->data + 3 * image->stride + 5 * pixel;
        images[1].width -= 6;
        images[1].height -= 4;
    }
    if (kb_model_builtin(t->model, NULL, &model) != KB_OK) o->failed = "kb_model_builtin";
    for (int i = 0; i < 2 && !o->failed; i++) {
        f[i] = hard_features(o, i);
        if (kb_detect(&images[i], &detect, NULL, &f[i], NULL) != KB_OK)
            o->failed = "kb_detect";
        else if (kb_describe(model, &images[i], &describe, NULL, &f[i], NULL) != KB_OK)
            o->failed = "kb_describe";
        o->n[i] = f[i].n;
    }
    if (!o->failed && kb_match_features(&f[0], &f[1], &match, NULL, o->match, &o->matches, NULL) != KB_OK)
        o->failed = "kb_match_features";
    if (!o->failed) {
        memset(o->match + o->matches, 0, (HARD_MOST - o->matches) * sizeof *o->match);
        hard_fit(o, t, f);
        hard_follow(o, images, parallel);
        detect.second_angle = 0;
        if (t->whole_pair) hard_pair(o, t, model, images, &detect, parallel);
    }
    kb_model_free(model);
}

/* The first thing in which two runs differ; NULL: none. */
static inline const char *hard_difference(const hard_outcome *a, const hard_outcome *b)
{
#define HARD_DIFFERS(field)                                                                                            \
    if (memcmp(&a->field, &b->field, sizeof a->field) != 0) return #field
    if (a->failed || b->failed) return a->failed ? a->failed : b->failed;
    HARD_DIFFERS(n);
    HARD_DIFFERS(keypoints);
    HARD_DIFFERS(flags);
    HARD_DIFFERS(rows);
    HARD_DIFFERS(matches);
    HARD_DIFFERS(match);
    HARD_DIFFERS(fit);
    HARD_DIFFERS(inliers);
    HARD_DIFFERS(moved);
    HARD_DIFFERS(correlations);
    HARD_DIFFERS(pair_keypoints);
    HARD_DIFFERS(pair_match);
    HARD_DIFFERS(pair_inliers);
    HARD_DIFFERS(pair_fit);
#undef HARD_DIFFERS
    return NULL;
}

/* Runs the task in every way. False, with a sentence, when one gives something else than one thread alone does. */
static inline bool hard_check(const kb_image *image, const hard_task *t, uint64_t number, const hard_pools *pools,
                              size_t *keypoints, char sentence[512])
{
    hard_outcome *runs = malloc(2 * sizeof *runs);
    const char *different = NULL;
    hard_way way;
    if (!runs) abort();
    hard_run(image, t, NULL, 0, &runs[0]);
    *keypoints = runs[0].n[0];
    for (int i = 0; !different && hard_way_at(number, i, &way); i++) {
        const char *usual = getenv("KEYBITS_CPU");
        if (way.cpu) (void)kb_cpu_features(way.cpu); /* unknown on another processor */
        hard_run(image, t, pools->of[way.threads], way.low_memory, &runs[1]);
        (void)kb_cpu_features(usual ? usual : "all");
        different = hard_difference(&runs[0], &runs[1]);
        if (different)
            snprintf(sentence, 512,
                     "%dx%d, %s %s, %d keypoints, every_level %d, %s: %d threads, low_memory %d, cpu %s: %s",
                     image->width, image->height, kb_name(KB_NAMES_DETECTOR, t->detect.detector),
                     kb_name(KB_NAMES_SELECTION, t->detect.selection), t->detect.max_keypoints, t->detect.every_level, t->model,
                     way.threads, way.low_memory, way.cpu ? way.cpu : "all", different);
    }
    free(runs);
    return !different;
}

#endif
