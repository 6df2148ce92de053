/* SPDX-License-Identifier: Apache-2.0 */
/* src/detect: rendered corners and blobs are found where they are; masks, threads, strides, 16 bits, wild input. */
#include "simd/cpu.h"
#include "detect/detect.h"
#include "detected.h"
#include "image/image.h"
#include "../arrays.h"

/* ------------------------------------------------------------------------------------------------------- pictures */

static void add_blob(double *p, int32_t width, int32_t height, double cx, double cy, double sigma, double height_of)
{
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            p[y * width + x] += height_of * exp(-((x - cx) * (x - cx) + (y - cy) * (y - cy)) / (2 * sigma * sigma));
}

static uint8_t *to_bytes(double *p, size_t n)
{
    uint8_t *out = malloc(n);
    for (size_t i = 0; i < n; i++) out[i] = (uint8_t)kbi_clamp_i((int32_t)floor(p[i] + 0.5), 0, 255);
    free(p);
    return out;
}

/* The picture turned by a quarter, clockwise on the screen: (x, y) goes to (height - 1 - y, x). */
static uint8_t *turned(const uint8_t *p, int32_t width, int32_t height)
{
    uint8_t *out = malloc((size_t)width * (size_t)height);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) out[x * height + height - 1 - y] = p[y * width + x];
    return out;
}

/* -------------------------------------------------------------------------------------------------- what is found */

/* A blob is a corner on many levels; it is found once, where it is strongest. The octave is the nearest level, and the
 * size lies between levels. The largest blobs are flat for FAST, which finds corners in them. */
static void test_blobs_are_found_once(void **state)
{
    (void)state;
    enum { W = 300, H = 260, BLOBS = 12 };
    double *canvas = malloc(sizeof *canvas * W * H), blob[BLOBS][3];
    for (int i = 0; i < W * H; i++) canvas[i] = 110;
    for (int i = 0; i < BLOBS; i++) {
        blob[i][0] = 50 + 66 * (i % 4) + 0.37 * i;
        blob[i][1] = 45 + 80 * (i / 4) + 0.21 * i;
        blob[i][2] = 2 + 0.25 * i;
        add_blob(canvas, W, H, blob[i][0], blob[i][1], blob[i][2], i % 2 ? 100 : -90);
    }
    uint8_t *p = to_bytes(canvas, W * H);
    for (int d = 0; d < 2; d++) {
        found *f = detect_pixels(p, W, H, d ? KB_DETECTOR_HESSIAN : KB_DETECTOR_ORB);
        for (int i = 0; i < (d ? BLOBS : 7); i++) {
            const kb_keypoint *k = nearest_to(f, blob[i][0], blob[i][1], 0, 200, 8);
            double sigma = blob[i][2];
            size_t around = 0;
            for (size_t j = 0; j < f->n; j++) around += hypot(f->k[j].x - blob[i][0], f->k[j].y - blob[i][1]) < 8;
            assert_int_equal(around, 1);
            assert_true(hypot(k->x - blob[i][0], k->y - blob[i][1]) < (d ? 0.15 : 0.5));
            assert_true(k->size > 15 * sigma && k->size < 21 * sigma);
        }
        for (size_t i = 0; i < f->n; i++)
            assert_true(fabs(log(f->k[i].size / 31) / log(1.2) - f->k[i].octave) <= 0.5);
        free(f);
    }
    free(p);
}

static const int square_corner[4][3] = {{70, 65, 45}, {160, 65, 135}, {160, 150, 225}, {70, 150, 315}};

