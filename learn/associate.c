/* Association by geometry, over a grid of cells so that only neighbours are compared. */
#include "learn/associate.h"

#include <math.h>
#include <stdlib.h>

#include "io/file.h"
#include "learn/warp.h"
#include "common/common.h"

const kbi_tolerance kbi_tolerance_default = {.position = 0.08, .scale = 1.35, .angle = 25};
const kbi_tolerance kbi_tolerance_copy = {.position = 0.2, .scale = 1.6, .angle = 45};

/* The image of a circle under the local affine map A is taken as a circle of the same area, and its direction as A
 * times the direction. */
kbi_place kbi_place_through(const double h[9], const kb_keypoint *keypoint, double width_scale)
{
    double p[6], sine, cosine;
    kbi_homography_local(h, keypoint->x, keypoint->y, p);
    kbi_sincos_degrees(keypoint->angle, &sine, &cosine);
    return (kbi_place){p[0], p[1], width_scale * keypoint->size * sqrt(fabs(p[2] * p[5] - p[3] * p[4])),
                      kbi_atan2_degrees(p[4] * cosine + p[5] * sine, p[2] * cosine + p[3] * sine)};
}

static double angle_between(double a, double b)
{
    double d = fabs(a - b);
    return d > 180 ? 360 - d : d;
}

/* ----------------------------------------------------------------------------------------------------------- grid */

#define CELL 24.0 /* px */

typedef struct grid {
    int32_t columns, rows;
    uint32_t *head;   /* first place of every cell + 1; 0: none */
    uint32_t *next;   /* the same, of every place */
    kbi_place *places;
    size_t count, room;
} grid;

static void grid_init(grid *g, double width, double height)
{
    *g = (grid){.columns = (int32_t)(width / CELL) + 1, .rows = (int32_t)(height / CELL) + 1};
    g->head = io_alloc((size_t)g->columns * (size_t)g->rows, sizeof *g->head);
}

static void grid_free(grid *g)
{
    free(g->head);
    free(g->next);
    free(g->places);
}

/* Positions outside the frame belong to the outermost cells; one that is not a number to the first. */
static int32_t cell_of(double position, int32_t cells)
{
    double c = floor(position / CELL);
    return !(c > 0) ? 0 : c >= cells ? cells - 1 : (int32_t)c;
}

static void grid_add(grid *g, kbi_place place)
{
    if (g->count == g->room) {
        g->room = g->room ? 2 * g->room : 1024;
        g->places = io_grow(g->places, g->room, sizeof *g->places);
        g->next = io_grow(g->next, g->room, sizeof *g->next);
    }
    uint32_t *head = &g->head[cell_of(place.y, g->rows) * g->columns + cell_of(place.x, g->columns)];
    g->places[g->count] = place;
    g->next[g->count] = *head;
    *head = (uint32_t)++g->count;
}

/* Calls visit(context, index) for every place in the cells that a square of +-radius around the place touches. */
static void grid_visit(const grid *g, const kbi_place *around, double radius, void (*visit)(void *, uint32_t),
                       void *context)
{
    int32_t x1 = cell_of(around->x + radius, g->columns), y1 = cell_of(around->y + radius, g->rows);
    for (int32_t y = cell_of(around->y - radius, g->rows); y <= y1; y++) {
        for (int32_t x = cell_of(around->x - radius, g->columns); x <= x1; x++) {
            for (uint32_t i = g->head[y * g->columns + x]; i; i = g->next[i - 1]) visit(context, i - 1);
        }
    }
}

/* How badly two places fit, 0 to 3; negative when any part is out of tolerance. */
static double misfit(const kbi_place *a, const kbi_place *b, const kbi_tolerance *t)
{
    double dx = a->x - b->x, dy = a->y - b->y, smaller = fmin(a->width, b->width), larger = fmax(a->width, b->width);
    double position = sqrt(dx * dx + dy * dy) / (smaller * t->position);
    double scale = (larger / smaller - 1) / (t->scale - 1), angle = angle_between(a->angle, b->angle) / t->angle;
    if (!(position < 1 && scale < 1 && angle < 1)) return -1;
    return position * position + scale * scale + angle * angle;
}

