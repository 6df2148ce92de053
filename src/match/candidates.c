/* The keypoints of b are sorted into a grid. The candidates of a query are gathered into blocks of rows, and the Hamming
 * kernel finds the nearest and the second nearest of a block. */
#include "match/candidates.h"

#include "common/cpu.h"
#include "match/row_set.h"

#define KEYPOINTS_PER_CELL 4
#define BLOCK_ROWS 256 /* candidates that go through the kernel together */

static bool nearest_before(uint32_t distance, int32_t index, uint32_t than, int32_t than_index)
{
    return than_index < 0 || distance < than || (distance == than && index < than_index);
}

static void nearest_add(kbi_nearest *best, uint32_t distance, int32_t index)
{
    if (nearest_before(distance, index, best->distance, best->index)) {
        *best = (kbi_nearest){index, best->index, distance, best->distance};
    } else if (nearest_before(distance, index, best->second, best->second_index)) {
        best->second = distance;
        best->second_index = index;
    }
}

/* The kernel breaks ties by the place in the block; here the lower index of b wins, so tied blocks are gone through
 * row by row. */
static void search_block(const kbi_candidate_search *s, const uint8_t *query, const uint8_t *block,
                         const int32_t *indices, size_t n, kbi_nearest *best)
{
    uint32_t first = KBI_NO_NEIGHBOUR, second = KBI_NO_NEIGHBOUR;
    if (n == 0) return;
    s->kernels.hamming(query, 1, block, n, s->row_bytes, &first, &second, NULL);
    if (second != KBI_NO_NEIGHBOUR && second >> 16 == first >> 16) {
        for (size_t i = 0; i < n; i++)
            nearest_add(best, (uint32_t)kb_hamming(query, block + i * s->row_bytes, s->row_bytes), indices[i]);
        return;
    }
    nearest_add(best, first >> 16, indices[first & 0xffff]);
    if (second != KBI_NO_NEIGHBOUR) nearest_add(best, second >> 16, indices[second & 0xffff]);
}

static bool region_holds(const kbi_region *r, const kb_keypoint *k)
{
    float dx = k->x - r->x, dy = k->y - r->y;
    return k->x >= r->x0 && k->x <= r->x1 && k->y >= r->y0 && k->y <= r->y1 && dx * dx + dy * dy <= r->radius2 &&
           k->octave >= r->min_level && k->octave <= r->max_level && k->size >= r->min_size && k->size <= r->max_size;
}

static void search_region(const kbi_candidate_search *s, size_t q, const kbi_region *r, uint8_t *block,
                          int32_t *indices)
{
    const kbi_grid *g = &s->grid;
    const uint8_t *query = s->a + q * s->row_bytes;
    int32_t left = kbi_grid_cell(r->x0, g->x0, g->inverse, g->columns);
    int32_t right = kbi_grid_cell(r->x1, g->x0, g->inverse, g->columns);
    int32_t top = kbi_grid_cell(r->y0, g->y0, g->inverse, g->rows);
    int32_t bottom = kbi_grid_cell(r->y1, g->y0, g->inverse, g->rows);
    size_t n = 0;
    for (int32_t y = top; y <= bottom; y++) {
        const int32_t *row = g->start + y * g->columns;
        for (int32_t k = row[left]; k < row[right + 1]; k++) {
            int32_t index = g->order[k];
            const uint8_t *candidate = s->b + (size_t)index * s->row_bytes;
            if (!region_holds(r, &s->keypoints[index]) || kbi_row_bytes_are_zero(candidate, s->row_bytes)) continue;
            memcpy(block + n * s->row_bytes, candidate, s->row_bytes);
            indices[n++] = index;
            if (n < BLOCK_ROWS) continue;
            search_block(s, query, block, indices, n, &s->nearest[q]);
            n = 0;
        }
    }
    search_block(s, query, block, indices, n, &s->nearest[q]);
}

static void candidates_task(void *context, int32_t piece)
{
    const kbi_candidate_search *s = context;
    uint8_t *block = s->blocks + (size_t)piece * BLOCK_ROWS * s->row_bytes;
    int32_t *indices = s->indices + (size_t)piece * BLOCK_ROWS;
    size_t end = kbi_piece(s->na, s->pieces, piece + 1);
    for (size_t q = kbi_piece(s->na, s->pieces, piece); q < end; q++) {
        kbi_region region;
        s->nearest[q] = (kbi_nearest){-1, -1, 0, 0};
        if (kbi_row_bytes_are_zero(s->a + q * s->row_bytes, s->row_bytes)) continue;
        if (s->region(s->context, q, &region)) search_region(s, q, &region, block, indices);
    }
}

bool kbi_candidates_search(kbi_candidate_search *s, kb_workspace *ws)
{
    s->pieces = kbi_min_i(kbi_parallel_threads(s->parallel), (int32_t)(s->na / 64 + 1));
    s->nearest = kbi_workspace_get(ws, s->na * sizeof *s->nearest);
    s->blocks = kbi_workspace_get(ws, (size_t)s->pieces * BLOCK_ROWS * s->row_bytes);
    s->indices = kbi_workspace_get(ws, (size_t)s->pieces * BLOCK_ROWS * sizeof *s->indices);
    if (!s->nearest || !s->blocks || !s->indices) return false;
    if (!kbi_grid_build(&s->grid, &s->keypoints->x, &s->keypoints->y, sizeof *s->keypoints, (int32_t)s->nb,
                        KEYPOINTS_PER_CELL, ws))
        return false;
    kbi_match_kernels_init(&s->kernels, kbi_cpu_flags());
    kbi_parallel_run(s->parallel, s->pieces, candidates_task, s);
    return true;
}

bool kbi_candidates_one_to_one(kbi_candidate_search *s, kb_workspace *ws)
{
    int32_t *owner = kbi_workspace_get(ws, s->nb * sizeof *owner);
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
