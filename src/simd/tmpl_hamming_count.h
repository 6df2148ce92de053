/* SPDX-License-Identifier: Apache-2.0 */
/* simd/tmpl_hamming.h with an instruction that counts the bits of 16-bit lanes.
 *
 * There is a plane for each 16-bit unit of the rows, which takes an exclusive or, a count and an addition for
 * VEC_LANES pairs; the sums are distances already as wide as keys. With 512 bits and two such operations a cycle, 256
 * bits take 24 cycles for 32 pairs. */
#ifndef KBI_TMPL_HAMMING_COUNT_H
#define KBI_TMPL_HAMMING_COUNT_H

#define UNROLL_KEYS VEC_UNROLL /* sums are in registers when they become keys, and stay there */

VEC_TARGET static void tile_transpose(hamming_tile *t, const uint8_t *b, int vecs)
{
    for (int v = 0; v < vecs; v++) {
        const uint8_t *rows[VEC_LANES];
        tile_rows_at(t, b, (size_t)v * VEC_LANES, rows);
        for (size_t offset = 0; offset < t->row_bytes; offset += 16) {
            vec units[8];
            load_units(rows, offset, t->row_bytes, units);
            for (size_t u = 0; u < 8 && offset + 2 * u < t->row_bytes; u++)
                v_store(&t->planes[(offset / 2 + u) * (size_t)vecs + (size_t)v], units[u]);
        }
    }
}

/* A unit of a row that has `bytes` left. The upper half of a lone last byte is 0, as in load_units. */
VEC_INLINE vec spread_unit(const uint8_t *row, size_t bytes)
{
    uint16_t unit = row[0];
    if (bytes > 1) memcpy(&unit, row, sizeof unit);
    return v_set(unit);
}

/* Distances to all rows of the tile. */
VEC_INLINE void distances(const hamming_tile *t, const uint8_t *row, int vecs, vec *out)
{
    const vec *plane = t->planes;
    vec sum[FULL_VECS];
    VEC_UNROLL
    for (int v = 0; v < vecs; v++) sum[v] = v_zero();
    for (size_t i = 0; i < t->row_bytes; i += 2) {
        vec unit = spread_unit(row + i, t->row_bytes - i);
        VEC_UNROLL
        for (int v = 0; v < vecs; v++) sum[v] = v_add_count(sum[v], v_xor(unit, v_load(plane++)));
    }
    VEC_UNROLL
    for (int v = 0; v < vecs; v++) out[v] = sum[v];
}

#endif
