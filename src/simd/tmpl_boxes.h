/* BAD and BAG with one keypoint per lane: the arithmetic of src/describe/boxes.c for VEC_LANES patches at once.
 *
 * The patches are transposed: sample (x, y) of all of them is one vec. An integral image then costs two additions per
 * sample and a box four loads, whatever its position and the content of the patches. A box has at most 15
 * rows, so the last 16 rows of the integral image are enough, which stay in the first-level cache: boxes are sorted
 * by their last row and measured as soon as it is there. Template over simd/vec.h. */
#ifndef KBI_TMPL_BOXES_H
#define KBI_TMPL_BOXES_H

#include "simd/tmpl_planes.h"

typedef struct boxes_scratch {
    vec sums[KBI_SUMS_ROWS * KBI_SUMS_WIDTH]; /* row y of the integral image of one plane is row y mod KBI_SUMS_ROWS */
    vec shift[KB_MAX_RADIUS + 1], factor[KB_MAX_RADIUS + 1]; /* kbi_mean_rules */
    /* What follows in memory, as much as the model needs. */
    vec *means;        /* of the distinct boxes */
    plane_vecs *plane; /* of BAG: 8 */
    vec *smooth;       /* of BAG: KBI_PATCH_BYTES */
} boxes_scratch;

static size_t boxes_scratch_bytes(const kb_model *model)
{
    size_t vecs = (size_t)model->box_count;
    if (!KB_BAD_ONLY && model->planes >> 1) vecs += 8 * PLANE_VECS + KBI_PATCH_BYTES;
    return sizeof(boxes_scratch) + vecs * sizeof(vec);
}

static boxes_scratch *boxes_scratch_in(const kb_model *model, void *memory)
{
    boxes_scratch *s = memory;
    s->means = (vec *)(void *)(s + 1);
    s->plane = (plane_vecs *)(void *)(s->means + model->box_count);
    s->smooth = s->plane[8];
    return s;
}

VEC_INLINE void sum_two(vec *to, const vec *above, vec *run, vec first, vec second)
{
    *run = v_add(*run, first);
    v_store(to, v_add(*run, v_load(above)));
    *run = v_add(*run, second);
    v_store(to + 1, v_add(*run, v_load(above + 1)));
}

VEC_INLINE void sum_gray_row(const uint8_t *const patches[VEC_LANES], int y, const vec *above, vec *to)
{
    vec run = v_zero(), units[8];
    for (int x = 0; x < KB_PATCH_SIDE; x += 16) {
        v_load_rows(patches, (size_t)(y * KB_PATCH_SIDE + x), units);
        v_transpose8(units);
        for (int u = 0; u < 8; u++) {
            int at = x + 2 * u + 1;
            sum_two(to + at, above + at, &run, v_and(units[u], v_set(255)), v_shr(units[u], 8));
        }
    }
}

VEC_INLINE void sum_plane_row(const vec *plane, int y, const vec *above, vec *to)
{
    vec run = v_zero();
    plane += y * (KB_PATCH_SIDE / 2);
    for (int x = 1; x <= KB_PATCH_SIDE; x += 2) {
        vec two = v_load(plane++);
        sum_two(to + x, above + x, &run, v_unpack8_first(two), v_unpack8_second(two));
    }
}

VEC_INLINE vec *sums_row(boxes_scratch *s, int y) { return s->sums + (y & (KBI_SUMS_ROWS - 1)) * KBI_SUMS_WIDTH; }

/* The boxes from `box` on whose last row is y; returns the first of the others. */
VEC_INLINE const kbi_box *measure_boxes(const kbi_box *box, const kbi_box *end, int y, const boxes_scratch *s,
                                        vec *means)
{
    for (; box < end && box->last == y; box++) {
        size_t r = box->radius, side = 2 * r + 1;
        const vec *top = s->sums + box->top, *bottom = s->sums + box->bottom;
        vec sum = v_sub(v_add(v_load(bottom + side), v_load(top)), v_add(v_load(bottom), v_load(top + side)));
        v_store(means++, v_high(v_mul(sum, v_load(&s->shift[r])), v_load(&s->factor[r])));
    }
    return box;
}

/* All boxes of one channel. */
VEC_TARGET static void measure_channel(const kb_model *model, int32_t channel, const uint8_t *const patches[VEC_LANES],
                                       boxes_scratch *s)
{
    const kbi_box *box = model->boxes + model->channel_start[channel],
                 *end = model->boxes + model->channel_start[channel + 1];
    for (int x = 0; x < KBI_SUMS_WIDTH; x++) v_store(s->sums + x, v_zero());
    for (int y = 0; y < KB_PATCH_SIDE && box < end; y++) {
        vec *to = sums_row(s, y + 1);
        v_store(to, v_zero());
        if (KB_BAD_ONLY || channel == 0)
            sum_gray_row(patches, y, sums_row(s, y), to);
        else
            sum_plane_row(s->plane[channel - 1], y, sums_row(s, y), to);
        box = measure_boxes(box, end, y, s, s->means + (box - model->boxes));
    }
}

/* Eight bits of every lane, the first one highest. */
VEC_INLINE vec eight_bits(const kbi_box_bit *bit, const vec *means)
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
        int32_t have = kbi_min_i(16, model->row_bytes - byte);
        vec units[8];
        for (int32_t u = 0; u < 8; u++) {
            const kbi_box_bit *bit = model->bits + 8 * (byte + 2 * u);
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
    if (!KB_BAD_ONLY && model->planes >> 1) planes_of(patches, s->smooth, s->plane);
    for (int32_t c = 0; c < KB_PLANES; c++)
        if (model->planes >> c & 1) measure_channel(model, c, patches, s);
    collect_bits(model, s->means, rows);
}

VEC_TARGET static void boxes_simd(const kb_model *model, const uint8_t *patches, int32_t n, uint8_t *rows,
                                   void *scratch)
{
    boxes_scratch *s = boxes_scratch_in(model, scratch);
    for (int r = 0; r <= KB_MAX_RADIUS; r++) {
        v_store(&s->shift[r], v_set(1 << kbi_mean_rules[r].shift));
        v_store(&s->factor[r], v_set(kbi_mean_rules[r].factor));
    }
    for (int32_t i = 0; i < n; i += VEC_LANES) {
        const uint8_t *in[VEC_LANES];
        uint8_t *out[VEC_LANES], spare[KB_MAX_BITS / 8];
        for (int32_t k = 0; k < VEC_LANES; k++) { /* unused lanes repeat the last keypoint */
            in[k] = patches + (size_t)kbi_min_i(i + k, n - 1) * KBI_PATCH_BYTES;
            out[k] = i + k < n ? rows + (size_t)(i + k) * (size_t)model->row_bytes : spare;
        }
        boxes_group(model, in, out, s);
    }
}

#endif
