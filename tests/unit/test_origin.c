/* SPDX-License-Identifier: Apache-2.0 */
/* Features know how their keypoints were found; matching and the index refuse to mix them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/bytes.h"
#include "common/common.h"
#include "keybits/index.h"

enum { SIDE = 160, MOST = 200, BYTES = 32 };

typedef struct scene {
    uint8_t pixels[SIDE * SIDE], rows[MOST * BYTES];
    kb_keypoint keypoints[MOST];
    kb_model *model;
    kb_vocabulary *vocabulary;
    kb_features f; /* hessian, oriented */
} scene;

static scene *scene_create(void)
{
    scene *s = calloc(1, sizeof *s);
    uint64_t seed = 5;
    for (size_t i = 0; i < SIDE * SIDE; i++) s->pixels[i] = (uint8_t)(kbi_random_next(&seed) >> 33);
    const kb_image image = {s->pixels, SIDE, SIDE, SIDE, KB_FORMAT_GRAY8, 0};
    KB_INIT(s->f);
    s->f.keypoints = s->keypoints;
    s->f.capacity = MOST;
    s->f.rows = s->rows;
    s->f.rows_size = sizeof s->rows;
    assert_int_equal(kb_model_builtin("bag256", NULL, &s->model), KB_OK);
    assert_int_equal(kb_detect_and_describe(s->model, &image, NULL, NULL, NULL, &s->f, NULL), KB_OK);
    assert_true(s->f.n > 50);
    kb_vocabulary_options o;
    KB_INIT(o);
    o.levels = 2;
    o.branching = 4;
    assert_int_equal(kb_vocabulary_train(s->rows, s->f.n, BYTES, &o, NULL, &s->vocabulary, NULL), KB_OK);
    return s;
}

static void scene_free(scene *s)
{
    kb_vocabulary_free(s->vocabulary);
    kb_model_free(s->model);
    free(s);
}

/* What may differ, the field that the error names, and what its sentence says of both sides. */
typedef struct difference {
    kb_features other;
    const char *field, *says[2];
} difference;

static size_t differences(const kb_features *f, difference out[4])
{
    for (int i = 0; i < 4; i++) out[i].other = *f;
    out[0].other.detector = KB_DETECTOR_SIFT;
    out[1].other.revision = f->revision + 1;
    out[2].other.upright = 1;
    out[3].other.max_size = 800;
    const char *const fields[4] = {"detector", "revision", "upright", "max_size"};
    const char *const says[4][2] = {{"hessian", "sift"}, {"hessian", "hessian"}, {"oriented", "upright"},
                                    {"up to 1000 px", "up to 800 px"}};
    for (int i = 0; i < 4; i++) {
        out[i].field = fields[i];
        memcpy(out[i].says, says[i], sizeof says[i]);
    }
    return 4;
}

static void assert_names(const kb_error *error, const difference *d)
{
    assert_string_equal(error->field, d->field);
    assert_non_null(strstr(error->text, d->says[0]));
    assert_non_null(strstr(error->text, d->says[1]));
}

static void test_detect_tells(void **state)
{
    (void)state;
    scene *s = scene_create();
    assert_int_equal(s->f.detector, KB_DETECTOR_HESSIAN);
    assert_int_equal(s->f.revision, kb_detector_get_info(KB_DETECTOR_HESSIAN).revision);
    assert_int_equal(s->f.upright, 0);
    scene_free(s);
}

static void test_matching_refuses(void **state)
{
    (void)state;
    scene *s = scene_create();
    kb_match matches[MOST];
    kb_error error;
    size_t n;
    difference d[4];
    s->f.max_size = 1000;
    size_t count = differences(&s->f, d);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(kb_match_features(&s->f, &d[i].other, NULL, NULL, matches, &n, &error), KB_E_MODEL);
        assert_names(&error, &d[i]);
        d[i].other.detector = 0; /* nothing is known of it */
        assert_int_equal(kb_match_features(&s->f, &d[i].other, NULL, NULL, matches, &n, &error), KB_OK);
    }
    scene_free(s);
}

typedef struct memory_file {
    uint8_t *data;
    size_t size;
} memory_file;

static kb_status memory_write(void *self, const void *data, size_t size)
{
    memory_file *f = self;
    f->data = realloc(f->data, f->size + size);
    memcpy(f->data + f->size, data, size);
    f->size += size;
    return KB_OK;
}

static void index_refuses(kb_index *index, const kb_features *f)
{
    kb_index_result r[2];
    kb_error error;
    size_t n;
    difference d[4];
    size_t count = differences(f, d);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(kb_index_query(index, &d[i].other, NULL, NULL, r, 2, &n, &error), KB_E_MODEL);
        assert_names(&error, &d[i]);
        assert_int_equal(kb_index_add(index, &d[i].other, 2, NULL, NULL, &error), KB_E_MODEL);
        assert_names(&error, &d[i]);
    }
    assert_int_equal(kb_index_query(index, f, NULL, NULL, r, 2, &n, &error), KB_OK);
}

static void test_index_refuses(void **state)
{
    (void)state;
    scene *s = scene_create();
    kb_index *index, *again;
    kb_index_info info;
    memory_file file = {0};
    kb_features bare = s->f;
    bare.detector = 0;
    assert_int_equal(kb_index_create(s->vocabulary, NULL, NULL, &index, NULL), KB_OK);
    assert_int_equal(kb_index_add(index, &bare, 0, NULL, NULL, NULL), KB_OK);
    KB_INIT(info);
    assert_int_equal(kb_index_get_info(index, &info), KB_OK);
    assert_int_equal(info.detector, 0);
    s->f.max_size = 1000;
    assert_int_equal(kb_index_add(index, &s->f, 1, NULL, NULL, NULL), KB_OK);
    index_refuses(index, &s->f);
    assert_int_equal(kb_index_save(index, memory_write, &file), KB_OK);
    assert_int_equal(kb_index_load(file.data, file.size, 0, NULL, &again, NULL), KB_OK);
    index_refuses(again, &s->f);
    assert_int_equal(kb_index_get_info(again, &info), KB_OK);
    assert_int_equal(info.detector, KB_DETECTOR_HESSIAN);
    assert_int_equal(info.revision, s->f.revision);
    assert_int_equal(info.upright, 0);
    assert_int_equal(info.max_size, 1000);
    kb_index_free(again);
    kbi_put_u32(file.data + 88, 7); /* docs/index-format.md: rows */
    assert_int_equal(kb_index_load(file.data, file.size, 0, NULL, &again, NULL), KB_E_TABLE);
    kb_index_free(index);
    free(file.data);
    scene_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_detect_tells), cmocka_unit_test(test_matching_refuses),
                                       cmocka_unit_test(test_index_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
