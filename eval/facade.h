/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered facades: rough walls with rows of windows. All windows of all facades are equal; walls, doors and the spacing
 * of windows differ from facade to facade. So two facades share much that matches, and nothing that is one place. */
#ifndef EVAL_FACADE_H
#define EVAL_FACADE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define FACADE_WIDTH 640
#define FACADE_HEIGHT 480

typedef struct facade {
    uint32_t seed;            /* of the wall */
    double left, top;         /* of the first window */
    double step_x, step_y;    /* from window to window */
    double roughness;         /* of the wall, gray levels */
    double door;              /* where it is */
} facade;

static inline uint32_t facade_mix(uint32_t h)
{
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
}

static inline double facade_uniform(uint32_t *state, double low, double high)
{
    *state += 0x9e3779b9u;
    return low + (high - low) * facade_mix(*state) / 4294967296.0;
}

/* Value noise, -1 to 1, with cells of one unit. */
static inline double facade_noise(uint32_t seed, double x, double y)
{
    double fx = floor(x), fy = floor(y), u = x - fx, v = y - fy, corner[4];
    for (int i = 0; i < 4; i++) {
        uint32_t column = (uint32_t)(int32_t)fx + (uint32_t)(i & 1), row = (uint32_t)(int32_t)fy + (uint32_t)(i >> 1);
        corner[i] = facade_mix(seed ^ facade_mix(column ^ facade_mix(row))) / 2147483648.0 - 1;
    }
    u = u * u * (3 - 2 * u);
    v = v * v * (3 - 2 * v);
    return (corner[0] * (1 - u) + corner[1] * u) * (1 - v) + (corner[2] * (1 - u) + corner[3] * u) * v;
}

static inline double facade_rough(uint32_t seed, double x, double y)
{
    return 0.5 * facade_noise(seed, x / 24, y / 24) + 0.35 * facade_noise(seed + 1, x / 9, y / 9) +
           0.25 * facade_noise(seed + 2, x / 4, y / 4);
}

/* A window of 56 x 76: frame, six panes with curtains, a sill. (x, y) from its corner; negative: not of the window. */
static inline double facade_window(double x, double y)
{
    if (x < 0 || y < 0 || x >= 56 || y >= 76) return -1;
    if (x < 4 || x >= 52 || y < 4) return 235;
    if (y >= 70) return 90;
    double px = fmod(x - 4, 24), py = fmod(y - 4, 22);
    if (px < 2 || py < 2) return 225;
    return 70 + 45 * facade_rough(77, x, y);
}

static inline double facade_door(const facade *f, double x, double y)
{
    x -= f->door;
    y -= 390;
    if (x < 0 || y < 0 || x >= 50 || y >= 110) return -1;
    return 80 + 70 * facade_rough(f->seed + 9, 2 * x, 2 * y);
}

static inline double facade_gray(const facade *f, double x, double y)
{
    double value = facade_door(f, x, y);
    if (value >= 0) return value;
    double dx = x - f->left, dy = y - f->top;
    if (dx >= 0 && dy >= 0 && y < 380)
        value = facade_window(fmod(dx, f->step_x), fmod(dy, f->step_y));
    return value >= 0 ? value : 150 + f->roughness * facade_rough(f->seed, x, y);
}

static inline facade facade_make(uint32_t seed)
{
    uint32_t state = seed * 977u + 5;
    facade f = {.seed = facade_mix(seed + 1000)};
    f.left = facade_uniform(&state, 10, 50);
    f.top = facade_uniform(&state, 10, 40);
    f.step_x = facade_uniform(&state, 76, 130);
    f.step_y = facade_uniform(&state, 96, 150);
    f.roughness = facade_uniform(&state, 10, 60);
    f.door = facade_uniform(&state, 40, 540);
    return f;
}

/* A photograph of the facade from somewhere in front of it, with some noise; malloc'ed. */
static inline uint8_t *facade_render(const facade *f, uint32_t view)
{
    uint32_t state = view * 31u + 7;
    double turn = facade_uniform(&state, -0.06, 0.06), zoom = facade_uniform(&state, 0.9, 1.2);
    double px = facade_uniform(&state, -2e-4, 2e-4), py = facade_uniform(&state, -2e-4, 2e-4);
    double tx = facade_uniform(&state, -30, 30), ty = facade_uniform(&state, -30, 30);
    uint8_t *pixels = malloc((size_t)FACADE_WIDTH * FACADE_HEIGHT);
    for (int32_t y = 0; pixels && y < FACADE_HEIGHT; y++) {
        for (int32_t x = 0; x < FACADE_WIDTH; x++) {
            double sum = 0;
            for (int s = 0; s < 4; s++) {
                double u = x + 0.25 + 0.5 * (s & 1) - FACADE_WIDTH / 2, v = y + 0.25 + 0.5 * (s >> 1) - FACADE_HEIGHT / 2;
                double w = 1 + px * u + py * v;
                sum += facade_gray(f, (u - turn * v) / (zoom * w) + FACADE_WIDTH / 2 + tx,
                                   (v + turn * u) / (zoom * w) + FACADE_HEIGHT / 2 + ty);
            }
            double value = sum / 4 + facade_uniform(&state, -4, 4);
            pixels[y * FACADE_WIDTH + x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
    return pixels;
}

#endif
