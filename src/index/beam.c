/* SPDX-License-Identifier: Apache-2.0 */
/* The words near to a row: from level to level not one node is kept but the nearest few, a beam search. */
#include "index/index.h"

#define PART 256 /* children whose distances are taken together */

typedef struct beam {
    uint64_t keys[KB_MAX_PROBES]; /* distance << 32 | node, ascending */
    uint32_t count, max;
} beam;

static void beam_insert(beam *b, uint32_t distance, uint32_t node)
{
    uint64_t key = (uint64_t)distance << 32 | node;
    if (b->count == b->max && key > b->keys[b->count - 1]) return;
    uint32_t at = b->count < b->max ? b->count++ : b->count - 1;
    for (; at > 0 && b->keys[at - 1] > key; at--) b->keys[at] = b->keys[at - 1];
    b->keys[at] = key;
}

static void beam_children(const kb_vocabulary *v, const kbi_match_kernels *kernels, const uint8_t *row, uint32_t node,
                          beam *next)
{
    int32_t listed[PART];
    uint32_t distances[PART], first = kbi_node_first(v, node), children = kbi_node_children(v, node);
    for (uint32_t from = 0; from < children; from += PART) {
        uint32_t count = children - from < PART ? children - from : PART;
        for (uint32_t i = 0; i < count; i++) listed[i] = (int32_t)i;
        kernels->hamming_listed(row, kbi_node_row(v, first + from), listed, count, v->row_bytes, v->row_bytes,
                                distances);
        for (uint32_t i = 0; i < count; i++) beam_insert(next, distances[i], first + from + i);
    }
}

uint32_t kbi_nearest_leaves(const kb_vocabulary *v, const kbi_match_kernels *kernels, const uint8_t *row, uint32_t max,
                            uint32_t *leaves)
{
    beam beams[2], *now = &beams[0], *next = &beams[1]; /* keys beyond count are not set */
    now->keys[0] = 0; /* the root */
    now->count = 1;
    now->max = next->max = max;
    for (bool moved = true; moved;) {
        next->count = 0;
        moved = false;
        for (uint32_t i = 0; i < now->count; i++) {
            uint32_t node = (uint32_t)now->keys[i];
            if (kbi_node_children(v, node) == 0) {
                beam_insert(next, (uint32_t)(now->keys[i] >> 32), node);
                continue;
            }
            beam_children(v, kernels, row, node, next);
            moved = true;
        }
        beam *done = now;
        now = next;
        next = done;
    }
    for (uint32_t i = 0; i < now->count; i++) leaves[i] = (uint32_t)now->keys[i];
    return now->count;
}
