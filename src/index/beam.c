/* SPDX-License-Identifier: Apache-2.0 */
/* The words near to a row: from level to level not one node is kept but the nearest few, a beam search. */
#include "index/index.h"

#define PART 256 /* children whose distances are taken together */

/* distance << 32 | node, ascending; behind the last, NO_NODE. */
typedef struct beam {
    uint64_t keys[KB_MAX_PROBES];
} beam;
#define NO_NODE UINT64_MAX

/* A key takes its place among the `max` least. Which it is nobody can guess, so there is no branch on it, as long as
 * there are few. */
static inline void beam_insert(beam *b, uint64_t key, const uint32_t max)
{
    if (max > 4 && key > b->keys[max - 1]) return;
    for (uint32_t i = 0; i < max; i++) {
        uint64_t kept = b->keys[i];
        b->keys[i] = key < kept ? key : kept;
        key = key < kept ? kept : key;
    }
}

static inline void beam_children(const kb_vocabulary *v, const kbi_match_kernels *kernels, const uint8_t *row,
                                 uint32_t node, const uint32_t max, beam *next)
{
    int32_t listed[PART];
    uint32_t distances[PART], first = kbi_node_first(v, node), children = kbi_node_children(v, node);
    for (uint32_t from = 0; from < children; from += PART) {
        uint32_t count = children - from < PART ? children - from : PART;
        for (uint32_t i = 0; i < count; i++) listed[i] = (int32_t)i;
        kernels->hamming_listed(row, kbi_node_row(v, first + from), listed, count, v->row_bytes, v->row_bytes,
                                distances);
        for (uint32_t i = 0; i < count; i++) beam_insert(next, (uint64_t)distances[i] << 32 | (first + from + i), max);
    }
}

static inline uint32_t nearest_leaves(const kb_vocabulary *v, const kbi_match_kernels *kernels, const uint8_t *row,
                                      const uint32_t max, uint32_t *leaves)
{
    beam beams[2], *now = &beams[0], *next = &beams[1];
    uint32_t count = 1;
    now->keys[0] = 0; /* the root */
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < max; i++) next->keys[i] = NO_NODE;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t node = (uint32_t)now->keys[i];
            if (kbi_node_children(v, node) == 0) {
                beam_insert(next, now->keys[i], max);
                continue;
            }
            beam_children(v, kernels, row, node, max, next);
            moved = true;
        }
        for (count = 0; count < max && next->keys[count] != NO_NODE;) count++;
        beam *done = now;
        now = next;
        next = done;
    }
    for (uint32_t i = 0; i < count; i++) leaves[i] = (uint32_t)now->keys[i];
    return count;
}

/* Two is what queries ask for by default. */
uint32_t kbi_nearest_leaves(const kb_vocabulary *v, const kbi_match_kernels *kernels, const uint8_t *row, uint32_t max,
                            uint32_t *leaves)
{
    return max == 2 ? nearest_leaves(v, kernels, row, 2, leaves) : nearest_leaves(v, kernels, row, max, leaves);
}
