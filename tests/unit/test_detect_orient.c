/* SPDX-License-Identifier: Apache-2.0 */
/* src/detect: angles by both rules, second angles, places between pixels. */
#include "detect/detect.h"
#include "detected.h"
#include "../arrays.h"

static kb_orient_options orient_by(kb_orientation rule)
{
    kb_orient_options o;
    KB_INIT(o);
    o.orientation = rule;
    return o;
}

static void test_orient_by_centroid(void **state)
{
    (void)state;
    uint8_t *p = render_rectangle(200, 200, 60, 60, 199, 199);
    kb_image image = view_of(p, 200, 200);
    kb_keypoint k[] = {{60, 60, 31, -1, 0, 0, -1},  {60, 120, 21.5f, 77, 0, 0, -1}, {0, 0, 31, 5, 0, 0, -1},
                       {NAN, 60, 31, 5, 0, 0, -1},  {60, 60, -3, 5, 0, 0, -1},      {500, 60, 31, 5, 0, 0, -1},
                       {100, 100, 9000, 5, 0, 0, -1}, {60.3f, 60, INFINITY, 5, 0, 0, -1}, {60, 60, 0.5f, 5, 0, 0, -1}};
    kb_orient_options o = orient_by(KB_ORIENTATION_CENTROID);
    assert_int_equal(orient_keypoints(&image, k, KBI_COUNT(k), &o, NULL, NULL), KB_OK);
    assert_true(angle_between(k[0].angle, 45) < 2);
    assert_true(angle_between(k[1].angle, 0) < 2);
    assert_true(angle_between(k[2].angle, 45) < 2); /* only the part inside the image counts */
    for (int i = 3; i < 6; i++) assert_true(k[i].angle == -1);
    assert_true(k[6].angle >= 0 && k[7].angle == -1 && k[8].angle == 0);
    free(p);
}

/* A ramp has one direction, whatever its angle. */
static void test_orient_by_gradient(void **state)
{
    (void)state;
    enum { SIDE = 160 };
    static const kb_keypoint usual = {80, 80, 31, 5, 0, 0, -1};
    kb_keypoint k[] = {usual, {80, 80, 90, 5, 0, 0, -1}, {80, 80, 16, 5, 0, 0, -1}, {3, 150, 31, 5, 0, 0, -1},
                       {NAN, 60, 31, 5, 0, 0, -1}, {60, 60, -3, 5, 0, 0, -1}, {500, 60, 31, 5, 0, 0, -1}};
    float confidence[KBI_COUNT(k)];
    uint8_t *p = malloc(SIDE * SIDE);
    kb_image image = view_of(p, SIDE, SIDE);
    for (int angle = 0; angle < 360; angle += 7) {
        double sine, cosine;
        kbi_sincos_degrees(angle, &sine, &cosine);
        for (int i = 0; i < SIDE * SIDE; i++)
            p[i] = (uint8_t)(128 + 1.1 * (cosine * (i % SIDE - SIDE / 2) + sine * (i / SIDE - SIDE / 2)));
        assert_int_equal(orient_keypoints(&image, k, KBI_COUNT(k), NULL, NULL, confidence), KB_OK);
        for (int i = 0; i < 3; i++) assert_true(angle_between(k[i].angle, angle) < 3);
        assert_true(k[3].angle >= 0); /* at the border, which is repeated */
        for (int i = 4; i < 7; i++) assert_true(k[i].angle == -1 && confidence[i] == 0);
        assert_true(confidence[0] > 0.9);
    }
    /* a bar has two opposite ones */
    memset(p, 50, SIDE * SIDE);
    for (int y = 0; y < SIDE; y++) memset(p + y * SIDE + 76, 200, 9);
    k[0] = usual;
    assert_int_equal(orient_keypoints(&image, k, 1, NULL, NULL, confidence), KB_OK);
    assert_true(confidence[0] < 0.35);
    memset(p, 50, SIDE * SIDE);
    assert_int_equal(orient_keypoints(&image, k, 1, NULL, NULL, confidence), KB_OK);
    assert_true(k[0].angle == 0 && confidence[0] == 0); /* flat */
    free(p);
}

/* Away from the border kb_orient finds nearly the angles of the detector, though in the sampler's pyramid. */
static void test_orient_agrees_with_the_detector(void **state)
{
    (void)state;
    uint8_t *p = render_texture(240, 240, 77);
    kb_image image = view_of(p, 240, 240);
    for (int rule = KB_ORIENTATION_GRADIENT; rule <= KB_ORIENTATION_CENTROID; rule++) {
        kb_detect_options o = options_for(KB_DETECTOR_ORB);
        o.orientation = (kb_orientation)rule;
        o.whole_pixels = 1; /* where the detector's angle belongs */
        found *a = detect_view(&image, &o), *again = malloc(sizeof *again);
        kb_orient_options by = orient_by((kb_orientation)rule);
        size_t near = 0, inside = 0;
        memcpy(again, a, sizeof *a);
        assert_int_equal(orient_keypoints(&image, again->k, again->n, &by, NULL, NULL), KB_OK);
        for (size_t i = 0; i < a->n; i++) {
            const kb_keypoint *k = &a->k[i];
            if (k->x < k->size || k->y < k->size || k->x > 240 - k->size || k->y > 240 - k->size) continue;
            near += angle_between(k->angle, again->k[i].angle) < 8;
            inside++;
        }
        assert_true(inside > 50 && near > inside * 8 / 10);
        free(a), free(again);
    }
    free(p);
}

