/* SPDX-License-Identifier: Apache-2.0 */
/* What an index keeps: its file, damaged files too, features, and memory of the caller's allocator. */
#include "index_world.h"
#include "common/bytes.h"

/* ---- the file ---- */

static void test_file(void **state)
{
    (void)state;
    world *w = world_create();
    for (int32_t keep = 0; keep < 2; keep++) {
        kb_index *index = index_of(w, 25, keep), *again;
        memory_file file = {0};
        assert_int_equal(kb_index_save(index, memory_write, &file), KB_OK);
        assert_int_equal(kb_index_load(file.data, file.size, 1, NULL, &again, NULL), KB_OK);
        kb_index_image image;
        KB_INIT(image);
        assert_int_equal(kb_index_get_image(again, 3, &image, NULL, NULL), KB_OK);
        assert_string_equal(image.name, "three");
        assert_int_equal(image.id, 103);
        assert_int_equal(image.rows, EACH);
        assert_int_equal(image.width, 643);
        assert_int_equal(image.height, 480);
        kb_error error;
        assert_int_equal(kb_index_get_image(again, 25, &image, NULL, &error), KB_E_ARGUMENT);
        assert_string_equal(error.text, "there is no position 25, but 0 to 24");
        image.struct_size = 0;
        assert_int_equal(kb_index_get_image(again, 3, &image, NULL, NULL), KB_E_STRUCT);
        for (size_t i = 25; i < IMAGES; i++) { /* both grow on */
            kb_features f = features_of(w, i);
            assert_int_equal(kb_index_add(index, &f, 100 + i, NULL, NULL, NULL), KB_OK);
            assert_int_equal(kb_index_add(again, &f, 100 + i, NULL, NULL, NULL), KB_OK);
        }
        kb_index_query_options o;
        KB_INIT(o);
        o.verify = 5 * keep;
        kb_index_result a[IMAGES], b[IMAGES];
        size_t n = query(index, w, 30, &o, a, IMAGES);
        assert_int_equal(query(again, w, 30, &o, b, IMAGES), n);
        assert_same(a, b, n);
        memory_file one = {0}, two = {0};
        assert_int_equal(kb_index_save(index, memory_write, &one), KB_OK);
        assert_int_equal(kb_index_save(again, memory_write, &two), KB_OK);
        assert_int_equal(one.size, two.size);
        assert_memory_equal(one.data, two.data, one.size);
        kb_index_free(index);
        kb_index_free(again);
        free(file.data);
        free(one.data);
        free(two.data);
    }
    world_free(w);
}

static void test_wrong_files(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, 6, 1), *again;
    memory_file file = {0}, full = {.limit = 9000};
    kb_error error;
    assert_int_equal(kb_index_save(index, memory_write, &full), KB_E_SPACE);
    assert_int_equal(kb_index_save(index, memory_write, &file), KB_OK);
    for (size_t cut = 0; cut < file.size; cut += cut < 100 ? 1 : 1013) {
        kb_status status = kb_index_load(file.data, cut, 0, NULL, &again, &error);
        assert_true(status == KB_E_TRUNCATED || (cut < 8 && status == KB_E_FORMAT));
        assert_null(again);
    }
    kb_features f = features_of(w, 2);
    kb_index_result results[10];
#ifdef KEYBITS_SANITIZED
    enum { STEP = 149 };
#else
    enum { STEP = 37 };
#endif
    for (size_t i = 0; i < file.size; i += STEP) { /* refused, or found by the check and safe to use */
        file.data[i] ^= 0x81;
        if (kb_index_load(file.data, file.size, 0, NULL, &again, &error) == KB_OK) {
            kb_index *whole;
            size_t count;
            kb_index_query_options o;
            KB_INIT(o);
            o.verify = 3;
            assert_int_equal(kb_index_load(file.data, file.size, 1, NULL, &whole, &error), KB_E_CHECKSUM);
            assert_null(whole);
            kb_index_query(again, &f, &o, NULL, results, 10, &count, &error);
            assert_int_equal(kb_index_add(again, &f, 1, NULL, NULL, NULL), KB_OK);
            kb_index_free(again);
        }
        file.data[i] ^= 0x81;
    }
    free(file.data);
    free(full.data);
    kb_index_free(index);
    world_free(w);
}

/* An index whose lists name one image again and again, with norms near 0: scores stay scores. */
static void test_scores_of_a_forged_index(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, 6, 0), *again;
    memory_file file = {0};
    kb_index_result results[6];
    kb_index_query_options o;
    kb_index_info info;
    KB_INIT(o);
    KB_INIT(info);
    kb_index_get_info(index, &info);
    assert_int_equal(kb_index_save(index, memory_write, &file), KB_OK);
    uint8_t *entry = file.data + file.size - 8 - (info.entries * BYTES + 63) / 64 * 64; /* 8 + 32 - 8 bytes each */
    for (uint64_t i = 0; i < info.entries; i++) kbi_put_u32(entry + i * BYTES, 0);
    uint8_t *images = file.data + 128 + (kbi_get_u64(file.data + 24) + 63) / 64 * 64;
    for (int tiny = 0; tiny < 2; tiny++) {
        if (tiny) kbi_put_f64(images + 16, 4e-320);
        kbi_put_u64(file.data + file.size - 8, kbi_sum_words(KBI_SUM_START, file.data, file.size - 8));
        assert_int_equal(kb_index_load(file.data, file.size, 1, NULL, &again, NULL), KB_OK);
        for (int scoring = KB_SCORING_BINARY; scoring <= KB_SCORING_TF_IDF; scoring++) {
            o.scoring = (kb_scoring)scoring;
            assert_int_equal(query(again, w, 2, &o, results, 6), 1);
            assert_true(results[0].position == 0 && results[0].score > 0 && results[0].score <= 1);
        }
        kb_index_free(again);
    }
    free(file.data);
    kb_index_free(index);
    world_free(w);
}

