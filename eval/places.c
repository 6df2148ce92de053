/* SPDX-License-Identifier: Apache-2.0 */
/* Counted pairs are kept in a hash table of cells of image 1 as wide as the limit, so that a pair is compared with
 * those of nine cells. */
#include "eval/places.h"

#include <math.h>
#include <stdlib.h>

#include "eval/hash.h"

typedef struct ranked {
    float distance;
    size_t index;
} ranked;

typedef struct place_table {
    const kb_point_pair *pairs;
    size_t *first, *next; /* per slot and per pair: the index of a pair plus 1, 0 at the end */
    size_t mask;
} place_table;

static int by_distance(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* The slot of the cell that lies (right, down) cells beside the cell of the pair. */
static size_t *slot_of(const place_table *table, const kb_point_pair *pair, int right, int down)
{
    double cell[2] = {floor(pair->x1 / EV_PLACE_PX) + right, floor(pair->y1 / EV_PLACE_PX) + down};
    for (int i = 0; i < 2; i++) cell[i] += 0.0; /* one zero */
    return &table->first[kbi_sum_bytes(KBI_SUM_START, cell, sizeof cell) & table->mask];
}

static bool same_place(const kb_point_pair *a, const kb_point_pair *b)
{
    return hypot(a->x1 - b->x1, a->y1 - b->y1) < EV_PLACE_PX && hypot(a->x2 - b->x2, a->y2 - b->y2) < EV_PLACE_PX;
}

static bool is_counted(const place_table *table, const kb_point_pair *pair)
{
    for (int cell = 0; cell < 9; cell++)
        for (size_t i = *slot_of(table, pair, cell % 3 - 1, cell / 3 - 1); i > 0; i = table->next[i - 1])
            if (same_place(&table->pairs[i - 1], pair)) return true;
    return false;
}

size_t ev_places(const kb_point_pair *pairs, const float *distances, const uint8_t *right, size_t n)
{
    size_t slots = 16, count = 0, places = 0;
    ranked *order = io_alloc(n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++)
        if (!right || right[i]) order[count++] = (ranked){distances ? distances[i] : 0, i};
    qsort(order, count, sizeof *order, by_distance);
    while (slots < 2 * count) slots *= 2;
    place_table table = {pairs, io_alloc(slots, sizeof *table.first), io_alloc(n + 1, sizeof *table.next), slots - 1};
    for (size_t k = 0; k < count; k++) {
        size_t i = order[k].index, *slot = slot_of(&table, &pairs[i], 0, 0);
        if (is_counted(&table, &pairs[i])) continue;
        table.next[i] = *slot;
        *slot = i + 1;
        places++;
    }
    free(table.next);
    free(table.first);
    free(order);
    return places;
}

size_t ev_spots(const kb_keypoint *keypoints, size_t n)
{
    kb_point_pair *pairs = io_alloc(n + 1, sizeof *pairs);
    float *weakness = io_alloc(n + 1, sizeof *weakness);
    for (size_t i = 0; i < n; i++) {
        const kb_keypoint *k = &keypoints[i];
        pairs[i] = (kb_point_pair){k->x, k->y, k->x, k->y};
        weakness[i] = -k->response;
    }
    size_t spots = ev_places(pairs, weakness, NULL, n);
    free(weakness);
    free(pairs);
    return spots;
}
