/* SPDX-License-Identifier: Apache-2.0 */
/* Patch sets: the file and its damage, samples by whole points, several files as one, splitting, shrinking, octaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/patch_load.h"
#include "learn/patch_set.h"
#include "scratch.h"

#define SIDE 32
#define AREA (SIDE * SIDE)

/* A patch that tells its label and its turn. */
static void fill(uint8_t *pixels, uint32_t label, uint32_t turn)
{
    for (int i = 0; i < AREA; i++) pixels[i] = (uint8_t)(label * 7 + turn * 31 + (uint32_t)i);
}

/* Points 0 to points - 1, label = 10 x point + 3, point p with 1 + p % 4 patches, one view after the other as a program
 * that goes from image to image writes them. */
static void write_set_of(const char *path, int32_t side, uint32_t points, float support)
{
    io_error error = {""};
    uint8_t pixels[AREA];
    io_patch_writer *writer = io_patch_writer_open(path, side, support, &error);
    assert_non_null(writer);
    assert_int_equal(kbi_patch_bytes(side), AREA);
    for (uint32_t view = 0; view < 4; view++) {
        for (uint32_t p = 0; p < points; p++) {
            if (view > p % 4) continue;
            fill(pixels, p, view);
            io_patch_writer_add(writer, 10 * p + 3, view, pixels);
        }
    }
    assert_true(io_patch_writer_close(writer, &error));
}

static void write_set(const char *path, uint32_t points, float support) { write_set_of(path, SIDE, points, support); }

