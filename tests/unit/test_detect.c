/* src/detect: rendered corners and blobs are found where they are, the row functions against plain definitions, masks,
 * threads, strides, 16 bits, wild input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cpu.h"
#include "detect/sift_space.h"
#include "detect/kernels.h"
#include "image/image.h"
#include "render.h"

#define MANY 5000

typedef struct found {
    kb_keypoint k[MANY];
    size_t n;
} found;

static kb_detect_options options_for(kb_detector detector)
{
    kb_detect_options o;
    KB_INIT(o);
    o.detector = detector;
    o.max_keypoints = MANY;
    return o;
}

static found *detect_view(const kb_image *image, const kb_detect_options *options)
{
    found *f = calloc(1, sizeof *f);
    assert_int_equal(kb_detect(image, options, NULL, f->k, MANY, &f->n), KB_OK);
    return f;
}

static found *detect_pixels(const uint8_t *pixels, int32_t width, int32_t height, kb_detector detector)
{
    kb_image image = view_of(pixels, width, height);
    kb_detect_options o = options_for(detector);
    return detect_view(&image, &o);
}

static void assert_same(const found *a, const found *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->k, b->k, a->n * sizeof *a->k);
}

/* The keypoint of some size nearest to a place; NULL when none is within `reach`. */
static const kb_keypoint *nearest_to(const found *f, double x, double y, double smallest, double largest, double reach)
{
    const kb_keypoint *best = NULL;
    for (size_t i = 0; i < f->n; i++) {
        double d = hypot(f->k[i].x - x, f->k[i].y - y);
        if (f->k[i].size < smallest || f->k[i].size > largest || d > reach) continue;
        reach = d;
        best = &f->k[i];
    }
    return best;
}

static double angle_between(double a, double b)
{
    double d = fmod(fabs(a - b), 360);
    return d > 180 ? 360 - d : d;
}

/* ------------------------------------------------------------------------------------------------------- pictures */

/* How much of the way from 0 to 1 an edge at 0 has gone: soft over three pixels, as a camera sees it. */
static double soft_edge(double distance) { return distance < -1.5 ? 0 : distance > 1.5 ? 1 : 0.5 + distance / 3; }

/* A bright rectangle from (x0, y0) to (x1, y1). */
static uint8_t *render_rectangle(int32_t width, int32_t height, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    uint8_t *p = malloc((size_t)width * (size_t)height);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            p[y * width + x] = (uint8_t)(60 + 140 * soft_edge(x - x0) * soft_edge(x1 - x) * soft_edge(y - y0) *
                                                  soft_edge(y1 - y));
    return p;
}

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

/* ---------------------------------------------------------------------------------------------------- row functions */

static int fast_score_by_definition(const uint8_t *p, int32_t stride)
{
    static const int8_t circle[16][2] = {{0, -3}, {1, -3}, {2, -2}, {3, -1}, {3, 0},  {3, 1},   {2, 2},   {1, 3},
                                         {0, 3},  {-1, 3}, {-2, 2}, {-3, 1}, {-3, 0}, {-3, -1}, {-2, -2}, {-1, -3}};
    for (int t = 254; t >= 0; t--)
        for (int start = 0; start < 16; start++) {
            int brighter = 0, darker = 0;
            for (int i = 0; i < 9; i++) {
                const int8_t *c = circle[(start + i) % 16];
                brighter += p[c[1] * stride + c[0]] > p[0] + t;
                darker += p[c[1] * stride + c[0]] < p[0] - t;
            }
            if (brighter == 9 || darker == 9) return t + 1;
        }
    return 0;
}

static void test_fast_row_is_its_definition(void **state)
{
    (void)state;
    enum { W = 150, H = 7 };
    uint64_t seed = 5;
    for (int round = 0; round < 12; round++) {
        uint8_t p[H * W], score[W];
        for (int i = 0; i < H * W; i++) {
            uint8_t random = (uint8_t)kbi_random_next(&seed);
            p[i] = round % 4 ? random : random & 7 ? 0 : 255; /* black with a little white: arcs are common */
        }
        int32_t width = round % 3 == 0 ? 17 : 144, threshold = round < 6 ? 1 : 60;
        kbi_fast_row(p + 3 * W + 3, W, width, threshold, score);
        for (int32_t x = 0; x < width; x++) {
            int expected = fast_score_by_definition(p + 3 * W + 3 + x, W);
            assert_int_equal(score[x], expected > threshold ? expected : 0);
        }
    }
}

