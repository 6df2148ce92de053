/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in files: little endian on every machine, at any address. */
#ifndef KBI_BYTES_H
#define KBI_BYTES_H

#include <string.h>

#include "keybits/keybits.h"

static inline uint32_t kbi_get_u32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}
static inline uint64_t kbi_get_u64(const uint8_t *from)
{
    return (uint64_t)kbi_get_u32(from) | (uint64_t)kbi_get_u32(from + 4) << 32;
}
static inline float kbi_get_f32(const uint8_t *from)
{
    uint32_t bits = kbi_get_u32(from);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline double kbi_get_f64(const uint8_t *from)
{
    uint64_t bits = kbi_get_u64(from);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline void kbi_put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (8 * i));
}
static inline void kbi_put_u64(uint8_t *to, uint64_t v)
{
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(v >> (8 * i));
}
static inline void kbi_put_f32(uint8_t *to, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    kbi_put_u32(to, bits);
}
static inline void kbi_put_f64(uint8_t *to, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    kbi_put_u64(to, bits);
}

/* FNV-1a with 64 bits: ids of models, stamps of files, names of cached results. */
#define KBI_SUM_START 0xcbf29ce484222325u
#define KBI_SUM_PRIME 0x100000001b3u
static inline uint64_t kbi_sum_bytes(uint64_t sum, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    /* all bytes of numbers are set: NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    for (size_t i = 0; i < size; i++) sum = (sum ^ bytes[i]) * KBI_SUM_PRIME;
    return sum;
}
/* The same over words instead of bytes, so that gigabytes are checked in a second; size is a multiple of 8. */
static inline uint64_t kbi_sum_words(uint64_t sum, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i += 8) sum = (sum ^ kbi_get_u64(data + i)) * KBI_SUM_PRIME;
    return sum;
}

/* ---- what all files of the library begin with: 8 bytes of magic, and the version ---- */
typedef struct kbi_file_kind {
    const char *name; /* for sentences */
    uint8_t magic[8];
    uint32_t version;
    size_t header; /* bytes */
} kbi_file_kind;
kb_status kbi_head_check(const kbi_file_kind *kind, const uint8_t *data, size_t size, kb_error *error);
/* Whether the file has as many bytes as its header says, or more. */
kb_status kbi_size_check(const kbi_file_kind *kind, size_t size, uint64_t says, kb_error *error);

#endif
