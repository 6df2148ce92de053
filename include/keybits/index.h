/* SPDX-License-Identifier: Apache-2.0 */
/* keybits: retrieval. A vocabulary turns descriptors into words, an index finds the images that share words with a
 * query, and a loop detector finds the places that a camera comes back to (docs/index.md).
 *
 *     kb_vocabulary_load(data, size, NULL, &vocabulary, NULL);
 *     kb_index_create(vocabulary, NULL, NULL, &index, NULL);
 *     kb_index_add(index, &features, id, "room.png", NULL, NULL);
 *     kb_index_query(index, &features, NULL, NULL, results, 10, &count, NULL);
 *
 * Part of libkeybits; the rules at the head of keybits.h hold here too. A library built for BAD alone has none of it.
 */
#ifndef KEYBITS_INDEX_H
#define KEYBITS_INDEX_H

#include "keybits/keybits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------------------------------- one scene or two */

typedef struct kb_verify_options {
    uint32_t struct_size;
    kb_geometry geometry;  /* that is wanted of a verified pair; 0, any: a homography, or where it explains clearly more a
                              fundamental matrix, with cameras an essential matrix, unless a fundamental matrix
                              explains clearly more, or a rotation */
    double threshold;      /* px, of a homography or rotation; half of it from an epipolar line. 0: 3 */
    float max_ratio, max_distance;        /* as in kb_match_options; 0: off */
    const kb_camera *camera_a, *camera_b; /* camera_b NULL: the same as camera_a; both NULL: not known */
    uint64_t seed;
    double pairs;          /* how many pairs of images the caller tries: chance has the same number. 0: a million, so
                              that a pair is judged alike in every collection */
    int32_t min_places;    /* fewer places are not enough; 0: what chance and repetition ask for */
    const uint8_t *upright_a, *upright_b; /* upright rows of the keypoints of a and b, whose own rows are oriented: as
                              many, of as many bytes, without gaps. Where the oriented ones verify a pair whose
                              images are turned by less than 18 degrees, these are tried too, and the result with
                              more places is taken. Both or neither; NULL: none */
} kb_verify_options;

typedef struct kb_verification {
    uint32_t struct_size;  /* set with KB_INIT */
    int32_t verified;      /* 1: the images show one scene. 0: the fields below `count` are zero */
    size_t candidates;     /* mutual nearest neighbours */
    size_t count;          /* matches written: the ones that agree with their neighbours (kb_filter) */
    kb_geometry geometry;  /* in COLMAP's words: fundamental uncalibrated, essential calibrated, rotation panoramic,
                              homography planar, or planar or panoramic when no camera is given */
    int32_t inliers;
    int32_t places;        /* different inliers */
    int32_t distinct;      /* examined inliers that can be told from all other places of the images */
    double model[9];       /* as in kb_fit_report, from a to b */
    double rotation[9], translation[3];
    kb_look look;          /* the rows that gave the result: KB_LOOK_UPRIGHT or KB_LOOK_ORIENTED */
} kb_verification;

/* Whether two images show one scene, by their features alone; what collections, indexes and loops rest on. Verified
 * means: a homography, of some part of the scene, or an epipolar geometry, with more places than chance explains among
 * all matches and pairs of images that are tried, and with more distinct ones than repetition explains: equal windows
 * of different houses fit each other, but each could as well be its neighbour. One thing that two scenes share, such as
 * the same poster or door, is not told from one scene. Both features need keypoints, and rows of one model. matches and
 * inliers have room for a->n. options, workspace and error may be NULL. "Not verified" is a result. */
KB_API kb_status kb_pair_verify(const kb_features *a, const kb_features *b, const kb_verify_options *options,
                                kb_workspace *workspace, kb_match *matches, uint8_t *inliers, kb_verification *out,
                                kb_error *error);

/* ------------------------------------------------------------------------------------------------------- vocabulary */

/* A vocabulary is a tree over binary rows: every node has a row, a row descends to the nearest child (ties: the
 * first), and the leaf that it reaches is its word. It is immutable: any number of threads may share one. It is one
 * block of memory, which is also its file (docs/index-format.md). */
