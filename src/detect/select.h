/* SPDX-License-Identifier: Apache-2.0 */
/* What the selection rules share. */
#ifndef KBI_DETECT_SELECT_H
#define KBI_DETECT_SELECT_H

#include "detect/detect.h"

/* Memory of one call; entries (kbi_keypoint_entry) are in total order, strongest first. */
typedef struct kbi_selection {
    const kb_keypoint *keypoints;
    uint64_t *entries, *spare; /* total each */
    size_t total;
    size_t finite;             /* entries that are in the order; those with a number that is not finite follow */
    int32_t width, height;
    void *extra;               /* the bytes that the rule asked for */
} kbi_selection;

static inline const kb_keypoint *kbi_selection_keypoint(const kbi_selection *s, size_t entry)
{
    return &s->keypoints[(uint32_t)s->entries[entry]];
}

typedef struct kbi_select_rule {
    const char *name;
    /* How large `extra` must be; NULL: the rule needs none. */
    size_t (*bytes)(const kbi_selection *s, size_t n);
    /* Moves the entries of the n keypoints it picks to the front, in order; n is below s->finite. It may use `spare`
     * and `extra`. NULL: they are the first n. */
    void (*pick)(kbi_selection *s, size_t n);
} kbi_select_rule;

/* By their numbers (select_rules.c); ends with a row without a name. */
#define KBI_MAX_SELECT_RULES 16
extern const kbi_select_rule kbi_select_rules[KBI_MAX_SELECT_RULES];

size_t kbi_select_grid_bytes(const kbi_selection *s, size_t n);
void kbi_select_grid(kbi_selection *s, size_t n);
size_t kbi_select_quadtree_bytes(const kbi_selection *s, size_t n);
void kbi_select_quadtree(kbi_selection *s, size_t n);

#endif