static void test_peaks_are_alone(void **state)
{
    (void)state;
    enum { W = 131 };
    uint64_t seed = 9;
    for (int round = 0; round < 50; round++) {
        uint8_t s[3][W];
        uint16_t x[W];
        for (int i = 0; i < 3 * W; i++)
            s[i / W][i % W] = kbi_random_below(&seed, 4) ? 0 : (uint8_t)kbi_random_below(&seed, 5);
        int32_t n = kbi_peaks_row(s[0], s[1], s[2], W, x), seen = 0;
        for (int32_t i = 1; i < W - 1; i++) {
            bool peak = s[1][i] > 0;
            for (int k = 0; k < 9; k++) {
                int v = s[k / 3][i + k % 3 - 1];
                peak = peak && (k < 4 ? s[1][i] > v : s[1][i] >= v);
            }
            if (peak) {
                assert_true(seen < n);
                assert_int_equal(x[seen++], i);
            }
        }
        assert_int_equal(seen, n);
    }
}

static void test_harris_is_its_definition(void **state)
{
    (void)state;
    uint8_t *p = render_texture(40, 40, 3);
    int64_t a = 0, b = 0, c = 0;
    const uint8_t *m = p + 20 * 40 + 20;
    for (int y = -3; y <= 3; y++)
        for (int x = -3; x <= 3; x++) {
            const uint8_t *q = m + y * 40 + x;
            int ix = q[-39] - q[-41] + 2 * (q[1] - q[-1]) + q[41] - q[39];
            int iy = q[39] - q[-41] + 2 * (q[40] - q[-40]) + q[41] - q[-39];
            a += ix * ix, b += iy * iy, c += ix * iy;
        }
    assert_true(kbi_harris(m, 40) == 25 * (a * b - c * c) - (a + b) * (a + b));
    double scale = 1.0 / (4 * 7 * 255.0), expected = ((double)a * (double)b - (double)c * (double)c -
                                                      0.04 * (double)(a + b) * (double)(a + b)) * pow(scale, 4);
    assert_float_equal(kbi_harris_response(kbi_harris(m, 40)), expected, 1e-6 * fabs(expected));
    free(p);
}

static void test_disc_angle_points_to_the_light(void **state)
{
    (void)state;
    enum { W = 48 };
    uint8_t p[W * W];
    for (int degrees = 0; degrees < 360; degrees += 5) {
        double s = sin(degrees * M_PI / 180), c = cos(degrees * M_PI / 180);
        for (int y = 0; y < W; y++)
            for (int x = 0; x < W; x++) /* wraps outside the disc */
                p[y * W + x] = (uint8_t)(int)(120 + 5 * ((x - 20) * c + (y - 20) * s));
        float angle = kbi_disc_angle(p + 20 * W + 20, W);
        assert_true(angle >= 0 && angle < 360);
        assert_true(angle_between(angle, degrees) < 1.5);
    }
    for (int i = 0; i < W * W; i++) p[i] = 255;
    assert_true(kbi_disc_angle(p + 20 * W + 20, W) == 0);
}

static void test_resize_keeps_a_ramp(void **state)
{
    (void)state;
    enum { W = 200 };
    uint8_t in[W], weight[W], pair[2 * W], out[W];
    int32_t index[W];
    for (int i = 0; i < W; i++) in[i] = (uint8_t)i;
    kbi_resize_map map = {index, weight, pair};
    int32_t n = (int32_t)(W / 1.2);
    kbi_resize_plan(map, n, 1.2, W);
    kbi_resize_row(in, W, map, n, out);
    for (int32_t i = 0; i < n; i++) {
        assert_in_range(index[i], 0, W - 2);
        assert_true(fabs(out[i] - ((i + 0.5) * 1.2 - 0.5)) <= 0.51);
    }
    uint8_t other[W];
    for (int i = 0; i < W; i++) other[i] = (uint8_t)(255 - i);
    kbi_blend_rows(in, other, W, 32, out);
    for (int i = 0; i < W; i++) assert_true(fabs(out[i] - (0.75 * in[i] + 0.25 * other[i])) <= 0.51);
}

