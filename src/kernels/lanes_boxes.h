/* BAD and BAG with a keypoint in every lane: the arithmetic of src/describe/boxes.c for VEC_LANES patches at once.
 *
 * The patches are turned around, so that the sample (x, y) of all of them is one vec. An integral image is then two
 * additions a sample, and a box four loads, wherever it lies and whatever the patches show. Template over kernels/vec.h. */
#ifndef KB_LANES_BOXES_H
#define KB_LANES_BOXES_H

#include "kernels/lanes_planes.h"

#define SUMS_SIDE (KB_PATCH_SIDE + 1)

typedef struct boxes_scratch {
    vec sums[SUMS_SIDE * SUMS_SIDE]; /* integral image of one plane; before that, the smoothed patches */
    vec means[2 * KB_MAX_BITS];
    plane_vecs plane[8];
} boxes_scratch;

/* Row y of the integral image out of a function that gives samples x and x + 1 of the plane. */
VEC_INLINE void sum_two(vec *to, const vec *above, vec *run, vec first, vec second)
{
    *run = v_add(*run, first);
    v_store(to, v_add(*run, v_load(above)));
    *run = v_add(*run, second);
    v_store(to + 1, v_add(*run, v_load(above + 1)));
}

VEC_TARGET static void integral_of_gray(const uint8_t *const patches[VEC_LANES], vec *sums)
{
    const vec low = v_set(255);
    for (int y = 0; y < KB_PATCH_SIDE; y++) {
        vec *to = sums + (y + 1) * SUMS_SIDE, run = v_zero(), units[8];
        v_store(to, v_zero());
        for (int x = 0; x < KB_PATCH_SIDE; x += 16) {
            v_load_rows(patches, (size_t)(y * KB_PATCH_SIDE + x), units);
            v_transpose8(units);
            for (int u = 0; u < 8; u++) {
                vec *at = to + x + 2 * u + 1;
                sum_two(at, at - SUMS_SIDE, &run, v_and(units[u], low), v_shr(units[u], 8));
            }
        }
    }
}

VEC_TARGET static void integral_of_plane(const vec *plane, vec *sums)
{
    for (int y = 0; y < KB_PATCH_SIDE; y++) {
        vec *to = sums + (y + 1) * SUMS_SIDE, run = v_zero();
        v_store(to, v_zero());
        for (int x = 0; x < KB_PATCH_SIDE; x += 2) {
            vec two = v_load(plane++);
            sum_two(to + x + 1, to + x + 1 - SUMS_SIDE, &run, v_unpack8_first(two), v_unpack8_second(two));
        }
    }
}

/* Boxes are sorted by radius, so that what depends on it stays in registers. */
VEC_TARGET static void measure_boxes(const kb_box *box, const kb_box *end, const vec *sums, vec *means)
{
    while (box < end) {
        int r = box->radius, side = 2 * r + 1;
        vec shift = v_set(1 << kb_mean_rules[r].shift), factor = v_set(kb_mean_rules[r].factor);
        for (; box < end && box->radius == r; box++) {
            const vec *top = sums + (box->y - r) * SUMS_SIDE + box->x - r, *bottom = top + side * SUMS_SIDE;
            vec sum = v_sub(v_add(v_load(bottom + side), v_load(top)), v_add(v_load(bottom), v_load(top + side)));
            v_store(means++, v_high(v_mul(sum, shift), factor));
        }
    }
}

/* Eight bits of every lane, the first one highest. */
VEC_INLINE vec eight_bits(const kb_box_bit *bit, const vec *means)
{
    vec above = v_zero(); /* collects the opposite: difference > threshold, which is -1 where true */
    for (int k = 0; k < 8; k++, bit++) {
        vec difference = v_sub(v_load(means + bit->box1), v_load(means + bit->box2));
        above = v_sub(v_add(above, above), v_gt(difference, v_set(bit->threshold)));
    }
    return v_sub(v_set(255), above);
}

VEC_TARGET static void collect_bits(const kb_model *model, const vec *means, uint8_t *const rows[VEC_LANES])
{
    for (int32_t byte = 0; byte < model->row_bytes; byte += 16) {
        int32_t have = kb_min_i(16, model->row_bytes - byte);
        vec units[8];
        for (int32_t u = 0; u < 8; u++) {
            const kb_box_bit *bit = model->bits + 8 * (byte + 2 * u);
            vec first = 2 * u < have ? eight_bits(bit, means) : v_zero();
            vec second = 2 * u + 1 < have ? eight_bits(bit + 8, means) : v_zero();
            units[u] = v_or(first, v_shl(second, 8));
        }
        v_transpose8(units);
        if (have == 16) {
            v_store_rows(units, rows, (size_t)byte);
        } else {
            uint8_t part[VEC_LANES][16], *parts[VEC_LANES];
            for (int k = 0; k < VEC_LANES; k++) parts[k] = part[k];
            v_store_rows(units, parts, 0);
            for (int k = 0; k < VEC_LANES; k++) memcpy(rows[k] + byte, part[k], (size_t)have);
        }
    }
}

VEC_TARGET static void boxes_group(const kb_model *model, const uint8_t *const patches[VEC_LANES],
                                   uint8_t *const rows[VEC_LANES], boxes_scratch *s)
{
    if (model->planes >> 1) planes_of(patches, s->sums, s->plane);
    for (int x = 0; x < SUMS_SIDE; x++) v_store(&s->sums[x], v_zero());
    for (int32_t c = 0; c < KB_PLANES; c++) {
        int32_t first = model->channel_start[c], last = model->channel_start[c + 1];
        if (first == last) continue;
        if (c == 0) integral_of_gray(patches, s->sums);
        else integral_of_plane(s->plane[c - 1], s->sums);
        measure_boxes(model->boxes + first, model->boxes + last, s->sums, s->means + first);
    }
    collect_bits(model, s->means, rows);
}

VEC_TARGET static void boxes_lanes(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows, void *scratch)
{
    for (int32_t i = 0; i < n; i += VEC_LANES) {
        const uint8_t *in[VEC_LANES];
        uint8_t *out[VEC_LANES], spare[KB_MAX_BITS / 8];
        for (int32_t k = 0; k < VEC_LANES; k++) { /* lanes without a keypoint do the last one again */
            in[k] = patches + (size_t)kb_min_i(i + k, n - 1) * KB_PATCH_BYTES;
            out[k] = i + k < n ? rows + (size_t)(i + k) * (size_t)model->row_bytes : spare;
        }
        boxes_group(model, in, out, scratch);
    }
}

#endif
