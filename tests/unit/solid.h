/* SPDX-License-Identifier: Apache-2.0 */
/* Rendered scenes with known cameras: boxes, and slabs as walls and floor, with a texture of all scales and hard edges,
 * as photographs have. Every point of one view can be found in another. */
#ifndef KB_TEST_SOLID_H
#define KB_TEST_SOLID_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "keybits/advanced.h"

typedef struct solid_box {
    double low[3], high[3];
} solid_box;

typedef struct solid_scene {
    const solid_box *boxes;
    int count;
    uint32_t seed; /* of the texture */
} solid_scene;

/* A point P is seen along r P + t. */
typedef struct solid_camera {
    kb_camera k;
    double r[9], t[3];
} solid_camera;

/* A wall 6 units away, and a floor with three boxes in front of the wall. */
static const solid_box solid_wall[] = {{{-20, -20, 6}, {20, 20, 7}}};
static const solid_box solid_room[] = {{{-20, -20, 9}, {20, 20, 10}},
                                       {{-20, 1.6, 0}, {20, 2, 10}},
                                       {{-2.6, -0.4, 5.2}, {-1, 1.6, 6.4}},
                                       {{0.2, 0.3, 4.2}, {1.5, 1.6, 5.6}},
                                       {{1.8, -1.2, 6.6}, {3.4, 1.6, 7.8}}};
static inline solid_scene flat_scene(uint32_t seed) { return (solid_scene){solid_wall, 1, seed}; }
static inline solid_scene room_scene(uint32_t seed) { return (solid_scene){solid_room, 5, seed}; }

/* At `place`, turned by yaw (to the right), pitch (down) and roll, degrees. */
static inline solid_camera solid_camera_at(int32_t width, int32_t height, double focal, const double place[3],
                                           double yaw, double pitch, double roll)
{
    solid_camera c = {.k = {.struct_size = sizeof(kb_camera),
                            .fx = focal,
                            .fy = focal,
                            .cx = 0.5 * (width - 1),
                            .cy = 0.5 * (height - 1)}};
    const double radian = 0.017453292519943295, a = yaw * radian, b = pitch * radian, g = roll * radian;
    const double ry[9] = {cos(a), 0, -sin(a), 0, 1, 0, sin(a), 0, cos(a)};
    const double rx[9] = {1, 0, 0, 0, cos(b), -sin(b), 0, sin(b), cos(b)};
    const double rz[9] = {cos(g), -sin(g), 0, sin(g), cos(g), 0, 0, 0, 1};
    double rxy[9];
    for (int i = 0; i < 9; i++)
        rxy[i] = rx[i / 3 * 3] * ry[i % 3] + rx[i / 3 * 3 + 1] * ry[3 + i % 3] + rx[i / 3 * 3 + 2] * ry[6 + i % 3];
    for (int i = 0; i < 9; i++)
        c.r[i] = rz[i / 3 * 3] * rxy[i % 3] + rz[i / 3 * 3 + 1] * rxy[3 + i % 3] + rz[i / 3 * 3 + 2] * rxy[6 + i % 3];
    for (int i = 0; i < 3; i++)
        c.t[i] = -(c.r[3 * i] * place[0] + c.r[3 * i + 1] * place[1] + c.r[3 * i + 2] * place[2]);
    return c;
}

/* ---- where rays hit ---- */

/* Rendering takes most of the time of the tests that do: it does not wait for libm, nor for sanitizers. */
#ifdef KEYBITS_SANITIZED
#    define SOLID_FAST __attribute__((no_sanitize("address"), no_sanitize("undefined")))
#else
#    define SOLID_FAST
#endif

SOLID_FAST static inline double solid_min(double a, double b) { return a < b ? a : b; }
SOLID_FAST static inline double solid_max(double a, double b) { return a > b ? a : b; }
SOLID_FAST static inline int32_t solid_floor(double x)
{
    int32_t whole = (int32_t)x;
    return whole - (whole > x);
}

typedef struct solid_hit {
    double point[3], distance;
    int face; /* box and axis; -1: nothing */
} solid_hit;

SOLID_FAST static inline solid_hit solid_cast(const solid_scene *scene, const double from[3], const double along[3])
{
    solid_hit hit = {.distance = 1e9, .face = -1};
    for (int i = 0; i < scene->count; i++) {
        double enter = 0, leave = 1e9;
        int axis = -1;
        for (int k = 0; k < 3; k++) {
            double inverse = 1 / (along[k] == 0 ? 1e-12 : along[k]);
            double a = (scene->boxes[i].low[k] - from[k]) * inverse, b = (scene->boxes[i].high[k] - from[k]) * inverse;
            if (solid_min(a, b) > enter) enter = solid_min(a, b), axis = k;
            leave = solid_min(leave, solid_max(a, b));
        }
        if (axis < 0 || enter > leave || enter >= hit.distance) continue;
        hit.distance = enter;
        hit.face = 3 * i + axis;
    }
    for (int k = 0; k < 3; k++) hit.point[k] = from[k] + hit.distance * along[k];
    return hit;
}

