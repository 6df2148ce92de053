/* SPDX-License-Identifier: Apache-2.0 */
/* Keypoints as CSV, arrays as .npy, descriptor rows, JSON, and numbers under any locale. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/csv.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/number.h"
#include "io/rows.h"
#include "io/text.h"

static char folder[] = "/tmp/keybits-test-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static const char *write_text(const char *name, const void *text, size_t size)
{
    io_error error;
    const char *path = in_folder(name);
    assert_true(io_file_write(path, text, size, &error));
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* -------------------------------------------------------------------------------------------------------------- CSV */

static bool read_csv(const char *text, io_keypoints *out, io_error *error)
{
    return io_keypoints_read(write_text("k.csv", text, strlen(text)), out, error);
}

static void csv_keeps_floats_exactly(void **state)
{
    (void)state;
    kb_keypoint points[200];
    uint32_t seed = 7;
    for (int i = 0; i < 200; i++) {
        float v[5];
        for (int c = 0; c < 5; c++) {
            seed = seed * 1664525 + 1013904223;
            v[c] = (float)((double)seed / 4294967296.0 * pow(10, (double)(i % 13) - 6));
        }
        points[i] = (kb_keypoint){v[0], v[1], v[2], v[3], v[4], i * 12345, -1};
    }
    io_error error;
    io_keypoints read;
    assert_true(io_keypoints_write(in_folder("out.csv"), points, 200, &error));
    assert_true(io_keypoints_read(in_folder("out.csv"), &read, &error));
    assert_int_equal(read.count, 200);
    assert_memory_equal(read.items, points, sizeof points);
    io_keypoints_free(&read);
}

static void csv_takes_columns_in_any_order(void **state)
{
    (void)state;
    io_keypoints k;
    io_error error;
    assert_true(read_csv("\xef\xbb\xbfname, Size ,y,x,extra\r\na,31,2.5,1.5,q\r\n\r\nb,7,-4,3e2,\r\n\n", &k, &error));
    assert_int_equal(k.count, 2);
    assert_true(k.items[0].x == 1.5f && k.items[0].y == 2.5f && k.items[0].size == 31);
    assert_true(k.items[0].angle == -1 && k.items[0].response == 0 && k.items[0].octave == 0);
    assert_true(k.items[1].x == 300 && k.items[1].y == -4);
    io_keypoints_free(&k);

    assert_true(read_csv("x,y,size", &k, &error));
    assert_int_equal(k.count, 0);
    io_keypoints_free(&k);

    assert_true(read_csv("x,y,size,angle\nnan,inf,1,-1\n", &k, &error)); /* describing flags such rows */
    assert_true(isnan(k.items[0].x) && isinf(k.items[0].y));
    io_keypoints_free(&k);
}

static void csv_errors_name_line_and_value(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line, *value;
    } wrong[] = {
        {"", ":1:", "header"},
        {"x,y\n1,2\n", ":1:", "size"},
        {"x,y,size,x\n1,2,3,4\n", ":1:", "twice"},
        {"1,2,3\n", ":1:", "column"},
        {"x,y,size\n1,2,3\n1,abc,3\n", ":3:", "abc"},
        {"x,y,size\n1,2,3\n\n1,,3\n", ":4:", "y"},
        {"x,y,size\n1,2\n", ":2:", "2 values"},
        {"x,y,size\n1,2,3,4\n", ":2:", "4 values"},
        {"x,y,size\n1,2 2,3\n", ":2:", "2 2"},
        {"x,y,size,octave\n1,2,3,1.5\n", ":2:", "1.5"},
        {"x,y,size,octave\n1,2,3,3000000000\n", ":2:", "3000000000"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        io_keypoints k;
        io_error error;
        assert_false(read_csv(wrong[i].text, &k, &error));
        if (!strstr(error.text, wrong[i].line) || !strstr(error.text, wrong[i].value))
            fail_msg("%zu: %s", i, error.text);
        assert_null(k.items);
    }
    io_keypoints k;
    io_error error;
    assert_false(io_keypoints_read(write_text("b.csv", "x,y,size\n1,\0,3\n", 15), &k, &error));
}

