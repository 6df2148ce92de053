/* SPDX-License-Identifier: Apache-2.0 */
/* One model, one vocabulary and one index shared by many threads, each with a workspace of its own: the results are
 * those of one thread alone. The thread sanitizer watches. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/common.h"
#include "keybits/index.h"
#include "render.h"
#include "../arrays.h"

enum { THREADS = 6, ROUNDS = 4, IMAGES = 5, MOST = 200, WIDTH = 200, HEIGHT = 160 };

typedef struct view {
    uint8_t *pixels;
    kb_keypoint keypoints[MOST];
    uint8_t *rows;
    size_t n, row_bytes;
} view;

typedef struct answers {
    kb_index_result results[IMAGES];
    size_t count;
    uint32_t words[MOST];
    uint8_t rows[MOST * KB_MAX_BITS / 8];
} answers;

typedef struct common {
    const kb_model *model;
    const kb_vocabulary *vocabulary;
    const kb_index *index;
    const view *views;
    const answers *expected; /* one per view */
} common;

static kb_features features_of(const view *v)
{
    kb_features f;
    KB_INIT(f);
    f.rows = (void *)(uintptr_t)v->rows;
    f.n = v->n;
    f.row_bytes = v->row_bytes;
    f.keypoints = (kb_keypoint *)(uintptr_t)v->keypoints;
    return f;
}

static kb_status ask(const common *c, const view *v, kb_workspace *workspace, answers *out)
{
    kb_features f = features_of(v);
    kb_index_query_options q;
    KB_INIT(q);
    q.verify = 2;
    kb_image image = view_of(v->pixels, WIDTH, HEIGHT);
    kb_status status = describe_keypoints(c->model, &image, v->keypoints, v->n, NULL, workspace, out->rows, NULL);
    if (status == KB_OK) status = kb_vocabulary_words(c->vocabulary, &f, NULL, out->words, NULL, NULL);
    if (status == KB_OK)
        status = kb_index_query(c->index, &f, &q, workspace, out->results, IMAGES, &out->count, NULL);
    return status;
}

/* Whether a thread got what one thread alone gets, every time. */
static void *ask_often(void *context)
{
    const common *c = context;
    kb_workspace *workspace = NULL;
    answers *mine = calloc(1, sizeof *mine);
    intptr_t good = mine && kb_workspace_create(NULL, &workspace) == KB_OK;
    for (int i = 0; good && i < ROUNDS * IMAGES; i++) {
        const view *v = &c->views[i % IMAGES];
        const answers *expected = &c->expected[i % IMAGES];
        good = ask(c, v, workspace, mine) == KB_OK && mine->count == expected->count &&
               memcmp(mine->words, expected->words, v->n * sizeof *mine->words) == 0 &&
               memcmp(mine->rows, expected->rows, v->n * v->row_bytes) == 0;
        for (size_t k = 0; good && k < mine->count; k++)
            good = mine->results[k].id == expected->results[k].id && mine->results[k].score == expected->results[k].score &&
                   mine->results[k].inliers == expected->results[k].inliers;
    }
    kb_workspace_free(workspace);
    free(mine);
    return (void *)good;
}

static void view_make(const kb_model *model, size_t row_bytes, uint64_t seed, view *v)
{
    v->pixels = render_texture(WIDTH, HEIGHT, seed);
    v->rows = calloc(MOST, row_bytes);
    v->row_bytes = row_bytes;
    kb_image image = view_of(v->pixels, WIDTH, HEIGHT);
    assert_int_equal(detect_keypoints(&image, NULL, NULL, v->keypoints, MOST, &v->n, NULL), KB_OK);
    assert_true(v->n > 20);
    assert_int_equal(describe_keypoints(model, &image, v->keypoints, v->n, NULL, NULL, v->rows, NULL), KB_OK);
}

/* What all threads share. */
typedef struct world {
    kb_model *model;
    kb_vocabulary *vocabulary;
    kb_index *index;
    view views[IMAGES];
} world;

