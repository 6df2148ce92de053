/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary: training, words, the file, wrong input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "common/common.h"
#include "keybits/index.h"
#include "index/index.h"

enum { ROWS = 6000, BYTES = 32, CENTRES = 300 };

/* Rows around random centres, each bit changed with a chance of 1/16. */
static uint8_t *clustered_rows(size_t n, size_t bytes, size_t centres, uint64_t seed)
{
    uint8_t *centre = malloc(centres * bytes), *rows = malloc(n * bytes);
    for (size_t i = 0; i < centres * bytes; i++) centre[i] = (uint8_t)kbi_random_next(&seed);
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < bytes; b++) {
            uint64_t r = kbi_random_next(&seed);
            uint8_t noise = (uint8_t)(r & r >> 8 & r >> 16 & r >> 24);
            rows[i * bytes + b] = centre[i % centres * bytes + b] ^ noise;
        }
    }
    free(centre);
    return rows;
}

static kb_vocabulary *train(const uint8_t *rows, size_t n, size_t bytes, int32_t branching, int32_t levels,
                            const kb_parallel *parallel)
{
    kb_vocabulary_options o;
    kb_vocabulary *v;
    kb_error error;
    KB_INIT(o);
    o.branching = branching;
    o.levels = levels;
    o.seed = 3;
    o.parallel = parallel;
    assert_int_equal(kb_vocabulary_train(rows, n, bytes, &o, NULL, &v, &error), KB_OK);
    return v;
}

static kb_features features_of(const uint8_t *rows, size_t n, size_t bytes)
{
    kb_features f;
    KB_INIT(f);
    f.rows = (void *)(uintptr_t)rows;
    f.n = n;
    f.row_bytes = bytes;
    return f;
}

static kb_vocabulary_info info_of(const kb_vocabulary *v)
{
    kb_vocabulary_info info;
    KB_INIT(info);
    assert_int_equal(kb_vocabulary_get_info(v, &info), KB_OK);
    return info;
}

/* The word of a row by the public view of the tree alone. */
static uint32_t word_by_hand(const kb_vocabulary *v, const uint8_t *row, size_t bytes, uint32_t *path, int *depth)
{
    kb_vocabulary_node node, child;
    *depth = 0;
    assert_true(kb_vocabulary_get_node(v, 0, &node));
    while (node.children > 0) {
        int32_t best = INT32_MAX;
        uint32_t chosen = 0;
        for (uint32_t c = 0; c < node.children; c++) {
            assert_true(kb_vocabulary_get_node(v, node.first_child + c, &child));
            int32_t d = kb_hamming(row, child.row, bytes);
            if (d < best) best = d, chosen = node.first_child + c;
        }
        path[(*depth)++] = chosen;
        kb_vocabulary_get_node(v, chosen, &node);
    }
    return node.word;
}

static void test_words_follow_the_tree(void **state)
{
    (void)state;
    static const size_t lengths[] = {5, 16, 32, 64, 100};
    for (size_t l = 0; l < KBI_COUNT(lengths); l++) {
        size_t bytes = lengths[l];
        int32_t branching = l == 2 ? 40 : 7;
        uint8_t *rows = clustered_rows(2000, bytes, 200, l);
        kb_vocabulary *v = train(rows, 2000, bytes, branching, 3, NULL);
        uint32_t *words = malloc(2000 * 4), *nodes = malloc(2000 * 4), path[64];
        kb_features f = features_of(rows, 2000, bytes);
        kb_words_options options;
        KB_INIT(options);
        for (int32_t up = 0; up < 4; up++) {
            options.levels_up = up;
            assert_int_equal(kb_vocabulary_words(v, &f, &options, words, nodes, NULL), KB_OK);
            for (size_t i = 0; i < 2000; i++) {
                int depth;
                assert_int_equal(words[i], word_by_hand(v, rows + i * bytes, bytes, path, &depth));
                assert_int_equal(nodes[i], up < depth ? path[depth - 1 - up] : 0);
            }
        }
        free(words);
        free(nodes);
        free(rows);
        kb_vocabulary_free(v);
    }
}

