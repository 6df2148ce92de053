/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy cannot slip unseen: on rendered scenes, flat and solid, detectors repeat their keypoints, models match them,
 * and fits find the geometry, each at least as well as a floor says. The floors lie about a tenth below what is measured. Run
 * with a word as argument, the program prints what it measures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "eval/keypoints.h"
#include "eval/method.h"
#include "eval/places.h"
#include "eval/pose.h"
#include "eval/scale.h"
#include "learn/random.h"
#include "solid.h"
#include "../arrays.h"

enum { WIDTH = 480, HEIGHT = 360, KEYPOINTS = 500, BORDER = 16 };
enum { FLAT, SOLID, SCENES, PAIRS = 3 };

typedef struct view {
    solid_camera camera;
    io_image image;
} view;

/* Two views of a scene. */
typedef struct pair {
    solid_scene scene;
    int width, height;
    view views[2];
} pair;

static pair pairs[SCENES][PAIRS];
static bool tell;

static void view_render(const pair *p, view *v)
{
    int w = p->width, h = p->height;
    uint8_t *pixels = solid_render(&p->scene, &v->camera, w, h);
    v->image = (io_image){w, h, IO_GRAY8, pixels, {pixels, w, h, w, KB_FORMAT_GRAY8, 0}, {w, h, 1, 1, 0, 0}};
}

/* The second view moves aside, nearer and turns, more from pair to pair. */
static int render_pairs(void **state)
{
    const double start[3] = {-0.2, 0, 0};
    (void)state;
    for (int s = 0; s < SCENES; s++)
        for (int p = 0; p < PAIRS; p++) {
            const double step = s == FLAT ? 0.6 + 0.4 * p : 0.4 + 0.2 * p,
                         place[3] = {start[0] + step, 0.1, 0.3 * step};
            pair *both = &pairs[s][p];
            both->width = WIDTH;
            both->height = HEIGHT;
            both->scene = s == FLAT ? flat_scene((uint32_t)(11 + p)) : room_scene((uint32_t)(21 + p));
            for (int i = 0; i < 2; i++) {
                view *v = &both->views[i];
                v->camera = solid_camera_at(WIDTH, HEIGHT, 450, i ? place : start, i ? -12 * step : 0,
                                            s == FLAT ? 0 : 5, i ? 6.0 * p - 4 : 0);
                view_render(both, v);
            }
        }
    return 0;
}

static int free_pairs(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * SCENES * PAIRS; i++) io_image_free(&pairs[i / 2 / PAIRS][i / 2 % PAIRS].views[i % 2].image);
    return 0;
}

static void floor_is_kept(const char *what, int scene, double value, double floor)
{
    if (tell) printf("%-34s %-6s %7.3f, floor %.3f\n", what, scene == FLAT ? "flat" : "solid", value, floor);
    if (!(value >= floor))
        fail_msg("%s, %s scene: %.3f is below %.3f", what, scene == FLAT ? "flat" : "solid", value, floor);
}

static io_keypoints detected(kb_detector detector, const kb_image *image, int32_t most)
{
    const ev_keypoint_source source = {.detector = detector, .max_keypoints = most};
    io_keypoints out = {NULL, 0};
    io_error error;
    assert_true(ev_keypoints_load(&source, NULL, "rendered", image, 0, &out, &error));
    return out;
}

/* Where view 1 has what view 0 has at a keypoint; false when that is hidden, or not in the picture. */
static bool seen_again(const pair *p, const kb_keypoint *k, double *x, double *y)
{
    return solid_transfer(&p->scene, &p->views[0].camera, k->x, k->y, &p->views[1].camera, x, y) && *x >= BORDER &&
           *y >= BORDER && *x < p->width - BORDER && *y < p->height - BORDER;
}

/* -------------------------------------------------------------------------------------------------------- detectors */

/* Of the keypoints that view 1 shows too, the share with a keypoint within 2 px. */
static double repeated(kb_detector detector, const pair *p)
{
    io_keypoints a = detected(detector, &p->views[0].image.view, KEYPOINTS),
                 b = detected(detector, &p->views[1].image.view, KEYPOINTS);
    size_t seen = 0, found = 0;
    for (size_t i = 0; i < a.count; i++) {
        double x, y, nearest = INFINITY;
        if (!seen_again(p, &a.items[i], &x, &y)) continue;
        for (size_t j = 0; j < b.count; j++) nearest = fmin(nearest, hypot(b.items[j].x - x, b.items[j].y - y));
        seen++;
        found += nearest <= 2;
    }
    assert_true(seen >= 50);
    io_keypoints_free(&a);
    io_keypoints_free(&b);
    return (double)found / (double)seen;
}