typedef struct kb_vocabulary kb_vocabulary;

#define KB_MAX_BRANCHING 256
#define KB_MAX_LEVELS 10

typedef struct kb_vocabulary_options {
    uint32_t struct_size;
    int32_t branching;        /* children per node, 2 to KB_MAX_BRANCHING; 0: 10 */
    int32_t levels;           /* of the tree, 1 to KB_MAX_LEVELS; 0: 4. At most branching ^ levels words. */
    int32_t iterations;       /* of k-majority clustering per node, 1 to 1000; 0: 10 */
    uint64_t seed;            /* the same seed gives the same vocabulary; 0 is a seed like any other */
    const kb_model *model;    /* the model of the rows, whose id and name the vocabulary keeps; NULL: unknown */
    const size_t *image_ends; /* the rows of image i end before row image_ends[i], ascending, the last is n: gives
                                 words their weight ln(images / images with the word), which may not be 0 for all of
                                 them. NULL: every word weighs 1. */
    size_t images;
    const kb_parallel *parallel;
    int32_t (*report)(void *context, size_t done, size_t total); /* called between steps, by the thread that calls the
                                 library; 0 stops with KB_E_STOPPED. NULL: none */
    void *report_context;
} kb_vocabulary_options;

/* Learns a vocabulary from n rows (1 to 2^32 - 1) by hierarchical k-majority clustering. The same rows and options give
 * the same bytes on any number of threads. Memory besides the rows: about 12 bytes per row, and the result. error may
 * be NULL. */
KB_API kb_status kb_vocabulary_train(const uint8_t *rows, size_t n, size_t row_bytes,
                                     const kb_vocabulary_options *options, const kb_allocator *allocator,
                                     kb_vocabulary **out, kb_error *error);

/* Opens a vocabulary file that lies in memory, such as a mapped file. data is borrowed: it must stay as it is until
 * kb_vocabulary_free. Any bytes are safe: KB_E_FORMAT, KB_E_TRUNCATED, KB_E_CHECKSUM or KB_E_TABLE with a sentence in
 * error (may be NULL). */
KB_API kb_status kb_vocabulary_load(const void *data, size_t size, const kb_allocator *allocator, kb_vocabulary **out,
                                    kb_error *error);
KB_API void kb_vocabulary_free(kb_vocabulary *vocabulary);

typedef struct kb_vocabulary_info {
    uint32_t struct_size;
    uint32_t nodes; /* with the root, node 0 */
    uint32_t words;
    int32_t row_bytes;
    int32_t branching, levels; /* as it was trained; the tree may have fewer */
    int32_t scoring;           /* 0 to 5 as DBoW2 numbers them; 0 is L1. Only noted. */
    int32_t weighting;         /* a kb_weighting */
    uint64_t model_id;         /* 0: unknown */
    const char *model_name;    /* "" when unknown; lives as long as the vocabulary */
    const void *data;          /* the file, `bytes` in memory; it lives as long as the vocabulary */
    size_t bytes;
} kb_vocabulary_info;
KB_API kb_status kb_vocabulary_get_info(const kb_vocabulary *vocabulary, kb_vocabulary_info *info);

typedef struct kb_words_options {
    uint32_t struct_size;
    int32_t levels_up; /* how far above its word the node of a row is, the root at most. ORB-SLAM uses 4 of 6 levels. */
    const kb_parallel *parallel;
} kb_words_options;

/* The word of every row. Rows of another model, or of another length, give KB_E_MODEL and a sentence in error (may be
 * NULL). nodes (may be NULL) receives the node that a row passed levels_up above its word: what ORB-SLAM calls the
 * feature vector. options may be NULL. */
KB_API kb_status kb_vocabulary_words(const kb_vocabulary *vocabulary, const kb_features *features,
                                     const kb_words_options *options, uint32_t *words, uint32_t *nodes,
                                     kb_error *error);

/* ------------------------------------------------------------------------------------------------------------ index */

/* An index finds the images that share words with a query. It is built incrementally and is one file, which holds its
 * vocabulary too. Queries may run on any number of threads at once, but not while an image is added or removed. */
