/* SPDX-License-Identifier: Apache-2.0 */
/* BAD and BAG with one keypoint per lane: the arithmetic of src/describe/bad_grid.c and src/describe/bag.c for
 * VEC_LANES patches at once.
 *
 * The patches are transposed: sample (x, y) of all of them is one vec. An integral image then costs two additions
 * per sample and a box four loads, for every position of the box. Of every integral image
 * only the current row is kept, so that the rows of all channels fit the first-level cache: where a box begins, the sum
 * above it is put aside, and where it ends, it is subtracted. Template over simd/vec.h. */
#ifndef KBI_TMPL_BOXES_H
#define KBI_TMPL_BOXES_H

#include "simd/tmpl_channels.h"

typedef struct mean_vecs {
    vec shift, factor;
} mean_vecs;

typedef struct boxes_scratch {
    vec sums[(KB_CHANNELS - 1) * KBI_OCTAVE_SUMS_WIDTH]; /* of gray or all channels */
    mean_vecs rules[KBI_MEAN_RULES]; /* of the table */
    spare_patches spare;
    vec *means; /* of the distinct boxes, behind this struct; until a box ends, the sum above it */
} boxes_scratch;

KBI_STATIC_ASSERT(kbi_boxes_scratch_fits, sizeof(boxes_scratch) + 2 * KB_MAX_BITS * sizeof(vec) <= KBI_KERNEL_SCRATCH);

VEC_KERNEL size_t KERNEL(boxes_scratch)(const kb_model *model)
{
    int32_t boxes = 0;
    for (int32_t k = 0; k < model->grid.octaves; k++) boxes = kbi_max_i(boxes, model->tables[k].box_count);
    return sizeof(boxes_scratch) + (size_t)boxes * sizeof(vec);
}

/* ---- boxes ---- */

/* The sum of all rows so far, between the columns of a box. */
VEC_INLINE vec sum_so_far(const kbi_box_edge *edge, const vec *sums)
{
    return v_sub(v_load(sums + edge->right), v_load(sums + edge->left));
}

/* The boxes that begin with row y; returns the first edge of a later row. */
VEC_INLINE const kbi_box_edge *begin_boxes(const kbi_box_edge *edge, int y, const vec *sums, vec *means)
{
    for (; edge->row == y; edge++) v_store(means + edge->box, sum_so_far(edge, sums));
    return edge;
}

/* The boxes whose last row is y. */
VEC_INLINE const kbi_box_edge *end_boxes(const kbi_box_edge *edge, int y, const mean_vecs *rules, const vec *sums,
                                         vec *means)
{
    for (; edge->row == y; edge++) {
        const mean_vecs *rule = &rules[edge->rule];
        vec sum = v_sub(sum_so_far(edge, sums), v_load(means + edge->box));
        v_store(means + edge->box, v_high(v_mul(sum, v_load(&rule->shift)), v_load(&rule->factor)));
    }
    return edge;
}

/* ---- channels ---- */

VEC_INLINE void clear_sums(boxes_scratch *s, int n)
{
    const vec zero = v_keep(v_zero()); /* or the loop would become a string instruction, which is slower */
    for (int x = 0; x < n; x++) v_store(s->sums + x, zero);
}

VEC_INLINE void sum_next(vec *sum, vec *run, vec sample)
{
    *run = v_add(*run, sample);
    v_store(sum, v_add(v_load(sum), *run));
}

/* 16 samples of row y, from x on; `run` is the sum of the samples before them. A function of its own, since it is large
 * and grids of both sides need it. */
VEC_TARGET static vec sum_gray_samples(const uint8_t *patches, int side, int x, int y, vec run, vec *sums)
{
    vec units[8];
    load_samples(patches, side, x, y, units);
    VEC_UNROLL
    for (int u = 0; u < 8; u++) {
        sum_next(sums + x + 2 * u + 1, &run, first_sample(units[u]));
        sum_next(sums + x + 2 * u + 2, &run, second_sample(units[u]));
    }
    return run;
}

VEC_INLINE void sum_gray_row(const uint8_t *patches, int side, int y, vec *sums)
{
    vec run = v_zero();
    for (int x = 0; x < side; x += 16) run = sum_gray_samples(patches, side, x, y, run, sums);
}

VEC_INLINE void measure_grid(const kbi_box_table *table, const uint8_t *patches, int side, boxes_scratch *s)
{
    const kbi_box_edge *top = table->tops, *bottom = table->bottoms;
    clear_sums(s, side + 1);
    for (int y = 0; y < side; y++) {
        top = begin_boxes(top, y, s->sums, s->means);
        sum_gray_row(patches, side, y, s->sums);
        bottom = end_boxes(bottom, y, s->rules, s->sums, s->means);
    }
}
VEC_TARGET static void measure_gray(const kbi_box_table *table, const uint8_t *patches, boxes_scratch *s)
{
    if (kbi_on_cells(table->grid)) measure_grid(table, patches, KBI_CELLS_SIDE, s);
    else measure_grid(table, patches, KB_PATCH_SIDE, s);
}

