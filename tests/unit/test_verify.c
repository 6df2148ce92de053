/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two images show one scene, by kept features: facades with equal windows, unrelated texture, one plane, one solid
 * scene. KEYBITS_SLOW=1 renders ten times as many facades. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "eval/facade.h"
#include "keybits/index.h"
#include "render.h"
#include "solid.h"
#include "../arrays.h"

#define MOST 2000
#define ROW 32

typedef struct picture {
    kb_keypoint keypoints[MOST];
    uint8_t rows[MOST * ROW], upright[MOST * ROW];
    kb_features view;
} picture;

static kb_model *model;

/* The rows of the keypoints without their angles. */
static void describe_upright(picture *p, const kb_image *image)
{
    kb_keypoint keypoints[MOST];
    for (size_t i = 0; i < p->view.n; i++) {
        keypoints[i] = p->keypoints[i];
        keypoints[i].angle = -1;
    }
    assert_int_equal(describe_keypoints(model, image, keypoints, p->view.n, NULL, NULL, p->upright, NULL), KB_OK);
}

/* Describes pixels, which are freed. */
static picture *describe(uint8_t *pixels, int32_t width, int32_t height)
{
    picture *p = calloc(1, sizeof *p);
    kb_image image = {.data = pixels, .width = width, .height = height, .stride = width, .format = KB_FORMAT_GRAY8};
    kb_detect_options detect;
    KB_INIT(detect);
    KB_INIT(p->view);
    assert_non_null(pixels);
    assert_int_equal(detect_and_describe(model, &image, &detect, NULL, NULL, p->keypoints, MOST, p->rows, NULL,
                                            &p->view.n, NULL), KB_OK);
    p->view.rows = p->rows;
    p->view.row_bytes = ROW;
    p->view.keypoints = p->keypoints;
    describe_upright(p, &image);
    free(pixels);
    return p;
}

static kb_verification verify(const picture *a, const picture *b, const kb_verify_options *o)
{
    kb_match matches[MOST];
    uint8_t inliers[MOST];
    kb_verification v;
    kb_error error;
    KB_INIT(v);
    assert_int_equal(kb_pair_verify(&a->view, &b->view, o, NULL, matches, inliers, &v, &error), KB_OK);
    int32_t sum = 0;
    for (size_t i = 0; i < v.count; i++) {
        assert_true(inliers[i] <= 1 && (size_t)matches[i].a < a->view.n && (size_t)matches[i].b < b->view.n);
        sum += inliers[i];
    }
    assert_int_equal(sum, v.inliers);
    assert_true(v.count <= v.candidates && (v.verified == 1) == (v.places > 0) && (v.verified == 1) == (v.inliers > 0));
    return v;
}

/* By both kinds of rows. */
static kb_verification verify_both(const picture *a, const picture *b)
{
    kb_verify_options o;
    KB_INIT(o);
    o.upright_a = a->upright;
    o.upright_b = b->upright;
    return verify(a, b, &o);
}

/* Two views of each facade are one scene; views of different facades with the same windows are none. */
static void test_facades(void **state)
{
    enum { FEW = 8 };
    const bool slow = getenv("KEYBITS_SLOW") && atoi(getenv("KEYBITS_SLOW"));
    const uint32_t n = slow ? 21 : FEW;
    picture *views[21][2];
    uint32_t wrong = 0, same = 0;
    (void)state;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < 2; k++) {
            facade f = facade_make(100 + i);
            views[i][k] = describe(facade_render(&f, 500 + 2 * i + k), FACADE_WIDTH, FACADE_HEIGHT);
        }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i; k < n; k++) {
            kb_verification v = verify_both(views[i][0], views[k][1]);
            if (i == k) same += (uint32_t)v.verified;
            else wrong += (uint32_t)v.verified;
        }
    for (uint32_t i = 0; i < n; i++) free(views[i][0]), free(views[i][1]);
    assert_int_equal(wrong, 0);
    assert_int_equal(same, n);
}

/* Of all pairs of forty facades these two came nearest to being one scene: a tenth of their matches fits a homography,
 * and a third of those are distinct. */
static void test_the_nearest_facades(void **state)
{
    static const uint32_t pairs[][2] = {{2, 29}, {5, 21}};
    (void)state;
    for (size_t i = 0; i < KBI_COUNT(pairs); i++) {
        picture *views[2];
        for (uint32_t k = 0; k < 2; k++) {
            facade f = facade_make(1000 + pairs[i][k]);
            views[k] = describe(facade_render(&f, 5000 + 2 * pairs[i][k] + k), FACADE_WIDTH, FACADE_HEIGHT);
        }
        assert_int_equal(verify_both(views[0], views[1]).verified, 0);
        free(views[0]), free(views[1]);
    }
}

