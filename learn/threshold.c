/* SPDX-License-Identifier: Apache-2.0 */
/* findThreshold, the paper's Algorithm 2. */
#include "learn/threshold.h"

#include "learn/clones.h"

/* Bin b holds the values above b - 1 and up to b steps, so that "value <= theta" is "bin <= theta's bin". */
KBI_INLINE int32_t bin_of(int32_t value) { return (5 * (value + KBI_VALUE_LIMIT) + 63) >> 6; }

/* Some triples by field, so that the arithmetic in the middle is vector arithmetic. */
#define BLOCK 64
typedef struct block {
    int32_t bin[3][BLOCK], alone[3][BLOCK];
    int32_t first[BLOCK], middle[BLOCK], last[BLOCK]; /* the bins in order */
    int32_t below[BLOCK], above[BLOCK];               /* what it adds when the first, the last is alone */
} block;

KBI_INLINE void load_block(const kbi_triple *triples, size_t n, const int16_t *values, block *b)
{
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            b->bin[k][i] = bin_of(values[triples[i].place[k]]);
            b->alone[k][i] = triples[i].alone[k];
        }
    }
}

KBI_INLINE void order_block(block *b)
{
    for (size_t i = 0; i < BLOCK; i++) {
        int32_t x = b->bin[0][i], y = b->bin[1][i], z = b->bin[2][i];
        int32_t first = kbi_min_i(kbi_min_i(x, y), z), last = kbi_max_i(kbi_max_i(x, y), z);
        b->first[i] = first;
        b->middle[i] = x + y + z - first - last;
        b->last[i] = last;
        b->below[i] = first == x ? b->alone[0][i] : first == y ? b->alone[1][i] : b->alone[2][i];
        b->above[i] = last == x ? b->alone[0][i] : last == y ? b->alone[1][i] : b->alone[2][i];
    }
}

/* Lines 2 to 11: the changes dL of all triplets, sorted by value as they are added. */
KBI_CLONES
static void gather_changes(const kbi_triple *triples, size_t n, const int16_t *values, int32_t *histogram)
{
    block b = {0};
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t count = n - start < BLOCK ? n - start : BLOCK;
        load_block(triples + start, count, values, &b);
        order_block(&b);
        for (size_t i = 0; i < count; i++) {
            histogram[b.first[i]] += b.below[i];
            histogram[b.middle[i]] += b.above[i] - b.below[i];
            histogram[b.last[i]] -= b.above[i];
        }
    }
}

kbi_found_threshold kbi_find_threshold(const kbi_triple *triples, size_t n, const int16_t *values,
                                     int32_t *histogram)
{
    int32_t best_bin = 0, sum = 0, best = 0;
    gather_changes(triples, n, values, histogram);
    for (int32_t bin = 0; bin < KBI_BINS; bin++) { /* lines 14 to 20 */
        sum += histogram[bin];
        best_bin = sum < best ? bin : best_bin;
        best = sum < best ? sum : best;
    }
    memset(histogram, 0, KBI_BINS * sizeof *histogram);
    return (kbi_found_threshold){best, best_bin - KBI_MAX_STEP};
}

KBI_CLONES
static int64_t sum_changes(const kbi_triple *triples, size_t n, const int16_t *values, int32_t threshold)
{
    int64_t change = 0;
    for (size_t i = 0; i < n; i++) {
        const kbi_triple *t = &triples[i];
        bool a = values[t->place[0]] <= threshold, p = values[t->place[1]] <= threshold,
             v = values[t->place[2]] <= threshold;
        change += (p == v && a != p ? t->alone[0] : 0) + (a == v && p != a ? t->alone[1] : 0) +
                  (a == p && v != a ? t->alone[2] : 0);
    }
    return change;
}

int64_t kbi_threshold_change(const kbi_triple *triples, size_t n, const int16_t *values, int32_t threshold)
{
    return sum_changes(triples, n, values, threshold);
}
