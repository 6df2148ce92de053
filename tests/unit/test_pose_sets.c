/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of photographs with known cameras: one rendered scene, written in every format, gives the same poses; lists that
 * are wrong are refused with their line; matches of other programs are scored like ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "eval/pose.h"
#include "eval_files.h"
#include "io/colmap_db.h"
#include "solid.h"

enum { WIDTH = 480, HEIGHT = 360, VIEWS = 3 };

static solid_camera cameras[VIEWS];

static void render_views(void)
{
    const double places[VIEWS][3] = {{0, 0, 0}, {0.5, 0.1, 0.2}, {1, -0.1, 0.1}};
    const double turns[VIEWS][3] = {{0, 5, 0}, {-3, 4, 2}, {-8, 5, -3}};
    solid_scene scene = room_scene(5);
    make_folder("images");
    for (int i = 0; i < VIEWS; i++) {
        char name[32];
        cameras[i] = solid_camera_at(WIDTH, HEIGHT, 450, places[i], turns[i][0], turns[i][1], turns[i][2]);
        uint8_t *pixels = solid_render(&scene, &cameras[i], WIDTH, HEIGHT);
        snprintf(name, sizeof name, "images/view%d.png", i);
        assert_true(io_png_write(in_scratch(name), IO_GRAY8, WIDTH, HEIGHT, pixels, NULL));
        free(pixels);
    }
}

/* The pose of view j as view i sees the world, as 4x4 numbers between separators. */
static void relative_text(int i, int j, const char *row, const char *between, const char *end, FILE *out)
{
    const solid_camera *a = &cameras[i], *b = &cameras[j];
    for (int k = 0; k < 3; k++) {
        double r[3], t = b->t[k];
        for (int m = 0; m < 3; m++) {
            r[m] = b->r[3 * k] * a->r[3 * m] + b->r[3 * k + 1] * a->r[3 * m + 1] + b->r[3 * k + 2] * a->r[3 * m + 2];
            t -= r[m] * a->t[m];
        }
        fprintf(out, "%s%.9f%s%.9f%s%.9f%s%.9f%s", row, r[0], between, r[1], between, r[2], between, t, end);
    }
}

static FILE *create(const char *name)
{
    FILE *file = fopen(in_scratch(name), "w");
    assert_non_null(file);
    return file;
}

static void write_cameras_txt(void)
{
    FILE *out = create("cameras.txt");
    fprintf(out, "# name fx fy cx cy R T\n\n");
    for (int i = 0; i < VIEWS; i++) {
        const solid_camera *c = &cameras[i];
        fprintf(out, "images/view%d.png %g %g %g %g", i, c->k.fx, c->k.fy, c->k.cx, c->k.cy);
        for (int k = 0; k < 9; k++) fprintf(out, " %.9f", c->r[k]);
        fprintf(out, " %.9f %.9f %.9f\r\n", c->t[0], c->t[1], c->t[2]);
    }
    fclose(out);
}

static void write_strecha(void)
{
    make_folder("gt_dense_cameras");
    for (int i = 0; i < VIEWS; i++) {
        char name[64];
        const solid_camera *c = &cameras[i];
        snprintf(name, sizeof name, "gt_dense_cameras/view%d.png.camera", i);
        FILE *out = create(name);
        fprintf(out, "%g 0 %g 0 %g %g 0 0 1 0 0 0", c->k.fx, c->k.cx, c->k.fy, c->k.cy);
        for (int k = 0; k < 9; k++) fprintf(out, " %.9f", c->r[k % 3 * 3 + k / 3]);
        for (int k = 0; k < 3; k++)
            fprintf(out, " %.9f", -(c->r[k] * c->t[0] + c->r[3 + k] * c->t[1] + c->r[6 + k] * c->t[2]));
        fprintf(out, " %d %d\n", WIDTH, HEIGHT);
        fclose(out);
    }
}

