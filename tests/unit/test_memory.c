/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: what a frame costs, that it is known beforehand and then never more, and that running out of it does no
 * harm. All of it is the workspace, since a call allocates nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/model.h"
#include "render.h"
#include "../arrays.h"

#define WIDTH 640
#define HEIGHT 480
#define MOST 2000

/* Bytes of the workspace after detecting and describing the frame twice; the second time must take no more. */
static size_t bytes_of_frame(kb_detector detector, const kb_model *model)
{
    static kb_keypoint keypoints[MOST];
    static uint8_t rows[MOST * KB_MAX_BITS / 8];
    uint8_t *pixels = render_texture(WIDTH, HEIGHT, 5);
    kb_image image = view_of(pixels, WIDTH, HEIGHT);
    kb_workspace *workspace;
    kb_detect_options options;
    size_t count = 0, first = 0, bytes = 0;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    KB_INIT(options);
    options.detector = detector;
    options.max_keypoints = MOST;
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(detect_keypoints(&image, &options, workspace, keypoints, MOST, &count, NULL), KB_OK);
        assert_true(count > MOST / 2);
        assert_int_equal(describe_keypoints(model, &image, keypoints, count, NULL, workspace, rows, NULL), KB_OK);
        bytes = kbi_workspace_bytes(workspace);
        if (pass == 0) first = bytes;
    }
    assert_int_equal(bytes, first);
    printf("%s and %s: %.2f MB\n", kb_name(KB_NAMES_DETECTOR, detector), kb_name(KB_NAMES_KIND, model->spec.kind),
           (double)bytes / 1e6);
    kb_workspace_free(workspace);
    free(pixels);
    return bytes;
}

static void orb_fits_4_mb(void **state)
{
    (void)state;
    kb_model *models[] = {render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 512, true, 1),
                          render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 512, true, 2), render_hash_model(512, 3)};
    for (size_t i = 0; i < KBI_COUNT(models); i++) {
        assert_true(bytes_of_frame(KB_DETECTOR_ORB, models[i]) + WIDTH * HEIGHT < 4000000);
        kb_model_free(models[i]);
    }
}

/* Its octaves start at twice the image's size, but a few rows of their layers are there at a time. */
static void sift_fits_5_mb(void **state)
{
    (void)state;
    kb_model *model = render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 256, true, 1);
    assert_true(bytes_of_frame(KB_DETECTOR_SIFT, model) < 5000000);
    kb_model_free(model);
}

/* ---- lists that are full ---- */

/* Squares in a regular pattern: all corners have one score, far more of them than lists have room for. */
static uint8_t *render_squares(int32_t width, int32_t height)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height);
    if (!pixels) abort();
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) pixels[y * width + x] = (x / 5 + y / 5) % 2 ? 200 : 40;
    return pixels;
}

static uint8_t *render_noise(int32_t width, int32_t height, uint64_t seed)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height);
    if (!pixels) abort();
    for (int32_t i = 0; i < width * height; i++) pixels[i] = (uint8_t)kbi_random_next(&seed);
    return pixels;
}

/* Lists are cut by threads and levels, and what is left out depends on how; what is found does not. */
static void full_lists_change_nothing(void **state)
{
    (void)state;
#ifdef KEYBITS_SANITIZED
    enum { W = 200, H = 150, MANY = 100 };
#else
    enum { W = 400, H = 300, MANY = 300 };
#endif
    static kb_keypoint expected[MANY], found[MANY];
    uint8_t *pictures[] = {render_texture(W, H, 3), render_squares(W, H), render_noise(W, H, 4)};
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(7, NULL, &pool), KB_OK);
    for (size_t p = 0; p < KBI_COUNT(pictures); p++) {
        kb_image image = view_of(pictures[p], W, H);
        for (int c = 0; c < 3 * 3 * 2; c++) {
            kb_detect_options options;
            size_t n, count;
            KB_INIT(options);
            options.detector = (kb_detector)(KB_DETECTOR_ORB + c % 3);
            options.selection = (kb_selection)(KB_SELECTION_BEST + c / 3 % 3);
            options.max_keypoints = c / 9 ? MANY : 5;
            if (options.detector == KB_DETECTOR_SIFT) options.contrast_threshold = 0.001f;
            assert_int_equal(detect_keypoints(&image, &options, NULL, expected, MANY, &n, NULL), KB_OK);
            assert_int_equal(n, options.max_keypoints);
            for (int way = 0; way < 2; way++) {
                options.low_memory = way;
                options.parallel = way ? NULL : pool;
                assert_int_equal(detect_keypoints(&image, &options, NULL, found, MANY, &count, NULL), KB_OK);
                assert_int_equal(count, n);
                assert_memory_equal(found, expected, n * sizeof *found);
            }
        }
        free(pictures[p]);
    }
    kb_pool_free(pool);
}

