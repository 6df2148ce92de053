/* SPDX-License-Identifier: Apache-2.0 */
/* Right checksums in files that a test has changed, so that the readers look further than those. */
#ifndef TEST_SEAL_H
#define TEST_SEAL_H

#include "common/bytes.h"

enum { SEAL_VOCABULARY_SUM = 128 }; /* where it stands (docs/index-format.md) */

/* Over whole words: a file that was cut may end inside one. */
static inline uint64_t seal_sum(uint64_t sum, const uint8_t *data, size_t size)
{
    return kbi_sum_words(sum, data, size & ~(size_t)7);
}

static inline void seal_vocabulary(uint8_t *data, size_t size)
{
    if (size < SEAL_VOCABULARY_SUM + 16) return;
    uint64_t sum = seal_sum(0xcbf29ce484222325u, data, SEAL_VOCABULARY_SUM);
    sum = seal_sum(sum, data + SEAL_VOCABULARY_SUM + 8, size - SEAL_VOCABULARY_SUM - 8);
    kbi_put_u64(data + SEAL_VOCABULARY_SUM, sum);
}

/* A checkpoint of learning HashSIFT: its last 8 bytes, beginning with the identity that stands at 8. */
static inline void seal_checkpoint(uint8_t *data, size_t size)
{
    if (size < 24) return;
    kbi_put_u64(data + size - 8, kbi_sum_bytes(kbi_get_u64(data + 8), data, size - 8));
}

#endif
