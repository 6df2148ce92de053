/* SPDX-License-Identifier: Apache-2.0 */
/* kb_match_images: which look gives the result, what is found and what is not, limits, options, threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../arrays.h"
#include "fit/fit.h"
#include "pair/pair.h"
#include "render.h"
#include "solid.h"

enum { WIDTH = 400, HEIGHT = 320, ROOM = 1000 };
enum { ANGLES = KB_LOOK_UPRIGHT | KB_LOOK_ORIENTED | KB_LOOK_ROTATED }; /* looks that find a geometry */
static const double START[3] = {0, 0, 0}, ASIDE[3] = {0.5, 0.1, 0.3};

static const kb_model *model;

typedef struct outcome {
    kb_keypoint a[ROOM], b[ROOM];
    kb_match matches[ROOM];
    uint8_t inliers[ROOM];
    kb_fit_report fit;
    kb_features fa, fb;
    kb_pair pair;
} outcome;

static void outcome_init(outcome *o)
{
    memset(o, 0, sizeof *o);
    KB_INIT(o->fit);
    KB_INIT(o->pair);
    o->fa = arrays_features(o->a, NULL, 0, 0);
    o->fb = arrays_features(o->b, NULL, 0, 0);
    o->fa.capacity = o->fb.capacity = ROOM;
    o->pair.a = &o->fa;
    o->pair.b = &o->fb;
    o->pair.matches = o->matches;
    o->pair.inliers = o->inliers;
    o->pair.fit = &o->fit;
}

static kb_image render(const solid_scene *scene, const solid_camera *camera)
{
    return view_of(solid_render(scene, camera, WIDTH, HEIGHT), WIDTH, HEIGHT);
}

static void release(const kb_image *image) { free((void *)(uintptr_t)image->data); }

/* Two views of a scene, the second from ASIDE and with a roll. */
typedef struct views {
    solid_scene scene;
    solid_camera cameras[2];
    kb_image images[2];
} views;

static views views_of(solid_scene scene, double roll)
{
    views v = {.scene = scene};
    v.cameras[0] = solid_camera_at(WIDTH, HEIGHT, 350, START, 0, 0, 0);
    v.cameras[1] = solid_camera_at(WIDTH, HEIGHT, 350, ASIDE, -5, 2, roll);
    for (int i = 0; i < 2; i++) v.images[i] = render(&scene, &v.cameras[i]);
    return v;
}

static void views_free(views *v)
{
    for (int i = 0; i < 2; i++) release(&v->images[i]);
}

static void match_views(const views *v, kb_geometry geometry, int32_t looks, outcome *o)
{
    kb_pair_options options;
    kb_fit_options fit;
    KB_INIT(options);
    KB_INIT(fit);
    fit.geometry = geometry;
    fit.camera1 = &v->cameras[0].k;
    options.fit = &fit;
    options.looks = looks;
    outcome_init(o);
    assert_int_equal(kb_match_images(model, &v->images[0], &v->images[1], &options, NULL, &o->pair, NULL), KB_OK);
}

/* The inliers are where the scene says; most of them at least, since epipolar lines let others pass. */
static void assert_right(const views *v, const outcome *o, double least_share)
{
    size_t right = 0, inliers = 0;
    for (size_t i = 0; i < o->pair.count; i++) {
        double x, y;
        const kb_keypoint *p = &o->a[o->matches[i].a], *q = &o->b[o->matches[i].b];
        if (!o->inliers[i]) continue;
        inliers++;
        if (!solid_transfer(&v->scene, &v->cameras[0], p->x, p->y, &v->cameras[1], &x, &y)) continue;
        right += hypot(q->x - x, q->y - y) < 3;
    }
    assert_int_equal(inliers, o->fit.inliers);
    assert_true((double)right >= least_share * (double)inliers);
}

static double roll_error(const outcome *o, double roll)
{
    return fabs(remainder((double)o->pair.rotation - roll, 360));
}

static void an_upright_pair_takes_one_look(void **state)
{
    outcome o;
    views v = views_of(flat_scene(3), 0);
    (void)state;
    match_views(&v, KB_GEOMETRY_HOMOGRAPHY, ANGLES, &o);
    assert_int_equal(o.fit.result, KB_FIT_FOUND);
    assert_int_equal(o.pair.look, KB_LOOK_UPRIGHT);
    assert_int_equal(o.pair.looks, 1);
    assert_true(o.pair.rotation == 0);
    assert_true(o.pair.candidates >= o.pair.count);
    assert_true(o.fit.places > 100);
    for (size_t i = 0; i < o.fa.n; i++) assert_true(o.a[i].angle == -1);
    assert_right(&v, &o, 0.95);
    views_free(&v);
}