/* The point stays a point where people write a comma. */
static void numbers_do_not_follow_the_locale(void **state)
{
    (void)state;
    static const char *const comma_locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "pl_PL.UTF-8"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof comma_locales / sizeof comma_locales[0]; i++) {
        found = setlocale(LC_ALL, comma_locales[i]) != NULL;
    }
    if (!found) print_message("no locale with a decimal comma is installed; the test runs in the C locale\n");
    char text[32];
    double value;
    assert_string_equal(io_number_format(text, 2.5, 9), "2.5");
    assert_string_equal(io_number_shortest(text, (double)1.3f, true), "1.3");
    assert_string_equal(io_number_shortest(text, 0.1, false), "0.1");
    assert_true(io_number_is(" 2.5 ", &value) && value == 2.5);
    assert_false(io_number_is("2,5", &value));
    assert_false(io_number_is("", &value));
    assert_false(io_number_is("1 2", &value));
    int64_t whole;
    assert_true(io_integer_is("-12", &whole) && whole == -12);
    assert_false(io_integer_is("1.5", &whole));
    assert_false(io_integer_is("99999999999999999999", &whole));
    setlocale(LC_ALL, "C");
}

/* -------------------------------------------------------------------------------------------------------------- npy */

static void npy_round_trips(void **state)
{
    (void)state;
    static const io_dtype types[] = {IO_U8, IO_BOOL, IO_I32, IO_U32, IO_I64, IO_F32, IO_F64};
    static const size_t shape[] = {3, 5, 2};
    uint8_t data[3 * 5 * 2 * 8];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int32_t dimensions = 0; dimensions <= 3; dimensions++) {
            size_t count = 1;
            for (int32_t d = 0; d < dimensions; d++) count *= shape[d];
            io_error error;
            io_array array;
            assert_true(io_npy_write(in_folder("a.npy"), types[t], dimensions, shape, data, &error));
            assert_true(io_npy_read(in_folder("a.npy"), &array, &error));
            assert_int_equal(array.type, types[t]);
            assert_int_equal(array.dimensions, dimensions);
            assert_int_equal(array.count, count);
            assert_memory_equal(array.data, data, count * io_dtype_size(types[t]));
            io_array_free(&array);
        }
    }
}

/* The bytes that NumPy itself writes for numpy.zeros((2, 3), 'u1'). */
static void npy_is_numpys(void **state)
{
    (void)state;
    static const char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }";
    static const uint8_t zeros[6];
    io_error error;
    io_bytes file;
    assert_true(io_npy_write(in_folder("z.npy"), IO_U8, 2, (const size_t[]){2, 3}, zeros, &error));
    assert_true(io_file_read(in_folder("z.npy"), &file, &error));
    assert_int_equal(file.size, 128 + 6);
    assert_memory_equal(file.data, head, sizeof head - 1);
    assert_int_equal(file.data[127], '\n');
    for (size_t i = sizeof head - 1; i < 127; i++) assert_int_equal(file.data[i], ' ');
    io_bytes_free(&file);
}

static void refuse_npy(const char *header, size_t numbers, const char *why)
{
    char file[512];
    memset(file, 0, sizeof file);
    size_t length = strlen(header) + 1;
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (char)length;
    sprintf(file + 10, "%s\n", header);
    io_array array;
    io_error error;
    assert_false(io_npy_read(write_text("w.npy", file, 10 + length + numbers), &array, &error));
    if (!strstr(error.text, why)) fail_msg("%s", error.text);
    assert_null(array.data);
}

static void npy_wrong(void **state)
{
    (void)state;
    refuse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", 5, "truncated");
    refuse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", 7, "damaged");
    refuse_npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", 6, "Fortran");
    refuse_npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4, "byte order");
    refuse_npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, "<c8");
    refuse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, x), }", 6, "shape");
    refuse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, -3), }", 6, "shape");
    refuse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2", 6, "shape");
    refuse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0, "impossible");
    refuse_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }", 1, "dimensions");
    refuse_npy("{}", 0, "type");
    io_array array;
    io_error error;
    assert_false(io_npy_read(write_text("x.npy", "hello", 5), &array, &error));
    assert_false(io_npy_read(write_text("x.npy", "\x93NUMPY\x01\x00\xff\xff{'descr'", 18), &array, &error));
    assert_false(io_npy_read(write_text("x.npy", "\x93NUMPY\x09\x00\x01\x00 ghijk", 16), &array, &error));
}

/* ------------------------------------------------------------------------------------------------------------- rows */

