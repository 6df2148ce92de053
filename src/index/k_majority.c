/* SPDX-License-Identifier: Apache-2.0 */
/* -O2: more copies of its loops bring nothing. */
/* k-majority clustering (k-means in Hamming space). Centres are seeded by k-means++: each next one is a row drawn with
 * a probability that grows with its squared distance from the nearest centre so far. All sums are of integers. */
#include "index/index.h"

/* The bits of a byte spread over the bytes of a word, bit 7 first. */
static uint64_t spread_byte(uint8_t byte)
{
    uint64_t v = byte; /* three copies overlap nowhere that the mask keeps */
    v = (v * 0x8040201008040201u >> 7) & 0x0101010101010101u;
    return v;
}

void kbi_bit_counter_clear(kbi_bit_counter *c, size_t row_bytes)
{
    memset(c->narrow, 0, row_bytes * sizeof *c->narrow);
    memset(c->wide, 0, 8 * row_bytes * sizeof *c->wide);
    c->pending = c->total = 0;
}

static void counter_flush(kbi_bit_counter *c, size_t row_bytes)
{
    for (size_t i = 0; i < row_bytes; i++) {
        for (int b = 0; b < 8; b++) c->wide[8 * i + (size_t)b] += (uint32_t)(c->narrow[i] >> (8 * b) & 255);
        c->narrow[i] = 0;
    }
    c->pending = 0;
}

void kbi_bit_counter_add(kbi_bit_counter *c, const uint8_t *row, size_t row_bytes)
{
    for (size_t i = 0; i < row_bytes; i++) c->narrow[i] += spread_byte(row[i]);
    c->total++;
    if (++c->pending == 255) counter_flush(c, row_bytes);
}

void kbi_bit_counter_majority(kbi_bit_counter *c, size_t row_bytes, uint8_t *row)
{
    counter_flush(c, row_bytes);
    for (size_t i = 0; i < row_bytes; i++) {
        unsigned byte = 0;
        for (int b = 0; b < 8; b++) {
            uint64_t twice = 2 * (uint64_t)c->wide[8 * i + (size_t)b];
            unsigned old = row[i] >> (7 - b) & 1;
            byte = byte << 1 | (twice > c->total ? 1u : twice < c->total ? 0u : old);
        }
        row[i] = (uint8_t)byte;
    }
}

bool kbi_k_majority_create(kbi_k_majority *m, const kb_allocator *allocator, size_t row_bytes, size_t capacity,
                           uint32_t k, int32_t iterations)
{
    *m = (kbi_k_majority){.allocator = *allocator, .row_bytes = row_bytes, .capacity = capacity, .k = k,
                          .iterations = iterations, .kernels = kbi_match_kernels_get()};
    m->rows = kbi_allocate_array(allocator, capacity, row_bytes);
    m->keys = kbi_allocate_array(allocator, capacity, sizeof *m->keys);
    m->labels = kbi_allocate_array(allocator, capacity, sizeof *m->labels);
    m->best = kbi_allocate_array(allocator, k, sizeof *m->best);
    m->second = kbi_allocate_array(allocator, k, sizeof *m->second);
    m->counters = kbi_allocate_array(allocator, k, sizeof *m->counters);
    m->narrow = kbi_allocate_array(allocator, k, row_bytes * sizeof *m->narrow);
    m->wide = kbi_allocate_array(allocator, k, row_bytes * 8 * sizeof *m->wide);
    if (!m->rows || !m->keys || !m->labels || !m->best || !m->second || !m->counters || !m->narrow || !m->wide)
        return false;
    for (size_t i = 0; i < k; i++)
        m->counters[i] = (kbi_bit_counter){m->narrow + i * row_bytes, m->wide + i * row_bytes * 8, 0, 0};
    return true;
}

void kbi_k_majority_free(kbi_k_majority *m)
{
    void *const blocks[] = {m->rows, m->keys, m->labels, m->best, m->second, m->counters, m->narrow, m->wide};
    for (size_t i = 0; i < KBI_COUNT(blocks); i++) kbi_deallocate(&m->allocator, blocks[i]);
}