static void test_blur_is_gaussian(void **state)
{
    (void)state;
    kbi_detect_kernels kernels;
    kbi_detect_kernels_c(&kernels);
    enum { W = 64, H = 61 };
    static uint16_t in[H * W], out[H * W], row[W + 2 * KBI_BLUR_MAX_TAPS];
    for (double sigma = 0.7; sigma < 4; sigma += 0.6) {
        kbi_blur blur;
        kbi_blur_plan(&blur, sigma);
        int32_t sum = 0;
        for (int32_t k = 0; k < blur.taps; k++) sum += blur.weight[k];
        assert_int_equal(sum, 32768);
        /* a flat image stays; a point becomes a bell of the right width */
        for (int i = 0; i < H * W; i++) in[i] = 255 * KBI_SIFT_ONE;
        kbi_blur_image(&kernels, in, out, W, H, W, &blur, row);
        for (int i = 0; i < H * W; i++) assert_in_range(out[i], 255 * KBI_SIFT_ONE - 16, 255 * KBI_SIFT_ONE + 16);
        for (int i = 0; i < H * W; i++) in[i] = i == 30 * W + 32 ? 32640 : 0;
        kbi_blur_image(&kernels, in, out, W, H, W, &blur, row);
        double mass = 0, spread = 0;
        for (int x = -15; x <= 15; x++) {
            double v = out[30 * W + 32 + x] - out[0]; /* without what makes up for the shifts */
            mass += v;
            spread += v * x * x;
        }
        assert_true(fabs(sqrt(spread / mass) / sigma - 1) < 0.03);
    }
}

/* The layers of (x, y) +-reach of octave `number`: those of a window that is there, or far from there, whose rows they
 * are not. */
static void copy_layers(kbi_scale_space *space, kbi_scale_window *w, int32_t number, int32_t middle, int32_t y, int32_t x,
                        int32_t reach, bool expect_patch, uint16_t *out)
{
    const kbi_octave *whole = &space->octave[number];
    kbi_scale_window_start(w, space, number, KBI_SIFT_BORDER, 0, whole->height);
    for (int32_t m = KBI_SIFT_BORDER; m <= middle; m++) kbi_scale_window_move(w, m);
    const kbi_octave *o = kbi_scale_window_around(w, y, x, reach);
    assert_int_equal(o != &w->here, expect_patch);
    for (int32_t layer = 0; layer < space->layers + 3; layer++)
        for (int32_t r = kbi_max_i(y - reach, 0); r <= kbi_min_i(y + reach, whole->height - 1); r++)
            for (int32_t c = kbi_max_i(x - reach, 0); c <= kbi_min_i(x + reach, whole->width - 1); c++)
                *out++ = kbi_octave_row(o, layer, r)[c];
}

