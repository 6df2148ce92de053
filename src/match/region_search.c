/* SPDX-License-Identifier: Apache-2.0 */
/* The keypoints of b and their rows are copied in the order of a grid, so that keypoints of neighbour cells follow each
 * other. A query goes through the runs of its cells: the keypoints in its region are listed, and their distances
 * counted. */
#include <math.h>

#include "match/region_search.h"

#include "match/row_set.h"

#define KEYPOINTS_PER_CELL 3
#define LIST_ROWS 256 /* candidates whose distances are counted together */

/* A neighbour as one number: distance, then the index in b, so that the smaller number is the better neighbour. */
#define NO_CANDIDATE UINT64_MAX

typedef struct candidate_list {
    int32_t listed[LIST_ROWS + KBI_LIST_SLACK]; /* places in the order of the grid */
    size_t n;
    uint64_t first, second;
} candidate_list;

static void list_flush(const kbi_candidate_search *s, const uint8_t *query, candidate_list *list)
{
    uint32_t distances[LIST_ROWS];
    uint64_t first = list->first, second = list->second;
    s->kernels->hamming_listed(query, s->rows, list->listed, list->n, s->row_bytes, s->row_bytes, distances);
    for (size_t i = 0; i < list->n; i++) {
        uint64_t key = (uint64_t)distances[i] << 32 | (uint32_t)s->grid.order[list->listed[i]];
        uint64_t loser = key > first ? key : first; /* the second best is the best loser */
        first = key < first ? key : first;
        second = loser < second ? loser : second;
    }
    list->first = first;
    list->second = second;
    list->n = 0;
}

/* Without branches, since whether a keypoint is inside cannot be foreseen; listed has room for all. */
static size_t list_box(const kbi_candidate_search *s, const kbi_region *r, int32_t from, int32_t to, int32_t *listed)
{
    size_t n = 0;
    for (int32_t k = from; k < to; k++) {
        listed[n] = k;
        n += (size_t)((s->x[k] >= r->x0) & (s->x[k] <= r->x1) & (s->y[k] >= r->y0) & (s->y[k] <= r->y1) &
                      (s->size[k] >= r->min_size) & (s->size[k] <= r->max_size));
    }
    return n;
}

static size_t list_strip(const kbi_candidate_search *s, const kbi_strip *l, int32_t from, int32_t to, int32_t *listed)
{
    size_t n = 0;
    for (int32_t k = from; k < to; k++) {
        float d = l->nx * s->x[k] + l->ny * s->y[k] + l->c;
        listed[n] = k;
        n += (size_t)((d >= -l->radius) & (d <= l->radius) & (s->level[k] >= l->min_level) &
                      (s->level[k] <= l->max_level));
    }
    return n;
}

static size_t list_region(const kbi_candidate_search *s, const kbi_region *r, int32_t from, int32_t to, int32_t *listed)
{
    switch (r->shape) {
    case KBI_CIRCLE: return s->kernels->list_circle(s->x, s->y, s->level, from, to, &r->circle, listed);
    case KBI_STRIP: return list_strip(s, &r->strip, from, to, listed);
    default: return list_box(s, r, from, to, listed);
    }
}