static void world_make(world *w)
{
    kb_index_options o;
    kb_vocabulary_options vo;
    KB_INIT(o);
    KB_INIT(vo);
    vo.levels = 2;
    o.keep_features = 1;
    *w = (world){.model = render_box_model(KB_KIND_BAD, KB_SAMPLER_PATCH, 256, true, 1)};
    for (int i = 0; i < IMAGES; i++) view_make(w->model, 32, (uint64_t)i + 3, &w->views[i]);
    assert_int_equal(kb_vocabulary_train(w->views[0].rows, w->views[0].n, 32, &vo, NULL, &w->vocabulary, NULL), KB_OK);
    assert_int_equal(kb_index_create(w->vocabulary, &o, NULL, &w->index, NULL), KB_OK);
    for (int i = 0; i < IMAGES; i++) {
        kb_features f = features_of(&w->views[i]);
        assert_int_equal(kb_index_add(w->index, &f, (uint64_t)i, NULL, NULL, NULL), KB_OK);
    }
}

static void world_free(world *w)
{
    for (int i = 0; i < IMAGES; i++) {
        free(w->views[i].pixels);
        free(w->views[i].rows);
    }
    kb_index_free(w->index);
    kb_vocabulary_free(w->vocabulary);
    kb_model_free(w->model);
}

/* Every thread must return something else than NULL. */
static void run_threads(void *(*work)(void *), void *context)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, context), 0);
    for (int i = 0; i < THREADS; i++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_non_null(good);
    }
}

static void one_model_and_one_index_for_all(void **state)
{
    (void)state;
    world w;
    answers *expected = calloc(IMAGES, sizeof *expected);
    world_make(&w);
    common c = {w.model, w.vocabulary, w.index, w.views, expected};
    for (int i = 0; i < IMAGES; i++) {
        assert_int_equal(ask(&c, &w.views[i], NULL, &expected[i]), KB_OK);
        assert_true(expected[i].count > 0 && expected[i].results[0].id == (uint64_t)i);
    }
    run_threads(ask_often, &c);
    free(expected);
    world_free(&w);
}

/* ---- any calls at once ---- */

#ifdef KEYBITS_SANITIZED /* races show in fewer */
enum { CALLS = 24, SIDE = 96 };
#else
enum { CALLS = 120, SIDE = 96 };
#endif

typedef struct stress {
    const kb_model *model;
    const kb_vocabulary *vocabulary;
    const kb_index *index;
    uint64_t expected[CALLS];
} stress;

static uint64_t mix(uint64_t sum, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++) sum = (sum ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return sum;
}

static float any_float(uint64_t *seed)
{
    static const float odd[] = {0, -1, 1e30f, -1e30f, 0.5f, (float)SIDE, INFINITY, NAN};
    uint64_t r = kbi_random_next(seed);
    return r % 5 == 0 ? odd[r >> 8 & 7] : (float)(r >> 8 & 0xffff) / 600;
}

