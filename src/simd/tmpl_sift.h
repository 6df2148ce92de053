/* SPDX-License-Identifier: Apache-2.0 */
/* SIFT histograms with one keypoint per lane: the arithmetic of src/describe/sift_patch.c. Template over simd/vec.h.
 *
 * The blur's taps are products of (1 1) and (1 1 1), so every axis is a chain of sums of neighbours that runs along
 * it in registers: no multiplication, one load and one store per sample. Since filters and borders are symmetric,
 * feeding the chain mirrored samples gives the mirrored results that the next filter of the chain wants. */
#ifndef KBI_TMPL_SIFT_H
#define KBI_TMPL_SIFT_H

#include "simd/tmpl_patches.h"

#define SIFT_STRIDE       (KB_PATCH_SIDE + 1) /* odd, so that the samples of a column do not share cache sets */
#define SIFT_REACH        4
#define SIFT_BINS         4
#define SIFT_ORIENTATIONS 8
#define SIFT_INNER        (KB_PATCH_SIDE - 2) /* samples with a central difference, along an axis */
#define SIFT_PAIRS        (SIFT_INNER / 2)

typedef struct sift_scratch {
    vec blurred[KB_PATCH_SIDE * SIFT_STRIDE];
    vec_pair planes[SIFT_ORIENTATIONS][SIFT_PAIRS]; /* of one row, two neighbours in a pair */
    vec rows[2][SIFT_BINS * SIFT_ORIENTATIONS];     /* two rows, pooled along x */
    vec_pair histogram[KB_SIFT_VALUES];
    spare_patches spare;
} sift_scratch;
KBI_STATIC_ASSERT(kbi_sift_scratch_fits, sizeof(sift_scratch) <= KBI_KERNEL_SCRATCH);

/* ---- blur ---- */

/* What the chains remember, and rows and ends that they take, stay in registers when no round of their loops is left.
 * Vectors of 8 lanes are for processors and downloads where the size of code matters more. */
#if VEC_LANES > 8
#    define CHAIN_UNROLL      VEC_UNROLL
#    define CHAIN_UNROLL_LONG VEC_UNROLL
#else
#    define CHAIN_UNROLL
#    define CHAIN_UNROLL_LONG VEC_UNROLL_4
#endif

typedef struct sift_chain {
    vec pair[4], triple[2][2]; /* what each link remembers */
} sift_chain;

VEC_INLINE sift_chain chain_start(void)
{
    vec z = v_zero();
    return (sift_chain){{z, z, z, z}, {{z, z}, {z, z}}};
}

/* The next sample through (1 1)^4 = 1 4 6 4 1. */
VEC_INLINE vec chain_pairs(sift_chain *c, vec v)
{
    VEC_PEEL
    for (int k = 0; k < 4; k++) {
        vec sum = v_add(c->pair[k], v);
        c->pair[k] = v;
        v = sum;
    }
    return v;
}

/* The next sample through (1 1 1)^2 = 1 2 3 2 1. */
VEC_INLINE vec chain_triples(sift_chain *c, vec v)
{
    VEC_PEEL
    for (int k = 0; k < 2; k++) {
        vec sum = v_add(v_add(c->triple[k][0], c->triple[k][1]), v);
        c->triple[k][0] = c->triple[k][1];
        c->triple[k][1] = v;
        v = sum;
    }
    return v;
}

/* Row y of the patches, blurred along x: the sum of the taps is 144, a ninth of it is 16 times the gray level. */
VEC_TARGET static void blur_row(const uint8_t *patches, int y, vec *out)
{
    vec units[8], line[KB_PATCH_SIDE + 2 * SIFT_REACH], *row = line + SIFT_REACH;
    const vec ninth = v_set(7282);
    CHAIN_UNROLL
    for (int x = 0; x < KB_PATCH_SIDE; x += 16) {
        load_samples(patches, KB_PATCH_SIDE, x, y, units);
        CHAIN_UNROLL
        for (int u = 0; u < 8; u++) {
            row[x + 2 * u] = first_sample(units[u]);
            row[x + 2 * u + 1] = second_sample(units[u]);
        }
    }
    CHAIN_UNROLL
    for (int k = 1; k <= SIFT_REACH; k++) {
        row[-k] = row[k];
        row[KB_PATCH_SIDE - 1 + k] = row[KB_PATCH_SIDE - 1 - k];
    }
    sift_chain c = chain_start();
    CHAIN_UNROLL
    for (int i = 0; i < 2 * SIFT_REACH; i++) chain_triples(&c, chain_pairs(&c, line[i]));
    CHAIN_UNROLL_LONG
    for (int x = 0; x < KB_PATCH_SIDE; x++)
        v_store(out + x, v_high(chain_triples(&c, chain_pairs(&c, row[x + SIFT_REACH])), ninth));
}

