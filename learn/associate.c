/* SPDX-License-Identifier: Apache-2.0 */
/* Association by geometry, over a grid of cells so that only neighbours are compared. */
#include "learn/associate.h"

#include <math.h>

#include "learn/warp.h"
#include "common/common.h"
#include "learn/memory.h"

const kbi_association kbi_association_default = {.position = 0.08, .scale = 1.35, .angle = 25};
const kbi_association kbi_association_duplicate = {.position = 0.2, .scale = 1.6, .angle = 45};

/* The image of a circle under the local affine map A is taken as a circle of the same area, and its direction as A
 * times the direction. */
kbi_region kbi_region_through(const double h[9], const kb_keypoint *keypoint, double width_scale)
{
    double p[6], sine, cosine;
    kbi_homography_local(h, keypoint->x, keypoint->y, p);
    kbi_sincos_degrees(keypoint->angle, &sine, &cosine);
    return (kbi_region){p[0], p[1], width_scale * keypoint->size * sqrt(fabs(p[2] * p[5] - p[3] * p[4])),
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
    uint32_t *head;   /* first region of every cell + 1; 0: none */
    uint32_t *next;   /* the same, of every region */
    kbi_region *regions;
    size_t count, room;
} grid;

static bool grid_init(grid *g, double width, double height)
{
    *g = (grid){.columns = (int32_t)(width / CELL) + 1, .rows = (int32_t)(height / CELL) + 1};
    g->head = kbi_zeros((size_t)g->columns * (size_t)g->rows, sizeof *g->head);
    return g->head != NULL;
}

static void grid_free(grid *g)
{
    free(g->head);
    free(g->next);
    free(g->regions);
}

/* Positions outside the frame belong to the outermost cells; one that is not a number to the first. */
static int32_t cell_of(double position, int32_t cells)
{
    double c = floor(position / CELL);
    return !(c > 0) ? 0 : c >= cells ? cells - 1 : (int32_t)c;
}

static kb_status grid_add(grid *g, kbi_region region)
{
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 1024;
        kbi_region *regions = kbi_resized(g->regions, room, sizeof *regions);
        if (regions) g->regions = regions;
        uint32_t *next = kbi_resized(g->next, room, sizeof *next);
        if (next) g->next = next;
        if (!regions || !next) return KB_E_MEMORY;
        g->room = room;
    }
    uint32_t *head = &g->head[cell_of(region.y, g->rows) * g->columns + cell_of(region.x, g->columns)];
    g->regions[g->count] = region;
    g->next[g->count] = *head;
    *head = (uint32_t)++g->count;
    return KB_OK;
}

/* Calls visit(context, index) for every region in the cells that a square of +-radius around the region touches. */
static void grid_visit(const grid *g, const kbi_region *around, double radius, void (*visit)(void *, uint32_t),
                       void *context)
{
    int32_t x1 = cell_of(around->x + radius, g->columns), y1 = cell_of(around->y + radius, g->rows);
    for (int32_t y = cell_of(around->y - radius, g->rows); y <= y1; y++) {
        for (int32_t x = cell_of(around->x - radius, g->columns); x <= x1; x++) {
            for (uint32_t i = g->head[y * g->columns + x]; i; i = g->next[i - 1]) visit(context, i - 1);
        }
    }
}

/* How badly two regions fit, 0 to 3; negative when any part is beyond its limit. */
static double misfit(const kbi_region *a, const kbi_region *b, const kbi_association *t)
{
    double dx = a->x - b->x, dy = a->y - b->y, smaller = fmin(a->width, b->width), larger = fmax(a->width, b->width);
    double position = sqrt(dx * dx + dy * dy) / (smaller * t->position);
    double scale = (larger / smaller - 1) / (t->scale - 1), angle = angle_between(a->angle, b->angle) / t->angle;
    if (!(position < 1 && scale < 1 && angle < 1)) return -1;
    return position * position + scale * scale + angle * angle;
}

/* --------------------------------------------------------------------------------------------------------- tracks */

struct kbi_tracks {
    kbi_association limits;
    grid points; /* the region of a point is that of its first keypoint */
};

typedef struct candidate {
    double misfit;
    uint32_t region, point;
} candidate;

typedef struct candidates {
    const kbi_tracks *tracks;
    const kbi_region *region;
    uint32_t index;
    candidate *items;
    size_t count, room;
    bool failed; /* memory is out */
} candidates;