/* Pixels outside of the window are what they are when it comes there, in the middle and at every border. */
static void test_scale_space_patches_are_exact(void **state)
{
    (void)state;
    enum { W = 150, H = 170, REACH = 12, ROOM = 11 * (2 * REACH + 1) * (2 * REACH + 1) };
    static uint16_t expected[ROOM], found[ROOM];
    uint8_t *pixels = render_texture(W, H, 5);
    for (int c = 0; c < 4; c++) {
        kbi_detect_job job = {.image = {pixels, W, H, W, KB_GRAY8, 0}};
        kbi_detect_kernels kernels;
        kbi_scale_space space;
        kbi_scale_window window;
        assert_int_equal(kbi_detect_options_read(&job.options, NULL), KB_OK);
        job.options.no_upsampling = c & 1;
        if (c & 2) job.options.layers = 5;
        kbi_detect_kernels_init(&kernels, kbi_cpu_flags());
        kbi_scale_space_plan(&space, &job, &kernels);
        assert_int_equal(kb_workspace_create(&job.workspace), KB_OK);
        assert_true(kbi_scale_space_get(&space, job.workspace));
        assert_true(kbi_scale_window_get(&window, &space, job.workspace));
        for (int32_t number = 0; number < 2; number++) {
            int32_t height = space.octave[number].height, width = space.octave[number].width;
            int32_t last = height - KBI_SIFT_BORDER - 1, places[][2] = {{last, 5}, {last, width - 6}, {last - 30, width / 2}};
            for (size_t i = 0; i < KBI_COUNT(places); i++) {
                int32_t y = places[i][0], x = places[i][1];
                copy_layers(&space, &window, number, y, y, x, REACH, false, expected);
                copy_layers(&space, &window, number, KBI_SIFT_BORDER, y, x, REACH, true, found);
                assert_memory_equal(expected, found, sizeof expected);
                copy_layers(&space, &window, number, last, height - 1 - y, x, REACH, height - 1 - y < height / 2, found);
                copy_layers(&space, &window, number, height - 1 - y, height - 1 - y, x, REACH, false, expected);
                assert_memory_equal(expected, found, sizeof expected);
            }
        }
        kb_workspace_free(job.workspace);
    }
    free(pixels);
}

/* The direction of a ramp, clockwise on screen. */
static void test_directions_of_a_ramp(void **state)
{
    (void)state;
    enum { W = 80 };
    static uint16_t layer[W * W];
    kbi_octave o = {.width = W, .height = W, .stride = W, .layer = {layer}, .pixel = 1};
    for (int degrees = 0; degrees < 360; degrees += 3) {
        double s = sin(degrees * M_PI / 180), c = cos(degrees * M_PI / 180);
        float angle[KBI_SIFT_MAX_ANGLES];
        for (int i = 0; i < W * W; i++) layer[i] = (uint16_t)(16000 + 100 * ((i % W - 40) * c + (i / W - 40) * s));
        assert_int_equal(kbi_directions(&o, 0, 40, 40, 2.5, angle), 1);
        assert_true(angle[0] >= 0 && angle[0] < 360);
        assert_true(angle_between(angle[0], degrees) < 5.1); /* one bin takes all; half its width */
    }
    memset(layer, 0, sizeof layer);
    float none[KBI_SIFT_MAX_ANGLES];
    assert_int_equal(kbi_directions(&o, 0, 40, 40, 2.5, none), 0);
}

/* -------------------------------------------------------------------------------------------------- what is found */