/* Returns the contrast of every patch. */
VEC_TARGET static vec measure_gradients(const kbi_box_table *table, const uint8_t *patches, boxes_scratch *s)
{
    const kbi_box_edge *top = table->tops, *bottom = table->bottoms;
    norm_sums norms = {v_zero(), v_zero()};
    sample_row rows[SAMPLE_ROWS];
    clear_sums(s, (KB_CHANNELS - 1) * KBI_OCTAVE_SUMS_WIDTH);
    load_sample_row(patches, 0, rows[0]);
    for (int cell = 0; cell < KBI_OCTAVE_CELLS_SIDE; cell++) {
        int y = 2 * cell;
        const vec *a = rows[y % SAMPLE_ROWS], *up = y ? rows[(y - 1) % SAMPLE_ROWS] : a;
        vec *b = rows[(y + 1) % SAMPLE_ROWS], *down = rows[(y + 2) % SAMPLE_ROWS];
        load_sample_row(patches, y + 1, b);
        if (y + 2 < KB_OCTAVE_SIDE) load_sample_row(patches, y + 2, down);
        else down = b;
        top = begin_boxes(top, cell, s->sums, s->means);
        sum_cells_row(up, a, b, down, s->sums, &norms);
        bottom = end_boxes(bottom, cell, s->rules, s->sums, s->means);
    }
    return contrast_of(&norms);
}

/* ---- bits ---- */

/* Eight bits of every lane, the first one highest; contrast: of BAG, NULL for BAD. */
VEC_INLINE vec eight_bits(const kbi_box_bit *bit, const vec *means, const vec *contrast)
{
    vec above = v_zero(); /* collects the opposite: difference > threshold, which is -1 where true */
    VEC_PEEL
    for (int k = 0; k < 8; k++, bit++) {
        vec difference = v_sub(v_load(means + bit->box1), v_load(means + bit->box2));
        vec threshold = v_set(bit->threshold);
        if (contrast) threshold = v_mul_q15(threshold, *contrast);
        above = v_sub(v_add(above, above), v_gt(difference, threshold));
    }
    return v_sub(v_set(255), above);
}

VEC_TARGET static void collect_bits(const kbi_box_table *table, const vec *means, const vec *contrast,
                                    uint8_t *const rows[VEC_LANES])
{
    const int32_t bytes = table->bit_count / 8;
    for (int32_t byte = 0; byte < bytes; byte += 16) {
        int32_t have = kbi_min_i(16, bytes - byte);
        vec units[8];
        for (int32_t u = 0; u < 8; u++) {
            const kbi_box_bit *bit = table->bits + 8 * (byte + 2 * u);
            vec first = 2 * u < have ? eight_bits(bit, means, contrast) : v_zero();
            vec second = 2 * u + 1 < have ? eight_bits(bit + 8, means, contrast) : v_zero();
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

VEC_TARGET static void boxes_group(const kbi_box_table *table, const uint8_t *patches,
                                   uint8_t *const rows[VEC_LANES], boxes_scratch *s)
{
    if (!kbi_has_octaves(table->grid)) {
        measure_gray(table, patches, s);
        collect_bits(table, s->means, NULL, rows);
    } else {
        const vec contrast = measure_gradients(table, patches, s);
        collect_bits(table, s->means, &contrast, rows);
    }
}

VEC_KERNEL void KERNEL(boxes)(const kbi_box_table *table, const uint8_t *grids, int32_t n, uint8_t *rows, void *scratch)
{
    boxes_scratch *s = scratch;
    const int32_t side = table->grid.side, bytes = side * side, row = table->bit_count / 8;
    s->means = (vec *)(void *)(s + 1);
    for (int r = 0; r < (kbi_has_octaves(table->grid) ? KBI_MEAN_RULES : KBI_MEAN_RULES / 2); r++) {
        v_store(&s->rules[r].shift, v_set(1 << table->rules[r].shift));
        v_store(&s->rules[r].factor, v_set(table->rules[r].factor));
    }
    for (int32_t i = 0; i < n; i += VEC_LANES, grids += VEC_LANES * bytes) {
        uint8_t *out[VEC_LANES], spare[KB_MAX_BITS / 8];
        for (int32_t k = 0; k < VEC_LANES; k++) out[k] = i + k < n ? rows + (i + k) * row : spare;
        boxes_group(table, whole_group(grids, bytes, n - i, s->spare), out, s);
    }
}

#endif
