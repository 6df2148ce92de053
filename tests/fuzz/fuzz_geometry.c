/* SPDX-License-Identifier: Apache-2.0 */
/* Matching, filtering and fitting with wild numbers: rows, keypoints, guides, pairs and cameras of any bits. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "fuzz.h"
#include "keybits/advanced.h"
#include "source.h"
#include "../arrays.h"

enum { MOST = 24 };

typedef struct features {
    size_t n, row_bytes;
    uint8_t *rows; /* in a block of just their size */
    kb_keypoint keypoints[MOST];
} features;

/* Doubles of any bits, or small whole numbers, which lie on lines and twice on points. */
static void take_doubles(source *s, double *to, size_t n)
{
    bool whole = take_byte(s) & 1;
    for (size_t i = 0; i < n; i++) {
        if (whole) to[i] = take_byte(s);
        else take(s, &to[i], sizeof to[i]);
    }
}

static void take_features(source *s, size_t row_bytes, features *f)
{
    f->n = take_byte(s) % MOST;
    f->row_bytes = row_bytes;
    f->rows = malloc(f->n * row_bytes + 1);
    take(s, f->rows, f->n * row_bytes);
    if (take_byte(s) & 1) {
        take(s, f->keypoints, f->n * sizeof *f->keypoints);
        return;
    }
    for (size_t i = 0; i < f->n; i++)
        f->keypoints[i] = (kb_keypoint){.x = take_byte(s), .y = take_byte(s), .size = 1 + (float)(take_byte(s) % 64),
                                        .angle = (float)take_byte(s) * 1.5f - 10, .octave = take_byte(s) % 8};
}

/* A number for an option that may be anything: mostly plain, sometimes of any bits. */
static float take_option(source *s, float most)
{
    float value;
    uint8_t kind = take_byte(s);
    if (kind & 1) return 0;
    if (kind % 16 != 2) return (float)take_between(s, 0, (double)most);
    take(s, &value, sizeof value);
    return value;
}

static void expect_matches(kb_status status, const kb_match *matches, size_t count, const features *a,
                           const features *b)
{
    fuzz_expect(status == KB_OK || status == KB_E_ARGUMENT);
    for (size_t i = 0; status == KB_OK && i < count; i++) {
        fuzz_expect(matches[i].a >= 0 && matches[i].a < (int32_t)a->n && matches[i].b >= 0 &&
                    matches[i].b < (int32_t)b->n && matches[i].distance >= 0);
        fuzz_expect(i == 0 || matches[i].a > matches[i - 1].a);
    }
}

static void filter_any(source *s, const features *a, const features *b, const kb_match *matches, size_t count)
{
    kb_match out[MOST];
    size_t kept = 0;
    kb_filter_options o;
    KB_INIT(o);
    o.tolerance = take_option(s, 2);
    o.max_angle = take_option(s, 90);
    o.max_scale = take_option(s, 4);
    o.min_support = take_byte(s) % 4;
    kb_status status = filter_matches(a->keypoints, a->n, b->keypoints, b->n, matches, count, &o, NULL, out, &kept);
    fuzz_expect(status == KB_OK || status == KB_E_ARGUMENT);
    fuzz_expect(status != KB_OK || kept <= count);
    kb_match wild;
    take(s, &wild, sizeof wild);
    status = filter_matches(a->keypoints, a->n, b->keypoints, b->n, &wild, 1, NULL, NULL, out, &kept);
    bool inside = wild.a >= 0 && wild.a < (int32_t)a->n && wild.b >= 0 && wild.b < (int32_t)b->n;
    fuzz_expect(status == (inside ? KB_OK : KB_E_ARGUMENT));
}

static void match_any(source *s, const features *a, const features *b)
{
    kb_match matches[MOST];
    size_t count = 0;
    kb_match_options m;
    KB_INIT(m);
    m.one_way = take_byte(s) & 1;
    m.max_ratio = take_option(s, 1);
    m.max_distance = take_option(s, 300);
    kb_status status = match_rows(a->rows, a->n, b->rows, b->n, a->row_bytes, &m, NULL, matches, &count);
    expect_matches(status, matches, count, a, b);
    if (status == KB_OK) filter_any(s, a, b, matches, count);

    float values[2 * MOST * 4];
    take(s, values, sizeof values);
    status = match_floats(values, a->n, values + MOST * 4, b->n, 4, &m, NULL, matches, &count);
    expect_matches(status, matches, count, a, b);
}