static void detectors_repeat_their_keypoints(void **state)
{
    static const struct {
        kb_detector detector;
        double floor[SCENES];
    } floors[] = {{KB_DETECTOR_HESSIAN, {0.72, 0.64}}, {KB_DETECTOR_ORB, {0.5, 0.42}}, {KB_DETECTOR_SIFT, {0.65, 0.5}}};
    (void)state;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        for (int s = 0; s < SCENES; s++) {
            double mean = 0;
            for (int p = 0; p < PAIRS; p++) mean += repeated(floors[i].detector, &pairs[s][p]) / PAIRS;
            floor_is_kept(kb_name(KB_NAMES_DETECTOR, floors[i].detector), s, mean, floors[i].floor[s]);
        }
}

/* The keypoints of an image brought down by a scale, beside those of the image. */
static ev_scale_score follow(kb_detector detector, const io_image *image, double scale)
{
    const double both[2] = {scale, scale};
    const size_t size = (size_t)WIDTH * HEIGHT;
    io_keypoints large = detected(detector, &image->view, KEYPOINTS);
    io_image reduced = *image;
    reduced.view.data = reduced.pixels = memcpy(malloc(size), image->pixels, size);
    ev_image_resize(&reduced, (int32_t)(WIDTH / scale), (int32_t)(HEIGHT / scale));
    io_keypoints small = detected(detector, &reduced.view, KEYPOINTS);
    ev_scale_score score = ev_scale_compare(&large, &small, both);
    io_keypoints_free(&small);
    io_keypoints_free(&large);
    io_image_free(&reduced);
    return score;
}

/* Both shares of eval/scale.h for 1.5, 2 and 2.5; the sides divide by all of them. */
static void keypoints_follow_the_scale(void **state)
{
    static const struct {
        kb_detector detector;
        double repeated[EV_SCALES], sized;
    } floors[] = {{KB_DETECTOR_HESSIAN, {0.8, 0.77, 0.72}, 0.8},
                  {KB_DETECTOR_ORB, {0.8, 0.77, 0.71}, 0.82},
                  {KB_DETECTOR_SIFT, {0.67, 0.55, 0.51}, 0.9}};
    (void)state;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        for (int s = 0; s < EV_SCALES; s++) {
            ev_scale_score mean = {0, 0, 0};
            char what[64];
            for (int p = 0; p < PAIRS; p++) {
                ev_scale_score score = follow(floors[i].detector, &pairs[SOLID][p].views[0].image, ev_scales[s]);
                mean.repeated += score.repeated / PAIRS;
                mean.sized += score.sized / PAIRS;
            }
            snprintf(what, sizeof what, "%s, scale %g", kb_name(KB_NAMES_DETECTOR, floors[i].detector), ev_scales[s]);
            floor_is_kept(what, SOLID, mean.repeated, floors[i].repeated[s]);
            strcat(what, ", size");
            floor_is_kept(what, SOLID, mean.sized, floors[i].sized);
        }
}

/* ----------------------------------------------------------------------------------------------------------- models */

typedef struct matched {
    double precision, places; /* within 3 px */
    double geometry;          /* the share of pairs whose homography or pose is right */
} matched;

static double corner_error(const pair *p, const double h[9])
{
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double x = i % 2 ? p->width - 1 : 0, y = i / 2 ? p->height - 1 : 0, u = 0, v = 0, fx, fy;
        solid_transfer(&p->scene, &p->views[0].camera, x, y, &p->views[1].camera, &u, &v);
        kb_homography_apply(h, x, y, &fx, &fy);
        sum += hypot(fx - u, fy - v) / 4;
    }
    return sum;
}

static double pose_error(const pair *p, const kb_fit_report *fit)
{
    const solid_camera *a = &p->views[0].camera, *b = &p->views[1].camera;
    double r[9], t[3];
    for (int i = 0; i < 3; i++) {
        t[i] = b->t[i];
        for (int j = 0; j < 3; j++) {
            const double *x = &b->r[3 * i], *y = &a->r[3 * j];
            r[3 * i + j] = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
            t[i] -= r[3 * i + j] * a->t[j];
        }
    }
    return ev_pose_error(fit->rotation, fit->translation, r, t, false);
}

