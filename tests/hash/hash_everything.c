/* SPDX-License-Identifier: Apache-2.0 */
/* hash_everything [FEATURES [THREADS]]
 *
 * Prints 64-bit FNV-1a hashes over what the library computes on input that is rendered here: one line for each room,
 * and one of everything last. Every build on every machine must print the same lines, also when only the instruction
 * sets in FEATURES may be used ("c" for none, "all" for all), and with any number of THREADS (3);
 * scripts/same-bits.sh compares them. What they were when they were last
 * meant to change stands in expected.txt, without the built-in models, which may be learned anew; pinned.sh compares
 * that.
 *
 * To take in another function, write a section that feeds its results to the hash, and add it to the table below. */
#include <stdio.h>
#include <stdlib.h>

#include "common/common.h"
#include "keybits/index.h"
#include "../arrays.h"

typedef struct hash {
    uint64_t value;
} hash;

static void add_bytes(hash *h, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) h->value = (h->value ^ p[i]) * 0x100000001b3u;
}

/* Numbers are added with the lowest byte first, so that the byte order of the machine plays no part. */
static void add_u64(hash *h, uint64_t v)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(v >> (8 * i));
    add_bytes(h, bytes, sizeof bytes);
}

static void add_double(hash *h, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_u64(h, bits);
}

/* ------------------------------------------------------------------------------------------------------------ input */

enum { WIDTH = 301, HEIGHT = 203, STRIDE = 320, KEYPOINTS = 400, BITS = 128 };

typedef struct scene {
    uint8_t gray[HEIGHT * STRIDE];
    uint16_t deep[HEIGHT * STRIDE]; /* the same as 12 bits, with noise in the lower ones */
    kb_image image, deep_image;
    kb_keypoint keypoints[KEYPOINTS];
    uint8_t rows[KEYPOINTS * KB_SIFT_VALUES], flags[KEYPOINTS];
    float floats[KEYPOINTS * KB_SIFT_VALUES];
    kb_parallel *pool;
} scene;

/* Overlapping bright and dark squares with noise: corners, edges and flat places of many sizes. */
static void render(scene *s)
{
    uint64_t seed = 5;
    memset(s->gray, 128, sizeof s->gray);
    for (int i = 0; i < 300; i++) {
        int32_t side = 4 + (int32_t)kbi_random_below(&seed, i < 40 ? 90 : 20);
        int32_t left = (int32_t)kbi_random_below(&seed, WIDTH), top = (int32_t)kbi_random_below(&seed, HEIGHT);
        int32_t change = (int32_t)kbi_random_below(&seed, 121) - 60;
        for (int32_t y = top; y < kbi_min_i(top + side, HEIGHT); y++) {
            for (int32_t x = left; x < kbi_min_i(left + side, WIDTH); x++) {
                uint8_t *p = &s->gray[y * STRIDE + x];
                *p = (uint8_t)kbi_clamp_i(*p + change, 0, 255);
            }
        }
    }
    for (size_t i = 0; i < KBI_COUNT(s->gray); i++) {
        s->deep[i] = (uint16_t)(s->gray[i] * 16 + kbi_random_below(&seed, 16));
        s->gray[i] = (uint8_t)kbi_clamp_i(s->gray[i] + (int32_t)kbi_random_below(&seed, 9) - 4, 0, 255);
    }
    s->image = (kb_image){s->gray, WIDTH, HEIGHT, STRIDE, KB_FORMAT_GRAY8, 0};
    s->deep_image = (kb_image){s->deep, WIDTH, HEIGHT, 2 * STRIDE, KB_FORMAT_GRAY16, 4095};
}

/* Keypoints of all sizes and angles, some at the border, outside, without an angle, or not numbers. */
static void scatter(scene *s)
{
    uint64_t seed = 6;
    for (int i = 0; i < KEYPOINTS; i++) {
        kb_keypoint *k = &s->keypoints[i];
        memset(k, 0, sizeof *k);
        k->x = (float)kbi_random_below(&seed, 64 * (WIDTH + 10)) / 64.0f - 5.0f;
        k->y = (float)kbi_random_below(&seed, 64 * (HEIGHT + 10)) / 64.0f - 5.0f;
        k->size = 1.0f + (float)kbi_random_below(&seed, i % 4 ? 40 * 32 : 200 * 32) / 32.0f;
        k->angle = i % 7 ? (float)kbi_random_below(&seed, 360 * 128) / 128.0f : -1.0f;
        k->response = (float)kbi_random_below(&seed, 1000);
    }
    s->keypoints[10].size = 0;
    s->keypoints[11].x = 1e30f;
    s->keypoints[12].size = 1e30f;
}

/* --------------------------------------------------------------------------------------------------------- sections */

static void section_mathematics(hash *h, scene *s)
{
    (void)s;
    for (int i = -90; i < 8000; i++) {
        double sine, cosine;
        kbi_sincos_degrees(i * 0.0917, &sine, &cosine);
        add_double(h, sine);
        add_double(h, cosine);
    }
    for (int y = -40; y <= 40; y++)
        for (int x = -40; x <= 40; x++) add_double(h, kbi_atan2_degrees(y * 1.1, x * 0.7));
    for (int i = -7000; i <= 7000; i += 3) add_double(h, kbi_exp(i * 0.1));
    for (uint64_t i = 0; i < 64; i++)
        for (uint64_t d = 0; d < 3; d++) add_u64(h, kbi_isqrt(((uint64_t)1 << i) + d - 1));
}

