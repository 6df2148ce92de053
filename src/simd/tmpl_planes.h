/* The gradient planes of BAG with one keypoint per lane: the arithmetic of src/describe/planes.c. Template over
 * simd/vec.h.
 *
 * Two passes over the rows, since the gain needs the norms of all gradients: the first smooths and sums norms, the
 * second makes a row of all eight planes and adds it to their integral images while it is in registers, so that no
 * plane is ever in memory.
 *
 * Of a gradient (gx, gy), scaled, with ax and ay the magnitudes, the planes along x get ax - ay and those along y
 * ay - ax, not below 0, and the diagonal ones f(min(ax, ay)) with f(m) = m + floor((sqrt(2) - 1) m); signs choose which
 * of them. */
#ifndef KBI_TMPL_PLANES_H
#define KBI_TMPL_PLANES_H

#include "simd/tmpl_patches.h"

#define SMOOTH_WIDTH (KB_PATCH_SIDE + 1) /* the last sample twice; odd, so that rows do not share cache sets */

#define SMOOTH_VECS  (KB_PATCH_SIDE * SMOOTH_WIDTH)

/* ---- smoothing and norms ---- */

/* 1-2-1 is two sums of neighbours, along both axes. */
typedef struct smoother {
    vec sample, pair;        /* the last sample, and its sum with the one before */
    vec row[KB_PATCH_SIDE];  /* the last row, smoothed along x, */
    vec rows[KB_PATCH_SIDE]; /* and its sum with the one above */
} smoother;

/* Takes the next sample of a row; x is the column before it. */
VEC_INLINE void smooth_next(smoother *s, vec sample, int x, vec *out)
{
    vec pair = v_add(s->sample, sample), here = v_add(s->pair, pair), rows = v_add(here, v_load(&s->row[x]));
    v_store(out + x, v_add(v_load(&s->rows[x]), rows));
    v_store(&s->row[x], here);
    v_store(&s->rows[x], rows);
    s->sample = sample;
    s->pair = pair;
}

/* Takes row y; gives the smoothed row above it. */
VEC_TARGET static void smooth_row(smoother *s, const uint8_t *patches, int y, vec *out)
{
    for (int x = 0; x < KB_PATCH_SIDE; x += 16) {
        vec units[8];
        load_samples(patches, x, y, units);
        if (x == 0) {
            s->sample = first_sample(units[0]);
            s->pair = v_add(s->sample, s->sample);
        } else {
            smooth_next(s, first_sample(units[0]), x - 1, out);
        }
        smooth_next(s, second_sample(units[0]), x, out);
        VEC_UNROLL
        for (int u = 1; u < 8; u++) {
            smooth_next(s, first_sample(units[u]), x + 2 * u - 1, out);
            smooth_next(s, second_sample(units[u]), x + 2 * u, out);
        }
    }
    smooth_next(s, s->sample, KB_PATCH_SIDE - 1, out);
    v_store(out + KB_PATCH_SIDE, v_load(out + KB_PATCH_SIDE - 1));
}

typedef struct norm_sums {
    vec even, odd; /* lanes of 32 bits */
} norm_sums;

/* Adds the octagonal norms of a row of gradients. A norm is below 4080 sqrt(2), so eight fit 16 bits. */
VEC_TARGET static void add_norms(const vec *up, const vec *row, const vec *down, norm_sums *sums)
{
    const vec low = v_shr32(v_ones(), 16);
    vec before = v_load(row), here = before;
    for (int x = 0; x < KB_PATCH_SIDE; x += 8) {
        vec part = v_zero();
        for (int k = x; k < x + 8; k++) {
            vec next = v_load(row + k + 1);
            vec ax = v_abs(v_sub(next, before)), ay = v_abs(v_sub(v_load(down + k), v_load(up + k)));
            part = v_add(part, v_add(v_max(ax, ay), v_high_by(v_min(ax, ay), KBI_ROOT_TWO_MINUS_1)));
            before = here;
            here = next;
        }
        sums->even = v_add32(sums->even, v_and(part, low));
        sums->odd = v_add32(sums->odd, v_shr32(part, 16));
    }
}

