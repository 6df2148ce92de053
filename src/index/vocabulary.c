/* SPDX-License-Identifier: Apache-2.0 */
/* -Os: runs once per image, file or model. */
/* The vocabulary file (docs/index-format.md): little endian, a header of 144 bytes, the tree, the rows of its nodes,
 * the weights of its words. Loading checks it and keeps a pointer. */
#include "index/index.h"

#define AT_SUM 128 /* the checksum in the header */
static const kbi_file_kind vocabulary_file = {"vocabulary", {0x8b, 'K', 'B', 'V', '\r', '\n', 0x1a, '\n'}, 1,
                                              KBI_VOCABULARY_HEADER};

static uint64_t round8(uint64_t bytes) { return (bytes + 7) & ~(uint64_t)7; }

/* Bytes of a whole file; the factors are 32-bit numbers and at most 4096, so that nothing overflows. */
static uint64_t block_bytes(uint64_t nodes, uint64_t words, uint64_t row_bytes, uint64_t weight_bytes)
{
    return KBI_VOCABULARY_HEADER + nodes * KBI_VOCABULARY_NODE + round8(nodes * row_bytes) +
           round8(words * weight_bytes);
}

static uint64_t block_sum(const uint8_t *block, size_t size)
{
    uint64_t sum = kbi_sum_words(KBI_SUM_START, block, AT_SUM);
    return kbi_sum_words(sum, block + AT_SUM + 8, size - AT_SUM - 8);
}

/* ---- writing ---- */

static void view_block(kb_vocabulary *v, const uint8_t *block, size_t size)
{
    v->block = block;
    v->size = size;
    v->row_bytes = kbi_get_u32(block + 12);
    v->nodes = kbi_get_u32(block + 24);
    v->words = kbi_get_u32(block + 28);
    v->weight_bytes = kbi_get_u32(block + 40);
    v->model_id = kbi_get_u64(block + 48);
    memcpy(v->model_name, block + 64, sizeof v->model_name);
    v->tree = block + KBI_VOCABULARY_HEADER;
    v->rows = v->tree + (size_t)v->nodes * KBI_VOCABULARY_NODE;
    v->weights = v->rows + round8(v->nodes * (uint64_t)v->row_bytes);
}

uint8_t *kbi_vocabulary_begin(const kb_vocabulary_spec *s, uint32_t words, size_t weight_bytes,
                              const kb_allocator *allocator, kb_vocabulary *view)
{
    uint64_t size = block_bytes(s->nodes, words, (uint64_t)s->row_bytes, weight_bytes);
    uint8_t *block = size <= SIZE_MAX ? kbi_allocate_zeros(allocator, (size_t)size) : NULL;
    if (!block) return NULL;
    const uint32_t fields[] = {vocabulary_file.version, (uint32_t)s->row_bytes, (uint32_t)s->branching,
                               (uint32_t)s->levels, s->nodes, words, (uint32_t)s->scoring, (uint32_t)s->weighting,
                               (uint32_t)weight_bytes, 0};
    memcpy(block, vocabulary_file.magic, 8);
    for (size_t i = 0; i < KBI_COUNT(fields); i++) kbi_put_u32(block + 8 + 4 * i, fields[i]);
    kbi_put_u64(block + 48, s->model_id);
    kbi_put_u64(block + 56, size);
    if (s->model_name) memcpy(block + 64, s->model_name, strlen(s->model_name));
    view_block(view, block, (size_t)size);
    return block;
}

kb_status kbi_vocabulary_end(uint8_t *block, size_t size, const kb_allocator *allocator, kb_vocabulary **out,
                             kb_error *error)
{
    kbi_put_u64(block + AT_SUM, block_sum(block, size));
    kb_status status = kb_vocabulary_load(block, size, allocator, out, error);
    if (*out) (*out)->owned = block;
    else kbi_deallocate(allocator, block);
    return status;
}

/* ---- loading ---- */

static kb_status check_numbers(const uint8_t *block, size_t size, kb_error *error)
{
    static const struct {
        const char *name;
        uint32_t min, max;
    } ranges[] = {{"row bytes", 1, 4096},  {"branching", 1, 1 << 20}, {"levels", 1, KBI_MAX_DEPTH},
                  {"nodes", 2, INT32_MAX}, {"words", 1, INT32_MAX},   {"scoring", 0, 5},
                  {"weighting", 0, 3}};
    for (size_t i = 0; i < KBI_COUNT(ranges); i++) {
        uint32_t v = kbi_get_u32(block + 12 + 4 * i);
        if (v < ranges[i].min || v > ranges[i].max)
            return kbi_fail(error, KB_E_TABLE, "vocabulary: %s is %u, not %u to %u", ranges[i].name, v,
                            ranges[i].min, ranges[i].max);
    }
    uint32_t weight_bytes = kbi_get_u32(block + 40);
    if (weight_bytes != 4 && weight_bytes != 8)
        return kbi_fail(error, KB_E_TABLE, "vocabulary: weights of %u bytes", weight_bytes);
    if (block[127] != 0) return kbi_fail(error, KB_E_TABLE, "vocabulary: the model's name has no end");
    uint64_t want = block_bytes(kbi_get_u32(block + 24), kbi_get_u32(block + 28), kbi_get_u32(block + 12),
                                weight_bytes);
    if (want != size || want != kbi_get_u64(block + 56))
        return kbi_fail(error, KB_E_TABLE, "vocabulary: %zu bytes, but its header needs %llu", size,
                        (unsigned long long)want);
    return KB_OK;
}