/* Calls with arguments that the number decides, good ones and odd ones; the result is a hash of statuses and outputs. */
static uint64_t call(const stress *s, uint64_t number, kb_workspace *workspace)
{
    uint64_t seed = 1000 + number, sum = 0xcbf29ce484222325u;
    static const kb_detector detectors[] = {KB_DETECTOR_ORB, KB_DETECTOR_SIFT, KB_DETECTOR_HESSIAN};
    uint8_t *pixels = render_texture(SIDE, SIDE, kbi_random_below(&seed, IMAGES) + 3);
    kb_image image = view_of(pixels, SIDE, SIDE);
    kb_keypoint keypoints[MOST];
    static const size_t row = 32;
    uint8_t *rows = calloc(MOST, row), *flags = calloc(1, MOST), *inliers = calloc(1, MOST);
    kb_match matches[MOST];
    kb_point_pair pairs[MOST];
    uint32_t words[MOST];
    kb_index_result results[IMAGES];
    size_t n = 0, count = 0;
    kb_detect_options detect;
    KB_INIT(detect);
    detect.detector = detectors[number % 3];
    detect.max_keypoints = (int32_t)kbi_random_below(&seed, MOST) + 1;
    kb_status status[6] = {detect_keypoints(&image, &detect, workspace, keypoints, MOST, &n, NULL)};
    for (size_t i = 0; i < n && number % 2; i++) { /* some are no keypoints any more */
        if (i % 7 == 0) keypoints[i].x = any_float(&seed);
        if (i % 11 == 0) keypoints[i].size = any_float(&seed);
        if (i % 13 == 0) keypoints[i].angle = any_float(&seed);
    }
    status[1] = describe_keypoints(s->model, &image, keypoints, n, NULL, workspace, rows, flags);
    status[2] = match_rows(rows, n, rows + row, n > 0 ? n - 1 : 0, row, NULL, workspace, matches, &count);
    for (size_t i = 0; i < count; i++)
        pairs[i] = (kb_point_pair){(double)keypoints[i].x, (double)keypoints[i].y, (double)any_float(&seed), (double)keypoints[i].y};
    kb_fit_options fit;
    kb_fit_report report;
    KB_INIT(fit);
    KB_INIT(report);
    fit.geometry = (kb_geometry)(KB_GEOMETRY_HOMOGRAPHY + kbi_random_below(&seed, 4));
    status[3] = kb_fit(pairs, count, &fit, workspace, inliers, &report, NULL);
    kb_features f;
    KB_INIT(f);
    f.rows = rows;
    f.n = n;
    f.row_bytes = row;
    f.keypoints = keypoints;
    kb_index_query_options q;
    KB_INIT(q);
    q.scoring = (kb_scoring)kbi_random_below(&seed, 3);
    q.probes = (int32_t)kbi_random_below(&seed, 20);
    q.verify = (int32_t)kbi_random_below(&seed, 3);
    q.geometry = (kb_geometry)kbi_random_below(&seed, 5);
    size_t found = 0;
    status[4] = kb_index_query(s->index, &f, &q, workspace, results, IMAGES, &found, NULL);
    status[5] = kb_vocabulary_words(s->vocabulary, &f, NULL, words, NULL, NULL);
    sum = mix(sum, status, sizeof status);
    sum = mix(sum, rows, n * row);
    sum = mix(sum, flags, n);
    sum = mix(sum, inliers, count);
    if (status[5] == KB_OK) sum = mix(sum, words, n * sizeof *words);
    for (size_t i = 0; i < found; i++) {
        sum = mix(sum, &results[i].id, sizeof results[i].id);
        sum = mix(sum, &results[i].score, sizeof results[i].score);
        sum = mix(sum, &results[i].inliers, sizeof results[i].inliers);
    }
    free(pixels);
    free(rows);
    free(flags);
    free(inliers);
    return sum;
}

static void *call_often(void *context)
{
    const stress *s = context;
    kb_workspace *workspace = NULL;
    intptr_t good = kb_workspace_create(NULL, &workspace) == KB_OK;
    uint64_t order = (uint64_t)(uintptr_t)&workspace; /* another one in each thread */
    for (int i = 0; good && i < CALLS; i++) {
        uint64_t number = kbi_random_next(&order) % CALLS;
        good = call(s, number, workspace) == s->expected[number];
    }
    kb_workspace_free(workspace);
    return (void *)good;
}

/* Odd arguments from many threads, which share model, vocabulary and index: each call gives what it gives alone. */
static void any_calls_at_once(void **state)
{
    (void)state;
    stress *s = calloc(1, sizeof *s);
    world w;
    world_make(&w);
    *s = (stress){.model = w.model, .vocabulary = w.vocabulary, .index = w.index};
    for (uint64_t i = 0; i < CALLS; i++) s->expected[i] = call(s, i, NULL);
    run_threads(call_often, s);
    world_free(&w);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_model_and_one_index_for_all),
                                       cmocka_unit_test(any_calls_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
