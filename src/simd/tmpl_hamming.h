/* SPDX-License-Identifier: Apache-2.0 */
/* Hamming distances, one row of b per lane: the results of kbi_hamming_block (src/match/kernels.h).
 * Template over simd/vec.h.
 *
 * A tile of b is transposed into planes once. A plane holds the same part of all rows of the tile, and every row of a
 * is compared with the planes. Planes and the counting of bits are defined in simd/tmpl_hamming_count.h for sets with
 * an instruction that counts bits, and in simd/tmpl_hamming_lookup.h for the others.
 *
 * Neighbours are kept as 16-bit keys as long as possible: distance x 64 + step, where the step is the vec of the tile
 * (on the side of a) or the query within 64 (on the side of b). The min key is the nearest row, and the
 * first of equally near ones. */
#ifndef KBI_TMPL_HAMMING_H
#define KBI_TMPL_HAMMING_H

#include "simd/kernels.h"
#include "simd/vec.h"
#include "match/hamming_rows.h"
#if defined(KBI_VEC_SSE4) || defined(KBI_VEC_NEON)
#    include "simd/tmpl_hamming_rows.h"
#endif

#define FULL_VECS    16     /* of a tile, one row of b per lane */
#define HALF_VECS    8      /* of a tile for longer rows, or for fewer */
#define PLANE_BYTES  32     /* of a row, with FULL_VECS; rows up to twice as long have HALF_VECS */
#define STEPS        64     /* in a key */
#define TILE_MIN_ROWS 16     /* rows of a from which on the transposition pays */
#define NO_KEY       0xffc0 /* the key of a lane beyond the rows of b; all above too */

#ifdef VEC_COUNTS_BITS
#    define UNIT_PLANES 1 /* vecs of planes that a 16-bit unit of VEC_LANES rows takes */
#else
#    define UNIT_PLANES 2
#endif

typedef struct hamming_tile {
    vec planes[UNIT_PLANES * PLANE_BYTES / 2 * FULL_VECS];
    vec steps[FULL_VECS]; /* of the keys on the side of a; -1 in lanes beyond the last row of b */
    vec near[FULL_VECS];  /* keys on the side of b */
    size_t rows, row_bytes;
} hamming_tile;

/* ---- the tile of b ---- */

/* VEC_LANES rows of the tile; places beyond the last row repeat it. */
VEC_INLINE void tile_rows_at(const hamming_tile *t, const uint8_t *b, size_t first, const uint8_t *rows[VEC_LANES])
{
    for (size_t k = 0; k < VEC_LANES; k++)
        rows[k] = b + (first + k < t->rows ? first + k : t->rows - 1) * t->row_bytes;
}

/* 16 bytes from `offset` on of VEC_LANES rows, transposed; only bytes of rows are read. */
VEC_INLINE void load_units(const uint8_t *const rows[VEC_LANES], size_t offset, size_t row_bytes, vec units[8])
{
    if (offset + 16 <= row_bytes) {
        v_load_rows(rows, offset, units);
    } else {
        uint8_t part[VEC_LANES][16] = {{0}};
        const uint8_t *parts[VEC_LANES];
        for (int k = 0; k < VEC_LANES; k++) {
            memcpy(part[k], rows[k] + offset, row_bytes - offset);
            parts[k] = part[k];
        }
        v_load_rows(parts, 0, units);
    }
    v_transpose8(units);
}

#ifdef VEC_COUNTS_BITS
#    include "simd/tmpl_hamming_count.h"
#else
#    include "simd/tmpl_hamming_lookup.h"
#endif

VEC_TARGET static void tile_begin(hamming_tile *t, const uint8_t *b, size_t rows, int vecs)
{
    t->rows = rows;
    tile_transpose(t, b, vecs);
    for (size_t v = 0; v < (size_t)vecs; v++) {
        uint16_t lanes[VEC_LANES];
        for (size_t k = 0; k < VEC_LANES; k++) lanes[k] = (uint16_t)(v * VEC_LANES + k < rows ? v : 0xffff);
        v_store(&t->steps[v], v_loadu(lanes));
    }
}

/* ---- one row of a ---- */

/* A key of the side of a as kbi_hamming_block wants it; first is the index of the tile's first row. */
VEC_INLINE uint32_t widen_key(uint32_t key, int lane, size_t first)
{
    if (key >= NO_KEY) return KBI_NO_NEIGHBOUR;
    return key / STEPS << 16 | (uint32_t)(first + key % STEPS * VEC_LANES + (uint32_t)lane);
}