static void test_every_level_finds_corners_on_many(void **state)
{
    (void)state;
    uint8_t *p = render_rectangle(240, 220, 70, 65, 160, 150);
    kb_image image = view_of(p, 240, 220);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.every_level = 1;
    found *f = detect_view(&image, &o);
    for (int i = 0; i < 4; i++) {
        const int *corner = square_corner[i];
        const kb_keypoint *k = nearest_to(f, corner[0], corner[1], 31, 31, 2);
        assert_non_null(k);
        assert_int_equal(k->octave, 0);
        assert_true(angle_between(k->angle, corner[2]) < 3);
        int levels = 0;
        for (int level = 1; level < 6; level++) {
            double factor = pow(1.2, level);
            const kb_keypoint *c = nearest_to(f, corner[0], corner[1], 31 * factor - 0.01, 31 * factor + 0.01,
                                              2.5 * factor);
            if (!c) continue;
            assert_int_equal(c->octave, level);
            levels++;
        }
        assert_true(levels >= 2);
    }
    for (size_t i = 0; i < f->n; i++) {
        double factor = pow(1.2, f->k[i].octave);
        assert_true(fabs(f->k[i].size - 31 * factor) < 0.001);
        assert_int_equal(f->k[i].class_id, -1);
        double edge = 31 * factor - 1;
        assert_true(f->k[i].x >= edge && f->k[i].x <= 240 - edge && f->k[i].y >= edge && f->k[i].y <= 220 - edge);
        if (i > 0) assert_true(kbi_keypoint_before(&f->k[i - 1], &f->k[i]));
    }
    free(f);
    free(p);
}

/* A Gaussian blob of sigma s has its extremum of scale near s, so the diameter is about 2 s. */
static void test_sift_finds_blobs_between_pixels(void **state)
{
    (void)state;
    enum { W = 260, H = 240 };
    static const double blob[5][4] = {{60.3, 50.7, 2.5, 150}, {150.5, 60.25, 4, -60}, {70.8, 150.4, 6, 120},
                                      {180.1, 160.9, 9, -55}, {120.0, 110.0, 3, 100}};
    double *canvas = malloc(sizeof *canvas * W * H);
    for (int i = 0; i < W * H; i++) canvas[i] = 70;
    for (int i = 0; i < 5; i++) add_blob(canvas, W, H, blob[i][0], blob[i][1], blob[i][2], blob[i][3]);
    uint8_t *p = to_bytes(canvas, W * H);
    for (int plain = 0; plain < 2; plain++) {
        kb_image image = view_of(p, W, H);
        kb_detect_options o = options_for(KB_DETECTOR_SIFT);
        o.no_upsampling = plain;
        found *f = detect_view(&image, &o);
        for (int i = 0; i < 5; i++) {
            double s = blob[i][2];
            const kb_keypoint *k = nearest_to(f, blob[i][0], blob[i][1], s, 3 * s, 1);
            assert_non_null(k);
            assert_true(hypot(k->x - blob[i][0], k->y - blob[i][1]) < 0.1);
            assert_true(fabs(k->size / (2 * s) - 1) < 0.15);
            int octave = (int8_t)(k->octave & 255), layer = k->octave >> 8 & 255, sub = k->octave >> 16 & 255;
            double size = 2 * 1.6 * pow(2, octave + (layer + sub / 255.0 - 0.5) / 3);
            assert_in_range(layer, 1, 3);
            assert_true(fabs(k->size / size - 1) < 0.01);
        }
        free(f);
    }
    free(p);
}

/* Every keypoint of the picture must be in the turned picture, its angle a quarter further. Equal scores may fall to
 * another neighbour, so a few are let off. Of the levels of orb and hessian only the first turns without a change of its
 * pixels, so it is searched alone. */
static void check_turn(kb_detector detector, double tolerance, double turn, double share)
{
    enum { W = 230, H = 200 };
    uint8_t *p = render_texture(W, H, 21), *q = turned(p, W, H);
    kb_image upright = view_of(p, W, H), aside = view_of(q, H, W);
    kb_detect_options o = options_for(detector);
    if (detector != KB_DETECTOR_SIFT) o.levels = 1;
    found *a = detect_view(&upright, &o), *b = detect_view(&aside, &o);
    size_t same = 0;
    for (size_t i = 0; i < a->n; i++) {
        for (size_t k = 0; k < b->n; k++) {
            const kb_keypoint *u = &a->k[i], *v = &b->k[k];
            if (fabs(v->x - (H - 1 - u->y)) > tolerance || fabs(v->y - u->x) > tolerance) continue;
            if (fabs(v->size / u->size - 1) > 0.02 || angle_between(v->angle, u->angle + 90) > turn) continue;
            same++;
            break;
        }
    }
    assert_true(a->n > 200);
    assert_true((double)same >= share * (double)a->n);
    free(a);
    free(b);
    free(p);
    free(q);
}