static void write_scannet(void)
{
    FILE *out = create("scannet_test_pairs_with_gt.txt");
    for (int i = 0; i < VIEWS; i++)
        for (int j = i + 1; j < VIEWS; j++) {
            fprintf(out, "images/view%d.png images/view%d.png 0 0", i, j);
            for (int k = 0; k < 2; k++)
                fprintf(out, " %g 0. %g 0. %g %g 0. 0. 1.", cameras[0].k.fx, cameras[0].k.cx, cameras[0].k.fy,
                        cameras[0].k.cy);
            relative_text(i, j, " ", " ", "", out);
            fprintf(out, " 0. 0. 0. 1.\n");
        }
    fclose(out);
}

static void write_megadepth(void)
{
    FILE *out = create("megadepth_1500.json");
    for (int i = 0; i < VIEWS; i++)
        for (int j = i + 1; j < VIEWS; j++) {
            fprintf(out, "%s{\"image0\": null, \"T_0to1\": [", i + j == 1 ? "[" : ",\n");
            relative_text(i, j, "[", ",", "],", out);
            fprintf(out, "[0, 0, 0, 1]], \"pair_names\": [\"images/view%d.png\", \"images/view%d.png\"], ", i, j);
            for (int k = 0; k < 2; k++)
                fprintf(out, "\"K%d\": [[%g, 0, %g], [0, %g, %g], [0, 0, 1]], \"size%d_hw\": [320, 448]%s", k,
                        cameras[0].k.fx, cameras[0].k.cx, cameras[0].k.fy, cameras[0].k.cy, k, k ? "}" : ", ");
        }
    fprintf(out, "]\n");
    fclose(out);
}

/* ---------------------------------------------------------------------------------------------------------- opening */

static void assert_poses(const ev_pose_set *set, const char *protocol, size_t pairs)
{
    ev_pose_set listed;
    assert_string_equal(set->protocol->name, protocol);
    assert_int_equal(set->image_count, VIEWS);
    assert_int_equal(set->pair_count, pairs);
    assert_true(ev_pose_set_open(in_scratch("cameras.txt"), 0, &listed, NULL));
    for (size_t i = 0; i < set->pair_count; i++)
        for (size_t j = 0; j < listed.pair_count; j++) {
            const ev_posed_pair *a = &set->pairs[i], *b = &listed.pairs[j];
            if (strcmp(set->images[a->image[0]].path, listed.images[b->image[0]].path) != 0 ||
                strcmp(set->images[a->image[1]].path, listed.images[b->image[1]].path) != 0)
                continue;
            assert_true(ev_pose_error(a->rotation, a->translation, b->rotation, b->translation, false) < 1e-4);
            assert_true(a->camera[0].cx == b->camera[0].cx && a->camera[1].fy == b->camera[1].fy);
            pairs--;
        }
    assert_int_equal(pairs, 0);
    ev_pose_set_free(&listed);
}

static void every_format_tells_the_same_poses(void **state)
{
    static const struct {
        const char *name, *protocol;
        double threshold;
    } kinds[] = {{"cameras.txt", "cameras.txt", 1},
                 {"megadepth_1500.json", "MegaDepth-1500", 2.5},
                 {"scannet_test_pairs_with_gt.txt", "ScanNet-1500", 1}};
    ev_pose_set set;
    io_error error;
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_true(ev_pose_set_open(in_scratch(kinds[i].name), 0, &set, &error));
        assert_poses(&set, kinds[i].protocol, 3);
        assert_true(set.protocol->threshold == kinds[i].threshold);
        ev_pose_set_free(&set);
    }
    assert_true(ev_pose_set_open(in_scratch("cameras.txt"), 1, &set, &error));
    assert_poses(&set, "cameras.txt", 2);
    ev_pose_set_free(&set);
}

/* ---- COLMAP's model ---- */