VEC_INLINE vec gain_of(const norm_sums *sums)
{
    uint32_t halves[2][VEC_LANES / 2];
    uint16_t gains[VEC_LANES];
    v_storeu(halves[0], sums->even);
    v_storeu(halves[1], sums->odd);
    for (int k = 0; k < VEC_LANES; k++) gains[k] = (uint16_t)kbi_plane_gain(halves[k & 1][k / 2]);
    return v_loadu(gains);
}

/* Smoothed samples in 1/16 gray level; returns the gain of every patch. The first and the last row count twice, as
 * their own neighbours. */
VEC_TARGET static vec smooth_patches(const uint8_t *patches, vec *smooth)
{
    smoother s;
    norm_sums norms = {v_zero(), v_zero()};
    for (int x = 0; x < KB_PATCH_SIDE; x++) s.row[x] = s.rows[x] = v_zero();
    smooth_row(&s, patches, 0, smooth);
    for (int x = 0; x < KB_PATCH_SIDE; x++) s.rows[x] = v_add(s.rows[x], s.row[x]);
    for (int y = 1; y <= KB_PATCH_SIDE; y++) {
        vec *out = smooth + (y - 1) * SMOOTH_WIDTH; /* the norms are those of the row above it */
        smooth_row(&s, patches, kbi_min_i(y, KB_PATCH_SIDE - 1), out);
        if (y > 1) add_norms(y > 2 ? out - 2 * SMOOTH_WIDTH : smooth, out - SMOOTH_WIDTH, out, &norms);
    }
    smooth += (KB_PATCH_SIDE - 1) * SMOOTH_WIDTH;
    add_norms(smooth - SMOOTH_WIDTH, smooth, smooth, &norms);
    return gain_of(&norms);
}

/* ---- planes ---- */

/* Adds the planes of the gradient (gx, gy) to the sums of their row: E, SE, S, SW, W, NW, N, NE. */
VEC_INLINE void add_gradient(vec gx, vec gy, vec gain, vec run[8])
{
    const vec most = v_set(255);
    vec ax = v_high(v_abs(gx), gain), ay = v_high(v_abs(gy), gain), minor = v_min(ax, ay);
    vec along_x = v_min(v_subs(ax, ay), most), along_y = v_min(v_subs(ay, ax), most);
    vec diagonal = v_min(v_add(minor, v_high_by(minor, KBI_ROOT_TWO_MINUS_1)), most);
    vec_mask left = v_negative(gx), up = v_negative(gy);
    vec west = v_where(left, diagonal), east = v_sub(diagonal, west);
    run[0] = v_add_unless(run[0], left, along_x);
    run[1] = v_add_unless(run[1], up, east);
    run[2] = v_add_unless(run[2], up, along_y);
    run[3] = v_add_unless(run[3], up, west);
    run[4] = v_add_where(run[4], left, along_x);
    run[5] = v_add_where(run[5], up, west);
    run[6] = v_add_where(run[6], up, along_y);
    run[7] = v_add_where(run[7], up, east);
}

/* Row y of all eight planes onto their integral images. */
VEC_TARGET static void sum_planes_row(const vec *smooth, int y, vec gain, vec *sums)
{
    const vec *row = smooth + y * SMOOTH_WIDTH, *up = y ? row - SMOOTH_WIDTH : row;
    const vec *down = y < KB_PATCH_SIDE - 1 ? row + SMOOTH_WIDTH : row;
    vec run[8], before = v_load(row), here = before;
    for (int c = 0; c < 8; c++) run[c] = v_zero();
    for (int x = 0; x < KB_PATCH_SIDE; x++) {
        vec next = v_load(row + x + 1);
        add_gradient(v_sub(next, before), v_sub(v_load(down + x), v_load(up + x)), gain, run);
        VEC_UNROLL
        for (int c = 0; c < 8; c++) {
            vec *sum = sums + c * KBI_SUMS_WIDTH + x + 1;
            v_store(sum, v_add(v_load(sum), run[c]));
        }
        before = here;
        here = next;
    }
}

#endif