static void test_a_turned_image_turns_the_angles(void **state)
{
    (void)state;
    check_turn(KB_DETECTOR_SIFT, 0.1, 2, 0.93);
    check_turn(KB_DETECTOR_HESSIAN, 0.1, 8, 0.8);
    check_turn(KB_DETECTOR_ORB, 0.01, 8, 0.8); /* cells of 4 px: they lie half a pixel beside the corner */
}

static void test_shares_fall_with_the_levels(void **state)
{
    (void)state;
    uint8_t *p = render_texture(640, 600, 2);
    kb_image image = view_of(p, 640, 600);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.max_keypoints = 500;
    o.every_level = 1;
    o.levels = 8;
    found *f = detect_view(&image, &o);
    size_t level[8] = {0};
    for (size_t i = 0; i < f->n; i++) level[f->k[i].octave]++;
    assert_int_equal(f->n, 500);
    assert_int_equal(level[0], 109); /* 500 (1 - 1/1.2) / (1 - 1.2^-8) = 108.6 */
    assert_int_equal(level[1], 90);
    for (int i = 1; i < 8; i++) assert_true(level[i] < level[i - 1]);
    free(f);
    free(p);
}

/* ------------------------------------------------------------------------------------------- masks, threads, views */

static void test_masks(void **state)
{
    (void)state;
    enum { W = 220, H = 210 };
    uint8_t *p = render_texture(W, H, 8), *mask = calloc(W, H);
    kb_image image = view_of(p, W, H), view = view_of(mask, W, H);
    for (int d = 1; kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)d)) > 0; d++) {
        kb_detect_options o = options_for((kb_detector)d);
        found *all = detect_view(&image, &o);
        o.mask = &view;
        memset(mask, 0, W * H);
        found *none = detect_view(&image, &o);
        assert_int_equal(none->n, 0);
        memset(mask, 1, W * H);
        found *one = detect_view(&image, &o);
        memset(mask, 255, W * H);
        found *white = detect_view(&image, &o);
        assert_same(all, one);
        assert_same(all, white);
        for (int y = 0; y < H; y++) memset(mask + y * W, 0, W / 2);
        found *right = detect_view(&image, &o);
        assert_true(right->n > 20 && right->n < all->n);
        for (size_t i = 0; i < right->n; i++) /* also after they were moved between pixels */
            assert_int_equal(mask[(int)(right->k[i].y + 0.5f) * W + (int)(right->k[i].x + 0.5f)], 255);
        free(all), free(none), free(one), free(white), free(right);
    }
    free(p);
    free(mask);
}

static void test_threads_and_workspace_change_nothing(void **state)
{
    (void)state;
#ifdef KEYBITS_SANITIZED /* races show best with many */
    enum { W = 333, H = 251, FEWEST = 7 };
#else
    enum { W = 333, H = 251, FEWEST = 2 };
#endif
    uint8_t *p = render_texture(W, H, 4);
    kb_image image = view_of(p, W, H);
    kb_workspace *workspace;
    assert_int_equal(kb_workspace_create(NULL, &workspace), KB_OK);
    for (int d = 1; kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)d)) > 0; d++)
        for (int rule = 1; kb_name(KB_NAMES_SELECTION, rule); rule++) {
            kb_detect_options o = options_for((kb_detector)d);
            o.selection = (kb_selection)rule;
            o.max_keypoints = 300;
            found *alone = detect_view(&image, &o), f;
            assert_true(alone->n > 200 && alone->n <= 300);
            for (int32_t threads = FEWEST; threads <= 7; threads += 5) {
                kb_parallel *pool;
                assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
                o.parallel = pool;
                assert_int_equal(detect_keypoints(&image, &o, workspace, f.k, MANY, &f.n, NULL), KB_OK);
                assert_same(alone, &f);
                size_t bytes = kbi_workspace_bytes(workspace);
                assert_int_equal(detect_keypoints(&image, &o, workspace, f.k, MANY, &f.n, NULL), KB_OK);
                assert_same(alone, &f);
                assert_int_equal(kbi_workspace_bytes(workspace), bytes); /* the second frame allocates nothing */
                kb_pool_free(pool);
            }
            free(alone);
        }
    kb_workspace_free(workspace);
    free(p);
}