/* Half the size of a texture by means over 4x4 pixels, from column and row `from` on. */
static uint8_t *halve_texture(const uint8_t *p, int32_t width, int32_t side, int32_t from)
{
    uint8_t *half = malloc((size_t)side * (size_t)side);
    assert_non_null(half);
    for (int32_t y = 0; y < side; y++)
        for (int32_t x = 0; x < side; x++) {
            int32_t sum = 8;
            for (int32_t i = 0; i < 16; i++) sum += p[(2 * y + from + i / 4) * width + 2 * x + from + i % 4];
            half[y * side + x] = (uint8_t)(sum >> 4);
        }
    return half;
}

/* The mean square error of level 0 when the picture moves by half a pixel. */
static double half_pixel_error(kb_image images[2], int32_t whole_pixels)
{
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.whole_pixels = whole_pixels;
    o.levels = 1;
    found *a = detect_view(&images[0], &o), *b = detect_view(&images[1], &o);
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < a->n; i++) {
        const kb_keypoint *k = nearest_to(b, a->k[i].x - 0.5f, a->k[i].y - 0.5f, 30, 32, 1.5);
        if (!k) continue;
        double dx = (double)(k->x - a->k[i].x) + 0.5, dy = (double)(k->y - a->k[i].y) + 0.5;
        sum += dx * dx + dy * dy;
        count++;
    }
    assert_true(count > 100 && count > a->n / 2);
    free(a), free(b);
    return sum / (double)count;
}

static void test_subpixel_follows_shifts(void **state)
{
    (void)state;
    const int32_t side = 300;
    uint8_t *p = render_texture(2 * side + 3, 2 * side + 3, 17), *half[2];
    kb_image images[2];
    for (int i = 0; i < 2; i++) {
        half[i] = halve_texture(p, 2 * side + 3, side, i);
        images[i] = view_of(half[i], side, side);
    }
    double whole = half_pixel_error(images, 1), fine = half_pixel_error(images, 0);
    assert_true(whole > 0.4); /* at best half a pixel in both directions */
    assert_true(fine < 0.6 * whole);
    free(half[0]), free(half[1]), free(p);
}

/* With second_angle there are more keypoints of the same places, in order, and no more than asked for. */
static void check_second_angle(kb_detector detector)
{
    uint8_t *p = render_texture(240, 230, 8);
    kb_image image = view_of(p, 240, 230);
    kb_detect_options o = options_for(detector);
    found *single = detect_view(&image, &o);
    o.second_angle = 1;
    found *both = detect_view(&image, &o);
    assert_true(both->n > single->n);
    for (size_t i = 1; i < both->n; i++) assert_true(kbi_keypoint_before(&both->k[i - 1], &both->k[i]));
    size_t twice = 0, known = 0;
    for (size_t i = 0; i < both->n; i++) {
        assert_int_equal(both->k[i].class_id, -1);
        twice += i > 0 && both->k[i].x == both->k[i - 1].x && both->k[i].y == both->k[i - 1].y &&
                 both->k[i].size == both->k[i - 1].size;
        for (size_t j = 0; j < single->n; j++) known += memcmp(&both->k[i], &single->k[j], sizeof *both->k) == 0;
    }
    assert_int_equal(twice, both->n - single->n);
    assert_int_equal(known, single->n);
    for (int32_t n = 1; n < 40; n++) {
        o.max_keypoints = n;
        found *few = detect_view(&image, &o);
        assert_int_equal(few->n, n);
        for (int32_t i = 1; i < n; i++) assert_true(kbi_keypoint_before(&few->k[i - 1], &few->k[i]));
        free(few);
    }
    free(single), free(both), free(p);
}

static void test_second_angle(void **state)
{
    (void)state;
    check_second_angle(KB_DETECTOR_ORB);
    check_second_angle(KB_DETECTOR_HESSIAN);
}

static void test_orient_wrong_arguments(void **state)
{
    (void)state;
    static uint8_t p[100 * 100];
    kb_image image = view_of(p, 100, 100);
    kb_keypoint k = {50, 50, 31, 5, 0, 0, -1};
    kb_orient_options o = orient_by((kb_orientation)4);
    assert_int_equal(orient_keypoints(&image, &k, 1, &o, NULL, NULL), KB_E_ARGUMENT);
    o = orient_by(KB_ORIENTATION_NONE);
    assert_int_equal(orient_keypoints(&image, &k, 1, &o, NULL, NULL), KB_OK);
    assert_true(k.angle == -1);
    o.scale = NAN;
    assert_int_equal(orient_keypoints(&image, &k, 1, &o, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(orient_keypoints(&image, NULL, 0, NULL, NULL, NULL), KB_OK);
    assert_int_equal(orient_keypoints(&image, NULL, 1, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(orient_keypoints(NULL, &k, 1, NULL, NULL, NULL), KB_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orient_by_centroid),
        cmocka_unit_test(test_orient_by_gradient),
        cmocka_unit_test(test_orient_agrees_with_the_detector),
        cmocka_unit_test(test_subpixel_follows_shifts),
        cmocka_unit_test(test_second_angle),
        cmocka_unit_test(test_orient_wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