VEC_INLINE vec chain_column(sift_chain *c, vec v)
{
    v = v_shr_round(chain_pairs(c, v), 4);
    return v_high(chain_triples(c, v), v_set(3641)); /* / 18 */
}

/* Column by column, in place; the mirrored end is fetched before it is overwritten. */
VEC_TARGET static void blur_column(vec *column)
{
    vec end[SIFT_REACH];
    CHAIN_UNROLL
    for (int k = 0; k < SIFT_REACH; k++) end[k] = v_load(column + (KB_PATCH_SIDE - 2 - k) * SIFT_STRIDE);
    sift_chain c = chain_start();
    CHAIN_UNROLL
    for (int y = SIFT_REACH; y > 0; y--) chain_column(&c, v_load(column + y * SIFT_STRIDE));
    CHAIN_UNROLL
    for (int y = 0; y < SIFT_REACH; y++) chain_column(&c, v_load(column + y * SIFT_STRIDE));
    CHAIN_UNROLL_LONG
    for (int y = SIFT_REACH; y < KB_PATCH_SIDE; y++)
        v_store(column + (y - SIFT_REACH) * SIFT_STRIDE, chain_column(&c, v_load(column + y * SIFT_STRIDE)));
    CHAIN_UNROLL
    for (int k = 0; k < SIFT_REACH; k++)
        v_store(column + (KB_PATCH_SIDE - SIFT_REACH + k) * SIFT_STRIDE, chain_column(&c, end[k]));
}

/* ---- orientation ---- */

/* Shares a gradient between an axis and a diagonal, as sift_split() of src/describe/sift_patch.c does; other planes
 * get 0. */
VEC_INLINE void split_orientation(vec gx, vec gy, vec planes[SIFT_ORIENTATIONS])
{
    vec ax = v_abs(gx), ay = v_abs(gy), major = v_max_s(ax, ay), minor = v_min_s(ax, ay), flatter = v_sub(ax, ay);
    vec rest = v_abs(flatter);
    vec steep = v_sub(v_mul_q15(minor, v_set(16757)), v_mul_q15(major, v_set(3384)));
    vec diagonal = v_add(minor, v_max_s(v_mul_q15(minor, v_set(10165)), steep));
    vec flat = v_add(v_mul_q15(major, v_set(154)), v_mul_q15(minor, v_set(4392)));
    vec axis = v_sub(rest, v_min_s(flat, v_mul_q15(rest, v_set(2499))));
    vec left = v_sar(gx, 15), up = v_sar(gy, 15), vertical = v_sar(flatter, 15);
    vec axis_x = v_andnot(vertical, axis), axis_y = v_and(vertical, axis);
    vec right_part = v_andnot(left, diagonal), left_part = v_and(left, diagonal);
    planes[0] = v_andnot(left, axis_x);
    planes[1] = v_andnot(up, right_part);
    planes[2] = v_andnot(up, axis_y);
    planes[3] = v_andnot(up, left_part);
    planes[4] = v_and(left, axis_x);
    planes[5] = v_and(up, left_part);
    planes[6] = v_and(up, axis_y);
    planes[7] = v_and(up, right_part);
}

/* Neighbours are brought together before they are shared, which is eight times cheaper than afterwards. */
VEC_TARGET static void split_row(const vec *blurred, int y, vec_pair planes[SIFT_ORIENTATIONS][SIFT_PAIRS])
{
    const vec *row = blurred + y * SIFT_STRIDE + 1, *above = row - SIFT_STRIDE, *below = row + SIFT_STRIDE;
    for (int p = 0; p < SIFT_PAIRS; p++, row += 2, above += 2, below += 2) {
        vec_pair gx = v_pair(v_sub(v_load(row + 1), v_load(row - 1)), v_sub(v_load(row + 2), v_load(row)));
        vec_pair gy = v_pair(v_sub(v_load(above), v_load(below)), v_sub(v_load(above + 1), v_load(below + 1)));
        vec low[SIFT_ORIENTATIONS], high[SIFT_ORIENTATIONS];
        split_orientation(gx.low, gy.low, low);
        split_orientation(gx.high, gy.high, high);
        VEC_UNROLL
        for (int o = 0; o < SIFT_ORIENTATIONS; o++) planes[o][p] = (vec_pair){low[o], high[o]};
    }
}

/* ---- bins ---- Along an axis the samples 1..30 are taken in pairs, and a pair concerns at most two bins: pairs
 * 0-1 bin 0, 2-5 bins 0 and 1, 6-9 bins 1 and 2, 10-13 bins 2 and 3, 14 bin 3. */
