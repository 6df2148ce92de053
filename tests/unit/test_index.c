/* SPDX-License-Identifier: Apache-2.0 */
/* The index: scores against short independent implementations, incremental adding, removal, the file, loops. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/bytes.h"
#include "common/common.h"
#include "keybits/index.h"

enum { BYTES = 32, IMAGES = 40, EACH = 150, PLACES = 20 };

/* Images of places: image i and image i + PLACES see the same rows with noise; keypoints move by a shift. */
typedef struct world {
    uint8_t rows[IMAGES][EACH * BYTES];
    kb_keypoint keypoints[IMAGES][EACH];
    size_t ends[IMAGES];
    kb_vocabulary *vocabulary;
} world;

static uint8_t noise_byte(uint64_t *seed)
{
    uint64_t r = kbi_random_next(seed);
    return (uint8_t)(r & r >> 8 & r >> 16 & r >> 24);
}

static void place_render(world *w, size_t image, uint64_t *noise)
{
    uint64_t seed = 1000 + image % PLACES;
    for (size_t i = 0; i < EACH; i++) {
        uint64_t row_seed = i % 3 ? kbi_random_next(&seed) : kbi_random_next(&seed) % 50; /* a third is common to all */
        for (size_t b = 0; b < BYTES; b++)
            w->rows[image][i * BYTES + b] = (uint8_t)(kbi_random_next(&row_seed) >> 20) ^ noise_byte(noise);
        kb_keypoint *k = &w->keypoints[image][i];
        *k = (kb_keypoint){.size = 7};
        k->x = (float)kbi_random_below(&seed, 600) + (float)(image / PLACES) * 5;
        k->y = (float)kbi_random_below(&seed, 400) - (float)(image / PLACES) * 3;
    }
}

static world *world_create(void)
{
    world *w = calloc(1, sizeof *w);
    uint64_t noise = 77;
    for (size_t i = 0; i < IMAGES; i++) {
        place_render(w, i, &noise);
        w->ends[i] = (i + 1) * EACH;
    }
    kb_vocabulary_options o;
    KB_INIT(o);
    o.levels = 3;
    o.branching = 8;
    o.image_ends = w->ends;
    o.images = IMAGES;
    assert_int_equal(kb_vocabulary_train(w->rows[0], IMAGES * EACH, BYTES, &o, NULL, &w->vocabulary, NULL), KB_OK);
    return w;
}

static void world_free(world *w)
{
    kb_vocabulary_free(w->vocabulary);
    free(w);
}

static kb_features features_of(world *w, size_t image)
{
    kb_features f;
    KB_INIT(f);
    f.rows = w->rows[image];
    f.n = EACH;
    f.row_bytes = BYTES;
    f.keypoints = w->keypoints[image];
    f.width = 640 + (int32_t)image;
    f.height = 480;
    return f;
}

static kb_index *index_of(world *w, size_t count, int32_t keep)
{
    kb_index_options o;
    kb_index *index;
    KB_INIT(o);
    o.keep_features = keep;
    assert_int_equal(kb_index_create(w->vocabulary, &o, NULL, &index, NULL), KB_OK);
    for (size_t i = 0; i < count; i++) {
        kb_features f = features_of(w, i);
        assert_int_equal(kb_index_add(index, &f, 100 + i, i == 3 ? "three" : NULL, NULL, NULL), KB_OK);
    }
    return index;
}

static size_t query(const kb_index *index, world *w, size_t image, kb_index_query_options *o, kb_index_result *results,
                    size_t capacity)
{
    kb_features f = features_of(w, image);
    kb_error error;
    size_t count;
    assert_int_equal(kb_index_query(index, &f, o, NULL, results, capacity, &count, &error), KB_OK);
    return count;
}

/* ---- scores ---- */

