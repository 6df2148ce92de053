/* SPDX-License-Identifier: Apache-2.0 */
/* Selection by a quad-tree, as ORB-SLAM distributes its keypoints.
 *
 * The image starts as a row of nearly square nodes. In rounds, every node that holds more than one keypoint is cut into
 * four, and empty nodes are dropped, until there are n nodes; in the round that would pass n, the fullest nodes are cut
 * first. Each node then gives its strongest keypoint. Nodes below one pixel are not cut; when that leaves fewer than n
 * keypoints, the strongest of the rest fill the list up.
 *
 * A node is a run of a list of entries. Cutting it is stable, so a run stays in total order and its first entry is its
 * strongest. */
#include "detect/select.h"

#define MIN_SIDE 1.0f

typedef struct quad_node {
    float left, top, right, bottom;
    uint32_t first, count; /* of the list */
} quad_node;

typedef struct quad_tree {
    kbi_selection *s;
    uint32_t *list, *copy;     /* positions in s->entries; halves of s->spare */
    quad_node *nodes, *next;   /* of this round, and of the next one */
    uint64_t *order;           /* nodes that can be cut, fullest first, and as much to sort them */
    size_t count, next_count;
} quad_tree;

/* A round cuts one node into four at a time and ends at n nodes or more, so there are at most n + 3. */
static size_t node_room(size_t n) { return n + 4; }

size_t kbi_select_quadtree_bytes(const kbi_selection *s, size_t n)
{
    (void)s;
    return node_room(n) * (2 * sizeof(quad_node) + 2 * sizeof(uint64_t));
}

static bool can_be_cut(const quad_node *node)
{
    return node->count > 1 && (node->right - node->left > MIN_SIDE || node->bottom - node->top > MIN_SIDE);
}

/* Cuts one node and appends its parts that are not empty to `next`. */
static void node_cut(quad_tree *t, const quad_node *node)
{
    float x = 0.5f * (node->left + node->right), y = 0.5f * (node->top + node->bottom);
    uint32_t at = node->first;
    memcpy(t->copy, t->list + node->first, node->count * sizeof *t->list);
    for (int part = 0; part < 4; part++) {
        bool right = part & 1, below = part & 2;
        quad_node child = {right ? x : node->left, below ? y : node->top, right ? node->right : x,
                           below ? node->bottom : y, at, 0};
        for (uint32_t i = 0; i < node->count; i++) {
            const kb_keypoint *k = kbi_selection_keypoint(t->s, t->copy[i]);
            if ((k->x >= x) == right && (k->y >= y) == below) t->list[at++] = t->copy[i];
        }
        child.count = at - child.first;
        if (child.count > 0) t->next[t->next_count++] = child;
    }
}

/* One or more root nodes side by side, or one above the other. */
static void tree_plant(quad_tree *t)
{
    const kbi_selection *s = t->s;
    bool wide = s->width >= s->height;
    int32_t longer = wide ? s->width : s->height, shorter = wide ? s->height : s->width;
    uint32_t roots = (uint32_t)kbi_min_i((longer + shorter / 2) / shorter, 4), at = 0;
    for (uint32_t r = 0; r < roots; r++) {
        float from = (float)longer * (float)r / (float)roots, to = (float)longer * (float)(r + 1) / (float)roots;
        quad_node root = {wide ? from : 0, wide ? 0 : from, wide ? to : (float)s->width, wide ? (float)s->height : to,
                          at, 0};
        for (size_t i = 0; i < s->finite; i++) {
            const kb_keypoint *k = kbi_selection_keypoint(s, i);
            float place = wide ? k->x : k->y;
            if ((r == 0 || place >= from) && (r == roots - 1 || place < to)) t->list[at++] = (uint32_t)i;
        }
        root.count = at - root.first;
        if (root.count > 0) t->nodes[t->count++] = root;
    }
}

/* One round; false when nothing could be cut. */
static bool tree_grow(quad_tree *t, size_t n)
{
    size_t open = 0;
    t->next_count = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (can_be_cut(&t->nodes[i])) t->order[open++] = (uint64_t)~t->nodes[i].count << 32 | i;
        else t->next[t->next_count++] = t->nodes[i];
    }
    if (open == 0) return false;
    if (t->next_count + 4 * open > n) kbi_sort_upper(t->order, t->order + node_room(n), open);
    for (size_t i = 0; i < open; i++) {
        const quad_node *node = &t->nodes[(uint32_t)t->order[i]];
        if (t->next_count + (open - i) >= n) t->next[t->next_count++] = *node; /* uncut nodes count too */
        else node_cut(t, node);
    }
    quad_node *grown = t->next;
    t->next = t->nodes;
    t->nodes = grown;
    t->count = t->next_count;
    return true;
}

/* Moves the entries that are marked to the front, and `missing` others, the strongest, with them. */
static void entries_gather(kbi_selection *s, const uint8_t *marked, size_t n, size_t missing)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->finite && kept < n; i++) {
        if (!marked[i] && missing == 0) continue;
        if (!marked[i]) missing--;
        s->entries[kept++] = s->entries[i];
    }
}

void kbi_select_quadtree(kbi_selection *s, size_t n)
{
    quad_tree t = {.s = s, .list = (uint32_t *)(void *)s->spare, .nodes = s->extra};
    size_t room = node_room(n);
    t.copy = t.list + s->total;
    t.next = t.nodes + room;
    t.order = (uint64_t *)(void *)(t.next + room);
    tree_plant(&t);
    while (t.count < n && tree_grow(&t, n)) {}

    /* The strongest of each node; of the few nodes beyond n the weakest go. The list is no longer needed. */
    for (size_t i = 0; i < t.count; i++) t.order[i] = (uint64_t)t.list[t.nodes[i].first] << 32;
    kbi_sort_upper(t.order, t.order + room, t.count);
    size_t picked = t.count < n ? t.count : n;
    uint8_t *marked = (uint8_t *)s->spare;
    memset(marked, 0, s->finite);
    for (size_t i = 0; i < picked; i++) marked[t.order[i] >> 32] = 1;
    entries_gather(s, marked, n, n - picked);
}
