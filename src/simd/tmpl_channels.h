/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient channels of BAG with one keypoint per lane: the arithmetic of src/describe/bag.c. Template over
 * simd/vec.h.
 *
 * A lane holds two neighbouring samples of a row, one in each byte, as transposing leaves them, so that differences
 * and minima are made of twice VEC_LANES bytes, and the sum of the two bytes is half a cell. Differences that end at
 * 0 tell both signs apart: of (gx, gy) east and west are the parts of gx, south and north the parts of gy, and with ax
 * and ay the magnitudes a channel along an axis gets one part less the other magnitude, a diagonal one the lesser of
 * two parts. No channel is ever in memory: its cells are added to the integral image while they are in registers. */
#ifndef KBI_TMPL_CHANNELS_H
#define KBI_TMPL_CHANNELS_H

#include "simd/tmpl_patches.h"

#define ROW_UNITS (KB_OCTAVE_SIDE / 2)

/* A row of samples, two in a unit, and the last sample once more. */
typedef vec sample_row[ROW_UNITS + 1];

/* Of the last rows, row y is at y modulo SAMPLE_ROWS. */
#define SAMPLE_ROWS 4

typedef struct norm_sums {
    vec even, odd; /* lanes of 32 bits */
} norm_sums;

VEC_TARGET static void load_sample_row(const uint8_t *patches, int y, vec *row)
{
    load_samples(patches, KB_OCTAVE_SIDE, 0, y, row);
    v_store(row + ROW_UNITS, second_sample(v_load(row + ROW_UNITS - 1)));
}

/* Adds two samples of one row, whose neighbours are given, to the sums of the row of cells: E, SE, S, SW, W, NW, N,
 * NE. */
VEC_INLINE void add_gradients(vec left, vec right, vec up, vec down, vec run[8])
{
    vec east = v_subs8(right, left), west = v_subs8(left, right), ax = v_or(east, west);
    vec south = v_subs8(down, up), north = v_subs8(up, down), ay = v_or(south, north);
    run[0] = v_add_pairs8(run[0], v_subs8(east, ay));
    run[1] = v_add_pairs8(run[1], v_min8(east, south));
    run[2] = v_add_pairs8(run[2], v_subs8(south, ax));
    run[3] = v_add_pairs8(run[3], v_min8(west, south));
    run[4] = v_add_pairs8(run[4], v_subs8(west, ay));
    run[5] = v_add_pairs8(run[5], v_min8(west, north));
    run[6] = v_add_pairs8(run[6], v_subs8(north, ax));
    run[7] = v_add_pairs8(run[7], v_min8(east, north));
}

/* The sample to the left of each of the first unit, which repeats the border; the sample to the right of each of unit
 * i. */
VEC_INLINE vec first_left(const vec *row) { return v_or(first_sample(v_load(row)), v_shl(v_load(row), 8)); }
VEC_INLINE vec right_of(const vec *row, int i)
{
    return v_or(v_shr(v_load(row + i), 8), v_shl(v_load(row + i + 1), 8));
}

/* Adds rows a and b, which lie between `up` and `down`, as a row of cells to the integral images of all channels. */
VEC_TARGET static void sum_cells_row(const vec *up, const vec *a, const vec *b, const vec *down, vec *sums,
                                     norm_sums *norms)
{
    vec run[8], left_a = first_left(a), left_b = first_left(b);
    VEC_PEEL
    for (int c = 0; c < 8; c++) run[c] = v_zero();
    for (int i = 0; i < ROW_UNITS; i++) {
        vec right_a = right_of(a, i), right_b = right_of(b, i);
        add_gradients(left_a, right_a, v_load(up + i), v_load(b + i), run);
        add_gradients(left_b, right_b, v_load(a + i), v_load(down + i), run);
        left_a = right_a;
        left_b = right_b;
        VEC_UNROLL
        for (int c = 0; c < 8; c++) {
            vec *sum = sums + c * KBI_OCTAVE_SUMS_WIDTH + i + 1;
            v_store(sum, v_add(v_load(sum), run[c]));
        }
    }
    /* The parts of a gradient add up to its larger component: at most 8 x 1020 for the whole row. */
    vec all = v_zero();
    VEC_PEEL
    for (int c = 0; c < 8; c++) all = v_add(all, run[c]);
    norms->even = v_add32(norms->even, v_and(all, v_shr32(v_ones(), 16)));
    norms->odd = v_add32(norms->odd, v_shr32(all, 16));
}

VEC_INLINE vec contrast_of(const norm_sums *norms)
{
    uint32_t halves[2][VEC_LANES / 2];
    int16_t contrasts[VEC_LANES];
    v_storeu(halves[0], norms->even);
    v_storeu(halves[1], norms->odd);
    for (int k = 0; k < VEC_LANES; k++) contrasts[k] = kbi_contrast(halves[k & 1][k / 2]);
    return v_loadu(contrasts);
}

#endif
