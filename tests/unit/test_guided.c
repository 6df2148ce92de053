/* SPDX-License-Identifier: Apache-2.0 */
/* src/match: guided and stereo matching against plain loops that say the same in few lines, and bad input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/common.h"
#include "../arrays.h"

enum { N = 1200, BYTES = 32, WIDTH = 640, HEIGHT = 480 };

typedef struct frame {
    uint8_t rows[N * BYTES];
    kb_keypoint keypoints[N];
} frame;

static float uniform(uint64_t *seed, double low, double high)
{
    return (float)(low + (high - low) * (double)(kbi_random_next(seed) >> 11) * 0x1p-53);
}

/* Frame b is frame a moved by (7, -4) and turned by 20 degrees, in another order, with some bits flipped. */
static void make_frames(frame *a, frame *b, kb_guide *guides, uint64_t seed)
{
    for (int i = 0; i < N; i++) {
        int j = (i * 7 + 3) % N;
        a->keypoints[i] = (kb_keypoint){uniform(&seed, 0, WIDTH), uniform(&seed, 0, HEIGHT), 31, uniform(&seed, 0, 340),
                                        1, (int32_t)kbi_random_below(&seed, 4), -1};
        b->keypoints[j] = a->keypoints[i];
        b->keypoints[j].x += 7;
        b->keypoints[j].y -= 4;
        b->keypoints[j].angle += 20;
        for (int k = 0; k < BYTES; k++) {
            a->rows[i * BYTES + k] = (uint8_t)kbi_random_next(&seed);
            uint8_t noise = (uint8_t)(kbi_random_next(&seed) & kbi_random_next(&seed) & kbi_random_next(&seed));
            b->rows[j * BYTES + k] = a->rows[i * BYTES + k] ^ noise;
        }
        const kb_keypoint *p = &a->keypoints[i];
        guides[i] = (kb_guide){.x = p->x + 5, .y = p->y - 3, .radius = uniform(&seed, 10, 40), .angle = p->angle,
                               .min_level = p->octave - 1, .max_level = p->octave + 1};
    }
    for (int i = 0; i < N; i += 5) /* rows that are equal: ties */
        memcpy(b->rows + ((i * 7 + 3) % N) * BYTES, b->rows, BYTES);
}

/* The same as kb_match_guided, without the check of turns. */
static size_t plain_guided(const frame *a, const frame *b, const kb_guide *guides, float ratio, float most,
                           kb_match *matches)
{
    static int32_t choice[N], distance[N], second[N];
    size_t count = 0;
    for (int i = 0; i < N; i++) {
        choice[i] = -1, distance[i] = second[i] = 10000;
        for (int j = 0; j < N; j++) {
            const kb_keypoint *k = &b->keypoints[j];
            float dx = k->x - guides[i].x, dy = k->y - guides[i].y;
            float lx = guides[i].line_x, ly = guides[i].line_y, length = sqrtf(lx * lx + ly * ly);
            if (length > 0 && fabsf(dx * ly - dy * lx) / length > guides[i].radius) continue;
            if (length == 0 && dx * dx + dy * dy > guides[i].radius * guides[i].radius) continue;
            if (k->octave < guides[i].min_level || k->octave > guides[i].max_level) continue;
            int32_t d = kb_hamming(a->rows + i * BYTES, b->rows + j * BYTES, BYTES);
            if (d < distance[i]) second[i] = distance[i], distance[i] = d, choice[i] = j;
            else if (d < second[i]) second[i] = d;
        }
        if (choice[i] >= 0 && ((float)distance[i] > most ||
                               (second[i] < 10000 && !((float)distance[i] < ratio * (float)second[i]))))
            choice[i] = -1;
    }
    for (int i = 0; i < N; i++) {
        bool mine = choice[i] >= 0;
        for (int k = 0; k < N && mine; k++)
            if (k != i && choice[k] == choice[i])
                mine = distance[i] < distance[k] || (distance[i] == distance[k] && i < k);
        if (mine) matches[count++] = (kb_match){i, choice[i], (float)distance[i],
                                                second[i] < 10000 ? (float)second[i] : INFINITY};
    }
    return count;
}

