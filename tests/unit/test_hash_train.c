/* SPDX-License-Identifier: Apache-2.0 */
/* Learning HashSIFT: gradients against finite differences, hard negatives against all pairs, matrix products, the
 * end-to-end training, checkpoints, thread counts, wrong options. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/augment.h"
#include "learn/hash_loss.h"
#include "learn/matrix.h"
#include "learn/random.h"
#include "learn/validate.h"
#include "render.h"
#include "seal.h"
#include "../arrays.h"

/* ------------------------------------------------------------------------------------------------------- matrices */

static void fill_random(float *v, size_t n, double deviation, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) v[i] = (float)(deviation * kbi_random_normal(&seed));
}

static void test_products(void **state)
{
    (void)state;
    enum { M = 131, N = 37, K = 66 };
    static float a[M * K], b[N * K], c[M * N], at[K * M], bt[K * N];
    kb_parallel *pool;
    assert_int_equal(kb_pool_create(3, NULL, &pool), KB_OK);
    const kbi_blas ways[] = {kbi_blas_open(), {NULL}}; /* plain C too, whatever the machine has */
    fill_random(a, M * K, 1, 1);
    fill_random(b, N * K, 1, 2);
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < M; i++) at[k * M + i] = a[i * K + k];
        for (int j = 0; j < N; j++) bt[k * N + j] = b[j * K + k];
    }
    for (int way = 0; way < 4; way++) {
        memset(c, 0, sizeof c);
        if (way % 2 == 0) kbi_matrix_times_transposed(&ways[way / 2], a, b, c, M, N, K, pool);
        else kbi_matrix_transposed_times(&ways[way / 2], at, bt, c, M, N, K, NULL);
        for (int i = 0; i < M; i++) {
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int k = 0; k < K; k++) sum += (double)a[i * K + k] * b[j * K + k];
                assert_true(fabs(sum - c[i * N + j]) < 1e-4);
            }
        }
    }
    kb_pool_free(pool);
}

/* ----------------------------------------------------------------------------------------------------------- loss */

enum { PAIRS = 24, BITS = 16 };

typedef struct problem {
    kbi_hash_batch batch;
    float map[BITS * KBI_HASH_INPUTS], inputs[2 * PAIRS * KBI_HASH_INPUTS];
} problem;

/* Pairs that resemble each other a little. */
static problem *make_problem(kb_learn_loss loss, uint64_t seed)
{
    problem *p = calloc(1, sizeof *p);
    const size_t half = PAIRS * KBI_HASH_INPUTS;
    float noise[PAIRS * KBI_HASH_INPUTS];
    kbi_hash_batch_create(&p->batch, PAIRS, BITS);
    fill_random(p->map, BITS * KBI_HASH_INPUTS, 0.5, seed);
    fill_random(p->inputs, half, 0.2, seed + 1);
    fill_random(noise, half, 0.15, seed + 2);
    for (size_t i = 0; i < half; i++) p->inputs[half + i] = p->inputs[i] + noise[i];
    p->batch.loss = loss;
    p->batch.margin = 0.5f;
    p->batch.map = p->map;
    p->batch.inputs = p->inputs;
    return p;
}

static void free_problem(problem *p)
{
    kbi_hash_batch_free(&p->batch);
    free(p);
}

/* The values of all patches by the book, in doubles. */
static void exact_values(const problem *p, double *values)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        for (int b = 0; b < BITS; b++) {
            double sum = 0;
            for (int k = 0; k < KBI_HASH_INPUTS; k++)
                sum += (double)p->map[b * KBI_HASH_INPUTS + k] * p->inputs[i * KBI_HASH_INPUTS + k];
            values[i * BITS + b] = tanh(sum);
        }
    }
}

static double similarity(const double *values, int left, int right)
{
    double sum = 0;
    for (int b = 0; b < BITS; b++) sum += values[left * BITS + b] * values[right * BITS + b];
    return sum;
}

