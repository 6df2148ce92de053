/* SPDX-License-Identifier: Apache-2.0 */
/* src/detect/hessian.c: the determinant of the Hessian and its peaks, against plain definitions and known pictures. */
#include "detect/detect.h"
#include "detected.h"

#define BLUR 2.8125 /* variance of the blur of a level, px^2 */

static void test_blur_and_determinant_are_their_definitions(void **state)
{
    (void)state;
    enum { W = 77, H = 10 };
    static const int32_t weight[] = {2, 7, 15, 25, 30, 25, 15, 7, 2};
    uint64_t seed = 3;
    uint8_t p[H * W];
    uint16_t columns[2 * (W + KBI_ALIGN)], blurred[2][W], rows[3][W];
    int32_t determinant[W];
    for (int i = 0; i < H * W; i++) p[i] = (uint8_t)kbi_random_next(&seed);
    kbi_hessian_blur(p + 4 * W + 4, W, W - 8, columns, (uint16_t *const[]){blurred[0], blurred[1]});
    for (int i = 0; i < 2 * (W - 8); i++) {
        int32_t x = i / 2;
        double sum = 0;
        for (int y = 0; y < 9; y++)
            for (int k = 0; k < 9; k++) sum += weight[k] / 128.0 * weight[y] * p[(y + i % 2) * W + x + k];
        assert_true(sum - blurred[i % 2][x] >= 0 && sum - blurred[i % 2][x] < 5); /* five products, rounded down */
    }
    for (int i = 0; i < 3 * W; i++) rows[i / W][i % W] = (uint16_t)(10000 + kbi_random_below(&seed, 5000));
    kbi_hessian_row(rows[0] + 1, rows[1] + 1, rows[2] + 1, W - 2, determinant + 1);
    for (int x = 1; x < W - 1; x++) {
        int32_t xx = rows[1][x - 1] + rows[1][x + 1] - 2 * rows[1][x], yy = rows[0][x] + rows[2][x] - 2 * rows[1][x];
        double xy = floor((rows[0][x - 1] + rows[2][x + 1] - rows[0][x + 1] - rows[2][x - 1]) / 4.0);
        assert_true(determinant[x] == xx * yy - xy * xy);
    }
}

/* No picture makes the differences of blurred rows wrap: the worst one has a white pixel where a weight is positive. */
static void test_sixteen_bits_hold_the_differences(void **state)
{
    (void)state;
    int32_t blur[11] = {0, 2, 7, 15, 25, 30, 25, 15, 7, 2, 0}, across = 0, slope = 0, sum = 0;
    for (int i = 0; i < 11; i++) {
        int32_t before = i > 0 ? blur[i - 1] : 0, after = i < 10 ? blur[i + 1] : 0;
        across += kbi_max_i(before + after - 2 * blur[i], 0);
        slope += kbi_max_i(after - before, -(after - before));
        sum += blur[i];
    }
    assert_int_equal(sum, 128);
    assert_true(255 * across < 32768);                  /* x x, y y: times 128 / 128 */
    assert_true(255.0 * slope * slope / 128 / 2 < 32768); /* four times x y: half of its weights are positive */
}

/* The limit of a response is the smallest determinant that has it. */
static void test_limits_follow_responses(void **state)
{
    (void)state;
    for (int32_t d = 1; d < 1 << 30; d += 1 + d / 50) {
        float response = kbi_hessian_response(d);
        int32_t limit = kbi_hessian_limit(response);
        assert_true(limit <= d && kbi_hessian_response(limit) == response);
        assert_true(limit == 1 || kbi_hessian_response(limit - 1) < response);
    }
}

static void test_peaks_are_alone(void **state)
{
    (void)state;
    enum { W = 131 };
    uint64_t seed = 9;
    for (int round = 0; round < 50; round++) {
        int32_t s[3][W], limit = 1 + round % 5, seen = 0;
        uint16_t x[W];
        for (int i = 0; i < 3 * W; i++)
            s[i / W][i % W] = kbi_random_below(&seed, 4) ? -2 : (int32_t)kbi_random_below(&seed, 6);
        int32_t n = kbi_hessian_peaks(s[0], s[1], s[2], W, limit, x);
        for (int32_t i = 1; i < W - 1; i++) {
            bool peak = s[1][i] >= limit;
            for (int k = 0; k < 9; k++) {
                int v = s[k / 3][i + k % 3 - 1];
                peak = peak && (k < 4 ? s[1][i] > v : s[1][i] >= v);
            }
            if (peak) assert_int_equal(x[seen++], i);
        }
        assert_int_equal(n, seen);
    }
}

