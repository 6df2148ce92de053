/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures for the examples: read from a PGM file, or rendered when none is given. Nothing of this is part of
 * keybits. */
#ifndef EXAMPLE_PICTURE_H
#define EXAMPLE_PICTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "keybits/keybits.h"

typedef struct picture {
    int width, height;
    uint8_t *pixels; /* give back with free */
} picture;

/* What the library wants to see: a view, which copies nothing. */
static inline kb_image picture_view(const picture *p)
{
    kb_image view = {p->pixels, p->width, p->height, p->width, KB_FORMAT_GRAY8, 0};
    return view;
}

/* A binary PGM (P5) of 8 bits without comments; stops the program when it is not one. */
static inline picture picture_read(const char *path)
{
    picture p = {0, 0, NULL};
    int white = 0;
    FILE *file = fopen(path, "rb");
    if (file && fscanf(file, "P5 %d %d %d", &p.width, &p.height, &white) == 3 && fgetc(file) != EOF && p.width > 0 &&
        p.height > 0 && p.width < 65536 && p.height < 65536 && white == 255) {
        size_t size = (size_t)p.width * (size_t)p.height;
        p.pixels = malloc(size);
        if (p.pixels && fread(p.pixels, 1, size, file) == size) {
            fclose(file);
            return p;
        }
    }
    fprintf(stderr, "%s: not a binary PGM of 8 bits\n", path);
    exit(1);
}

/* Rectangles of random gray, one over the other; the same seed gives the same picture. */
static inline picture picture_render(int width, int height, unsigned seed)
{
    picture p = {width, height, calloc((size_t)width * (size_t)height, 1)};
    if (!p.pixels) exit(1);
    for (int k = 0; k < width * height / 100; k++) {
        unsigned r[5];
        for (int i = 0; i < 5; i++) r[i] = (seed = seed * 1664525u + 1013904223u) >> 8;
        int x0 = (int)(r[0] % (unsigned)width), y0 = (int)(r[1] % (unsigned)height);
        int x1 = x0 + 3 + (int)(r[2] % 30), y1 = y0 + 3 + (int)(r[3] % 30);
        for (int y = y0; y < y1 && y < height; y++)
            for (int x = x0; x < x1 && x < width; x++) p.pixels[y * width + x] = (uint8_t)r[4];
    }
    return p;
}

/* What a camera would see: pixel (x, y) of the new picture shows the place `map` (x, y) of the old one. */
static inline picture picture_warp(const picture *from, int width, int height, const double map[9])
{
    picture p = {width, height, calloc((size_t)width * (size_t)height, 1)};
    if (!p.pixels) exit(1);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            double u, v;
            kb_homography_apply(map, x, y, &u, &v);
            if (!(u >= 0 && v >= 0 && u < from->width - 1 && v < from->height - 1)) continue;
            const uint8_t *q = from->pixels + (int)v * from->width + (int)u;
            double fu = u - (int)u, fv = v - (int)v;
            double top = q[0] * (1 - fu) + q[1] * fu, bottom = q[from->width] * (1 - fu) + q[from->width + 1] * fu;
            p.pixels[y * width + x] = (uint8_t)(top * (1 - fv) + bottom * fv + 0.5);
        }
    }
    return p;
}

/* Examples stop at the first thing that goes wrong. */
static inline void check(kb_status status, const char *what)
{
    if (status == KB_OK) return;
    fprintf(stderr, "%s: %s\n", what, kb_status_string(status));
    exit(1);
}

#endif