/* tf-idf as DBoW2 defines it: weights of words are added up row by row, the vector is divided by its L1 norm. */
static void tf_idf_by_hand(world *w, size_t image, double *vector, uint32_t words)
{
    uint32_t word[EACH];
    kb_features f = features_of(w, image);
    double norm = 0;
    assert_int_equal(kb_vocabulary_words(w->vocabulary, &f, NULL, word, NULL, NULL), KB_OK);
    for (uint32_t i = 0; i < words; i++) vector[i] = 0;
    kb_vocabulary_node node;
    for (uint32_t n = 1; kb_vocabulary_get_node(w->vocabulary, n, &node); n++)
        for (size_t i = 0; node.children == 0 && i < EACH; i++)
            if (word[i] == node.word) vector[node.word] += node.weight;
    for (uint32_t i = 0; i < words; i++) norm += fabs(vector[i]);
    for (uint32_t i = 0; i < words; i++) vector[i] /= norm;
}

static void test_tf_idf_is_that_of_dbow2(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, IMAGES, 0);
    kb_vocabulary_info info;
    KB_INIT(info);
    kb_vocabulary_get_info(w->vocabulary, &info);
    double *a = malloc(info.words * sizeof *a), *b = malloc(info.words * sizeof *b);
    kb_index_query_options o;
    KB_INIT(o);
    o.scoring = KB_SCORING_TF_IDF;
    kb_index_result results[IMAGES];
    for (size_t q = 0; q < IMAGES; q += 7) {
        size_t count = query(index, w, q, &o, results, IMAGES);
        assert_int_equal(count, IMAGES); /* a third of the rows is common */
        assert_int_equal(results[0].position, q);
        tf_idf_by_hand(w, q, a, info.words);
        for (size_t r = 0; r < count; r++) {
            tf_idf_by_hand(w, results[r].position, b, info.words);
            double distance = 0;
            for (uint32_t i = 0; i < info.words; i++) distance += fabs(a[i] - b[i]);
            assert_float_equal(results[r].score, 1 - distance / 2, 1e-6);
            assert_true(fabs(results[r].score - (1 - distance / 2)) < 1e-12);
            assert_true(r == 0 || results[r].score <= results[r - 1].score);
        }
    }
    free(a);
    free(b);
    kb_index_free(index);
    world_free(w);
}

/* The binary score from its definition in docs/index.md, with floating point and without lists. */
static double binary_by_hand(world *w, size_t a, size_t b)
{
    uint32_t word[2][EACH];
    const size_t image[2] = {a, b};
    double sum = 0, self[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        kb_features f = features_of(w, image[k]);
        assert_int_equal(kb_vocabulary_words(w->vocabulary, &f, NULL, word[k], NULL, NULL), KB_OK);
    }
    kb_vocabulary_node node;
    for (uint32_t n = 1; kb_vocabulary_get_node(w->vocabulary, n, &node); n++) {
        int ones[2][8 * BYTES] = {{0}}, rows[2] = {0, 0}, distance = 0, head = 0;
        if (node.children > 0) continue;
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; i < EACH; i++)
                if (word[k][i] == node.word) {
                    rows[k]++;
                    for (int bit = 0; bit < 8 * BYTES; bit++)
                        ones[k][bit] += w->rows[image[k]][i * BYTES + (size_t)bit / 8] >> (7 - bit % 8) & 1;
                }
        for (int bit = 0; bit < 8 * BYTES; bit++) {
            int centre = node.row[bit / 8] >> (7 - bit % 8) & 1, value[2];
            for (int k = 0; k < 2; k++)
                value[k] = 2 * ones[k][bit] > rows[k] ? 1 : 2 * ones[k][bit] < rows[k] ? 0 : centre;
            distance += value[0] != value[1];
            head += bit < 64 && value[0] != value[1];
        }
        double u = 1 - distance / (4.0 * BYTES), weight = node.weight * node.weight;
        for (int k = 0; k < 2; k++) self[k] += rows[k] ? weight : 0;
        if (rows[0] && rows[1] && u >= 0.35 && head <= 14) sum += weight * u * u * u;
    }
    return sum / sqrt(self[0] * self[1]);
}