/* Upright rows find nothing there, and the rotation of the pair gives more places than angles per keypoint. */
static void a_turned_pair_needs_angles(void **state)
{
    static const double rolls[] = {90, 137, 180, 250};
    outcome o, oriented, upright;
    int skipped = 0;
    (void)state;
    for (size_t k = 0; k < KBI_COUNT(rolls); k++) {
        views v = views_of(k % 2 ? room_scene(5) : flat_scene(5), rolls[k]);
        kb_geometry geometry = k % 2 ? KB_GEOMETRY_ESSENTIAL : KB_GEOMETRY_HOMOGRAPHY;
        match_views(&v, geometry, KB_LOOK_UPRIGHT, &upright);
        assert_int_not_equal(upright.fit.result, KB_FIT_FOUND);
        match_views(&v, geometry, KB_LOOK_UPRIGHT | KB_LOOK_ORIENTED, &oriented);
        assert_int_equal(oriented.fit.result, KB_FIT_FOUND);
        assert_int_equal(oriented.pair.look, KB_LOOK_ORIENTED);
        skipped += oriented.pair.looks == 1; /* the strongest keypoints show that upright is no use */
        match_views(&v, geometry, ANGLES, &o);
        assert_int_equal(o.fit.result, KB_FIT_FOUND);
        assert_int_equal(o.pair.look, KB_LOOK_ROTATED);
        assert_int_equal(o.pair.looks, oriented.pair.looks + 1);
        assert_true(roll_error(&o, rolls[k]) < 5);
        assert_true(o.fit.places > oriented.fit.places);
        for (size_t i = 0; i < o.fb.n; i++) assert_true(o.b[i].angle == o.pair.rotation);
        assert_right(&v, &o, 0.9);
        views_free(&v);
    }
    assert_true(skipped >= 2);
}

/* Angles are the detector's own: the look is what detecting, describing and matching one after the other give. */
static void an_oriented_look_is_detect_describe_match(void **state)
{
    static const kb_detector detectors[] = {KB_DETECTOR_HESSIAN, KB_DETECTOR_ORB};
    static outcome o;
    static kb_keypoint keypoints[2][ROOM];
    static uint8_t rows[2][ROOM * KB_MAX_BITS / 8];
    static kb_match matches[ROOM];
    (void)state;
    for (size_t d = 0; d < 2; d++) {
        views v = views_of(flat_scene(5), 120);
        kb_pair_options options;
        kb_detect_options detect;
        kb_features f[2];
        size_t count;
        KB_INIT(options);
        KB_INIT(detect);
        detect.detector = detectors[d];
        detect.max_keypoints = ROOM;
        options.detect = &detect;
        options.looks = KB_LOOK_ORIENTED;
        options.no_filter = 1;
        outcome_init(&o);
        assert_int_equal(kb_match_images(model, &v.images[0], &v.images[1], &options, NULL, &o.pair, NULL), KB_OK);
        for (int i = 0; i < 2; i++) {
            KB_INIT(f[i]);
            f[i].keypoints = keypoints[i];
            f[i].capacity = ROOM;
            f[i].rows = rows[i];
            f[i].rows_size = sizeof rows[i];
            assert_int_equal(kb_detect_and_describe(model, &v.images[i], &detect, NULL, NULL, &f[i], NULL), KB_OK);
        }
        assert_int_equal(kb_match_features(&f[0], &f[1], NULL, NULL, matches, &count, NULL), KB_OK);
        assert_true(count > 100 && o.pair.count == count && o.fa.n == f[0].n && o.fb.n == f[1].n);
        for (size_t i = 0; i < o.fa.n; i++) assert_true(o.a[i].angle == keypoints[0][i].angle);
        for (size_t i = 0; i < o.fb.n; i++) assert_true(o.b[i].angle == keypoints[1][i].angle);
        assert_memory_equal(o.matches, matches, count * sizeof *matches);
        views_free(&v);
    }
}

