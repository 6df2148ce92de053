/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies of other programs: what is written is read back as the same tree, and wrong files are refused in words.
 * tests/cli/vocab.sh reads the files with code of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/bytes.h"
#include "common/common.h"
#include "io/vocabulary.h"
#include "scratch.h"

static kb_vocabulary *trained(size_t row_bytes)
{
    enum { N = 3000 };
    uint8_t *rows = malloc(N * row_bytes);
    uint64_t seed = 3;
    size_t ends[3] = {1000, 2000, N};
    for (size_t i = 0; i < N * row_bytes; i++) rows[i] = (uint8_t)(kbi_random_next(&seed) >> 40);
    kb_vocabulary_options o;
    kb_vocabulary *v;
    KB_INIT(o);
    o.branching = 6;
    o.levels = 3;
    o.image_ends = ends;
    o.images = 3;
    assert_int_equal(kb_vocabulary_train(rows, N, row_bytes, &o, NULL, &v, NULL), KB_OK);
    free(rows);
    return v;
}

static void assert_same_tree(const kb_vocabulary *a, const kb_vocabulary *b, size_t row_bytes)
{
    kb_vocabulary_node x, y;
    for (uint32_t i = 0; kb_vocabulary_get_node(a, i, &x); i++) {
        assert_true(kb_vocabulary_get_node(b, i, &y));
        assert_int_equal(x.first_child, y.first_child);
        assert_int_equal(x.children, y.children);
        assert_int_equal(x.word, y.word);
        assert_true(x.weight == y.weight);
        assert_memory_equal(x.row, y.row, row_bytes);
    }
}

static void test_round_trips(void **state)
{
    (void)state;
    static const char *const names[] = {"v.kbv", "v.txt", "v.yml", "v.dbow3", "v.fbow", "v.bin"};
    io_error error;
    for (size_t row_bytes = 16; row_bytes <= 64; row_bytes *= 2) {
        kb_vocabulary *v = trained(row_bytes);
        for (size_t i = 0; i < KBI_COUNT(names); i++) {
            const char *path = in_scratch(names[i]);
            io_vocabulary_format format;
            io_vocabulary again;
            assert_true(io_vocabulary_format_of(path, &format));
            assert_int_equal(format, i);
            bool ok = io_vocabulary_write(path, v, format, &error);
            if (format == IO_VOCABULARY_VINS && row_bytes != 32) {
                assert_false(ok);
                assert_non_null(strstr(error.text, "32 bytes"));
            } else {
                assert_true(ok);
                assert_true(io_vocabulary_read(path, &again, &error));
                assert_int_equal(again.format, format);
                assert_same_tree(v, again.vocabulary, row_bytes);
                kb_vocabulary_info info;
                KB_INIT(info);
                kb_vocabulary_get_info(again.vocabulary, &info);
                assert_int_equal(info.branching, 6);
                assert_int_equal(info.levels, 3);
                assert_int_equal(info.scoring, format == IO_VOCABULARY_FBOW);
                io_vocabulary_free(&again);
            }
        }
        kb_vocabulary_free(v);
    }
}

/* ORB-SLAM's reader takes what follows the last line break as another node. */
static void test_orbslam_has_no_final_newline(void **state)
{
    (void)state;
    kb_vocabulary *v = trained(32);
    io_error error;
    io_bytes bytes;
    const char *path = in_scratch("v.txt");
    assert_true(io_vocabulary_write(path, v, IO_VOCABULARY_ORBSLAM, &error));
    assert_true(io_file_read(path, &bytes, &error));
    assert_memory_equal(bytes.data, "6 3 0 0\n0 0 ", 12);
    assert_true(bytes.data[bytes.size - 1] >= '0' && bytes.data[bytes.size - 1] <= '9');
    io_bytes_free(&bytes);
    kb_vocabulary_free(v);
}