static void section_random(hash *h, scene *s)
{
    (void)s;
    uint64_t state = 1;
    for (uint32_t i = 1; i < 2000; i++) {
        add_u64(h, kbi_random_next(&state));
        add_u64(h, kbi_random_below(&state, i));
    }
}

/* A failure must not look like agreement. */
static void must(kb_status status, const char *what)
{
    if (status == KB_OK) return;
    fprintf(stderr, "%s: %s\n", what, kb_status_string(status));
    exit(1);
}

static void add_floats(hash *h, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        add_u64(h, bits);
    }
}

static void add_keypoints(hash *h, const kb_keypoint *keypoints, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add_floats(h, &keypoints[i].x, 1);
        add_floats(h, &keypoints[i].y, 1);
        add_floats(h, &keypoints[i].size, 1);
        add_floats(h, &keypoints[i].angle, 1);
        add_floats(h, &keypoints[i].response, 1);
        add_u64(h, (uint32_t)keypoints[i].octave);
    }
}

/* The octaves of all keypoints, and the rows of a model from them. */
static void add_octaves(hash *h, scene *s, const kb_model *model, const kb_describe_options *options, size_t bytes)
{
    static uint8_t octaves[KEYPOINTS * KB_OCTAVES * (KB_OCTAVE_SIDE * KB_OCTAVE_SIDE)];
    must(sample_octaves(&s->image, s->keypoints, KEYPOINTS, options, NULL, octaves, s->flags), "octaves");
    add_bytes(h, octaves, sizeof octaves);
    add_bytes(h, s->flags, KEYPOINTS);
    must(describe_patches(model, octaves, KEYPOINTS, KB_OCTAVE_SIDE, options, NULL, s->rows), "describe octaves");
    add_bytes(h, s->rows, KEYPOINTS * bytes);
}

/* The file of the model, its rows from both images and from patches, and its floats if it has any. */
static void add_model(hash *h, scene *s, const kb_model *model)
{
    static uint8_t file[1 << 20];
    size_t size;
    kb_model_info info;
    kb_describe_options options;
    KB_INIT(options);
    KB_INIT(info);
    options.parallel = s->pool;
    options.scale = 1.25f;
    must(kb_model_get_info(model, &info), "info");
    must(kb_model_save(model, file, sizeof file, &size), "save");
    add_bytes(h, file, size);
    add_u64(h, info.id);

    size_t bytes = (size_t)info.row_bytes;
    const kb_image *images[] = {&s->image, &s->deep_image};
    for (int i = 0; i < 2; i++) {
        must(describe_keypoints(model, images[i], s->keypoints, KEYPOINTS, &options, NULL, s->rows, s->flags), "describe");
        add_bytes(h, s->rows, KEYPOINTS * bytes);
        add_bytes(h, s->flags, KEYPOINTS);
    }
    must(describe_patches(model, s->gray, 10, 65, &options, NULL, s->rows), "describe patches");
    add_bytes(h, s->rows, 10 * bytes);
    if (info.spec->sampler == KB_SAMPLER_OCTAVES) add_octaves(h, s, model, &options, bytes);
    if (info.row_floats == 0) return;
    must(describe_keypoints_float(model, &s->image, s->keypoints, KEYPOINTS, &options, NULL, s->floats, NULL),
         "describe float");
    add_floats(h, s->floats, KBI_COUNT(s->floats));
}

/* A box anywhere in the patch or octave that keeps inside it: channel, x, y, radius. */
static void random_box(uint64_t *seed, kb_kind kind, bool cells, uint32_t radius, uint8_t box[4])
{
    uint32_t side = kind == KB_KIND_BAG ? KB_OCTAVE_SIDE : KB_PATCH_SIDE, step = cells ? 2 : 1;
    uint32_t places = cells ? side / 2 - radius + 1 : side - 2 * radius;
    box[0] = (uint8_t)(kind == KB_KIND_BAG ? 1 + kbi_random_below(seed, KB_CHANNELS - 1) : 0);
    box[1] = (uint8_t)(radius + step * kbi_random_below(seed, places));
    box[2] = (uint8_t)(radius + step * kbi_random_below(seed, places));
    box[3] = (uint8_t)radius;
}

static uint32_t random_radius(uint64_t *seed, bool cells)
{
    return cells ? 1 + kbi_random_below(seed, KB_MAX_CELL_RADIUS) : kbi_random_below(seed, KB_MAX_RADIUS + 1);
}

/* The image sampler wants both radii equal. */
static kb_box_pair random_pair(uint64_t *seed, kb_kind kind, kb_sampler sampler)
{
    uint8_t a[4], b[4];
    bool cells = sampler == KB_SAMPLER_OCTAVES || sampler == KB_SAMPLER_CELLS;
    uint32_t radius = random_radius(seed, cells);
    random_box(seed, kind, cells, radius, a);
    if (sampler != KB_SAMPLER_IMAGE) radius = random_radius(seed, cells);
    random_box(seed, kind, cells, radius, b);
    float threshold = (float)kbi_random_below(seed, 1280) / 64.0f - 10.0f;
    if (kind == KB_KIND_BAG) threshold /= 16;
    return (kb_box_pair){a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], threshold};
}

