/* Which keypoints to keep. All rules start from the total order, strongest first.
 *
 *   best    the first n.
 *   grid    the image is cut into square cells, about one for every eight keypoints wanted. The strongest of every cell come
 *           first, then the second strongest of every cell, and so on, until there are n; the last round goes by strength.
 *   spread  adaptive non-maximal suppression (Brown, Szeliski, Winder 2005): a keypoint's radius is its distance to
 *           the nearest stronger one, and the n with the largest radius stay. The nearest is found exactly, in a tree over
 *           the keypoints in Morton order whose nodes know their bounding box and their strongest member. */
#include <math.h>

#include "detect/detect.h"

/* Memory of one call; items are in total order. */
typedef struct selection {
    const kb_keypoint *keypoints;
    kb_sort_item *items, *spare; /* total each */
    size_t finite;               /* items that are in the order; those with a number that is not finite follow */
    int32_t width, height;
    void *extra;                 /* the cells of the grid, or the tree */
} selection;

static bool is_finite_keypoint(const kb_keypoint *k)
{
    return isfinite(k->x) && isfinite(k->y) && isfinite(k->size) && isfinite(k->angle) && isfinite(k->response);
}

static void put_in_order(selection *s, size_t total)
{
    s->finite = 0;
    for (size_t i = 0; i < total; i++)
        if (is_finite_keypoint(&s->keypoints[i]))
            s->items[s->finite++] = (kb_sort_item){kb_keypoint_key(&s->keypoints[i]), (uint32_t)i};
    size_t last = s->finite;
    for (size_t i = 0; i < total; i++)
        if (!is_finite_keypoint(&s->keypoints[i])) s->items[last++] = (kb_sort_item){UINT64_MAX, (uint32_t)i};
    kb_sort(s->items, s->spare, s->finite, s->keypoints);
}

/* Where a coordinate falls when 0..side is cut into `cells`; what is outside counts to the nearest. */
static uint32_t cell_of(float place, int32_t side, uint32_t cells)
{
    double at = ((double)place + 0.5) / side * cells;
    return at <= 0 ? 0 : at >= cells ? cells - 1 : (uint32_t)at;
}

/* ---- grid ---- */

#define KEYPOINTS_A_CELL 8

typedef struct grid {
    uint32_t columns, rows;
    uint32_t *cell; /* how many keypoints it holds */
} grid;

static uint32_t *grid_cell(const grid *g, const selection *s, size_t item)
{
    const kb_keypoint *k = &s->keypoints[s->items[item].index];
    return &g->cell[cell_of(k->y, s->height, g->rows) * g->columns + cell_of(k->x, s->width, g->columns)];
}

/* How many keypoints there are in the first `rounds` of every cell. */
static size_t grid_sum(const grid *g, uint32_t rounds)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < g->columns * g->rows; i++) sum += g->cell[i] < rounds ? g->cell[i] : rounds;
    return sum;
}

static grid grid_plan(const selection *s, size_t n)
{
    double side = sqrt((double)s->width * s->height * KEYPOINTS_A_CELL / (double)n);
    return (grid){(uint32_t)(s->width / side) + 1, (uint32_t)(s->height / side) + 1, s->extra};
}

static size_t grid_bytes(const selection *s, size_t n)
{
    grid g = grid_plan(s, n);
    return (size_t)g.columns * g.rows * sizeof *g.cell;
}

static void pick_grid(selection *s, size_t n)
{
    grid g = grid_plan(s, n);
    size_t cells = (size_t)g.columns * g.rows, kept = 0;
    memset(g.cell, 0, cells * sizeof *g.cell);
    for (size_t i = 0; i < s->finite; i++) ++*grid_cell(&g, s, i);

    uint32_t full = 0, over = (uint32_t)s->finite; /* so many rounds fit in n; so many do not (or there are no more) */
    while (over - full > 1) {
        uint32_t middle = full + (over - full) / 2;
        if (grid_sum(&g, middle) <= n) full = middle;
        else over = middle;
    }
    size_t extra = n - grid_sum(&g, full);
    memset(g.cell, 0, cells * sizeof *g.cell);
    for (size_t i = 0; i < s->finite; i++) {
        uint32_t round = (*grid_cell(&g, s, i))++;
        if (round > full || (round == full && extra == 0)) continue;
        if (round == full) extra--;
        s->items[kept++] = s->items[i];
    }
}

