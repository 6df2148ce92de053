/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a target as a source of numbers; zeros when it is used up. */
#ifndef TESTS_FUZZ_SOURCE_H
#define TESTS_FUZZ_SOURCE_H

#include <stdint.h>
#include <string.h>

typedef struct source {
    const uint8_t *data;
    size_t size, at;
} source;

static inline void take(source *s, void *to, size_t bytes)
{
    size_t left = s->size - s->at, count = left < bytes ? left : bytes;
    if (bytes == 0) return;
    memset(to, 0, bytes);
    if (count > 0) memcpy(to, s->data + s->at, count);
    s->at += count;
}

static inline uint8_t take_byte(source *s)
{
    uint8_t byte;
    take(s, &byte, 1);
    return byte;
}

/* A byte as a number from least to most. */
static inline double take_between(source *s, double least, double most)
{
    return least + (most - least) * take_byte(s) / 255;
}

#endif