static void test_orb_finds_the_corners_of_a_square(void **state)
{
    (void)state;
    uint8_t *p = render_rectangle(240, 220, 70, 65, 160, 150);
    found *f = detect_pixels(p, 240, 220, KB_DETECTOR_ORB);
    static const int corner[4][3] = {{70, 65, 45}, {160, 65, 135}, {160, 150, 225}, {70, 150, 315}};
    for (int i = 0; i < 4; i++) {
        const kb_keypoint *k = nearest_to(f, corner[i][0], corner[i][1], 31, 31, 2);
        assert_non_null(k);
        assert_int_equal(k->octave, 0);
        assert_true(angle_between(k->angle, corner[i][2]) < 3); /* into the bright square */
        /* the same corner on coarser levels, at its place */
        int levels = 0;
        for (int level = 1; level < 6; level++) {
            double factor = pow(1.2, level);
            const kb_keypoint *c = nearest_to(f, corner[i][0], corner[i][1], 31 * factor - 0.01, 31 * factor + 0.01,
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
 * another neighbour, so a few are let off. Of ORB's levels only the first turns without a change of its pixels. */
static void check_turn(kb_detector detector, double tolerance, double turn, double share)
{
    enum { W = 230, H = 200 };
    uint8_t *p = render_texture(W, H, 21), *q = turned(p, W, H);
    found *a = detect_pixels(p, W, H, detector), *b = detect_pixels(q, H, W, detector);
    size_t same = 0, all = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (detector == KB_DETECTOR_ORB && a->k[i].octave > 0) continue;
        all++;
        for (size_t k = 0; k < b->n; k++) {
            const kb_keypoint *u = &a->k[i], *v = &b->k[k];
            if (fabs(v->x - (H - 1 - u->y)) > tolerance || fabs(v->y - u->x) > tolerance) continue;
            if (fabs(v->size / u->size - 1) > 0.02 || angle_between(v->angle, u->angle + 90) > turn) continue;
            same++;
            break;
        }
    }
    assert_true(all > 200);
    assert_true((double)same >= share * (double)all);
    free(a);
    free(b);
    free(p);
    free(q);
}

static void test_a_turned_image_turns_the_angles(void **state)
{
    (void)state;
    check_turn(KB_DETECTOR_SIFT, 0.1, 2, 0.93);
    check_turn(KB_DETECTOR_ORB, 0.01, 8, 0.8); /* cells of 4 px: they lie half a pixel beside the corner */
}

static void test_shares_fall_with_the_levels(void **state)
{
    (void)state;
    uint8_t *p = render_texture(640, 600, 2);
    kb_image image = view_of(p, 640, 600);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.max_keypoints = 500;
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
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT; d++) {
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
        for (size_t i = 0; i < right->n; i++) assert_true(right->k[i].x >= W / 2 - 0.5);
        free(all), free(none), free(one), free(white), free(right);
    }
    free(p);
    free(mask);
}

static void test_threads_and_workspace_change_nothing(void **state)
{
    (void)state;
    enum { W = 333, H = 251 };
    uint8_t *p = render_texture(W, H, 4);
    kb_image image = view_of(p, W, H);
    kb_workspace *workspace;
    assert_int_equal(kb_workspace_create(&workspace), KB_OK);
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT; d++)
        for (int rule = KB_SELECT_BEST; rule <= KB_SELECT_QUADTREE; rule++) {
            kb_detect_options o = options_for((kb_detector)d);
            o.selection = (kb_selection)rule;
            o.max_keypoints = 300;
            found *alone = detect_view(&image, &o), f;
            assert_true(alone->n > 200 && alone->n <= 300);
            for (int32_t threads = 2; threads <= 7; threads += 5) {
                kb_pool *pool;
                assert_int_equal(kb_pool_create(threads, &pool), KB_OK);
                o.parallel = kb_pool_parallel(pool);
                assert_int_equal(kb_detect(&image, &o, workspace, f.k, MANY, &f.n), KB_OK);
                assert_same(alone, &f);
                size_t bytes = kb_workspace_bytes(workspace);
                assert_int_equal(kb_detect(&image, &o, workspace, f.k, MANY, &f.n), KB_OK);
                assert_same(alone, &f);
                assert_int_equal(kb_workspace_bytes(workspace), bytes); /* the second frame allocates nothing */
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
    kb_image strided = {wide, W, H, STRIDE, KB_GRAY8, 0}, sixteen = {deep, W, H, 2 * W, KB_GRAY16, 0};
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT; d++) {
        kb_detect_options o = options_for((kb_detector)d);
        found *a = detect_pixels(p, W, H, (kb_detector)d);
        found *b = detect_view(&strided, &o), *c = detect_view(&sixteen, &o);
        assert_true(a->n > 30);
        assert_same(a, b);
        assert_same(a, c);
        free(a), free(b), free(c);
    }
    kb_keypoint k[2] = {{100.25f, 90.5f, 40, -1, 0, 0, -1}, {100.25f, 90.5f, 40, -1, 0, 0, -1}};
    assert_int_equal(kb_orient(&strided, k, 1, NULL, NULL, NULL), KB_OK);
    assert_int_equal(kb_orient(&sixteen, k + 1, 1, NULL, NULL, NULL), KB_OK);
    assert_true(k[0].angle == k[1].angle && k[0].angle >= 0);
    free(p), free(wide), free(deep);
}

static void test_less_room_gives_the_strongest(void **state)
{
    (void)state;
    uint8_t *p = render_texture(240, 230, 30);
    kb_image image = view_of(p, 240, 230);
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT; d++) {
        kb_detect_options o = options_for((kb_detector)d);
        o.selection = KB_SELECT_BEST;
        o.max_keypoints = 256;
        found *all = detect_view(&image, &o);
        kb_keypoint few[12];
        size_t n;
        few[10].x = -7;
        assert_true(all->n > 20);
        assert_int_equal(kb_detect(&image, &o, NULL, few, 10, &n), KB_OK);
        assert_int_equal(n, 10);
        assert_memory_equal(few, all->k, 10 * sizeof *few);
        assert_true(few[10].x == -7);
        assert_int_equal(kb_detect(&image, &o, NULL, NULL, 0, &n), KB_OK);
        assert_int_equal(n, 0);
        free(all);
    }
    free(p);
}

/* Room for n gives what max_keypoints = n gives, by every rule; few are the strongest of all levels. */
static void test_room_and_few_keypoints(void **state)
{
    (void)state;
    uint8_t *p = render_texture(240, 230, 31);
    kb_image image = view_of(p, 240, 230);
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT; d++)
        for (int rule = KB_SELECT_BEST; rule <= KB_SELECT_QUADTREE; rule++) {
            kb_detect_options o = options_for((kb_detector)d);
            kb_keypoint few[40];
            size_t n;
            o.selection = (kb_selection)rule;
            assert_int_equal(kb_detect(&image, &o, NULL, few, 40, &n), KB_OK);
            assert_int_equal(n, 40);
            o.max_keypoints = 40;
            found *asked = detect_view(&image, &o);
            assert_int_equal(asked->n, 40);
            assert_memory_equal(few, asked->k, sizeof few);
            free(asked);
        }
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    o.selection = KB_SELECT_BEST;
    o.max_keypoints = 256;
    found *many = detect_view(&image, &o);
    assert_true(many->n > 100);
    for (int32_t n = 1; n <= 64; n = 2 * n + 1) {
        o.max_keypoints = n;
        found *few = detect_view(&image, &o);
        assert_int_equal(few->n, n);
        assert_memory_equal(few->k, many->k, (size_t)n * sizeof *few->k);
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
    assert_int_equal(kb_detect(&image, &o, NULL, both->k, MANY, &n), KB_E_ARGUMENT); /* above the first */
    free(strong), free(both), free(low), free(p);
}

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
    assert_int_equal(kb_orient(&image, k, KBI_COUNT(k), &o, NULL, NULL), KB_OK);
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
        assert_int_equal(kb_orient(&image, k, KBI_COUNT(k), NULL, NULL, confidence), KB_OK);
        for (int i = 0; i < 3; i++) assert_true(angle_between(k[i].angle, angle) < 3);
        assert_true(k[3].angle >= 0); /* at the border, which is repeated */
        for (int i = 4; i < 7; i++) assert_true(k[i].angle == -1 && confidence[i] == 0);
        assert_true(confidence[0] > 0.9);
    }
    /* a bar has two opposite ones */
    memset(p, 50, SIDE * SIDE);
    for (int y = 0; y < SIDE; y++) memset(p + y * SIDE + 76, 200, 9);
    k[0] = usual;
    assert_int_equal(kb_orient(&image, k, 1, NULL, NULL, confidence), KB_OK);
    assert_true(confidence[0] < 0.35);
    memset(p, 50, SIDE * SIDE);
    assert_int_equal(kb_orient(&image, k, 1, NULL, NULL, confidence), KB_OK);
    assert_true(k[0].angle == 0 && confidence[0] == 0); /* flat */
    free(p);
}