/* ---- spread ---- */

#define LEAF 8 /* keypoints in a leaf of the tree */

typedef struct tree_node {
    float left, top, right, bottom;
    uint32_t strongest; /* lowest place in the order of any member */
} tree_node;

/* A complete binary tree: the children of node i are 2 i and 2 i + 1, the leaves start at `leaves`. */
typedef struct tree {
    tree_node *node;
    kb_sort_item *member; /* in Morton order; index is the place in the order of strength */
    size_t members;
    uint32_t leaves;
} tree;

static uint64_t morton(uint32_t x, uint32_t y)
{
    uint64_t code = 0;
    for (uint32_t bit = 0; bit < 16; bit++)
        code |= (uint64_t)(x >> bit & 1) << (2 * bit) | (uint64_t)(y >> bit & 1) << (2 * bit + 1);
    return code;
}

static const kb_keypoint *at_place(const selection *s, uint32_t place) { return &s->keypoints[s->items[place].index]; }

static tree_node leaf_node(const tree *t, const selection *s, size_t leaf)
{
    tree_node node = {INFINITY, INFINITY, -INFINITY, -INFINITY, UINT32_MAX};
    for (size_t i = leaf * LEAF; i < (leaf + 1) * LEAF && i < t->members; i++) {
        const kb_keypoint *k = at_place(s, t->member[i].index);
        if (k->x < node.left) node.left = k->x;
        if (k->x > node.right) node.right = k->x;
        if (k->y < node.top) node.top = k->y;
        if (k->y > node.bottom) node.bottom = k->y;
        if (t->member[i].index < node.strongest) node.strongest = t->member[i].index;
    }
    return node;
}

static tree_node join_nodes(const tree_node *a, const tree_node *b)
{
    return (tree_node){a->left < b->left ? a->left : b->left, a->top < b->top ? a->top : b->top,
                       a->right > b->right ? a->right : b->right, a->bottom > b->bottom ? a->bottom : b->bottom,
                       a->strongest < b->strongest ? a->strongest : b->strongest};
}

static uint32_t tree_leaves(size_t members)
{
    uint32_t leaves = 1;
    while ((size_t)leaves * LEAF < members) leaves *= 2;
    return leaves;
}

/* The nodes, and the members with their spare for sorting. */
static size_t tree_bytes(size_t members)
{
    return 2 * (size_t)tree_leaves(members) * sizeof(tree_node) + 2 * members * sizeof(kb_sort_item);
}

static tree tree_build(const selection *s)
{
    tree t = {.node = s->extra, .members = s->finite, .leaves = tree_leaves(s->finite)};
    kb_sort_item *member = t.member = (kb_sort_item *)(void *)(t.node + 2 * (size_t)t.leaves);
    for (size_t i = 0; i < s->finite; i++) {
        const kb_keypoint *k = at_place(s, (uint32_t)i);
        uint32_t x = cell_of(k->x, s->width, 65536), y = cell_of(k->y, s->height, 65536);
        member[i] = (kb_sort_item){morton(x, y), (uint32_t)i};
    }
    kb_sort(member, member + s->finite, s->finite, NULL);
    for (size_t i = 0; i < t.leaves; i++) t.node[t.leaves + i] = leaf_node(&t, s, i);
    for (size_t i = t.leaves - 1; i > 0; i--) t.node[i] = join_nodes(&t.node[2 * i], &t.node[2 * i + 1]);
    return t;
}

static double square(double v) { return v * v; }

/* The squared distance from a place to a node's box. */
static double box_distance(const tree_node *node, const kb_keypoint *k)
{
    double dx = k->x < node->left ? (double)node->left - k->x : k->x > node->right ? (double)k->x - node->right : 0;
    double dy = k->y < node->top ? (double)node->top - k->y : k->y > node->bottom ? (double)k->y - node->bottom : 0;
    return dx * dx + dy * dy;
}

