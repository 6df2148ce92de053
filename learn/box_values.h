/* SPDX-License-Identifier: Apache-2.0 */
/* The values of box pairs on many patches at once, by exactly the arithmetic that describing uses.
 *
 * Integral images of the patches stand side by side: for every octave, channel and corner (33 x 33 of samples, 17 x
 * 17 of cells, 9 x 9 of an octave) the sums of all patches in a row. The value of a feature on all patches is then
 * eight such rows read from front to back, a loop that compilers turn into vector instructions. */
#ifndef KBI_BOX_VALUES_H
#define KBI_BOX_VALUES_H

#include "common/common.h"

#define KBI_STORE_LANES 32 /* patches that go in together; the store's size is a multiple */

typedef struct kbi_box_store {
    size_t patches;            /* room, a multiple of KBI_STORE_LANES */
    uint32_t channels;         /* bit c: channel c is kept */
    kb_sampler sampler;        /* what patches are, and where boxes lie in them */
    uint16_t *sums[KB_OCTAVES][KB_CHANNELS]; /* corners x patches, modulo 2^16 */
    double *inverse[KB_OCTAVES];             /* 1 / contrast of the octaves of the patches, for channels of gradient */
    struct kbi_fill_scratch *scratch; /* of every piece of work of a fill */
} kbi_box_store;

/* Room for at least n patches. False when memory is out. */
bool kbi_box_store_create(kbi_box_store *store, size_t n, uint32_t channels, kb_sampler sampler);
void kbi_box_store_free(kbi_box_store *store);
/* Puts n patches (1024 bytes each, of KB_SAMPLER_OCTAVES the octaves) at places first to first + n - 1. first is a
 * multiple of KBI_STORE_LANES; up to the next multiple the places after the last are filled with zeros. */
void kbi_box_store_fill(kbi_box_store *store, size_t first, const uint8_t *patches, size_t n,
                       const kb_parallel *parallel);
/* Of an octave of the patches [from, to), at values[0 ...]: the least threshold for which the bit is 1, in the units
 * of describing and within +-KBI_VALUE_LIMIT. On gray it is mean(box 1) - mean(box 2). */
void kbi_box_store_values(const kbi_box_store *store, int32_t octave, const kb_box_pair *pair, size_t from, size_t to,
                         int16_t *values);

#endif