static void test_stride_and_depth_change_nothing(void **state)
{
    (void)state;
    enum { W = 201, H = 190, STRIDE = 230 };
    uint8_t *p = render_texture(W, H, 12), *wide = malloc(STRIDE * H);
    uint16_t *deep = malloc(sizeof *deep * W * H);
    memset(wide, 77, STRIDE * H);
    for (int y = 0; y < H; y++) memcpy(wide + y * STRIDE, p + y * W, W);
    for (int i = 0; i < W * H; i++) deep[i] = (uint16_t)(p[i] * 257);
    kb_image strided = {wide, W, H, STRIDE, KB_FORMAT_GRAY8, 0}, sixteen = {deep, W, H, 2 * W, KB_FORMAT_GRAY16, 0};
    for (int d = 1; kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)d)) > 0; d++) {
        kb_detect_options o = options_for((kb_detector)d);
        found *a = detect_pixels(p, W, H, (kb_detector)d);
        found *b = detect_view(&strided, &o), *c = detect_view(&sixteen, &o);
        assert_true(a->n > 30);
        assert_same(a, b);
        assert_same(a, c);
        free(a), free(b), free(c);
    }
    kb_keypoint k[2] = {{100.25f, 90.5f, 40, -1, 0, 0, -1}, {100.25f, 90.5f, 40, -1, 0, 0, -1}};
    assert_int_equal(orient_keypoints(&strided, k, 1, NULL, NULL, NULL), KB_OK);
    assert_int_equal(orient_keypoints(&sixteen, k + 1, 1, NULL, NULL, NULL), KB_OK);
    assert_true(k[0].angle == k[1].angle && k[0].angle >= 0);
    free(p), free(wide), free(deep);
}

static void test_less_room_gives_the_strongest(void **state)
{
    (void)state;
    uint8_t *p = render_texture(240, 230, 30);
    kb_image image = view_of(p, 240, 230);
    for (int d = 1; kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)d)) > 0; d++) {
        kb_detect_options o = options_for((kb_detector)d);
        o.selection = KB_SELECTION_BEST;
        o.max_keypoints = 256;
        found *all = detect_view(&image, &o);
        kb_keypoint few[12];
        size_t n;
        few[10].x = -7;
        assert_true(all->n > 20);
        assert_int_equal(detect_keypoints(&image, &o, NULL, few, 10, &n, NULL), KB_OK);
        assert_int_equal(n, 10);
        for (size_t i = 0; i < n; i++) assert_true(few[i].response == all->k[i].response);
        assert_true(few[10].x == -7);
        assert_int_equal(detect_keypoints(&image, &o, NULL, NULL, 0, &n, NULL), KB_OK);
        assert_int_equal(n, 0);
        free(all);
    }
    free(p);
}

/* Room for n gives what max_keypoints = n gives, by every rule; few are the strongest of all levels. What they are
 * interpolated with may be too weak to be kept: then sizes and places stay those of the level and pixel. */