/* Upright verifies it, its points give the rotation, and no angle is computed. */
static void a_rolled_pair_is_described_with_its_roll(void **state)
{
    outcome o, upright;
    (void)state;
    for (int solid = 0; solid < 2; solid++) {
        views v = views_of(solid ? room_scene(7) : flat_scene(7), 10);
        kb_geometry geometry = solid ? KB_GEOMETRY_FUNDAMENTAL : KB_GEOMETRY_HOMOGRAPHY;
        match_views(&v, geometry, KB_LOOK_UPRIGHT, &upright);
        match_views(&v, geometry, ANGLES, &o);
        assert_int_equal(upright.fit.result, KB_FIT_FOUND);
        assert_int_equal(o.pair.look, KB_LOOK_ROTATED);
        assert_int_equal(o.pair.looks, 2);
        assert_true(roll_error(&o, 10) < 3);
        assert_true(o.fit.places > upright.fit.places);
        assert_right(&v, &o, 0.9);
        views_free(&v);
    }
}

/* Image b is seen as image a sees it: more of its points are found, and they come back where they are, with its size and
 * angle. */
static void a_homography_warps_the_second_image(void **state)
{
    static const double rolls[] = {0, 25, 160};
    outcome o, before;
    (void)state;
    for (size_t k = 0; k < KBI_COUNT(rolls); k++) {
        views v = views_of(flat_scene(21), rolls[k]);
        match_views(&v, KB_GEOMETRY_HOMOGRAPHY, ANGLES, &before);
        match_views(&v, KB_GEOMETRY_HOMOGRAPHY, 0, &o);
        assert_int_equal(o.pair.look, KB_LOOK_WARPED);
        assert_int_equal(o.pair.looks, before.pair.looks + (rolls[k] == 0)); /* in the place of a rotated look */
        assert_true(o.fit.places > before.fit.places);
        assert_true(o.pair.rotation == before.pair.rotation);
        assert_right(&v, &o, 0.98);
        for (size_t i = 0; i < o.fb.n; i++) {
            assert_true(o.b[i].x >= 0 && o.b[i].y >= 0 && o.b[i].x <= WIDTH - 1 && o.b[i].y <= HEIGHT - 1);
            assert_true(fabs(remainder((double)o.b[i].angle - rolls[k], 360)) < 15);
        }
        views_free(&v);
    }
}

/* The second image has twice the pixels, or half of them: nothing aliases, and sizes are the second image's. */
static void warps_change_the_scale(void **state)
{
    outcome o;
    (void)state;
    for (int half = 0; half < 2; half++) {
        views v = views_of(flat_scene(22), 0);
        int32_t width = half ? WIDTH / 2 : WIDTH * 2, height = half ? HEIGHT / 2 : HEIGHT * 2;
        release(&v.images[1]);
        v.cameras[1] = solid_camera_at(width, height, half ? 175 : 700, ASIDE, -5, 2, 0);
        v.images[1] = view_of(solid_render(&v.scene, &v.cameras[1], width, height), width, height);
        match_views(&v, KB_GEOMETRY_HOMOGRAPHY, 0, &o);
        assert_int_equal(o.pair.look, KB_LOOK_WARPED);
        assert_right(&v, &o, 0.95);
        double ratio = 0;
        for (size_t i = 0; i < o.pair.count; i++)
            ratio += (double)(o.b[o.matches[i].b].size / o.a[o.matches[i].a].size) / (double)o.pair.count;
        assert_true(ratio > (half ? 0.4 : 1.6) && ratio < (half ? 0.65 : 2.6));
        views_free(&v);
    }
}

/* The warped look after a homography from image a to image b: its result in o. mask_b may be NULL. Returns the
 * workspace that it took. */
static size_t warp_after(const views *v, const double h[9], const kb_image *mask_b, outcome *o)
{
    pair_look found = {.look = KB_LOOK_UPRIGHT, .angles = KB_LOOK_UPRIGHT},
              look = {.look = KB_LOOK_WARPED, .matches = o->matches, .inliers = o->inliers};
    pair_job job = {.model = model, .capacity = ROOM, .looks = 1};
    kb_workspace *ws = NULL;
    KB_INIT(job.options);
    KB_INIT(job.detect);
    KB_INIT(job.match);
    KB_INIT(job.fit);
    assert_int_equal(kb_workspace_create(NULL, &ws), KB_OK);
    job.workspace = ws;
    job.options.fit = &job.fit;
    job.options.mask_b = mask_b;
    job.detect.detector = KB_DETECTOR_HESSIAN;
    job.fit.geometry = KB_GEOMETRY_HOMOGRAPHY;
    job.describe_scale = kb_model_scale(model, "hessian");
    for (int k = 0; k < 2; k++) {
        pair_side *side = &job.sides[k];
        side->gray = v->images[k];
        side->keypoints = k ? o->b : o->a;
        side->n = k ? o->fb.n : o->fa.n;
        side->rows = malloc(side->n * 64);
    }
    job.points = malloc(ROOM * sizeof *job.points);
    job.quality = malloc(ROOM * sizeof *job.quality);
    memcpy(found.fit.model, h, sizeof found.fit.model);
    assert_int_equal(kbi_pair_warped_look(&job, &found, &look), KB_OK);
    o->fit = look.fit;
    for (int k = 0; k < 2; k++) free(job.sides[k].rows);
    free(job.points);
    free(job.quality);
    size_t peak = ws->peak;
    kb_workspace_free(ws);
    return peak;
}

