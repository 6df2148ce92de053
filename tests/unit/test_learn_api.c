/* SPDX-License-Identifier: Apache-2.0 */
/* libkeybits-learn as an outside caller sees it: the public header and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "keybits/learn.h"

enum { POINTS = 40, EACH = 3, COUNT = POINTS * EACH, AREA = KB_PATCH_SIDE * KB_PATCH_SIDE, BITS = 16 };

static uint8_t pixels[COUNT * AREA];
static uint32_t labels[COUNT];

/* Every point is a blob of its own; its patches differ by noise. */
static kb_learn_patches make_patches(void)
{
    kb_learn_patches patches;
    uint32_t noise = 1;
    for (int i = 0; i < COUNT; i++) {
        uint32_t point = (uint32_t)(i / EACH) * 2654435761u + 12345u;
        labels[i] = (uint32_t)(i / EACH);
        for (int k = 0; k < AREA; k++) {
            int x = k % KB_PATCH_SIDE, y = k / KB_PATCH_SIDE, block = x / 8 + 4 * (y / 8);
            noise = noise * 1664525u + 1013904223u;
            pixels[i * AREA + k] = (uint8_t)(60 + 8 * ((point >> (block & 15)) & 15) + (noise >> 28));
        }
    }
    KB_INIT(patches);
    patches.pixels = pixels;
    patches.labels = labels;
    patches.count = COUNT;
    return patches;
}

static kb_learn_hash_options small_options(void)
{
    kb_learn_hash_options o;
    KB_INIT(o);
    o.bits = BITS;
    o.steps = 120;
    o.batch = 32;
    o.seed = 9;
    return o;
}

/* What a caller does who wants to be able to resume: keeps the last checkpoint, and cancels when asked to. */
typedef struct keeper {
    void *checkpoint;
    size_t size;
    int64_t cancel_at, last;
    int calls;
} keeper;

static int32_t keep_checkpoint(void *context, const kb_learn_hash_progress *p)
{
    keeper *k = context;
    assert_int_equal(p->struct_size, sizeof *p);
    k->checkpoint = realloc(k->checkpoint, p->checkpoint_size);
    memcpy(k->checkpoint, p->checkpoint, p->checkpoint_size);
    k->size = p->checkpoint_size;
    k->last = p->step;
    k->calls++;
    return p->step < k->cancel_at;
}

static void hashsift_is_learned_cancelled_and_resumed(void **state)
{
    (void)state;
    kb_learn_patches patches = make_patches();
    kb_learn_hash_options o = small_options();
    kb_learn_hash_summary summary;
    int8_t whole[BITS * KB_SIFT_VALUES], part[BITS * KB_SIFT_VALUES];
    int32_t whole_bias[BITS], part_bias[BITS];
    kb_error error;
    KB_INIT(summary);
    assert_int_equal(kb_learn_hashsift(&patches, &o, whole, whole_bias, &summary, &error), KB_OK);
    assert_int_equal(summary.steps, 120);
    assert_int_equal(summary.points, POINTS);
    assert_int_equal(summary.patches, COUNT);
    assert_int_equal(summary.batch, 32);

    keeper k = {.cancel_at = 50};
    o.report = keep_checkpoint;
    o.report_context = &k;
    assert_int_equal(kb_learn_hashsift(&patches, &o, part, part_bias, &summary, &error), KB_OK);
    assert_true(summary.steps >= 50 && summary.steps < 120 && k.last == summary.steps && k.calls > 10);
    assert_memory_not_equal(whole, part, sizeof whole);

    keeper rest = {.cancel_at = INT64_MAX};
    o.checkpoint = k.checkpoint;
    o.checkpoint_size = k.size;
    o.report_context = &rest;
    assert_int_equal(kb_learn_hashsift(&patches, &o, part, part_bias, &summary, &error), KB_OK);
    assert_memory_equal(whole, part, sizeof whole);
    assert_memory_equal(whole_bias, part_bias, sizeof whole_bias);

    o.checkpoint_size--;
    assert_int_equal(kb_learn_hashsift(&patches, &o, part, part_bias, NULL, &error), KB_E_TRUNCATED);
    o.checkpoint_size++;
    o.seed++;
    assert_int_equal(kb_learn_hashsift(&patches, &o, part, part_bias, NULL, &error), KB_E_CHECKSUM);
    assert_non_null(strstr(error.text, "other patches or options"));
    free(k.checkpoint);
    free(rest.checkpoint);

    kb_model_spec spec;
    kb_model *model;
    KB_INIT(spec);
    spec.kind = KB_KIND_HASHSIFT;
    spec.bits = BITS;
    spec.name = "learned";
    spec.weights = whole;
    spec.bias = whole_bias;
    assert_int_equal(kb_model_create(&spec, NULL, &model, &error), KB_OK);
    kb_model_free(model);
}

static void boxes_are_learned(void **state)
{
    (void)state;
    kb_learn_patches patches = make_patches();
    kb_learn_options o;
    kb_learn_summary summary;
    kb_box_pair boxes[BITS];
    kb_error error;
    KB_INIT(o);
    KB_INIT(summary);
    o.bits = BITS;
    o.triplets = 128;
    o.candidates = 50;
    assert_int_equal(kb_learn_boxes(&patches, &o, boxes, &summary, &error), KB_OK);
    assert_int_equal(summary.bits, BITS);
    assert_int_equal(summary.points, POINTS);
    assert_int_equal(kb_learn_boxes(&patches, &o, boxes, NULL, NULL), KB_OK);
}

/* Structs of callers that were compiled with another version of the header. */
static void sizes_are_checked(void **state)
{
    (void)state;
    kb_learn_patches patches = make_patches();
    int8_t weights[BITS * KB_SIFT_VALUES];
    int32_t bias[BITS];
    kb_error error;
    kb_learn_hash_options o = small_options();
    kb_learn_hash_summary summary;
    o.steps = 2;
    KB_INIT(summary);
    o.struct_size = 1;
    assert_int_equal(kb_learn_hashsift(&patches, &o, weights, bias, NULL, &error), KB_E_STRUCT);
    o.struct_size = sizeof o;
    summary.struct_size = 0;
    assert_int_equal(kb_learn_hashsift(&patches, &o, weights, bias, &summary, &error), KB_E_STRUCT);
    patches.struct_size = 0;
    assert_int_equal(kb_learn_hashsift(&patches, &o, weights, bias, NULL, &error), KB_E_STRUCT);
    patches.struct_size = sizeof patches;
    assert_int_equal(kb_learn_hashsift(NULL, &o, weights, bias, NULL, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_learn_hashsift(&patches, &o, NULL, bias, NULL, &error), KB_E_ARGUMENT);
    o.loss = KB_LEARN_LOSS_ORB;
    assert_int_equal(kb_learn_hashsift(&patches, &o, weights, bias, NULL, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "loss"));
    o.loss = KB_LEARN_LOSS_TRIPLET;
    struct newer {
        kb_learn_hash_summary known;
        double unknown;
    } newer = {{0}, 7};
    newer.known.struct_size = sizeof newer;
    assert_int_equal(kb_learn_hashsift(&patches, &o, weights, bias, &newer.known, &error), KB_E_STRUCT);
    newer.unknown = 0;
    assert_int_equal(kb_learn_hashsift(&patches, &o, weights, bias, &newer.known, &error), KB_OK);
    assert_int_equal(newer.known.steps, 2);
    assert_int_equal(newer.known.struct_size, sizeof newer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashsift_is_learned_cancelled_and_resumed),
        cmocka_unit_test(boxes_are_learned),
        cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