static void test_room_and_few_keypoints(void **state)
{
    (void)state;
    uint8_t *p = render_texture(240, 230, 31);
    kb_image image = view_of(p, 240, 230);
    for (int d = 1; kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)d)) > 0; d++)
        for (int rule = 1; kb_name(KB_NAMES_SELECTION, rule); rule++) {
            kb_detect_options o = options_for((kb_detector)d);
            kb_keypoint few[40];
            size_t n;
            o.selection = (kb_selection)rule;
            assert_int_equal(detect_keypoints(&image, &o, NULL, few, 40, &n, NULL), KB_OK);
            assert_int_equal(n, 40);
            o.max_keypoints = 40;
            found *asked = detect_view(&image, &o);
            assert_int_equal(asked->n, 40);
            assert_memory_equal(few, asked->k, sizeof few);
            free(asked);
        }
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.selection = KB_SELECTION_BEST;
    o.max_keypoints = 256;
    found *many = detect_view(&image, &o);
    assert_true(many->n > 100);
    for (int32_t n = 1; n <= 64; n = 2 * n + 1) {
        o.max_keypoints = n;
        found *few = detect_view(&image, &o);
        assert_int_equal(few->n, n);
        for (int32_t i = 0; i < n; i++) {
            const kb_keypoint *a = &few->k[i], *b = &many->k[i];
            assert_true(a->response == b->response && a->octave == b->octave);
            assert_true(hypot(a->x - b->x, a->y - b->y) < pow(1.2, b->octave));
        }
        free(few);
    }
    free(many);
    free(p);
}

/* Squares of contrast 60 on the left and 14 on the right: the second threshold finds the weak ones, where nothing
 * strong is, and changes nothing about the strong ones. */
static void test_second_fast_threshold(void **state)
{
    (void)state;
    enum { W = 400, H = 200, STEP = 40 };
    uint8_t *p = malloc(W * H);
    for (int i = 0; i < W * H; i++) {
        int x = i % W, y = i / W, contrast = x < W / 2 ? 60 : 14;
        p[i] = (uint8_t)(100 + (x % STEP < STEP / 2 && y % STEP < STEP / 2 ? contrast : 0));
    }
    kb_image image = view_of(p, W, H);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.levels = 1;
    o.fast_threshold = 20;
    found *strong = detect_view(&image, &o);
    o.fast_threshold = 0;
    found *both = detect_view(&image, &o);
    o.fast_threshold = 7;
    found *low = detect_view(&image, &o);
    size_t weak = 0, kept = 0;
    for (size_t i = 0; i < strong->n; i++) assert_true(strong->k[i].x < W / 2 + 3);
    for (size_t i = 0; i < both->n; i++) weak += both->k[i].x > W / 2 + 32;
    for (size_t i = 0; i < strong->n; i++)
        for (size_t j = 0; j < both->n; j++) kept += memcmp(&strong->k[i], &both->k[j], sizeof *strong->k) == 0;
    assert_true(strong->n > 10 && weak > 10);
    assert_int_equal(kept, strong->n);
    assert_true(both->n <= low->n);
    o.fast_threshold_min = 8;
    size_t n;
    assert_int_equal(detect_keypoints(&image, &o, NULL, both->k, MANY, &n, NULL), KB_E_ARGUMENT); /* above the first */
    free(strong), free(both), free(low), free(p);
}

/* ------------------------------------------------------------------------------------------------------ wild input */

/* 0: black; 1: white; 2: a chessboard of single pixels; 3: noise of black and white. */
static uint8_t *render_harsh(int32_t width, int32_t height, int kind)
{
    uint8_t *p = malloc((size_t)width * (size_t)height);
    uint64_t seed = 6;
    for (int32_t i = 0; i < width * height; i++) {
        bool odd = (i % width + i / width) % 2, random = kbi_random_next(&seed) & 1;
        bool white = kind == 1 || (kind == 2 && odd) || (kind == 3 && random);
        p[i] = white ? 255 : 0;
    }
    return p;
}

static void check_harsh(const kb_image *image, kb_detector detector, bool flat, int plain)
{
    kb_detect_options o = options_for(detector);
    if (detector == KB_DETECTOR_SIFT) {
        o.no_upsampling = plain;
        o.layers = 1 + 7 * plain;
        o.contrast_threshold = 0.0001f;
    } else {
        o.levels = KB_PYRAMID_MAX_LEVELS;
    }
    if (detector == KB_DETECTOR_ORB) o.fast_threshold = 1;
    found *f = detect_view(image, &o);
    if (flat) assert_int_equal(f->n, 0);
    for (size_t i = 0; i < f->n; i++) {
        const kb_keypoint *k = &f->k[i];
        assert_true(k->x >= 0 && k->x < (float)image->width && k->y >= 0 && k->y < (float)image->height);
        assert_true(k->angle >= 0 && k->angle < 360 && k->size > 0);
    }
    free(f);
}