/* Every third guide is a line, some of them along the axes, through a point that may lie far outside. */
static void make_lines(kb_guide *guides, uint64_t seed)
{
    for (int i = 0; i < N; i += 3) {
        float angle = uniform(&seed, 0, 6.3), along = uniform(&seed, -2000, 2000);
        float x = i % 5 ? cosf(angle) : (float)(i % 2), y = i % 5 ? sinf(angle) : (float)(1 - i % 2);
        guides[i].x += along * x;
        guides[i].y += along * y;
        guides[i].line_x = 3 * x;
        guides[i].line_y = 3 * y;
        guides[i].radius /= 5;
    }
}

/* Lines too; no keypoint is so near a line's radius that rounding could decide. */
static void test_guided_is_the_plain_loop(void **state)
{
    (void)state;
    static frame a, b;
    static kb_guide guides[N];
    static kb_match expected[N], found[N];
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        make_frames(&a, &b, guides, seed);
        make_lines(guides, seed);
        for (int threads = 0; threads < 2; threads++) {
            kb_guided_options o;
            KB_INIT(o);
            o.max_ratio = 0.9f;
            o.max_distance = 90;
            o.any_angle = 1;
            o.parallel = threads ? pool : NULL;
            size_t n = plain_guided(&a, &b, guides, 0.9f, 90, expected), count;
            assert_int_equal(match_guided(a.rows, guides, N, b.rows, b.keypoints, N, BYTES, &o, NULL, found, &count),
                             KB_OK);
            assert_int_equal(count, n);
            assert_true(n > N / 2);
            assert_memory_equal(found, expected, n * sizeof *found);
        }
    }
    kb_pool_free(pool);
}

