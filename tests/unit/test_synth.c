/* SPDX-License-Identifier: Apache-2.0 */
/* Views of photographs, association by geometry, and whole synthetic images. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/random.h"
#include "learn/synth.h"
#include "render.h"

/* ---------------------------------------------------------------------------------------------------------- views */

static void test_views_are_invertible(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 200; i++) {
        kbi_view view;
        kbi_view_draw(&kbi_view_range_default, 640, 400, &random, &view);
        assert_in_range(view.width, 1, 3000);
        assert_in_range(view.height, 1, 3000);
        for (int corner = 0; corner < 5; corner++) {
            double x = corner == 4  ? 200
                       : corner & 1 ? 639
                                    : 0,
                   y = corner == 4  ? 100
                       : corner & 2 ? 399
                                    : 0,
                   there[6], back[6];
            kbi_homography_local(view.to_view, x, y, there);
            kbi_homography_local(view.to_photo, there[0], there[1], back);
            assert_true(fabs(back[0] - x) < 1e-6 && fabs(back[1] - y) < 1e-6);
            assert_true(there[0] > -0.01 && there[0] < view.width && there[1] > -0.01 && there[1] < view.height);
            assert_true(there[2] * there[5] - there[3] * there[4] > 0); /* nothing is mirrored */
        }
    }
}

static void test_local_derivative(void **state)
{
    (void)state;
    const double h[9] = {1.2, 0.3, -5, -0.2, 0.9, 12, 0.0004, -0.0003, 1};
    double p[6], right[6], below[6];
    kbi_homography_local(h, 70, 40, p);
    kbi_homography_local(h, 70 + 1e-4, 40, right);
    kbi_homography_local(h, 70, 40 + 1e-4, below);
    const double differences[4] = {right[0] - p[0], below[0] - p[0], right[1] - p[1], below[1] - p[1]};
    for (int i = 0; i < 4; i++) assert_true(fabs(differences[i] / 1e-4 - p[2 + i]) < 1e-5);
}

static void test_identity_renders_the_photo(void **state)
{
    (void)state;
    uint8_t *photo = render_texture(90, 70, 3), pixels[90 * 70], mask[90 * 70];
    kb_image image = view_of(photo, 90, 70);
    kbi_view view;
    kbi_view_identity(90, 70, &view);
    kbi_view_render(&view, &image, pixels, mask);
    assert_memory_equal(pixels, photo, sizeof pixels);
    for (size_t i = 0; i < sizeof mask; i++) assert_int_equal(mask[i], 255);
    assert_true(kbi_view_sees(&view, &image, 45, 35, 30));
    assert_false(kbi_view_sees(&view, &image, 45, 35, 40));
    free(photo);
}

/* A quarter of the size: every pixel is the mean of its 4x4, and beyond the photograph the mask says so. */
static void test_smaller_is_averaged(void **state)
{
    (void)state;
    enum { SIDE = 80, SMALL = 24 };
    uint8_t photo[SIDE * SIDE], pixels[SMALL * SMALL], mask[SMALL * SMALL];
    for (int i = 0; i < SIDE * SIDE; i++) photo[i] = (i % SIDE + i / SIDE) % 2 ? 200 : 100; /* aliases if it can */
    kb_image image = view_of(photo, SIDE, SIDE);
    kbi_view view = {.width = SMALL,
                    .height = SMALL,
                    .to_photo = {4, 0, 1.5, 0, 4, 1.5, 0, 0, 1},
                    .to_view = {0.25, 0, -0.375, 0, 0.25, -0.375, 0, 0, 1}};
    kbi_view_render(&view, &image, pixels, mask);
    for (int y = 0; y < SMALL; y++) {
        for (int x = 0; x < SMALL; x++) {
            bool inside = x < 20 && y < 20;
            assert_int_equal(mask[y * SMALL + x], inside ? 255 : 0);
            if (inside) assert_in_range(pixels[y * SMALL + x], 149, 151);
        }
    }
}

/* ---------------------------------------------------------------------------------------------------- association */

static double turn_between(double a, double b)
{
    double d = fmod(fabs(a - b), 360);
    return d > 180 ? 360 - d : d;
}

static void random_places(kbi_region *places, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        places[i] = (kbi_region){kbi_random_between(state, 0, 200), kbi_random_between(state, 0, 150),
                               kbi_random_between(state, 20, 60), kbi_random_between(state, 0, 360)};
    }
}

static bool fits(const kbi_region *a, const kbi_region *b, const kbi_association *t)
{
    double least = fmin(a->width, b->width), most = fmax(a->width, b->width);
    return hypot(a->x - b->x, a->y - b->y) < t->position * least && most < t->scale * least &&
           turn_between(a->angle, b->angle) < t->angle;
}