static void section_boxes(hash *h, scene *s)
{
    static const struct {
        kb_kind kind;
        kb_sampler sampler;
    } kinds[] = {{KB_KIND_BAD, KB_SAMPLER_PATCH},
                 {KB_KIND_BAD, KB_SAMPLER_IMAGE},
                 {KB_KIND_BAG, KB_SAMPLER_OCTAVES},
                 {KB_KIND_BAD, KB_SAMPLER_CELLS}};
    for (size_t m = 0; m < KBI_COUNT(kinds); m++) {
        uint64_t seed = 7 + m;
        kb_box_pair boxes[BITS];
        for (int i = 0; i < BITS; i++) boxes[i] = random_pair(&seed, kinds[m].kind, kinds[m].sampler);
        kb_model_spec spec = {.struct_size = sizeof spec, .kind = kinds[m].kind, .sampler = kinds[m].sampler,
                              .bits = BITS, .support = 1.3f, .name = "boxes", .boxes = boxes};
        kb_model *model;
        must(kb_model_create(&spec, NULL, &model, NULL), "boxes");
        add_model(h, s, model);
        kb_model_free(model);
    }
}

static void section_hashsift(hash *h, scene *s)
{
    static int8_t weights[BITS * KB_SIFT_VALUES];
    int32_t bias[BITS];
    for (int32_t root = 0; root < 2; root++) {
        uint64_t seed = 20;
        for (size_t i = 0; i < KBI_COUNT(weights); i++) weights[i] = (int8_t)((int)kbi_random_below(&seed, 255) - 127);
        for (int i = 0; i < BITS; i++) bias[i] = (int32_t)kbi_random_below(&seed, 200001) - 100000;
        kb_model_spec spec = {.struct_size = sizeof spec, .kind = KB_KIND_HASHSIFT, .bits = BITS, .name = "hash",
                              .weights = weights, .bias = bias, .root = root};
        kb_model *model;
        must(kb_model_create(&spec, NULL, &model, NULL), "hashsift");
        add_model(h, s, model);
        kb_model_free(model);
    }
}

static void add_builtin(hash *h, scene *s, const char *name)
{
    kb_model *model;
    must(kb_model_builtin(name, NULL, &model), name);
    add_model(h, s, model);
    kb_model_free(model);
}

/* These have no tables, and are in every build. */
static void section_sift(hash *h, scene *s)
{
    add_builtin(h, s, "sift");
    add_builtin(h, s, "rootsift");
}

/* All that this build has tables for. */
static void section_builtin(hash *h, scene *s)
{
    const char *name;
    for (int32_t i = 0; (name = kb_name(KB_NAMES_MODEL, i)); i++) add_builtin(h, s, name);
}

static void section_detect(hash *h, scene *s)
{
    static const kb_selection selections[] = {KB_SELECTION_BEST, KB_SELECTION_GRID, KB_SELECTION_ANMS};
    static kb_keypoint found[KEYPOINTS];
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT; d++) {
        for (size_t i = 0; i < KBI_COUNT(selections); i++) {
            kb_detect_options options;
            KB_INIT(options);
            options.detector = (kb_detector)d;
            options.selection = selections[i];
            options.parallel = s->pool;
            size_t count;
            must(detect_keypoints(&s->image, &options, NULL, found, KEYPOINTS, &count, NULL), "detect");
            add_u64(h, count);
            add_keypoints(h, found, count);
        }
    }
    memcpy(found, s->keypoints, sizeof found);
    must(orient_keypoints(&s->image, found, KEYPOINTS, NULL, NULL, NULL), "orient");
    add_keypoints(h, found, KEYPOINTS);
}

/* What is found in both images. */
static void add_rule(hash *h, scene *s, const kb_detect_options *rule)
{
    static kb_keypoint found[KEYPOINTS];
    const kb_image *images[] = {&s->image, &s->deep_image};
    for (size_t i = 0; i < KBI_COUNT(images); i++) {
        kb_detect_options options = *rule;
        size_t count;
        options.struct_size = sizeof options;
        options.parallel = s->pool;
        must(detect_keypoints(images[i], &options, NULL, found, KEYPOINTS, &count, NULL), "detect by a rule");
        add_u64(h, count);
        add_keypoints(h, found, count);
    }
}

static void section_hessian(hash *h, scene *s)
{
    static const kb_detect_options rules[] = {
        {.detector = KB_DETECTOR_HESSIAN},
        {.detector = KB_DETECTOR_HESSIAN, .selection = KB_SELECTION_QUADTREE, .hessian_threshold = 0.01f,
         .low_memory = 1},
        {.detector = KB_DETECTOR_HESSIAN, .second_angle = 1, .whole_pixels = 1, .level_factor = 1.4f, .levels = 4},
    };
    for (size_t i = 0; i < KBI_COUNT(rules); i++) add_rule(h, s, &rules[i]);
}

/* Whatever else changes what a detector finds: each rule of orientation and selection, with the options that go with
 * it, on both images. */
