/* SPDX-License-Identifier: Apache-2.0 */
/* Images of places that are seen twice, their index, and what tests of indexes and loops compare. */
#ifndef KB_TEST_INDEX_WORLD_H
#define KB_TEST_INDEX_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

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

static inline uint8_t noise_byte(uint64_t *seed)
{
    uint64_t r = kbi_random_next(seed);
    return (uint8_t)(r & r >> 8 & r >> 16 & r >> 24);
}

static inline void place_render(world *w, size_t image, uint64_t *noise)
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

static inline world *world_create(void)
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

static inline void world_free(world *w)
{
    kb_vocabulary_free(w->vocabulary);
    free(w);
}

static inline kb_features features_of(world *w, size_t image)
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

static inline kb_index *index_of(world *w, size_t count, int32_t keep)
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

static inline size_t query(const kb_index *index, world *w, size_t image, kb_index_query_options *o, kb_index_result *results,
                    size_t capacity)
{
    kb_features f = features_of(w, image);
    kb_error error;
    size_t count;
    assert_int_equal(kb_index_query(index, &f, o, NULL, results, capacity, &count, &error), KB_OK);
    return count;
}

static inline void assert_same(const kb_index_result *a, const kb_index_result *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a[i].id, b[i].id);
        assert_true(a[i].score == b[i].score && a[i].inliers == b[i].inliers);
    }
}

/* ---- files and memory ---- */

typedef struct memory_file {
    uint8_t *data;
    size_t size;
    size_t limit;
} memory_file;

static inline kb_status memory_write(void *self, const void *data, size_t size)
{
    memory_file *f = self;
    if (f->limit && f->size + size > f->limit) return KB_E_SPACE;
    f->data = realloc(f->data, f->size + size);
    memcpy(f->data + f->size, data, size);
    f->size += size;
    return KB_OK;
}

typedef struct memory_count {
    size_t live, calls, fail_at; /* the call that fails; 0: none */
} memory_count;

static inline void *count_allocate(void *self, size_t bytes)
{
    memory_count *c = self;
    if (++c->calls == c->fail_at) return NULL;
    c->live++;
    return malloc(bytes);
}

static inline void count_release(void *self, void *memory)
{
    ((memory_count *)self)->live--;
    free(memory);
}

#endif