/* COLMAP's text files with the points that view 0 sees within `depth` units, every one seen by all views. */
static void write_colmap(double depth)
{
    solid_scene scene = room_scene(5);
    make_folder("colmap");
    make_folder("colmap/sparse");
    make_folder("colmap/sparse/0");
    FILE *intrinsics = create("colmap/sparse/0/cameras.txt"), *images = create("colmap/sparse/0/images.txt"),
         *points = create("colmap/sparse/0/points3D.txt");
    fprintf(intrinsics, "1 PINHOLE %d %d %g %g %g %g\n", WIDTH, HEIGHT, cameras[0].k.fx, cameras[0].k.fy,
            cameras[0].k.cx + 0.5, cameras[0].k.cy + 0.5);
    for (int i = 0; i < VIEWS; i++) {
        const solid_camera *c = &cameras[i];
        double q[4];
        int id = 0;
        io_quaternion_of(c->r, q);
        fprintf(images, "%d %.12f %.12f %.12f %.12f %.12f %.12f %.12f 1 view%d.png\n", i + 1, q[0], q[1], q[2], q[3],
                c->t[0], c->t[1], c->t[2], i);
        for (int at = 0; at < WIDTH * HEIGHT; at += 1237) {
            double from[3], along[3];
            solid_ray(&cameras[0], at % WIDTH, at / WIDTH, from, along);
            solid_hit hit = solid_cast(&scene, from, along);
            if (hit.face < 0 || hit.distance > depth) continue;
            fprintf(images, "%s1 1 %d", id ? " " : "", id + 1);
            id++;
            if (i == 0)
                fprintf(points, "%d %.9f %.9f %.9f 0 0 0 0.5 1 %d 2 %d 3 %d\n", id, hit.point[0], hit.point[1],
                        hit.point[2], id - 1, id - 1, id - 1);
        }
        fprintf(images, "\n");
    }
    fclose(intrinsics);
    fclose(images);
    fclose(points);
}

/* Pairs that see the points from directions that differ by 4 degrees and more, with the poses of cameras.txt. */
static void a_model_of_colmap_is_a_set(void **state)
{
    ev_pose_set set, listed;
    io_error error;
    (void)state;
    assert_true(ev_pose_set_open(in_scratch("cameras.txt"), 0, &listed, &error));
    write_colmap(7);
    assert_true(ev_pose_set_open(in_scratch("colmap"), 0, &set, &error));
    assert_string_equal(set.protocol->name, "COLMAP");
    assert_non_null(strstr(set.images[0].path, "colmap/images/view"));
    assert_int_equal(set.pair_count, listed.pair_count);
    for (size_t i = 0; i < set.pair_count; i++) {
        const ev_posed_pair *a = &set.pairs[i], *b = &listed.pairs[i];
        assert_true(ev_pose_error(a->rotation, a->translation, b->rotation, b->translation, false) < 1e-4);
        assert_true(fabs(a->camera[0].cx - b->camera[0].cx) < 1e-9 && a->camera[1].fy == b->camera[1].fy);
    }
    ev_pose_set_free(&set);
    assert_true(ev_pose_set_open(in_scratch("colmap"), 1, &set, &error));
    assert_int_equal(set.pair_count, 2);
    ev_pose_set_free(&set);
    ev_pose_set_free(&listed);
    write_colmap(3.8); /* hardly any points */
    assert_false(ev_pose_set_open(in_scratch("colmap"), 0, &set, &error));
    assert_non_null(strstr(error.text, "lists no pair"));
    write_text("colmap/sparse/0/cameras.txt", "1 FOV 480 360 1 1 1 1 1\n");
    assert_false(ev_pose_set_open(in_scratch("colmap"), 0, &set, &error));
}

