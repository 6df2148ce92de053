/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest rows among the keypoints of a region: what guided and stereo matching share. */
#ifndef KBI_MATCH_REGION_SEARCH_H
#define KBI_MATCH_REGION_SEARCH_H

#include "match/point_grid.h"
#include "match/kernels.h"

typedef enum kbi_shape { KBI_BOX, KBI_CIRCLE, KBI_STRIP } kbi_shape;

/* Points on either side of a line: |nx x + ny y + c| <= radius, (nx, ny) of unit length. */
typedef struct kbi_strip {
    float nx, ny, c, radius;
    int32_t min_level, max_level;
} kbi_strip;

/* Candidates are the keypoints in a circle or a strip, with a level in its range, or those in a box with a size in a
 * range. The box is always the one to be searched. */
typedef struct kbi_region {
    kbi_shape shape;
    float x0, x1, y0, y1;
    kbi_circle circle;
    kbi_strip strip;
    float min_size, max_size;
} kbi_region;

typedef struct kbi_nearest {
    int32_t index, second_index; /* of keypoints; -1: none */
    uint32_t distance, second;
} kbi_nearest;

typedef struct kbi_candidate_search {
    const uint8_t *a, *b; /* packed rows */
    size_t na, nb, row_bytes;
    const kb_keypoint *keypoints; /* of b */
    float max_ratio, max_distance; /* as in kb_match_options; 0: off */
    bool ratio_per_level;          /* no ratio test between keypoints of different octaves */
    const kb_parallel *parallel;
    /* The region of query q; false: it has none. */
    bool (*region)(const void *context, size_t q, kbi_region *region);
    const void *context;
    /* set by kbi_candidates_search */
    kbi_nearest *nearest; /* of every query; index -1: no match */
    const kbi_match_kernels *kernels;
    kbi_point_grid grid;
    float *x, *y, *size;  /* of b in the order of the grid; x is NaN where the row is zero */
    int32_t *level, pieces;
    uint8_t *rows;
} kbi_candidate_search;

/* Finds the nearest keypoint of every query that passes the tests of distance and ratio, one to one: of several queries
 * with the same keypoint the nearest keeps it. Ties go to the lower index. False when memory is out. */
bool kbi_candidates_search(kbi_candidate_search *search, kb_workspace *workspace);
/* Takes the memory of a search (kbi_workspace_measure). */
bool kbi_candidates_measure(size_t na, size_t nb, size_t row_bytes, kb_workspace *ws);

#endif
