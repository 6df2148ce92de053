/* Hamming distances with a row of b in every byte: the results of kb_hamming_block (src/match/hamming_block.h).
 * Template over kernels/vec.h.
 *
 * Bits are not counted but looked up: for a nibble q of the query there is a table of the 16 numbers popcount(q ^ n),
 * and one shuffle looks up the nibbles n of as many rows as a register has bytes. A tile of b is taken apart into
 * planes once, one for each nibble of the rows, and every row of a runs over it: a shuffle and an addition a nibble
 * for 32 pairs (16 with 128 bits).
 *
 * Neighbours are kept as 16-bit keys as long as possible: distance x 64 + step, where the step is the vec of the tile
 * (on the side of a) or the query within 64 (on the side of b). The least key is the nearest, of equal ones the
 * first. */
#ifndef KB_LANES_HAMMING_H
#define KB_LANES_HAMMING_H

#include "kernels/kernels.h"
#include "kernels/vec.h"
#include "match/hamming_rows.h"

#define GROUP        (2 * VEC_LANES) /* rows of b in a vec of bytes */
#define MOST_GROUPS  8               /* groups of a tile, whose sums stay in registers */
#define PLANE_BYTES  32              /* of a row, with MOST_GROUPS; rows up to twice as long have half as many groups */
#define CHUNK        31              /* bytes of a row whose distance fits 8 bits */
#define STEPS        64              /* in a key */
#define WORTH_PLANES 16              /* rows of a from which on taking b apart pays */
#define NO_KEY       0xffc0          /* that of a lane beyond the rows of b, and all above */

typedef struct hamming_tile {
    vec tables[16];
    vec planes[2 * PLANE_BYTES * MOST_GROUPS];
    vec beyond[2 * MOST_GROUPS]; /* -1 in lanes beyond the last row of b */
    vec near[2 * MOST_GROUPS];   /* keys on the side of b */
    size_t rows, row_bytes;
} hamming_tile;

/* ---- the tile of b ---- */

/* 16 bytes from `offset` on of VEC_LANES rows, turned around; only bytes of rows are read. */
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

VEC_INLINE void store_planes_of_byte(vec *to, int groups, vec bytes)
{
    const vec nibble = v_set(0x0f0f);
    v_store(to, v_and(bytes, nibble));
    v_store(to + groups, v_and(v_shr(bytes, 4), nibble));
}

VEC_TARGET static void take_apart(hamming_tile *t, const uint8_t *b, int groups)
{
    const vec low = v_set(255);
    for (int g = 0; g < groups; g++) {
        const uint8_t *rows[2][VEC_LANES];
        for (size_t k = 0; k < GROUP; k++) { /* places beyond the last row repeat it */
            size_t j = (size_t)g * GROUP + k;
            rows[k / VEC_LANES][k % VEC_LANES] = b + (j < t->rows ? j : t->rows - 1) * t->row_bytes;
        }
        for (size_t offset = 0; offset < t->row_bytes; offset += 16) {
            vec first[8], second[8];
            load_units(rows[0], offset, t->row_bytes, first);
            load_units(rows[1], offset, t->row_bytes, second);
            for (size_t u = 0; u < 8 && offset + 2 * u < t->row_bytes; u++) {
                vec *to = t->planes + 2 * (offset + 2 * u) * (size_t)groups + g;
                store_planes_of_byte(to, groups, v_pack8(v_and(first[u], low), v_and(second[u], low)));
                if (offset + 2 * u + 1 < t->row_bytes)
                    store_planes_of_byte(to + 2 * groups, groups, v_pack8(v_shr(first[u], 8), v_shr(second[u], 8)));
            }
        }
    }
}

VEC_TARGET static void start_tile(hamming_tile *t, const uint8_t *b, size_t rows, int groups)
{
    t->rows = rows;
    take_apart(t, b, groups);
    for (size_t v = 0; v < 2 * (size_t)groups; v++) {
        uint16_t lanes[VEC_LANES];
        for (size_t k = 0; k < VEC_LANES; k++) lanes[k] = v * VEC_LANES + k < rows ? 0 : 0xffff;
        v_store(&t->beyond[v], v_loadu(lanes));
    }
}

VEC_TARGET static void fill_tables(hamming_tile *t)
{
    for (int q = 0; q < 16; q++) {
        uint8_t table[16];
        for (int n = 0; n < 16; n++) table[n] = (uint8_t)count_bits((uint64_t)(q ^ n), false);
        v_store(&t->tables[q], v_each16(table));
    }
}

/* ---- one row of a ---- */

/* Distances in bytes [from, to) of the rows, at most CHUNK of them. */
VEC_INLINE void sum_chunk(const hamming_tile *t, const uint8_t *row, size_t from, size_t to, int groups, vec *out)
{
    vec sum[MOST_GROUPS];
    const vec *plane = t->planes + 2 * from * (size_t)groups;
    VEC_UNROLL
    for (int g = 0; g < groups; g++) sum[g] = v_zero();
    for (size_t i = from; i < to; i++) {
        vec low = v_load(&t->tables[row[i] & 15]), high = v_load(&t->tables[row[i] >> 4]);
        VEC_UNROLL
        for (int g = 0; g < groups; g++) sum[g] = v_keep(v_add8(sum[g], v_lookup16(low, v_load(plane++))));
        VEC_UNROLL
        for (int g = 0; g < groups; g++) sum[g] = v_keep(v_add8(sum[g], v_lookup16(high, v_load(plane++))));
    }
    VEC_UNROLL
    for (int g = 0; g < groups; g++) out[g] = sum[g];
}

