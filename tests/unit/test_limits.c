/* SPDX-License-Identifier: Apache-2.0 */
/* What a file may ask for: the memory that readers allocate is bounded by the size of the file, whatever it says. The
 * linker puts the functions below in the place of malloc, calloc, realloc and free (tests/CMakeLists.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/common.h"
#include "keybits/index.h"
#include "io/colmap_model.h"
#include "io/csv.h"
#include "io/image_io.h"
#include "io/json.h"
#include "io/npy.h"
#include "pipeline/patch_load.h"
#include "io/rows.h"
#include "render.h"
#include "scratch.h"
#include "seal.h"
#include "wrap_malloc.h"

static size_t asked; /* bytes since it was set to 0, freed or not */

void *__wrap_malloc(size_t bytes)
{
    asked += bytes;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t size)
{
    asked += size && count > SIZE_MAX / 2 / size ? SIZE_MAX / 2 : count * size;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    asked += bytes;
    return __real_realloc(block, bytes);
}

void __wrap_free(void *block) { __real_free(block); }

enum { ROOM = 1 << 17, ROUNDS = 3000, ROW = 8 };

static uint64_t seed = 1;

/* Changes some bytes, mostly of the header, to small and to extreme values, and may cut the end off. */
static size_t damage(const uint8_t *file, size_t size, size_t header, uint8_t *to)
{
    static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    memcpy(to, file, size);
    for (uint64_t changes = kbi_random_below(&seed, 4); changes > 0; changes--) {
        size_t at = kbi_random_below(&seed, 8) ? kbi_random_below(&seed, (uint32_t)header)
                                               : kbi_random_below(&seed, (uint32_t)size);
        to[at] = values[kbi_random_below(&seed, sizeof values)];
    }
    return kbi_random_below(&seed, 4) ? size : kbi_random_below(&seed, (uint32_t)size);
}

static void seal_model(uint8_t *data, size_t size)
{
    uint32_t crc = ~0u;
    if (size < 4) return;
    for (size_t i = 0; i + 4 < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    for (int k = 0; k < 4; k++) data[size - 4 + (size_t)k] = (uint8_t)(~crc >> 8 * k);
}

static void models_are_bounded(void **state)
{
    (void)state;
    static uint8_t file[ROOM], changed[ROOM];
    kb_model *models[] = {render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 8, true, 1),
                          render_box_model(KB_KIND_BAG, KB_SAMPLER_OCTAVES, 256, true, 2), render_hash_model(64, 3)};
    size_t accepted = 0;
    for (size_t m = 0; m < KBI_COUNT(models); m++) {
        size_t size;
        assert_int_equal(kb_model_save(models[m], file, ROOM, &size), KB_OK);
        for (int i = 0; i < ROUNDS; i++) {
            kb_model *model = NULL;
            size_t length = damage(file, size, 80, changed);
            seal_model(changed, length);
            asked = 0;
            accepted += kb_model_load(changed, length, NULL, &model, NULL) == KB_OK;
            assert_true(asked <= 32 * length + 65536);
            kb_model_free(model);
        }
        kb_model_free(models[m]);
    }
    assert_true(accepted > 100);
}

typedef struct memory {
    uint8_t *data;
    size_t size;
} memory;

static kb_status keep(void *self, const void *data, size_t size)
{
    memory *m = self;
    assert_true(size <= ROOM - m->size);
    memcpy(m->data + m->size, data, size);
    m->size += size;
    return KB_OK;
}

static kb_vocabulary *make_vocabulary(uint8_t *rows, size_t n)
{
    kb_vocabulary *vocabulary = NULL;
    kb_vocabulary_options o;
    uint64_t noise = 4;
    KB_INIT(o);
    o.branching = 5;
    o.levels = 2;
    for (size_t i = 0; i < n * ROW; i++) rows[i] = (uint8_t)(kbi_random_next(&noise) >> 31);
    assert_int_equal(kb_vocabulary_train(rows, n, ROW, &o, NULL, &vocabulary, NULL), KB_OK);
    return vocabulary;
}

