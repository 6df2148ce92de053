/* SPDX-License-Identifier: Apache-2.0 */
/* Brown's patch sets: a rendered set in the same format, with rows that make the numbers easy to work out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "eval/brown.h"
#include "eval_files.h"

#define assert_near(value, expected) assert_true(fabs((value) - (expected)) < 1e-12)
#define SIDE 1024

/* Patch k of the set is filled with the gray value k % 251. Rows of a BMP go from the bottom up. */
static void write_bmp(const char *name, unsigned first)
{
    size_t pixels = 14 + 40 + 1024, size = pixels + SIDE * SIDE;
    uint8_t *d = calloc(size, 1);
    d[0] = 'B', d[1] = 'M';
    d[10] = pixels & 255, d[11] = (uint8_t)(pixels >> 8);
    d[14] = 40;
    d[18] = SIDE & 255, d[19] = SIDE >> 8, d[22] = SIDE & 255, d[23] = SIDE >> 8;
    d[26] = 1, d[28] = 8;
    for (int i = 0; i < 256; i++) d[54 + 4 * i] = d[55 + 4 * i] = d[56 + 4 * i] = (uint8_t)i;
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            d[pixels + (SIDE - 1 - y) * SIDE + x] = (uint8_t)((first + y / 64 * 16 + x / 64) % 251);
    assert_true(io_file_write(in_scratch(name), d, size, NULL));
    free(d);
}

/* Positives (2 i, 2 i + 1), i < 20: 18 at distance 1, one at 2, one at 7. Negatives (2 i, 300 + i), i < 10: three at 1,
 * two at 2, five at 8. */
static void write_set(void)
{
    char text[4096] = "";
    uint8_t values[50] = {0};
    make_folder("set");
    write_bmp("set/patches0000.bmp", 0);
    write_bmp("set/patches0001.bmp", 256);
    write_text("set/info.txt", "0 0\n");
    for (int i = 0; i < 20; i++) sprintf(text + strlen(text), "%d %d 0 %d %d 0 0\n", 2 * i, i, 2 * i + 1, i);
    for (int i = 0; i < 10; i++) sprintf(text + strlen(text), "%d %d 0 %d %d 0 0\n", 2 * i, i, 300 + i, 500 + i);
    write_text("set/m50_20_10_0.txt", text);
    for (int i = 0; i < 20; i++) values[2 * i + 1] = i < 18 ? 0x01 : i == 18 ? 0x03 : 0x7f;
    for (int i = 0; i < 10; i++) values[40 + i] = i < 3 ? 0x80 : i < 5 ? 0x81 : 0xff;
    write_rows("rows.npy", values, 50);
}

static void fpr95_of_a_set_by_hand(void **state)
{
    ev_brown_options options = {.quiet = true};
    ev_brown_result result;
    ev_method method;
    io_error error;
    (void)state;
    write_set();
    assert_true(ev_method_of_file(&method, in_scratch("rows.npy"), &error));
    assert_true(ev_brown_run(in_scratch("set"), &method, 1, &options, &result, &error));
    assert_int_equal(result.count, 1);
    assert_string_equal(result.sets[0].name, "set");
    assert_int_equal(result.sets[0].positives, 20);
    assert_int_equal(result.sets[0].negatives, 10);
    assert_near(result.sets[0].scores[0].threshold, 2);
    assert_near(result.sets[0].scores[0].fpr.rate, 0.5);
    assert_near(result.sets[0].scores[0].fpr.best, 0.3);
    assert_near(result.sets[0].scores[0].fpr.worst, 0.5);
    ev_brown_result_free(&result);
    ev_method_free(&method);
}

/* The patches in pairs, in order, out of their places in the mosaics. */
static void patches_are_cut_out_of_the_mosaic(void **state)
{
    ev_brown_options options = {.quiet = true};
    io_error error;
    io_array array;
    (void)state;
    assert_true(ev_brown_export_patches(in_scratch("set"), &options, in_scratch("patches.npy"), &error));
    assert_true(io_npy_read(in_scratch("patches.npy"), &array, &error));
    assert_int_equal(array.shape[0], 50);
    assert_int_equal(array.shape[1], 64);
    const uint8_t *pixels = array.data;
    for (size_t i = 0; i < 50; i++) {
        unsigned number = i < 40 ? (unsigned)i : (unsigned)(260 + i), expected = number % 251;
        for (size_t k = 0; k < 4096; k += 63) assert_int_equal(pixels[i * 4096 + k], expected);
    }
    io_array_free(&array);
}

static void our_own_models_run_on_it(void **state)
{
    ev_brown_options options = {.quiet = true, .cache = in_scratch("cache")};
    ev_brown_result result;
    kb_model *model;
    ev_method method;
    io_error error;
    (void)state;
    assert_int_equal(kb_model_builtin("sift", NULL, &model), KB_OK);
    ev_method_of_model(&method, "sift", model);
    for (int i = 0; i < 2; i++) { /* the second time from the cache */
        assert_true(ev_brown_run(in_scratch("set"), &method, 1, &options, &result, &error));
        assert_near(result.sets[0].scores[0].fpr.rate, 1); /* flat patches are all the same to it */
        ev_brown_result_free(&result);
    }
    ev_method_free(&method);
}

static void wrong_sets_are_refused(void **state)
{
    ev_brown_options options = {.quiet = true};
    ev_brown_result result;
    ev_method method;
    io_error error;
    (void)state;
    assert_true(ev_method_of_file(&method, in_scratch("rows.npy"), &error));
    assert_false(
        ev_brown_run(scratch, &method, 0, &(ev_brown_options){.quiet = true, .pairs = "absent.txt"}, &result, &error));
    assert_non_null(strstr(error.text, "absent.txt"));
    write_text("set/m50_second.txt", "0 0 0 1 0 0\n0 0 0 512 1 0\n");
    assert_false(ev_brown_run(in_scratch("set"), &method, 1, &options, &result, &error));
    assert_non_null(strstr(error.text, "--pairs"));
    options.pairs = "m50_second.txt";
    assert_false(ev_brown_run(in_scratch("set"), &method, 1, &options, &result, &error));
    assert_non_null(strstr(error.text, "m50_second.txt:2"));
    write_text("set/m50_second.txt", "0 0 0 1 0 0\n");
    assert_false(ev_brown_run(in_scratch("set"), &method, 1, &options, &result, &error));
    assert_non_null(strstr(error.text, "both kinds"));
    make_folder("empty");
    assert_false(ev_brown_run(in_scratch("empty"), &method, 1, &options, &result, &error));
    ev_method_free(&method);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fpr95_of_a_set_by_hand),
        cmocka_unit_test(patches_are_cut_out_of_the_mosaic),
        cmocka_unit_test(our_own_models_run_on_it),
        cmocka_unit_test(wrong_sets_are_refused),
    };
    return cmocka_run_group_tests_name("brown", tests, make_scratch, remove_scratch);
}
