/* Nearest neighbours, in one pass over the pairs.
 *
 * The matrix of distances is walked once, in tiles that fit into the first-level cache. Every distance serves both
 * directions: it may be the best of its row (a's nearest b) and the best of its column (b's nearest a). Every
 * task takes the next rows of a, as long as there are any, and keeps its own best of every column; these are merged at
 * the end. Minima with ties to the lowest index do not depend on how they are split, so neither do the matches. */
#include <math.h>
#include <stdatomic.h>

#include "common/common.h"
#include "common/cpu.h"
#include "match/kernels.h"
#include "match/l2_block.h"

#define TILE_BYTES 32768 /* of rows of b, which every row of a in the tile meets */
#define TILE_ROWS 4096

typedef struct search {
    kbi_match_kernels kernels;
    const void *a, *b;
    size_t na, nb;
    size_t row_bytes;
    size_t tile_b;
    int32_t pieces;
    atomic_size_t next;     /* row of a that nobody has taken */
    bool mutual;
    bool squared;           /* the tables hold squared distances */
    kbi_neighbours of_a;     /* na entries */
    kbi_neighbours of_b;     /* pieces x nb entries, one table a piece; after merging the first is the result */
    uint32_t *keys; /* Hamming: of every piece best and second of a tile's rows of a, and best of its rows of b */
} search;

static kbi_neighbours neighbours_from(const kbi_neighbours *table, size_t first)
{
    return (kbi_neighbours){table->distance + first, table->second ? table->second + first : NULL, table->index + first};
}

static void neighbours_clear(const kbi_neighbours *table, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        table->distance[i] = INFINITY;
        table->index[i] = -1;
        if (table->second) table->second[i] = INFINITY;
    }
}

/* ---- the tiles of a piece ---- */

/* Takes a key of the kernel `hamming` over into a table; first is the index of the block's first row on the other
 * side. */
static void take_key(const kbi_neighbours *table, size_t i, uint32_t key, size_t first)
{
    float distance = (float)(key >> 16);
    if (key == KBI_NO_NEIGHBOUR || !(distance < table->distance[i])) return;
    if (table->second) table->second[i] = table->distance[i];
    table->distance[i] = distance;
    table->index[i] = (int32_t)(first + (key & 0xffff));
}

/* A distance that is not the nearest of its block may still be the second nearest of all. */
static void take_second(const kbi_neighbours *table, size_t i, uint32_t key)
{
    float distance = (float)(key >> 16);
    if (key != KBI_NO_NEIGHBOUR && distance < table->second[i]) table->second[i] = distance;
}

static void hamming_tile(const search *s, int32_t piece, size_t a0, size_t na, size_t b0, size_t nb,
                         const kbi_neighbours *of_a, const kbi_neighbours *of_b)
{
    uint32_t *best = s->keys + (size_t)piece * 3 * TILE_ROWS, *second = best + TILE_ROWS, *best_b = second + TILE_ROWS;
    for (size_t j = 0; j < nb; j++) best_b[j] = KBI_NO_NEIGHBOUR;
    s->kernels.hamming((const uint8_t *)s->a + a0 * s->row_bytes, na, (const uint8_t *)s->b + b0 * s->row_bytes, nb,
                       s->row_bytes, best, second, of_b ? best_b : NULL);
    for (size_t i = 0; i < na; i++) {
        float before = of_a->distance[i];
        take_key(of_a, i, best[i], b0);
        take_second(of_a, i, of_a->distance[i] < before ? second[i] : best[i]);
    }
    for (size_t j = 0; of_b && j < nb; j++) take_key(of_b, j, best_b[j], a0);
}