static void test_binary_score(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, IMAGES, 0);
    kb_index_result results[IMAGES];
    kb_index_query_options o;
    KB_INIT(o);
    o.probes = 1;
    for (size_t q = 0; q < IMAGES; q += 3) {
        size_t count = query(index, w, q, &o, results, IMAGES);
        assert_int_equal(results[0].position, q);
        assert_int_equal(results[1].position, (q + PLACES) % IMAGES); /* the same place */
        assert_true(results[1].score > 2 * results[2].score);
        assert_int_equal(results[0].inliers, -1);
        for (size_t r = 0; r < count; r++)
            assert_true(fabs(results[r].score - binary_by_hand(w, q, results[r].position)) < 2e-3);
        assert_true(fabs(results[0].score - 1) < 1e-9);
    }
    kb_index_free(index);
    world_free(w);
}

/* ---- adding, removing, limits ---- */

static void assert_same(const kb_index_result *a, const kb_index_result *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a[i].id, b[i].id);
        assert_true(a[i].score == b[i].score && a[i].inliers == b[i].inliers);
    }
}

static void test_first_images_and_capacity(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, IMAGES, 0);
    kb_index_query_options o;
    KB_INIT(o);
    kb_index_result all[IMAGES], some[IMAGES];
    size_t count = query(index, w, 5, NULL, all, IMAGES);
    for (size_t capacity = 0; capacity <= count; capacity++) {
        assert_int_equal(query(index, w, 5, NULL, some, capacity), capacity);
        assert_same(all, some, capacity);
    }
    for (size_t limit = 1; limit < IMAGES; limit++) {
        kb_index *small = index_of(w, limit, 0);
        o.first_images = limit;
        size_t n = query(index, w, 9, &o, all, IMAGES);
        assert_int_equal(query(small, w, 9, NULL, some, IMAGES), n);
        assert_same(all, some, n);
        kb_index_free(small);
    }
    kb_index_free(index);
    world_free(w);
}

typedef struct memory_file {
    uint8_t *data;
    size_t size;
    size_t limit;
} memory_file;

static kb_status memory_write(void *self, const void *data, size_t size)
{
    memory_file *f = self;
    if (f->limit && f->size + size > f->limit) return KB_E_SPACE;
    f->data = realloc(f->data, f->size + size);
    memcpy(f->data + f->size, data, size);
    f->size += size;
    return KB_OK;
}

static void test_remove_leaves_no_trace(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, IMAGES, 1), *fresh = index_of(w, 0, 1);
    size_t count;
    assert_int_equal(kb_index_remove(index, 4711, &count), KB_OK);
    assert_int_equal(count, 0);
    for (size_t i = 0; i < IMAGES; i++) {
        kb_features f = features_of(w, i);
        if (i % 3 == 1) {
            assert_int_equal(kb_index_remove(index, 100 + i, &count), KB_OK);
            assert_int_equal(count, 1);
        } else {
            assert_int_equal(kb_index_add(fresh, &f, 100 + i, i == 3 ? "three" : NULL, NULL, NULL), KB_OK);
        }
    }
    kb_index_result a[IMAGES], b[IMAGES];
    size_t n = query(index, w, 4, NULL, a, IMAGES);
    assert_int_equal(query(fresh, w, 4, NULL, b, IMAGES), n);
    assert_same(a, b, n);
    memory_file one = {0}, two = {0};
    assert_int_equal(kb_index_save(index, memory_write, &one), KB_OK);
    assert_int_equal(kb_index_save(fresh, memory_write, &two), KB_OK);
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.data, two.data, one.size);
    assert_int_equal(query(index, w, 4, NULL, b, IMAGES), n); /* and the index goes on */
    assert_same(a, b, n);
    free(one.data);
    free(two.data);
    kb_index_free(index);
    kb_index_free(fresh);
    world_free(w);
}