static void refused(const char *text, size_t size, const char *why)
{
    io_error error = {""};
    io_vocabulary v;
    const char *path = in_scratch("wrong");
    assert_true(io_file_write(path, text, size, &error));
    assert_false(io_vocabulary_read(path, &v, &error));
    if (!strstr(error.text, why)) fail_msg("\"%s\" lacks \"%s\"", error.text, why);
    assert_non_null(strstr(error.text, "wrong"));
}

static void test_wrong_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"10 6 0\n0 1 2 3 1\n", ":1: a whole number"},
        {"10 6 0 0 1\n0 1 2 3 1\n", ":1: four numbers"},
        {"10 6 0 9\n0 1 2 3 1\n", ":1: a whole number from 0 to 3"},
        {"10 6 0 0\n", "without words"},
        {"10 6 0 0\n0 1 2 3 1\n0 1 2 256 1\n", ":3: a whole number from 0 to 255"},
        {"10 6 0 0\n0 1 2 3 1\n0 1 2 3\n", ":3: "},
        {"10 6 0 0\n0 1 2 3 1\n0 1 2 3 1 1\n", ":3: more than a node"},
        {"10 6 0 0\n0 1 2 3 1\n2 1 2 3 1\n", ":3: a whole number from 0 to 1"},
        {"10 6 0 0\n0 1 2 3 -1\n", "weight -1"},
        {"10 6 0 0\n0 1 2 3 nan\n", "weight"},
        {"hello\n", ":1: "},
        {"%YAML:1.0\n---\nvocabulary:\n   k: x\n", ":4: a number"},
        {"%YAML:1.0\n---\nvocabulary:\n   k: 10\n   L: 1\n   nodes:\n      - { nodeId:1, parentId:0 }\n", "needs nodeId"},
        {"%YAML:1.0\n---\nvocabulary:\n   k: 10\n   L: 1\n   nodes:\n - { nodeId:1, parentId:0, descriptor:\"1 2\" \n",
         "} is expected"},
        {"%YAML:1.0\n---\nvocabulary:\n k: 10\n L: 1\n nodes:\n - { nodeId:2000000000, parentId:0, descriptor:\"1\" }\n",
         "too short"},
        {"%YAML:1.0\n---\nvocabulary:\n k: 10\n L: 1\n nodes:\n - { nodeId:2, parentId:0, descriptor:\"1\" }\n",
         "node 1 is missing"},
        {"%YAML:1.0\n---\n?", "not what DBoW2 writes"},
        {"\x01\x02\x03 something else", "not a vocabulary"},
    };
    for (size_t i = 0; i < KBI_COUNT(wrong); i++) refused(wrong[i].text, strlen(wrong[i].text), wrong[i].why);
}

/* Every binary file cut short, and with any byte changed, is refused or read, never more. */
static void test_damaged_binary(void **state)
{
    (void)state;
    kb_vocabulary *v = trained(32);
    io_error error;
    for (int f = IO_VOCABULARY_DBOW3; f <= IO_VOCABULARY_VINS; f++) {
        const char *path = in_scratch("whole");
        io_bytes bytes;
        io_vocabulary again;
        assert_true(io_vocabulary_write(path, v, (io_vocabulary_format)f, &error));
        assert_true(io_file_read(path, &bytes, &error));
        for (size_t cut = 1; cut < bytes.size; cut += cut < 200 ? 7 : 3001) refused((char *)bytes.data, cut, "");
        for (size_t i = 0; i < bytes.size; i += i < 400 ? 1 : 499) {
            bytes.data[i] ^= 0xff;
            assert_true(io_file_write(path, bytes.data, bytes.size, &error));
            if (io_vocabulary_read(path, &again, &error)) io_vocabulary_free(&again);
            bytes.data[i] ^= 0xff;
        }
        io_bytes_free(&bytes);
    }
    uint8_t compressed[32] = {0};
    kbi_put_u64(compressed, IO_DBOW3_MARK);
    compressed[8] = 1;
    refused((char *)compressed, sizeof compressed, "compressed");
    kb_vocabulary_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_orbslam_has_no_final_newline),
        cmocka_unit_test(test_wrong_text),
        cmocka_unit_test(test_damaged_binary),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
