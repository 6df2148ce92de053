/* SPDX-License-Identifier: Apache-2.0 */
/* The patches that a bit is chosen on. */
#include <math.h>
#include <stdlib.h>

#include "describe/describe.h"
#include "learn/box_train.h"
#include "learn/random.h"

static bool allocate(kbi_box_sample *s)
{
    size_t pairs = 2 * s->batch;
    s->codes = calloc(s->batches * pairs * s->words, sizeof *s->codes);
    s->drawn = malloc(s->batches * sizeof *s->drawn);
    s->pixels = malloc(pairs * KBI_PATCH_BYTES);
    s->augmented = malloc(pairs * KBI_PATCH_BYTES);
    s->taken = calloc((s->list.points + 7) / 8, 1);
    s->left = malloc(s->batch * sizeof *s->left);
    s->right = malloc(s->batch * sizeof *s->right);
    s->values = malloc(s->batches * s->span * sizeof *s->values);
    return s->codes && s->drawn && s->pixels && s->augmented && s->taken && s->left && s->right && s->values &&
           kbi_box_store_create(&s->store, s->batches * s->span, s->options.channels, s->options.sampler);
}

kb_status kbi_box_sample_create(kbi_box_sample *s, const kb_learn_patches *patches, const kb_learn_options *options,
                               kb_error *error)
{
    memset(s, 0, sizeof *s);
    s->patches = patches;
    s->options = *options;
    kb_status status = kbi_point_list_create(&s->list, patches->labels, patches->count, error);
    if (status != KB_OK) return status;
    s->batch = (size_t)options->batch < s->list.points ? (size_t)options->batch : s->list.points;
    s->batches = ((size_t)options->triplets + s->batch - 1) / s->batch;
    s->span = (2 * s->batch + KBI_STORE_LANES - 1) / KBI_STORE_LANES * KBI_STORE_LANES;
    s->words = ((size_t)options->bits + 63) / 64;
    if (!allocate(s)) {
        kbi_box_sample_free(s);
        return kbi_fail(error, KB_E_MEMORY, "no memory for %zu triplets; ask for fewer", s->batches * s->batch);
    }
    for (size_t b = 0; b < s->batches; b++) s->drawn[b] = -1;
    return KB_OK;
}

void kbi_box_sample_free(kbi_box_sample *s)
{
    kbi_point_list_free(&s->list);
    kbi_box_store_free(&s->store);
    free(s->codes);
    free(s->drawn);
    free(s->pixels);
    free(s->augmented);
    free(s->taken);
    free(s->left);
    free(s->right);
    free(s->values);
    memset(s, 0, sizeof *s);
}

int32_t kbi_box_threshold(const kb_box_pair *pair)
{
    return (int32_t)floor((double)pair->threshold * kbi_threshold_units(pair->channel1 ? KB_KIND_BAG : KB_KIND_BAD));
}

/* Bit `index` of the codes of the places [from, to) of a batch. Returns the number of ones. */
static size_t set_bits(kbi_box_sample *s, size_t b, size_t from, size_t to, const kb_box_pair *pair, int32_t index)
{
    int16_t *values = s->values + b * s->span;
    uint64_t *codes = kbi_box_sample_codes(s, b) + (size_t)index / 64;
    int32_t threshold = kbi_box_threshold(pair);
    size_t ones = 0;
    kbi_box_store_values(&s->store, kbi_turn_octave(&s->store, index), pair, b * s->span + from, b * s->span + to,
                         values + from);
    for (size_t i = from; i < to; i++) {
        uint64_t bit = values[i] <= threshold, *word = &codes[i * s->words];
        *word = (*word & ~((uint64_t)1 << index % 64)) | bit << index % 64;
        ones += (size_t)bit;
    }
    return ones;
}

static void draw_batch(kbi_box_sample *s, size_t b, uint64_t seed)
{
    const kb_learn_options *o = &s->options;
    const uint8_t *from = s->patches->pixels;
    uint8_t *to = s->pixels;
    kbi_sample_pairs(&s->list, s->batch, kbi_random_fork(seed, 0), s->left, s->right, s->taken);
    for (size_t i = 0; i < s->batch; i++, to += KBI_PATCH_BYTES)
        memcpy(to, from + s->left[i] * KBI_PATCH_BYTES, KBI_PATCH_BYTES);
    for (size_t i = 0; i < s->batch; i++, to += KBI_PATCH_BYTES)
        memcpy(to, from + s->right[i] * KBI_PATCH_BYTES, KBI_PATCH_BYTES);
    from = s->pixels;
    if (o->augment) {
        o->augment(o->augment_context, s->pixels, 2 * s->batch, kbi_random_fork(seed, 1), o->parallel, s->augmented);
        from = s->augmented;
    }
    kbi_box_store_fill(&s->store, b * s->span, from, 2 * s->batch, o->parallel);
}

/* The bits chosen before, of a batch that was just drawn, in pieces of patches. */
#define DESCRIBE_PIECES 16
typedef struct describe_job {
    kbi_box_sample *sample;
    size_t batch;
    const kb_box_pair *boxes;
    int32_t chosen;
} describe_job;

static void describe_piece(void *context, int32_t index)
{
    const describe_job *job = context;
    size_t pairs = 2 * job->sample->batch;
    size_t from = kbi_piece(pairs, DESCRIBE_PIECES, index), to = kbi_piece(pairs, DESCRIBE_PIECES, index + 1);
    for (int32_t k = 0; k < job->chosen; k++) set_bits(job->sample, job->batch, from, to, &job->boxes[k], k);
}

void kbi_box_sample_refresh(kbi_box_sample *s, const kb_box_pair *boxes, int32_t chosen)
{
    size_t keep = (size_t)s->options.keep;
    for (size_t b = 0; b < s->batches; b++) {
        /* Batches take turns: of 8 batches that stay for 4 bits, two are drawn anew for every bit. */
        int64_t turn = (int64_t)(((size_t)chosen + b * keep / s->batches) / keep);
        if (turn == s->drawn[b]) continue;
        s->drawn[b] = turn;
        draw_batch(s, b, kbi_random_fork(kbi_random_fork(s->options.seed, b), (uint64_t)turn));
        describe_job job = {s, b, boxes, chosen};
        kbi_parallel_run(s->options.parallel, DESCRIBE_PIECES, describe_piece, &job);
    }
}

double kbi_box_sample_extend(kbi_box_sample *s, const kb_box_pair *pair, int32_t index)
{
    size_t ones = 0;
    for (size_t b = 0; b < s->batches; b++) ones += set_bits(s, b, 0, 2 * s->batch, pair, index);
    return (double)ones / (double)(s->batches * 2 * s->batch);
}
