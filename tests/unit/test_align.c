/* pipeline/align.c: a homography from inexact keypoints becomes exact; what cannot be aligned stays; threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/align.h"
#include "render.h"

enum { WIDTH = 480, HEIGHT = 360, MOST = 400 };

static const double truth[9] = {0.92, -0.21, 61, 0.24, 0.97, -22, 2.0e-4, -1.1e-4, 1};

/* A smooth surface without repetition. */
static double surface(double x, double y)
{
    static double across[25], down[25];
    double sum = 0;
    for (int k = 1; k <= 24 && across[24] == 0; k++) {
        across[k] = 0.03 * k * cos(2.4 * k);
        down[k] = 0.03 * k * sin(2.4 * k);
    }
    for (int k = 1; k <= 24; k++) sum += sin(x * across[k] + y * down[k] + 1.7 * k * k) * 12;
    return 128 + sum;
}

/* The adjugate: the inverse up to a factor. */
static void invert(const double m[9], double out[9])
{
    const double inverse[9] = {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
                               m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
                               m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    memcpy(out, inverse, sizeof inverse);
}

static uint8_t gray_of(double value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5); }

/* The surface through the homography. */
static uint8_t *render_plane(const double h[9])
{
    double back[9];
    uint8_t *pixels = malloc(WIDTH * HEIGHT);
    assert_non_null(pixels);
    invert(h, back);
    for (int32_t v = 0; v < HEIGHT; v++)
        for (int32_t u = 0; u < WIDTH; u++) {
            double x, y;
            kb_homography_apply(back, u, v, &x, &y);
            pixels[v * WIDTH + u] = gray_of(surface(x, y));
        }
    return pixels;
}

typedef struct scene {
    uint8_t *pixels[2];
    kb_image images[2];
    kb_keypoint a[MOST];
    io_keypoints keypoints;
    kb_match matches[MOST];
    kb_point_pair pairs[MOST];
    uint8_t inliers[MOST];
    kb_fit_report fit;
    align_input input;
} scene;

static double random_unit(uint64_t *state) { return (double)(kbi_random_next(state) >> 11) / 9007199254740992.0; }

/* n keypoints of image a, and where a detector sees them in image b: up to `noise` px beside the truth. One in five is
 * anywhere. */
static void make_matches(scene *s, size_t n, double noise, uint64_t seed)
{
    size_t count = 0;
    while (count < n) {
        double x = 20 + random_unit(&seed) * (WIDTH - 40), y = 20 + random_unit(&seed) * (HEIGHT - 40), u, v;
        kb_homography_apply(truth, x, y, &u, &v);
        if (!(u > 20 && v > 20 && u < WIDTH - 20 && v < HEIGHT - 20)) continue;
        if (count % 5 == 4) u = random_unit(&seed) * WIDTH, v = random_unit(&seed) * HEIGHT;
        u += noise * (2 * random_unit(&seed) - 1);
        v += noise * (2 * random_unit(&seed) - 1);
        s->a[count] = (kb_keypoint){(float)x, (float)y, 31, (float)(360 * random_unit(&seed)), 1, 0, -1};
        s->matches[count] = (kb_match){(int32_t)count, (int32_t)count, (float)(count % 7), 100};
        s->pairs[count] = (kb_point_pair){(double)s->a[count].x, (double)s->a[count].y, u, v};
        count++;
    }
    s->keypoints = (io_keypoints){.items = s->a, .count = n};
    s->input = (align_input){.image_a = &s->images[0], .image_b = &s->images[1], .a = &s->keypoints,
                             .matches = s->matches, .pairs = s->pairs, .count = n, .scale = 1, .threshold = 3};
}

static void fit_scene(scene *s)
{
    kb_fit_options o;
    KB_INIT(o);
    KB_INIT(s->fit);
    assert_int_equal(kb_fit(s->pairs, s->input.count, &o, NULL, s->inliers, &s->fit), KB_OK);
    assert_int_equal(s->fit.result, KB_FIT_FOUND);
}

static scene *scene_create(size_t n, double noise)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->pixels[0] = render_plane(identity);
    s->pixels[1] = render_plane(truth);
    for (int i = 0; i < 2; i++) s->images[i] = view_of(s->pixels[i], WIDTH, HEIGHT);
    make_matches(s, n, noise, 5);
    fit_scene(s);
    return s;
}

static void scene_free(scene *s)
{
    free(s->pixels[0]);
    free(s->pixels[1]);
    free(s);
}

static double corners_off(const double h[9])
{
    double sum = 0;
    for (int c = 0; c < 4; c++) {
        double x = c & 1 ? WIDTH - 1 : 0, y = c & 2 ? HEIGHT - 1 : 0, u, v, p, q;
        kb_homography_apply(h, x, y, &u, &v);
        kb_homography_apply(truth, x, y, &p, &q);
        sum += sqrt((u - p) * (u - p) + (v - q) * (v - q)) / 4;
    }
    return sum;
}