typedef struct kb_index kb_index;

typedef struct kb_index_options {
    uint32_t struct_size;
    int32_t no_signatures; /* 1: keep word counts only, 8 bytes per word of an image: for KB_SCORING_TF_IDF. 0: also a
                              row per word of an image. */
    int32_t keep_features; /* 1: keep rows and keypoints of images, row_bytes + 16 bytes per keypoint, for verification
                              and exact search */
} kb_index_options;

/* The vocabulary is borrowed: it must live as long as the index. options and error may be NULL. */
KB_API kb_status kb_index_create(const kb_vocabulary *vocabulary, const kb_index_options *options,
                                 const kb_allocator *allocator, kb_index **out, kb_error *error);
KB_API void kb_index_free(kb_index *index);

/* Adds an image behind all others; its position counts up from 0. id is the caller's and is not looked at (several
 * images may share one); name (NULL: none, up to 4095 bytes) is kept for the caller. Amortised time grows with the
 * rows and with the logarithm of the images. workspace and error may be NULL. Rows of another model, and keypoints of
 * another detector, revision or size limit than the index has, or upright beside oriented ones: KB_E_MODEL, as far
 * as both tell; queries too. When keypoints are kept, features must have them. */
KB_API kb_status kb_index_add(kb_index *index, const kb_features *features, uint64_t id, const char *name,
                              kb_workspace *workspace, kb_error *error);

/* Removes every image with this id; *count (may be NULL) tells how many. Names and kept features are freed at once.
 * Positions stay until half of them are removed; then the index is compacted. It looks at every position, as a query
 * does, and takes a tenth of a query's time: some milliseconds among a million images. */
KB_API kb_status kb_index_remove(kb_index *index, uint64_t id, size_t *count);
/* Drops what removed images have left, so that the images that remain move up and have positions without gaps, and puts
 * all lists together, which makes queries faster. Needs memory for the lists once more; without it, KB_E_MEMORY, and
 * the index is as it was. */
KB_API kb_status kb_index_compact(kb_index *index);

typedef enum kb_scoring {
    KB_SCORING_BINARY = 0, /* rows are compared within each word (docs/index.md); the most accurate with words */
    KB_SCORING_TF_IDF = 1, /* tf-idf under the L1 norm: the scores of DBoW2 with the same vocabulary */
    KB_SCORING_EXACT = 2,  /* no words: rows are matched with the rows of every image. Slow, the reference for recall;
                            needs kept features. */
    KB_SCORING_INT32 = 0x7fffffff
} kb_scoring;

typedef struct kb_index_query_options {
    uint32_t struct_size;
    kb_scoring scoring;
    size_t first_images;  /* search only the first first_images images that were added; 0: all. For sequences. */
    int32_t verify;       /* how many results are verified (kb_pair_verify), 0: none. Of 4 x verify results the most
                             similar to a sample of the query's rows are taken. Verified results come first: the ones
                             that show one scene, then the others, each ranked by the similarity of their matches, where
                             inliers count twice. Needs kept features, and keypoints in the query. */
    kb_geometry geometry; /* of the verification, as in kb_verify_options */
    double threshold;
    int32_t probes;       /* KB_SCORING_BINARY: the number of nearest words in which each row is searched, up to
                             KB_MAX_PROBES: more give higher scores and recall, and time grows with them. 0: 2. */
} kb_index_query_options;
#define KB_MAX_PROBES 64

typedef struct kb_index_result {
    uint64_t id;
    size_t position;
    double score;     /* 0 to 1, more is better; typical values depend on scoring, vocabulary and verification */
    int32_t inliers, places; /* of the verification (kb_pair_verify): 0: it failed; -1: it was not tried */
    kb_geometry geometry;    /* of the model; 0: none */
    double model[9];         /* from the query to the image; zeros unless verified */
    int32_t reserved[5];
} kb_index_result;

/* Finds up to `capacity` images with a score above 0, best first (ties: the earlier image); *count are written. With
 * verification, scores of results with inliers, of other verified ones and of the rest descend each.
 * options, workspace and error may be NULL. */
