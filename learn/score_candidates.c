/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: what makes one feature better than another for the next bit h_t.
 *
 * Triplet ranking loss (the paper, section III-A, eq. 1 and 2). S(x, y) = h(x).h(y) is the number of equal bits less
 * the number of different ones, and a triplet costs
 *     [d]+ with d = tau - S(a, p) + S(a, n) = tau + 2 (H(a, p) - H(a, n)),   H the Hamming distance.
 * The new bit changes d by -h_t(a) h_t(p) + h_t(a) h_t(n): by -2 when n is alone on its side of the threshold, by +2
 * when p is, and not at all when a is or nobody is.
 *
 * Binary loss (section IV-A): AdaBoost over pairs, as in BEBLID. l = 1 for patches of one point and -1 for those of
 * two; a bit predicts l by h_t(x) h_t(y). A pair has the weight exp(-l sum over t of alpha_t h_t(x) h_t(y)), divided
 * by the sum of all; the next bit is the one with the least weighted error e, and alpha = ln((1 - e) / e) / 2. A pair
 * of one point and a pair of two with a patch in common are a triple too. The paper does not say where negative pairs
 * come from; here they are random. */
#include <stdlib.h>

#include "learn/box_train.h"
#include "model/model.h"

#define BOOST_TOTAL 536870912.0 /* sum of the weights as integers, 2^29 */
#define ALPHA_ONE 65536.0       /* an alpha of 1 as an integer */
#define LEAST_ERROR 0.001       /* of a bit; less counts as that, and more than one half as one half */

kb_status kbi_scorer_create(kbi_scorer *j, kbi_box_sample *sample)
{
    size_t total = sample->batches * sample->batch;
    memset(j, 0, sizeof *j);
    j->sample = sample;
    j->pieces = 4 * kbi_parallel_threads(sample->options.parallel);
    j->triples = malloc(total * sizeof *j->triples);
    j->values = malloc((size_t)j->pieces * sample->store.patches * sizeof *j->values);
    j->histograms = calloc((size_t)j->pieces * KBI_BINS, sizeof *j->histograms);
    j->negatives = malloc(total * sizeof *j->negatives);
    j->scratch = malloc(2 * total * sizeof *j->scratch);
    if (j->triples && j->values && j->histograms && j->negatives && j->scratch) return KB_OK;
    kbi_scorer_free(j);
    return KB_E_MEMORY;
}

void kbi_scorer_free(kbi_scorer *j)
{
    free(j->triples);
    free(j->values);
    free(j->histograms);
    free(j->negatives);
    free(j->scratch);
    memset(j, 0, sizeof *j);
}

/* ---- triplets ---- */

static int32_t margin_of(const kb_learn_options *options)
{
    return kbi_max_i(1, (int32_t)(options->margin * options->bits + 0.5));
}

static int32_t above_zero(int32_t d) { return d > 0 ? d : 0; }

/* The triplets of a batch. `alone` first holds what the weights are made of: is the anchor the right patch, the
 * distance of the pair, the distance of the negative. */
static void find_triplets(void *context, int32_t index)
{
    kbi_scorer *j = context;
    const kbi_box_sample *s = j->sample;
    size_t b = (size_t)index, n = s->batch, words = s->words;
    const uint64_t *codes = kbi_box_sample_codes(s, b);
    kbi_hard_negative *negatives = j->negatives + b * n;
    uint32_t place = (uint32_t)(b * s->span);
    kbi_find_hard_negatives(codes, n, words, negatives, j->scratch + 2 * b * n);
    for (size_t i = 0; i < n; i++) {
        int32_t apart = kbi_code_distance(codes + i * words, codes + (n + i) * words, words);
        j->triples[b * n + i] =
            (kbi_triple){{place + (uint32_t)i, place + (uint32_t)(n + i), place + negatives[i].place},
                        {negatives[i].anchor_right, apart, negatives[i].distance}};
    }
}

