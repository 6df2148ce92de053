/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of a collection by where the photographs were taken. */
#include <math.h>
#include <stdlib.h>

#include "collection/collection.h"

#define EARTH 6371000.0 /* m, mean radius */

typedef struct place {
    double x, y, z; /* m from the centre of the earth */
    size_t image;
} place;

static place place_of(const io_position *p, size_t image)
{
    const double radian = 3.14159265358979323846 / 180;
    double flat = EARTH * cos(p->latitude * radian);
    return (place){flat * cos(p->longitude * radian), flat * sin(p->longitude * radian),
                   EARTH * sin(p->latitude * radian), image};
}

static int compare_places(const void *a, const void *b)
{
    const place *p = a, *q = b;
    if (p->z != q->z) return p->z < q->z ? -1 : 1;
    return p->image < q->image ? -1 : p->image > q->image;
}

typedef struct near_place {
    double distance;
    size_t image;
} near_place;

/* Keeps the k nearest in order; of equally near ones the first image. */
static size_t near_insert(near_place *near, size_t n, size_t k, near_place one)
{
    size_t at = n;
    while (at > 0 && (near[at - 1].distance > one.distance ||
                      (near[at - 1].distance == one.distance && near[at - 1].image > one.image)))
        at--;
    if (at == k) return n;
    if (n < k) n++;
    for (size_t i = n - 1; i > at; i--) near[i] = near[i - 1];
    near[at] = one;
    return n;
}

/* Places are sorted by z, so that those within reach lie around the place itself. */
static size_t near_places(const place *places, size_t n, size_t i, double reach, near_place *near, size_t k)
{
    size_t count = 0;
    for (int step = -1; step <= 1; step += 2)
        for (size_t other = i + (size_t)step; other < n && fabs(places[other].z - places[i].z) <= reach;
             other += (size_t)step) {
            double x = places[other].x - places[i].x, y = places[other].y - places[i].y,
                   z = places[other].z - places[i].z, distance = sqrt(x * x + y * y + z * z);
            if (distance <= reach) count = near_insert(near, count, k, (near_place){distance, places[other].image});
        }
    return count;
}

bool collection_gps(const collection *c, void (*add)(void *context, size_t a, size_t b), void *context,
                    io_error *error)
{
    size_t n = 0, good = c->images.count - c->failed, k = (size_t)c->options.neighbours;
    place *places = io_alloc(c->images.count + 1, sizeof *places);
    near_place *near = io_alloc(k, sizeof *near);
    for (size_t i = 0; i < c->images.count; i++) {
        io_position p;
        if (c->good[i] && io_image_position(c->images.items[i], &p)) places[n++] = place_of(&p, i);
    }
    qsort(places, n, sizeof *places, compare_places);
    for (size_t i = 0; i < n; i++) {
        size_t count = near_places(places, n, i, c->options.reach, near, k);
        for (size_t m = 0; m < count; m++) add(context, places[i].image, near[m].image);
    }
    free(places);
    free(near);
    if (n == 0) return io_fail(error, "--pairs gps: none of the images has a position in its EXIF data");
    if (n < good) photos_warn(&c->options.host, "%zu of %zu images have no position in their EXIF data and are in no pair", good - n, good);
    return true;
}
