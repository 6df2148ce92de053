/* SPDX-License-Identifier: Apache-2.0 */
/* HPatches, the patch release: verification, matching and retrieval as the benchmark's Python computes them.
 *
 * A sequence has a reference image and five others; ref.png holds its patches of 65x65 pixels one above the other, and
 * e1..5, h1..5, t1..5 the same patches found again with little, more and much geometric noise.
 *
 * All average precisions rank one answer at a time by distance (trapezoids from precision 1 at recall 0), and ties keep
 * the order in which answers are listed:
 *   verification  is a pair of patches the same point? Positives against negatives of the same sequence ("intra") or of
 *                 any ("inter"), negatives listed first. Balanced: ROC area. Imbalanced: AP of all negatives and the
 * first fifth of the positives; the mean over noise and kind of negatives is the headline. matching      the nearest
 * patch of another image for every patch of ref; right when it is the same patch. Recall over all patches. retrieval a
 * patch of ref, its five copies listed first, then distractors of other sequences; pools of 100 to 20000. The headline
 * is the largest pool. Every number is from 0 to 1, as the benchmark prints it. */
#ifndef EVAL_HPATCHES_H
#define EVAL_HPATCHES_H

#include "eval/hpatches_tasks.h"
#include "eval/method.h"

#define EV_HPATCHES_NOISES 3
#define EV_HPATCHES_POOLS 7
extern const char *const ev_hpatches_noises[EV_HPATCHES_NOISES]; /* "easy", "hard", "tough" */
extern const int32_t ev_hpatches_pools[EV_HPATCHES_POOLS];

typedef enum ev_hpatches_task { EV_VERIFICATION = 1, EV_MATCHING = 2, EV_RETRIEVAL = 4 } ev_hpatches_task;

typedef struct ev_hpatches_options {
    const char *split;
    const char *tasks;      /* folder of the benchmark's task files; NULL: drawn again */
    unsigned wanted;        /* ev_hpatches_task, or'ed */
    size_t pairs;           /* drawn for verification; 0: EV_VERIFICATION_PAIRS */
    const char *cache;      /* keeps descriptors; NULL: nothing is kept */
    const char *export_csv; /* also write descriptors as FOLDER/METHOD/SEQUENCE/TYPE.csv; NULL: no */
    const kb_parallel *parallel;
    bool quiet;
} ev_hpatches_options;

typedef struct ev_hpatches_result {
    double verification, matching, retrieval; /* the headlines; NaN when not wanted */
    double verification_ap[EV_HPATCHES_NOISES][2], verification_auc[EV_HPATCHES_NOISES][2]; /* inter, intra */
    double matching_map[EV_HPATCHES_NOISES];
    double retrieval_map[EV_HPATCHES_NOISES][EV_HPATCHES_POOLS];
} ev_hpatches_result;

/* What was found and drawn, for the words around the numbers. */
typedef struct ev_hpatches_facts {
    size_t sequences, missing; /* of the split */
    size_t patches;
    size_t skipped;            /* rows of task files that name patches which are not there */
    bool verification_drawn, retrieval_drawn;
} ev_hpatches_facts;

/* results has room for one per method. */
bool ev_hpatches_run(const char *folder, ev_method *methods, size_t method_count, const ev_hpatches_options *options,
                     ev_hpatches_facts *facts, ev_hpatches_result *results, io_error *error);

/* All patches, N x 65 x 65 bytes: sequences in order of their names, types in the order ref, e1..5, h1..5, t1..5. */
bool ev_hpatches_export_patches(const char *folder, const ev_hpatches_options *options, const char *path,
                                io_error *error);

#endif