static void check_set(const kbi_patch_set *set)
{
    assert_int_equal(set->first[0], 0);
    assert_int_equal(set->first[set->points], set->patches);
    for (size_t p = 0; p < set->points; p++) {
        assert_true(set->first[p + 1] - set->first[p] >= 2);
        for (size_t i = set->first[p]; i < set->first[p + 1]; i++) assert_int_equal(set->label[i], p);
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    io_error error = {""};
    kbi_patch_set set;
    const char *path = in_scratch("set.kbp");
    write_set(path, 40, 1.25f);
    assert_true(patch_set_load(path, 0, 1, &set, &error));
    check_set(&set);
    assert_int_equal(set.side, SIDE);
    assert_true(set.support == 1.25f);
    assert_int_equal(set.points, 30);
    assert_int_equal(set.singletons, 10);
    assert_int_equal(set.patches, 10 * (2 + 3 + 4));
    for (size_t i = 0; i < set.patches; i++) { /* point s of the set is point s + s / 3 + 1 of the file */
        uint8_t pixels[AREA];
        uint32_t s = set.label[i], turn = (uint32_t)(i - set.first[s]);
        fill(pixels, s + s / 3 + 1, turn);
        assert_memory_equal(set.pixels + i * AREA, pixels, AREA);
        assert_int_equal(set.view[i], turn);
    }
    kbi_patch_set_free(&set);
    kbi_patch_set_free(&set);
}

static void test_sample(void **state)
{
    (void)state;
    io_error error = {""};
    kbi_patch_set all, one, same, other;
    const char *path = in_scratch("sample.kbp");
    write_set(path, 400, 0);
    assert_true(patch_set_load(path, 0, 1, &all, &error));
    assert_true(patch_set_load(path, 100, 7, &one, &error));
    assert_true(patch_set_load(path, 100, 7, &same, &error));
    assert_true(patch_set_load(path, 100, 8, &other, &error));
    check_set(&one);
    assert_in_range(one.patches, 97, 100);
    assert_int_equal(one.patches, same.patches);
    assert_memory_equal(one.pixels, same.pixels, one.patches * AREA);
    assert_true(one.patches != other.patches || memcmp(one.pixels, other.pixels, one.patches * AREA) != 0);
    for (size_t p = 0, q = 0; p < one.points; p++, q++) { /* whole points, in the order of the whole set */
        while (memcmp(all.pixels + all.first[q] * AREA, one.pixels + one.first[p] * AREA, AREA) != 0) q++;
        assert_int_equal(all.first[q + 1] - all.first[q], one.first[p + 1] - one.first[p]);
    }
    kbi_patch_set_free(&all);
    kbi_patch_set_free(&one);
    kbi_patch_set_free(&same);
    kbi_patch_set_free(&other);
    assert_false(patch_set_load(path, 3, 1, &one, &error));
    assert_non_null(strstr(error.text, "less than two points"));
}

static void test_several_files(void **state)
{
    (void)state;
    io_error error = {""};
    kbi_patch_set set, a;
    const char *first = in_scratch("a.kbp"), *second = in_scratch("b.kbp"), *third = in_scratch("c.kbp");
    write_set(first, 8, 1.5f);
    write_set(second, 12, 0);
    write_set(third, 8, 1.25f);
    const char *paths[] = {first, second, third};
    assert_true(patch_set_load(first, 0, 0, &a, &error));
    assert_true(patch_set_load_files(paths, 2, false, 0, 0, &set, &error));
    check_set(&set);
    assert_int_equal(set.points, 6 + 9);
    assert_int_equal(set.singletons, 2 + 3);
    assert_true(set.support == 1.5f);
    assert_memory_equal(set.pixels, a.pixels, a.patches * AREA);
    for (size_t i = 0; i < set.patches; i++)
        assert_true(i < a.patches ? set.view[i] < 4 : set.view[i] >= 4 && set.view[i] < 8);
    kbi_patch_set_free(&set);
    kbi_patch_set_free(&a);
    assert_false(patch_set_load_files(paths, 3, false, 0, 0, &set, &error));
    assert_non_null(strstr(error.text, "support"));
    assert_true(patch_set_load_files(paths, 3, true, 0, 0, &set, &error)); /* the first one's */
    assert_int_equal(set.points, 6 + 9 + 6);
    assert_true(set.support == 1.5f);
    kbi_patch_set_free(&set);
    assert_false(patch_set_load_files(paths, 0, false, 0, 0, &set, &error));
}

/* The file with one byte changed or cut off at a length. */
static void spoil(const char *from, const char *to, long change, long length)
{
    io_error error;
    io_bytes bytes;
    assert_true(io_file_read(from, &bytes, &error));
    if (change >= 0) bytes.data[change] ^= 0x40;
    assert_true(io_file_write(to, bytes.data, length >= 0 ? (size_t)length : bytes.size, &error));
    io_bytes_free(&bytes);
}

static void expect_failure(const char *path, const char *words)
{
    io_error error = {""};
    kbi_patch_set set;
    assert_false(patch_set_load(path, 0, 0, &set, &error));
    if (!strstr(error.text, words) || !strstr(error.text, path)) fail_msg("\"%s\" does not say: %s", error.text, words);
    assert_null(set.pixels);
}

static void test_damage(void **state)
{
    (void)state;
    const char *good = in_scratch("good.kbp"), *bad = in_scratch("bad.kbp");
    write_set(good, 8, 1);
    struct {
        long change, length;
        const char *words;
    } cases[] = {
        {0, -1, "not a patch set"},
        {8, -1, "version"},
        {17, -1, "header is damaged"},
        {26, -1, "header is damaged"},
        {-1, 0, "not a patch set"},
        {-1, 47, "not a patch set"},
        {-1, 48, "truncated: 0 of 20"},
        {-1, 5000, "truncated: 4 of 20"},
        {48 + 1036 * 12 + 500, -1, "patch 12 is damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spoil(good, bad, cases[i].change, cases[i].length);
        expect_failure(bad, cases[i].words);
    }
    expect_failure(in_scratch("none.kbp"), "cannot be opened");
    expect_failure(scratch, "not a patch set");
}

static void test_writer_leaves_nothing(void **state)
{
    (void)state;
    io_error error = {""};
    uint8_t pixels[AREA] = {0};
    const char *path = in_scratch("abandoned.kbp");
    io_patch_writer *writer = io_patch_writer_open(path, SIDE, 1, &error);
    assert_non_null(writer);
    io_patch_writer_add(writer, 0, 0, pixels);
    assert_int_not_equal(access(path, F_OK), 0);
    io_patch_writer_abandon(writer);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_null(io_patch_writer_open(in_scratch("no/such/folder.kbp"), SIDE, 1, &error));
    assert_null(io_patch_writer_open(path, 0, 1, &error));
    assert_null(io_patch_writer_open(path, 1025, 1, &error));
}

static void test_split(void **state)
{
    (void)state;
    io_error error = {""};
    kb_error problem;
    kbi_patch_set set, rest, held;
    const char *path = in_scratch("split.kbp");
    write_set(path, 400, 2);
    assert_true(patch_set_load(path, 0, 0, &set, &error));
    assert_int_equal(kbi_patch_set_split(&set, 0.2, 5, &rest, &held, &problem), KB_OK);
    check_set(&rest);
    check_set(&held);
    assert_int_equal(rest.points + held.points, set.points);
    assert_int_equal(rest.patches + held.patches, set.patches);
    assert_in_range(held.points, 35, 85);
    assert_true(held.support == 2.0f && rest.support == 2.0f && held.side == SIDE);
    for (size_t p = 0, h = 0, r = 0; p < set.points; p++) { /* every point is in exactly one of them, in order */
        const uint8_t *pixels = set.pixels + set.first[p] * AREA;
        bool in_held = h < held.points && memcmp(held.pixels + held.first[h] * AREA, pixels, AREA) == 0;
        if (in_held) h++;
        else assert_memory_equal(rest.pixels + rest.first[r++] * AREA, pixels, AREA);
    }
    kbi_patch_set_free(&rest);
    kbi_patch_set_free(&held);
    assert_int_equal(kbi_patch_set_split(&set, 0, 5, &rest, &held, &problem), KB_E_ARGUMENT);
    assert_int_equal(kbi_patch_set_split(&set, 1, 5, &rest, &held, &problem), KB_E_ARGUMENT);
    kbi_patch_set_free(&set);
}

static void test_shrink(void **state)
{
    (void)state;
    io_error error = {""};
    const char *path = in_scratch("large.kbp");
    uint8_t *pixels = malloc(64 * 64);
    io_patch_writer *writer = io_patch_writer_open(path, 64, 0, &error);
    for (uint32_t i = 0; i < 4; i++) {
        for (int k = 0; k < 64 * 64; k++) pixels[k] = (uint8_t)(40 * i + (uint32_t)(k % 2) * 4);
        io_patch_writer_add(writer, i / 2, i, pixels);
    }
    assert_true(io_patch_writer_close(writer, &error));
    kbi_patch_set set;
    assert_true(patch_set_load(path, 0, 0, &set, &error));
    kbi_patch_set_shrink(&set);
    assert_int_equal(set.side, 32);
    for (size_t i = 0; i < 4; i++)
        for (int k = 0; k < AREA; k++) assert_int_equal(set.pixels[i * AREA + (size_t)k], 40 * i + 2);
    kbi_patch_set_free(&set);
    free(pixels);
}

/* Sets of octaves: side 16, of which a record has four grids. */
static void test_octaves(void **state)
{
    (void)state;
    io_error error = {""};
    kb_error problem;
    kbi_patch_set set, patches, rest, held;
    io_patch_info info;
    io_bytes bytes;
    uint8_t pixels[AREA];
    uint32_t label, view;
    const char *octaves = in_scratch("octaves.kbp"), *plain = in_scratch("plain.kbp"), *bad = in_scratch("cut.kbp");
    assert_int_equal(kbi_patch_bytes(KB_OCTAVE_SIDE), 4 * 16 * 16);
    assert_int_equal(kbi_patch_bytes(15), 15 * 15);
    assert_int_equal(kbi_patch_bytes(64), 64 * 64);
    write_set_of(octaves, KB_OCTAVE_SIDE, 40, 4);
    write_set(plain, 40, 4);
    assert_true(io_file_read(octaves, &bytes, &error));
    assert_int_equal(bytes.size, 48 + 100 * (12 + 1024));
    assert_int_equal(bytes.data[12], 16);
    io_bytes_free(&bytes);
    io_patch_reader *reader = io_patch_reader_open(octaves, &info, &error);
    assert_non_null(reader);
    assert_true(info.side == KB_OCTAVE_SIDE && info.support == 4.0f && info.patches == 100);
    assert_true(io_patch_reader_at(reader, 99, &label, &view, pixels, &error));
    assert_true(label == 393 && view == 3);
    uint8_t expected[AREA];
    fill(expected, 39, 3);
    assert_memory_equal(pixels, expected, AREA);
    io_patch_reader_close(reader);

    assert_true(patch_set_load(octaves, 0, 0, &set, &error) && patch_set_load(plain, 0, 0, &patches, &error));
    check_set(&set);
    assert_true(set.side == KB_OCTAVE_SIDE && set.patches == patches.patches);
    assert_memory_equal(set.pixels, patches.pixels, set.patches * AREA);
    kbi_patch_set_shrink(&set); /* nothing to do */
    assert_int_equal(set.side, KB_OCTAVE_SIDE);
    assert_memory_equal(set.pixels, patches.pixels, set.patches * AREA);
    assert_int_equal(kbi_patch_set_split(&set, 0.3, 5, &rest, &held, &problem), KB_OK);
    check_set(&rest);
    check_set(&held);
    assert_true(held.side == KB_OCTAVE_SIDE && held.points + rest.points == set.points);
    bool first_held = memcmp(held.pixels, set.pixels, AREA) == 0;
    assert_memory_equal(first_held ? held.pixels : rest.pixels, set.pixels, AREA);
    kbi_patch_set_free(&rest);
    kbi_patch_set_free(&held);
    kbi_patch_set_free(&patches);
    kbi_patch_set_free(&set);

    const char *mixed[] = {octaves, plain}, *other[] = {plain, octaves}, *two[] = {octaves, octaves};
    assert_false(patch_set_load_files(mixed, 2, false, 0, 0, &set, &error));
    assert_non_null(strstr(error.text, "patches of side 32, but"));
    assert_non_null(strstr(error.text, "has side 16"));
    assert_false(patch_set_load_files(other, 2, true, 0, 0, &set, &error));
    assert_non_null(strstr(error.text, "patches of side 16, but"));
    assert_true(patch_set_load_files(two, 2, false, 0, 0, &set, &error));
    assert_int_equal(set.points, 60);
    kbi_patch_set_free(&set);
    spoil(octaves, bad, -1, 48 + 100 * (12 + 256)); /* what patches of 16x16 would have */
    expect_failure(bad, "truncated: 25 of 100");
    spoil(octaves, bad, 48 + 1036 * 13 + 1030, -1); /* in the last grid */
    expect_failure(bad, "patch 13 is damaged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_writer_leaves_nothing),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_octaves),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