static void section_rules(hash *h, scene *s)
{
    static const kb_detect_options rules[] = {
        {.detector = KB_DETECTOR_ORB, .orientation = KB_ORIENTATION_CENTROID, .whole_pixels = 1},
        {.detector = KB_DETECTOR_ORB, .orientation = KB_ORIENTATION_NONE, .selection = KB_SELECTION_QUADTREE},
        {.detector = KB_DETECTOR_ORB, .second_angle = 1, .fast_threshold = 30, .level_factor = 1.4f, .levels = 4},
        {.detector = KB_DETECTOR_ORB, .low_memory = 1, .cell_size = 50},
        {.detector = KB_DETECTOR_SIFT, .orientation = KB_ORIENTATION_CENTROID, .selection = KB_SELECTION_QUADTREE},
        {.detector = KB_DETECTOR_SIFT, .orientation = KB_ORIENTATION_NONE, .no_upsampling = 1},
        {.detector = KB_DETECTOR_SIFT, .layers = 5, .sigma = 1.2f, .contrast_threshold = 0.02f},
    };
    static kb_keypoint found[KEYPOINTS];
    static float confidence[KEYPOINTS];
    for (size_t i = 0; i < KBI_COUNT(rules); i++) add_rule(h, s, &rules[i]);
    for (int rule = KB_ORIENTATION_GRADIENT; rule <= KB_ORIENTATION_NONE; rule++) {
        kb_orient_options options;
        KB_INIT(options);
        options.orientation = (kb_orientation)rule;
        options.scale = 1.5f;
        options.parallel = s->pool;
        memcpy(found, s->keypoints, sizeof found);
        must(orient_keypoints(&s->deep_image, found, KEYPOINTS, &options, NULL, confidence), "orient by a rule");
        add_keypoints(h, found, KEYPOINTS);
        add_floats(h, confidence, KEYPOINTS);
    }
}

static void add_matches(hash *h, const kb_match *matches, size_t count)
{
    add_u64(h, count);
    for (size_t i = 0; i < count; i++) {
        add_u64(h, (uint64_t)matches[i].a);
        add_u64(h, (uint64_t)matches[i].b);
        add_floats(h, &matches[i].distance, 1);
        add_floats(h, &matches[i].second, 1);
    }
}

/* Rows of few different values, so that ties are common, and none all zero; the first half against the second. */
static void section_match(hash *h, scene *s)
{
    enum { HALF = KEYPOINTS / 2 };
    static kb_match matches[HALF];
    uint64_t seed = 30;
    for (size_t i = 0; i < KBI_COUNT(s->rows); i++) s->rows[i] = (uint8_t)(0x80 | kbi_random_next(&seed) >> 60);
    for (size_t i = 0; i < KBI_COUNT(s->floats); i++) s->floats[i] = (float)kbi_random_below(&seed, 1000) / 1024.0f;
    for (int32_t one_way = 0; one_way < 2; one_way++) {
        kb_match_options options;
        KB_INIT(options);
        options.one_way = one_way;
        options.max_ratio = one_way ? 0.98f : 0;
        options.parallel = s->pool;
        size_t count;
        for (size_t bytes = 1; bytes <= KB_SIFT_VALUES; bytes = 2 * bytes + 1) {
            must(match_rows(s->rows, HALF, s->rows + HALF * bytes, HALF, bytes, &options, NULL, matches, &count),
                 "match");
            add_matches(h, matches, count);
        }
        must(match_floats(s->floats, HALF, s->floats + HALF * KB_SIFT_VALUES, HALF, KB_SIFT_VALUES, &options, NULL,
                            matches, &count), "match floats");
        add_matches(h, matches, count);
    }
}

/* Two thirds of the pairs follow a homography but for noise, the others nothing. */
static void section_fit(hash *h, scene *s)
{
    static const double truth[9] = {0.9, 0.2, 15, -0.15, 1.1, -8, 2e-4, -1e-4, 1};
    static kb_point_pair pairs[KEYPOINTS];
    uint64_t seed = 40;
    for (int i = 0; i < KEYPOINTS; i++) {
        kb_point_pair *p = &pairs[i];
        p->x1 = kbi_random_below(&seed, WIDTH * 64) / 64.0;
        p->y1 = kbi_random_below(&seed, HEIGHT * 64) / 64.0;
        kb_homography_apply(truth, p->x1, p->y1, &p->x2, &p->y2);
        double noise = i % 3 ? 1 : 100;
        p->x2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
        p->y2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
    }
    for (int g = KB_GEOMETRY_HOMOGRAPHY; g <= KB_GEOMETRY_FUNDAMENTAL; g++) {
        for (int32_t plain = 0; plain < 2; plain++) {
            kb_fit_options options;
            kb_fit_report report;
            KB_INIT(options);
            KB_INIT(report);
            options.geometry = (kb_geometry)g;
            options.plain_ransac = plain;
            options.max_iterations = 500;
            must(kb_fit(pairs, KEYPOINTS, &options, NULL, s->flags, &report, NULL), "fit");
            for (int i = 0; i < 9; i++) add_double(h, report.model[i]);
            add_double(h, report.rms);
            add_u64(h, (uint64_t)report.inliers);
            add_u64(h, (uint64_t)report.iterations);
            add_bytes(h, s->flags, KEYPOINTS);
        }
    }
}