/* The truth that was written is that of the pictures: the pose is found. Sizes follow the protocols. */
static void assert_solved(const char *name, const io_names *matches, size_t rows, double least)
{
    pipeline p;
    pipeline_options options;
    kb_model *model;
    ev_pose_set set;
    ev_pose_result result;
    const ev_pose_options o = {.seeds = 2, .model = "bag256", .matches = matches, .quiet = true};
    io_error error;
    pipeline_options_init(&options);
    options.geometry = KB_GEOMETRY_ESSENTIAL;
    assert_int_equal(kb_model_builtin("bag256", NULL, &model), KB_OK);
    assert_true(pipeline_open(&p, &options, model, NULL, &error));
    assert_true(ev_pose_set_open(in_scratch(name), 0, &set, &error));
    assert_true(ev_pose_run(&p, &set, &o, &result, &error));
    assert_int_equal(result.count, rows);
    for (size_t i = 0; i < result.count; i++) {
        assert_int_equal(result.rows[i].problems, 3);
        assert_true(result.rows[i].matches >= 20);
        if (result.rows[i].auc[EV_POSE_10] < least)
            fail_msg("%s, %s: AUC 10 is %.3f", name, ev_pose_solver_name(result.rows[i].solver),
                     result.rows[i].auc[EV_POSE_10]);
    }
    ev_pose_result_free(&result);
    ev_pose_set_free(&set);
    pipeline_close(&p);
    kb_model_free(model);
}

static void every_format_is_solved(void **state)
{
    (void)state;
    assert_solved("cameras.txt", NULL, 3, 0.8);
    assert_solved("megadepth_1500.json", NULL, 3, 0.8);
    assert_solved("scannet_test_pairs_with_gt.txt", NULL, 3, 0.7);
}

/* The folder is found by what lies in it: the lists first, then Strecha's layout. */
static void folders_are_known_by_their_lists(void **state)
{
    static const char *const lists[] = {"cameras.txt", "megadepth_1500.json", "scannet_test_pairs_with_gt.txt"};
    static const char *const names[] = {"cameras.txt", "MegaDepth-1500", "ScanNet-1500", "Strecha"};
    ev_pose_set set;
    io_error error;
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(ev_pose_set_open(in_scratch("."), 0, &set, &error));
        assert_string_equal(set.protocol->name, names[i]);
        if (i == 3) assert_int_equal(set.pair_count, 3);
        ev_pose_set_free(&set);
        if (i < 3) {
            char *kept = io_copy_string(in_scratch("kept"));
            assert_int_equal(rename(in_scratch(lists[i]), kept), 0);
            assert_int_equal(remove(kept), 0);
            free(kept);
        }
    }
    write_cameras_txt();
}

/* Matches of another program, here exact ones in pixels of the files, although images are resized. */
static void given_matches_are_solved(void **state)
{
    solid_scene scene = room_scene(5);
    io_names folders = {NULL, 0};
    (void)state;
    make_folder("given");
    io_names_add(&folders, in_scratch("given"));
    for (int i = 0; i < VIEWS; i++)
        for (int j = i + 1; j < VIEWS; j++) {
            char name[64];
            snprintf(name, sizeof name, "given/view%d_view%d.txt", i, j);
            FILE *out = create(name);
            for (int y = 20; y < HEIGHT; y += 40)
                for (int x = 20; x < WIDTH; x += 40) {
                    double u, v;
                    if (solid_transfer(&scene, &cameras[i], x, y, &cameras[j], &u, &v))
                        fprintf(out, "%d %d %.4f %.4f\n", x, y, u, v);
                }
            fclose(out);
        }
    write_megadepth();
    write_scannet();
    assert_solved("megadepth_1500.json", &folders, 4, 0.8);
    assert_solved("scannet_test_pairs_with_gt.txt", &folders, 4, 0.7);
    write_text("given/view0_view2.txt", "1 2 3\n");
    pipeline p;
    pipeline_options options;
    ev_pose_set set;
    ev_pose_result result;
    kb_model *model;
    io_error error;
    pipeline_options_init(&options);
    assert_int_equal(kb_model_builtin("bag256", NULL, &model), KB_OK);
    assert_true(pipeline_open(&p, &options, model, NULL, &error));
    assert_true(ev_pose_set_open(in_scratch("cameras.txt"), 0, &set, &error));
    assert_false(ev_pose_run(&p, &set, &(ev_pose_options){.model = "bag256", .matches = &folders, .quiet = true},
                             &result, &error));
    assert_non_null(strstr(error.text, "view0_view2.txt: match 1"));
    ev_pose_set_free(&set);
    pipeline_close(&p);
    kb_model_free(model);
    io_names_free(&folders);
}

