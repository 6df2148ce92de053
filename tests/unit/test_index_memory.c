/* SPDX-License-Identifier: Apache-2.0 */
/* What kb_index_reserve promises: calls of an index and a loop detector within the limits never allocate. */
#include "index_world.h"

static kb_index_limits limits_of(const kb_index_query_options *o)
{
    kb_index_limits l;
    KB_INIT(l);
    l.images = IMAGES;
    l.rows = EACH;
    l.row_bytes = BYTES;
    l.results = IMAGES / 2;
    l.query = o;
    return l;
}

/* A workspace in a buffer of just the size that the limits ask for, so that the sanitizer sees its end. */
static kb_workspace *reserved(const kb_index_limits *l, void **buffer)
{
    size_t bytes;
    kb_workspace *ws;
    assert_int_equal(kb_index_reserve(NULL, l, &bytes, NULL), KB_OK);
    *buffer = malloc(bytes);
    assert_non_null(*buffer);
    assert_int_equal(kb_workspace_create_in(*buffer, bytes, &ws), KB_OK);
    assert_int_equal(kb_index_reserve(ws, l, NULL, NULL), KB_OK);
    return ws;
}

static kb_status query_in(const kb_index *index, world *w, const kb_index_query_options *o, kb_workspace *ws,
                          kb_index_result *results, size_t *count, kb_error *error)
{
    const kb_features f = features_of(w, 3);
    return kb_index_query(index, &f, o, ws, results, IMAGES / 2, count, error);
}

static void check_query(const kb_index *index, world *w, const kb_index_query_options *o)
{
    static kb_index_result plain[IMAGES], same[IMAGES];
    const kb_index_limits l = limits_of(o);
    size_t n, count;
    void *buffer;
    kb_error error;
    assert_int_equal(query_in(index, w, o, NULL, plain, &n, NULL), KB_OK);
    kb_workspace *ws = reserved(&l, &buffer);
    assert_int_equal(query_in(index, w, o, ws, same, &count, NULL), KB_OK);
    assert_true(n > 0 && count == n);
    assert_same(same, plain, n);
    free(buffer);
    const bool exact_peak = o->scoring == KB_SCORING_BINARY && o->verify == 0; /* whatever the content of rows */
    for (int less = !exact_peak; less < 2; less++) {
        kb_index_limits fewer = l;
        *(less ? &fewer.rows : &fewer.images) /= 5;
        ws = reserved(&fewer, &buffer);
        assert_int_equal(query_in(index, w, o, ws, same, &count, &error), KB_E_MEMORY);
        assert_string_equal(error.field, "images, rows, row_bytes, results, query");
        assert_non_null(strstr(error.text, "too few"));
        assert_int_equal(count, 0);
        free(buffer);
    }
}

static void test_queries_do_not_allocate(void **state)
{
    (void)state;
    world *w = world_create();
    kb_index *index = index_of(w, IMAGES, 1);
    for (int32_t c = 0; c < 3 * 3 * 2; c++) {
        kb_index_query_options o;
        KB_INIT(o);
        o.scoring = (kb_scoring)(c % 3);
        o.verify = c / 3 % 3 == 2 ? IMAGES : c / 3 % 3; /* none, one, all */
        o.probes = c / 9 ? 5 : 1;
        check_query(index, w, &o);
    }
    kb_index_free(index);
    world_free(w);
}

static kb_verification verify_in(world *w, kb_workspace *ws)
{
    static kb_match matches[EACH];
    static uint8_t inliers[EACH], upright[2][EACH * BYTES];
    const kb_features a = features_of(w, 1), b = features_of(w, 1 + PLACES);
    kb_verify_options o;
    kb_verification found;
    kb_camera camera = {.struct_size = sizeof camera, .fx = 500, .fy = 500, .cx = 320, .cy = 240};
    KB_INIT(o);
    KB_INIT(found);
    memcpy(upright[0], a.rows, sizeof upright[0]);
    memcpy(upright[1], b.rows, sizeof upright[1]);
    o.upright_a = upright[0], o.upright_b = upright[1];
    o.camera_a = &camera;
    assert_int_equal(kb_pair_verify(&a, &b, &o, ws, matches, inliers, &found, NULL), KB_OK);
    return found;
}