/* Loss with given negatives, in doubles: smooth where the choice of negatives does not change. */
static double exact_loss(const problem *p, const kbi_hash_negative *negatives)
{
    double values[2 * PAIRS * BITS], loss = 0;
    exact_values(p, values);
    for (int i = 0; i < PAIRS; i++) {
        double own = similarity(values, i, PAIRS + i);
        if (p->batch.loss == KB_LEARN_LOSS_TRIPLET) {
            int j = negatives[i].pair;
            double other =
                negatives[i].anchor_right ? similarity(values, j, PAIRS + i) : similarity(values, i, PAIRS + j);
            loss += fmax(0, (double)p->batch.margin * BITS - own + other) / BITS;
        } else {
            double wrong = similarity(values, i, PAIRS + (i + 1) % PAIRS);
            loss += (log1p(exp(-8 * own / BITS)) + log1p(exp(8 * wrong / BITS))) / 2;
        }
    }
    return loss / PAIRS;
}

static void check_gradient(kb_learn_loss kind)
{
    problem *p = make_problem(kind, 11);
    float gradient[BITS * KBI_HASH_INPUTS];
    kbi_hash_negative negatives[PAIRS];
    double active, loss = kbi_hash_batch_loss(&p->batch, gradient, &active), largest = 0;
    memcpy(negatives, p->batch.negatives, sizeof negatives);
    assert_true(fabs(loss - exact_loss(p, negatives)) < 1e-4);
    assert_true(active > 0.2 && active <= 1);
    for (int i = 0; i < BITS * KBI_HASH_INPUTS; i++) largest = fmax(largest, fabs((double)gradient[i]));
    for (int i = 0; i < BITS * KBI_HASH_INPUTS; i += 7) {
        float kept = p->map[i];
        p->map[i] = kept + 1e-3f;
        double up = exact_loss(p, negatives), above = p->map[i];
        p->map[i] = kept - 1e-3f;
        double down = exact_loss(p, negatives), below = p->map[i];
        p->map[i] = kept;
        double slope = (up - down) / (above - below);
        if (fabs(slope - gradient[i]) > 0.01 * largest)
            fail_msg("derivative %d: %g, by differences %g", i, gradient[i], slope);
    }
    free_problem(p);
}

static void test_gradient_of_triplets(void **state)
{
    (void)state;
    check_gradient(KB_LEARN_LOSS_TRIPLET);
}

static void test_gradient_of_pairs(void **state)
{
    (void)state;
    check_gradient(KB_LEARN_LOSS_BINARY);
}

static void test_hard_negatives(void **state)
{
    (void)state;
    problem *p = make_problem(KB_LEARN_LOSS_TRIPLET, 5);
    float gradient[BITS * KBI_HASH_INPUTS];
    double values[2 * PAIRS * BITS], active;
    kbi_hash_batch_loss(&p->batch, gradient, &active);
    exact_values(p, values);
    for (int i = 0; i < PAIRS; i++) {
        double most = -1e9;
        for (int j = 0; j < PAIRS; j++) {
            if (j == i) continue;
            most = fmax(most, fmax(similarity(values, i, PAIRS + j), similarity(values, j, PAIRS + i)));
        }
        const kbi_hash_negative *n = &p->batch.negatives[i];
        assert_int_not_equal(n->pair, i);
        double chosen =
            n->anchor_right ? similarity(values, n->pair, PAIRS + i) : similarity(values, i, PAIRS + n->pair);
        assert_true(fabs(chosen - most) < 1e-4);
    }
    free_problem(p);
}

/* ------------------------------------------------------------------------------------------------------- training */

/* Patches out of textures: a point is a place in a texture, its patches are cut at somewhat different positions, scales
 * and angles. */