static void rows_round_trip(void **state)
{
    (void)state;
    uint8_t rows[4 * 32];
    float floats[2 * 128];
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)(i * 37 + 5);
    for (size_t i = 0; i < 256; i++) floats[i] = (float)i / 7;
    static const char *const names[] = {"r.npy", "r.hex", "R.HEX"};
    io_error error;
    io_rows read;
    for (int i = 0; i < 3; i++) {
        assert_true(io_rows_write_bytes(in_folder(names[i]), rows, 4, 32, &error));
        assert_true(io_rows_read(in_folder(names[i]), &read, &error));
        assert_true(read.count == 4 && read.width == 32 && !read.floats);
        assert_memory_equal(read.bytes, rows, sizeof rows);
        io_rows_free(&read);
    }
    assert_true(io_rows_write_floats(in_folder("f.npy"), floats, 2, 128, &error));
    assert_true(io_rows_read(in_folder("f.npy"), &read, &error));
    assert_true(read.count == 2 && read.width == 128 && !read.bytes);
    assert_memory_equal(read.floats, floats, sizeof floats);
    io_rows_free(&read);
    assert_true(io_rows_write_bytes(in_folder("e.hex"), rows, 0, 32, &error));
    assert_true(io_rows_read(in_folder("e.hex"), &read, &error));
    assert_int_equal(read.count, 0);
    io_rows_free(&read);
    assert_true(io_rows_suffix_known("a/b.NPY", true));
    assert_false(io_rows_suffix_known("a/b.hex", true));
    assert_false(io_rows_suffix_known("a.npy/b", false));
}

static void rows_as_csv(void **state)
{
    (void)state;
    io_error error;
    io_bytes text;
    assert_true(io_rows_write_bytes(in_folder("r.csv"), (const uint8_t[]){1, 255, 0, 9}, 2, 2, &error));
    assert_true(io_file_read(in_folder("r.csv"), &text, &error));
    assert_string_equal((char *)text.data, "1,255\n0,9\n");
    io_bytes_free(&text);
}

static void rows_wrong(void **state)
{
    (void)state;
    static const char *const wrong[] = {"0011\n001\n", "0011\n00xx\n", "0\n", "0011\n001122\n"};
    io_rows rows;
    io_error error;
    for (int i = 0; i < 4; i++) {
        assert_false(io_rows_read(write_text("w.hex", wrong[i], strlen(wrong[i])), &rows, &error));
        assert_non_null(strstr(error.text, i == 2 ? ":1:" : ":2:"));
        assert_null(rows.bytes);
    }
    assert_false(io_rows_read(in_folder("rows.txt"), &rows, &error));
}

/* ------------------------------------------------------------------------------------------------------------- JSON */

static void json_reads_what_it_writes(void **state)
{
    (void)state;
    const char *odd = "quote \" backslash \\ line\nbreak \x01 \xc3\xa4";
    FILE *file = fopen(in_folder("a.json"), "wb");
    io_json json;
    io_json_begin(&json, file);
    io_json_object(&json, NULL);
    io_json_string(&json, odd, odd);
    io_json_array(&json, "list");
    io_json_number(&json, NULL, 0.1);
    io_json_float(&json, NULL, 1.3f);
    io_json_number(&json, NULL, NAN);
    io_json_integer(&json, NULL, -5);
    io_json_bool(&json, NULL, true);
    io_json_object(&json, NULL);
    io_json_end(&json);
    io_json_end(&json);
    io_json_array(&json, "empty");
    io_json_end(&json);
    io_json_end(&json);
    fclose(file);

    io_error error;
    io_json_value *root = io_json_read(in_folder("a.json"), &error);
    assert_non_null(root);
    assert_string_equal(io_json_get(root, odd)->string, odd);
    const io_json_value *item = io_json_get(root, "list")->first;
    assert_true(item->number == 0.1);
    assert_true((item = item->next)->number == 1.3);
    assert_int_equal((item = item->next)->kind, IO_JSON_NULL);
    assert_true((item = item->next)->number == -5);
    assert_true((item = item->next)->truth);
    assert_int_equal((item = item->next)->kind, IO_JSON_OBJECT);
    assert_null(item->next);
    assert_null(io_json_get(root, "empty")->first);
    assert_null(io_json_get(root, "none"));
    assert_null(io_json_get(NULL, "none"));
    io_json_free(root);
}

