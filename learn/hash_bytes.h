/* SPDX-License-Identifier: Apache-2.0 */
/* A number for bytes, to tell patches and settings of one training from those of another. */
#ifndef KBI_HASH_BYTES_H
#define KBI_HASH_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KBI_HASH_START 0xcbf29ce484222325u

/* FNV-1a over words of 8 bytes, the last filled up with zeros: quick enough for gigabytes. */
static inline uint64_t kbi_hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash;
}

#endif