static void test_small_flat_and_harsh_images(void **state)
{
    (void)state;
    static const int32_t side[][2] = {{1, 1},   {1, 300},  {300, 1}, {2, 2},   {5, 6},   {6, 5},    {11, 11}, {12, 13},
                                      {62, 62}, {63, 64},  {69, 99}, {70, 70}, {71, 83}, {84, 84}, {40, 99}, {99, 33}};
    for (size_t i = 0; i < KBI_COUNT(side); i++)
        for (int kind = 0; kind < 4; kind++) {
            uint8_t *p = render_harsh(side[i][0], side[i][1], kind);
            kb_image image = view_of(p, side[i][0], side[i][1]);
            for (int plain = 0; plain < 2; plain++) check_harsh(&image, KB_DETECTOR_SIFT, kind < 2, plain);
            check_harsh(&image, KB_DETECTOR_ORB, kind < 2, 0);
            check_harsh(&image, KB_DETECTOR_HESSIAN, kind < 2, 0);
            free(p);
        }
}

/* Places far beyond 16 bits in the doubled image. */
static void test_a_very_wide_image(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__ /* races show without the width */
    enum { W = 8000, H = 80 };
#else
    enum { W = 65535, H = 80 };
#endif
    uint8_t *p = malloc((size_t)W * H), *tile = render_texture(240, H, 14);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) p[y * W + x] = tile[y * 240 + x % 240];
    for (int d = 1; kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)d)) > 0; d++) {
        found *f = detect_pixels(p, W, H, (kb_detector)d);
        assert_int_equal(f->n, MANY);
        int eighths[8] = {0};
        for (size_t i = 0; i < f->n; i++) eighths[(int)(f->k[i].x * 8 / W)]++;
        for (int i = 0; i < 8; i++) assert_true(eighths[i] > 100);
        free(f);
    }
    free(p);
    free(tile);
}

static void test_thresholds(void **state)
{
    (void)state;
    uint8_t *p = render_texture(200, 200, 77);
    kb_image image = view_of(p, 200, 200);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.fast_threshold = 255;
    found *f = detect_view(&image, &o);
    assert_int_equal(f->n, 0);
    free(f);
    o = options_for(KB_DETECTOR_SIFT);
    o.contrast_threshold = 1;
    f = detect_view(&image, &o);
    assert_int_equal(f->n, 0);
    free(f);
    size_t before = 0;
    for (float edge = 1; edge < 500; edge *= 4) { /* more on edges with every step */
        o = options_for(KB_DETECTOR_SIFT);
        o.edge_threshold = edge;
        f = detect_view(&image, &o);
        assert_true(f->n >= before);
        before = f->n;
        free(f);
    }
    for (float sigma = 0.5f; sigma <= 4; sigma *= 2) {
        o = options_for(KB_DETECTOR_SIFT);
        o.sigma = sigma;
        o.layers = 1;
        f = detect_view(&image, &o);
        assert_true(f->n > 0);
        free(f);
    }
    o = options_for(KB_DETECTOR_ORB);
    o.level_factor = 2;
    f = detect_view(&image, &o);
    for (size_t i = 0; i < f->n; i++) assert_in_range(f->k[i].octave, 0, 3); /* 200, 100, 50, 25; 12 px is too small */
    free(f);
    free(p);
}

static void refuse(const kb_image *image, kb_detect_options o, kb_status expected)
{
    kb_keypoint k[4];
    size_t n;
    assert_int_equal(detect_keypoints(image, &o, NULL, k, 4, &n, NULL), expected);
}

#define REFUSE(field, value, status)                        \
    do {                                                    \
        kb_detect_options o_ = options_for(KB_DETECTOR_ORB); \
        o_.field = value;                                   \
        refuse(&image, o_, status);                         \
    } while (0)

