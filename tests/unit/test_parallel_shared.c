/* One model, one vocabulary and one index shared by many threads, each with a workspace of its own: the results are
 * those of one thread alone. The thread sanitizer watches. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "keybits/index.h"
#include "render.h"

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
    f.rows = v->rows;
    f.n = v->n;
    f.row_bytes = v->row_bytes;
    f.keypoints = v->keypoints;
    return f;
}

static kb_status ask(const common *c, const view *v, kb_workspace *workspace, answers *out)
{
    kb_features f = features_of(v);
    kb_index_query_options q;
    KB_INIT(q);
    q.verify = 2;
    kb_image image = view_of(v->pixels, WIDTH, HEIGHT);
    kb_status status = kb_describe(c->model, &image, v->keypoints, v->n, NULL, workspace, out->rows, NULL);
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
    intptr_t good = mine && kb_workspace_create(&workspace) == KB_OK;
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
    assert_int_equal(kb_detect(&image, NULL, NULL, v->keypoints, MOST, &v->n), KB_OK);
    assert_true(v->n > 20);
    assert_int_equal(kb_describe(model, &image, v->keypoints, v->n, NULL, NULL, v->rows, NULL), KB_OK);
}

static void one_model_and_one_index_for_all(void **state)
{
    (void)state;
    kb_model *model = render_box_model(KB_BAD, KB_SAMPLER_PATCH, 256, true, 1);
    kb_vocabulary *vocabulary = NULL;
    kb_index *index = NULL;
    kb_index_options o;
    kb_vocabulary_options vo;
    view views[IMAGES] = {{0}};
    answers *expected = calloc(IMAGES, sizeof *expected);
    KB_INIT(o);
    KB_INIT(vo);
    vo.levels = 2;
    o.keep_features = 1;
    for (int i = 0; i < IMAGES; i++) view_make(model, 32, (uint64_t)i + 3, &views[i]);
    assert_int_equal(kb_vocabulary_train(views[0].rows, views[0].n, 32, &vo, &vocabulary, NULL), KB_OK);
    assert_int_equal(kb_index_create(vocabulary, &o, &index, NULL), KB_OK);
    for (int i = 0; i < IMAGES; i++) {
        kb_features f = features_of(&views[i]);
        assert_int_equal(kb_index_add(index, &f, (uint64_t)i, NULL, NULL, NULL), KB_OK);
    }
    common c = {model, vocabulary, index, views, expected};
    for (int i = 0; i < IMAGES; i++) {
        assert_int_equal(ask(&c, &views[i], NULL, &expected[i]), KB_OK);
        assert_true(expected[i].count > 0 && expected[i].results[0].id == (uint64_t)i);
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &c), 0);
    for (int i = 0; i < THREADS; i++) {
        void *good = NULL;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_non_null(good);
    }
    for (int i = 0; i < IMAGES; i++) {
        free(views[i].pixels);
        free(views[i].rows);
    }
    free(expected);
    kb_index_free(index);
    kb_vocabulary_free(vocabulary);
    kb_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_model_and_one_index_for_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