static void test_tracks(void **state)
{
    (void)state;
    enum { N = 600 };
    const kbi_association t = {.position = 0.15, .scale = 1.4, .angle = 40};
    kbi_region first[N], second[N];
    uint32_t point[N], again[N];
    uint64_t random = 9;
    random_places(first, N, &random);
    random_places(second, N, &random);
    kbi_tracks *tracks = kbi_tracks_create(&t, 200, 150);
    kbi_tracks_add(tracks, first, N, point);
    assert_int_equal(kbi_tracks_count(tracks), N);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(point[i], i);
    kbi_tracks_add(tracks, second, N, again);

    size_t joined = 0;
    bool used[2 * N] = {false};
    for (size_t i = 0; i < N; i++) {
        assert_false(used[again[i]]); /* one keypoint a view and point */
        used[again[i]] = true;
        if (again[i] >= N) continue;
        joined++;
        assert_true(fits(&second[i], &first[again[i]], &t));
    }
    assert_true(joined > 20);
    assert_int_equal(kbi_tracks_count(tracks), 2 * N - joined);
    for (size_t i = 0; i < N; i++) { /* nobody was left out who had a free partner */
        for (size_t q = 0; q < N && again[i] >= N; q++) assert_true(used[q] || !fits(&second[i], &first[q], &t));
    }
    kbi_tracks_free(tracks);
}

static void test_best_pair_first(void **state)
{
    (void)state;
    const kbi_region first = {50, 50, 30, 10}, second[2] = {{51, 50, 30, 10}, {50.2, 50, 30, 10}};
    uint32_t point[2];
    kbi_tracks *tracks = kbi_tracks_create(&kbi_association_default, 100, 100);
    kbi_tracks_add(tracks, &first, 1, point);
    kbi_tracks_add(tracks, second, 2, point);
    assert_int_equal(point[1], 0);
    assert_int_equal(point[0], 1);
    const kbi_region turned = {50, 50, 30, 350}; /* 20 degrees away, over the zero */
    kbi_tracks_add(tracks, &turned, 1, point);
    assert_int_equal(point[0], 0);
    kbi_tracks_free(tracks);
}

static void test_crowd(void **state)
{
    (void)state;
    enum { N = 400 };
    kbi_region places[N];
    size_t taken[N], count = 0;
    uint64_t random = 4;
    random_places(places, N, &random);
    kbi_duplicates *crowd = kbi_duplicates_create(200, 150);
    for (size_t i = 0; i < N; i++) {
        bool expected = false;
        for (size_t k = 0; k < count; k++) expected |= fits(&places[i], &places[taken[k]], &kbi_association_duplicate);
        assert_int_equal(kbi_duplicates_has(crowd, &places[i], &kbi_association_duplicate), expected);
        if (expected) continue;
        kbi_duplicates_add(crowd, &places[i]);
        taken[count++] = i;
    }
    assert_in_range(count, 50, N - 5);
    kbi_duplicates_free(crowd);
}

static void test_place_through(void **state)
{
    (void)state;
    const double half_turned[9] = {0, -0.5, 100, 0.5, 0, 7, 0, 0, 1}; /* a quarter turn clockwise, half the size */
    const kb_keypoint k = {10, 20, 8, 30, 0, 0, 0};
    kbi_region p = kbi_region_through(half_turned, &k, 2);
    assert_true(fabs(p.x - 90) < 1e-9 && fabs(p.y - 12) < 1e-9 && fabs(p.width - 8) < 1e-9 &&
                fabs(p.angle - 120) < 1e-6);
}

/* --------------------------------------------------------------------------------------------------- whole images */

static double distance(const uint8_t *a, const uint8_t *b)
{
    double sum = 0;
    for (int i = 0; i < 1024; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum / 1024);
}

