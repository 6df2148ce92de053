/* SPDX-License-Identifier: Apache-2.0 */
/* The table of detectors and its options. */
#include <math.h>

#include "detect/detectors.h"
#include "detected.h"
#include "../arrays.h"

#define DETECTORS 3 /* numbered from 1 */

static bool has_option(kb_detector detector, const char *name)
{
    for (const char *const *option = kb_detector_get_info(detector).options; *option; option++)
        if (strcmp(*option, name) == 0) return true;
    return false;
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(kb_detector_get_info((kb_detector)0).detector, KB_DETECTOR_HESSIAN);
    for (int32_t d = 1; d <= DETECTORS; d++) {
        kb_detector_info info = kb_detector_get_info((kb_detector)d);
        assert_int_equal(info.detector, d);
        assert_true(info.revision > 0);
        assert_true(kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, d)) > 0); /* its preset has its name */
    }
    for (int32_t none = -1; none <= DETECTORS + 1; none += DETECTORS + 2) {
        kb_detector_info info = kb_detector_get_info((kb_detector)none);
        assert_true(info.detector == 0 && info.revision == 0 && !info.options);
        assert_null(kb_name(KB_NAMES_DETECTOR, none));
    }
    assert_true(has_option(KB_DETECTOR_ORB, "levels") && !has_option(KB_DETECTOR_SIFT, "levels"));
}

static void assert_error(kb_detect_options o, kb_status status, const char *field, const char *text)
{
    static uint8_t p[64 * 64];
    kb_image image = view_of(p, 64, 64);
    kb_keypoint k[4];
    kb_error error;
    size_t n;
    assert_int_equal(detect_keypoints(&image, &o, NULL, k, 4, &n, &error), status);
    assert_string_equal(error.field, field);
    assert_string_equal(error.text, text);
    assert_int_equal(kb_detect(NULL, &o, NULL, NULL, &error), status);
    assert_string_equal(error.text, text);
    assert_int_equal(detect_keypoints(&image, &o, NULL, k, 4, &n, NULL), status);
}

/* The sentence of an error names the option, its value and its range. */
static void test_sentences(void **state)
{
    (void)state;
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.fast_threshold = 256;
    assert_error(o, KB_E_ARGUMENT, "fast_threshold", "fast_threshold is 256, but must be 1 to 255");
    o.fast_threshold = 0;
    o.fast_threshold_min = 21;
    assert_error(o, KB_E_ARGUMENT, "fast_threshold_min",
                 "fast_threshold_min is 21, above fast_threshold, which is 20");
    o = options_for(KB_DETECTOR_HESSIAN);
    o.hessian_threshold = NAN;
    assert_int_equal(kb_detect(NULL, &o, NULL, NULL, NULL), KB_E_ARGUMENT);
    o.hessian_threshold = 0.6f;
    assert_error(o, KB_E_ARGUMENT, "hessian_threshold", "hessian_threshold is 0.6, but must be 0.0001 to 0.5");
    o = options_for((kb_detector)77);
    assert_error(o, KB_E_UNKNOWN, "detector", "there is no detector 77");
    o = options_for(KB_DETECTOR_ORB);
    o.selection = (kb_selection)77;
    assert_error(o, KB_E_ARGUMENT, "selection", "there is no selection 77");
}

/* Every option of some detectors is refused by the others, also where its value is its default. */
static void test_options_of_another_detector(void **state)
{
    (void)state;
    kb_detect_options o = options_for(KB_DETECTOR_HESSIAN);
    o.fast_threshold = 20;
    assert_error(o, KB_E_ARGUMENT, "fast_threshold",
                 "fast_threshold belongs to detector orb, but the detector is hessian");
    o = options_for(KB_DETECTOR_SIFT);
    o.levels = 8;
    assert_error(o, KB_E_ARGUMENT, "levels", "levels belongs to detector hessian or orb, but the detector is sift");
    static const struct {
        size_t offset;
        const char *name;
        float value;
        bool is_float;
    } own[] = {
#define OWN(field, value, is_float) {offsetof(kb_detect_options, field), #field, value, is_float}
        OWN(levels, 3, false), OWN(every_level, 1, false), OWN(level_factor, 1.3f, true), OWN(second_angle, 1, false),
        OWN(whole_pixels, 1, false), OWN(fast_threshold, 30, false), OWN(fast_threshold_min, 5, false),
        OWN(cell_size, 40, false), OWN(layers, 4, false), OWN(contrast_threshold, 0.1f, true),
        OWN(edge_threshold, 20, true), OWN(sigma, 2, true), OWN(no_upsampling, 1, false),
        OWN(hessian_threshold, 0.01f, true)};
    for (int32_t d = 1; d <= DETECTORS; d++)
        for (size_t i = 0; i < KBI_COUNT(own); i++) {
            int32_t whole = (int32_t)own[i].value;
            o = options_for((kb_detector)d);
            memcpy((char *)&o + own[i].offset, own[i].is_float ? (const void *)&own[i].value : &whole, 4);
            assert_int_equal(kb_detect(NULL, &o, NULL, NULL, NULL),
                             has_option(o.detector, own[i].name) ? KB_OK : KB_E_ARGUMENT);
        }
}