static void test_removed_all(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, 3, 0), *empty = index_of(w, 0, 0);
    for (uint64_t i = 0; i < 3; i++) kb_index_remove(index, 100 + i, NULL);
    kb_index_result r[4];
    assert_int_equal(query(index, w, 0, NULL, r, 4), 0);
    assert_int_equal(query(empty, w, 0, NULL, r, 4), 0);
    memory_file file = {0}, file2 = {0};
    assert_int_equal(kb_index_save(empty, memory_write, &file), KB_OK);
    assert_int_equal(kb_index_save(index, memory_write, &file2), KB_OK);
    assert_int_equal(file.size, file2.size);
    assert_memory_equal(file.data, file2.data, file.size);
    kb_index *again;
    assert_int_equal(kb_index_load(file.data, file.size, NULL, &again, NULL), KB_OK);
    kb_features f = features_of(w, 0);
    assert_int_equal(kb_index_add(again, &f, 1, NULL, NULL, NULL), KB_OK);
    assert_int_equal(query(again, w, 0, NULL, r, 4), 1);
    kb_index_free(again);
    kb_index_free(index);
    kb_index_free(empty);
    free(file.data);
    free(file2.data);
    world_free(w);
}

/* ---- what removed images leave ---- */

static uint64_t bytes_of(const kb_index *index, size_t *positions)
{
    kb_index_info info;
    KB_INIT(info);
    assert_int_equal(kb_index_get_info(index, &info), KB_OK);
    if (positions) *positions = info.positions;
    return info.bytes;
}

/* Memory is that of the images that are there, and so are the scores, however many came and went. */
static void test_removed_images_take_no_memory(void **state)
{
    (void)state;
    enum { LIVE = 10, TURNS = 300 };
    world *w = world_create();
    kb_index *fresh = index_of(w, LIVE, 1), *index = index_of(w, 0, 1);
    size_t positions, most = 0;
    for (uint64_t i = 0; i < TURNS; i++) {
        kb_features f = features_of(w, i % LIVE);
        assert_int_equal(kb_index_add(index, &f, i, NULL, NULL, NULL), KB_OK);
        if (i >= LIVE) assert_int_equal(kb_index_remove(index, i - LIVE, NULL), KB_OK);
        bytes_of(index, &positions);
        most = positions > most ? positions : most;
    }
    assert_true(most <= 2 * LIVE + 1);
    assert_true(bytes_of(index, NULL) < 2 * bytes_of(fresh, NULL));
    kb_index_result a[LIVE], b[LIVE];
    size_t n = query(index, w, 3, NULL, a, LIVE);
    assert_int_equal(query(fresh, w, 3, NULL, b, LIVE), n);
    for (size_t i = 0; i < n; i++) assert_true(a[i].score == b[i].score);
    kb_index_free(index);
    kb_index_free(fresh);
    world_free(w);
}

static void test_compact(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, 9, 1);
    kb_index_image image;
    kb_features kept;
    size_t positions;
    KB_INIT(image);
    KB_INIT(kept);
    kb_index_remove(index, 103, NULL);
    assert_int_equal(kb_index_get_image(index, 3, &image, &kept, NULL), KB_OK);
    assert_true(image.removed && kept.rows == NULL && kept.n == 0);
    assert_string_equal(image.name, "");
    kb_index_result before[9], after[9];
    size_t n = query(index, w, 4, NULL, before, 9);
    memory_file one = {0}, two = {0};
    assert_int_equal(kb_index_save(index, memory_write, &one), KB_OK);
    bytes_of(index, &positions);
    assert_int_equal(positions, 9); /* saving changes nothing */
    assert_int_equal(kb_index_compact(index), KB_OK);
    bytes_of(index, &positions);
    assert_int_equal(positions, 8);
    assert_int_equal(kb_index_get_image(index, 3, &image, NULL, NULL), KB_OK);
    assert_true(image.id == 104 && !image.removed);
    assert_int_equal(query(index, w, 4, NULL, after, 9), n);
    for (size_t i = 0; i < n; i++) assert_true(before[i].id == after[i].id && before[i].score == after[i].score);
    assert_int_equal(kb_index_compact(index), KB_OK);
    assert_int_equal(kb_index_save(index, memory_write, &two), KB_OK);
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.data, two.data, one.size);
    assert_int_equal(kb_index_compact(NULL), KB_E_ARGUMENT);
    free(one.data);
    free(two.data);
    kb_index_free(index);
    world_free(w);
}

