/* SPDX-License-Identifier: Apache-2.0 */
/* ORB's rule: of the features that are little correlated with those chosen before, the one whose mean is nearest to one
 * half. Where all are correlated, the least correlated one. */
#include <math.h>
#include <stdlib.h>

#include "learn/box_train.h"
#include "learn/clones.h"

#define LIMIT 200000 /* of the correlation, in millionths */

/* The bits of all patches of the sample for one feature, 64 a word. */
typedef struct column {
    uint64_t *words;
    size_t ones;
} column;

KBI_CLONES
static size_t common_ones(const uint64_t *a, const uint64_t *b, size_t words)
{
    size_t sum = 0;
    for (size_t w = 0; w < words; w++) sum += (size_t)__builtin_popcountll(a[w] & b[w]);
    return sum;
}

/* |correlation| of two columns of n bits in millionths; a column that is constant says nothing, which counts as 1. */
static int64_t correlation(const column *a, const column *b, size_t words, size_t n)
{
    double p = (double)a->ones, q = (double)b->ones, all = (double)n;
    double spread = p * (all - p) * q * (all - q);
    if (spread <= 0) return 1000000;
    return (int64_t)(1e6 * fabs(all * (double)common_ones(a->words, b->words, words) - p * q) / sqrt(spread));
}

static size_t bits_total(const kbi_box_sample *s) { return s->batches * 2 * s->batch; }

/* Bit `index` of the codes as a column. */
static void read_column(const kbi_box_sample *s, int32_t index, column *c)
{
    size_t n = bits_total(s);
    memset(c->words, 0, (n + 63) / 64 * sizeof *c->words);
    c->ones = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = s->codes[i * s->words + (size_t)index / 64] >> index % 64 & 1;
        c->words[i / 64] |= bit << i % 64;
        c->ones += (size_t)bit;
    }
}

static void make_column(const kbi_box_sample *s, int32_t octave, const kb_box_pair *pair, column *c)
{
    size_t i = 0;
    memset(c->words, 0, (bits_total(s) + 63) / 64 * sizeof *c->words);
    c->ones = 0;
    kbi_box_store_values(&s->store, octave, pair, 0, s->store.patches, s->values);
    for (size_t b = 0; b < s->batches; b++) {
        const int16_t *values = s->values + b * s->span;
        for (size_t k = 0; k < 2 * s->batch; k++, i++) {
            uint64_t bit = values[k] <= kbi_box_threshold(pair);
            c->words[i / 64] |= bit << i % 64;
            c->ones += (size_t)bit;
        }
    }
}

/* The features were scored before only as far as the threshold goes, which is 0 for ORB. */
bool kbi_orb_rule_choose(const kbi_box_sample *s, int32_t chosen, const kbi_scored *features, size_t n, kbi_scored *best)
{
    size_t bits = bits_total(s), words = (bits + 63) / 64;
    column *columns = malloc(((size_t)chosen + 1) * sizeof *columns);
    uint64_t *memory = malloc(((size_t)chosen + 1) * words * sizeof *memory);
    bool done = columns && memory && bits > 0; /* a sample has patches, which analyzers do not see */
    int64_t best_score = INT64_MAX;
    column own = {memory, 0};
    for (int32_t k = 0; done && k < chosen; k++) {
        columns[k] = (column){memory + ((size_t)k + 1) * words, 0};
        read_column(s, k, &columns[k]);
    }
    for (size_t i = 0; done && i < n; i++) {
        make_column(s, kbi_turn_octave(&s->store, chosen), &features[i].pair, &own);
        int64_t worst = own.ones % bits ? 0 : 1000000;
        for (int32_t k = 0; k < chosen; k++) {
            int64_t c = correlation(&own, &columns[k], words, bits);
            worst = c > worst ? c : worst;
        }
        int64_t uneven = llabs((long long)(2 * own.ones) - (long long)bits);
        int64_t score = worst <= LIMIT ? uneven : (int64_t)bits + 1 + worst;
        if (score >= best_score) continue;
        best_score = score;
        *best = (kbi_scored){features[i].pair, worst};
    }
    free(columns);
    free(memory);
    return done;
}
