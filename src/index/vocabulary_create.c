/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* A vocabulary out of a tree: parents become lists of children, and these the file (vocabulary.c). */
#include "index/index.h"

typedef struct creation {
    kb_allocator allocator;
    const kb_vocabulary_spec *spec;
    uint32_t *place;            /* of every node of the spec in the file */
    uint32_t *first, *children; /* of the nodes in the file; first: of a leaf its word */
    uint32_t words;
} creation;

/* What loading the file would not notice, or too late. */
static kb_status spec_check(const kb_vocabulary_spec *s, kb_error *error)
{
    if (!s->parents || !s->rows || !s->weights) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    if (s->nodes < 2 || s->nodes > INT32_MAX || s->row_bytes < 1 || s->row_bytes > 4096)
        return kbi_fail(error, KB_E_TABLE, "a vocabulary of %u nodes with rows of %d bytes", s->nodes, s->row_bytes);
    if (s->model_name && strlen(s->model_name) > 63)
        return kbi_fail(error, KB_E_TABLE, "the model's name is longer than 63 bytes");
    for (uint32_t i = 1; i < s->nodes; i++) {
        if (s->parents[i] >= i)
            return kbi_fail(error, KB_E_TABLE, "node %u has the parent %u, which does not come before it", i,
                            s->parents[i]);
        if (!(s->weights[i] >= 0 && s->weights[i] <= 1e30))
            return kbi_fail(error, KB_E_TABLE, "node %u has the weight %g", i, s->weights[i]);
    }
    return KB_OK;
}

/* ---- the order of nodes ---- */

/* Whether the children of every node follow each other already. */
static bool children_adjacent(const creation *c)
{
    const uint32_t *parents = c->spec->parents;
    for (uint32_t i = c->spec->nodes - 1; i > 0; i--) c->first[parents[i]] = i;
    for (uint32_t i = 2; i < c->spec->nodes; i++)
        if (parents[i] != parents[i - 1] && c->first[parents[i]] != i) return false;
    return true;
}

/* Breadth first: children of the node at place p come behind the children of earlier places. Siblings are linked by
 * `next`, from the first child of each node on. */
static void order_breadth_first(creation *c, uint32_t *next, uint32_t *queue)
{
    uint32_t n = c->spec->nodes, end = 1;
    memset(next, 0, n * sizeof *next);
    memset(c->first, 0, n * sizeof *c->first);
    for (uint32_t i = n - 1; i > 0; i--) { /* lists of children, ascending since they are built from the end */
        next[i] = c->first[c->spec->parents[i]];
        c->first[c->spec->parents[i]] = i;
    }
    queue[0] = 0;
    for (uint32_t head = 0; head < n; head++) {
        c->place[queue[head]] = head;
        for (uint32_t child = c->first[queue[head]]; child; child = next[child]) queue[end++] = child;
    }
}

static kb_status order_nodes(creation *c)
{
    const kb_vocabulary_spec *s = c->spec;
    if (children_adjacent(c)) {
        for (uint32_t i = 0; i < s->nodes; i++) c->place[i] = i;
        return KB_OK;
    }
    uint32_t *queue = kbi_allocate_array(&c->allocator, s->nodes, sizeof *queue);
    if (!queue) return KB_E_MEMORY;
    order_breadth_first(c, c->children, queue);
    kbi_deallocate(&c->allocator, queue);
    return KB_OK;
}

/* first and children by place; leaves are numbered in the order of places. */
static void list_children(creation *c)
{
    const kb_vocabulary_spec *s = c->spec;
    memset(c->children, 0, s->nodes * sizeof *c->children);
    for (uint32_t i = 0; i < s->nodes; i++) c->first[i] = UINT32_MAX;
    for (uint32_t i = 1; i < s->nodes; i++) {
        uint32_t parent = c->place[s->parents[i]];
        c->children[parent]++;
        if (c->place[i] < c->first[parent]) c->first[parent] = c->place[i];
    }
    for (uint32_t p = 0; p < s->nodes; p++)
        if (c->children[p] == 0) c->first[p] = c->words++;
}

/* ---- the file ---- */

static bool is_leaf(const creation *c, uint32_t node) { return c->children[c->place[node]] == 0; }

/* Weights are stored as singles where that loses nothing. */
static size_t weight_size(const creation *c)
{
    const double *weights = c->spec->weights;
    for (uint32_t i = 1; i < c->spec->nodes; i++)
        if (is_leaf(c, i) && (double)(float)weights[i] != weights[i]) return 8;
    return 4;
}

static kb_status write_file(const creation *c, kb_vocabulary **out, kb_error *error)
{
    const kb_vocabulary_spec *s = c->spec;
    kb_vocabulary v;
    uint8_t *block = kbi_vocabulary_begin(s, c->words, weight_size(c), &c->allocator, &v);
    if (!block) return kbi_fail(error, KB_E_MEMORY, "no memory for a vocabulary of %u words", c->words);
    uint8_t *tree = block + (v.tree - v.block), *rows = block + (v.rows - v.block);
    for (uint32_t p = 0; p < s->nodes; p++, tree += KBI_VOCABULARY_NODE) {
        kbi_put_u32(tree, c->first[p]);
        kbi_put_u32(tree + 4, c->children[p]);
    }
    for (uint32_t i = 1; i < s->nodes; i++) {
        memcpy(rows + c->place[i] * v.row_bytes, s->rows + i * v.row_bytes, v.row_bytes);
        if (!is_leaf(c, i)) continue;
        uint8_t *weight = block + (v.weights - v.block) + c->first[c->place[i]] * v.weight_bytes;
        if (v.weight_bytes == 4) kbi_put_f32(weight, (float)s->weights[i]);
        else kbi_put_f64(weight, s->weights[i]);
    }
    return kbi_vocabulary_end(block, v.size, &c->allocator, out, error);
}

kb_status kb_vocabulary_create(const kb_vocabulary_spec *spec, const kb_allocator *allocator, kb_vocabulary **out,
                               kb_error *error)
{
    kb_vocabulary_spec s;
    creation c = {.spec = &s};
    if (out) *out = NULL;
    if (!spec || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    if (KBI_STRUCT_READ(kb_vocabulary_spec, &s, spec) != KB_OK) return kbi_fail_struct(error);
    kb_status status = spec_check(&s, error);
    if (status == KB_OK) status = kbi_allocator_read(&c.allocator, allocator, error);
    if (status != KB_OK) return status;
    c.place = kbi_allocate_array(&c.allocator, s.nodes, sizeof *c.place);
    c.first = kbi_allocate_array(&c.allocator, s.nodes, sizeof *c.first);
    c.children = kbi_allocate_array(&c.allocator, s.nodes, sizeof *c.children);
    status = c.place && c.first && c.children ? order_nodes(&c) : KB_E_MEMORY;
    if (status == KB_OK) {
        list_children(&c);
        status = write_file(&c, out, error);
    } else {
        kbi_fail(error, status, "no memory for %u nodes", s.nodes);
    }
    kbi_deallocate(&c.allocator, c.place);
    kbi_deallocate(&c.allocator, c.first);
    kbi_deallocate(&c.allocator, c.children);
    return status;
}
