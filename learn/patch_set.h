/* SPDX-License-Identifier: Apache-2.0 */
/* Patch sets in memory: gray patches with the label of the scene point they show. pipeline/patch_load.h reads
 * files into them. */
#ifndef KBI_PATCH_SET_H
#define KBI_PATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image.h"
#include "image/patch_bytes.h"

/* Patches of one side (32 or 64; KB_OCTAVE_SIDE: the octaves of kb_sample), in memory. Patches with the same
 * label show the same point; they stand next to each other, labels ascending from 0 without gaps, so that point p
 * has the patches [first[p], first[p + 1]). */
typedef struct kbi_patch_set {
    int32_t side;
    float support;    /* the support that the patches were cut with (kb_model_spec); 0: not known */
    size_t patches, points;
    uint8_t *pixels;  /* patches x kbi_patch_bytes(side) */
    uint32_t *label;  /* of every patch */
    uint32_t *view;   /* which source view it was cut from; two patches of a point may share one */
    size_t *first;    /* points + 1 */
    size_t singletons;    /* patches in the files that were left out, since no other patch shows their point */
} kbi_patch_set;

/* Room for patches and points; side and support are set by the caller before. KB_E_MEMORY leaves an empty set. */
kb_status kbi_patch_set_create(kbi_patch_set *set, size_t patches, size_t points);
/* Takes NULL and what was freed already. */
void kbi_patch_set_free(kbi_patch_set *set);
/* Every patch to 32x32 by area averaging, as describing does; nothing to do when side is 32 already, or of octaves. */
void kbi_patch_set_shrink(kbi_patch_set *set);
/* Two sets out of one, by whole points: a point is held back with probability `fraction` (0 to 1), which the seed and
 * the label decide. KB_E_ARGUMENT when either has less than two points. `set` stays as it is. */
kb_status kbi_patch_set_split(const kbi_patch_set *set, double fraction, uint64_t seed, kbi_patch_set *rest,
                              kbi_patch_set *held, kb_error *error);

#endif