/* The columns of a row of cells that a strip reaches, and one more on either side, in case that rounding loses one. */
static void strip_columns(const kbi_point_grid *g, const kbi_strip *l, int32_t y, int32_t *left, int32_t *right)
{
    float y0 = g->y0 + (float)y / g->inverse, y1 = y0 + 1 / g->inverse, low = INFINITY, high = -INFINITY;
    for (int k = 0; k < 4; k++) {
        float x = ((k & 1 ? l->radius : -l->radius) - l->c - l->ny * (k & 2 ? y1 : y0)) / l->nx;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    *left = kbi_max_i(*left, kbi_grid_cell(low, g->x0, g->inverse, g->columns) - 1);
    *right = kbi_min_i(*right, kbi_grid_cell(high, g->x0, g->inverse, g->columns) + 1);
}

static void search_region(const kbi_candidate_search *s, size_t q, const kbi_region *r)
{
    const kbi_point_grid *g = &s->grid;
    const uint8_t *query = s->a + q * s->row_bytes;
    int32_t left = kbi_grid_cell(r->x0, g->x0, g->inverse, g->columns);
    int32_t right = kbi_grid_cell(r->x1, g->x0, g->inverse, g->columns);
    int32_t top = kbi_grid_cell(r->y0, g->y0, g->inverse, g->rows);
    int32_t bottom = kbi_grid_cell(r->y1, g->y0, g->inverse, g->rows);
    bool slanted = r->shape == KBI_STRIP && fabsf(r->strip.nx) > 1e-3f; /* else it reaches all columns */
    candidate_list list;
    list.n = 0;
    list.first = list.second = NO_CANDIDATE;
    for (int32_t y = top; y <= bottom; y++) {
        const int32_t *row = g->start + y * g->columns;
        int32_t first = left, last = right;
        if (slanted) strip_columns(g, &r->strip, y, &first, &last);
        for (int32_t k = row[first], end = last >= first ? row[last + 1] : 0; k < end;) {
            int32_t part = kbi_min_i(end, k + (int32_t)(LIST_ROWS - list.n)), *room = list.listed + list.n;
            list.n += list_region(s, r, k, part, room);
            k = part;
            if (list.n > LIST_ROWS / 2) list_flush(s, query, &list);
        }
    }
    if (list.n > 0) list_flush(s, query, &list);
    kbi_nearest *best = &s->nearest[q];
    if (list.first != NO_CANDIDATE) {
        best->distance = (uint32_t)(list.first >> 32);
        best->index = (int32_t)(uint32_t)list.first;
    }
    if (list.second != NO_CANDIDATE) {
        best->second = (uint32_t)(list.second >> 32);
        best->second_index = (int32_t)(uint32_t)list.second;
    }
}

static void candidates_task(void *context, int32_t piece)
{
    const kbi_candidate_search *s = context;
    size_t end = kbi_piece(s->na, s->pieces, piece + 1);
    for (size_t q = kbi_piece(s->na, s->pieces, piece); q < end; q++) {
        kbi_region region;
        s->nearest[q] = (kbi_nearest){-1, -1, 0, 0};
        if (kbi_row_bytes_are_zero(s->a + q * s->row_bytes, s->row_bytes)) continue;
        if (s->region(s->context, q, &region)) search_region(s, q, &region);
    }
}

static bool candidates_allocate(kbi_candidate_search *s, kb_workspace *ws)
{
    size_t room = s->nb + KBI_LIST_SLACK;
    s->x = kbi_workspace_array(ws, room, sizeof *s->x);
    s->y = kbi_workspace_array(ws, room, sizeof *s->y);
    s->size = kbi_workspace_array(ws, s->nb, sizeof *s->size);
    s->level = kbi_workspace_array(ws, room, sizeof *s->level);
    s->rows = kbi_workspace_array(ws, s->nb, s->row_bytes);
    return s->x && s->y && s->size && s->level && s->rows;
}

static bool candidates_sort(kbi_candidate_search *s, kb_workspace *ws)
{
    if (!candidates_allocate(s, ws)) return false;
    for (size_t k = 0; k < s->nb; k++) {
        size_t index = (size_t)s->grid.order[k];
        const kb_keypoint *point = &s->keypoints[index];
        const uint8_t *row = s->b + index * s->row_bytes;
        memcpy(s->rows + k * s->row_bytes, row, s->row_bytes);
        s->x[k] = kbi_row_bytes_are_zero(row, s->row_bytes) ? NAN : point->x;
        s->y[k] = point->y;
        s->size[k] = point->size;
        s->level[k] = point->octave;
    }
    for (size_t k = s->nb; k < s->nb + KBI_LIST_SLACK; k++)
        s->x[k] = s->y[k] = 0, s->level[k] = 0; /* read, and left out */
    return true;
}

bool kbi_candidates_measure(size_t na, size_t nb, size_t row_bytes, kb_workspace *ws)
{
    kbi_candidate_search s = {.na = na, .nb = nb, .row_bytes = row_bytes};
    return kbi_workspace_array(ws, na, sizeof *s.nearest) && kbi_grid_measure(nb, ws) && candidates_allocate(&s, ws) &&
           kbi_workspace_array(ws, nb, sizeof(int32_t));
}

static bool nearest_accepted(const kbi_candidate_search *s, const kbi_nearest *n)
{
    if (s->max_distance > 0 && (float)n->distance > s->max_distance) return false;
    if (s->max_ratio == 0 || n->second_index < 0) return true;
    bool levels_differ = s->keypoints[n->index].octave != s->keypoints[n->second_index].octave;
    return (s->ratio_per_level && levels_differ) || (float)n->distance < s->max_ratio * (float)n->second;
}

static bool search_nearest(kbi_candidate_search *s, kb_workspace *ws)
{
    s->pieces = kbi_min_i(kbi_parallel_threads(s->parallel), (int32_t)(s->na / 64 + 1));
    s->nearest = kbi_workspace_array(ws, s->na, sizeof *s->nearest);
    if (!s->nearest) return false;
    if (!kbi_grid_build(&s->grid, &s->keypoints->x, &s->keypoints->y, sizeof *s->keypoints, (int32_t)s->nb,
                        KEYPOINTS_PER_CELL, ws) ||
        !candidates_sort(s, ws))
        return false;
    s->kernels = kbi_match_kernels_get();
    kbi_parallel_run(s->parallel, s->pieces, candidates_task, s);
    for (size_t q = 0; q < s->na; q++)
        if (s->nearest[q].index >= 0 && !nearest_accepted(s, &s->nearest[q])) s->nearest[q].index = -1;
    return true;
}

/* Of several queries that chose one keypoint the nearest keeps it, of equally near ones the first. */
static bool keep_one_to_one(const kbi_candidate_search *s, kb_workspace *ws)
{
    int32_t *owner = kbi_workspace_array(ws, s->nb, sizeof *owner);
    if (!owner) return false;
    for (size_t j = 0; j < s->nb; j++) owner[j] = -1;
    for (size_t q = 0; q < s->na; q++) {
        const kbi_nearest *n = &s->nearest[q];
        if (n->index < 0) continue;
        int32_t before = owner[n->index];
        if (before < 0 || n->distance < s->nearest[before].distance) owner[n->index] = (int32_t)q;
    }
    for (size_t q = 0; q < s->na; q++)
        if (s->nearest[q].index >= 0 && owner[s->nearest[q].index] != (int32_t)q) s->nearest[q].index = -1;
    return true;
}

bool kbi_candidates_search(kbi_candidate_search *s, kb_workspace *ws)
{
    return search_nearest(s, ws) && keep_one_to_one(s, ws);
}
