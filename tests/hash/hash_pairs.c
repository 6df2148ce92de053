/* SPDX-License-Identifier: Apache-2.0 */
/* Matching, fitting and following: what two images have in common. */
#include "hash.h"

static void add_matches(hash *h, const kb_match *matches, size_t count)
{
    add_u64(h, count);
    for (size_t i = 0; i < count; i++) {
        add_u64(h, (uint64_t)matches[i].a);
        add_u64(h, (uint64_t)matches[i].b);
        add_floats(h, &matches[i].distance, 1);
        add_floats(h, &matches[i].second, 1);
    }
}

/* Rows of few different values, so that ties are common, and none all zero; the first half against the second. */
void section_match(hash *h, scene *s)
{
    enum { HALF = KEYPOINTS / 2 };
    static kb_match matches[HALF];
    uint64_t seed = 30;
    for (size_t i = 0; i < KBI_COUNT(s->rows); i++) s->rows[i] = (uint8_t)(0x80 | kbi_random_next(&seed) >> 60);
    for (size_t i = 0; i < KBI_COUNT(s->floats); i++) s->floats[i] = (float)kbi_random_below(&seed, 1000) / 1024.0f;
    for (int32_t one_way = 0; one_way < 2; one_way++) {
        kb_match_options options;
        KB_INIT(options);
        options.one_way = one_way;
        options.max_ratio = one_way ? 0.98f : 0;
        options.parallel = s->pool;
        size_t count;
        for (size_t bytes = 1; bytes <= KB_SIFT_VALUES; bytes = 2 * bytes + 1) {
            must(match_rows(s->rows, HALF, s->rows + HALF * bytes, HALF, bytes, &options, NULL, matches, &count),
                 "match");
            add_matches(h, matches, count);
        }
        must(match_floats(s->floats, HALF, s->floats + HALF * KB_SIFT_VALUES, HALF, KB_SIFT_VALUES, &options, NULL,
                            matches, &count), "match floats");
        add_matches(h, matches, count);
    }
}

/* Two thirds of the pairs follow a homography but for noise, the others nothing. */
void section_fit(hash *h, scene *s)
{
    static const double truth[9] = {0.9, 0.2, 15, -0.15, 1.1, -8, 2e-4, -1e-4, 1};
    static kb_point_pair pairs[KEYPOINTS];
    uint64_t seed = 40;
    for (int i = 0; i < KEYPOINTS; i++) {
        kb_point_pair *p = &pairs[i];
        p->x1 = kbi_random_below(&seed, WIDTH * 64) / 64.0;
        p->y1 = kbi_random_below(&seed, HEIGHT * 64) / 64.0;
        kb_homography_apply(truth, p->x1, p->y1, &p->x2, &p->y2);
        double noise = i % 3 ? 1 : 100;
        p->x2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
        p->y2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
    }
    for (int g = KB_GEOMETRY_HOMOGRAPHY; g <= KB_GEOMETRY_FUNDAMENTAL; g++) {
        for (int32_t plain = 0; plain < 2; plain++) {
            kb_fit_options options;
            kb_fit_report report;
            KB_INIT(options);
            KB_INIT(report);
            options.geometry = (kb_geometry)g;
            options.plain_ransac = plain;
            options.max_iterations = 500;
            must(kb_fit(pairs, KEYPOINTS, &options, NULL, s->flags, &report, NULL), "fit");
            for (int i = 0; i < 9; i++) add_double(h, report.model[i]);
            add_double(h, report.rms);
            add_u64(h, (uint64_t)report.inliers);
            add_u64(h, (uint64_t)report.iterations);
            add_bytes(h, s->flags, KEYPOINTS);
        }
    }
}