static void json_unicode(void **state)
{
    (void)state;
    static const char text[] = "[\"\\u00e4\\u20ac\\ud83d\\ude00\"]";
    io_error error;
    io_json_value *root = io_json_parse("t", text, sizeof text - 1, &error);
    assert_string_equal(root->first->string, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    io_json_free(root);
}

static void json_is_strict(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",          "{",           "[",           "[1,]",   "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "[01]",
        "[1.]",      "[.5]",        "[+1]",        "[1e]",   "[nan]",      "tru",       "\"a",   "\"\\x\"",
        "\"\\u12\"", "\"\\ud800\"", "\"\\u0000\"", "\"\n\"", "[1] 2",      "[1 2]",     "'a'",   "// a\n1"};
    io_error error;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (io_json_parse("t", wrong[i], strlen(wrong[i]), &error)) fail_msg("accepted: %s", wrong[i]);
        assert_non_null(strstr(error.text, "t:"));
    }
    assert_null(io_json_parse("t", "[\n1,\n2\nx]", 10, &error));
    assert_non_null(strstr(error.text, "t:4:"));
    char deep[200];
    memset(deep, '[', sizeof deep);
    assert_null(io_json_parse("t", deep, sizeof deep, &error));
}

/* Nesting beyond the limits: the writer puts null, the reader refuses; both stay whole. */
static void json_has_a_depth(void **state)
{
    (void)state;
    io_error error;
    FILE *file = fopen(in_folder("deep.json"), "wb");
    io_json json;
    io_json_begin(&json, file);
    for (int i = 0; i < IO_JSON_DEPTH + 8; i++) io_json_array(&json, NULL);
    io_json_integer(&json, NULL, 1);
    io_json_string(&json, NULL, "not written");
    for (int i = 0; i < IO_JSON_DEPTH + 8; i++) io_json_end(&json);
    fclose(file);
    io_json_value *root = io_json_read(in_folder("deep.json"), &error);
    assert_non_null(root);
    const io_json_value *inner = root;
    for (int i = 1; i < IO_JSON_DEPTH; i++) inner = inner->first;
    assert_int_equal(inner->kind, IO_JSON_ARRAY);
    assert_int_equal(inner->first->kind, IO_JSON_NULL);
    assert_null(inner->first->next);
    io_json_free(root);

    char text[2 * (IO_JSON_READ_DEPTH + 2)];
    for (int depth = IO_JSON_READ_DEPTH; depth <= IO_JSON_READ_DEPTH + 2; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        root = io_json_parse("t", text, 2 * (size_t)depth, &error);
        if (depth <= IO_JSON_READ_DEPTH + 1) assert_non_null(root);
        else assert_null(root);
        io_json_free(root);
    }
    assert_non_null(strstr(error.text, "nested deeper than"));
    assert_null(io_json_parse("t", "{\"a\": 1, \"a\": 2}", 16, &error));
}

/* Names of files may hold anything; what is shown and written is UTF-8 without control characters. */
static void names_are_shown_safely(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {{"plain.png", "plain.png"},
                 {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
                 {"a\033[31mb\n", "a\\x1b[31mb\\x0a"},
                 {"\xc2\x9b" "31m", "\\xc2\\x9b31m"}, /* the C1 form of the same escape */
                 {"\xff\xfe", "\\xff\\xfe"},
                 {"\xc0\xaf", "\\xc0\\xaf"},              /* overlong */
                 {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* half a surrogate pair */
                 {"cut \xe2\x82", "cut \\xe2\\x82"}};
    char shown[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(io_printable(shown, sizeof shown, cases[i].text), cases[i].shown);
    assert_string_equal(io_printable(shown, 4, "\xe2\x82\xac\xe2\x82\xac"), "\xe2\x82\xac");
    assert_string_equal(io_printable(shown, 4, "\xff\xff"), "");
    io_error error;
    io_bytes bytes;
    assert_false(io_file_read("\033[2J\xff.png", &bytes, &error));
    assert_non_null(strstr(error.text, "\\x1b[2J\\xff.png: cannot be opened"));

    FILE *file = fopen(in_folder("name.json"), "wb");
    io_json json;
    io_json_begin(&json, file);
    io_json_string(&json, NULL, "\033[2J\xff\xc3\xa4.png");
    fclose(file);
    io_json_value *root = io_json_read(in_folder("name.json"), &error);
    assert_non_null(root);
    assert_string_equal(root->string, "\033[2J\xef\xbf\xbd\xc3\xa4.png");
    io_json_free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_keeps_floats_exactly),
        cmocka_unit_test(csv_takes_columns_in_any_order),
        cmocka_unit_test(csv_errors_name_line_and_value),
        cmocka_unit_test(numbers_do_not_follow_the_locale),
        cmocka_unit_test(npy_round_trips),
        cmocka_unit_test(npy_is_numpys),
        cmocka_unit_test(npy_wrong),
        cmocka_unit_test(rows_round_trip),
        cmocka_unit_test(rows_as_csv),
        cmocka_unit_test(rows_wrong),
        cmocka_unit_test(json_reads_what_it_writes),
        cmocka_unit_test(json_unicode),
        cmocka_unit_test(json_is_strict),
        cmocka_unit_test(json_has_a_depth),
        cmocka_unit_test(names_are_shown_safely),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