/* A threshold that holds for a few images holds for many: the score of a pair does not depend on the others. */
static void test_scores_do_not_fall(void **state)
{
    (void)state;
    enum { MANY = 2100 };
    world *w = world_create();
    kb_index *index = index_of(w, 1, 0);
    kb_index_result few, many;
    assert_int_equal(query(index, w, PLACES, NULL, &few, 1), 1);
    kb_features other = features_of(w, 1);
    other.n = 3;
    for (uint64_t i = 1; i < MANY; i++) assert_int_equal(kb_index_add(index, &other, i, NULL, NULL, NULL), KB_OK);
    assert_int_equal(query(index, w, PLACES, NULL, &many, 1), 1);
    assert_int_equal(many.position, 0);
    assert_true(many.score == few.score);
    kb_index_free(index);
    world_free(w);
}

/* ---- the file ---- */

static void test_file(void **state)
{
    (void)state;
    world *w = world_create();
    for (int32_t keep = 0; keep < 2; keep++) {
        kb_index *index = index_of(w, 25, keep), *again;
        memory_file file = {0};
        assert_int_equal(kb_index_save(index, memory_write, &file), KB_OK);
        assert_int_equal(kb_index_load(file.data, file.size, NULL, &again, NULL), KB_OK);
        assert_int_equal(kb_index_check(again), KB_OK);
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
        kb_status status = kb_index_load(file.data, cut, NULL, &again, &error);
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
        if (kb_index_load(file.data, file.size, NULL, &again, &error) == KB_OK) {
            size_t count;
            kb_index_query_options o;
            KB_INIT(o);
            o.verify = 3;
            assert_int_equal(kb_index_check(again), KB_E_CHECKSUM);
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
        assert_int_equal(kb_index_load(file.data, file.size, NULL, &again, NULL), KB_OK);
        assert_int_equal(kb_index_check(again), KB_OK);
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

/* ---- verification, exact search, loops ---- */

static void test_verification(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, PLACES, 1);
    kb_index_query_options o;
    KB_INIT(o);
    kb_index_result results[PLACES];
    for (int exact = 0; exact < 2; exact++) {
        o.scoring = exact ? KB_SCORING_EXACT : KB_SCORING_BINARY;
        o.verify = 4;
        for (size_t q = PLACES; q < IMAGES; q += 4) {
            size_t count = query(index, w, q, &o, results, PLACES);
            assert_true(count >= 4);
            assert_int_equal(results[0].position, q - PLACES);
            assert_true(results[0].inliers > EACH / 2);
            assert_float_equal(results[0].model[2], -5, 0.3); /* the shift, back */
            assert_float_equal(results[0].model[5], 3, 0.3);
            assert_true(results[1].inliers < 15);
            assert_int_equal(results[3].inliers >= 0, 1);
            if (count > 4) assert_int_equal(results[4].inliers, -1);
        }
    }
    kb_index_free(index);
    world_free(w);
}

/* An image is at most as similar to itself as can be, whatever the roots of its number of rows are rounded to. */
/* An image that looks more alike without being the same place comes behind the one whose geometry was found. */
static void test_verified_come_first(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, 0, 1);
    kb_keypoint scattered[EACH];
    uint64_t seed = 3;
    kb_features alike = features_of(w, PLACES), place = features_of(w, 0);
    for (size_t i = 0; i < EACH; i++) {
        scattered[i] = alike.keypoints[i];
        scattered[i].x = (float)kbi_random_below(&seed, 600);
        scattered[i].y = (float)kbi_random_below(&seed, 400);
    }
    alike.keypoints = scattered; /* the rows of the query itself */
    place.n = 40;
    assert_int_equal(kb_index_add(index, &alike, 1, NULL, NULL, NULL), KB_OK);
    assert_int_equal(kb_index_add(index, &place, 2, NULL, NULL, NULL), KB_OK);
    kb_index_query_options o;
    kb_index_result results[2];
    KB_INIT(o);
    o.verify = 2;
    assert_int_equal(query(index, w, PLACES, &o, results, 2), 2);
    assert_true(results[0].id == 2 && results[0].inliers > 20);
    assert_true(results[1].id == 1 && results[1].inliers == 0 && results[1].score > results[0].score);
    kb_index_free(index);
    world_free(w);
}

static void test_scores_end_at_one(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index_query_options o;
    KB_INIT(o);
    o.scoring = KB_SCORING_EXACT;
    for (size_t n = 1; n <= EACH; n++) {
        kb_features f = features_of(w, 0);
        kb_index *index = index_of(w, 0, 1);
        kb_index_result result;
        size_t count;
        f.n = n;
        assert_int_equal(kb_index_add(index, &f, 1, NULL, NULL, NULL), KB_OK);
        for (o.verify = 0; o.verify < 2; o.verify++) {
            assert_int_equal(kb_index_query(index, &f, &o, NULL, &result, 1, &count, NULL), KB_OK);
            assert_int_equal(count, 1);
            assert_true(result.score <= 1);
            if (o.verify == 0) assert_true(result.score > 0.9);
        }
        kb_index_free(index);
    }
    world_free(w);
}

static bool loop_found(kb_loop_detector *d, const kb_features *f)
{
    kb_loop loop;
    KB_INIT(loop);
    assert_int_equal(kb_loop_detector_add(d, f, NULL, &loop, NULL), KB_OK);
    return loop.found;
}

/* An image that is as like to one place as to another is no loop. */
static void test_loops_are_of_one_place(void **state)
{
    (void)state;
    world *w = world_create();
    kb_loop_detector *d;
    kb_loop_options o;
    kb_keypoint keypoints[EACH];
    uint8_t rows[EACH][BYTES];
    KB_INIT(o);
    o.window = 5;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_OK);
    for (size_t i = 0; i < PLACES; i++) {
        kb_features f = features_of(w, i);
        assert_false(loop_found(d, &f));
    }
    kb_features second = features_of(w, PLACES), both = second;
    for (size_t k = 0; k < EACH; k++) { /* alternately of place 0 and of one far from it */
        kb_features f = k % 2 ? features_of(w, PLACES + PLACES / 2) : second;
        keypoints[k] = f.keypoints[k];
        memcpy(rows[k], (const uint8_t *)f.rows + k * BYTES, BYTES);
    }
    both.keypoints = keypoints;
    both.rows = rows;
    assert_false(loop_found(d, &both));
    assert_true(loop_found(d, &second));
    kb_loop_detector_free(d);
    world_free(w);
}