/* The nearest rows, and the points of the nearest. */
void section_neighbours(hash *h, scene *s)
{
    enum { BYTES = 32, HALF = KEYPOINTS / 2, K = 5 };
    static kb_neighbour neighbours[HALF * K];
    static kb_match matches[HALF];
    static kb_point_pair pairs[HALF];
    uint64_t seed = 31;
    kb_match_options options;
    KB_INIT(options);
    options.parallel = s->pool;
    for (size_t i = 0; i < KEYPOINTS * BYTES; i++) s->rows[i] = (uint8_t)(0x80 | kbi_random_next(&seed) >> 60);
    for (int32_t k = 1; k <= K; k += 2) {
        must(match_knn(s->rows, HALF, s->rows + HALF * BYTES, HALF, BYTES, k, &options, NULL, neighbours), "knn");
        for (size_t i = 0; i < HALF * (size_t)k; i++) {
            add_u64(h, (uint32_t)neighbours[i].index);
            add_floats(h, &neighbours[i].distance, 1);
        }
    }
    for (int32_t i = 0; i < HALF; i++) matches[i] = (kb_match){i, neighbours[i * K].index, neighbours[i * K].distance, 0};
    must(match_points(s->keypoints, HALF, s->keypoints, HALF, matches, HALF, pairs, NULL), "points");
    for (size_t i = 0; i < HALF; i++) add_double(h, pairs[i].x1), add_double(h, pairs[i].y2);
}

/* The other geometries. Rays of a turned and shifted camera by rational numbers only, two thirds right. */
void section_geometries(hash *h, scene *s)
{
    static kb_point_pair pairs[KEYPOINTS];
    static kb_scene_point points[KEYPOINTS];
    const double r[9] = {0.96, -0.28, 0, 0.28, 0.96, 0, 0, 0, 1}, t[3] = {-1, 0.25, 0.125};
    kb_camera camera;
    uint64_t seed = 41;
    KB_INIT(camera);
    camera.fx = 500, camera.fy = 510, camera.cx = 160, camera.cy = 120, camera.k1 = -0.1, camera.p1 = 0.001;
    for (int i = 0; i < KEYPOINTS; i++) {
        double z = 4 + kbi_random_below(&seed, 512) / 64.0, x = (kbi_random_below(&seed, 641) / 1000.0 - 0.32) * z;
        double y = (kbi_random_below(&seed, 481) / 1000.0 - 0.24) * z, noise = i % 3 ? 0.5 : 80, b[3];
        for (int k = 0; k < 3; k++) b[k] = r[3 * k] * x + r[3 * k + 1] * y + r[3 * k + 2] * z + t[k];
        kb_camera_project(&camera, x / z, y / z, &pairs[i].x1, &pairs[i].y1);
        kb_camera_project(&camera, b[0] / b[2], b[1] / b[2], &pairs[i].x2, &pairs[i].y2);
        pairs[i].x2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
        pairs[i].y2 += noise * (kbi_random_below(&seed, 201) / 100.0 - 1);
        points[i] = (kb_scene_point){x, y, z, pairs[i].x2, pairs[i].y2};
    }
    for (int g = KB_GEOMETRY_SIMILARITY; g <= KB_GEOMETRY_ROTATION + 1; g++) { /* the last is the absolute pose */
        kb_fit_options options;
        kb_fit_report report;
        KB_INIT(options);
        KB_INIT(report);
        options.geometry = g > KB_GEOMETRY_ROTATION ? KB_GEOMETRY_HOMOGRAPHY : (kb_geometry)g;
        options.camera1 = &camera;
        options.threshold = g < KB_GEOMETRY_ESSENTIAL || g == KB_GEOMETRY_ROTATION ? 12 : 2;
        options.max_iterations = 500;
        options.candidates = 2 * KEYPOINTS;
        if (g > KB_GEOMETRY_ROTATION)
            must(kb_fit_pose(points, KEYPOINTS, &options, NULL, s->flags, &report, NULL), "fit a pose");
        else must(kb_fit(pairs, KEYPOINTS, &options, NULL, s->flags, &report, NULL), "fit");
        for (int i = 0; i < 9; i++) add_double(h, report.model[i]), add_double(h, report.rotation[i]);
        for (int i = 0; i < 3; i++) add_double(h, report.translation[i]);
        add_u64(h, (uint64_t)report.result);
        add_u64(h, (uint64_t)report.inliers);
        add_u64(h, (uint64_t)report.places);
        add_bytes(h, s->flags, KEYPOINTS);
    }
    camera.p1 = 0, camera.k4 = 0.01, camera.fisheye = 1;
    for (int i = 0; i < KEYPOINTS; i++) {
        double x, y;
        must(kb_camera_unproject(&camera, pairs[i].x1, pairs[i].y1, &x, &y), "unproject");
        add_double(h, x), add_double(h, y);
        must(kb_camera_project(&camera, x, y, &x, &y), "project");
        add_double(h, x), add_double(h, y);
    }
}

