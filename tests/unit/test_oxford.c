/* SPDX-License-Identifier: Apache-2.0 */
/* Images of planes: how folders and homographies are read, and the numbers of a pair small enough to work out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "eval/oxford.h"
#include "eval_files.h"

#define assert_near(value, expected) assert_true(fabs((value) - (expected)) < 1e-9)

/* ---- homographies ---- */

static void homographies_as_text_and_xml(void **state)
{
    double h[9];
    io_error error;
    (void)state;
    write_text("h.txt", "1 0 5\n0 2e0 -1.5\n0.001 0 1\n");
    assert_true(ev_homography_read(in_scratch("h.txt"), h, &error));
    assert_near(h[4], 2);
    assert_near(h[5], -1.5);
    assert_near(h[6], 0.001);
    write_text(
        "h.xml",
        "<?xml version=\"1.0\"?>\n<opencv_storage>\n<H12 type_id=\"opencv-matrix\">\n  <rows>3</rows>\n"
        "<cols>3</cols><dt>d</dt>\n<data>\n 1. 0. 5.\n 0. 2. -1.5\n\t1e-3 0. 1.</data></H12>\n</opencv_storage>\n");
    double again[9];
    assert_true(ev_homography_read(in_scratch("h.xml"), again, &error));
    for (int i = 0; i < 9; i++) assert_near(again[i], h[i]);
}

static void wrong_homographies_are_refused(void **state)
{
    static const char *const wrong[] = {"", "1 0 0 0 1 0 0 0", "1 0 0 0 1 0 0 0 1 7", "1 0 0 0 nan 0 0 0 1", "1 2 3 x",
                                        "1 0 0 2 0 0 0 0 1"};
    double h[9];
    io_error error;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text("wrong.txt", wrong[i]);
        assert_false(ev_homography_read(in_scratch("wrong.txt"), h, &error));
        assert_non_null(strstr(error.text, "wrong.txt"));
    }
    assert_false(ev_homography_read(in_scratch("absent.txt"), h, &error));
}

/* ---- folders ---- */

static void folders_of_three_kinds(void **state)
{
    ev_scenes scenes;
    io_error error;
    (void)state;
    make_folder("scenes");
    make_folder("scenes/a_oxford");
    write_noise("scenes/a_oxford/img2.png", 16, 16, 2);
    write_noise("scenes/a_oxford/img1.png", 16, 16, 1);
    write_text("scenes/a_oxford/H1to2p", "1 0 3 0 1 0 0 0 1");
    make_folder("scenes/b_hpatches");
    for (int i = 1; i <= 11; i++) { /* 10 and 11 come after 9, not after 1 */
        char name[64];
        snprintf(name, sizeof name, "scenes/b_hpatches/%d.png", i);
        write_noise(name, 16, 16, (unsigned)i);
        snprintf(name, sizeof name, "scenes/b_hpatches/H_1_%d", i);
        char text[64];
        snprintf(text, sizeof text, "1 0 %d 0 1 0 0 0 1", i);
        if (i > 1) write_text(name, text);
    }
    make_folder("scenes/c_fixed");
    write_noise("scenes/c_fixed/noon.png", 16, 16, 1);
    write_noise("scenes/c_fixed/dusk.png", 16, 16, 1);
    make_folder("scenes/d_nothing");

    assert_true(ev_scenes_open(in_scratch("scenes/"), &scenes, &error));
    assert_int_equal(scenes.count, 3);
    assert_string_equal(scenes.items[0].name, "a_oxford");
    assert_non_null(strstr(scenes.items[0].images.items[0], "img1.png"));
    assert_near(scenes.items[0].h[1][2], 3);
    assert_int_equal(scenes.items[1].images.count, 11);
    for (int i = 1; i < 11; i++) assert_near(scenes.items[1].h[i][2], i + 1);
    assert_true(scenes.items[2].fixed_camera);
    assert_non_null(strstr(scenes.items[2].images.items[0], "dusk.png"));
    assert_near(scenes.items[2].h[1][2], 0);
    ev_scenes_free(&scenes);

    assert_true(ev_scenes_open(in_scratch("scenes/c_fixed"), &scenes, &error));
    assert_int_equal(scenes.count, 1);
    ev_scenes_free(&scenes);
    assert_false(ev_scenes_open(in_scratch("scenes/d_nothing"), &scenes, &error));
    write_noise("scenes/a_oxford/img3.png", 16, 16, 3);
    assert_false(ev_scenes_open(in_scratch("scenes/a_oxford"), &scenes, &error));
    assert_non_null(strstr(error.text, "image 3"));
}

/* ---- a pair ---- */

static const uint8_t rows[] = {0x80, 0x8f, 0x7f, 0x80, 0x9f, 0x7f};

static void write_pair(void)
{
    make_folder("pair");
    make_folder("keypoints");
    write_noise("pair/img1.png", 64, 64, 1);
    write_noise("pair/img2.png", 64, 64, 2);
    write_text("pair/H1to2p", "1 0 0 0 1 0 0 0 1");
    write_text("keypoints/img1.sift.csv", "x,y,size\n10,10,8\n30,30,8\n50,50,8\n");
    write_text("keypoints/img2.sift.csv", "x,y,size\n10,10,8\n31,30,16\n60,10,8\n");
    write_rows("six.npy", rows, 6);
}