/* Rows of one centre share a word far more often than rows of two. */
static void test_clusters_become_words(void **state)
{
    (void)state;
    uint8_t *rows = clustered_rows(ROWS, BYTES, CENTRES, 1);
    kb_vocabulary *v = train(rows, ROWS, BYTES, 10, 3, NULL);
    uint32_t words[ROWS];
    kb_features f = features_of(rows, ROWS, BYTES);
    assert_int_equal(kb_vocabulary_words(v, &f, NULL, words, NULL, NULL), KB_OK);
    int same = 0, other = 0;
    for (int i = 0; i + CENTRES + 1 < ROWS; i++) {
        same += words[i] == words[i + CENTRES];
        other += words[i] == words[i + CENTRES + 1];
    }
    kb_vocabulary_info info = info_of(v);
    assert_in_range(info.words, 500, 1000);
    assert_true(same > (ROWS - CENTRES) / 3);
    assert_true(other < same / 20);
    free(rows);
    kb_vocabulary_free(v);
}

static void test_threads_do_not_matter(void **state)
{
    (void)state;
    uint8_t *rows = clustered_rows(70000, 16, 500, 2);
    kb_vocabulary *one = train(rows, 70000, 16, 10, 4, NULL);
    for (int32_t threads = 2; threads <= 5; threads += 3) {
        kb_parallel *pool;
        assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
        kb_vocabulary *many = train(rows, 70000, 16, 10, 4, pool);
        kb_vocabulary_info a = info_of(one), b = info_of(many);
        assert_int_equal(a.bytes, b.bytes);
        assert_memory_equal(a.data, b.data, a.bytes);
        kb_vocabulary_free(many);
        kb_pool_free(pool);
    }
    free(rows);
    kb_vocabulary_free(one);
}

/* The weights are those of the definition, counted by hand. */
static void test_weights(void **state)
{
    (void)state;
    enum { IMAGES = 20, EACH = 300 };
    uint8_t *rows = clustered_rows(IMAGES * EACH, BYTES, 700, 4);
    size_t ends[IMAGES];
    for (size_t i = 0; i < IMAGES; i++) ends[i] = (i + 1) * EACH;
    kb_vocabulary_options o;
    kb_vocabulary *v;
    KB_INIT(o);
    o.levels = 2;
    o.image_ends = ends;
    o.images = IMAGES;
    assert_int_equal(kb_vocabulary_train(rows, IMAGES * EACH, BYTES, &o, NULL, &v, NULL), KB_OK);
    static uint32_t words[IMAGES * EACH];
    kb_features f = features_of(rows, IMAGES * EACH, BYTES);
    assert_int_equal(kb_vocabulary_words(v, &f, NULL, words, NULL, NULL), KB_OK);
    for (uint32_t n = 0, word = 0; n < info_of(v).nodes; n++) {
        kb_vocabulary_node node;
        kb_vocabulary_get_node(v, n, &node);
        if (node.children > 0) continue;
        int with = 0;
        for (size_t i = 0; i < IMAGES; i++) {
            int has = 0;
            for (size_t k = 0; k < EACH; k++) has |= words[i * EACH + k] == word;
            with += has;
        }
        assert_int_equal(node.word, word++);
        assert_float_equal(node.weight, kbi_log((double)IMAGES / with), 1e-6);
    }
    free(rows);
    kb_vocabulary_free(v);
}

static void test_logarithm(void **state)
{
    (void)state;
    for (int i = -600; i <= 600; i += 7) {
        double x = i * 0.5;
        assert_true(kbi_log(kbi_exp(x)) - x < 1e-12 && kbi_log(kbi_exp(x)) - x > -1e-12);
    }
    assert_true(kbi_log(1) == 0);
}

static void test_few_rows(void **state)
{
    (void)state;
    uint8_t rows[8 * BYTES];
    memset(rows, 0x5a, sizeof rows);
    kb_vocabulary *v = train(rows, 8, BYTES, 10, 4, NULL); /* all alike */
    assert_int_equal(info_of(v).words, 1);
    uint32_t word = 9;
    kb_features f = features_of(rows, 1, BYTES);
    assert_int_equal(kb_vocabulary_words(v, &f, NULL, &word, NULL, NULL), KB_OK);
    assert_int_equal(word, 0);
    kb_vocabulary_free(v);
    v = train(rows, 1, BYTES, 2, 1, NULL);
    assert_int_equal(info_of(v).words, 1);
    kb_vocabulary_free(v);
    for (size_t i = 0; i < 8; i++) rows[i * BYTES] = (uint8_t)(1 << i);
    v = train(rows, 8, BYTES, 10, 4, NULL); /* fewer than children */
    assert_int_equal(info_of(v).words, 8);
    kb_vocabulary_free(v);
}