/* Whatever else fails has a sentence too. */
static void test_other_errors(void **state)
{
    (void)state;
    static uint8_t p[64 * 64];
    kb_image image = view_of(p, 64, 64), small = view_of(p, 63, 64), bad = view_of(NULL, 64, 64);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    kb_keypoint k[4];
    kb_error error;
    size_t n;
    o.mask = &small;
    assert_int_equal(detect_keypoints(&image, &o, NULL, k, 4, &n, &error), KB_E_ARGUMENT);
    assert_string_equal(error.text, "the mask is not an 8-bit image of 64 x 64 px");
    assert_int_equal(detect_keypoints(&bad, NULL, NULL, k, 4, &n, &error), KB_E_IMAGE);
    assert_string_equal(error.text, kb_status_string(KB_E_IMAGE));
    o.struct_size = 1;
    assert_int_equal(detect_keypoints(&image, &o, NULL, k, 4, &n, &error), KB_E_STRUCT);
    assert_string_equal(error.field, "struct_size");
}

/* Whether a pixel that the mask hides lies nearer than the margin, in x and in y. */
static bool is_near_hidden(const uint8_t *mask, int32_t side, const kb_keypoint *k, int32_t margin)
{
    for (int32_t y = 0; y < side; y++)
        for (int32_t x = 0; x < side; x++)
            if (mask[y * side + x] == 0 && fabsf((float)x - k->x) < (float)margin &&
                fabsf((float)y - k->y) < (float)margin)
                return true;
    return false;
}

/* Every detector keeps the margin, in a workspace of the size that was asked for, and finds keypoints up to it. */
static void test_mask_margin(void **state)
{
    (void)state;
    enum { SIDE = 240, MARGIN = 12 };
    uint8_t *pixels = render_texture(SIDE, SIDE, 5), *mask = malloc(SIDE * SIDE);
    memset(mask, 1, SIDE * SIDE);
    for (int32_t y = 100; y < 140; y++) memset(mask + y * SIDE + 90, 0, 50);
    mask[20 * SIDE + 30] = mask[SIDE * SIDE - 1] = 0;
    kb_image image = view_of(pixels, SIDE, SIDE), mask_view = view_of(mask, SIDE, SIDE);
    for (int32_t d = 1; d <= DETECTORS; d++) {
        kb_detect_options o = options_for((kb_detector)d);
        o.mask = &mask_view;
        found *all = detect_view(&image, &o);
        o.mask_margin = MARGIN;
        found *inner = detect_view(&image, &o);
        size_t near = 0, beside = 0;
        for (size_t i = 0; i < all->n; i++) near += is_near_hidden(mask, SIDE, &all->k[i], MARGIN);
        for (size_t i = 0; i < inner->n; i++) {
            assert_false(is_near_hidden(mask, SIDE, &inner->k[i], MARGIN));
            beside += is_near_hidden(mask, SIDE, &inner->k[i], MARGIN + 4);
        }
        assert_true(near > 0 && beside > 0 && inner->n > 50);
        kb_workspace_limits limits;
        KB_INIT(limits);
        limits.width = limits.height = SIDE;
        limits.detect = &o;
        size_t needed, n;
        kb_workspace *ws;
        assert_int_equal(kb_workspace_reserve(NULL, &limits, &needed, NULL), KB_OK);
        void *memory = malloc(needed);
        assert_int_equal(kb_workspace_create_in(memory, needed, &ws), KB_OK);
        assert_int_equal(detect_keypoints(&image, &o, ws, all->k, MANY, &n, NULL), KB_OK);
        assert_int_equal(n, inner->n);
        assert_memory_equal(all->k, inner->k, n * sizeof *all->k);
        kb_workspace_free(ws);
        o.mask = NULL; /* a margin without a mask means nothing */
        assert_int_equal(detect_keypoints(&image, &o, NULL, all->k, MANY, &n, NULL), KB_OK);
        assert_true(n > inner->n);
        free(memory), free(all), free(inner);
    }
    free(pixels), free(mask);
}

/* The grown mask is what looking at every neighbour gives. */
static void test_mask_grows(void **state)
{
    (void)state;
    enum { W = 37, H = 29 };
    uint8_t mask[W * H];
    uint64_t seed = 3;
    kb_workspace *ws;
    assert_int_equal(kb_workspace_create(NULL, &ws), KB_OK);
    for (int round = 0; round < 60; round++) {
        int32_t margin = round % 15 == 14 ? 65535 : round % 15;
        for (int i = 0; i < W * H; i++) mask[i] = kbi_random_next(&seed) % (uint64_t)(4 + round * 20) != 0;
        kb_image view = view_of(mask, W, H), grown;
        assert_int_equal(kbi_mask_grow(&view, margin, ws, &grown), KB_OK);
        for (int32_t y = 0; y < H; y++)
            for (int32_t x = 0; x < W; x++) {
                bool allowed = true;
                for (int32_t v = 0; v < H; v++)
                    for (int32_t u = 0; u < W; u++)
                        if (!mask[v * W + u] && abs(u - x) <= margin && abs(v - y) <= margin) allowed = false;
                assert_int_equal(((const uint8_t *)grown.data)[y * W + x], allowed);
            }
        kbi_workspace_rewind(ws, 0);
    }
    kb_workspace_free(ws);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_options_of_another_detector),
        cmocka_unit_test(test_other_errors),
        cmocka_unit_test(test_mask_margin),
        cmocka_unit_test(test_mask_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