/* A Gaussian blob, bright or dark, whose place is between the pixels. */
static uint8_t *render_blob(int32_t side, double x0, double y0, double sigma, double height)
{
    uint8_t *p = malloc((size_t)side * (size_t)side);
    for (int32_t i = 0; i < side * side; i++) {
        double x = i % side - x0, y = i / side - y0;
        p[i] = (uint8_t)(128.5 + height * exp(-0.5 * (x * x + y * y) / (sigma * sigma)));
    }
    return p;
}

/* Where a level has the blob with variance t and the blur adds b, its response times the weight of the level is
 * proportional to t^(7/8) / (t + b)^2: the largest at t = 7/9 b. So a blob is found once, and its size grows with it.
 * Making a level blurs too, so that sizes are up to a quarter smaller. */
static void test_blobs_are_found_once_between_pixels_and_levels(void **state)
{
    (void)state;
    enum { SIDE = 160 };
    for (int i = 0; i < 20; i++) {
        double x = 80 + 0.05 * i, y = 80.5 - 0.03 * i, sigma = 2.5 + 0.1 * i;
        uint8_t *p = render_blob(SIDE, x, y, sigma, i % 2 ? 90 : -90);
        found *f = detect_pixels(p, SIDE, SIDE, KB_DETECTOR_HESSIAN);
        assert_int_equal(f->n, 1);
        double factor = sigma / sqrt(7 / 9.0 * BLUR), ratio = f->k[0].size / (31 * factor);
        assert_true(hypot(f->k[0].x - x, f->k[0].y - y) < 0.07 * factor);
        assert_true(ratio > 0.75 && ratio < 1);
        free(f);
        free(p);
    }
}

/* On the first level the response is the geometric mean of the curvatures: of a blob of variance s and the blur's
 * variance b, in the middle, height x s / (s + b)^2. Twice the contrast has twice the response. */
static void test_responses_are_curvatures(void **state)
{
    (void)state;
    enum { SIDE = 160 };
    kb_detect_options o = options_for(KB_DETECTOR_HESSIAN);
    o.levels = 1;
    for (int i = 0; i < 4; i++) {
        double s = 9 + i, height = 100;
        uint8_t *p = render_blob(SIDE, 80, 80, sqrt(s), height), *q = render_blob(SIDE, 80, 80, sqrt(s), height / 2);
        kb_image image = view_of(p, SIDE, SIDE), dim = view_of(q, SIDE, SIDE);
        found *f = detect_view(&image, &o), *g = detect_view(&dim, &o);
        const kb_keypoint *k = nearest_to(f, 80, 80, 30.9, 31.1, 1), *half = nearest_to(g, 80, 80, 30.9, 31.1, 1);
        double expected = height * s / ((s + BLUR) * (s + BLUR)) / 255;
        assert_true(fabs(k->response / expected - 1) < 0.06);
        assert_true(fabs(k->response / half->response - 2) < 0.06);
        free(f), free(g), free(p), free(q);
    }
}

static void test_flat_pictures_and_edges_give_nothing(void **state)
{
    (void)state;
    enum { W = 150, H = 140 };
    uint8_t *p = malloc(W * H);
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < W * H; i++)
            p[i] = (uint8_t)(kind == 0 ? 77 : kind == 1 ? i % W : kind == 2 ? (i % W > 70) * 255 : (i / W > 80) * 200);
        found *f = detect_pixels(p, W, H, KB_DETECTOR_HESSIAN);
        assert_int_equal(f->n, 0);
        free(f);
    }
    free(p);
}

static void test_thresholds(void **state)
{
    (void)state;
    enum { W = 260, H = 240 };
    uint8_t *p = render_texture(W, H, 17);
    kb_image image = view_of(p, W, H);
    kb_detect_options o = options_for(KB_DETECTOR_HESSIAN);
    size_t before = MANY;
    for (float threshold = 0.0001f; threshold < 0.5f; threshold *= 3) {
        o.hessian_threshold = threshold;
        found *f = detect_view(&image, &o);
        assert_true(f->n <= before);
        for (size_t i = 0; i < f->n; i++) assert_true(f->k[i].response >= threshold);
        before = f->n;
        free(f);
    }
    free(p);
}

