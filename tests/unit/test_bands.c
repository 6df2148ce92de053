/* Large images in bands: detection with low_memory, and describing and orienting on one thread. The results are the same
 * as with whole levels, bit for bit, in a workspace that grows with the width of the image alone. */
#include "describe/describe.h"
#include "detect/detect.h"
#include "detected.h"

/* ---- detection ---- */

static size_t bytes_of_detection(int32_t width, int32_t height, const kb_detect_options *options)
{
    kb_workspace counting;
    size_t most;
    kb_image image = {&counting, width, height, width, KB_GRAY8, 0}; /* some address; nothing is read */
    kbi_workspace_measure(&counting);
    assert_int_equal(kbi_detect_measure(&image, options, NULL, &counting, &most), KB_OK);
    return kbi_workspace_total(counting.peak);
}

/* Detects with low_memory in no more than the memory that is told, and compares with the usual way. */
static void check_detection(const kb_image *image, kb_detect_options options)
{
    static found a, b;
    kb_workspace *ws;
    options.low_memory = 0;
    assert_int_equal(kb_detect(image, &options, NULL, a.k, MANY, &a.n), KB_OK);
    options.low_memory = 1;
    size_t bytes = bytes_of_detection(image->width, image->height, &options);
    uint8_t *buffer = malloc(bytes); /* of just this size, so that the sanitizer sees its end */
    assert_non_null(buffer);
    assert_int_equal(kb_workspace_create_in(buffer, bytes, &ws), KB_OK);
    assert_int_equal(kb_detect(image, &options, ws, b.k, MANY, &b.n), KB_OK);
    assert_same(&a, &b);
    kb_workspace_free(ws);
    free(buffer);
}

/* True when this image is streamed in bands: taller ones take no more memory. */
static bool in_bands(int32_t width, int32_t height, const kb_detect_options *options)
{
    return bytes_of_detection(width, 2 * height, options) < bytes_of_detection(width, height, options) * 21 / 20;
}

/* Flat, soft and busy regions on top of each other: strips with nothing, with weak corners only, and with many. */
static uint8_t *render_regions(int32_t width, int32_t height, uint64_t seed)
{
    uint8_t *pixels = render_texture(width, height, seed);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            uint8_t *p = pixels + (size_t)y * (size_t)width + x;
            int32_t third = (int32_t)((int64_t)y * 5 / height + (x > width / 3)) % 3;
            if (third == 0) *p = (uint8_t)(100 + *p / 12);
            if (third == 1) *p = 100;
        }
    return pixels;
}

static kb_detect_options bands_options(int32_t keypoints)
{
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.max_keypoints = keypoints;
    o.low_memory = 1;
    return o;
}

static void test_sizes(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{1603, 1402}, {150, 3001}, {71, 2500}, {3003, 700}, {800, 799}};
    static const int32_t keypoints[] = {1, 100, 700, MANY};
    for (size_t s = 0; s < KBI_COUNT(sizes); s++) {
        int32_t width = sizes[s][0], height = sizes[s][1];
        uint8_t *pictures[] = {render_texture(width, height, 7 + s), render_regions(width, height, 70 + s)};
        kb_detect_options o = bands_options(1);
        assert_true(in_bands(width, height, &o));
        for (size_t p = 0; p < KBI_COUNT(pictures); p++) {
            kb_image image = view_of(pictures[p], width, height);
            for (size_t k = 0; k < KBI_COUNT(keypoints); k++) check_detection(&image, bands_options(keypoints[k]));
            kb_detect_options hessian = bands_options(700);
            hessian.detector = KB_DETECTOR_HESSIAN;
            check_detection(&image, hessian);
            free(pictures[p]);
        }
    }
}

/* An image of one kind of corner: lists overflow with corners of the same score and the same response. */
static uint8_t *render_board(int32_t width, int32_t height)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height);
    assert_non_null(pixels);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) pixels[y * width + x] = (x / 5 + y / 5) % 2 ? 200 : 40;
    return pixels;
}

