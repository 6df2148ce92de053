/* SPDX-License-Identifier: Apache-2.0 */
/* How good descriptors are on patches that learning has not seen: a quick feeling of accuracy, for early looks, for
 * choosing between settings, and for the log. Packed rows and Hamming distance. */
#ifndef KBI_VALIDATE_H
#define KBI_VALIDATE_H

#include "keybits/advanced.h"
#include "learn/patch_set.h"

/* Matching: of every point that at least two views show, one patch is a query and one of another view stands in the
 * gallery; which, the seed decides. Queries are matched to their nearest in galleries of `gallery` points each. */
typedef struct kbi_validation {
    size_t queries;
    double map;    /* mean over galleries of the area under precision against recall, recall over all queries. 0 to 1 */
    double rate;   /* share of queries whose nearest is right; ties count as right in proportion */
    double fpr95;  /* share of wrong pairs at or below the smallest distance that keeps 95 % of right pairs */
    double bit_mean;        /* mean over bits of |share of ones - 1/2|: 0 is best */
    double bit_correlation; /* mean absolute correlation of two bits */
    uint64_t right[KB_MAX_BITS + 1], wrong[KB_MAX_BITS + 1]; /* pairs of a query and its gallery, by distance */
} kbi_validation;

/* rows: one of row_bytes (1 to 128) for every patch of the set. gallery: 0 means 2000 points. The same on any number of
 * threads. False when memory is out or there are less than two queries. */
bool kbi_validate_rows(const kbi_patch_set *set, const uint8_t *rows, size_t row_bytes, size_t gallery, uint64_t seed,
                      const kb_parallel *parallel, kbi_validation *out);
/* Describes the patches with the model first. Binary models only. */
bool kbi_validate_model(const kbi_patch_set *set, const kb_model *model, size_t gallery, uint64_t seed,
                       const kb_parallel *parallel, kbi_validation *out);
/* The map of kbi_validate_rows alone, for a loop of training; negative when it failed. */
double kbi_validate_map(const kbi_patch_set *set, const uint8_t *rows, size_t row_bytes, size_t gallery, uint64_t seed,
                       const kb_parallel *parallel);

#endif