/* The test of facades would mean nothing if their windows did not fit each other: many do, as a geometry. */
static void test_windows_fit(void **state)
{
    kb_match matches[MOST];
    kb_point_pair points[MOST];
    float quality[MOST];
    int32_t fitted = 0;
    (void)state;
    for (uint32_t i = 0; i < 6; i++) {
        facade f = facade_make(100 + i), g = facade_make(101 + i);
        picture *a = describe(facade_render(&f, 1), FACADE_WIDTH, FACADE_HEIGHT);
        picture *b = describe(facade_render(&g, 2), FACADE_WIDTH, FACADE_HEIGHT);
        kb_fit_options o;
        kb_fit_report report;
        size_t n, kept;
        KB_INIT(o);
        KB_INIT(report);
        assert_int_equal(match_rows(a->rows, a->view.n, b->rows, b->view.n, ROW, NULL, NULL, matches, &n), KB_OK);
        assert_int_equal(filter_matches(a->keypoints, a->view.n, b->keypoints, b->view.n, matches, n, NULL, NULL, matches, &kept),
                         KB_OK);
        match_points(a->keypoints, a->view.n, b->keypoints, b->view.n, matches, kept, points, quality);
        o.geometry = KB_GEOMETRY_FUNDAMENTAL;
        o.threshold = 1.5;
        o.quality = quality;
        o.candidates = n;
        o.looks = 1000000;
        assert_int_equal(kb_fit(points, kept, &o, NULL, NULL, &report, NULL), KB_OK);
        fitted += report.result == KB_FIT_FOUND;
        free(a), free(b);
    }
    assert_true(fitted >= 3);
}

static void test_unrelated(void **state)
{
    picture *p[6];
    (void)state;
    for (uint64_t i = 0; i < 6; i++) p[i] = describe(render_texture(400, 300, 11 + i), 400, 300);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < i; k++) assert_int_equal(verify_both(p[i], p[k]).verified, 0);
    for (int i = 0; i < 6; i++) assert_int_equal(verify(p[i], p[i], NULL).geometry, KB_GEOMETRY_HOMOGRAPHY);
    for (int i = 0; i < 6; i++) free(p[i]);
}

static kb_verification verify_room(solid_scene scene, const double place[3], double yaw, bool cameras)
{
    enum { WIDTH = 480, HEIGHT = 360 };
    const double start[3] = {0, 0, 0};
    solid_camera first = solid_camera_at(WIDTH, HEIGHT, 450, start, 0, 0, 0);
    solid_camera second = solid_camera_at(WIDTH, HEIGHT, 450, place, yaw, 0, 0);
    picture *a = describe(solid_render(&scene, &first, WIDTH, HEIGHT), WIDTH, HEIGHT);
    picture *b = describe(solid_render(&scene, &second, WIDTH, HEIGHT), WIDTH, HEIGHT);
    kb_verify_options o;
    KB_INIT(o);
    if (cameras) o.camera_a = &first.k, o.camera_b = &second.k;
    kb_verification v = verify(a, b, &o);
    free(a), free(b);
    return v;
}

/* The geometry is what the scene and the camera's motion ask for. */
static void test_geometries(void **state)
{
    const double aside[3] = {0.5, 0, 0.1}, start[3] = {0, 0, 0};
    (void)state;
    assert_int_equal(verify_room(room_scene(5), aside, -3, false).geometry, KB_GEOMETRY_FUNDAMENTAL);
    kb_verification v = verify_room(room_scene(5), aside, -3, true);
    assert_int_equal(v.geometry, KB_GEOMETRY_ESSENTIAL);
    assert_true(fabs(v.translation[0]) > 0.9 && v.rotation[0] > 0.99);
    assert_int_equal(verify_room(flat_scene(6), aside, -3, false).geometry, KB_GEOMETRY_HOMOGRAPHY);
    assert_int_equal(verify_room(flat_scene(6), aside, -3, true).geometry, KB_GEOMETRY_HOMOGRAPHY);
    assert_int_equal(verify_room(room_scene(5), start, 8, true).geometry, KB_GEOMETRY_ROTATION);
    assert_int_equal(verify_room(room_scene(5), start, 8, false).geometry, KB_GEOMETRY_HOMOGRAPHY);
}

/* Upright rows find more where the camera does not roll, oriented ones where it does; with both, a pair has the better
 * result, which is that of these rows alone. */
