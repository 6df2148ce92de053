/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of retrieval and of the trainers made to fail in turn: an error, nothing leaked, and what was there
 * before is as it was. The linker puts the functions below in the place of malloc, calloc, realloc and free
 * (tests/CMakeLists.txt). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/common.h"
#include "keybits/index.h"
#include "keybits/learn.h"
#include "wrap_malloc.h"

static int asked, fail_at; /* allocations since the start; which of them fails, from 1; 0: none */
static long held;

static int is_denied(void) { return ++asked == fail_at; }

static void *counted(void *block)
{
    held += block != NULL;
    return block;
}

void *__wrap_malloc(size_t bytes) { return is_denied() ? NULL : counted(__real_malloc(bytes)); }
void *__wrap_calloc(size_t count, size_t size) { return is_denied() ? NULL : counted(__real_calloc(count, size)); }

void *__wrap_realloc(void *block, size_t bytes)
{
    if (is_denied()) return NULL;
    void *moved = __real_realloc(block, bytes);
    held += !block && moved;
    return moved;
}

void __wrap_free(void *block)
{
    held -= block != NULL;
    __real_free(block);
}

/* Runs the work with allocation 1, 2, ... failing, until one run asks for fewer. */
static void fail_in_turn(kb_status (*work)(void *context), void *context, int least)
{
    int refused = 0;
    for (int at = 1;; at++) {
        long before = held;
        asked = 0;
        fail_at = at;
        kb_status status = work(context);
        fail_at = 0;
        assert_int_equal(held, before);
        if (asked < at) {
            assert_int_equal(status, KB_OK);
            break;
        }
        assert_true(status == KB_E_MEMORY || status == KB_OK); /* a list may be as good without more room */
        refused += status != KB_OK;
        assert_true(at < 5000);
    }
    assert_true(refused >= least);
}

/* ---- retrieval ---- */

enum { ROW = 8, ROWS = 60, IMAGES = 6 };

typedef struct world {
    uint8_t rows[IMAGES][ROWS * ROW];
    kb_keypoint keypoints[ROWS];
    kb_vocabulary *vocabulary;
    uint8_t file[1 << 16];
    size_t file_size, capacity;
} world;

static world shared;

static void world_fill(world *w)
{
    uint64_t seed = 5;
    for (int i = 0; i < IMAGES; i++)
        for (int k = 0; k < ROWS * ROW; k++) w->rows[i][k] = (uint8_t)(kbi_random_next(&seed) >> 30);
    for (int i = 0; i < ROWS; i++)
        w->keypoints[i] = (kb_keypoint){.x = (float)(i * 17 % 61), .y = (float)(i * 29 % 53), .size = 9};
}

static kb_status train_vocabulary(void *context)
{
    world *w = context;
    kb_vocabulary *made = NULL;
    kb_vocabulary_options o;
    KB_INIT(o);
    o.branching = 4;
    o.levels = 3;
    kb_status status = kb_vocabulary_train(w->rows[0], IMAGES * ROWS, ROW, &o, NULL, &made, NULL);
    assert_true((status == KB_OK) == (made != NULL));
    kb_vocabulary_free(made);
    return status;
}

static kb_features features_of(world *w, int image)
{
    kb_features f;
    KB_INIT(f);
    f.rows = w->rows[image];
    f.n = ROWS;
    f.row_bytes = ROW;
    f.keypoints = w->keypoints;
    return f;
}

static kb_status keep(void *self, const void *data, size_t size)
{
    world *w = self;
    if (size > sizeof w->file - w->file_size) return KB_E_SPACE;
    memcpy(w->file + w->file_size, data, size);
    w->file_size += size;
    return KB_OK;
}

static size_t images_in(const kb_index *index)
{
    kb_index_info info;
    KB_INIT(info);
    assert_int_equal(kb_index_get_info(index, &info), KB_OK);
    return info.images;
}