static void test_counter(void **state)
{
    (void)state;
    enum { N = 1001 };
    uint64_t seed = 9, narrow[5];
    uint32_t wide[40], by_hand[40] = {0};
    kbi_bit_counter c = {narrow, wide, 0, 0};
    uint8_t row[5], majority[5] = {0};
    kbi_bit_counter_clear(&c, 5);
    for (int i = 0; i < N; i++) {
        for (int b = 0; b < 5; b++) row[b] = (uint8_t)kbi_random_next(&seed);
        for (int b = 0; b < 40; b++) by_hand[b] += row[b / 8] >> (7 - b % 8) & 1;
        kbi_bit_counter_add(&c, row, 5);
    }
    kbi_bit_counter_majority(&c, 5, majority);
    for (int b = 0; b < 40; b++) assert_int_equal(majority[b / 8] >> (7 - b % 8) & 1, 2 * by_hand[b] > N);
    /* a tie keeps the bit */
    kbi_bit_counter_clear(&c, 5);
    memset(row, 0xff, 5);
    kbi_bit_counter_add(&c, row, 5);
    memset(row, 0, 5);
    kbi_bit_counter_add(&c, row, 5);
    memset(majority, 0xa5, 5);
    kbi_bit_counter_majority(&c, 5, majority);
    assert_int_equal(majority[3], 0xa5);
}

/* ---- the file ---- */

static void test_load_and_damage(void **state)
{
    (void)state;
    uint8_t *rows = clustered_rows(500, BYTES, 50, 5);
    kb_vocabulary *v = train(rows, 500, BYTES, 5, 2, NULL), *again;
    size_t size = info_of(v).bytes;
    uint8_t *copy = malloc(size + 8);
    memcpy(copy, info_of(v).data, size);
    assert_int_equal(kb_vocabulary_load(copy, size, NULL, &again, NULL), KB_OK);
    assert_ptr_equal(info_of(again).data, copy); /* borrowed, not copied */
    kb_vocabulary_free(again);
    kb_error error;
    for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 97) {
        kb_status status = kb_vocabulary_load(copy, cut, NULL, &again, &error);
        assert_true(status == KB_E_TRUNCATED || (cut < 8 && status == KB_E_FORMAT));
        assert_null(again);
    }
    assert_int_equal(kb_vocabulary_load(copy, size + 8, NULL, &again, &error), KB_E_TABLE);
    for (size_t i = 0; i < size; i++) {
        copy[i] ^= 0x10;
        assert_int_not_equal(kb_vocabulary_load(copy, size, NULL, &again, &error), KB_OK);
        copy[i] ^= 0x10;
    }
    free(copy);
    free(rows);
    kb_vocabulary_free(v);
}

/* A file whose checksum is right may still hold a tree that is none: it must be refused, not walked. */
static void test_wrong_trees(void **state)
{
    (void)state;
    uint8_t *rows = clustered_rows(500, BYTES, 50, 5);
    kb_vocabulary *v = train(rows, 500, BYTES, 5, 2, NULL), *again;
    const uint8_t *data = info_of(v).data;
    size_t size = info_of(v).bytes;
    uint8_t *copy = malloc(size);
    uint32_t nodes = info_of(v).nodes;
    static const uint32_t values[] = {0, 1, 2, 7, 1000, 0x7fffffff, 0xffffffff};
    for (size_t field = 0; field < 2 * (size_t)nodes; field++) {
        for (size_t k = 0; k < KBI_COUNT(values); k++) {
            memcpy(copy, data, size);
            uint8_t *at = copy + KBI_VOCABULARY_HEADER + 4 * field;
            if (kbi_get_u32(at) == values[k]) continue;
            kbi_put_u32(at, values[k]);
            uint64_t sum = kbi_sum_words(KBI_SUM_START, copy, 128);
            kbi_put_u64(copy + 128, kbi_sum_words(sum, copy + 136, size - 136));
            assert_int_equal(kb_vocabulary_load(copy, size, NULL, &again, NULL), KB_E_TABLE);
        }
    }
    free(copy);
    free(rows);
    kb_vocabulary_free(v);
}

