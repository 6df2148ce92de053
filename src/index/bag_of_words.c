/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an image, and how much words and pairs of rows count.
 *
 * KB_SCORING_BINARY is aggregated selective matching (ASMK) on bits. Within a word, the residual of a row is its
 * exclusive or with the word's row, and the rows of an image in a word are aggregated by the majority of their
 * residuals; the word's row cancels in the distance of two residuals, so the majority of the rows themselves is kept (a
 * tie takes the word's bit, which is a residual of 0). One signature per word and image, however often the word is
 * repeated, is what keeps repeated texture from counting many times. The similarity of two signatures is u^3 with u = 1
 * - 2 h / bits for a Hamming distance h, and nothing below a min u: rows that merely fell into the same word say
 * little. */
#include "index/index.h"

#define LEAST_U 0.35 /* about 83 of 256 bits */
#define SELECTIVITY_ONE 256.0

double kbi_word_value(const kb_vocabulary *v, uint32_t word, uint32_t count)
{
    uint32_t weighting = kbi_get_u32(v->block + 36);
    double weight = kbi_word_weight(v, word);
    return weighting == KB_WEIGHTING_TF_IDF || weighting == KB_WEIGHTING_TF ? weight * count : weight;
}

uint64_t kbi_word_selectivity(const kb_vocabulary *v, uint32_t word)
{
    double weight = kbi_word_weight(v, word);
    if (weight > 256) weight = 256;
    return (uint64_t)(weight * weight * SELECTIVITY_ONE + 0.5);
}

void kbi_similarity_table(size_t row_bytes, uint32_t *table)
{
    double bits = 8.0 * (double)row_bytes;
    for (size_t h = 0; h <= 8 * row_bytes; h++) {
        double u = 1.0 - 2.0 * (double)h / bits;
        table[h] = u >= LEAST_U ? (uint32_t)(u * u * u * KBI_SIMILARITY_ONE + 0.5) : 0;
    }
}

typedef struct bag_buffers {
    uint32_t *leaves;         /* the leaf of each place; a place is a row, or a row with one of the words near to it */
    size_t places, per_row;
    uint64_t *order, *spare;  /* word << 32 | place */
    kbi_bit_counter counter;
} bag_buffers;

static const uint8_t *bag_row(const bag_buffers *b, const kb_features *f, uint64_t key)
{
    return (const uint8_t *)f->rows + (size_t)(uint32_t)key / b->per_row * f->row_bytes;
}

/* Up to 15 rows, 64 bits at a time: plane k has bit k of the number of rows that have each bit. Adding a row is adding
 * 1 with carries; at the end the numbers are compared with n / 2 from the highest bit down. */
#define FEW 15
static uint64_t majority_64(const bag_buffers *b, const kb_features *f, const uint64_t *order, size_t n, size_t at,
                            size_t bytes, uint64_t centre)
{
    uint64_t plane[4] = {0}, above = 0, equal = ~(uint64_t)0;
    for (size_t i = 0; i < n; i++) {
        uint64_t carry = 0;
        memcpy(&carry, bag_row(b, f, order[i]) + at, bytes);
        for (int k = 0; k < 4; k++) {
            uint64_t both = plane[k] & carry;
            plane[k] ^= carry;
            carry = both;
        }
    }
    for (int k = 3; k >= 0; k--) {
        uint64_t half = n / 2 >> k & 1 ? ~(uint64_t)0 : 0;
        above |= equal & plane[k] & ~half;
        equal &= ~(plane[k] ^ half);
    }
    return n % 2 ? above : above | (equal & centre);
}

static void aggregate_few(const bag_buffers *b, const kb_features *f, const uint64_t *order, size_t n,
                          const uint8_t *centre, uint8_t *signature)
{
    for (size_t at = 0; at < f->row_bytes; at += 8) {
        size_t bytes = f->row_bytes - at < 8 ? f->row_bytes - at : 8;
        uint64_t bits = 0;
        memcpy(&bits, centre + at, bytes);
        bits = majority_64(b, f, order, n, at, bytes, bits);
        memcpy(signature + at, &bits, bytes);
    }
}

/* The majority of the rows of one word; `order` lists their places. */
static void aggregate(bag_buffers *b, const kb_features *f, const uint64_t *order, size_t n, const uint8_t *centre,
                      uint8_t *signature)
{
    if (n == 1) {
        memcpy(signature, bag_row(b, f, order[0]), f->row_bytes);
        return;
    }
    if (n <= FEW) {
        aggregate_few(b, f, order, n, centre, signature);
        return;
    }
    kbi_bit_counter_clear(&b->counter, f->row_bytes);
    for (size_t i = 0; i < n; i++) kbi_bit_counter_add(&b->counter, bag_row(b, f, order[i]), f->row_bytes);
    memcpy(signature, centre, f->row_bytes);
    kbi_bit_counter_majority(&b->counter, f->row_bytes, signature);
}

