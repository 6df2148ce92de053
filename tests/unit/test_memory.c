/* What a frame of 640 x 480 costs in memory: all of it is the workspace, since a call allocates nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/model.h"
#include "render.h"

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
    assert_int_equal(kb_workspace_create(&workspace), KB_OK);
    KB_INIT(options);
    options.detector = detector;
    options.max_keypoints = MOST;
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(kb_detect(&image, &options, workspace, keypoints, MOST, &count), KB_OK);
        assert_true(count > MOST / 2);
        assert_int_equal(kb_describe(model, &image, keypoints, count, NULL, workspace, rows, NULL), KB_OK);
        bytes = kb_workspace_bytes(workspace);
        if (pass == 0) first = bytes;
    }
    assert_int_equal(bytes, first);
    printf("%s and %s: %.2f MB\n", kb_detector_name(detector), kb_kind_name(model->spec.kind), (double)bytes / 1e6);
    kb_workspace_free(workspace);
    free(pixels);
    return bytes;
}

static void orb_fits_4_mb(void **state)
{
    (void)state;
    kb_model *models[] = {render_box_model(KB_BAD, KB_SAMPLER_PATCH, 512, true, 1),
                          render_box_model(KB_BAG, KB_SAMPLER_PATCH, 512, true, 2), render_hash_model(512, 3)};
    for (size_t i = 0; i < KBI_COUNT(models); i++) {
        assert_true(bytes_of_frame(KB_DETECTOR_ORB, models[i]) + WIDTH * HEIGHT < 4000000);
        kb_model_free(models[i]);
    }
}

/* Its octaves start at twice the image's size and keep a stack of 16-bit layers (docs/performance.md). */
static void sift_fits_25_mb(void **state)
{
    (void)state;
    kb_model *model = render_box_model(KB_BAD, KB_SAMPLER_PATCH, 256, true, 1);
    assert_true(bytes_of_frame(KB_DETECTOR_SIFT, model) < 25000000);
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
    enum { W = 400, H = 300, MANY = 300 };
    static kb_keypoint expected[MANY], found[MANY];
    uint8_t *pictures[] = {render_texture(W, H, 3), render_squares(W, H), render_noise(W, H, 4)};
    kb_pool *pool;
    assert_int_equal(kb_pool_create(7, &pool), KB_OK);
    for (size_t p = 0; p < KBI_COUNT(pictures); p++) {
        kb_image image = view_of(pictures[p], W, H);
        for (int c = 0; c < 2 * 4 * 2; c++) {
            kb_detect_options options;
            size_t n, count;
            KB_INIT(options);
            options.detector = c & 1 ? KB_DETECTOR_SIFT : KB_DETECTOR_ORB;
            options.selection = (kb_selection)(KB_SELECT_BEST + (c >> 1 & 3));
            options.max_keypoints = c >> 3 ? MANY : 5;
            options.contrast_threshold = 0.001f;
            assert_int_equal(kb_detect(&image, &options, NULL, expected, MANY, &n), KB_OK);
            assert_int_equal(n, options.max_keypoints);
            for (int way = 0; way < 2; way++) {
                options.low_memory = way;
                options.parallel = way ? NULL : kb_pool_parallel(pool);
                assert_int_equal(kb_detect(&image, &options, NULL, found, MANY, &count), KB_OK);
                assert_int_equal(count, n);
                assert_memory_equal(found, expected, n * sizeof *found);
            }
        }
        free(pictures[p]);
    }
    kb_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orb_fits_4_mb), cmocka_unit_test(sift_fits_25_mb),
                                       cmocka_unit_test(full_lists_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
