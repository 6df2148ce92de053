/* SPDX-License-Identifier: Apache-2.0 */
/* simd/tmpl_hamming.h without an instruction that counts bits.
 *
 * Bits are looked up: for a nibble q of the query there is a table of the 16 numbers popcount(q ^ n), and one shuffle
 * looks up the nibbles n of one row per byte of a register. There is a plane for each nibble of the rows, which
 * takes a shuffle and an addition for 32 pairs (16 with 128 bits). */
#ifndef KBI_TMPL_HAMMING_LOOKUP_H
#define KBI_TMPL_HAMMING_LOOKUP_H

#define MOST_GROUPS (FULL_VECS / 2) /* a group is the rows of two vecs, a row in every byte */
#define CHUNK       31              /* bytes of a row whose distance fits 8 bits */
#define UNROLL_KEYS                 /* which are made of sums in memory */

#define BITS(n)    (((n) & 1) + ((n) >> 1 & 1) + ((n) >> 2 & 1) + ((n) >> 3))
#define FOUR(q)    BITS(q), BITS((q) ^ 1), BITS((q) ^ 2), BITS((q) ^ 3)
#define SIXTEEN(q) FOUR(q), FOUR((q) ^ 4), FOUR((q) ^ 8), FOUR((q) ^ 12)
#if VEC_LANES == 8
#    define TABLE(q) {SIXTEEN(q)}
#else
#    define TABLE(q) {SIXTEEN(q), SIXTEEN(q)}
#endif
static const uint8_t tables[16][2 * VEC_LANES] __attribute__((aligned(2 * VEC_LANES))) = {
    TABLE(0), TABLE(1), TABLE(2),  TABLE(3),  TABLE(4),  TABLE(5),  TABLE(6),  TABLE(7),
    TABLE(8), TABLE(9), TABLE(10), TABLE(11), TABLE(12), TABLE(13), TABLE(14), TABLE(15)};

VEC_INLINE void store_planes_of_byte(vec *to, int groups, vec bytes)
{
    const vec nibble = v_set(0x0f0f);
    v_store(to, v_and(bytes, nibble));
    v_store(to + groups, v_and(v_shr(bytes, 4), nibble));
}

VEC_TARGET static void tile_transpose(hamming_tile *t, const uint8_t *b, int vecs)
{
    const vec low = v_set(255);
    int groups = vecs / 2;
    for (int g = 0; g < groups; g++) {
        const uint8_t *rows[2][VEC_LANES];
        for (size_t half = 0; half < 2; half++) tile_rows_at(t, b, (2 * (size_t)g + half) * VEC_LANES, rows[half]);
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

/* Distances in bytes [from, to) of the rows, at most CHUNK of them. */
VEC_INLINE void sum_chunk(const hamming_tile *t, const uint8_t *row, size_t from, size_t to, int groups, vec *out)
{
    vec sum[MOST_GROUPS];
    const vec *plane = t->planes + 2 * from * (size_t)groups;
    VEC_UNROLL
    for (int g = 0; g < groups; g++) sum[g] = v_zero();
    for (size_t i = from; i < to; i++) { /* regrouped, the sums would need more registers than there are */
        vec low = v_load(tables[row[i] & 15]), high = v_load(tables[row[i] >> 4]);
        VEC_UNROLL
        for (int g = 0; g < groups; g++) sum[g] = v_keep(v_add8(sum[g], v_lookup16(low, v_load(plane++))));
        VEC_UNROLL
        for (int g = 0; g < groups; g++) sum[g] = v_keep(v_add8(sum[g], v_lookup16(high, v_load(plane++))));
    }
    VEC_UNROLL
    for (int g = 0; g < groups; g++) out[g] = sum[g];
}

/* Distances to all rows of the tile, 16 bits each. */
VEC_INLINE void distances(const hamming_tile *t, const uint8_t *row, int vecs, vec *out)
{
    size_t from = 0;
    int groups = vecs / 2;
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

#endif
