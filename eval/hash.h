/* SPDX-License-Identifier: Apache-2.0 */
/* Names of cached results. */
#ifndef EVAL_HASH_H
#define EVAL_HASH_H

#include <string.h>

#include "io/bytes.h"
#include "io/file.h"

static inline uint64_t ev_hash_string(uint64_t hash, const char *text)
{
    return kbi_sum_bytes(hash, text, strlen(text) + 1);
}

/* The bytes of a file. */
static inline bool ev_hash_file(uint64_t *hash, const char *path, io_error *error)
{
    io_bytes bytes;
    if (!io_file_read(path, &bytes, error)) return false;
    *hash = kbi_sum_bytes(*hash, bytes.data, bytes.size);
    io_bytes_free(&bytes);
    return true;
}

#endif