static void vocabularies_and_indexes_are_bounded(void **state)
{
    (void)state;
    enum { EACH = 20, IMAGES = 10 };
    static uint8_t rows[EACH * IMAGES * ROW], file[ROOM], changed[ROOM];
    kb_vocabulary *vocabulary = make_vocabulary(rows, EACH * IMAGES), *loaded;
    kb_index *index = NULL;
    size_t accepted = 0;
    memory whole = {file, 0};
    kb_vocabulary_info info;
    KB_INIT(info);
    assert_int_equal(kb_vocabulary_get_info(vocabulary, &info), KB_OK);
    for (int i = 0; i < ROUNDS; i++) {
        size_t length = damage(info.data, info.bytes, 144, changed);
        seal_vocabulary(changed, length);
        asked = 0;
        loaded = NULL;
        accepted += kb_vocabulary_load(changed, length, NULL, &loaded, NULL) == KB_OK;
        assert_true(asked <= length + 4096);
        kb_vocabulary_free(loaded);
    }
    assert_true(accepted > 100);
    assert_int_equal(kb_index_create(vocabulary, NULL, NULL, &index, NULL), KB_OK);
    for (uint64_t i = 0; i < IMAGES; i++) {
        kb_features f;
        KB_INIT(f);
        f.rows = rows + i * EACH * ROW;
        f.n = EACH;
        f.row_bytes = ROW;
        assert_int_equal(kb_index_add(index, &f, i, "name", NULL, NULL), KB_OK);
    }
    assert_int_equal(kb_index_save(index, keep, &whole), KB_OK);
    kb_index_free(index);
    accepted = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t length = damage(file, whole.size, 96, changed);
        asked = 0;
        index = NULL;
        accepted += kb_index_load(changed, length, 0, NULL, &index, NULL) == KB_OK;
        assert_true(asked <= 3 * length + 4096);
        kb_index_free(index);
    }
    assert_true(accepted > 100);
    kb_vocabulary_free(vocabulary);
}

/* A header of any shape in front of a few numbers. */
static void arrays_are_bounded(void **state)
{
    (void)state;
    static const char *const shapes[] = {"(1000000000,)", "(4294967295, 4294967295)", "(65536, 65536, 65536, 65536)",
                                         "(18446744073709551615,)", "(9223372036854775807, 2)", "(3,)"};
    char path[] = "/tmp/keybits-limits-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    for (size_t i = 0; i < KBI_COUNT(shapes); i++) {
        char header[256] = "\x93NUMPY\1";
        io_array array;
        io_error error;
        int length = snprintf(header + 10, sizeof header - 10,
                              "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n", shapes[i]);
        header[8] = (char)length;
        memset(header + 10 + length, 0, 24);
        size_t size = (size_t)length + 10 + 24;
        assert_int_equal(ftruncate(descriptor, 0), 0);
        assert_int_equal(pwrite(descriptor, header, size, 0), (int)size);
        asked = 0;
        bool good = io_npy_read(path, &array, &error);
        assert_int_equal(good, i == KBI_COUNT(shapes) - 1);
        assert_true(asked <= 2 * size + 4096);
        if (good) io_array_free(&array);
    }
    close(descriptor);
    unlink(path);
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Pictures that are refused by their size, whatever the file holds: no memory is reserved for them. */
static void refused_images_are_bounded(void **state)
{
    (void)state;
    static const char *const headers[] = {"P5\n65535 65535\n255\n", "P6\n30000 30000\n255\n", "P5\n99999999 3\n255\n",
                                          "P5\n400 300\n255\n"};
    const char *path = in_scratch("large.pgm");
    for (size_t i = 0; i < KBI_COUNT(headers); i++) {
        io_read_options reading = {.max_pixels = i == 3 ? 400 * 300 - 1 : 0};
        io_image image;
        io_error error;
        write_file(path, headers[i], strlen(headers[i]));
        asked = 0;
        assert_false(io_image_read(path, &reading, &image, &error));
        assert_true(asked <= 1 << 17);
    }
}