static const uint8_t sift_segment[SIFT_BINS + 2] = {0, 2, 6, 10, 14, SIFT_PAIRS};

/* Of every bin the weights of samples 2p + 1 and 2p + 2; none for bins -1 and 4, which are the first and the last. */
typedef struct sift_weights {
    int16_t of[SIFT_BINS + 2][SIFT_PAIRS][2];
} sift_weights;

static void fill_weights(sift_weights *w)
{
    memset(w, 0, sizeof *w);
    for (int c = 0; c < SIFT_BINS; c++)
        for (int x = 0; x < SIFT_INNER; x++) w->of[c + 1][x / 2][x % 2] = kbi_sift_pool[c][x + 1];
}

/* One plane of one row to four sums, divided by 64. */
VEC_TARGET static void pool_row(const vec_pair plane[SIFT_PAIRS], const sift_weights *w, vec *out)
{
    vec_pair leaving = {v_zero(), v_zero()};
    VEC_PEEL
    for (int segment = 0; segment <= SIFT_BINS; segment++) {
        vec_pair entering = {v_zero(), v_zero()};
#ifdef KBI_VEC_AVX512 /* others have too few registers */
        VEC_PEEL
#endif
        for (int p = sift_segment[segment]; p < sift_segment[segment + 1]; p++) {
            if (segment > 0) v_madd(&leaving, plane[p], w->of[segment][p]); /* bins -1 and 4 are none */
            if (segment < SIFT_BINS) v_madd(&entering, plane[p], w->of[segment + 1][p]);
        }
        if (segment > 0) v_store(out + (segment - 1) * SIFT_ORIENTATIONS, v_narrow_shr6(leaving));
        leaving = entering;
    }
}

/* Two rows, pooled along x, to the bins that they reach along y. */
VEC_TARGET static void pool_column(vec rows[2][SIFT_BINS * SIFT_ORIENTATIONS], int pair, const sift_weights *w,
                                   vec_pair *histogram)
{
    int segment = 0;
    while (pair >= sift_segment[segment + 1]) segment++;
    int from = kbi_max_i(segment - 1, 0), to = kbi_min_i(segment, SIFT_BINS - 1);
    for (int i = 0; i < SIFT_BINS * SIFT_ORIENTATIONS; i++) {
        vec_pair two = v_pair(v_load(&rows[0][i]), v_load(&rows[1][i]));
        for (int r = from; r <= to; r++)
            v_madd(&histogram[r * SIFT_BINS * SIFT_ORIENTATIONS + i], two, w->of[r + 1][pair]);
    }
}

VEC_TARGET static void sift_group(const uint8_t *patches, uint32_t *const out[VEC_LANES],
                                  const sift_weights *w, sift_scratch *s)
{
    for (int y = 0; y < KB_PATCH_SIDE; y++) blur_row(patches, y, s->blurred + y * SIFT_STRIDE);
    for (int x = 0; x < KB_PATCH_SIDE; x++) blur_column(s->blurred + x);
    const vec zero = v_keep(v_zero()); /* as in tmpl_boxes.h: not a string instruction */
    for (int i = 0; i < KB_SIFT_VALUES; i++) s->histogram[i] = (vec_pair){zero, zero};
    for (int pair = 0; pair < SIFT_PAIRS; pair++) {
        for (int k = 0; k < 2; k++) {
            split_row(s->blurred, 2 * pair + 1 + k, s->planes);
            for (int o = 0; o < SIFT_ORIENTATIONS; o++) pool_row(s->planes[o], w, &s->rows[k][o]);
        }
        pool_column(s->rows, pair, w, s->histogram);
    }
    for (int i = 0; i < KB_SIFT_VALUES; i += 4) v_store_rows32(&s->histogram[i], out, (size_t)i);
}

VEC_KERNEL void KERNEL(sift)(const uint8_t *patches, int32_t n, uint32_t *histograms, void *scratch)
{
    sift_scratch *s = scratch;
    sift_weights weights;
    fill_weights(&weights);
    for (int32_t i = 0; i < n; i += VEC_LANES, patches += VEC_LANES * KBI_PATCH_BYTES) {
        uint32_t *out[VEC_LANES], spare[KB_SIFT_VALUES];
        for (int32_t k = 0; k < VEC_LANES; k++)
            out[k] = i + k < n ? histograms + (size_t)(i + k) * KB_SIFT_VALUES : spare;
        sift_group(whole_group(patches, KBI_PATCH_BYTES, n - i, s->spare), out, &weights, s);
    }
}

#endif