static double leaf_search(const tree *t, const selection *s, size_t leaf, uint32_t place, double best)
{
    const kb_keypoint *k = at_place(s, place);
    for (size_t i = leaf * LEAF; i < (leaf + 1) * LEAF && i < t->members; i++) {
        if (t->member[i].index >= place) continue;
        const kb_keypoint *other = at_place(s, t->member[i].index);
        double d = square((double)other->x - k->x) + square((double)other->y - k->y);
        if (d < best) best = d;
    }
    return best;
}

/* The squared distance to the nearest of the stronger keypoints; infinity for the strongest of all. */
static double nearest_stronger(const tree *t, const selection *s, uint32_t place)
{
    const kb_keypoint *k = at_place(s, place);
    uint32_t stack[64], depth = 0;
    double best = INFINITY;
    stack[depth++] = 1;
    while (depth > 0) {
        uint32_t i = stack[--depth];
        if (t->node[i].strongest >= place || box_distance(&t->node[i], k) >= best) continue;
        if (i >= t->leaves) {
            best = leaf_search(t, s, i - t->leaves, place, best);
            continue;
        }
        bool second_nearer = box_distance(&t->node[2 * i + 1], k) < box_distance(&t->node[2 * i], k);
        stack[depth++] = 2 * i + !second_nearer; /* the nearer one goes on top */
        stack[depth++] = 2 * i + second_nearer;
    }
    return best;
}

static void pick_spread(selection *s, size_t n)
{
    tree t = tree_build(s);
    kb_sort_item *by_radius = s->spare;
    for (size_t i = 0; i < s->finite; i++) {
        double distance = nearest_stronger(&t, s, (uint32_t)i);
        uint64_t bits; /* of doubles that are not negative: in the order of their values */
        memcpy(&bits, &distance, sizeof bits);
        by_radius[i] = (kb_sort_item){~bits, (uint32_t)i};
    }
    kb_sort(by_radius, t.member, s->finite, NULL);
    for (size_t i = 0; i < n; i++) by_radius[i].key = by_radius[i].index;
    kb_sort(by_radius, t.member, n, NULL);                                     /* back to the order of strength, */
    for (size_t i = 0; i < n; i++) s->items[i] = s->items[by_radius[i].index]; /* so that index >= i */
}

/* ---- the front door ---- */

/* Moves the picked keypoints to the front, in order. */
static void move_to_front(const selection *s, kb_keypoint *keypoints, kb_keypoint *copy, size_t n)
{
    for (size_t i = 0; i < n; i++) copy[i] = keypoints[s->items[i].index];
    memcpy(keypoints, copy, n * sizeof *keypoints);
}

kb_status kb_select(kb_keypoint *keypoints, size_t total, int32_t width, int32_t height, kb_selection rule, size_t n,
                    kb_workspace *workspace, size_t *count)
{
    if (!count || (total > 0 && !keypoints) || width < 1 || height < 1 || width > 65535 || height > 65535) return KB_E_ARGUMENT;
    if (rule != KB_SELECT_BEST && rule != KB_SELECT_GRID && rule != KB_SELECT_SPREAD) return KB_E_ARGUMENT;
    if (total > UINT32_MAX / 2) return KB_E_ARGUMENT;
    if (n > total) n = total;
    *count = n;
    if (n == 0) return KB_OK;

    kb_workspace local;
    workspace = kb_workspace_or(workspace, &local);
    selection s = {.keypoints = keypoints, .width = width, .height = height};
    size_t list = total * sizeof(kb_sort_item);
    size_t extra = rule == KB_SELECT_GRID ? grid_bytes(&s, n) : rule == KB_SELECT_SPREAD ? tree_bytes(total) : 0;
    uint8_t *memory = kb_workspace_get(workspace, KB_SLOT_SELECT, 2 * list + extra + n * sizeof *keypoints);
    if (memory) {
        s.items = (kb_sort_item *)(void *)memory;
        s.spare = s.items + total;
        s.extra = s.spare + total;
        put_in_order(&s, total);
        if (rule == KB_SELECT_GRID && n < s.finite) pick_grid(&s, n);
        if (rule == KB_SELECT_SPREAD && n < s.finite) pick_spread(&s, n);
        move_to_front(&s, keypoints, (kb_keypoint *)(void *)(memory + 2 * list + extra), n);
    }
    kb_workspace_release(&local);
    return memory ? KB_OK : KB_E_MEMORY;
}