/* Any header in front of a few patches: memory is bounded by what the file can hold. */
static void patch_sets_are_bounded(void **state)
{
    (void)state;
    enum { PATCHES = 12, AREA = KB_PATCH_SIDE * KB_PATCH_SIDE };
    static uint8_t changed[1 << 16];
    const char *path = in_scratch("set.kbp"), *other = in_scratch("changed.kbp");
    uint8_t pixels[AREA];
    io_error error;
    io_bytes file;
    size_t accepted = 0;
    io_patch_writer *writer = io_patch_writer_open(path, KB_PATCH_SIDE, 1, &error);
    assert_non_null(writer);
    for (uint32_t i = 0; i < PATCHES; i++) {
        memset(pixels, (int)(20 * i), sizeof pixels);
        io_patch_writer_add(writer, i / 2, i, pixels);
    }
    assert_true(io_patch_writer_close(writer, &error));
    assert_true(io_file_read(path, &file, &error));
    assert_true(file.size <= sizeof changed);
    for (int round = 0; round < 300; round++) {
        kbi_patch_set set;
        size_t size = round ? damage(file.data, file.size, 48, changed) : file.size;
        write_file(other, round ? changed : file.data, size);
        asked = 0;
        if (patch_set_load(other, SIZE_MAX, 1, &set, &error)) {
            accepted++;
            kbi_patch_set_free(&set);
        }
        assert_true(asked <= 4 * file.size + (1 << 17));
    }
    assert_true(accepted > 0 && accepted < 300);
    io_bytes_free(&file);
}

/* Text of the shortest lines, which hold the most numbers. */
static void tables_are_bounded(void **state)
{
    (void)state;
    enum { LINES = 20000 };
    static char text[LINES * 8 + 64];
    const char *table = in_scratch("table.csv"), *digits = in_scratch("rows.hex");
    io_keypoints keypoints;
    io_rows rows;
    io_error error;
    size_t size = (size_t)sprintf(text, "x,y,size\n");
    for (int i = 0; i < LINES; i++) size += (size_t)sprintf(text + size, "1,2,3\n");
    write_file(table, text, size);
    asked = 0;
    assert_true(io_keypoints_read(table, &keypoints, &error));
    assert_true(asked <= 16 * size + (1 << 17));
    io_keypoints_free(&keypoints);
    for (size_t i = 0; i < size; i++) text[i] = i % 3 == 2 ? '\n' : 'f';
    write_file(digits, text, size);
    asked = 0;
    assert_true(io_rows_read(digits, &rows, &error));
    assert_true(asked <= 16 * size + (1 << 17));
    io_rows_free(&rows);
}

/* COLMAP's binary models whose counts promise more than the file holds. */
static void scenes_are_bounded(void **state)
{
    (void)state;
    static const char *const names[] = {"cameras.bin", "images.bin", "points3D.bin"};
    static const uint64_t counts[] = {0, 1, 1000, 1 << 20, (uint64_t)1 << 40, UINT64_MAX};
    uint8_t file[128];
    for (size_t which = 0; which < 3; which++) {
        for (size_t i = 0; i < KBI_COUNT(counts); i++) {
            io_scene scene;
            io_error error;
            for (size_t k = 0; k < 3; k++) {
                memset(file, 0, sizeof file);
                kbi_put_u64(file, k == which ? counts[i] : 0);
                write_file(in_scratch(names[k]), file, k == which ? sizeof file : 8);
            }
            asked = 0;
            if (io_colmap_model_read(in_scratch("."), &scene, &error)) io_scene_free(&scene);
            assert_true(asked <= 16 * sizeof file + (1 << 17));
        }
    }
}

/* The shortest text of every kind of value, some of which become much larger than their two letters. */
static void json_is_bounded(void **state)
{
    (void)state;
    enum { VALUES = 20000 };
    static const char *const kinds[] = {"0", "[]", "{}", "\"\"", "{\"\":0}", "[[[]]]", "true"};
    static char text[VALUES * 10];
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    for (size_t k = 0; k < KBI_COUNT(kinds); k++) {
        io_error error;
        size_t size = (size_t)sprintf(text, "[0");
        for (int i = 0; i < VALUES; i++) size += (size_t)sprintf(text + size, ",%s", kinds[k]);
        size += (size_t)sprintf(text + size, "]");
        asked = 0;
        io_json_value *value = io_json_parse("text", text, size, &error);
        assert_non_null(value);
        assert_true(asked <= 256 * size + (1 << 17));
        io_json_free(value);
    }
    json_set_alloc_funcs(malloc, free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_bounded),
        cmocka_unit_test(vocabularies_and_indexes_are_bounded),
        cmocka_unit_test(arrays_are_bounded),
        cmocka_unit_test(refused_images_are_bounded),
        cmocka_unit_test(patch_sets_are_bounded),
        cmocka_unit_test(tables_are_bounded),
        cmocka_unit_test(scenes_are_bounded),
        cmocka_unit_test(json_is_bounded),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