static void make_set(kbi_patch_set *set, size_t points, size_t each, uint64_t seed)
{
    enum { SIZE = 256 };
    *set = (kbi_patch_set){.side = 32, .support = 1, .points = points, .patches = points * each};
    set->pixels = calloc(set->patches, 1024);
    set->label = calloc(set->patches, sizeof *set->label);
    set->view = calloc(set->patches, sizeof *set->view);
    set->first = calloc(points + 1, sizeof *set->first);
    uint8_t *texture = render_texture(SIZE, SIZE, seed);
    kb_image image = view_of(texture, SIZE, SIZE);
    kb_keypoint *k = calloc(set->patches, sizeof *k);
    uint64_t state = seed;
    for (size_t i = 0; i < set->patches; i++) {
        if (i % each == 0) {
            k[i].x = (float)kbi_random_between(&state, 40, SIZE - 40);
            k[i].y = (float)kbi_random_between(&state, 40, SIZE - 40);
            k[i].size = (float)kbi_random_between(&state, 20, 40);
            k[i].angle = (float)kbi_random_between(&state, 30, 330);
        } else {
            k[i] = k[i - i % each];
            k[i].x += (float)(1.5 * kbi_random_normal(&state));
            k[i].y += (float)(1.5 * kbi_random_normal(&state));
            k[i].size *= (float)kbi_exp(0.1 * kbi_random_normal(&state));
            k[i].angle += (float)(6 * kbi_random_normal(&state));
        }
        set->label[i] = (uint32_t)(i / each);
        set->view[i] = (uint32_t)(i % each);
    }
    for (size_t p = 0; p <= points; p++) set->first[p] = p * each;
    assert_int_equal(sample_patches(&image, k, set->patches, NULL, NULL, set->pixels, NULL), KB_OK);
    free(k);
    free(texture);
}

enum { SMALL_BITS = 24 };

static void augment_default(void *context, const uint8_t *patches, size_t n, uint64_t seed,
                            const kb_parallel *parallel, uint8_t *out)
{
    (void)context;
    kbi_augment_patches(&kbi_augment_default, patches, n, KB_PATCH_SIDE, seed, parallel, out);
}

static kb_learn_patches patches_of(const kbi_patch_set *set)
{
    kb_learn_patches patches;
    KB_INIT(patches);
    patches.pixels = set->pixels;
    patches.labels = set->label;
    patches.count = set->patches;
    return patches;
}

static kbi_hash_trainer *make_trainer(const kbi_patch_set *set, const kb_learn_hash_options *o, kb_error *error)
{
    kb_learn_patches patches = patches_of(set);
    kbi_hash_trainer *t;
    kb_status status = kbi_hash_trainer_create(&t, &patches, o, error);
    assert_true((status == KB_OK) == (t != NULL));
    return t;
}

static kb_learn_hash_options small_options(void)
{
    kb_learn_hash_options o;
    KB_INIT(o);
    o.bits = SMALL_BITS;
    o.steps = 300;
    o.batch = 128;
    o.seed = 3;
    o.versions = 2;
    o.augment = augment_default;
    return o;
}

static double map_of(const kbi_patch_set *set, const kb_learn_hash_options *o, const int8_t *weights, const int32_t *bias)
{
    kb_model_spec spec;
    kb_model *model;
    kbi_validation v;
    KB_INIT(spec);
    spec.kind = KB_KIND_HASHSIFT;
    spec.bits = o->bits;
    spec.name = "test";
    spec.weights = weights;
    spec.bias = bias;
    spec.root = o->root;
    assert_int_equal(kb_model_create(&spec, NULL, &model, NULL), KB_OK);
    assert_true(kbi_validate_model(set, model, 0, 1, NULL, &v));
    kb_model_free(model);
    return v.map;
}

static void test_training_helps(void **state)
{
    (void)state;
    kbi_patch_set train, held;
    kb_error error = {.text = ""};
    kb_learn_hash_options o = small_options();
    int8_t weights[SMALL_BITS * 128];
    int32_t bias[SMALL_BITS];
    make_set(&train, 1000, 4, 1);
    make_set(&held, 600, 2, 2);
    for (int root = 0; root < 2; root++) {
        o.root = root;
        kbi_hash_trainer *t = make_trainer(&train, &o, &error);
        assert_non_null(t);
        kbi_hash_trainer_result(t, weights, bias);
        double before = map_of(&held, &o, weights, bias);
        assert_true(kbi_hash_trainer_run(t, o.steps));
        assert_int_equal(kbi_hash_trainer_steps(t), o.steps);
        kbi_hash_trainer_result(t, weights, bias);
        double after = map_of(&held, &o, weights, bias);
        if (!(after > before + 0.08)) fail_msg("mAP %.3f before and %.3f after learning", before, after);
        kbi_hash_trainer_free(t);
    }
    kbi_patch_set_free(&train);
    kbi_patch_set_free(&held);
}