/* A chain of nodes makes every row walk all of it: only so many levels are taken. */
static void test_deep_trees(void **state)
{
    (void)state;
    enum { DEEP = KBI_MAX_DEPTH + 1 };
    static const uint8_t rows[DEEP + 1];
    uint32_t parents[DEEP + 1] = {0};
    double weights[DEEP + 1] = {0};
    for (uint32_t i = 1; i <= DEEP; i++) parents[i] = i - 1;
    kb_vocabulary_spec s;
    kb_vocabulary *v;
    kb_error error;
    KB_INIT(s);
    s.parents = parents;
    s.rows = rows;
    s.weights = weights;
    s.row_bytes = 1;
    s.branching = s.levels = 1;
    s.nodes = DEEP; /* with the root: 64 levels */
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_OK);
    uint32_t word, node;
    kb_features f;
    kb_words_options o;
    KB_INIT(f);
    KB_INIT(o);
    f.rows = (void *)(uintptr_t)rows;
    f.n = f.row_bytes = 1;
    o.levels_up = KBI_MAX_DEPTH - 1;
    assert_int_equal(kb_vocabulary_words(v, &f, &o, &word, &node, NULL), KB_OK);
    assert_int_equal(word, 0);
    assert_int_equal(node, 1);
    kb_vocabulary_free(v);
    s.nodes = DEEP + 1;
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_E_TABLE);
    assert_non_null(strstr(error.text, "level 64"));
}

/* A tree whose nodes are in any order becomes the same tree; one with adjacent children keeps its order. */
static void test_create(void **state)
{
    (void)state;
    uint8_t rows[7][4] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}};
    const double weights[7] = {0, 0, 0.5, 0.25, 0.125, 0.1, 4};
    const uint32_t scattered[7] = {0, 0, 0, 1, 0, 1, 1}, adjacent[7] = {0, 0, 0, 0, 1, 1, 1};
    kb_vocabulary_spec s;
    kb_vocabulary *v;
    kb_error error;
    kb_vocabulary_node node;
    KB_INIT(s);
    s.nodes = 7;
    s.parents = scattered;
    s.rows = rows[0];
    s.weights = weights;
    s.row_bytes = 4;
    s.branching = 3;
    s.levels = 2;
    s.scoring = 2;
    s.weighting = KB_WEIGHTING_IDF;
    s.model_id = 77;
    s.model_name = "strange";
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_OK);
    static const uint8_t breadth_first[7] = {0, 1, 2, 4, 3, 5, 6};
    for (uint32_t i = 0; i < 7; i++) {
        assert_true(kb_vocabulary_get_node(v, i, &node));
        assert_int_equal(node.row[0], breadth_first[i]);
        if (node.children == 0) assert_true(node.weight == weights[breadth_first[i]]);
    }
    kb_vocabulary_info info = info_of(v);
    assert_int_equal(info.words, 5);
    assert_int_equal(info.scoring, 2);
    assert_int_equal(info.weighting, KB_WEIGHTING_IDF);
    assert_int_equal(info.model_id, 77);
    assert_string_equal(info.model_name, "strange");
    kb_vocabulary_free(v);
    s.parents = adjacent;
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_OK);
    for (uint32_t i = 1; i < 7; i++) {
        kb_vocabulary_get_node(v, i, &node);
        assert_int_equal(node.row[0], i);
    }
    kb_vocabulary_free(v);
    const uint32_t backwards[7] = {0, 0, 3, 0, 0, 0, 0};
    s.parents = backwards;
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_E_TABLE);
    assert_non_null(strstr(error.text, "node 2"));
    s.parents = adjacent;
    const double negative[7] = {0, 0, 0, 0, 0, -1, 0};
    s.weights = negative;
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_E_TABLE);
    s.weights = weights;
    s.model_name = "a name of a model that is longer than the sixty-three bytes it may have";
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_E_TABLE);
    s.model_name = "strange";
    s.row_bytes = 0;
    assert_int_equal(kb_vocabulary_create(&s, NULL, &v, &error), KB_E_TABLE);
}

