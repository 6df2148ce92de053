/* Patch sets: gray patches with the label of the scene point they show, on disk (.kbp, docs/learning.md) and in memory.
 *
 * A set on disk may be larger than memory: it is written patch by patch and read in pieces. Learning works on a set in
 * memory, a sample of the file if need be. */
#ifndef KB_PATCH_SET_H
#define KB_PATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Patches of one side (32 or 64), in memory. Patches with the same label show the same point; they stand next to each
 * other, labels ascending from 0 without gaps, so that point p has the patches [first[p], first[p + 1]). */
typedef struct kb_patch_set {
    int32_t side;
    size_t patches, points;
    uint8_t *pixels;  /* patches x side x side */
    uint32_t *label;  /* of every patch */
    uint32_t *view;   /* which source view it was cut from; two patches of a point may share one */
    size_t *first;    /* points + 1 */
} kb_patch_set;

#endif
