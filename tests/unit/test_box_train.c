/* SPDX-License-Identifier: Apache-2.0 */
/* Learning BAD and BAG: values as describing computes them, the same result on any number of threads and after a break,
 * and bits that are far better than random ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "keybits/learn.h"
#include "learn/box_space.h"
#include "learn/box_train.h"
#include "learn/box_values.h"
#include "learn/validate.h"
#include "render.h"
#include "../arrays.h"

enum {
    SIDE = KB_PATCH_SIDE,
    AREA = SIDE * SIDE,
    POINTS = 240,
    VIEWS = 4,
    PATCHES = POINTS * VIEWS,
    TEXTURE = 320,
    BITS = 64 /* of what is learned */
};

/* ---- a rendered set: points of a texture, each cut out several times with the errors that detectors and cameras make
 * ---- */

typedef struct rendered {
    uint8_t pixels[PATCHES * AREA];
    uint32_t label[PATCHES], view[PATCHES];
    size_t first[POINTS + 1];
    kbi_patch_set set;
    kb_learn_patches patches;
} rendered;

static float jitter(uint64_t *state, float reach) { return reach * ((float)kbi_random_below(state, 2001) / 1000 - 1); }

/* octaves: those of a region four times as wide as the patch, AREA bytes too. */
static void render_views(rendered *r, const uint8_t *texture, kb_keypoint *points, bool octaves, uint64_t *state)
{
    kb_image image = view_of(texture, TEXTURE, TEXTURE);
    for (int v = 0; v < VIEWS; v++) {
        uint8_t cut[AREA];
        for (int p = 0; p < POINTS; p++) {
            kb_keypoint k = points[p];
            k.x += jitter(state, 1.5f);
            k.y += jitter(state, 1.5f);
            k.size *= 1 + jitter(state, 0.12f);
            k.angle += 180 + jitter(state, 12);
            if (octaves) k.size *= 4;
            assert_int_equal((octaves ? sample_octaves : sample_patches)(&image, &k, 1, NULL, NULL, cut, NULL),
                             KB_OK);
            int32_t gain = 80 + (int32_t)kbi_random_below(state, 60), offset = (int32_t)kbi_random_below(state, 41) - 20;
            uint8_t *to = r->pixels + (p * VIEWS + v) * AREA;
            for (int i = 0; i < AREA; i++)
                to[i] = (uint8_t)kbi_clamp_i((cut[i] - 128) * gain / 128 + 128 + offset +
                                                (int32_t)kbi_random_below(state, 17) - 8,
                                            0, 255);
        }
    }
}

static rendered *render_form(uint64_t seed, bool octaves)
{
    rendered *r = test_malloc(sizeof *r);
    uint8_t *texture = render_texture(TEXTURE, TEXTURE, seed);
    kb_keypoint points[POINTS];
    for (int p = 0; p < POINTS; p++) {
        points[p] = (kb_keypoint){.x = (float)(32 + kbi_random_below(&seed, TEXTURE - 64)),
                                  .size = 32,
                                  .y = (float)(32 + kbi_random_below(&seed, TEXTURE - 64)),
                                  .angle = (float)kbi_random_below(&seed, 150)};
        for (int v = 0; v < VIEWS; v++) {
            r->label[p * VIEWS + v] = (uint32_t)p;
            r->view[p * VIEWS + v] = (uint32_t)v;
        }
        r->first[p] = (size_t)(p * VIEWS);
    }
    r->first[POINTS] = PATCHES;
    render_views(r, texture, points, octaves, &seed);
    free(texture);
    r->set = (kbi_patch_set){.side = octaves ? KB_OCTAVE_SIDE : SIDE,
                            .patches = PATCHES,
                            .points = POINTS,
                            .pixels = r->pixels,
                            .label = r->label,
                            .view = r->view,
                            .first = r->first};
    r->patches = (kb_learn_patches){sizeof r->patches, r->pixels, r->label, PATCHES};
    return r;
}

static rendered *render_set(uint64_t seed) { return render_form(seed, false); }

static kb_learn_options small_options(kb_kind kind)
{
    kb_learn_options o;
    KB_INIT(o);
    o.kind = kind;
    o.bits = BITS;
    o.triplets = 300;
    o.batch = 100;
    o.candidates = 60;
    o.local_search = 2;
    o.keep = 3;
    o.seed = 11;
    return o;
}