/* Keypoints of two images, one turned by the angle of a 3-4-5 triangle, every third match wrong. */
void section_filter(hash *h, scene *s)
{
    static kb_keypoint a[KEYPOINTS], b[KEYPOINTS];
    static kb_match matches[KEYPOINTS];
    size_t count;
    uint64_t seed = 60;
    (void)s;
    for (int i = 0; i < KEYPOINTS; i++) {
        float x = (float)kbi_random_below(&seed, WIDTH), y = (float)kbi_random_below(&seed, HEIGHT);
        float noise = (float)kbi_random_below(&seed, 30), wrong = i % 3 ? 0 : 90;
        a[i] = (kb_keypoint){x, y, 31, 10, 1, 0, -1};
        b[i] = (kb_keypoint){0.8f * x - 0.6f * y + wrong, 0.6f * x + 0.8f * y, 30, 31.87f + noise, 1, 0, -1};
        matches[i] = (kb_match){i, i, 1, 2};
    }
    must(filter_matches(a, KEYPOINTS, b, KEYPOINTS, matches, KEYPOINTS, NULL, NULL, matches, &count), "filter");
    add_matches(h, matches, count);
}

/* Rows near each other in places near each other, so that candidates compete and tie. */
void section_guided(hash *h, scene *s)
{
    enum { BYTES = 32, N = 400 };
    static uint8_t rows[2][N * BYTES];
    static kb_keypoint left[N], right[N];
    static kb_guide guides[N];
    static kb_match matches[N];
    static kb_stereo_match stereo[N];
    size_t count;
    uint64_t seed = 61;
    for (int i = 0; i < N; i++) {
        float x = (float)kbi_random_below(&seed, WIDTH), y = (float)kbi_random_below(&seed, HEIGHT);
        left[i] = (kb_keypoint){x, y, 31, (float)kbi_random_below(&seed, 340), 1, i % 4, -1};
        right[i] = left[i];
        right[i].x -= 5;
        guides[i] = (kb_guide){x - 3, y + 2, 20, left[i].angle, 0, i % 4 + 1, 0, 0, {0, 0}};
        for (int k = 0; k < BYTES; k++) {
            uint64_t r = kbi_random_next(&seed);
            rows[0][i * BYTES + k] = (uint8_t)r & 0x11;
            rows[1][i * BYTES + k] = (uint8_t)(rows[0][i * BYTES + k] ^ (r >> 8 & r >> 16 & 0x33));
        }
    }
    kb_guided_options guided;
    KB_INIT(guided);
    guided.max_ratio = 0.95f;
    guided.parallel = s->pool;
    must(match_guided(rows[0], guides, N, rows[1], right, N, BYTES, &guided, NULL, matches, &count), "guided");
    add_matches(h, matches, count);
    for (int i = 0; i < N; i++) {
        guides[i].line_x = 1 + (float)(i % 7);
        guides[i].line_y = (float)(i % 3);
        guides[i].radius = 3;
    }
    must(match_guided(rows[0], guides, N, rows[1], right, N, BYTES, &guided, NULL, matches, &count), "lines");
    add_matches(h, matches, count);
    kb_stereo_options along;
    KB_INIT(along);
    along.max_disparity = 20;
    must(match_stereo(rows[0], left, N, rows[1], right, N, BYTES, &along, NULL, stereo, &count), "stereo");
    for (size_t i = 0; i < count; i++) add_u64(h, (uint64_t)(uint32_t)stereo[i].a << 32 | (uint32_t)stereo[i].b);
}