static void add_candidate(void *context, uint32_t point)
{
    candidates *c = context;
    double how = misfit(c->region, &c->tracks->points.regions[point], &c->tracks->limits);
    if (how < 0 || c->failed) return;
    if (c->count == c->room) {
        size_t room = c->room ? 2 * c->room : 4096;
        candidate *items = kbi_resized(c->items, room, sizeof *items);
        c->failed = !items;
        if (!items) return;
        c->items = items;
        c->room = room;
    }
    c->items[c->count++] = (candidate){how, c->index, point};
}

static int compare_candidates(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->misfit != b->misfit) return a->misfit < b->misfit ? -1 : 1;
    if (a->region != b->region) return a->region < b->region ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

kbi_tracks *kbi_tracks_create(const kbi_association *limits, double frame_width, double frame_height)
{
    kbi_tracks *tracks = kbi_zeros(1, sizeof *tracks);
    if (!tracks) return NULL;
    tracks->limits = *limits;
    if (grid_init(&tracks->points, frame_width, frame_height)) return tracks;
    kbi_tracks_free(tracks);
    return NULL;
}

/* Gives every region the point that fits it best, the best fits first. */
static void assign_points(const candidates *c, uint8_t *used, uint32_t *point)
{
    if (c->count) qsort(c->items, c->count, sizeof *c->items, compare_candidates);
    for (size_t k = 0; k < c->count; k++) {
        const candidate *best = &c->items[k];
        if (point[best->region] != UINT32_MAX || used[best->point]) continue;
        point[best->region] = best->point;
        used[best->point] = 1;
    }
}

kb_status kbi_tracks_add(kbi_tracks *tracks, const kbi_region *regions, size_t n, uint32_t *point)
{
    candidates c = {.tracks = tracks};
    uint8_t *used = kbi_zeros(tracks->points.count, 1);
    for (size_t i = 0; i < n; i++) {
        point[i] = UINT32_MAX;
        c.region = &regions[i];
        c.index = (uint32_t)i;
        grid_visit(&tracks->points, &regions[i], tracks->limits.position * regions[i].width, add_candidate, &c);
    }
    kb_status status = used && !c.failed ? KB_OK : KB_E_MEMORY;
    if (status == KB_OK) assign_points(&c, used, point);
    for (size_t i = 0; i < n && status == KB_OK; i++) {
        if (point[i] != UINT32_MAX) continue;
        point[i] = (uint32_t)tracks->points.count;
        status = grid_add(&tracks->points, regions[i]);
    }
    free(used);
    free(c.items);
    return status;
}

size_t kbi_tracks_count(const kbi_tracks *tracks) { return tracks->points.count; }

void kbi_tracks_free(kbi_tracks *tracks)
{
    if (!tracks) return;
    grid_free(&tracks->points);
    free(tracks);
}

/* ----------------------------------------------------------------------------------------------------- duplicates */

struct kbi_duplicates {
    grid chosen;
};

typedef struct search {
    const kbi_duplicates *duplicates;
    const kbi_region *region;
    const kbi_association *limits;
    bool found;
} search;

static void compare_region(void *context, uint32_t index)
{
    search *s = context;
    if (misfit(s->region, &s->duplicates->chosen.regions[index], s->limits) >= 0) s->found = true;
}

kbi_duplicates *kbi_duplicates_create(double frame_width, double frame_height)
{
    kbi_duplicates *duplicates = kbi_zeros(1, sizeof *duplicates);
    if (duplicates && grid_init(&duplicates->chosen, frame_width, frame_height)) return duplicates;
    kbi_duplicates_free(duplicates);
    return NULL;
}

bool kbi_duplicates_has(const kbi_duplicates *duplicates, const kbi_region *region, const kbi_association *limits)
{
    search s = {duplicates, region, limits, false};
    grid_visit(&duplicates->chosen, region, limits->position * region->width, compare_region, &s);
    return s.found;
}

kb_status kbi_duplicates_add(kbi_duplicates *duplicates, const kbi_region *region)
{
    return grid_add(&duplicates->chosen, *region);
}

void kbi_duplicates_free(kbi_duplicates *duplicates)
{
    if (!duplicates) return;
    grid_free(&duplicates->chosen);
    free(duplicates);
}