/* Builds, asks, removes, saves, loads and asks again; stops at the first error. A refused image is not there. */
static kb_status index_life(void *context)
{
    world *w = context;
    kb_index *index = NULL, *loaded = NULL;
    kb_index_options o;
    kb_index_query_options q;
    kb_index_result results[IMAGES];
    size_t count = 0;
    KB_INIT(o);
    KB_INIT(q);
    o.keep_features = 1;
    q.verify = 2;
    w->file_size = 0;
    kb_status status = kb_index_create(w->vocabulary, &o, NULL, &index, NULL);
    for (int i = 0; i < IMAGES && status == KB_OK; i++) {
        kb_features f = features_of(w, i);
        status = kb_index_add(index, &f, (uint64_t)i, "name", NULL, NULL);
        assert_int_equal(images_in(index), status == KB_OK ? i + 1 : i);
    }
    kb_features f = features_of(w, 3);
    if (status == KB_OK) status = kb_index_query(index, &f, &q, NULL, results, IMAGES, &count, NULL);
    if (status == KB_OK) assert_true(count > 0 && results[0].id == 3);
    if (status == KB_OK) status = kb_index_remove(index, 1, NULL);
    if (status == KB_OK) status = kb_index_save(index, keep, w);
    if (status == KB_OK) status = kb_index_load(w->file, w->file_size, 1, NULL, &loaded, NULL);
    assert_true(status != KB_OK || images_in(loaded) == IMAGES - 1);
    if (status == KB_OK) status = kb_index_query(loaded, &f, &q, NULL, results, IMAGES, &count, NULL);
    kb_index_free(index);
    kb_index_free(loaded);
    return status;
}

static kb_status loop_life(void *context)
{
    world *w = context;
    kb_loop_detector *detector = NULL;
    kb_loop_options o;
    kb_loop loop;
    KB_INIT(loop);
    KB_INIT(o);
    o.window = 1;
    kb_status status = kb_loop_detector_create(w->vocabulary, &o, NULL, &detector, NULL);
    for (int i = 0; i < IMAGES && status == KB_OK; i++) {
        kb_features f = features_of(w, i % 3);
        status = kb_loop_detector_add(detector, &f, NULL, &loop, NULL);
    }
    kb_loop_detector_free(detector);
    return status;
}

static void retrieval_survives(void **state)
{
    (void)state;
    world_fill(&shared);
    fail_in_turn(train_vocabulary, &shared, 3);
    kb_vocabulary_options o;
    KB_INIT(o);
    o.branching = 4;
    o.levels = 3;
    assert_int_equal(kb_vocabulary_train(shared.rows[0], IMAGES * ROWS, ROW, &o, NULL, &shared.vocabulary, NULL),
                     KB_OK);
    fail_in_turn(index_life, &shared, 10);
    fail_in_turn(loop_life, &shared, 3);
    kb_vocabulary_free(shared.vocabulary);
}

/* ---- the trainer ---- */

enum { PATCHES = 60, AREA = KB_PATCH_SIDE * KB_PATCH_SIDE, BITS = 8 };

static uint8_t pixels[PATCHES * AREA];
static uint32_t labels[PATCHES];

static kb_learn_patches make_patches(void)
{
    kb_learn_patches patches;
    uint64_t seed = 3;
    for (int i = 0; i < PATCHES; i++) {
        labels[i] = (uint32_t)(i / 3);
        for (int k = 0; k < AREA; k++)
            pixels[i * AREA + k] =
                (uint8_t)(60 + 20 * ((i / 3 * 7 + k / 128 + k % 32 / 8) % 8) + (int)(kbi_random_next(&seed) >> 60));
    }
    KB_INIT(patches);
    patches.pixels = pixels;
    patches.labels = labels;
    patches.count = PATCHES;
    return patches;
}

static kb_status learn_boxes(void *context)
{
    kb_learn_options o;
    kb_box_pair boxes[BITS];
    kb_learn_patches patches = *(const kb_learn_patches *)context;
    KB_INIT(o);
    o.bits = BITS;
    o.triplets = 64;
    o.candidates = 20;
    o.batch = 16;
    return kb_learn_boxes(&patches, &o, boxes, NULL, NULL);
}

static int32_t go_on(void *context, const kb_learn_hash_progress *progress)
{
    *(size_t *)context = progress->checkpoint_size;
    return 1;
}

static kb_status learn_hashsift(void *context)
{
    kb_learn_hash_options o;
    int8_t weights[BITS * KB_SIFT_VALUES];
    int32_t bias[BITS];
    size_t checkpoint = 0;
    kb_learn_patches patches = *(const kb_learn_patches *)context;
    KB_INIT(o);
    o.bits = BITS;
    o.steps = 3;
    o.batch = 16;
    o.report = go_on;
    o.report_context = &checkpoint;
    kb_status status = kb_learn_hashsift(&patches, &o, weights, bias, NULL, NULL);
    assert_true(status != KB_OK || checkpoint > 0);
    return status;
}

static void trainers_survive(void **state)
{
    (void)state;
    kb_learn_patches patches = make_patches();
    fail_in_turn(learn_boxes, &patches, 5);
    fail_in_turn(learn_hashsift, &patches, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retrieval_survives),
        cmocka_unit_test(trainers_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