/* Inputs of the paper are the SIFT bytes; ours are centred, with a deviation of 0.8. Both in every version of a
 * patch. */
static void test_inputs(void **state)
{
    (void)state;
    enum { N = 60 };
    kbi_patch_set set;
    size_t left[N], right[N];
    float *rows = malloc(2 * N * KBI_HASH_INPUTS * sizeof *rows);
    make_set(&set, N, 2, 4);
    for (size_t i = 0; i < N; i++) left[i] = 2 * i, right[i] = 2 * i + 1;
    kb_learn_patches patches = patches_of(&set);
    for (int raw = 0; raw < 2; raw++) {
        kb_learn_hash_options o = small_options();
        kbi_hash_inputs inputs;
        double sum = 0, squares = 0;
        o.batch = N;
        o.raw = raw;
        o.augment = NULL;
        assert_int_equal(kbi_hash_inputs_create(&inputs, &patches, &o, NULL), KB_OK);
        assert_int_equal(kbi_hash_inputs_fill(&inputs, left, right, 1, rows), KB_OK);
        for (size_t i = 0; i < 2 * N; i++) {
            const float *row = rows + i * KBI_HASH_INPUTS;
            size_t patch = i < N ? left[i] : right[i - N];
            assert_true(row[128] == 1);
            for (int k = 0; k < 128; k++) {
                sum += row[k];
                squares += row[k] * row[k];
                if (raw) assert_true(row[k] == inputs.bytes[patch * 128 + (size_t)k]);
            }
        }
        if (!raw) {
            assert_true(fabs(sum / (2 * N * 128)) < 1e-5);
            assert_true(fabs(sqrt(squares / (2 * N * 128)) - 0.8) < 1e-4);
        }
        kbi_hash_inputs_free(&inputs);
    }
    free(rows);
    kbi_patch_set_free(&set);
}

/* All of a training on a number of threads, in one go or with a stop and a checkpoint in between. */
static void train(const kbi_patch_set *set, bool paper, int32_t threads, bool stop, int8_t *weights, int32_t *bias)
{
    kb_error error = {.text = ""};
    kb_learn_hash_options o = small_options();
    kb_parallel *pool;
    if (paper) {
        o.augment = NULL;
        o.versions = 0;
        kb_learn_hash_paper(&o);
        assert_true(o.augment && o.versions == KB_LEARN_ANEW && o.rate == 0.0002);
    }
    assert_int_equal(kb_pool_create(threads, NULL, &pool), KB_OK);
    o.parallel = pool;
    kbi_hash_trainer *t = make_trainer(set, &o, &error);
    assert_non_null(t);
    if (stop) {
        size_t size;
        assert_true(kbi_hash_trainer_run(t, 61));
        const void *saved = kbi_hash_trainer_save(t, &size);
        void *kept = malloc(size);
        memcpy(kept, saved, size);
        kbi_hash_trainer_free(t);
        t = make_trainer(set, &o, &error);
        assert_int_equal(kbi_hash_trainer_restore(t, kept, size, &error), KB_OK);
        assert_int_equal(kbi_hash_trainer_steps(t), 61);
        free(kept);
    }
    assert_true(kbi_hash_trainer_run(t, o.steps));
    kbi_hash_trainer_result(t, weights, bias);
    kbi_hash_trainer_free(t);
    kb_pool_free(pool);
}