static void test_loops(void **state)
{
    (void)state;
    world *w = world_create();
    kb_loop_detector *d;
    kb_loop_options o;
    KB_INIT(o);
    o.window = 5;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_OK);
    int32_t checked = 0;
    for (size_t i = 0; i < IMAGES; i++) {
        kb_loop loop;
        KB_INIT(loop);
        kb_features f = features_of(w, i);
        assert_int_equal(kb_loop_detector_add(d, &f, NULL, &loop, NULL), KB_OK);
        assert_int_equal(loop.found, i >= PLACES);
        assert_int_equal(loop.query, i);
        checked += loop.checked;
        if (!loop.found) continue;
        assert_int_equal(loop.reference, i - PLACES);
        assert_true(loop.inliers > EACH / 2);
        assert_float_equal(loop.model[2], -5, 0.3);
        assert_in_range(loop.reference, loop.island_first, loop.island_last);
    }
    assert_true(checked <= 4 * IMAGES); /* two of islands, two of other places */
    for (size_t i = PLACES; i < IMAGES; i++) { /* a third pass, as like to the first as to the second */
        kb_loop loop;
        KB_INIT(loop);
        kb_features f = features_of(w, i);
        assert_int_equal(kb_loop_detector_add(d, &f, NULL, &loop, NULL), KB_OK);
        assert_true(loop.found && loop.reference % PLACES == i - PLACES);
    }
    kb_features bare = features_of(w, 0);
    kb_loop none;
    KB_INIT(none);
    bare.keypoints = NULL;
    assert_int_equal(kb_loop_detector_add(d, &bare, NULL, &none, NULL), KB_E_ARGUMENT);
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, NULL, NULL), KB_E_ARGUMENT);
    kb_loop_detector_free(d);
    o.window = -1;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_E_ARGUMENT);
    o.window = 5;
    o.geometry = KB_GEOMETRY_ESSENTIAL; /* needs cameras */
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_E_ARGUMENT);
    o.geometry = KB_GEOMETRY_SIMILARITY;
    o.threshold = NAN;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_E_ARGUMENT);
    world_free(w);
}

