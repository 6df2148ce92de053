/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, 64 bits: names of cached results. */
#ifndef EVAL_HASH_H
#define EVAL_HASH_H

#include <string.h>

#include "io/file.h"

#define EV_HASH_START 0xcbf29ce484222325u

static inline uint64_t ev_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static inline uint64_t ev_hash_string(uint64_t hash, const char *text) { return ev_hash(hash, text, strlen(text) + 1); }

/* The bytes of a file. */
static inline bool ev_hash_file(uint64_t *hash, const char *path, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    *hash = ev_hash(*hash, bytes.data, bytes.size);
    io_bytes_free(&bytes);
    return true;
}

#endif
