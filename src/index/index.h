/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies, and the index: images, and segments of inverted lists. */
#ifndef KBI_INDEX_H
#define KBI_INDEX_H

#include "common/bytes.h"
#include "common/common.h"
#include "keybits/index.h"
#include "match/kernels.h"
#include "pair/verify.h"

/* ---- the vocabulary ---- */

/* A view of the block of memory that is its file. */
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

/* A file that is to be filled: a block of zeros but for its header, and its parts in `view`; NULL when memory is out.
 * kbi_vocabulary_end seals and loads it; the block then belongs to the vocabulary. */
uint8_t *kbi_vocabulary_begin(const kb_vocabulary_spec *s, uint32_t words, size_t weight_bytes,
                              const kb_allocator *allocator, kb_vocabulary *view);
kb_status kbi_vocabulary_end(uint8_t *block, size_t size, const kb_allocator *allocator, kb_vocabulary **out,
                             kb_error *error);

/* KB_OK when features can be compared with rows of this length and model; else KB_E_MODEL or KB_E_ARGUMENT. */
kb_status kbi_features_check(const kb_features *features, kb_features *read, size_t row_bytes, uint64_t model_id,
                             const char *model_name, kb_error *error);

/* ---- clustering of binary rows: k-means in Hamming space, where the centre of a cluster is the majority of each bit
 * ---- */

/* Adds up the bits of rows: eight counters of a byte each in a word, moved to wide counters before they overflow. */
typedef struct kbi_bit_counter {
    uint64_t *narrow; /* row_bytes */
    uint32_t *wide;   /* 8 x row_bytes */
    uint32_t pending, total;
} kbi_bit_counter;
void kbi_bit_counter_clear(kbi_bit_counter *c, size_t row_bytes);
void kbi_bit_counter_add(kbi_bit_counter *c, const uint8_t *row, size_t row_bytes);
/* Bits that most rows have; where half of them have it, the bit of `row` stays. */
void kbi_bit_counter_majority(kbi_bit_counter *c, size_t row_bytes, uint8_t *row);

/* What one clustering at a time needs; of rows at most `capacity`. */
typedef struct kbi_k_majority {
    kb_allocator allocator;
    size_t row_bytes, capacity;
    uint32_t k; /* 2 to KB_MAX_BRANCHING */
    int32_t iterations;
    const kbi_match_kernels *kernels;
    uint8_t *rows;      /* capacity rows: the input, by the caller */
    uint32_t *keys;     /* capacity: distance << 16 | centre */
    uint32_t *labels;   /* capacity */
    uint32_t *best, *second; /* k */
    kbi_bit_counter *counters; /* k */
    uint64_t *narrow;
    uint32_t *wide;
} kbi_k_majority;
bool kbi_k_majority_create(kbi_k_majority *m, const kb_allocator *allocator, size_t row_bytes, size_t capacity,
                           uint32_t k, int32_t iterations);
void kbi_k_majority_free(kbi_k_majority *m);
/* Clusters the first n rows; centres has room for k rows. The result is how many there are: fewer when the rows have
 * fewer different values. */
uint32_t kbi_k_majority_run(kbi_k_majority *m, size_t n, uint64_t seed, uint8_t *centres);

/* ---- a bag: the words of one image ---- */
typedef struct kbi_bag {
    size_t n;            /* different words, ascending */
    uint32_t *word;
    uint32_t *count;     /* rows with the word */
    uint32_t *row_word;  /* the word of each row */
    uint8_t *signature;  /* n x row_bytes: the majority of these rows; NULL when not wanted */
    double l1;           /* the sum of tf-idf values */
    uint64_t self;       /* the score of the image with itself before normalisation */
} kbi_bag;
/* Memory comes from the workspace. */
kb_status kbi_bag_create(const kb_vocabulary *v, const kb_features *features, bool signatures,
                         kb_workspace *workspace, kbi_bag *bag);

/* Turns the bag into one of the words that rows are near to besides their own: each row is in `probes` - 1 of them. The
 * norms stay what they were. */