static void tile(const search *s, int32_t piece, size_t a0, size_t na, size_t b0, size_t nb,
                 const kbi_neighbours *table_b)
{
    kbi_neighbours of_a = neighbours_from(&s->of_a, a0), of_b;
    if (table_b) of_b = neighbours_from(table_b, b0);
    if (!s->squared) {
        hamming_tile(s, piece, a0, na, b0, nb, &of_a, table_b ? &of_b : NULL);
        return;
    }
    size_t values = s->row_bytes / sizeof(float);
    kbi_l2_block((const float *)s->a + a0 * values, na, (int32_t)a0, (const float *)s->b + b0 * values, nb, (int32_t)b0,
                values, &of_a, table_b ? &of_b : NULL);
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* Takes the next rows of a: *first is the first of them, the result how many they are; 0: none is left. Shares become
 * smaller and smaller, since threads may be unequally fast and should end together; but every share takes the rows of b
 * apart again, so none is very small. */
#define LEAST_SHARE 96
static size_t take_rows(search *s, size_t *first)
{
    size_t rows;
    *first = atomic_load_explicit(&s->next, memory_order_relaxed);
    do {
        size_t left = s->na - *first, share = s->pieces == 1 ? left : left / (size_t)s->pieces / 2;
        rows = min_size(left, min_size(share < LEAST_SHARE ? LEAST_SHARE : share, TILE_ROWS));
    } while (!atomic_compare_exchange_weak_explicit(&s->next, first, *first + rows, memory_order_relaxed,
                                                    memory_order_relaxed));
    return rows;
}

static void search_piece(void *context, int32_t piece)
{
    search *s = context;
    kbi_neighbours of_b;
    if (s->mutual) {
        of_b = neighbours_from(&s->of_b, (size_t)piece * s->nb);
        neighbours_clear(&of_b, s->nb);
    }
    for (size_t a0, rows; (rows = take_rows(s, &a0)) > 0;) {
        kbi_neighbours of_a = neighbours_from(&s->of_a, a0);
        neighbours_clear(&of_a, rows);
        for (size_t b0 = 0; b0 < s->nb; b0 += s->tile_b)
            tile(s, piece, a0, rows, b0, min_size(s->tile_b, s->nb - b0), s->mutual ? &of_b : NULL);
    }
}

/* ---- the whole search ---- */

static bool search_allocate(search *s, kb_workspace *workspace)
{
    size_t columns = s->mutual ? s->nb * (size_t)s->pieces : 0;
    size_t keys = s->squared ? 0 : (size_t)s->pieces * 3 * TILE_ROWS;
    if (s->na > SIZE_MAX / 64 || s->nb > SIZE_MAX / 64 / (size_t)s->pieces) return false; /* on 32-bit machines */
    float *rows = kbi_workspace_get(workspace, s->na * 12 + keys * 4);
    float *cols = kbi_workspace_get(workspace, columns * 8);
    if (!rows || !cols) return false;
    s->of_a = (kbi_neighbours){rows, rows + s->na, (int32_t *)(rows + 2 * s->na)};
    s->of_b = (kbi_neighbours){cols, NULL, (int32_t *)(cols + columns)};
    s->keys = (uint32_t *)(rows + 3 * s->na);
    return true;
}

static void merge_columns(search *s)
{
    for (int32_t piece = 1; piece < s->pieces; piece++) {
        kbi_neighbours more = neighbours_from(&s->of_b, (size_t)piece * s->nb);
        for (size_t j = 0; j < s->nb; j++) {
            bool nearer = more.distance[j] < s->of_b.distance[j];
            if (!nearer && (more.distance[j] > s->of_b.distance[j] || more.index[j] >= s->of_b.index[j])) continue;
            s->of_b.distance[j] = more.distance[j];
            s->of_b.index[j] = more.index[j];
        }
    }
}

static size_t collect(const search *s, const kb_match_options *o, kb_match *matches)
{
    size_t count = 0;
    for (size_t i = 0; i < s->na; i++) {
        int32_t j = s->of_a.index[i];
        if (j < 0 || (s->mutual && s->of_b.index[j] != (int32_t)i)) continue;
        float distance = s->of_a.distance[i], second = s->of_a.second[i];
        if (s->squared) distance = sqrtf(distance), second = sqrtf(second);
        if (o->max_ratio > 0 && !(distance < o->max_ratio * second)) continue;
        if (o->max_distance > 0 && !(distance <= o->max_distance)) continue;
        matches[count++] = (kb_match){(int32_t)i, j, distance, second};
    }
    return count;
}

static kb_status run_search(search *s, const kb_match_options *options, kb_workspace *workspace, kb_match *matches,
                            size_t *count)
{
    kb_match_options o;
    if (!count || !KBI_OPTIONS_READ(o, options)) return KB_E_ARGUMENT;
    *count = 0;
    if ((s->na && (!s->a || !matches)) || (s->nb && !s->b) || s->na > INT32_MAX || s->nb > INT32_MAX)
        return KB_E_ARGUMENT;
    if (!(o.max_ratio >= 0 && o.max_ratio <= 1) || !(o.max_distance >= 0)) return KB_E_ARGUMENT;
    if (s->na == 0 || s->nb == 0) return KB_OK;

    kbi_match_kernels_init(&s->kernels, kbi_cpu_flags());
    s->mutual = !o.one_way;
    s->pieces = (int32_t)min_size((size_t)kbi_parallel_threads(o.parallel), s->na);
    atomic_init(&s->next, 0);
    s->tile_b = (size_t)kbi_clamp_i((int32_t)(TILE_BYTES / s->row_bytes), 16, TILE_ROWS);
    kb_workspace local, *ws = kbi_workspace_or(workspace, &local);
    size_t mark = kbi_workspace_mark(ws);
    bool enough = search_allocate(s, ws);
    if (enough) {
        kbi_parallel_run(o.parallel, s->pieces, search_piece, s);
        if (s->mutual) merge_columns(s);
        *count = collect(s, &o, matches);
    }
    kbi_workspace_rewind(ws, mark);
    kbi_workspace_release(&local);
    return enough ? KB_OK : KB_E_MEMORY;
}

kb_status kb_match_hamming(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                           const kb_match_options *options, kb_workspace *workspace, kb_match *matches, size_t *count)
{
    if (row_bytes < 1 || row_bytes > 4096) return KB_E_ARGUMENT;
    search s = {.a = a, .b = b, .na = na, .nb = nb, .row_bytes = row_bytes, .squared = false};
    return run_search(&s, options, workspace, matches, count);
}

kb_status kb_match_float(const float *a, size_t na, const float *b, size_t nb, size_t values,
                         const kb_match_options *options, kb_workspace *workspace, kb_match *matches, size_t *count)
{
    if (values < 1 || values > 4096) return KB_E_ARGUMENT;
    search s = {.a = a, .b = b, .na = na, .nb = nb, .row_bytes = values * sizeof(float), .squared = true};
    return run_search(&s, options, workspace, matches, count);
}
