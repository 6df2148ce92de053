/* SPDX-License-Identifier: Apache-2.0 */
/* Learning the tables of BAD, BAG and HashSIFT from patches: options in, tables and a summary out (docs/learning.md).
 *
 * Belongs to libkeybits-learn, a library beside libkeybits; the program's command `train` is made of it. The rules at
 * the head of keybits.h hold here too: nothing prints, nothing reads or writes files, every struct starts with its
 * size.
 *
 *     kb_learn_patches patches;
 *     kb_learn_options options;
 *     kb_box_pair boxes[256];
 *     kb_error error;
 *     KB_INIT(patches);
 *     KB_INIT(options);
 *     patches.pixels = pixels, patches.labels = labels, patches.count = count;
 *     if (kb_learn_boxes(&patches, &options, boxes, NULL, &error) != KB_OK) puts(error.text);
 *
 * and kb_model_create makes a model of the boxes. / */
#ifndef KEYBITS_LEARN_H
#define KEYBITS_LEARN_H

#include "keybits/advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Patches to learn from, a borrowed view: count patches of 32x32 bytes one after the other, for BAG what
 * kb_sample gives, 4 x 16x16 bytes; and for each the label of the scene point that it shows. Patches of a point
 * stand next to each other: labels never descend. A point with one patch teaches nothing and is left out. */
typedef struct kb_learn_patches {
    uint32_t struct_size;
    const uint8_t *pixels;
    const uint32_t *labels;
    size_t count;
} kb_learn_patches;

/* What the training minimises. */
typedef enum kb_learn_loss {
    KB_LEARN_LOSS_TRIPLET = 0, /* triplet ranking loss with margin, hard negatives, anchor swap: the paper's BAD */
    KB_LEARN_LOSS_BINARY = 1,  /* classification of pairs into same and different, random negatives: BAD by AdaBoost, as
                                  BEBLID; HashSIFT by the logistic loss */
    KB_LEARN_LOSS_ORB = 2,     /* ORB's rule, no labels: mean near one half, little correlation with the bits before */
    KB_LEARN_LOSS_INT32 = 0x7fffffff
} kb_learn_loss;

typedef struct kb_learn_progress {
    uint32_t struct_size;
    int32_t bit, bits; /* bits chosen, bits wanted */
    double loss;       /* after the new bit: mean over its triplets as a share of the margin (triplet); the bit's
                          weighted error (binary); the largest correlation (ORB) */
    double active;     /* triplet: share of triplets that still had a loss before the bit */
    double mean;       /* share of ones of the new bit among the patches it was chosen on */
    const kb_box_pair *boxes; /* all chosen so far, the first one first; a checkpoint is these and the options. Octaves
                                 of BAG take turns. */
} kb_learn_progress;

/* After every bit; 0 stops the learning. */
typedef int32_t (*kb_learn_report)(void *context, const kb_learn_progress *progress);

/* Makes n changed patches (32x32 bytes each) out of n patches of a sample; the seed is another one for every sample. */
typedef void (*kb_learn_augment)(void *context, const uint8_t *patches, size_t n, uint64_t seed,
                                 const kb_parallel *parallel, uint8_t *out);

typedef struct kb_learn_options {
    uint32_t struct_size;
    kb_kind kind;             /* 0: KB_KIND_BAD; or KB_KIND_BAG */
    int32_t bits;             /* a multiple of 8, of BAG of 32, up to KB_MAX_BITS; 0: 256 */
    kb_learn_loss loss;
    uint64_t seed;
    int32_t triplets;         /* per bit; 0: 8192; 64 to 262144, brought up to whole batches. More: steadier, slower. */
    int32_t batch;            /* points among which hard negatives are found; 0: 1024; 16 to 8192 */
    int32_t candidates;       /* features drawn per bit; 0: 1000; 1 to 1000000 */
    double margin;            /* share of bits; 0: 0.2; up to 2. 0.1 to 0.3 are alike. */
    uint32_t channels;        /* bit c: channel c may be used; 0: gray for BAD, all eight gradients for BAG */
    int32_t min_radius;       /* 0: 1; up to max_radius */
    int32_t max_radius;       /* 0: KB_MAX_RADIUS, on cells KB_MAX_CELL_RADIUS. Equal to min_radius: the size is not
                                 learned. */
    int32_t fixed_threshold;  /* 1: all thresholds are 0 */
    int32_t two_radii;        /* 1: the boxes of a pair may differ in size */
    int32_t local_search;     /* steps of improving the best candidates by small moves; 0: none; up to 100 */
    int32_t keep;             /* bits for which a batch of patches stays; 0: 4; 1 draws anew for every bit: slower */
    int32_t screen;           /* triplets by which all candidates are judged first; the best 64 of them then are by all
                                 triplets. 0: all candidates are. An eighth of the triplets is as good. */
    kb_learn_augment augment; /* NULL: patches as they are. Not for BAG. */
    void *augment_context;
    const kb_box_pair *start; /* bits chosen before, to go on from: `started` of them, in the order of choice, which of
                                 BAG differs from a model's: kb_learn_progress.boxes. NULL: from the first */
    int32_t started;
    kb_learn_report report;   /* NULL: none */
    void *report_context;
    const kb_parallel *parallel;
    kb_sampler sampler;       /* of the model that is made of the boxes: with KB_SAMPLER_CELLS, for BAD, they are on
                                 cells. KB_SAMPLER_IMAGE is learned as PATCH. For BAG 0 is KB_SAMPLER_OCTAVES. */
} kb_learn_options;