/* The nearest rows, and the points of the nearest. */
static void section_neighbours(hash *h, scene *s)
{
    enum { BYTES = 32, HALF = KEYPOINTS / 2, K = 5 };
    static kb_neighbour neighbours[HALF * K];
    static kb_match matches[HALF];
    static kb_point_pair pairs[HALF];
    uint64_t seed = 31;
    kb_match_options options;
    KB_INIT(options);
    options.parallel = s->pool;
    for (size_t i = 0; i < KEYPOINTS * BYTES; i++) s->rows[i] = (uint8_t)(0x80 | kbi_random_next(&seed) >> 60);
    for (int32_t k = 1; k <= K; k += 2) {
        must(match_knn(s->rows, HALF, s->rows + HALF * BYTES, HALF, BYTES, k, &options, NULL, neighbours), "knn");
        for (size_t i = 0; i < HALF * (size_t)k; i++) {
            add_u64(h, (uint32_t)neighbours[i].index);
            add_floats(h, &neighbours[i].distance, 1);
        }
    }
    for (int32_t i = 0; i < HALF; i++) matches[i] = (kb_match){i, neighbours[i * K].index, neighbours[i * K].distance, 0};
    must(match_points(s->keypoints, HALF, s->keypoints, HALF, matches, HALF, pairs, NULL), "points");
    for (size_t i = 0; i < HALF; i++) add_double(h, pairs[i].x1), add_double(h, pairs[i].y2);
}

static kb_status add_written(void *h, const void *data, size_t size)
{
    add_bytes(h, data, size);
    return KB_OK;
}

/* An index of 30 images of 100 rows, its scores, and its file. */
static void add_index(hash *h, const kb_vocabulary *vocabulary, kb_features features)
{
    kb_index *index;
    kb_index_result results[30];
    must(kb_index_create(vocabulary, NULL, NULL, &index, NULL), "index");
    uint8_t *rows = features.rows;
    features.n = 100;
    for (size_t i = 0; i < 30; i++) {
        features.rows = rows + i * 100 * features.row_bytes;
        must(kb_index_add(index, &features, i, "", NULL, NULL), "add");
    }
    for (int scoring = KB_SCORING_BINARY; scoring <= KB_SCORING_TF_IDF; scoring++) {
        kb_index_query_options options;
        size_t count;
        KB_INIT(options);
        options.scoring = (kb_scoring)scoring;
        must(kb_index_query(index, &features, &options, NULL, results, 30, &count, NULL), "query");
        add_u64(h, count);
        for (size_t i = 0; i < count; i++) {
            add_u64(h, results[i].id);
            add_double(h, results[i].score);
        }
    }
    must(kb_index_save(index, add_written, h), "save");
    kb_index_free(index);
}

/* Rows near few centres, so that words are shared and bits are tied. */
static void section_index(hash *h, scene *s)
{
    enum { BYTES = 24, N = 3000 };
    static uint8_t rows[N * BYTES];
    static uint32_t words[N], nodes[N];
    static const size_t ends[] = {1000, 1700, 1700, N};
    uint64_t seed = 50;
    for (size_t i = 0; i < sizeof rows; i++) {
        uint64_t r = kbi_random_next(&seed);
        rows[i] = (uint8_t)((i >= 60 * BYTES ? rows[i - 60 * BYTES] : r >> 32) ^ (r & r >> 8 & r >> 16));
    }
    kb_vocabulary_options options;
    KB_INIT(options);
    options.branching = 6;
    options.levels = 3;
    options.image_ends = ends;
    options.images = KBI_COUNT(ends);
    options.parallel = s->pool;
    kb_vocabulary *vocabulary;
    must(kb_vocabulary_train(rows, N, BYTES, &options, NULL, &vocabulary, NULL), "vocabulary");
    size_t size;
    const void *block = kb_vocabulary_data(vocabulary, &size);
    add_bytes(h, block, size);
    kb_features features;
    KB_INIT(features);
    features.rows = rows;
    features.n = N;
    features.row_bytes = BYTES;
    kb_words_options word_options;
    KB_INIT(word_options);
    word_options.levels_up = 1;
    word_options.parallel = options.parallel;
    must(kb_vocabulary_words(vocabulary, &features, &word_options, words, nodes, NULL), "words");
    for (size_t i = 0; i < N; i++) add_u64(h, (uint64_t)words[i] << 32 | nodes[i]);
    add_index(h, vocabulary, features);
    kb_vocabulary_free(vocabulary);
}

static void add_loop(hash *h, const kb_loop *loop)
{
    add_u64(h, (uint64_t)loop->found);
    add_u64(h, loop->reference);
    add_u64(h, (uint64_t)loop->inliers);
    add_double(h, loop->score);
    for (int i = 0; i < 9; i++) add_double(h, loop->model[i]);
}

static void add_search(hash *h, const kb_index *index, const kb_features *f, kb_geometry geometry)
{
    for (int scoring = KB_SCORING_BINARY; scoring <= KB_SCORING_EXACT; scoring++) {
        kb_index_query_options o;
        kb_index_result results[4];
        size_t count;
        KB_INIT(o);
        o.scoring = (kb_scoring)scoring;
        o.verify = 2;
        o.geometry = geometry;
        must(kb_index_query(index, f, &o, NULL, results, 4, &count, NULL), "search");
        for (size_t k = 0; k < count; k++) {
            add_u64(h, results[k].position);
            add_u64(h, (uint64_t)results[k].inliers);
            add_double(h, results[k].score);
            for (int m = 0; m < 9; m++) add_double(h, results[k].model[m]);
        }
    }
}

enum { PLACES = 20, PLACE_ROWS = 100, PLACE_BYTES = 16 };