/* ---- known beforehand ---- */

/* Counts, and fails once at allocation number `fail`, from 1; 0: never. */
typedef struct counter {
    int allocations, held, fail;
} counter;

static void *counter_allocate(void *self, size_t bytes)
{
    counter *c = self;
    if (++c->allocations == c->fail) return NULL;
    c->held++;
    return malloc(bytes);
}

static void counter_release(void *self, void *memory)
{
    counter *c = self;
    c->held--;
    free(memory);
}

#define SMALL_WIDTH 136
#define SMALL_HEIGHT 110
#define SMALL_MOST 120

/* Pictures of many kinds and sizes; some have nothing to find, some more than anybody wants. */
static uint8_t *render_frame(int number, int32_t width, int32_t height)
{
    if (number % 5 == 0) return render_noise(width, height, (uint64_t)number);
    if (number % 7 == 0) return render_squares(width, height);
    uint8_t *pixels = render_texture(width, height, (uint64_t)number);
    if (number % 11 == 0) memset(pixels, number, (size_t)width * (size_t)height);
    return pixels;
}

typedef struct frame_buffers {
    kb_keypoint keypoints[SMALL_MOST];
    uint8_t rows[2][SMALL_MOST * 512];
    size_t counts[2];
    kb_match matches[SMALL_MOST];
    kb_point_pair pairs[SMALL_MOST];
} frame_buffers;

/* The whole pipeline on one frame; the first status that is not KB_OK. */
static kb_status run_frame(const kb_image *image, const kb_detect_options *detect, const kb_model *model,
                           kb_workspace *ws, int number, frame_buffers *f)
{
    kb_describe_options describe;
    kb_match_options match;
    kb_fit_options fit;
    kb_fit_report report;
    KB_INIT(describe);
    KB_INIT(match);
    KB_INIT(fit);
    KB_INIT(report);
    describe.parallel = match.parallel = detect->parallel;
    fit.geometry = number % 2 ? KB_GEOMETRY_HOMOGRAPHY : KB_GEOMETRY_FUNDAMENTAL;
    int now = number & 1;
    size_t n = 0, found = 0, *count = &f->counts[now];
    kb_status status = detect_keypoints(image, detect, ws, f->keypoints, SMALL_MOST, &n, NULL);
    if (status == KB_OK)
        status = select_keypoints(f->keypoints, n, image->width, image->height, (kb_selection)(1 + number % 3), n / 2 + 1, ws,
                           count);
    n = *count;
    if (number % 3 == 0 && n > 0) f->keypoints[0].x = -100; /* a row of zeros */
    if (status == KB_OK) status = orient_keypoints(image, f->keypoints, n, NULL, ws, NULL);
    if (status == KB_OK) status = describe_keypoints(model, image, f->keypoints, n, &describe, ws, f->rows[now], NULL);
    size_t bytes = (size_t)model->row_bytes;
    if (status == KB_OK)
        status = match_rows(f->rows[0], f->counts[0], f->rows[1], f->counts[1], bytes, &match, ws, f->matches,
                                  &found);
    for (size_t i = 0; i < n; i++)
        f->pairs[i] = (kb_point_pair){f->keypoints[i].x, f->keypoints[i].y, (double)i, 3.0 * (double)(i % 7)};
    if (status == KB_OK) status = kb_fit(f->pairs, n, &fit, ws, NULL, &report, NULL);
    return status;
}

