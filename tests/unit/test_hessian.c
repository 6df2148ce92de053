/* src/detect/hessian.c: the determinant of the Hessian and its peaks, against plain definitions and known pictures. */
#include "detect/orb.h"
#include "detected.h"

static void test_blur_and_determinant_are_their_definitions(void **state)
{
    (void)state;
    enum { W = 77, H = 9 };
    static const int32_t weight[] = {2, 7, 15, 25, 30, 25, 15, 7, 2};
    uint64_t seed = 3;
    uint8_t p[H * W];
    uint16_t blurred[W], rows[3][W];
    int32_t determinant[W];
    for (int i = 0; i < H * W; i++) p[i] = (uint8_t)kbi_random_next(&seed);
    kbi_blur_bytes(p + 4 * W, W, W, blurred);
    for (int x = 0; x < W; x++) {
        int32_t sum = 0;
        for (int y = 0; y < H; y++) sum += weight[y] * p[y * W + x];
        assert_int_equal(blurred[x], sum);
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

static void test_scores_and_limits_follow_responses(void **state)
{
    (void)state;
    int32_t before = 0;
    for (int32_t d = 1; d < 1 << 30; d += 1 + d / 50) {
        float response = kbi_hessian_response(d);
        int32_t score = kbi_hessian_score(response), limit = kbi_hessian_limit(response);
        assert_true(score >= before);
        assert_true(limit <= d && kbi_hessian_response(limit) == response);
        assert_true(limit == 1 || kbi_hessian_response(limit - 1) < response);
        before = score;
    }
    assert_int_equal(kbi_hessian_score(kbi_hessian_response(1)), 0);
    assert_in_range(before, 200, 254);
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

static void test_blobs_are_found_between_pixels(void **state)
{
    (void)state;
    enum { SIDE = 160 };
    for (int i = 0; i < 20; i++) {
        double x = 80 + 0.05 * i, y = 80.5 - 0.03 * i;
        uint8_t *p = render_blob(SIDE, x, y, 2.5 + 0.1 * i, i % 2 ? 90 : -90);
        found *f = detect_pixels(p, SIDE, SIDE, KB_DETECTOR_HESSIAN);
        for (int level = 0; level < 5; level++) {
            const kb_keypoint *k = nearest_to(f, x, y, 30.9 * pow(1.2, level), 31.1 * pow(1.2, level), 3);
            assert_non_null(k);
            assert_true(hypot(k->x - x, k->y - y) < 0.12 * pow(1.2, level));
            assert_int_equal(k->octave, level);
        }
        free(f);
        free(p);
    }
}

/* The response is the geometric mean of the curvatures: of a blob of variance s and the blur's variance b, in the
 * middle, height x s / (s + b)^2. Twice the contrast has twice the response. */
static void test_responses_are_curvatures(void **state)
{
    (void)state;
    enum { SIDE = 160 };
    for (int i = 0; i < 4; i++) {
        double s = 9 + i, b = 2.8125, height = 100;
        uint8_t *p = render_blob(SIDE, 80, 80, sqrt(s), height), *q = render_blob(SIDE, 80, 80, sqrt(s), height / 2);
        found *f = detect_pixels(p, SIDE, SIDE, KB_DETECTOR_HESSIAN);
        found *g = detect_pixels(q, SIDE, SIDE, KB_DETECTOR_HESSIAN);
        const kb_keypoint *k = nearest_to(f, 80, 80, 30.9, 31.1, 1), *half = nearest_to(g, 80, 80, 30.9, 31.1, 1);
        double expected = height * s / ((s + b) * (s + b)) / 255;
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

static void test_thresholds_and_whole_pixels(void **state)
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
    o.hessian_threshold = 0;
    found *between = detect_view(&image, &o);
    o.whole_pixels = 1;
    found *whole = detect_view(&image, &o);
    assert_true(between->n > 200);
    assert_int_equal(between->n, whole->n);
    size_t moved = 0;
    for (size_t i = 0; i < whole->n; i++) {
        const kb_keypoint *a = &between->k[i], *b = &whole->k[i];
        double factor = b->size / 31.0, x = (b->x + 0.5) / factor - 0.5;
        assert_true(fabs(x - round(x)) < 1e-3);
        moved += fabs(a->x - b->x) > 0.05 * factor;
        assert_true(a->response == b->response && fabs(a->x - b->x) < 0.5 * factor && fabs(a->y - b->y) < 0.5 * factor);
    }
    assert_true(moved > whole->n / 2);
    free(between), free(whole), free(p);
}

/* One thread, several, and low_memory find the same, as many as are asked for. */
static void check_ways(const kb_image *image, kb_detect_options o, kb_pool *pool)
{
    found *one = detect_view(image, &o);
    o.parallel = kb_pool_parallel(pool);
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
    kb_pool *pool;
    assert_int_equal(kb_pool_create(3, &pool), KB_OK);
    for (int i = 0; i < W * H; i++) {
        board[i] = (i % W / 9 + i / W / 9) % 2 ? 220 : 30;
        noise[i] = kbi_random_below(&seed, 2) ? 255 : 0;
    }
    for (int c = 0; c < 12; c++) {
        kb_image image = view_of(c & 1 ? board : noise, W, H);
        kb_detect_options o = options_for(KB_DETECTOR_HESSIAN);
        o.max_keypoints = c / 4 == 0 ? 7 : c / 4 == 1 ? 700 : MANY;
        o.selection = c & 2 ? KB_SELECT_GRID : KB_SELECT_BEST;
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
    kb_pool *pool;
    assert_int_equal(kb_pool_create(8, &pool), KB_OK);
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
        cmocka_unit_test(test_scores_and_limits_follow_responses),
        cmocka_unit_test(test_peaks_are_alone),
        cmocka_unit_test(test_blobs_are_found_between_pixels),
        cmocka_unit_test(test_responses_are_curvatures),
        cmocka_unit_test(test_flat_pictures_and_edges_give_nothing),
        cmocka_unit_test(test_thresholds_and_whole_pixels),
        cmocka_unit_test(test_ties_and_full_lists),
        cmocka_unit_test(test_ties_between_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