/* The k nearest, in order; and points of any match. */
static void match_neighbours(source *s, const features *a, const features *b)
{
    kb_neighbour neighbours[MOST * 5];
    int32_t k = 1 + take_byte(s) % 5;
    fuzz_expect(match_knn(a->rows, a->n, b->rows, b->n, a->row_bytes, k, NULL, NULL, neighbours) == KB_OK);
    for (size_t i = 0; i < a->n * (size_t)k; i++) {
        const kb_neighbour *n = &neighbours[i];
        fuzz_expect(n->index >= -1 && n->index < (int32_t)b->n);
        fuzz_expect(i % (size_t)k == 0 || n->index < 0 || (n[-1].index >= 0 && n[-1].distance <= n->distance));
    }
    kb_match wild;
    kb_point_pair pair;
    float quality;
    take(s, &wild, sizeof wild);
    bool inside = wild.a >= 0 && wild.a < (int32_t)a->n && wild.b >= 0 && wild.b < (int32_t)b->n;
    kb_status status = match_points(a->keypoints, a->n, b->keypoints, b->n, &wild, 1, &pair, &quality);
    fuzz_expect(status == (inside ? KB_OK : KB_E_ARGUMENT));
}

static void guided_any(source *s, const features *a, const features *b)
{
    kb_match matches[MOST];
    kb_guide guides[MOST];
    size_t count = 0;
    kb_guided_options o;
    KB_INIT(o);
    o.max_ratio = take_option(s, 1);
    o.max_distance = take_option(s, 300);
    o.ratio_per_level = take_byte(s) & 1;
    o.any_angle = take_byte(s) & 1;
    if (take_byte(s) & 1) {
        take(s, guides, sizeof guides);
        for (size_t i = 0; i < MOST; i++) memset(guides[i].reserved, 0, sizeof guides[i].reserved);
    } else {
        for (size_t i = 0; i < MOST; i++)
            guides[i] = (kb_guide){take_byte(s), take_byte(s), take_byte(s), take_byte(s), 0, take_byte(s) % 9,
                                   (float)(take_byte(s) % 4) - 1, (float)(take_byte(s) % 4) - 1, {0, 0}};
    }
    kb_status status = match_guided(a->rows, guides, a->n, b->rows, b->keypoints, b->n, a->row_bytes, &o, NULL,
                                       matches, &count);
    expect_matches(status, matches, count, a, b);
}

static void any_stereo(source *s, const features *a, const features *b)
{
    enum { SIDE = 48 };
    uint8_t *pixels = malloc(2 * SIDE * SIDE);
    for (size_t i = 0; i < 2 * SIDE * SIDE; i++) pixels[i] = (uint8_t)(i * i / 3 + i % SIDE * 5);
    const kb_image left = {pixels, SIDE, SIDE, SIDE, KB_FORMAT_GRAY8, 0},
                   right = {pixels + SIDE * SIDE, SIDE, SIDE, SIDE, 0, 0};
    kb_stereo_match matches[MOST];
    size_t count = 0;
    kb_stereo_options o;
    KB_INIT(o);
    o.min_disparity = take_option(s, 10);
    o.max_disparity = take_option(s, 1000);
    o.row_tolerance = take_option(s, 10);
    o.max_scale = take_option(s, 4);
    o.max_distance = take_option(s, 300);
    o.max_ratio = take_option(s, 1);
    if (take_byte(s) & 1) o.left = &left, o.right = &right;
    kb_status status = match_stereo(a->rows, a->keypoints, a->n, b->rows, b->keypoints, b->n, a->row_bytes, &o, NULL,
                                       matches, &count);
    fuzz_expect(status == KB_OK || status == KB_E_ARGUMENT);
    for (size_t i = 0; status == KB_OK && i < count; i++)
        fuzz_expect(matches[i].a >= 0 && matches[i].a < (int32_t)a->n && matches[i].b >= 0 &&
                    matches[i].b < (int32_t)b->n && isfinite(matches[i].x) && isfinite(matches[i].disparity));
    free(pixels);
}

/* ---------------------------------------------------------------------------------------------------------- fitting */

static void take_camera(source *s, kb_camera *camera)
{
    KB_INIT(*camera);
    camera->fx = camera->fy = 100;
    camera->cx = camera->cy = 50;
    uint8_t kind = take_byte(s);
    if (kind & 1) take_doubles(s, &camera->fx, 9);
    else if (kind & 2) camera->k1 = take_between(s, -1, 1), camera->k2 = take_between(s, -1, 1);
    if (kind & 4) camera->fisheye = 1, camera->p1 = camera->p2 = 0, camera->k4 = kind & 1 ? camera->k3 : 0.01;
}