/* Loop closing, and verified search in an index of the first time, from which some were removed. */
static void add_places(hash *h, const kb_vocabulary *vocabulary, const uint8_t *rows,
                       kb_keypoint keypoints[2][PLACE_ROWS])
{
    kb_index *index;
    kb_index_options keep = {.struct_size = sizeof keep, .keep_features = 1};
    kb_loop_detector *detector;
    kb_loop_options close = {.struct_size = sizeof close, .window = 3};
    must(kb_index_create(vocabulary, &keep, NULL, &index, NULL), "index of places");
    must(kb_loop_detector_create(vocabulary, &close, NULL, &detector, NULL), "loops");
    for (size_t i = 0; i < 2 * PLACES; i++) {
        kb_loop loop;
        KB_INIT(loop);
        kb_features f = arrays_features(keypoints[i / PLACES], rows + i % PLACES * PLACE_ROWS * PLACE_BYTES, PLACE_ROWS,
                                        PLACE_BYTES);
        must(kb_loop_detector_add(detector, &f, NULL, &loop, NULL), "loop");
        add_loop(h, &loop);
        if (i < PLACES) must(kb_index_add(index, &f, i / 2, "", NULL, NULL), "add a place");
        if (i == PLACES) must(kb_index_remove(index, 3, NULL), "remove");
        if (i >= PLACES) add_search(h, index, &f, i % 2 ? KB_GEOMETRY_SIMILARITY : KB_GEOMETRY_HOMOGRAPHY);
    }
    must(kb_index_save(index, add_written, h), "save places");
    kb_loop_detector_free(detector);
    kb_index_free(index);
}

/* Places that are seen twice, their keypoints moved the second time. */
static void section_places(hash *h, scene *s)
{
    static uint8_t rows[PLACES * PLACE_ROWS * PLACE_BYTES];
    static kb_keypoint keypoints[2][PLACE_ROWS];
    uint64_t seed = 51;
    kb_vocabulary *vocabulary;
    kb_vocabulary_options options = {.struct_size = sizeof options, .branching = 8, .levels = 2};
    options.parallel = s->pool;
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)kbi_random_next(&seed);
    for (int i = 0; i < PLACE_ROWS; i++) {
        float x = (float)kbi_random_below(&seed, WIDTH), y = (float)kbi_random_below(&seed, HEIGHT);
        keypoints[0][i] = (kb_keypoint){x, y, 31, 0, 1, 0, -1};
        keypoints[1][i] = (kb_keypoint){x + 7, y - 3, 31, 0, 1, 0, -1};
    }
    must(kb_vocabulary_train(rows, PLACES * PLACE_ROWS, PLACE_BYTES, &options, NULL, &vocabulary, NULL),
         "words of places");
    add_places(h, vocabulary, rows, keypoints);
    kb_vocabulary_free(vocabulary);
}

/* The other geometries. Rays of a turned and shifted camera by rational numbers only, two thirds right. */
static void section_geometries(hash *h, scene *s)
{
    static kb_point_pair pairs[KEYPOINTS];
    static kb_scene_point points[KEYPOINTS];
    const double r[9] = {0.96, -0.28, 0, 0.28, 0.96, 0, 0, 0, 1}, t[3] = {-1, 0.25, 0.125};
    kb_camera camera;
    uint64_t seed = 41;
    KB_INIT(camera);
    camera.fx = 500, camera.fy = 510, camera.cx = 160, camera.cy = 120, camera.k1 = -0.1, camera.p1 = 0.001;
    for (int i = 0; i < KEYPOINTS; i++) {
        double z = 4 + kbi_random_below(&seed, 512) / 64.0, x = (kbi_random_below(&seed, 641) / 1000.0 - 0.32) * z;
        double y = (kbi_random_below(&seed, 481) / 1000.0 - 0.24) * z, noise = i % 3 ? 0.5 : 80, b[3];
        for (int k = 0; k < 3; k++) b[k] = r[3 * k] * x + r[3 * k + 1] * y + r[3 * k + 2] * z + t[k];
        kb_camera_project(&camera, x / z, y / z, &pairs[i].x1, &pairs[i].y1);
        kb_camera_project(&camera, b[0] / b[2], b[1] / b[2], &pairs[i].x2, &pairs[i].y2);
        pairs[i].x2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
        pairs[i].y2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
        points[i] = (kb_scene_point){x, y, z, pairs[i].x2, pairs[i].y2};
    }
    for (int g = KB_GEOMETRY_SIMILARITY; g <= KB_GEOMETRY_ROTATION + 1; g++) { /* the last is the absolute pose */
        kb_fit_options options;
        kb_fit_report report;
        KB_INIT(options);
        KB_INIT(report);
        options.geometry = g > KB_GEOMETRY_ROTATION ? KB_GEOMETRY_HOMOGRAPHY : (kb_geometry)g;
        options.camera1 = &camera;
        options.threshold = g < KB_GEOMETRY_ESSENTIAL || g == KB_GEOMETRY_ROTATION ? 12 : 2;
        options.max_iterations = 500;
        options.candidates = 2 * KEYPOINTS;
        if (g > KB_GEOMETRY_ROTATION)
            must(kb_fit_pose(points, KEYPOINTS, &options, NULL, s->flags, &report, NULL), "fit a pose");
        else must(kb_fit(pairs, KEYPOINTS, &options, NULL, s->flags, &report, NULL), "fit");
        for (int i = 0; i < 9; i++) add_double(h, report.model[i]), add_double(h, report.rotation[i]);
        for (int i = 0; i < 3; i++) add_double(h, report.translation[i]);
        add_u64(h, (uint64_t)report.result);
        add_u64(h, (uint64_t)report.inliers);
        add_u64(h, (uint64_t)report.places);
        add_bytes(h, s->flags, KEYPOINTS);
    }
    camera.p1 = 0, camera.k4 = 0.01, camera.fisheye = 1;
    for (int i = 0; i < KEYPOINTS; i++) {
        double x, y;
        must(kb_camera_unproject(&camera, pairs[i].x1, pairs[i].y1, &x, &y), "unproject");
        add_double(h, x), add_double(h, y);
        must(kb_camera_project(&camera, x, y, &x, &y), "project");
        add_double(h, x), add_double(h, y);
    }
}