static void test_both_rows(void **state)
{
    enum { WIDTH = 480, HEIGHT = 360 };
    const double start[3] = {0, 0, 0}, aside[3] = {0.7, 0, 0.1}, rolls[2] = {0, 70};
    solid_scene scene = room_scene(5);
    solid_camera first = solid_camera_at(WIDTH, HEIGHT, 450, start, 0, 0, 0);
    picture *a = describe(solid_render(&scene, &first, WIDTH, HEIGHT), WIDTH, HEIGHT);
    (void)state;
    for (int i = 0; i < 2; i++) {
        solid_camera second = solid_camera_at(WIDTH, HEIGHT, 450, aside, -4, 0, rolls[i]);
        picture *b = describe(solid_render(&scene, &second, WIDTH, HEIGHT), WIDTH, HEIGHT);
        picture *c = calloc(1, sizeof *c), *d = calloc(1, sizeof *d); /* with upright rows alone */
        *c = *a, *d = *b;
        for (size_t k = 0; k < c->view.n; k++) c->keypoints[k].angle = -1;
        for (size_t k = 0; k < d->view.n; k++) d->keypoints[k].angle = -1;
        c->view.keypoints = c->keypoints, c->view.rows = c->upright, c->view.upright = 1;
        d->view.keypoints = d->keypoints, d->view.rows = d->upright, d->view.upright = 1;
        kb_verification oriented = verify(a, b, NULL), upright = verify(c, d, NULL), both = verify_both(a, b);
        assert_int_equal(oriented.look, KB_LOOK_ORIENTED);
        assert_int_equal(upright.look, KB_LOOK_UPRIGHT);
        assert_int_equal(both.look, i == 0 ? KB_LOOK_UPRIGHT : KB_LOOK_ORIENTED);
        assert_int_equal(both.places, i == 0 ? upright.places : oriented.places);
        assert_int_equal(both.count, i == 0 ? upright.count : oriented.count);
        assert_true(i == 0 ? upright.places > oriented.places : oriented.verified && !upright.verified);
        free(b), free(c), free(d);
    }
    free(a);
}

static void test_arguments(void **state)
{
    picture *p = describe(render_texture(200, 150, 3), 200, 150), *q = calloc(1, sizeof *q);
    kb_match matches[MOST];
    uint8_t inliers[MOST];
    kb_verification v;
    kb_error error;
    kb_features other = p->view;
    (void)state;
    KB_INIT(v);
    KB_INIT(q->view);
    q->view.row_bytes = ROW;
    assert_int_equal(verify(p, q, NULL).verified, 0); /* without keypoints */
    assert_int_equal(verify(q, p, NULL).verified, 0);
    other.row_bytes = 16;
    assert_int_equal(kb_pair_verify(&p->view, &other, NULL, NULL, matches, inliers, &v, &error), KB_E_MODEL);
    assert_non_null(strstr(error.text, "16 bytes"));
    other = p->view;
    other.model_id = 1;
    p->view.model_id = 2;
    assert_int_equal(kb_pair_verify(&p->view, &other, NULL, NULL, matches, inliers, &v, &error), KB_E_MODEL);
    other.keypoints = NULL;
    other.model_id = 2;
    assert_int_equal(kb_pair_verify(&p->view, &other, NULL, NULL, matches, inliers, &v, &error), KB_E_ARGUMENT);
    kb_verify_options o;
    KB_INIT(o);
    o.min_places = MOST + 1;
    assert_int_equal(verify(p, p, &o).verified, 0);
    o.min_places = 0;
    o.upright_a = p->upright;
    assert_int_equal(kb_pair_verify(&p->view, &p->view, &o, NULL, matches, inliers, &v, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "upright_b");
    o.upright_b = p->upright;
    p->view.upright = 1;
    assert_int_equal(kb_pair_verify(&p->view, &p->view, &o, NULL, matches, inliers, &v, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "upright already"));
    p->view.upright = 0;
    o.struct_size = 3;
    assert_int_equal(kb_pair_verify(&p->view, &p->view, &o, NULL, matches, inliers, &v, NULL), KB_E_STRUCT);
    free(p), free(q);
}

static int set_up(void **state)
{
    (void)state;
    return kb_model_builtin("bag256", NULL, &model) == KB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    kb_model_free(model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_facades), cmocka_unit_test(test_the_nearest_facades),
                                       cmocka_unit_test(test_windows_fit),
                                       cmocka_unit_test(test_unrelated),
                                       cmocka_unit_test(test_geometries), cmocka_unit_test(test_both_rows),
                                       cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