/* A homography within 3 px at the corners, a pose within 5 degrees. */
static bool geometry_is_right(const pair *p, bool flat, const kb_point_pair *points, const float *quality, size_t n)
{
    kb_fit_options options;
    kb_fit_report fit;
    KB_INIT(options);
    KB_INIT(fit);
    options.quality = quality;
    options.geometry = flat ? KB_GEOMETRY_HOMOGRAPHY : KB_GEOMETRY_ESSENTIAL;
    options.threshold = flat ? 3 : 1.5;
    options.camera1 = &p->views[0].camera.k;
    options.camera2 = &p->views[1].camera.k;
    assert_int_equal(kb_fit(points, n, &options, NULL, NULL, &fit, NULL), KB_OK);
    return fit.result == KB_FIT_FOUND && (flat ? corner_error(p, fit.model) < 3 : pose_error(p, &fit) < 5);
}

/* Adds what the mutual matches of two views are worth. */
static void match_pair(const ev_method *method, const char *detector, const pair *p, bool flat, const io_keypoints k[2],
                       matched *sum)
{
    io_rows rows[2];
    io_error error;
    size_t n = 0, count = 0;
    for (int i = 0; i < 2; i++)
        assert_true(
            ev_method_describe(method, &p->views[i].image.view, k[i].items, k[i].count, detector, &rows[i], &error));
    kb_match *matches = calloc(k[0].count + 1, sizeof *matches);
    kb_point_pair *points = calloc(k[0].count + 1, sizeof *points);
    float *quality = calloc(k[0].count + 1, sizeof *quality);
    uint8_t *right = calloc(k[0].count + 1, 1);
    assert_true(ev_rows_match(&rows[0], &rows[1], true, 0, NULL, matches, &n, &error));
    match_points(k[0].items, k[0].count, k[1].items, k[1].count, matches, n, points, quality);
    for (size_t i = 0; i < n; i++) {
        double x, y;
        right[i] = seen_again(p, &k[0].items[matches[i].a], &x, &y) && hypot(points[i].x2 - x, points[i].y2 - y) <= 3;
        count += right[i];
    }
    sum->precision += n ? (double)count / (double)n : 0;
    sum->places += (double)ev_places(points, quality, right, n);
    sum->geometry += geometry_is_right(p, flat, points, quality, n);
    free(right);
    free(quality);
    free(points);
    free(matches);
    for (int i = 0; i < 2; i++) io_rows_free(&rows[i]);
}

/* Means over pairs. */
static matched match_pairs(const char *name, kb_detector detector, const pair *some, int count, bool flat)
{
    matched sum = {0, 0, 0};
    kb_model *model = NULL;
    ev_method method;
    assert_int_equal(kb_model_builtin(name, NULL, &model), KB_OK);
    ev_method_of_model(&method, name, model);
    for (int p = 0; p < count; p++) {
        io_keypoints k[2];
        for (int i = 0; i < 2; i++) k[i] = detected(detector, &some[p].views[i].image.view, KEYPOINTS);
        match_pair(&method, kb_name(KB_NAMES_DETECTOR, detector), &some[p], flat, k, &sum);
        for (int i = 0; i < 2; i++) io_keypoints_free(&k[i]);
    }
    ev_method_free(&method);
    return (matched){sum.precision / count, sum.places / count, sum.geometry / count};
}