/* A homography that fits one side of the image only is left for the one of the whole. */
static void far_corners_are_found(void **state)
{
    static const double off[9] = {1.06, 0, -6, 0, 1.06, -9.6, 0, 0, 1}; /* 20 px at the right corners, 0 at (100, 160) */
    outcome o, right;
    views v = views_of(flat_scene(24), 12);
    double wrong[9];
    (void)state;
    match_views(&v, KB_GEOMETRY_HOMOGRAPHY, 0, &right);
    assert_int_equal(right.pair.look, KB_LOOK_WARPED);
    match_views(&v, KB_GEOMETRY_HOMOGRAPHY, ANGLES, &o);
    kbi_fit_multiply3(o.fit.model, off, wrong);
    size_t taken = warp_after(&v, o.fit.model, NULL, &o);
    assert_true(warp_after(&v, wrong, NULL, &o) <= taken + taken / 100); /* however often it searches */
    assert_int_equal(o.fit.result, KB_FIT_FOUND);
    assert_true(o.fit.places >= 0.98 * right.fit.places);
    for (int corner = 0; corner < 4; corner++) {
        double x = corner & 1 ? WIDTH : 0, y = corner & 2 ? HEIGHT : 0, u1, v1, u2, v2;
        kb_homography_apply(right.fit.model, x, y, &u1, &v1);
        kb_homography_apply(o.fit.model, x, y, &u2, &v2);
        assert_true(hypot(u1 - u2, v1 - v2) < 0.3);
    }
    views_free(&v);
}

/* Few places, close together, give homographies that lead the corners anywhere: a second warp by one of them may find
 * nothing, and the first one's places stay. */
static void a_second_warp_takes_nothing_away(void **state)
{
    enum { HALF = 40 }; /* of the part of image b that is seen */
    static const double at[2] = {264, 24}; /* where all of them are right */
    static const double wrongs[][3] = {{0.9, 0.0015, 0.002}, {0.92, 0.0015, 0.0015}, {0.96, 0.002, 0.001}};
    static uint8_t part[WIDTH * HEIGHT];
    const kb_image mask = view_of(part, WIDTH, HEIGHT);
    outcome right, o;
    views v = views_of(flat_scene(21), 12);
    double wrong[9], x, y;
    (void)state;
    match_views(&v, KB_GEOMETRY_HOMOGRAPHY, ANGLES, &right);
    kb_homography_apply(right.fit.model, at[0], at[1], &x, &y);
    for (int i = 0; i < WIDTH * HEIGHT; i++) part[i] = fabs(i % WIDTH - x) < HALF && fabs(i / WIDTH - y) < HALF;
    for (size_t k = 0; k < KBI_COUNT(wrongs); k++) {
        const double s = wrongs[k][0], a = wrongs[k][1], b = wrongs[k][2];
        const double off[9] = {s, 0, (1 - s) * at[0], 0, s, (1 - s) * at[1], a, b, 1 - a * at[0] - b * at[1]};
        o = right;
        kbi_fit_multiply3(right.fit.model, off, wrong);
        warp_after(&v, wrong, &mask, &o);
        assert_int_equal(o.fit.result, KB_FIT_FOUND);
        assert_true(o.fit.places >= 30);
    }
    views_free(&v);
}

/* Matches the views with a mask of the second that hides its right half; fit may be NULL. */
static void match_left_half(const views *v, const kb_fit_options *fit, outcome *o)
{
    static uint8_t left[WIDTH * HEIGHT];
    const kb_image mask = view_of(left, WIDTH, HEIGHT);
    kb_pair_options options;
    for (int i = 0; i < WIDTH * HEIGHT; i++) left[i] = i % WIDTH < WIDTH / 2;
    KB_INIT(options);
    options.fit = fit;
    options.mask_b = &mask;
    outcome_init(o);
    assert_int_equal(kb_match_images(model, &v->images[0], &v->images[1], &options, NULL, &o->pair, NULL), KB_OK);
}