static void test_same_result(void **state)
{
    (void)state;
    kbi_patch_set set;
    int8_t weights[3][SMALL_BITS * 128];
    int32_t bias[3][SMALL_BITS];
    make_set(&set, 200, 3, 4);
    for (int paper = 0; paper < 2; paper++) {
        train(&set, paper, 1, false, weights[0], bias[0]);
        train(&set, paper, 3, false, weights[1], bias[1]);
        train(&set, paper, 2, true, weights[2], bias[2]);
        for (int i = 1; i < 3; i++) {
            assert_memory_equal(weights[0], weights[i], sizeof weights[0]);
            assert_memory_equal(bias[0], bias[i], sizeof bias[0]);
        }
    }
    kbi_patch_set_free(&set);
}

static int32_t stop_at_once(void *context, const kb_learn_hash_progress *progress)
{
    *(kb_learn_hash_progress *)context = *progress;
    return 0;
}

static void test_report_stops(void **state)
{
    (void)state;
    kbi_patch_set set;
    kb_error error = {.text = ""};
    kb_learn_hash_options o = small_options();
    kb_learn_hash_progress seen;
    make_set(&set, 40, 2, 4);
    o.report = stop_at_once;
    o.report_context = &seen;
    kbi_hash_trainer *t = make_trainer(&set, &o, &error);
    assert_non_null(t); /* a batch larger than the set becomes as large as the set */
    assert_false(kbi_hash_trainer_run(t, o.steps));
    assert_true(seen.step > 0 && seen.step < o.steps && seen.steps == o.steps);
    assert_true(seen.loss > 0 && seen.active > 0 && seen.checkpoint && seen.checkpoint_size > 0);
    assert_false(kbi_hash_trainer_run(t, o.steps)); /* goes on, up to the next report */
    assert_true(kbi_hash_trainer_steps(t) > 0);
    kbi_hash_trainer_free(t);
    kbi_patch_set_free(&set);
}

static void test_wrong_checkpoint(void **state)
{
    (void)state;
    kbi_patch_set set;
    kb_error error = {.text = ""};
    kb_learn_hash_options o = small_options();
    size_t size;
    make_set(&set, 40, 2, 4);
    o.seed = (uint64_t)1 << 53; /* a double holds this one, but not the next */
    kbi_hash_trainer *t = make_trainer(&set, &o, &error);
    o.seed++;
    kbi_hash_trainer *other = make_trainer(&set, &o, &error);
    assert_true(t && other);
    assert_int_equal(kbi_hash_trainer_restore(t, "", 0, &error), KB_E_FORMAT);
    assert_non_null(strstr(error.text, "not a checkpoint"));
    const void *saved = kbi_hash_trainer_save(t, &size);
    uint8_t *bytes = malloc(size);
    memcpy(bytes, saved, size);
    assert_int_equal(kbi_hash_trainer_restore(t, bytes, size, &error), KB_OK);
    assert_int_equal(kbi_hash_trainer_restore(other, bytes, size, &error), KB_E_CHECKSUM);
    assert_non_null(strstr(error.text, "other patches or options"));
    assert_int_equal(kbi_hash_trainer_restore(t, bytes, size - 9, &error), KB_E_TRUNCATED);
    bytes[size / 2] ^= 1;
    assert_int_equal(kbi_hash_trainer_restore(t, bytes, size, &error), KB_E_CHECKSUM);
    assert_non_null(strstr(error.text, "damaged"));
    free(bytes);
    kbi_hash_trainer_free(t);
    kbi_hash_trainer_free(other);
    kbi_hash_trainer_free(NULL);
    kbi_patch_set_free(&set);
}

/* Checkpoints that someone forged, with the right hash: numbers that are none are refused, and a map that is too large
 * to be computed with does no harm. */