static kb_workspace_limits small_limits(const kb_detect_options *detect, const kb_model *model, int32_t threads)
{
    kb_workspace_limits limits;
    KB_INIT(limits);
    limits.threads = threads;
    limits.width = SMALL_WIDTH;
    limits.height = SMALL_HEIGHT;
    limits.detect = detect;
    limits.model = model;
    limits.rows_a = limits.rows_b = limits.pairs = SMALL_MOST;
    return limits;
}

static void small_options(kb_detect_options *options, kb_detector detector, kb_parallel *pool)
{
    KB_INIT(*options);
    options->detector = detector;
    options->max_keypoints = SMALL_MOST;
    if (detector == KB_DETECTOR_SIFT) options->contrast_threshold = 0.005f;
    options->parallel = pool;
}

static void check_frames(kb_detector detector, int32_t threads, int first, int frames)
{
    static frame_buffers f;
    kb_model *models[] = {render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 256, true, 1),
                          render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 512, true, 2), render_hash_model(256, 3),
                          render_box_model(KB_KIND_BAD, KB_SAMPLER_IMAGE, 512, false, 4), builtin_model("rootsift")};
    counter c = {0, 0, 0};
    kb_allocator allocator = {counter_allocate, counter_release, &c};
    kb_workspace *ws;
    kb_parallel *pool;
    kb_detect_options options;
    size_t most = 0, needed;
    assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
    small_options(&options, detector, pool);
    assert_int_equal(kb_workspace_create(&allocator, &ws), KB_OK);
    for (size_t m = 0; m < KBI_COUNT(models); m++) {
        kb_workspace_limits limits = small_limits(&options, models[m], threads);
        assert_int_equal(kb_workspace_reserve(NULL, &limits, &needed, NULL), KB_OK);
        assert_int_equal(kb_workspace_reserve(ws, &limits, NULL, NULL), KB_OK);
        most = needed > most ? needed : most;
        assert_int_equal(kbi_workspace_bytes(ws), most);
    }
    int before = c.allocations;
    memset(&f, 0, sizeof f);
    for (int i = first; i < first + frames; i++) {
        int32_t width = i % 4 ? SMALL_WIDTH : 75 + i % 60, height = i % 4 ? SMALL_HEIGHT : 65 + i % 45;
        uint8_t *pixels = render_frame(i, width, height);
        kb_image image = view_of(pixels, width, height);
        assert_int_equal(run_frame(&image, &options, models[(size_t)i / 2 % KBI_COUNT(models)], ws, i, &f), KB_OK);
        assert_int_equal(c.allocations, before);
        free(pixels);
    }
    assert_int_equal(kbi_workspace_bytes(ws), most);
    kb_workspace_free(ws);
    assert_int_equal(c.held, 0);
    kb_pool_free(pool);
    for (size_t m = 0; m < KBI_COUNT(models); m++) kb_model_free(models[m]);
}

/* Sanitizers see all there is to see in fewer. */
#ifdef KEYBITS_SANITIZED
enum { FRAMES = 160, OFFSETS = 42, PICTURES = 8 };
#else
enum { FRAMES = 1000, OFFSETS = 21, PICTURES = 12 };
#endif

static void a_thousand_frames_allocate_nothing(void **state)
{
    (void)state;
    check_frames(KB_DETECTOR_ORB, 1, 0, FRAMES / 4);
    check_frames(KB_DETECTOR_ORB, 2, FRAMES / 4, FRAMES / 4);
    check_frames(KB_DETECTOR_HESSIAN, 2, FRAMES / 2, FRAMES / 4);
    check_frames(KB_DETECTOR_SIFT, 1, 3 * FRAMES / 4, FRAMES / 8);
    check_frames(KB_DETECTOR_SIFT, 2, 7 * FRAMES / 8, FRAMES / 8);
}

/* ---- describing ---- */