static kb_status check_file(const uint8_t *block, size_t size, kb_error *error)
{
    kb_status status = kbi_head_check(&vocabulary_file, block, size, error);
    if (status == KB_OK) status = kbi_size_check(&vocabulary_file, size, kbi_get_u64(block + 56), error);
    if (status == KB_OK) status = check_numbers(block, size, error);
    if (status != KB_OK || block_sum(block, size) == kbi_get_u64(block + AT_SUM)) return status;
    return kbi_fail(error, KB_E_CHECKSUM, "the vocabulary is damaged: its checksum is wrong");
}

/* Notes the depth of a node's children; false when one of them has a parent already. */
static bool claim_children(uint8_t *depth, uint32_t parent, uint32_t first, uint32_t children)
{
    for (uint32_t i = first; i < first + children; i++) {
        if (depth[i] > 0) return false;
        depth[i] = (uint8_t)(depth[parent] + 1);
    }
    return true;
}

/* Children lie behind their parent and inside the table, so that every descent ends, soon; each node but the root has
 * one parent; words count up. */
static kb_status check_nodes(const kb_vocabulary *v, uint8_t *depth, kb_error *error)
{
    uint32_t words = 0;
    uint64_t children_sum = 0;
    for (uint32_t i = 0; i < v->nodes; i++) {
        uint32_t first = kbi_node_first(v, i), children = kbi_node_children(v, i);
        if (children > 0 && depth[i] == KBI_MAX_DEPTH)
            return kbi_fail(error, KB_E_TABLE, "vocabulary: node %u has children below level %d", i, KBI_MAX_DEPTH);
        bool good = children > 0 ? first > i && first < v->nodes && children <= v->nodes - first &&
                                       claim_children(depth, i, first, children)
                                 : first == words++ && i > 0;
        if (!good)
            return kbi_fail(error, KB_E_TABLE, "vocabulary: node %u has children %u + %u of %u nodes", i, first,
                            children, v->nodes);
        children_sum += children;
    }
    if (words != v->words || children_sum != v->nodes - 1)
        return kbi_fail(error, KB_E_TABLE, "vocabulary: the tree has %u leaves, not %u", words, v->words);
    return KB_OK;
}

static kb_status check_tree(const kb_vocabulary *v, kb_error *error)
{
    uint8_t *depth = kbi_allocate_zeros(&v->allocator, v->nodes);
    if (!depth) return kbi_fail(error, KB_E_MEMORY, "out of memory");
    kb_status status = check_nodes(v, depth, error);
    kbi_deallocate(&v->allocator, depth);
    for (uint32_t i = 0; status == KB_OK && i < v->words; i++) {
        double weight = kbi_word_weight(v, i);
        if (!(weight >= 0 && weight <= 1e30))
            status = kbi_fail(error, KB_E_TABLE, "vocabulary: word %u has the weight %g", i, weight);
    }
    return status;
}

kb_status kb_vocabulary_load(const void *data, size_t size, const kb_allocator *given, kb_vocabulary **out,
                                  kb_error *error)
{
    kb_allocator allocator;
    if (out) *out = NULL;
    if (!data || !out) return kbi_fail(error, KB_E_ARGUMENT, "a pointer is NULL");
    kb_status status = kbi_allocator_read(&allocator, given, error);
    if (status == KB_OK) status = check_file(data, size, error);
    if (status != KB_OK) return status;
    kb_vocabulary *v = kbi_allocate_zeros(&allocator, sizeof *v);
    if (!v) return kbi_fail(error, KB_E_MEMORY, "out of memory");
    v->allocator = allocator;
    view_block(v, data, size);
    status = check_tree(v, error);
    if (status == KB_OK) *out = v;
    else kbi_deallocate(&allocator, v);
    return status;
}

void kb_vocabulary_free(kb_vocabulary *vocabulary)
{
    if (!vocabulary) return;
    kb_allocator allocator = vocabulary->allocator;
    kbi_deallocate(&allocator, vocabulary->owned);
    kbi_deallocate(&allocator, vocabulary);
}

kb_status kb_vocabulary_get_info(const kb_vocabulary *vocabulary, kb_vocabulary_info *info)
{
    if (!vocabulary || !info) return KB_E_ARGUMENT;
    kb_status status = KBI_STRUCT_CHECK(kb_vocabulary_info, info);
    if (status != KB_OK) return status;
    kb_vocabulary_info full = {
        .struct_size = info->struct_size,
        .nodes = vocabulary->nodes,
        .words = vocabulary->words,
        .row_bytes = (int32_t)vocabulary->row_bytes,
        .branching = (int32_t)kbi_get_u32(vocabulary->block + 16),
        .levels = (int32_t)kbi_get_u32(vocabulary->block + 20),
        .scoring = (int32_t)kbi_get_u32(vocabulary->block + 32),
        .weighting = (int32_t)kbi_get_u32(vocabulary->block + 36),
        .model_id = vocabulary->model_id,
        .model_name = vocabulary->model_name,
        .data = vocabulary->block,
        .bytes = vocabulary->size,
    };
    KBI_STRUCT_WRITE(kb_vocabulary_info, info, &full);
    return KB_OK;
}

int32_t kb_vocabulary_get_node(const kb_vocabulary *vocabulary, uint32_t index, kb_vocabulary_node *node)
{
    if (!vocabulary || !node || index >= vocabulary->nodes) return 0;
    uint32_t first = kbi_node_first(vocabulary, index), children = kbi_node_children(vocabulary, index);
    bool leaf = children == 0;
    *node = (kb_vocabulary_node){leaf ? 0 : first, children, leaf ? first : UINT32_MAX,
                                 leaf ? kbi_word_weight(vocabulary, first) : 0, kbi_node_row(vocabulary, index)};
    return 1;
}