static kb_model *model_of(kb_kind kind, kb_sampler sampler, const kb_box_pair *boxes, int32_t bits)
{
    kb_model_spec spec;
    kb_model *model;
    KB_INIT(spec);
    spec.kind = kind;
    spec.sampler = sampler;
    spec.bits = bits;
    spec.name = "test";
    spec.boxes = boxes;
    assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
    return model;
}

/* ---- tests ---- */

static void values_are_those_of_describing(void **state)
{
    (void)state;
    enum { N = 70, DRAWN = 416 };
    rendered *sets[2] = {render_form(3, false), render_form(3, true)};
    const kbi_box_space spaces[3] = {
        {.channels = {0}, .channel_count = 1, .min_radius = 1, .max_radius = 7, .two_radii = true,
         .grid = KBI_GRID_PATCH},
        {.channels = {1, 2, 3, 4, 5, 6, 7, 8}, .channel_count = 8, .min_radius = 1, .max_radius = 8, .two_radii = true,
         .grid = KBI_GRID_OCTAVES},
        {.channels = {0}, .channel_count = 1, .min_radius = 1, .max_radius = 8, .two_radii = true,
         .grid = KBI_GRID_CELLS}};
    kb_box_pair pairs[DRAWN];
    uint64_t random = 8;
    uint8_t *rows = test_malloc(N * DRAWN / 8);
    int16_t values[N];
    for (int form = 0; form < 3; form++) {
        const kbi_box_space *space = &spaces[form];
        bool bag = form == 1;
        kbi_box_store store;
        kb_sampler sampler = bag ? KB_SAMPLER_OCTAVES : form == 2 ? KB_SAMPLER_CELLS : KB_SAMPLER_PATCH;
        const rendered *r = sets[bag];
        assert_true(kbi_box_store_create(&store, N + KBI_STORE_LANES, bag ? 0x1fe : 1, sampler));
        kbi_box_store_fill(&store, KBI_STORE_LANES, r->pixels, N, NULL);
        for (int i = 0; i < DRAWN; i++) {
            pairs[i] = kbi_box_draw(space, &random);
            pairs[i].threshold = jitter(&random, bag ? 0.2f : 10);
        }
        kb_model *model = model_of(bag ? KB_KIND_BAG : KB_KIND_BAD, sampler, pairs, DRAWN);
        assert_int_equal(describe_patches(model, r->pixels, N, r->set.side, NULL, NULL, rows), KB_OK);
        for (int i = 0; i < DRAWN; i++) {
            int32_t octave = bag ? i / 8 % KB_OCTAVES : 0;
            kbi_box_store_values(&store, octave, &pairs[i], KBI_STORE_LANES, KBI_STORE_LANES + N, values);
            for (int p = 0; p < N; p++)
                assert_int_equal(values[p] <= kbi_box_threshold(&pairs[i]), rows[p * DRAWN / 8 + i / 8] >> (7 - i % 8) & 1);
        }
        kb_model_free(model);
        kbi_box_store_free(&store);
    }
    test_free(rows);
    for (int k = 0; k < 2; k++) test_free(sets[k]);
}

static void drawn_boxes_are_valid(void **state)
{
    (void)state;
    kbi_box_space space = {.channels = {2, 3, 5}, .channel_count = 3, .min_radius = 2, .max_radius = 6,
                           .grid = KBI_GRID_OCTAVES};
    kb_box_pair pairs[1000], moves[KBI_BOX_MOVES];
    uint64_t random = 1;
    for (int i = 0; i < 1000; i++) pairs[i] = kbi_box_draw(&space, &random);
    kb_model_free(model_of(KB_KIND_BAG, KB_SAMPLER_OCTAVES, pairs, 992));
    for (int i = 0; i < 1000; i++) {
        int32_t n = kbi_box_moves(&space, &pairs[i], moves);
        assert_true(pairs[i].radius1 == pairs[i].radius2 && pairs[i].radius1 >= 2 && pairs[i].radius1 <= 6);
        assert_true(n >= 4);
        kb_box_pair table[32]; /* all moves, some of them several times */
        for (int k = 0; k < 32; k++) table[k] = moves[k % n];
        kb_model_free(model_of(KB_KIND_BAG, KB_SAMPLER_OCTAVES, table, 32));
        for (int k = 0; k < n; k++) assert_false(kbi_box_pair_same(&moves[k], &pairs[i]));
    }
}

