/* SPDX-License-Identifier: Apache-2.0 */
/* hash_everything [FEATURES [THREADS]]
 *
 * Prints 64-bit FNV-1a hashes over what the library computes on input that is rendered here: one line for each room,
 * and one of everything last. Every build on every machine must print the same lines, also when only the instruction
 * sets in FEATURES may be used ("c" for none, "all" for all), and with any number of THREADS (3);
 * scripts/same-bits.sh compares them. What they were when they were last meant to change stands in expected.txt, without
 * the built-in models, which may be learned anew; pinned.sh compares that.
 *
 * hash.h tells how another function is taken in. */
#include "hash.h"

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
    static const kb_selection selections[] = {KB_SELECTION_BEST, KB_SELECTION_GRID, KB_SELECTION_QUADTREE};
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
    must(kb_cpu_features(argc > 1 ? argv[1] : "all") ? KB_OK : KB_E_UNKNOWN, "features");
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