typedef struct describe_inputs {
    kb_image image;
    kb_keypoint keypoints[300];
    uint8_t patches[300 * 1024];
    const kb_parallel *parallel;
} describe_inputs;

/* Every call that `model` of kb_workspace_limits promises, by number; KB_E_KIND where the model cannot. */
static kb_status run_describing(int call, const kb_model *model, const describe_inputs *in, kb_workspace *ws)
{
    static uint8_t rows[300 * 1024];
    static float floats[300 * 128];
    enum { N = 300 };
    kb_describe_options o;
    KB_INIT(o);
    o.parallel = in->parallel;
    switch (call) {
    case 0: return describe_keypoints(model, &in->image, in->keypoints, N, &o, ws, rows, NULL);
    case 1: return describe_keypoints_float(model, &in->image, in->keypoints, N, &o, ws, floats, NULL);
    case 2: return describe_patches(model, in->patches, N, 32, &o, ws, rows);
    case 3: return describe_patches_float(model, in->patches, N, 32, &o, ws, floats);
    case 4: return sample_patches(&in->image, in->keypoints, N, &o, ws, rows, NULL);
    default: return sample_octaves(&in->image, in->keypoints, N, &o, ws, rows, NULL);
    }
}

/* All of them fit into the bytes that are told, with and without threads, and the workspace does not have to grow. */
static void describing_fits_what_is_told(void **state)
{
    (void)state;
    static describe_inputs in;
    kb_model *models[] = {render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 256, true, 1),
                          render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 64, true, 2),
                          render_box_model(KB_KIND_BAD, KB_SAMPLER_IMAGE, 512, false, 3),
                          render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 256, true, 4), render_hash_model(256, 5),
                          builtin_model("sift")};
    static const int32_t sizes[][2] = {{40, 30}, {400, 300}};
    for (size_t s = 0; s < KBI_COUNT(sizes); s++) {
        int32_t width = sizes[s][0], height = sizes[s][1];
        uint8_t *pixels = render_texture(width, height, s);
        in.image = view_of(pixels, width, height);
        render_keypoints(in.keypoints, 300, width, height, 3, 60, s);
        for (int32_t threads = 1; threads <= 3; threads += 2) {
            kb_parallel *pool;
            assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
            in.parallel = pool;
            for (size_t m = 0; m < KBI_COUNT(models); m++) {
                kb_workspace_limits limits;
                size_t needed = 0;
                KB_INIT(limits);
                limits.threads = threads;
                limits.width = width;
                limits.height = height;
                limits.model = models[m];
                limits.keypoints = 300;
                assert_int_equal(kb_workspace_reserve(NULL, &limits, &needed, NULL), KB_OK);
                uint8_t *buffer = malloc(needed); /* of just this size, so that the sanitizer sees its end */
                assert_non_null(buffer);
                for (int call = 0; call < 6; call++) {
                    kb_workspace *ws;
                    bool floats = call == 1 || call == 3;
                    assert_int_equal(kb_workspace_create_in(buffer, needed, &ws), KB_OK);
                    assert_int_equal(run_describing(call, models[m], &in, ws),
                                     floats && models[m]->row_floats == 0 ? KB_E_KIND : KB_OK);
                    kb_workspace_free(ws);
                }
                free(buffer);
            }
            kb_pool_free(pool);
        }
        free(pixels);
    }
    for (size_t m = 0; m < KBI_COUNT(models); m++) kb_model_free(models[m]);
}

/* Sizes that do not fit into size_t are no memory, not small ones. An image sampler's sums have 4 bytes per pixel:
 * 32768 x 32768 of them overflow where size_t has 32 bits. */
