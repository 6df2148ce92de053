/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the learning of BAD and BAG share: the sample of patches (sampleTriplets of the paper's Algorithm
 * 1), and the judging of features on it. */
#ifndef KBI_BOX_TRAIN_H
#define KBI_BOX_TRAIN_H

#include "keybits/learn.h"
#include "learn/box_space.h"
#include "learn/box_values.h"
#include "learn/threshold.h"
#include "learn/triplets.h"

/* ---- box_sample.c: the patches that a bit is chosen on ----
 * Batches of pairs, their integral images, and the bits chosen so far of all of them. Batch b has the places
 * [b span, b span + 2 batch): left patches, then right ones. A batch is drawn anew every `keep` bits, not all in the
 * same bit; which patches are there depends on the seed and the number of the bit alone, so learning can go on from any
 * bit. */
typedef struct kbi_box_sample {
    const kb_learn_patches *patches;
    kbi_point_list list;
    kb_learn_options options; /* without zeros */
    size_t batches, batch, span;
    size_t words; /* of a code */
    kbi_box_store store;
    uint64_t *codes;                     /* batches x 2 batch x words */
    int64_t *drawn;                      /* of every batch: the number of its drawing; -1 before the first */
    uint8_t *pixels, *augmented, *taken; /* scratch of one drawing */
    size_t *left, *right;
    int16_t *values; /* store.patches, scratch */
} kbi_box_sample;

kb_status kbi_box_sample_create(kbi_box_sample *sample, const kb_learn_patches *patches, const kb_learn_options *options,
                               kb_error *error);
void kbi_box_sample_free(kbi_box_sample *sample);
/* Draws what is due for bit number `chosen`, and describes it by the bits chosen before. */
void kbi_box_sample_refresh(kbi_box_sample *sample, const kb_box_pair *boxes, int32_t chosen);
/* The new bit of every patch, as bit `index` of the codes; returns the share of ones. */
double kbi_box_sample_extend(kbi_box_sample *sample, const kb_box_pair *pair, int32_t index);
static inline uint64_t *kbi_box_sample_codes(const kbi_box_sample *sample, size_t batch)
{
    return sample->codes + batch * 2 * sample->batch * sample->words;
}
/* Octaves take turns: that of bit number `chosen`. Each gets as many bits, and each bit is chosen for what those of all
 * octaves leave wrong. */
static inline int32_t kbi_turn_octave(const kbi_box_store *store, int32_t chosen)
{
    return chosen % kbi_octaves(store->sampler);
}
/* A threshold of a pair in 1/128 gray level, as describing sees it. */
int32_t kbi_box_threshold(const kb_box_pair *pair);

/* ---- score_candidates.c: triples of the sample, and the change of the loss that a feature brings ---- */
typedef struct kbi_scored {
    kb_box_pair pair; /* with its best threshold */
    int64_t change;   /* less is better */
} kbi_scored;

typedef struct kbi_scorer {
    kbi_box_sample *sample;
    kbi_triple *triples;
    size_t triple_count;
    size_t screen_count, screen_patches; /* triples of the first batches, for a first look, and the places they use */
    int64_t base; /* the loss before the bit */
    int32_t octave; /* that features are on */
    int32_t pieces;
    int16_t *values;     /* of every piece: store.patches */
    int32_t *histograms; /* of every piece: KBI_BINS */
    kbi_hard_negative *negatives;
    uint32_t *scratch;
    int32_t alpha[KB_MAX_BITS], alpha_sum; /* AdaBoost's weight of each bit; KB_LEARN_LOSS_BINARY */
} kbi_scorer;

kb_status kbi_scorer_create(kbi_scorer *scorer, kbi_box_sample *sample);
void kbi_scorer_free(kbi_scorer *scorer);
/* Makes the triples for bit number `chosen`. */
void kbi_scorer_prepare(kbi_scorer *scorer, int32_t chosen);
/* Finds threshold and change of the `most` best of n features, which come to the front; returns how many there are. Of
 * more than `most`, all are judged by a part of the triples first (kb_learn_options.screen; without, all of them by all
 * triples). */
size_t kbi_scorer_score_best(kbi_scorer *scorer, kbi_scored *features, size_t n, size_t most);
/* The change that a pair with its threshold brings. */
int64_t kbi_scorer_change(kbi_scorer *scorer, const kb_box_pair *pair);
/* The loss of kb_learn_progress, when the chosen bit changes it by `change`. */
double kbi_scorer_loss(const kbi_scorer *scorer, int64_t change);
/* With KB_LEARN_LOSS_BINARY: the weight of bit number `chosen`, for all bits after it. */
void kbi_scorer_boost(kbi_scorer *scorer, int32_t chosen, int64_t change);

/* ---- orb_rule.c: ORB's choice among features, which knows no labels ---- */
/* The best of n features for bit number `chosen`; its `change` becomes the largest absolute correlation with the bits
 * before, in millionths. False when memory is out. */
bool kbi_orb_rule_choose(const kbi_box_sample *sample, int32_t chosen, const kbi_scored *features, size_t n,
                        kbi_scored *best);

#endif