/* Puts the weights in, and drops triplets whose loss no bit can change. */
static void weigh_triplets(kbi_scorer *j)
{
    int32_t margin = margin_of(&j->sample->options);
    size_t kept = 0;
    j->base = 0;
    for (size_t t = 0; t < j->triple_count; t++) {
        kbi_triple triple = j->triples[t];
        bool swap = triple.alone[0] != 0;
        int32_t d = margin + 2 * (triple.alone[1] - triple.alone[2]);
        int32_t cost = above_zero(d + 2) - above_zero(d), gain = above_zero(d) - above_zero(d - 2);
        j->base += above_zero(d);
        if (cost == 0 && gain == 0) continue;
        triple.alone[0] = swap ? cost : 0;
        triple.alone[1] = swap ? 0 : cost;
        triple.alone[2] = -gain;
        j->triples[kept++] = triple;
    }
    j->triple_count = kept;
}

/* How many triples lie in the first batches, as many as options.screen asks for. */
static void find_screen(kbi_scorer *j)
{
    const kbi_box_sample *s = j->sample;
    size_t batches = ((size_t)s->options.screen + s->batch - 1) / s->batch;
    j->screen_patches = (batches < s->batches ? batches : s->batches) * s->span;
    for (j->screen_count = 0; j->screen_count < j->triple_count; j->screen_count++)
        if (j->triples[j->screen_count].place[0] >= j->screen_patches) break;
}

/* ---- pairs ---- */

/* sum over t of alpha_t h_t(x) h_t(y), in 1/ALPHA_ONE. */
static int32_t boosted_similarity(const kbi_scorer *j, const uint64_t *x, const uint64_t *y)
{
    int32_t sum = j->alpha_sum;
    for (size_t w = 0; w < j->sample->words; w++)
        for (uint64_t differ = x[w] ^ y[w]; differ; differ &= differ - 1)
            sum -= 2 * j->alpha[64 * w + (size_t)__builtin_ctzll(differ)];
    return sum;
}

/* Patches of one point: left and right of a pair. Of two points: the left patch and the next pair's right one. `alone`
 * first holds the logarithms of the two weights. */
static void make_pairs(kbi_scorer *j)
{
    const kbi_box_sample *s = j->sample;
    size_t n = s->batch, words = s->words;
    int32_t most = INT32_MIN;
    double sum = 0;
    j->triple_count = s->batches * n;
    for (size_t t = 0; t < j->triple_count; t++) {
        size_t b = t / n, i = t % n, next = (i + 1) % n;
        const uint64_t *codes = kbi_box_sample_codes(s, b), *left = codes + i * words;
        int32_t same = -boosted_similarity(j, left, codes + (n + i) * words);
        int32_t different = boosted_similarity(j, left, codes + (n + next) * words);
        uint32_t place = (uint32_t)(b * s->span);
        most = kbi_max_i(most, kbi_max_i(same, different));
        j->triples[t] = (kbi_triple){{place + (uint32_t)i, place + (uint32_t)(n + i), place + (uint32_t)(n + next)},
                                    {0, same, different}};
    }
    for (size_t t = 0; t < j->triple_count; t++)
        for (int k = 1; k < 3; k++) sum += kbi_exp((j->triples[t].alone[k] - most) / ALPHA_ONE);
    j->base = 0;
    for (size_t t = 0; t < j->triple_count; t++) {
        int32_t *alone = j->triples[t].alone;
        int32_t same = (int32_t)(kbi_exp((alone[1] - most) / ALPHA_ONE) / sum * BOOST_TOTAL);
        int32_t different = (int32_t)(kbi_exp((alone[2] - most) / ALPHA_ONE) / sum * BOOST_TOTAL);
        alone[0] = same - different;
        alone[1] = same;
        alone[2] = -different;
        j->base += different;
    }
}

void kbi_scorer_boost(kbi_scorer *j, int32_t chosen, int64_t change)
{
    if (j->sample->options.loss != KB_LEARN_LOSS_BINARY) return;
    double error = kbi_scorer_loss(j, change);
    error = error < LEAST_ERROR ? LEAST_ERROR : error > 0.5 ? 0.5 : error;
    j->alpha[chosen] = (int32_t)(ALPHA_ONE * 0.5 * kbi_log((1 - error) / error) + 0.5);
    j->alpha_sum += j->alpha[chosen];
}