static void test_options(void **state)
{
    (void)state;
    enum { W = 500, H = 1501 };
    uint8_t *pictures[] = {render_texture(W, H, 3), render_regions(W, H, 4), render_board(W, H)};
    uint8_t *allowed = malloc((size_t)W * H);
    assert_non_null(allowed);
    for (int32_t i = 0; i < W * H; i++) allowed[i] = (i % W / 90 + i / W / 130) % 2 ? 255 : 0;
    kb_image mask = view_of(allowed, W, H);
    for (size_t p = 0; p < KBI_COUNT(pictures); p++) {
        kb_image image = view_of(pictures[p], W, H);
        for (int c = 0; c < 32; c++) {
            kb_detect_options o = bands_options(c % 3 == 0 ? 40 : c % 3 == 1 ? 600 : 3000);
            o.selection = (kb_selection)(KB_SELECT_BEST + c % 4);
            o.second_angle = c >> 2 & 1;
            o.orientation = (kb_orientation)(KB_ORIENTATION_GRADIENT + c % 3);
            o.mask = c & 16 ? &mask : NULL;
            o.whole_pixels = c >> 3 & 1;
            o.level_factor = c % 5 == 0 ? 1.05f : c % 5 == 1 ? 2.0f : c % 5 == 2 ? 1.41f : 0;
            o.levels = c % 7 == 0 ? 16 : c % 7 == 1 ? 1 : 0;
            o.cell_size = c % 6 == 0 ? 8 : c % 6 == 1 ? 100 : 0;
            o.fast_threshold = c % 9 == 0 ? 60 : 0;
            o.fast_threshold_min = c % 9 == 0 ? 5 : 0;
            check_detection(&image, o);
            o.detector = KB_DETECTOR_HESSIAN;
            check_detection(&image, o);
        }
        free(pictures[p]);
    }
    free(allowed);
}

/* Rows farther apart than they are long, and 16 bits. */
static void test_formats(void **state)
{
    (void)state;
    enum { W = 300, H = 1200, STRIDE = 333 };
    uint8_t *pixels = render_texture(STRIDE, H, 11);
    kb_image image = {pixels, W, H, STRIDE, KB_GRAY8, 0};
    check_detection(&image, bands_options(500));
    uint16_t *deep = malloc((size_t)W * H * sizeof *deep);
    assert_non_null(deep);
    for (int32_t i = 0; i < W * H; i++) deep[i] = (uint16_t)(pixels[i / W * STRIDE + i % W] * 257);
    kb_image image16 = {deep, W, H, W * 2, KB_GRAY16, 0};
    kb_detect_options o = bands_options(500);
    found *a = detect_view(&image, &o), *b = detect_view(&image16, &o);
    assert_same(a, b);
    free(a), free(b), free(deep), free(pixels);
}

static void test_detection_grows_with_width(void **state)
{
    (void)state;
    kb_detect_options o = bands_options(2000);
    size_t low = bytes_of_detection(6000, 4000, &o), high = bytes_of_detection(6000, 8000, &o);
    assert_true(high < low + low / 100);
    assert_true(low < 4000000);
    assert_true(bytes_of_detection(12000, 8334, &o) < 7000000);
    assert_true(bytes_of_detection(12000, 4000, &o) < 2 * low + low / 100);
    o.low_memory = 0;
    assert_true(bytes_of_detection(6000, 4000, &o) > 48000000);
}

/* What is reserved for an image is enough for every smaller one, whichever way it goes. */
static void test_smaller_images_fit(void **state)
{
    (void)state;
    kb_detect_options o = bands_options(300);
    for (int32_t height = 60; height < 1500; height += 7)
        for (int32_t width = 60; width < 1500; width += 97) {
            size_t bytes = bytes_of_detection(width, height, &o);
            assert_true(bytes <= bytes_of_detection(width, height + 7, &o));
            assert_true(bytes <= bytes_of_detection(width + 1, height, &o));
        }
}

/* ---- describing and orienting ---- */

#define REGIONS 1500

static size_t bytes_of_describing(const kb_model *model, int32_t width, int32_t height, size_t n)
{
    kb_workspace counting;
    kb_image image = {&counting, width, height, width, KB_GRAY8, 0};
    kbi_workspace_measure(&counting);
    assert_int_equal(kbi_describe_measure(model, &image, n, NULL, &counting), KB_OK);
    return kbi_workspace_total(counting.peak);
}