static void test_wrong_use(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, 2, 0);
    kb_index_query_options o;
    kb_index_result r[2];
    size_t count;
    kb_error error;
    kb_features f = features_of(w, 0);
    KB_INIT(o);
    o.verify = 1;
    assert_int_equal(kb_index_query(index, &f, &o, NULL, r, 2, &count, &error), KB_E_KIND);
    o.verify = 0;
    o.scoring = KB_SCORING_EXACT;
    assert_int_equal(kb_index_query(index, &f, &o, NULL, r, 2, &count, &error), KB_E_KIND);
    o.scoring = (kb_scoring)9;
    assert_int_equal(kb_index_query(index, &f, &o, NULL, r, 2, &count, &error), KB_E_ARGUMENT);
    f.width = -1;
    assert_int_equal(kb_index_add(index, &f, 1, NULL, NULL, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "an image of -1 x"));
    f.width = 0;
    f.row_bytes = 16;
    assert_int_equal(kb_index_query(index, &f, NULL, NULL, r, 2, &count, &error), KB_E_MODEL);
    assert_int_equal(kb_index_add(index, &f, 1, NULL, NULL, &error), KB_E_MODEL);
    f = features_of(w, 0);
    f.n = 0;
    assert_int_equal(kb_index_add(index, &f, 1, NULL, NULL, &error), KB_OK); /* an image without rows is one */
    assert_int_equal(kb_index_query(index, &f, NULL, NULL, r, 2, &count, &error), KB_OK);
    assert_int_equal(count, 0);
    kb_index *keeps = index_of(w, 1, 1);
    f = features_of(w, 0);
    f.keypoints = NULL;
    assert_int_equal(kb_index_add(keeps, &f, 1, NULL, NULL, &error), KB_E_ARGUMENT);
    KB_INIT(o);
    o.verify = 1;
    assert_int_equal(kb_index_query(keeps, &f, &o, NULL, r, 2, &count, &error), KB_E_ARGUMENT);
    kb_index_options no;
    KB_INIT(no);
    no.no_signatures = 1;
    kb_index *words;
    assert_int_equal(kb_index_create(w->vocabulary, &no, NULL, &words, NULL), KB_OK);
    assert_int_equal(kb_index_add(words, &f, 1, NULL, NULL, &error), KB_OK);
    assert_int_equal(kb_index_query(words, &f, NULL, NULL, r, 2, &count, &error), KB_E_KIND);
    KB_INIT(o);
    o.scoring = KB_SCORING_TF_IDF;
    assert_int_equal(kb_index_query(words, &f, &o, NULL, r, 2, &count, &error), KB_OK);
    assert_int_equal(count, 1);
    kb_index_free(words);
    kb_index_free(keeps);
    kb_index_free(index);
    kb_index_free(NULL);
    kb_loop_detector_free(NULL);
    assert_int_equal(kb_index_create(NULL, NULL, NULL, &index, NULL), KB_E_ARGUMENT);
    world_free(w);
}

/* Rows are looked for in more words: what was found stays, and more is. */
static void test_probes(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, IMAGES, 0);
    kb_index_query_options o;
    kb_index_result few[IMAGES], more[IMAGES], standard[IMAGES];
    double sum[2] = {0, 0};
    KB_INIT(o);
    for (size_t q = 0; q < IMAGES; q++) {
        o.probes = 1;
        query(index, w, q, &o, few, IMAGES);
        o.probes = 2;
        size_t count = query(index, w, q, &o, more, IMAGES);
        assert_int_equal(query(index, w, q, NULL, standard, IMAGES), count); /* the default */
        for (size_t r = 0; r < count; r++)
            assert_true(standard[r].position == more[r].position && standard[r].score == more[r].score);
        assert_int_equal(more[0].position, q);
        assert_true(fabs(more[0].score - 1) < 1e-9);
        assert_int_equal(more[1].position, (q + PLACES) % IMAGES);
        assert_true(more[1].score >= few[1].score);
        sum[0] += few[1].score;
        sum[1] += more[1].score;
    }
    assert_true(sum[1] > 1.02 * sum[0]);
    kb_features f = features_of(w, 0);
    size_t count;
    o.probes = KB_MAX_PROBES;
    assert_int_equal(kb_index_query(index, &f, &o, NULL, more, 1, &count, NULL), KB_OK);
    assert_int_equal(more[0].position, 0);
    for (int32_t wrong = -1; wrong <= KB_MAX_PROBES + 1; wrong += KB_MAX_PROBES + 2) {
        o.probes = wrong;
        assert_int_equal(kb_index_query(index, &f, &o, NULL, more, 1, &count, NULL), KB_E_ARGUMENT);
    }
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