static ev_oxford_result run_pair(const char *cache)
{
    ev_oxford_options options = {.paperlike = true, .preset = "sift", .cache = cache, .quiet = true,
                                 .keypoints = {.folder = in_scratch("keypoints"), .kind = "sift"}};
    ev_scenes scenes;
    ev_method method;
    ev_oxford_result result;
    io_error error;
    assert_true(ev_scenes_open(in_scratch("pair"), &scenes, &error));
    assert_true(ev_method_of_file(&method, in_scratch("six.npy"), &error));
    assert_true(ev_oxford_run(&scenes, &method, 1, &options, &result, &error));
    ev_method_free(&method);
    ev_scenes_free(&scenes);
    return result;
}

/* Strict: the first two keypoints have partners and are answered right at 0 and 1; the third is answered wrong at 0.
 * Paper-like: the sizes 8 and 16 do not agree, which leaves the first keypoint. Three matches are too few for a fit. */
static void a_pair_by_hand(void **state)
{
    (void)state;
    write_pair();
    ev_oxford_result result = run_pair(NULL);
    assert_int_equal(result.total.pairs, 1);
    assert_near(result.total.strict_map, 0.5 * (1 + 0.5) / 2 + 0.5 * (0.5 + 2.0 / 3) / 2);
    assert_near(result.total.paperlike_map, 1);
    assert_near(result.total.mutual.precision_3px, 2.0 / 3);
    assert_near(result.total.mutual.homography_5px, 0);
    assert_near(result.total.mutual.matches, 3);
    assert_near(result.total.mutual.right, 2);
    assert_near(result.total.mutual.places, 2);
    assert_near(result.total.keypoints, 3);
    assert_near(result.total.spots, 3);
    assert_near(result.scenes[0].strict_map, result.total.strict_map);
    ev_oxford_result_free(&result);
}

/* A change of the keypoints must not find the old result. */
static void cached_results_belong_to_their_input(void **state)
{
    (void)state;
    ev_oxford_result first = run_pair(in_scratch("cache")), again = run_pair(in_scratch("cache"));
    assert_memory_equal(&first.total, &again.total, sizeof first.total);
    write_text("keypoints/img2.sift.csv", "x,y,size\n10,10,8\n31,30,16\n50,50,8\n");
    ev_oxford_result changed = run_pair(in_scratch("cache"));
    assert_near(changed.total.strict_map, 1);
    ev_oxford_result_free(&first);
    ev_oxford_result_free(&again);
    ev_oxford_result_free(&changed);
}

/* H doubles everything: a keypoint of size 8 must find one of size 16. */
static void sizes_follow_the_homography(void **state)
{
    (void)state;
    write_text("pair/H1to2p", "2 0 0 0 2 0 0 0 1");
    write_text("keypoints/img1.sift.csv", "x,y,size\n10,10,8\n20,20,8\n25,25,8\n");
    write_text("keypoints/img2.sift.csv", "x,y,size\n20,20,16\n40,40,8\n50,50,22.6\n");
    ev_oxford_result result = run_pair(NULL);
    assert_near(result.total.strict_map, 1);
    assert_near(result.total.paperlike_map, 1); /* of two: the middle one has no partner */
    ev_oxford_result_free(&result);
}

static void wrong_rows_are_refused(void **state)
{
    ev_oxford_options options = {.paperlike = true,
        .preset = "orb", .quiet = true, .keypoints = {.folder = in_scratch("keypoints"), .kind = "sift"}};
    ev_scenes scenes;
    ev_method method;
    ev_oxford_result result;
    io_error error;
    (void)state;
    assert_true(ev_scenes_open(in_scratch("pair"), &scenes, &error));
    for (size_t count = 5; count <= 7; count += 2) {
        uint8_t some[7] = {0};
        write_rows("some.npy", some, count);
        assert_true(ev_method_of_file(&method, in_scratch("some.npy"), &error));
        assert_false(ev_oxford_run(&scenes, &method, 1, &options, &result, &error));
        assert_non_null(strstr(error.text, "some.npy"));
        ev_method_free(&method);
    }
    options.keypoints.kind = "orb";
    assert_true(ev_method_of_file(&method, in_scratch("six.npy"), &error));
    assert_false(ev_oxford_run(&scenes, &method, 1, &options, &result, &error));
    assert_non_null(strstr(error.text, "img1.orb.csv"));
    ev_method_free(&method);
    ev_scenes_free(&scenes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(homographies_as_text_and_xml), cmocka_unit_test(wrong_homographies_are_refused),
        cmocka_unit_test(folders_of_three_kinds),       cmocka_unit_test(a_pair_by_hand),
        cmocka_unit_test(cached_results_belong_to_their_input), cmocka_unit_test(sizes_follow_the_homography),
        cmocka_unit_test(wrong_rows_are_refused),
    };
    return cmocka_run_group_tests_name("oxford", tests, make_scratch, remove_scratch);
}