/* Guides of a homography and of the fundamental matrix of a shift, and numbers that are none. */
static void test_guides_of_geometries(void **state)
{
    (void)state;
    const kb_keypoint k[2] = {{.x = 100, .y = 50, .size = 31, .angle = 350, .octave = 2},
                              {.x = NAN, .y = 3, .angle = -1}};
    const double turn[9] = {0, -2, 300, 2, 0, 10, 0, 0, 1}; /* 90 degrees clockwise, and twice the size */
    const double shift[9] = {0, 0, -4, 0, 0, 3, 4, -3, 0};  /* the cross product with (3, 4, 0) */
    kb_guide g[2];
    kb_features from = arrays_features(k, NULL, 2, 0), to = arrays_features(NULL, NULL, 0, 0);
    kb_error error;
    assert_int_equal(kb_guides_fill(KB_GEOMETRY_HOMOGRAPHY, turn, &from, &to, 5, g, NULL), KB_OK);
    assert_true(g[0].x == 200 && g[0].y == 210 && g[0].radius == 5 && fabsf(g[0].angle - 80) < 1e-3f);
    assert_true(g[0].line_x == 0 && g[0].line_y == 0 && g[0].min_level < -1000 && g[0].max_level > 1000);
    assert_true(isnan(g[1].x) && g[1].angle == -1);
    assert_int_equal(kb_guides_fill(KB_GEOMETRY_FUNDAMENTAL, shift, &from, &to, 2, g, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "width");
    to.width = 640, to.height = 480;
    assert_int_equal(kb_guides_fill(KB_GEOMETRY_FUNDAMENTAL, shift, &from, &to, 2, g, NULL), KB_OK);
    assert_true(fabsf(g[0].line_x * 4 - g[0].line_y * 3) < 1e-5f); /* along the shift, */
    assert_true(fabsf((g[0].x - 100) * 4 - (g[0].y - 50) * 3) < 1e-2f); /* through where the point was */
    assert_true(g[0].x > 0 && g[0].x < 640 && g[0].angle == -1 && g[0].radius == 2);
    assert_int_equal(kb_guides_fill(KB_GEOMETRY_FUNDAMENTAL, (const double[9]){0}, &from, &to, 2, g, NULL), KB_OK);
    static frame a, b;
    static kb_match found[N];
    static kb_guide guides[N];
    size_t count;
    make_frames(&a, &b, guides, 6);
    assert_int_equal(match_guided(a.rows, g, 2, b.rows, b.keypoints, N, BYTES, NULL, NULL, found, &count), KB_OK);
    assert_int_equal(count, 0);
    assert_int_equal(kb_guides_fill(KB_GEOMETRY_HOMOGRAPHY, NULL, &from, &to, 5, g, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_guides_fill(KB_GEOMETRY_AFFINE, turn, &from, &to, 5, g, NULL), KB_E_ARGUMENT);
    from.keypoints = NULL;
    assert_int_equal(kb_guides_fill(KB_GEOMETRY_HOMOGRAPHY, turn, &from, &to, 5, g, NULL), KB_E_ARGUMENT);
}

static void test_turns_must_agree(void **state)
{
    (void)state;
    static frame a, b;
    static kb_guide guides[N];
    static kb_match all[N], found[N];
    size_t before, after;
    kb_guided_options o;
    make_frames(&a, &b, guides, 4);
    for (int i = 0; i < N; i += 10) guides[i].angle = (float)((i * 37) % 360); /* wrong turns */
    guides[1].angle = -1;                                                       /* and an unknown one */
    KB_INIT(o);
    o.any_angle = 1;
    assert_int_equal(match_guided(a.rows, guides, N, b.rows, b.keypoints, N, BYTES, &o, NULL, all, &before), KB_OK);
    assert_int_equal(match_guided(a.rows, guides, N, b.rows, b.keypoints, N, BYTES, NULL, NULL, found, &after),
                     KB_OK);
    assert_true(after < before && after > before * 8 / 10);
    for (size_t i = 0; i < after; i++) {
        float turn = b.keypoints[found[i].b].angle - guides[found[i].a].angle;
        if (turn < 0) turn += 360;
        assert_true(found[i].a == 1 || fabsf(turn - 20) < 30 || guides[found[i].a].angle < 0);
    }
}

static void test_guided_bad_input(void **state)
{
    (void)state;
    static frame a, b;
    static kb_guide guides[N];
    static kb_match found[N];
    size_t count;
    kb_guided_options o;
    const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f};
    make_frames(&a, &b, guides, 5);
    memset(a.rows + 100 * BYTES, 0, BYTES); /* rows of keypoints without a region */
    memset(b.rows + 100 * BYTES, 0, BYTES);
    for (int i = 0; i < 25; i++) {
        guides[i].x = odd[i % 5];
        guides[25 + i].radius = odd[i % 5];
        guides[50 + i].angle = odd[i % 5];
        b.keypoints[i].x = odd[i % 5];
        b.keypoints[25 + i].y = odd[i % 5];
        b.keypoints[50 + i].angle = odd[i % 5];
    }
    assert_int_equal(match_guided(a.rows, guides, N, b.rows, b.keypoints, N, BYTES, NULL, NULL, found, &count), KB_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(found[i].a >= 50 && found[i].b >= 50);
        assert_true(found[i].a != 100 && found[i].b != 100);
    }
    assert_int_equal(match_guided(NULL, NULL, 0, b.rows, b.keypoints, N, BYTES, NULL, NULL, NULL, &count), KB_OK);
    assert_int_equal(count, 0);
    assert_int_equal(match_guided(a.rows, guides, N, NULL, NULL, 0, BYTES, NULL, NULL, found, &count), KB_OK);
    assert_int_equal(match_guided(a.rows, NULL, N, b.rows, b.keypoints, N, BYTES, NULL, NULL, found, &count),
                     KB_E_ARGUMENT);
    assert_int_equal(match_guided(a.rows, guides, N, b.rows, b.keypoints, N, 0, NULL, NULL, found, &count),
                     KB_E_ARGUMENT);
    KB_INIT(o);
    o.max_ratio = 2;
    assert_int_equal(match_guided(a.rows, guides, N, b.rows, b.keypoints, N, BYTES, &o, NULL, found, &count),
                     KB_E_ARGUMENT);
}

/* A workspace of a caller's buffer with what the limits ask for. */
static kb_workspace *reserved(kb_workspace_limits *limits, void **buffer)
{
    size_t bytes;
    kb_workspace *ws;
    assert_int_equal(kb_workspace_reserve(NULL, limits, &bytes, NULL), KB_OK);
    *buffer = malloc(bytes);
    assert_int_equal(kb_workspace_create_in(*buffer, bytes, &ws), KB_OK);
    return ws;
}

static void test_guided_in_reserved_memory(void **state)
{
    (void)state;
    static frame a, b;
    static kb_guide guides[N];
    static kb_match matches[N];
    kb_workspace_limits limits;
    size_t count;
    void *buffer;
    make_frames(&a, &b, guides, 8);
    KB_INIT(limits);
    limits.rows_a = limits.rows_b = N;
    limits.row_bytes = BYTES;
    limits.guided = 1;
    kb_workspace *ws = reserved(&limits, &buffer);
    assert_int_equal(match_guided(a.rows, guides, N, b.rows, b.keypoints, N, BYTES, NULL, ws, matches, &count), KB_OK);
    assert_true(count > 100);
    free(buffer);
    kb_error error;
    kb_features fa = arrays_features(NULL, a.rows, N, BYTES), fb = arrays_features(b.keypoints, b.rows, N, BYTES);
    guides[3].reserved[1] = 1;
    assert_int_equal(kb_match_guided(&fa, guides, &fb, NULL, NULL, matches, &count, &error), KB_E_STRUCT);
    guides[3].reserved[1] = 0;
    limits.rows_a = limits.rows_b = limits.guided = 0;
    limits.pairs = 10;
    ws = reserved(&limits, &buffer);
    assert_int_equal(kb_match_guided(&fa, guides, &fb, NULL, ws, matches, &count, &error), KB_E_MEMORY);
    assert_string_equal(error.field, "rows_a, rows_b, row_bytes, guided");
    limits.guided = 2;
    assert_int_equal(kb_workspace_reserve(NULL, &limits, &count, &error), KB_E_ARGUMENT);
    assert_string_equal(error.text, "guided is 2, but must be 0 to 1");
    free(buffer);
}

/* ---------------------------------------------------------------------------------------------------------- stereo */

/* A texture that is smooth below a pixel, so that it can be moved by fractions. */
static double texture(double x, double y)
{
    double v = 0;
    static const double f[6][3] = {{0.31, 0.07, 0}, {0.12, 0.36, 1}, {-0.2, 0.27, 2}, {0.05, -0.11, 3}, {0.41, 0.33, 4}, {0.23, -0.45, 5}};
    for (int i = 0; i < 6; i++) v += sin(f[i][0] * x + f[i][1] * y + f[i][2] + 2 * sin(0.013 * (i + 1) * x + 0.017 * y));
    return 128 + 20 * v;
}

static double disparity_at(double y) { return 10 + 20 * y / HEIGHT; }

static void test_stereo(void **state)
{
    (void)state;
    static uint8_t left[WIDTH * HEIGHT], right[WIDTH * HEIGHT];
    static kb_keypoint kl[N], kr[N];
    static uint8_t rl[N * BYTES], rr[N * BYTES];
    static kb_stereo_match matches[N];
    size_t nl, nr, count, coarse = 0, fine = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            left[y * WIDTH + x] = (uint8_t)fmax(0, fmin(255, texture(x, y)));
            right[y * WIDTH + x] = (uint8_t)fmax(0, fmin(255, texture(x + disparity_at(y), y)));
        }
    kb_image li = {left, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0},
             ri = {right, WIDTH, HEIGHT, WIDTH, KB_FORMAT_GRAY8, 0};
    kb_model *model;
    assert_int_equal(kb_model_builtin("bad256", NULL, &model), KB_OK);
    kb_detect_options whole;
    KB_INIT(whole);
    whole.whole_pixels = 1; /* so that there is something to refine */
    assert_int_equal(detect_keypoints(&li, &whole, NULL, kl, N, &nl, NULL), KB_OK);
    assert_int_equal(detect_keypoints(&ri, &whole, NULL, kr, N, &nr, NULL), KB_OK);
    assert_true(nl > 300 && nr > 300);
    assert_int_equal(describe_keypoints(model, &li, kl, nl, NULL, NULL, rl, NULL), KB_OK);
    assert_int_equal(describe_keypoints(model, &ri, kr, nr, NULL, NULL, rr, NULL), KB_OK);
    kb_stereo_options o;
    KB_INIT(o);
    o.max_disparity = 60;
    o.max_distance = 60;
    double error[2] = {0, 0};
    kb_workspace_limits limits;
    void *buffer;
    KB_INIT(limits);
    limits.width = WIDTH, limits.height = HEIGHT;
    limits.rows_a = nl, limits.rows_b = nr, limits.row_bytes = BYTES;
    limits.stereo = 1;
    kb_workspace *ws = reserved(&limits, &buffer);
    for (int refined = 0; refined < 2; refined++) {
        o.left = refined ? &li : NULL;
        o.right = refined ? &ri : NULL;
        assert_int_equal(match_stereo(rl, kl, nl, rr, kr, nr, BYTES, &o, ws, matches, &count), KB_OK);
        assert_true(count > 100);
        *(refined ? &fine : &coarse) = count;
        size_t good = 0;
        for (size_t i = 0; i < count; i++) {
            assert_true(matches[i].disparity >= 0 && matches[i].disparity <= 60);
            double e = fabs(matches[i].disparity - disparity_at(kl[matches[i].a].y));
            if (e < 2) error[refined] += e, good++;
        }
        assert_true(good * 10 > count * 8);
        error[refined] /= (double)good;
    }
    assert_true(fine <= coarse);
    assert_true(error[1] < 0.5 * error[0]);
    assert_true(error[1] < 0.25);

    o.right = NULL; /* one image is no pair */
    assert_int_equal(match_stereo(rl, kl, nl, rr, kr, nr, BYTES, &o, NULL, matches, &count), KB_E_ARGUMENT);
    o.left = NULL;
    o.min_disparity = 100;
    assert_int_equal(match_stereo(rl, kl, nl, rr, kr, nr, BYTES, &o, NULL, matches, &count), KB_E_ARGUMENT);
    assert_int_equal(match_stereo(NULL, NULL, 0, rr, kr, nr, BYTES, NULL, NULL, NULL, &count), KB_OK);
    kb_model_free(model);
    free(buffer);
}