static void warped_keypoints_obey_the_mask(void **state)
{
    outcome o;
    kb_fit_options fit;
    views v = views_of(flat_scene(9), 0);
    (void)state;
    KB_INIT(fit);
    match_left_half(&v, &fit, &o);
    assert_int_equal(o.pair.look, KB_LOOK_WARPED);
    for (size_t i = 0; i < o.fb.n; i++) assert_true(o.b[i].x < WIDTH / 2);
    views_free(&v);
}

/* A homography of one wall of a room explains few of the matches, and the others are not thrown away. */
static void a_room_is_not_warped(void **state)
{
    outcome o;
    views v = views_of(room_scene(15), 0);
    (void)state;
    match_views(&v, KB_GEOMETRY_ESSENTIAL, 0, &o);
    assert_int_not_equal(o.pair.look, KB_LOOK_WARPED);
    assert_int_not_equal(o.pair.look, KB_LOOK_GUIDED); /* unless asked for */
    views_free(&v);
}

static void epipolar_lines_guide(void **state)
{
    outcome o, before;
    size_t more = 0;
    (void)state;
    for (uint32_t k = 0; k < 4; k++) {
        views v = views_of(room_scene(15 + k), k < 2 ? 0 : 70);
        kb_geometry geometry = k % 2 ? KB_GEOMETRY_ESSENTIAL : KB_GEOMETRY_FUNDAMENTAL;
        match_views(&v, geometry, ANGLES, &before);
        match_views(&v, geometry, ANGLES | KB_LOOK_GUIDED, &o);
        assert_int_equal(before.fit.result, KB_FIT_FOUND);
        assert_int_equal(o.fit.result, KB_FIT_FOUND);
        assert_int_equal(o.pair.looks, before.pair.looks + 1);
        assert_true(o.fit.places >= before.fit.places);
        more += o.pair.look == KB_LOOK_GUIDED;
        assert_right(&v, &o, 0.9);
        views_free(&v);
    }
    assert_true(more >= 3);
}

/* The fit is that of kb_fit with deviations by scale and strength. */
static void exact_keypoints_count_more(void **state)
{
    static float both[ROOM], quality[ROOM];
    static kb_point_pair points[ROOM];
    outcome o;
    kb_fit_options fit;
    kb_fit_report report, plain;
    (void)state;
    views v = views_of(room_scene(21), 0);
    match_views(&v, KB_GEOMETRY_ESSENTIAL, KB_LOOK_UPRIGHT, &o);
    for (size_t i = 0; i < o.pair.count; i++) {
        const kb_keypoint *k[2] = {&o.a[o.matches[i].a], &o.b[o.matches[i].b]};
        float sum = 0;
        for (int m = 0; m < 2; m++) {
            float weak = 0.01f / k[m]->response;
            sum += k[m]->size * k[m]->size * (1 + weak * weak);
        }
        both[i] = sqrtf(sum);
    }
    assert_int_equal(kb_match_points(&o.fa, &o.fb, o.matches, o.pair.count, points, quality, NULL), KB_OK);
    KB_INIT(fit);
    KB_INIT(report);
    KB_INIT(plain);
    fit.geometry = KB_GEOMETRY_ESSENTIAL;
    fit.camera1 = &v.cameras[0].k;
    fit.quality = quality;
    fit.candidates = o.pair.candidates;
    assert_int_equal(kb_fit(points, o.pair.count, &fit, NULL, NULL, &plain, NULL), KB_OK);
    fit.deviations = both;
    assert_int_equal(kb_fit(points, o.pair.count, &fit, NULL, NULL, &report, NULL), KB_OK);
    assert_memory_equal(report.model, o.fit.model, sizeof report.model);
    assert_memory_not_equal(plain.model, o.fit.model, sizeof report.model);
    views_free(&v);
}