static void take_fit_options(source *s, kb_fit_options *f)
{
    KB_INIT(*f);
    f->geometry = (kb_geometry)(take_byte(s) % 7);
    f->threshold = (double)take_option(s, 10);
    f->confidence = (double)take_option(s, 0.99f);
    f->max_iterations = 1 + take_byte(s) % 64;
    f->seed = take_byte(s);
    f->plain_ransac = take_byte(s) & 1;
    f->candidates = f->seed * 1000;
    f->looks = f->max_iterations;
}

static void expect_report(kb_status status, const kb_fit_report *report, const uint8_t *inliers, size_t n)
{
    size_t seen = 0;
    fuzz_expect(status == KB_OK || status == KB_E_ARGUMENT);
    if (status != KB_OK) return;
    for (size_t i = 0; i < n; i++) {
        fuzz_expect(inliers[i] <= 1);
        seen += inliers[i];
    }
    fuzz_expect(report->places >= (seen > 0) && (size_t)report->places <= seen);
    fuzz_expect((size_t)report->inliers == seen && (report->result == KB_FIT_FOUND || seen == 0));
    for (int i = 0; i < 9; i++) fuzz_expect(isfinite(report->model[i]) && isfinite(report->rotation[i]));
    for (int i = 0; i < 3; i++) fuzz_expect(isfinite(report->translation[i]));
}

static void fit_any(source *s)
{
    kb_camera cameras[2];
    kb_fit_options f;
    kb_fit_report report;
    kb_point_pair pairs[MOST];
    kb_scene_point points[MOST];
    float quality[MOST], deviations[MOST];
    uint8_t inliers[MOST];
    take_fit_options(s, &f);
    take_camera(s, &cameras[0]);
    take_camera(s, &cameras[1]);
    f.camera1 = &cameras[0];
    if (take_byte(s) & 1) f.camera2 = &cameras[1];
    take(s, quality, sizeof quality);
    uint8_t given = take_byte(s);
    if (given & 1) f.quality = quality;
    size_t n = take_byte(s) % (MOST + 1);
    take_doubles(s, &pairs[0].x1, 4 * n);
    if (given & 2) take(s, deviations, sizeof deviations), f.deviations = deviations;
    KB_INIT(report);
    kb_status status = kb_fit(pairs, n, &f, NULL, inliers, &report, NULL);
    expect_report(status, &report, inliers, n);
    take_doubles(s, &points[0].X, 5 * n);
    KB_INIT(report);
    status = kb_fit_pose(points, n, &f, NULL, inliers, &report, NULL);
    expect_report(status, &report, inliers, n);
}

static void cameras_any(source *s)
{
    kb_camera camera;
    double numbers[9], x, y, rotation[9], translation[3];
    take_camera(s, &camera);
    take_doubles(s, numbers, 9);
    kb_status status = kb_camera_unproject(&camera, numbers[0], numbers[1], &x, &y);
    fuzz_expect(status == KB_OK || status == KB_E_ARGUMENT);
    status = kb_camera_project(&camera, numbers[2], numbers[3], &x, &y);
    fuzz_expect(status == KB_OK || status == KB_E_ARGUMENT);
    status = kb_pose_from_homography(numbers, &camera, rotation, translation);
    fuzz_expect(status == KB_OK || status == KB_E_ARGUMENT);
    for (int i = 0; status == KB_OK && i < 9; i++) fuzz_expect(isfinite(rotation[i]));
    for (int i = 0; status == KB_OK && i < 3; i++) fuzz_expect(isfinite(translation[i]));
    kb_homography_apply(numbers, numbers[0], numbers[1], &x, &y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {data, size, 0};
    uint8_t what = take_byte(&s);
    if (what % 2) {
        fit_any(&s);
        cameras_any(&s);
        return 0;
    }
    features a, b;
    size_t row_bytes = 1 + take_byte(&s) % 70;
    take_features(&s, row_bytes, &a);
    take_features(&s, row_bytes, &b);
    match_any(&s, &a, &b);
    guided_any(&s, &a, &b);
    any_stereo(&s, &a, &b);
    match_neighbours(&s, &a, &b);
    free(a.rows);
    free(b.rows);
    return 0;
}

size_t fuzz_seed(int index, uint8_t *buffer, size_t capacity)
{
    static const size_t sizes[] = {200, 201, 1600, 1600, 3000, 3000};
    if (index >= 6 || sizes[index] > capacity) return 0;
    uint32_t noise = (uint32_t)index + 3;
    for (size_t i = 0; i < sizes[index]; i++) buffer[i] = (uint8_t)((noise = noise * 1664525u + 1013904223u) >> 24);
    buffer[0] = (uint8_t)index;
    return sizes[index];
}
