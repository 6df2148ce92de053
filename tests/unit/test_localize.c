/* SPDX-License-Identifier: Apache-2.0 */
/* Maps and poses in them, on rendered rooms whose cameras are known: positions, rotations, unknown focal lengths, rolled
 * photographs, other rooms, damaged files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collection/localize.h"
#include "common/common.h"
#include "pipeline/models.h"
#include "scratch.h"
#include "solid.h"

enum { WIDTH = 480, HEIGHT = 360, VIEWS = 7, FOCAL = 420, SHARED = 40 };

static kb_model *model;
static pipeline line;
static const io_read_options reading = {0};
static const photos_host nobody = {0};

static solid_camera view_camera(int i)
{
    const double place[3] = {-1.2 + 0.4 * i, 0.1 * (i % 3), 0.15 * (i % 2)};
    return solid_camera_at(WIDTH, HEIGHT, FOCAL, place, 4.0 * (3 - i), 2, 0);
}

static const char *write_view(const char *name, const solid_scene *scene, const solid_camera *camera)
{
    const char *path = in_scratch(name);
    uint8_t *pixels = solid_render(scene, camera, WIDTH, HEIGHT);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "P5 %d %d 255\n", WIDTH, HEIGHT);
    assert_int_equal(fwrite(pixels, 1, WIDTH * HEIGHT, file), WIDTH * HEIGHT);
    fclose(file);
    free(pixels);
    return path;
}

/* COLMAP's model of the views, as text: true poses, and points that say which images are neighbours. The centre of a
 * pixel is half a pixel further there. */
static void write_model(int views)
{
    FILE *cameras = fopen(in_scratch("cameras.txt"), "w"), *images = fopen(in_scratch("images.txt"), "w"),
         *points = fopen(in_scratch("points3D.txt"), "w");
    assert_true(cameras && images && points);
    fprintf(cameras, "1 PINHOLE %d %d %d %d %g %g\n", WIDTH, HEIGHT, FOCAL, FOCAL, 0.5 * WIDTH, 0.5 * HEIGHT);
    for (int i = 0; i < views; i++) {
        solid_camera c = view_camera(i);
        double w = 0.5 * sqrt(1 + c.r[0] + c.r[4] + c.r[8]);
        fprintf(images, "%d %.17g %.17g %.17g %.17g %.17g %.17g %.17g 1 view%d.pgm\n", i + 1, w,
                (c.r[7] - c.r[5]) / (4 * w), (c.r[2] - c.r[6]) / (4 * w), (c.r[3] - c.r[1]) / (4 * w), c.t[0], c.t[1], c.t[2], i);
        for (int k = 0; k < SHARED; k++) fprintf(images, "%d %d %d ", 10 + k, 20 + k, k + 1);
        fprintf(images, "\n");
    }
    for (int k = 0; k < SHARED; k++) fprintf(points, "%d 0 0 6 0 0 0 1\n", k + 1);
    fclose(cameras);
    fclose(images);
    fclose(points);
}

static const char *make_map(uint32_t seed, map_counts *counts)
{
    const solid_scene scene = room_scene(seed);
    const char *path = in_scratch("room.kbl");
    io_error error;
    for (int i = 0; i < VIEWS; i++) {
        char name[32];
        solid_camera c = view_camera(i);
        snprintf(name, sizeof name, "view%d.pgm", i);
        write_view(name, &scene, &c);
    }
    write_model(VIEWS);
    if (!map_build(&line, &reading, scratch, scratch, "bag256-1k", &nobody, path, counts, &error)) fail_msg("%s", error.text);
    return path;
}

static void find(const map *m, const solid_scene *scene, const solid_camera *c, const kb_camera *known, localize_result *out)
{
    io_error error;
    const localize_options options = {.camera = known};
    if (!localize(m, &line, &reading, &options, write_view("photo.pgm", scene, c), out, &error)) fail_msg("%s", error.text);
}

/* The distance of the centres, and the angle between the rotations in degrees. */
static void compare(const localize_result *r, const solid_camera *c, double *position, double *angle)
{
    double square = 0, trace = 0;
    for (int i = 0; i < 3; i++) {
        double centre = -(c->r[i] * c->t[0] + c->r[3 + i] * c->t[1] + c->r[6 + i] * c->t[2]);
        square += (centre - r->centre[i]) * (centre - r->centre[i]);
    }
    for (int i = 0; i < 9; i++) trace += c->r[i] * r->rotation[i];
    *position = sqrt(square);
    *angle = acos(fmin(1, (trace - 1) / 2)) * 57.29577951308232;
}

