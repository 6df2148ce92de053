/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies, indexes and loops. */
#include "hash.h"

static kb_status add_written(void *h, const void *data, size_t size)
{
    add_bytes(h, data, size);
    return KB_OK;
}

/* An index of 30 images of 100 rows, its scores, and its file. */
static void add_index(hash *h, const kb_vocabulary *vocabulary, kb_features features)
{
    kb_index *index;
    kb_index_result results[30];
    must(kb_index_create(vocabulary, NULL, NULL, &index, NULL), "index");
    uint8_t *rows = features.rows;
    features.n = 100;
    for (size_t i = 0; i < 30; i++) {
        features.rows = rows + i * 100 * features.row_bytes;
        must(kb_index_add(index, &features, i, "", NULL, NULL), "add");
    }
    for (int scoring = KB_SCORING_BINARY; scoring <= KB_SCORING_TF_IDF; scoring++) {
        kb_index_query_options options;
        size_t count;
        KB_INIT(options);
        options.scoring = (kb_scoring)scoring;
        must(kb_index_query(index, &features, &options, NULL, results, 30, &count, NULL), "query");
        add_u64(h, count);
        for (size_t i = 0; i < count; i++) {
            add_u64(h, results[i].id);
            add_double(h, results[i].score);
        }
    }
    must(kb_index_save(index, add_written, h), "save");
    kb_index_free(index);
}

/* Rows near few centres, so that words are shared and bits are tied. */
void section_index(hash *h, scene *s)
{
    enum { BYTES = 24, N = 3000 };
    static uint8_t rows[N * BYTES];
    static uint32_t words[N], nodes[N];
    static const size_t ends[] = {1000, 1700, 1700, N};
    uint64_t seed = 50;
    for (size_t i = 0; i < sizeof rows; i++) {
        uint64_t r = kbi_random_next(&seed);
        rows[i] = (uint8_t)((i >= 60 * BYTES ? rows[i - 60 * BYTES] : r >> 32) ^ (r & r >> 8 & r >> 16));
    }
    kb_vocabulary_options options;
    KB_INIT(options);
    options.branching = 6;
    options.levels = 3;
    options.image_ends = ends;
    options.images = KBI_COUNT(ends);
    options.parallel = s->pool;
    kb_vocabulary *vocabulary;
    must(kb_vocabulary_train(rows, N, BYTES, &options, NULL, &vocabulary, NULL), "vocabulary");
    kb_vocabulary_info info;
    KB_INIT(info);
    must(kb_vocabulary_get_info(vocabulary, &info), "vocabulary");
    add_bytes(h, info.data, info.bytes);
    kb_features features;
    KB_INIT(features);
    features.rows = rows;
    features.n = N;
    features.row_bytes = BYTES;
    kb_words_options word_options;
    KB_INIT(word_options);
    word_options.levels_up = 1;
    word_options.parallel = options.parallel;
    must(kb_vocabulary_words(vocabulary, &features, &word_options, words, nodes, NULL), "words");
    for (size_t i = 0; i < N; i++) add_u64(h, (uint64_t)words[i] << 32 | nodes[i]);
    add_index(h, vocabulary, features);
    kb_vocabulary_free(vocabulary);
}

static void add_loop(hash *h, const kb_loop *loop)
{
    add_u64(h, (uint64_t)loop->found);
    add_u64(h, loop->reference);
    add_u64(h, (uint64_t)loop->inliers);
    add_double(h, loop->score);
    for (int i = 0; i < 9; i++) add_double(h, loop->model[i]);
}

static void add_search(hash *h, const kb_index *index, const kb_features *f, kb_geometry geometry)
{
    for (int scoring = KB_SCORING_BINARY; scoring <= KB_SCORING_EXACT; scoring++) {
        kb_index_query_options o;
        kb_index_result results[4];
        size_t count;
        KB_INIT(o);
        o.scoring = (kb_scoring)scoring;
        o.verify = 2;
        o.geometry = geometry;
        must(kb_index_query(index, f, &o, NULL, results, 4, &count, NULL), "search");
        for (size_t k = 0; k < count; k++) {
            add_u64(h, results[k].position);
            add_u64(h, (uint64_t)results[k].inliers);
            add_double(h, results[k].score);
            for (int m = 0; m < 9; m++) add_double(h, results[k].model[m]);
        }
    }
}

enum { PLACES = 20, PLACE_ROWS = 100, PLACE_BYTES = 16 };

/* Loop closing, and verified search in an index of the first time, from which some were removed. */
static void add_places(hash *h, const kb_vocabulary *vocabulary, const uint8_t *rows,
                       kb_keypoint keypoints[2][PLACE_ROWS])
{
    kb_index *index;
    kb_index_options keep = {.struct_size = sizeof keep, .keep_features = 1};
    kb_loop_detector *detector;
    kb_loop_options close = {.struct_size = sizeof close, .window = 3};
    must(kb_index_create(vocabulary, &keep, NULL, &index, NULL), "index of places");
    must(kb_loop_detector_create(vocabulary, &close, NULL, &detector, NULL), "loops");
    for (size_t i = 0; i < 2 * PLACES; i++) {
        kb_loop loop;
        KB_INIT(loop);
        kb_features f = arrays_features(keypoints[i / PLACES], rows + i % PLACES * PLACE_ROWS * PLACE_BYTES, PLACE_ROWS,
                                        PLACE_BYTES);
        must(kb_loop_detector_add(detector, &f, NULL, &loop, NULL), "loop");
        add_loop(h, &loop);
        if (i < PLACES) must(kb_index_add(index, &f, i / 2, "", NULL, NULL), "add a place");
        if (i == PLACES) must(kb_index_remove(index, 3, NULL), "remove");
        if (i >= PLACES) add_search(h, index, &f, i % 2 ? KB_GEOMETRY_SIMILARITY : KB_GEOMETRY_HOMOGRAPHY);
    }
    must(kb_index_save(index, add_written, h), "save places");
    kb_loop_detector_free(detector);
    kb_index_free(index);
}

/* Places that are seen twice, their keypoints moved the second time. */
void section_places(hash *h, scene *s)
{
    static uint8_t rows[PLACES * PLACE_ROWS * PLACE_BYTES];
    static kb_keypoint keypoints[2][PLACE_ROWS];
    uint64_t seed = 51;
    kb_vocabulary *vocabulary;
    kb_vocabulary_options options = {.struct_size = sizeof options, .branching = 8, .levels = 2};
    options.parallel = s->pool;
    for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)kbi_random_next(&seed);
    for (int i = 0; i < PLACE_ROWS; i++) {
        float x = (float)kbi_random_below(&seed, WIDTH), y = (float)kbi_random_below(&seed, HEIGHT);
        keypoints[0][i] = (kb_keypoint){x, y, 31, 0, 1, 0, -1};
        keypoints[1][i] = (kb_keypoint){x + 7, y - 3, 31, 0, 1, 0, -1};
    }
    must(kb_vocabulary_train(rows, PLACES * PLACE_ROWS, PLACE_BYTES, &options, NULL, &vocabulary, NULL),
         "words of places");
    add_places(h, vocabulary, rows, keypoints);
    kb_vocabulary_free(vocabulary);
}