static size_t bytes_of_orienting(int32_t width, int32_t height, size_t n)
{
    kb_workspace counting;
    kb_image image = {&counting, width, height, width, KB_GRAY8, 0};
    kbi_workspace_measure(&counting);
    assert_int_equal(kbi_orient_measure(&image, n, NULL, &counting), KB_OK);
    return kbi_workspace_total(counting.peak);
}

/* Regions of all sizes, in the middle, in the corners, outside, and some that are none. */
static void render_regions_of(kb_keypoint *k, int32_t width, int32_t height, uint64_t seed)
{
    float w = (float)width, h = (float)height;
    render_keypoints(k, REGIONS, width, height, 5, 60, seed);
    for (size_t i = 0; i < REGIONS; i++) {
        if (i % 7 == 0) k[i].size *= 8;
        if (i % 31 == 0) k[i].size = (float)(1 << i / 31 % 20);
        if (i % 11 == 0) k[i].y = i % 2 ? -0.5f : h - 1;
        if (i % 13 == 0) k[i].x = i % 2 ? -0.4f : w - 0.6f;
        if (i % 97 == 0) k[i].y = i % 2 ? h + 3 : -8;
        if (i % 101 == 0) k[i].size = i % 2 ? 0 : NAN;
    }
}

/* A workspace of just these bytes, so that the sanitizer sees its end. */
static kb_workspace *tight_workspace(size_t bytes, uint8_t **buffer)
{
    kb_workspace *ws;
    *buffer = malloc(bytes);
    assert_non_null(*buffer);
    assert_int_equal(kb_workspace_create_in(*buffer, bytes, &ws), KB_OK);
    return ws;
}

typedef struct described {
    uint8_t rows[REGIONS * 1024], flags[REGIONS]; /* rows of bytes, or floats, or patches, or octaves */
} described;

static kb_status describe_as(int output, const kb_model *model, const kb_image *image, const kb_keypoint *k, size_t n,
                             const kb_describe_options *o, kb_workspace *ws, described *to)
{
    memset(to, 0x5a, sizeof *to);
    if (output == 0) return kb_describe(model, image, k, n, o, ws, to->rows, to->flags);
    if (output == 1) return kb_sample_patches(image, k, n, o, ws, to->rows, to->flags);
    if (output == 2) return kb_sample_octaves(image, k, n, o, ws, to->rows, to->flags);
    return kb_describe_float(model, image, k, n, o, ws, (float *)(void *)to->rows, to->flags);
}

static void check_describing(const kb_model *model, const kb_image *image, const kb_keypoint *k, size_t n,
                             const kb_parallel *threads)
{
    static described a, b;
    kb_describe_options o;
    KB_INIT(o);
    o.scale = 1.3f;
    for (int output = 0; output < (model->row_floats ? 4 : 3); output++) {
        if (output == 2 && kbi_model_octaves(model) == 1) continue; /* not reserved for these models */
        uint8_t *buffer;
        kb_workspace *ws = tight_workspace(bytes_of_describing(model, image->width, image->height, n), &buffer);
        o.parallel = threads;
        assert_int_equal(describe_as(output, model, image, k, n, &o, NULL, &a), KB_OK);
        o.parallel = NULL;
        assert_int_equal(describe_as(output, model, image, k, n, &o, ws, &b), KB_OK);
        assert_memory_equal(&a, &b, sizeof a);
        kb_workspace_free(ws);
        free(buffer);
    }
}

static void check_orienting(const kb_image *image, const kb_keypoint *k, size_t n, const kb_parallel *threads)
{
    static kb_keypoint a[REGIONS], b[REGIONS];
    static float confidence[2][REGIONS];
    uint8_t *buffer;
    kb_orient_options o;
    kb_workspace *ws = tight_workspace(bytes_of_orienting(image->width, image->height, n), &buffer);
    KB_INIT(o);
    memcpy(a, k, n * sizeof *a);
    memcpy(b, k, n * sizeof *b);
    o.parallel = threads;
    assert_int_equal(kb_orient(image, a, n, &o, NULL, confidence[0]), KB_OK);
    o.parallel = NULL;
    assert_int_equal(kb_orient(image, b, n, &o, ws, confidence[1]), KB_OK);
    assert_memory_equal(a, b, n * sizeof *a);
    assert_memory_equal(confidence[0], confidence[1], n * sizeof **confidence);
    kb_workspace_free(ws);
    free(buffer);
}