static void threads_change_nothing(void **state)
{
    (void)state;
    rendered *r = render_set(5);
    kb_box_pair one[BITS], two[BITS];
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    for (kb_learn_loss loss = KB_LEARN_LOSS_TRIPLET; loss <= KB_LEARN_LOSS_ORB; loss++) {
        kb_learn_options o = small_options(KB_KIND_BAD);
        o.loss = loss;
        assert_int_equal(kb_learn_boxes(&r->patches, &o, one, NULL, NULL), KB_OK);
        o.parallel = pool;
        assert_int_equal(kb_learn_boxes(&r->patches, &o, two, NULL, NULL), KB_OK);
        assert_memory_equal(one, two, sizeof one);
    }
    kb_pool_free(pool);
    test_free(r);
}

/* With all triplets it is no screening; with fewer it chooses others, nearly as good, on any number of threads. */
static void screening_is_nearly_as_good(void **state)
{
    (void)state;
    rendered *r = render_set(5);
    kb_box_pair all[BITS], same[BITS], screened[BITS];
    kb_learn_summary full, part;
    kb_parallel *pool;
    KB_INIT(full);
    KB_INIT(part);
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    kb_learn_options o = small_options(KB_KIND_BAD);
    o.candidates = 300;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, all, &full, NULL), KB_OK);
    o.screen = o.triplets;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, same, NULL, NULL), KB_OK);
    assert_memory_equal(all, same, sizeof all);
    o.screen = 100;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, screened, &part, NULL), KB_OK);
    assert_memory_not_equal(all, screened, sizeof all);
    assert_true(part.loss < 1.1 * full.loss + 0.01);
    o.parallel = pool;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, same, NULL, NULL), KB_OK);
    assert_memory_equal(screened, same, sizeof same);
    kb_pool_free(pool);
    test_free(r);
}

static int32_t stop_at_21(void *context, const kb_learn_progress *progress)
{
    (void)context;
    return progress->bit < 21;
}

static void break_and_go_on(const rendered *r, kb_learn_options o)
{
    kb_box_pair whole[BITS], part[BITS], rest[BITS];
    kb_learn_summary summary;
    KB_INIT(summary);
    assert_int_equal(kb_learn_boxes(&r->patches, &o, whole, &summary, NULL), KB_OK);
    assert_int_equal(summary.bits, BITS);
    assert_int_equal(summary.points, POINTS);

    o.report = stop_at_21;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, part, &summary, NULL), KB_OK);
    assert_int_equal(summary.bits, 21);
    o.report = NULL;
    o.start = part;
    o.started = 21;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, rest, &summary, NULL), KB_OK);
    assert_memory_equal(whole, rest, sizeof whole);

    o.seed++;
    o.started = 0;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, rest, NULL, NULL), KB_OK);
    assert_memory_not_equal(whole, rest, sizeof whole);
}

static void a_break_changes_nothing(void **state)
{
    (void)state;
    rendered *octaves = render_form(6, true), *patches = render_set(6);
    kb_learn_options o = small_options(KB_KIND_BAD);
    break_and_go_on(octaves, small_options(KB_KIND_BAG));
    o.loss = KB_LEARN_LOSS_BINARY; /* whose weights of bits are computed again */
    break_and_go_on(patches, o);
    test_free(octaves);
    test_free(patches);
}

/* What AdaBoost is known for: by the weights that follow from a bit, that very bit is no better than chance. */
static void boosting_leaves_nothing_to_the_last_bit(void **state)
{
    (void)state;
    rendered *r = render_set(8);
    kbi_box_space space = {.channel_count = 1, .min_radius = 1, .max_radius = 7};
    kb_learn_options o = small_options(KB_KIND_BAD);
    kbi_box_sample sample;
    kbi_scorer scorer;
    kb_box_pair boxes[8];
    uint64_t random = 3;
    o.loss = KB_LEARN_LOSS_BINARY;
    o.keep = 100; /* the same pairs for every bit */
    kb_learn_defaults(&o);
    assert_int_equal(kbi_box_sample_create(&sample, &r->patches, &o, NULL), KB_OK);
    assert_int_equal(kbi_scorer_create(&scorer, &sample), KB_OK);
    kbi_box_sample_refresh(&sample, boxes, 0);
    for (int32_t k = 0; k < 8; k++) {
        kbi_scored best[20];
        for (int i = 0; i < 20; i++) best[i] = (kbi_scored){kbi_box_draw(&space, &random), 0};
        kbi_scorer_prepare(&scorer, k);
        kbi_scorer_score_best(&scorer, best, 20, 20);
        for (int i = 1; i < 20; i++)
            if (best[i].change < best[0].change) best[0] = best[i];
        assert_true(kbi_scorer_loss(&scorer, best[0].change) < 0.45);
        assert_int_equal(kbi_scorer_change(&scorer, &best[0].pair), best[0].change);
        kbi_scorer_boost(&scorer, k, best[0].change);
        kbi_box_sample_extend(&sample, &best[0].pair, k);
        kbi_scorer_prepare(&scorer, k + 1);
        double error = kbi_scorer_loss(&scorer, kbi_scorer_change(&scorer, &best[0].pair));
        if (!(fabs(error - 0.5) < 1e-4)) fail_msg("bit %d: weighted error %.6f", (int)k, error);
    }
    kbi_scorer_free(&scorer);
    kbi_box_sample_free(&sample);
    test_free(r);
}

