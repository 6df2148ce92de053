/* SPDX-License-Identifier: Apache-2.0 */
/* What the sections of hash_everything share: the hash, and the images and keypoints that they work on. A section feeds
 * its results to the hash; to take in another function, write one and add it to the table in hash_everything.c. */
#ifndef KB_TEST_HASH_H
#define KB_TEST_HASH_H

#include <stdio.h>
#include <stdlib.h>

#include "common/common.h"
#include "keybits/index.h"
#include "../arrays.h"

typedef struct hash {
    uint64_t value;
} hash;

static inline void add_bytes(hash *h, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) h->value = (h->value ^ p[i]) * 0x100000001b3u;
}

/* Numbers are added with the lowest byte first, so that the byte order of the machine plays no part. */
static inline void add_u64(hash *h, uint64_t v)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(v >> (8 * i));
    add_bytes(h, bytes, sizeof bytes);
}

static inline void add_double(hash *h, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    add_u64(h, bits);
}

static inline void add_floats(hash *h, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        add_u64(h, bits);
    }
}

static inline void add_keypoints(hash *h, const kb_keypoint *keypoints, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add_floats(h, &keypoints[i].x, 1);
        add_floats(h, &keypoints[i].y, 1);
        add_floats(h, &keypoints[i].size, 1);
        add_floats(h, &keypoints[i].angle, 1);
        add_floats(h, &keypoints[i].response, 1);
        add_u64(h, (uint32_t)keypoints[i].octave);
    }
}

/* A failure must not look like agreement. */
static inline void must(kb_status status, const char *what)
{
    if (status == KB_OK) return;
    fprintf(stderr, "%s: %s\n", what, kb_status_string(status));
    exit(1);
}

enum { WIDTH = 301, HEIGHT = 203, STRIDE = 320, KEYPOINTS = 400, BITS = 128 };

typedef struct scene {
    uint8_t gray[HEIGHT * STRIDE];
    uint16_t deep[HEIGHT * STRIDE]; /* the same as 12 bits, with noise in the lower ones */
    kb_image image, deep_image;
    kb_keypoint keypoints[KEYPOINTS];
    uint8_t rows[KEYPOINTS * KB_SIFT_VALUES], flags[KEYPOINTS];
    float floats[KEYPOINTS * KB_SIFT_VALUES];
    kb_parallel *pool;
} scene;

/* hash_pairs.c */
void section_match(hash *h, scene *s);
void section_fit(hash *h, scene *s);
void section_neighbours(hash *h, scene *s);
void section_geometries(hash *h, scene *s);
void section_filter(hash *h, scene *s);
void section_guided(hash *h, scene *s);
void section_refine(hash *h, scene *s);
void section_track(hash *h, scene *s);
void section_pair(hash *h, scene *s);
/* hash_index.c */
void section_index(hash *h, scene *s);
void section_places(hash *h, scene *s);

#endif