static void models_match_both_scenes(void **state)
{
    static const struct {
        const char *model;
        kb_detector detector;
        double precision[SCENES], places[SCENES];
    } floors[] = {{"bag256", KB_DETECTOR_HESSIAN, {0.8, 0.68}, {290, 210}},
                  {"bag512", KB_DETECTOR_HESSIAN, {0.8, 0.68}, {290, 215}},
                  {"bad256", KB_DETECTOR_HESSIAN, {0.8, 0.68}, {280, 200}},
                  {"bad512", KB_DETECTOR_HESSIAN, {0.8, 0.68}, {280, 205}},
                  {"hashsift256", KB_DETECTOR_HESSIAN, {0.8, 0.63}, {280, 190}},
                  {"hashsift512", KB_DETECTOR_HESSIAN, {0.8, 0.64}, {280, 195}},
                  {"bag256", KB_DETECTOR_ORB, {0.64, 0.48}, {175, 120}},
                  {"bag256", KB_DETECTOR_SIFT, {0.8, 0.68}, {205, 180}},
                  {"rootsift", KB_DETECTOR_SIFT, {0.8, 0.68}, {205, 175}}};
    (void)state;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++)
        for (int s = 0; s < SCENES; s++) {
            const char *detector = kb_name(KB_NAMES_DETECTOR, floors[i].detector);
            char what[64];
            matched m = match_pairs(floors[i].model, floors[i].detector, pairs[s], PAIRS, s == FLAT);
            snprintf(what, sizeof what, "%s on %s, precision", floors[i].model, detector);
            floor_is_kept(what, s, m.precision, floors[i].precision[s]);
            snprintf(what, sizeof what, "%s on %s, places", floors[i].model, detector);
            floor_is_kept(what, s, m.places, floors[i].places[s]);
            snprintf(what, sizeof what, "%s on %s, geometry", floors[i].model, detector);
            floor_is_kept(what, s, m.geometry, 0.99);
        }
}

/* ---------------------------------------------------------------------------------- what happens to photographs */

typedef struct change {
    const char *name;
    int width;    /* of both views; the height is three quarters of it */
    double zoom;  /* of the second view */
    double roll;  /* degrees */
    double noise; /* deviation, gray levels */
    double light; /* factor */
    double precision, places;
} change;

/* The flat scene from one place: both views are small, or the second is nearer, rolled, dark or full of noise. */
static void render_change(const change *c, pair *p)
{
    const double place[3] = {0, 0, 0};
    uint64_t random = 5;
    p->scene = flat_scene(31);
    p->width = c->width;
    p->height = c->width * 3 / 4;
    for (int i = 0; i < 2; i++) {
        double focal = 450.0 * c->width / WIDTH * (i ? c->zoom : 1);
        p->views[i].camera = solid_camera_at(p->width, p->height, focal, place, 0, 0, i ? c->roll : 0);
        view_render(p, &p->views[i]);
    }
    uint8_t *pixels = p->views[1].image.pixels;
    for (int i = 0; i < p->width * p->height; i++)
        pixels[i] = (uint8_t)fmin(255, fmax(0, c->light * pixels[i] + c->noise * kbi_random_normal(&random) + 0.5));
}

static void changes_of_the_second_view(void **state)
{
    static const change changes[] = {{"turned by 45 degrees", WIDTH, 1, 45, 0, 1, 0.78, 260},
                                     {"turned by 90 degrees", WIDTH, 1, 90, 0, 1, 0.78, 255},
                                     {"turned by 180 degrees", WIDTH, 1, 180, 0, 1, 0.82, 355},
                                     {"noise of 25", WIDTH, 1, 0, 25, 1, 0.7, 170},
                                     {"a quarter of the light", WIDTH, 1, 0, 0, 0.25, 0.84, 365},
                                     {"zoomed by 2", WIDTH, 2, 10, 1, 1, 0.37, 85},
                                     {"zoomed by 4", WIDTH, 4, 10, 1, 1, 0.085, 13},
                                     {"240 px wide", 240, 1.2, 10, 1, 1, 0.73, 240},
                                     {"160 px wide", 160, 1.2, 10, 1, 1, 0.6, 185},
                                     {"128 px wide", 128, 1.2, 10, 1, 1, 0.53, 114}};
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        pair p;
        char what[64];
        render_change(&changes[i], &p);
        matched m = match_pairs("bag256", KB_DETECTOR_HESSIAN, &p, 1, true);
        snprintf(what, sizeof what, "%s, precision", changes[i].name);
        floor_is_kept(what, FLAT, m.precision, changes[i].precision);
        snprintf(what, sizeof what, "%s, places", changes[i].name);
        floor_is_kept(what, FLAT, m.places, changes[i].places);
        for (int k = 0; k < 2; k++) io_image_free(&p.views[k].image);
    }
}

int main(int count, char **arguments)
{
    (void)arguments;
    tell = count > 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detectors_repeat_their_keypoints), cmocka_unit_test(keypoints_follow_the_scale),
        cmocka_unit_test(models_match_both_scenes), cmocka_unit_test(changes_of_the_second_view)};
    return cmocka_run_group_tests_name("floors", tests, render_pairs, free_pairs);
}