/* kb_orient finds nearly the angles of the detector, though in the sampler's pyramid. */
static void test_orient_agrees_with_the_detector(void **state)
{
    (void)state;
    uint8_t *p = render_texture(240, 240, 77);
    kb_image image = view_of(p, 240, 240);
    for (int rule = KB_ORIENTATION_GRADIENT; rule <= KB_ORIENTATION_CENTROID; rule++) {
        kb_detect_options o = options_for(KB_DETECTOR_ORB);
        o.orientation = (kb_orientation)rule;
        found *a = detect_view(&image, &o), *again = malloc(sizeof *again);
        kb_orient_options by = orient_by((kb_orientation)rule);
        size_t near = 0;
        memcpy(again, a, sizeof *a);
        assert_true(a->n > 50);
        assert_int_equal(kb_orient(&image, again->k, again->n, &by, NULL, NULL), KB_OK);
        for (size_t i = 0; i < a->n; i++) near += angle_between(a->k[i].angle, again->k[i].angle) < 8;
        assert_true(near > a->n * 8 / 10);
        free(a), free(again);
    }
    free(p);
}

/* Refined places lie within half a pixel of the level, and everything else stays. */
static void test_subpixel(void **state)
{
    (void)state;
    uint8_t *p = render_texture(300, 260, 9);
    kb_image image = view_of(p, 300, 260);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    found *whole = detect_view(&image, &o);
    o.subpixel = 1;
    found *fine = detect_view(&image, &o);
    size_t moved = 0;
    assert_int_equal(fine->n, whole->n);
    for (size_t i = 0; i < fine->n; i++) {
        double factor = fine->k[i].size / 31.0;
        const kb_keypoint *near = nearest_to(whole, fine->k[i].x, fine->k[i].y, fine->k[i].size - 0.1,
                                             fine->k[i].size + 0.1, 0.7072 * factor);
        assert_non_null(near); /* at most half a pixel of the level along each axis */
        moved += near->x != fine->k[i].x || near->y != fine->k[i].y;
        if (i > 0) assert_true(kbi_keypoint_before(&fine->k[i - 1], &fine->k[i]));
    }
    assert_true(moved > fine->n / 2);
    o.low_memory = 1;
    found *small = detect_view(&image, &o);
    assert_same(fine, small);
    free(whole), free(fine), free(small), free(p);
}

