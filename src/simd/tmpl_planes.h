/* The gradient planes of BAG with one keypoint per lane: the arithmetic of src/describe/planes.c. Template over
 * simd/vec.h.
 *
 * Of a gradient (gx, gy), scaled, let E, W, S, N be its parts towards +x, -x, +y, -y (one of each two is 0). An axis
 * plane is part - |other gradient|, not below 0. A diagonal plane is f(min of two parts) with f(m) = m +
 * floor((sqrt(2) - 1) m); f never falls, so it may be taken before the minimum, once for each part. Values above 255
 * saturate when planes are packed into bytes, which also commutes with the minimum. */
#ifndef KBI_TMPL_PLANES_H
#define KBI_TMPL_PLANES_H

#include "describe/describe.h"
#include "simd/vec.h"

#define PLANE_VECS                                                                                                     \
    (KBI_PATCH_BYTES / 2 + 3) /* two samples per vec, by v_pack8; 3 more so that planes do not share cache sets */

typedef vec plane_vecs[PLANE_VECS];

/* One row of samples, smoothed by 1-2-1 along x. */
VEC_TARGET static void smooth_row(const uint8_t *const patches[VEC_LANES], int y, vec *out)
{
    vec units[8], low = v_set(255), row[KB_PATCH_SIDE + 2];
    for (int x = 0; x < KB_PATCH_SIDE; x += 16) {
        v_load_rows(patches, (size_t)(y * KB_PATCH_SIDE + x), units);
        v_transpose8(units);
        for (int u = 0; u < 8; u++) {
            row[x + 2 * u + 1] = v_and(units[u], low);
            row[x + 2 * u + 2] = v_shr(units[u], 8);
        }
    }
    row[0] = row[1];
    row[KB_PATCH_SIDE + 1] = row[KB_PATCH_SIDE];
    vec before = v_add(row[0], row[1]);
    for (int x = 0; x < KB_PATCH_SIDE; x++) {
        vec after = v_add(row[x + 1], row[x + 2]);
        v_store(out + x, v_add(before, after));
        before = after;
    }
}

/* Smoothed samples in 1/16 gray level. In place, column by column: 1-2-1 is two sums of neighbours. */
VEC_TARGET static void smooth_patches(const uint8_t *const patches[VEC_LANES], vec *s)
{
    for (int y = 0; y < KB_PATCH_SIDE; y++) smooth_row(patches, y, s + y * KB_PATCH_SIDE);
    for (int x = 0; x < KB_PATCH_SIDE; x++) {
        vec here = v_load(s + x), before = v_add(here, here);
        for (int y = 0; y < KB_PATCH_SIDE; y++) {
            vec next = v_load(s + kbi_min_i(y + 1, KB_PATCH_SIDE - 1) * KB_PATCH_SIDE + x), after = v_add(here, next);
            v_store(s + y * KB_PATCH_SIDE + x, v_add(before, after));
            before = after;
            here = next;
        }
    }
}

/* Central differences at column x; `up` and `down` are the rows above and below, the same row at the border. */
VEC_INLINE void gradient_at(const vec *up, const vec *row, const vec *down, int x, vec *gx, vec *gy)
{
    *gx = v_sub(v_load(row + kbi_min_i(x + 1, KB_PATCH_SIDE - 1)), v_load(row + kbi_max_i(x - 1, 0)));
    *gy = v_sub(v_load(down + x), v_load(up + x));
}

/* The sum of the octagonal norms of all gradients of every patch. A norm is below 4080 sqrt(2), so eight fit 16 bits;
 * then even and odd lanes go on in 32. */