/* keys[i] becomes the min of itself and (distance << 16 | centre) over the given centres. */
static void compare_centres(kbi_k_majority *m, size_t n, const uint8_t *centres, uint32_t count)
{
    for (size_t from = 0; from < n; from += KBI_HAMMING_BLOCK_ROWS) {
        size_t rows = n - from < KBI_HAMMING_BLOCK_ROWS ? n - from : KBI_HAMMING_BLOCK_ROWS;
        m->kernels->hamming(centres, count, m->rows + from * m->row_bytes, rows, m->row_bytes, m->best, m->second,
                   m->keys + from);
    }
}

static uint64_t squared_key_distance(uint32_t key)
{
    uint64_t distance = key >> 16;
    return distance * distance;
}

/* k-means++. The result is how many centres could be chosen. */
static uint32_t seed_centres(kbi_k_majority *m, size_t n, uint64_t *random, uint8_t *centres)
{
    if (n == 0) return 0;
    for (size_t i = 0; i < n; i++) m->keys[i] = KBI_NO_NEIGHBOUR;
    size_t chosen = (size_t)(kbi_random_next(random) % n);
    for (uint32_t c = 0;;) {
        uint8_t *centre = centres + c * m->row_bytes;
        memcpy(centre, m->rows + chosen * m->row_bytes, m->row_bytes);
        compare_centres(m, n, centre, 1);
        if (++c == m->k) return c;
        uint64_t total = 0;
        for (size_t i = 0; i < n; i++) total += squared_key_distance(m->keys[i]);
        if (total == 0) return c;
        uint64_t target = kbi_random_next(random) % total;
        for (chosen = 0; target >= squared_key_distance(m->keys[chosen]); chosen++)
            target -= squared_key_distance(m->keys[chosen]);
    }
}

/* Labels by the nearest centre; the result is how many have changed. */
static size_t label_rows(kbi_k_majority *m, size_t n, const uint8_t *centres, uint32_t count)
{
    size_t changed = 0;
    for (size_t i = 0; i < n; i++) m->keys[i] = KBI_NO_NEIGHBOUR;
    compare_centres(m, n, centres, count);
    for (size_t i = 0; i < n; i++) {
        changed += m->labels[i] != (m->keys[i] & 0xffff);
        m->labels[i] = m->keys[i] & 0xffff;
    }
    return changed;
}

/* A centre without rows takes the row that is farthest from its own. */
static void revive_centre(kbi_k_majority *m, size_t n, uint8_t *centre)
{
    size_t farthest = 0;
    for (size_t i = 1; i < n; i++)
        if (m->keys[i] >> 16 > m->keys[farthest] >> 16) farthest = i;
    memcpy(centre, m->rows + farthest * m->row_bytes, m->row_bytes);
    m->keys[farthest] = 0;
}

static void move_centres(kbi_k_majority *m, size_t n, uint8_t *centres, uint32_t count)
{
    for (uint32_t c = 0; c < count; c++) kbi_bit_counter_clear(&m->counters[c], m->row_bytes);
    for (size_t i = 0; i < n; i++)
        kbi_bit_counter_add(&m->counters[m->labels[i]], m->rows + i * m->row_bytes, m->row_bytes);
    for (uint32_t c = 0; c < count; c++) {
        uint8_t *centre = centres + c * m->row_bytes;
        if (m->counters[c].total > 0) kbi_bit_counter_majority(&m->counters[c], m->row_bytes, centre);
        else revive_centre(m, n, centre);
    }
}

uint32_t kbi_k_majority_run(kbi_k_majority *m, size_t n, uint64_t seed, uint8_t *centres)
{
    uint32_t count = seed_centres(m, n, &seed, centres);
    if (count < m->k) return count; /* every different row is a centre */
    for (size_t i = 0; i < n; i++) m->labels[i] = UINT32_MAX;
    for (int32_t i = 0; i < m->iterations; i++) {
        if (label_rows(m, n, centres, count) == 0) break;
        move_centres(m, n, centres, count);
    }
    return count;
}