/* With second_angle there are more keypoints of the same places, in order, and no more than asked for. */
static void test_second_angle(void **state)
{
    (void)state;
    uint8_t *p = render_texture(240, 230, 8);
    kb_image image = view_of(p, 240, 230);
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
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

static void test_orient_wrong_arguments(void **state)
{
    (void)state;
    static uint8_t p[100 * 100];
    kb_image image = view_of(p, 100, 100);
    kb_keypoint k = {50, 50, 31, 5, 0, 0, -1};
    kb_orient_options o = orient_by((kb_orientation)4);
    assert_int_equal(kb_orient(&image, &k, 1, &o, NULL, NULL), KB_E_ARGUMENT);
    o = orient_by(KB_ORIENTATION_NONE);
    assert_int_equal(kb_orient(&image, &k, 1, &o, NULL, NULL), KB_OK);
    assert_true(k.angle == -1);
    o.scale = NAN;
    assert_int_equal(kb_orient(&image, &k, 1, &o, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_orient(&image, NULL, 0, NULL, NULL, NULL), KB_OK);
    assert_int_equal(kb_orient(&image, NULL, 1, NULL, NULL, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_orient(NULL, &k, 1, NULL, NULL, NULL), KB_E_ARGUMENT);
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
    o.no_upsampling = plain;
    o.layers = 1 + 7 * plain;
    o.levels = 16;
    o.fast_threshold = 1;
    o.contrast_threshold = 0.0001f;
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
            free(p);
        }
}

/* Places far beyond 16 bits in the doubled image. */
static void test_a_very_wide_image(void **state)
{
    (void)state;
    enum { W = 65535, H = 80 };
    uint8_t *p = malloc((size_t)W * H), *tile = render_texture(240, H, 14);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) p[y * W + x] = tile[y * 240 + x % 240];
    for (int d = KB_DETECTOR_ORB; d <= KB_DETECTOR_SIFT; d++) {
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
    for (size_t i = 0; i < f->n; i++) assert_in_range(f->k[i].octave, 0, 1); /* 200, 100; 50 px is too small */
    free(f);
    free(p);
}

static void refuse(const kb_image *image, kb_detect_options o, kb_status expected)
{
    kb_keypoint k[4];
    size_t n;
    assert_int_equal(kb_detect(image, &o, NULL, k, 4, &n), expected);
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
    kb_image deep_mask = {deep, 100, 100, 200, KB_GRAY16, 0};
    kb_detect_options o = options_for(KB_DETECTOR_ORB);
    kb_keypoint k[4];
    size_t n;
    assert_int_equal(kb_detect(NULL, &o, NULL, k, 4, &n), KB_E_ARGUMENT);
    assert_int_equal(kb_detect(&image, &o, NULL, NULL, 4, &n), KB_E_ARGUMENT);
    assert_int_equal(kb_detect(&image, &o, NULL, k, 4, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_detect(&image, NULL, NULL, k, 4, &n), KB_OK);
    assert_int_equal(kb_detect(&bad, NULL, NULL, k, 4, &n), KB_E_IMAGE);
    REFUSE(struct_size, 1, KB_E_STRUCT);
    REFUSE(detector, (kb_detector)3, KB_E_UNKNOWN);
    REFUSE(max_keypoints, -1, KB_E_ARGUMENT);
    REFUSE(max_keypoints, 1000001, KB_E_ARGUMENT);
    REFUSE(selection, (kb_selection)5, KB_E_ARGUMENT);
    REFUSE(levels, 17, KB_E_ARGUMENT);
    REFUSE(level_factor, 1.01f, KB_E_ARGUMENT);
    REFUSE(level_factor, NAN, KB_E_ARGUMENT);
    REFUSE(fast_threshold, 256, KB_E_ARGUMENT);
    REFUSE(fast_threshold_min, 21, KB_E_ARGUMENT);
    REFUSE(cell_size, 7, KB_E_ARGUMENT);
    REFUSE(orientation, (kb_orientation)4, KB_E_ARGUMENT);
    REFUSE(second_angle, 2, KB_E_ARGUMENT);
    REFUSE(subpixel, -1, KB_E_ARGUMENT);
    REFUSE(layers, 9, KB_E_ARGUMENT);
    REFUSE(contrast_threshold, -1, KB_E_ARGUMENT);
    REFUSE(edge_threshold, 0.5f, KB_E_ARGUMENT);
    REFUSE(edge_threshold, INFINITY, KB_E_ARGUMENT);
    REFUSE(sigma, 5, KB_E_ARGUMENT);
    REFUSE(no_upsampling, 2, KB_E_ARGUMENT);
    REFUSE(mask, &small, KB_E_ARGUMENT);
    REFUSE(mask, &bad, KB_E_ARGUMENT);
    REFUSE(mask, &deep_mask, KB_E_ARGUMENT);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(kb_detector_name(KB_DETECTOR_ORB), "orb");
    assert_string_equal(kb_detector_name(KB_DETECTOR_SIFT), "sift");
    assert_string_equal(kb_detector_name((kb_detector)0), "?");
    assert_true(kb_detector_scale(KB_DETECTOR_ORB) == 1 && kb_detector_scale(KB_DETECTOR_SIFT) == 6.75f);
    assert_true(kb_detector_scale((kb_detector)9) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_row_is_its_definition),
        cmocka_unit_test(test_peaks_are_alone),
        cmocka_unit_test(test_harris_is_its_definition),
        cmocka_unit_test(test_disc_angle_points_to_the_light),
        cmocka_unit_test(test_resize_keeps_a_ramp),
        cmocka_unit_test(test_blur_is_gaussian),
        cmocka_unit_test(test_scale_space_patches_are_exact),
        cmocka_unit_test(test_directions_of_a_ramp),
        cmocka_unit_test(test_orb_finds_the_corners_of_a_square),
        cmocka_unit_test(test_sift_finds_blobs_between_pixels),
        cmocka_unit_test(test_a_turned_image_turns_the_angles),
        cmocka_unit_test(test_shares_fall_with_the_levels),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_threads_and_workspace_change_nothing),
        cmocka_unit_test(test_stride_and_depth_change_nothing),
        cmocka_unit_test(test_less_room_gives_the_strongest),
        cmocka_unit_test(test_room_and_few_keypoints),
        cmocka_unit_test(test_second_fast_threshold),
        cmocka_unit_test(test_orient_by_centroid),
        cmocka_unit_test(test_orient_by_gradient),
        cmocka_unit_test(test_orient_agrees_with_the_detector),
        cmocka_unit_test(test_subpixel),
        cmocka_unit_test(test_second_angle),
        cmocka_unit_test(test_orient_wrong_arguments),
        cmocka_unit_test(test_small_flat_and_harsh_images),
        cmocka_unit_test(test_a_very_wide_image),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