/* ---- judging ---- */

void kbi_scorer_prepare(kbi_scorer *j, int32_t chosen)
{
    const kb_learn_options *o = &j->sample->options;
    j->octave = kbi_turn_octave(&j->sample->store, chosen);
    if (o->loss == KB_LEARN_LOSS_BINARY) {
        make_pairs(j);
    } else if (o->loss == KB_LEARN_LOSS_TRIPLET) {
        kbi_parallel_run(o->parallel, (int32_t)j->sample->batches, find_triplets, j);
        j->triple_count = j->sample->batches * j->sample->batch;
        weigh_triplets(j);
    }
    find_screen(j);
}

typedef struct score_job {
    kbi_scorer *scorer;
    kbi_scored *features;
    size_t n;
    size_t triples, patches; /* to judge by: the first of them */
} score_job;

static void score_piece(void *context, int32_t index)
{
    const score_job *job = context;
    const kbi_scorer *j = job->scorer;
    const kbi_box_store *store = &j->sample->store;
    int16_t *values = j->values + (size_t)index * store->patches;
    int32_t *histogram = j->histograms + (size_t)index * KBI_BINS;
    size_t end = kbi_piece(job->n, j->pieces, index + 1);
    double units = kbi_threshold_units(j->sample->options.kind);
    for (size_t i = kbi_piece(job->n, j->pieces, index); i < end; i++) {
        kbi_scored *f = &job->features[i];
        kbi_found_threshold found = {0, 0};
        kbi_box_store_values(store, j->octave, &f->pair, 0, job->patches, values);
        if (j->sample->options.fixed_threshold)
            found.change = kbi_threshold_change(j->triples, job->triples, values, 0);
        else found = kbi_find_threshold(j->triples, job->triples, values, histogram);
        f->change = found.change;
        f->pair.threshold = (float)kbi_step_threshold(found.step, units);
    }
}

/* By the first `triples` triples, which use the first `patches` places. */
static void score_by(kbi_scorer *j, kbi_scored *features, size_t n, size_t triples, size_t patches)
{
    score_job job = {j, features, n, triples, patches};
    kbi_parallel_run(j->sample->options.parallel, j->pieces, score_piece, &job);
}

/* Brings the `most` best to the front, in the order they had. */
static void keep_best(kbi_scored *features, size_t n, size_t most)
{
    for (size_t kept = n; kept > most;) { /* from the last: of equally good ones the first stay */
        size_t worst = 0;
        for (size_t i = 1; i < kept; i++) worst = features[i].change >= features[worst].change ? i : worst;
        memmove(&features[worst], &features[worst + 1], (--kept - worst) * sizeof *features);
    }
}

size_t kbi_scorer_score_best(kbi_scorer *j, kbi_scored *features, size_t n, size_t most)
{
    if (n > most && j->screen_count < j->triple_count && j->screen_count > 0) {
        score_by(j, features, n, j->screen_count, j->screen_patches);
        keep_best(features, n, most);
        n = most;
    }
    score_by(j, features, n, j->triple_count, j->sample->store.patches);
    return n;
}

int64_t kbi_scorer_change(kbi_scorer *j, const kb_box_pair *pair)
{
    kbi_box_store_values(&j->sample->store, j->octave, pair, 0, j->sample->store.patches, j->values);
    return kbi_threshold_change(j->triples, j->triple_count, j->values, kbi_box_threshold(pair));
}

double kbi_scorer_loss(const kbi_scorer *j, int64_t change)
{
    const kb_learn_options *o = &j->sample->options;
    if (o->loss == KB_LEARN_LOSS_ORB) return (double)change / 1e6;
    if (o->loss == KB_LEARN_LOSS_BINARY) return (double)(j->base + change) / BOOST_TOTAL;
    return (double)(j->base + change) / ((double)margin_of(o) * (double)(j->sample->batches * j->sample->batch));
}