/* --------------------------------------------------------------------------------------------------------- tracks */

struct kbi_tracks {
    kbi_tolerance tolerance;
    grid points; /* the place of a point is that of its first keypoint */
};

typedef struct candidate {
    double misfit;
    uint32_t place, point;
} candidate;

typedef struct candidates {
    const kbi_tracks *tracks;
    const kbi_place *place;
    uint32_t index;
    candidate *items;
    size_t count, room;
} candidates;

static void consider(void *context, uint32_t point)
{
    candidates *c = context;
    double how = misfit(c->place, &c->tracks->points.places[point], &c->tracks->tolerance);
    if (how < 0) return;
    if (c->count == c->room) {
        c->room = c->room ? 2 * c->room : 4096;
        c->items = io_grow(c->items, c->room, sizeof *c->items);
    }
    c->items[c->count++] = (candidate){how, c->index, point};
}

static int compare_candidates(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->misfit != b->misfit) return a->misfit < b->misfit ? -1 : 1;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

kbi_tracks *kbi_tracks_create(const kbi_tolerance *tolerance, double frame_width, double frame_height)
{
    kbi_tracks *tracks = io_alloc(1, sizeof *tracks);
    tracks->tolerance = *tolerance;
    grid_init(&tracks->points, frame_width, frame_height);
    return tracks;
}

void kbi_tracks_add(kbi_tracks *tracks, const kbi_place *places, size_t n, uint32_t *point)
{
    candidates c = {.tracks = tracks};
    uint8_t *used = io_alloc(tracks->points.count, 1);
    for (size_t i = 0; i < n; i++) {
        point[i] = UINT32_MAX;
        c.place = &places[i];
        c.index = (uint32_t)i;
        grid_visit(&tracks->points, &places[i], tracks->tolerance.position * places[i].width, consider, &c);
    }
    if (c.count) qsort(c.items, c.count, sizeof *c.items, compare_candidates);
    for (size_t k = 0; k < c.count; k++) {
        const candidate *best = &c.items[k];
        if (point[best->place] != UINT32_MAX || used[best->point]) continue;
        point[best->place] = best->point;
        used[best->point] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        if (point[i] != UINT32_MAX) continue;
        point[i] = (uint32_t)tracks->points.count;
        grid_add(&tracks->points, places[i]);
    }
    free(used);
    free(c.items);
}

size_t kbi_tracks_count(const kbi_tracks *tracks) { return tracks->points.count; }

void kbi_tracks_free(kbi_tracks *tracks)
{
    if (!tracks) return;
    grid_free(&tracks->points);
    free(tracks);
}

/* --------------------------------------------------------------------------------------------------------- crowds */

struct kbi_crowd {
    grid taken;
};

typedef struct search {
    const kbi_crowd *crowd;
    const kbi_place *place;
    const kbi_tolerance *tolerance;
    bool found;
} search;

static void compare(void *context, uint32_t index)
{
    search *s = context;
    if (misfit(s->place, &s->crowd->taken.places[index], s->tolerance) >= 0) s->found = true;
}

kbi_crowd *kbi_crowd_create(double frame_width, double frame_height)
{
    kbi_crowd *crowd = io_alloc(1, sizeof *crowd);
    grid_init(&crowd->taken, frame_width, frame_height);
    return crowd;
}

bool kbi_crowd_has(const kbi_crowd *crowd, const kbi_place *place, const kbi_tolerance *tolerance)
{
    search s = {crowd, place, tolerance, false};
    grid_visit(&crowd->taken, place, tolerance->position * place->width, compare, &s);
    return s.found;
}

void kbi_crowd_take(kbi_crowd *crowd, const kbi_place *place) { grid_add(&crowd->taken, *place); }

void kbi_crowd_free(kbi_crowd *crowd)
{
    if (!crowd) return;
    grid_free(&crowd->taken);
    free(crowd);
}