static void test_forged_checkpoint(void **state)
{
    (void)state;
    kbi_patch_set set;
    kb_error error = {.text = ""};
    enum { HEAD = 56, SINCE = 24 };
    static const float numbers[] = {NAN, INFINITY, -INFINITY};
    int8_t weights[SMALL_BITS * 128];
    int32_t bias[SMALL_BITS];
    size_t size;
    make_set(&set, 40, 2, 4);
    for (int loss = 0; loss < 2; loss++) {
        kb_learn_hash_options o = small_options();
        o.loss = loss ? KB_LEARN_LOSS_BINARY : KB_LEARN_LOSS_TRIPLET;
        kbi_hash_trainer *t = make_trainer(&set, &o, &error);
        const void *saved = kbi_hash_trainer_save(t, &size);
        size_t array = (size - HEAD - 8) / 3;
        uint8_t *bytes = malloc(size);
        memcpy(bytes, saved, size);
        seal_checkpoint(bytes, size); /* which changes nothing, or the refusals below were those of a wrong sum */
        assert_memory_equal(bytes, saved, size);
        for (int k = 0; k < 9; k++) { /* in map, mean and mean square */
            memcpy(bytes, saved, size);
            memcpy(bytes + HEAD + array * (size_t)(k / 3) + 8, &numbers[k % 3], sizeof *numbers);
            seal_checkpoint(bytes, size);
            assert_int_equal(kbi_hash_trainer_restore(t, bytes, size, &error), KB_E_CHECKSUM);
        }
        static const int64_t since[] = {-1, 1, INT64_MAX};
        for (int k = 0; k < 3; k++) {
            memcpy(bytes, saved, size);
            memcpy(bytes + SINCE, &since[k], 8); /* of 0 steps */
            seal_checkpoint(bytes, size);
            assert_int_equal(kbi_hash_trainer_restore(t, bytes, size, &error), KB_E_CHECKSUM);
        }
        memcpy(bytes, saved, size);
        const float large = 3e38f;
        for (size_t i = 0; i < array; i += sizeof large) memcpy(bytes + HEAD + i, &large, sizeof large);
        seal_checkpoint(bytes, size);
        assert_int_equal(kbi_hash_trainer_restore(t, bytes, size, &error), KB_OK);
        assert_true(kbi_hash_trainer_run(t, 2));
        kbi_hash_trainer_result(t, weights, bias);
        free(bytes);
        kbi_hash_trainer_free(t);
    }
    kbi_patch_set_free(&set);
}

static void test_wrong_options(void **state)
{
    (void)state;
    kbi_patch_set set;
    make_set(&set, 40, 2, 4);
    static const struct {
        const char *word;
        size_t offset;
        double value; /* set as int32_t, int64_t or double by size */
        char type;
    } cases[] = {
        {"bits", offsetof(kb_learn_hash_options, bits), 12, 'i'},
        {"bits", offsetof(kb_learn_hash_options, bits), 2048, 'i'},
        {"steps", offsetof(kb_learn_hash_options, steps), -1, 'l'},
        {"batch", offsetof(kb_learn_hash_options, batch), 3, 'i'},
        {"margin", offsetof(kb_learn_hash_options, margin), 3, 'd'},
        {"margin", offsetof(kb_learn_hash_options, margin), NAN, 'd'},
        {"rate", offsetof(kb_learn_hash_options, rate), -1, 'd'},
        {"versions", offsetof(kb_learn_hash_options, versions), -2, 'i'},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kb_error error = {.text = ""};
        kb_learn_hash_options o = small_options();
        char *field = (char *)&o + cases[i].offset;
        if (cases[i].type == 'i') *(int32_t *)(void *)field = (int32_t)cases[i].value;
        if (cases[i].type == 'l') *(int64_t *)(void *)field = (int64_t)cases[i].value;
        if (cases[i].type == 'd') *(double *)(void *)field = cases[i].value;
        assert_null(make_trainer(&set, &o, &error));
        if (!strstr(error.text, cases[i].word)) fail_msg("case %zu: \"%s\"", i, error.text);
    }
    kbi_patch_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),         cmocka_unit_test(test_gradient_of_triplets),
        cmocka_unit_test(test_gradient_of_pairs), cmocka_unit_test(test_hard_negatives),
        cmocka_unit_test(test_training_helps),   cmocka_unit_test(test_same_result),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_report_stops),     cmocka_unit_test(test_wrong_checkpoint),
        cmocka_unit_test(test_forged_checkpoint),
        cmocka_unit_test(test_wrong_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