/* ---- kept features, and memory ---- */

static void test_kept_features(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, 5, 1), *without = index_of(w, 2, 0);
    kb_keypoint keypoints[EACH];
    kb_features f;
    KB_INIT(f);
    f.keypoints = keypoints;
    f.capacity = EACH;
    assert_int_equal(kb_index_get_image(index, 3, NULL, &f, NULL), KB_OK);
    assert_true(f.n == EACH && f.row_bytes == BYTES && f.width == 643 && f.height == 480);
    assert_memory_equal(f.rows, w->rows[3], EACH * BYTES);
    for (size_t i = 0; i < EACH; i++) {
        assert_true(keypoints[i].x == w->keypoints[3][i].x && keypoints[i].y == w->keypoints[3][i].y);
        assert_true(keypoints[i].size == 7 && keypoints[i].angle == 0 && keypoints[i].class_id == -1);
    }
    assert_int_equal(kb_index_get_image(index, 5, NULL, &f, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_index_get_image(NULL, 0, NULL, &f, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_index_get_image(without, 0, NULL, &f, NULL), KB_E_KIND);
    f.capacity = EACH - 1;
    assert_int_equal(kb_index_get_image(index, 3, NULL, &f, NULL), KB_E_SPACE);
    f.keypoints = NULL; /* rows alone */
    assert_int_equal(kb_index_get_image(index, 3, NULL, &f, NULL), KB_OK);
    kb_index_free(index);
    kb_index_free(without);
    world_free(w);
}

static kb_status write_nothing(void *self, const void *data, size_t size)
{
    (void)self, (void)data, (void)size;
    return KB_OK;
}

/* Everything that keeps memory, by one allocator; the first status that is not KB_OK. */
static kb_status run_with(world *w, const kb_allocator *allocator)
{
    kb_vocabulary_options o;
    kb_index_options keep;
    kb_vocabulary *vocabulary = NULL, *view = NULL;
    kb_index *index = NULL;
    kb_loop_detector *detector = NULL;
    kb_loop loop;
    kb_vocabulary_info info;
    KB_INIT(info);
    KB_INIT(loop);
    KB_INIT(o);
    KB_INIT(keep);
    o.levels = 2;
    keep.keep_features = 1;
    kb_status status = kb_vocabulary_train(w->rows[0], 4 * EACH, BYTES, &o, allocator, &vocabulary, NULL);
    if (status == KB_OK) status = kb_vocabulary_get_info(vocabulary, &info);
    if (status == KB_OK) status = kb_vocabulary_load(info.data, info.bytes, allocator, &view, NULL);
    if (status == KB_OK) status = kb_index_create(view, &keep, allocator, &index, NULL);
    if (status == KB_OK) status = kb_loop_detector_create(view, NULL, allocator, &detector, NULL);
    for (size_t i = 0; status == KB_OK && i < 5; i++) {
        kb_features f = features_of(w, i);
        status = kb_index_add(index, &f, i, NULL, NULL, NULL);
        if (status == KB_OK) status = kb_loop_detector_add(detector, &f, NULL, &loop, NULL);
    }
    if (status == KB_OK) status = kb_index_remove(index, 2, NULL);
    if (status == KB_OK) status = kb_index_save(index, write_nothing, NULL);
    kb_loop_detector_free(detector);
    kb_index_free(index);
    kb_vocabulary_free(view);
    kb_vocabulary_free(vocabulary);
    return status;
}

static void test_memory_of_the_caller(void **state)
{
    (void)state;
    world *w = world_create();
    memory_count c = {0};
    const kb_allocator allocator = {count_allocate, count_release, &c}, half = {count_allocate, NULL, &c};
    kb_vocabulary *none;
    assert_int_equal(kb_vocabulary_load(w, 100, &half, &none, NULL), KB_E_ARGUMENT);
    assert_int_equal(run_with(w, &allocator), KB_OK);
    assert_int_equal(c.live, 0);
    size_t calls = c.calls, failed = 0;
    assert_true(calls > 30);
    for (size_t fail = 1; fail <= calls; fail++) { /* without any one of them: a status, and nothing is lost */
        c = (memory_count){.fail_at = fail};
        kb_status status = run_with(w, &allocator);
        assert_true(status == KB_OK || status == KB_E_MEMORY); /* lists that cannot be merged stay as they are */
        failed += status == KB_E_MEMORY;
        assert_int_equal(c.live, 0);
    }
    assert_true(failed > calls / 2);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_scores_of_a_forged_index),
        cmocka_unit_test(test_kept_features),
        cmocka_unit_test(test_memory_of_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
