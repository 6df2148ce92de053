/* SPDX-License-Identifier: Apache-2.0 */
/* Brown's patch sets (Liberty, Notre Dame, Yosemite): is a pair of patches the same point?
 *
 * A set is a folder with patches0000.bmp and so on, each 16 x 16 patches of 64 x 64 pixels, row by row; info.txt, a
 * line for every patch that starts with the number of its 3D point; and a file of pairs, m50_100000_100000_0.txt, whose
 * lines are "patch1 point1 ? patch2 point2 ? ...": the same point or not. The number is the false positive rate at 95 %
 * recall. Whole distances tie, so the rule matters: see kbi_fpr95. */
#ifndef EVAL_BROWN_H
#define EVAL_BROWN_H

#include "eval/method.h"
#include "learn/metrics.h"

typedef struct ev_brown_options {
    const char *pairs; /* name of the file of pairs in every set; NULL: the only file m50_*.txt */
    const char *cache; /* keeps descriptors; NULL: nothing is kept */
    const kb_parallel *parallel;
    bool quiet;
} ev_brown_options;

typedef struct ev_brown_score {
    kbi_fpr95 fpr; /* 0 to 1 */
    double threshold; /* the distance at which 95 % are reached */
} ev_brown_score;

typedef struct ev_brown_set {
    char *name; /* owned */
    size_t positives, negatives;
    ev_brown_score *scores; /* owned; one per method */
} ev_brown_set;

typedef struct ev_brown_result {
    ev_brown_set *sets;
    size_t count;
} ev_brown_result;

/* folder is a set or holds a folder for every set. */
bool ev_brown_run(const char *folder, ev_method *methods, size_t method_count, const ev_brown_options *options,
                  ev_brown_result *result, io_error *error);
void ev_brown_result_free(ev_brown_result *result);

/* The patches that occur in pairs, in order of set and number, as N x 64 x 64 bytes: the order of rows from files. */
bool ev_brown_export_patches(const char *folder, const ev_brown_options *options, const char *path, io_error *error);

#endif