/* Puts the defaults where zeros are. kb_learn_boxes does so by itself; this is for showing and recording them. */
KB_API void kb_learn_defaults(kb_learn_options *options);
/* Puts the paper's recipe for BAD where zeros are (docs/paper.md): 1000 candidates, triplets drawn anew for every
 * bit, and its augmentation where there is none. The rest is what zeros mean: 32x32 samples, one size per pair,
 * thresholds at a precision of 0.1, no local search. Not for BAG. */
KB_API void kb_learn_paper(kb_learn_options *options);

typedef struct kb_learn_summary {
    uint32_t struct_size;
    size_t points;     /* learned from */
    size_t patches;
    size_t singletons; /* patches left out, since no other shows their point */
    int32_t bits;      /* chosen; fewer than wanted only when the report stopped the learning */
    int32_t batch;     /* as used: no larger than the number of points */
    int32_t triplets;
    double loss;       /* of the last bit */
} kb_learn_summary;

/* Chooses boxes one bit after the other. boxes has room for options->bits; they come in the order of the model, or,
 * when summary->bits are fewer, in the order of choice. Memory: about 4.4 KB x triplets for BAD on samples, 1.2 KB x
 * triplets on cells, 1.3 KB x channels x triplets for BAG.
 * The same patches, options and seed give the same boxes on every machine and any number of threads. KB_E_ARGUMENT for
 * an option out of its range, for descending labels and for less than two points with two patches; KB_E_TABLE for a bit
 * of `start` that no model could hold; error (may be NULL) says which. summary may be NULL, else it is set with KB_INIT
 * first. */
KB_API kb_status kb_learn_boxes(const kb_learn_patches *patches, const kb_learn_options *options, kb_box_pair *boxes,
                                kb_learn_summary *summary, kb_error *error);

/* -------------------------------------------------------------------------------------------------------- HashSIFT */

typedef struct kb_learn_hash_progress {
    uint32_t struct_size;
    int64_t step, steps;    /* done, wanted */
    double loss;            /* mean of the batches since the last report: loss of a pair over bits */
    double active;          /* share of pairs with a loss, of the same */
    const void *checkpoint; /* the state of the training, to resume from (kb_learn_hash_options.checkpoint); lives
                               until the callback returns */
    size_t checkpoint_size;
} kb_learn_hash_progress;

/* About a hundred times; 0 stops the learning. */
typedef int32_t (*kb_learn_hash_report)(void *context, const kb_learn_hash_progress *progress);

/* As `versions`: every patch of every batch is augmented anew, as in the paper; slower. */
#define KB_LEARN_ANEW -1

typedef struct kb_learn_hash_options {
    uint32_t struct_size;
    int32_t bits;             /* a multiple of 8, 8 to KB_MAX_BITS; 0: 256 */
    int32_t root;             /* 1: RootSIFT instead of SIFT, which is better */
    kb_learn_loss loss;       /* triplet, or binary: classification of pairs, for comparison */
    uint64_t seed;
    int64_t steps;            /* batches of Adam; 0: 30000; up to 10^8. 3000 give most of it. */
    int32_t batch;            /* pairs per batch, among which hard negatives are found; 0: 512; 8 to 8192 */
    double margin;            /* share of bits; 0: 0.3; up to 2. 0.2 to 0.5 are alike. */
    double rate;              /* learning rate at the start; it falls to zero by a cosine. 0: 0.01; up to 1 */
    int32_t constant_rate;    /* 1: the rate stays as it is */
    int32_t raw;              /* 1: inputs are the SIFT bytes themselves, as in the paper. 0: less their mean, and
                                 scaled to a deviation of 0.8, which learns faster */
    int32_t versions;         /* of every patch when augmenting, the first as it is; 0: 4; up to 64; KB_LEARN_ANEW */
    kb_learn_augment augment; /* NULL: patches as they are */
    void *augment_context;
    const void *checkpoint;   /* resume from this state; NULL: from the start */
    size_t checkpoint_size;
    kb_learn_hash_report report; /* NULL: none */
    void *report_context;
    const kb_parallel *parallel;
} kb_learn_hash_options;

/* Puts the defaults where zeros are; for showing and recording them. */
KB_API void kb_learn_hash_defaults(kb_learn_hash_options *options);
/* The paper's recipe (docs/paper.md): inputs as they are, a constant rate of 0.0002 unless there is one, and its
 * augmentation, drawn anew for every batch, where there is none. */
KB_API void kb_learn_hash_paper(kb_learn_hash_options *options);

typedef struct kb_learn_hash_summary {
    uint32_t struct_size;
    size_t points, patches;
    int64_t steps;  /* done; fewer than wanted only when the report stopped the learning */
    int32_t batch;  /* as used: no larger than the number of points */
    double loss;    /* of the last report */
    int32_t openblas; /* 1: OpenBLAS multiplied, 0: plain C */
} kb_learn_hash_summary;

/* Learns the map of HashSIFT: weights (bits x 128) and bias (bits) as kb_model_spec takes them, by Adam on a relaxation
 * of the loss. When the report stops it, the tables are as of the last step. The same patches, options and seed give
 * the same tables on any number of threads, on one machine: matrix products go through OpenBLAS where the machine has
 * it (loaded at the first call, and told to use one thread), whose sums differ in the last digits from one processor to
 * another. KB_E_ARGUMENT for an option out of its range, descending labels or less than 8 points with two patches;
 * KB_E_FORMAT, KB_E_TRUNCATED and KB_E_CHECKSUM for a checkpoint that is none, is cut off, or is damaged or was made
 * with other patches or options. summary may be NULL, else it is set with KB_INIT first. */
KB_API kb_status kb_learn_hashsift(const kb_learn_patches *patches, const kb_learn_hash_options *options,
                                   int8_t *weights, int32_t *bias, kb_learn_hash_summary *summary, kb_error *error);

#ifdef __cplusplus
}
#endif
#endif
