/* SPDX-License-Identifier: Apache-2.0 */
/* The same keypoints, byte for byte, for any number of threads, low_memory and any instruction set: for images where
 * thousands of corners are equal, or lie exactly between two pixels, levels or cells. They are rendered from their
 * numbers, and what is asked of them is drawn from these too. The first argument says how many are tried. */
#include <stdio.h>
#include <string.h>

#include "detected.h"
#include "io/image_io.h"

/* ---- images ---- */

static double wave(double phase)
{
    double sine, cosine;
    kbi_sincos_degrees(360 * (phase - floor(phase)), &sine, &cosine);
    return sine;
}

typedef enum pattern { BOARD, SINES, SATURATED, DOTS, TWO_VALUES, LINES, BANDS, PATTERNS } pattern;

typedef struct hard {
    pattern pattern;
    int32_t width, height, deep; /* deep: 16 bits */
    double period[2], phase[2];
    uint8_t low, high;
    uint64_t seed;
} hard;

static double fraction(uint64_t *seed) { return (double)(kbi_random_next(seed) >> 40) / 16777216; }

static hard hard_number(uint64_t number)
{
    hard h = {.pattern = (pattern)(number % PATTERNS), .seed = 77 + number};
    bool tiny = kbi_random_below(&h.seed, 6) == 0, whole = kbi_random_below(&h.seed, 2);
    h.width = 15 + (int32_t)kbi_random_below(&h.seed, tiny ? 30 : 200);
    h.height = 15 + (int32_t)kbi_random_below(&h.seed, tiny ? 30 : 200);
    h.deep = kbi_random_below(&h.seed, 5) == 0;
    for (int i = 0; i < 2; i++) {
        h.period[i] = whole ? 2 + kbi_random_below(&h.seed, 20) : 2 + 20 * fraction(&h.seed);
        h.phase[i] = whole ? 0 : fraction(&h.seed);
    }
    h.low = (uint8_t)kbi_random_below(&h.seed, 120);
    h.high = (uint8_t)(h.low + 5 + kbi_random_below(&h.seed, 130));
    return h;
}

/* 0 to 1. */
static double value_at(hard *h, int32_t x, int32_t y)
{
    double u = x / h->period[0] + h->phase[0], v = y / h->period[1] + h->phase[1];
    bool dot = u - floor(u) < 1 / h->period[0] && v - floor(v) < 1 / h->period[1];
    switch (h->pattern) {
    case BOARD: return ((int32_t)floor(u) + (int32_t)floor(v)) % 2;
    case SINES: return 0.5 + 0.25 * wave(u) + 0.25 * wave(v);
    case SATURATED: return fmin(1, fmax(0, 0.5 + 2 * wave(u) * wave(v)));
    case DOTS: return dot;
    case TWO_VALUES: return kbi_random_below(&h->seed, 2);
    case LINES: return u - floor(u) < 0.5 || v - floor(v) < 0.2;
    case BANDS: return dot ? (y % 128 >= 62 && y % 128 < 78 ? 1 : 0.2) : 0; /* a sample of rows expects more */
    case PATTERNS: break;
    }
    return 0;
}

static kb_image render_hard(hard h)
{
    size_t bytes = h.deep ? 2 : 1;
    uint8_t *pixels = malloc((size_t)h.width * (size_t)h.height * bytes);
    assert_non_null(pixels);
    for (int32_t i = 0; i < h.width * h.height; i++) {
        double value = h.low + (h.high - h.low) * value_at(&h, i % h.width, i / h.width);
        uint16_t whole = (uint16_t)(value + 0.5);
        if (h.deep) memcpy(pixels + 2 * (size_t)i, &(uint16_t){(uint16_t)(257 * whole)}, 2);
        else pixels[i] = (uint8_t)whole;
    }
    return (kb_image){
        pixels, h.width, h.height, h.width * (ptrdiff_t)bytes, h.deep ? KB_FORMAT_GRAY16 : KB_FORMAT_GRAY8, 0};
}

/* ---- options ---- */