static void sizes_do_not_overflow(void **state)
{
    (void)state;
    kb_workspace counting;
    kbi_workspace_measure(&counting);
    assert_non_null(kbi_workspace_array(&counting, 3, 5));
    assert_int_equal(counting.peak, KBI_ALIGN);
    assert_non_null(kbi_workspace_array(&counting, SIZE_MAX, 0));
    assert_null(kbi_workspace_array(&counting, SIZE_MAX / 4 + 1, 4));
    assert_null(kbi_workspace_array(&counting, (size_t)1 << (sizeof(size_t) * 4), (size_t)1 << (sizeof(size_t) * 4)));
    kb_model *model = render_box_model(KB_KIND_BAD, KB_SAMPLER_IMAGE, 8, false, 3);
    kb_workspace_limits limits;
    size_t needed = 1;
    KB_INIT(limits);
    limits.width = limits.height = 32768;
    limits.model = model;
    limits.keypoints = 1;
    kb_status status = kb_workspace_reserve(NULL, &limits, &needed, NULL);
    if (sizeof(size_t) == 4) assert_int_equal(status, KB_E_MEMORY);
    else assert_true(status == KB_OK && needed > (size_t)32768 * 32768 * 4);
    limits.width = limits.height = 10;
    limits.keypoints = SIZE_MAX / 200; /* more than 32 bits can number, or more than memory has */
    status = kb_workspace_reserve(NULL, &limits, &needed, NULL);
    assert_true(status == KB_E_ARGUMENT || status == KB_E_MEMORY);
    kb_model_free(model);
}

/* What is told is not only enough, it is what is taken: with a little less detection does not fit. */
/* Without a reservation the first frame makes the workspace large enough for the second, also where a call gives
 * memory back before its end, as with one level at a time. */
static void a_second_frame_allocates_nothing(void **state)
{
    (void)state;
    uint8_t *pixels = render_frame(1, SMALL_WIDTH, SMALL_HEIGHT);
    kb_image image = view_of(pixels, SMALL_WIDTH, SMALL_HEIGHT);
    for (int32_t low_memory = 0; low_memory < 2; low_memory++) {
        counter c = {0, 0, 0};
        kb_allocator allocator = {counter_allocate, counter_release, &c};
        kb_keypoint keypoints[SMALL_MOST];
        kb_workspace *ws;
        kb_detect_options options;
        size_t count;
        small_options(&options, KB_DETECTOR_ORB, NULL);
        options.low_memory = low_memory;
        assert_int_equal(kb_workspace_create(&allocator, &ws), KB_OK);
        assert_int_equal(detect_keypoints(&image, &options, ws, keypoints, SMALL_MOST, &count, NULL), KB_OK);
        int before = c.allocations;
        assert_int_equal(detect_keypoints(&image, &options, ws, keypoints, SMALL_MOST, &count, NULL), KB_OK);
        assert_int_equal(c.allocations, before);
        kb_workspace_free(ws);
    }
    free(pixels);
}

static bool untouched(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0x5a) return false;
    return true;
}

static void needs_are_exact(void **state)
{
    (void)state;
    static frame_buffers f;
    static uint8_t buffer[4 << 20];
    kb_model *model = render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 256, true, 1);
    for (int c = 0; c < 3 * 3 * 2; c++) {
        kb_detect_options options;
        kb_workspace *ws;
        size_t needed = 0;
        small_options(&options, (kb_detector)(KB_DETECTOR_ORB + c % 3), NULL);
        options.no_upsampling = options.detector == KB_DETECTOR_SIFT;
        options.selection = (kb_selection)(KB_SELECTION_BEST + c / 3 % 3);
        options.low_memory = c / 9;
        kb_workspace_limits limits = small_limits(&options, model, 1);
        assert_int_equal(kb_workspace_reserve(NULL, &limits, &needed, NULL), KB_OK);
        assert_true(needed < sizeof buffer);
        for (size_t offset = 0; offset < 64; offset += OFFSETS) {
            memset(buffer, 0x5a, sizeof buffer);
            assert_int_equal(kb_workspace_create_in(buffer + offset, needed, &ws), KB_OK);
            assert_int_equal(kb_workspace_reserve(ws, &limits, NULL, NULL), KB_OK);
            for (int i = 4; i < PICTURES; i++) { /* texture, noise and squares */
                uint8_t *pixels = render_frame(i, SMALL_WIDTH, SMALL_HEIGHT);
                kb_image image = view_of(pixels, SMALL_WIDTH, SMALL_HEIGHT);
                assert_int_equal(run_frame(&image, &options, model, ws, i, &f), KB_OK);
                free(pixels);
            }
            kb_workspace_free(ws);
            assert_true(untouched(buffer, offset));
            assert_true(untouched(buffer + offset + needed, sizeof buffer - offset - needed));
        }
        /* The others take the most only where there is the most to choose from. */
        if (options.selection != KB_SELECTION_BEST || options.detector == KB_DETECTOR_SIFT) continue;
        limits.model = NULL;
        limits.keypoints = 1;
        limits.rows_a = limits.rows_b = limits.pairs = 0;
        assert_int_equal(kb_workspace_reserve(NULL, &limits, &needed, NULL), KB_OK);
        assert_int_equal(kb_workspace_create_in(buffer, needed - 2 * KBI_ALIGN, &ws), KB_OK);
        assert_int_equal(kb_workspace_reserve(ws, &limits, NULL, NULL), KB_E_SPACE);
        uint8_t *pixels = render_frame(7, SMALL_WIDTH, SMALL_HEIGHT); /* squares: equal ones are put in order */
        kb_image image = view_of(pixels, SMALL_WIDTH, SMALL_HEIGHT);
        size_t n;
        assert_int_equal(detect_keypoints(&image, &options, ws, f.keypoints, SMALL_MOST, &n, NULL), KB_E_MEMORY);
        free(pixels);
    }
    kb_model_free(model);
}