kb_status kbi_bag_probe(const kb_vocabulary *v, const kb_features *features, uint32_t probes, kb_workspace *workspace,
                        kbi_bag *bag);
/* The workspace of kbi_bag_create, and of kbi_bag_probe where probes is above 1; both leave it to the caller. */
kb_status kbi_bag_measure(size_t rows, size_t row_bytes, bool signatures, uint32_t probes, kb_workspace *workspace);
/* The leaves that a beam search for the `max` (1 to KB_MAX_PROBES) nearest finds, nearest first; the result is how
 * many. */
uint32_t kbi_nearest_leaves(const kb_vocabulary *v, const kbi_match_kernels *kernels, const uint8_t *row, uint32_t max,
                            uint32_t *leaves);

/* tf-idf of a word of which an image has `count` rows, before normalisation. */
double kbi_word_value(const kb_vocabulary *v, uint32_t word, uint32_t count);
/* The weight of a word squared, as a fixed-point number: what two equal rows add to KB_SCORING_BINARY. */
uint64_t kbi_word_selectivity(const kb_vocabulary *v, uint32_t word);
/* What a pair of rows at each Hamming distance adds, out of KBI_SIMILARITY_ONE; 8 x row_bytes + 1 entries. */
#define KBI_SIMILARITY_ONE 65536
void kbi_similarity_table(size_t row_bytes, uint32_t *table);

/* ---- segments ----
 * A segment has the lists of a run of images, as it lies in the file: a directory of its words, ascending; entries by
 * word and image. A query reads the first 8 bytes of all signatures in its lists, their heads, and the rest of a few
 * entries: heads are a column of their own, and the rest lies together, for 256 bits in half a cache line. New images
 * are segments of one; the last ones are merged as long as together they are a third of the one before, so that there
 * are few of them (3 for 10,000 images, 5 at a time on average) and an entry is moved about 12 times. */
#define KBI_MERGE_RATIO 3
#define KBI_DIRECTORY_ROW 16 /* u32 word, u32 0, u64 end of its entries */
#define KBI_HEAD 8           /* bytes; a shorter signature is filled up with zeros */
#define KBI_ENTRY 8          /* bytes: u32 image, u32 rows with the word; then the signature without its head */
#define KBI_LINE 64          /* columns begin at multiples of it, in bytes */
enum { KBI_COLUMN_HEAD, KBI_COLUMN_ENTRY, KBI_COLUMNS };
typedef struct kbi_segment {
    size_t images; /* its weight in merging */
    size_t words;
    uint64_t entries;
    const uint8_t *directory;
    const uint8_t *column[KBI_COLUMNS]; /* heads: NULL when the index keeps no signatures */
    size_t entry_bytes;
    void *owned;
} kbi_segment;

/* Bytes of a signature behind its head. */
static inline size_t kbi_tail_bytes(size_t row_bytes) { return row_bytes > KBI_HEAD ? row_bytes - KBI_HEAD : 0; }
/* Bytes per entry of a column; 0: there is none. */
static inline size_t kbi_column_bytes(int column, size_t row_bytes, bool signatures)
{
    if (column == KBI_COLUMN_HEAD) return signatures ? KBI_HEAD : 0;
    return KBI_ENTRY + (signatures ? kbi_tail_bytes(row_bytes) : 0);
}
static inline const uint8_t *kbi_entry(const kbi_segment *s, uint64_t entry)
{
    return s->column[KBI_COLUMN_ENTRY] + entry * s->entry_bytes;
}
static inline uint32_t kbi_entry_image(const kbi_segment *s, uint64_t entry)
{
    return kbi_get_u32(kbi_entry(s, entry));
}
static inline uint32_t kbi_entry_count(const kbi_segment *s, uint64_t entry)
{
    return kbi_get_u32(kbi_entry(s, entry) + 4);
}