typedef struct memory_count {
    size_t live, calls, fail_at; /* the call that fails; 0: none */
} memory_count;

static void *count_allocate(void *self, size_t bytes)
{
    memory_count *c = self;
    if (++c->calls == c->fail_at) return NULL;
    c->live++;
    return malloc(bytes);
}

static void count_release(void *self, void *memory)
{
    ((memory_count *)self)->live--;
    free(memory);
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
    size_t size;
    KB_INIT(loop);
    KB_INIT(o);
    KB_INIT(keep);
    o.levels = 2;
    keep.keep_features = 1;
    kb_status status = kb_vocabulary_train(w->rows[0], 4 * EACH, BYTES, &o, allocator, &vocabulary, NULL);
    const void *file = kb_vocabulary_data(vocabulary, &size);
    if (status == KB_OK) status = kb_vocabulary_load(file, size, allocator, &view, NULL);
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

/* A call that fails leaves the detector as it was: what follows is what would have followed. */
static void test_failed_loops_leave_no_trace(void **state)
{
    (void)state;
    world *w = world_create();
    memory_count c = {0};
    const kb_allocator allocator = {count_allocate, count_release, &c};
    kb_loop_options o;
    kb_loop_detector *tried, *plain;
    kb_loop a, b;
    KB_INIT(a);
    KB_INIT(b);
    KB_INIT(o);
    o.window = 2;
    o.min_score = 100;
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, &allocator, &tried, NULL), KB_OK);
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &plain, NULL), KB_OK);
    for (size_t i = 0; i < IMAGES; i++) {
        kb_features f = features_of(w, i), nothing = f;
        nothing.n = 0; /* 0 is its score with the image before, and would be the median soon */
        for (size_t fail = 1; i > 0 && fail <= 2; fail++) {
            c.fail_at = c.calls + fail;
            assert_int_equal(kb_loop_detector_add(tried, &nothing, NULL, &a, NULL), KB_E_MEMORY);
        }
        c.fail_at = 0;
        assert_int_equal(kb_loop_detector_add(tried, &f, NULL, &a, NULL), KB_OK);
        assert_int_equal(kb_loop_detector_add(plain, &f, NULL, &b, NULL), KB_OK);
        assert_memory_equal(&a, &b, sizeof a);
    }
    assert_true(b.checked > 0);
    kb_loop_detector_free(tried);
    kb_loop_detector_free(plain);
    assert_int_equal(c.live, 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tf_idf_is_that_of_dbow2), cmocka_unit_test(test_binary_score),
        cmocka_unit_test(test_first_images_and_capacity), cmocka_unit_test(test_remove_leaves_no_trace),
        cmocka_unit_test(test_removed_all), cmocka_unit_test(test_file), cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_verification),
        cmocka_unit_test(test_verified_come_first), cmocka_unit_test(test_scores_end_at_one), cmocka_unit_test(test_loops),
        cmocka_unit_test(test_loops_are_of_one_place), cmocka_unit_test(test_wrong_use),
        cmocka_unit_test(test_probes), cmocka_unit_test(test_kept_features), cmocka_unit_test(test_memory_of_the_caller),
        cmocka_unit_test(test_removed_images_take_no_memory), cmocka_unit_test(test_compact),
        cmocka_unit_test(test_scores_do_not_fall), cmocka_unit_test(test_scores_of_a_forged_index),
        cmocka_unit_test(test_failed_loops_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