static void poses_are_right(void **state)
{
    (void)state;
    map_counts counts;
    map m;
    io_error error;
    assert_true(map_open(make_map(3, &counts), &m, &error));
    assert_int_equal(counts.images, VIEWS);
    assert_true(counts.points > 300 && counts.rows > 2 * counts.points && counts.rms < 1);
    const solid_scene scene = room_scene(3);
    const struct {
        double place[3], yaw, pitch, roll;
    } photos[] = {{{0.1, 0.05, 0.3}, 2, 1, 0}, {{-0.9, 0.2, 0.1}, 9, 3, 10}, {{0.7, -0.2, -0.2}, -6, -2, 90},
                  {{-0.3, 0, 0.6}, 5, 0, -35}};
    for (size_t i = 0; i < sizeof photos / sizeof *photos; i++) {
        solid_camera c = solid_camera_at(WIDTH, HEIGHT, FOCAL, photos[i].place, photos[i].yaw, photos[i].pitch, photos[i].roll);
        localize_result r;
        double position, angle;
        find(&m, &scene, &c, &c.k, &r);
        assert_true(r.found);
        compare(&r, &c, &position, &angle);
        if (position > 0.02 || angle > 0.15) fail_msg("photo %zu: %g units and %g degrees off", i, position, angle);
        assert_true(r.sigma_position > 0 && r.sigma_position < 0.02 && position < 6 * r.sigma_position);
        assert_true(r.inliers >= 50 && r.rms < 2);
        localize_result_free(&r);
    }
    map_close(&m);
}

/* Without a camera the focal length is found with the pose. */
static void focal_lengths_are_found(void **state)
{
    (void)state;
    map m;
    io_error error;
    const solid_scene scene = room_scene(3);
    assert_true(map_open(in_scratch("room.kbl"), &m, &error));
    for (double focal = 320; focal <= 620; focal += 100) {
        const double place[3] = {0.2, 0.1, 0.2};
        solid_camera c = solid_camera_at(WIDTH, HEIGHT, focal, place, 1, 2, 5);
        localize_result r;
        double position, angle;
        find(&m, &scene, &c, NULL, &r);
        assert_true(r.found);
        assert_string_equal(r.camera_from, fabs(focal - FOCAL) < 30 ? "map" : "guess");
        compare(&r, &c, &position, &angle);
        if (fabs(r.camera.fx / focal - 1) > 0.02 || position > 0.15 || angle > 0.5)
            fail_msg("focal length %g: %g, %g units and %g degrees off", focal, r.camera.fx, position, angle);
        assert_true(r.sigma_focal > 0 || r.camera.fx == FOCAL);
        localize_result_free(&r);
    }
    map_close(&m);
}

/* ---- standard deviations ---- */

#ifdef KEYBITS_SANITIZED /* of numbers: a photograph of each kind runs the same code */
enum { ROOMS = 1, PHOTOS = 1 };
#else
enum { ROOMS = 4, PHOTOS = 5 };
#endif
static uint32_t first_room = 3;

/* Errors over their standard deviations. */
typedef struct ratio_sum {
    double position, rotation, focal; /* sums of squares */
    int n, focal_n;
} ratio_sum;

static double uniform(uint64_t *seed, double from, double to)
{
    return from + (to - from) * (double)kbi_random_below(seed, 10001) / 10000;
}

static void photograph(const map *m, const solid_scene *scene, double focal, bool known, uint64_t *seed, ratio_sum *sum)
{
    const double place[3] = {uniform(seed, -1, 1), uniform(seed, -0.2, 0.3), uniform(seed, -0.3, 0.6)};
    double yaw = -8 * place[0] + uniform(seed, -4, 4), pitch = uniform(seed, -3, 4), roll = uniform(seed, -20, 20);
    solid_camera c = solid_camera_at(WIDTH, HEIGHT, focal, place, yaw, pitch, roll);
    localize_result r;
    double position, angle;
    find(m, scene, &c, known ? &c.k : NULL, &r);
    assert_true(r.found);
    compare(&r, &c, &position, &angle);
    if (position > 6 * r.sigma_position)
        printf("%s, focal length %.0f, %.0f found: %.4f units off, %.4f expected\n", r.camera_from, focal, r.camera.fx,
               position, r.sigma_position);
    sum->position += pow(position / r.sigma_position, 2);
    sum->rotation += pow(angle / r.sigma_rotation, 2);
    sum->n++;
    if (r.sigma_focal > 0) {
        sum->focal += pow((r.camera.fx - focal) / r.sigma_focal, 2);
        sum->focal_n++;
    }
    localize_result_free(&r);
}

/* Of wide and narrow photographs, with cameras that are known and that are not, among these some whose focal length is a
 * few per cent off the map's. */
