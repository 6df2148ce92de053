/* SPDX-License-Identifier: Apache-2.0 */
/* The strongest distinct keypoints of any number that are added, in memory of constant size: when the list is full, the
 * weakest and the doubles leave. The result does not depend on the order of adding. */
#ifndef KBI_DETECT_CANDIDATES_H
#define KBI_DETECT_CANDIDATES_H

#include "detect/sift.h"

/* The directions of a keypoint. */
typedef struct kbi_candidate_angles {
    int32_t count;
    float angle[KBI_SIFT_MAX_ANGLES];
} kbi_candidate_angles;

typedef struct kbi_candidates {
    size_t keep, room, count;
    size_t enough, directions;    /* directions that the kept keypoints need in all (0: any); directions in the list */
    kb_keypoint *keypoints;
    kbi_candidate_angles *angles; /* of each keypoint */
    uint64_t *entries, *spare;    /* for sorting */
    bool full;                    /* the list was pruned: only keypoints stronger than `weakest` need to be added */
    kb_keypoint weakest;
} kbi_candidates;

/* Memory for a list that keeps the `keep` strongest, or fewer once they have `enough` directions (0: no limit). False
 * when memory is out. */
bool kbi_candidates_get(kbi_candidates *c, size_t keep, size_t enough, kb_workspace *workspace);
/* False when a keypoint would not be kept. */
bool kbi_candidates_wants(const kbi_candidates *c, const kb_keypoint *keypoint);
/* Makes room when there is none: adding needs no memory and cannot fail. */
void kbi_candidates_add(kbi_candidates *c, const kb_keypoint *keypoint, const kbi_candidate_angles *angles);
/* Drops doubles and all keypoints beyond the kept ones; the rest keeps its order. */
void kbi_candidates_prune(kbi_candidates *c);

#endif