/* The paper's recipe: boxes of one size on samples, thresholds of tenths, triplets and augmentation anew for every bit.
 * What the caller asked for stays. */
static void the_paper_in_one_word(void **state)
{
    (void)state;
    rendered *r = render_set(9);
    kb_box_pair boxes[BITS], other[BITS];
    kb_learn_options o;
    KB_INIT(o);
    kb_learn_paper(&o);
    assert_true(o.candidates == 1000 && o.keep == 1 && o.augment && !o.two_radii && !o.local_search && !o.screen);
    assert_int_equal(o.sampler, KB_SAMPLER_PATCH);
    o = small_options(KB_KIND_BAD);
    o.local_search = o.keep = 0;
    kb_learn_paper(&o);
    assert_int_equal(o.candidates, 60);
    assert_int_equal(kb_learn_boxes(&r->patches, &o, boxes, NULL, NULL), KB_OK);
    for (int i = 0; i < BITS; i++) {
        assert_int_equal(boxes[i].radius1, boxes[i].radius2);
        assert_true(boxes[i].threshold == (float)(floor(10 * (double)boxes[i].threshold + 0.5) / 10));
    }
    o.augment = NULL;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, other, NULL, NULL), KB_OK);
    assert_memory_not_equal(boxes, other, sizeof boxes);
    test_free(r);
}

static double map_of(const rendered *r, kb_kind kind, const kb_box_pair *boxes, int32_t bits)
{
    kbi_validation v;
    kb_model *model = model_of(kind, kind == KB_KIND_BAG ? KB_SAMPLER_OCTAVES : KB_SAMPLER_PATCH, boxes, bits);
    assert_true(kbi_validate_model(&r->set, model, POINTS, 1, NULL, &v));
    kb_model_free(model);
    return v.map;
}

static void learned_bits_beat_random_ones(void **state)
{
    (void)state;
    rendered *learn = render_set(20), *unseen = render_set(21);
    rendered *octaves = render_form(20, true), *unseen_octaves = render_form(21, true);
    kb_box_pair boxes[BITS];
    uint64_t random = 2;
    kbi_box_space space = {.channel_count = 1, .min_radius = 1, .max_radius = 7};
    for (int i = 0; i < BITS; i++) boxes[i] = kbi_box_draw(&space, &random);
    double drawn = map_of(unseen, KB_KIND_BAD, boxes, BITS), bad, bag;
    kb_learn_options o = small_options(KB_KIND_BAD);
    o.candidates = 200;
    assert_int_equal(kb_learn_boxes(&learn->patches, &o, boxes, NULL, NULL), KB_OK);
    bad = map_of(unseen, KB_KIND_BAD, boxes, BITS);
    o.kind = KB_KIND_BAG;
    assert_int_equal(kb_learn_boxes(&octaves->patches, &o, boxes, NULL, NULL), KB_OK);
    bag = map_of(unseen_octaves, KB_KIND_BAG, boxes, BITS);
    print_message("mAP: random boxes %.3f, BAD %.3f, BAG %.3f\n", drawn, bad, bag);
    assert_true(bad > drawn + 0.1);
    assert_true(bag > drawn + 0.15);
    test_free(learn);
    test_free(unseen);
    test_free(octaves);
    test_free(unseen_octaves);
}

static void no_change(void *context, const uint8_t *patches, size_t n, uint64_t seed, const kb_parallel *parallel,
                      uint8_t *out)
{
    (void)context, (void)seed, (void)parallel;
    memcpy(out, patches, n * AREA);
}

