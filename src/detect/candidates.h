/* A list of the strongest distinct keypoints of any number that are added, in memory that does not depend on it: when
 * the list is full, the weakest and the doubles leave. What is kept does not depend on the order of adding. */
#ifndef KBI_DETECT_CANDIDATES_H
#define KBI_DETECT_CANDIDATES_H

#include "detect/detect.h"

/* Where a keypoint was found. */
typedef struct kbi_candidate_point {
    int32_t x, y; /* px of its octave */
    float sigma;
    uint8_t octave, layer;
} kbi_candidate_point;

typedef struct kbi_candidates {
    size_t keep, room, count;
    kb_keypoint *keypoints;
    kbi_candidate_point *points; /* one for each keypoint */
    uint64_t *entries, *spare;   /* for sorting */
} kbi_candidates;

/* Memory for a list that keeps the `keep` strongest; false when it is out. */
bool kbi_candidates_get(kbi_candidates *c, size_t keep, kb_workspace *workspace);
/* Makes room when there is none: adding needs no memory and cannot fail. */
void kbi_candidates_add(kbi_candidates *c, const kb_keypoint *keypoint, const kbi_candidate_point *point);
/* Drops doubles, and what is beyond the `keep` strongest; the rest keeps its order. */
void kbi_candidates_prune(kbi_candidates *c);

#endif