/* The image and the same moved by two pixels and made darker; keypoints that are off in place, size and angle. */
void section_refine(hash *h, scene *s)
{
    static uint8_t moved[HEIGHT * STRIDE];
    static kb_keypoint b[KEYPOINTS];
    static kb_match matches[KEYPOINTS];
    static kb_point_pair pairs[KEYPOINTS];
    static float correlations[KEYPOINTS];
    uint64_t seed = 71;
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++)
            moved[y * STRIDE + x] = (uint8_t)(s->gray[y * STRIDE + kbi_min_i(x + 2, WIDTH - 1)] / 2 + 20);
    for (int32_t i = 0; i < KEYPOINTS; i++) {
        b[i] = s->keypoints[i];
        b[i].x += (float)kbi_random_below(&seed, 9) / 4 - 3;
        b[i].y += (float)kbi_random_below(&seed, 9) / 4 - 1;
        b[i].angle += (float)kbi_random_below(&seed, 20);
        matches[i] = (kb_match){i, i, 0, 0};
    }
    const kb_image image = {moved, WIDTH, HEIGHT, STRIDE, KB_FORMAT_GRAY8, 0};
    kb_refine_options o;
    KB_INIT(o);
    o.parallel = s->pool;
    must(match_refine(&s->image, &image, s->keypoints, KEYPOINTS, b, KEYPOINTS, matches, KEYPOINTS, &o, NULL, pairs,
                         correlations), "refine");
    for (int32_t i = 0; i < KEYPOINTS; i++) {
        add_double(h, (double)correlations[i]);
        if (!(correlations[i] > 0)) continue;
        add_double(h, pairs[i].x2);
        add_double(h, pairs[i].y2);
    }
}

/* The image and the same moved by a fraction of a pixel, with other contrast. */
void section_track(hash *h, scene *s)
{
    static uint8_t moved[HEIGHT * STRIDE];
    static kb_keypoint moved_to[KEYPOINTS];
    static float correlations[KEYPOINTS];
    kb_track_options o;
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++) {
            const uint8_t *row = s->gray + y * STRIDE;
            moved[y * STRIDE + x] = (uint8_t)((row[x] + 2 * row[kbi_min_i(x + 1, WIDTH - 1)]) / 4 + 30);
        }
    const kb_image image = {moved, WIDTH, HEIGHT, STRIDE, KB_FORMAT_GRAY8, 0};
    KB_INIT(o);
    o.parallel = s->pool;
    kb_features from = arrays_features(s->keypoints, NULL, KEYPOINTS, 0);
    kb_features to = arrays_features(moved_to, NULL, KEYPOINTS, 0);
    to.capacity = KEYPOINTS;
    must(kb_track_points(&s->image, &image, &from, &o, NULL, &to, correlations, NULL), "track");
    for (int32_t i = 0; i < KEYPOINTS; i++) {
        add_double(h, (double)correlations[i]);
        add_double(h, (double)moved_to[i].x);
        add_double(h, (double)moved_to[i].y);
    }
}

/* The image and the same turned by a quarter: all looks. */
void section_pair(hash *h, scene *s)
{
    static uint8_t turned[WIDTH * HEIGHT];
    static kb_keypoint a[KEYPOINTS], b[KEYPOINTS];
    static kb_match matches[KEYPOINTS];
    static uint8_t inliers[KEYPOINTS];
    kb_model *model;
    kb_pair_options o;
    kb_fit_options fit;
    kb_fit_report report;
    kb_pair pair;
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++) turned[x * HEIGHT + HEIGHT - 1 - y] = s->gray[y * STRIDE + x];
    const kb_image image = {turned, HEIGHT, WIDTH, HEIGHT, KB_FORMAT_GRAY8, 0};
    KB_INIT(o);
    KB_INIT(fit);
    KB_INIT(report);
    KB_INIT(pair);
    o.fit = &fit;
    o.parallel = s->pool;
    kb_features fa = arrays_features(a, NULL, 0, 0), fb = arrays_features(b, NULL, 0, 0);
    fa.capacity = fb.capacity = KEYPOINTS;
    pair.a = &fa;
    pair.b = &fb;
    pair.matches = matches;
    pair.inliers = inliers;
    pair.fit = &report;
    for (int k = 0; k < 3; k++) { /* floats; binary rows, with a warped look; and along lines */
        const char *name = k == 0 ? "rootsift" : "bag256";
        if (k == 2) o.looks = KB_LOOK_ORIENTED | KB_LOOK_GUIDED, fit.geometry = KB_GEOMETRY_FUNDAMENTAL;
        must(kb_model_builtin(name, NULL, &model), name);
        must(kb_match_images(model, &s->image, &image, &o, NULL, &pair, NULL), "two images");
        add_matches(h, matches, pair.count);
        add_bytes(h, inliers, pair.count);
        for (int i = 0; i < 9; i++) add_double(h, report.model[i]);
        add_floats(h, &pair.rotation, 1);
        add_u64(h, (uint64_t)pair.look);
        add_u64(h, (uint64_t)pair.looks);
        kb_model_free(model);
    }
}