static void unrelated_pairs_have_no_geometry(void **state)
{
    static const kb_geometry kinds[] = {KB_GEOMETRY_HOMOGRAPHY, KB_GEOMETRY_FUNDAMENTAL, KB_GEOMETRY_ESSENTIAL};
    outcome o;
    (void)state;
#ifdef KEYBITS_SANITIZED /* one of each kind */
    enum { PAIRS = 3 };
#else
    enum { PAIRS = 6 };
#endif
    for (uint32_t k = 0; k < PAIRS; k++) {
        views v = views_of(room_scene(11 + k), 0), w = views_of(flat_scene(31 + k), 40);
        views mixed = v;
        mixed.images[1] = w.images[1];
        match_views(&mixed, kinds[k % 3], 0, &o);
        assert_int_not_equal(o.fit.result, KB_FIT_FOUND);
        assert_true(o.pair.looks >= 2);
        for (size_t i = 0; i < o.pair.count; i++) assert_int_equal(o.inliers[i], 0);
        views_free(&v);
        views_free(&w);
    }
}

/* No pixel of them is a keypoint, in one image or in both. */
static void empty_images_match_nothing(void **state)
{
    static const uint8_t black[64 * 64], dot[1] = {200};
    views v = views_of(flat_scene(3), 0);
    const kb_image nothing[3] = {view_of(black, 64, 64), view_of(dot, 1, 1), view_of(black, 7, 3)};
    outcome o;
    (void)state;
    for (int k = 0; k < 3; k++)
        for (int side = 0; side < 3; side++) {
            views mixed = v;
            if (side != 1) mixed.images[0] = nothing[k];
            if (side != 0) mixed.images[1] = nothing[k];
            match_views(&mixed, KB_GEOMETRY_HOMOGRAPHY, 0, &o);
            assert_int_equal(o.pair.count, 0);
            assert_int_not_equal(o.fit.result, KB_FIT_FOUND);
            assert_int_equal(o.fa.n == 0, side != 1);
        }
    views_free(&v);
}

static void without_a_geometry_the_look_with_most_matches_is_taken(void **state)
{
    static const double rolls[] = {0, 120};
    outcome o;
    (void)state;
    for (int k = 0; k < 2; k++) {
        views v = views_of(flat_scene(9), rolls[k]);
        outcome_init(&o);
        o.pair.fit = NULL;
        assert_int_equal(kb_match_images(model, &v.images[0], &v.images[1], NULL, NULL, &o.pair, NULL), KB_OK);
        assert_int_equal(o.pair.look, k ? KB_LOOK_ROTATED : KB_LOOK_UPRIGHT);
        assert_true(o.pair.count > 100);
        views_free(&v);
    }
}

static void orientation_none_is_upright(void **state)
{
    outcome o;
    kb_pair_options options;
    kb_detect_options detect;
    views v = views_of(flat_scene(9), 120);
    (void)state;
    KB_INIT(options);
    KB_INIT(detect);
    detect.orientation = KB_ORIENTATION_NONE;
    options.detect = &detect;
    outcome_init(&o);
    assert_int_equal(kb_match_images(model, &v.images[0], &v.images[1], &options, NULL, &o.pair, NULL), KB_OK);
    assert_int_equal(o.pair.look, KB_LOOK_UPRIGHT);
    assert_int_equal(o.pair.looks, 1);
    views_free(&v);
}

/* SIFT returns a place once per peak of its orientations; upright these would be equal rows, which a ratio test drops. */
static void sift_keypoints_are_one_per_place(void **state)
{
    outcome o;
    kb_pair_options options;
    kb_detect_options detect;
    kb_match_options match;
    views v = views_of(flat_scene(9), 0);
    kb_model *sift = builtin_model("rootsift");
    (void)state;
    KB_INIT(options);
    KB_INIT(detect);
    KB_INIT(match);
    detect.detector = KB_DETECTOR_SIFT;
    match.max_ratio = 0.8f;
    options.detect = &detect;
    options.match = &match;
    outcome_init(&o);
    assert_int_equal(kb_match_images(sift, &v.images[0], &v.images[1], &options, NULL, &o.pair, NULL), KB_OK);
    assert_true(o.pair.count > 50);
    for (size_t i = 1; i < o.fa.n; i++)
        assert_false(o.a[i].x == o.a[i - 1].x && o.a[i].y == o.a[i - 1].y && o.a[i].size == o.a[i - 1].size);
    for (size_t i = 0; i < o.pair.count; i++) assert_true(o.matches[i].distance <= 1.5f); /* floats of unit norm */
    kb_model_free(sift);
    views_free(&v);
}

