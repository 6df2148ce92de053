/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling pairs and mining hard negatives. */
#include "learn/triplets.h"

#include <stdlib.h>

#include "learn/clones.h"
#include "learn/random.h"

/* ---- points ---- */

static size_t run_length(const uint32_t *labels, size_t start, size_t patches)
{
    size_t end = start + 1;
    while (end < patches && labels[end] == labels[start]) end++;
    return end - start;
}

kb_status kbi_point_list_create(kbi_point_list *list, const uint32_t *labels, size_t patches, kb_error *error)
{
    memset(list, 0, sizeof *list);
    for (size_t i = 1; i < patches; i++) {
        if (labels[i] < labels[i - 1])
            return kbi_fail(error, KB_E_ARGUMENT,
                           "label %u of patch %zu follows label %u: patches of a point must stand together",
                           (unsigned)labels[i], i, (unsigned)labels[i - 1]);
    }
    list->first = malloc((patches / 2 + 1) * sizeof *list->first);
    list->count = malloc((patches / 2 + 1) * sizeof *list->count);
    if (!list->first || !list->count) {
        kbi_point_list_free(list);
        return kbi_fail(error, KB_E_MEMORY, "no memory for a list of %zu patches", patches);
    }
    for (size_t i = 0, n; i < patches; i += n) {
        n = run_length(labels, i, patches);
        if (n < 2) {
            list->singletons++;
            continue;
        }
        list->first[list->points] = i;
        list->count[list->points++] = (uint32_t)n;
        list->patches += n;
    }
    if (list->points >= 2) return KB_OK;
    size_t points = list->points;
    kbi_point_list_free(list);
    return kbi_fail(error, KB_E_ARGUMENT,
                   "learning needs two points or more that have two patches or more; there are %zu", points);
}

void kbi_point_list_free(kbi_point_list *list)
{
    free(list->first);
    free(list->count);
    list->first = NULL;
    list->count = NULL;
    list->points = 0;
}

/* ---- pairs ---- */

/* A point that is not taken, near `wish`: the first from there on, going round. */
static size_t take_point(size_t wish, size_t points, uint8_t *taken)
{
    while (taken[wish >> 3] >> (wish & 7) & 1) wish = wish + 1 < points ? wish + 1 : 0;
    taken[wish >> 3] = (uint8_t)(taken[wish >> 3] | 1u << (wish & 7));
    return wish;
}

void kbi_sample_pairs(const kbi_point_list *list, size_t n, uint64_t seed, size_t *left, size_t *right, uint8_t *taken)
{
    uint64_t state = seed;
    for (size_t i = 0; i < n; i++) {
        size_t point = take_point(kbi_random_below(&state, (uint32_t)list->points), list->points, taken);
        uint32_t count = list->count[point], one = kbi_random_below(&state, count),
                 other = kbi_random_below(&state, count - 1);
        left[i] = list->first[point] + one;
        right[i] = list->first[point] + (other < one ? other : other + 1);
    }
    memset(taken, 0, (list->points + 7) / 8);
}

/* ---- hard negatives ---- */

KBI_INLINE uint32_t distance_of(const uint64_t *a, const uint64_t *b, size_t words)
{
    uint32_t sum = 0;
    for (size_t w = 0; w < words; w++) sum += (uint32_t)__builtin_popcountll(a[w] ^ b[w]);
    return sum;
}

/* best_left[i]: least (distance << 16 | steps from i to j) over the right patches j != i; best_right[j] likewise over
 * the left patches i. Both start at UINT32_MAX. */
KBI_INLINE void compare_all(const uint64_t *codes, size_t n, size_t words, uint32_t *best_left, uint32_t *best_right)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t *code = codes + i * words, *right = codes + n * words;
        uint32_t best = UINT32_MAX;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            uint32_t d = distance_of(code, right + j * words, words) << 16;
            uint32_t forth = d | (uint32_t)(j > i ? j - i : j + n - i),
                     back = d | (uint32_t)(i > j ? i - j : i + n - j);
            best = forth < best ? forth : best;
            best_right[j] = back < best_right[j] ? back : best_right[j];
        }
        best_left[i] = best;
    }
}

KBI_CLONES
static void compare_words(const uint64_t *codes, size_t n, size_t words, uint32_t *best_left, uint32_t *best_right)
{
    switch (words) {
    case 1: compare_all(codes, n, 1, best_left, best_right); break;
    case 2: compare_all(codes, n, 2, best_left, best_right); break;
    case 3: compare_all(codes, n, 3, best_left, best_right); break;
    case 4: compare_all(codes, n, 4, best_left, best_right); break;
    default: compare_all(codes, n, words, best_left, best_right);
    }
}

void kbi_find_hard_negatives(const uint64_t *codes, size_t n, size_t words, kbi_hard_negative *negatives,
                            uint32_t *scratch)
{
    uint32_t *best = scratch;
    memset(best, 0xff, 2 * n * sizeof *best);
    compare_words(codes, n, words, best, best + n);
    for (size_t i = 0; i < n; i++) {
        bool swap = best[n + i] >> 16 < best[i] >> 16;
        uint32_t key = swap ? best[n + i] : best[i];
        size_t j = (i + (key & 0xffff)) % n;
        negatives[i] = (kbi_hard_negative){(uint32_t)(swap ? j : n + j), swap, (int32_t)(key >> 16)};
    }
}

int32_t kbi_code_distance(const uint64_t *a, const uint64_t *b, size_t words)
{
    return (int32_t)distance_of(a, b, words);
}
