/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* A vocabulary out of a tree that comes from elsewhere: parents become lists of children. */
#include "index/index.h"

typedef struct creation {
    kb_allocator allocator;
    const kb_vocabulary_spec *spec;
    uint32_t *place;           /* of every node of the spec in the new order */
    uint32_t *first, *children; /* in the new order */
    uint8_t *rows;
    double *weights;           /* one per word */
    uint32_t words;
} creation;

static kb_status spec_check(const kb_vocabulary_spec *s, kb_error *error)
{
    if (!s->parents || !s->rows || !s->weights) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    if (s->nodes < 2 || s->nodes > INT32_MAX || s->row_bytes < 1 || s->row_bytes > 4096)
        return kbi_fail(error, KB_E_TABLE, "a vocabulary of %u nodes with rows of %d bytes", s->nodes, s->row_bytes);
    if (s->branching < 1 || s->branching > 1 << 20 || s->levels < 1 || s->levels > 64 || s->scoring < 0 ||
        s->scoring > 5 || (int)s->weighting < 0 || s->weighting > KB_WEIGHTING_BINARY)
        return kbi_fail(error, KB_E_TABLE, "a vocabulary with branching %d, levels %d, scoring %d, weighting %d",
                        s->branching, s->levels, s->scoring, (int)s->weighting);
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

/* Whether the children of every node follow each other already. */
static bool children_adjacent(const creation *c)
{
    const uint32_t *parents = c->spec->parents;
    for (uint32_t i = 2; i < c->spec->nodes; i++)
        if (parents[i] != parents[i - 1] && c->first[parents[i]] != i) return false;
    return true;
}

/* Breadth first: children of the node at place p come behind the children of earlier places. place starts as the number
 * of children, first as the first child; siblings are linked by `next`. */
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

/* first and children by place, words by place, rows and weights moved. */
static void creation_fill(creation *c)
{
    const kb_vocabulary_spec *s = c->spec;
    size_t row = (size_t)s->row_bytes;
    memset(c->children, 0, s->nodes * sizeof *c->children);
    for (uint32_t i = s->nodes - 1; i > 0; i--) {
        uint32_t parent = c->place[s->parents[i]];
        c->children[parent]++;
        c->first[parent] = UINT32_MAX;
    }
    for (uint32_t i = 1; i < s->nodes; i++) {
        uint32_t parent = c->place[s->parents[i]];
        if (c->place[i] < c->first[parent]) c->first[parent] = c->place[i];
        memcpy(c->rows + c->place[i] * row, s->rows + i * row, row);
    }
    double *by_place = c->weights;
    by_place[0] = 0;
    for (uint32_t i = 1; i < s->nodes; i++) by_place[c->place[i]] = s->weights[i];
    for (uint32_t p = 0; p < s->nodes; p++) {
        if (c->children[p] > 0) continue;
        c->first[p] = c->words;
        c->weights[c->words++] = by_place[p]; /* words <= p: nothing unread is overwritten */
    }
}

static kb_status creation_run(creation *c, kb_vocabulary **out, kb_error *error)
{
    const kb_vocabulary_spec *s = c->spec;
    for (uint32_t i = s->nodes - 1; i > 0; i--) c->first[s->parents[i]] = i;
    if (children_adjacent(c)) {
        for (uint32_t i = 0; i < s->nodes; i++) c->place[i] = i;
    } else {
        uint32_t *queue = kbi_allocate_array(&c->allocator, s->nodes, sizeof *queue);
        if (!queue) return kbi_fail(error, KB_E_MEMORY, "out of memory");
        order_breadth_first(c, c->children, queue);
        kbi_deallocate(&c->allocator, queue);
    }
    creation_fill(c);
    kbi_tree tree = {
        s->nodes,     c->words,  c->first,   c->children,           c->rows,     c->weights,   (size_t)s->row_bytes,
        s->branching, s->levels, s->scoring, (int32_t)s->weighting, s->model_id, s->model_name};
    return kbi_vocabulary_pack(&tree, &c->allocator, out, error);
}

static void creation_free(creation *c)
{
    void *const blocks[] = {c->place, c->first, c->children, c->rows, c->weights};
    for (size_t i = 0; i < KBI_COUNT(blocks); i++) kbi_deallocate(&c->allocator, blocks[i]);
}

kb_status kb_vocabulary_create(const kb_vocabulary_spec *spec, const kb_allocator *allocator, kb_vocabulary **out,
                                    kb_error *error)
{
    kb_vocabulary_spec s;
    creation c = {.spec = &s};
    if (out) *out = NULL;
    if (!spec || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    kb_status status = KBI_STRUCT_READ(kb_vocabulary_spec, &s, spec);
    if (status != KB_OK) return kbi_fail_struct(error);
    status = spec_check(&s, error);
    if (status == KB_OK) status = kbi_allocator_read(&c.allocator, allocator, error);
    if (status != KB_OK) return status;
    size_t n = s.nodes;
    c.place = kbi_allocate_array(&c.allocator, n, sizeof *c.place);
    c.first = kbi_allocate_array(&c.allocator, n, sizeof *c.first);
    c.children = kbi_allocate_array(&c.allocator, n, sizeof *c.children);
    c.rows = kbi_allocate_array(&c.allocator, n, (size_t)s.row_bytes);
    c.weights = kbi_allocate_array(&c.allocator, n, sizeof *c.weights);
    if (c.place && c.first && c.children && c.rows && c.weights) {
        memset(c.first, 0, n * sizeof *c.first);
        memset(c.rows, 0, n * (size_t)s.row_bytes);
        status = creation_run(&c, out, error);
    } else {
        status = kbi_fail(error, KB_E_MEMORY, "no memory for %zu nodes", n);
    }
    creation_free(&c);
    return status;
}