KB_API kb_status kb_index_query(const kb_index *index, const kb_features *features,
                                const kb_index_query_options *options, kb_workspace *workspace,
                                kb_index_result *results, size_t capacity, size_t *count, kb_error *error);

typedef struct kb_index_info {
    uint32_t struct_size;
    int32_t signatures, features; /* 1: kept */
    size_t images;                /* added and not removed */
    size_t positions;             /* with the removed ones */
    uint64_t entries;             /* a word of an image each */
    uint64_t bytes;               /* of memory, or of the file, without the vocabulary */
    kb_detector detector;         /* of the first image that told: how keypoints of all images and queries are found, */
    int32_t revision, upright, max_size; /* as kb_features has it. 0: unknown */
    const kb_vocabulary *vocabulary; /* lives as long as the index */
} kb_index_info;
KB_API kb_status kb_index_get_info(const kb_index *index, kb_index_info *info);

/* One image; pointers live until the index changes. */
typedef struct kb_index_image {
    uint32_t struct_size;
    int32_t removed;       /* 1: it has no name and no features any more */
    uint64_t id;
    const char *name;      /* "" when it has none */
    uint32_t rows, words;
    int32_t width, height; /* 0 where kb_features did not tell */
} kb_index_image;

/* Fills image, and features with what the index keeps of it, to draw or match them; both are set with KB_INIT and may
 * be NULL. features->keypoints, unless it is NULL, has room for features->capacity keypoints (otherwise KB_E_SPACE), of
 * which x, y, size and angle are kept; features->rows is set to the index's own rows, which must not be written and
 * live until it changes. KB_E_ARGUMENT when there is no such position, KB_E_KIND for features that the index does not
 * keep. error may be NULL. */
KB_API kb_status kb_index_get_image(const kb_index *index, size_t position, kb_index_image *image,
                                    kb_features *features, kb_error *error);

/* Writes the index as a file by calls of write(self, data, size), which returns KB_OK to go on. Removed images are not
 * in the file, so that positions there have no gaps; the index stays as it is. The same images in the same order give
 * the same bytes, however they came in. Needs 4 bytes per position when images are removed, else no memory. */
typedef kb_status (*kb_write)(void *self, const void *data, size_t size);
KB_API kb_status kb_index_save(const kb_index *index, kb_write write, void *self);

/* Opens an index file in memory, such as a mapped file; data is borrowed and must stay until kb_index_free. Images can
 * be added to it, in memory. Any bytes are safe. check 1: reads all of the file, and gives KB_E_CHECKSUM when it is
 * damaged; 0: lists and rows are not read here. error may be NULL. */
KB_API kb_status kb_index_load(const void *data, size_t size, int32_t check, const kb_allocator *allocator,
                               kb_index **out, kb_error *error);

/* ----------------------------------------------------------------------------------------------------- loop closing */

/* Loop closing: images come in order, and each is compared with all earlier ones except the last few. */
typedef struct kb_loop_options {
    uint32_t struct_size;
    int32_t window;        /* the last `window` images are not searched; 0: 20; at least 1 */
    int32_t checks;        /* images per query that are matched and fitted, and where one fits, of other places, which
                              it must be clearly better than; 0: 2; up to 1000 */
    int32_t island;        /* candidates up to this many images apart form one island; 0: 3 */
    int32_t min_places;    /* the fewest places (kb_fit_report) of a loop; 0: 30 */
    double min_score;      /* of a candidate, relative to the median score of an image with the one before it; 0: 0.5.
                              Lower finds places that have changed more, and more false candidates. */
    kb_geometry geometry;  /* as in kb_verify_options, of those without cameras; any: 0 */
    double threshold;
} kb_loop_options;

typedef struct kb_loop {
    uint32_t struct_size;    /* set with KB_INIT */
    int32_t found;           /* 1: a loop */
    size_t query, reference; /* positions */
    double score;            /* of the reference, before verification */
    int32_t inliers, places; /* 0: not verified */
    kb_geometry geometry;    /* of the model */
    double model[9];         /* from the query to the reference */
    size_t island_first, island_last; /* positions of the candidates around the reference */
    int32_t checked;         /* pairs of images that were matched */
} kb_loop;