static void test_other_models_are_refused(void **state)
{
    (void)state;
    uint8_t rows[2 * BYTES] = {1};
    uint32_t words[2];
    kb_model *model;
    kb_vocabulary_options o;
    kb_vocabulary *v;
    kb_error error;
    if (kb_model_builtin("bad256", NULL, &model) != KB_OK) skip();
    KB_INIT(o);
    o.model = model;
    assert_int_equal(kb_vocabulary_train(rows, 2, 16, &o, NULL, &v, &error), KB_E_MODEL);
    assert_int_equal(kb_vocabulary_train(rows, 2, BYTES, &o, NULL, &v, &error), KB_OK);
    kb_vocabulary_info info = info_of(v);
    assert_string_equal(info.model_name, "bad256");
    kb_features f = features_of(rows, 2, BYTES);
    assert_int_equal(kb_vocabulary_words(v, &f, NULL, words, NULL, &error), KB_OK);
    f.model_id = info.model_id;
    assert_int_equal(kb_vocabulary_words(v, &f, NULL, words, NULL, &error), KB_OK);
    f.model_id++;
    assert_int_equal(kb_vocabulary_words(v, &f, NULL, words, NULL, &error), KB_E_MODEL);
    assert_non_null(strstr(error.text, "bad256"));
    f = features_of(rows, 2, 16);
    assert_int_equal(kb_vocabulary_words(v, &f, NULL, words, NULL, &error), KB_E_MODEL);
    assert_non_null(strstr(error.text, "16 bytes"));
    kb_vocabulary_free(v);
    kb_model_free(model);
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    uint8_t rows[4 * BYTES] = {0};
    kb_vocabulary *v;
    kb_vocabulary_options o;
    kb_error error;
    assert_int_equal(kb_vocabulary_train(NULL, 4, BYTES, NULL, NULL, &v, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_vocabulary_train(rows, 0, BYTES, NULL, NULL, &v, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_vocabulary_train(rows, 4, 4097, NULL, NULL, &v, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_vocabulary_train(rows, 4, BYTES, NULL, NULL, NULL, &error), KB_E_ARGUMENT);
    const int32_t branchings[] = {-1, 1, 257};
    for (size_t i = 0; i < KBI_COUNT(branchings); i++) {
        KB_INIT(o);
        o.branching = branchings[i];
        assert_int_equal(kb_vocabulary_train(rows, 4, BYTES, &o, NULL, &v, &error), KB_E_ARGUMENT);
    }
    KB_INIT(o);
    const size_t falling[] = {3, 2, 4}, early[] = {1, 2, 3};
    o.images = 3;
    o.image_ends = falling;
    assert_int_equal(kb_vocabulary_train(rows, 4, BYTES, &o, NULL, &v, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "image_ends[1]"));
    o.image_ends = early;
    assert_int_equal(kb_vocabulary_train(rows, 4, BYTES, &o, NULL, &v, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_vocabulary_load(NULL, 0, NULL, &v, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_vocabulary_get_node(NULL, 0, NULL), 0);
    kb_vocabulary_free(NULL);
}

typedef struct reports {
    size_t calls, last, stop_at;
} reports;

static int32_t count_report(void *context, size_t done, size_t total)
{
    reports *r = context;
    assert_true(done > r->last && done <= total);
    r->last = done;
    return ++r->calls != r->stop_at;
}

static void test_training_reports_and_stops(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    static uint8_t rows[ROWS * 8];
    uint64_t seed = 4;
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)kbi_random_next(&seed);
    kb_vocabulary_options o;
    kb_vocabulary *v;
    kb_error error;
    reports r = {0, 0, 0};
    KB_INIT(o);
    o.levels = 3;
    o.report = count_report;
    o.report_context = &r;
    assert_int_equal(kb_vocabulary_train(rows, ROWS, 8, &o, NULL, &v, &error), KB_OK);
    assert_true(r.calls == 3 && r.last == 3 * ROWS);
    kb_vocabulary_free(v);
    r = (reports){0, 0, 2};
    assert_int_equal(kb_vocabulary_train(rows, ROWS, 8, &o, NULL, &v, &error), KB_E_STOPPED);
    assert_null(v);
    assert_string_equal(error.text, kb_status_string(KB_E_STOPPED));
    assert_int_equal(r.calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_follow_the_tree), cmocka_unit_test(test_clusters_become_words),
        cmocka_unit_test(test_threads_do_not_matter), cmocka_unit_test(test_weights),
        cmocka_unit_test(test_logarithm),             cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_counter),               cmocka_unit_test(test_load_and_damage),
        cmocka_unit_test(test_wrong_trees), cmocka_unit_test(test_deep_trees),           cmocka_unit_test(test_create),
        cmocka_unit_test(test_other_models_are_refused), cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_training_reports_and_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
