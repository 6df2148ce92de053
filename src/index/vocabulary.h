/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary: a view of the block of memory that is its file. */
#ifndef KBI_VOCABULARY_H
#define KBI_VOCABULARY_H

#include "common/bytes.h"
#include "common/common.h"
#include "keybits/index.h"
#include "match/kernels.h"
#include "pair/verify.h"

struct kb_vocabulary {
    kb_allocator allocator;
    const uint8_t *block; /* the file */
    size_t size;
    void *owned;          /* the same block when it is to be freed */
    uint32_t nodes, words;
    size_t row_bytes, weight_bytes;
    const uint8_t *tree;    /* nodes x {u32 first child or word, u32 children} */
    const uint8_t *rows;    /* nodes x row_bytes */
    const uint8_t *weights; /* words x weight_bytes */
    uint64_t model_id;
    char model_name[64];
};

#define KBI_VOCABULARY_HEADER 144
#define KBI_VOCABULARY_NODE 8
#define KBI_MAX_DEPTH 64 /* max levels of a tree, that is steps from the root to a word */

static inline uint32_t kbi_node_first(const kb_vocabulary *v, uint32_t node)
{
    return kbi_get_u32(v->tree + (size_t)node * KBI_VOCABULARY_NODE);
}
static inline uint32_t kbi_node_children(const kb_vocabulary *v, uint32_t node)
{
    return kbi_get_u32(v->tree + (size_t)node * KBI_VOCABULARY_NODE + 4);
}
static inline const uint8_t *kbi_node_row(const kb_vocabulary *v, uint32_t node)
{
    return v->rows + (size_t)node * v->row_bytes;
}
static inline double kbi_word_weight(const kb_vocabulary *v, uint32_t word)
{
    const uint8_t *at = v->weights + (size_t)word * v->weight_bytes;
    return v->weight_bytes == 4 ? (double)kbi_get_f32(at) : kbi_get_f64(at);
}

/* What kb_vocabulary_create and kb_vocabulary_train know about a tree whose children follow each other. */
typedef struct kbi_tree {
    uint32_t nodes, words;
    const uint32_t *first, *children; /* first: of a leaf its word */
    const uint8_t *rows;
    const double *weights;            /* one per word */
    size_t row_bytes;
    int32_t branching, levels, scoring, weighting;
    uint64_t model_id;
    const char *model_name;
} kbi_tree;
kb_status kbi_vocabulary_pack(const kbi_tree *tree, const kb_allocator *allocator, kb_vocabulary **out,
                              kb_error *error);

/* The caller's allocator, or malloc and free; KB_E_ARGUMENT when a function is missing. */
kb_status kbi_index_allocator(kb_allocator *allocator, const kb_allocator *given, kb_error *error);

/* KB_OK when features can be compared with rows of this length and model; else KB_E_MODEL or KB_E_ARGUMENT. */
kb_status kbi_features_check(const kb_features *features, kb_features *read, size_t row_bytes, uint64_t model_id,
                             const char *model_name, kb_error *error);


#endif