/* Between pixels, and between levels, a place moves by less than a pixel of its level, and few compete differently. */
static void test_whole_pixels(void **state)
{
    (void)state;
    enum { W = 260, H = 240 };
    uint8_t *p = render_texture(W, H, 17);
    kb_image image = view_of(p, W, H);
    for (int d = 0; d < 2; d++) {
        kb_detect_options o = options_for(d ? KB_DETECTOR_HESSIAN : KB_DETECTOR_ORB);
        found *between = detect_view(&image, &o);
        o.whole_pixels = 1;
        found *whole = detect_view(&image, &o);
        size_t known = 0, moved = 0;
        assert_true(whole->n > 200);
        for (size_t i = 0; i < whole->n; i++) {
            const kb_keypoint *b = &whole->k[i];
            double factor = pow(1.2, b->octave), x = (b->x + 0.5) / factor - 0.5, y = (b->y + 0.5) / factor - 0.5;
            assert_true(fabs(x - round(x)) < 1e-3 && fabs(y - round(y)) < 1e-3);
            const kb_keypoint *a = nearest_to(between, b->x, b->y, b->size * 0.999, b->size * 1.001, factor);
            known += a && a->response == b->response;
            moved += a && hypot(a->x - b->x, a->y - b->y) > 0.05 * factor;
        }
        assert_true(known > whole->n * 98 / 100 && moved > whole->n / 2);
        assert_true(between->n > whole->n * 98 / 100);
        free(between), free(whole);
    }
    free(p);
}

/* One thread, several, and low_memory find the same, as many as are asked for. */
static void check_ways(const kb_image *image, kb_detect_options o, kb_parallel *pool)
{
    found *one = detect_view(image, &o);
    o.parallel = pool;
    found *many = detect_view(image, &o);
    o.parallel = NULL;
    o.low_memory = 1;
    found *low = detect_view(image, &o);
    assert_int_equal(one->n, o.max_keypoints);
    assert_same(one, many);
    assert_same(one, low);
    free(one), free(many), free(low);
}

/* Many corners that are equal, and corners everywhere: threads, one level at a time and bands give the same. */
static void test_ties_and_full_lists(void **state)
{
    (void)state;
    enum { W = 500, H = 700 };
    uint64_t seed = 6;
    uint8_t *board = malloc(W * H), *noise = malloc(W * H);
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    for (int i = 0; i < W * H; i++) {
        board[i] = (i % W / 9 + i / W / 9) % 2 ? 220 : 30;
        noise[i] = kbi_random_below(&seed, 2) ? 255 : 0;
    }
    for (int c = 0; c < 12; c++) {
        kb_image image = view_of(c & 1 ? board : noise, W, H);
        kb_detect_options o = options_for(KB_DETECTOR_HESSIAN);
        o.max_keypoints = c / 4 == 0 ? 7 : c / 4 == 1 ? 700 : MANY;
        o.selection = c & 2 ? KB_SELECTION_GRID : KB_SELECTION_BEST;
        check_ways(&image, o, pool);
    }
    kb_pool_free(pool);
    free(board), free(noise);
}

/* Corners of the same response on one row, moved up or down from it, and lists that are full on one thread: those that
 * stay are the first by their places, as in all other ways. */
static void test_ties_between_pixels(void **state)
{
    (void)state;
    enum { W = 900, H = 700 };
    uint8_t *p = calloc(W, H);
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(8, NULL, &pool), KB_OK);
    for (int y = 40; y < H - 40; y += 16)
        for (int x = 40; x < W - 40; x += 16) {
            p[y * W + x] = 200;
            p[(y + (x / 16 % 2 ? 1 : -1)) * W + x] = 100;
        }
    kb_image image = view_of(p, W, H);
    for (int32_t n = 260; n <= 340; n += 10) {
        kb_detect_options o = options_for(KB_DETECTOR_HESSIAN);
        o.levels = 1;
        o.max_keypoints = n;
        check_ways(&image, o, pool);
    }
    kb_pool_free(pool);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blur_and_determinant_are_their_definitions),
        cmocka_unit_test(test_sixteen_bits_hold_the_differences),
        cmocka_unit_test(test_limits_follow_responses),
        cmocka_unit_test(test_peaks_are_alone),
        cmocka_unit_test(test_blobs_are_found_once_between_pixels_and_levels),
        cmocka_unit_test(test_responses_are_curvatures),
        cmocka_unit_test(test_flat_pictures_and_edges_give_nothing),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_whole_pixels),
        cmocka_unit_test(test_ties_and_full_lists),
        cmocka_unit_test(test_ties_between_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