/* Keypoints of two images, one turned by the angle of a 3-4-5 triangle, every third match wrong. */
static void section_filter(hash *h, scene *s)
{
    static kb_keypoint a[KEYPOINTS], b[KEYPOINTS];
    static kb_match matches[KEYPOINTS];
    size_t count;
    uint64_t seed = 60;
    (void)s;
    for (int i = 0; i < KEYPOINTS; i++) {
        float x = (float)kbi_random_below(&seed, WIDTH), y = (float)kbi_random_below(&seed, HEIGHT);
        float noise = (float)kbi_random_below(&seed, 30), wrong = i % 3 ? 0 : 90;
        a[i] = (kb_keypoint){x, y, 31, 10, 1, 0, -1};
        b[i] = (kb_keypoint){0.8f * x - 0.6f * y + wrong, 0.6f * x + 0.8f * y, 30, 31.87f + noise, 1, 0, -1};
        matches[i] = (kb_match){i, i, 1, 2};
    }
    must(filter_matches(a, KEYPOINTS, b, KEYPOINTS, matches, KEYPOINTS, NULL, NULL, matches, &count), "filter");
    add_matches(h, matches, count);
}

/* Rows near each other in places near each other, so that candidates compete and tie. */
static void section_guided(hash *h, scene *s)
{
    enum { BYTES = 32, N = 400 };
    static uint8_t rows[2][N * BYTES];
    static kb_keypoint left[N], right[N];
    static kb_guide guides[N];
    static kb_match matches[N];
    static kb_stereo_match stereo[N];
    size_t count;
    uint64_t seed = 61;
    for (int i = 0; i < N; i++) {
        float x = (float)kbi_random_below(&seed, WIDTH), y = (float)kbi_random_below(&seed, HEIGHT);
        left[i] = (kb_keypoint){x, y, 31, (float)kbi_random_below(&seed, 340), 1, i % 4, -1};
        right[i] = left[i];
        right[i].x -= 5;
        guides[i] = (kb_guide){x - 3, y + 2, 20, left[i].angle, 0, i % 4 + 1, 0, 0, {0, 0}};
        for (int k = 0; k < BYTES; k++) {
            uint64_t r = kbi_random_next(&seed);
            rows[0][i * BYTES + k] = (uint8_t)r & 0x11;
            rows[1][i * BYTES + k] = (uint8_t)(rows[0][i * BYTES + k] ^ (r >> 8 & r >> 16 & 0x33));
        }
    }
    kb_guided_options guided;
    KB_INIT(guided);
    guided.max_ratio = 0.95f;
    guided.parallel = s->pool;
    must(match_guided(rows[0], guides, N, rows[1], right, N, BYTES, &guided, NULL, matches, &count), "guided");
    add_matches(h, matches, count);
    for (int i = 0; i < N; i++) {
        guides[i].line_x = 1 + (float)(i % 7);
        guides[i].line_y = (float)(i % 3);
        guides[i].radius = 3;
    }
    must(match_guided(rows[0], guides, N, rows[1], right, N, BYTES, &guided, NULL, matches, &count), "lines");
    add_matches(h, matches, count);
    kb_stereo_options along;
    KB_INIT(along);
    along.max_disparity = 20;
    must(match_stereo(rows[0], left, N, rows[1], right, N, BYTES, &along, NULL, stereo, &count), "stereo");
    for (size_t i = 0; i < count; i++) add_u64(h, (uint64_t)(uint32_t)stereo[i].a << 32 | (uint32_t)stereo[i].b);
}

/* The image and the same moved by two pixels and made darker; keypoints that are off in place, size and angle. */
static void section_refine(hash *h, scene *s)
{
    static uint8_t moved[HEIGHT * STRIDE];
    static kb_keypoint b[KEYPOINTS];
    static kb_match matches[KEYPOINTS];
    static kb_point_pair pairs[KEYPOINTS];
    static float correlations[KEYPOINTS];
    uint64_t seed = 71;
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++)
            moved[y * STRIDE + x] = (uint8_t)(s->gray[y * STRIDE + kbi_min_i(x + 2, WIDTH - 1)] / 2 + 20);
    for (int32_t i = 0; i < KEYPOINTS; i++) {
        b[i] = s->keypoints[i];
        b[i].x += (float)kbi_random_below(&seed, 9) / 4 - 3;
        b[i].y += (float)kbi_random_below(&seed, 9) / 4 - 1;
        b[i].angle += (float)kbi_random_below(&seed, 20);
        matches[i] = (kb_match){i, i, 0, 0};
    }
    const kb_image image = {moved, WIDTH, HEIGHT, STRIDE, KB_FORMAT_GRAY8, 0};
    kb_refine_options o;
    KB_INIT(o);
    o.parallel = s->pool;
    must(match_refine(&s->image, &image, s->keypoints, KEYPOINTS, b, KEYPOINTS, matches, KEYPOINTS, &o, NULL, pairs,
                         correlations), "refine");
    for (int32_t i = 0; i < KEYPOINTS; i++) {
        add_double(h, (double)correlations[i]);
        if (!(correlations[i] > 0)) continue;
        add_double(h, pairs[i].x2);
        add_double(h, pairs[i].y2);
    }
}