static void inexact_keypoints_give_an_exact_homography(void **state)
{
    (void)state;
    scene *s = scene_create(120, 2);
    align_result r;
    double before = corners_off(s->fit.model);
    int32_t iterations = s->fit.iterations, marked = 0;
    assert_int_equal(align_homography(&s->input, s->inliers, &s->fit, &r), KB_OK);
    assert_true(r.taken);
    assert_int_equal(r.tried, ALIGN_POINTS);
    assert_true(r.count > ALIGN_POINTS * 9 / 10);
    assert_true(before > 0.5 && corners_off(s->fit.model) < 0.1);
    assert_int_equal(s->fit.iterations, iterations);
    for (size_t i = 0; i < s->input.count; i++) marked += s->inliers[i];
    assert_int_equal(marked, s->fit.inliers);
    assert_true(marked >= 90 && marked <= 100 && s->fit.rms > 0.5 && s->fit.rms < 2);
    scene_free(s);
}

/* Image b is blank, or shows something else. */
static void what_cannot_be_aligned_stays(void **state)
{
    (void)state;
    scene *s = scene_create(120, 1);
    kb_fit_report fit = s->fit;
    uint8_t inliers[MOST];
    memcpy(inliers, s->inliers, sizeof inliers);
    for (int other = 0; other < 2; other++) {
        align_result r;
        for (int32_t i = 0; i < WIDTH * HEIGHT; i++)
            s->pixels[1][i] = other ? gray_of(surface(3 * (i % WIDTH) + 900, i / WIDTH) / 2) : 77;
        assert_int_equal(align_homography(&s->input, s->inliers, &s->fit, &r), KB_OK);
        assert_false(r.taken);
        assert_memory_equal(&fit, &s->fit, sizeof fit);
        assert_memory_equal(inliers, s->inliers, sizeof inliers);
    }
    scene_free(s);
}

static void few_inliers_are_too_few(void **state)
{
    (void)state;
    scene *s = scene_create(ALIGN_LEAST, 0.5);
    align_result r;
    assert_true(s->fit.inliers < ALIGN_LEAST);
    assert_int_equal(align_homography(&s->input, s->inliers, &s->fit, &r), KB_OK);
    assert_int_equal(r.tried, s->fit.inliers);
    assert_false(r.taken);
    memset(s->inliers, 0, sizeof s->inliers);
    assert_int_equal(align_homography(&s->input, s->inliers, &s->fit, &r), KB_OK);
    assert_true(r.tried == 0 && !r.taken);
    scene_free(s);
}

/* Regions that agree with each other, but not with the matches. */
static void most_inliers_must_agree(void **state)
{
    (void)state;
    scene *s = scene_create(200, 1);
    align_result r;
    kb_fit_report fit = s->fit;
    for (size_t i = 0; i < s->input.count; i++) s->pairs[i].x2 += 40;
    assert_int_equal(align_homography(&s->input, s->inliers, &s->fit, &r), KB_OK);
    assert_true(r.count > ALIGN_LEAST && !r.taken);
    assert_memory_equal(fit.model, s->fit.model, sizeof fit.model);
    scene_free(s);
}

/* The best of every cell first: points of all parts of the image, though nearly all matches are in one corner. */
static void regions_are_spread(void **state)
{
    (void)state;
    scene *s = scene_create(300, 0.5);
    align_result r;
    int right = 0, lower = 0;
    for (size_t i = 0; i < s->input.count; i++) {
        bool corner = s->a[i].x < WIDTH / 2 && s->a[i].y < HEIGHT / 2;
        s->inliers[i] = s->inliers[i] && (corner || i < 40);
    }
    assert_int_equal(align_homography(&s->input, s->inliers, &s->fit, &r), KB_OK);
    assert_int_equal(r.tried, ALIGN_POINTS);
    for (size_t i = 0; i < r.count; i++) {
        right += r.pairs[i].x1 >= WIDTH / 2.0;
        lower += r.pairs[i].y1 >= HEIGHT / 2.0;
        for (size_t k = 0; k < i; k++) assert_int_not_equal(r.a[i], r.a[k]);
    }
    assert_true(right >= 8 && lower >= 6);
    scene_free(s);
}

static void threads_and_memory_change_nothing(void **state)
{
    (void)state;
    scene *s = scene_create(120, 1), *t = scene_create(120, 1);
    kb_pool *pool = NULL;
    align_result r, q;
    assert_int_equal(kb_pool_create(3, &pool), KB_OK);
    assert_int_equal(kb_workspace_create(&t->input.workspace), KB_OK);
    t->input.parallel = kb_pool_parallel(pool);
    assert_int_equal(align_homography(&s->input, s->inliers, &s->fit, &r), KB_OK);
    assert_int_equal(align_homography(&t->input, t->inliers, &t->fit, &q), KB_OK);
    assert_memory_equal(&s->fit, &t->fit, sizeof s->fit);
    assert_memory_equal(s->inliers, t->inliers, sizeof s->inliers);
    assert_memory_equal(r.pairs, q.pairs, sizeof r.pairs);
    kb_workspace_free(t->input.workspace);
    kb_pool_free(pool);
    scene_free(s);
    scene_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inexact_keypoints_give_an_exact_homography),
        cmocka_unit_test(what_cannot_be_aligned_stays),
        cmocka_unit_test(few_inliers_are_too_few),
        cmocka_unit_test(most_inliers_must_agree),
        cmocka_unit_test(regions_are_spread),
        cmocka_unit_test(threads_and_memory_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
