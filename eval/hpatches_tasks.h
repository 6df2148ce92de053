/* SPDX-License-Identifier: Apache-2.0 */
/* The task files of HPatches: which patches are compared in verification and retrieval. Files of the benchmark are read
 * where they are; missing ones are drawn again as the benchmark drew them, from NumPy's legacy generator with seed 42,
 * the order of the split, and the numbers of patches. */
#ifndef EVAL_HPATCHES_TASKS_H
#define EVAL_HPATCHES_TASKS_H

#include "io/file.h"

typedef struct ev_patch_name {
    uint32_t index;
    uint16_t sequence; /* in the split */
    uint16_t image;    /* 0: ref; k: e_k, h_k or t_k */
} ev_patch_name;

typedef struct ev_patch_pair {
    ev_patch_name a, b;
} ev_patch_pair;

typedef struct ev_patch_pairs {
    ev_patch_pair *items;
    size_t count;
} ev_patch_pairs;

typedef struct ev_patch_names {
    ev_patch_name *items;
    size_t count;
} ev_patch_names;

/* What is known about a sequence of the split. */
typedef struct ev_sequence_facts {
    const char *name;
    uint32_t patches;
    const uint8_t *textured; /* of each ref patch: is the standard deviation of its pixels above 10? */
} ev_sequence_facts;

typedef struct ev_split_facts {
    const char *name; /* of the split */
    const ev_sequence_facts *sequences; /* those that are there, in the order of the split */
    size_t count;
} ev_split_facts;

typedef struct ev_verification_task {
    ev_patch_pairs positive, intra, inter;
    size_t skipped; /* rows of files that name patches which are not there */
    bool drawn;     /* not read from files */
} ev_verification_task;

typedef struct ev_retrieval_task {
    ev_patch_names queries, distractors;
    size_t skipped;
    bool drawn;
} ev_retrieval_task;

/* tasks: the folder of the files, or NULL. A task whose files are not all there is drawn, with `size` pairs of each
 * kind (the benchmark has EV_VERIFICATION_PAIRS). */
#define EV_VERIFICATION_PAIRS 1000000
bool ev_verification_task_open(const char *tasks, const ev_split_facts *split, size_t size, ev_verification_task *out,
                               io_error *error);
void ev_verification_task_free(ev_verification_task *task);

/* Up to 10000 queries and 20000 distractors, all of ref images, all textured, no patch twice. */
bool ev_retrieval_task_open(const char *tasks, const ev_split_facts *split, ev_retrieval_task *out, io_error *error);
void ev_retrieval_task_free(ev_retrieval_task *task);

#endif