static void deviations_are_right(void **state)
{
    static const char *const names[] = {"wide, known", "wide", "narrow, known", "narrow"};
    ratio_sum sums[4] = {{0}}, all = {0};
    uint64_t seed = first_room;
    (void)state;
    for (uint32_t room = first_room; room < first_room + ROOMS; room++) {
        const solid_scene scene = room_scene(room);
        map_counts counts;
        map m;
        io_error error;
        assert_true(map_open(make_map(room, &counts), &m, &error));
        for (int i = 0; i < 4 * PHOTOS; i++)
            photograph(&m, &scene, i & 2 ? uniform(&seed, 600, 1100) : uniform(&seed, 320, 520), i % 2 == 0, &seed, &sums[i % 4]);
        map_close(&m);
    }
    for (int k = 0; k < 4; k++) {
        const ratio_sum *s = &sums[k];
        printf("%s: %d, error over deviation: position %.2f, rotation %.2f, focal length %.2f of %d\n", names[k], s->n,
               sqrt(s->position / s->n), sqrt(s->rotation / s->n), s->focal_n ? sqrt(s->focal / s->focal_n) : 0, s->focal_n);
        all.position += s->position, all.rotation += s->rotation, all.focal += s->focal;
        all.n += s->n, all.focal_n += s->focal_n;
    }
    const double ratios[] = {sqrt(all.position / all.n), sqrt(all.rotation / all.n), sqrt(all.focal / all.focal_n)};
    printf("all: %.2f, %.2f, %.2f\n", ratios[0], ratios[1], ratios[2]);
    for (int k = 0; k < 3 && ROOMS > 1; k++) assert_true(ratios[k] > 0.8 && ratios[k] < 1.25);
    make_map(3, &(map_counts){0}); /* which the other tests use */
}

static void another_room_is_not_found(void **state)
{
    (void)state;
    map m;
    io_error error;
    assert_true(map_open(in_scratch("room.kbl"), &m, &error));
    for (uint32_t seed = 90; seed < 90 + (ROOMS > 1 ? 6 : 1); seed++) {
        const solid_scene scene = room_scene(seed);
        solid_camera c = view_camera((int)seed % VIEWS);
        for (int known = 0; known < 2; known++) {
            localize_result r;
            find(&m, &scene, &c, known ? &c.k : NULL, &r);
            assert_false(r.found);
            localize_result_free(&r);
        }
    }
    map_close(&m);
}

/* Beside the row itself at most 12 bytes per row; points, images and words of the vocabulary apart. */
static void maps_are_small(void **state)
{
    (void)state;
    map m;
    io_error error;
    kb_index_info info;
    kb_vocabulary_info words;
    KB_INIT(info);
    KB_INIT(words);
    assert_true(map_open(in_scratch("room.kbl"), &m, &error));
    assert_int_equal(kb_index_get_info(m.index, &info), KB_OK);
    assert_int_equal(kb_vocabulary_get_info(info.vocabulary, &words), KB_OK);
    size_t apart = 24 * m.point_count + words.bytes + 16 * (size_t)words.words + 200 * VIEWS + 512;
    assert_true(m.row_bytes == 32 && m.row_count > 1000 && m.file.size < apart + (32 + 12) * m.row_count);
    map_close(&m);
}

/* A byte changed anywhere, or an end that is missing, is noticed. */
static void damage_is_noticed(void **state)
{
    (void)state;
    io_bytes bytes;
    io_error error;
    map m;
    const char *path = in_scratch("damaged.kbl");
    assert_true(io_file_read(in_scratch("room.kbl"), &bytes, &error));
    for (size_t i = 0; i < 60; i++) {
        size_t at = i < 20 ? i * 7 % 128 : i * 2654435761u % bytes.size;
        bytes.data[at] ^= 0x41;
        assert_true(io_file_write(path, bytes.data, bytes.size, &error));
        assert_false(map_open(path, &m, &error));
        bytes.data[at] ^= 0x41;
    }
    for (size_t size = 0; size < bytes.size; size += bytes.size / 9) {
        assert_true(io_file_write(path, bytes.data, size, &error));
        assert_false(map_open(path, &m, &error));
    }
    io_bytes_free(&bytes);
}

static void wrong_inputs_have_words(void **state)
{
    (void)state;
    io_error error;
    map_counts counts;
    assert_false(map_build(&line, &reading, "/nowhere", scratch, NULL, &nobody, in_scratch("x.kbl"), &counts, &error));
    assert_false(map_build(&line, &reading, scratch, "/nowhere", "bag256-1k", &nobody, in_scratch("x.kbl"), &counts, &error));
    assert_non_null(strstr(error.text, "at least two images"));
    assert_false(io_path_exists(in_scratch("x.kbl")));
}

static int set_up(void **state)
{
    pipeline_options options;
    io_error error;
    pipeline_options_init(&options);
    if (make_scratch(state) != 0 || !models_open("bag256", &model, &error)) return -1;
    return pipeline_open(&line, &options, model, NULL, &error) ? 0 : -1;
}

static int tear_down(void **state)
{
    pipeline_close(&line);
    kb_model_free(model);
    return remove_scratch(state);
}

int main(int argc, char **argv)
{
    if (argc > 1) first_room = (uint32_t)atoi(argv[1]); /* other rooms, other photographs */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deviations_are_right), cmocka_unit_test(poses_are_right),         cmocka_unit_test(focal_lengths_are_found),
        cmocka_unit_test(another_room_is_not_found), cmocka_unit_test(maps_are_small),
        cmocka_unit_test(damage_is_noticed),       cmocka_unit_test(wrong_inputs_have_words),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