/* The image and the same moved by a fraction of a pixel, with other contrast. */
static void section_track(hash *h, scene *s)
{
    static uint8_t moved[HEIGHT * STRIDE];
    static kb_keypoint moved_to[KEYPOINTS];
    static float correlations[KEYPOINTS];
    kb_track_options o;
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++) {
            const uint8_t *row = s->gray + y * STRIDE;
            moved[y * STRIDE + x] = (uint8_t)((row[x] + 2 * row[kbi_min_i(x + 1, WIDTH - 1)]) / 4 + 30);
        }
    const kb_image image = {moved, WIDTH, HEIGHT, STRIDE, KB_FORMAT_GRAY8, 0};
    KB_INIT(o);
    o.parallel = s->pool;
    kb_features from = arrays_features(s->keypoints, NULL, KEYPOINTS, 0);
    kb_features to = arrays_features(moved_to, NULL, KEYPOINTS, 0);
    to.capacity = KEYPOINTS;
    must(kb_track_points(&s->image, &image, &from, &o, NULL, &to, correlations, NULL), "track");
    for (int32_t i = 0; i < KEYPOINTS; i++) {
        add_double(h, (double)correlations[i]);
        add_double(h, (double)moved_to[i].x);
        add_double(h, (double)moved_to[i].y);
    }
}

/* The image and the same turned by a quarter: all looks. */
static void section_pair(hash *h, scene *s)
{
    static uint8_t turned[WIDTH * HEIGHT];
    static kb_keypoint a[KEYPOINTS], b[KEYPOINTS];
    static kb_match matches[KEYPOINTS];
    static uint8_t inliers[KEYPOINTS];
    kb_model *model;
    kb_pair_options o;
    kb_fit_options fit;
    kb_fit_report report;
    kb_pair pair;
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++) turned[x * HEIGHT + HEIGHT - 1 - y] = s->gray[y * STRIDE + x];
    const kb_image image = {turned, HEIGHT, WIDTH, HEIGHT, KB_FORMAT_GRAY8, 0};
    KB_INIT(o);
    KB_INIT(fit);
    KB_INIT(report);
    KB_INIT(pair);
    o.fit = &fit;
    o.parallel = s->pool;
    kb_features fa = arrays_features(a, NULL, 0, 0), fb = arrays_features(b, NULL, 0, 0);
    fa.capacity = fb.capacity = KEYPOINTS;
    pair.a = &fa;
    pair.b = &fb;
    pair.matches = matches;
    pair.inliers = inliers;
    pair.fit = &report;
    for (int k = 0; k < 3; k++) { /* floats; binary rows, with a warped look; and along lines */
        const char *name = k == 0 ? "rootsift" : "bag256";
        if (k == 2) o.looks = KB_LOOK_ORIENTED | KB_LOOK_GUIDED, fit.geometry = KB_GEOMETRY_FUNDAMENTAL;
        must(kb_model_builtin(name, NULL, &model), name);
        must(kb_match_images(model, &s->image, &image, &o, NULL, &pair, NULL), "two images");
        add_matches(h, matches, pair.count);
        add_bytes(h, inliers, pair.count);
        for (int i = 0; i < 9; i++) add_double(h, report.model[i]);
        add_floats(h, &pair.rotation, 1);
        add_u64(h, (uint64_t)pair.look);
        add_u64(h, (uint64_t)pair.looks);
        kb_model_free(model);
    }
}

/* In two halves, since not every C library has a word for 64 bits. */
static void print_hash(const hash *h, const char *name)
{
    printf("%08lx%08lx %s\n", (unsigned long)(h->value >> 32), (unsigned long)(h->value & 0xffffffffu), name);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(hash *, scene *);
    } sections[] = {
        {"mathematics", section_mathematics},
        {"random", section_random},
        {"boxes", section_boxes},
        {"hashsift", section_hashsift},
        {"sift", section_sift},
        {"detecting", section_detect},
        {"rules", section_rules},
        {"hessian", section_hessian},
        {"matching", section_match},
        {"neighbours", section_neighbours},
        {"filter", section_filter},
        {"guided", section_guided},
        {"refine", section_refine},
        {"track", section_track},
        {"fitting", section_fit},
        {"geometries", section_geometries},
        {"pair", section_pair},
        {"index", section_index},
        {"places", section_places},
        {"built-in models", section_builtin},
    };
    static const hash start = {0xcbf29ce484222325u};
    static scene s;
    must(kb_cpu_limit(argc > 1 && strcmp(argv[1], "all") != 0 ? argv[1] : NULL), "features");
    render(&s);
    scatter(&s);
    must(kb_pool_create(argc > 2 ? atoi(argv[2]) : 3, NULL, &s.pool), "pool");
    hash everything = start;
    for (size_t i = 0; i < KBI_COUNT(sections); i++) {
        hash h = start;
        sections[i].run(&h, &s);
        print_hash(&h, sections[i].name);
        add_u64(&everything, h.value);
    }
    print_hash(&everything, "everything");
    kb_pool_free(s.pool);
    return 0;
}
