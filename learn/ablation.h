/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's ablation study (section IV-A, Tables I and II): each row switches one more part of the learning on. */
#ifndef KBI_ABLATION_H
#define KBI_ABLATION_H

#include "keybits/advanced.h"
#include "learn/patch_set.h"
#include "learn/validate.h"

#define KBI_ABLATION_BAD 6
#define KBI_ABLATION_ROWS 9 /* the last are HashSIFT's */

typedef struct kbi_ablation_options {
    int32_t bits;     /* 0: 256 */
    int32_t triplets; /* BAD, as in kb_learn_options */
    int32_t candidates;
    int64_t steps; /* HashSIFT, as in kb_learn_hash_options */
    int32_t rows;  /* 0: all; KBI_ABLATION_BAD: without HashSIFT */
    bool paper;    /* kb_learn_paper and kb_learn_hash_paper instead of our defaults */
    uint64_t seed;
    const kb_parallel *parallel;
    /* After every row; false stops. */
    bool (*report)(void *context, int32_t row);
    void *context;
} kbi_ablation_options;

typedef struct kbi_ablation_row {
    const char *name;
    double paper;         /* mAP of HPatches' matching task in the paper, per cent */
    kb_model *model;      /* the caller's to free */
    kbi_validation result; /* on the patches held back */
} kbi_ablation_row;

/* Learns every row from `set` and measures it on `held`. On failure all rows are empty. */
kb_status kbi_ablation_run(const kbi_patch_set *set, const kbi_patch_set *held, const kbi_ablation_options *options,
                           kbi_ablation_row rows[KBI_ABLATION_ROWS], kb_error *error);
void kbi_ablation_free(kbi_ablation_row rows[KBI_ABLATION_ROWS]);

#endif