/* A sequence that comes back, its index and its pairs in one reserved workspace. */
static void test_sequences_do_not_allocate(void **state)
{
    (void)state;
    world *w = world_create();
    memory_count c = {0};
    const kb_allocator allocator = {count_allocate, count_release, &c};
    kb_loop_options o;
    KB_INIT(o);
    o.window = 5;
    kb_index_limits l = limits_of(NULL);
    l.loop = &o;
    l.pair = 1;
    kb_workspace *ws;
    kb_loop_detector *d;
    kb_index *index = index_of(w, 0, 1);
    assert_int_equal(kb_workspace_create(&allocator, &ws), KB_OK);
    assert_int_equal(kb_index_reserve(ws, &l, NULL, NULL), KB_OK);
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_OK);
    const size_t before = c.calls;
    for (size_t i = 0; i < IMAGES; i++) {
        kb_loop loop;
        KB_INIT(loop);
        const kb_features f = features_of(w, i);
        assert_int_equal(kb_index_add(index, &f, i, NULL, ws, NULL), KB_OK);
        assert_int_equal(kb_loop_detector_add(d, &f, ws, &loop, NULL), KB_OK);
        assert_int_equal(loop.found, i >= PLACES);
    }
    assert_true(verify_in(w, ws).verified);
    assert_int_equal(c.calls, before);
    kb_workspace_free(ws);
    kb_loop_detector_free(d);
    kb_index_free(index);
    world_free(w);
}

static void test_each_call_has_a_limit(void **state)
{
    (void)state;
    world *w = world_create();
    kb_loop_options o;
    kb_loop loop;
    kb_error error;
    kb_loop_detector *d;
    size_t bytes[3];
    void *buffer;
    KB_INIT(o);
    KB_INIT(loop);
    kb_index_limits l = limits_of(NULL);
    assert_int_equal(kb_index_reserve(NULL, &l, &bytes[0], NULL), KB_OK);
    l.loop = &o;
    assert_int_equal(kb_index_reserve(NULL, &l, &bytes[1], NULL), KB_OK);
    l.pair = 1;
    assert_int_equal(kb_index_reserve(NULL, &l, &bytes[2], NULL), KB_OK);
    assert_true(bytes[0] < bytes[1] && bytes[1] <= bytes[2]);
    l.loop = NULL;
    l.pair = 0;
    kb_workspace *ws = reserved(&l, &buffer);
    assert_int_equal(kb_loop_detector_create(w->vocabulary, &o, NULL, &d, NULL), KB_OK);
    kb_status status = KB_OK;
    for (size_t i = 0; i < IMAGES && status == KB_OK; i++) {
        const kb_features f = features_of(w, i);
        status = kb_loop_detector_add(d, &f, ws, &loop, &error);
    }
    assert_int_equal(status, KB_E_MEMORY);
    assert_string_equal(error.field, "images, rows, row_bytes, loop");
    kb_loop_detector_free(d);
    free(buffer);
    world_free(w);
}

static void test_wrong_limits(void **state)
{
    (void)state;
    kb_index_query_options q;
    kb_error error;
    size_t bytes = 1;
    kb_index_limits l = limits_of(NULL), wrong = l;
    assert_int_equal(kb_index_reserve(NULL, NULL, &bytes, NULL), KB_E_ARGUMENT);
    assert_int_equal(bytes, 0);
    assert_int_equal(kb_index_reserve(NULL, &l, NULL, NULL), KB_E_ARGUMENT);
    wrong.rows = SIZE_MAX / 2;
    assert_int_equal(kb_index_reserve(NULL, &wrong, &bytes, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "rows");
    wrong = l;
    wrong.row_bytes = KB_MAX_BITS / 8 + 1;
    assert_int_equal(kb_index_reserve(NULL, &wrong, &bytes, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "row_bytes");
    wrong = l;
    wrong.results = SIZE_MAX / 64;
    KB_INIT(q);
    q.verify = 1;
    wrong.query = &q;
    assert_int_equal(kb_index_reserve(NULL, &wrong, &bytes, NULL), KB_E_MEMORY);
    q.probes = KB_MAX_PROBES + 1;
    assert_int_equal(kb_index_reserve(NULL, &wrong, &bytes, &error), KB_E_ARGUMENT);
    assert_string_equal(error.field, "probes");
    wrong.struct_size = 3;
    assert_int_equal(kb_index_reserve(NULL, &wrong, &bytes, NULL), KB_E_STRUCT);
    uint8_t small[4096];
    kb_workspace *ws;
    assert_int_equal(kb_workspace_create_in(small, sizeof small, &ws), KB_OK);
    assert_int_equal(kb_index_reserve(ws, &l, &bytes, NULL), KB_E_SPACE);
    assert_true(bytes > sizeof small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries_do_not_allocate),
        cmocka_unit_test(test_sequences_do_not_allocate),
        cmocka_unit_test(test_each_call_has_a_limit),
        cmocka_unit_test(test_wrong_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