/* A call that lacks memory tells what all of it needs, and its workspace goes on to serve smaller calls. */
static void a_small_buffer_says_what_is_needed(void **state)
{
    (void)state;
    static frame_buffers f;
    static uint8_t buffer[4 << 20];
    uint8_t *pixels = render_frame(7, SMALL_WIDTH, SMALL_HEIGHT);
    kb_image image = view_of(pixels, SMALL_WIDTH, SMALL_HEIGHT), small = view_of(pixels, 20, 20);
    for (int32_t detector = KB_DETECTOR_ORB; detector <= KB_DETECTOR_SIFT; detector++) {
        kb_detect_options options;
        kb_workspace *ws;
        kb_error error;
        size_t n, refused = 0;
        small_options(&options, (kb_detector)detector, NULL);
        options.no_upsampling = detector == KB_DETECTOR_SIFT;
        for (size_t size = 150000; size > 4096; size = size * 2 / 3) {
            assert_int_equal(kb_workspace_create_in(buffer, size, &ws), KB_OK);
            kb_status status = detect_keypoints(&image, &options, ws, f.keypoints, SMALL_MOST, &n, &error);
            if (status == KB_OK) continue;
            assert_int_equal(status, KB_E_MEMORY);
            const char *number = strstr(error.text, "up to ");
            assert_non_null(number);
            size_t needed = strtoul(number + 6, NULL, 10);
            assert_true(needed > size && needed <= sizeof buffer);
            options.max_keypoints = 4;
            status = detect_keypoints(&small, &options, ws, f.keypoints, SMALL_MOST, &n, NULL);
            assert_true(status == KB_OK || status == KB_E_MEMORY);
            options.max_keypoints = SMALL_MOST;
            assert_int_equal(kb_workspace_create_in(buffer, needed, &ws), KB_OK);
            assert_int_equal(detect_keypoints(&image, &options, ws, f.keypoints, SMALL_MOST, &n, NULL), KB_OK);
            refused++;
        }
        assert_true(refused > 3);
    }
    free(pixels);
}