static void a_mask_belongs_to_its_image(void **state)
{
    outcome o;
    views v = views_of(flat_scene(9), 0);
    (void)state;
    match_left_half(&v, NULL, &o);
    float farthest[2] = {0, 0};
    for (size_t i = 0; i < o.fa.n; i++) farthest[0] = fmaxf(farthest[0], o.a[i].x);
    for (size_t i = 0; i < o.fb.n; i++) farthest[1] = fmaxf(farthest[1], o.b[i].x);
    assert_true(farthest[0] > WIDTH / 2 + 50);
    assert_true(farthest[1] > 0 && farthest[1] < WIDTH / 2 + 1);
    views_free(&v);
}

static void threads_and_workspaces_change_nothing(void **state)
{
    static outcome one, many;
    kb_pair_options options;
    kb_fit_options fit;
    kb_parallel *pool;
    kb_workspace *workspace;
    (void)state;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    KB_INIT(options);
    KB_INIT(fit);
    options.fit = &fit;
    for (int k = 0; k < 3; k++) {
        views v = views_of(flat_scene(13), 60 * k);
        options.parallel = NULL;
        outcome_init(&one);
        assert_int_equal(kb_match_images(model, &v.images[0], &v.images[1], &options, NULL, &one.pair, NULL), KB_OK);
        options.parallel = pool;
        outcome_init(&many);
        assert_int_equal(kb_match_images(model, &v.images[0], &v.images[1], &options, workspace, &many.pair, NULL), KB_OK);
        assert_memory_equal(one.a, many.a, sizeof one.a);
        assert_memory_equal(one.b, many.b, sizeof one.b);
        assert_memory_equal(one.matches, many.matches, sizeof one.matches);
        assert_memory_equal(one.inliers, many.inliers, sizeof one.inliers);
        assert_memory_equal(&one.fit, &many.fit, sizeof one.fit);
        assert_true(one.fa.n == many.fa.n && one.fb.n == many.fb.n && one.pair.look == many.pair.look);
        assert_memory_equal(&one.pair.count, &many.pair.count, sizeof one.pair - offsetof(kb_pair, count));
        views_free(&v);
    }
    kb_workspace_free(workspace);
    kb_pool_free(pool);
}

/* Memory that ends at any step is told, and what suffices gives the same result. */
static void a_workspace_that_is_too_small_is_told(void **state)
{
    static outcome free_memory, fixed;
    views v = views_of(flat_scene(13), 120); /* all looks */
    kb_pair_options options;
    kb_fit_options fit;
    size_t size = 1 << 16, failed = 0;
    kb_status status = KB_E_MEMORY;
    (void)state;
    outcome_init(&free_memory);
    KB_INIT(options);
    KB_INIT(fit);
    options.fit = &fit;
    assert_int_equal(kb_match_images(model, &v.images[0], &v.images[1], &options, NULL, &free_memory.pair, NULL), KB_OK);
    for (; status != KB_OK; size += size / 4) {
        void *buffer = malloc(size);
        kb_workspace *workspace;
        assert_int_equal(kb_workspace_create_in(buffer, size, &workspace), KB_OK);
        outcome_init(&fixed);
        status = kb_match_images(model, &v.images[0], &v.images[1], &options, workspace, &fixed.pair, NULL);
        assert_true(status == KB_OK || status == KB_E_MEMORY);
        failed += status == KB_E_MEMORY;
        kb_workspace_free(workspace);
        free(buffer);
    }
    assert_true(failed > 5);
    assert_memory_equal(free_memory.matches, fixed.matches, sizeof fixed.matches);
    views_free(&v);
}

static kb_status try_with(const kb_image *image, const kb_pair_options *options, kb_pair *pair)
{
    return kb_match_images(model, image, image, options, NULL, pair, NULL);
}