VEC_TARGET static void sum_norms(const vec *s, uint32_t sums[VEC_LANES])
{
    const vec root = v_set(KBI_ROOT_TWO_MINUS_1), low = v_shr32(v_set(-1), 16);
    vec even = v_zero(), odd = v_zero();
    for (int y = 0; y < KB_PATCH_SIDE; y++) {
        const vec *row = s + y * KB_PATCH_SIDE, *up = y ? row - KB_PATCH_SIDE : row;
        const vec *down = y < KB_PATCH_SIDE - 1 ? row + KB_PATCH_SIDE : row;
        for (int x = 0; x < KB_PATCH_SIDE; x += 8) {
            vec part = v_zero();
            for (int k = x; k < x + 8; k++) {
                vec gx, gy;
                gradient_at(up, row, down, k, &gx, &gy);
                gx = v_abs(gx);
                gy = v_abs(gy);
                part = v_add(part, v_add(v_max(gx, gy), v_high(v_min(gx, gy), root)));
            }
            even = v_add32(even, v_and(part, low));
            odd = v_add32(odd, v_shr32(part, 16));
        }
    }
    uint32_t halves[2][VEC_LANES / 2];
    v_storeu(halves[0], even);
    v_storeu(halves[1], odd);
    for (int k = 0; k < VEC_LANES; k++) sums[k] = halves[k & 1][k / 2];
}

typedef struct plane_sample {
    vec axis[4];                  /* E, S, W, N */
    vec east, south, west, north; /* f of the parts */
} plane_sample;

VEC_INLINE plane_sample split_gradient(vec gx, vec gy, vec gain)
{
    const vec root = v_set(KBI_ROOT_TWO_MINUS_1), zero = v_zero();
    vec ax = v_high(v_abs(gx), gain), ay = v_high(v_abs(gy), gain);
    vec left = v_gt(zero, gx), up = v_gt(zero, gy);
    vec along_x = v_subs(ax, ay), along_y = v_subs(ay, ax);
    vec fx = v_add(ax, v_high(ax, root)), fy = v_add(ay, v_high(ay, root));
    plane_sample p = {{v_andnot(left, along_x), v_andnot(up, along_y), v_and(left, along_x), v_and(up, along_y)},
                      v_andnot(left, fx),
                      v_andnot(up, fy),
                      v_and(left, fx),
                      v_and(up, fy)};
    return p;
}

/* Samples x and x + 1 of all eight planes. */
VEC_INLINE void store_planes(const plane_sample *a, const plane_sample *b, plane_vecs *plane, int at)
{
    vec east = v_pack8(a->east, b->east), south = v_pack8(a->south, b->south);
    vec west = v_pack8(a->west, b->west), north = v_pack8(a->north, b->north);
    for (int i = 0; i < 4; i++) v_store(&plane[2 * i][at], v_pack8(a->axis[i], b->axis[i]));
    v_store(&plane[1][at], v_min8(east, south));
    v_store(&plane[3][at], v_min8(south, west));
    v_store(&plane[5][at], v_min8(west, north));
    v_store(&plane[7][at], v_min8(north, east));
}

/* All eight planes; smooth holds KBI_PATCH_BYTES vecs. */
VEC_TARGET static void planes_of(const uint8_t *const patches[VEC_LANES], vec *smooth, plane_vecs plane[8])
{
    uint32_t sums[VEC_LANES];
    uint16_t gains[VEC_LANES];
    smooth_patches(patches, smooth);
    sum_norms(smooth, sums);
    for (int k = 0; k < VEC_LANES; k++) gains[k] = (uint16_t)kbi_plane_gain(sums[k]);
    const vec gain = v_loadu(gains);
    for (int y = 0; y < KB_PATCH_SIDE; y++) {
        const vec *row = smooth + y * KB_PATCH_SIDE, *up = y ? row - KB_PATCH_SIDE : row;
        const vec *down = y < KB_PATCH_SIDE - 1 ? row + KB_PATCH_SIDE : row;
        for (int x = 0; x < KB_PATCH_SIDE; x += 2) {
            vec gx, gy;
            gradient_at(up, row, down, x, &gx, &gy);
            plane_sample a = split_gradient(gx, gy, gain);
            gradient_at(up, row, down, x + 1, &gx, &gy);
            plane_sample b = split_gradient(gx, gy, gain);
            store_planes(&a, &b, plane, (y * KB_PATCH_SIDE + x) / 2);
        }
    }
}

#endif
