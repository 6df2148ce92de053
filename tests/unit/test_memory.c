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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(orb_fits_4_mb), cmocka_unit_test(sift_fits_25_mb)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