/* Distances to all rows of the tile, 16 bits each. */
VEC_INLINE void distances(const hamming_tile *t, const uint8_t *row, int groups, vec *out)
{
    size_t from = 0;
    do {
        size_t end = from + 2 * CHUNK < t->row_bytes ? from + 2 * CHUNK : t->row_bytes,
               middle = from + (end - from) / 2;
        vec sum[2][MOST_GROUPS];
        sum_chunk(t, row, from, middle, groups, sum[0]);
        sum_chunk(t, row, middle, end, groups, sum[1]);
        for (int g = 0; g < groups; g++) {
            vec first, second;
            v_sum8(sum[0][g], sum[1][g], &first, &second);
            out[2 * g] = from ? v_add(out[2 * g], first) : first;
            out[2 * g + 1] = from ? v_add(out[2 * g + 1], second) : second;
        }
    } while ((from += 2 * CHUNK) < t->row_bytes);
}

/* A key of the side of a as kb_hamming_block wants it; first is the index of the tile's first row. */
VEC_INLINE uint32_t widen_key(uint32_t key, int lane, size_t first)
{
    if (key >= NO_KEY) return KB_NO_NEIGHBOUR;
    return key / STEPS << 16 | (uint32_t)(first + key % STEPS * VEC_LANES + (uint32_t)lane);
}

/* Brings the least two keys of a row of a up to date. */
VEC_INLINE void take_nearest(vec nearest, vec next, size_t first, uint32_t *best, uint32_t *second)
{
    int lane, lane2;
    uint32_t key = v_least(nearest, &lane);
    uint32_t found = widen_key(key, lane, first);
    uint32_t key2 = v_least(v_replace(nearest, lane, next), &lane2);
    uint32_t found2 = widen_key(key2, lane2, first);
    uint32_t loser = found > *best ? found : *best; /* the second best is the best of those that lost */
    *best = found < *best ? found : *best;
    loser = found2 < loser ? found2 : loser;
    *second = loser < *second ? loser : *second;
}

VEC_INLINE void meet_tile(hamming_tile *t, const uint8_t *row, uint32_t query, size_t first, int groups, bool mutual,
                          uint32_t *best, uint32_t *second)
{
    vec distance[2 * MOST_GROUPS], nearest = v_set(-1), next = v_set(-1), step = v_zero();
    distances(t, row, groups, distance);
    for (int v = 0; v < 2 * groups; v++) {
        vec key = v_or(v_shl(distance[v], 6), v_load(&t->beyond[v]));
        if (mutual) v_store(&t->near[v], v_min(v_load(&t->near[v]), v_or(key, v_set((int)query))));
        key = v_or(key, step);
        next = v_min(next, v_max(key, nearest));
        nearest = v_min(nearest, key);
        step = v_add(step, v_set(1));
    }
    take_nearest(nearest, next, first, best, second);
}

/* ---- all rows ---- */

/* Moves the keys on the side of b, gathered over the queries from `query` on, to the result. */
VEC_TARGET static void take_columns(const hamming_tile *t, size_t query, uint32_t *best_b)
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

VEC_INLINE void meet_all(hamming_tile *t, const uint8_t *a, size_t na, size_t first, int groups, uint32_t *best,
                         uint32_t *second, uint32_t *best_b)
{
    for (size_t i = 0; i < na; i += STEPS) {
        size_t end = na - i < STEPS ? na : i + STEPS;
        for (int v = 0; v < 2 * groups; v++) v_store(&t->near[v], v_set(-1));
        for (size_t k = i; k < end; k++)
            meet_tile(t, a + k * t->row_bytes, (uint32_t)(k - i), first, groups, best_b != NULL, best + k, second + k);
        if (best_b) take_columns(t, i, best_b + first);
    }
}

VEC_TARGET static void meet_long(hamming_tile *t, const uint8_t *a, size_t na, size_t first, uint32_t *best,
                                 uint32_t *second, uint32_t *best_b)
{
    meet_all(t, a, na, first, MOST_GROUPS / 2, best, second, best_b);
}

VEC_TARGET static void meet_short(hamming_tile *t, const uint8_t *a, size_t na, size_t first, uint32_t *best,
                                  uint32_t *second, uint32_t *best_b)
{
    meet_all(t, a, na, first, MOST_GROUPS, best, second, best_b);
}

VEC_TARGET static void hamming_lanes(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, size_t row_bytes,
                                     uint32_t *best, uint32_t *second, uint32_t *best_b)
{
    if (na < WORTH_PLANES || row_bytes > 2 * PLANE_BYTES) {
        hamming_rows(a, na, b, nb, row_bytes, best, second, best_b, true);
        return;
    }
    hamming_tile t;
    int groups = row_bytes > PLANE_BYTES ? MOST_GROUPS / 2 : MOST_GROUPS;
    size_t tile_rows = (size_t)groups * GROUP;
    t.row_bytes = row_bytes;
    fill_tables(&t);
    for (size_t i = 0; i < na; i++) best[i] = second[i] = KB_NO_NEIGHBOUR;
    for (size_t first = 0; first < nb; first += tile_rows) {
        start_tile(&t, b + first * row_bytes, nb - first < tile_rows ? nb - first : tile_rows, groups);
        (groups == MOST_GROUPS ? meet_short : meet_long)(&t, a, na, first, best, second, best_b);
    }
}

#endif