static kb_detect_options draw_options(uint64_t *seed)
{
    static const int32_t most[] = {1, 6, 60, 300, MANY};
    kb_detect_options o = options_for((kb_detector)(KB_DETECTOR_ORB + kbi_random_below(seed, 3)));
    o.selection = (kb_selection)kbi_random_below(seed, KB_SELECTION_QUADTREE + 1);
    o.max_keypoints = most[kbi_random_below(seed, KBI_COUNT(most))];
    o.every_level = kbi_random_below(seed, 3) == 0;
    o.second_angle = kbi_random_below(seed, 4) == 0;
    o.whole_pixels = kbi_random_below(seed, 4) == 0;
    o.level_factor = kbi_random_below(seed, 3) ? 0 : 1.05f + 0.95f * (float)fraction(seed);
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

/* ---- ways ---- */

#define MAX_THREADS 5
static kb_parallel *pools[MAX_THREADS + 1];

static const struct {
    int32_t threads, low_memory;
    const char *cpu; /* kb_cpu_limit */
} ways[] = {{2, 0, NULL}, {3, 0, NULL}, {5, 0, NULL},     {1, 1, NULL},    {1, 0, "c"},
            {2, 0, "c"},  {1, 1, "c"},  {1, 0, "sse4.2"}, {5, 1, "sse4.2"}, {3, 0, "avx2"}};

static int pools_create(void **state)
{
    (void)state;
    for (int32_t i = 2; i <= MAX_THREADS; i++) assert_int_equal(kb_pool_create(i, NULL, &pools[i]), KB_OK);
    return 0;
}

static int pools_free(void **state)
{
    (void)state;
    for (int32_t i = 2; i <= MAX_THREADS; i++) kb_pool_free(pools[i]);
    return 0;
}

/* Returns how many there are. */
static size_t check_image(const char *name, const kb_image *image, kb_detect_options o)
{
    found *expected = detect_view(image, &o);
    size_t n = expected->n;
    assert_true(n <= (size_t)o.max_keypoints);
    for (size_t i = 0; i < KBI_COUNT(ways); i++) {
        o.parallel = pools[ways[i].threads];
        o.low_memory = ways[i].low_memory;
        if (ways[i].cpu) assert_int_equal(kb_cpu_limit(ways[i].cpu), KB_OK);
        found *other = detect_view(image, &o);
        if (ways[i].cpu) assert_int_equal(kb_cpu_limit(getenv("KEYBITS_CPU")), KB_OK);
        if (other->n != n || memcmp(other->k, expected->k, n * sizeof *other->k) != 0)
            fail_msg("%s, %s %s, %d keypoints, every_level %d: %d threads, low_memory %d, cpu %s differ", name,
                     kb_name(KB_NAMES_DETECTOR, o.detector), kb_name(KB_NAMES_SELECTION, o.selection), o.max_keypoints,
                     o.every_level, ways[i].threads, ways[i].low_memory, ways[i].cpu ? ways[i].cpu : "all");
        free(other);
    }
    free(expected);
    return n;
}

/* ---- tests ---- */

enum { DRAWS = 4 };
static uint64_t images = 100;

static void rendered_images(void **state)
{
    (void)state;
    size_t keypoints = 0;
    for (uint64_t number = 0; number < images; number++) {
        hard h = hard_number(number);
        kb_image image = render_hard(h);
        uint64_t seed = h.seed;
        char name[64];
        snprintf(name, sizeof name, "image %d (%dx%d)", (int)number, h.width, h.height);
        for (int i = 0; i < DRAWS; i++) keypoints += check_image(name, &image, draw_options(&seed));
        free((void *)(uintptr_t)image.data);
    }
    assert_true(keypoints > 50 * images); /* they are hard, not empty */
}

/* Images of the data folder with which threads have differed. */
static void stored_images(void **state)
{
    static const char *const names[] = {"grid8.pgm", "sine4.pgm"};
    const char *folder = getenv("KEYBITS_SHARED");
    int read = 0;
    (void)state;
    for (size_t i = 0; i < KBI_COUNT(names); i++) {
        char path[4096];
        io_image image;
        snprintf(path, sizeof path, "%s/data/eval/hard-images/%s", folder ? folder : "../shared", names[i]);
        if (!io_image_read(path, NULL, &image, NULL)) continue;
        uint64_t seed = i;
        for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_HESSIAN; d++) {
            kb_detect_options o = options_for((kb_detector)d);
            o.max_keypoints = 2000;
            for (o.every_level = 0; o.every_level < (d == KB_DETECTOR_SIFT ? 1 : 2); o.every_level++) check_image(names[i], &image.view, o);
        }
        for (int k = 0; k < DRAWS; k++) check_image(names[i], &image.view, draw_options(&seed));
        io_image_free(&image);
        read++;
    }
    if (read == 0) {
        printf("the data folder has no hard images\n");
        skip();
    }
}

int main(int count, char **arguments)
{
    if (count > 1) images = strtoull(arguments[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(rendered_images), cmocka_unit_test(stored_images)};
    return cmocka_run_group_tests_name("hard images", tests, pools_create, pools_free);
}