static bool buffers_get(bag_buffers *b, const kb_features *f, size_t per_row, bool signatures, kb_workspace *ws,
                        kbi_bag *bag)
{
    size_t n = f->n * per_row;
    *b = (bag_buffers){.per_row = per_row};
    if (n > UINT32_MAX) return false;
    bag->word = kbi_workspace_array(ws, n, sizeof *bag->word);
    bag->count = kbi_workspace_array(ws, n, sizeof *bag->count);
    if (signatures) bag->signature = kbi_workspace_array(ws, n, f->row_bytes);
    b->leaves = kbi_workspace_array(ws, n, sizeof *b->leaves);
    b->order = kbi_workspace_array(ws, n, sizeof *b->order);
    b->spare = kbi_workspace_array(ws, n, sizeof *b->spare);
    b->counter.narrow = kbi_workspace_array(ws, f->row_bytes, sizeof *b->counter.narrow);
    b->counter.wide = kbi_workspace_array(ws, 8 * f->row_bytes, sizeof *b->counter.wide);
    return bag->word && bag->count && (bag->signature || !signatures) && b->leaves && b->order && b->spare &&
           b->counter.narrow && b->counter.wide;
}

/* Sorts the places by word and makes an entry of each word. */
static void bag_fill(const kb_vocabulary *v, const kb_features *f, bag_buffers *b, kbi_bag *bag)
{
    kbi_sort_upper(b->order, b->spare, b->places);
    for (size_t from = 0, to; from < b->places; from = to) {
        uint32_t word = (uint32_t)(b->order[from] >> 32);
        for (to = from + 1; to < b->places && b->order[to] >> 32 == word;) to++;
        size_t k = bag->n++;
        bag->word[k] = word;
        bag->count[k] = (uint32_t)(to - from);
        if (bag->signature)
            aggregate(b, f, b->order + from, to - from, kbi_node_row(v, b->leaves[(uint32_t)b->order[from]]),
                      bag->signature + k * f->row_bytes);
    }
}

kb_status kbi_bag_measure(size_t rows, size_t row_bytes, bool signatures, uint32_t probes, kb_workspace *workspace)
{
    const kb_features f = {.n = rows, .row_bytes = row_bytes};
    bag_buffers b;
    kbi_bag bag = {0};
    bool fits = kbi_workspace_array(workspace, rows, sizeof *bag.row_word) &&
                buffers_get(&b, &f, 1, signatures, workspace, &bag);
    if (fits && probes > 1) fits = buffers_get(&b, &f, probes, true, workspace, &bag);
    return fits ? KB_OK : KB_E_MEMORY;
}

kb_status kbi_bag_create(const kb_vocabulary *v, const kb_features *features, bool signatures, kb_workspace *workspace,
                         kbi_bag *bag)
{
    bag_buffers b;
    *bag = (kbi_bag){0};
    uint32_t *words = bag->row_word = kbi_workspace_array(workspace, features->n, sizeof *words);
    if (!words || !buffers_get(&b, features, 1, signatures, workspace, bag)) return KB_E_MEMORY;
    kb_status status = kb_vocabulary_words(v, features, NULL, words, b.leaves, NULL);
    if (status != KB_OK) return status;
    for (size_t i = 0; i < features->n; i++) b.order[b.places++] = (uint64_t)words[i] << 32 | i;
    bag_fill(v, features, &b, bag);
    for (size_t k = 0; k < bag->n; k++) {
        bag->l1 += kbi_word_value(v, bag->word[k], bag->count[k]);
        bag->self += kbi_word_selectivity(v, bag->word[k]);
    }
    return KB_OK;
}

kb_status kbi_bag_probe(const kb_vocabulary *v, const kb_features *features, uint32_t probes, kb_workspace *workspace,
                        kbi_bag *bag)
{
    bag_buffers b;
    const kbi_match_kernels *kernels = kbi_match_kernels_get();
    const uint32_t *words = bag->row_word;
    *bag = (kbi_bag){.l1 = bag->l1, .self = bag->self};
    if (!buffers_get(&b, features, probes, true, workspace, bag)) return KB_E_MEMORY;
    for (size_t i = 0; i < features->n; i++) {
        uint32_t leaves[KB_MAX_PROBES], kept = 0;
        uint32_t found = kbi_nearest_leaves(v, kernels, (const uint8_t *)features->rows + i * features->row_bytes,
                                            probes, leaves);
        for (uint32_t p = 0; p < found && kept < probes - 1; p++) {
            uint32_t word = kbi_node_first(v, leaves[p]);
            size_t place = i * probes + kept;
            if (word == words[i]) continue;
            b.leaves[place] = leaves[p];
            b.order[b.places++] = (uint64_t)word << 32 | place;
            kept++;
        }
    }
    bag_fill(v, features, &b, bag);
    return KB_OK;
}