static void test_wrong_arguments(void **state)
{
    (void)state;
    static uint8_t p[100 * 100];
    static uint16_t deep[100 * 100];
    kb_image image = view_of(p, 100, 100), small = view_of(p, 99, 100), bad = view_of(NULL, 100, 100);
    kb_image deep_mask = {deep, 100, 100, 200, KB_FORMAT_GRAY16, 0};
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    kb_keypoint k[4];
    size_t n;
    assert_int_equal(detect_keypoints(NULL, &o, NULL, k, 4, &n, NULL), KB_E_ARGUMENT);
    assert_int_equal(detect_keypoints(&image, &o, NULL, NULL, 4, &n, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_detect(&image, &o, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(detect_keypoints(&image, NULL, NULL, k, 4, &n, NULL), KB_OK);
    assert_int_equal(detect_keypoints(&bad, NULL, NULL, k, 4, &n, NULL), KB_E_IMAGE);
    REFUSE(struct_size, 1, KB_E_STRUCT);
    REFUSE(detector, (kb_detector)4, KB_E_UNKNOWN);
    REFUSE(max_keypoints, -1, KB_E_ARGUMENT);
    REFUSE(max_keypoints, 1000001, KB_E_ARGUMENT);
    REFUSE(selection, (kb_selection)5, KB_E_ARGUMENT);
    REFUSE(levels, 33, KB_E_ARGUMENT);
    REFUSE(level_factor, 1.01f, KB_E_ARGUMENT);
    REFUSE(level_factor, NAN, KB_E_ARGUMENT);
    REFUSE(fast_threshold, 256, KB_E_ARGUMENT);
    REFUSE(fast_threshold_min, 21, KB_E_ARGUMENT);
    REFUSE(cell_size, 7, KB_E_ARGUMENT);
    REFUSE(orientation, (kb_orientation)4, KB_E_ARGUMENT);
    REFUSE(every_level, 2, KB_E_ARGUMENT);
    REFUSE(second_angle, 2, KB_E_ARGUMENT);
    REFUSE(whole_pixels, -1, KB_E_ARGUMENT);
    REFUSE(layers, 9, KB_E_ARGUMENT);
    REFUSE(contrast_threshold, -1, KB_E_ARGUMENT);
    REFUSE(edge_threshold, 0.5f, KB_E_ARGUMENT);
    REFUSE(edge_threshold, INFINITY, KB_E_ARGUMENT);
    REFUSE(sigma, 5, KB_E_ARGUMENT);
    REFUSE(no_upsampling, 2, KB_E_ARGUMENT);
    REFUSE(hessian_threshold, 0.00001f, KB_E_ARGUMENT);
    REFUSE(hessian_threshold, 0.6f, KB_E_ARGUMENT);
    REFUSE(hessian_threshold, NAN, KB_E_ARGUMENT);
    REFUSE(mask, &small, KB_E_ARGUMENT);
    REFUSE(mask, &bad, KB_E_ARGUMENT);
    REFUSE(mask, &deep_mask, KB_E_ARGUMENT);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_ORB), "orb");
    assert_string_equal(kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_SIFT), "sift");
    assert_string_equal(kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_HESSIAN), "hessian");
    assert_null(kb_name(KB_NAMES_DETECTOR, 0));
    assert_true(kb_model_scale(NULL, "orb") == 1 && kb_model_scale(NULL, "sift") == 6.75f);
    assert_true(kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, KB_DETECTOR_HESSIAN)) == 1);
    assert_true(kb_model_scale(NULL, kb_name(KB_NAMES_DETECTOR, (kb_detector)9)) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blobs_are_found_once),
        cmocka_unit_test(test_every_level_finds_corners_on_many),
        cmocka_unit_test(test_sift_finds_blobs_between_pixels),
        cmocka_unit_test(test_a_turned_image_turns_the_angles),
        cmocka_unit_test(test_shares_fall_with_the_levels),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_threads_and_workspace_change_nothing),
        cmocka_unit_test(test_stride_and_depth_change_nothing),
        cmocka_unit_test(test_less_room_gives_the_strongest),
        cmocka_unit_test(test_room_and_few_keypoints),
        cmocka_unit_test(test_second_fast_threshold),
        cmocka_unit_test(test_small_flat_and_harsh_images),
        cmocka_unit_test(test_a_very_wide_image),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