/* The limits that the header documents: one more is refused, with a sentence that names the limit, before anything is
 * read. The pointers have nothing behind them. */
static void test_documented_limits(void **state)
{
    (void)state;
    enum { STEREO = (1 << 19) - 1, OTHER = (1 << 25) - 1 };
    static kb_keypoint keypoint;
    static uint8_t row[32];
    static kb_guide guide;
    kb_match match = {0};
    kb_stereo_match stereo;
    kb_error error;
    size_t count;
    kb_features one, many;
    KB_INIT(one);
    one.n = 1, one.keypoints = &keypoint, one.rows = row, one.row_bytes = sizeof row;
    many = one;
    many.n = (size_t)STEREO + 1;
    assert_int_equal(kb_match_stereo(&many, &one, NULL, NULL, &stereo, &count, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "left.n is 524288, but must be at most 524287"));
    many.n = (size_t)OTHER + 1;
    assert_int_equal(kb_match_stereo(&one, &many, NULL, NULL, &stereo, &count, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "right.n is 33554432, but must be at most 33554431"));
    assert_int_equal(kb_match_guided(&many, &guide, &one, NULL, NULL, &match, &count, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "a.n is 33554432, but must be at most 33554431"));
    assert_int_equal(kb_match_guided(&one, &guide, &many, NULL, NULL, &match, &count, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "b.n is 33554432, but must be at most 33554431"));
    assert_int_equal(kb_filter(&one, &one, &match, (size_t)OTHER + 1, NULL, NULL, &match, &count, &error),
                     KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "33554432 matches, but at most 33554431"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guided_is_the_plain_loop),
        cmocka_unit_test(test_guides_of_geometries), cmocka_unit_test(test_turns_must_agree),
        cmocka_unit_test(test_guided_bad_input), cmocka_unit_test(test_guided_in_reserved_memory),
        cmocka_unit_test(test_stereo),
        cmocka_unit_test(test_documented_limits),
    };
    return cmocka_run_group_tests_name("guided", tests, NULL, NULL);
}