static void wrong_limits(void **state)
{
    (void)state;
    kb_workspace *ws;
    kb_workspace_limits limits;
    kb_detect_options options;
    size_t bytes = 1;
    assert_int_equal(kb_workspace_create(NULL, &ws), KB_OK);
    KB_INIT(limits);
    assert_int_equal(kb_workspace_reserve(NULL, &limits, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_workspace_reserve(NULL, NULL, &bytes, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_workspace_reserve(NULL, &limits, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_OK);
    assert_int_equal(bytes, kbi_workspace_bytes(ws)); /* no calls: an empty one */
    KB_INIT(options);
    limits.detect = &options;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_E_ARGUMENT); /* no size */
    limits.width = limits.height = 100;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_OK);
    options.levels = KB_PYRAMID_MAX_LEVELS + 1;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_E_ARGUMENT);
    assert_int_equal(bytes, 0);
    options.levels = 0;
    limits.threads = 257;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &bytes, NULL), KB_E_ARGUMENT);
    limits.threads = 0;
    limits.width = 65536;
    assert_int_equal(kb_workspace_reserve(ws, &limits, NULL, NULL), KB_E_ARGUMENT);
    kb_workspace_free(ws);
}

/* ---- running out of memory ---- */

/* A model of every kind through its file, and a frame; returns the first failure, with everything given back. */
static kb_status run_all(const kb_allocator *allocator, kb_kind kind, kb_detector detector, const uint8_t *file,
                         size_t size, const kb_image *image, frame_buffers *f)
{
    kb_model *model = NULL;
    kb_workspace *ws = NULL;
    kb_parallel *pool = NULL;
    kb_detect_options options;
    kb_status status = kb_pool_create(2, allocator, &pool);
    if (status == KB_OK) status = kb_workspace_create(allocator, &ws);
    if (status == KB_OK) status = kb_model_load(file, size, allocator, &model, NULL);
    small_options(&options, detector, kind == KB_KIND_BAG ? pool : NULL);
    for (int i = 0; i < 2 && status == KB_OK; i++) status = run_frame(image, &options, model, ws, i, f);
    kb_model_free(model);
    kb_workspace_free(ws);
    kb_pool_free(pool);
    return status;
}

static void check_failures(kb_model *model, kb_detector detector, const kb_image *image)
{
    static frame_buffers f;
    static uint8_t file[1 << 17];
    size_t size;
    int failures = 0;
    assert_int_equal(kb_model_save(model, file, sizeof file, &size), KB_OK);
    for (kb_status status = KB_E_MEMORY; status != KB_OK; failures++) {
        counter c = {0, 0, failures + 1};
        kb_allocator allocator = {counter_allocate, counter_release, &c};
        memset(&f, 0, sizeof f);
        status = run_all(&allocator, model->spec.kind, detector, file, size, image, &f);
        assert_true(status == KB_OK || status == KB_E_MEMORY);
        assert_int_equal(c.held, 0);
        /* Nothing was left out: where it succeeds, no allocation failed but the one that only saves later ones. */
        if (status == KB_OK && c.allocations >= c.fail) status = KB_E_MEMORY;
    }
    assert_true(failures > 10);
    kb_model_free(model);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    uint8_t *pixels = render_texture(SMALL_WIDTH, SMALL_HEIGHT, 8);
    kb_image image = view_of(pixels, SMALL_WIDTH, SMALL_HEIGHT);
    check_failures(render_box_model(KB_KIND_BAD, KB_SAMPLER_CELLS, 256, true, 1), KB_DETECTOR_ORB, &image);
    check_failures(render_box_model(KB_KIND_BAD, KB_SAMPLER_IMAGE, 64, false, 2), KB_DETECTOR_SIFT, &image);
    check_failures(render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 128, true, 3), KB_DETECTOR_HESSIAN, &image);
    check_failures(render_hash_model(128, 4), KB_DETECTOR_SIFT, &image);
    check_failures(builtin_model("sift"), KB_DETECTOR_ORB, &image);
    free(pixels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orb_fits_4_mb), cmocka_unit_test(sift_fits_5_mb),
                                       cmocka_unit_test(full_lists_change_nothing),
                                       cmocka_unit_test(a_thousand_frames_allocate_nothing),
                                       cmocka_unit_test(describing_fits_what_is_told),
                                       cmocka_unit_test(sizes_do_not_overflow),
                                       cmocka_unit_test(a_second_frame_allocates_nothing),
                                       cmocka_unit_test(needs_are_exact),
                                       cmocka_unit_test(a_small_buffer_says_what_is_needed),
        cmocka_unit_test(wrong_limits),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