/* Updates the two smallest keys of a row of a. */
VEC_INLINE void tile_take_nearest(vec nearest, vec next, size_t first, uint32_t *best, uint32_t *second)
{
    int lane, lane2;
    uint32_t key = v_least(nearest, &lane);
    uint32_t found = widen_key(key, lane, first);
    uint32_t key2 = v_least(v_replace(nearest, lane, next), &lane2);
    uint32_t found2 = widen_key(key2, lane2, first);
    uint32_t loser = found > *best ? found : *best; /* the second best is the best loser */
    *best = found < *best ? found : *best;
    loser = found2 < loser ? found2 : loser;
    *second = loser < *second ? loser : *second;
}

VEC_INLINE void tile_compare_row(hamming_tile *t, const uint8_t *row, uint32_t query, size_t first, int vecs,
                                 bool mutual, uint32_t *best, uint32_t *second)
{
    vec distance[FULL_VECS], nearest = v_set(-1), next = v_set(-1);
    distances(t, row, vecs, distance);
    UNROLL_KEYS
    for (int v = 0; v < vecs; v++) {
        vec high = v_shl(distance[v], 6), key = v_or(high, v_load(&t->steps[v]));
        if (mutual) v_store(&t->near[v], v_min(v_load(&t->near[v]), v_or(high, v_set((int)query))));
        next = v_min(next, v_max(key, nearest));
        nearest = v_min(nearest, key);
    }
    tile_take_nearest(nearest, next, first, best, second);
}

/* ---- all rows ---- */

/* Moves the keys on the side of b, gathered over the queries from `query` on, to the result. */
VEC_TARGET static void tile_take_columns(const hamming_tile *t, size_t query, uint32_t *best_b)
{
    for (size_t j = 0; j < t->rows; j += VEC_LANES) {
        uint16_t keys[VEC_LANES];
        v_storeu(keys, t->near[j / VEC_LANES]);
        for (size_t k = 0; k < VEC_LANES && j + k < t->rows; k++) {
            uint32_t key = (uint32_t)(keys[k] / STEPS) << 16 | (uint32_t)(query + keys[k] % STEPS);
            best_b[j + k] = key < best_b[j + k] ? key : best_b[j + k];
        }
    }
}

VEC_INLINE void tile_compare_rows(hamming_tile *t, const uint8_t *a, size_t na, size_t first, int vecs, uint32_t *best,
                                  uint32_t *second, uint32_t *best_b)
{
    for (size_t i = 0; i < na; i += STEPS) {
        size_t end = na - i < STEPS ? na : i + STEPS;
        for (int v = 0; v < vecs; v++) v_store(&t->near[v], v_set(-1));
        for (size_t k = i; k < end; k++)
            tile_compare_row(t, a + k * t->row_bytes, (uint32_t)(k - i), first, vecs, best_b != NULL, best + k,
                             second + k);
        if (best_b) tile_take_columns(t, i, best_b + first);
    }
}

VEC_TARGET static void tile_compare_half(hamming_tile *t, const uint8_t *a, size_t na, size_t first, uint32_t *best,
                                         uint32_t *second, uint32_t *best_b)
{
    tile_compare_rows(t, a, na, first, HALF_VECS, best, second, best_b);
}

VEC_TARGET static void tile_compare_full(hamming_tile *t, const uint8_t *a, size_t na, size_t first, uint32_t *best,
                                         uint32_t *second, uint32_t *best_b)
{
    tile_compare_rows(t, a, na, first, FULL_VECS, best, second, best_b);
}

/* Row by row, for few rows of a and for long ones. */
#ifdef KBI_X86
#    define hamming_few kbi_hamming_few_sse4
#elif defined(KBI_VEC_WASM)
#    define hamming_few kbi_hamming_block
#else
#    define hamming_few KERNEL(hamming_few)
#endif

static bool hamming_worth_tiles(size_t na, size_t row_bytes)
{
    return na >= TILE_MIN_ROWS && row_bytes <= 2 * PLANE_BYTES;
}

VEC_TARGET static void hamming_tiles(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                     uint32_t *best, uint32_t *second, uint32_t *best_b)
{
    hamming_tile t;
    const size_t half = HALF_VECS * VEC_LANES, max = row_bytes > PLANE_BYTES ? half : FULL_VECS * VEC_LANES;
    t.row_bytes = row_bytes;
    for (size_t i = 0; i < na; i++) best[i] = second[i] = KBI_NO_NEIGHBOUR;
    for (size_t first = 0; first < nb; first += max) {
        size_t rows = nb - first < max ? nb - first : max;
        tile_begin(&t, b + first * row_bytes, rows, rows > half ? FULL_VECS : HALF_VECS);
        (rows > half ? tile_compare_full : tile_compare_half)(&t, a, na, first, best, second, best_b);
    }
}

VEC_KERNEL void KERNEL(hamming)(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                uint32_t *best, uint32_t *second, uint32_t *best_b)
{
    (hamming_worth_tiles(na, row_bytes) ? hamming_tiles : hamming_few)(a, na, b, nb, row_bytes, best, second, best_b);
}

#endif