static void wrong_options_are_told(void **state)
{
    (void)state;
    rendered *r = render_set(7);
    kb_box_pair boxes[BITS];
    kb_error error;
#define REFUSED(field, value, word)                                                                                    \
    do {                                                                                                               \
        kb_learn_options o = small_options(KB_KIND_BAD);                                                               \
        o.field = (value);                                                                                             \
        assert_int_equal(kb_learn_boxes(&r->patches, &o, boxes, NULL, &error), KB_E_ARGUMENT);                         \
        assert_non_null(strstr(error.text, word));                                                                     \
    } while (0)
    REFUSED(bits, 20, "multiple of 8");
    REFUSED(bits, 2048, "bits is 2048");
    REFUSED(kind, KB_KIND_SIFT, "kind");
    REFUSED(triplets, 1, "triplets");
    REFUSED(batch, 4, "batch");
    REFUSED(candidates, -1, "candidates");
    REFUSED(margin, -0.5, "margin");
    REFUSED(margin, 3, "margin");
    REFUSED(channels, 3, "gray");
    REFUSED(channels, 1024, "channels");
    REFUSED(max_radius, 8, "max_radius");
    REFUSED(min_radius, 8, "min_radius");
    REFUSED(screen, -1, "screen");
    REFUSED(started, 5, "start");
    REFUSED(sampler, KB_SAMPLER_OCTAVES, "sampler");
#undef REFUSED
    kb_learn_options o = small_options(KB_KIND_BAG);
    o.bits = 48;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, boxes, NULL, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "multiple of 32"));
    o = small_options(KB_KIND_BAG);
    o.augment = no_change;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, boxes, NULL, &error), KB_E_ARGUMENT);
    assert_non_null(strstr(error.text, "augment"));
    o = small_options(KB_KIND_BAD);
    o.struct_size = 1;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, boxes, NULL, &error), KB_E_STRUCT);
    assert_string_equal(error.field, "struct_size");
    o = small_options(KB_KIND_BAD);
    r->label[5] = 77;
    assert_int_equal(kb_learn_boxes(&r->patches, &o, boxes, NULL, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_learn_boxes(NULL, &o, boxes, NULL, &error), KB_E_ARGUMENT);
    assert_int_equal(kb_learn_boxes(&(kb_learn_patches){sizeof(kb_learn_patches), NULL, NULL, 0}, &o, boxes, NULL, &error), KB_E_ARGUMENT);
    test_free(r);
}

/* Bits to go on from may come from a damaged file: every field is checked, and the bit named. */
static void wrong_starts_are_told(void **state)
{
    (void)state;
    rendered *r = render_set(7);
    const struct {
        kb_box_pair pair;
        const char *word;
    } cases[] = {
        {{16, 9, 9, 1, 1, 9, 9, 1, 0}, "no channel 16"},      {{1, 9, 9, 1, 16, 9, 9, 1, 0}, "no channel 16"},
        {{1, 9, 9, 1, 2, 15, 15, 30, 0}, "radius 30"},        {{1, 15, 9, 2, 2, 9, 9, 1, 0}, "cells of an octave"},
        {{1, 9, 9, 1, 2, 9, 3, 4, 0}, "cells of an octave"},    {{1, 9, 9, 1, 2, 200, 9, 1, 0}, "cells of an octave"},
        {{1, 9, 9, 1, 2, 10, 9, 1, 0}, "cells of an octave"},   {{1, 9, 9, 0, 2, 9, 9, 1, 0}, "radius 0"},
        {{0, 9, 9, 1, 1, 9, 9, 1, 0}, "channels"},              {{1, 9, 9, 1, 2, 9, 9, 1, NAN}, "threshold nan"},
        {{1, 9, 9, 1, 2, 9, 9, 1, 3}, "threshold 3"},
        {{1, 9, 9, 1, 2, 9, 9, 1, INFINITY}, "threshold inf"}, {{1, 9, 9, 1, 2, 9, 9, 1, 1e20f}, "threshold 1e+20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kb_box_pair boxes[BITS], start[2] = {{1, 9, 9, 1, 2, 9, 9, 1, 0}, cases[i].pair};
        kb_error error;
        kb_learn_options o = small_options(KB_KIND_BAG);
        o.start = start;
        o.started = 2;
        assert_int_equal(kb_learn_boxes(&r->patches, &o, boxes, NULL, &error), KB_E_TABLE);
        assert_non_null(strstr(error.text, "bit 1"));
        assert_non_null(strstr(error.text, cases[i].word));
    }
    test_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_describing), cmocka_unit_test(drawn_boxes_are_valid),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(screening_is_nearly_as_good),
        cmocka_unit_test(a_break_changes_nothing),
        cmocka_unit_test(boosting_leaves_nothing_to_the_last_bit),
        cmocka_unit_test(the_paper_in_one_word),
        cmocka_unit_test(learned_bits_beat_random_ones),  cmocka_unit_test(wrong_options_are_told),
        cmocka_unit_test(wrong_starts_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