static void test_regions(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{701, 1403}, {97, 5003}, {3001, 1100}, {200, 3001}, {1500, 1024}};
    static const size_t counts[] = {1, 300, REGIONS};
    static kb_keypoint k[REGIONS];
    kb_model *models[] = {render_box_model(KB_BAD, KB_SAMPLER_CELLS, 256, true, 1),
                          render_box_model(KB_BAG, KB_SAMPLER_OCTAVES, 128, true, 2), builtin_model("rootsift")};
    kb_pool *pool;
    assert_int_equal(kb_pool_create(2, &pool), KB_OK);
    for (size_t s = 0; s < KBI_COUNT(sizes); s++) {
        int32_t width = sizes[s][0], height = sizes[s][1];
        uint8_t *pixels = render_texture(width, height, 17 + s);
        kb_image image = view_of(pixels, width, height);
        render_regions_of(k, width, height, s);
        /* in bands, not with all of level 1 */
        assert_true(bytes_of_orienting(width, height, REGIONS) < (size_t)(width * 2 / 3) * (size_t)(height * 2 / 3));
        for (size_t m = 0; m < KBI_COUNT(models); m++)
            for (size_t c = 0; c < KBI_COUNT(counts); c++)
                check_describing(models[m], &image, k, counts[c], kb_pool_parallel(pool));
        check_orienting(&image, k, REGIONS, kb_pool_parallel(pool));
        free(pixels);
    }
    kb_pool_free(pool);
    for (size_t m = 0; m < KBI_COUNT(models); m++) kb_model_free(models[m]);
}

static void test_describing_grows_with_width(void **state)
{
    (void)state;
    kb_model *model = render_box_model(KB_BAG, KB_SAMPLER_OCTAVES, 256, true, 2);
    size_t low = bytes_of_describing(model, 6000, 4000, 2000), high = bytes_of_describing(model, 6000, 8000, 2000);
    assert_true(high < low + low / 20); /* the coarsest levels are lower than a ring, and become higher */
    assert_true(bytes_of_describing(model, 12000, 8334, 2000) < 6000000);
    for (int32_t height = 1; height < 2000; height += 13)
        for (int32_t width = 1; width < 2000; width += 111) {
            size_t bytes = bytes_of_describing(model, width, height, 200);
            assert_true(bytes <= bytes_of_describing(model, width, height + 5, 200));
            assert_true(bytes <= bytes_of_describing(model, width + 9, height, 200));
            assert_true(bytes <= bytes_of_describing(model, width, height, 208));
            bytes = bytes_of_orienting(width, height, 200);
            assert_true(bytes <= bytes_of_orienting(width, height + 5, 200));
            assert_true(bytes <= bytes_of_orienting(width + 9, height, 200));
        }
    kb_model_free(model);
}

/* All calls together. */
static void test_all_grow_with_width(void **state)
{
    (void)state;
    kb_model *model = render_box_model(KB_BAG, KB_SAMPLER_OCTAVES, 256, true, 2);
    kb_detect_options o = bands_options(2000);
    kb_workspace_limits limits;
    size_t bytes;
    KB_INIT(limits);
    limits.width = 12000;
    limits.height = 8334;
    limits.detect = &o;
    limits.model = model;
    assert_int_equal(kb_workspace_needed(&limits, &bytes), KB_OK);
    assert_true(bytes < 7000000);
    kb_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_formats),
                                       cmocka_unit_test(test_detection_grows_with_width),
                                       cmocka_unit_test(test_smaller_images_fit),
                                       cmocka_unit_test(test_regions),
                                       cmocka_unit_test(test_describing_grows_with_width),
                                       cmocka_unit_test(test_all_grow_with_width)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