/* ------------------------------------------------------------------------------------------------------------ wrong */

static void assert_refused(const char *name, const char *text, const char *words)
{
    ev_pose_set set;
    io_error error;
    write_text(name, text);
    assert_false(ev_pose_set_open(in_scratch(name), 0, &set, &error));
    if (!strstr(error.text, words)) fail_msg("\"%s\" lacks \"%s\"", error.text, words);
}

static void wrong_lists_are_refused(void **state)
{
    (void)state;
    make_folder("wrong");
    assert_refused("wrong/cameras.txt", "# nothing\n", "lists no pair");
    assert_refused("wrong/cameras.txt", "a.png 1 1 0 0 1 0 0 0 1 0 0 0 1 0 0\n", "line 1");
    assert_refused("wrong/cameras.txt", "\na.png 0 1 0 0 1 0 0 0 1 0 0 0 1 0 0 0\n", "line 2");
    assert_refused("wrong/cameras.txt", "a.png 1 1 0 0 1 0 0 0 2 0 0 0 1 0 0 0\n", "line 1");
    assert_refused("wrong/cameras.txt", "a.png 1 1 0 0 -1 0 0 0 1 0 0 0 1 0 0 0\n", "line 1");
    assert_refused("wrong/cameras.txt",
                   "a.png 1 1 0 0 1 0 0 0 1 0 0 0 1 0 0 0\na.png 1 1 0 0 1 0 0 0 1 0 0 0 1 0 0 0\n", "line 2");
    assert_refused("wrong/pairs.txt", "a b 1 0 1 0 0 0 1 0 0 0 1 1 0 0 0 1 0 0 0 1 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1\n",
                   "not turned");
    assert_refused("wrong/pairs.txt", "a b 0 0 1 0 0 0 1 0 0 0 1\n", "line 1");
    assert_refused("wrong/list.json", "{}", "array");
    assert_refused("wrong/list.json", "[{\"pair_names\": [\"a\"]}]", "pair 1");
    assert_refused("wrong/list.json", "[", "list.json");
    assert_int_equal(remove(in_scratch("wrong/cameras.txt")), 0);
    ev_pose_set set;
    io_error error;
    assert_false(ev_pose_set_open(in_scratch("wrong"), 0, &set, &error));
    assert_non_null(strstr(error.text, "holds no cameras"));
}

/* A translation that points backwards is half a turn wrong, or not at all. */
static void the_sign_of_a_translation(void **state)
{
    const double r[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, t[3] = {1, 0, 0}, back[3] = {-2, 0, 0};
    (void)state;
    assert_true(fabs(ev_pose_error(r, back, r, t, false) - 180) < 1e-9);
    assert_true(ev_pose_error(r, back, r, t, true) < 1e-9);
}

static int begin(void **state)
{
    if (make_scratch(state) != 0) return -1;
    render_views();
    write_cameras_txt();
    write_strecha();
    write_scannet();
    write_megadepth();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_tells_the_same_poses), cmocka_unit_test(a_model_of_colmap_is_a_set),
        cmocka_unit_test(every_format_is_solved),
        cmocka_unit_test(folders_are_known_by_their_lists),  cmocka_unit_test(given_matches_are_solved),
        cmocka_unit_test(wrong_lists_are_refused),           cmocka_unit_test(the_sign_of_a_translation)};
    return cmocka_run_group_tests_name("pose_sets", tests, begin, remove_scratch);
}
