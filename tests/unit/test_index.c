/* SPDX-License-Identifier: Apache-2.0 */
/* The index: scores against short independent implementations, incremental adding, removal, verification. */
#include <math.h>

#include "index_world.h"

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
        kb_error error;
        o.probes = wrong;
        assert_int_equal(kb_index_query(index, &f, &o, NULL, more, 1, &count, &error), KB_E_ARGUMENT);
        assert_string_equal(error.field, "probes");
    }
    kb_index_free(index);
    world_free(w);
}

/* ---- adding, removing, limits ---- */

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
    assert_int_equal(kb_index_load(file.data, file.size, 0, NULL, &again, NULL), KB_OK);
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

/* ---- verification, exact search ---- */

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

/* An image is at most as similar to itself as can be, whatever the roots of its number of rows are rounded to. */
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

/* ---- wrong use ---- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tf_idf_is_that_of_dbow2),
        cmocka_unit_test(test_binary_score),
        cmocka_unit_test(test_scores_do_not_fall),
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_first_images_and_capacity),
        cmocka_unit_test(test_remove_leaves_no_trace),
        cmocka_unit_test(test_removed_all),
        cmocka_unit_test(test_removed_images_take_no_memory),
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_verification),
        cmocka_unit_test(test_verified_come_first),
        cmocka_unit_test(test_scores_end_at_one),
        cmocka_unit_test(test_wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