/* The ray of a pixel: where it begins, and its direction of depth 1. */
SOLID_FAST static inline void solid_ray(const solid_camera *c, double x, double y, double from[3], double along[3])
{
    const double v[3] = {(x - c->k.cx) / c->k.fx, (y - c->k.cy) / c->k.fy, 1};
    for (int i = 0; i < 3; i++) {
        along[i] = c->r[i] * v[0] + c->r[3 + i] * v[1] + c->r[6 + i] * v[2];
        from[i] = -(c->r[i] * c->t[0] + c->r[3 + i] * c->t[1] + c->r[6 + i] * c->t[2]);
    }
}

/* Where the second camera sees what the first one sees at (x, y); false when something hides it. */
static inline bool solid_transfer(const solid_scene *scene, const solid_camera *a, double x, double y,
                                  const solid_camera *b, double *u, double *v)
{
    double from[3], along[3], q[3];
    solid_ray(a, x, y, from, along);
    solid_hit hit = solid_cast(scene, from, along);
    if (hit.face < 0) return false;
    for (int i = 0; i < 3; i++)
        q[i] = b->r[3 * i] * hit.point[0] + b->r[3 * i + 1] * hit.point[1] + b->r[3 * i + 2] * hit.point[2] + b->t[i];
    if (q[2] < 0.1) return false;
    *u = b->k.fx * q[0] / q[2] + b->k.cx;
    *v = b->k.fy * q[1] / q[2] + b->k.cy;
    solid_ray(b, *u, *v, from, along);
    return fabs(solid_cast(scene, from, along).distance - q[2]) < 0.02;
}

/* ---- the picture ---- */

SOLID_FAST static inline double solid_random(uint32_t seed, int32_t i, int32_t j)
{
    uint32_t h = seed * 0x9e3779b9u ^ (uint32_t)i * 0x85ebca6bu ^ (uint32_t)j * 0xc2b2ae35u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return (h ^ h >> 15) / 4294967296.0;
}

/* Smooth between random values at whole coordinates. */
SOLID_FAST static inline double solid_noise(uint32_t seed, double x, double y)
{
    int32_t i = solid_floor(x), j = solid_floor(y);
    double u = x - i, v = y - j;
    u *= u * (3 - 2 * u), v *= v * (3 - 2 * v);
    return (solid_random(seed, i, j) * (1 - u) + solid_random(seed, i + 1, j) * u) * (1 - v) +
           (solid_random(seed, i, j + 1) * (1 - u) + solid_random(seed, i + 1, j + 1) * u) * v;
}

/* Octaves of noise with patches of two sizes over them, 0 to 1. */
SOLID_FAST static inline double solid_texture(uint32_t seed, double x, double y)
{
    double sum = 0;
    for (uint32_t octave = 0; octave < 6; octave++)
        sum += (solid_noise(seed + octave, x * (1 << octave), y * (1 << octave)) - 0.5) / (1 << octave);
    for (uint32_t k = 0; k < 2; k++) {
        double side = k ? 0.13 : 0.41,
               gray = solid_random(seed + 77 + k, solid_floor(x / side), solid_floor(y / side));
        if (gray < 0.5) sum += gray - 0.25;
    }
    return solid_min(1, solid_max(0, 0.5 + 0.7 * sum));
}

/* Gray, mean of 2 x 2 rays per pixel. */
SOLID_FAST static inline uint8_t *solid_render(const solid_scene *scene, const solid_camera *c, int32_t width, int32_t height)
{
    enum { RAYS = 2 };
    uint8_t *pixels = malloc((size_t)width * (size_t)height);
    if (!pixels) abort();
    for (int32_t i = 0; i < width * height; i++) {
        double sum = 0, from[3], along[3];
        for (int k = 0; k < RAYS * RAYS; k++) {
            solid_ray(c, i % width + (k % RAYS + 0.5) / RAYS - 0.5, i / width + (k / RAYS + 0.5) / RAYS - 0.5, from,
                      along);
            solid_hit hit = solid_cast(scene, from, along);
            int axis = hit.face % 3;
            if (hit.face < 0) continue;
            sum += (1 - 0.2 * axis) * solid_texture(scene->seed + 1000 * (uint32_t)hit.face,
                                                    hit.point[axis == 0 ? 2 : 0], hit.point[axis == 1 ? 2 : 1]);
        }
        pixels[i] = (uint8_t)(255 * sum / (RAYS * RAYS) + 0.5);
    }
    return pixels;
}

#endif
