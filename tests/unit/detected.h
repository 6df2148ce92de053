/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of detection share: options, calls that must succeed, comparing keypoints and angles. */
#ifndef KB_TEST_DETECTED_H
#define KB_TEST_DETECTED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "render.h"
#include "../arrays.h"

#define MANY 5000

typedef struct found {
    kb_keypoint k[MANY];
    size_t n;
} found;

static inline kb_detect_options options_for(kb_detector detector)
{
    kb_detect_options o;
    KB_INIT(o);
    o.detector = detector;
    o.max_keypoints = MANY;
    return o;
}

static inline found *detect_view(const kb_image *image, const kb_detect_options *options)
{
    found *f = calloc(1, sizeof *f);
    assert_int_equal(detect_keypoints(image, options, NULL, f->k, MANY, &f->n, NULL), KB_OK);
    return f;
}

static inline found *detect_pixels(const uint8_t *pixels, int32_t width, int32_t height, kb_detector detector)
{
    kb_image image = view_of(pixels, width, height);
    kb_detect_options o = options_for(detector);
    return detect_view(&image, &o);
}

static inline void assert_same(const found *a, const found *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->k, b->k, a->n * sizeof *a->k);
}

/* The keypoint of some size nearest to a place; NULL when none is within `reach`. */
static inline const kb_keypoint *nearest_to(const found *f, double x, double y, double smallest, double largest, double reach)
{
    const kb_keypoint *best = NULL;
    for (size_t i = 0; i < f->n; i++) {
        double d = hypot(f->k[i].x - x, f->k[i].y - y);
        if (f->k[i].size < smallest || f->k[i].size > largest || d > reach) continue;
        reach = d;
        best = &f->k[i];
    }
    return best;
}

static inline double angle_between(double a, double b)
{
    double d = fmod(fabs(a - b), 360);
    return d > 180 ? 360 - d : d;
}

/* How much of the way from 0 to 1 an edge at 0 has gone: soft over three pixels, as a camera sees it. */
static inline double soft_edge(double distance) { return distance < -1.5 ? 0 : distance > 1.5 ? 1 : 0.5 + distance / 3; }

/* A bright rectangle from (x0, y0) to (x1, y1). */
static inline uint8_t *render_rectangle(int32_t width, int32_t height, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    uint8_t *p = malloc((size_t)width * (size_t)height);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            p[y * width + x] = (uint8_t)(60 + 140 * soft_edge(x - x0) * soft_edge(x1 - x) * soft_edge(y - y0) *
                                                  soft_edge(y1 - y));
    return p;
}

#endif