static void wrong_arguments_are_refused(void **state)
{
    static outcome o;
    kb_pair_options options;
    kb_detect_options detect;
    kb_image image = view_of(solid_render(&(solid_scene){solid_wall, 1, 1},
                                          &(solid_camera){.k = {.fx = 50, .fy = 50}, .r = {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                                          64, 64), 64, 64);
    (void)state;
    outcome_init(&o);
    KB_INIT(options);
    KB_INIT(detect);
    assert_int_equal(kb_match_images(NULL, &image, &image, NULL, NULL, &o.pair, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_match_images(model, NULL, &image, NULL, NULL, &o.pair, NULL), KB_E_ARGUMENT);
    assert_int_equal(try_with(&image, NULL, NULL), KB_E_ARGUMENT);
    options.looks = KB_LOOK_WARPED | KB_LOOK_GUIDED; /* nothing that could find a geometry */
    assert_int_equal(try_with(&image, &options, &o.pair), KB_E_ARGUMENT);
    options.looks = KB_LOOK_UPRIGHT | 32;
    assert_int_equal(try_with(&image, &options, &o.pair), KB_E_ARGUMENT);
    options.looks = KB_LOOK_ROTATED; /* nothing that could show a rotation */
    assert_int_equal(try_with(&image, &options, &o.pair), KB_E_ARGUMENT);
    options.looks = 0;
    detect.mask = &image;
    options.detect = &detect;
    assert_int_equal(try_with(&image, &options, &o.pair), KB_E_ARGUMENT);
    options.detect = NULL;
    options.struct_size = 3;
    assert_int_equal(try_with(&image, &options, &o.pair), KB_E_STRUCT);
    o.pair.matches = NULL;
    assert_int_equal(try_with(&image, NULL, &o.pair), KB_E_ARGUMENT);
    outcome_init(&o);
    o.fit.struct_size = 0;
    assert_int_equal(try_with(&image, NULL, &o.pair), KB_E_STRUCT);
    outcome_init(&o);
    assert_int_equal(try_with(&image, NULL, &o.pair), KB_OK);
    release(&image);
}

/* Upright matches of a rolled pair are few, and may lie on one plane: then angles are tried, too. */
static void a_plane_of_upright_matches_is_not_the_scene(void **state)
{
    outcome upright, o;
    views v = views_of(room_scene(3), 33);
    (void)state;
    match_views(&v, KB_GEOMETRY_FUNDAMENTAL, KB_LOOK_UPRIGHT, &upright);
    assert_int_equal(upright.fit.result, KB_FIT_DEGENERATE);
    match_views(&v, KB_GEOMETRY_FUNDAMENTAL, ANGLES, &o);
    assert_int_equal(o.fit.result, KB_FIT_FOUND);
    assert_right(&v, &o, 0.9);
    views_free(&v);
}

/* A flat scene gets the homography and its looks, a room the epipolar geometry, upright and turned, as if asked for it:
 * but for chance, which has two fits per look. */
static void any_geometry_is_the_scenes(void **state)
{
    static const double rolls[] = {0, 20, 137};
    outcome any, asked;
    (void)state;
    for (size_t k = 0; k < 2 * KBI_COUNT(rolls); k++) {
        views v = views_of(k % 2 ? room_scene(5) : flat_scene(5), rolls[k / 2]);
        match_views(&v, KB_GEOMETRY_ANY, 0, &any);
        match_views(&v, k % 2 ? KB_GEOMETRY_ESSENTIAL : KB_GEOMETRY_HOMOGRAPHY, 0, &asked);
        assert_int_equal(any.fit.result, KB_FIT_FOUND);
        assert_int_equal(any.fit.geometry, asked.fit.geometry);
        assert_int_equal(any.pair.look, asked.pair.look);
        assert_true(any.fit.places > 0.95 * asked.fit.places);
        assert_right(&v, &any, 0.9);
        views_free(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upright_pair_takes_one_look),
        cmocka_unit_test(a_turned_pair_needs_angles),
        cmocka_unit_test(an_oriented_look_is_detect_describe_match),
        cmocka_unit_test(a_rolled_pair_is_described_with_its_roll),
        cmocka_unit_test(a_homography_warps_the_second_image),
        cmocka_unit_test(far_corners_are_found),
        cmocka_unit_test(warps_change_the_scale),
        cmocka_unit_test(a_second_warp_takes_nothing_away),
        cmocka_unit_test(warped_keypoints_obey_the_mask),
        cmocka_unit_test(a_plane_of_upright_matches_is_not_the_scene),
        cmocka_unit_test(any_geometry_is_the_scenes),
        cmocka_unit_test(a_room_is_not_warped),
        cmocka_unit_test(epipolar_lines_guide),
        cmocka_unit_test(exact_keypoints_count_more),
        cmocka_unit_test(unrelated_pairs_have_no_geometry),
        cmocka_unit_test(empty_images_match_nothing),
        cmocka_unit_test(without_a_geometry_the_look_with_most_matches_is_taken),
        cmocka_unit_test(orientation_none_is_upright),
        cmocka_unit_test(sift_keypoints_are_one_per_place),
        cmocka_unit_test(a_mask_belongs_to_its_image),
        cmocka_unit_test(threads_and_workspaces_change_nothing),
        cmocka_unit_test(a_workspace_that_is_too_small_is_told),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    kb_model *m = builtin_model("bag256");
    model = m;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kb_model_free(m);
    return failed;
}
