/* SPDX-License-Identifier: Apache-2.0 */
/* Expansion along verified pairs: two images that are both verified with a third often show the same, though neither is
 * among the most similar ones of the other. */
#include <stdlib.h>

#include "collection/collection.h"

#define MOST_NEIGHBOURS 30 /* of an image that are paired with each other: the pairs stay linear in the images */

typedef struct neighbour {
    uint32_t image, other, inliers;
} neighbour;

typedef struct neighbours {
    neighbour *items;
    size_t count, room;
} neighbours;

static bool add_neighbours(void *context, const collection_pair *p, io_error *error)
{
    neighbours *n = context;
    (void)error;
    if (n->count + 2 > n->room) {
        n->room = n->room ? 2 * n->room : 1024;
        n->items = io_grow(n->items, n->room, sizeof *n->items);
    }
    n->items[n->count++] = (neighbour){p->a, p->b, p->inliers};
    n->items[n->count++] = (neighbour){p->b, p->a, p->inliers};
    return true;
}

/* By image, the best first. */
static int compare_neighbours(const void *x, const void *y)
{
    const neighbour *a = x, *b = y;
    if (a->image != b->image) return a->image < b->image ? -1 : 1;
    if (a->inliers != b->inliers) return a->inliers > b->inliers ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

/* The pairs of the neighbours of one image. */
static void pair_neighbours(collection *c, const neighbour *items, size_t count)
{
    if (count > MOST_NEIGHBOURS) count = MOST_NEIGHBOURS;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (items[i].other < items[k].other && !collection_chosen_pair(c, items[i].other, items[k].other))
                collection_pairs_add(c, items[i].other, items[k].other);
}

bool collection_expand(collection *c, io_error *error)
{
    neighbours n = {0};
    if (c->expanded) return true;
    bool ok = collection_blocks_ready(c, error);
    for (size_t block = 0, blocks = collection_blocks(c); ok && block < blocks; block++)
        ok = collection_block_read(c, block, add_neighbours, &n, error);
    if (ok && n.count > 0) qsort(n.items, n.count, sizeof *n.items, compare_neighbours);
    for (size_t i = 0, end; ok && i < n.count; i = end) {
        for (end = i; end < n.count && n.items[end].image == n.items[i].image;) end++;
        pair_neighbours(c, n.items + i, end - i);
    }
    free(n.items);
    if (!ok) return false;
    collection_pairs_settle(c, c->chosen);
    c->expanded = collection_pairs_write(c, "expanded.txt", collection_expanded_hash(c), c->chosen, error);
    if (!c->expanded) c->pair_count = c->chosen;
    return c->expanded;
}

bool collection_match_all(collection *c, io_error *error)
{
    bool further = !c->expanded;
    return collection_match(c, collection_whole, error) &&
           (!further || (collection_expand(c, error) && collection_match(c, collection_whole, error)));
}