static void test_synth(void **state)
{
    (void)state;
    kb_error error = {.text = ""};
    uint8_t *photo = render_texture(400, 300, 5);
    kb_image image = view_of(photo, 400, 300);
    kbi_synth_options o;
    kbi_synth_patches p, same, small;
    kbi_synth_defaults(&o);
    o.views = 4;
    o.keypoints = 500;
    o.max_points = 60;
    o.supports = 2;
    o.support[1] = 1.5f;
    assert_int_equal(kbi_synth_image(&image, &o, 8, &p, &error), KB_OK);
    assert_int_equal(kbi_synth_image(&image, &o, 8, &same, &error), KB_OK);
    assert_in_range(p.points, 20, 60);
    assert_int_equal(p.patches, same.patches);
    for (int k = 0; k < 2; k++) assert_memory_equal(p.pixels[k], same.pixels[k], p.patches * 1024);
    assert_memory_not_equal(p.pixels[0], p.pixels[1], p.patches * 1024);

    double right = 0, wrong = 0, pairs = 0;
    for (size_t i = 0; i < p.patches; i++) {
        assert_true(p.point[i] < p.points && p.view[i] < 4);
        bool follows = i > 0 && p.point[i] == p.point[i - 1];
        if (follows) assert_true(p.view[i] > p.view[i - 1]);
        else assert_true(i + 1 < p.patches && p.point[i + 1] == p.point[i]); /* two patches or more */
        if (!follows) continue;
        right += distance(p.pixels[0] + i * 1024, p.pixels[0] + (i - 1) * 1024);
        wrong += distance(p.pixels[0] + i * 1024, p.pixels[0] + (i + p.patches / 2) % p.patches * 1024);
        pairs++;
    }
    assert_true(right < 0.75 * wrong);

    /* Without any change of light, nearly everything is found again. */
    o.light = (kbi_light_range){0};
    o.geometry = (kbi_view_range){0};
    o.detectors = 1;
    assert_int_equal(kbi_synth_image(&image, &o, 8, &small, &error), KB_OK);
    assert_in_range(small.points, 40, 60);
    for (size_t i = 1; i < small.patches; i++) {
        if (small.point[i] == small.point[i - 1])
            assert_true(distance(small.pixels[0] + i * 1024, small.pixels[0] + (i - 1) * 1024) < 1);
    }
    kbi_synth_patches_free(&p);
    kbi_synth_patches_free(&same);
    kbi_synth_patches_free(&small);
    free(photo);
}

static double mean_of(const uint8_t *samples, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += samples[i];
    return sum / n;
}

/* Octaves are of the same points as patches, in their order; octave 1 of a support is octave 0 of half of it. */
static void test_synth_octaves(void **state)
{
    (void)state;
    kb_error error = {.text = ""};
    uint8_t *photo = render_texture(400, 300, 5);
    kb_image image = view_of(photo, 400, 300);
    kbi_synth_options o;
    kbi_synth_patches patches, octaves;
    kbi_synth_defaults(&o);
    assert_false(o.octaves);
    o.views = 3;
    o.keypoints = 500;
    o.max_points = 60;
    o.supports = 2;
    o.support[0] = 4;
    o.support[1] = 2;
    assert_int_equal(kbi_synth_image(&image, &o, 8, &patches, &error), KB_OK);
    o.octaves = true;
    assert_int_equal(kbi_synth_image(&image, &o, 8, &octaves, &error), KB_OK);
    assert_true(octaves.patches == patches.patches && octaves.points == patches.points && octaves.points > 20);
    assert_memory_equal(octaves.point, patches.point, patches.patches * sizeof *patches.point);
    assert_memory_equal(octaves.view, patches.view, patches.patches * sizeof *patches.view);
    for (size_t i = 0; i < octaves.patches; i++) {
        const uint8_t *wide = octaves.pixels[0] + i * 1024, *half = octaves.pixels[1] + i * 1024;
        assert_memory_equal(wide + 256, half, 3 * 256);
        /* samples of 16x16 and of 32x32 over one region; pyramid levels and interpolation differ a little */
        assert_true(fabs(mean_of(wide, 256) - mean_of(patches.pixels[0] + i * 1024, 1024)) < 6);
        assert_true(fabs(mean_of(half, 256) - mean_of(patches.pixels[1] + i * 1024, 1024)) < 6);
    }
    kbi_synth_patches_free(&patches);
    kbi_synth_patches_free(&octaves);
    free(photo);
}

static void test_nothing_to_see(void **state)
{
    (void)state;
    kb_error error = {.text = ""};
    uint8_t gray[64 * 64];
    memset(gray, 90, sizeof gray);
    kb_image image = view_of(gray, 64, 64), tiny = view_of(gray, 3, 2);
    kbi_synth_options o;
    kbi_synth_patches p;
    kbi_synth_defaults(&o);
    assert_int_equal(kbi_synth_image(&image, &o, 1, &p, &error), KB_OK);
    assert_int_equal(p.points, 0);
    kbi_synth_patches_free(&p);
    assert_int_equal(kbi_synth_image(&tiny, &o, 1, &p, &error), KB_OK);
    assert_int_equal(p.patches, 0);
    kbi_synth_patches_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_are_invertible), cmocka_unit_test(test_local_derivative),
        cmocka_unit_test(test_identity_renders_the_photo), cmocka_unit_test(test_smaller_is_averaged),
        cmocka_unit_test(test_tracks),               cmocka_unit_test(test_best_pair_first),
        cmocka_unit_test(test_crowd),                cmocka_unit_test(test_place_through),
        cmocka_unit_test(test_synth),                cmocka_unit_test(test_synth_octaves),
        cmocka_unit_test(test_nothing_to_see),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