static inline uint32_t kbi_directory_word(const kbi_segment *s, size_t i)
{
    return kbi_get_u32(s->directory + i * KBI_DIRECTORY_ROW);
}
/* The range of entries of row i of the directory. Damaged bytes give an empty range, never one outside the segment. */
static inline void kbi_directory_range(const kbi_segment *s, size_t i, uint64_t *begin, uint64_t *end)
{
    *begin = i == 0 ? 0 : kbi_get_u64(s->directory + (i - 1) * KBI_DIRECTORY_ROW + 8);
    *end = kbi_get_u64(s->directory + i * KBI_DIRECTORY_ROW + 8);
    if (*end > s->entries || *begin > *end) *begin = *end = 0;
}

/* ---- the index ---- */
typedef struct kbi_indexed {
    uint64_t id;
    uint32_t rows, words, width, height;
    double l1;
    uint64_t self;
    const char *name;
    const uint8_t *kept_rows, *kept_points; /* rows x row_bytes; rows x 4 little endian floats: x, y, size, angle */
    void *owned;                            /* name and kept features of an image that was added here */
    bool removed;
} kbi_indexed;

#define KBI_MAX_SEGMENTS 64
struct kb_index {
    kb_allocator allocator;
    const kb_vocabulary *vocabulary;
    kb_vocabulary *owned_vocabulary; /* of a loaded index */
    bool signatures, features;
    kb_features origin; /* how keypoints of the images were found; detector 0: unknown */
    kbi_indexed *images;
    double *norms; /* of images: the square root of `self`, which every query reads */
    size_t count, room, removed;
    kbi_segment segments[KBI_MAX_SEGMENTS];
    size_t segment_count;
};

#define KBI_POINT 16 /* bytes per kept keypoint */

/* The lists of segments [first, first + count) as if they were one, without entries of removed images: run is called
 * for entries [from, to) of a segment, then word once at the end of each list, with the number of entries so far.
 * Either may be NULL. */
typedef struct kbi_list_visitor {
    void (*run)(void *self, const kbi_segment *segment, uint64_t from, uint64_t to);
    void (*word)(void *self, uint32_t word, uint64_t entries);
    void *self;
} kbi_list_visitor;
void kbi_segments_walk(const kb_index *index, size_t first, size_t count, const kbi_list_visitor *visitor);
typedef struct kbi_list_count {
    size_t words;
    uint64_t entries;
} kbi_list_count;
kbi_list_count kbi_segments_count(const kb_index *index, size_t first, size_t count);

/* Replaces segments [first, first + count) by one. map: new positions of images (UINT32_MAX: dropped), or NULL: they
 * stay, and removed ones are dropped. */
kb_status kbi_segments_merge(kb_index *index, size_t first, size_t count, const uint32_t *map);
/* Positions without removed images, which have UINT32_MAX; to be deallocated. NULL when memory is out. */
uint32_t *kbi_index_positions(const kb_index *index);
/* Appends the bag of the image at `position` and merges. */
kb_status kbi_segments_add(kb_index *index, const kbi_bag *bag, uint32_t position);

/* Matches the query with a kept image and fits the geometry between them; result gets score, inliers and model. plane:
 * as in kbi_pair_verify. */
kb_status kbi_index_verify(const kb_index *index, const kb_features *query, size_t position,
                           const kb_index_query_options *o, int32_t plane, kb_workspace *ws, kb_index_result *result);
kb_status kbi_index_verify_measure(size_t rows, size_t row_bytes, kb_workspace *ws);
/* The score of the matches alone. */
kb_status kbi_index_exact(const kb_index *index, const kb_features *query, size_t position,
                          const uint32_t *similarity, kb_workspace *ws, double *score);
kb_status kbi_index_exact_measure(size_t query_rows, size_t rows, size_t row_bytes, kb_workspace *ws);

/* Options with their defaults, and the workspace of the calls that have them. */
kb_status kbi_index_query_read(kb_index_query_options *o, const kb_index_query_options *given, kb_error *error);
kb_status kbi_index_query_measure(const kb_index_limits *limits, const kb_index_query_options *o, size_t capacity,
                                  kb_workspace *ws);
kb_status kbi_loop_read(kb_loop_options *o, const kb_loop_options *given, kb_error *error);
kb_status kbi_loop_measure(const kb_index_limits *limits, const kb_loop_options *o, kb_workspace *ws);

#endif