typedef struct kb_loop_detector kb_loop_detector;
/* The vocabulary is borrowed. options and error may be NULL. */
KB_API kb_status kb_loop_detector_create(const kb_vocabulary *vocabulary, const kb_loop_options *options,
                                         const kb_allocator *allocator, kb_loop_detector **out, kb_error *error);
KB_API void kb_loop_detector_free(kb_loop_detector *detector);
/* Looks for a loop and adds the image. "None found" is a result. Features need keypoints. */
KB_API kb_status kb_loop_detector_add(kb_loop_detector *detector, const kb_features *features, kb_workspace *workspace,
                                      kb_loop *loop, kb_error *error);

/* ----------------------------------------------------------------------------------------------------------- memory */

/* The largest calls of this header that will use a workspace. A field of 0 or NULL: no call of that kind. */
typedef struct kb_index_limits {
    uint32_t struct_size;
    int32_t pair;                  /* 1: kb_pair_verify of two images, with upright rows or without */
    size_t images;                 /* of the index or loop detector, with removed ones */
    size_t rows;                   /* of an image or query: kb_index_add */
    size_t row_bytes;              /* of these; 0: KB_MAX_BITS / 8 */
    size_t results;                /* capacity of kb_index_query */
    const kb_index_query_options *query; /* of kb_index_query: scoring, verify, probes; NULL: the defaults */
    const kb_loop_options *loop;   /* kb_loop_detector_add of a detector with these options; NULL: none */
} kb_index_limits;

/* As kb_workspace_reserve, which has the limits of the calls of keybits.h: a workspace may be reserved for both. Only
 * the index itself allocates then, for the images that it keeps. error may be NULL. */
KB_API kb_status kb_index_reserve(kb_workspace *workspace, const kb_index_limits *limits, size_t *bytes,
                                  kb_error *error);

/* ------------------------------------------------------------------------------------------ trees of other programs */

/* DBoW2's numbers; kept for conversion. */
typedef enum kb_weighting {
    KB_WEIGHTING_TF_IDF = 0,
    KB_WEIGHTING_TF = 1,
    KB_WEIGHTING_IDF = 2,
    KB_WEIGHTING_BINARY = 3,
    KB_WEIGHTING_INT32 = 0x7fffffff
} kb_weighting;

/* One node. Children follow each other; a node's number is above its parent's. */
typedef struct kb_vocabulary_node {
    uint32_t first_child, children; /* children 0: a leaf */
    uint32_t word;                  /* of a leaf: 0, 1, ... in the order of nodes; else UINT32_MAX */
    double weight;                  /* of a leaf; else 0 */
    const uint8_t *row;             /* row_bytes; zeros for the root */
} kb_vocabulary_node;
/* 1, or 0 when there is no such node. */
KB_API int32_t kb_vocabulary_get_node(const kb_vocabulary *vocabulary, uint32_t index, kb_vocabulary_node *node);

/* Makes a vocabulary from a given tree. Node 0 is the root; parents[i] < i. Nodes keep their order when the children of
 * each are consecutive, otherwise they are put into breadth-first order. */
typedef struct kb_vocabulary_spec {
    uint32_t struct_size;
    uint32_t nodes;            /* with the root, 2 to 2^31 - 1 */
    const uint32_t *parents;   /* one per node; the root's is not read */
    const uint8_t *rows;       /* nodes x row_bytes; the root's is not read */
    const double *weights;     /* one per node, finite and not negative; only leaves count */
    int32_t row_bytes, branching, levels, scoring;
    kb_weighting weighting;
    uint64_t model_id;
    const char *model_name;    /* NULL: unknown; at most 63 bytes */
} kb_vocabulary_spec;
KB_API kb_status kb_vocabulary_create(const kb_vocabulary_spec *spec, const kb_allocator *allocator,
                                      kb_vocabulary **out, kb_error *error);

#ifdef __cplusplus
}
#endif
#endif
